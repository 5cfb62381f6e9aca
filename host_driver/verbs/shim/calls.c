/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * calls.c - functions of the C library that libibverbs and librdmacm call by name, for a machine whose
 * kernel has no RDMA, or other devices. Each call that is not about a device of unic-run is
 * passed on unchanged, errno included.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel.h"
#include "ifaddrs.h"
#include "paths.h"
#include "ucma.h"
#include "ucma_close.h"

#define EXPORT __attribute__((visibility("default")))

/* The function of the next library that has it, looked up once. Its name is that of the
 * variable, and its type the one here. */
#define NEXT(type, name, args)                                                \
	static type(*next_##name) args;                                       \
	if (!__atomic_load_n(&next_##name, __ATOMIC_RELAXED))                 \
	__atomic_store_n(&next_##name, (type(*) args)dlsym(RTLD_NEXT, #name), \
			 __ATOMIC_RELAXED)

static mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE
		       ? va_arg(ap, mode_t)
		       : 0;
}

#define PASS_ON (-2)

/* Open what is this library's, with @flags: a descriptor, -1 and errno, or PASS_ON with the
 * path to use in *@path. */
static int open_own(const char **path, int flags, char room[UNIC_SHIM_PATH])
{
	if (unic_shim_is_cm(*path))
		return unic_ucma_open(flags);
	*path = unic_shim_path(*path, room);
	return *path ? PASS_ON : -1;
}

EXPORT int open(const char *path, int flags, ...)
{
	char room[UNIC_SHIM_PATH];
	mode_t mode;
	va_list ap;
	int own;
	NEXT(int, open, (const char *, int, ...));

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	own = open_own(&path, flags, room);
	return own == PASS_ON ? next_open(path, flags, mode) : own;
}

EXPORT int open64(const char *path, int flags, ...)
{
	char room[UNIC_SHIM_PATH];
	mode_t mode;
	va_list ap;
	int own;
	NEXT(int, open64, (const char *, int, ...));

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	own = open_own(&path, flags, room);
	return own == PASS_ON ? next_open64(path, flags, mode) : own;
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
	char room[UNIC_SHIM_PATH];
	mode_t mode;
	va_list ap;
	int own;
	NEXT(int, openat, (int, const char *, int, ...));

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	own = open_own(&path, flags, room);
	return own == PASS_ON ? next_openat(dir, path, flags, mode) : own;
}

EXPORT int stat(const char *restrict path, struct stat *restrict out)
{
	char room[UNIC_SHIM_PATH];
	NEXT(int, stat, (const char *, struct stat *));

	path = unic_shim_path(path, room);
	return path ? next_stat(path, out) : -1;
}

/* librdmacm asks whether its device is one. */
EXPORT int fstat(int fd, struct stat *out)
{
	int err;
	NEXT(int, fstat, (int, struct stat *));

	err = next_fstat(fd, out);
	if (!err && unic_ucma_owns(fd))
		out->st_mode = (out->st_mode & ~(mode_t)S_IFMT) | S_IFCHR;
	return err;
}

EXPORT int close(int fd)
{
	NEXT(int, close, (int));

	unic_ucma_closing(fd);
	return next_close(fd);
}

EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	NEXT(int, close_range, (unsigned int, unsigned int, int));

	return unic_ucma_close_range(first, last, flags, next_close_range);
}

EXPORT void closefrom(int first)
{
	NEXT(void, closefrom, (int));

	if (close_range(first < 0 ? 0 : (unsigned int)first, ~0u, 0))
		next_closefrom(first);
}

EXPORT int access(const char *path, int how)
{
	char room[UNIC_SHIM_PATH];
	NEXT(int, access, (const char *, int));

	path = unic_shim_path(path, room);
	return path ? next_access(path, how) : -1;
}

EXPORT int getifaddrs(struct ifaddrs **out)
{
	int err;
	NEXT(int, getifaddrs, (struct ifaddrs **));

	err = next_getifaddrs(out);
	if (!err && unic_shim_add_ifaddrs(out)) {
		freeifaddrs(*out);
		err = -1;
	}
	return err;
}

EXPORT void freeifaddrs(struct ifaddrs *list)
{
	NEXT(void, freeifaddrs, (struct ifaddrs *));

	next_freeifaddrs(unic_shim_del_ifaddrs(list));
}

/* Without netlink libibverbs reads the generated tree; with it, it would list the devices
 * of the kernel. */
EXPORT int socket(int domain, int type, int protocol)
{
	NEXT(int, socket, (int, int, int));

	if (domain == AF_NETLINK && protocol == NETLINK_RDMA &&
	    !getauxval(AT_SECURE) && getenv(UNIC_SHIM_TREE)) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return next_socket(domain, type, protocol);
}

EXPORT ssize_t write(int fd, const void *buf, size_t bytes)
{
	NEXT(ssize_t, write, (int, const void *, size_t));

	if (unic_ucma_owns(fd))
		return unic_ucma_request(fd, buf, bytes);
	if (unic_shim_owns(fd))
		return unic_shim_request(fd, buf, bytes);
	return next_write(fd, buf, bytes);
}
