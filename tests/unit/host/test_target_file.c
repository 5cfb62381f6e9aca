/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_target_file.c - what a file that comes in does to what is at its place. Host
 * only. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "target_file.h"

/* Each test is in a folder of its own. */
static int enter(void **state)
{
	char *dir = strdup("/tmp/unic-target-XXXXXX");

	umask(022);
	*state = dir;
	return !dir || !mkdtemp(dir) || chdir(dir);
}

static int leave(void **state)
{
	char line[64];

	snprintf(line, sizeof(line), "rm -r %s", (char *)*state);
	free(*state);
	return chdir("/") || system(line);
}

static void write_text(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void assert_file(const char *path, const char *text, mode_t mode)
{
	char found[64] = "";
	struct stat st;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(found, sizeof(found), f));
	fclose(f);
	assert_string_equal(found, text);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | mode);
}

static unsigned int parts(void)
{
	glob_t g;
	unsigned int n = glob("*part*", 0, NULL, &g) ? 0 : (unsigned)g.gl_pathc;

	if (n)
		globfree(&g);
	return n;
}

static void put(struct target_file *t, const char *text)
{
	assert_int_equal(write(t->fd, text, strlen(text)), strlen(text));
}

/* Text "new" comes to @path under the name "name". */
static void receive(const char *path)
{
	struct target_file t;

	assert_int_equal(target_file_open(&t, path, "name"), 0);
	put(&t, "new");
	assert_int_equal(target_file_keep(&t), 0);
	assert_int_equal(target_file_keep(&t), 0);
	target_file_close(&t);
	target_file_close(&t);
	assert_int_equal(parts(), 0);
}

static void nothing_is_there(void **state)
{
	(void)state;
	receive("a");
	assert_file("a", "new", 0644);
}

static void a_file_keeps_its_mode(void **state)
{
	(void)state;
	write_text("a", "old", 0751);
	receive("a");
	assert_file("a", "new", 0751);
}

/* A new file belongs to its writer, so it does not keep the bits by which the old one ran
 * as its owner or group. */
static void a_new_file_runs_as_nobody(void **state)
{
	(void)state;
	write_text("a", "old", 06755);
	receive("a");
	assert_file("a", "new", 0755);
}

static void until_all_has_come(void **state)
{
	struct target_file t;

	(void)state;
	write_text("a", "old", 0600);
	assert_int_equal(target_file_open(&t, "a", "name"), 0);
	assert_false(t.stream);
	put(&t, "ne");
	assert_file("a", "old", 0600);
	assert_int_equal(parts(), 1);
	target_file_close(&t);
	assert_file("a", "old", 0600);
	assert_int_equal(parts(), 0);
}

static void links_stay(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	write_text("d/a", "old", 0600);
	assert_int_equal(symlink("d/a", "one"), 0);
	assert_int_equal(symlink("one", "two"), 0);
	receive("two");
	assert_int_equal(lstat("two", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_file("d/a", "new", 0600);
}

static void a_link_to_nothing(void **state)
{
	struct target_file t;
	struct stat st;

	(void)state;
	assert_int_equal(symlink("nothing", "a"), 0);
	assert_int_equal(target_file_open(&t, "a", "name"), -ENOENT);
	target_file_close(&t);
	assert_int_equal(lstat("a", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat("nothing", &st), -1);
}

static void into_a_folder(void **state)
{
	struct target_file t;

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	receive("d");
	assert_file("d/name", "new", 0644);
	receive("d/");
	assert_int_equal(mkdir("d/name2", 0755), 0);
	assert_int_equal(target_file_open(&t, "d", "name2"), -EISDIR);
	assert_string_equal(t.path, "d/name2");
	target_file_close(&t);
}

static void what_is_no_file_is_written_as_it_is(void **state)
{
	struct target_file t;
	char got[8] = "";
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(mkfifo("a", 0600), 0);
	fd = open("a", O_RDONLY | O_NONBLOCK);
	assert_int_equal(target_file_open(&t, "a", "name"), 0);
	assert_true(t.stream);
	put(&t, "new");
	assert_int_equal(target_file_keep(&t), 0);
	target_file_close(&t);
	assert_int_equal(read(fd, got, sizeof(got)), 3);
	assert_string_equal(got, "new");
	close(fd);
	assert_int_equal(lstat("a", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	receive("/dev/null");
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* In a folder of others a name is no link to anywhere. */
static void a_new_one_replaces_links(void **state)
{
	struct target_file t;

	(void)state;
	write_text("a", "old", 0600);
	assert_int_equal(symlink("a", "b"), 0);
	assert_int_equal(target_file_new(&t, "b"), 0);
	put(&t, "new");
	assert_int_equal(target_file_keep(&t), 0);
	target_file_close(&t);
	assert_file("a", "old", 0600);
	assert_file("b", "new", 0644);
}

static void names_without_folders(void **state)
{
	(void)state;
	assert_string_equal(target_file_name("a"), "a");
	assert_string_equal(target_file_name("/b/a"), "a");
	assert_string_equal(target_file_name("b/"), "");
}

static void nothing_can_be_made(void **state)
{
	struct target_file t;
	char path[PATH_MAX + 8];

	(void)state;
	assert_int_equal(target_file_open(&t, "no/such", "name"), -ENOENT);
	target_file_close(&t);
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(target_file_open(&t, path, "name"), -ENAMETOOLONG);
	assert_int_equal(target_file_new(&t, path), -ENAMETOOLONG);
	path[PATH_MAX - 3] = '\0';
	assert_int_equal(target_file_new(&t, path), -ENAMETOOLONG);
	target_file_close(&t);
}

/* The new file is made when this signal comes; 0: none comes. */
static int at_once;

int __real_mkostemp(char *path, int flags);
int __wrap_mkostemp(char *path, int flags)
{
	int fd = __real_mkostemp(path, flags);

	if (at_once)
		raise(at_once);
	return fd;
}

/* A child that has written half of "a" when it gets signal @sig. Returns its status. */
static int end_by(int sig)
{
	struct target_file t;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (target_file_open(&t, "a", "name") || parts() != 1)
			_exit(99);
		raise(sig);
		_exit(98);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void signals_leave_nothing(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	size_t i;
	int status;

	(void)state;
	for (i = 0; i < 3; i++) {
		/* who started this may ignore it */
		signal(signals[i], SIG_DFL);
		status = end_by(signals[i]);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		assert_int_equal(parts(), 0);
		at_once = signals[i];
		status = end_by(signals[i]);
		at_once = 0;
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		assert_int_equal(parts(), 0);
	}
	signal(SIGHUP, SIG_IGN); /* nohup: the transfer goes on */
	status = end_by(SIGHUP);
	signal(SIGHUP, SIG_DFL);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 98);
}

int main(void)
{
#define IN_FOLDER(t) cmocka_unit_test_setup_teardown(t, enter, leave)
	static const struct CMUnitTest tests[] = {
		IN_FOLDER(nothing_is_there),
		IN_FOLDER(a_file_keeps_its_mode),
		IN_FOLDER(a_new_file_runs_as_nobody),
		IN_FOLDER(until_all_has_come),
		IN_FOLDER(links_stay),
		IN_FOLDER(a_link_to_nothing),
		IN_FOLDER(into_a_folder),
		IN_FOLDER(what_is_no_file_is_written_as_it_is),
		IN_FOLDER(a_new_one_replaces_links),
		IN_FOLDER(names_without_folders),
		IN_FOLDER(nothing_can_be_made),
		IN_FOLDER(signals_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
