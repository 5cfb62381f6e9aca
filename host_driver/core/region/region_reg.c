/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_reg.c - registration, waiting, deregistration, and the end of each: region.h. */
#include "region/region_reg.h"

#include "region/region_dereg.h"
#include "region/region_dma.h"
#include "region/region_held.h"
#include "region/region_pin.h"
#include "region/region_place.h"
#include "upcall.h"

/* ---------------------------------------------------------------- register */

static void end_cancel(struct unic_region *mr, uint32_t status)
{
	struct unic_req *cancel = mr->cancel;

	mr->cancel = NULL;
	if (cancel)
		unic_req_status(cancel, status);
}

/* Answer the MR_DEREG that waits for @mr, which has ended. */
static void end_dereg(struct unic_region *mr, uint32_t status)
{
	struct unic_req *dereg = mr->dereg;

	mr->dereg = NULL;
	if (dereg)
		unic_req_status(dereg, status);
}

static void answer_reg(struct unic_req *req, const struct unic_region *mr,
		       uint32_t status)
{
	struct unic_ctl_mr_reg_reply r = {
		.id = unic_to_le32(mr->obj.id),
		.stag = unic_to_le32(status ? 0 : mr->stag),
		.entries = unic_to_le32(mr->n_pages),
		.waited_us = unic_to_le32(mr->waited_us),
		.page_shift = mr->page_shift,
		.iova = unic_to_le64(mr->iova),
	};

	unic_req_answer(req, status, &r, NULL, 0);
}

/* The registration of @mr failed: free @mr and answer @req; NULL: send WAIT_ENDED. */
void unic_region_failed(struct unic_host *host, struct unic_region *mr,
			struct unic_req *req, uint32_t status)
{
	end_cancel(mr, UNIC_ST_NO_WAIT);
	end_dereg(mr, UNIC_ST_OK);
	if (!req)
		unic_region_upcall_wait(host, mr, UNIC_UP_WAIT_ENDED, status);
	mr->waiter = NULL;
	unic_region_forget(host, mr);
	if (req)
		unic_req_status(req, status);
}

static void reg_active(struct unic_host *host, struct unic_region *mr,
		       struct unic_req *req)
{
	struct unic_req *dereg = mr->dereg;

	mr->state = R_ACTIVE;
	unic_region_waiting(host, mr, false);
	mr->waiter = NULL;
	unic_journal_put(host, &mr->obj, mr->made, mr->stag, 0);
	end_cancel(mr, UNIC_ST_NO_WAIT);
	if (req)
		answer_reg(req, mr, UNIC_ST_OK);
	else
		unic_region_upcall_wait(host, mr, UNIC_UP_GRANTED, UNIC_ST_OK);
	mr->dereg = NULL;
	if (dereg)
		unic_region_dereg_for(dereg, mr);
}

static void fill_next(struct unic_req *req, struct unic_region *mr);

static void fill_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);
	struct unic_req *waiter;

	if (!mr ||
	    mr->state != R_FILLING) { /* its process or the epoch ended */
		unic_req_status(req, UNIC_CTL_ST_RESET);
		return;
	}
	waiter = mr->waiter;
	if (!status && req->progress < mr->n_pages) {
		fill_next(req, mr);
		return;
	}
	if (waiter != req)
		unic_req_free(req);
	if (!status) {
		reg_active(host, mr, waiter);
		return;
	}
	unic_region_send_dereg(host, mr);
	unic_region_failed(host, mr, waiter, status);
}

static void fill_next(struct unic_req *req, struct unic_region *mr)
{
	struct unic_cmd_mr_fill cmd;
	uint32_t status = unic_region_list(req, mr, &cmd);

	if (status) {
		struct unic_host *host = req->host;
		struct unic_req *waiter = mr->waiter;

		if (waiter != req)
			unic_req_free(req);
		unic_region_send_dereg(host, mr);
		unic_region_failed(host, mr, waiter, status);
		return;
	}
	unic_req_send(req, UNIC_CMD_MR_FILL, &cmd, fill_done);
}

