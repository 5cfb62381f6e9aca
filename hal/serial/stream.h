/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stream.h - messages over a line, each once and in order, over noise, unplugging
 * and the restart of either side. Both ends of the serial host link use it.
 *
 * Secret: which messages were sent and not acknowledged, and when they are sent
 * again; whether the other side is still the same. An item describes a message:
 * its bytes stay where they are until stream_done() returns the item, and are
 * read again each time the message is sent, so a NIC needs no memory for them.
 *
 * Needs no operating system and no clock, and never waits.
 */
#ifndef SERIAL_STREAM_H
#define SERIAL_STREAM_H

#include "frame.h"

/* A message to be sent. */
struct stream_item {
	const void *from; /* `len` bytes; NULL: the first bytes of `own` */
	uint32_t a, b;
	unic_le32 own;
	uint16_t len; /* at most UNIC_SERIAL_DATA */
	uint16_t who; /* for the owner of the item */
	uint8_t type; /* from UNIC_SERIAL_FIRST on */
};

/* A message that has arrived. */
struct stream_msg {
	const uint8_t *bytes; /* 4-aligned; valid until the next input */
	uint32_t a, b;
	uint16_t len;
	uint8_t type;
};

struct stream_counts {
	uint32_t sent, again, received, dropped, gaps, restarts;
};

struct stream {
	uint32_t nonce, peer; /* peer 0: no SYN came yet */
	uint16_t session;
	bool up;
	bool restarted; /* the peer has changed; cleared by the reader */
	bool syn_due, ack_due, gap_due, gap_told;
	uint8_t told, una, sent, next; /* told <= una <= sent <= next */
	uint8_t expect;
	uint8_t backoff;
	bool timing;	      /* frame `timed` was sent once, at timed_ns */
	uint8_t timed, fresh; /* fresh: never sent, from there on */
	uint64_t timed_ns;
	uint32_t trip_us; /* from a frame to its acknowledgement, smoothed */
	uint32_t ns_per_byte;
	uint64_t heard_ns; /* time of the last whole frame */
	uint64_t again_ns; /* when unacknowledged frames are sent again */
	uint64_t syn_ns;   /* next SYN, while not up */
	uint16_t out_len, out_at;
	struct unic_serial_syn ours, theirs;
	struct stream_counts counts;
	struct stream_item window[UNIC_SERIAL_WINDOW];
	struct frame_in in;
	_Alignas(4) uint8_t frame[FRAME_ALL + 2];
	uint8_t line[FRAME_LINE];
};

/**
 * stream_init() - a stream that has received nothing. @nonce: not 0, and not that
 * of an earlier life. @baud: of the line, ten bits a byte; bounds how long an
 * answer takes. @ours: the fields of SYN, but for the nonces.
 */
void stream_init(struct stream *s, uint32_t nonce, uint32_t baud,
		 const struct unic_serial_syn *ours);

/** stream_room() - may stream_put() be called? */
static inline bool stream_room(const struct stream *s)
{
	return s->up && (uint8_t)(s->next - s->told) < UNIC_SERIAL_WINDOW;
}

/** stream_idle() - is every message that was put acknowledged? */
static inline bool stream_idle(const struct stream *s)
{
	return s->una == s->next;
}

/** stream_put() - queue a message; stream_room() has said true. The item is
 * copied, its bytes are not. */
void stream_put(struct stream *s, const struct stream_item *item);

/** stream_done() - return the oldest item that the other side has acknowledged
 * and that was not returned yet. False: none. */
bool stream_done(struct stream *s, struct stream_item *item);

/**
 * stream_input() - take *@n bytes of the line at *@bytes, until a message is
 * whole; both are advanced. Returns true with *@msg, which the caller takes, or
 * refuses by stream_refuse(), before the next call. False: all bytes are taken.
 *
 * If s->restarted is set, handle that first: the message is of a new life, and
 * all items that were not done are dropped.
 */
bool stream_input(struct stream *s, const uint8_t **bytes, uint32_t *n,
		  uint64_t now_ns, struct stream_msg *msg);

/** stream_refuse() - do not take the message just returned: the other side sends
 * it again, as if it had been lost. */
void stream_refuse(struct stream *s);

/** stream_output() - write at most @max bytes for the line to @bytes. Returns
 * their number. */
uint32_t stream_output(struct stream *s, uint64_t now_ns, uint8_t *bytes,
		       uint32_t max);

/** stream_wants() - does stream_output() have bytes? */
bool stream_wants(const struct stream *s, uint64_t now_ns);

/** stream_due() - when to call stream_output() even if nothing arrives. */
uint64_t stream_due(const struct stream *s);

#endif /* SERIAL_STREAM_H */
