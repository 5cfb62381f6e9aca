/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* qp.c - the table of queue pairs: life, states, death. See qp.h. */
#include <string.h>

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

#define GEN_MASK      0xffffu
#define NUMBER_ROUNDS 8u
#define MTU_SHIFT_MIN 8u
#define MTU_SHIFT_MAX 12u
#define BLOCKED_NS    50000u /* the link had no room: look again after */

/* What it costs to look through a queue pair for holds, and to end it, beside its
 * window; in units of UNIC_CUT_ROUND. */
#define UNIC_CUT_LOOK 2u
#define UNIC_CUT_END  16u

/* The lane is to look at the state before it takes a frame. */
static void clear_expects(struct unic_qp_ctx *qp)
{
	uint32_t i;

	for (i = 0; i < UNIC_EXPECTS; i++)
		qp->expect[i].bytes = UNIC_EXPECT_NOTHING;
}

static void draw_key(struct unic_transport *nic)
{
	uint32_t i;

	for (i = 0; i < 8; i++)
		nic->qps.key[i] = unic_random_u32(&nic->base);
}

void unic_qp_rekey(struct unic_transport *nic)
{
	uint32_t i, made = 0;

	for (i = 0; i < UNIC_QPS; i++)
		made |= nic->qps.qp[i].gen;
	if (!made)
		draw_key(nic);
}

