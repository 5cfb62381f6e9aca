/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_client.h - the client of the kernel-resident page service.
 *
 * Secret: the life of an I/O: it holds a payload token from the time it is asked
 * for until it is answered, and nothing of the NIC otherwise. Its pages are given
 * back to the caller only when the token has ended, so nothing is written to them
 * afterwards; and it ends at its deadline or before, whatever the peer does.
 *
 *   QUEUED -> TOKEN -> ASKED -> done
 *                |        +-> CANCEL -> done (late, refused, link down)
 *                +-> done (no token)
 *
 * Portable: calls its link and memcpy, allocates nothing. One lock around all.
 */
#ifndef UNIC_KIO_CLIENT_H
#define UNIC_KIO_CLIENT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kio_msg.h"
#include "unic_mbox.h"

#define UNIC_KIO_WINDOW 16u /* I/Os under way, at most */

enum unic_kio_state {
	UNIC_KIO_DONE = 0,
	UNIC_KIO_QUEUED,
	UNIC_KIO_TOKEN,
	UNIC_KIO_ASKED,
	UNIC_KIO_CANCEL,
};

/* One I/O; the caller's, who fills in the first part and leaves it alone until
 * done(). */
struct unic_kio {
	uint32_t object, len; /* len: 1..UNIC_KIO_MAX, the sum of the pieces */
	uint64_t offset;
	struct unic_token_piece piece[UNIC_TOKEN_PIECES];
	uint32_t pieces;
	uint64_t deadline_ns;
	/* @status: 0, and @bytes came; or -EIO (the server's error, or no link),
	 * -ENOBUFS (no token), -ETIMEDOUT */
	void (*done)(struct unic_kio *io, int status, uint32_t bytes);
	/* the client's */
	struct unic_kio *next;
	uint32_t id, token;
	uint64_t key;
	int why; /* CANCEL: what to say */
	uint8_t state;
};

struct unic_kio_client;

/* What carries it. Each call is answered later, never from within. */
struct unic_kio_link {
	/** send() - @msg to the server. False: the link is down. */
	bool (*send)(struct unic_kio_client *c, const struct unic_kio_msg *msg);
	/** token() - for the pieces of slot @at; unic_kio_token() answers. */
	void (*token)(struct unic_kio_client *c, uint32_t at,
		      const struct unic_kio *io);
	/** cancel() - unic_kio_ended() answers when the token of slot @at has
	 * ended, however; a message that is arriving ends first. */
	void (*cancel)(struct unic_kio_client *c, uint32_t at,
		       const struct unic_kio *io);
};

struct unic_kio_client {
	const struct unic_kio_link *link;
	struct unic_kio *slot[UNIC_KIO_WINDOW];
	struct unic_kio *head, *tail; /* waiting for a slot */
	uint32_t window;	      /* slots that may be used */
	uint32_t busy;
	uint32_t turn;	     /* makes ids differ */
	uint32_t mean_bytes; /* of an I/O, decayed */
	bool up;
};

/** unic_kio_client_init() - no link yet: I/Os wait for unic_kio_up(). */
void unic_kio_client_init(struct unic_kio_client *c,
			  const struct unic_kio_link *link);

/** unic_kio_up() - connected, or no more. What was asked for over the old
 * connection ends -EIO, what was not waits for the next. */
void unic_kio_up(struct unic_kio_client *c, bool up);

/** unic_kio_read() - read @io. 0, and done() follows; or -EINVAL. */
int unic_kio_read(struct unic_kio_client *c, struct unic_kio *io);

/** unic_kio_token() - slot @at has a token, or (@ok false) cannot have one. */
void unic_kio_token(struct unic_kio_client *c, uint32_t at, bool ok,
		    uint32_t token, uint64_t key);

/** unic_kio_ended() - the token of slot @at is no more. */
void unic_kio_ended(struct unic_kio_client *c, uint32_t at);

/** unic_kio_message() - a copy of what came from the server, with @payload bytes
 * in the token it named. What fits no I/O is ignored. */
void unic_kio_message(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		      uint32_t payload);

/** unic_kio_window() - at most @n I/Os under way from now on, 1 at least: what
 * the driver answers to a notice. Those under way go on. */
void unic_kio_window(struct unic_kio_client *c, uint32_t n);

/** unic_kio_demand() - bytes of buffer that it would use: window x mean I/O. */
uint64_t unic_kio_demand(const struct unic_kio_client *c);

/** unic_kio_client_poll() - end what is late at @now_ns. Returns the next
 * deadline, UINT64_MAX: none. */
uint64_t unic_kio_client_poll(struct unic_kio_client *c, uint64_t now_ns);

#endif /* UNIC_KIO_CLIENT_H */
