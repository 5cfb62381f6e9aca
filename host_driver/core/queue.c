/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * queue.c - protection domains, completion queues and queue pairs: processes use ids of
 * the host, the NIC uses its table indices.
 */
#include "queue.h"

#include "queue_token.h"
#include "region/region.h"
#include "srq.h"
#include "upcall.h"
#include "unic_queue.h"

static void undo_done(struct unic_call *call)
{
	unic_req_status(unic_req_of(call), UNIC_CTL_ST_NO_MEMORY);
}

/* The NIC created object @id, for which the host has no memory: destroy it on the NIC. */
static void undo_create(struct unic_req *req, uint8_t opcode, uint32_t id)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(req->slot),
				    .id = unic_to_le32(id) };

	unic_req_send(req, opcode, &cmd, undo_done);
}

/* -------------------------------------------------------------------- PDs */

static void pd_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_status(call);
	struct unic_ctl_id_reply r = { 0 };
	struct unic_cpl_pd cpl;
	struct unic_hpd *pd;

	if (status) {
		unic_req_status(req, status);
		return;
	}
	memcpy(&cpl, call->cpl, sizeof(cpl));
	pd = unic_req_obj_new(req, UNIC_OBJ_PD, sizeof(*pd));
	if (!pd) {
		undo_create(req, UNIC_CMD_PD_FREE, unic_from_le32(cpl.pd));
		return;
	}
	pd->pd = unic_from_le32(cpl.pd);
	unic_journal_put(req->host, &pd->obj, req->rec, 0, 0);
	r.id = unic_to_le32(pd->obj.id);
	unic_req_answer(req, UNIC_ST_OK, &r, NULL, 0);
}

void unic_queue_pd_alloc(struct unic_req *req)
{
	struct unic_cmd_pd cmd = { .proc = unic_to_le32(req->slot) };
	uint32_t status = unic_req_room(req, UNIC_OBJ_PD);

	if (status) {
		unic_req_status(req, status);
		return;
	}
	if (req->client->kernel)
		cmd.flags = unic_to_le32(UNIC_PD_PHYSICAL);
	unic_req_send(req, UNIC_CMD_PD_ALLOC, &cmd, pd_done);
}

/* call->done of commands that end an object and complete at once. */
static void end_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_status(call);
	struct unic_obj *obj;
	uint32_t type;

	for (type = UNIC_OBJ_PD; type <= UNIC_OBJ_QP && !status; type++) {
		obj = unic_req_obj_get(req, req->id, (enum unic_obj_type)type);
		if (obj) {
			unic_obj_free(&req->host->objects, obj);
			break;
		}
	}
	unic_req_status(req, status);
}

void unic_queue_pd_free(struct unic_req *req)
{
	struct unic_cmd_pd cmd = { .proc = unic_to_le32(req->slot) };
	struct unic_hpd *pd;

	req->id = unic_req_obj_id(req);
	pd = unic_req_obj_get(req, req->id, UNIC_OBJ_PD);
	if (!pd) {
		unic_req_status(req, UNIC_ST_NO_PD);
		return;
	}
	cmd.pd = unic_to_le32(pd->pd);
	unic_req_send(req, UNIC_CMD_PD_FREE, &cmd, end_done);
}

/* ---------------------------------------------------------------- CQs, QPs */

static void answer_queue(struct unic_req *req, uint32_t id, uint32_t number)
{
	struct unic_ctl_queue_reply r = {
		.id = unic_to_le32(id),
		.number = unic_to_le32(number),
	};

	unic_req_answer(req, UNIC_ST_OK, &r, NULL, 0);
}

static uint32_t cpl_id(const struct unic_call *call)
{
	struct unic_cpl_obj cpl;

	memcpy(&cpl, call->cpl, sizeof(cpl));
	return unic_from_le32(cpl.id);
}

static void cq_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_status(call);
	struct unic_ctl_cq_create r;
	struct unic_hcq *cq;

	if (status) {
		unic_req_status(req, status);
		return;
	}
	memcpy(&r, req->rec, sizeof(r));
	cq = unic_req_obj_new(req, UNIC_OBJ_CQ, sizeof(*cq));
	if (!cq) {
		undo_create(req, UNIC_CMD_CQ_DESTROY, cpl_id(call));
		return;
	}
	cq->cq = cpl_id(call);
	cq->user = unic_from_le32(r.user);
	memcpy(cq->made, req->rec, sizeof(cq->made));
	unic_journal_put(req->host, &cq->obj, cq->made, 0, 0);
	answer_queue(req, cq->obj.id, cq->cq);
}

