/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* requester.c - see requester.h. */
#include "transport/requester.h"

#include "transport/fastpath.h"
#include "transport/local_ops.h"
#include "transport/transport.h"
#include "transport/rq.h"
#include "transport/sq.h"
#include "transport/sq_done.h"
#include "transport/ud_uc.h"
#include "transport/tx.h"

#define VACK_DELAY_US 1000000u
#define VACK_LEAST_US 10u
#define AFTERS_MAX    4096u /* of one PSN: then it is as if it were lost */
#define NS_PER_10US   10000ull
#define NS_PER_US     1000ull
#define NULL_OPCODE   UNIC_OP_WRITE_ONLY

/* IBTA table 45: RNR NAK timer codes, in units of 10 us. */
static const uint16_t rnr_10us[32] = {
	0,    1,    2,	  3,	4,    6,     8,	    12,	   16,	  24,	 32,
	48,   64,   96,	  128,	192,  256,   384,   512,   768,	  1024,	 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};
#define RNR_CODE_0 65536u

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

static bool has_outstanding(const struct unic_sq *sq)
{
	return sq->psn_una != sq->psn_max;
}

void unic_requester_timer(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	if (has_outstanding(&qp->sq))
		unic_qp_timer(nic, qp, nic->now_ns + qp->timeout_ns);
	else
		qp->sq.timer_ns = UNIC_NEVER;
}

/* Send on from @psn: find the request it belongs to. */
static void seek_psn(struct unic_sq *sq, uint32_t psn)
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

static void go_back(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    uint32_t psn, uint32_t reason)
{
	UNIC_COUNT(nic, retransmits);
	UNIC_TRACE(nic, QP_RETRY, qp->proc, qp->qpn, psn, reason, 0);
	qp->retry_total++;
	seek_psn(&qp->sq, psn);
	unic_requester_timer(nic, qp);
	unic_sched_send(nic, unic_qp_index(nic, qp));
}

/* The request that @psn belongs to ends the QP. */
static void fail_at(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    uint32_t psn, enum unic_wc_status status, uint8_t detail)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr;

	seek_psn(sq, psn);
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

	seek_psn(sq, psn);
	if (!sq->miss_ns || sq->miss_psn != psn || sq->miss_cur != sq->cur) {
		sq->miss_ns = nic->now_ns;
		sq->miss_psn = psn;
		sq->miss_cur = sq->cur;
	} else if (nic->now_ns - sq->miss_ns > bound) {
		UNIC_COUNT(nic, miss_timeouts);
		fail_at(nic, qp, psn, UNIC_WC_LOC_PROT_ERR, UNIC_WD_PAGE);
		return;
	}
	prefetch_request(nic, sq);
	sq->rnr_wait = true;
	sq->miss_wait = true;
	UNIC_COUNT(nic, miss_suspended);
	if (!unic_fault_waits(&nic->memory, unic_qp_index(nic, qp)))
		unic_requester_filled(nic, unic_qp_index(nic, qp));
}

void unic_requester_filled(struct unic_transport *nic, uint16_t idx)
{
	struct unic_sq *sq = &nic->qps.qp[idx].sq;

	if (!sq->miss_wait)
		return;
	sq->miss_wait = false;
	sq->rnr_wait = false;
	if (unic_qp_sends(&nic->qps.qp[idx]))
		unic_sched_send(nic, idx);
}

void unic_requester_not_read(struct unic_transport *nic, struct unic_qp_ctx *qp,
			     uint32_t psn, int err)
{
	if (err == -UNIC_EMISS)
		suspend_sq(nic, qp, psn);
	else
		fail_at(nic, qp, psn, transfer_status(err),
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
	if (sq->timer_ns == UNIC_NEVER)
		unic_requester_timer(nic, qp);
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
		go_back(nic, qp, psn, 0);
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
		return UNIC_TURN_DONE;
	}
	while (sq->cur != sq->next &&
	       unic_sq_wr(sq, sq->cur)->state == UNIC_WRS_DEAD)
		sq->cur += unic_sq_slots(sq, sq->cur);
	if (sq->cur != sq->next)
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
	return UNIC_TURN_DONE;
}

