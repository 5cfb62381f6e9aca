/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* qp_modify.c - see qp_modify.h. */
#include "transport/qp_modify.h"

#include <string.h>

#include "memory/access.h"
#include "transport/qp_number.h"
#include "transport/rq.h"
#include "transport/transport.h"
#include "transport/tx.h"

#define MTU_SHIFT_MIN 8u
#define MTU_SHIFT_MAX 12u

static bool slots_ok(uint32_t n)
{
	return n >= 2 && n <= UNIC_QP_SLOTS && !(n & (n - 1));
}

/* The receive ring of a queue pair is its own, or there is none. */
static bool receives_ok(const struct unic_cmd_qp_create *cmd)
{
	if (!cmd->srq)
		return slots_ok(unic_from_le16(cmd->rq_slots));
	return UNIC_SRQS && !cmd->rq_slots && !cmd->rq_iova && !cmd->rq_class &&
	       cmd->miss != UNIC_QPM_SUBSTITUTE;
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
	struct unic_xlate piece;
	int r;

	if (!slots_ok(unic_from_le16(cmd->sq_slots)) || !receives_ok(cmd) ||
	    ((sq | rq) & 63) ||
	    unic_from_le32(cmd->db_index) >= UNIC_BOX_DB_ROWS ||
	    cmd->type > UNIC_QPT_UD || cmd->miss > UNIC_QPM_BOUNCE ||
	    (!cmd->type && cmd->miss) || cmd->rsvd0[0] || cmd->rsvd0[1])
		return -UNIC_EINVAL;
	r = unic_access(&nic->memory, stag, pd, 0, sq,
			unic_from_le16(cmd->sq_slots) * UNIC_SLOT_BYTES,
			&piece);
	if (!r && !cmd->srq)
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
	uint16_t srq = qp->rq.srq;

	memset(&qp->rsp, 0, sizeof(qp->rsp));
	memset(qp->read, 0, sizeof(qp->read));
	memset(&qp->sq, 0, sizeof(qp->sq));
	memset(&qp->rq, 0, sizeof(qp->rq));
	if (UNIC_MARKS_LAST)
		memset(qp->gone, 0, sizeof(qp->gone));
	qp->sq.iova = sq_iova;
	qp->sq.mask = sq_mask;
	qp->sq.timer_ns = UNIC_NEVER;
	qp->rq.iova = rq_iova;
	qp->rq.mask = rq_mask;
	qp->rq.class_bytes = class_bytes;
	qp->rq.srq = srq;
	qp->dest_ipv4 = 0;
	qp->dest_qpn = 0;
	qp->route_ns = 0;
	qp->bounced = false;
	qp->conn = ++nic->qps.conns;
	qp->state = UNIC_QPS_RESET;
}