uint32_t unic_queue_cq_command(struct unic_host *host, uint32_t owner,
			       const uint64_t *made,
			       struct unic_cmd_cq_create *cmd)
{
	struct unic_ctl_cq_create r;
	uint32_t stag, pd;

	memcpy(&r, made, sizeof(r));
	if (!unic_region_stag(host, unic_from_le32(r.mr), owner, &stag, &pd))
		return UNIC_ST_NO_MR;
	*cmd = (struct unic_cmd_cq_create){
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(stag),
		.iova = r.iova,
		.entries = r.entries,
		.db_index = r.db_index,
	};
	return UNIC_ST_OK;
}

void unic_queue_cq_create(struct unic_req *req)
{
	struct unic_cmd_cq_create cmd;
	uint32_t status = unic_queue_cq_command(req->host, unic_req_owner(req),
						req->rec, &cmd);

	if (!status)
		status = unic_req_room(req, UNIC_OBJ_CQ);
	unic_req_send_if(req, status, UNIC_CMD_CQ_CREATE, &cmd, cq_done);
}

void unic_queue_cq_destroy(struct unic_req *req)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(req->slot) };
	struct unic_hcq *cq;

	req->id = unic_req_obj_id(req);
	cq = unic_req_obj_get(req, req->id, UNIC_OBJ_CQ);
	if (!cq) {
		unic_req_status(req, UNIC_ST_NO_CQ);
		return;
	}
	cmd.id = unic_to_le32(cq->cq);
	unic_req_send(req, UNIC_CMD_CQ_DESTROY, &cmd, end_done);
}

static void qp_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_support(call); /* of its type */
	struct unic_ctl_qp_create r;
	struct unic_hqp *qp;

	if (status) {
		unic_req_status(req, status);
		return;
	}
	memcpy(&r, req->rec, sizeof(r));
	qp = unic_req_obj_new(req, UNIC_OBJ_QP, sizeof(*qp));
	if (!qp) {
		undo_create(req, UNIC_CMD_QP_DESTROY, cpl_id(call));
		return;
	}
	qp->qpn = cpl_id(call);
	qp->user = unic_from_le32(r.user);
	memcpy(qp->made, req->rec, sizeof(qp->made));
	unic_journal_put(req->host, &qp->obj, qp->made, qp->user, 0);
	answer_queue(req, qp->obj.id, qp->qpn);
}

uint32_t unic_queue_qp_command(struct unic_host *host, uint32_t owner,
			       const uint64_t *made,
			       struct unic_cmd_qp_create *cmd)
{
	struct unic_ctl_qp_create r;
	uint32_t stag, region_pd;
	struct unic_hcq *send, *recv;
	struct unic_hpd *pd;

	memcpy(&r, made, sizeof(r));
	send = unic_obj_get(&host->objects, unic_from_le32(r.send_cq),
			    UNIC_OBJ_CQ, owner);
	recv = unic_obj_get(&host->objects, unic_from_le32(r.recv_cq),
			    UNIC_OBJ_CQ, owner);
	pd = unic_obj_get(&host->objects, unic_from_le32(r.pd), UNIC_OBJ_PD,
			  owner);
	if (!send || !recv)
		return UNIC_ST_NO_CQ;
	if (!unic_region_stag(host, unic_from_le32(r.mr), owner, &stag,
			      &region_pd))
		return UNIC_ST_NO_MR;
	if (!pd || pd->pd != region_pd)
		return UNIC_ST_NO_PD;
	if (r.flags & ~UNIC_CTL_QP_SRQ)
		return UNIC_ST_INVALID;
	*cmd = (struct unic_cmd_qp_create){
		.pd = unic_to_le32(pd->pd),
		.stag = unic_to_le32(stag),
		.send_cq = unic_to_le32(send->cq),
		.recv_cq = unic_to_le32(recv->cq),
		.sq_iova = r.sq_iova,
		.rq_iova = r.rq_iova,
		.sq_slots = r.sq_slots,
		.rq_slots = r.rq_slots,
		.rq_class = r.rq_class,
		.db_index = unic_to_le32(r.db_index),
		.type = r.type,
		.miss = r.miss,
	};
	return r.flags ? unic_srq_share(host, owner, cmd) : UNIC_ST_OK;
}

