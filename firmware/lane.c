/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* lane.c - see lane.h. */
#include "lane.h"

#include "access.h"
#include "frame.h"
#include "icrc.h"
#include "nic.h"
#include "requester.h"
#include "responder.h"
#include "sq.h"

#define unlikely(x) __builtin_expect(!!(x), 0)
#define COLD	    __attribute__((noinline, cold))

#define RETH_BYTES ((uint32_t)sizeof(struct unic_reth))

/* ------------------------------------------------------------------- send */

/* The first word of a slot says all about its form. */
static inline uint32_t form_of(const struct unic_sq_slot *slot)
{
	return (uint32_t)slot->opcode | (uint32_t)slot->flags << 8 |
	       (uint32_t)slot->num_sge << 16 | (uint32_t)slot->inline_len << 24;
}

#define ANY_FLAGS	 ((UNIC_WR_SIGNALED | UNIC_WR_SOLICITED) << 8)
#define FORM_ONE_SGE(op) ((uint32_t)(op) | 1u << 16)

/* Nothing wrong, nothing waiting, nothing sent again. */
static inline bool may_send(const struct unic_sq *sq)
{
	return sq->cur == sq->next && sq->psn == sq->psn_max &&
	       !(sq->gathering | sq->rnr_wait | sq->stopped) &&
	       unic_psn_diff(sq->psn, sq->psn_una) <
		       (int32_t)(UNIC_QP_PACKETS - UNIC_QP_WINDOW);
}

static COLD enum unic_lane no_frame(struct unic_nic *nic)
{
	nic->qps.roce.tx_blocked = true;
	UNIC_COUNT(nic, tx_no_room);
	return UNIC_LANE_BLOCKED;
}

static COLD enum unic_lane give_back(struct unic_nic *nic, uint8_t *frame,
				     enum unic_lane why)
{
	unic_port_tx_put(nic->port, frame, 0, 0);
	return why;
}

static COLD enum unic_lane refused(struct unic_nic *nic, struct unic_qp *qp,
				   uint8_t *frame, int err)
{
	unic_sq_refused(qp, err);
	return give_back(nic, frame, UNIC_LANE_DEAD);
}

/* The request sq->next is kept, as UNIC_SQ_DIRECT says, until it is
 * acknowledged. Returns its PSN. */
static inline uint32_t keep(struct unic_nic *nic, struct unic_sq *sq,
			    struct unic_sq_slot *slot, uint32_t len,
			    const struct unic_piece *piece)
{
	struct unic_mr *mr = &nic->mrs.mr[piece->mr];
	uint32_t s = sq->next, psn = sq->psn;
	struct unic_wr *wr = unic_sq_wr(sq, s);

	UNIC_IN_REGISTER(mr);
	UNIC_ASSERT(nic, ++mr->holds);
	slot->sge[0].lkey = unic_to_le32(piece->mr);
	slot->sge[0].iova = unic_to_le64(piece->bus);
	slot->flags |= UNIC_SQ_DIRECT;
	wr->psn = psn;
	wr->len = len;
	wr->npkt = 1;
	wr->state = UNIC_WRS_SENT;
	wr->status = 0;
	wr->detail = 0;
	wr->slots = 1;
	sq->next = sq->cur = s + 1;
	sq->psn = sq->psn_max = unic_psn_add(psn, 1);
	return psn;
}

static inline void put_remote(uint8_t *frame, const struct unic_sq_slot *slot,
			      uint32_t len)
{
	unic_put_reth(unic_frame_words(frame), UNIC_W_EXT,
		      unic_from_le64(slot->remote), unic_from_le32(slot->rkey),
		      len);
}

