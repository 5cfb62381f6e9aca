/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_ask.h - remote files by the page service of the driver (UNIC_CTL_KIO of
 * abi/unic_ctl.h): requests under way, and the words for their errors.
 *
 * Secret: the socket. libunic is not needed, because the process does not use the NIC.
 */
#ifndef KIO_ASK_H
#define KIO_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "unic_ctl.h"

/* The other host, and the driver of this one. */
struct kio_peer {
	int fd;
	const char *socket;
	const char *host; /* as the user wrote it */
	uint32_t ipv4;
	uint32_t timeout_ms;
	uint8_t data;  /* enum unic_ctl_kio_data */
	uint32_t seq;  /* of the next request */
	uint32_t open; /* requests without reply */
	uint8_t in[UNIC_CTL_KIO_MSG_MAX];
};

/* One request and its reply. */
struct kio_call {
	uint8_t what; /* enum unic_ctl_kio_what */
	uint32_t len;
	uint64_t offset;
	const char *name;
	const void *data; /* WRITE: len bytes */
};

/** kio_open() - connect to the driver at @peer->socket. 0, or -1 with words on
 * stderr. */
int kio_open(struct kio_peer *peer);

/** kio_close() - disconnect from the driver; open requests get no reply. */
void kio_close(struct kio_peer *peer);

/** kio_send() - send one request; at most UNIC_CTL_KIO_OPEN may be open. Returns its
 * seq, or -1 with words on stderr. */
int64_t kio_send(struct kio_peer *peer, const struct kio_call *call);

/** kio_recv() - wait for the next reply; *@data is its tail, valid until the next call.
 * 0 with any status in @reply, or -1 with words on stderr: the driver is gone. */
int kio_recv(struct kio_peer *peer, struct unic_ctl_kio_reply *reply,
	     const uint8_t **data, uint32_t *bytes);

/** kio_check() - 0 if @reply is OK, else -1 with words on stderr: @what failed for
 * @name, why, and advice. */
int kio_check(const struct kio_peer *peer,
	      const struct unic_ctl_kio_reply *reply, const char *what,
	      const char *name);

/** kio_simple() - kio_send(), kio_recv() and kio_check(). 0 or -1. */
int kio_simple(struct kio_peer *peer, const struct kio_call *call,
	       const char *what, struct unic_ctl_kio_reply *reply,
	       const uint8_t **data, uint32_t *bytes);

#endif /* KIO_ASK_H */
