/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* requester_rx.c - see requester_rx.h. */
#include "transport/requester_rx.h"

#include "transport/read_parts.h"
#include "transport/requester.h"
#include "transport/sq.h"
#include "transport/sq_done.h"
#include "transport/meter.h"
#include "transport/transport.h"

#define VACK_DELAY_US 1000000u
#define VACK_LEAST_US 10u
#define AFTERS_MAX    4096u /* of one PSN: then it is as if it were lost */
#define NS_PER_10US   10000ull
#define NS_PER_US     1000ull

/* IBTA table 45: RNR NAK timer codes, in units of 10 us. */
static const uint16_t rnr_10us[32] = {
	0,    1,    2,	  3,	4,    6,     8,	    12,	   16,	  24,	 32,
	48,   64,   96,	  128,	192,  256,   384,   512,   768,	  1024,	 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};
#define RNR_CODE_0 65536u

/* The READ or atomic at the head that still misses responses, in [psn_una, @upto). */
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
		    !unic_sq_reads(unic_sq_slot(sq, s)->opcode) ||
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
		unic_requester_seek(sq, una); /* it had gone back too far */
	sq->rnr_wait = false;
	if (unic_requester_has_outstanding(sq))
		unic_requester_timer(nic, qp);
	else
		sq->timer_ns = UNIC_NEVER;
	/* room in the window, or a fence gone; also if it could not complete */
	if (!unic_sq_retire(nic, qp) || sq->next != sq->tail ||
	    sq->cur != sq->next)
		unic_sched_send(nic, unic_qp_index(nic, qp));
}

/*
 * The peer has all before @upto - but for responses to READs and atomics, which only
 * their arrival proves: an acknowledgement beyond one says that responses were lost
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
	    sq->back_valid)
		return;
	sq->back_valid = true;
	sq->heard_psn = upto;
	unic_requester_go_back(nic, qp, upto, 1);
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
	unic_requester_seek(&qp->sq, psn);
	qp->sq.rnr_wait = true;
	qp->sq.miss_wait = false;
	qp->rnr_total++;
	UNIC_TRACE(nic, QP_RETRY, qp->proc, qp->qpn, psn, 2, 0);
	/* at least so long (IBTA 9.7.5.2.8), and the clock may be some rounds old */
	nic->now_ns = unic_port_now_ns(nic->port);
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
		unic_requester_fail(nic, qp, psn, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
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
		unic_requester_fail(nic, qp, psn, UNIC_WC_RETRY_EXC_ERR, 0);
		return;
	}
	sq->retries--;
	unic_requester_go_back(nic, qp, psn, reason);
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
		unic_requester_fail(nic, qp, psn, status[syn & 3], 0);
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
 * Request @s was refused at @psn, and ends with @status, once the peer has that: it
 * still expects @psn; what was sent of this request from there on goes out again as
 * WRITEs of nothing, what was not sent is never sent. A READ was sent whole: the
 * peer may have taken all its PSNs and refuse what it is asked again (INV-16).
 */
static void nullify_request(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t s, uint32_t psn, uint8_t status)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr = unic_sq_wr(sq, s);
	uint32_t end = unic_psn_add(wr->psn, wr->npkt);
	bool is_read = unic_sq_reads(unic_sq_slot(sq, s)->opcode);

	if (unic_psn_diff(end, sq->psn_max) > 0) /* then nothing follows it */
		end = sq->psn_max;
	unic_sched_unread(nic, qp, wr);
	wr->psn = psn;
	wr->npkt = unic_psn_add(end, -psn);
	wr->status = status;
	wr->state = UNIC_WRS_NULL;
	if (is_read)
		sq->reads--;
	unic_sq_release(nic, sq, s);
	unic_requester_go_back(nic, qp, psn, 4);
}

/*
 * The peer brings a page and says when to come again, or earlier than it can, or says once more
 * why it refused what is empty by now: no retry is counted, but so many times for one packet
 * are too many.
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
		unic_requester_fail(nic, qp, psn, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
		return;
	}
	us = us < VACK_LEAST_US ? VACK_LEAST_US : us;
	us = us < VACK_DELAY_US ? us : VACK_DELAY_US;
	pause_sending(nic, qp, psn, us * NS_PER_US);
}

static void handle_evicted(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   uint32_t psn)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr;

	unic_requester_seek(sq, psn);
	wr = unic_sq_wr(sq, sq->cur);
	if (sq->cur == sq->next || wr->state != UNIC_WRS_SENT) {
		retry_after(nic, qp, psn, 0);
		return;
	}
	if (psn != wr->psn) /* it had begun */
		wr->detail = UNIC_WD_BUSY;
	nullify_request(nic, qp, sq->cur, psn, UNIC_WC_REM_EVICTED);
}

