/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* run_place.c - see run_place.h. */
#define _GNU_SOURCE
#include "run_place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MAX_NET 24 /* sockets have paths of 107 bytes at most */

static int fail_path(const char *path, const char *why)
{
	fprintf(stderr, "unic-run: %s: %s\n", path, why);
	return -1;
}

/* Make folder @path, which is ours alone. */
static int make_dir(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return fail_path(path, strerror(errno));
	if (lstat(path, &st))
		return fail_path(path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return fail_path(path, "it is another user's, others may write "
				       "to "
				       "it, or it is a link");
	return 0;
}

/* The folder of the user, with @sub in it. Whatever the environment says, it is the same one
 * in all sessions of the user: they are to meet. */
static int make_base(const char *sub, char out[RUN_PATH])
{
	char base[RUN_PATH / 2];

	snprintf(base, sizeof(base), "/tmp/unic-run-%u",
		 (unsigned int)geteuid());
	if (make_dir(base))
		return -1;
	snprintf(out, RUN_PATH, "%s/%s", base, sub);
	return make_dir(out);
}

int run_place_lock(const char *dir, const char *name, int how)
{
	char path[RUN_PATH];
	int fd;

	snprintf(path, sizeof(path), "%.200s/%.40s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, how)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path);
	return 0;
}

void run_place_remove(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Remove folders below @base that no process holds. */
static void sweep(const char *base)
{
	DIR *d = opendir(base);
	char path[RUN_PATH];
	struct dirent *e;
	int fd;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.150s/%.60s", base, e->d_name);
		fd = run_place_lock(path, "lock", LOCK_EX | LOCK_NB);
		if (fd < 0)
			continue;
		run_place_remove(path);
		close(fd);
	}
	if (d)
		closedir(d);
}

int run_place_dir(char out[RUN_PATH])
{
	char base[RUN_PATH];
	int door;

	if (make_base("runs", base))
		return -1;
	/* no folder is without its lock, as others see it */
	door = run_place_lock(base, ".door", LOCK_EX);
	sweep(base);
	snprintf(out, RUN_PATH, "%.200s/XXXXXX", base);
	if (!mkdtemp(out) || run_place_lock(out, "lock", LOCK_EX) < 0)
		return fail_path(out, strerror(errno));
	close(door);
	return 0;
}

bool run_place_is_net(const char *name)
{
	size_t i;

	for (i = 0; name[i]; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_", name[i]))
			return false;
	return i && i <= NAME_MAX_NET;
}

int run_place_net(const char *name, char out[RUN_PATH])
{
	char base[RUN_PATH];

	if (make_base("nets", base))
		return -1;
	snprintf(out, RUN_PATH, "%.200s/%s", base, name);
	return make_dir(out);
}
