/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region.c - registering, waiting, deregistering: see region.h. */
#include "region/region.h"

#include "region/region_dma.h"
#include "region/region_fault.h"
#include "region/region_notice.h"
#include "upcall.h"

/* -------------------------------------------------------------------- pins */

/* Whole pages of the region's size: that is what an entry reaches. */
static void region_span(const struct unic_region *mr, uint64_t *va,
			uint64_t *length)
{
	uint64_t mask = (1ull << mr->page_shift) - 1;

	*va = mr->va & ~mask;
	*length = ((mr->va + mr->length - 1) | mask) - *va + 1;
}

bool unic_region_writable(const struct unic_region *mr)
{
	struct unic_ctl_mr_reg r;

	memcpy(&r, mr->made, sizeof(r));
	return unic_rights_write(r.rights) || r.mr_class == UNIC_CLASS_CONTROL;
}

/* Who may write the pages is decided when they are pinned: pin them so, once
 * more. */
bool unic_region_allows(struct unic_host *host, const struct unic_region *mr,
			uint8_t rights)
{
	struct unic_frames *f = &proc_of(host, mr)->frames;
	uint64_t va, length;

	if (!unic_rights_write(rights) || unic_region_writable(mr))
		return true;
	region_span(mr, &va, &length);
	if (unic_frames_pin(f, va, length, true))
		return false;
	unic_frames_unpin(f, va, length);
	return true;
}

bool unic_region_range(struct unic_host *host, const struct unic_client *client,
		       uint32_t id, uint64_t *va, uint64_t *length)
{
	const struct unic_region *mr =
		unic_obj_get(&host->objects, id, UNIC_OBJ_MR, client->slot);

	if (!mr || client->slot == UNIC_OS_NO_SLOT)
		return false;
	region_span(mr, va, length);
	return true;
}

static uint32_t pin_status(int err)
{
	switch (err) {
	case 0:
		return UNIC_ST_OK;
	case -ENOENT:
		return UNIC_CTL_ST_NOT_MAPPED;
	case -EDQUOT:
		return UNIC_CTL_ST_NO_FRAMES;
	case -EAGAIN:
		return UNIC_ST_BUSY;
	default:
		return UNIC_CTL_ST_NO_MEMORY;
	}
}

uint32_t unic_region_pin(struct unic_host *host, struct unic_region *mr)
{
	uint64_t va, length;
	int err;

	if (mr->pinned)
		return UNIC_ST_OK;
	if (mr->residency != UNIC_DEMAND) { /* else page by page, later */
		region_span(mr, &va, &length);
		err = unic_frames_pin(&proc_of(host, mr)->frames, va, length,
				      unic_region_writable(mr));
		if (err)
			return pin_status(err);
		mr->pinned = true;
	}
	if (!mr->residency || unic_region_fault_begin(host, mr))
		return UNIC_ST_OK;
	unic_region_unpin(host, mr);
	return UNIC_CTL_ST_NO_MEMORY;
}

void unic_region_unpin(struct unic_host *host, struct unic_region *mr)
{
	uint64_t va, length;

	unic_region_fault_forget(host, mr, !host->dark);
	if (!mr->pinned)
		return;
	mr->pinned = false;
	if (host->dark)
		return; /* unic_proc_reset() unpins all at once (INV-14) */
	region_span(mr, &va, &length);
	unic_frames_unpin(&proc_of(host, mr)->frames, va, length);
}

void unic_region_unpin_next(struct unic_host *host, struct unic_region *mr)
{
	if (mr->next_bytes && !host->dark)
		unic_frames_unpin(&proc_of(host, mr)->frames, mr->next_va,
				  mr->next_bytes);
	mr->next_bytes = 0;
}

void unic_region_waiting(struct unic_host *host, struct unic_region *mr,
			 bool waits)
{
	uint32_t *n = &proc_of(host, mr)->waits;

	*n = *n - mr->waits + waits;
	mr->waits = waits;
}

void unic_region_forget(struct unic_host *host, struct unic_region *mr)
{
	unic_region_waiting(host, mr, false);
	unic_region_unpin(host, mr);
	unic_region_unpin_next(host, mr);
	proc_of(host, mr)->regions--;
	unic_obj_free(&host->objects, &mr->obj);
}

/* ---------------------------------------------------------------- register */

