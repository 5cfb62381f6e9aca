/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* lane_rx.c - the lane in, see lane.h. */
#include "access.h"
#include "frame.h"
#include "lane.h"
#include "nic.h"
#include "requester.h"
#include "responder.h"

#define unlikely(x) __builtin_expect(!!(x), 0)
#define COLD	    __attribute__((noinline, cold))
#define CALLED	    __attribute__((noinline))

#define RETH_BYTES ((uint32_t)sizeof(struct unic_reth))
#define AETH_BYTES ((uint32_t)sizeof(struct unic_aeth))
#define MIN_BYTES  (UNIC_EXT_OFF + AETH_BYTES + UNIC_ICRC_BYTES)

/* ------------------------------------------------------ what is expected */

enum kind { /* unic_expect.kind */
	KIND_ACK,
	KIND_ONLY, /* all of a WRITE */
	KIND_FIRST,
	KIND_MIDDLE,
	KIND_LAST,
};

#define OP_MASK	   0xff4fffffu /* solicited and pad may be anything */
#define OP_WORD(o) ((uint32_t)(o) << 24 | UNIC_PKEY_DEFAULT)

/*
 * What a packet with this opcode is, and how long its payload, if it has @body
 * bytes behind BTH. False: not for the lane.
 */
static bool classify(const struct unic_qp *qp, uint32_t op, uint32_t body,
		     struct unic_expect *e)
{
	uint32_t mtu = 1u << qp->mtu_shift;
	uint32_t pad = op >> (16 + UNIC_BTH_PAD_SHIFT) & 3;
	uint32_t ext = 0;

	switch (op & OP_MASK) {
	case OP_WORD(UNIC_OP_ACK):
		e->kind = KIND_ACK;
		e->len = 0;
		return body == AETH_BYTES && !pad;
	case OP_WORD(UNIC_OP_WRITE_ONLY):
		e->kind = KIND_ONLY;
		ext = RETH_BYTES;
		break;
	case OP_WORD(UNIC_OP_WRITE_FIRST):
		e->kind = KIND_FIRST;
		ext = RETH_BYTES;
		break;
	case OP_WORD(UNIC_OP_WRITE_MIDDLE):
		e->kind = KIND_MIDDLE;
		break;
	case OP_WORD(UNIC_OP_WRITE_LAST):
		e->kind = KIND_LAST;
		break;
	default:
		return false;
	}
	if (body <= ext + pad || body - ext - pad > mtu ||
	    !(qp->rights & UNIC_MR_REMOTE_WRITE))
		return false;
	e->len = (uint16_t)(body - ext - pad);
	return e->len == mtu || e->kind == KIND_ONLY || e->kind == KIND_LAST;
}

/* Has the frame the headers that @e is about? */
static inline bool is_like(const struct unic_rx *rx,
			   const struct unic_expect *e)
{
	return e->bytes == rx->len && unic_headers_same(rx->frame, &e->h);
}

/* One that is not like the last of its sort. Is it one of the lane's, of the
 * peer of @qp, which may receive? Then others like it are expected now. */
static bool learn(struct unic_nic *nic, struct unic_qp *qp,
		  struct unic_expect *e, const struct unic_rx *rx)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t op = unic_get_word(w, UNIC_W_BTH_OP);
	uint32_t ip = rx->len - UNIC_ETH_BYTES;

	e->bytes = UNIC_EXPECT_NOTHING;
	if (qp->state != UNIC_QPS_RTS || (ip & 3) ||
	    !classify(qp, op, rx->len - UNIC_EXT_OFF - UNIC_ICRC_BYTES, e))
		return false;
	e->qp = unic_qp_index(nic, qp);
	unic_roce_length(&qp->tmpl, &e->h, ip);
	unic_put_word(e->h.word, UNIC_W_BTH_OP, op);
	e->bytes = rx->len;
	return unic_headers_same(rx->frame, &e->h);
}

/* Which of unic_qp.expect[]: packets that begin a message, and all others, so
 * that neither a stream of long messages nor one in both ways learns anew. */
static inline uint32_t is_later(uint32_t opcode)
{
	return opcode != UNIC_OP_WRITE_ONLY && opcode != UNIC_OP_WRITE_FIRST;
}

/* A frame that is not like the one before it. True if it is for the lane: then
 * it is like nic->like. */
