/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* queue_resize.c - see queue_resize.h. */
#include "queue_resize.h"

#include "region/region.h"
#include "request.h"

static void resize_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_support(call);
	struct unic_ctl_cq_resize_reply reply = { 0 };
	struct unic_cpl_cq_resize cpl;

	if (status) {
		unic_req_status(req, status);
		return;
	}
	memcpy(&cpl, call->cpl, sizeof(cpl));
	reply.records = cpl.records;
	unic_req_answer(req, UNIC_ST_OK, &reply, NULL, 0);
}

static uint32_t build_resize(struct unic_req *req,
			     struct unic_cmd_cq_resize *cmd)
{
	struct unic_ctl_cq_resize r;
	uint32_t stag, pd;
	struct unic_hcq *cq;

	memcpy(&r, req->rec, sizeof(r));
	cq = unic_req_obj_get(req, unic_from_le32(r.id), UNIC_OBJ_CQ);
	if (!cq)
		return UNIC_ST_NO_CQ;
	if (req->host->proc[req->slot].keep)
		return UNIC_CTL_ST_UNSUPPORTED;
	if (cq->overrun)
		return UNIC_ST_STATE;
	if (!unic_region_stag(req->host, unic_from_le32(r.mr),
			      unic_req_owner(req), &stag, &pd))
		return UNIC_ST_NO_MR;
	*cmd = (struct unic_cmd_cq_resize){
		.proc = unic_to_le32(req->slot),
		.id = unic_to_le32(cq->cq),
		.iova = r.iova,
		.stag = unic_to_le32(stag),
		.entries = r.entries,
	};
	return UNIC_ST_OK;
}

void unic_queue_cq_resize(struct unic_req *req)
{
	struct unic_cmd_cq_resize cmd;
	uint32_t status = build_resize(req, &cmd);

	unic_req_send_if(req, status, UNIC_CMD_CQ_RESIZE, &cmd, resize_done);
}
