/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* lane.c - the lane out, see lane.h. */
#include "lane.h"

#include "access.h"
#include "frame.h"
#include "nic.h"
#include "requester.h"
#include "sq.h"

#define unlikely(x) __builtin_expect(!!(x), 0)
#define COLD	    __attribute__((noinline, cold))
#define CALLED	    __attribute__((noinline))

#define RETH_BYTES ((uint32_t)sizeof(struct unic_reth))

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

static inline void put_remote(uint8_t *frame, const struct unic_sq_slot *slot,
			      uint32_t len)
{
	unic_put_reth(unic_frame_words(frame), UNIC_W_EXT,
		      unic_from_le64(slot->remote), unic_from_le32(slot->rkey),
		      len);
}

/* ----------------------------------------------- requests of one packet */

/* The first word of a slot says all about its form. */
static inline uint32_t form_of(const struct unic_sq_slot *slot)
{
	return (uint32_t)slot->opcode | (uint32_t)slot->flags << 8 |
	       (uint32_t)slot->num_sge << 16 | (uint32_t)slot->inline_len << 24;
}

#define FORM_FLAG(f)	 ((uint32_t)(f) << 8)
#define ANY_FLAGS	 FORM_FLAG(UNIC_WR_SIGNALED | UNIC_WR_SOLICITED)
#define FORM_ONE_SGE(op) ((uint32_t)(op) | 1u << 16)

/* Nothing wrong, nothing waiting, nothing sent again; and a tag is left. A
 * transfer that takes the last one ends the run, too. */
static inline bool may_send(const struct unic_nic *nic,
			    const struct unic_sq *sq)
{
	return sq->cur == sq->next && sq->psn == sq->psn_max &&
	       !(sq->gathering | sq->rnr_wait | sq->stopped) &&
	       unic_psn_diff(sq->psn, sq->psn_una) <
		       (int32_t)(UNIC_QP_PACKETS - UNIC_QP_WINDOW) &&
	       nic->dma.free_head != UNIC_DMA_NO_JOB;
}

/* Make sq.ready for requests like this one. False: it is not the lane's. */
static CALLED bool change(struct unic_qp *qp, const struct unic_sq_slot *slot)
{
	struct unic_ready *y = &qp->sq.ready;
	uint32_t form = form_of(slot), len = unic_from_le32(slot->sge[0].len);
	uint32_t op = UNIC_OP_WRITE_ONLY << 8, ext = RETH_BYTES;
	uint32_t pad = -len & 3;

	if ((form & ~ANY_FLAGS) != FORM_ONE_SGE(UNIC_WR_WRITE)) {
		if ((form & ~ANY_FLAGS) != FORM_ONE_SGE(UNIC_WR_SEND))
			return false;
		op = UNIC_OP_SEND_ONLY << 8;
		ext = 0;
	}
	if (slot->ctrl_len || (len - 1) >> qp->mtu_shift)
		return false;
	if (form & FORM_FLAG(UNIC_WR_SOLICITED))
		op |= UNIC_BTH_SOLICITED;
	y->form = form & ~FORM_FLAG(UNIC_WR_SIGNALED);
	y->ext = ext;
	y->padded = pad != 0;
	y->bytes = UNIC_EXT_OFF + ext + len + pad + UNIC_ICRC_BYTES;
	y->wr = (struct unic_wr){
		.len = len,
		.npkt = 1,
		.state = UNIC_WRS_SENT,
		.slots = 1 | UNIC_WR_ONE_SGE | UNIC_WR_DIRECT,
	};
	y->h = qp->tmpl.h;
	unic_roce_length(&qp->tmpl, &y->h, y->bytes - UNIC_ETH_BYTES);
	unic_put_word(y->h.word, UNIC_W_BTH_OP,
		      unic_op_word(op | pad << UNIC_BTH_PAD_SHIFT));
	return true;
}

/* Is a request as sq.ready says? */
static inline bool is_alike(const struct unic_ready *y,
			    const struct unic_sq_slot *slot)
{
	uint32_t form = form_of(slot) & ~FORM_FLAG(UNIC_WR_SIGNALED);

	return !((form ^ y->form) | (UNIC_FORCE uint32_t)slot->ctrl_len |
		 (unic_from_le32(slot->sge[0].len) ^ y->wr.len));
}

