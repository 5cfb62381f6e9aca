/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fastpath_lone.c - see fastpath_lone.h. */
#include "transport/fastpath_lone.h"

#include "memory/window.h"
#include "transport/cq_place.h"
#include "transport/fastpath_expect.h"
#include "transport/fastpath_form.h"
#include "transport/fastpath_receive.h"
#include "transport/frame.h"
#include "transport/rd_resources.h"
#include "transport/requester.h"
#include "transport/sq.h"
#include "transport/sq_done.h"
#include "transport/transport.h"

#define CALLED	      __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))

#define FETCH_ALIGN 4096u /* no region has smaller pages */
#define AETH_BYTES  ((uint32_t)sizeof(struct unic_aeth))
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

/* The request, which is in the window as a whole, is sent, and holds region @mr, of which it
 * is @len bytes. */
static inline void commit_one(struct unic_transport *nic,
			      struct unic_qp_ctx *qp, struct unic_mr_ctx *mr,
			      uint32_t len)
{
	struct unic_sq *sq = &qp->sq;

	mr->holds++;
	UNIC_ASSERT(nic, mr->holds); /* no wrap */
	unic_mr_used(&nic->memory, mr, len);
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
	struct unic_wr *wr;

	from = unic_window_one(&nic->memory, mr, stag, qp->pd, 0, bytes);
	if (unlikely(!from || !unic_port_tx_run(nic->port, qp->tmpl.path, &tx)))
		return false;
	put_frame(tx.frame, y, slot, from, qp->sq.psn);
	unic_port_tx_run_put(nic->port, &tx, 1, y->bytes, UNIC_FRAME_NO_ICRC);
	unic_frame_count(nic, 1, y->bytes);
	nic->qps.roce.lone_sent++;
	wr = unic_sq_wr(&qp->sq, qp->sq.next);
	*wr = y->wr;
	wr->psn = qp->sq.psn;
	commit_one(nic, qp, mr, y->wr.len);
	return true;
}

/* Is request @slot a READ of one packet into one buffer, and may @qp send it? */
static inline bool is_short_read(const struct unic_qp_ctx *qp,
				 const struct unic_sq_slot *slot)
{
	uint32_t form = unic_form_word(slot) & ~UNIC_FORM_ANY;

	return form == UNIC_FORM_ONE_SGE(UNIC_WR_READ) && !slot->ctrl_len &&
	       !((unic_from_le32(slot->sge[0].len) - 1) >> qp->mtu_shift) &&
	       qp->max_rd;
}

/* The READ request of @slot; returns its bytes. */
static inline uint32_t put_read(uint8_t *frame, struct unic_qp_ctx *qp,
				const struct unic_sq_slot *slot, uint32_t len)
{
	unic_form_put_remote(frame, slot, len);
	unic_frame_write(frame, qp, UNIC_OP_READ_REQUEST << 8,
			 qp->sq.psn | UNIC_BTH_ACKREQ, UNIC_FORM_RETH);
	unic_put_word(unic_frame_words(frame), UNIC_W_EXT + 4, 0); /* ICRC */
	return UNIC_EXT_OFF + UNIC_FORM_RETH + UNIC_ICRC_BYTES;
}

