/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * target_file.h - the file that a transfer writes.
 *
 * Secret: what is at its place stays there until all has come, and what a program that
 * ends early leaves behind, which is nothing.
 */
#ifndef TARGET_FILE_H
#define TARGET_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct target_file {
	int fd;	     /* to write to; -1: none */
	bool stream; /* it takes bytes in their order only */
	mode_t mode; /* that the file gets */
	char path[PATH_MAX];
	char part[PATH_MAX]; /* its name until it is kept; "": it has its own */
};

/** target_file_name() - the last part of @path: the name of the file without its folder. */
const char *target_file_name(const char *path);
/**
 * target_file_open() - open what the user calls @path, for a file of the name @name: no
 * file, or a regular one, also behind links: a new file, which takes its place and has its
 * permissions once target_file_keep() is called. A folder: the file @name in it. All else, such as
 * a device or a FIFO, is written as it is. The new file is removed if SIGINT, SIGTERM or
 * SIGHUP ends the program before; only one at a time is. 0 or -errno, and @t->path says of
 * what.
 */
int target_file_open(struct target_file *t, const char *path, const char *name);
/** target_file_new() - open a new file that takes the place of whatever is at @path once it
 * is kept, of a link itself, too: for a folder in which others choose the names. 0 or
 * -errno. */
int target_file_new(struct target_file *t, const char *path);
/** target_file_keep() - close the file, which is complete. 0, also if that was done before,
 * or -errno, and then there is nothing but target_file_close(). */
int target_file_keep(struct target_file *t);
/** target_file_close() - close the file, and remove a new one that was not kept. @t may be
 * closed or kept already, or {.fd = -1}. */
void target_file_close(struct target_file *t);

#endif /* TARGET_FILE_H */