/* The payload did not come at once: @status of the port. */
static COLD enum unic_lane late(struct unic_nic *nic, struct unic_qp *qp,
				uint8_t *frame, const struct unic_piece *piece,
				uint32_t op, int status)
{
	struct unic_sq_slot *slot = unic_sq_slot(&qp->sq, qp->sq.next);
	uint32_t len = piece->len;
	uint32_t ext = op >> 8 == UNIC_OP_WRITE_ONLY ? RETH_BYTES : 0;

	if (status != UNIC_PORT_PENDING)
		return give_back(nic, frame,
				 status == UNIC_PORT_EAGAIN ? UNIC_LANE_BLOCKED
							    : UNIC_LANE_NOT);
	unic_tx_adopt(nic, qp, frame, ext + len, piece->mr);
	if (ext)
		put_remote(frame, slot, len);
	UNIC_TRACE(nic, TX, qp->proc, op >> 8, qp->qpn, qp->sq.psn, ext + len);
	unic_frame_write(frame, qp, op,
			 keep(nic, &qp->sq, slot, len, piece) | UNIC_BTH_ACKREQ,
			 ext + len);
	qp->sq.gathering = true;
	return UNIC_LANE_LATE;
}

/* What a call of unic_lane_send() has done. */
struct sent {
	uint32_t bytes;
	int32_t left; /* of the deficit */
};

/* The request sq->next, from window slot to published frame. */
static inline enum unic_lane send_one(struct unic_nic *nic, struct unic_qp *qp,
				      struct sent *sent)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_sq_slot *slot = unic_sq_slot(sq, sq->next);
	uint32_t form = form_of(slot), len = unic_from_le32(slot->sge[0].len);
	uint32_t op = UNIC_OP_WRITE_ONLY << 8, ext = RETH_BYTES;
	struct unic_piece piece;
	uint8_t *frame;
	int r;

	if ((form & ~ANY_FLAGS) != FORM_ONE_SGE(UNIC_WR_WRITE)) {
		if ((form & ~ANY_FLAGS) != FORM_ONE_SGE(UNIC_WR_SEND))
			return UNIC_LANE_NOT;
		op = UNIC_OP_SEND_ONLY << 8;
		ext = 0;
	}
	if (unlikely(slot->ctrl_len || (len - 1) >> qp->mtu_shift))
		return UNIC_LANE_NOT;
	if (form & UNIC_WR_SOLICITED << 8)
		op |= UNIC_BTH_SOLICITED;
	frame = unic_port_tx_get(nic->port, qp->tmpl.path);
	if (unlikely(!frame))
		return no_frame(nic);
	r = unic_access_inline(nic, unic_from_le32(slot->sge[0].lkey), qp->pd,
			       0, unic_from_le64(slot->sge[0].iova), len,
			       &piece);
	if (unlikely(r))
		return refused(nic, qp, frame, r);
	if (unlikely(piece.len != len))
		return give_back(nic, frame, UNIC_LANE_NOT);
	r = unic_port_dma(nic->port, UNIC_DMA_FROM_HOST, piece.bus,
			  frame + UNIC_EXT_OFF + ext, len, nic->dma.free_head);
	if (unlikely(r))
		return late(nic, qp, frame, &piece, op, r);
	if (ext)
		put_remote(frame, slot, len);
	sent->bytes += unic_frame_send(
		nic, frame, qp, op,
		keep(nic, sq, slot, len, &piece) | UNIC_BTH_ACKREQ, ext + len);
	sent->left -= (int32_t)(len + UNIC_PACKET_COST);
	return UNIC_LANE_DONE;
}

/* No request is left in the window. DONE: now there is. */
static enum unic_lane more(struct unic_nic *nic, struct unic_qp *qp, bool *none)
{
	int r = -UNIC_ENOQP;

	if (qp->sq.next != qp->sq.tail)
		r = unic_sq_fetch(nic, qp);
	*none = r == -UNIC_ENOQP;
	return r ? UNIC_LANE_NOT : UNIC_LANE_DONE;
}

static enum unic_lane send_run(struct unic_nic *nic, struct unic_qp *qp,
			       struct sent *sent)
{
	enum unic_lane r = UNIC_LANE_DONE;
	bool none = false;

	while (sent->left > 0) {
		if (qp->sq.next == qp->sq.fetched)
			r = more(nic, qp, &none);
		if (unlikely(none))
			return UNIC_LANE_DONE;
		if (!r)
			r = send_one(nic, qp, sent);
		if (unlikely(r))
			break;
	}
	return r;
}

