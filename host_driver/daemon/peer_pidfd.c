// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "peer_pidfd.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int pidfd_from_cred(int sock)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int fd;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	fd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
	return fd < 0 ? -errno : fd;
}

int peer_pidfd(int sock)
{
	int fd = -1;
	socklen_t len = sizeof(fd);

	if (!getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len))
		return fd;
	if (errno == ENOPROTOOPT)
		return pidfd_from_cred(sock);
	/* so kernels call one that nobody waits for any more */
	return errno == EINVAL || errno == ENODATA ? -ESRCH : -errno;
}
