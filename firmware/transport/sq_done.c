/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* sq_done.c - see sq_done.h. */
#include "transport/sq_done.h"

#include <string.h>

#include "transport/fastpath_form.h"
#include "transport/local_ops.h"
#include "transport/transport.h"
#include "transport/sq.h"

#define FLUSH_BATCH 16u

#define CALLED __attribute__((noinline))

static bool post_send_cqe(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  uint32_t s, uint8_t status, uint8_t detail,
			  uint32_t len)
{
	const struct unic_sq_slot *slot = unic_sq_slot(&qp->sq, s);
	struct unic_cqe cqe = {
		.wr_id = slot->wr_id,
		.byte_len = unic_to_le32(len),
		.qpn = unic_to_le32(qp->qpn),
		.opcode = unic_wc_of_wr(slot->opcode),
		.status = status,
		.detail = detail,
	};

	if (!unic_cq_post(nic, qp->send_cq, &cqe))
		return false;
	UNIC_TRACE(nic, WC, qp->proc, qp->qpn, cqe.opcode, status, len);
	return true;
}

/*
 * Records of requests from sq.una on, @n at most, to @cqe and behind: while they
 * ended well, are of one form with the first, and hold the same region. Returns
 * how many; the seq of the first is left out.
 */
static CALLED uint32_t write_cqe_run(struct unic_qp_ctx *qp,
				     struct unic_cqe *cqe, uint32_t n,
				     uint32_t seq)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_sq_slot *slot = unic_sq_slot(sq, sq->una);
	const struct unic_wr *wr = unic_sq_wr(sq, sq->una);
	int32_t acked = unic_psn_diff(sq->psn_una, wr->psn);
	uint32_t form = unic_form_word(slot),
		 opcode = unic_wc_of_wr(slot->opcode);
	uint32_t left = n, qpn = qp->qpn;
	unic_le32 lkey = slot->sge[0].lkey;

	if (!(slot->flags & UNIC_WR_SIGNALED))
		return 0;
	do {
		acked -= (int32_t)wr->npkt;
		if (acked < 0 || !unic_sq_is_well(wr) ||
		    unic_form_word(slot) != form || slot->sge[0].lkey != lkey)
			break;
		unic_sq_write_success(cqe, &slot->wr_id, wr->len, qpn, opcode);
		if (left != n)
			UNIC_WRITE_ONCE(cqe->seq, unic_to_le32(seq));
		seq++;
		slot++;
		wr++;
		cqe++;
	} while (--left);
	return n - left;
}

static __attribute__((noinline, cold)) void
trace_done(struct unic_transport *nic, struct unic_qp_ctx *qp, uint32_t n)
{
	uint32_t s = qp->sq.una;

	for (; n; n--, s++)
		UNIC_TRACE(nic, WC, qp->proc, qp->qpn,
			   unic_wc_of_wr(unic_sq_slot(&qp->sq, s)->opcode), 0,
			   unic_sq_wr(&qp->sq, s)->len);
}

/* There is no room for completions. What is acknowledged needs its regions no
 * more all the same, else they would wait for a process that does not read. */
static __attribute__((noinline, cold)) bool
release_acked(struct unic_transport *nic, struct unic_sq *sq)
{
	uint32_t s;

	for (s = sq->una; s != sq->next; s += unic_sq_slots(sq, s)) {
		struct unic_wr *wr = unic_sq_wr(sq, s);

		if (wr->state != UNIC_WRS_SENT || !unic_sq_acked(sq, wr))
			continue;
		wr->state = UNIC_WRS_NULL; /* before: unholding may come back */
		unic_sq_release(nic, sq, s);
	}
	return false;
}