#define LOAD_NS		100000ull /* until frames being loaded are tried again */
#define LOAD_GIVE_UP_NS 1000000000ull

/* Have unic_region_poll() pin @mr again. False: LOAD_GIVE_UP_NS are over. */
static bool schedule_load(struct unic_host *host, struct unic_region *mr)
{
	uint64_t now = unic_os_now_ns(host->os);

	if (!mr->load_until_ns)
		mr->load_until_ns = now + LOAD_GIVE_UP_NS;
	if (now >= mr->load_until_ns)
		return false;
	mr->loads = true;
	if (now + LOAD_NS < host->loads_ns)
		host->loads_ns = now + LOAD_NS;
	return true;
}

/* The entries of @mr are given back, for others. The frames may still be loaded: queue
 * @mr again, for what is left of its waiting time. */
static void wait_anew(struct unic_host *host, struct unic_region *mr)
{
	if (unic_region_has_wait_place(host, proc_of(host, mr)))
		unic_region_requeue(host, mr);
	else
		unic_region_failed(host, mr, mr->waiter, UNIC_ST_WAIT_FULL);
}

/* The NIC has made @mr in state LOADING: pin its frames, then fill it. @req is
 * mr->waiter or a request of the driver. */
static void load_pages(struct unic_req *req, struct unic_region *mr)
{
	struct unic_host *host = req->host;
	struct unic_req *waiter = mr->waiter;
	uint32_t status = mr->bus ? UNIC_ST_OK : unic_region_pin(host, mr);

	mr->state = R_FILLING;
	unic_region_waiting(host, mr, false);
	if (!status && !mr->bus &&
	    unic_frames_shift(&proc_of(host, mr)->frames, mr->va, mr->iova,
			      mr->length, mr->page_shift) != mr->page_shift)
		status = UNIC_CTL_ST_NOT_MAPPED; /* mapped anew since */
	if (!status) {
		fill_next(req, mr);
		return;
	}
	if (waiter != req)
		unic_req_free(req);
	if (status == UNIC_ST_BUSY && schedule_load(host, mr))
		return;
	unic_region_send_dereg(host, mr);
	if (status == UNIC_ST_BUSY && !mr->dereg)
		wait_anew(host, mr);
	else
		unic_region_failed(host, mr, waiter, status);
}

static void retry_load(struct unic_host *host, struct unic_region *mr)
{
	struct unic_req *req = mr->waiter;

	if (!req)
		req = unic_req_new(host, mr->obj.owner);
	if (!req) {
		host->loads_ns = unic_os_now_ns(host->os) + LOAD_NS;
		return;
	}
	mr->loads = false;
	req->id = mr->obj.id;
	load_pages(req, mr);
}

uint64_t unic_region_poll(struct unic_host *host, uint64_t now)
{
	struct unic_region *mr;
	uint32_t at = 0;

	if (now < host->loads_ns)
		return host->loads_ns;
	host->loads_ns = UINT64_MAX;
	while ((mr = unic_obj_next(&host->objects, &at, UNIC_OBJ_MR,
				   UNIC_OBJ_ANYONE)))
		if (mr->loads)
			retry_load(host, mr);
	return host->loads_ns;
}

static void cancel_done(struct unic_call *call);

static void send_cancel(struct unic_req *req, struct unic_region *mr)
{
	struct unic_cmd_wait_cancel cmd = { .wait = unic_to_le32(mr->wait) };

	req->id = mr->obj.id;
	unic_req_send(req, UNIC_CMD_WAIT_CANCEL, &cmd, cancel_done);
}

void unic_region_waits(struct unic_host *host, struct unic_region *mr)
{
	struct unic_req *cancel = mr->cancel;

	mr->cancel = NULL;
	if (!cancel && mr->dereg)
		cancel = unic_req_new(host, mr->obj.owner);
	if (cancel)
		send_cancel(cancel, mr);
}

