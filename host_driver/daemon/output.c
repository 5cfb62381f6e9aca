/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#define _GNU_SOURCE /* the name of the program */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

/* Runs in exit(). */
static void check_output(int status, void *unused)
{
	int before = ferror(stdout);

	(void)unused;
	errno = 0;
	if (!fflush(stdout) && !before)
		return;
	fprintf(stderr, "%s: standard output: %s\n",
		program_invocation_short_name,
		errno ? strerror(errno) : "a part was not written");
	if (!status)
		_exit(EX_IOERR);
}

void output_watch(void)
{
	on_exit(check_output, NULL);
}

/* Rights of the effective user. */
static int check_access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) ? -errno : 0;
}

int output_check_path(const char *path)
{
	char folder[PATH_MAX];
	struct stat st;

	if (!stat(path, &st))
		return S_ISDIR(st.st_mode) ? -EISDIR : check_access(path, W_OK);
	if (errno != ENOENT)
		return -errno;
	if (!*path)
		return -ENOENT;
	if (path[strlen(path) - 1] == '/')
		return -EISDIR;
	if (strlen(path) >= sizeof(folder))
		return -ENAMETOOLONG;
	strcpy(folder, path);
	return check_access(dirname(folder), W_OK | X_OK);
}
