/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fastpath_lone.c - see fastpath_lone.h. */
#include "transport/fastpath_lone.h"

#include "memory/window.h"
#include "transport/cq_place.h"
#include "transport/fastpath_expect.h"
#include "transport/fastpath_form.h"
#include "transport/frame.h"
#include "transport/requester.h"
#include "transport/sq.h"
#include "transport/sq_done.h"
#include "transport/transport.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define FETCH_ALIGN 4096u /* no region has smaller pages */
#define TRACED	    (UNIC_TG_OF_TX | UNIC_TG_OF_RX | UNIC_TG_OF_WC)

/* ------------------------------------------------------------------ sending */

/* Is nothing under way of a queue pair to which one request is posted? */
static inline bool is_alone(const struct unic_sq *sq)
{
	uint32_t next = sq->next;

	return !((sq->una ^ next) | (sq->fetched ^ next) | (sq->cur ^ next) |
		 (sq->psn ^ sq->psn_una) | sq->busy);
}

/* A slot, by vectors: memcpy() of as much is a loop or a call. */
static inline void copy_slot(void *to, const void *from)
{
	const unic_vector *src = from;
	unic_vector *dst = to;

	dst[0] = src[0];
	dst[1] = src[1];
	dst[2] = src[2];
	dst[3] = src[3];
}

/* The slot of the next request into the window; NULL: unic_sq_fetch() knows how. */
static inline const struct unic_sq_slot *fetch_one(struct unic_transport *nic,
						   struct unic_sq *sq)
{
	_Static_assert(UNIC_SLOT_BYTES == 4 * 16, "four vectors");
	uint32_t place = (uint32_t)sq->iova % FETCH_ALIGN +
			 (sq->next & sq->mask) * UNIC_SLOT_BYTES;
	struct unic_sq_slot *slot = unic_sq_slot(sq, sq->next);
	const void *from;

	if (unlikely(sq->page != place / FETCH_ALIGN + 1))
		return NULL;
	from = unic_port_window(nic->port, sq->page_bus + place % FETCH_ALIGN,
				UNIC_SLOT_BYTES);
	if (unlikely(!from))
		return NULL;
	copy_slot(slot, from);
	UNIC_IN_REGISTER(slot); /* judged is the copy (INV-12) */
	nic->dma.bytes += UNIC_SLOT_BYTES;
	sq->fetched = sq->next + 1;
	return slot;
}

/* The frame of request @slot, which is like @y, with its payload from @from. */
static ALWAYS_INLINE void put_frame(uint8_t *frame, const struct unic_ready *y,
				    const struct unic_sq_slot *slot,
				    const uint8_t *from, uint32_t psn)
{
	unic_form_put_body(frame, slot, from, y->wr.len, y->ext);
	unic_headers_put(frame, &y->h);
	unic_put_word(unic_frame_words(frame), UNIC_W_BTH_APSN,
		      psn | UNIC_BTH_ACKREQ);
}

/* The request is sent, and holds region @mr. */
static inline void commit_one(struct unic_transport *nic,
			      struct unic_qp_ctx *qp, struct unic_mr_ctx *mr)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr = unic_sq_wr(sq, sq->next);

	*wr = sq->ready.wr;
	wr->psn = sq->psn;
	mr->holds++;
	UNIC_ASSERT(nic, mr->holds); /* no wrap */
	unic_mr_used(&nic->memory, mr, sq->ready.wr.len);
	sq->next = sq->cur = sq->fetched;
	sq->psn = sq->psn_max = unic_psn_add(sq->psn, 1);
	sq->since_ns = nic->now_ns;
	if (unlikely(!sq->lazy || sq->timer_ns == UNIC_NEVER))
		unic_requester_timer(nic, qp);
}

/* Request @slot, which is in the window and like the last one. */
static inline bool send_one(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    const struct unic_sq_slot *slot)
{
	const struct unic_ready *y = &qp->sq.ready;
	uint32_t stag = unic_from_le32(slot->sge[0].lkey);
	struct unic_mr_ctx *mr = unic_window_mr(&nic->memory, stag);
	struct unic_range bytes = {
		.iova = unic_from_le64(slot->sge[0].iova),
		.len = y->wr.len,
	};
	struct unic_tx_run tx;
	const uint8_t *from;

	from = unic_window_one(&nic->memory, mr, stag, qp->pd, 0, bytes);
	if (unlikely(!from || !unic_port_tx_run(nic->port, qp->tmpl.path, &tx)))
		return false;
	put_frame(tx.frame, y, slot, from, qp->sq.psn);
	unic_port_tx_run_put(nic->port, &tx, 1, y->bytes, UNIC_FRAME_NO_ICRC);
	unic_frame_count(nic, 1, y->bytes);
	nic->qps.roce.lone_sent++;
	commit_one(nic, qp, mr);
	return true;
}

