/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fastpath_receive.h - a SEND of one packet that goes into the next posted receive, for the files
 * that place frames (fastpath_rx.c, fastpath_lone.c).
 *
 * Secret: which receives are so plain that rq.c has nothing to decide: the next one, with one
 * buffer in the page that its region used last. What completed out of order is behind the
 * head, as ever, so the next one is not of these.
 */
#ifndef UNIC_FASTPATH_RECEIVE_H
#define UNIC_FASTPATH_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/window.h"
#include "transport/cq_place.h"
#include "transport/fastpath_expect.h"
#include "transport/rq.h"
#include "transport/rq_ring.h"
#include "transport/sq_done.h"
#include "transport/transport.h"

/** unic_fastpath_receive_next() - the receive that a message to @qp gets, or NULL:
 * unic_rq_pick() knows more. Slots may have been fetched into the window. */
static inline const struct unic_rq_slot *
unic_fastpath_receive_next(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_rq *rq = &qp->rq;
	const struct unic_rq_slot *slot = unic_rq_ring_slot(rq, rq->head);
	const unic_le32 *word = (const void *)slot;

	if (unlikely(rq->picked | rq->substitute))
		return NULL;
	if (rq->head == rq->fetched && unic_rq_ring_fill(nic, qp))
		return NULL;
	/* num_sge, and seven bytes that are zero */
	return (unic_from_le32(word[0]) ^ 1) | unic_from_le32(word[1]) ? NULL
								       : slot;
}

/* The receive at the head, which is @slot, has @len bytes: record @at says so. */
static inline void unic_fastpath_receive_end(struct unic_transport *nic,
					     struct unic_qp_ctx *qp,
					     const struct unic_rq_slot *slot,
					     struct unic_cqe *at, uint32_t len)
{
	struct unic_rq *rq = &qp->rq;

	unic_sq_write_success(at, &slot->wr_id, len, qp->qpn, UNIC_WC_RECV);
	unic_cq_publish(nic, qp->recv_cq, at, 1);
	rq->head++;
	unic_rq_ring_advance(rq);
	if (rq->fetched - rq->head == UNIC_RQ_WINDOW / 2)
		unic_rq_ahead_want(nic, qp);
}

/** unic_fastpath_receive() - place and complete the SEND in @frame, which is like @e and in
 * sequence; no message of @qp is under way. False: nothing happened, it is for the long way. */
static inline bool unic_fastpath_receive(struct unic_transport *nic,
					 struct unic_qp_ctx *qp,
					 const uint8_t *frame,
					 const struct unic_expect *e)
{
	const struct unic_rq_slot *slot = unic_fastpath_receive_next(nic, qp);
	struct unic_range bytes;
	struct unic_mr_ctx *mr;
	struct unic_cqe *at;
	uint32_t stag;
	uint8_t *to;

	if (unlikely(!slot))
		return false;
	stag = unic_from_le32(slot->sge[0].lkey);
	bytes.iova = unic_from_le64(slot->sge[0].iova);
	bytes.len = unic_from_le32(slot->sge[0].len); /* all of it is checked */
	mr = unic_window_mr(&nic->memory, stag);
	if (unlikely(bytes.len < e->len))
		return false;
	to = unic_window_one(&nic->memory, mr, stag, qp->pd,
			     UNIC_MR_LOCAL_WRITE, bytes);
	at = likely(to) ? unic_cq_place_one(nic, &nic->cqs.cq[qp->recv_cq])
			: NULL;
	if (unlikely(!at))
		return false;
	unic_window_write(to, frame + UNIC_EXT_OFF, e->len);
	unic_mr_used(&nic->memory, mr, e->len);
	nic->dma.bytes += e->len + UNIC_CQE_BYTES;
	unic_fastpath_receive_end(nic, qp, slot, at, e->len);
	qp->rsp.psn = unic_psn_add(qp->rsp.psn, 1);
	qp->rsp.msn = unic_psn_add(qp->rsp.msn, 1);
	return true;
}

#endif /* UNIC_FASTPATH_RECEIVE_H */