/* One packet, or more of its request. A call: what the lane sends has no use for
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

/* -------------------------------------------------------- acknowledgement */

/* The READ at the head that still misses responses, in [psn_una, @upto). */
static bool find_unanswered_read(struct unic_sq *sq, uint32_t upto,
				 uint32_t *psn)
{
	uint32_t s;

	for (s = sq->una; s != sq->next; s += unic_sq_slots(sq, s)) {
		struct unic_wr *wr = unic_sq_wr(sq, s);

		if (wr->state == UNIC_WRS_DEAD)
			continue;
		if (unic_psn_diff(wr->psn, upto) >= 0)
			return false;
		if (wr->state != UNIC_WRS_SENT ||
		    unic_sq_slot(sq, s)->opcode != UNIC_WR_READ ||
		    unic_psn_diff(sq->psn_una, wr->psn + wr->npkt) >= 0)
			continue;
		*psn = unic_psn_diff(sq->psn_una, wr->psn) > 0 ? sq->psn_una
							       : wr->psn;
		return true;
	}
	return false;
}

static inline void advance_una(struct unic_transport *nic,
			       struct unic_qp_ctx *qp, uint32_t una)
{
	struct unic_sq *sq = &qp->sq;

	sq->psn_una = una;
	sq->retries = qp->retry_cnt;
	sq->rnrs = qp->rnr_retry;
	sq->back_valid = false;
	if (unlikely(unic_psn_diff(una, sq->psn) > 0))
		seek_psn(sq, una); /* it had gone back too far */
	sq->rnr_wait = false;
	if (has_outstanding(sq))
		unic_requester_timer(nic, qp);
	else
		sq->timer_ns = UNIC_NEVER;
	/* room in the window, or a fence gone; also if it could not complete */
	if (!unic_sq_retire(nic, qp) || sq->next != sq->tail ||
	    sq->cur != sq->next)
		unic_sched_send(nic, unic_qp_index(nic, qp));
}

/*
 * The peer has all before @upto - but for responses to READs, which only their
 * arrival proves: an acknowledgement beyond one says that responses were lost
 * (IBTA 9.9.2.1, implied NAK), and it is asked for again, once.
 */
static void ack_up_to(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint32_t upto)
{
	struct unic_sq *sq = &qp->sq;
	bool lost = sq->reads && find_unanswered_read(sq, upto, &upto);

	if (unic_psn_diff(upto, sq->psn_una) > 0)
		advance_una(nic, qp, upto);
	if (!lost || qp->state != UNIC_QPS_RTS || sq->rnr_wait ||
	    (sq->back_valid && sq->psn_back == upto))
		return;
	sq->back_valid = true;
	sq->psn_back = upto;
	go_back(nic, qp, upto, 1);
}

static bool is_psn_in_flight(struct unic_transport *nic,
			     const struct unic_sq *sq, uint32_t psn)
{
	if (unic_psn_diff(psn, sq->psn_una) >= 0 &&
	    unic_psn_diff(psn, sq->psn_max) < 0)
		return true;
	UNIC_COUNT(nic, rx_stale_ack);
	return false;
}

static void pause_sending(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  uint32_t psn, uint64_t ns)
{
	seek_psn(&qp->sq, psn);
	qp->sq.rnr_wait = true;
	qp->sq.miss_wait = false;
	qp->rnr_total++;
	UNIC_TRACE(nic, QP_RETRY, qp->proc, qp->qpn, psn, 2, 0);
	unic_qp_timer(nic, qp, nic->now_ns + ns);
}

static void handle_rnr_nak(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   uint32_t psn, uint32_t code)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t wait = code ? rnr_10us[code] : RNR_CODE_0;

	if (sq->rnr_wait && !sq->miss_wait)
		return; /* of a packet sent before we fell silent */
	if (!sq->rnrs) {
		fail_at(nic, qp, psn, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
		return;
	}
	if (qp->rnr_retry != 7)
		sq->rnrs--;
	pause_sending(nic, qp, psn, wait * NS_PER_10US);
}

