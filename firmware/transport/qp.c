/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* qp.c - the table of queue pairs: their work and their death. See qp.h. */
#include <string.h>

#include "transport/fastpath_lone.h"
#include "transport/qp_number.h"
#include "transport/transport.h"
#include "transport/requester.h"
#include "transport/requester_rx.h"
#include "transport/responder.h"
#include "transport/responder_done.h"
#include "transport/rq.h"
#include "transport/rq_ahead.h"
#include "transport/rq_sweep.h"
#include "transport/ud_uc.h"
#include "transport/tx.h"
#include "transport/sq.h"
#include "memory/access.h"

/* Work that cannot be done is looked at again after: the second, if all that waits is
 * a link that is full for long. */
#define BLOCKED_NS	50000u
#define BLOCKED_LONG_NS 1000000u

/* What it costs to look through a queue pair for holds, and to end it, beside its
 * window; in units of UNIC_CUT_ROUND. */
#define UNIC_CUT_LOOK 2u
#define UNIC_CUT_END  16u

void unic_qp_init(struct unic_transport *nic)
{
	uint32_t i;

	unic_roce_init(nic);
	memset(nic->qps.qp, 0, sizeof(nic->qps.qp));
	for (i = 0; i < UNIC_QPS; i++)
		unic_qp_expect_nothing(&nic->qps.qp[i]);
	unic_qp_number_draw(nic);
	unic_sched_init(nic);
	nic->qps.timer_ns = UNIC_NEVER;
	nic->qps.evts_due = 0;
	nic->qps.sweeping = false;
	nic->qps.sweep_stale = false;
	nic->qps.sweep_fetching = false;
	nic->qps.sweep_have = 0;
	memset(nic->qps.ahead, 0, sizeof(nic->qps.ahead));
	nic->qps.ahead_short = false;
	nic->qps.conns = 0;
	memset(&nic->parked, 0, sizeof(nic->parked));
	memset(&nic->list_reader, 0, sizeof(nic->list_reader));
	unic_cut_init(nic);
}

struct unic_qp_ctx *unic_qp_by_number(struct unic_transport *nic, uint32_t qpn)
{
	uint32_t idx = qpn & 0xff;

	if (idx >= UNIC_QPS || !nic->qps.qp[idx].used ||
	    nic->qps.qp[idx].qpn != qpn)
		return NULL;
	return &nic->qps.qp[idx];
}

uint8_t unic_qp_detail(int err)
{
	switch (-err) {
	case UNIC_ERELEASED:
	case UNIC_ESTAG:
		return UNIC_WD_STAG;
	case UNIC_EPD:
		return UNIC_WD_PD;
	case UNIC_ERIGHTS:
		return UNIC_WD_RIGHTS;
	case UNIC_EBOUNDS:
		return UNIC_WD_BOUNDS;
	case UNIC_ENOPAGE:
		return UNIC_WD_PAGE;
	default:
		return UNIC_WD_NONE;
	}
}

uint8_t unic_qp_refused(struct unic_transport *nic,
			const struct unic_qp_ctx *qp, int err)
{
	if (err == -UNIC_ESTAG)
		unic_key_guard_wrong(&nic->memory, UNIC_KEY_GUARD_LOCAL,
				     qp->proc);
	return unic_qp_detail(err);
}

/* ---------------------------------------------------------------- death */

static bool publish_qp_event(struct unic_transport *nic,
			     const struct unic_qp_ctx *qp,
			     enum unic_evt_type type)
{
	struct unic_evt_obj evt = {
		.hdr = { .type = (uint8_t)type,
			 .proc = unic_to_le16(qp->proc) },
		.id = unic_to_le32(qp->qpn),
		.detail = unic_to_le32(type == UNIC_EVT_QP_ERROR ? qp->error
								 : 0u),
	};

	return unic_mbox_event(&nic->base, &evt);
}

static void queue_qp_event(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   uint8_t evt)
{
	if (!(qp->evt & evt))
		nic->qps.evts_due++;
	nic->chores = true;
	qp->evt |= evt;
}

static void forget_events(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	for (; qp->evt; qp->evt &= (uint8_t)(qp->evt - 1))
		nic->qps.evts_due--;
}

void unic_qp_set_state(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       enum unic_qp_state state, uint32_t status)
{
	UNIC_TRACE(nic, QP_STATE, qp->proc, qp->qpn, unic_qp_state(qp), state,
		   status);
	qp->state = (uint8_t)state;
	if (qp->type && unic_qp_receives(qp))
		qp->state |= UNIC_QPS_UD_UC;
	unic_qp_expect_nothing(qp);
}