enum unic_lane unic_lane_send(struct unic_nic *nic, struct unic_qp *qp,
			      int32_t *deficit)
{
	struct sent sent = { .left = *deficit };
	uint32_t first = qp->sq.next;
	enum unic_lane r;

	/* a transfer that takes the last tag ends the run, too */
	if (unlikely(!may_send(&qp->sq) ||
		     nic->dma.free_head == UNIC_DMA_NO_JOB))
		return UNIC_LANE_NOT;
	r = send_run(nic, qp, &sent);
	*deficit = sent.left;
	if (first == qp->sq.next)
		return r;
	unic_frame_count(nic, qp->sq.next - first, sent.bytes);
	if (qp->sq.timer_ns == UNIC_NEVER)
		unic_requester_timer(nic, qp);
	return r;
}

/* ------------------------------------------------- packets of a long message */

/* Where the next packet of the request in hand comes from. */
struct part {
	struct unic_piece piece;
	uint32_t off, len;
	bool first, last;
};

static inline bool next_part(struct unic_nic *nic, const struct unic_qp *qp,
			     const struct unic_sq_slot *slot,
			     const struct unic_wr *wr, struct part *p)
{
	uint32_t k = unic_psn_add(qp->sq.psn, -wr->psn);
	uint16_t mr = (uint16_t)unic_from_le32(slot->sge[0].lkey);
	uint64_t at;

	p->off = k << qp->mtu_shift;
	p->first = k == 0;
	p->last = k + 1 == wr->npkt;
	p->len = p->last ? wr->len - p->off : 1u << qp->mtu_shift;
	at = unic_from_le64(slot->sge[0].iova) + p->off;
	if (slot->flags & UNIC_SQ_DIRECT) {
		p->piece.bus = at;
		p->piece.mr = mr;
		return p->len != 0;
	}
	return p->len && !unic_xlate(nic, mr, at, p->len, &p->piece) &&
	       p->piece.len == p->len;
}

/* Opcodes of an operation: first, middle, last, its immediate, only. */
static inline uint32_t part_op(uint32_t first_op, const struct part *p)
{
	if (p->first)
		return (first_op + (p->last ? 4 : 0)) << 8;
	return (first_op + (p->last ? 2 : 1)) << 8;
}

enum unic_lane unic_lane_packet(struct unic_nic *nic, struct unic_qp *qp,
				uint32_t *bytes)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_sq_slot *slot = unic_sq_slot(sq, sq->cur);
	struct unic_wr *wr = unic_sq_wr(sq, sq->cur);
	bool is_write = slot->opcode == UNIC_WR_WRITE;
	uint32_t op, apsn = sq->psn, ext;
	struct part p;
	uint8_t *frame;
	int r;

	if ((!is_write && slot->opcode != UNIC_WR_SEND) || slot->num_sge != 1 ||
	    wr->state != UNIC_WRS_SENT ||
	    nic->dma.free_head == UNIC_DMA_NO_JOB ||
	    !next_part(nic, qp, slot, wr, &p))
		return UNIC_LANE_NOT;
	frame = unic_port_tx_get(nic->port, qp->tmpl.path);
	if (unlikely(!frame))
		return no_frame(nic);
	op = part_op(is_write ? UNIC_OP_WRITE_FIRST : UNIC_OP_SEND_FIRST, &p);
	ext = is_write && p.first ? RETH_BYTES : 0;
	r = unic_port_dma(nic->port, UNIC_DMA_FROM_HOST, p.piece.bus,
			  frame + UNIC_EXT_OFF + ext, p.len,
			  nic->dma.free_head);
	if (unlikely(r == UNIC_PORT_PENDING))
		unic_tx_adopt(nic, qp, frame, ext + p.len, p.piece.mr);
	else if (unlikely(r))
		return give_back(nic, frame, UNIC_LANE_NOT);
	if (ext)
		put_remote(frame, slot, wr->len);
	if (p.last && (slot->flags & UNIC_WR_SOLICITED))
		op |= UNIC_BTH_SOLICITED;
	if (p.last || (apsn & UNIC_ACK_EVERY) == UNIC_ACK_EVERY)
		apsn |= UNIC_BTH_ACKREQ;
	*bytes = p.len;
	unic_requester_advance(nic, qp, p.last);
	if (unlikely(r)) {
		UNIC_TRACE(nic, TX, qp->proc, op >> 8, qp->qpn,
			   apsn & UNIC_PSN_MASK, ext + p.len);
		unic_frame_write(frame, qp, op, apsn, ext + p.len);
		sq->gathering = true;
		return UNIC_LANE_LATE;
	}
	unic_frame_count(
		nic, 1, unic_frame_send(nic, frame, qp, op, apsn, ext + p.len));
	return UNIC_LANE_DONE;
}

