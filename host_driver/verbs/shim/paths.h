/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * paths.h - names that mean another file to a program under unic-run.
 */
#ifndef UNIC_SHIM_PATHS_H
#define UNIC_SHIM_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#define UNIC_SHIM_PATH 512
/* Set by unic-run, to the generated tree: the library does nothing without it. */
#define UNIC_SHIM_TREE "UNIC_RUN_TREE"

/* The connection manager's device. */
#define UNIC_SHIM_CM "/dev/infiniband/rdma_cm"

/** unic_shim_tree() - the generated tree; NULL: this is not for us. A program with more
 * rights than whoever started it is left alone. */
const char *unic_shim_tree(void);

/** unic_shim_is_cm() - true if @path is the connection manager's device, and ours. */
bool unic_shim_is_cm(const char *path);

/** unic_shim_path() - the path to use for @path: @path itself, or static text or @room of
 * UNIC_SHIM_PATH bytes. Below /dev/infiniband are the devices of the generated tree, which
 * /dev/null stands for, and nothing else: NULL, with errno ENOENT. Changes errno in that
 * case only. */
const char *unic_shim_path(const char *path, char room[UNIC_SHIM_PATH]);

#endif /* UNIC_SHIM_PATHS_H */
