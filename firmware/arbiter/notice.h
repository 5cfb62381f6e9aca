/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * notice.h - the conversation about one thing that is asked back: send,
 * delivered, grace T, answers, deadline (S0 section 3; MEMORY.md section 5).
 *
 * Knows units, owners and time, nothing of regions or mailboxes: the subject of
 * a notice is a number that its user chose. Deadlines are exact to the
 * nanosecond of NIC time: a grace never ends early (INV-6).
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
/* One for each thing that can be asked back. */
#ifndef UNIC_NOTICES
#define UNIC_NOTICES UNIC_MRS
#endif

enum unic_notice_state {
	UNIC_NOTICE_FREE = 0,
	UNIC_NOTICE_SENT,
	UNIC_NOTICE_GRACE,
};

struct unic_notice {
	uint64_t sent_ns;
	uint64_t deadline_ns; /* SENT: sent + H; GRACE: end of grace */
	uint32_t seq;
	uint32_t extended_us; /* granted so far */
	uint32_t units;
	uint16_t subject;
	uint16_t owner;
	uint16_t rank;	     /* user's: notices its owner had before it */
	uint16_t prev, next; /* open ones; next: free list too */
	uint8_t state;
	uint8_t why; /* user's reason code */
	bool urgent; /* an entitled waiter depends on it: no EXTEND */
};

struct unic_notices {
	struct unic_notice notice[UNIC_NOTICES];
	uint32_t next_seq;
	uint16_t free_head, open_head;
	uint16_t open;	  /* not FREE */
	uint64_t next_ns; /* no deadline before this time */
	uint32_t grace_us, deliver_us, extend_us; /* T, H, EXTEND in total */
};

/** unic_notice_init() - no conversation is open, T, H and EXTEND are the
 * defaults. */
void unic_notice_init(struct unic_notices *n);

/** unic_notice_open() - returns its index (there is one per possible subject,
 * so there is always one free), state SENT, H running. */
uint16_t unic_notice_open(struct unic_notices *n, uint64_t now_ns,
			  uint16_t subject, uint16_t owner, uint32_t units,
			  uint8_t why, bool urgent);

/** unic_notice_timer() - a deadline T from @now_ns about which nobody is told:
 * its subject was given up by its owner, or has no claim to a notice. State
 * GRACE, no sequence number. */
uint16_t unic_notice_timer(struct unic_notices *n, uint64_t now_ns,
			   uint16_t subject, uint16_t owner, uint32_t units);

/** unic_notice_delivered() - T starts at @now_ns. 0, or -UNIC_ESTATE if it was
 * delivered before (nothing changes) or -UNIC_EINVAL for a wrong @seq. */
int unic_notice_delivered(struct unic_notices *n, uint16_t i, uint32_t seq,
			  uint64_t now_ns);

/** unic_notice_extend() - up to @us more. 0 or -UNIC_EREFUSED with *refusal =
 * enum unic_refusal; nothing changed then. */
int unic_notice_extend(struct unic_notices *n, uint16_t i, uint32_t us,
		       uint8_t *refusal);

/** unic_notice_replace() - an accepted OFFER: the notice is about @subject of
 * @units now; the deadline is inherited. */
void unic_notice_replace(struct unic_notices *n, uint16_t i, uint16_t subject,
			 uint32_t units);

/** unic_notice_renew() - sent once more, because an entitled waiter came who
 * cannot wait for the end of an extended grace: as unic_notice_open() with
 * @urgent, with a sequence number of its own. */
void unic_notice_renew(struct unic_notices *n, uint16_t i, uint64_t now_ns);

/** unic_notice_hurry() - its owner gave the subject up: state GRACE, deadline
 * at most T from @now_ns and never later than it was. */
void unic_notice_hurry(struct unic_notices *n, uint16_t i, uint64_t now_ns);

/** unic_notice_defer() - nothing to do about it before @at_ns. */
void unic_notice_defer(struct unic_notices *n, uint16_t i, uint64_t at_ns);

/** unic_notice_close() - answered or carried out. */
void unic_notice_close(struct unic_notices *n, uint16_t i);

/**
 * unic_notice_due() - the next notice whose deadline is at or before @now_ns.
 * Returns UNIC_NOTICE_NIL if none. One in state SENT means that the carrier
 * failed (H over); one in GRACE that T is over.
 */
uint16_t unic_notice_due(struct unic_notices *n, uint64_t now_ns);

#endif /* UNIC_NOTICE_H */