/* As send_one(), of a READ. */
static CALLED bool send_read(struct unic_transport *nic, struct unic_qp_ctx *qp,
			     const struct unic_sq_slot *slot)
{
	uint32_t stag = unic_from_le32(slot->sge[0].lkey), sent;
	struct unic_mr_ctx *mr = unic_window_mr(&nic->memory, stag);
	struct unic_range bytes = {
		.iova = unic_from_le64(slot->sge[0].iova),
		.len = unic_from_le32(slot->sge[0].len),
	};
	struct unic_sq *sq = &qp->sq;
	struct unic_tx_run tx;

	if (unlikely(!is_short_read(qp, slot) ||
		     !unic_window_one(&nic->memory, mr, stag, qp->pd,
				      UNIC_MR_LOCAL_WRITE, bytes) ||
		     !unic_port_tx_run(nic->port, qp->tmpl.path, &tx)))
		return false;
	sent = put_read(tx.frame, qp, slot, bytes.len);
	unic_port_tx_run_put(nic->port, &tx, 1, sent, UNIC_FRAME_NO_ICRC);
	unic_frame_count(nic, 1, sent);
	nic->qps.roce.lone_sent++;
	*unic_sq_wr(sq, sq->next) = (struct unic_wr){
		.psn = sq->psn,
		.len = bytes.len,
		.npkt = 1,
		.state = UNIC_WRS_SENT,
		.slots = 1 | UNIC_WR_ONE_SGE,
	};
	commit_one(nic, qp, mr, bytes.len);
	sq->reads++;
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
	if (slot && unic_form_matches(&qp->sq.ready, slot)) {
		if (send_one(nic, qp, slot))
			return true;
	} else if (slot && slot->opcode == UNIC_WR_READ) {
		if (send_read(nic, qp, slot))
			return true;
	}
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

/* A SEND of one packet, like @e, to a queue pair that owes its peer nothing. */
static CALLED bool receive_one(struct unic_transport *nic,
			       struct unic_qp_ctx *qp, const uint8_t *frame,
			       const struct unic_expect *e)
{
	const uint32_t *w = (const void *)(frame + 2);
	uint32_t apsn = unic_get_word(w, UNIC_W_BTH_APSN);
	struct unic_rsp *rsp = &qp->rsp;

	return !(!unic_fastpath_in_sequence(rsp, apsn) || rsp->msg.kind ||
		 rsp->owes || rsp->rd_active || !(apsn >> 31)) &&
	       unic_fastpath_receive(nic, qp, frame, e);
}

/* The response to @ask, whose bytes are @from; the request is executed. */
static inline uint32_t put_response(uint8_t *frame, struct unic_qp_ctx *qp,
				    const struct unic_rd_resources_ask *ask,
				    const uint8_t *from)
{
	uint32_t len = AETH_BYTES + ask->len, padded = (len + 3) & ~3u;

	unic_put_word(unic_frame_words(frame), UNIC_W_EXT,
		      (uint32_t)UNIC_AETH_ACK_NOCREDIT << 24 | qp->rsp.msn);
	unic_window_read(frame + UNIC_EXT_OFF + AETH_BYTES, from, ask->len);
	unic_frame_write(frame, qp, UNIC_OP_READ_RESP_ONLY << 8, ask->psn, len);
	*(uint32_t *)(void *)(frame + UNIC_EXT_OFF + padded) = 0; /* ICRC */
	return UNIC_EXT_OFF + padded + UNIC_ICRC_BYTES;
}

/* A READ of one packet, of a peer whom @qp owes nothing, while nobody waits to send. */
static CALLED bool answer_read(struct unic_transport *nic,
			       struct unic_qp_ctx *qp, const uint8_t *frame)
{
	const uint32_t *w = (const void *)(frame + 2);
	uint32_t apsn = unic_get_word(w, UNIC_W_BTH_APSN), sent;
	struct unic_rd_resources_ask ask = {
		.psn = apsn & UNIC_PSN_MASK,
		.iova = unic_fastpath_expect_va(w),
		.rkey = unic_get_word(w, UNIC_W_EXT + 2),
		.len = unic_get_word(w, UNIC_W_EXT + 3),
	};
	struct unic_range bytes = { .iova = ask.iova, .len = ask.len };
	struct unic_mr_ctx *mr = unic_window_mr(&nic->memory, ask.rkey);
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_tx_run tx;
	const uint8_t *from;

	if (unlikely(!unic_fastpath_in_sequence(rsp, apsn) || rsp->msg.kind ||
		     rsp->owes || rsp->rd_active || !rsp->max_rd ||
		     (ask.len - 1) >> qp->mtu_shift ||
		     (nic->sched.work | qp->on) || !nic->link.icrc_offload))
		return false;
	from = unic_window_one(&nic->memory, mr, ask.rkey, qp->pd,
			       UNIC_MR_REMOTE_READ, bytes);
	if (unlikely(!from || !unic_port_tx_run(nic->port, qp->tmpl.path, &tx)))
		return false;
	rsp->psn = unic_psn_add(rsp->psn, 1);
	rsp->msn = unic_psn_add(rsp->msn, 1);
	sent = put_response(tx.frame, qp, &ask, from);
	unic_port_tx_run_put(nic->port, &tx, 1, sent, UNIC_FRAME_NO_ICRC);
	unic_frame_count(nic, 1, sent);
	unic_mr_used(&nic->memory, mr, ask.len);
	nic->dma.bytes += ask.len;
	unic_rd_resources_answered(qp, &ask);
	return true;
}

/* One packet is under way. Is @psn its own, is it all of the one request that was sent, and
 * is that well and wants a completion? @reads: how many READs it is. */
static inline bool is_only_one(const struct unic_sq *sq,
			       const struct unic_wr *wr,
			       const struct unic_sq_slot *slot, uint32_t psn,
			       uint32_t reads)
{
	return !((sq->psn_una ^ psn) | (wr->npkt ^ 1u) |
		 ((sq->una + 1) ^ sq->next) | sq->busy | (sq->reads ^ reads)) &&
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
		     !is_only_one(sq, wr, slot, psn, 0)))
		return false;
	at = unic_cq_place_one(nic, &nic->cqs.cq[qp->send_cq]);
	if (unlikely(!at))
		return false;
	unic_sq_write_success(at, &slot->wr_id, wr->len, qp->qpn,
			      unic_wc_of_wr(slot->opcode));
	unic_cq_publish(nic, qp->send_cq, at, 1);
	retire_one(nic, qp, unic_stag_index(slot->sge[0].lkey));
	return true;
}

