/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_unmap.c - a process unmapped memory of regions without MR_DEREG: the driver
 * deregisters the regions and sends EVICTED to the process. Of a DEMAND region only the
 * pages end.
 *
 * The unmapped frames stay pinned until the NIC has dropped their entries, so no other
 * process gets them before (INV-14).
 */
#include "region/region_unmap.h"

#include "region/region_notice.h"
#include "region/region_pin.h"

/* ------------------------------------------------------------ whole regions */

/* OK: the region has ended. BUSY: it holds a queue. PENDING: EVICTED follows. */
static void revoke_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);

	if (mr && status != UNIC_ST_PENDING) {
		mr->revoked = false;
		if (!status && mr->state >= R_ACTIVE && mr->state != R_EVICTED)
			unic_region_revoked(req->host, mr);
	}
	unic_req_free(req);
}

static void revoke_region(struct unic_host *host, struct unic_region *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_req *req = unic_req_new(host, mr->obj.owner);

	if (!req)
		return; /* the caller asks again */
	req->id = mr->obj.id;
	mr->revoked = true;
	unic_req_send(req, UNIC_CMD_MR_DEREG, &cmd, revoke_done);
}

/* ------------------------------------------------------------------- pages */

/* BUSY: a DMA uses a page, and the pages stay. */
static void invalidate_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);

	if (mr && !unic_call_status(call))
		unic_region_pages_drop(req->host, mr, req->id2, req->progress);
	if (mr)
		mr->revoked = false;
	unic_req_free(req);
}

static void invalidate_pages(struct unic_host *host, struct unic_region *mr,
			     uint64_t from, uint64_t to)
{
	uint64_t base = mr->va >> mr->page_shift;
	uint32_t first = (uint32_t)((from >> mr->page_shift) - base);
	uint32_t count = (uint32_t)((to >> mr->page_shift) - base) - first + 1;
	struct unic_cmd_mr_pages cmd = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.first = unic_to_le32(first),
		.count = unic_to_le32(count),
	};
	struct unic_req *req;

	if (!unic_region_pages_there(mr, first, count))
		return;
	req = unic_req_new(host, mr->obj.owner);
	if (!req)
		return;
	req->id = mr->obj.id;
	req->id2 = first;
	req->progress = count;
	mr->revoked = true;
	unic_req_send(req, UNIC_CMD_MR_INVALIDATE, &cmd, invalidate_done);
}

void unic_region_unmapped(struct unic_host *host, uint32_t slot, uint64_t va,
			  uint64_t length)
{
	struct unic_region *mr;
	uint32_t at = 0;

	while (host->ready && length &&
	       (mr = unic_obj_next(&host->objects, &at, UNIC_OBJ_MR, slot))) {
		/* inclusive ends: the exclusive ones may be 2^64 */
		uint64_t of_mr = mr->va + (mr->length - 1);
		uint64_t last = va + (length - 1);
		uint64_t from = mr->va > va ? mr->va : va;
		uint64_t to = of_mr < last ? of_mr : last;

		if (mr->kind != UNIC_FORM_PLAIN || mr->state < R_ACTIVE ||
		    mr->state == R_EVICTED || mr->revoked || from > to ||
		    mr->bus)
			continue;
		if (mr->residency == UNIC_DEMAND)
			invalidate_pages(host, mr, from, to);
		else
			revoke_region(host, mr);
	}
}
