/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_ask.c - see kio_ask.h. */
#define _GNU_SOURCE
#include "kio_ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "patience.h"
#include "where.h"

#define MARGIN_MS \
	5000u /* the driver answers so long after its time at the latest */

static int print_peer_error(const struct kio_peer *peer, const char *what,
			    int err)
{
	fprintf(stderr, "unic-kio: %s: %s: %s\n", peer->socket, what,
		strerror(err));
	return -1;
}

/* All requests are for the NIC @which from here on. 0, or -1 with words. */
static int select_nic(struct kio_peer *peer,
		      const struct unic_ctl_select *which)
{
	struct unic_ctl_select ask = *which;
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(UNIC_CTL_SELECT),
				    .seq = unic_to_le32(++peer->seq) };

	ask.hdr = hdr;
	if (send(peer->fd, &ask, sizeof(ask), MSG_NOSIGNAL) == sizeof(ask) &&
	    recv(peer->fd, &ask, sizeof(ask), 0) == sizeof(ask) &&
	    unic_from_le16(ask.hdr.status) == UNIC_ST_OK)
		return 0;
	print_peer_error(peer, "the driver has no such NIC", ENODEV);
	kio_close(peer);
	return -1;
}

/* A socket at @addr, connected while the driver may be starting. 0; -errno: none is open. */
static int connect_peer(struct kio_peer *peer, const struct sockaddr_un *addr,
			uint32_t wait_ms)
{
	uint64_t end = unic_patience_end(wait_ms);
	int err = 0;

	peer->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (peer->fd < 0)
		return -errno;
	do {
		err = connect(peer->fd, (const struct sockaddr *)addr,
			      sizeof(*addr))
			      ? -errno
			      : 0;
	} while (err && unic_patience_again(err, end, -1));
	if (err)
		kio_close(peer);
	return err;
}

int kio_open(struct kio_peer *peer)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	uint32_t ms = peer->timeout_ms + MARGIN_MS, wait_ms;
	struct timeval tv = { .tv_sec = ms / 1000,
			      .tv_usec = ms % 1000 * 1000 };
	struct unic_ctl_select which;
	char path[UNIC_WHERE_MAX];
	bool named = unic_where_split(peer->socket, path, sizeof(path), &which);
	int err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return print_peer_error(peer, "path of the socket",
					ENAMETOOLONG);
	if (unic_patience_read(&wait_ms)) {
		fprintf(stderr, "unic-kio: " UNIC_PATIENCE_WRONG "\n",
			unic_patience_text());
		return -1;
	}
	strcpy(addr.sun_path, path);
	err = connect_peer(peer, &addr, wait_ms);
	if (err) {
		fprintf(stderr,
			"unic-kio: no driver at %s: %s; start unicd (unic-run "
			"does that for one program), or name its socket "
			"(UNIC_SOCKET)\n",
			path, strerror(-err));
		return -1;
	}
	setsockopt(peer->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(peer->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	return named ? select_nic(peer, &which) : 0;
}

void kio_close(struct kio_peer *peer)
{
	close(peer->fd);
	peer->fd = -1;
}

static int print_driver_ended(const struct kio_peer *peer, int err)
{
	return print_peer_error(
		peer, "the driver ended; try again when it runs", err);
}

int64_t kio_send(struct kio_peer *peer, const struct kio_call *call)
{
	size_t name_bytes = strlen(call->name);
	uint32_t bytes = call->what == UNIC_CTL_KIO_WRITE ? call->len : 0;
	struct unic_ctl_kio ask = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_KIO),
			 .seq = unic_to_le32(++peer->seq),
			 .tail_bytes =
				 unic_to_le32((uint32_t)name_bytes + bytes) },
		.offset = unic_to_le64(call->offset),
		.ipv4 = unic_to_le32(peer->ipv4),
		.len = unic_to_le32(call->len),
		.timeout_ms = unic_to_le32(peer->timeout_ms),
		.what = call->what,
		.name_bytes = (uint8_t)name_bytes,
		.data = call->what == UNIC_CTL_KIO_STATE ? 0 : peer->data,
	};
	struct iovec iov[3] = {
		{ &ask, sizeof(ask) },
		{ (void *)(uintptr_t)call->name, name_bytes },
		{ (void *)(uintptr_t)call->data, bytes },
	};
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 3 };
	ssize_t n;

	do
		n = sendmsg(peer->fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
		return print_driver_ended(peer, errno);
	if (n < 0)
		return print_peer_error(peer, "the driver takes no request",
					errno);
	peer->open++;
	return peer->seq;
}

