/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_derived.c - derived regions, and re-registration (docs/DESIGN.md section 6.3).
 * The NIC keeps the dependencies; in the driver a derived region pins nothing, because
 * its sources do.
 */
#include "region/region_derived.h"

#include "region/region_pin.h"
#include "unic_queue.h"

/* Store the region @id of the process of @req to *@mr. OK, or the status of the answer:
 * there is none, or another request is changing it. */
static uint32_t get_idle_region(struct unic_req *req, uint32_t id,
				struct unic_region **mr)
{
	req->id = id;
	*mr = mr_get(req, id);
	if (!*mr || (*mr)->state < R_ACTIVE)
		return UNIC_ST_NO_MR;
	if ((*mr)->state == R_EVICTED)
		return UNIC_ST_EVICTED;
	return (*mr)->waiter ? UNIC_ST_BUSY : UNIC_ST_OK;
}

static void answer_region(struct unic_req *req, const struct unic_region *mr)
{
	struct unic_ctl_mr_reg_reply r = {
		.id = unic_to_le32(mr->obj.id),
		.stag = unic_to_le32(mr->stag),
		.entries = unic_to_le32(mr->n_pages),
		.page_shift = mr->page_shift,
	};

	unic_req_answer(req, UNIC_ST_OK, &r, NULL, 0);
}

/* ---------------------------------------------------------------- MR_ALLOC */

static void alloc_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_support(call);
	struct unic_cpl_mr_reg cpl;

	if (!mr) { /* its process or the epoch ended */
		unic_req_status(req, UNIC_CTL_ST_RESET);
		return;
	}
	mr->waiter = NULL;
	if (status) {
		unic_region_forget(req->host, mr);
		unic_region_refused(req, status);
		return;
	}
	memcpy(&cpl, call->cpl, sizeof(cpl));
	mr->mr = unic_from_le32(cpl.mr);
	mr->gen = unic_from_le32(cpl.gen);
	mr->stag = unic_from_le32(cpl.stag);
	mr->state = R_ACTIVE;
	answer_region(req, mr);
}

void unic_region_alloc(struct unic_req *req)
{
	struct unic_cmd_mr_alloc cmd = { 0 };
	struct unic_ctl_mr_alloc r;
	struct unic_region *mr = NULL;
	struct unic_hpd *pd;
	uint32_t status;

	memcpy(&r, req->rec, sizeof(r));
	pd = unic_obj_get(&req->host->objects, unic_from_le32(r.pd),
			  UNIC_OBJ_PD, unic_req_owner(req));
	status = pd ? unic_req_room(req, UNIC_OBJ_MR) : UNIC_ST_NO_PD;
	if (!status) {
		mr = unic_obj_alloc(&req->host->objects, UNIC_OBJ_MR, req->slot,
				    sizeof(*mr));
		status = mr ? UNIC_ST_OK : UNIC_CTL_ST_NO_MEMORY;
	}
	if (status) {
		unic_req_status(req, status);
		return;
	}
	unic_req_proc(req)->regions++;
	mr->state = R_REGISTERING;
	mr->kind = r.kind;
	mr->pd = pd->obj.id;
	mr->page_shift = r.page_shift;
	mr->n_pages = r.kind == UNIC_FORM_FAST ? unic_from_le32(r.n) : 0;
	mr->user = unic_from_le32(r.user);
	mr->reg_seq = req->seq;
	mr->waiter = req;
	req->id = mr->obj.id;
	cmd.pd = unic_to_le32(pd->pd);
	cmd.kind = r.kind;
	cmd.page_shift = r.page_shift;
	cmd.key = r.key;
	cmd.importance = r.importance;
	cmd.n = r.n;
	cmd.user = unic_to_le32(mr->obj.id);
	unic_req_send(req, UNIC_CMD_MR_ALLOC, &cmd, alloc_done);
}

/* ------------------------------------------------------- MR_MAKE, MR_INVAL */

