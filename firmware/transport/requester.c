/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* requester.c - see requester.h. */
#include "transport/requester.h"

#include "memory/window.h"
#include "transport/fastpath.h"
#include "transport/local_ops.h"
#include "transport/read_parts.h"
#include "transport/transport.h"
#include "transport/rq.h"
#include "transport/sq.h"
#include "transport/sq_done.h"
#include "transport/ud_uc.h"
#include "transport/tx.h"

#define NULL_OPCODE UNIC_OP_WRITE_ONLY

/* First packets' opcodes; the others of an operation follow in this order:
 * first, middle, last, (last with immediate,) only, (only with immediate). */
static const uint8_t op_base[] = {
	[UNIC_WR_SEND] = UNIC_OP_SEND_FIRST,
	[UNIC_WR_SEND_IMM] = UNIC_OP_SEND_FIRST,
	[UNIC_WR_WRITE] = UNIC_OP_WRITE_FIRST,
	[UNIC_WR_WRITE_IMM] = UNIC_OP_WRITE_FIRST,
	[UNIC_WR_READ] = UNIC_OP_READ_REQUEST,
	[UNIC_WR_TOKEN] = UNIC_OP_TOKEN_FIRST,
	[UNIC_WR_SEND_INV] = UNIC_OP_SEND_FIRST,
};

void unic_requester_timer(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	if (unic_requester_has_outstanding(&qp->sq))
		unic_qp_timer(nic, qp, nic->now_ns + qp->timeout_ns);
	else
		qp->sq.timer_ns = UNIC_NEVER;
}

void unic_requester_seek(struct unic_sq *sq, uint32_t psn)
{
	uint32_t s = sq->una;

	while (s != sq->next) {
		struct unic_wr *wr = unic_sq_wr(sq, s);

		if (wr->state != UNIC_WRS_DEAD &&
		    unic_psn_diff(psn, wr->psn + wr->npkt) < 0)
			break;
		s += unic_sq_slots(sq, s);
	}
	sq->cur = s;
	sq->psn = psn;
}

void unic_requester_go_back(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t psn, uint32_t reason)
{
	UNIC_COUNT(nic, retransmits);
	UNIC_TRACE(nic, QP_RETRY, qp->proc, qp->qpn, psn, reason, 0);
	qp->retry_total++;
	unic_requester_seek(&qp->sq, psn);
	if (UNIC_READS_IN_PARTS && qp->sq.reads)
		unic_read_parts_begin(&qp->sq);
	unic_requester_timer(nic, qp);
	unic_sched_send(nic, unic_qp_index(nic, qp));
}

void unic_requester_fail(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 uint32_t psn, enum unic_wc_status status,
			 uint8_t detail)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr;

	unic_requester_seek(sq, psn);
	wr = unic_sq_wr(sq, sq->cur);
	if (sq->cur != sq->next && !wr->status) { /* else it had its own */
		wr->status = (uint8_t)status;
		wr->detail = detail;
	}
	unic_qp_error(nic, qp, status);
}

/* -------------------------------------------------------- missing pages */

/* How a transfer failed. */
static enum unic_wc_status transfer_status(int err)
{
	if (err == -UNIC_EEVICTED)
		return UNIC_WC_EVICTED;
	return err == -UNIC_ENOPAGE ? UNIC_WC_LOC_PROT_ERR
				    : UNIC_WC_LOC_BUS_ERR;
}

static uint8_t transfer_detail(int err)
{
	if (err == -UNIC_EEVICTED)
		return UNIC_WD_BUSY;
	return err == -UNIC_ENOPAGE ? UNIC_WD_PAGE : UNIC_WD_NONE;
}

/* What is left of request sq.cur, if it is in one region, is asked for, too. */
static void prefetch_request(struct unic_transport *nic, struct unic_sq *sq)
{
	const struct unic_sq_slot *slot = unic_sq_slot(sq, sq->cur);
	const struct unic_sge *sge = &slot->sge[0];

	if (sq->cur != sq->next && slot->num_sge == 1)
		unic_fault_more(&nic->memory, unic_stag_index(sge->lkey),
				unic_from_le64(sge->iova) +
					unic_from_le32(sge->len));
}

/*
 * A page that the packet with @psn needs is not on the NIC. Silent until it is
 * (fault.h); a request that waits for one page or another twice as long as one
 * may take fails.
 */