/* Silent from now on: nothing is sent, held, kept or timed any more, and nothing is
 * waited for. */
static void stop_qp(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    const struct unic_cuts *evicted)
{
	unic_tx_forget(nic, unic_qp_index(nic, qp));
	unic_sq_drop_holds(nic, qp, evicted);
	unic_local_op_drop(nic, qp);
	unic_fault_forget(&nic->memory, unic_qp_index(nic, qp));
	unic_parked_forget(nic, qp);
	unic_responder_abort(nic, qp, evicted);
	qp->sq.timer_ns = UNIC_NEVER;
	qp->sq.gathering = false;
	qp->sq.in_parts = false;
	qp->sq.miss_wait = false;
	qp->rsp.gathering = false;
	qp->rsp.miss_wait = false;
}

static void enter_error(struct unic_transport *nic, struct unic_qp_ctx *qp,
			enum unic_wc_status status,
			const struct unic_cuts *evicted)
{
	if (qp->state == UNIC_QPS_ERR || qp->state == UNIC_QPS_RESET)
		return;
	unic_qp_set_state(nic, qp, UNIC_QPS_ERR, status);
	if (status == UNIC_WC_EVICTED && !qp->type)
		unic_responder_part(nic, qp, evicted);
	stop_qp(nic, qp, evicted);
	unic_sched_send(nic, unic_qp_index(nic, qp)); /* flushes */
	if (!status)
		return;
	qp->error = (uint8_t)status;
	queue_qp_event(nic, qp, UNIC_QP_EVT_ERROR);
}

void unic_qp_error(struct unic_transport *nic, struct unic_qp_ctx *qp,
		   enum unic_wc_status status)
{
	enter_error(nic, qp, status, NULL);
}

void unic_qp_flushed(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	if (!UNIC_SRQS || !qp->rq.srq || qp->rq.told_last)
		return;
	qp->rq.told_last = true;
	queue_qp_event(nic, qp, UNIC_QP_EVT_LAST);
}

void unic_qp_cq_failed(struct unic_transport *nic, uint16_t cq)
{
	uint32_t i;

	for (i = 0; i < UNIC_QPS; i++) {
		struct unic_qp_ctx *qp = &nic->qps.qp[i];

		if (qp->used && (qp->send_cq == cq || qp->recv_cq == cq))
			unic_qp_error(nic, qp, UNIC_WC_LOC_QP_OP_ERR);
	}
}

uint32_t unic_qp_cut(struct unic_transport *nic, uint32_t idx)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	uint32_t sent = qp->sq.next - qp->sq.una;

	if (!qp->used)
		return 1;
	if (qp->type)
		unic_ud_uc_cut(nic, qp);
	if (!unic_sq_holds(qp, &nic->cuts) &&
	    unic_responder_holds(qp, &nic->cuts) == UNIC_MR_NIL)
		return UNIC_CUT_LOOK + sent;
	enter_error(nic, qp, UNIC_WC_EVICTED, &nic->cuts);
	return UNIC_CUT_END + 3 * sent;
}

void unic_qp_quiesce(struct unic_transport *nic)
{
	uint32_t i;

	for (i = 0; i < UNIC_QPS; i++)
		if (nic->qps.qp[i].used)
			unic_qp_error(nic, &nic->qps.qp[i],
				      UNIC_WC_WR_FLUSH_ERR);
}

static void free_qp(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	forget_events(nic, qp);
	nic->cqs.cq[qp->send_cq].users--;
	nic->cqs.cq[qp->recv_cq].users--;
	if (UNIC_SRQS && qp->rq.srq)
		unic_srq_put(nic, qp->rq.srq);
	unic_mr_queue_put(&nic->memory, qp->mr);
	nic->mrs.pd[qp->pd].users--;
	nic->procs.proc[qp->proc].qps--;
	qp->used = false;
	qp->state = UNIC_QPS_RESET;
}

void unic_qp_silence(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	stop_qp(nic, qp, NULL);
	unic_qp_set_state(nic, qp, UNIC_QPS_RESET, 0);
	unic_sched_drop(nic, unic_qp_index(nic, qp));
	unic_rq_sweep_forget(nic, unic_qp_index(nic, qp));
	forget_events(nic, qp);
}

