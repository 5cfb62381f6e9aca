/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rq_ring.h - the receive ring and its window, for the rq_*.c among themselves.
 *
 * Secret: how slots get from a ring that its process may rewrite at any time into the
 * window at its head, and how those that complete out of order are marked until the
 * head passes them.
 */
#ifndef UNIC_RQ_RING_H
#define UNIC_RQ_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

static inline struct unic_rq_slot *unic_rq_ring_slot(struct unic_rq *rq,
						     uint32_t s)
{
	return &rq->win[s % UNIC_RQ_WINDOW];
}

#define UNIC_MARKS_WORDS                       \
	((offsetof(struct unic_qp_ctx, gone) - \
	  offsetof(struct unic_qp_ctx, rq)) /  \
	 4u)

/* The word with the mark of slot @at of @rq, a receive that completed out of order. The index
 * is added first: the distance is part of the load then. */
static inline uint32_t *unic_rq_ring_mark(const struct unic_rq *rq, uint32_t at)
{
	uint32_t *word = (uint32_t *)(uintptr_t)rq + at / 32;

	if (!UNIC_MARKS_LAST)
		return (uint32_t *)(uintptr_t)&rq->gone[at / 32];
	UNIC_IN_REGISTER(word);
	return word + UNIC_MARKS_WORDS;
}

static inline bool unic_rq_ring_is_gone(const struct unic_rq *rq, uint32_t s)
{
	s &= rq->mask;
	return *unic_rq_ring_mark(rq, s) >> s % 32 & 1;
}

static inline uint32_t unic_rq_ring_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/** unic_rq_ring_is_posted_to() - may there be receives of @qp that a message can meet? */
static inline bool unic_rq_ring_is_posted_to(const struct unic_qp_ctx *qp)
{
	return qp->used && !qp->dying && qp->state != UNIC_QPS_RESET &&
	       qp->state != UNIC_QPS_ERR;
}

/** unic_rq_ring_advance() - the head goes past all that is completed, also where it was
 * never fetched: the process may post into every slot that it saw complete. While a
 * fetch is under way the window stays where it is. */
void unic_rq_ring_advance(struct unic_rq *rq);

/** unic_rq_ring_mark_gone() - receive @s is completed. */
void unic_rq_ring_mark_gone(struct unic_rq *rq, uint32_t s);

/** unic_rq_ring_run() - slots from @s on that lie together in the ring, the page and a
 * window. */
uint32_t unic_rq_ring_run(const struct unic_rq *rq, uint32_t s);

/**
 * unic_rq_ring_fetch() - read slots [@s, @s + @n), at most unic_rq_ring_run(), to @to.
 * Returns 0: they are there; -UNIC_EPENDING: @owner is called when they are;
 * -UNIC_EAGAIN: no DMA now; other errors: the ring cannot be read.
 */
int unic_rq_ring_fetch(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t s, uint32_t n, enum unic_dma_owner owner,
		       void *to);

/** unic_rq_ring_fill() - have more slots in the window. 0: there are; -UNIC_EAGAIN: DMA
 * must end first; -UNIC_ENOQP: none is posted, or the window is full; -UNIC_EBUS: the
 * ring cannot be read. */
int unic_rq_ring_fill(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_rq_ring_complete() - complete @slot with @cqe (wr_id and qpn are filled in
 * here). False: no room, nothing happened. */
bool unic_rq_ring_complete(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   const struct unic_rq_slot *slot,
			   struct unic_cqe *cqe);

/** unic_rq_ring_fail() - the same for a receive that nothing was placed in. */
bool unic_rq_ring_fail(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       const struct unic_rq_slot *slot, uint8_t status,
		       uint8_t detail);

#endif /* UNIC_RQ_RING_H */