static void suspend_sq(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t psn)
{
	uint64_t bound = 2 * unic_fault_bound_ns(&nic->memory);
	struct unic_sq *sq = &qp->sq;

	unic_requester_seek(sq, psn);
	if (!sq->miss_ns || sq->miss_psn != psn || sq->miss_cur != sq->cur) {
		sq->miss_ns = nic->now_ns;
		sq->miss_psn = psn;
		sq->miss_cur = sq->cur;
	} else if (nic->now_ns - sq->miss_ns > bound) {
		UNIC_COUNT(nic, miss_timeouts);
		unic_requester_fail(nic, qp, psn, UNIC_WC_LOC_PROT_ERR,
				    UNIC_WD_PAGE);
		return;
	}
	prefetch_request(nic, sq);
	sq->rnr_wait = true;
	sq->miss_wait = true;
	UNIC_COUNT(nic, miss_suspended);
	if (!unic_fault_waits(&nic->memory, unic_qp_index(nic, qp)))
		unic_requester_filled(nic, unic_qp_index(nic, qp));
}

/* Request sq.cur, which waited for its page, is the last one started, has one packet, and
 * nothing of it was sent, so it is no READ: as if it had not been started, so that the fast
 * path sends it. It is checked again (INV-19); one whose region is closed keeps its hold, by
 * which it ends EVICTED. */
static void start_again(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_wr *wr = unic_sq_wr(sq, sq->cur);
	const struct unic_sq_slot *slot = unic_sq_slot(sq, sq->cur);
	uint32_t stag = unic_from_le32(slot->sge[0].lkey);

	if (sq->cur + 1 != sq->next || wr->npkt != 1 ||
	    sq->psn != sq->psn_max || wr->slots != (1 | UNIC_WR_ONE_SGE) ||
	    !unic_mr_opens(unic_window_mr(&nic->memory, stag), stag, qp->pd))
		return;
	sq->next = sq->cur;
	unic_mr_unhold(&nic->memory, unic_stag_index(slot->sge[0].lkey));
}

void unic_requester_filled(struct unic_transport *nic, uint16_t idx)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	struct unic_sq *sq = &qp->sq;

	if (!sq->miss_wait)
		return;
	sq->miss_wait = false;
	sq->rnr_wait = false;
	if (!unic_qp_sends(qp))
		return;
	if (UNIC_LONE && !qp->type)
		start_again(nic, qp);
	unic_sched_send(nic, idx);
}

void unic_requester_not_read(struct unic_transport *nic, struct unic_qp_ctx *qp,
			     uint32_t psn, int err)
{
	if (err == -UNIC_EMISS)
		suspend_sq(nic, qp, psn);
	else
		unic_requester_fail(nic, qp, psn, transfer_status(err),
				    transfer_detail(err));
}

/* ------------------------------------------------------------- transmit */

/* What one packet says; filled in by the functions below. */
struct rc_packet {
	uint32_t op_flags; /* opcode << 8 | flags */
	uint32_t apsn;
	uint32_t ext;	/* bytes of extension headers */
	uint32_t bytes; /* of payload */
	uint32_t psns;	/* PSNs it takes */
	bool last;	/* of its request */
};

static inline void put_be32(uint8_t *at, uint32_t v)
{
	*(uint32_t *)(void *)at = (UNIC_FORCE uint32_t)unic_to_be32(v);
}

static void put_reth(uint8_t *at, uint64_t va, uint32_t rkey, uint32_t len)
{
	put_be32(at, (uint32_t)(va >> 32));
	put_be32(at + 4, (uint32_t)va);
	put_be32(at + 8, rkey);
	put_be32(at + 12, len);
}

static uint32_t put_tketh(uint8_t *at, const struct unic_sq_slot *slot,
			  uint32_t len)
{
	uint64_t key = unic_from_le64(slot->remote);
	uint32_t ctrl = unic_from_le32(slot->ctrl_len);

	put_be32(at, unic_from_le32(slot->rkey));
	put_be32(at + 4, (uint32_t)(key >> 32));
	put_be32(at + 8, (uint32_t)key);
	put_be32(at + 12, len - ctrl);
	put_be32(at + 16, ctrl);
	put_be32(at + 20, unic_from_le32(slot->imm)); /* offset */
	return sizeof(struct unic_tketh);
}

static bool has_imm(uint8_t opcode)
{
	return opcode == UNIC_WR_SEND_IMM || opcode == UNIC_WR_WRITE_IMM;
}