/* The oldest request with PSNs from @psn on; sq.next: none. */
static inline uint32_t find_request(struct unic_sq *sq, uint32_t psn)
{
	uint32_t s;

	for (s = sq->una; s != sq->next; s += unic_sq_slots(sq, s)) {
		const struct unic_wr *wr = unic_sq_wr(sq, s);

		if (wr->state != UNIC_WRS_DEAD &&
		    unic_psn_diff(psn, wr->psn + wr->npkt) < 0)
			break;
	}
	return s;
}

/* The tagged message that ends with @psn was refused, @why. What else the peer may
 * say is not believed. */
static void handle_refused(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   uint32_t psn, uint32_t why)
{
	uint32_t s = find_request(&qp->sq, psn);
	struct unic_wr *wr = unic_sq_wr(&qp->sq, s);

	if (s != qp->sq.next && wr->state == UNIC_WRS_NULL) {
		retry_after(nic, qp, psn, 0);
	} else if (s == qp->sq.next ||
		   unic_sq_slot(&qp->sq, s)->opcode != UNIC_WR_TOKEN ||
		   unic_psn_add(psn, 1) != unic_psn_add(wr->psn, wr->npkt) ||
		   !why || why > UINT8_MAX) {
		UNIC_COUNT(nic, rx_bad_opcode);
	} else {
		wr->detail = (uint8_t)why;
		wr->len = 0;
		nullify_request(nic, qp, s, psn, UNIC_WC_SUCCESS);
	}
}

void unic_requester_vack(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 uint32_t psn, uint32_t reason, uint32_t delay_us)
{
	if (!is_psn_in_flight(nic, &qp->sq, psn))
		return;
	ack_up_to(nic, qp, psn);
	if (qp->state != UNIC_QPS_RTS || psn != qp->sq.psn_una)
		return;
	if (reason == UNIC_EV_RETRY_AFTER)
		retry_after(nic, qp, psn, delay_us);
	else if (reason == UNIC_EV_EVICTED)
		handle_evicted(nic, qp, psn);
	else if (UNIC_TELL_REFUSED && reason == UNIC_EV_REFUSED)
		handle_refused(nic, qp, psn, delay_us);
	else
		UNIC_COUNT(nic, rx_bad_opcode); /* of a later version */
}

/* --------------------------------------------------------- READ responses */

/* Is @pkt an answer to a request of @opcode? */
static bool answers(const struct unic_pkt *pkt, uint8_t opcode)
{
	if (UNIC_ATOMICS && pkt->opcode == UNIC_OP_ATOMIC_ACK)
		return unic_sq_is_atomic(opcode);
	return opcode == UNIC_WR_READ;
}

/* Take what an atomic acknowledgement brings, as the host has it in memory. */
static __attribute__((noinline)) bool take_original(struct unic_transport *nic,
						    const struct unic_pkt *pkt)
{
	const unic_be32 *w =
		(const void *)(pkt->ext + sizeof(struct unic_aeth));
	unic_le64 *was = &nic->atomics->answer;

	if (pkt->len !=
	    sizeof(struct unic_aeth) + sizeof(struct unic_atomic_ack_eth))
		return false;
	*was = unic_to_le64((uint64_t)unic_from_be32(UNIC_READ_ONCE(w[0]))
				    << 32 |
			    unic_from_be32(UNIC_READ_ONCE(w[1])));
	return true;
}

static bool response_fits(const struct unic_sq *sq, const struct unic_pkt *pkt,
			  uint32_t want, bool last)
{
	bool middle = pkt->opcode == UNIC_OP_READ_RESP_MIDDLE;
	bool ends = pkt->opcode == UNIC_OP_READ_RESP_LAST ||
		    pkt->opcode == UNIC_OP_READ_RESP_ONLY;
	uint32_t aeth = middle ? 0 : (uint32_t)sizeof(struct unic_aeth);

	if (unlikely(pkt->len != want + aeth))
		return false;
	return likely(ends == last) || (UNIC_READS_IN_PARTS && ends &&
					unic_read_parts_is_end(sq, pkt->psn));
}