static void reg_queued(struct unic_host *host, struct unic_region *mr)
{
	struct unic_req *req = mr->waiter;

	unic_region_unpin(host, mr);
	mr->state = R_WAITING;
	if (mr->async && req) {
		mr->waiter = NULL;
		answer_reg(req, mr, UNIC_ST_PENDING);
	}
	unic_region_waits(host, mr);
}

/* Answer a refused @req with the NIC's usage record, and free @mr. */
static void reg_refused(struct unic_req *req, struct unic_region *mr,
			uint32_t status)
{
	end_cancel(mr, UNIC_ST_NO_WAIT);
	unic_region_forget(req->host, mr);
	unic_region_refused(req, status);
}

static void reg_answered(struct unic_req *req)
{
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(&req->call);

	if (!mr) {
		unic_req_status(req, UNIC_CTL_ST_RESET);
		return;
	}
	unic_region_numbers(mr, &req->call);
	if (status == UNIC_ST_PENDING)
		reg_queued(req->host, mr);
	else if (status)
		reg_refused(req, mr, status);
	else if (req->call.list_bytes || mr->residency)
		reg_active(req->host, mr, req);
	else
		load_pages(req, mr);
}

/* Send held requests of @slot. A request that fails at once calls this again. */
static void resume_held(struct unic_host *host, uint32_t slot)
{
	struct unic_hproc *proc = &host->proc[slot];
	struct unic_req *req;

	if (proc->resumes)
		return;
	proc->resumes = true;
	while ((req = unic_region_next_held(host, slot))) {
		if (host->ready && req->client && unic_req_proc(req))
			unic_region_reg(req);
		else
			unic_req_status(req, UNIC_CTL_ST_RESET);
	}
	proc->resumes = false;
}

static void mr_reg_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	uint32_t slot = req->slot;

	unic_region_asked(req, false);
	reg_answered(req);
	resume_held(host, slot);
}

void unic_region_send_reg(struct unic_req *req, struct unic_region *mr)
{
	struct unic_cmd_mr_reg cmd;
	struct unic_ctl_mr_reg r;

	memcpy(&r, mr->made, sizeof(r));
	unic_region_command(req, mr, &cmd);
	if (mr->may_wait) {
		cmd.timeout_us = r.timeout_us;
		cmd.flags |= UNIC_REG_WAIT;
		unic_region_waiting(req->host, mr, true);
		unic_region_asked(req, true);
	}
	req->id = mr->obj.id;
	mr->waiter = req;
	unic_req_send(req, UNIC_CMD_MR_REG, &cmd, mr_reg_done);
}

/* The residency of @r; RESIDENT, if the device does not have that one. */
static uint8_t residency_of(const struct unic_host *host,
			    const struct unic_ctl_mr_reg *r)
{
	uint64_t need = r->residency == UNIC_DEMAND ? UNIC_FEAT_DEMAND
						    : UNIC_FEAT_HOST_TABLE;

	return r->residency && host->features & need ? r->residency
						     : UNIC_RESIDENT;
}