/* ---------------------------------------------------------------- receive */

/* It is the lane's; @len: bytes behind BTH. */
static inline void trace_rx(struct unic_nic *nic, const struct unic_qp *qp,
			    uint32_t opcode, uint32_t apsn, uint32_t len)
{
	UNIC_TRACE(nic, RX, qp->proc, opcode, qp->qpn, apsn & UNIC_PSN_MASK,
		   len);
}

/* The payload of the packet that rsp.msg describes is on its way to @mr. */
static COLD enum unic_lane place_late(struct unic_nic *nic, struct unic_qp *qp,
				      uint16_t mr)
{
	struct unic_roce *roce = &nic->qps.roce;

	roce->rx_qp = unic_qp_index(nic, qp);
	roce->rx_qpn = qp->qpn;
	roce->rx_sgl = (struct unic_sgl){
		.n = 1,
		.i = 1,
		.to_host = 1,
		.owner = UNIC_DMA_RX,
		.pending = 1,
	};
	unic_dma_adopt(nic, mr, UNIC_DMA_RX, 0);
	return UNIC_LANE_LATE;
}

static COLD enum unic_lane write_late(struct unic_nic *nic, struct unic_qp *qp,
				      const struct unic_piece *piece,
				      bool ackreq)
{
	qp->rsp.msg = (struct unic_msg){
		.bus = piece->bus,
		.left = piece->len,
		.bytes = piece->len,
		.mr = piece->mr,
		.kind = UNIC_MSG_WRITE,
		.direct = true,
		.last = true,
		.ackreq = ackreq,
	};
	return place_late(nic, qp, piece->mr);
}

/* A whole WRITE of one packet, with the PSN expected. */
static inline enum unic_lane write_only(struct unic_nic *nic,
					struct unic_qp *qp,
					const struct unic_rx *rx, uint32_t apsn,
					uint32_t pad)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t len =
		rx->len - (UNIC_EXT_OFF + RETH_BYTES + UNIC_ICRC_BYTES) - pad;
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_piece piece;
	uint64_t va;
	int r;

	if (unlikely((apsn & UNIC_PSN_MASK) != rsp->psn || rsp->msg.kind ||
		     len - 1 >= 1u << qp->mtu_shift ||
		     unic_get_word(w, UNIC_W_EXT + 3) != len ||
		     !(qp->rights & UNIC_MR_REMOTE_WRITE) ||
		     nic->dma.free_head == UNIC_DMA_NO_JOB))
		return UNIC_LANE_NOT;
	trace_rx(nic, qp, UNIC_OP_WRITE_ONLY, apsn, RETH_BYTES + len);
	va = (uint64_t)unic_get_word(w, UNIC_W_EXT) << 32;
	va |= unic_get_word(w, UNIC_W_EXT + 1);
	r = unic_access_inline(nic, unic_get_word(w, UNIC_W_EXT + 2), qp->pd,
			       UNIC_MR_REMOTE_WRITE, va, len, &piece);
	if (unlikely(r)) {
		unic_responder_refused(nic, qp, rsp->psn, r);
		return UNIC_LANE_DONE;
	}
	if (unlikely(piece.len != len))
		return UNIC_LANE_NOT;
	r = unic_port_dma(nic->port, UNIC_DMA_TO_HOST, piece.bus,
			  (uint8_t *)rx->frame + UNIC_EXT_OFF + RETH_BYTES, len,
			  nic->dma.free_head);
	if (unlikely(r))
		return r == UNIC_PORT_PENDING
			       ? write_late(nic, qp, &piece, apsn >> 31)
			       : UNIC_LANE_NOT;
	nic->qps.roce.dma_bytes += len;
	rsp->psn = unic_psn_add(rsp->psn, 1);
	rsp->msn = unic_psn_add(rsp->msn, 1);
	rsp->nak_sent = false;
	if (apsn >> 31 && !rsp->ack)
		unic_responder_owe_ack(nic, qp);
	return UNIC_LANE_DONE;
}

