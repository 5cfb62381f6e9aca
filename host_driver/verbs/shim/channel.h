/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * channel.h - requests that libibverbs writes to a device of the kernel, answered here.
 */
#ifndef UNIC_SHIM_CHANNEL_H
#define UNIC_SHIM_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What the provider looks for by name: a program that is not started by unic-run does not
 * have it. */
#define UNIC_SHIM_DEVICE "unic_shim_device"

/** unic_shim_device() - @fd is the command descriptor of a context of the provider, of
 * which @open_channel makes the completion channels: a descriptor, the program's, or
 * -errno. NULL: @fd is none any more, and is about to be closed. 0; -EMFILE: there are 64
 * already. */
int unic_shim_device(int fd, int (*open_channel)(void));
/** unic_shim_owns() - true if @fd is a command descriptor of the provider. Cheap. */
bool unic_shim_owns(int fd);
/** unic_shim_request() - answer the request of @bytes that is written to @fd, which
 * unic_shim_owns(): @bytes, or -1 and errno: ENOSYS, there is no such request. */
ssize_t unic_shim_request(int fd, const void *request, size_t bytes);

#endif /* UNIC_SHIM_CHANNEL_H */
