/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* srq.c - see srq.h. */
#include "srq.h"

#include "region/region.h"
#include "upcall.h"

static void undo_srq_done(struct unic_call *call)
{
	unic_req_status(unic_req_of(call), UNIC_CTL_ST_NO_MEMORY);
}

/* The NIC made queue @id, for which the host has no memory. */
static void undo_srq(struct unic_req *req, unic_le32 id)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(req->slot), .id = id };

	unic_req_send(req, UNIC_CMD_SRQ_DESTROY, &cmd, undo_srq_done);
}

static void create_srq_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_status(call);
	struct unic_ctl_queue_reply reply = { 0 };
	struct unic_ctl_srq_create r;
	struct unic_cpl_obj cpl;
	struct unic_hsrq *srq;

	if (status) {
		unic_req_status(req, status);
		return;
	}
	memcpy(&cpl, call->cpl, sizeof(cpl));
	memcpy(&r, req->rec, sizeof(r));
	srq = unic_req_obj_new(req, UNIC_OBJ_SRQ, sizeof(*srq));
	if (!srq) {
		undo_srq(req, cpl.id);
		return;
	}
	srq->srq = unic_from_le32(cpl.id);
	srq->user = unic_from_le32(r.user);
	reply.id = unic_to_le32(srq->obj.id);
	reply.number = cpl.id;
	unic_req_answer(req, UNIC_ST_OK, &reply, NULL, 0);
}

static uint32_t build_srq_command(struct unic_req *req,
				  struct unic_cmd_srq_create *cmd)
{
	struct unic_host *host = req->host;
	struct unic_ctl_srq_create r;
	uint32_t stag, pd;

	if (!(host->features & UNIC_FEAT_SRQ) || host->proc[req->slot].keep)
		return UNIC_CTL_ST_UNSUPPORTED;
	memcpy(&r, req->rec, sizeof(r));
	if (!unic_region_stag(host, unic_from_le32(r.mr), unic_req_owner(req),
			      &stag, &pd))
		return UNIC_ST_NO_MR;
	*cmd = (struct unic_cmd_srq_create){
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(stag),
		.iova = r.iova,
		.slots = r.slots,
		.db_index = r.db_index,
	};
	return unic_req_room(req, UNIC_OBJ_SRQ);
}

void unic_queue_srq_create(struct unic_req *req)
{
	struct unic_cmd_srq_create cmd;
	uint32_t status = build_srq_command(req, &cmd);

	unic_req_send_if(req, status, UNIC_CMD_SRQ_CREATE, &cmd,
			 create_srq_done);
}

void unic_queue_srq_modify(struct unic_req *req)
{
	struct unic_cmd_srq_modify cmd = { .proc = unic_to_le32(req->slot) };
	struct unic_ctl_srq_modify r;
	struct unic_hsrq *srq;

	memcpy(&r, req->rec, sizeof(r));
	srq = unic_req_obj_get(req, unic_from_le32(r.id), UNIC_OBJ_SRQ);
	if (!srq) {
		unic_req_status(req, UNIC_ST_NO_SRQ);
		return;
	}
	cmd.id = unic_to_le32(srq->srq);
	cmd.limit = r.limit;
	unic_req_send(req, UNIC_CMD_SRQ_MODIFY, &cmd, unic_req_done_status);
}

static void destroy_srq_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_hsrq *srq = unic_req_obj_get(req, req->id, UNIC_OBJ_SRQ);
	uint32_t status = unic_call_status(call);

	if (srq && !status)
		unic_obj_free(&req->host->objects, &srq->obj);
	unic_req_status(req, status);
}

void unic_queue_srq_destroy(struct unic_req *req)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(req->slot) };
	struct unic_hsrq *srq;

	req->id = unic_req_obj_id(req);
	srq = unic_req_obj_get(req, req->id, UNIC_OBJ_SRQ);
	if (!srq) {
		unic_req_status(req, UNIC_ST_NO_SRQ);
		return;
	}
	cmd.id = unic_to_le32(srq->srq);
	unic_req_send(req, UNIC_CMD_SRQ_DESTROY, &cmd, destroy_srq_done);
}

uint32_t unic_srq_share(struct unic_host *host, uint32_t owner,
			struct unic_cmd_qp_create *cmd)
{
	uint64_t id = unic_from_le64(cmd->rq_iova);
	struct unic_hsrq *srq;

	if (id > UINT32_MAX)
		return UNIC_ST_NO_SRQ;
	srq = unic_obj_get(&host->objects, (uint32_t)id, UNIC_OBJ_SRQ, owner);
	if (!srq)
		return UNIC_ST_NO_SRQ;
	cmd->rq_iova = unic_to_le64(0);
	cmd->srq = unic_to_le32(1 + srq->srq);
	return UNIC_ST_OK;
}

void unic_srq_event(struct unic_host *host, const struct unic_evt_obj *evt)
{
	bool failed = evt->hdr.type == UNIC_EVT_SRQ_ERROR;
	struct unic_hsrq *srq;
	uint32_t at = 0;

	do {
		srq = unic_obj_next(&host->objects, &at, UNIC_OBJ_SRQ,
				    UNIC_OBJ_ANYONE);
	} while (srq && srq->srq != unic_from_le32(evt->id));
	if (!srq)
		return;
	srq->failed |= failed;
	unic_upcall_send_obj(host, srq->obj.owner,
			     failed ? UNIC_UP_SRQ_ERROR : UNIC_UP_SRQ_LIMIT,
			     srq->obj.id, srq->user,
			     unic_from_le32(evt->detail));
}

void unic_srq_row(const struct unic_obj *obj, struct unic_ctl_object *row)
{
	const struct unic_hsrq *srq = (const void *)obj;

	row->user = unic_to_le32(srq->user);
	row->state = unic_to_le32(srq->failed);
	row->number = unic_to_le32(srq->srq);
}