/* Begin a WRITE of several packets, at its RETH. 0, or the access error. */
static int begin_write(struct unic_nic *nic, struct unic_qp *qp,
		       const uint32_t *w, uint32_t len)
{
	struct unic_piece piece = { .mr = UNIC_MR_NIL };
	struct unic_msg *m = &qp->rsp.msg;
	uint64_t va;
	int r;

	va = (uint64_t)unic_get_word(w, UNIC_W_EXT) << 32;
	va |= unic_get_word(w, UNIC_W_EXT + 1);
	r = unic_access(nic, unic_get_word(w, UNIC_W_EXT + 2), qp->pd,
			UNIC_MR_REMOTE_WRITE, va, len, &piece);
	m->iova = va;
	m->bus = piece.bus;
	m->left = len;
	m->placed = 0;
	m->mr = piece.mr;
	m->direct = piece.len == len;
	return r;
}

/* Where the next @len bytes go, if they lie in one page. */
static inline bool target(struct unic_nic *nic, const struct unic_msg *m,
			  uint32_t len, uint64_t *bus)
{
	struct unic_piece piece;

	*bus = m->bus;
	if (m->direct)
		return true;
	if (unic_xlate(nic, m->mr, m->iova, len, &piece) || piece.len != len)
		return false;
	*bus = piece.bus;
	return true;
}

/* Place @len bytes at @from, the next ones of the WRITE that rsp.msg is. */
static inline enum unic_lane place_part(struct unic_nic *nic,
					struct unic_qp *qp, uint8_t *from,
					uint32_t len)
{
	struct unic_msg *m = &qp->rsp.msg;
	uint64_t bus;
	int r;

	if (unlikely(nic->dma.free_head == UNIC_DMA_NO_JOB ||
		     !target(nic, m, len, &bus)))
		return UNIC_LANE_NOT;
	r = unic_port_dma(nic->port, UNIC_DMA_TO_HOST, bus, from, len,
			  nic->dma.free_head);
	if (unlikely(r && r != UNIC_PORT_PENDING))
		return UNIC_LANE_NOT;
	m->kind = UNIC_MSG_WRITE;
	m->bytes = len;
	m->with_imm = false;
	m->solicited = false;
	if (unlikely(r))
		return place_late(nic, qp, m->mr);
	nic->qps.roce.dma_bytes += len;
	unic_responder_placed(nic, qp, 0);
	return UNIC_LANE_DONE;
}

static enum unic_lane write_first(struct unic_nic *nic, struct unic_qp *qp,
				  const struct unic_rx *rx, uint32_t apsn)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t mtu = 1u << qp->mtu_shift;
	uint32_t len = unic_get_word(w, UNIC_W_EXT + 3);
	struct unic_rsp *rsp = &qp->rsp;
	int r;

	if (unlikely((apsn & UNIC_PSN_MASK) != rsp->psn || rsp->msg.kind ||
		     rx->len != UNIC_EXT_OFF + RETH_BYTES + mtu +
					UNIC_ICRC_BYTES ||
		     len <= mtu || len > UNIC_MSG_MAX ||
		     !(qp->rights & UNIC_MR_REMOTE_WRITE)))
		return UNIC_LANE_NOT;
	trace_rx(nic, qp, UNIC_OP_WRITE_FIRST, apsn, RETH_BYTES + mtu);
	r = begin_write(nic, qp, w, len);
	if (unlikely(r)) {
		unic_responder_refused(nic, qp, rsp->psn, r);
		return UNIC_LANE_DONE;
	}
	rsp->msg.last = false;
	rsp->msg.ackreq = apsn >> 31;
	return place_part(
		nic, qp, (uint8_t *)rx->frame + UNIC_EXT_OFF + RETH_BYTES, mtu);
}

