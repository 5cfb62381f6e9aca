/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma.h - the device /dev/infiniband/rdma_cm, as librdmacm uses it: version 4 of its
 * interface (rdma/rdma_user_cm.h).
 *
 * Secret: the layout of commands and answers, and which lengths and values are valid. What
 * a kernel without multicast answers is answered: ENOSYS.
 */
#ifndef UNIC_UCMA_H
#define UNIC_UCMA_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** unic_ucma_open() - open it with @flags of open(): a descriptor, or -1 and errno. */
int unic_ucma_open(int flags);
/** unic_ucma_owns() - true if @fd is one. Cheap, and no call if it is certainly none. */
bool unic_ucma_owns(int fd);
/** unic_ucma_request() - carry out the command of @bytes at @buf that is written to @fd,
 * which unic_ucma_owns(): @bytes, or -1 and errno. */
ssize_t unic_ucma_request(int fd, const void *buf, size_t bytes);

#endif /* UNIC_UCMA_H */
