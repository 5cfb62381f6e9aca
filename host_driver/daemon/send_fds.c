// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "send_fds.h"

#define TRIES 10 /* a millisecond apart */

bool socket_error_passes(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EINTR;
}

ssize_t send_fds_once(int to, const void *data, size_t bytes, const int *fd,
		      int fds)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(SEND_FDS_MAX * sizeof(int))];
	} ctl = { 0 };
	struct iovec iov = { .iov_base = (void *)data, .iov_len = bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	size_t room = (size_t)fds * sizeof(int);

	if (fds) {
		msg.msg_control = ctl.buf;
		msg.msg_controllen = CMSG_SPACE(room);
		ctl.hdr.cmsg_level = SOL_SOCKET;
		ctl.hdr.cmsg_type = SCM_RIGHTS;
		ctl.hdr.cmsg_len = CMSG_LEN(room);
		memcpy(CMSG_DATA(&ctl.hdr), fd, room);
	}
	return sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool send_fds(int to, const void *data, size_t bytes, const int *fd, int fds)
{
	int tries;
	ssize_t n;

	for (tries = TRIES; tries; tries--) {
		n = send_fds_once(to, data, bytes, fd, fds);
		if (n >= 0 || !socket_error_passes(errno))
			return n == (ssize_t)bytes;
		poll(NULL, 0, 1);
	}
	return false;
}
