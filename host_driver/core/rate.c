/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rate.c - see rate.h. */
#include "rate.h"

#include "proc.h"

/* The NIC accepted it, or tells. */
static void rate_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_status(call);
	struct unic_ctl_rate_reply r = { 0 };
	struct unic_hproc *proc;
	struct unic_cmd_rate cmd;
	struct unic_cpl_rate cpl;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	memcpy(&cpl, call->cpl, sizeof(cpl));
	if (status) {
		unic_req_status(req, status);
		return;
	}
	proc = &req->host->proc[unic_from_le32(cmd.proc)];
	if (unic_from_le32(cmd.flags) && !unic_from_le32(cmd.qpn) &&
	    proc->state == UNIC_HPROC_LIVE) {
		proc->rate = unic_from_le64(cpl.rate);
		proc->burst = unic_from_le32(cpl.burst);
		unic_journal_proc(req->host, unic_from_le32(cmd.proc));
	}
	r.rate = cpl.rate;
	r.burst = cpl.burst;
	r.held = cpl.held;
	unic_req_answer(req, UNIC_ST_OK, &r, NULL, 0);
}

/* The command for @slot that @req asks for, with @more flags. */
static void rate_send(struct unic_req *req, uint32_t slot, uint32_t qpn,
		      uint32_t more)
{
	struct unic_cmd_rate cmd = { .proc = unic_to_le32(slot),
				     .qpn = unic_to_le32(qpn) };
	struct unic_ctl_rate r;
	uint32_t flags;

	memcpy(&r, req->rec, sizeof(r));
	flags = unic_from_le32(r.flags);
	if (flags & ~UNIC_RATE_SET) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	cmd.rate = r.rate;
	cmd.burst = r.burst;
	cmd.flags = unic_to_le32(flags ? flags | more : 0);
	unic_req_send(req, UNIC_CMD_RATE, &cmd, rate_done);
}

static bool is_supported(struct unic_req *req)
{
	if (req->host->features & UNIC_FEAT_RATES)
		return true;
	unic_req_status(req, UNIC_CTL_ST_UNSUPPORTED);
	return false;
}

void unic_rate_proc(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_rate r;
	uint32_t slot;

	memcpy(&r, req->rec, sizeof(r));
	slot = unic_from_le32(r.id);
	if (!is_supported(req))
		return;
	if (slot >= host->config.slots ||
	    host->proc[slot].state != UNIC_HPROC_LIVE)
		unic_req_status(req, UNIC_ST_NO_PROC);
	else
		rate_send(req, slot, 0, 0);
}

void unic_rate_own(struct unic_req *req)
{
	const struct unic_hqp *qp;
	struct unic_ctl_rate r;
	uint32_t id;

	memcpy(&r, req->rec, sizeof(r));
	id = unic_from_le32(r.id);
	if (!is_supported(req))
		return;
	if (!id) {
		rate_send(req, req->slot, 0, UNIC_RATE_LOWER);
		return;
	}
	qp = unic_req_obj_get(req, id, UNIC_OBJ_QP);
	if (!qp || qp->qpn == UNIC_LOST)
		unic_req_status(req, UNIC_ST_NO_QP);
	else
		rate_send(req, req->slot, qp->qpn, 0);
}