/* Take it out of everything. True if it is gone already. */
static bool teardown_qp(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	unic_qp_silence(nic, qp);
	unic_slot_bind(&nic->base, qp->proc, UNIC_DB_SQ, qp->db_index,
		       UNIC_DB_NONE);
	qp->dying = true;
	if (unic_qp_has_pending_io(qp))
		return false;
	free_qp(nic, qp);
	return true;
}

int unic_qp_destroy(struct unic_transport *nic, uint32_t proc, uint32_t qpn)
{
	struct unic_qp_ctx *qp = unic_qp_by_number(nic, qpn);

	if (!qp || qp->proc != proc || qp->dying)
		return -UNIC_ENOQP;
	if (teardown_qp(nic, qp))
		return 0;
	qp->tell = true;
	return -UNIC_EPENDING;
}

bool unic_qp_proc_gone(struct unic_transport *nic, uint32_t proc)
{
	bool gone = true;
	uint32_t i;

	for (i = 0; i < UNIC_QPS; i++) {
		struct unic_qp_ctx *qp = &nic->qps.qp[i];

		if (!qp->used || qp->proc != proc)
			continue;
		qp->tell = false;
		if (!qp->dying) {
			if (!unic_slot_ration_left(&nic->base))
				return false;
			unic_slot_ration_spend(&nic->base, UNIC_LEAVE_QP);
			gone &= teardown_qp(nic, qp);
		} else if (unic_qp_has_pending_io(qp)) {
			gone = false;
		} else {
			free_qp(nic, qp); /* only its event was missing */
		}
	}
	return gone;
}

/* What was destroyed goes when nothing of it is in flight any more. */
static void finish_destroy(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	if (unic_qp_has_pending_io(qp))
		return;
	if (qp->tell)
		queue_qp_event(nic, qp, UNIC_QP_EVT_GONE);
	else
		free_qp(nic, qp);
}

void unic_qp_dma_end(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	qp->dmas--;
	if (qp->dmas)
		return;
	if (qp->state == UNIC_QPS_ERR || qp->dying)
		unic_responder_dma_end(nic, qp);
	if (!qp->dying)
		unic_sched_send(nic, unic_qp_index(nic, qp));
	else
		finish_destroy(nic, qp);
}

void unic_qp_cqe_begin(struct unic_transport *nic, uint32_t qpn)
{
	unic_qp_by_number(nic, qpn)->cqes++;
}

void unic_qp_cqe_end(struct unic_transport *nic, uint32_t qpn)
{
	struct unic_qp_ctx *qp = unic_qp_by_number(nic, qpn);

	/* It waited for this, so it is there. */
	UNIC_ASSERT(nic, qp && qp->cqes);
	qp->cqes--;
	if (qp->dying)
		finish_destroy(nic, qp);
}

/* Publish event @evt of @qp, which is @type, if it is due. False: there is no room. */
static bool publish_one(struct unic_transport *nic, struct unic_qp_ctx *qp,
			uint8_t evt, enum unic_evt_type type)
{
	if (!(qp->evt & evt))
		return true;
	if (!publish_qp_event(nic, qp, type))
		return false;
	qp->evt &= (uint8_t)~evt;
	nic->qps.evts_due--;
	return true;
}

/* Events for which the ring had no room before. True if there were any. The last receive
 * is told of when its completion is in memory. */
static bool publish_due(struct unic_transport *nic)
{
	uint16_t due = nic->qps.evts_due;
	uint32_t i;

	for (i = 0; i < UNIC_QPS && nic->qps.evts_due; i++) {
		struct unic_qp_ctx *qp = &nic->qps.qp[i];
		bool gone = qp->evt & UNIC_QP_EVT_GONE;

		if (!publish_one(nic, qp, UNIC_QP_EVT_ERROR,
				 UNIC_EVT_QP_ERROR) ||
		    (UNIC_SRQS && !qp->cqes &&
		     !publish_one(nic, qp, UNIC_QP_EVT_LAST,
				  UNIC_EVT_LAST_WQE)) ||
		    !publish_one(nic, qp, UNIC_QP_EVT_GONE, UNIC_EVT_QP_GONE))
			break;
		if (gone)
			free_qp(nic, qp);
	}
	return nic->qps.evts_due != due;
}

/* ------------------------------------------------------------ doorbells */

