/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * restore.c - after a reset of the device, the driver makes the objects of processes
 * that keep them (HELLO_KEEP) again, before it takes requests (docs/MEMORY.md section 5).
 *
 * Secret: which objects survive, and the order. Commands go one at a time, because each
 * needs numbers from earlier ones: protection domains, regions with their STags,
 * completion queues, queue pairs. Derived regions come behind what they are made of; those
 * that work requests change end EVICTED: the driver has no record of these. Regions that wait come last, because the
 * device restores no region after a registration without UNIC_REG_RESTORE.
 */
#include "restore.h"

#include "proc.h"
#include "queue.h"
#include "queue_token.h"
#include "region/region_derived.h"
#include "region/region_pin.h"
#include "region/region_reg.h"

/* -------------------------------------------------------------------- lost */

/*
 * The device has lost region @mr. A registration under way fails. A region that was
 * granted without an upcall yet waits again. A region under MR_DEREG ends. All others
 * keep their state, without a number of the NIC.
 */
static void lose_region(struct unic_host *host, struct unic_region *mr)
{
	bool leaving = mr->state >= R_ACTIVE && mr->waiter && !mr->reregs;

	if (!unic_journal_keeps(host, mr->obj.owner)) {
		unic_region_drop(host, mr, UNIC_CTL_ST_RESET);
		return;
	}
	if (mr->requeued ||
	    (mr->state == R_FILLING && !mr->waiter && !mr->dereg)) {
		unic_region_unpin(host, mr);
		mr->requeued = false;
		mr->state = R_WAITING;
		unic_region_waiting(host, mr, true);
	}
	if (leaving || mr->dereg) {
		unic_region_drop(host, mr, UNIC_ST_OK);
		return;
	}
	if (mr->state == R_REGISTERING || mr->state == R_FILLING) {
		unic_region_drop(host, mr, UNIC_CTL_ST_RESET);
		return;
	}
	if (mr->reregs) /* rereg_done() answers RESET */
		mr->waiter = NULL;
	mr->reregs = false;
	mr->next_bytes = 0; /* unic_restore_pins() counts pins anew */
	if (mr->state == R_NOTIFIED)
		mr->state = R_ACTIVE;
	mr->mr = UNIC_LOST;
}

static void lose_qp(struct unic_host *host, struct unic_hqp *qp)
{
	struct unic_req *waiter = qp->waiter;
	bool keeps = unic_journal_keeps(host, qp->obj.owner);

	if (keeps && !waiter) {
		qp->qpn = UNIC_LOST;
		qp->state = UNIC_QPS_ERR;
		qp->restored = true;
		return;
	}
	unic_obj_free(&host->objects, &qp->obj);
	if (waiter && waiter->call.state == UNIC_CALL_IDLE)
		unic_req_status(waiter, keeps ? UNIC_ST_OK : UNIC_CTL_ST_RESET);
}

static void lose_object(struct unic_host *host, struct unic_obj *obj)
{
	bool keeps = unic_journal_keeps(host, obj->owner);

	switch (obj->type) {
	case UNIC_OBJ_MR:
		lose_region(host, (struct unic_region *)(void *)obj);
		return;
	case UNIC_OBJ_TOKEN: /* TOKEN_END promises that its bytes are final */
		if (!host->dark)
			unic_queue_token_reset(host, obj);
		return;
	case UNIC_OBJ_QP:
		lose_qp(host, (struct unic_hqp *)(void *)obj);
		return;
	case UNIC_OBJ_PD:
		((struct unic_hpd *)(void *)obj)->pd = UNIC_LOST;
		break;
	case UNIC_OBJ_CQ:
		((struct unic_hcq *)(void *)obj)->cq = UNIC_LOST;
		break;
	case UNIC_OBJ_SRQ: /* of a process that keeps nothing */
		break;
	default: /* connections and listeners: cm.c */
		return;
	}
	if (!keeps)
		unic_obj_free(&host->objects, obj);
}

void unic_restore_lost(struct unic_host *host)
{
	struct unic_obj *obj;
	uint32_t at = 0;

	host->restore_type = UNIC_OBJ_TYPES; /* ends a restore under way */
	while ((obj = unic_obj_next(&host->objects, &at, 0, UNIC_OBJ_ANYONE)))
		lose_object(host, obj);
}

