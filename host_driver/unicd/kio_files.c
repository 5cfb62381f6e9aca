/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_files.c - the files that the page service exports: a folder and what is below
 * it, or one file.
 *
 * Secret: how a name becomes a file, and never one outside of what is exported. The
 * path is walked folder by folder, from a descriptor of the exported one; no
 * symbolic link is followed, no part of a name leads up, and only plain files are
 * opened. Hard links, and what is mounted below, belong to it.
 *
 * A file stays open for its connection, since only a descriptor that was open when
 * bytes were written is sure to report in fsync() that they were lost. Where that
 * report reaches no client (the name is another file meanwhile, fsync() failed while
 * the file was closed), the boot id changes: all clients see it at their next SYNC.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kio_files.h"
#include "kio_server.h"
#include "unicd_os.h"

#define ENTRIES_MAX 65536u /* of a folder that is listed */
#define KEPT_MAX    64u	   /* files that stay open, ... */
#define KEPT_EACH   8u	   /* ... of one connection */

/* A file that stays open. */
struct kept {
	const struct unic_kio_server *of; /* NULL: none */
	char path[UNIC_KIO_NAME_MAX + 1];
	int fd;
	bool writes; /* the descriptor is writable */
	bool dirty;  /* written since the last fsync() */
	uint64_t used;
};

struct unicd_files {
	int root;	     /* the folder */
	char only[NAME_MAX]; /* the one file in it; "": all */
	bool writable;
	uint64_t max_bytes; /* of a file */
	uint64_t boot, uses;
	struct kept kept[KEPT_MAX];
};

/* ---------------------------------------------------------------------- walk */

/* A name in its folder: not empty, not "." or "..". */
static bool is_plain_name(const char *name)
{
	return *name && strcmp(name, ".") && strcmp(name, "..");
}

