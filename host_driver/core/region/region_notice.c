/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_notice.c - regions that the NIC asks back: upcalls, the acknowledgement that
 * starts the grace, answers, evictions, and the rows of RESYNC.
 */
#include "region/region_notice.h"

#include "device.h"
#include "region/region_pin.h"
#include "region/region_reg.h"

static void ack_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	struct unic_cpl_notice cpl;

	memcpy(&cpl, call->cpl, sizeof(cpl));
	if (mr && mr->state == R_NOTIFIED && !unic_call_status(call))
		mr->deadline_ns = unic_device_clock(
			req->host, unic_from_le64(cpl.deadline_ns));
	unic_req_free(req);
}

/* Acknowledge the notice: its upcall is on the ring, and the NIC starts the grace. */
static void send_notice_ack(struct unic_host *host,
			    const struct unic_evt_mr *evt, uint32_t slot,
			    uint32_t id)
{
	struct unic_cmd_notice_ack cmd = { .mr = evt->mr,
					   .gen = evt->gen,
					   .seq = evt->seq };
	struct unic_req *req = unic_req_new(host, slot);

	if (!req) {
		unic_os_log(host->os, UNIC_LOG_ERROR,
			    "out of memory: a notice is not acknowledged");
		return;
	}
	req->id = id;
	unic_req_send(req, UNIC_CMD_NOTICE_ACK, &cmd, ack_done);
}

static void deliver_notice(struct unic_host *host, struct unic_region *mr,
			   const struct unic_evt_mr *evt)
{
	uint32_t seq = unic_from_le32(evt->seq);

	if (mr->state != R_NOTIFIED || mr->notice_seq != seq) {
		mr->state = R_NOTIFIED;
		mr->notice_seq = seq;
		mr->extends = false;
		mr->deadline_ns = unic_os_now_ns(host->os) +
				  1000ull * unic_from_le32(evt->grace_us);
		proc_of(host, mr)->notices++;
		host->notices++;
		mr->noticed_ns = unic_os_now_ns(host->os);
		unic_delay_add(&proc_of(host, mr)->deliver,
			       unic_device_clock(host,
						 unic_from_le64(evt->time_ns)),
			       mr->noticed_ns);
		unic_region_upcall(host, mr, evt, UNIC_UP_NOTICE);
		mr->asked_back = ++host->asked_back;
	}
	send_notice_ack(host, evt, mr->obj.owner, mr->obj.id);
}

void unic_region_evicted(struct unic_host *host, struct unic_region *mr,
			 const struct unic_evt_mr *evt)
{
	struct unic_req *waiter = mr->waiter;

	unic_region_unpin(host, mr);
	mr->state = R_EVICTED;
	host->evicted++;
	unic_journal_drop(host, &mr->obj);
	if (waiter && evt->hdr.reason == UNIC_WHY_DEREG) {
		mr->waiter = NULL;
		unic_region_forget(host, mr);
		/* a derived region may end with its source before its MR_DEREG
		 * completes: then dereg_done() answers */
		if (waiter->call.state == UNIC_CALL_IDLE)
			unic_req_status(waiter, UNIC_ST_OK);
		return;
	}
	proc_of(host, mr)->evictions++;
	if (unic_from_le32(evt->flags) & UNIC_EVICTED_DEADLINE)
		proc_of(host, mr)->deadlines++;
	unic_region_upcall(host, mr, evt, UNIC_UP_EVICTED);
	if (waiter && waiter->call.state == UNIC_CALL_IDLE) {
		/* MR_DEREG waited for EVICTED: end the tombstone, too */
		unic_region_send_dereg(host, mr);
		mr->waiter = NULL;
		unic_region_forget(host, mr);
		unic_req_status(waiter, UNIC_ST_OK);
	}
}

void unic_region_revoked(struct unic_host *host, struct unic_region *mr)
{
	struct unic_evt_mr evt = {
		.hdr = { .reason = UNIC_WHY_UNMAPPED },
		.entries = unic_to_le32(mr->n_pages),
	};

	mr->revoked = false;
	mr->mr = UNIC_LOST; /* the NIC keeps no tombstone */
	unic_region_evicted(host, mr, &evt);
}

/* OK: the region has ended. PENDING: it drains, and EVICTED follows. Any other status:
 * the region had ended before, or its owner's answer came first. */
static void release_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	struct unic_evt_mr evt = { .hdr = { .reason = UNIC_WHY_HOLDERS } };

	if (mr && mr->state == R_NOTIFIED && !unic_call_status(call)) {
		evt.seq = unic_to_le32(mr->notice_seq);
		evt.entries = unic_to_le32(mr->n_pages);
		unic_region_evicted(req->host, mr, &evt);
	}
	unic_req_free(req);
}