uint8_t unic_queue_qp_type(const struct unic_hqp *qp)
{
	struct unic_ctl_qp_create r;

	memcpy(&r, qp->made, sizeof(r));
	return r.type;
}

void unic_queue_qp_create(struct unic_req *req)
{
	struct unic_cmd_qp_create cmd;
	uint32_t status = unic_queue_qp_command(req->host, unic_req_owner(req),
						req->rec, &cmd);

	if (!status)
		status = unic_req_room(req, UNIC_OBJ_QP);
	unic_req_send_if(req, status, UNIC_CMD_QP_CREATE, &cmd, qp_done);
}

void unic_queue_qp_query(struct unic_req *req)
{
	struct unic_ctl_queue_reply r = { 0 };
	struct unic_hqp *qp =
		unic_req_obj_get(req, unic_req_obj_id(req), UNIC_OBJ_QP);

	if (!qp) {
		unic_req_status(req, UNIC_ST_NO_QP);
		return;
	}
	r.id = unic_to_le32(qp->obj.id);
	r.number = unic_to_le32(qp->qpn);
	r.state = unic_to_le32(qp->state);
	unic_req_answer(req, UNIC_ST_OK, &r, NULL, 0);
}

void unic_queue_modify(struct unic_req *req, const struct unic_hqp *qp,
		       struct unic_cmd_qp_modify *cmd,
		       void (*done)(struct unic_call *call))
{
	cmd->proc = unic_to_le32(qp->obj.owner);
	cmd->qpn = unic_to_le32(qp->qpn);
	unic_req_send(req, UNIC_CMD_QP_MODIFY, cmd, done);
}

static void modify_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_hqp *qp = unic_req_obj_get(req, req->id, UNIC_OBJ_QP);
	struct unic_ctl_qp_modify r;

	memcpy(&r, req->rec, sizeof(r));
	if (qp && !unic_call_status(call)) {
		qp->state = r.state;
		qp->restored = false;
	}
	unic_req_status(req, unic_call_status(call));
}

static void modify_send(struct unic_req *req, uint32_t status)
{
	struct unic_hqp *qp = unic_req_obj_get(req, req->id, UNIC_OBJ_QP);
	struct unic_ctl_qp_modify r;
	struct unic_cmd_qp_modify cmd = { 0 };

	if (status || !qp) {
		unic_req_status(req, status ? status : UNIC_ST_NO_QP);
		return;
	}
	memcpy(&r, req->rec, sizeof(r));
	cmd.state = r.state;
	cmd.mtu_shift = r.mtu_shift;
	cmd.rnr_timer = r.rnr_timer;
	cmd.max_dest_rd = r.max_dest_rd;
	cmd.max_rd = r.max_rd;
	cmd.timeout = r.timeout;
	cmd.retry_cnt = r.retry_cnt;
	cmd.rnr_retry = r.rnr_retry;
	cmd.dest_qpn = r.dest_qpn;
	cmd.rq_psn = r.rq_psn;
	cmd.dest_ipv4 = r.dest_ipv4;
	memcpy(cmd.dest_mac, req->mac, sizeof(cmd.dest_mac));
	cmd.rights = r.rights;
	cmd.vendor = r.vendor;
	cmd.sq_psn = r.sq_psn;
	cmd.qkey = r.qkey;
	unic_queue_modify(req, qp, &cmd, modify_done);
}