/* Response @psn to a READ, before which others are missing. The peer is at work, and answers
 * what it was asked before what it is asked now: it has the time of an acknowledgement from
 * here, if it goes on. One that says the same again does not. */
static __attribute__((noinline, cold)) int
still_answers(struct unic_transport *nic, struct unic_qp_ctx *qp, uint32_t psn)
{
	struct unic_sq *sq = &qp->sq;

	if (sq->rnr_wait || unic_psn_diff(psn, sq->heard_psn) <= 0)
		return 0;
	sq->heard_psn = psn;
	unic_requester_timer(nic, qp);
	return 0;
}

int unic_requester_response(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    const struct unic_pkt *pkt)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_sgl *sgl = &nic->qps.roce.rx_sgl;
	uint32_t mtu = 1u << qp->mtu_shift, s, k, off, want;
	struct unic_wr *wr;
	bool atomic;

	if (!is_psn_in_flight(nic, sq, pkt->psn))
		return 0;
	if (pkt->psn != sq->psn_una)
		ack_up_to(nic, qp, pkt->psn); /* all before it was executed */
	if (unlikely(qp->state != UNIC_QPS_RTS))
		return 0;
	if (unlikely(pkt->psn != sq->psn_una))
		return UNIC_READS_IN_PARTS ? still_answers(nic, qp, pkt->psn)
					   : 0;
	s = find_request(sq, pkt->psn);
	wr = unic_sq_wr(sq, s);
	if (s == sq->next || !answers(pkt, unic_sq_slot(sq, s)->opcode) ||
	    wr->state != UNIC_WRS_SENT) {
		UNIC_COUNT(nic, rx_stale_ack);
		return 0;
	}
	k = unic_psn_add(pkt->psn, -wr->psn);
	off = k << qp->mtu_shift;
	want = wr->len - off < mtu ? wr->len - off : mtu;
	atomic = UNIC_ATOMICS && pkt->opcode == UNIC_OP_ATOMIC_ACK;
	if (atomic ? !take_original(nic, pkt)
		   : !response_fits(sq, pkt, want, k + 1 == wr->npkt)) {
		UNIC_COUNT(nic, rx_bad_opcode);
		return 0;
	}
	unic_sq_span(sq, s, off, want, sgl);
	sgl->local = atomic ? (uint8_t *)&nic->atomics->answer
			    : (uint8_t *)pkt->ext + pkt->len - want;
	return -UNIC_EPENDING;
}

void unic_requester_placed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   int err)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t psn = sq->psn_una, s = sq->una;
	struct unic_wr *wr;

	if (err) { /* a page is missing: as if it were lost; asked for again then */
		unic_requester_not_read(nic, qp, psn, err);
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

/*
 * A peer that is slower than the timeout expects it to be has more to do with each repeat,
 * and answers later still: so from the third time on @qp waits longer, four times as long
 * at most (IBTA 9.7.6.1.3 lets the timer be anything between T and 4 T).
 */
static void wait_longer(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	uint32_t repeats = (uint32_t)qp->retry_cnt - qp->sq.retries;

	if (repeats > 1 && unic_qp_sends(qp) &&
	    unic_requester_has_outstanding(&qp->sq))
		unic_qp_timer(nic, qp,
			      nic->now_ns + (qp->timeout_ns
					     << (repeats > 2 ? 2 : 1)));
}

/* The timer of @qp may be that of a packet before, which was acknowledged. True if it is too
 * early for the lone one that is under way now. */
static bool is_early(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	uint64_t due = qp->sq.since_ns + qp->timeout_ns;

	qp->sq.lazy = false;
	if (nic->now_ns >= due)
		return false;
	unic_qp_timer(nic, qp, due);
	return true;
}

void unic_requester_timeout(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;

	sq->timer_ns = UNIC_NEVER;
	if (!unic_qp_sends(qp))
		return;
	if (sq->rnr_wait) {
		sq->rnr_wait = false;
		unic_sched_send(nic, unic_qp_index(nic, qp));
	} else if (!unic_requester_has_outstanding(sq)) {
		return;
	} else if (UNIC_LONE && sq->lazy && is_early(nic, qp)) {
		return;
	} else if (unlikely(unic_meter_waits(qp))) {
		unic_requester_timer(nic, qp);
	} else {
		UNIC_COUNT(nic, timeouts);
		sq->back_valid = false;
		retry_or_fail(nic, qp, sq->psn_una, 0);
		wait_longer(nic, qp);
	}
}