/* SEND, WRITE and tagged messages: opcode and extension headers. */
static void describe_data(const struct unic_sq_slot *slot, uint32_t len,
			  bool first, uint8_t *at, struct rc_packet *p)
{
	uint32_t op = op_base[slot->opcode];
	bool imm = p->last && has_imm(slot->opcode);

	p->ext = 0;
	if (!first)
		op += p->last ? 2 : 1;
	else if (p->last)
		op += slot->opcode == UNIC_WR_TOKEN ? 3 : 4;
	if (first && op >= UNIC_OP_WRITE_FIRST && op <= UNIC_OP_WRITE_ONLY) {
		put_reth(at, unic_from_le64(slot->remote),
			 unic_from_le32(slot->rkey), len);
		p->ext = sizeof(struct unic_reth);
	} else if (first && slot->opcode == UNIC_WR_TOKEN) {
		p->ext = put_tketh(at, slot, len);
	}
	if (imm) {
		put_be32(at + p->ext, unic_from_le32(slot->imm));
		p->ext += 4;
		op++;
	} else if (p->last && slot->opcode == UNIC_WR_SEND_INV) {
		put_be32(at, unic_from_le32(slot->rkey));
		p->ext = 4;
		op = first ? UNIC_OP_SEND_ONLY_INV : UNIC_OP_SEND_LAST_INV;
	}
	p->op_flags = op << 8;
	if (p->last && (slot->flags & UNIC_WR_SOLICITED))
		p->op_flags |= UNIC_BTH_SOLICITED;
}

static void describe_read(const struct unic_sq_slot *slot,
			  const struct unic_wr *wr, uint32_t off, uint8_t *at,
			  struct rc_packet *p)
{
	put_reth(at, unic_from_le64(slot->remote) + off,
		 unic_from_le32(slot->rkey), wr->len - off);
	p->op_flags = UNIC_OP_READ_REQUEST << 8;
	p->ext = sizeof(struct unic_reth);
	p->bytes = 0;
	p->last = true;
}

static void describe_atomic(const struct unic_sq_slot *slot, uint8_t *at,
			    struct rc_packet *p)
{
	const struct unic_wr_atomic *a = (const void *)&slot->sge[1];
	uint64_t va = unic_from_le64(slot->remote);
	uint64_t value = unic_from_le64(a->operand), compare = 0;
	bool swaps = slot->opcode == UNIC_WR_COMPARE_SWAP;

	if (swaps) {
		compare = value;
		value = unic_from_le64(a->swap);
	}
	put_be32(at, (uint32_t)(va >> 32));
	put_be32(at + 4, (uint32_t)va);
	put_be32(at + 8, unic_from_le32(slot->rkey));
	put_be32(at + 12, (uint32_t)(value >> 32));
	put_be32(at + 16, (uint32_t)value);
	put_be32(at + 20, (uint32_t)(compare >> 32));
	put_be32(at + 24, (uint32_t)compare);
	p->op_flags = (swaps ? UNIC_OP_COMPARE_SWAP : UNIC_OP_FETCH_ADD) << 8;
	p->ext = sizeof(struct unic_atomic_eth);
	p->bytes = 0;
}

/* A PSN of a request that was refused: a WRITE of nothing takes it up, so that
 * no PSN ever stands for two different messages. */
static void describe_null(uint8_t *at, struct rc_packet *p)
{
	put_reth(at, 0, 0, 0);
	p->op_flags = NULL_OPCODE << 8;
	p->ext = sizeof(struct unic_reth);
	p->bytes = 0;
}

/* The packet with sq.psn, of request sq.cur, into @tx. */
static void describe_packet(struct unic_qp_ctx *qp, struct unic_tx *tx,
			    struct rc_packet *p)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_sq_slot *slot = unic_sq_slot(sq, sq->cur);
	struct unic_wr *wr = unic_sq_wr(sq, sq->cur);
	uint32_t k = unic_psn_add(sq->psn, -wr->psn);
	uint32_t off = k << qp->mtu_shift, mtu = 1u << qp->mtu_shift;
	uint8_t *at = tx->frame + UNIC_EXT_OFF;

	p->psns = 1;
	p->last = k + 1 == wr->npkt;
	if (unlikely(wr->state == UNIC_WRS_NULL)) {
		describe_null(at, p);
	} else if (slot->opcode == UNIC_WR_READ) {
		p->psns = wr->npkt - k;
		describe_read(slot, wr, off, at, p);
	} else if (unic_sq_is_atomic(slot->opcode)) {
		describe_atomic(slot, at, p);
	} else {
		p->bytes = wr->len - off < mtu ? wr->len - off : mtu;
		describe_data(slot, wr->len, k == 0, at, p);
		if (slot->flags & UNIC_WR_INLINE) {
			unic_sq_inline(sq, sq->cur, at + p->ext, p->bytes);
		} else {
			tx->sgl.local = at + p->ext;
			unic_sq_span(sq, sq->cur, off, p->bytes, &tx->sgl);
		}
	}
	p->apsn = sq->psn;
	if (p->last || (sq->psn & UNIC_ACK_EVERY) == UNIC_ACK_EVERY)
		p->apsn |= UNIC_BTH_ACKREQ;
}