void unic_region_reg(struct unic_req *req)
{
	struct unic_hproc *proc = unic_req_proc(req);
	struct unic_ctl_mr_reg r;
	struct unic_hpd *pd;
	struct unic_region *mr;
	uint32_t status;
	uint8_t shift = 0;

	memcpy(&r, req->rec, sizeof(r));
	if (unic_region_by_bus(req, &r))
		return;
	pd = unic_obj_get(&req->host->objects, unic_from_le32(r.pd),
			  UNIC_OBJ_PD, unic_req_owner(req));
	status = unic_region_choose_base(req->host->os, &r);
	if (!status)
		status = unic_region_check(&r);
	if (!status && !pd)
		status = UNIC_ST_NO_PD;
	if (!status)
		status = unic_req_room(req, UNIC_OBJ_MR);
	if (!status && r.flags & UNIC_CTL_REG_WAIT) {
		if (unic_region_hold(req))
			return;
		if (!unic_region_has_wait_place(req->host, proc))
			status = UNIC_ST_WAIT_FULL;
	}
	if (!status)
		status = unic_region_choose_shift(proc, &r, &shift);
	mr = status ? NULL
		    : unic_obj_alloc(&req->host->objects, UNIC_OBJ_MR,
				     req->slot, sizeof(*mr));
	if (!mr) {
		unic_req_status(req, status ? status : UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	proc->regions++;
	mr->state = R_REGISTERING;
	r.page_shift = shift;
	r.residency = residency_of(req->host, &r);
	unic_region_fill_in(mr, &r);
	mr->reg_seq = req->seq;
	if (unic_from_le32(r.timeout_us))
		mr->give_up_ns = unic_os_now_ns(req->host->os) +
				 1000ull * unic_from_le32(r.timeout_us);
	status = mr->may_wait ? UNIC_ST_OK : unic_region_pin(req->host, mr);
	if (status) {
		unic_region_forget(req->host, mr);
		unic_req_status(req, status);
		return;
	}
	unic_region_send_reg(req, mr);
}

/* --------------------------------------------------------- waits: the rest */

static void requeue_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);
	bool over = req->id2 != host->epoch;

	if (!mr || over) {
		unic_req_free(req);
		return;
	}
	mr->requeued = false;
	mr->state = R_WAITING;
	if (!status || status == UNIC_ST_PENDING)
		unic_region_numbers(mr, call);
	if (status == UNIC_ST_PENDING) {
		reg_queued(host, mr);
	} else if (!status) {
		unic_region_granted(host, mr);
	} else {
		unic_region_failed(host, mr, mr->waiter, status);
	}
	unic_req_free(req);
}

void unic_region_requeue(struct unic_host *host, struct unic_region *mr)
{
	uint64_t now = unic_os_now_ns(host->os);
	struct unic_req *req;
	struct unic_cmd_mr_reg cmd;

	if (mr->give_up_ns && mr->give_up_ns <= now) {
		unic_region_failed(host, mr, mr->waiter, UNIC_ST_TIMEOUT);
		return;
	}
	req = unic_req_new(host, mr->obj.owner);
	if (!req) {
		unic_region_failed(host, mr, mr->waiter, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	req->id = mr->obj.id;
	req->id2 = host->epoch;
	unic_region_command(req, mr, &cmd);
	cmd.flags |= UNIC_REG_WAIT;
	if (mr->give_up_ns)
		cmd.timeout_us = unic_to_le32(
			(uint32_t)((mr->give_up_ns - now) / 1000 + 1));
	mr->requeued = true;
	mr->mr = UNIC_LOST;
	mr->load_until_ns = 0;
	mr->state = R_REGISTERING;
	unic_region_waiting(host, mr, true);
	unic_req_send(req, UNIC_CMD_MR_REG, &cmd, requeue_done);
}

static void cancel_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);

	if (!status && mr && mr->state == R_WAITING)
		unic_region_failed(req->host, mr, mr->waiter,
				   UNIC_ST_CANCELLED);
	else if (!status && mr) /* both GRANTED and cancelled */
		req->host->audits++;
	unic_req_status(req, status);
}

void unic_region_cancel(struct unic_req *req)
{
	struct unic_ctl_wait_cancel r;
	struct unic_region *mr;
	struct unic_req *held;
	uint32_t at = 0;

	memcpy(&r, req->rec, sizeof(r));
	held = unic_region_unhold(req->host, req->slot,
				  unic_from_le32(r.wait_seq));
	if (held) {
		unic_req_status(held, UNIC_ST_CANCELLED);
		unic_req_status(req, UNIC_ST_OK);
		return;
	}
	while ((mr = unic_obj_next(&req->host->objects, &at, UNIC_OBJ_MR,
				   unic_req_owner(req)))) {
		if (mr->reg_seq != unic_from_le32(r.wait_seq))
			continue;
		if (mr->state == R_WAITING) {
			send_cancel(req, mr);
			return;
		}
		if (mr->state == R_REGISTERING && mr->may_wait && !mr->cancel) {
			mr->cancel = req; /* mr_reg_done() gets mr->wait */
			return;
		}
	}
	unic_req_status(req, UNIC_ST_NO_WAIT);
}