static enum unic_lane write_next(struct unic_nic *nic, struct unic_qp *qp,
				 const struct unic_rx *rx, uint32_t apsn,
				 uint32_t pad, bool last)
{
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_msg *m = &rsp->msg;
	uint32_t len = rx->len - (UNIC_EXT_OFF + UNIC_ICRC_BYTES) - pad;
	uint32_t mtu = 1u << qp->mtu_shift;

	if (unlikely((apsn & UNIC_PSN_MASK) != rsp->psn ||
		     m->kind != UNIC_MSG_WRITE || len - 1 >= mtu ||
		     (last ? len != m->left : len != mtu || len >= m->left)))
		return UNIC_LANE_NOT;
	trace_rx(nic, qp, last ? UNIC_OP_WRITE_LAST : UNIC_OP_WRITE_MIDDLE,
		 apsn, len);
	m->last = last;
	m->ackreq = apsn >> 31;
	return place_part(nic, qp, (uint8_t *)rx->frame + UNIC_EXT_OFF, len);
}

/* The queue pair whose peer sends just such frames, if it may receive. */
static inline struct unic_qp *addressee(struct unic_nic *nic,
					const struct unic_rx *rx)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t dqpn = unic_get_word(w, UNIC_W_BTH_DQPN);
	uint32_t idx = dqpn & 0xff;
	struct unic_qp *qp;

	if (unlikely(idx >= UNIC_QPS))
		return NULL;
	qp = &nic->qps.qp[idx];
	UNIC_IN_REGISTER(qp);
	if (unlikely(qp->qpn != dqpn || qp->state != UNIC_QPS_RTS ||
		     !unic_frame_expected(rx->frame, &qp->tmpl, rx->len)))
		return NULL;
	return qp;
}

static inline bool sound(const struct unic_rx *rx)
{
	return rx->flags & UNIC_FRAME_NO_ICRC ||
	       unic_icrc_ok(rx->frame, rx->len);
}

#define OP_MASK	   0xff4fffffu /* solicited and pad may be anything */
#define OP_WORD(o) ((uint32_t)(o) << 24 | UNIC_PKEY_DEFAULT)

static void ack(struct unic_nic *nic, struct unic_qp *qp,
		const struct unic_rx *rx, uint32_t apsn)
{
	const uint32_t *w = (const void *)(rx->frame + 2);

	trace_rx(nic, qp, UNIC_OP_ACK, apsn, sizeof(struct unic_aeth));
	unic_requester_ack(nic, qp, apsn & UNIC_PSN_MASK,
			   (uint8_t)(unic_get_word(w, UNIC_W_EXT) >> 24));
}

enum unic_lane unic_lane_rx(struct unic_nic *nic, const struct unic_rx *rx)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	struct unic_qp *qp;
	uint32_t op, apsn, pad;

	if (unlikely(rx->len <
		     UNIC_EXT_OFF + sizeof(struct unic_aeth) + UNIC_ICRC_BYTES))
		return UNIC_LANE_NOT;
	qp = addressee(nic, rx);
	if (unlikely(!qp || !sound(rx)))
		return UNIC_LANE_NOT;
	op = unic_get_word(w, UNIC_W_BTH_OP);
	apsn = unic_get_word(w, UNIC_W_BTH_APSN);
	pad = op >> (16 + UNIC_BTH_PAD_SHIFT) & 3;
	switch (op & OP_MASK) {
	case OP_WORD(UNIC_OP_WRITE_ONLY):
		return write_only(nic, qp, rx, apsn, pad);
	case OP_WORD(UNIC_OP_ACK):
		if (rx->len !=
		    UNIC_EXT_OFF + sizeof(struct unic_aeth) + UNIC_ICRC_BYTES)
			return UNIC_LANE_NOT;
		ack(nic, qp, rx, apsn);
		return UNIC_LANE_DONE;
	case OP_WORD(UNIC_OP_WRITE_FIRST):
		return write_first(nic, qp, rx, apsn);
	case OP_WORD(UNIC_OP_WRITE_MIDDLE):
	case OP_WORD(UNIC_OP_WRITE_LAST):
		return write_next(nic, qp, rx, apsn, pad,
				  op >> 24 == UNIC_OP_WRITE_LAST);
	default:
		return UNIC_LANE_NOT;
	}
}
