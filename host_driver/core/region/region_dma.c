/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_dma.c - the regions of the driver's own process slot (docs/MEMORY.md section 8),
 * which name memory by bus address. The slot hands out no frames, so they pin none: who
 * registers a page gives it back when MR_DEREG is answered. All end with the slot.
 */
#include "region/region_dma.h"

#include "region/region_held.h"
#include "region/region_place.h"
#include "region/region_reg.h"

static void dma_reg_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);
	struct unic_ctl_mr_reg_reply r = { 0 };

	if (!mr || status) {
		if (mr)
			unic_region_forget(req->host, mr);
		unic_req_status(req, mr ? status : UNIC_CTL_ST_RESET);
		return;
	}
	unic_region_numbers(mr, call);
	mr->waiter = NULL;
	mr->state = R_ACTIVE;
	r.id = unic_to_le32(mr->obj.id);
	r.stag = unic_to_le32(mr->stag);
	r.entries = unic_to_le32(mr->n_pages);
	r.page_shift = mr->page_shift;
	r.iova = unic_to_le64(mr->iova);
	unic_req_answer(req, UNIC_ST_OK, &r, NULL, 0);
}

static uint32_t pd_number(const struct unic_req *req,
			  const struct unic_ctl_mr_reg *r)
{
	const struct unic_hpd *pd =
		unic_obj_get(&req->host->objects, unic_from_le32(r->pd),
			     UNIC_OBJ_PD, unic_req_owner(req));

	return pd ? pd->pd : UNIC_LOST;
}

/* A region of @r, not registered yet. NULL: out of memory, and @req is answered. */
static struct unic_region *new_region(struct unic_req *req,
				      const struct unic_ctl_mr_reg *r)
{
	struct unic_region *mr = unic_obj_alloc(
		&req->host->objects, UNIC_OBJ_MR, req->slot, sizeof(*mr));

	if (!mr) {
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return NULL;
	}
	unic_req_proc(req)->regions++;
	unic_region_fill_in(mr, r);
	mr->state = R_REGISTERING;
	mr->bus = true;
	return mr;
}

/* Send @cmd, which makes the region of @r, after filling in its PD and user. */
static void begin_reg(struct unic_req *req, const struct unic_ctl_mr_reg *r,
		      struct unic_cmd_mr_reg *cmd)
{
	struct unic_region *mr = new_region(req, r);

	if (!mr)
		return;
	mr->n_pages = unic_from_le32(cmd->n_pages);
	mr->waiter = req;
	req->id = mr->obj.id;
	cmd->pd = unic_to_le32(pd_number(req, r));
	cmd->user = unic_to_le32(mr->obj.id);
	unic_req_send(req, UNIC_CMD_MR_REG, cmd, dma_reg_done);
}

static void reg_physical(struct unic_req *req, const struct unic_ctl_mr_reg *r)
{
	struct unic_cmd_mr_reg cmd = {
		.rights = r->rights,
		.mr_class = r->mr_class,
		.residency = r->residency,
		.iova = r->iova,
		.length = r->length,
	};

	begin_reg(req, r, &cmd);
}

/* The number of pages that @r touches; 0: more than a list has. */
static uint32_t pages_of(const struct unic_ctl_mr_reg *r)
{
	uint64_t iova = unic_from_le64(r->iova);
	uint64_t last = iova + (unic_from_le64(r->length) - 1);
	uint64_t n = (last >> r->page_shift) - (iova >> r->page_shift) + 1;

	return n <= UNIC_LIST_MAX ? (uint32_t)n : 0;
}

/* True if the list of @req names @n pages of the size in @r, and nothing else. */
static bool is_page_list(const struct unic_req *req,
			 const struct unic_ctl_mr_reg *r, uint32_t n)
{
	const unic_le64 *page = (const void *)req->call.list;
	uint64_t low = 0;
	uint32_t i;

	if (req->tail_bytes != n * sizeof(*page))
		return false;
	for (i = 0; i < n; i++)
		low |= unic_from_le64(page[i]);
	return !(low & ((1ull << r->page_shift) - 1));
}

