/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_dereg.c - see region_dereg.h. */
#include "region/region_dereg.h"

/* True if the device was lost before it answered @req, and no pin keeps the pages: they
 * are the driver's own, which the device may use until its reset (INV-14). */
static bool is_unsure(const struct unic_req *req, uint32_t status)
{
	return status == UNIC_CTL_ST_RESET && req->client &&
	       req->client->kernel;
}

static void dereg_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_region *mr = mr_get(req, req->id);
	uint32_t status = unic_call_status(call);

	if (!mr || mr->waiter != req) {
		unic_req_status(req, mr || is_unsure(req, status) ? status
								  : UNIC_ST_OK);
		return;
	}
	if (status == UNIC_ST_PENDING && mr->state != R_EVICTED)
		return; /* EVICTED follows */
	mr->waiter = NULL;
	/* NO_MR: the tombstone was recycled; PENDING: the region has ended since */
	if (!status || status == UNIC_ST_NO_MR || status == UNIC_ST_PENDING) {
		unic_region_forget(req->host, mr);
		status = UNIC_ST_OK;
	}
	unic_req_status(req, status);
}

void unic_region_dereg_for(struct unic_req *req, struct unic_region *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };

	mr->waiter = req;
	unic_region_answered(req->host, mr);
	unic_req_send(req, UNIC_CMD_MR_DEREG, &cmd, dereg_done);
}
