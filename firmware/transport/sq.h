/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sq.h - the send ring and its window.
 *
 * Secret: how work requests get from a ring that its process may rewrite at any
 * time into private, checked copies; and what makes one malformed. A request
 * that needs two slots has them side by side in the window, modulo its size.
 * How it completes: sq_done.h.
 */
#ifndef UNIC_SQ_H
#define UNIC_SQ_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/cuts.h"
#include "memory/mr.h"
#include "transport/qp.h"

static inline struct unic_sq_slot *unic_sq_slot(struct unic_sq *sq, uint32_t s)
{
	return &sq->win[s % UNIC_QP_WINDOW];
}

static inline struct unic_wr *unic_sq_wr(struct unic_sq *sq, uint32_t s)
{
	return &sq->wr[s % UNIC_QP_WINDOW];
}

/* How many slots request @s, which is known, takes. */
static inline uint32_t unic_sq_slots(struct unic_sq *sq, uint32_t s)
{
	return unic_sq_wr(sq, s)->slots & UNIC_WR_SLOTS;
}

/** unic_sq_is_atomic() - is a request of @opcode an atomic operation? */
static inline bool unic_sq_is_atomic(uint8_t opcode)
{
	return UNIC_ATOMICS && (opcode | 1) == UNIC_WR_FETCH_ADD;
}

/** unic_sq_reads() - is a request of @opcode, which the NIC knows, answered by bytes that
 * are to be placed? */
static inline bool unic_sq_reads(uint8_t opcode)
{
	return opcode == UNIC_WR_READ || unic_sq_is_atomic(opcode);
}

/** unic_sq_acked() - has the peer acknowledged all of @wr, which is SENT? Its completion may
 * be late all the same. */
static inline bool unic_sq_acked(const struct unic_sq *sq,
				 const struct unic_wr *wr)
{
	return unic_psn_diff(sq->psn_una, wr->psn + wr->npkt) >= 0;
}

/* The region that a checked SGE names. */
static inline uint16_t unic_stag_index(unic_le32 lkey)
{
	return (uint16_t)(unic_from_le32(lkey) >> UNIC_MR_IDX_SHIFT);
}

/** unic_sq_skip_ended() - move sq.cur past requests that have ended. True: it is at one
 * that is ready; false: unic_sq_start() makes the next one ready. */
static inline __attribute__((always_inline)) bool
unic_sq_skip_ended(struct unic_sq *sq)
{
	while (sq->cur != sq->next &&
	       unic_sq_wr(sq, sq->cur)->state == UNIC_WRS_DEAD)
		sq->cur += unic_sq_slots(sq, sq->cur);
	return sq->cur != sq->next;
}

/**
 * unic_sq_start() - make the next posted request ready to be sent: fetch, check,
 * assign PSNs, hold its regions. One that fails its checks becomes DEAD.
 * Returns 1: done, sq.next moved. 0: none, or it must wait for an earlier one
 * or for its slots. -UNIC_EAGAIN: no DMA now. -UNIC_EPENDING: it is a
 * memory operation that waits, see unic_local_op_run().
 */
int unic_sq_start(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_sq_have_slots() - have all *@slots of the next posted request in the window. 0, or
 * as unic_sq_fetch(). */
int unic_sq_have_slots(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t *slots);

/** unic_sq_fetch() - have more slots in the window. 0: there are; -UNIC_ENOQP:
 * none, or on their way; -UNIC_EAGAIN: no DMA now; other errors: the ring cannot
 * be read. */
int unic_sq_fetch(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_sq_refused() - the next request, of one slot, failed its access check
 * with @err: it is DEAD, sq.next moved. */
void unic_sq_refused(struct unic_transport *nic, struct unic_qp_ctx *qp,
		     int err);

/** unic_sq_withdraw() - the request started last, of which nothing was sent, is
 * malformed after all, as @detail says: it is DEAD, and ends the QP in its turn. */
void unic_sq_withdraw(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint8_t detail);

/** unic_sq_span() - bytes [@off, @off + @len) of request @s as spans. */
void unic_sq_span(struct unic_sq *sq, uint32_t s, uint32_t off, uint32_t len,
		  struct unic_sgl *sgl);

/** unic_sq_inline() - copy the inline data of request @s, @len bytes. */
void unic_sq_inline(struct unic_sq *sq, uint32_t s, uint8_t *to, uint32_t len);

/** unic_sq_release() - request @s needs its regions no more. */
void unic_sq_release(struct unic_transport *nic, struct unic_sq *sq,
		     uint32_t s);

/** unic_sq_drop_holds() - of all work requests in the window; those that
 * held what @cuts has will complete EVICTED (NULL: none). */
void unic_sq_drop_holds(struct unic_transport *nic, struct unic_qp_ctx *qp,
			const struct unic_cuts *cuts);

/** unic_sq_holds() - does a work request of @qp, not acknowledged, hold
 * what @cuts has? */
bool unic_sq_holds(struct unic_qp_ctx *qp, const struct unic_cuts *cuts);

/** unic_sq_fetched() - slots asked for have arrived. */
void unic_sq_fetched(struct unic_transport *nic, uint16_t idx, uint32_t count,
		     bool ok);

#endif /* UNIC_SQ_H */