/* True if @account, 1 + a slot, is an account of the slot of @req, or 0. */
static bool is_own_account(const struct unic_req *req, uint32_t account)
{
	const struct unic_host *host = req->host;

	if (!account)
		return true;
	return account <= host->slots &&
	       host->proc[account - 1].state == UNIC_HPROC_LIVE &&
	       host->proc[account - 1].keeper == req->slot + 1;
}

/* Register the @n pages in the list of @req, which may wait for entries. The NIC reads
 * them when it has those, so the region has a copy of its own. */
static void reg_waiting(struct unic_req *req, const struct unic_ctl_mr_reg *r,
			uint32_t n)
{
	struct unic_host *host = req->host;
	struct unic_region *mr;

	if (unic_region_hold(req))
		return;
	if (!unic_region_has_wait_place(host, unic_req_proc(req))) {
		unic_req_status(req, UNIC_ST_WAIT_FULL);
		return;
	}
	mr = new_region(req, r);
	if (!mr)
		return;
	mr->reg_seq = req->seq;
	if (unic_from_le32(r->timeout_us))
		mr->give_up_ns = unic_os_now_ns(host->os) +
				 1000ull * unic_from_le32(r->timeout_us);
	mr->bus_page = unic_os_alloc(host->os, n * sizeof(*mr->bus_page));
	if (!mr->bus_page) {
		unic_region_forget(host, mr);
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	memcpy(mr->bus_page, req->call.list, n * sizeof(*mr->bus_page));
	req->call.list_bytes = 0;
	unic_region_send_reg(req, mr);
}

/* The number of pages in the list of @req, if @r and the list are valid: of any rights,
 * checked like those of a process. Else 0, and @status says why. */
static uint32_t check_pages(const struct unic_req *req,
			    const struct unic_ctl_mr_reg *r, uint32_t *status)
{
	uint32_t n = 0;

	if (!*status)
		*status = unic_region_check(r);
	if (!*status && !is_own_account(req, r->account))
		*status = UNIC_ST_INVALID;
	if (!*status && (!r->page_shift || r->mr_class != UNIC_CLASS_RDMA ||
			 r->flags & ~(UNIC_CTL_REG_RANDOM | UNIC_CTL_REG_WAIT)))
		*status = UNIC_ST_INVALID;
	if (!*status)
		n = pages_of(r);
	if (!*status && (!n || !is_page_list(req, r, n)))
		*status = UNIC_ST_INVALID;
	if (!*status)
		*status = unic_req_room(req, UNIC_OBJ_MR);
	return *status ? 0 : n;
}

/* Register the pages in the list of @req. */
static void reg_pages(struct unic_req *req, struct unic_ctl_mr_reg *r)
{
	struct unic_cmd_mr_reg cmd = {
		.rights = r->rights,
		.page_shift = r->page_shift,
		.flags = UNIC_REG_LIST,
		.length = r->length,
		.key = r->key,
		.importance = r->importance,
		.account = r->account,
	};
	uint32_t status = unic_region_choose_base(req->host->os, r);
	uint32_t n = check_pages(req, r, &status);

	if (status) {
		unic_req_status(req, status);
		return;
	}
	if (r->flags & UNIC_CTL_REG_WAIT) {
		reg_waiting(req, r, n);
		return;
	}
	cmd.iova = r->iova;
	cmd.n_pages = unic_to_le32(n);
	begin_reg(req, r, &cmd);
}

bool unic_region_by_bus(struct unic_req *req, struct unic_ctl_mr_reg *r)
{
	bool physical = r->residency == UNIC_PHYSICAL;

	if (!req->tail_bytes && !r->account &&
	    !(physical && req->client->kernel))
		return false;
	if (!req->client->kernel ||
	    (physical && (req->tail_bytes || r->account)) ||
	    (!physical && r->residency != UNIC_RESIDENT))
		unic_req_status(req, UNIC_ST_INVALID);
	else if (physical)
		reg_physical(req, r);
	else
		reg_pages(req, r);
	return true;
}