static uint32_t check_reg(const struct unic_ctl_mr_reg *r)
{
	uint32_t shift = r->page_shift, i;

	for (i = 0; i < sizeof(r->rsvd); i++)
		if (r->rsvd[i])
			return UNIC_ST_INVALID;
	if (r->rights & ~UNIC_MR_RIGHTS_ALL ||
	    r->mr_class > UNIC_CLASS_CONTROL || r->residency > UNIC_TABLE ||
	    (r->residency && r->mr_class == UNIC_CLASS_CONTROL) ||
	    (shift && shift != 12 && shift != 16 && shift != 21) ||
	    r->flags & ~UNIC_CTL_REG_FLAGS_ALL ||
	    (r->flags & UNIC_CTL_REG_ASYNC &&
	     !(r->flags & UNIC_CTL_REG_WAIT)) ||
	    !unic_from_le64(r->length) ||
	    unic_from_le64(r->iova) + unic_from_le64(r->length) - 1 <
		    unic_from_le64(r->iova))
		return UNIC_ST_INVALID;
	return UNIC_ST_OK;
}

/* A base that nobody knows who was not told: congruent to va for the largest
 * page there is, and far from where a length could wrap. */
static uint32_t choose_base(struct unic_os *os, struct unic_ctl_mr_reg *r)
{
	const uint64_t below = (1ull << 21) - 1;
	uint64_t base;

	if (!(r->flags & UNIC_CTL_REG_RANDOM))
		return UNIC_ST_OK;
	if (unic_from_le64(r->iova))
		return UNIC_ST_INVALID;
	unic_os_random(os, &base, sizeof(base));
	base = (base >> 1 & ~below) | (unic_from_le64(r->va) & below);
	r->iova = unic_to_le64(base);
	return UNIC_ST_OK;
}

static uint32_t choose_shift(struct unic_hproc *proc,
			     const struct unic_ctl_mr_reg *r, uint8_t *out)
{
	uint32_t max = r->page_shift ? r->page_shift : 21;
	uint32_t got = unic_frames_shift(&proc->frames, unic_from_le64(r->va),
					 unic_from_le64(r->iova),
					 unic_from_le64(r->length), max);

	if (!got)
		return UNIC_CTL_ST_NOT_MAPPED;
	if (r->page_shift && got < r->page_shift)
		return UNIC_CTL_ST_NOT_ALIGNED;
	*out = (uint8_t)got;
	return UNIC_ST_OK;
}

static void end_cancel(struct unic_region *mr, uint32_t status)
{
	struct unic_req *cancel = mr->cancel;

	mr->cancel = NULL;
	if (cancel)
		unic_req_status(cancel, status);
}

/* The region ended by itself: so it is deregistered. */
static void end_dereg(struct unic_region *mr, uint32_t status)
{
	struct unic_req *dereg = mr->dereg;

	mr->dereg = NULL;
	if (dereg)
		unic_req_status(dereg, status);
}

static void upcall_wait(struct unic_host *host, const struct unic_region *mr,
			uint8_t type, uint32_t status)
{
	struct unic_upcall_wait up = {
		.hdr = { .type = type, .id = unic_to_le32(mr->obj.id) },
		.user = unic_to_le32(mr->user),
		.stag = unic_to_le32(mr->stag),
		.status = unic_to_le32(status),
		.waited_us = unic_to_le32(mr->waited_us),
		.entries = unic_to_le32(mr->n_pages),
		.wait_seq = unic_to_le32(mr->reg_seq),
	};

	unic_upcall_send(host, mr->obj.owner, &up);
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

/* The registration ended without a region: tell whoever asked, forget it. */
void unic_region_failed(struct unic_host *host, struct unic_region *mr,
			struct unic_req *req, uint32_t status)
{
	end_cancel(mr, UNIC_ST_NO_WAIT);
	end_dereg(mr, UNIC_ST_OK);
	if (!req)
		upcall_wait(host, mr, UNIC_UP_WAIT_ENDED, status);
	mr->waiter = NULL;
	unic_region_forget(host, mr);
	if (req)
		unic_req_status(req, status);
}

static void send_dereg(struct unic_req *req, struct unic_region *mr);

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
		upcall_wait(host, mr, UNIC_UP_GRANTED, UNIC_ST_OK);
	mr->dereg = NULL;
	if (dereg)
		send_dereg(dereg, mr);
}

static void fill_next(struct unic_req *req, struct unic_region *mr);

static void drop_dereg_done(struct unic_call *call)
{
	unic_req_free(unic_req_of(call));
}

/* A region that could not be filled is taken back from the NIC; nobody can
 * have used it, so it goes at once. */
void unic_region_send_dereg(struct unic_host *host,
			    const struct unic_region *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_req *own = unic_req_new(host, mr->obj.owner);

	if (own)
		unic_req_send(own, UNIC_CMD_MR_DEREG, &cmd, drop_dereg_done);
}

