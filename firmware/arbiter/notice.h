/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * notice.h - the notice about one item that is asked back: sent, delivered, grace
 * T, answers, deadline (S0 section 3; MEMORY.md section 5).
 *
 * The module handles units, owners and time, not regions or mailboxes: the
 * subject of a notice is a number that the caller chose. Deadlines are exact to
 * the nanosecond of NIC time: a grace never ends early (INV-6).
 *
 *   FREE -> SENT -> GRACE -> DUE -> FREE
 *             |       |  ^
 *             |       +--+ extend (bounded), subject replaced by an offer
 *             +-> DEAF: not delivered within H - the carrier has failed
 */
#ifndef UNIC_NOTICE_H
#define UNIC_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"

#define UNIC_NOTICE_NIL 0xffffu
/* One for each item that can be asked back. */
#ifndef UNIC_NOTICES
#define UNIC_NOTICES UNIC_MRS
#endif

enum unic_notice_state {
	UNIC_NOTICE_FREE = 0,
	UNIC_NOTICE_SENT,
	UNIC_NOTICE_GRACE,
};

struct unic_notice {
	uint64_t sent_ns;     /* GRACE: when T began (UNIC_HISTOGRAMS) */
	uint64_t deadline_ns; /* SENT: sent + H; GRACE: end of grace */
	uint32_t seq;
	uint32_t extended_us; /* extensions granted so far */
	uint32_t units;
	uint16_t subject;
	uint16_t owner;
	/* for the caller: notices its owner had before it */
	uint16_t rank;
	uint16_t prev, next; /* list of open notices; next: free list, too */
	uint8_t state;
	uint8_t why; /* reason code of the caller */
	bool urgent; /* an entitled waiter depends on it: no EXTEND */
};

struct unic_notices {
	struct unic_notice notice[UNIC_NOTICES];
	uint32_t next_seq;
	uint16_t free_head, open_head;
	uint16_t open;	  /* notices that are not FREE */
	uint64_t next_ns; /* no deadline is earlier */
	/* T, H, limit of extended_us */
	uint32_t grace_us, deliver_us, extend_us;
};

/** unic_notice_init() - no notice is open; T, H and the limit of EXTEND are the
 * defaults. */
void unic_notice_init(struct unic_notices *n);

/** unic_notice_open() - opens a notice in state SENT; H runs. Returns its index.
 * A free one always exists, since each possible subject has one. */
uint16_t unic_notice_open(struct unic_notices *n, uint64_t now_ns,
			  uint16_t subject, uint16_t owner, uint32_t units,
			  uint8_t why, bool urgent);

/** unic_notice_timer() - starts a deadline T from @now_ns without a notice to the
 * owner: the owner gave the subject up, or has no claim to a notice. Returns the
 * index; state GRACE, no sequence number. */
uint16_t unic_notice_timer(struct unic_notices *n, uint64_t now_ns,
			   uint16_t subject, uint16_t owner, uint32_t units);

/** unic_notice_delivered() - the driver acknowledged delivery; T starts at
 * @now_ns. Returns 0, -UNIC_ESTATE if it was delivered before, or -UNIC_EINVAL
 * for a wrong @seq; on error nothing changes. */
int unic_notice_delivered(struct unic_notices *n, uint16_t i, uint32_t seq,
			  uint64_t now_ns);

/** unic_notice_extend() - moves the deadline @us later. Returns 0, or
 * -UNIC_EREFUSED with *refusal = enum unic_refusal; then nothing changed. */
int unic_notice_extend(struct unic_notices *n, uint16_t i, uint32_t us,
		       uint8_t *refusal);

/** unic_notice_replace() - an accepted OFFER: the subject of the notice becomes
 * @subject of @units; the deadline stays. */
void unic_notice_replace(struct unic_notices *n, uint16_t i, uint16_t subject,
			 uint32_t units);

/** unic_notice_renew() - sends the notice once more, because an entitled waiter
 * cannot wait for the end of an extended grace. As unic_notice_open() with
 * @urgent and a new sequence number. */
void unic_notice_renew(struct unic_notices *n, uint16_t i, uint64_t now_ns);

/** unic_notice_hurry() - the owner gave the subject up: state GRACE, deadline at
 * most T from @now_ns and never later than before. */
void unic_notice_hurry(struct unic_notices *n, uint16_t i, uint64_t now_ns);

/** unic_notice_defer() - sets the deadline to @at_ns. */
void unic_notice_defer(struct unic_notices *n, uint16_t i, uint64_t at_ns);

/** unic_notice_close() - frees the notice: it was answered or carried out. */
void unic_notice_close(struct unic_notices *n, uint16_t i);

/**
 * unic_notice_due() - returns the next notice whose deadline is at or before
 * @now_ns, or UNIC_NOTICE_NIL. In state SENT, H is over and the carrier has
 * failed; in state GRACE, T is over.
 */
uint16_t unic_notice_due(struct unic_notices *n, uint64_t now_ns);

#endif /* UNIC_NOTICE_H */