static inline bool prepare(struct unic_qp *qp, const struct unic_sq_slot *slot)
{
	return __builtin_expect(is_alike(&qp->sq.ready, slot), 1) ||
	       change(qp, slot);
}

/*
 * Some successive requests of the window, all as sq.ready says. What happens to
 * each alike is done once, at the end.
 */
struct run {
	uint32_t s, end; /* slots: the next one, as sq.next; behind the last */
	uint32_t psn_of_0; /* PSN of slot s is psn_of_0 + s */
	unic_le32 lkey;	   /* of the requests from slot `from` on: ... */
	uint32_t from;	   /* ... their holds are not counted yet */
	/* of the request that ends the run early: */
	uint8_t *frame;
	uint64_t bus;
	int err;
};

/* The requests since run->from hold their region. */
static inline void count_holds(struct unic_nic *nic, struct run *run)
{
	struct unic_mr *mr = &nic->mrs.mr[unic_stag_index(run->lkey)];
	uint32_t n = run->s - run->from;

	run->from = run->s;
	if (!n)
		return;
	UNIC_IN_REGISTER(mr);
	mr->holds = (uint16_t)(mr->holds + n);
	UNIC_ASSERT(nic, mr->holds >= n); /* no wrap */
}

/* The request run->s, whose frame is written, is kept until it is acknowledged.
 */
static inline void keep(struct unic_nic *nic, struct unic_sq *sq,
			struct run *run, struct unic_sq_slot *slot,
			uint32_t psn)
{
	struct unic_wr *wr = unic_sq_wr(sq, run->s);

	UNIC_IN_REGISTER(wr);
	if (unlikely(slot->sge[0].lkey != run->lkey)) {
		count_holds(nic, run);
		run->lkey = slot->sge[0].lkey;
	}
	slot->sge[0].iova = unic_to_le64(run->bus);
	*wr = sq->ready.wr;
	wr->psn = psn;
	run->s++;
}

/* The headers of one more request like sq.ready. */
static inline void put_headers(uint8_t *frame, const struct unic_ready *y,
			       const struct unic_sq_slot *slot, uint32_t psn)
{
	unic_headers_put(frame, &y->h);
	unic_put_word(unic_frame_words(frame), UNIC_W_BTH_APSN,
		      psn | UNIC_BTH_ACKREQ);
	if (y->ext)
		put_remote(frame, slot, y->wr.len);
}

/* The integrity check, and off to the link. @bytes: of the frame. */
static inline void seal(struct unic_nic *nic, uint8_t *frame, uint32_t bytes)
{
	uint32_t icrc = 0, flags = UNIC_FRAME_NO_ICRC;

	if (unlikely(!nic->link.icrc_offload)) {
		icrc = unic_icrc(frame, bytes - UNIC_ICRC_BYTES);
		flags = 0;
	}
	*(uint32_t *)(void *)(frame + bytes - UNIC_ICRC_BYTES) =
		(UNIC_FORCE uint32_t)unic_to_le32(icrc);
	unic_port_tx_put(nic->port, frame, bytes, flags);
}

/* Payload will cover what of the last word is not padding. */
static COLD void pad(uint8_t *frame, const struct unic_ready *y)
{
	*(uint32_t *)(void *)(frame + y->bytes - 2 * UNIC_ICRC_BYTES) = 0;
}

/*
 * The request run->s, from window slot to published frame. DONE, or why the run
 * ends before it; then run->frame is held, if not NULL.
 */