void unic_region_release(struct unic_host *host, struct unic_region *mr)
{
	struct unic_cmd_notice_answer cmd = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.seq = unic_to_le32(mr->notice_seq),
		.answer = unic_to_le32(UNIC_ANSWER_RELEASE),
	};
	struct unic_req *req = unic_req_new(host, mr->obj.owner);

	if (!req)
		return; /* the grace ends at its deadline */
	req->id = mr->obj.id;
	unic_req_send(req, UNIC_CMD_NOTICE_ANSWER, &cmd, release_done);
}

void unic_region_event(struct unic_host *host, const struct unic_evt_mr *evt)
{
	struct unic_region *mr = unic_obj_get(&host->objects,
					      unic_from_le32(evt->user),
					      UNIC_OBJ_MR, UNIC_OBJ_ANYONE);
	bool ours = mr && mr->state >= R_ACTIVE && mr->state != R_EVICTED &&
		    mr->mr == unic_from_le32(evt->mr) &&
		    mr->gen == unic_from_le32(evt->gen);

	if (evt->hdr.type == UNIC_EVT_NOTICE) {
		if (ours)
			deliver_notice(host, mr, evt);
		else /* it is ending: without an answer in H the NIC resets */
			send_notice_ack(host, evt, UNIC_OS_NO_SLOT, 0);
		return;
	}
	if (evt->hdr.type == UNIC_EVT_IDLE) {
		/* under notice, or ending: the question is overtaken */
		if (ours && mr->state == R_ACTIVE && !mr->waiter)
			unic_region_upcall(host, mr, evt, UNIC_UP_IDLE);
		return;
	}
	if (ours && mr->revoked && evt->hdr.reason == UNIC_WHY_DEREG)
		unic_region_revoked(host, mr);
	else if (ours)
		unic_region_evicted(host, mr, evt);
}

static void answer_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	struct unic_region *mr = mr_get(req, req->id);
	struct unic_region *offered = mr_get(req, req->id2);
	uint32_t status = unic_call_status(call);
	struct unic_ctl_notice_reply r = { 0 };
	struct unic_cpl_notice cpl;
	uint64_t deadline;

	memcpy(&cpl, call->cpl, sizeof(cpl));
	deadline = unic_device_clock(host, unic_from_le64(cpl.deadline_ns));
	if (!status && mr && mr->state == R_NOTIFIED)
		mr->deadline_ns = deadline;
	if (!status && mr && offered) { /* the notice moves to that one */
		if (offered->state == R_ACTIVE)
			offered->state = R_NOTIFIED;
		offered->notice_seq = mr->notice_seq;
		offered->extends = false;
		offered->deadline_ns = deadline;
		offered->asked_back = ++host->asked_back;
		if (mr->state == R_NOTIFIED)
			mr->state = R_ACTIVE;
	}
	if (!status)
		r.deadline_ns = unic_to_le64(deadline);
	r.detail = cpl.detail;
	unic_req_answer(req, status, &r, NULL, 0);
}

void unic_region_answer(struct unic_req *req)
{
	struct unic_ctl_notice_answer r;
	struct unic_cmd_notice_answer cmd = { 0 };
	uint32_t answer;
	struct unic_region *mr, *offer;

	memcpy(&r, req->rec, sizeof(r));
	answer = unic_from_le32(r.answer);
	req->id = unic_from_le32(r.id);
	req->id2 = unic_from_le32(r.offer_id);
	mr = mr_get(req, req->id);
	offer = mr_get(req, req->id2);
	if (answer == UNIC_ANSWER_RELEASE) {
		unic_region_dereg(req);
		return;
	}
	if ((answer != UNIC_ANSWER_OFFER && answer != UNIC_ANSWER_EXTEND) ||
	    (answer == UNIC_ANSWER_EXTEND && req->id2) ||
	    (answer == UNIC_ANSWER_OFFER && r.extend_us)) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	if (!mr || (answer == UNIC_ANSWER_OFFER && !offer)) {
		unic_req_status(req, UNIC_ST_NO_MR);
		return;
	}
	if (mr->state != R_NOTIFIED ||
	    mr->notice_seq != unic_from_le32(r.notice_seq)) {
		unic_req_status(req, UNIC_ST_STATE);
		return;
	}
	unic_region_answered(req->host, mr);
	mr->extends |= answer == UNIC_ANSWER_EXTEND;
	cmd.mr = unic_to_le32(mr->mr);
	cmd.gen = unic_to_le32(mr->gen);
	cmd.seq = r.notice_seq;
	cmd.answer = r.answer;
	if (offer) {
		cmd.offer_mr = unic_to_le32(offer->mr);
		cmd.offer_gen = unic_to_le32(offer->gen);
	}
	cmd.extend_us = r.extend_us;
	unic_req_send(req, UNIC_CMD_NOTICE_ANSWER, &cmd, answer_done);
}