/* Is request @slot a WRITE of one packet? */
static bool is_short_write(const struct unic_qp_ctx *qp,
			   const struct unic_sq_slot *slot)
{
	uint32_t len = unic_from_le32(slot->sge[0].len);

	return slot->opcode == UNIC_WR_WRITE &&
	       (slot->num_sge != 1 || len <= 1u << qp->mtu_shift);
}

/* The one request of @qp is for the scheduler. @slot: it, or NULL if it was not fetched: then
 * it counts whatever it is, because no DMA begins at a doorbell (INV-15). */
static __attribute__((noinline)) bool leave_one(struct unic_transport *nic,
						const struct unic_qp_ctx *qp,
						const struct unic_sq_slot *slot)
{
	if (!slot || is_short_write(qp, slot))
		UNIC_COUNT(nic, lone_other);
	return false;
}

/* @qp, or all of this NIC, sends nothing the short way now. */
static __attribute__((noinline)) bool leave_any(struct unic_transport *nic,
						struct unic_qp_ctx *qp)
{
	if (nic->sched.work | qp->on | (qp->state ^ (uint32_t)UNIC_QPS_RTS) ||
	    !is_alone(&qp->sq))
		return false;
	return leave_one(nic, qp, fetch_one(nic, &qp->sq));
}

bool unic_fastpath_lone_send(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	const struct unic_sq_slot *slot;

	if (qp->sq.tail - qp->sq.next != 1)
		return false; /* mostly there are several, if not one */
	if (unlikely(nic->sched.work | qp->on |
		     (qp->state ^ (uint32_t)UNIC_QPS_RTS) |
		     (nic->trace.mask & TRACED) |
		     (nic->link.icrc_offload == false)))
		return leave_any(nic, qp);
	if (!is_alone(&qp->sq))
		return false;
	slot = fetch_one(nic, &qp->sq);
	if (slot && unic_form_matches(&qp->sq.ready, slot) &&
	    send_one(nic, qp, slot))
		return true;
	return leave_one(nic, qp, slot);
}

/* ---------------------------------------------------------------- receiving */

/* A whole WRITE of one packet, like @e, to a queue pair that owes its peer nothing. */
static inline bool place_one(struct unic_transport *nic, struct unic_qp_ctx *qp,
			     const uint8_t *frame, const struct unic_expect *e)
{
	const uint32_t *w = (const void *)(frame + 2);
	uint32_t apsn = unic_get_word(w, UNIC_W_BTH_APSN);
	uint32_t stag = unic_get_word(w, UNIC_W_EXT + 2);
	struct unic_mr_ctx *mr = unic_window_mr(&nic->memory, stag);
	struct unic_range bytes = { .iova = unic_fastpath_expect_va(w),
				    .len = e->len };
	struct unic_rsp *rsp = &qp->rsp;
	uint8_t *to;

	if (unlikely(!unic_fastpath_in_sequence(rsp, apsn) || rsp->msg.kind ||
		     rsp->owes || rsp->rd_active || !(apsn >> 31) ||
		     unic_get_word(w, UNIC_W_EXT + 3) != e->len))
		return false;
	to = unic_window_one(&nic->memory, mr, stag, qp->pd,
			     UNIC_MR_REMOTE_WRITE, bytes);
	if (unlikely(!to))
		return false;
	unic_window_write(to, frame + UNIC_EXT_OFF + UNIC_FORM_RETH, e->len);
	unic_mr_used(&nic->memory, mr, e->len);
	nic->dma.bytes += e->len;
	rsp->psn = unic_psn_add(rsp->psn, 1);
	rsp->msn = unic_psn_add(rsp->msn, 1);
	return true;
}

/* One packet is under way. Is @psn its own, is it all of the one request that was sent, and
 * is that well and wants a completion? */
