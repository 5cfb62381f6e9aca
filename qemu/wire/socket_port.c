// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket_port.h"

#define PREFIX 4u

/* Interval at which a stream that did not take all of its frames is tried again. */
#define DRAIN_NS 1000000u

#define LAN_NS_PER_BYTE 80u  /* 100 Mbit/s */
#define LAN_EXTRA_BYTES 20u  /* preamble, CRC, gap; less the prefix */
#define LAN_SOCKET	4096 /* bytes on the way to QEMU: some frames */
#define LAN_RETRY_NS	50000u

int socket_port_dgram(struct socket_port *sp, struct run_dir *rd,
		      const char *local, const char *remote)
{
	char path[RUN_DIR_PATH];
	int err;

	sp->listen_fd = -1;
	sp->stream = false;
	sp->fd = run_dir_listen(rd, local, SOCK_DGRAM);
	if (sp->fd < 0)
		return sp->fd;
	/* QEMU makes the remote socket; a stale one is removed before. */
	err = run_dir_reserve(rd, remote, path);
	if (err)
		return err;
	sp->remote.sun_family = AF_UNIX;
	strcpy(sp->remote.sun_path, path);
	return 0;
}

int socket_port_stream(struct socket_port *sp, struct run_dir *rd,
		       const char *path, bool lan)
{
	sp->fd = -1;
	sp->stream = true;
	sp->lan = lan;
	sp->listen_fd = run_dir_listen(rd, path, SOCK_STREAM);
	return sp->listen_fd < 0 ? sp->listen_fd : 0;
}

static void close_stream(struct socket_port *sp)
{
	if (sp->fd >= 0)
		close(sp->fd);
	sp->fd = -1;
	sp->in_bytes = 0;
	sp->out_bytes = 0;
	sp->begun = 0;
}

int socket_port_accept(struct socket_port *sp)
{
	int fd = accept4(sp->listen_fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	int bytes = LAN_SOCKET;

	if (fd < 0)
		return -1;
	if (run_dir_peer(fd)) {
		close(fd);
		return -1;
	}
	close_stream(sp);
	if (sp->lan)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes,
				 sizeof(bytes));
	sp->fd = fd;
	return fd;
}

/* ------------------------------------------------------------- receiving */

/* The datagram comes from root or from the user of this process. */
static bool is_trusted_sender(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	struct ucred cred;

	if (!c || c->cmsg_level != SOL_SOCKET ||
	    c->cmsg_type != SCM_CREDENTIALS ||
	    c->cmsg_len != CMSG_LEN(sizeof(cred)))
		return false;
	memcpy(&cred, CMSG_DATA(c), sizeof(cred));
	return !cred.uid || cred.uid == geteuid();
}

static enum socket_port_result receive_dgram(struct socket_port *sp,
					     struct frame *f)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(struct ucred))];
	} ctl;
	struct iovec iov = { .iov_base = f->data, .iov_len = sizeof(f->data) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = ctl.buf,
			      .msg_controllen = sizeof(ctl.buf) };
	ssize_t n = recvmsg(sp->fd, &msg,
			    MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return SOCKET_PORT_NONE;
	if (!is_trusted_sender(&msg))
		return SOCKET_PORT_BAD;
	if (n < (ssize_t)WIRE_FRAME_MIN || n > (ssize_t)sizeof(f->data))
		return SOCKET_PORT_BAD;
	f->len = (uint32_t)n;
	return SOCKET_PORT_FRAME;
}