void unic_qp_init(struct unic_transport *nic)
{
	uint32_t i;

	unic_roce_init(nic);
	memset(nic->qps.qp, 0, sizeof(nic->qps.qp));
	for (i = 0; i < UNIC_QPS; i++)
		clear_expects(&nic->qps.qp[i]);
	draw_key(nic);
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

/* ------------------------------------------------------------- creation */

static bool slots_ok(uint32_t n)
{
	return n >= 2 && n <= UNIC_QP_SLOTS && !(n & (n - 1));
}

/* All but what its process and its queues are. Both rings must lie in one region
 * that cannot be taken back under us. */
static int check_create(struct unic_transport *nic,
			const struct unic_cmd_qp_create *cmd, uint16_t *mr)
{
	uint16_t pd = (uint16_t)unic_from_le32(cmd->pd);
	uint32_t stag = unic_from_le32(cmd->stag);
	uint64_t sq = unic_from_le64(cmd->sq_iova);
	uint64_t rq = unic_from_le64(cmd->rq_iova);
	struct unic_piece piece;
	int r;

	if (!slots_ok(unic_from_le16(cmd->sq_slots)) ||
	    !slots_ok(unic_from_le16(cmd->rq_slots)) || ((sq | rq) & 63) ||
	    unic_from_le32(cmd->db_index) >= UNIC_BOX_DB_ROWS ||
	    cmd->type > UNIC_QPT_UD || cmd->miss > UNIC_QPM_BOUNCE ||
	    (!cmd->type && cmd->miss) || cmd->rsvd0[0] || cmd->rsvd0[1])
		return -UNIC_EINVAL;
	r = unic_access(&nic->memory, stag, pd, 0, sq,
			unic_from_le16(cmd->sq_slots) * UNIC_SLOT_BYTES,
			&piece);
	if (!r)
		r = unic_access(&nic->memory, stag, pd, 0, rq,
				unic_from_le16(cmd->rq_slots) * UNIC_SLOT_BYTES,
				&piece);
	if (r)
		return r;
	if (nic->mrs.mr[piece.mr].mr_class != UNIC_CLASS_CONTROL)
		return -UNIC_EINVAL;
	*mr = piece.mr;
	return 0;
}

static int find_free_qp(const struct unic_transport *nic)
{
	uint32_t i;

	for (i = 0; i < UNIC_QPS; i++)
		if (!nic->qps.qp[i].used)
			return (int)i;
	return -UNIC_EQPFULL;
}

/* What RESET means: empty rings, no connection. */
static void reset_transport(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	uint64_t sq_iova = qp->sq.iova, rq_iova = qp->rq.iova;
	uint32_t sq_mask = qp->sq.mask, rq_mask = qp->rq.mask;
	uint32_t class_bytes = qp->rq.class_bytes;

	memset(&qp->rsp, 0, sizeof(qp->rsp));
	memset(&qp->sq, 0, sizeof(qp->sq));
	memset(&qp->rq, 0, sizeof(qp->rq));
	qp->sq.iova = sq_iova;
	qp->sq.mask = sq_mask;
	qp->sq.timer_ns = UNIC_NEVER;
	qp->rq.iova = rq_iova;
	qp->rq.mask = rq_mask;
	qp->rq.class_bytes = class_bytes;
	qp->dest_ipv4 = 0;
	qp->dest_qpn = 0;
	qp->route_ns = 0;
	qp->bounced = false;
	qp->conn = ++nic->qps.conns;
	qp->state = UNIC_QPS_RESET;
}

/*
 * Of the @gen-th QP of index @idx: a Feistel network whose round function is
 * ChaCha20. Eight rounds, because halves of eight bits are small. Another one for
 * each 2^16 QPs: who made them all heard the whole of the last.
 */
static uint32_t number_of(const struct unic_transport *nic, uint32_t idx,
			  uint32_t gen)
{
	uint32_t l = gen >> 8 & 0xff, r = gen & 0xff, i, was;

	for (i = 0; i < NUMBER_ROUNDS; i++) {
		const uint32_t nonce[4] = { idx, i, r, gen >> 16 };
		uint32_t block[16];

		unic_chacha20_block(nic->qps.key, nonce, block);
		was = l;
		l = r;
		r = was ^ (block[0] & 0xff);
	}
	return l << 8 | r;
}

/* Its number is the next one of its index; 0 and 1 are nobody's. */
static void init_qp(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    const struct unic_cmd_qp_create *cmd, uint32_t idx)
{
	uint32_t gen = qp->gen, number;

	do {
		number = number_of(nic, idx, ++gen);
	} while (!number);
	memset(qp, 0, sizeof(*qp));
	qp->gen = gen;
	qp->used = true;
	qp->qpn = number << 8 | idx;
	qp->pd = (uint16_t)unic_from_le32(cmd->pd);
	qp->send_cq = (uint16_t)unic_from_le32(cmd->send_cq);
	qp->recv_cq = (uint16_t)unic_from_le32(cmd->recv_cq);
	qp->db_index = (uint8_t)unic_from_le32(cmd->db_index);
	qp->sq.iova = unic_from_le64(cmd->sq_iova);
	qp->rq.iova = unic_from_le64(cmd->rq_iova);
	qp->sq.mask = unic_from_le16(cmd->sq_slots) - 1u;
	qp->rq.mask = unic_from_le16(cmd->rq_slots) - 1u;
	qp->rq.class_bytes = unic_from_le32(cmd->rq_class);
	qp->type = cmd->type;
	qp->miss = cmd->miss;
	reset_transport(nic, qp);
	clear_expects(qp);
}

int unic_qp_create(struct unic_transport *nic,
		   const struct unic_cmd_qp_create *cmd)
{
	uint32_t pd = unic_from_le32(cmd->pd);
	struct unic_cq_ctx *scq, *rcq;
	struct unic_qp_ctx *qp;
	uint16_t proc, mr;
	int idx, r;

	if (pd >= UNIC_PDS || !unic_slot_live(&nic->base, nic->mrs.pd[pd].proc))
		return -UNIC_ENOPD;
	proc = nic->mrs.pd[pd].proc;
	scq = unic_cq_get(nic, proc, unic_from_le32(cmd->send_cq));
	rcq = unic_cq_get(nic, proc, unic_from_le32(cmd->recv_cq));
	if (!scq || !rcq)
		return -UNIC_ENOCQ;
	r = check_create(nic, cmd, &mr);
	if (r)
		return r;
	idx = find_free_qp(nic);
	if (idx < 0)
		return idx;
	r = unic_slot_bind(&nic->base, proc, UNIC_DB_SQ,
			   unic_from_le32(cmd->db_index), (uint16_t)idx);
	if (r)
		return r;
	qp = &nic->qps.qp[idx];
	init_qp(nic, qp, cmd, (uint32_t)idx);
	qp->proc = proc;
	qp->mr = mr;
	scq->users++;
	rcq->users++;
	unic_mr_queue_get(&nic->memory, mr);
	nic->mrs.pd[pd].users++;
	nic->procs.proc[proc].qps++;
	return (int)qp->qpn;
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
	if (qp->evt & UNIC_QP_EVT_ERROR)
		nic->qps.evts_due--;
	if (qp->evt & UNIC_QP_EVT_GONE)
		nic->qps.evts_due--;
	qp->evt = 0;
}

static void set_state(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      enum unic_qp_state state, uint32_t status)
{
	UNIC_TRACE(nic, QP_STATE, qp->proc, qp->qpn, unic_qp_state(qp), state,
		   status);
	qp->state = (uint8_t)state;
	if (qp->type && unic_qp_receives(qp))
		qp->state |= UNIC_QPS_UD_UC;
	clear_expects(qp);
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
	set_state(nic, qp, UNIC_QPS_ERR, status);
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
	unic_mr_queue_put(&nic->memory, qp->mr);
	nic->mrs.pd[qp->pd].users--;
	nic->procs.proc[qp->proc].qps--;
	qp->used = false;
	qp->state = UNIC_QPS_RESET;
}

static bool has_pending_io(const struct unic_qp_ctx *qp)
{
	return qp->dmas || qp->cqes;
}

/* Take it out of everything. True if it is gone already. */
static bool teardown_qp(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	uint16_t idx = unic_qp_index(nic, qp);

	stop_qp(nic, qp, NULL);
	set_state(nic, qp, UNIC_QPS_RESET, 0);
	unic_sched_drop(nic, idx);
	unic_rq_sweep_forget(nic, idx);
	unic_slot_bind(&nic->base, qp->proc, UNIC_DB_SQ, qp->db_index,
		       UNIC_DB_NONE);
	forget_events(nic, qp);
	qp->dying = true;
	if (has_pending_io(qp))
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
		} else if (has_pending_io(qp)) {
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
	if (has_pending_io(qp))
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

/* Events for which the ring had no room before. */
static bool publish_due(struct unic_transport *nic)
{
	bool worked = false;
	uint32_t i;

	for (i = 0; i < UNIC_QPS && nic->qps.evts_due; i++) {
		struct unic_qp_ctx *qp = &nic->qps.qp[i];

		if (qp->evt & UNIC_QP_EVT_ERROR) {
			if (!publish_qp_event(nic, qp, UNIC_EVT_QP_ERROR))
				return worked;
			qp->evt &= (uint8_t)~UNIC_QP_EVT_ERROR;
			nic->qps.evts_due--;
			worked = true;
		}
		if (qp->evt & UNIC_QP_EVT_GONE) {
			if (!publish_qp_event(nic, qp, UNIC_EVT_QP_GONE))
				return worked;
			free_qp(nic, qp);
			worked = true;
		}
	}
	return worked;
}

/* --------------------------------------------------------------- states */

static int to_init(struct unic_qp_ctx *qp, const struct unic_cmd_qp_modify *cmd)
{
	uint8_t rights = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE;
	uint32_t qkey = unic_from_le32(cmd->qkey);

	if (qp->type)
		rights = qp->type == UNIC_QPT_UC ? UNIC_MR_REMOTE_WRITE : 0;
	if ((cmd->rights & ~rights) || qkey >> 31 ||
	    (qkey && qp->type != UNIC_QPT_UD))
		return -UNIC_EINVAL;
	qp->rights = cmd->rights;
	qp->qkey = qkey;
	return 0;
}

static bool mtu_ok(const struct unic_transport *nic,
		   const struct unic_qp_ctx *qp, uint32_t shift)
{
	return shift >= MTU_SHIFT_MIN && shift <= MTU_SHIFT_MAX &&
	       (1u << shift) + UNIC_FRAME_OVERHEAD <= nic->link.max_frame &&
	       (!qp->type || 1u << shift <= UNIC_MTU);
}

/* Whom it is connected with. */
static bool peer_ok(const struct unic_qp_ctx *qp,
		    const struct unic_cmd_qp_modify *cmd)
{
	uint32_t dest = unic_from_le32(cmd->dest_qpn);
	bool reliable = !qp->type;

	if (qp->type == UNIC_QPT_UD) /* with nobody */
		return !(dest | cmd->dest_mac[0]) && !cmd->dest_ipv4 &&
		       !cmd->rq_psn && !cmd->rnr_timer && !cmd->max_dest_rd &&
		       !cmd->vendor;
	return cmd->rnr_timer <= 31u * reliable &&
	       cmd->max_dest_rd <= UNIC_QP_READS * reliable &&
	       cmd->vendor <= reliable && dest >= 2 && dest <= UNIC_QPN_MASK &&
	       cmd->dest_ipv4 && !(cmd->dest_mac[0] & 1);
}

static int to_rtr(struct unic_transport *nic, struct unic_qp_ctx *qp,
		  const struct unic_cmd_qp_modify *cmd)
{
	uint32_t psn = unic_from_le32(cmd->rq_psn);

	if (!nic->ipv4)
		return -UNIC_ENOROUTE;
	if (!mtu_ok(nic, qp, cmd->mtu_shift) || !peer_ok(qp, cmd) ||
	    psn > UNIC_PSN_MASK)
		return -UNIC_EINVAL;
	if (unic_key_guard_held(&nic->memory, unic_from_le32(cmd->dest_ipv4),
				qp->proc) ||
	    unic_key_guard_held(&nic->memory, UNIC_KEY_GUARD_LOCAL, qp->proc))
		return -UNIC_EBUSY;
	qp->mtu_shift = cmd->mtu_shift;
	qp->rsp.rnr_code = cmd->rnr_timer;
	qp->rsp.max_rd = cmd->max_dest_rd;
	qp->rsp.psn = psn;
	qp->dest_qpn = unic_from_le32(cmd->dest_qpn);
	qp->dest_ipv4 = unic_from_le32(cmd->dest_ipv4);
	memcpy(qp->dest_mac, cmd->dest_mac, sizeof(qp->dest_mac));
	qp->vendor = cmd->vendor;
	unic_roce_template(nic, qp);
	return 0;
}

static int to_rts(struct unic_transport *nic, struct unic_qp_ctx *qp,
		  const struct unic_cmd_qp_modify *cmd)
{
	uint32_t psn = unic_from_le32(cmd->sq_psn);

	if (qp->type ? cmd->max_rd || cmd->timeout || cmd->retry_cnt ||
			       cmd->rnr_retry
		     : cmd->max_rd > UNIC_QP_READS || !cmd->timeout ||
			       cmd->timeout > 31 || cmd->retry_cnt > 7 ||
			       cmd->rnr_retry > 7)
		return -UNIC_EINVAL;
	if (psn > UNIC_PSN_MASK)
		return -UNIC_EINVAL;
	qp->max_rd = cmd->max_rd;
	qp->timeout_ns = 4096ull << cmd->timeout;
	qp->retry_cnt = cmd->retry_cnt;
	qp->rnr_retry = cmd->rnr_retry;
	qp->sq.retries = cmd->retry_cnt;
	qp->sq.rnrs = cmd->rnr_retry;
	qp->sq.psn = psn;
	qp->sq.psn_max = psn;
	qp->sq.psn_una = psn;
	unic_sched_send(nic, unic_qp_index(nic, qp)); /* posted before */
	return 0;
}

static int to_reset(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	if (has_pending_io(qp))
		return -UNIC_EBUSY;
	stop_qp(nic, qp, NULL);
	unic_sched_drop(nic, unic_qp_index(nic, qp));
	unic_rq_sweep_forget(nic, unic_qp_index(nic, qp));
	forget_events(nic, qp);
	set_state(nic, qp, UNIC_QPS_RESET, 0);
	reset_transport(nic, qp);
	return 0;
}

static int advance_state(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 const struct unic_cmd_qp_modify *cmd, uint32_t from)
{
	int r;

	if (unic_qp_state(qp) != from)
		return -UNIC_ESTATE;
	if (cmd->state == UNIC_QPS_INIT) {
		r = to_init(qp, cmd);
	} else if (cmd->state == UNIC_QPS_RTR) {
		r = to_rtr(nic, qp, cmd);
	} else {
		r = to_rts(nic, qp, cmd);
	}
	if (r)
		return r;
	set_state(nic, qp, cmd->state, 0);
	unic_rq_ahead_want(nic, qp); /* posted before */
	return 0;
}

int unic_qp_modify(struct unic_transport *nic,
		   const struct unic_cmd_qp_modify *cmd)
{
	struct unic_qp_ctx *qp =
		unic_qp_by_number(nic, unic_from_le32(cmd->qpn));

	if (!qp || qp->proc != unic_from_le32(cmd->proc) || qp->dying)
		return -UNIC_ENOQP;
	switch (cmd->state) {
	case UNIC_QPS_RESET:
		return to_reset(nic, qp);
	case UNIC_QPS_ERR:
		if (qp->state == UNIC_QPS_RESET)
			return -UNIC_ESTATE;
		enter_error(nic, qp, UNIC_WC_SUCCESS, NULL);
		return 0;
	case UNIC_QPS_INIT:
	case UNIC_QPS_RTR:
	case UNIC_QPS_RTS:
		return advance_state(nic, qp, cmd, cmd->state - 1u);
	default:
		return -UNIC_EINVAL;
	}
}

/* ------------------------------------------------------------ doorbells */

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

void unic_qp_doorbell_sq(struct unic_transport *nic, uint32_t idx,
			 uint32_t tail)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	struct unic_sq *sq = &qp->sq;

	UNIC_IN_REGISTER(qp);
	UNIC_IN_REGISTER(sq);
	if (idx >= UNIC_QPS || !qp->used || qp->dying)
		return;
	if (unlikely(!tail_ok(tail, sq->tail, sq->una, sq->mask))) {
		bad_doorbell(nic, qp, UNIC_DB_SQ, tail);
		return;
	}
	sq->tail = tail;
	if (qp->on & UNIC_ON_SEND)
		return;
	if (qp->state == UNIC_QPS_RTS || qp->state == UNIC_QPS_ERR ||
	    unic_qp_sends(qp))
		unic_sched_send(nic, (uint16_t)idx);
}

void unic_qp_doorbell_rq(struct unic_transport *nic, uint32_t idx,
			 uint32_t tail)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	struct unic_rq *rq = &qp->rq;

	if (idx >= UNIC_QPS || !qp->used || qp->dying)
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

uint64_t unic_qp_timers(struct unic_transport *nic)
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
	nic->chores = unic_rq_sweep_due(nic) || qps->evts_due ||
		      nic->cqs.evts_due || unic_rq_ahead_due(nic) ||
		      nic->parked.ready || nic->mrs.draw_in ||
		      unic_cut_due(nic);
	return worked;
}

static __attribute__((noinline)) bool run_qp_work(struct unic_transport *nic)
{
	bool worked = false;

	if (likely(nic->sched.work != 0))
		worked = unic_sched_run(nic);
	if (unlikely(nic->chores))
		worked |= do_chores(nic);
	if (!worked && nic->timers_ns > nic->now_ns + BLOCKED_NS)
		nic->timers_ns = nic->now_ns + BLOCKED_NS;
	return worked;
}

bool unic_qp_poll(struct unic_transport *nic)
{
	if (!(nic->sched.work | nic->chores))
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
