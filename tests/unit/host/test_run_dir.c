/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_run_dir.c - the names of sockets in the directory of a daemon.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_dir.h"
#include "unit.h"

static char path[32];
static struct run_dir rd;
static uint32_t listened;
static int fails; /* errno of listen() */

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);

static bool is_there(const char *name)
{
	struct stat st;

	return !fstatat(rd.fd, name, &st, AT_SYMLINK_NOFOLLOW);
}

/* Until it listens, who connects would be refused: there must be no name. */
int __wrap_listen(int fd, int backlog)
{
	assert_false(is_there("door"));
	listened++;
	errno = fails;
	return fails ? -1 : __real_listen(fd, backlog);
}

static int up(void **state)
{
	(void)state;
	strcpy(path, "/tmp/unic-run-dir-XXXXXX");
	assert_non_null(mkdtemp(path));
	listened = 0;
	fails = 0;
	return run_dir_init(&rd, path, "test");
}

static uint32_t files(void)
{
	DIR *d = opendir(path);
	uint32_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static int down(void **state)
{
	(void)state;
	run_dir_fini(&rd);
	assert_int_equal(files(), 0);
	return rmdir(path);
}

static void who_finds_it_is_not_refused(void **state)
{
	int fd = run_dir_listen(&rd, "door", SOCK_STREAM);
	int client = socket(AF_UNIX, SOCK_STREAM, 0);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(listened, 1);
	assert_int_equal(fstatat(rd.fd, "door", &st, 0), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(files(), 2); /* and its lock */
	assert_int_equal(run_dir_connect(client, rd.fd, "door"), 0);
	close(client);
	close(fd);
}

/* One that cannot listen leaves no name, neither that nor another. */
static void no_name_without_it(void **state)
{
	(void)state;
	fails = EADDRINUSE;
	assert_int_equal(run_dir_listen(&rd, "door", SOCK_STREAM), -EADDRINUSE);
	assert_int_equal(listened, 1);
	assert_int_equal(files(), 1);
}

/* What a daemon that was killed has left gives way. */
static void names_are_taken_over(void **state)
{
	int fd = run_dir_listen(&rd, "door", SOCK_STREAM), again;

	(void)state;
	again = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(run_dir_unlink(rd.fd, "door"), 0);
	assert_int_equal(run_dir_offer(again, rd.fd, "door", 0666, 1), 0);
	assert_int_equal(listened, 2);
	close(fd);
	close(again);
}

static void datagrams_have_a_name_too(void **state)
{
	int fd = run_dir_listen(&rd, "door", SOCK_DGRAM);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(listened, 0);
	assert_true(is_there("door"));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_finds_it_is_not_refused, up,
						down),
		cmocka_unit_test_setup_teardown(no_name_without_it, up, down),
		cmocka_unit_test_setup_teardown(names_are_taken_over, up, down),
		cmocka_unit_test_setup_teardown(datagrams_have_a_name_too, up,
						down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