static inline enum unic_lane send_one(struct unic_nic *nic, struct unic_qp *qp,
				      struct run *run)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_ready *y = &sq->ready;
	struct unic_sq_slot *slot = unic_sq_slot(sq, run->s);
	struct unic_piece piece;
	uint32_t psn;

	UNIC_IN_REGISTER(slot);
	run->frame = NULL;
	if (unlikely(!is_alike(y, slot)))
		return UNIC_LANE_NOT;
	run->frame = unic_port_tx_get(nic->port, qp->tmpl.path);
	if (unlikely(!run->frame))
		return UNIC_LANE_BLOCKED;
	run->err = unic_access_inline(nic, unic_from_le32(slot->sge[0].lkey),
				      qp->pd, 0,
				      unic_from_le64(slot->sge[0].iova),
				      y->wr.len, &piece);
	if (unlikely(run->err))
		return UNIC_LANE_DEAD;
	if (unlikely(piece.len != y->wr.len))
		return UNIC_LANE_NOT;
	run->bus = piece.bus;
	if (unlikely(y->padded))
		pad(run->frame, y);
	run->err = unic_port_dma(nic->port, UNIC_DMA_FROM_HOST, run->bus,
				 run->frame + UNIC_EXT_OFF + y->ext, y->wr.len,
				 nic->dma.free_head);
	if (unlikely(run->err))
		return UNIC_LANE_LATE;
	psn = unic_psn_add(run->psn_of_0, run->s);
	put_headers(run->frame, y, slot, psn);
	keep(nic, sq, run, slot, psn);
	seal(nic, run->frame, y->bytes);
	return UNIC_LANE_DONE;
}

/* The requests sent since @first; in the run itself there is no time for it. */
static COLD void trace_run(struct unic_nic *nic, struct unic_qp *qp,
			   uint32_t first)
{
	const struct unic_ready *y = &qp->sq.ready;

	for (; first != qp->sq.next; first++)
		UNIC_TRACE(nic, TX, qp->proc,
			   y->ext ? UNIC_OP_WRITE_ONLY : UNIC_OP_SEND_ONLY,
			   qp->qpn, unic_sq_wr(&qp->sq, first)->psn,
			   y->ext + y->wr.len);
}

/* Write back what the run kept to itself, if it sent anything. */
static inline void settle(struct unic_nic *nic, struct unic_qp *qp,
			  struct run *run)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t first = sq->next;

	if (unlikely(first == run->s))
		return;
	sq->next = sq->cur = run->s;
	sq->psn = sq->psn_max = unic_psn_add(run->psn_of_0, run->s);
	count_holds(nic, run);
	if (sq->timer_ns == UNIC_NEVER)
		unic_requester_timer(nic, qp);
	if (unlikely(nic->trace.mask & UNIC_TG_OF_TX))
		trace_run(nic, qp, first);
}

/* The payload of request sq.next did not come at once: @err of the port. */
static COLD enum unic_lane late(struct unic_nic *nic, struct unic_qp *qp,
				uint8_t *frame, uint64_t bus, int err)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_sq_slot *slot = unic_sq_slot(sq, sq->next);
	const struct unic_ready *y = &sq->ready;
	struct run run = {
		.s = sq->next,
		.psn_of_0 = sq->psn - sq->next,
		.lkey = slot->sge[0].lkey,
		.from = sq->next,
		.bus = bus,
	};

	if (err != UNIC_PORT_PENDING)
		return give_back(nic, frame,
				 err == UNIC_PORT_EAGAIN ? UNIC_LANE_BLOCKED
							 : UNIC_LANE_NOT);
	unic_tx_adopt(nic, qp, frame, y->ext + y->wr.len,
		      unic_stag_index(run.lkey));
	put_headers(frame, y, slot, sq->psn);
	keep(nic, sq, &run, slot, sq->psn);
	settle(nic, qp, &run);
	sq->gathering = true;
	return UNIC_LANE_LATE;
}

/* The run ended early, for @why. */
static COLD enum unic_lane ended(struct unic_nic *nic, struct unic_qp *qp,
				 enum unic_lane why, uint8_t *frame, int err)
{
	if (why == UNIC_LANE_BLOCKED)
		return no_frame(nic);
	if (why == UNIC_LANE_DEAD)
		unic_sq_refused(qp, err);
	return frame ? give_back(nic, frame, why) : why;
}

/* Requests like sq.ready, until the window or the deficit is used up. NOT: the
 * next is another one. */