static void advance_sq(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t psns, bool last)
{
	struct unic_sq *sq = &qp->sq;

	sq->psn = unic_psn_add(sq->psn, psns);
	if (unic_psn_diff(sq->psn, sq->psn_max) > 0)
		sq->psn_max = sq->psn;
	if (last)
		sq->cur += unic_sq_slots(sq, sq->cur);
	unic_requester_sent(nic, qp);
}

void unic_requester_advance(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    bool last)
{
	advance_sq(nic, qp, 1, last);
}

/* The bytes that a READ asks for come by another way of the link; the processor
 * takes its time for them. They are paid for once: a peer that loses them, or
 * never answers, costs its requester no more than the frames that ask again. */
static int32_t packet_cost(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   const struct rc_packet *p)
{
	uint32_t cost = p->last ? nic->sched.cost_last : nic->sched.cost;
	uint64_t read;

	if (p->psns == 1 || nic->sched.cost != UNIC_COST_CPU ||
	    unic_psn_diff(qp->sq.psn_max, qp->sq.psn) > 0)
		return (int32_t)(p->bytes + cost);
	unic_sq_wr(&qp->sq, qp->sq.cur)->slots |= UNIC_WR_PAID;
	read = unic_sched_read_cost(qp->mtu_shift, p->psns);
	return read < UNIC_SCHED_DEBT ? (int32_t)read : UNIC_SCHED_DEBT;
}

static enum unic_turn send_rc_packet(struct unic_transport *nic,
				     struct unic_qp_ctx *qp, int32_t *left)
{
	struct unic_tx *tx = unic_tx_get(nic, unic_qp_index(nic, qp), false);
	struct rc_packet p;
	int r;

	if (!tx)
		return UNIC_TURN_BLOCKED;
	describe_packet(qp, tx, &p);
	r = unic_tx_put(nic, tx, p.op_flags, p.apsn, p.ext + p.bytes);
	if (unlikely(r != 0)) {
		if (r == -UNIC_EAGAIN)
			return UNIC_TURN_BLOCKED;
		if (r != -UNIC_EPENDING) {
			unic_requester_not_read(nic, qp, qp->sq.psn, r);
			return r == -UNIC_EMISS ? UNIC_TURN_DONE
						: UNIC_TURN_MORE;
		}
		qp->sq.gathering = true; /* the next waits for this one */
		qp->sq.gather_psn = qp->sq.psn;
	}
	*left -= packet_cost(nic, qp, &p);
	advance_sq(nic, qp, p.psns, p.last);
	return UNIC_TURN_MORE;
}

/* It was not sent, and is the matter of its own request, not of those before it
 * that wait for their answers. */
static void gather_failed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  int err)
{
	uint32_t psn = qp->sq.gather_psn;

	if (unic_psn_diff(psn, qp->sq.psn_una) < 0)
		return; /* sent before, and it arrived */
	if ((err == -UNIC_EAGAIN || err == -UNIC_EMISS) &&
	    unic_psn_diff(psn, qp->sq.psn) >= 0)
		return;		 /* comes again anyway */
	if (err == -UNIC_EAGAIN) /* as if it were lost */
		unic_requester_go_back(nic, qp, psn, 0);
	else
		unic_requester_not_read(nic, qp, psn, err);
}

void unic_requester_gathered(struct unic_transport *nic, uint16_t idx, int err)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	qp->sq.gathering = false;
	if (qp->type)
		unic_ud_uc_gathered(nic, qp, err);
	else if (err)
		gather_failed(nic, qp, err);
	unic_sched_send(nic, idx);
}