static void retry_or_fail(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  uint32_t psn, uint32_t reason)
{
	struct unic_sq *sq = &qp->sq;

	if (!sq->retries) {
		fail_at(nic, qp, psn, UNIC_WC_RETRY_EXC_ERR, 0);
		return;
	}
	sq->retries--;
	go_back(nic, qp, psn, reason);
}

static void handle_nak(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t psn, uint8_t syn)
{
	static const uint8_t status[] = {
		[UNIC_NAK_INV_REQ & 3] = UNIC_WC_REM_INV_REQ_ERR,
		[UNIC_NAK_REM_ACCESS & 3] = UNIC_WC_REM_ACCESS_ERR,
		[UNIC_NAK_REM_OP & 3] = UNIC_WC_REM_OP_ERR,
	};

	if (syn == UNIC_NAK_PSN_SEQ)
		retry_or_fail(nic, qp, psn, 3);
	else if (syn <= UNIC_NAK_REM_OP)
		fail_at(nic, qp, psn, status[syn & 3], 0);
	else
		UNIC_COUNT(nic, rx_bad_opcode); /* reserved code */
}

void unic_requester_ack(struct unic_transport *nic, struct unic_qp_ctx *qp,
			uint32_t psn, uint8_t syn)
{
	uint32_t type = syn & UNIC_AETH_TYPE_MASK;

	if (!is_psn_in_flight(nic, &qp->sq, psn))
		return;
	if (likely(type == UNIC_AETH_ACK)) {
		/* it acknowledges something, for it is in flight */
		if (likely(!qp->sq.reads))
			advance_una(nic, qp, unic_psn_add(psn, 1));
		else
			ack_up_to(nic, qp, unic_psn_add(psn, 1));
		return;
	}
	ack_up_to(nic, qp, psn);
	if (qp->state != UNIC_QPS_RTS || !is_psn_in_flight(nic, &qp->sq, psn) ||
	    psn != qp->sq.psn_una)
		return; /* a READ before it comes first */
	if (type == UNIC_AETH_RNR)
		handle_rnr_nak(nic, qp, psn, syn & 31);
	else if (type == UNIC_AETH_NAK)
		handle_nak(nic, qp, psn, syn);
}

/* ------------------------------------------------- vendor acknowledgement */

/*
 * Request @s, at @psn, was refused because its region is gone. The peer still
 * expects @psn; what it already sent of this request goes out again as WRITEs
 * of nothing, what it did not send is never sent. A READ was sent whole: the
 * peer may have taken all its PSNs and refuse what it is asked again (INV-16).
 */
static void nullify_request(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t s, uint32_t psn)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr = unic_sq_wr(sq, s);
	uint32_t end = unic_psn_add(wr->psn, wr->npkt);
	bool is_read = unic_sq_slot(sq, s)->opcode == UNIC_WR_READ;

	if (unic_psn_diff(end, sq->psn_max) > 0) /* then nothing follows it */
		end = sq->psn_max;
	unic_sched_unread(nic, qp, wr);
	if (psn != wr->psn) /* it had begun */
		wr->detail = UNIC_WD_BUSY;
	wr->psn = psn;
	wr->npkt = unic_psn_add(end, -psn);
	wr->status = UNIC_WC_REM_EVICTED;
	wr->state = UNIC_WRS_NULL;
	if (is_read)
		sq->reads--;
	unic_sq_release(nic, sq, s);
	go_back(nic, qp, psn, 4);
}

/*
 * The peer brings a page and says when to come again, or earlier than it can:
 * no retry is counted, but so many times for one packet are too many.
 */
