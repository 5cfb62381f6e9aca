/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_dma.c - the region of the driver's own process slot (docs/MEMORY.md section 8),
 * addressed by bus address. The slot hands out no frames, so the region pins none; the
 * region holds no entries, so the NIC sends no notice. The region ends with the slot.
 */
#include "region/region_dma.h"

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

void unic_region_physical(struct unic_req *req, const struct unic_ctl_mr_reg *r)
{
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(pd_number(req, r)),
		.rights = r->rights,
		.mr_class = r->mr_class,
		.residency = r->residency,
		.iova = r->iova,
		.length = r->length,
	};
	struct unic_region *mr = unic_obj_alloc(
		&req->host->objects, UNIC_OBJ_MR, req->slot, sizeof(*mr));

	if (!mr) {
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	unic_req_proc(req)->regions++;
	unic_region_fill_in(mr, r);
	mr->state = R_REGISTERING;
	mr->n_pages = 0;
	mr->waiter = req;
	req->id = mr->obj.id;
	cmd.user = unic_to_le32(mr->obj.id);
	unic_req_send(req, UNIC_CMD_MR_REG, &cmd, dma_reg_done);
}