static enum unic_lane send_alike(struct unic_nic *nic, struct unic_qp *qp,
				 int32_t *deficit)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t first = sq->next, cost = sq->ready.wr.len + UNIC_PACKET_COST;
	uint32_t n = ((uint32_t)*deficit + cost - 1) / cost;
	struct run run = {
		.s = first,
		.end = sq->fetched,
		.psn_of_0 = sq->psn - first,
		.from = first,
		.lkey = unic_sq_slot(sq, first)->sge[0].lkey,
	};
	enum unic_lane r;

	if (n < run.end - first)
		run.end = first + n;
	do {
		r = send_one(nic, qp, &run);
	} while (!r && run.s != run.end);
	n = run.s - first;
	*deficit -= (int32_t)(n * cost);
	unic_frame_count(nic, n, n * sq->ready.bytes);
	settle(nic, qp, &run);
	if (unlikely(r == UNIC_LANE_LATE)) {
		*deficit -= (int32_t)cost;
		return late(nic, qp, run.frame, run.bus, run.err);
	}
	return unlikely(r) ? ended(nic, qp, r, run.frame, run.err) : r;
}

/* A call: within its caller it would have too few registers. */
CALLED enum unic_lane unic_lane_send(struct unic_nic *nic, struct unic_qp *qp,
				     int32_t *deficit)
{
	struct unic_sq *sq = &qp->sq;
	enum unic_lane r;
	uint32_t first;
	int err;

	UNIC_IN_REGISTER(sq);
	if (unlikely(!may_send(nic, sq)))
		return UNIC_LANE_NOT;
	do {
		if (sq->next == sq->tail)
			return UNIC_LANE_DONE;
		err = sq->next == sq->fetched ? unic_sq_fetch(nic, qp) : 0;
		if (unlikely(err))
			return err == -UNIC_ENOQP ? UNIC_LANE_DONE
						  : UNIC_LANE_NOT;
		if (unlikely(!prepare(qp, unic_sq_slot(sq, sq->next))))
			return UNIC_LANE_NOT;
		first = sq->next;
		r = send_alike(nic, qp, deficit);
	} while ((!r || (r == UNIC_LANE_NOT && sq->next != first)) &&
		 *deficit > 0);
	return r;
}

/* ------------------------------------------------- packets of a long message */

/* Where the next packet of the request in hand comes from. */
struct part {
	uint64_t bus;
	uint32_t off, len;
	uint16_t mr;
	bool first, last;
};

static inline bool next_part(struct unic_nic *nic, const struct unic_qp *qp,
			     const struct unic_sq_slot *slot,
			     const struct unic_wr *wr, struct part *p)
{
	uint32_t k = unic_psn_add(qp->sq.psn, -wr->psn);
	struct unic_piece piece;
	uint64_t at;

	p->off = k << qp->mtu_shift;
	p->first = k == 0;
	p->last = k + 1 == wr->npkt;
	p->len = p->last ? wr->len - p->off : 1u << qp->mtu_shift;
	p->mr = unic_stag_index(slot->sge[0].lkey);
	at = unic_from_le64(slot->sge[0].iova) + p->off;
	p->bus = at;
	if (wr->slots & UNIC_WR_DIRECT)
		return p->len != 0;
	if (!p->len || unic_xlate(nic, p->mr, at, p->len, &piece) ||
	    piece.len != p->len)
		return false;
	p->bus = piece.bus;
	return true;
}

/* Opcodes of an operation: first, middle, last, its immediate, only. */
static inline uint32_t part_op(uint32_t first_op, const struct part *p)
{
	if (p->first)
		return (first_op + (p->last ? 4 : 0)) << 8;
	return (first_op + (p->last ? 2 : 1)) << 8;
}

static inline uint32_t op_of(const struct unic_sq_slot *slot,
			     const struct part *p)
{
	uint32_t op = part_op(slot->opcode == UNIC_WR_WRITE
				      ? UNIC_OP_WRITE_FIRST
				      : UNIC_OP_SEND_FIRST,
			      p);

	if (p->last && (slot->flags & UNIC_WR_SOLICITED))
		op |= UNIC_BTH_SOLICITED;
	return op;
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
	op = op_of(slot, &p);
	ext = is_write && p.first ? RETH_BYTES : 0;
	r = unic_port_dma(nic->port, UNIC_DMA_FROM_HOST, p.bus,
			  frame + UNIC_EXT_OFF + ext, p.len,
			  nic->dma.free_head);
	if (unlikely(r == UNIC_PORT_PENDING))
		unic_tx_adopt(nic, qp, frame, ext + p.len, p.mr);
	else if (unlikely(r))
		return give_back(nic, frame, UNIC_LANE_NOT);
	if (ext)
		put_remote(frame, slot, wr->len);
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