static inline bool is_only_one(const struct unic_sq *sq,
			       const struct unic_wr *wr,
			       const struct unic_sq_slot *slot, uint32_t psn)
{
	return !((sq->psn_una ^ psn) | (wr->npkt ^ 1u) |
		 ((sq->una + 1) ^ sq->next) | sq->busy | sq->reads) &&
	       unic_sq_is_well(wr) && (slot->flags & UNIC_WR_SIGNALED);
}

/* The request is acknowledged and completed: nothing is under way. */
static inline void retire_one(struct unic_transport *nic,
			      struct unic_qp_ctx *qp, uint16_t mr)
{
	struct unic_sq *sq = &qp->sq;

	sq->una = sq->next;
	sq->psn_una = sq->psn;
	sq->back_valid = false;
	sq->lazy = true;
	unic_mr_unhold(&nic->memory, mr);
	if (unlikely(sq->tail != sq->next))
		unic_sched_send(nic, unic_qp_index(nic, qp));
}

/* The acknowledgement of the one request under way. */
static inline bool complete_one(struct unic_transport *nic,
				struct unic_qp_ctx *qp, const uint8_t *frame)
{
	const uint32_t *w = (const void *)(frame + 2);
	uint32_t psn = unic_get_word(w, UNIC_W_BTH_APSN) & UNIC_PSN_MASK;
	uint32_t syndrome = unic_get_word(w, UNIC_W_EXT) >> 24;
	struct unic_sq *sq = &qp->sq;
	const struct unic_sq_slot *slot = unic_sq_slot(sq, sq->una);
	const struct unic_wr *wr = unic_sq_wr(sq, sq->una);
	struct unic_cqe *at;

	/* repeats are counted anew, and their timer is stopped, by the other way */
	if (unlikely((syndrome & UNIC_AETH_TYPE_MASK) != UNIC_AETH_ACK ||
		     sq->retries != qp->retry_cnt ||
		     sq->rnrs != qp->rnr_retry ||
		     !is_only_one(sq, wr, slot, psn)))
		return false;
	at = unic_cq_place_one(nic, &nic->cqs.cq[qp->send_cq]);
	if (unlikely(!at))
		return false;
	unic_sq_write_success(at, slot, wr->len, qp->qpn,
			      unic_wc_of_wr(slot->opcode));
	unic_cq_publish(nic, qp->send_cq, at, 1);
	retire_one(nic, qp, unic_stag_index(slot->sge[0].lkey));
	return true;
}

/* Can it be known beforehand that a frame like @e is not alone? */
static inline bool is_of_several(const struct unic_expect *e,
				 const struct unic_qp_ctx *qp)
{
	return e->kind == UNIC_EXPECT_ACK &&
	       unic_psn_add(qp->sq.psn_una, 1) != qp->sq.psn;
}

/* Frame @rx is like @e. */
static inline bool take_one(struct unic_transport *nic,
			    const struct unic_rx *rx,
			    const struct unic_expect *e, struct unic_qp_ctx *qp,
			    struct unic_qp_ctx **acks)
{
	*acks = NULL;
	if (e->kind == UNIC_EXPECT_ACK)
		return complete_one(nic, qp, rx->frame);
	if (e->kind != UNIC_EXPECT_ONLY)
		return false;
	*acks = qp;
	return place_one(nic, qp, rx->frame, e);
}

enum unic_lone unic_fastpath_lone_rx(struct unic_transport *nic,
				     const struct unic_rx *rx,
				     struct unic_qp_ctx **acks)
{
	const struct unic_expect *e = nic->expected;
	struct unic_qp_ctx *qp = &nic->qps.qp[e->qp];

	UNIC_IN_REGISTER(qp);
	if (unlikely(!(rx->flags & UNIC_FRAME_NO_ICRC) ||
		     (nic->trace.mask & TRACED) || is_of_several(e, qp)))
		return UNIC_LONE_NOT;
	if (unlikely(!unic_fastpath_expect_headers(rx, e))) {
		if (unic_fastpath_expect_kind(rx, e))
			return UNIC_LONE_NOT;
		if (!unic_fastpath_expect_find(nic, rx))
			return UNIC_LONE_STRANGE;
		e = nic->expected;
		qp = &nic->qps.qp[e->qp];
		if (is_of_several(e, qp))
			return UNIC_LONE_NOT;
	}
	return take_one(nic, rx, e, qp, acks) ? UNIC_LONE_DONE : UNIC_LONE_NOT;
}
