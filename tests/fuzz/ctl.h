/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl.h - requests of a hostile process to its driver (abi/unic_ctl.h), by a
 * grammar that learns the ids of live objects from the replies.
 */
#ifndef FUZZ_CTL_H
#define FUZZ_CTL_H

#include "input.h"
#include "unic_ctl.h"

#define CTL_IDS 4u /* ids remembered of each kind */

enum ctl_kind {
	CTL_PD = 0,
	CTL_MR,
	CTL_CONTROL_MR, /* class control: queues live there */
	CTL_CQ,
	CTL_QP,
	CTL_TOKEN,
	CTL_LISTENER,
	CTL_CONN,
	CTL_KINDS
};

struct ctl {
	uint32_t id[CTL_KINDS][CTL_IDS];
	uint32_t number[CTL_KINDS][CTL_IDS]; /* QP number, STag */
	uint32_t made[CTL_KINDS];
	uint32_t seq;	  /* of the last request */
	uint8_t mr_class; /* of the last MR_REG */
	uint32_t sent, answered;
	uint64_t open[4]; /* bit per request, by seq: not answered yet */
};

/** ctl_request() - the next request to @msg (UNIC_CTL_KIO_MSG_MAX + 8 bytes, 8-aligned).
 * Returns its bytes, perhaps too few or too many. */
uint32_t ctl_request(struct input *in, struct ctl *c, void *msg);

/**
 * ctl_script() - request @n of the start of a well-behaved process: slot,
 * frames, a region for rings and one for data, completion queue, two queue
 * pairs, a listener at service 1. Each needs the reply to the one before.
 * Returns its bytes; 0: no more.
 */
uint32_t ctl_script(struct ctl *c, uint32_t n, void *msg);
#define CTL_VA	  0x40000000ull /* of its 12 pages */
#define CTL_RINGS 4u /* pages for rings: CQ, SQ, RQ; the others are data */
#define CTL_SLOTS 16u

/** ctl_answer() - check that a reply is well-formed, and the first to an open
 * request; learn its ids. */
void ctl_answer(struct ctl *c, const void *msg, uint32_t bytes);

/** ctl_learn() - remember an id, from a reply or an upcall. */
void ctl_learn(struct ctl *c, enum ctl_kind kind, uint32_t id);

#endif /* FUZZ_CTL_H */