void unic_queue_qp_modify(struct unic_req *req)
{
	static const uint8_t none[6];
	struct unic_ctl_qp_modify r;
	struct unic_hqp *qp;

	memcpy(&r, req->rec, sizeof(r));
	req->id = unic_from_le32(r.id);
	qp = unic_req_obj_get(req, req->id, UNIC_OBJ_QP);
	if (!qp || qp->conn || (qp->restored && r.state != UNIC_QPS_RESET)) {
		unic_req_status(req, qp ? UNIC_ST_STATE : UNIC_ST_NO_QP);
		return;
	}
	memcpy(req->mac, r.dest_mac, sizeof(req->mac));
	if (r.state == UNIC_QPS_RTR && unic_queue_qp_type(qp) != UNIC_QPT_UD &&
	    !memcmp(r.dest_mac, none, sizeof(none)))
		unic_req_arp(req, unic_from_le32(r.dest_ipv4), modify_send);
	else
		modify_send(req, UNIC_ST_OK);
}

static void destroy_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_hqp *qp = unic_req_obj_get(req, req->id, UNIC_OBJ_QP);
	uint32_t status = unic_call_status(call);

	if (status == UNIC_ST_PENDING && qp)
		return; /* QP_GONE follows */
	if (qp)
		qp->waiter = NULL;
	if (qp && !status)
		unic_obj_free(&req->host->objects, &qp->obj);
	unic_req_status(req, qp ? status : UNIC_ST_OK);
}

void unic_queue_qp_destroy(struct unic_req *req)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(req->slot) };
	struct unic_hqp *qp;

	req->id = unic_req_obj_id(req);
	qp = unic_req_obj_get(req, req->id, UNIC_OBJ_QP);
	if (!qp || qp->waiter) {
		unic_req_status(req, qp ? UNIC_ST_BUSY : UNIC_ST_NO_QP);
		return;
	}
	qp->waiter = req;
	cmd.id = unic_to_le32(qp->qpn);
	unic_req_send(req, UNIC_CMD_QP_DESTROY, &cmd, destroy_done);
}

/* ------------------------------------------------------------------ events */

static struct unic_hqp *qp_of(struct unic_host *host, uint32_t qpn)
{
	struct unic_hqp *qp;
	uint32_t at = 0;

	while ((qp = unic_obj_next(&host->objects, &at, UNIC_OBJ_QP,
				   UNIC_OBJ_ANYONE)))
		if (qp->qpn == qpn)
			return qp;
	return NULL;
}

static struct unic_hcq *cq_of(struct unic_host *host, uint32_t number)
{
	struct unic_hcq *cq;
	uint32_t at = 0;

	while ((cq = unic_obj_next(&host->objects, &at, UNIC_OBJ_CQ,
				   UNIC_OBJ_ANYONE)))
		if (cq->cq == number)
			return cq;
	return NULL;
}

static void qp_gone(struct unic_host *host, struct unic_hqp *qp)
{
	struct unic_req *waiter = qp->waiter;

	unic_obj_free(&host->objects, &qp->obj);
	if (waiter->call.state == UNIC_CALL_IDLE)
		unic_req_status(waiter, UNIC_ST_OK);
	else /* QP_GONE before the completion */
		host->audits++;
}

static void db_error(struct unic_host *host, uint32_t owner, uint32_t word)
{
	struct unic_cmd_db_ack cmd = { .proc = unic_to_le32(owner) };
	struct unic_req *req;

	if (owner >= host->config.slots ||
	    host->proc[owner].state != UNIC_HPROC_LIVE)
		return;
	unic_upcall_send_obj(host, owner, UNIC_UP_DB_ERROR, 0, 0, word);
	req = unic_req_new(host, owner);
	if (req)
		unic_req_send(req, UNIC_CMD_DB_ACK, &cmd, unic_req_done_free);
	else
		unic_os_log(host->os, UNIC_LOG_ERROR, "out of memory");
}

void unic_queue_event(struct unic_host *host, const struct unic_evt_obj *evt)
{
	uint32_t id = unic_from_le32(evt->id);
	uint32_t detail = unic_from_le32(evt->detail);
	struct unic_hqp *qp = qp_of(host, id);
	struct unic_hcq *cq = cq_of(host, id);

	switch (evt->hdr.type) {
	case UNIC_EVT_QP_GONE:
		if (qp && qp->waiter)
			qp_gone(host, qp);
		return;
	case UNIC_EVT_QP_ERROR:
		if (qp) {
			qp->state = UNIC_QPS_ERR;
			unic_upcall_send_obj(host, qp->obj.owner,
					     UNIC_UP_QP_ERROR, qp->obj.id,
					     qp->user, detail);
		}
		return;
	case UNIC_EVT_LAST_WQE:
		if (qp)
			unic_upcall_send_obj(host, qp->obj.owner,
					     UNIC_UP_LAST_WQE, qp->obj.id,
					     qp->user, 0);
		return;
	case UNIC_EVT_CQ_ERROR:
		if (cq) {
			cq->overrun = true;
			unic_upcall_send_obj(host, cq->obj.owner,
					     UNIC_UP_CQ_ERROR, cq->obj.id,
					     cq->user, detail);
		}
		return;
	default:
		db_error(host, unic_from_le16(evt->hdr.proc), id);
	}
}