/* In RESET the rings are empty: a tail that the row still has is of the time before. A
 * queue pair that is not used, or dies, is in RESET, too. */
static inline bool takes_doorbells(const struct unic_qp_ctx *qp)
{
	return qp->state != UNIC_QPS_RESET;
}

/* Tails only grow, and stay within the ring (INV-1: the newest one counts). */
static bool tail_ok(uint32_t tail, uint32_t old, uint32_t head, uint32_t mask)
{
	return tail - old <= mask + 1 - (old - head);
}

static void bad_doorbell(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 enum unic_db_kind kind, uint32_t tail)
{
	unic_slot_bad_doorbell(&nic->base, qp->proc,
			       UNIC_DB_WORD(kind, qp->db_index, tail & 0xffff));
	unic_qp_error(nic, qp, UNIC_WC_LOC_QP_OP_ERR);
}

bool unic_qp_doorbell_sq(struct unic_transport *nic, uint32_t idx,
			 uint32_t tail, bool lone)
{
	struct unic_qp_ctx *qp = nic->qps.qp + idx; /* or beyond, of an SRQ */
	struct unic_sq *sq = &qp->sq;

	UNIC_IN_REGISTER(qp);
	UNIC_IN_REGISTER(sq);
	if (idx >= UNIC_QPS || !takes_doorbells(qp))
		return false;
	if (unlikely(!tail_ok(tail, sq->tail, sq->una, sq->mask))) {
		bad_doorbell(nic, qp, UNIC_DB_SQ, tail);
		return false;
	}
	sq->tail = tail;
	if (qp->on & UNIC_ON_SEND)
		return false;
	if (UNIC_LONE && lone && unic_fastpath_lone_send(nic, qp))
		return true;
	if (qp->state == UNIC_QPS_RTS || qp->state == UNIC_QPS_ERR ||
	    unic_qp_sends(qp))
		unic_sched_send(nic, (uint16_t)idx);
	return false;
}

void unic_qp_doorbell_rq(struct unic_transport *nic, uint32_t idx,
			 uint32_t tail)
{
	struct unic_qp_ctx *qp = nic->qps.qp + idx; /* or beyond, of an SRQ */
	struct unic_rq *rq = &qp->rq;

	if (UNIC_SRQS && idx >= UNIC_QPS)
		return unic_srq_doorbell(nic, idx - UNIC_QPS, tail);
	if (!takes_doorbells(qp) || (UNIC_SRQS && rq->srq))
		return;
	if (!tail_ok(tail, rq->tail, rq->head, rq->mask)) {
		bad_doorbell(nic, qp, UNIC_DB_RQ, tail);
		return;
	}
	rq->tail = tail;
	rq->far_none = false;
	unic_rq_ahead_want(nic, qp);
	if (qp->state == UNIC_QPS_ERR)
		unic_sched_send(nic, (uint16_t)idx);
}

/* ------------------------------------------------- what happens by itself */

void unic_qp_timer(struct unic_transport *nic, struct unic_qp_ctx *qp,
		   uint64_t at_ns)
{
	qp->sq.timer_ns = at_ns;
	if (at_ns < nic->qps.timer_ns)
		nic->qps.timer_ns = at_ns;
	if (at_ns < nic->timers_ns)
		nic->timers_ns = at_ns;
}

/* Queue pairs that wait for their transmit limit have the same timer. */
static __attribute__((noinline, cold)) uint64_t
wake_metered(struct unic_transport *nic)
{
	nic->qps.timer_ns = unic_meter_timers(nic, nic->qps.timer_ns);
	return nic->qps.timer_ns;
}

static uint64_t requester_timers(struct unic_transport *nic)
{
	uint64_t next = UNIC_NEVER;
	uint32_t i;

	if (nic->now_ns < nic->qps.timer_ns)
		return nic->qps.timer_ns;
	nic->qps.timer_ns = UNIC_NEVER;
	for (i = 0; i < UNIC_QPS; i++) {
		struct unic_qp_ctx *qp = &nic->qps.qp[i];

		if (!qp->used)
			continue;
		if (qp->sq.timer_ns <= nic->now_ns)
			unic_requester_timeout(nic, qp);
		if (qp->sq.timer_ns < next)
			next = qp->sq.timer_ns;
	}
	if (nic->qps.timer_ns < next)
		next = nic->qps.timer_ns;
	nic->qps.timer_ns = next;
	if (UNIC_METERS && unlikely(nic->meters.parked))
		return wake_metered(nic);
	return next;
}