void unic_restore_pins(struct unic_host *host)
{
	struct unic_region *mr;
	uint32_t at = 0;

	while ((mr = unic_obj_next(&host->objects, &at, UNIC_OBJ_MR,
				   UNIC_OBJ_ANYONE))) {
		unic_region_pages_forget(host, mr, false);
		if (!mr->pinned)
			continue;
		mr->pinned = false;
		(void)unic_region_pin(host,
				      mr); /* its frames are handed out still */
	}
}

/* ---------------------------------------------------------- the next object */

static void restore_next(struct unic_host *host);

static void mark_evicted(struct unic_host *host, struct unic_region *mr)
{
	struct unic_evt_mr evt = {
		.hdr = { .reason = UNIC_WHY_RESET },
		.entries = unic_to_le32(mr->n_pages),
	};

	unic_os_log(host->os, UNIC_LOG_ERROR,
		    "slot %u: region %x could not be restored", mr->obj.owner,
		    mr->obj.id);
	unic_region_unpin(host, mr);
	mr->state = R_EVICTED;
	host->evicted++;
	mr->mr = UNIC_LOST;
	unic_journal_drop(host, &mr->obj);
	proc_of(host, mr)->evictions++;
	unic_region_upcall(host, mr, &evt, UNIC_UP_EVICTED);
}

/* Object @obj cannot be restored: evict a region, free any other object. The process
 * gets no event for the latter; requests that name it fail. */
static void abandon_object(struct unic_host *host, struct unic_obj *obj)
{
	struct unic_region *mr = (struct unic_region *)(void *)obj;

	if (obj->type != UNIC_OBJ_MR) {
		unic_os_log(host->os, UNIC_LOG_ERROR,
			    "slot %u: object %x could not be restored",
			    obj->owner, obj->id);
		unic_obj_free(&host->objects, obj);
		return;
	}
	if (mr->mr != UNIC_LOST)
		unic_region_send_dereg(host, mr);
	mark_evicted(host, mr);
}

static void restore_cmd_done(struct unic_call *call);

/* Send the next pages of @mr. False: there is no list for the command. */
static bool send_fill(struct unic_req *req, struct unic_region *mr)
{
	struct unic_cmd_mr_fill cmd;

	if (unic_region_list(req, mr, &cmd))
		return false;
	unic_req_send(req, UNIC_CMD_MR_FILL, &cmd, restore_cmd_done);
	return true;
}

static uint32_t answer_u32(const struct unic_call *call)
{
	struct unic_cpl_obj cpl; /* struct unic_cpl_pd begins the same way */

	memcpy(&cpl, call->cpl, sizeof(cpl));
	return unic_from_le32(cpl.id);
}

/* Store the numbers of form @mr. False: the command that makes it valid is under way. */
static bool store_form(struct unic_req *req, struct unic_region *mr)
{
	struct unic_cmd_mr_make cmd;

	unic_region_numbers(mr, &req->call);
	if (!unic_region_again_make(req, mr, &cmd))
		return true;
	unic_req_send(req, UNIC_CMD_MR_MAKE, &cmd, restore_cmd_done);
	return false;
}

/* Store the numbers that the device answered. False: a further command for @obj is under
 * way. */
static bool store_answer(struct unic_req *req, struct unic_obj *obj)
{
	struct unic_region *mr = (struct unic_region *)(void *)obj;
	const struct unic_call *call = &req->call;
	struct unic_cmd_mr_reg cmd;

	switch (obj->type) {
	case UNIC_OBJ_PD:
		((struct unic_hpd *)(void *)obj)->pd = answer_u32(call);
		return true;
	case UNIC_OBJ_CQ:
		((struct unic_hcq *)(void *)obj)->cq = answer_u32(call);
		((struct unic_hcq *)(void *)obj)->overrun = false;
		return true;
	case UNIC_OBJ_QP:
		((struct unic_hqp *)(void *)obj)->qpn = answer_u32(call);
		return true;
	default:
		break;
	}
	memcpy(&cmd, call->cmd, sizeof(cmd));
	if (cmd.hdr.opcode == UNIC_CMD_MR_MAKE)
		return true;
	if (cmd.hdr.opcode == UNIC_CMD_MR_ALLOC)
		return store_form(req, mr);
	if (cmd.hdr.opcode == UNIC_CMD_MR_REG) {
		unic_region_numbers(mr, call);
		if (cmd.flags & UNIC_REG_LIST || mr->residency)
			return true;
		req->progress = 0;
	}
	if (req->progress >= mr->n_pages)
		return true;
	if (send_fill(req, mr))
		return false;
	abandon_object(req->host, obj);
	return true;
}