void unic_queue_row(const struct unic_obj *obj, struct unic_ctl_object *row)
{
	const struct unic_htoken *t = (const void *)obj;
	const struct unic_hqp *qp = (const void *)obj;
	const struct unic_hcq *cq = (const void *)obj;

	switch (obj->type) {
	case UNIC_OBJ_CQ:
		row->user = unic_to_le32(cq->user);
		row->state = unic_to_le32(cq->overrun);
		row->number = unic_to_le32(cq->cq);
		break;
	case UNIC_OBJ_QP:
		row->user = unic_to_le32(qp->user);
		row->state = unic_to_le32(qp->state);
		row->number = unic_to_le32(qp->qpn);
		row->of = unic_to_le32(qp->conn);
		break;
	case UNIC_OBJ_TOKEN:
		row->user = unic_to_le32(t->user);
		row->number = unic_to_le32(t->index);
		break;
	default: /* a PD */
		break;
	}
}

/* -------------------------------------------------------------------- ends */

void unic_queue_drop(struct unic_host *host, uint32_t owner, uint32_t status)
{
	struct unic_htoken *t;
	struct unic_hqp *qp;
	struct unic_obj *obj;
	uint32_t at = 0;

	while ((t = unic_obj_next(&host->objects, &at, UNIC_OBJ_TOKEN, owner)))
		unic_queue_token_free(host, t, status);
	at = 0;
	while ((qp = unic_obj_next(&host->objects, &at, UNIC_OBJ_QP, owner))) {
		struct unic_req *waiter = qp->waiter;

		unic_obj_free(&host->objects, &qp->obj);
		if (waiter && waiter->call.state == UNIC_CALL_IDLE)
			unic_req_status(waiter, status);
	}
	at = 0;
	while ((obj = unic_obj_next(&host->objects, &at, 0, owner)))
		if (obj->type == UNIC_OBJ_PD || obj->type == UNIC_OBJ_CQ ||
		    obj->type == UNIC_OBJ_SRQ)
			unic_obj_free(&host->objects, obj);
}

/* ------------------------------------------------------------------ recall */

static bool recall_queue(struct unic_host *host, const struct unic_obj_note *n)
{
	struct unic_ctl_cq_create r;
	struct unic_hcq *cq;
	struct unic_hqp *qp;

	if (n->type == UNIC_OBJ_CQ) {
		cq = unic_obj_recall(&host->objects, n, sizeof(*cq));
		if (!cq)
			return false;
		memcpy(&r, n->made, sizeof(r));
		memcpy(cq->made, n->made, sizeof(cq->made));
		cq->user = unic_from_le32(r.user);
		cq->cq = UNIC_LOST;
		return true;
	}
	qp = unic_obj_recall(&host->objects, n, sizeof(*qp));
	if (!qp)
		return false;
	memcpy(qp->made, n->made, sizeof(qp->made));
	qp->user = n->a;
	qp->qpn = UNIC_LOST;
	return true;
}

bool unic_queue_recall(struct unic_host *host, const struct unic_obj_note *n)
{
	struct unic_htoken *t;
	struct unic_hpd *pd;

	switch (n->type) {
	case UNIC_OBJ_PD:
		pd = unic_obj_recall(&host->objects, n, sizeof(*pd));
		if (pd)
			pd->pd = UNIC_LOST;
		return pd;
	case UNIC_OBJ_TOKEN: /* ended: unic_queue_token_reset() */
		t = unic_obj_recall(&host->objects, n, sizeof(*t));
		if (t) {
			t->index = n->a;
			t->user = n->b;
		}
		return t;
	default:
		return recall_queue(host, n);
	}
}