static void make_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_support(call);
	struct unic_cpl_mr_reg cpl;

	if (status || !mr) {
		unic_req_status(req, status ? status : UNIC_CTL_ST_RESET);
		return;
	}
	memcpy(&cpl, call->cpl, sizeof(cpl));
	mr->stag = unic_from_le32(cpl.stag);
	if (unic_region_lasts(mr)) {
		memcpy(mr->made, req->rec, sizeof(mr->made));
		memset(&mr->of, 0, sizeof(mr->of));
		if (req->tail_bytes == sizeof(mr->of))
			memcpy(&mr->of, call->list, sizeof(mr->of));
	}
	answer_region(req, mr);
}

static void build_make(const struct unic_region *mr,
		       const struct unic_ctl_mr_make *r,
		       struct unic_cmd_mr_make *cmd)
{
	cmd->mr = unic_to_le32(mr->mr);
	cmd->gen = unic_to_le32(mr->gen);
	cmd->iova = r->iova;
	cmd->n = r->n;
	cmd->repeat = r->repeat;
	cmd->rights = r->rights;
	cmd->key = r->key;
	cmd->strided = r->strided;
}

void unic_region_make(struct unic_req *req)
{
	struct unic_cmd_mr_make cmd = { 0 };
	struct unic_ctl_mr_make r;
	struct unic_region *mr;
	uint32_t status, n;

	memcpy(&r, req->rec, sizeof(r));
	n = unic_from_le32(r.n);
	status = get_idle_region(req, unic_from_le32(r.id), &mr);
	if (!status && (n > UNIC_FORM_ELEMENTS || r.strided > 1 || r.rsvd0 ||
			req->tail_bytes != n * (r.strided ? 20u : 16u)))
		status = UNIC_ST_INVALID;
	if (!status && mr->kind == UNIC_FORM_PLAIN)
		status = UNIC_ST_STATE;
	if (status) {
		unic_req_status(req, status);
		return;
	}
	build_make(mr, &r, &cmd);
	unic_req_send(req, UNIC_CMD_MR_MAKE, &cmd, make_done);
}

static void inval_done(struct unic_call *call)
{
	unic_req_status(unic_req_of(call), unic_call_support(call));
}

void unic_region_inval(struct unic_req *req)
{
	struct unic_cmd_mr cmd = { 0 };
	struct unic_ctl_obj r;
	struct unic_region *mr;
	uint32_t status;

	memcpy(&r, req->rec, sizeof(r));
	status = get_idle_region(req, unic_from_le32(r.id), &mr);
	if (status) {
		unic_req_status(req, status);
		return;
	}
	cmd.mr = unic_to_le32(mr->mr);
	cmd.gen = unic_to_le32(mr->gen);
	unic_req_send(req, UNIC_CMD_MR_INVAL, &cmd, inval_done);
}

/* ----------------------------------------------------------- after a reset */

bool unic_region_lasts(const struct unic_region *mr)
{
	return mr->kind == UNIC_FORM_SUB || mr->kind == UNIC_FORM_WINDOW1;
}

void unic_region_again_alloc(const struct unic_region *mr, uint32_t pd,
			     struct unic_cmd_mr_alloc *cmd)
{
	*cmd = (struct unic_cmd_mr_alloc){
		.pd = unic_to_le32(pd),
		.kind = mr->kind,
		.key = (uint8_t)mr->stag,
		.user = unic_to_le32(mr->obj.id),
		.stag = unic_to_le32(mr->stag),
	};
}

bool unic_region_again_make(struct unic_req *req, const struct unic_region *mr,
			    struct unic_cmd_mr_make *cmd)
{
	struct unic_ctl_mr_make r;
	uint64_t *list;

	memcpy(&r, mr->made, sizeof(r));
	list = r.n ? unic_req_list(req, sizeof(mr->of)) : NULL;
	if (!list)
		return false;
	memcpy(list, &mr->of, sizeof(mr->of));
	req->call.list_bytes = sizeof(mr->of);
	*cmd = (struct unic_cmd_mr_make){ 0 };
	build_make(mr, &r, cmd);
	cmd->key = (uint8_t)mr->stag;
	return true;
}

/* ---------------------------------------------------------------- MR_REREG */

/* Give @mr the new range, and unpin the old one. */
static void take_range(struct unic_host *host, struct unic_region *mr,
		       const struct unic_ctl_mr_rereg *r)
{
	uint64_t iova = unic_from_le64(r->iova);
	uint64_t length = unic_from_le64(r->length);

	unic_region_unpin(host, mr);
	mr->pinned = true;
	mr->next_bytes = 0;
	mr->va = unic_from_le64(r->va);
	mr->iova = iova;
	mr->length = length;
	mr->n_pages = (uint32_t)(((iova + length - 1) >> mr->page_shift) -
				 (iova >> mr->page_shift) + 1);
}

