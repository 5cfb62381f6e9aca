/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run_tree.h - the tree that SYSFS_PATH names: what libibverbs reads of a kernel with RDMA
 * devices.
 */
#ifndef RUN_TREE_H
#define RUN_TREE_H

#include <stdint.h>

#include "run_child.h"

#define RUN_DEVICES 2
#define RUN_NAME    16 /* bytes of a device's name with its 0 */

struct run_device {
	char name[RUN_NAME];
	char where[128]; /* PATH[,NIC] of its driver */
	uint32_t ipv4;	 /* of the NIC, host order */
};

/** run_tree_make() - make the tree of the @n devices at @dev below @dir; its path is @out.
 * 0, or -1 after a line on stderr. */
int run_tree_make(const char *dir, const struct run_device *dev, unsigned int n,
		  char out[RUN_PATH]);

#endif /* RUN_TREE_H */
