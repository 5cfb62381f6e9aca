/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_copy.c - see ucma_copy.h. Secret: the kernel copies, within this process. */
#define _GNU_SOURCE
#include "ucma_copy.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* What the call of the kernel that returned @got says of @bytes. 1: there is no such call,
 * as under a filter. */
static int verdict(ssize_t got, size_t bytes)
{
	if (got == (ssize_t)bytes)
		return 0;
	return got < 0 && (errno == ENOSYS || errno == EPERM) ? 1 : -EFAULT;
}

int unic_ucma_copy_in(void *to, const void *from, size_t bytes)
{
	struct iovec mine = { to, bytes }, its = { (void *)from, bytes };
	int err = verdict(process_vm_readv(getpid(), &mine, 1, &its, 1, 0),
			  bytes);

	if (err <= 0)
		return err;
	if (!from)
		return -EFAULT;
	memcpy(to, from, bytes);
	return 0;
}

int unic_ucma_copy_out(void *to, const void *from, size_t bytes)
{
	struct iovec mine = { (void *)from, bytes }, its = { to, bytes };
	int err = verdict(process_vm_writev(getpid(), &mine, 1, &its, 1, 0),
			  bytes);

	if (err <= 0)
		return err;
	if (!to)
		return -EFAULT;
	memcpy(to, from, bytes);
	return 0;
}