uint64_t unic_qp_timers(struct unic_transport *nic)
{
	uint64_t next = requester_timers(nic);

	if (nic->token_overdue && unic_responder_stop(nic))
		next = nic->now_ns;
	return next;
}

void unic_qp_tx_done(struct unic_transport *nic, uint16_t idx, bool responder,
		     int err)
{
	if (responder)
		unic_responder_gathered(nic, idx, err);
	else
		unic_requester_gathered(nic, idx, err);
}

/* What is rarely there. True if anything was done. */
static __attribute__((noinline, cold)) bool
do_chores(struct unic_transport *nic)
{
	struct unic_qps *qps = &nic->qps;
	bool worked = false;

	if (unic_rq_sweep_due(nic))
		worked |= unic_rq_sweep(nic);
	if (unic_cut_due(nic))
		worked |= unic_cut_run(nic);
	if (nic->mrs.draw_in)
		unic_mr_draw(&nic->memory);
	worked |= unic_rq_ahead(nic);
	worked |= unic_parked_run(nic);
	if (qps->evts_due)
		worked |= publish_due(nic);
	if (nic->cqs.evts_due)
		unic_cq_events(nic);
	if (UNIC_SRQS && nic->srqs.evts_due)
		unic_srq_events(nic);
	nic->chores = unic_rq_sweep_due(nic) || qps->evts_due ||
		      nic->cqs.evts_due || unic_rq_ahead_due(nic) ||
		      (UNIC_SRQS && nic->srqs.evts_due) || nic->parked.ready ||
		      nic->mrs.draw_in || unic_cut_due(nic);
	return worked;
}

/* What waits cannot be done. If that is a full link alone, it is looked at after as
 * long again as nothing was sent, within bounds: a peer that reads slowly waits little
 * for more, and one that has stopped costs little, and delays no chore. */
static __attribute__((noinline, cold)) void
look_later(struct unic_transport *nic)
{
	struct unic_qps *qps = &nic->qps;
	uint32_t sent =
		(uint32_t)nic->counter[UNIC_C_tx_frames] + qps->roce.tx_frames;
	uint64_t wait = BLOCKED_NS;

	if (sent != qps->blocked_sent) {
		qps->blocked_sent = sent;
		qps->blocked_ns = nic->now_ns;
	}
	if (nic->order.stuck && !nic->chores &&
	    nic->now_ns - qps->blocked_ns > wait)
		wait = nic->now_ns - qps->blocked_ns;
	if (wait > BLOCKED_LONG_NS)
		wait = BLOCKED_LONG_NS;
	if (nic->timers_ns > nic->now_ns + wait)
		nic->timers_ns = nic->now_ns + wait;
}

static __attribute__((noinline)) bool run_qp_work(struct unic_transport *nic)
{
	bool worked = false;

	if (likely(nic->sched.work != 0))
		worked = unic_sched_run(nic);
	if (unlikely(nic->chores))
		worked |= do_chores(nic);
	if (!worked)
		look_later(nic);
	return worked;
}

bool unic_qp_poll(struct unic_transport *nic)
{
	if (!unic_qp_due(nic))
		return false;
	return run_qp_work(nic);
}

void unic_qp_row(struct unic_transport *nic, uint32_t idx,
		 struct unic_row_qp *row)
{
	const struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	memset(row, 0, sizeof(*row));
	row->qpn = unic_to_le32(qp->qpn);
	row->proc = unic_to_le32(qp->proc);
	row->pd = unic_to_le32(qp->pd);
	row->state = unic_to_le32(unic_qp_state(qp));
	row->dest_qpn = unic_to_le32(qp->dest_qpn);
	row->dest_ipv4 = unic_to_le32(qp->dest_ipv4);
	row->sq_psn = unic_to_le32(qp->sq.psn);
	row->una_psn = unic_to_le32(qp->sq.psn_una);
	row->rq_psn = unic_to_le32(qp->rsp.psn);
	row->sq_posted = unic_to_le32(qp->sq.tail);
	row->sq_done = unic_to_le32(qp->sq.una);
	row->rq_posted = unic_to_le32(qp->rq.tail);
	row->rq_done = unic_to_le32(qp->rq.head);
	row->retries = unic_to_le32(qp->retry_total);
	row->rnrs = unic_to_le32(qp->rnr_total);
	row->type = unic_to_le32(qp->type);
}