void unic_region_granted(struct unic_host *host, struct unic_region *mr)
{
	struct unic_req *req;

	mr->state = R_FILLING;
	req = mr->waiter ? mr->waiter : unic_req_new(host, mr->obj.owner);
	if (!req) {
		unic_region_send_dereg(host, mr);
		unic_region_failed(host, mr, NULL, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	req->id = mr->obj.id;
	req->progress = 0;
	load_pages(req, mr);
}

/* Handle GRANTED and WAIT_ENDED, whose `user` is the id of the region. */
void unic_region_wait_event(struct unic_host *host,
			    const struct unic_evt_wait *evt)
{
	struct unic_region *mr = unic_obj_get(&host->objects,
					      unic_from_le32(evt->user),
					      UNIC_OBJ_MR, UNIC_OBJ_ANYONE);

	if (!mr)
		return; /* the region ended with its process */
	if (mr->state != R_WAITING || mr->wait != unic_from_le32(evt->wait)) {
		host->audits++;
		return;
	}
	mr->waited_us = unic_from_le32(evt->waited_us);
	if (evt->hdr.type == UNIC_EVT_WAIT_ENDED) {
		unic_region_failed(host, mr, mr->waiter,
				   unic_from_le32(evt->status));
		return;
	}
	mr->mr = unic_from_le32(evt->mr);
	mr->gen = unic_from_le32(evt->gen);
	mr->stag = unic_from_le32(evt->stag);
	unic_region_granted(host, mr);
}

/* -------------------------------------------------------------- deregister */

/* MR_DEREG before ACTIVE: cancel the wait, or deregister as soon as @mr is ACTIVE. */
static void dereg_early(struct unic_req *req, struct unic_region *mr)
{
	struct unic_req *own;

	if (mr->state == R_WAITING) {
		own = unic_req_new(req->host, mr->obj.owner);
		if (!own) {
			unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
			return;
		}
		mr->dereg = req;
		send_cancel(own, mr);
	} else {
		mr->dereg = req;
	}
}

void unic_region_dereg(struct unic_req *req)
{
	struct unic_ctl_obj r;
	struct unic_region *mr;

	memcpy(&r, req->rec, sizeof(r));
	req->id = unic_from_le32(r.id);
	mr = mr_get(req, req->id);
	if (!mr || (mr->state == R_REGISTERING && !mr->requeued))
		/* the process has not got its id yet */
		unic_req_status(req, UNIC_ST_NO_MR);
	else if (mr->dereg || (mr->state >= R_ACTIVE && mr->waiter))
		unic_req_status(req, UNIC_ST_BUSY); /* being deregistered */
	else if (mr->state < R_ACTIVE)
		dereg_early(req, mr);
	else
		unic_region_dereg_for(req, mr);
}

/* --------------------------------------------------------------------- ends */

void unic_region_drop(struct unic_host *host, struct unic_region *mr,
		      uint32_t status)
{
	struct unic_req *waiter = mr->waiter;

	end_cancel(mr, status);
	end_dereg(mr, status);
	unic_region_forget(host, mr);
	/* a call that the provider has ends with its call->done */
	if (waiter && waiter->call.state == UNIC_CALL_IDLE)
		unic_req_status(waiter, status);
}

void unic_region_drop_all(struct unic_host *host, uint32_t owner,
			  uint32_t status)
{
	struct unic_region *mr;
	uint32_t at = 0;

	while ((mr = unic_obj_next(&host->objects, &at, UNIC_OBJ_MR, owner)))
		unic_region_drop(host, mr, status);
}