static void fill_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);
	struct unic_req *waiter;

	if (!mr || mr->state != R_FILLING) { /* process or epoch ended */
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

/* @n pages from @first on, into the list page of @req. */
static uint32_t list_pages(struct unic_req *req, const struct unic_region *mr,
			   uint32_t first, uint32_t n)
{
	uint64_t *list = unic_req_list(req, n * 8);
	uint32_t i;

	if (!list)
		return UNIC_CTL_ST_NO_MEMORY;
	if (unic_frames_list(&proc_of(req->host, mr)->frames, mr->va,
			     mr->page_shift, first, n, list))
		return UNIC_CTL_ST_NOT_MAPPED;
	for (i = 0; i < n; i++)
		((unic_le64 *)(void *)list)[i] = unic_to_le64(list[i]);
	req->call.list_bytes = n * 8;
	return UNIC_ST_OK;
}

uint32_t unic_region_list(struct unic_req *req, const struct unic_region *mr,
			  struct unic_cmd_mr_fill *cmd)
{
	uint32_t n = mr->n_pages - req->progress, status;

	if (n > UNIC_LIST_MAX)
		n = UNIC_LIST_MAX;
	*cmd = (struct unic_cmd_mr_fill){
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.first = unic_to_le32(req->progress),
		.count = unic_to_le32(n),
	};
	status = list_pages(req, mr, req->progress, n);
	if (!status)
		req->progress += n;
	return status;
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

#define LOAD_NS		100000ull /* between looks for frames on their way */
#define LOAD_GIVE_UP_NS 1000000000ull

/* False: it was tried for long enough. */
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

/* The NIC has a LOADING region for us: pin, then fill. @req is the request that
 * waits for it, or one of our own. */
static void load_pages(struct unic_req *req, struct unic_region *mr)
{
	struct unic_host *host = req->host;
	struct unic_req *waiter = mr->waiter;
	uint32_t status = unic_region_pin(host, mr);

	mr->state = R_FILLING;
	unic_region_waiting(host, mr, false);
	if (!status &&
	    unic_frames_shift(&proc_of(host, mr)->frames, mr->va, mr->iova,
			      mr->length, mr->page_shift) != mr->page_shift)
		status = UNIC_CTL_ST_NOT_MAPPED; /* exchanged meanwhile */
	if (!status) {
		fill_next(req, mr);
		return;
	}
	if (waiter != req)
		unic_req_free(req);
	if (status == UNIC_ST_BUSY && schedule_load(host, mr))
		return;
	unic_region_send_dereg(host, mr);
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

static void reg_queued(struct unic_req *req, struct unic_region *mr)
{
	struct unic_host *host = req->host;

	unic_region_unpin(host, mr);
	mr->state = R_WAITING;
	if (mr->async) {
		mr->waiter = NULL;
		answer_reg(req, mr, UNIC_ST_PENDING);
	}
	unic_region_waits(host, mr);
}

void unic_region_refused(struct unic_req *req, uint32_t status)
{
	uint64_t usage[UNIC_REC_WORDS], rec[UNIC_REC_WORDS] = { 0 };
	bool explained =
		status == UNIC_ST_TLB_FULL || status == UNIC_ST_MR_FULL ||
		status == UNIC_ST_QUOTA || status == UNIC_ST_TOO_LARGE ||
		status == UNIC_ST_WAIT_FULL || status == UNIC_ST_CTRL_CAP ||
		status == UNIC_ST_ELEMENT_FULL;

	memcpy(usage, req->call.cpl, sizeof(usage));
	unic_req_answer(req, status, rec, usage, explained ? sizeof(usage) : 0);
}

/* A refusal explains itself with the NIC's usage record. */
static void reg_refused(struct unic_req *req, struct unic_region *mr,
			uint32_t status)
{
	end_cancel(mr, UNIC_ST_NO_WAIT);
	unic_region_forget(req->host, mr);
	unic_region_refused(req, status);
}

void unic_region_numbers(struct unic_region *mr, const struct unic_call *call)
{
	struct unic_cpl_mr_reg cpl;

	memcpy(&cpl, call->cpl, sizeof(cpl));
	mr->mr = unic_from_le32(cpl.mr);
	mr->gen = unic_from_le32(cpl.gen);
	mr->stag = unic_from_le32(cpl.stag);
	mr->wait = unic_from_le32(cpl.wait);
}

static void mr_reg_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);

	if (!mr) {
		unic_req_status(req, UNIC_CTL_ST_RESET);
		return;
	}
	unic_region_numbers(mr, call);
	if (status == UNIC_ST_PENDING)
		reg_queued(req, mr);
	else if (status)
		reg_refused(req, mr, status);
	else if (call->list_bytes || mr->residency)
		reg_active(req->host, mr, req);
	else
		load_pages(req, mr);
}

/* Short lists go with the command; long ones, and those of requests that may
 * wait, are filled in afterwards. */
static bool list_inline(struct unic_req *req, const struct unic_region *mr)
{
	return mr->n_pages <= UNIC_LIST_MAX && mr->pinned && !mr->residency &&
	       !list_pages(req, mr, 0, mr->n_pages);
}

/* The NIC's number of its protection domain. */
static uint32_t pd_of(struct unic_host *host, const struct unic_region *mr)
{
	const struct unic_hpd *pd = unic_obj_get(&host->objects, mr->pd,
						 UNIC_OBJ_PD, mr->obj.owner);

	return pd ? pd->pd : UNIC_LOST;
}

void unic_region_command(struct unic_req *req, const struct unic_region *mr,
			 struct unic_cmd_mr_reg *cmd)
{
	struct unic_ctl_mr_reg r;

	memcpy(&r, mr->made, sizeof(r));
	*cmd = (struct unic_cmd_mr_reg){
		.pd = unic_to_le32(pd_of(req->host, mr)),
		.rights = r.rights,
		.mr_class = r.mr_class,
		.page_shift = mr->page_shift,
		.iova = r.iova,
		.length = r.length,
		.n_pages = unic_to_le32(mr->n_pages),
		.key = r.key,
		.importance = r.importance,
		.user = unic_to_le32(mr->obj.id),
	};

	cmd->residency = mr->residency;
	if (mr->residency == UNIC_TABLE)
		cmd->table = unic_to_le32(mr->table * UNIC_TABLE_BYTES /
					  UNIC_TABLE_UNITS);
	if (list_inline(req, mr))
		cmd->flags |= UNIC_REG_LIST;
}

static void send_reg(struct unic_req *req, struct unic_region *mr)
{
	struct unic_cmd_mr_reg cmd;
	struct unic_ctl_mr_reg r;

	memcpy(&r, mr->made, sizeof(r));
	unic_region_command(req, mr, &cmd);
	if (mr->may_wait) {
		cmd.timeout_us = r.timeout_us;
		cmd.flags |= UNIC_REG_WAIT;
		unic_region_waiting(req->host, mr, true);
	}
	req->id = mr->obj.id;
	mr->waiter = req;
	unic_req_send(req, UNIC_CMD_MR_REG, &cmd, mr_reg_done);
}

/* Is less taken than its share of the NIC's places to wait? */
static bool may_wait(struct unic_req *req)
{
	uint32_t share = req->host->waits / req->host->config.slots;

	return unic_req_proc(req)->waits < (share ? share : 1);
}

void unic_region_fill_in(struct unic_region *mr,
			 const struct unic_ctl_mr_reg *r)
{
	memcpy(mr->made, r, sizeof(*r));
	mr->pd = unic_from_le32(r->pd);
	mr->page_shift = r->page_shift;
	mr->residency = r->residency;
	mr->may_wait = r->flags & UNIC_CTL_REG_WAIT && !mr->residency;
	mr->async = r->flags & UNIC_CTL_REG_ASYNC;
	mr->va = unic_from_le64(r->va);
	mr->iova = unic_from_le64(r->iova);
	mr->length = unic_from_le64(r->length);
	mr->n_pages =
		(uint32_t)(((mr->iova + mr->length - 1) >> mr->page_shift) -
			   (mr->iova >> mr->page_shift) + 1);
	mr->user = unic_from_le32(r->user);
}

/* What the device does not know is loaded whole, which is as good. */
static uint8_t residency_of(const struct unic_host *host,
			    const struct unic_ctl_mr_reg *r)
{
	uint64_t need = r->residency == UNIC_DEMAND ? UNIC_FEAT_DEMAND
						    : UNIC_FEAT_TABLE;

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
	if (req->client->kernel && r.residency == UNIC_PHYSICAL) {
		unic_region_physical(req, &r);
		return;
	}
	pd = unic_obj_get(&req->host->objects, unic_from_le32(r.pd),
			  UNIC_OBJ_PD, unic_req_owner(req));
	status = choose_base(req->host->os, &r);
	if (!status)
		status = check_reg(&r);
	if (!status && !pd)
		status = UNIC_ST_NO_PD;
	if (!status)
		status = unic_req_room(req, UNIC_OBJ_MR);
	if (!status && r.flags & UNIC_CTL_REG_WAIT && !may_wait(req))
		status = UNIC_ST_WAIT_FULL;
	if (!status)
		status = choose_shift(proc, &r, &shift);
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
	send_reg(req, mr);
}

/* --------------------------------------------------------- waits: the rest */

static void cancel_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);

	if (!status && mr && mr->state == R_WAITING)
		unic_region_failed(req->host, mr, mr->waiter,
				   UNIC_ST_CANCELLED);
	else if (!status && mr) /* granted and cancelled: which? */
		req->host->audits++;
	unic_req_status(req, status);
}