static CALLED bool find(struct unic_nic *nic, const struct unic_rx *rx)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	struct unic_expect *e;
	struct unic_qp *qp;
	uint32_t idx;

	if (rx->len < MIN_BYTES)
		return false;
	idx = unic_get_word(w, UNIC_W_BTH_DQPN) & 0xff;
	if (idx >= UNIC_QPS)
		return false;
	qp = &nic->qps.qp[idx];
	UNIC_IN_REGISTER(qp);
	e = &qp->expect[is_later(unic_get_word(w, UNIC_W_BTH_OP) >> 24)];
	UNIC_IN_REGISTER(e);
	if (!is_like(rx, e) && !learn(nic, qp, e, rx))
		return false;
	nic->like = e;
	return true;
}

static inline bool sound(const struct unic_rx *rx)
{
	return rx->flags & UNIC_FRAME_NO_ICRC ||
	       unic_icrc_ok(rx->frame, rx->len);
}

/* Its opcode and PSN for the trace. */
static COLD void trace_rx(struct unic_nic *nic, const struct unic_qp *qp,
			  const struct unic_rx *rx)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t op = unic_get_word(w, UNIC_W_BTH_OP);

	UNIC_TRACE(nic, RX, qp->proc, op >> 24, qp->qpn,
		   unic_get_word(w, UNIC_W_BTH_APSN) & UNIC_PSN_MASK,
		   rx->len - UNIC_EXT_OFF - UNIC_ICRC_BYTES -
			   (op >> (16 + UNIC_BTH_PAD_SHIFT) & 3));
}

static inline void trace(struct unic_nic *nic, const struct unic_qp *qp,
			 const struct unic_rx *rx)
{
	if (unlikely(nic->trace.mask & UNIC_TG_OF_RX))
		trace_rx(nic, qp, rx);
}

static inline uint64_t remote_va(const uint32_t *w)
{
	return (uint64_t)unic_get_word(w, UNIC_W_EXT) << 32 |
	       unic_get_word(w, UNIC_W_EXT + 1);
}

/* PSN and acknowledge request of a frame: is it the PSN expected? */
static inline bool in_sequence(const struct unic_rsp *rsp, uint32_t apsn)
{
	return !((apsn ^ rsp->psn) << 8);
}

/* -------------------------------------------------- WRITEs of one packet */

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

/* The payload of a whole WRITE did not get there at once: @status. */
static COLD enum unic_lane write_late(struct unic_nic *nic, struct unic_qp *qp,
				      uint64_t bus, uint32_t len, uint16_t mr,
				      bool ackreq, int status)
{
	if (status != UNIC_PORT_PENDING)
		return UNIC_LANE_NOT;
	qp->rsp.msg = (struct unic_msg){
		.bus = bus,
		.left = len,
		.bytes = len,
		.mr = mr,
		.kind = UNIC_MSG_WRITE,
		.direct = true,
		.last = true,
		.ackreq = ackreq,
	};
	return place_late(nic, qp, mr);
}

static COLD enum unic_lane refused(struct unic_nic *nic, struct unic_qp *qp,
				   int err)
{
	unic_responder_refused(nic, qp, qp->rsp.psn, err);
	return UNIC_LANE_DONE;
}

/* A whole WRITE of one packet. */
static inline enum unic_lane write_only(struct unic_nic *nic,
					struct unic_qp *qp,
					const struct unic_rx *rx, uint32_t len)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t apsn = unic_get_word(w, UNIC_W_BTH_APSN);
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_piece piece;
	int r;

	if (unlikely(!in_sequence(rsp, apsn) || rsp->msg.kind ||
		     unic_get_word(w, UNIC_W_EXT + 3) != len ||
		     nic->dma.free_head == UNIC_DMA_NO_JOB))
		return UNIC_LANE_NOT;
	trace(nic, qp, rx);
	r = unic_access_inline(nic, unic_get_word(w, UNIC_W_EXT + 2), qp->pd,
			       UNIC_MR_REMOTE_WRITE, remote_va(w), len, &piece);
	if (unlikely(r))
		return refused(nic, qp, r);
	if (unlikely(piece.len != len))
		return UNIC_LANE_NOT;
	r = unic_port_dma(nic->port, UNIC_DMA_TO_HOST, piece.bus,
			  (uint8_t *)rx->frame + UNIC_EXT_OFF + RETH_BYTES, len,
			  nic->dma.free_head);
	if (unlikely(r))
		return write_late(nic, qp, piece.bus, len, piece.mr, apsn >> 31,
				  r);
	nic->dma.bytes += len;
	rsp->psn = unic_psn_add(rsp->psn, 1);
	rsp->msn = unic_psn_add(rsp->msn, 1);
	rsp->nak_sent = false;
	if (apsn >> 31 && !rsp->ack)
		unic_responder_owe_ack(nic, qp);
	return UNIC_LANE_DONE;
}