/* Change mr->made to the MR_REG that would make the region as it is: restore.c and the
 * journal register it by that. */
static void apply_rereg(struct unic_host *host, struct unic_region *mr,
			const struct unic_ctl_mr_rereg *r)
{
	struct unic_ctl_mr_reg made;

	memcpy(&made, mr->made, sizeof(made));
	if (r->what & UNIC_REREG_RANGE) {
		take_range(host, mr, r);
		made.va = r->va;
		made.iova = r->iova;
		made.length = r->length;
	}
	if (r->what & UNIC_REREG_PD) {
		mr->pd = unic_from_le32(r->pd);
		made.pd = r->pd;
	}
	if (r->what & UNIC_REREG_RIGHTS)
		made.rights = r->rights;
	memcpy(mr->made, &made, sizeof(made));
	unic_journal_put(host, &mr->obj, mr->made, mr->stag, 0);
}

static void rereg_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_support(call);
	struct unic_ctl_mr_rereg r;

	if (!mr || mr->waiter != req) { /* process or epoch ended */
		unic_req_status(req, UNIC_CTL_ST_RESET);
		return;
	}
	mr->waiter = NULL;
	mr->reregs = false;
	if (status || mr->state == R_EVICTED) {
		unic_region_unpin_next(req->host, mr);
		unic_region_refused(req, status ? status : UNIC_ST_EVICTED);
		return;
	}
	memcpy(&r, req->rec, sizeof(r));
	apply_rereg(req->host, mr, &r);
	answer_region(req, mr);
}

/* Pin the new range and write its page list for @cmd. OK, or the status of the answer. */
static uint32_t prepare_rereg(struct unic_req *req, struct unic_region *mr,
			      const struct unic_ctl_mr_rereg *r,
			      struct unic_cmd_mr_rereg *cmd)
{
	struct unic_frames *f = &proc_of(req->host, mr)->frames;
	uint64_t va = unic_from_le64(r->va), iova = unic_from_le64(r->iova);
	uint64_t length = unic_from_le64(r->length), n, i, mask;
	uint64_t *list;
	uint32_t shift;

	if (!length || iova + (length - 1) < iova || va + (length - 1) < va)
		return UNIC_ST_INVALID;
	mask = (1ull << mr->page_shift) - 1;
	if ((va ^ iova) & mask)
		return UNIC_CTL_ST_NOT_ALIGNED;
	shift = unic_frames_shift(f, va, iova, length, mr->page_shift);
	if (shift != mr->page_shift)
		return shift ? UNIC_CTL_ST_NOT_ALIGNED : UNIC_CTL_ST_NOT_MAPPED;
	n = ((iova + length - 1) >> mr->page_shift) - (iova >> mr->page_shift) +
	    1;
	if (n > UNIC_LIST_MAX)
		return UNIC_ST_TOO_LARGE;
	list = unic_req_list(req, (uint32_t)n * 8);
	if (!list)
		return UNIC_CTL_ST_NO_MEMORY;
	if (unic_frames_pin(f, va & ~mask, n << mr->page_shift,
			    r->what & UNIC_REREG_RIGHTS
				    ? unic_rights_write(r->rights)
				    : unic_region_writable(mr)))
		return UNIC_CTL_ST_NOT_MAPPED;
	mr->next_va = va & ~mask;
	mr->next_bytes = n << mr->page_shift;
	if (unic_frames_list(f, va, mr->page_shift, 0, (uint32_t)n, list)) {
		unic_region_unpin_next(req->host, mr);
		return UNIC_CTL_ST_NOT_MAPPED;
	}
	for (i = 0; i < n; i++)
		((unic_le64 *)(void *)list)[i] = unic_to_le64(list[i]);
	req->call.list_bytes = (uint32_t)n * 8;
	cmd->iova = r->iova;
	cmd->length = r->length;
	cmd->n_pages = unic_to_le32((uint32_t)n);
	return UNIC_ST_OK;
}