void unic_region_evict(struct unic_req *req)
{
	struct unic_ctl_obj r;
	struct unic_cmd_mr cmd = { 0 };
	struct unic_region *mr;

	memcpy(&r, req->rec, sizeof(r));
	req->id = unic_from_le32(r.id);
	mr = unic_obj_get(&req->host->objects, req->id, UNIC_OBJ_MR,
			  UNIC_OBJ_ANYONE);
	if (!mr || mr->state < R_ACTIVE) {
		unic_req_status(req, UNIC_ST_NO_MR);
		return;
	}
	cmd.mr = unic_to_le32(mr->mr);
	cmd.gen = unic_to_le32(mr->gen);
	unic_req_send(req, UNIC_CMD_MR_EVICT, &cmd, unic_req_done_status);
}

/* --------------------------------------------------------------------- rows */

static uint32_t shown_state(const struct unic_region *mr)
{
	static const uint8_t state[] = {
		[R_REGISTERING] = UNIC_CTL_R_WAITING,
		[R_WAITING] = UNIC_CTL_R_WAITING,
		[R_FILLING] = UNIC_CTL_R_WAITING,
		[R_ACTIVE] = UNIC_CTL_R_ACTIVE,
		[R_NOTIFIED] = UNIC_CTL_R_NOTIFIED,
		[R_EVICTED] = UNIC_CTL_R_EVICTED,
	};

	return state[mr->state];
}

void unic_region_row(const struct unic_region *mr, struct unic_ctl_region *row)
{
	*row = (struct unic_ctl_region){
		.id = unic_to_le32(mr->obj.id),
		.stag = unic_to_le32(mr->stag),
		.user = unic_to_le32(mr->user),
		.entries = unic_to_le32(mr->n_pages),
		.state = unic_to_le32(shown_state(mr)),
	};
	if (mr->state != R_NOTIFIED)
		return;
	row->notice_seq = unic_to_le32(mr->notice_seq);
	row->deadline_ns = unic_to_le64(mr->deadline_ns);
}

/* The row of process @slot among @n; a new one at the end if there is none. */
static struct unic_ctl_grace *grace_row(struct unic_ctl_grace *row, uint32_t *n,
					uint32_t slot)
{
	uint32_t i = 0;

	while (i < *n && unic_from_le32(row[i].proc) != slot)
		i++;
	if (i == *n)
		row[(*n)++] = (struct unic_ctl_grace){
			.proc = unic_to_le32(slot),
			.left_us = unic_to_le32(UINT32_MAX),
		};
	return &row[i];
}

uint32_t unic_region_graces(const struct unic_host *host,
			    struct unic_ctl_grace *row)
{
	uint64_t now_ns = unic_os_now_ns(host->os), left_us;
	const struct unic_region *mr;
	struct unic_ctl_grace *g;
	uint32_t n = 0, at = 0;

	while ((mr = unic_obj_next(&host->objects, &at, UNIC_OBJ_MR,
				   UNIC_OBJ_ANYONE))) {
		if (mr->state != R_NOTIFIED || mr->obj.owner == UNIC_NOBODY)
			continue;
		left_us = mr->deadline_ns < now_ns
				  ? 0
				  : (mr->deadline_ns - now_ns) / 1000;
		g = grace_row(row, &n, mr->obj.owner);
		g->notices = unic_to_le32(unic_from_le32(g->notices) + 1);
		if (left_us < unic_from_le32(g->left_us))
			g->left_us = unic_to_le32((uint32_t)left_us);
	}
	return n;
}

void unic_region_object_row(const struct unic_region *mr,
			    struct unic_ctl_object *row)
{
	row->user = unic_to_le32(mr->user);
	row->state = unic_to_le32(shown_state(mr));
	row->number = unic_to_le32(mr->stag);
	row->of = unic_to_le32(mr->pd);
	row->detail = unic_to_le32(
		shown_state(mr) == UNIC_CTL_R_WAITING ? mr->reg_seq : mr->kind);
}