/* ---------------------------------------------- WRITEs of several packets */

/* Begin one at its RETH. 0, or the access error. */
static int begin_write(struct unic_nic *nic, struct unic_qp *qp,
		       const uint32_t *w, uint32_t len)
{
	struct unic_piece piece = { .mr = UNIC_MR_NIL };
	struct unic_msg *m = &qp->rsp.msg;
	uint64_t va = remote_va(w);
	int r;

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
	nic->dma.bytes += len;
	unic_responder_placed(nic, qp, 0);
	return UNIC_LANE_DONE;
}

static enum unic_lane write_first(struct unic_nic *nic, struct unic_qp *qp,
				  const struct unic_rx *rx, uint32_t mtu)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t apsn = unic_get_word(w, UNIC_W_BTH_APSN);
	uint32_t len = unic_get_word(w, UNIC_W_EXT + 3);
	struct unic_rsp *rsp = &qp->rsp;
	int r;

	if (unlikely(!in_sequence(rsp, apsn) || rsp->msg.kind || len <= mtu ||
		     len > UNIC_MSG_MAX))
		return UNIC_LANE_NOT;
	trace(nic, qp, rx);
	r = begin_write(nic, qp, w, len);
	if (unlikely(r))
		return refused(nic, qp, r);
	rsp->msg.last = false;
	rsp->msg.ackreq = apsn >> 31;
	return place_part(
		nic, qp, (uint8_t *)rx->frame + UNIC_EXT_OFF + RETH_BYTES, mtu);
}

static enum unic_lane write_next(struct unic_nic *nic, struct unic_qp *qp,
				 const struct unic_rx *rx, uint32_t len,
				 bool last)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t apsn = unic_get_word(w, UNIC_W_BTH_APSN);
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_msg *m = &rsp->msg;

	if (unlikely(!in_sequence(rsp, apsn) || m->kind != UNIC_MSG_WRITE ||
		     (last ? len != m->left : len >= m->left)))
		return UNIC_LANE_NOT;
	trace(nic, qp, rx);
	m->last = last;
	m->ackreq = apsn >> 31;
	return place_part(nic, qp, (uint8_t *)rx->frame + UNIC_EXT_OFF, len);
}

/* ---------------------------------------------------------------- any frame */

static void ack(struct unic_nic *nic, struct unic_qp *qp,
		const struct unic_rx *rx)
{
	const uint32_t *w = (const void *)(rx->frame + 2);

	trace(nic, qp, rx);
	unic_requester_ack(nic, qp,
			   unic_get_word(w, UNIC_W_BTH_APSN) & UNIC_PSN_MASK,
			   (uint8_t)(unic_get_word(w, UNIC_W_EXT) >> 24));
}

/* Frames of kinds that come less often. */
static CALLED enum unic_lane others(struct unic_nic *nic, struct unic_qp *qp,
				    const struct unic_rx *rx,
				    const struct unic_expect *e)
{
	switch (e->kind) {
	case KIND_FIRST:
		return write_first(nic, qp, rx, e->len);
	case KIND_MIDDLE:
		return write_next(nic, qp, rx, e->len, false);
	case KIND_LAST:
		return write_next(nic, qp, rx, e->len, true);
	default:
		ack(nic, qp, rx);
		return UNIC_LANE_DONE;
	}
}

enum unic_lane unic_lane_rx(struct unic_nic *nic, const struct unic_rx *rx)
{
	const struct unic_expect *e = nic->like;
	struct unic_qp *qp;

	if (unlikely(!is_like(rx, e))) {
		if (!find(nic, rx))
			return UNIC_LANE_NOT;
		e = nic->like;
	}
	if (unlikely(!sound(rx)))
		return UNIC_LANE_NOT;
	qp = &nic->qps.qp[e->qp];
	UNIC_IN_REGISTER(qp);
	if (e->kind != KIND_ONLY)
		return others(nic, qp, rx, e);
	return write_only(nic, qp, rx, e->len);
}
