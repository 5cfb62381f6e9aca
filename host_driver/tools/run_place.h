/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run_place.h - the folders of unic-run: one for each of its runs, and one for each net.
 *
 * Secret: where they are, and that what a killed process left behind goes away. All are
 * below one folder of the user, who alone may write to it.
 */
#ifndef RUN_PLACE_H
#define RUN_PLACE_H

#include <stdbool.h>

#include "run_child.h"

/** run_place_dir() - make the folder of a run, and remove those of runs that have ended.
 * 0, or -1 after a line on stderr. */
int run_place_dir(char out[RUN_PATH]);
/** run_place_is_net() - true if a net may be called @name: letters, digits, - and _, 24 at
 * most. */
bool run_place_is_net(const char *name);
/** run_place_net() - make the folder of net @name, which run_place_is_net(). 0, or -1 after a
 * line on stderr. */
int run_place_net(const char *name, char out[RUN_PATH]);
/** run_place_remove() - remove @dir with all that is in it. */
void run_place_remove(const char *dir);
/** run_place_lock() - the descriptor of file @name of @dir with a lock on it: flock()
 * operation @how. It is closed by exec. -1: another one has it. */
int run_place_lock(const char *dir, const char *name, int how);

#endif /* RUN_PLACE_H */
