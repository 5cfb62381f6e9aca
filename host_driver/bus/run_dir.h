/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run_dir.h - the directory in which a daemon keeps its sockets: one daemon of
 * a name per directory, and nothing left behind when it ends.
 */
#ifndef RUN_DIR_H
#define RUN_DIR_H

#include <stddef.h>

#define RUN_DIR_FILES 24
#define RUN_DIR_PATH  108 /* sizeof(sun_path): longer ones cannot be sockets */

struct run_dir {
	char path[RUN_DIR_PATH];
	int lock_fd;
	int files;
	char file[RUN_DIR_FILES][RUN_DIR_PATH]; /* to be removed by fini */
};

/**
 * run_dir_init() - make @dir if it is missing and lock it for daemon @name.
 * The lock ends with the process, however it ends.
 * Returns 0; -EBUSY if such a daemon runs there; -ENAMETOOLONG; -errno.
 */
int run_dir_init(struct run_dir *rd, const char *dir, const char *name);

/**
 * run_dir_file() - absolute path of @name inside the directory (a @name with a
 * slash is taken as it is), removed now if a dead daemon left it there, and
 * again by run_dir_fini().
 * Returns NULL with errno set if it is too long or there are too many.
 */
const char *run_dir_file(struct run_dir *rd, const char *name);

/**
 * run_dir_listen() - a bound, non-blocking Unix socket named @name in the
 * directory; connection types listen.
 * @type: SOCK_STREAM, SOCK_SEQPACKET or SOCK_DGRAM.
 * Returns the descriptor (the caller's) or -errno.
 */
int run_dir_listen(struct run_dir *rd, const char *name, int type);

/**
 * run_dir_write() - write a small text file whole or not at all (rename).
 * Returns 0 or -errno.
 */
int run_dir_write(struct run_dir *rd, const char *name, const char *text);

/** run_dir_fini() - remove every file and socket, unlock. */
void run_dir_fini(struct run_dir *rd);

#endif /* RUN_DIR_H */
