/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *target_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#define PART_NAME_MAX (NAME_MAX - (sizeof(".partXXXXXX") - 1))

static const int endings[] = { SIGINT, SIGTERM, SIGHUP };

/* The new file that a signal removes; "": none. Written with the signals blocked. */
static char open_part[PATH_MAX];

static void remove_part(int sig)
{
	if (open_part[0])
		unlink(open_part);
	raise(sig); /* SA_RESETHAND: this ends the program */
}

/* Called with the signals blocked. */
static void watch_part(const char *part)
{
	struct sigaction sa = { .sa_handler = remove_part,
				.sa_flags = SA_RESETHAND };
	struct sigaction old;
	size_t i;

	snprintf(open_part, sizeof(open_part), "%s", part);
	for (i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		/* who ignores a signal, or has a use for it, goes on so */
		if (!sigaction(endings[i], NULL, &old) &&
		    old.sa_handler == SIG_DFL)
			sigaction(endings[i], &sa, NULL);
}

/* The mode of a file that open() makes with 0666. */
static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static int open_part_of(struct target_file *t)
{
	size_t name = strlen(target_file_name(t->path)), cut = 0;

	if (name > PART_NAME_MAX) /* with what follows it would be none */
		cut = name - PART_NAME_MAX;
	if (name > NAME_MAX ||
	    snprintf(t->part, sizeof(t->part), "%.*s.partXXXXXX",
		     (int)(strlen(t->path) - cut),
		     t->path) >= (int)sizeof(t->part)) {
		t->part[0] = '\0';
		return -ENAMETOOLONG;
	}
	t->fd = mkostemp(t->part, O_CLOEXEC);
	if (t->fd < 0) {
		t->part[0] = '\0';
		return -errno;
	}
	return 0;
}

/* A signal finds no new file, or one that it removes. */
static int open_watched_part(struct target_file *t)
{
	sigset_t set, before;
	size_t i;
	int err;

	sigemptyset(&set);
	for (i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		sigaddset(&set, endings[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	err = open_part_of(t);
	if (!err)
		watch_part(t->part);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

int target_file_new(struct target_file *t, const char *path)
{
	*t = (struct target_file){ .fd = -1, .mode = usual_mode() };
	if (strlen(path) >= sizeof(t->path))
		return -ENAMETOOLONG;
	strcpy(t->path, path);
	return open_part_of(t);
}

/* The file @name in the folder t->path, and *@st of it. */
static int enter_folder(struct target_file *t, const char *name,
			struct stat *st)
{
	size_t len = strlen(t->path);

	if (len + strlen(name) + 2 > sizeof(t->path))
		return -ENAMETOOLONG;
	sprintf(t->path + len, "/%s", name);
	return stat(t->path, st) ? -errno : 0;
}

/* What is there is written as it is, from its start. */
static int open_in_place(struct target_file *t, const struct stat *st)
{
	t->fd = open(t->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	t->stream = !S_ISBLK(st->st_mode);
	return t->fd < 0 ? -errno : 0;
}

/* A regular file, at the end of its links. */
static int replace_regular(struct target_file *t, const struct stat *st)
{
	char *real = realpath(t->path, NULL);

	if (!real)
		return -errno;
	snprintf(t->path, sizeof(t->path), "%s", real);
	free(real);
	t->mode = st->st_mode & 0777;
	return open_watched_part(t);
}

int target_file_open(struct target_file *t, const char *path, const char *name)
{
	struct stat st, link;
	int err;

	*t = (struct target_file){ .fd = -1, .mode = usual_mode() };
	if (strlen(path) >= sizeof(t->path))
		return -ENAMETOOLONG;
	strcpy(t->path, path);
	err = stat(path, &st) ? -errno : 0;
	if (!err && S_ISDIR(st.st_mode))
		err = enter_folder(t, name, &st);
	if (err == -ENOENT && !lstat(t->path, &link))
		return -ENOENT; /* a link to nothing */
	if (err == -ENOENT)
		err = open_watched_part(t);
	else if (!err && S_ISREG(st.st_mode))
		err = replace_regular(t, &st);
	else if (!err)
		err = open_in_place(t, &st);
	return err;
}

/* A disk that is full may say so no sooner. */
static int close_written(struct target_file *t)
{
	int fd = t->fd;

	t->fd = -1;
	return fd >= 0 && close(fd) ? -errno : 0;
}

int target_file_keep(struct target_file *t)
{
	int err;

	if (t->part[0] && t->fd >= 0 && fchmod(t->fd, t->mode))
		return -errno;
	err = close_written(t);
	if (err || !t->part[0])
		return err;
	if (rename(t->part, t->path))
		return -errno;
	t->part[0] = '\0';
	open_part[0] = '\0';
	return 0;
}

void target_file_close(struct target_file *t)
{
	if (t->part[0]) {
		unlink(t->part);
		open_part[0] = '\0';
	}
	t->part[0] = '\0';
	close_written(t);
}