/* May a packet be sent now? Makes the next request ready if that is needed. */
static enum unic_turn prepare_rc_request(struct unic_transport *nic,
					 struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;
	int r;

	if (sq->gathering || sq->rnr_wait || qp->state != UNIC_QPS_RTS ||
	    unic_psn_diff(sq->psn, sq->psn_una) >= (int32_t)UNIC_QP_PACKETS) {
		unic_local_op_drop(nic, qp); /* others may read their lists */
		/* unless it asks for more of a READ */
		return UNIC_READS_IN_PARTS ? unic_read_parts_send(nic, qp)
					   : UNIC_TURN_DONE;
	}
	if (unic_sq_skip_ended(sq))
		return UNIC_TURN_MORE;
	r = unic_sq_start(nic, qp);
	if (r < 0)
		return r == -UNIC_EPENDING ? UNIC_TURN_WAIT : UNIC_TURN_BLOCKED;
	if (!r)
		return UNIC_TURN_DONE;
	if (unic_sq_wr(sq, sq->cur)->state == UNIC_WRS_SENT)
		return UNIC_TURN_MORE;
	/* DEAD: perhaps all before it are done */
	return unic_sq_retire(nic, qp) ? UNIC_TURN_AGAIN : UNIC_TURN_BLOCKED;
}

/* A batch of completions takes the processor about as long as a turn. */
static enum unic_turn flush_qp(struct unic_transport *nic,
			       struct unic_qp_ctx *qp, int32_t *left)
{
	int r;

	if (qp->dmas) /* buffers are still being used */
		return UNIC_TURN_DONE;
	r = unic_sq_flush(nic, qp);
	if (r < 0)
		return UNIC_TURN_BLOCKED;
	*left -= unic_sched_unit(nic, UNIC_SCHED_TURN);
	if (!unic_rq_flush(nic, qp) || !r)
		return UNIC_TURN_MORE;
	unic_qp_flushed(nic, qp);
	return UNIC_TURN_DONE;
}

/* One packet, or more of its request. A call: what the fast path sends has no use for
 * its registers. */
static __attribute__((noinline)) enum unic_turn
send_next_rc(struct unic_transport *nic, struct unic_qp_ctx *qp, int32_t *left)
{
	enum unic_turn turn = prepare_rc_request(nic, qp);

	if (unlikely(turn == UNIC_TURN_AGAIN)) {
		*left -= (int32_t)nic->sched.cost_last;
		return UNIC_TURN_MORE;
	}
	if (turn != UNIC_TURN_MORE)
		return turn;
	if (unic_fastpath_message(nic, qp, left) == UNIC_FASTPATH_NOT)
		return send_rc_packet(nic, qp, left);
	return UNIC_TURN_MORE;
}

/* Some packets. */
static enum unic_turn send_rc_burst(struct unic_transport *nic,
				    struct unic_qp_ctx *qp, int32_t *left)
{
	switch (unic_fastpath_send(nic, qp, left)) {
	case UNIC_FASTPATH_DONE:
		return *left > 0 ? UNIC_TURN_DONE : UNIC_TURN_MORE;
	case UNIC_FASTPATH_DEAD: /* perhaps all before it are done */
		*left -= (int32_t)nic->sched.cost_last;
		return unic_sq_retire(nic, qp) ? UNIC_TURN_MORE
					       : UNIC_TURN_BLOCKED;
	case UNIC_FASTPATH_WAITS:
		return UNIC_TURN_DONE;
	default:
		return send_next_rc(nic, qp, left);
	}
}

/* A queue pair that is not of RC in RTS. */
static __attribute__((noinline, cold)) enum unic_turn
run_other_qp(struct unic_transport *nic, struct unic_qp_ctx *qp, int32_t *left)
{
	if (qp->state == UNIC_QPS_ERR)
		return flush_qp(nic, qp, left);
	return unic_qp_sends(qp) ? unic_ud_uc_send(nic, qp, left)
				 : UNIC_TURN_DONE;
}

bool unic_requester_is_local(struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;

	if (qp->state == UNIC_QPS_ERR)
		return true;
	return sq->cur == sq->next && sq->next != sq->fetched &&
	       unic_local_op_is(unic_sq_slot(sq, sq->next)->opcode);
}

enum unic_turn unic_requester_send(struct unic_transport *nic, uint16_t idx,
				   int32_t *left)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	enum unic_turn turn = UNIC_TURN_MORE;

	UNIC_IN_REGISTER(qp);
	if (unlikely(qp->state != UNIC_QPS_RTS))
		return run_other_qp(nic, qp, left);
	/* what could not complete when it was acknowledged */
	if (unic_sq_ended(&qp->sq) && !unic_sq_retire(nic, qp))
		return UNIC_TURN_BLOCKED;
	while (*left > 0 && turn == UNIC_TURN_MORE && qp->state == UNIC_QPS_RTS)
		turn = send_rc_burst(nic, qp, left);
	/* it may have died on the way: then there is something to flush */
	return qp->state == UNIC_QPS_ERR ? UNIC_TURN_MORE : turn;
}