static void restore_cmd_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	bool over = req->id2 != host->epoch; /* the device was lost */
	struct unic_obj *obj = unic_obj_get(&host->objects, req->id,
					    (enum unic_obj_type)req->op,
					    req->slot);
	uint32_t status = unic_call_status(call);

	if (!over && obj) {
		if (status)
			abandon_object(host, obj);
		else if (!store_answer(req, obj))
			return;
	}
	unic_req_free(req);
	if (!over)
		restore_next(host);
}

/* Passes over the regions. */
enum {
	PASS_PLAIN,
	PASS_FORMS, /* again and again, while it restores one */
	PASS_REST,  /* what is left ends */
};

/* True if the region of which form @mr is made is on the device. */
static bool has_source(struct unic_host *host, const struct unic_region *mr)
{
	struct unic_region *of;
	uint32_t at = 0;

	while ((of = unic_obj_next(&host->objects, &at, UNIC_OBJ_MR,
				   mr->obj.owner)))
		if (of->stag == unic_from_le32(mr->of.lkey) &&
		    of->state == R_ACTIVE && of->mr != UNIC_LOST)
			return true;
	return false;
}

/* True if it is the turn of form @mr, which is lost. */
static bool is_turn(struct unic_host *host, struct unic_region *mr)
{
	struct unic_ctl_mr_make r;

	if (host->restore_pass == PASS_REST) {
		mark_evicted(host, mr);
		return false;
	}
	memcpy(&r, mr->made, sizeof(r));
	return host->restore_pass == PASS_FORMS &&
	       host->features & UNIC_FEAT_RESTORE_FORMS &&
	       unic_region_lasts(mr) && (!r.n || has_source(host, mr));
}

static bool send_form(struct unic_req *req, struct unic_region *mr)
{
	struct unic_hpd *pd = unic_obj_get(&req->host->objects, mr->pd,
					   UNIC_OBJ_PD, req->slot);
	struct unic_cmd_mr_alloc cmd;

	if (mr->state != R_ACTIVE || mr->mr != UNIC_LOST ||
	    !is_turn(req->host, mr))
		return false;
	if (!pd || pd->pd == UNIC_LOST) {
		mark_evicted(req->host, mr);
		return false;
	}
	req->host->restore_found = true;
	unic_region_again_alloc(mr, pd->pd, &cmd);
	unic_req_send(req, UNIC_CMD_MR_ALLOC, &cmd, restore_cmd_done);
	return true;
}

static bool send_region(struct unic_req *req, struct unic_region *mr)
{
	struct unic_cmd_mr_reg cmd;

	if (mr->kind != UNIC_FORM_PLAIN)
		return send_form(req, mr);
	if (mr->state != R_ACTIVE || req->host->restore_pass != PASS_PLAIN)
		return false; /* it was evicted, or waits, or is there */
	if (unic_region_pin(req->host, mr)) {
		mark_evicted(req->host, mr);
		return false;
	}
	unic_region_command(req, mr, &cmd);
	cmd.flags |= UNIC_REG_RESTORE;
	cmd.stag = unic_to_le32(mr->stag);
	cmd.key = (uint8_t)mr->stag;
	unic_req_send(req, UNIC_CMD_MR_REG, &cmd, restore_cmd_done);
	return true;
}

