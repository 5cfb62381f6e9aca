/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region.c - see region.h: regions, their commands for the NIC and their upcalls. */
#include "region/region.h"

#include "region/region_pin.h"
#include "upcall.h"

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

void unic_region_numbers(struct unic_region *mr, const struct unic_call *call)
{
	struct unic_cpl_mr_reg cpl;

	memcpy(&cpl, call->cpl, sizeof(cpl));
	mr->mr = unic_from_le32(cpl.mr);
	mr->gen = unic_from_le32(cpl.gen);
	mr->stag = unic_from_le32(cpl.stag);
	mr->wait = unic_from_le32(cpl.wait);
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
	unic_os_free(host->os, mr->bus_page);
	proc_of(host, mr)->regions--;
	unic_obj_free(&host->objects, &mr->obj);
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
	/* until its reset the NIC may access the frames (INV-14) */
	return !unic_region_pin(host, mr);
}

/* ----------------------------------------------------- commands of the NIC */

/* Write the addresses of @n pages from @first on to the list of @req. */
static uint32_t list_pages(struct unic_req *req, const struct unic_region *mr,
			   uint32_t first, uint32_t n)
{
	uint64_t *list = unic_req_list(req, n * 8);
	uint32_t i;

	if (!list)
		return UNIC_CTL_ST_NO_MEMORY;
	req->call.list_bytes = n * 8;
	if (mr->bus) {
		memcpy(list, mr->bus_page + first, n * 8);
		return UNIC_ST_OK;
	}
	if (unic_frames_list(&proc_of(req->host, mr)->frames, mr->va,
			     mr->page_shift, first, n, list)) {
		req->call.list_bytes = 0;
		return UNIC_CTL_ST_NOT_MAPPED;
	}
	for (i = 0; i < n; i++)
		((unic_le64 *)(void *)list)[i] = unic_to_le64(list[i]);
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

/* True if MR_REG carries the page list. MR_FILL sends long lists, and those of regions
 * that may wait. */
static bool list_inline(struct unic_req *req, const struct unic_region *mr)
{
	return mr->n_pages <= UNIC_LIST_MAX && mr->pinned && !mr->residency &&
	       !list_pages(req, mr, 0, mr->n_pages);
}

/* The NIC's number of the protection domain of @mr. */
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
		.account = r.account,
		.user = unic_to_le32(mr->obj.id),
	};

	cmd->residency = mr->residency;
	if (mr->residency == UNIC_TABLE) {
		cmd->list = unic_to_le64(mr->list_bus);
		cmd->flags |= UNIC_REG_HOST_TABLE;
	}
	if (list_inline(req, mr))
		cmd->flags |= UNIC_REG_LIST;
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

/* End @mr on the NIC without a request of its process: its fill failed, or the process
 * has given it up. */
void unic_region_send_dereg(struct unic_host *host,
			    const struct unic_region *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_req *own = unic_req_new(host, mr->obj.owner);

	if (own)
		unic_req_send(own, UNIC_CMD_MR_DEREG, &cmd, unic_req_done_free);
}

/* ---------------------------------------------------------------- upcalls */

void unic_region_upcall_wait(struct unic_host *host,
			     const struct unic_region *mr, uint8_t type,
			     uint32_t status)
{
	struct unic_upcall_wait up = {
		.hdr = { .type = type, .id = unic_to_le32(mr->obj.id) },
		.user = unic_to_le32(mr->user),
		.stag = unic_to_le32(type == UNIC_UP_GRANTED ? mr->stag : 0),
		.status = unic_to_le32(status),
		.waited_us = unic_to_le32(mr->waited_us),
		.entries = unic_to_le32(mr->n_pages),
		.wait_seq = unic_to_le32(mr->reg_seq),
	};

	unic_upcall_send(host, mr->obj.owner, &up);
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

void unic_region_answered(struct unic_host *host, struct unic_region *mr)
{
	if (mr->state == R_NOTIFIED && mr->noticed_ns)
		unic_delay_add(&proc_of(host, mr)->answer, mr->noticed_ns,
			       unic_os_now_ns(host->os));
	mr->noticed_ns = 0;
}

void unic_region_upcall(struct unic_host *host, const struct unic_region *mr,
			const struct unic_evt_mr *evt, uint8_t type)
{
	struct unic_upcall_mr up = {
		.hdr = { .type = type,
			 .reason = evt->hdr.reason,
			 .id = unic_to_le32(mr->obj.id) },
		.user = unic_to_le32(mr->user),
		.stag = unic_to_le32(mr->stag),
		.notice_seq = evt->seq,
		.entries = evt->entries,
		.dependents = evt->dependents,
		.rank = evt->rank,
		.flags = evt->flags,
		.grace_us = evt->grace_us,
		.deadline_ns = unic_to_le64(
			type == UNIC_UP_NOTICE ? mr->deadline_ns : 0),
		.pain = evt->pain,
	};

	unic_upcall_send(host, mr->obj.owner, &up);
}