static void hint_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_support(call);
	struct unic_ctl_mr_rereg r;
	struct unic_ctl_mr_reg made;

	if (status == UNIC_ST_STATE) /* its EVICTED is on the way */
		status = UNIC_ST_EVICTED;
	if (status || !mr) {
		unic_req_status(req, status ? status : UNIC_CTL_ST_RESET);
		return;
	}
	memcpy(&r, req->rec, sizeof(r));
	/* restored as it was made, unless it was taken back meanwhile */
	if (mr->kind == UNIC_FORM_PLAIN && mr->state != R_EVICTED) {
		memcpy(&made, mr->made, sizeof(made));
		made.importance = r.importance;
		memcpy(mr->made, &made, sizeof(made));
		unic_journal_put(req->host, &mr->obj, mr->made, mr->stag, 0);
	}
	answer_region(req, mr);
}

static void change_hint(struct unic_req *req, const struct unic_ctl_mr_rereg *r)
{
	struct unic_cmd_mr_rereg cmd = { .what = UNIC_REREG_HINT,
					 .importance = r->importance };
	struct unic_region *mr = mr_get(req, unic_from_le32(r->id));

	if (!mr || mr->state < R_ACTIVE || mr->state == R_EVICTED) {
		unic_req_status(req, mr && mr->state == R_EVICTED
					     ? UNIC_ST_EVICTED
					     : UNIC_ST_NO_MR);
		return;
	}
	if (!(req->host->features & UNIC_FEAT_APP_POLICY)) {
		unic_req_status(req, UNIC_CTL_ST_UNSUPPORTED);
		return;
	}
	req->id = mr->obj.id;
	cmd.mr = unic_to_le32(mr->mr);
	cmd.gen = unic_to_le32(mr->gen);
	unic_req_send(req, UNIC_CMD_MR_REREG, &cmd, hint_done);
}

/* Pages of a region that holds no entries stay where they are, and as they were pinned. */
static bool can_change(const struct unic_region *mr,
		       const struct unic_ctl_mr_rereg *r)
{
	return mr->residency == UNIC_RESIDENT ||
	       !(r->what & UNIC_REREG_RANGE ||
		 (unic_rights_write(r->rights) && !unic_region_writable(mr)));
}

void unic_region_rereg(struct unic_req *req)
{
	struct unic_cmd_mr_rereg cmd = { 0 };
	struct unic_ctl_mr_rereg r;
	struct unic_region *mr;
	struct unic_hpd *pd;
	uint32_t status;

	memcpy(&r, req->rec, sizeof(r));
	if (r.what == UNIC_REREG_HINT && !r.rsvd0) {
		change_hint(req, &r);
		return;
	}
	status = get_idle_region(req, unic_from_le32(r.id), &mr);
	if (!status && (r.what & ~UNIC_REREG_ALL || r.rsvd0 || r.importance))
		status = UNIC_ST_INVALID;
	if (!status && (mr->kind != UNIC_FORM_PLAIN || !can_change(mr, &r)))
		status = UNIC_ST_STATE;
	pd = unic_obj_get(&req->host->objects, unic_from_le32(r.pd),
			  UNIC_OBJ_PD, unic_req_owner(req));
	if (!status && r.what & UNIC_REREG_PD && !pd)
		status = UNIC_ST_NO_PD;
	if (!status && r.what & UNIC_REREG_RANGE)
		status = prepare_rereg(req, mr, &r, &cmd);
	else if (!status && r.what & UNIC_REREG_RIGHTS &&
		 !unic_region_allows(req->host, mr, r.rights))
		status = UNIC_CTL_ST_NOT_MAPPED;
	if (status) {
		unic_req_status(req, status);
		return;
	}
	cmd.mr = unic_to_le32(mr->mr);
	cmd.gen = unic_to_le32(mr->gen);
	cmd.what = r.what;
	cmd.rights = r.what & UNIC_REREG_RIGHTS ? r.rights : 0;
	if (r.what & UNIC_REREG_PD)
		cmd.pd = unic_to_le32(pd->pd);
	mr->waiter = req;
	mr->reregs = true;
	unic_req_send(req, UNIC_CMD_MR_REREG, &cmd, rereg_done);
}