void unic_region_cancel(struct unic_req *req)
{
	struct unic_ctl_wait_cancel r;
	struct unic_region *mr;
	uint32_t at = 0;

	memcpy(&r, req->rec, sizeof(r));
	while ((mr = unic_obj_next(&req->host->objects, &at, UNIC_OBJ_MR,
				   unic_req_owner(req)))) {
		if (mr->reg_seq != unic_from_le32(r.wait_seq))
			continue;
		if (mr->state == R_WAITING) {
			send_cancel(req, mr);
			return;
		}
		if (mr->state == R_REGISTERING && mr->may_wait && !mr->cancel) {
			mr->cancel = req; /* when we know its number */
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

/* GRANTED and WAIT_ENDED name the region by the id we gave. */
void unic_region_wait_event(struct unic_host *host,
			    const struct unic_evt_wait *evt)
{
	struct unic_region *mr = unic_obj_get(&host->objects,
					      unic_from_le32(evt->user),
					      UNIC_OBJ_MR, UNIC_OBJ_ANYONE);

	if (!mr)
		return; /* it ended with its process, whose end is heard first */
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

static void dereg_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);

	if (!mr || mr->waiter != req) {
		unic_req_status(req, mr ? status : UNIC_ST_OK);
		return;
	}
	if (status == UNIC_ST_PENDING && mr->state != R_EVICTED)
		return; /* EVICTED follows */
	mr->waiter = NULL;
	/* NO_MR: its tombstone was recycled; PENDING: it went meanwhile */
	if (!status || status == UNIC_ST_NO_MR || status == UNIC_ST_PENDING) {
		unic_region_forget(req->host, mr);
		status = UNIC_ST_OK;
	}
	unic_req_status(req, status);
}

static void send_dereg(struct unic_req *req, struct unic_region *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };

	mr->waiter = req;
	unic_region_answered(req->host, mr);
	unic_req_send(req, UNIC_CMD_MR_DEREG, &cmd, dereg_done);
}

/* MR_DEREG of a region that is not there yet: a wait is cancelled, a grant that
 * is under way is deregistered when it has arrived. */
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
		/* its id was not told yet */
		unic_req_status(req, UNIC_ST_NO_MR);
	else if (mr->dereg || (mr->state >= R_ACTIVE && mr->waiter))
		unic_req_status(req, UNIC_ST_BUSY); /* being deregistered */
	else if (mr->state < R_ACTIVE)
		dereg_early(req, mr);
	else
		send_dereg(req, mr);
}

