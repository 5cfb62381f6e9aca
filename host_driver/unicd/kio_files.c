/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_files.c - the files that the page service exports: a folder and what is below
 * it, or one file.
 *
 * Secret: how a name becomes a file, and never one outside of what is exported. The
 * path is walked folder by folder, from a descriptor of the exported one; no
 * symbolic link is followed, no part of a name leads up, and only plain files are
 * opened. Hard links, and what is mounted below, belong to it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kio_server.h"
#include "unicd.h"

#define ENTRIES_MAX 65536u /* of a folder that is listed */

struct unicd_files {
	int root;	     /* the folder */
	char only[NAME_MAX]; /* the one file in it; "": all */
	bool writable;
};

/* ---------------------------------------------------------------------- walk */

/* Not empty, and leading to no other place than its own. */
static bool plain(const char *name)
{
	return *name && strcmp(name, ".") && strcmp(name, "..");
}

/* A folder below @at, which is closed. */
static int enter(int at, const char *name)
{
	int fd = -1;

	errno = EACCES;
	if (plain(name))
		fd = openat(at, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(at);
	return fd;
}

/* The folder that @path is in, to be closed, or -errno. *@last: its name there,
 * "" for the root itself. */
static int walk(const struct unicd_files *f, char *path, const char **last)
{
	int at = fcntl(f->root, F_DUPFD_CLOEXEC, 0);
	char *slash;

	if (at < 0)
		return -errno;
	while (at >= 0 && (slash = strchr(path, '/'))) {
		*slash = 0;
		at = enter(at, path);
		path = slash + 1;
	}
	*last = path;
	return at;
}

static bool allowed(const struct unicd_files *f, const char *path)
{
	return !*f->only || !*path || !strcmp(path, f->only);
}

/* --------------------------------------------------------------------- files */

static int open_plain(int at, const char *name, int flags)
{
	struct stat st;
	int fd;

	if (!plain(name))
		return -EACCES;
	/* looked at before, too: to open a device can be to do something */
	if (!fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EACCES;
	fd = openat(at, name,
		    flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		    0644);
	if (fd < 0)
		return errno == ELOOP ? -EACCES : -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EACCES;
}

/* All of it, but for the end of the file or an error that follows bytes. */
static int move(int fd, uint8_t op, uint8_t *buf, uint32_t len, uint64_t offset)
{
	uint32_t n = 0;
	ssize_t got;

	while (n < len) {
		got = op == UNIC_KIO_READ
			      ? pread(fd, buf + n, len - n, (off_t)(offset + n))
			      : pwrite(fd, buf + n, len - n,
				       (off_t)(offset + n));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return op == UNIC_KIO_READ && n ? (int)n : -errno;
		if (!got)
			break;
		n += (uint32_t)got;
	}
	return (int)n;
}

static int on_file(const struct unicd_files *f, uint8_t op, int at,
		   const char *name, uint64_t offset, void *buf, uint32_t len,
		   uint64_t *size)
{
	bool writes = op == UNIC_KIO_WRITE || op == UNIC_KIO_CUT;
	struct stat st;
	int fd, n = 0;

	if (writes && !f->writable)
		return -EROFS;
	fd = open_plain(at, name,
			op == UNIC_KIO_CUT ? O_WRONLY | O_CREAT
			: writes	   ? O_WRONLY
					   : O_RDONLY);
	if (fd < 0)
		return fd;
	if (op == UNIC_KIO_CUT)
		n = ftruncate(fd, (off_t)offset) ? -errno : 0;
	else if (op == UNIC_KIO_SYNC)
		n = fsync(fd) ? -errno : 0;
	else if (len)
		n = move(fd, op, buf, len, offset);
	if (n >= 0 && fstat(fd, &st))
		n = -errno;
	else if (n >= 0)
		*size = (uint64_t)st.st_size;
	close(fd);
	return n;
}

/* -------------------------------------------------------------------- folders */

/* Behind @n bytes of @buf; 0 if it has no room there, or is not shown. */
static uint32_t put_entry(const struct unicd_files *f, int at, const char *name,
			  uint8_t *buf, uint32_t room, bool *full)
{
	size_t name_bytes = strlen(name);
	struct unic_kio_entry e = { .dir = 0 };
	struct stat st;

	*full = false;
	if (!plain(name) || name_bytes > UNIC_KIO_NAME_MAX ||
	    !allowed(f, name) || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	*full = UNIC_KIO_ENTRY_BYTES + name_bytes > room;
	if (*full)
		return 0;
	e.size = unic_to_le64(S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_size);
	e.dir = S_ISDIR(st.st_mode);
	e.name_bytes = (uint8_t)name_bytes;
	memcpy(buf, &e, UNIC_KIO_ENTRY_BYTES);
	memcpy(buf + UNIC_KIO_ENTRY_BYTES, name, name_bytes);
	return (uint32_t)(UNIC_KIO_ENTRY_BYTES + name_bytes);
}

static int list_open(const struct unicd_files *f, DIR *dir, uint64_t skip,
		     uint8_t *buf, uint32_t len, uint64_t *at)
{
	const struct dirent *d;
	uint32_t n = 0;
	bool full = false;

	for (*at = 0; !full && (d = readdir(dir)); *at += !full) {
		if (*at >= ENTRIES_MAX)
			return -EOVERFLOW;
		if (*at >= skip)
			n += put_entry(f, dirfd(dir), d->d_name, buf + n,
				       len - n, &full);
	}
	return (int)n;
}

/* Those behind the first @skip, hidden ones counted; *@at is where to go on. */
static int list(const struct unicd_files *f, int at, const char *name,
		uint64_t skip, void *buf, uint32_t len, uint64_t *size)
{
	int fd = fcntl(at, F_DUPFD_CLOEXEC, 0), n;
	DIR *dir;

	if (fd >= 0 && *name)
		fd = enter(fd, name);
	else if (fd >= 0)
		fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		n = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return n;
	}
	n = list_open(f, dir, skip, buf, len, size);
	closedir(dir);
	return n;
}

/* ------------------------------------------------------------------------ run */

int unicd_files_run(const struct unicd_files *f, struct unic_kio_task *task)
{
	char path[UNIC_KIO_NAME_MAX + 1];
	const char *last = "";
	int at, n;

	task->size = 0;
	memcpy(path, task->name, task->name_bytes);
	path[task->name_bytes] = 0;
	if (!allowed(f, path))
		return -ENOENT;
	at = walk(f, path, &last);
	if (at < 0)
		return at;
	if (task->op == UNIC_KIO_LIST)
		n = list(f, at, last, task->offset, task->buf, task->len,
			 &task->size);
	else
		n = on_file(f, task->op, at, last, task->offset, task->buf,
			    task->len, &task->size);
	close(at);
	return n;
}

/* --------------------------------------------------------------- open, close */

/* @path is a file: export the folder it is in, and show nothing else. */
static int open_one(struct unicd_files *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char folder[PATH_MAX] = ".";
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || strlen(name) >= sizeof(f->only) ||
	    strlen(path) >= sizeof(folder))
		return -EINVAL;
	strcpy(f->only, name);
	if (slash)
		snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path),
			 path);
	f->root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return f->root < 0 ? -errno : 0;
}

struct unicd_files *unicd_files_open(const char *path, bool writable)
{
	struct unicd_files *f = calloc(1, sizeof(*f));
	int err = 0;

	if (!f) {
		unicd_say("out of memory");
		return NULL;
	}
	f->writable = writable;
	f->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->root < 0)
		err = errno == ENOTDIR ? open_one(f, path) : -errno;
	if (!err)
		return f;
	unicd_say("--kio-export %s: %s: name a folder, or a file, that this "
		  "user may read",
		  path, strerror(-err));
	free(f);
	return NULL;
}

void unicd_files_close(struct unicd_files *f)
{
	if (f)
		close(f->root);
	free(f);
}
