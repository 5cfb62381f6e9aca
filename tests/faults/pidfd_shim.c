/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pidfd_shim.c - pidfd_open() for programs under a valgrind that does not know
 * the call: preloaded into them, it asks the process at PIDFD_BROKER (a socket
 * of tests/faults/checked.py) for the descriptor. Every other number given to
 * syscall() goes on to the kernel.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int reach_broker(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = getenv("PIDFD_BROKER");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0 || !path || strlen(path) >= sizeof(addr.sun_path))
		return fd;
	strcpy(addr.sun_path, path);
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	close(fd);
	return -1;
}

/* The broker's answer: its errno, and a descriptor when that is 0. */
static long ask(int broker, int pid)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl = { 0 };
	int err = EIO, fd = -1;
	struct iovec iov = { .iov_base = &err, .iov_len = sizeof(err) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = ctl.buf,
			      .msg_controllen = sizeof(ctl.buf) };

	if (send(broker, &pid, sizeof(pid), MSG_NOSIGNAL) != sizeof(pid) ||
	    recvmsg(broker, &msg, MSG_CMSG_CLOEXEC) != sizeof(err))
		err = EIO;
	else if (!err && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	errno = err;
	return fd;
}

static long pidfd_open_(int pid)
{
	int broker = reach_broker();
	long fd;

	if (broker < 0)
		return -1;
	fd = ask(broker, pid);
	close(broker);
	return fd;
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list ap;
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_pidfd_open)
		return pidfd_open_((int)a[0]);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