int kio_recv(struct kio_peer *peer, struct unic_ctl_kio_reply *reply,
	     const uint8_t **data, uint32_t *bytes)
{
	ssize_t n;

	do
		n = recv(peer->fd, peer->in, sizeof(peer->in), MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return print_peer_error(peer, "the driver does not answer",
					ETIMEDOUT);
	if (n <= 0)
		return print_driver_ended(peer, n ? errno : EPIPE);
	if ((size_t)n < sizeof(*reply) || (size_t)n > sizeof(peer->in))
		return print_peer_error(
			peer, "what answers is no unicd of this build", EPROTO);
	memcpy(reply, peer->in, sizeof(*reply));
	*data = peer->in + sizeof(*reply);
	*bytes = (uint32_t)((size_t)n - sizeof(*reply));
	peer->open--;
	if (unic_from_le32(reply->hdr.tail_bytes) != *bytes ||
	    unic_from_le16(reply->hdr.op) != UNIC_CTL_KIO)
		return print_peer_error(
			peer, "what answers is no unicd of this build", EPROTO);
	return 0;
}

static const char *status_text(uint32_t status)
{
	switch (status) {
	case UNIC_ST_TIMEOUT:
		return "no answer in time: is its driver running, and does the "
		       "wire work? (--timeout gives it more)";
	case UNIC_CTL_ST_UNREACHABLE:
		return "no answer from that address: is it right, and does a "
		       "driver run there?";
	case UNIC_CTL_ST_REJECTED:
		return "that host exports nothing: start its unicd with "
		       "--kio-export DIR";
	case UNIC_CTL_ST_NO_NIC:
		return "the NIC of this host is not there: see unicctl info";
	case UNIC_CTL_ST_NO_SLOT:
		return "the driver has no process slot left for itself: end a "
		       "process, or give unic-bus more --slots";
	case UNIC_CTL_ST_UNSUPPORTED:
		return "not with this NIC, or with such small slots (unicd "
		       "says which); --data=rdma: not with a unicd that uses "
		       "tokens, too";
	case UNIC_ST_BAD_OPCODE:
		return "this unicd is older than unic-kio: use one of the same "
		       "build";
	case UNIC_ST_INVALID:
		return "the driver does not take that request";
	case UNIC_CTL_ST_NO_MEMORY:
		return "the driver is out of memory: try again";
	default:
		return NULL;
	}
}

static const char *remote_error_text(uint32_t error)
{
	switch (error) {
	case EROFS:
		return "it is exported for reading only: start that unicd with "
		       "--kio-writable";
	case ENOENT:
		return "no such file there: unic-kio ls shows what is";
	case EACCES:
		return "not exported: no links, no '..', plain files only, "
		       "which that driver may open";
	case EISDIR:
		return "a folder: name a file in it";
	default:
		return strerror((int)error);
	}
}

int kio_check(const struct kio_peer *peer,
	      const struct unic_ctl_kio_reply *reply, const char *what,
	      const char *name)
{
	uint32_t status = unic_from_le16(reply->hdr.status);
	const char *why = status_text(status);

	if (!status)
		return 0;
	fprintf(stderr, "unic-kio: %s %s%s%s: ", what, peer->host,
		*name ? ":" : "", name);
	if (status == UNIC_CTL_ST_REMOTE)
		fprintf(stderr, "%s\n",
			remote_error_text(unic_from_le32(reply->error)));
	else if (why)
		fprintf(stderr, "%s\n", why);
	else
		fprintf(stderr, "the driver answers %u\n", status);
	return -1;
}

int kio_simple(struct kio_peer *peer, const struct kio_call *call,
	       const char *what, struct unic_ctl_kio_reply *reply,
	       const uint8_t **data, uint32_t *bytes)
{
	if (kio_send(peer, call) < 0 || kio_recv(peer, reply, data, bytes))
		return -1;
	return kio_check(peer, reply, what, call->name);
}