/* Opens folder @name in @at, and closes @at. Or -errno. */
static int open_subdir(int at, const char *name)
{
	int fd = -1;

	errno = EACCES;
	if (is_plain_name(name))
		fd = openat(at, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(at);
	return fd;
}

/* Opens the folder that @path is in; the caller closes it. Or -errno. *@last: the name
 * there, "" for the root itself. */
static int walk_path(const struct unicd_files *f, char *path, const char **last)
{
	int at = fcntl(f->root, F_DUPFD_CLOEXEC, 0);
	char *slash;

	if (at < 0)
		return -errno;
	while (at >= 0 && (slash = strchr(path, '/'))) {
		*slash = 0;
		at = open_subdir(at, path);
		path = slash + 1;
	}
	*last = path;
	return at;
}

static bool is_exported(const struct unicd_files *f, const char *path)
{
	return !*f->only || !*path || !strcmp(path, f->only);
}

/* --------------------------------------------------------------------- files */

static int open_plain(int at, const char *name, int flags)
{
	struct stat st;
	int fd;

	if (!is_plain_name(name))
		return -EACCES;
	/* checked before open(), which may have an effect on a device */
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

/* Bytes moved: all, or fewer at the end of the file or before an error; or -errno. */
static int transfer_bytes(int fd, uint8_t op, uint8_t *buf, uint32_t len,
			  uint64_t offset)
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

/* ------------------------------------------------------------ kept open */

static void new_boot(struct unicd_files *f)
{
	uint64_t old = f->boot;

	while (f->boot == old || !f->boot)
		if (getrandom(&f->boot, sizeof(f->boot), 0) < 0)
			f->boot = old + 1;
}

/* An fsync() that fails here is reported to no client: the boot id changes. */
static void close_kept(struct unicd_files *f, struct kept *k)
{
	if (k->dirty && fsync(k->fd))
		new_boot(f);
	close(k->fd);
	k->of = NULL;
}

static void close_all_kept(struct unicd_files *f,
			   const struct unic_kio_server *of)
{
	uint32_t i;

	for (i = 0; i < KEPT_MAX; i++)
		if (f->kept[i].of == of)
			close_kept(f, &f->kept[i]);
}

static struct kept *find_kept(struct unicd_files *f,
			      const struct unic_kio_server *of,
			      const char *path)
{
	uint32_t i;

	for (i = 0; i < KEPT_MAX; i++)
		if (f->kept[i].of == of && !strcmp(f->kept[i].path, path))
			return &f->kept[i];
	return NULL;
}

/* A place for one more file of @of: a spare one, or, if @of has its share, the one of
 * its files that was used least recently, closed. NULL: none. */
static struct kept *make_room(struct unicd_files *f,
			      const struct unic_kio_server *of)
{
	struct kept *oldest = NULL, *spare = NULL;
	uint32_t i, n = 0;

	for (i = 0; i < KEPT_MAX; i++) {
		struct kept *k = &f->kept[i];

		if (!k->of)
			spare = k;
		if (k->of != of)
			continue;
		n++;
		if (!oldest || k->used < oldest->used)
			oldest = k;
	}
	if (n < KEPT_EACH && spare)
		return spare;
	if (oldest)
		close_kept(f, oldest);
	return oldest;
}

/* The name still is this file. Else what was written is not found under it. */
static bool is_current(const struct kept *k, int at, const char *name)
{
	struct stat now, then;

	return !fstatat(at, name, &now, AT_SYMLINK_NOFOLLOW) &&
	       !fstat(k->fd, &then) && now.st_dev == then.st_dev &&
	       now.st_ino == then.st_ino;
}

static int add_kept(struct unicd_files *f, const struct unic_kio_task *task,
		    int at, const char *name, const char *path,
		    struct kept **out)
{
	bool writes = task->op == UNIC_KIO_WRITE || task->op == UNIC_KIO_CUT;
	int fd = open_plain(at, name,
			    task->op == UNIC_KIO_CUT ? O_RDWR | O_CREAT
			    : writes		     ? O_RDWR
						     : O_RDONLY);
	struct kept *k;

	if (fd < 0)
		return fd;
	k = make_room(f, task->server);
	if (!k) { /* more connections than the service has */
		close(fd);
		return -ENFILE;
	}
	*k = (struct kept){ .of = task->server, .fd = fd, .writes = writes };
	strcpy(k->path, path);
	*out = k;
	return 0;
}

/* The file that @path, which is @name in @at, is at this moment. */
static int open_kept(struct unicd_files *f, const struct unic_kio_task *task,
		     int at, const char *name, const char *path,
		     struct kept **out)
{
	bool writes = task->op == UNIC_KIO_WRITE || task->op == UNIC_KIO_CUT;
	struct kept *k = find_kept(f, task->server, path);
	int err;

	if (k && !is_current(k, at, name)) {
		if (k->dirty)
			new_boot(f);
		close_kept(f, k);
		k = NULL;
	}
	if (k && writes && !k->writes) {
		close_kept(f, k);
		k = NULL;
	}
	err = k ? 0 : add_kept(f, task, at, name, path, &k);
	if (err)
		return err;
	k->used = ++f->uses;
	*out = k;
	return 0;
}

static int check_write(const struct unicd_files *f,
		       const struct unic_kio_task *task)
{
	if (task->op != UNIC_KIO_WRITE && task->op != UNIC_KIO_CUT)
		return 0;
	if (!f->writable)
		return -EROFS;
	return task->offset + task->len > f->max_bytes ? -EFBIG : 0;
}

static int apply_op(struct kept *k, struct unic_kio_task *task)
{
	int err;

	switch (task->op) {
	case UNIC_KIO_CUT:
		k->dirty = true;
		return ftruncate(k->fd, (off_t)task->offset) ? -errno : 0;
	case UNIC_KIO_SYNC:
		err = fsync(k->fd) ? -errno : 0;
		k->dirty = false; /* or the client gets the error */
		return err;
	case UNIC_KIO_WRITE:
		k->dirty = true;
		/* fall through */
	default:
		return task->len ? transfer_bytes(k->fd, task->op, task->buf,
						  task->len, task->offset)
				 : 0;
	}
}

static int run_file_task(struct unicd_files *f, struct unic_kio_task *task,
			 int at, const char *name, const char *path)
{
	struct kept *k = NULL;
	struct stat st;
	int n = check_write(f, task);

	if (!n)
		n = open_kept(f, task, at, name, path, &k);
	if (n)
		return n;
	n = apply_op(k, task);
	if (n >= 0 && fstat(k->fd, &st))
		n = -errno;
	else if (n >= 0)
		task->size = (uint64_t)st.st_size;
	return n;
}

/* -------------------------------------------------------------------- folders */

/* Writes the entry of @name to @buf, of @room bytes, and returns its length. 0: it is
 * not shown, or, *@full, has no room. */
static uint32_t put_entry(const struct unicd_files *f, int at, const char *name,
			  uint8_t *buf, uint32_t room, bool *full)
{
	size_t name_bytes = strlen(name);
	struct unic_kio_entry e = { .dir = 0 };
	struct stat st;

	*full = false;
	if (!is_plain_name(name) || name_bytes > UNIC_KIO_NAME_MAX ||
	    !is_exported(f, name) ||
	    fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) ||
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

/* Lists a folder from entry @skip on, hidden ones counted; *@size: where to go on. */
static int list_folder(const struct unicd_files *f, int at, const char *name,
		       uint64_t skip, void *buf, uint32_t len, uint64_t *size)
{
	int fd = fcntl(at, F_DUPFD_CLOEXEC, 0), n;
	DIR *dir;

	if (fd >= 0 && *name)
		fd = open_subdir(fd, name);
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

static int run_task(struct unicd_files *f, struct unic_kio_task *task)
{
	char path[UNIC_KIO_NAME_MAX + 1], whole[UNIC_KIO_NAME_MAX + 1];
	const char *last = "";
	int at, n;

	memcpy(path, task->name, task->name_bytes);
	path[task->name_bytes] = 0;
	strcpy(whole, path);
	if (!is_exported(f, path))
		return -ENOENT;
	at = walk_path(f, path, &last);
	if (at < 0)
		return at;
	if (task->op == UNIC_KIO_LIST)
		n = list_folder(f, at, last, task->offset, task->buf, task->len,
				&task->size);
	else
		n = run_file_task(f, task, at, last, whole);
	close(at);
	return n;
}

int unicd_files_run(struct unicd_files *f, struct unic_kio_task *task)
{
	int n = 0;

	task->size = 0;
	if (task->op)
		n = run_task(f, task);
	else
		close_all_kept(f, task->server);
	task->boot = f->boot;
	return n;
}

/* --------------------------------------------------------------- open, close */

/* @path is a file: export the folder it is in, and show nothing else. */
static int export_single_file(struct unicd_files *f, const char *path)
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

struct unicd_files *unicd_files_open(const char *path, bool writable,
				     uint64_t max_bytes)
{
	struct unicd_files *f = calloc(1, sizeof(*f));
	int err = 0;

	if (!f) {
		unicd_say("out of memory");
		return NULL;
	}
	f->writable = writable;
	f->max_bytes = max_bytes;
	new_boot(f);
	f->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->root < 0)
		err = errno == ENOTDIR ? export_single_file(f, path) : -errno;
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
	uint32_t i;

	for (i = 0; f && i < KEPT_MAX; i++)
		if (f->kept[i].of)
			close(f->kept[i].fd); /* the boot id ends with @f */
	if (f)
		close(f->root);
	free(f);
}
