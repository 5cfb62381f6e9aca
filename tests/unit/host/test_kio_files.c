/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_files.c - the files that the page service exports, with an fsync()
 * that the test makes fail: the boot id changes if written bytes may be lost
 * and no SYNC reports it. (Names and limits: test_kio.py.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kio_files.h"
#include "kio_server.h"
#include "unicd_os.h"
#include "unit.h"

static char folder[64];
static struct unicd_files *files;
static struct unic_kio_server *server, *second;
static bool broken; /* fsync() fails */
static uint32_t syncs;

int fsync(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	syncs++;
	errno = EIO;
	return broken ? -1 : 0;
}

void unicd_say(const char *fmt, ...)
{
	(void)fmt;
}

static int up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/test_kio_files.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	files = unicd_files_open(folder, true, 1 << 20);
	server = calloc(1, sizeof(*server));
	second = calloc(1, sizeof(*second));
	broken = false;
	syncs = 0;
	return files ? 0 : -1;
}

static void path_of(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", folder, name);
}

static int down(void **state)
{
	static const char *const names[] = { "f", "g", "h" };
	char path[128];
	uint32_t i;

	(void)state;
	unicd_files_close(files);
	free(server);
	free(second);
	for (i = 0; i < 3; i++) {
		path_of(path, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

/* Runs a task. Returns the boot id of its answer; *@n: its result. */
static uint64_t run(struct unic_kio_server *of, uint8_t op, const char *name,
		    int *n)
{
	uint8_t bytes[4] = { 1, 2, 3, 4 };
	struct unic_kio_task task = {
		.server = of,
		.op = op,
		.name = name,
		.name_bytes = (uint8_t)strlen(name),
		.buf = bytes,
		.len = op == UNIC_KIO_WRITE || op == UNIC_KIO_READ ? 4 : 0,
	};

	*n = unicd_files_run(files, &task);
	return task.boot;
}

static uint64_t good(struct unic_kio_server *of, uint8_t op, const char *name)
{
	int n;
	uint64_t boot = run(of, op, name, &n);

	assert_true(n >= 0);
	return boot;
}

static void make_dirty(struct unic_kio_server *of, const char *name)
{
	good(of, UNIC_KIO_CUT, name);
	good(of, UNIC_KIO_WRITE, name);
}

static uint64_t boot_now(void)
{
	return good(second, UNIC_KIO_CUT, "h");
}

/* SYNC of a name whose file was replaced or unlinked after a write changes the
 * boot id. */
static void written_to_a_file_that_went(void **state)
{
	char from[128], to[128];
	uint64_t boot;
	int n;

	(void)state;
	path_of(from, "g");
	path_of(to, "f");
	make_dirty(server, "f");
	good(server, UNIC_KIO_CUT, "g");
	boot = good(server, UNIC_KIO_SYNC, "g");
	assert_int_equal(rename(from, to), 0);
	assert_int_not_equal(good(server, UNIC_KIO_SYNC, "f"), boot);
	make_dirty(server, "f");
	boot = boot_now();
	assert_int_equal(unlink(to), 0);
	assert_int_not_equal(run(server, UNIC_KIO_SYNC, "f", &n), boot);
	assert_int_equal(n, -ENOENT);
}

/* The end of a connection syncs its files; an error changes the boot id. */
static void left_unwritten(void **state)
{
	uint64_t boot;
	uint32_t before;

	(void)state;
	make_dirty(server, "f");
	boot = boot_now();
	before = syncs;
	good(server, 0, "");
	assert_int_equal(syncs, before + 1);
	assert_int_equal(boot_now(), boot);
	make_dirty(server, "f");
	broken = true;
	good(server, 0, "");
	assert_int_not_equal(boot_now(), boot);
	broken = false;
	boot = boot_now();
	good(server, 0, ""); /* its files are closed already */
	assert_int_equal(boot_now(), boot);
}

/* An fsync() error that SYNC has reported does not change the boot id. */
static void told_once(void **state)
{
	uint64_t boot;
	int n;

	(void)state;
	make_dirty(server, "f");
	boot = boot_now();
	broken = true;
	assert_int_equal(run(server, UNIC_KIO_SYNC, "f", &n), boot);
	assert_int_equal(n, -EIO);
	good(server, 0, "");
	assert_int_equal(boot_now(), boot);
}

/* A file that is closed to make room for another is synced; if fsync() fails,
 * the boot id changes. */
static void makes_room(void **state)
{
	char name[8], path[128];
	uint64_t boot;
	uint32_t i;
	int n;

	(void)state;
	make_dirty(server, "f");
	boot = boot_now();
	broken = true;
	for (i = 0; i < 8; i++) { /* as many as stay open */
		snprintf(name, sizeof(name), "n%u", i);
		path_of(path, name);
		n = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		assert_true(n >= 0);
		close(n);
		good(server, UNIC_KIO_READ, name);
		unlink(path);
	}
	broken = false;
	assert_int_not_equal(boot_now(), boot);
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILES(written_to_a_file_that_went),
		WITH_FILES(left_unwritten),
		WITH_FILES(told_once),
		WITH_FILES(makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
