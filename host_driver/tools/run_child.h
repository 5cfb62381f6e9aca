/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run_child.h - programs that unic-run starts beside the user's, and ends.
 *
 * Secret: how one is known to be ready, and that none outlives whoever started it, however
 * that ends. Their lines go to a file, of which a user sees the end when one fails.
 */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include <sys/types.h>

#define RUN_PATH 256

struct run_child {
	char who[32]; /* its name */
	pid_t pid;    /* 0: it does not run */
	char log[RUN_PATH];
};

/** run_program() - the path of program or library @name of this release: @out, of
 * RUN_PATH bytes. */
const char *run_program(const char *name, char out[RUN_PATH]);

/** run_child_start() - start program @argv[0] of this release, with its lines in a file of
 * folder @dir, and wait until it says that it is ready. @needs: NULL, or a child without which
 * it never is. 0, or -1 after a line on stderr; then @c does not run. */
int run_child_start(struct run_child *c, struct run_child *needs,
		    const char *dir, char *const argv[]);

/** run_child_launch() - start @program with @argv, found as a shell finds it, with its lines in
 * a file of folder @dir. It never says that it is ready. 0, or -1 after a line on stderr. */
int run_child_launch(struct run_child *c, const char *dir, const char *program,
		     char *const argv[]);

/** run_child_fail() - say on stderr that @c @why, with its last line, and end it. -1. */
int run_child_fail(struct run_child *c, const char *why);

/** run_child_alive() - 1 if @c runs. */
int run_child_alive(struct run_child *c);

/** run_child_end() - end @c, if it runs, and wait for it. */
void run_child_end(struct run_child *c);

#endif /* RUN_CHILD_H */