/* Complete requests that ended well, side by side. False: there are none. */
static bool retire_run(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t first = sq->una;
	uint32_t n = UNIC_QP_WINDOW - first % UNIC_QP_WINDOW;
	struct unic_cqe *at;

	if (n > sq->next - first)
		n = sq->next - first;
	n = unic_cq_window(nic, qp->send_cq, n, &at);
	if (likely(n != 0))
		n = write_cqe_run(qp, at, n, unic_cq_seq(nic, qp->send_cq));
	if (!n)
		return false;
	unic_cq_publish(nic, qp->send_cq, at, n);
	if (unlikely(nic->trace.mask & UNIC_TG_OF_WC))
		trace_done(nic, qp, n);
	sq->una = first + n;
	if ((int32_t)(sq->cur - sq->una) < 0)
		sq->cur = sq->una;
	unic_sq_unhold(
		nic, unic_stag_index(unic_sq_slot(sq, first)->sge[0].lkey), n);
	return true;
}

/* The record of the oldest request, which has ended as @wr says; none is due of
 * one that is not signaled and ended well. */
static bool post_ended(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       const struct unic_wr *wr)
{
	const struct unic_sq_slot *slot = unic_sq_slot(&qp->sq, qp->sq.una);
	uint32_t len = wr->len;

	if (!wr->status && !(slot->flags & UNIC_WR_SIGNALED))
		return true;
	if (wr->status && !unic_local_op_is(slot->opcode))
		len = 0; /* of a memory operation: which element was wrong */
	return post_send_cqe(nic, qp, qp->sq.una, wr->status, wr->detail, len);
}

bool unic_sq_retire(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;

	while (sq->una != sq->next && retire_run(nic, qp))
		;
	while (sq->una != sq->next) {
		struct unic_wr *wr = unic_sq_wr(sq, sq->una);
		uint32_t slots = unic_sq_slots(sq, sq->una);

		if (wr->state != UNIC_WRS_DEAD && !unic_sq_acked(sq, wr))
			break;
		if (!post_ended(nic, qp, wr))
			return release_acked(nic, sq);
		if (sq->cur == sq->una)
			sq->cur += slots;
		/* a failing completion queue has released it already */
		if (wr->state == UNIC_WRS_SENT)
			unic_sq_release(nic, sq, sq->una);
		wr->state = UNIC_WRS_DEAD;
		sq->una += slots;
		if (unlikely(sq->stopped && sq->una == sq->next)) {
			unic_qp_error(nic, qp, wr->status);
			break;
		}
	}
	return true;
}

/* The record of the request at the head, of which @wr is known, or NULL: as it
 * ended, if it had and only its completion was late. A local operation, which has no
 * packets, was carried out: that is said, for it cannot be done again. */
static bool post_last(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      const struct unic_wr *wr)
{
	struct unic_sq *sq = &qp->sq;

	if (!wr || (!wr->status && !unic_sq_acked(sq, wr)))
		return post_send_cqe(nic, qp, sq->una,
				     wr && !wr->npkt ? UNIC_WC_SUCCESS
						     : UNIC_WC_WR_FLUSH_ERR,
				     0, 0);
	return post_ended(nic, qp, wr);
}

/* One request, known or not. */
static int flush_request(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr = unic_sq_wr(sq, sq->una);
	bool known = sq->una != sq->next;
	uint32_t slots = 1;
	int r = 0;

	if (known)
		slots = unic_sq_slots(sq, sq->una);
	else
		r = unic_sq_have_slots(nic, qp, &slots);
	if (r == -UNIC_EBUS || r == -UNIC_EEVICTED) {
		/* unreadable: complete what was posted all the same */
		slots = sq->fetched - sq->next + 1;
		memset(unic_sq_slot(sq, sq->fetched), 0, UNIC_SLOT_BYTES);
		sq->fetched++;
	} else if (r) {
		return r;
	}
	if (!post_last(nic, qp, known ? wr : NULL))
		return -UNIC_EAGAIN;
	sq->una += slots;
	if (!known)
		sq->next = sq->una;
	sq->cur = sq->next;
	return 0;
}

int unic_sq_flush(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t n;
	int r;

	for (n = 0; n < FLUSH_BATCH; n++) {
		if (sq->una == sq->tail)
			return 1;
		r = flush_request(nic, qp);
		if (r)
			return r == -UNIC_ENOQP ? 1 : r;
	}
	return 0;
}