static void retry_after(struct unic_transport *nic, struct unic_qp_ctx *qp,
			uint32_t psn, uint32_t us)
{
	struct unic_sq *sq = &qp->sq;

	if (sq->after_psn != psn)
		sq->afters = 0;
	sq->after_psn = psn;
	if (++sq->afters > AFTERS_MAX) {
		sq->afters = 0;
		fail_at(nic, qp, psn, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
		return;
	}
	us = us < VACK_LEAST_US ? VACK_LEAST_US : us;
	us = us < VACK_DELAY_US ? us : VACK_DELAY_US;
	pause_sending(nic, qp, psn, us * NS_PER_US);
}

void unic_requester_vack(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 uint32_t psn, uint32_t reason, uint32_t delay_us)
{
	struct unic_sq *sq = &qp->sq;

	if (!is_psn_in_flight(nic, sq, psn))
		return;
	ack_up_to(nic, qp, psn);
	if (qp->state != UNIC_QPS_RTS || psn != sq->psn_una)
		return;
	seek_psn(sq, psn);
	if (reason == UNIC_EV_RETRY_AFTER) {
		retry_after(nic, qp, psn, delay_us);
	} else if (sq->cur != sq->next &&
		   unic_sq_wr(sq, sq->cur)->state == UNIC_WRS_SENT) {
		nullify_request(nic, qp, sq->cur, psn);
	} else {
		go_back(nic, qp, psn, 4); /* a second one for the same */
	}
}

/* --------------------------------------------------------- READ responses */

static bool response_fits(const struct unic_pkt *pkt, uint32_t want, bool last)
{
	bool middle = pkt->opcode == UNIC_OP_READ_RESP_MIDDLE;
	bool ends = pkt->opcode == UNIC_OP_READ_RESP_LAST ||
		    pkt->opcode == UNIC_OP_READ_RESP_ONLY;
	uint32_t aeth = middle ? 0 : (uint32_t)sizeof(struct unic_aeth);

	return ends == last && pkt->len == want + aeth;
}

int unic_requester_response(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    const struct unic_pkt *pkt)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_sgl *sgl = &nic->qps.roce.rx_sgl;
	uint32_t mtu = 1u << qp->mtu_shift, s, k, off, want;
	struct unic_wr *wr;

	if (!is_psn_in_flight(nic, sq, pkt->psn))
		return 0;
	if (pkt->psn != sq->psn_una)
		ack_up_to(nic, qp, pkt->psn); /* all before it was executed */
	if (qp->state != UNIC_QPS_RTS || pkt->psn != sq->psn_una)
		return 0;
	for (s = sq->una; s != sq->next; s += unic_sq_slots(sq, s)) {
		wr = unic_sq_wr(sq, s);
		if (wr->state != UNIC_WRS_DEAD &&
		    unic_psn_diff(pkt->psn, wr->psn + wr->npkt) < 0)
			break;
	}
	if (s == sq->next || unic_sq_slot(sq, s)->opcode != UNIC_WR_READ ||
	    wr->state != UNIC_WRS_SENT) {
		UNIC_COUNT(nic, rx_stale_ack);
		return 0;
	}
	k = unic_psn_add(pkt->psn, -wr->psn);
	off = k << qp->mtu_shift;
	want = wr->len - off < mtu ? wr->len - off : mtu;
	if (!response_fits(pkt, want, k + 1 == wr->npkt)) {
		UNIC_COUNT(nic, rx_bad_opcode);
		return 0;
	}
	unic_sq_span(sq, s, off, want, sgl);
	sgl->local = (uint8_t *)pkt->ext + pkt->len - want;
	return -UNIC_EPENDING;
}

void unic_requester_placed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   int err)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t psn = sq->psn_una, s = sq->una;
	struct unic_wr *wr;

	if (err == -UNIC_EMISS) { /* as if it were lost; asked for again then */
		suspend_sq(nic, qp, psn);
		return;
	}
	if (err) {
		fail_at(nic, qp, psn, transfer_status(err),
			transfer_detail(err));
		return;
	}
	for (; s != sq->next; s += unic_sq_slots(sq, s)) {
		wr = unic_sq_wr(sq, s);
		if (wr->state == UNIC_WRS_SENT &&
		    unic_psn_add(wr->psn, wr->npkt - 1) == psn)
			sq->reads--;
	}
	advance_una(nic, qp, unic_psn_add(psn, 1));
}

/* ---------------------------------------------------------------- timers */

void unic_requester_timeout(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;

	sq->timer_ns = UNIC_NEVER;
	if (!unic_qp_sends(qp))
		return;
	if (sq->rnr_wait) {
		sq->rnr_wait = false;
		unic_sched_send(nic, unic_qp_index(nic, qp));
	} else if (has_outstanding(sq)) {
		UNIC_COUNT(nic, timeouts);
		sq->back_valid = false;
		retry_or_fail(nic, qp, sq->psn_una, 0);
	}
}
