/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "conn_dev.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "error.h"
#include "unic_ioctl.h"
#include "wait.h"

#define NAP_MS 1 /* between tries */

int unic_dev_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return unic_fail(-errno, "%s: %s; is the NIC there?", path,
			 strerror(errno));
}

static void close_dup_fds(int *fds, int n)
{
	while (n--)
		close(fds[n]);
}

/* Make the descriptors of HELLO: slot memory, doorbell, completions, upcalls. All but the
 * third are duplicates of device @fd. 0 or -errno. */
static int hello_fds(int fd, struct unic_conn_call *call)
{
	int n;

	for (n = 0; n < call->n_fds; n++) {
		call->fds[n] = n == 2 ? ioctl(fd, UNIC_IOC_CQ_FD)
				      : fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (call->fds[n] < 0) {
			close_dup_fds(call->fds, n);
			call->n_fds = 0;
			return -errno;
		}
	}
	return 0;
}

static bool is_expired(int64_t until_ns)
{
	return until_ns >= 0 && (int64_t)unic_now_ns() >= until_ns;
}

/* Repeat the ioctl() until it is answered. 0, -errno, or a status of the driver. */
static int issue_ioc_call(int fd, struct unic_ioc_call *ioc, int64_t until_ns)
{
	int err;

	while (ioctl(fd, UNIC_IOC_CALL, ioc) < 0) {
		err = errno;
		/* interrupted: the driver has the request, wait again */
		if (err == EINTR)
			continue;
		if (err == ETIMEDOUT)
			return -ETIMEDOUT;
		if (err != EAGAIN && err != ENOMEM && err != ENOBUFS)
			return -ENOTCONN;
		/* the driver did not take the request */
		if (unic_from_le32(ioc->bytes) &&
		    (err != EAGAIN || is_expired(until_ns)))
			return err == EAGAIN ? UNIC_CTL_ST_TOO_MANY
					     : UNIC_CTL_ST_NO_MEMORY;
		if (is_expired(until_ns))
			return -ETIMEDOUT;
		poll(NULL, 0, NAP_MS);
	}
	return 0;
}

static int parse_dev_reply(struct unic_conn_call *call, const uint8_t *msg,
			   uint32_t bytes)
{
	struct unic_ctl_hdr hdr;
	size_t tail = bytes - UNIC_CTL_BYTES;

	memcpy(&hdr, msg, sizeof(hdr));
	if (bytes < UNIC_CTL_BYTES || unic_from_le32(hdr.tail_bytes) != tail)
		return -ENOTCONN;
	memcpy(call->rec, msg, UNIC_CTL_BYTES);
	call->reply_bytes = tail < call->reply_room ? tail : call->reply_room;
	if (call->reply_bytes)
		memcpy(call->reply_tail, msg + UNIC_CTL_BYTES,
		       call->reply_bytes);
	return unic_from_le16(hdr.status);
}

int unic_dev_call(int fd, struct unic_conn_call *call, int64_t until_ns)
{
	_Alignas(8) uint8_t msg[UNIC_CTL_MSG_MAX];
	struct unic_ioc_call ioc = {
		.msg = unic_to_le64((uintptr_t)msg),
		.reply = unic_to_le64((uintptr_t)msg),
		.bytes = unic_to_le32(
			(uint32_t)(UNIC_CTL_BYTES + call->tail_bytes)),
		.room = unic_to_le32(sizeof(msg)),
		.seq = unic_to_le32(call->seq),
		.until_ns = unic_to_le64(until_ns < 0 ? 0 : (uint64_t)until_ns),
	};
	int status;

	if (call->tail_bytes > sizeof(msg) - UNIC_CTL_BYTES)
		return -ENOTCONN;
	memcpy(msg, call->rec, UNIC_CTL_BYTES);
	if (call->tail_bytes)
		memcpy(msg + UNIC_CTL_BYTES, call->tail, call->tail_bytes);
	status = issue_ioc_call(fd, &ioc, until_ns);
	if (!status)
		status = parse_dev_reply(call, msg, unic_from_le32(ioc.got));
	if (status || !call->n_fds) {
		call->n_fds = 0;
		return status;
	}
	return hello_fds(fd, call) ? -ENOTCONN : 0;
}
