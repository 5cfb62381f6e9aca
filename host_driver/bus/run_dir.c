// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "run_dir.h"

#define LISTEN_BACKLOG 8

static int join(char out[RUN_DIR_PATH], const char *dir, const char *name)
{
	int n;

	if (strchr(name, '/'))
		n = snprintf(out, RUN_DIR_PATH, "%s", name);
	else
		n = snprintf(out, RUN_DIR_PATH, "%s/%s", dir, name);
	return n < RUN_DIR_PATH ? 0 : -ENAMETOOLONG;
}

static int resolve(struct run_dir *rd, const char *dir)
{
	char full[PATH_MAX];

	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	if (!realpath(dir, full))
		return -errno;
	if (strlen(full) >= sizeof(rd->path))
		return -ENAMETOOLONG;
	strcpy(rd->path, full);
	return 0;
}

int run_dir_init(struct run_dir *rd, const char *dir, const char *name)
{
	char lock[RUN_DIR_PATH], file[64];
	int err;

	memset(rd, 0, sizeof(*rd));
	rd->lock_fd = -1;
	err = resolve(rd, dir);
	if (err)
		return err;
	snprintf(file, sizeof(file), "%s.lock", name);
	err = join(lock, rd->path, file);
	if (err)
		return err;
	rd->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (rd->lock_fd < 0)
		return -errno;
	if (flock(rd->lock_fd, LOCK_EX | LOCK_NB)) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(rd->lock_fd);
		rd->lock_fd = -1;
		return err;
	}
	/* The lock file goes too: recorded first, removed last. */
	strcpy(rd->file[rd->files++], lock);
	return 0;
}

const char *run_dir_file(struct run_dir *rd, const char *name)
{
	char *path;

	if (rd->files == RUN_DIR_FILES) {
		errno = ENOSPC;
		return NULL;
	}
	path = rd->file[rd->files];
	if (join(path, rd->path, name)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	unlink(path);
	rd->files++;
	return path;
}

int run_dir_listen(struct run_dir *rd, const char *name, int type)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = run_dir_file(rd, name);
	int fd, err;

	if (!path)
		return -errno;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	strcpy(addr.sun_path, path);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    (type != SOCK_DGRAM && listen(fd, LISTEN_BACKLOG))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int run_dir_write(struct run_dir *rd, const char *name, const char *text)
{
	char tmp[RUN_DIR_PATH + 8];
	const char *path = run_dir_file(rd, name);
	FILE *f;

	if (!path)
		return -errno;
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	f = fopen(tmp, "we");
	if (!f)
		return -errno;
	fputs(text, f);
	if (fclose(f) || rename(tmp, path)) {
		unlink(tmp);
		return -errno;
	}
	return 0;
}

void run_dir_fini(struct run_dir *rd)
{
	while (rd->files)
		unlink(rd->file[--rd->files]);
	if (rd->lock_fd >= 0)
		close(rd->lock_fd);
	rd->lock_fd = -1;
}