static bool send_queue(struct unic_req *req, struct unic_obj *obj)
{
	struct unic_hcq *cq = (struct unic_hcq *)(void *)obj;
	struct unic_hqp *qp = (struct unic_hqp *)(void *)obj;
	struct unic_cmd_cq_create c;
	struct unic_cmd_qp_create q;

	if (obj->type == UNIC_OBJ_CQ &&
	    !unic_queue_cq_command(req->host, req->slot, cq->made, &c)) {
		unic_req_send(req, UNIC_CMD_CQ_CREATE, &c, restore_cmd_done);
		return true;
	}
	if (obj->type == UNIC_OBJ_QP &&
	    !unic_queue_qp_command(req->host, req->slot, qp->made, &q)) {
		unic_req_send(req, UNIC_CMD_QP_CREATE, &q, restore_cmd_done);
		return true;
	}
	abandon_object(req->host, obj);
	return false;
}

/* True: a command for @obj is under way; restore_cmd_done() goes on. */
static bool restore_object(struct unic_host *host, struct unic_obj *obj)
{
	struct unic_cmd_pd pd = { .proc = unic_to_le32(obj->owner) };
	struct unic_req *req = unic_req_new(host, obj->owner);
	bool sent = true;

	if (!req) {
		abandon_object(host, obj);
		return false;
	}
	req->op = obj->type;
	req->id = obj->id;
	req->id2 = host->epoch;
	if (obj->type == UNIC_OBJ_PD)
		unic_req_send(req, UNIC_CMD_PD_ALLOC, &pd, restore_cmd_done);
	else if (obj->type == UNIC_OBJ_MR)
		sent = send_region(req, (struct unic_region *)(void *)obj);
	else
		sent = send_queue(req, obj);
	if (!sent)
		unic_req_free(req);
	return sent;
}

/* Returns true if the regions are to be looked at once more. */
static bool begin_pass(struct unic_host *host)
{
	bool again = host->restore_pass == PASS_FORMS && host->restore_found;

	if (host->restore_type != UNIC_OBJ_MR ||
	    host->restore_pass == PASS_REST)
		return false;
	host->restore_found = false;
	host->restore_pass += !again;
	return true;
}

static void restore_next(struct unic_host *host)
{
	struct unic_obj *obj;

	while (host->restore_type <= UNIC_OBJ_QP) {
		while ((obj = unic_obj_next(&host->objects, &host->restore_at,
					    host->restore_type,
					    UNIC_OBJ_ANYONE)))
			if (restore_object(host, obj))
				return;
		host->restore_at = 0;
		if (!begin_pass(host))
			host->restore_type++;
	}
	if (host->restore_type < UNIC_OBJ_TYPES) {
		host->restore_type = UNIC_OBJ_TYPES;
		host->restored(host);
	}
}

void unic_restore(struct unic_host *host, void (*done)(struct unic_host *host))
{
	host->restored = done;
	host->restore_type = UNIC_OBJ_PD;
	host->restore_at = 0;
	host->restore_pass = PASS_PLAIN;
	restore_next(host);
}

/* ---------------------------------------------------- absent processes */

#define AWAY_NS	       60000000000ull
#define AWAY_WANTED_NS 1000000000ull /* after a HELLO found no slot */

uint64_t unic_restore_away(struct unic_host *host)
{
	uint64_t end =
		host->start_ns + (host->away_wanted ? AWAY_WANTED_NS : AWAY_NS);
	bool any = false;
	uint32_t i;

	if (!host->away)
		return UINT64_MAX;
	for (i = 0; i < host->config.slots; i++) {
		if (host->proc[i].state != UNIC_HPROC_LIVE ||
		    host->proc[i].client)
			continue;
		any = true;
		if (unic_os_now_ns(host->os) < end)
			continue;
		unic_os_log(host->os, UNIC_LOG_INFO,
			    "slot %u: process %u did not come back", i,
			    host->proc[i].pid);
		unic_proc_leave(host, i);
	}
	host->away = any;
	host->away_wanted = false;
	return any ? end : UINT64_MAX;
}

/* -------------------------------------------------------- regions that wait */

void unic_restore_waits(struct unic_host *host)
{
	struct unic_region *mr;
	uint32_t at = 0;

	while ((mr = unic_obj_next(&host->objects, &at, UNIC_OBJ_MR,
				   UNIC_OBJ_ANYONE)))
		if (mr->state == R_WAITING && mr->mr == UNIC_LOST)
			unic_region_requeue(host, mr);
}
