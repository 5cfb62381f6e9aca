/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run_dir.h - the directory in which a daemon keeps its sockets: one daemon of
 * a name per directory, and nothing left behind when it ends.
 *
 * Secret: that nobody else decides what our names mean. The directory is ours or
 * root's, and only we may write to it; it is opened once, and all that is in it
 * is reached by that descriptor, through no symbolic link. Who connects to a
 * socket in it is asked for its user.
 */
#ifndef RUN_DIR_H
#define RUN_DIR_H

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define RUN_DIR_FILES 24
#define RUN_DIR_PATH  108 /* sizeof(sun_path): longer ones cannot be sockets */

struct run_dir {
	char path[RUN_DIR_PATH]; /* for others */
	int fd, lock_fd;
	int files;
	struct run_dir_file {
		int dir; /* -1: `fd` */
		char name[RUN_DIR_PATH];
	} file[RUN_DIR_FILES]; /* to be removed by fini */
};

/**
 * run_dir_open() - directory @dir, or -errno: -EPERM if it is neither root's nor
 * ours or others may write to it, -ELOOP or -ENOTDIR if it is a symbolic link.
 */
int run_dir_open(const char *dir);

/** run_dir_why() - what is wrong with a directory, of run_dir_open(). */
const char *run_dir_why(int err);

/** run_dir_peer() - 0 if root or our own user is at the other end of the
 * connected Unix socket @fd; -EPERM; -errno. */
int run_dir_peer(int fd);

/** run_dir_connect() - socket @fd to socket @name in directory @dir, of a process
 * that run_dir_peer() accepts. 0 or -errno. */
int run_dir_connect(int fd, int dir, const char *name);

/** run_dir_offer() - socket @fd as @name in directory @dir, with @mode from the first
 * moment. With @backlog, as for listen(), not 0, it listens before the name is there:
 * who finds the name is not refused. 0 or -errno. */
int run_dir_offer(int fd, int dir, const char *name, mode_t mode, int backlog);

/** run_dir_unlink() - socket @name in directory @dir, if it is there. 0; -EEXIST:
 * it is, and is no socket; -errno. */
int run_dir_unlink(int dir, const char *name);

/**
 * run_dir_init() - make @dir if it is missing and lock it for daemon @name.
 * The lock ends with the process, however it ends.
 * Returns 0; -EBUSY if such a daemon runs there; -ENAMETOOLONG; -errno as
 * run_dir_open().
 */
int run_dir_init(struct run_dir *rd, const char *dir, const char *name);

/**
 * run_dir_reserve() - make room for somebody's socket @name in the directory (a
 * @name with a slash is a path of any): one that a dead process left there is
 * removed now, and again by run_dir_fini(). @path: where it will be.
 * Returns 0; -EEXIST: something else is there; -errno.
 */
int run_dir_reserve(struct run_dir *rd, const char *name,
		    char path[RUN_DIR_PATH]);

/**
 * run_dir_listen() - a bound, non-blocking Unix socket named @name in the
 * directory (or elsewhere, see run_dir_reserve()), for our own user; connection
 * types listen.
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