static uint32_t prefix_of(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* Read up to @want bytes in all; false: not there yet, or hung up. */
static bool fill_input(struct socket_port *sp, uint32_t want)
{
	ssize_t n;

	while (sp->in_bytes < want) {
		n = recv(sp->fd, sp->in + sp->in_bytes, want - sp->in_bytes,
			 MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0) {
			close_stream(sp);
			return false;
		}
		sp->in_bytes += (uint32_t)n;
	}
	return true;
}

static enum socket_port_result receive_stream(struct socket_port *sp,
					      struct frame *f)
{
	uint32_t len;

	if (sp->fd < 0 || !fill_input(sp, PREFIX))
		return SOCKET_PORT_NONE;
	len = prefix_of(sp->in);
	if (len < WIRE_FRAME_MIN || len > WIRE_FRAME_BYTES) {
		close_stream(sp);
		return SOCKET_PORT_BAD;
	}
	if (!fill_input(sp, PREFIX + len))
		return SOCKET_PORT_NONE;
	memcpy(f->data, sp->in + PREFIX, len);
	f->len = len;
	sp->in_bytes = 0;
	return SOCKET_PORT_FRAME;
}

enum socket_port_result socket_port_receive(struct socket_port *sp,
					    struct frame *f)
{
	enum socket_port_result got;

	got = sp->stream ? receive_stream(sp, f) : receive_dgram(sp, f);
	f->no_icrc = false;
	return got;
}

/* --------------------------------------------------------------- sending */

/* Sends the first @bytes of the queue. False: none were sent. */
static bool send_first(struct socket_port *sp, uint32_t bytes)
{
	ssize_t n = send(sp->fd, sp->out, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n <= 0)
		return false;
	sp->out_bytes -= (uint32_t)n;
	memmove(sp->out, sp->out + n, sp->out_bytes);
	sp->begun = bytes - (uint32_t)n;
	return true;
}

/* Sends the frame whose turn it is, or the rest of it. False: not at present. */
static bool send_paced(struct socket_port *sp, uint64_t now_ns)
{
	uint32_t bytes = sp->begun;

	if (!bytes) {
		if (now_ns < sp->free_ns)
			return false;
		bytes = PREFIX + prefix_of(sp->out);
	}
	if (!send_first(sp, bytes)) {
		sp->free_ns = now_ns + LAN_RETRY_NS;
		return false;
	}
	if (!sp->begun)
		sp->free_ns = now_ns + (bytes + LAN_EXTRA_BYTES) *
					       (uint64_t)LAN_NS_PER_BYTE;
	return true;
}

bool socket_port_drain(struct socket_port *sp, uint64_t now_ns)
{
	while (sp->out_bytes && sp->fd >= 0)
		if (!(sp->lan ? send_paced(sp, now_ns)
			      : send_first(sp, sp->out_bytes)))
			break;
	return sp->out_bytes;
}

uint64_t socket_port_due(const struct socket_port *sp, uint64_t now_ns)
{
	if (!sp->out_bytes)
		return UINT64_MAX;
	if (!sp->lan)
		return now_ns + DRAIN_NS;
	return sp->free_ns > now_ns ? sp->free_ns : now_ns + LAN_RETRY_NS;
}

static bool send_stream(struct socket_port *sp, const struct frame *f)
{
	uint8_t *p = sp->out + sp->out_bytes;

	if (sp->fd < 0 || PREFIX + f->len > sizeof(sp->out) - sp->out_bytes)
		return false;
	p[0] = (uint8_t)(f->len >> 24);
	p[1] = (uint8_t)(f->len >> 16);
	p[2] = (uint8_t)(f->len >> 8);
	p[3] = (uint8_t)f->len;
	memcpy(p + PREFIX, f->data, f->len);
	sp->out_bytes += PREFIX + f->len;
	if (!sp->lan)
		(void)send_first(sp, sp->out_bytes);
	return true;
}

bool socket_port_send(struct socket_port *sp, const struct frame *f)
{
	if (sp->stream)
		return send_stream(sp, f);
	return sendto(sp->fd, f->data, f->len, MSG_DONTWAIT | MSG_NOSIGNAL,
		      (struct sockaddr *)&sp->remote,
		      sizeof(sp->remote)) == (ssize_t)f->len;
}

void socket_port_fini(struct socket_port *sp)
{
	close_stream(sp);
	if (sp->listen_fd >= 0)
		close(sp->listen_fd);
	sp->listen_fd = -1;
}