/* The response to the one READ under way, of one packet, which is like @e. */
static CALLED bool complete_read(struct unic_transport *nic,
				 struct unic_qp_ctx *qp, const uint8_t *frame,
				 const struct unic_expect *e)
{
	const uint32_t *w = (const void *)(frame + 2);
	uint32_t psn = unic_get_word(w, UNIC_W_BTH_APSN) & UNIC_PSN_MASK;
	uint32_t syndrome = unic_get_word(w, UNIC_W_EXT) >> 24, stag;
	struct unic_sq *sq = &qp->sq;
	const struct unic_sq_slot *slot = unic_sq_slot(sq, sq->una);
	const struct unic_wr *wr = unic_sq_wr(sq, sq->una);
	struct unic_range bytes;
	struct unic_mr_ctx *mr;
	struct unic_cqe *at;
	uint8_t *to;

	if (unlikely((syndrome & UNIC_AETH_TYPE_MASK) != UNIC_AETH_ACK ||
		     sq->retries != qp->retry_cnt ||
		     sq->rnrs != qp->rnr_retry ||
		     !is_only_one(sq, wr, slot, psn, 1) ||
		     slot->opcode != UNIC_WR_READ || wr->len != e->len ||
		     (wr->slots & UNIC_WR_DIRECT)))
		return false;
	stag = unic_from_le32(slot->sge[0].lkey);
	bytes.iova = unic_from_le64(slot->sge[0].iova);
	bytes.len = wr->len;
	mr = unic_window_mr(&nic->memory, stag);
	to = unic_window_one(&nic->memory, mr, stag, qp->pd,
			     UNIC_MR_LOCAL_WRITE, bytes);
	at = likely(to) ? unic_cq_place_one(nic, &nic->cqs.cq[qp->send_cq])
			: NULL;
	if (unlikely(!at))
		return false;
	unic_window_write(to, frame + UNIC_EXT_OFF + AETH_BYTES, e->len);
	nic->dma.bytes += e->len;
	unic_sq_write_success(at, &slot->wr_id, wr->len, qp->qpn, UNIC_WC_READ);
	unic_cq_publish(nic, qp->send_cq, at, 1);
	sq->reads = 0;
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

/* As take_one(), of what comes less often. */
static inline bool take_other(struct unic_transport *nic,
			      const struct unic_rx *rx,
			      const struct unic_expect *e,
			      struct unic_qp_ctx *qp, struct unic_qp_ctx **acks)
{
	switch (e->kind) {
	case UNIC_EXPECT_READ:
		return answer_read(nic, qp, rx->frame);
	case UNIC_EXPECT_RESPONSE:
		return complete_read(nic, qp, rx->frame, e);
	case UNIC_EXPECT_SEND:
		*acks = qp;
		return receive_one(nic, qp, rx->frame, e);
	default:
		return false;
	}
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
	if (unlikely(e->kind != UNIC_EXPECT_ONLY))
		return take_other(nic, rx, e, qp, acks);
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
