/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* paths.c - see paths.h. */
#define _GNU_SOURCE
#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#define DEVICES "/dev/infiniband/"

const char *unic_shim_tree(void)
{
	return getauxval(AT_SECURE) ? NULL : getenv(UNIC_SHIM_TREE);
}

/* True if the tree has device @name. By system calls: the functions of the C library with
 * these names are the ones that this library stands for. */
static int has_device(const char *sys, const char *name,
		      char room[UNIC_SHIM_PATH])
{
	int n = snprintf(room, UNIC_SHIM_PATH,
			 "%s/class/infiniband_verbs/%s/dev", sys, name);

	return n > 0 && n < UNIC_SHIM_PATH && !strchr(name, '/') &&
	       !syscall(SYS_faccessat, AT_FDCWD, room, F_OK);
}

bool unic_shim_is_cm(const char *path)
{
	return path && !strcmp(path, UNIC_SHIM_CM) && unic_shim_tree();
}

const char *unic_shim_path(const char *path, char room[UNIC_SHIM_PATH])
{
	const char *sys;

	if (!path || strncmp(path, DEVICES, sizeof(DEVICES) - 1))
		return path;
	sys = unic_shim_tree();
	if (!sys)
		return path;
	if (!strcmp(path, UNIC_SHIM_CM) ||
	    has_device(sys, path + sizeof(DEVICES) - 1, room))
		return "/dev/null";
	errno = ENOENT;
	return NULL;
}