/* --------------------------------------------------------------------- ends */

void unic_region_drop(struct unic_host *host, struct unic_region *mr,
		      uint32_t status)
{
	struct unic_req *waiter = mr->waiter;

	end_cancel(mr, status);
	end_dereg(mr, status);
	unic_region_forget(host, mr);
	/* one that is with the provider is called back by it */
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

bool unic_region_stag(struct unic_host *host, uint32_t id, uint32_t owner,
		      uint32_t *stag, uint32_t *pd)
{
	const struct unic_region *mr =
		unic_obj_get(&host->objects, id, UNIC_OBJ_MR, owner);

	if (!mr || (mr->state != R_ACTIVE && mr->state != R_NOTIFIED) ||
	    mr->mr == UNIC_LOST)
		return false;
	*stag = mr->stag;
	*pd = pd_of(host, mr);
	return *pd != UNIC_LOST;
}

bool unic_region_recall(struct unic_host *host, const struct unic_obj_note *n)
{
	struct unic_region *mr =
		unic_obj_recall(&host->objects, n, sizeof(*mr));
	struct unic_ctl_mr_reg r;

	if (!mr)
		return false;
	memcpy(&r, n->made, sizeof(r));
	unic_region_fill_in(mr, &r);
	mr->state = R_ACTIVE;
	mr->stag = n->a;
	mr->mr = UNIC_LOST;
	host->proc[n->owner].regions++;
	/* the NIC that the last driver left may use them still (INV-14) */
	return !unic_region_pin(host, mr);
}
