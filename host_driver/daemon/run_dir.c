// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "run_dir.h"

#define LISTEN_BACKLOG 8

/* ---------------------------------------------------------- one directory */

/* A slash at the end would lead through a symbolic link. */
static int strip_slashes(char out[PATH_MAX], const char *dir)
{
	size_t n = strlen(dir);

	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(out, dir, n + 1);
	while (n > 1 && out[n - 1] == '/')
		out[--n] = 0;
	return 0;
}

static int check_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_mode & (S_IWGRP | S_IWOTH) ||
	    (st.st_uid && st.st_uid != geteuid()))
		return -EPERM;
	return 0;
}

int run_dir_open(const char *dir)
{
	char path[PATH_MAX];
	int fd, err = strip_slashes(path, dir);

	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = check_owner(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

const char *run_dir_why(int err)
{
	if (err == -EPERM)
		return "it is another user's, or others may write to it; "
		       "choose one of your own (mktemp -d)";
	if (err == -ENOENT)
		return "the folder that it is to be made in is not there; make "
		       "that first (mkdir -p)";
	return strerror(-err);
}

/* Bound or connected to by the descriptor of the directory: its path may mean
 * another one by then. */
static int build_address(struct sockaddr_un *addr, int dir, const char *name)
{
	int n;

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(addr->sun_path, sizeof(addr->sun_path),
		     "/proc/self/fd/%d/%s", dir, name);
	return n < (int)sizeof(addr->sun_path) ? 0 : -ENAMETOOLONG;
}

int run_dir_peer(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	return cred.uid && cred.uid != geteuid() ? -EPERM : 0;
}

int run_dir_connect(int fd, int dir, const char *name)
{
	struct sockaddr_un addr;
	int err = build_address(&addr, dir, name);

	if (err)
		return err;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	return run_dir_peer(fd);
}

static int bind_to(int fd, int dir, const char *name, mode_t mode)
{
	struct sockaddr_un addr;
	int err = build_address(&addr, dir, name);
	mode_t old;

	if (err)
		return err;
	/* a socket in the file system gets the mode of the one it is for */
	if (fchmod(fd, mode))
		return -errno;
	old = umask(0);
	err = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(old);
	return err;
}

int run_dir_offer(int fd, int dir, const char *name, mode_t mode, int backlog)
{
	char early[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int n = snprintf(early, sizeof(early), ".%s.%d", name, (int)getpid());
	int err;

	if (n >= (int)sizeof(early))
		return -ENAMETOOLONG;
	err = run_dir_unlink(dir, early);
	if (!err)
		err = bind_to(fd, dir, early, mode);
	if (err)
		return err;
	if ((backlog && listen(fd, backlog)) ||
	    renameat(dir, early, dir, name)) {
		err = -errno;
		unlinkat(dir, early, 0);
	}
	return err;
}

int run_dir_unlink(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	return unlinkat(dir, name, 0) ? -errno : 0;
}

/* ------------------------------------------------------------ of a daemon */

/* 1: it was not there; 0: it was; -errno. */
static int make_dir(const char *dir)
{
	char path[PATH_MAX];
	int err = strip_slashes(path, dir);

	if (err)
		return err;
	if (!mkdir(path, 0700))
		return 1;
	return errno == EEXIST ? 0 : -errno;
}

static int find_path(struct run_dir *rd)
{
	char link[64], full[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", rd->fd);
	n = readlink(link, full, sizeof(full));
	if (n < 0)
		return -errno;
	if (n >= (ssize_t)sizeof(rd->path))
		return -ENAMETOOLONG;
	memcpy(rd->path, full, (size_t)n);
	rd->path[n] = 0;
	return 0;
}

/* To be removed by fini, the last one first. */
static int record_file(struct run_dir *rd, int dir, const char *name)
{
	struct run_dir_file *f = &rd->file[rd->files];

	if (rd->files == RUN_DIR_FILES)
		return -ENOSPC;
	if (strlen(name) >= sizeof(f->name))
		return -ENAMETOOLONG;
	strcpy(f->name, name);
	f->dir = dir;
	rd->files++;
	return 0;
}

static int lock_dir(struct run_dir *rd, const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "%s.lock", name);
	rd->lock_fd = openat(rd->fd, file,
			     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (rd->lock_fd < 0)
		return -errno;
	if (!flock(rd->lock_fd, LOCK_EX | LOCK_NB))
		return record_file(rd, -1, file);
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

int run_dir_init(struct run_dir *rd, const char *dir, const char *name)
{
	int err = make_dir(dir);
	bool made;

	memset(rd, 0, sizeof(*rd));
	rd->lock_fd = -1;
	rd->fd = err < 0 ? err : run_dir_open(dir);
	if (rd->fd < 0)
		return rd->fd;
	made = err > 0;
	err = find_path(rd);
	if (err && made)
		rmdir(dir);
	if (!err)
		err = lock_dir(rd, name);
	if (err)
		run_dir_fini(rd);
	return err;
}

/* Where @name is: a directory (*@dir, -1: ours), and what it is called there. */
static int open_parent_dir(const char *name, int *dir, const char **last)
{
	const char *slash = strrchr(name, '/');
	char path[PATH_MAX];

	*last = slash ? slash + 1 : name;
	*dir = -1;
	if (!slash)
		return 0;
	if (slash - name >= PATH_MAX - 1)
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%.*s/", (int)(slash - name), name);
	*dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *dir < 0 ? -errno : 0;
}

static int reserve_name(struct run_dir *rd, const char *name)
{
	const char *last;
	int dir, err = open_parent_dir(name, &dir, &last);

	if (!err)
		err = run_dir_unlink(dir < 0 ? rd->fd : dir, last);
	if (!err)
		err = record_file(rd, dir, last);
	if (err && dir >= 0)
		close(dir);
	return err;
}

int run_dir_reserve(struct run_dir *rd, const char *name,
		    char path[RUN_DIR_PATH])
{
	int n = snprintf(path, RUN_DIR_PATH, "%s%s%s",
			 strchr(name, '/') ? "" : rd->path,
			 strchr(name, '/') ? "" : "/", name);

	return n < RUN_DIR_PATH ? reserve_name(rd, name) : -ENAMETOOLONG;
}

static int listen_to(int fd, int dir, const char *name, int type)
{
	const int on = 1;
	bool dgram = type == SOCK_DGRAM;

	/* the receiver of datagrams asks who sent each */
	if (dgram && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return -errno;
	return run_dir_offer(fd, dir, name, 0600, dgram ? 0 : LISTEN_BACKLOG);
}

int run_dir_listen(struct run_dir *rd, const char *name, int type)
{
	const struct run_dir_file *f = &rd->file[rd->files];
	int fd, err = reserve_name(rd, name);

	if (err)
		return err;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = listen_to(fd, f->dir < 0 ? rd->fd : f->dir, f->name, type);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int write_file(int dir, const char *name, const char *text)
{
	size_t bytes = strlen(text);
	int fd, err = 0;

	(void)unlinkat(dir, name, 0); /* of a daemon that was killed */
	fd = openat(dir, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (write(fd, text, bytes) != (ssize_t)bytes)
		err = errno ? -errno : -EIO;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

int run_dir_write(struct run_dir *rd, const char *name, const char *text)
{
	char new[RUN_DIR_PATH];
	int err;

	if (snprintf(new, sizeof(new), "%s.new", name) >= (int)sizeof(new))
		return -ENAMETOOLONG;
	errno = 0;
	err = write_file(rd->fd, new, text);
	if (!err && renameat(rd->fd, new, rd->fd, name))
		err = -errno;
	if (!err)
		return record_file(rd, -1, name);
	(void)unlinkat(rd->fd, new, 0);
	return err;
}

void run_dir_fini(struct run_dir *rd)
{
	while (rd->files) {
		struct run_dir_file *f = &rd->file[--rd->files];

		if (f->dir < 0) {
			(void)unlinkat(rd->fd, f->name, 0);
			continue;
		}
		(void)run_dir_unlink(f->dir, f->name);
		close(f->dir);
	}
	if (rd->lock_fd >= 0)
		close(rd->lock_fd);
	if (rd->fd >= 0)
		close(rd->fd);
	rd->lock_fd = -1;
	rd->fd = -1;
}
