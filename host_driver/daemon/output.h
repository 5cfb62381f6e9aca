/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * output.h - what a program prints or writes reaches its reader, or the program fails.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

/** output_watch() - have exit() write out all that was printed, also by --help. Where
 * something could not be written (a disk that is full), exit() says so on standard error,
 * and a status of 0 becomes EX_IOERR. Call it once, first in main(). */
void output_watch(void);

/* What to do about a path that output_check_path() refuses; behind strerror(). */
#define OUTPUT_PATH_HINT \
	"name a file that this user may write, in a folder that is there"

/** output_check_path() - check that this user may write a file at @path, where it may be
 * missing, so that a file that a program writes at its end is refused at its start.
 * Nothing is opened or made.
 *
 * Return: 0; -EISDIR: a folder is there; -errno as of open(). */
int output_check_path(const char *path);

#endif /* OUTPUT_H */