/* Its number is the next one of its index; 0 and 1 are nobody's. */
static void init_qp(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    const struct unic_cmd_qp_create *cmd, uint32_t idx)
{
	uint32_t gen = qp->gen, number;

	do {
		number = unic_qp_number(nic, idx, ++gen);
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
	qp->rq.srq = (uint16_t)unic_from_le32(cmd->srq);
	if (UNIC_SRQS && qp->rq.srq)
		qp->rq.mask = UNIC_RQ_WINDOW - 1u; /* what it has of it */
	qp->type = cmd->type;
	qp->miss = cmd->miss;
	reset_transport(nic, qp);
	unic_qp_expect_nothing(qp);
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
	if (UNIC_SRQS && cmd->srq) {
		r = unic_srq_check(nic, proc, pd, unic_from_le32(cmd->srq));
		if (r)
			return r;
	}
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
	if (UNIC_SRQS && qp->rq.srq)
		unic_srq_get(nic, qp->rq.srq);
	unic_mr_queue_get(&nic->memory, mr);
	nic->mrs.pd[pd].users++;
	nic->procs.proc[proc].qps++;
	if (UNIC_METERS)
		unic_meter_qp(nic, (uint16_t)idx);
	return (int)qp->qpn;
}

/* --------------------------------------------------------------- states */

static int to_init(struct unic_qp_ctx *qp, const struct unic_cmd_qp_modify *cmd)
{
	uint8_t rights = UNIC_MR_REMOTE_READ | UNIC_MR_CHANGES;
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

/* True if an attribute of RTR beside the path MTU is not 0: they are about whom
 * the queue pair is connected with. */
static bool names_peer(const struct unic_cmd_qp_modify *cmd)
{
	static const uint8_t none[sizeof(cmd->dest_mac)];

	return cmd->dest_qpn || cmd->rq_psn || cmd->dest_ipv4 ||
	       memcmp(cmd->dest_mac, none, sizeof(none)) || cmd->rnr_timer ||
	       cmd->max_dest_rd || cmd->vendor;
}

/* True if each attribute of a transition to another state than @cmd's is 0. */
static bool others_are_0(const struct unic_cmd_qp_modify *cmd)
{
	bool init = cmd->rights || cmd->qkey;
	bool rtr = cmd->mtu_shift || names_peer(cmd);
	bool rts = cmd->max_rd || cmd->timeout || cmd->retry_cnt ||
		   cmd->rnr_retry || cmd->sq_psn;

	return (!init || cmd->state == UNIC_QPS_INIT) &&
	       (!rtr || cmd->state == UNIC_QPS_RTR) &&
	       (!rts || cmd->state == UNIC_QPS_RTS);
}

/* Frames of the least path MTU can be sent, from an address. */
static bool has_way(const struct unic_transport *nic)
{
	return nic->ipv4 && (1u << MTU_SHIFT_MIN) + UNIC_FRAME_OVERHEAD <=
				    nic->link.max_frame;
}

static bool mtu_ok(const struct unic_transport *nic,
		   const struct unic_qp_ctx *qp, uint32_t shift)
{
	return shift >= MTU_SHIFT_MIN && shift <= MTU_SHIFT_MAX &&
	       (1u << shift) + UNIC_FRAME_OVERHEAD <= nic->link.max_frame &&
	       (!qp->type || 1u << shift <= UNIC_MTU);
}

/* UNIC_PEER_REFUSED is one that is UNIC, too. */
static bool vendor_ok(uint8_t vendor, bool reliable)
{
	if (UNIC_TELL_REFUSED && vendor == (UNIC_PEER_UNIC | UNIC_PEER_REFUSED))
		return reliable;
	return vendor <= UNIC_PEER_UNIC * reliable;
}

/* Whom it is connected with. */
static bool peer_ok(const struct unic_qp_ctx *qp,
		    const struct unic_cmd_qp_modify *cmd)
{
	uint32_t dest = unic_from_le32(cmd->dest_qpn);
	bool reliable = !qp->type;

	if (qp->type == UNIC_QPT_UD) /* with nobody */
		return !names_peer(cmd);
	return cmd->rnr_timer <= 31u * reliable &&
	       cmd->max_dest_rd <= UNIC_QP_READS * reliable &&
	       vendor_ok(cmd->vendor, reliable) && dest >= 2 &&
	       dest <= UNIC_QPN_MASK && cmd->dest_ipv4 &&
	       !(cmd->dest_mac[0] & 1);
}

static int to_rtr(struct unic_transport *nic, struct unic_qp_ctx *qp,
		  const struct unic_cmd_qp_modify *cmd)
{
	uint32_t psn = unic_from_le32(cmd->rq_psn);

	if (!has_way(nic))
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
	if (unic_qp_has_pending_io(qp))
		return -UNIC_EBUSY;
	unic_qp_silence(nic, qp);
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
	unic_qp_set_state(nic, qp, cmd->state, 0);
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
	if (!others_are_0(cmd))
		return -UNIC_EINVAL;
	switch (cmd->state) {
	case UNIC_QPS_RESET:
		return to_reset(nic, qp);
	case UNIC_QPS_ERR:
		if (qp->state == UNIC_QPS_RESET)
			return -UNIC_ESTATE;
		unic_qp_error(nic, qp, UNIC_WC_SUCCESS);
		return 0;
	case UNIC_QPS_INIT:
	case UNIC_QPS_RTR:
	case UNIC_QPS_RTS:
		return advance_state(nic, qp, cmd, cmd->state - 1u);
	default:
		return -UNIC_EINVAL;
	}
}
