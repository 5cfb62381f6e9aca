/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * batch.c - BATCH: several requests in one, and their commands in one.
 *
 * Each record becomes a request (a member) and is run by its own handler. The first
 * command of each member is kept; when all members have run, one command of the NIC
 * carries those kept. Later commands of a member go one by one. The reply is sent when
 * the last member is answered.
 */
#include "batch.h"

#include "dispatch.h"
#include "limit.h"
#include "request.h"

/* Complete the calls of all kept commands: with their completions in the list of @call,
 * or with the status of @call, which did nothing then. */
static void deliver_completions(struct unic_batch *b,
				const struct unic_call *call)
{
	const uint8_t *cpl = call->list;
	struct unic_cmd_hdr hdr;
	uint8_t status;
	uint32_t i;

	memcpy(&hdr, call->cpl, sizeof(hdr));
	status = hdr.status;
	for (i = 0; i < b->kept; i++) {
		struct unic_call *c = &b->of[i]->call;

		memset(c->cpl, 0, sizeof(c->cpl));
		if (!status) {
			memcpy(c->cpl, cpl + i * UNIC_CTL_BYTES,
			       UNIC_CTL_BYTES);
		} else {
			memcpy(&hdr, c->cmd, sizeof(hdr));
			hdr.status = status;
			memcpy(c->cpl, &hdr, sizeof(hdr));
		}
		unic_req_done(b->parent->host, c);
	}
}

static void batch_done(struct unic_call *call)
{
	struct unic_batch *b = unic_req_of(call)->batch;

	deliver_completions(b, call);
	unic_req_batch_left(b);
}

/* Send the kept commands to the NIC with the call of the parent, which counts in
 * b->left. */
static void send_kept(struct unic_batch *b)
{
	struct unic_req *parent = b->parent;
	struct unic_cmd_batch cmd = { .count = unic_to_le32(b->kept) };
	uint8_t *list = (uint8_t *)parent->call.list;

	b->open = false;
	if (!b->kept) {
		unic_req_batch_left(b);
		return;
	}
	memcpy(list, b->cmd, b->cmd_bytes);
	memcpy(list + b->cmd_bytes, b->list, b->list_bytes);
	parent->call.list_bytes = b->cmd_bytes + b->list_bytes;
	unic_req_send(parent, unic_req_batch_opcode(b->cmd), &cmd, batch_done);
}

static bool is_batchable_op(const struct unic_ctl_hdr *hdr)
{
	uint32_t op = unic_from_le16(hdr->op);

	return op == UNIC_CTL_MR_REG || op == UNIC_CTL_MR_ALLOC ||
	       op == UNIC_CTL_MR_DEREG || op == UNIC_CTL_TOKEN_ALLOC ||
	       op == UNIC_CTL_TOKEN_CANCEL;
}

/* Run record @nth as a request of its own. */
static void run_record(struct unic_batch *b, uint32_t nth)
{
	struct unic_req *parent = b->parent, *req;
	const uint8_t *rec = b->reply[nth];
	struct unic_ctl_hdr hdr;

	memcpy(&hdr, rec, sizeof(hdr));
	req = unic_req_new(parent->host, parent->slot);
	if (!req) {
		hdr.status = unic_to_le16(UNIC_CTL_ST_NO_MEMORY);
		hdr.tail_bytes = unic_to_le32(0);
		memset(b->reply[nth], 0, UNIC_CTL_BYTES);
		memcpy(b->reply[nth], &hdr, sizeof(hdr));
		unic_req_batch_left(b);
		return;
	}
	req->batch = b;
	req->nth = nth + 1;
	req->client = parent->client;
	req->op = unic_from_le16(hdr.op);
	req->name = unic_dispatch_name(req->op);
	req->seq = unic_from_le32(hdr.seq);
	memcpy(req->rec, rec, UNIC_CTL_BYTES);
	if (is_batchable_op(&hdr))
		unic_dispatch_run(req, &hdr);
	else
		unic_req_status(req, UNIC_ST_BAD_OPCODE);
}

static uint32_t count_registrations(const void *list, uint32_t n)
{
	const uint8_t *rec = list;
	struct unic_ctl_hdr hdr;
	uint32_t found = 0;

	for (; n--; rec += UNIC_CTL_BYTES) {
		memcpy(&hdr, rec, sizeof(hdr));
		found += unic_from_le16(hdr.op) == UNIC_CTL_MR_REG ||
			 unic_from_le16(hdr.op) == UNIC_CTL_MR_ALLOC;
	}
	return found;
}

void unic_batch_run(struct unic_req *req)
{
	struct unic_ctl_batch r;
	struct unic_batch *b;
	uint32_t n, i, regs;

	memcpy(&r, req->rec, sizeof(r));
	n = unic_from_le32(r.count);
	if (n < 1 || n > UNIC_BATCH_MAX ||
	    req->tail_bytes != n * UNIC_CTL_BYTES) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	regs = count_registrations(req->call.list, n);
	if (regs && unic_limits_refuse(req, regs))
		return;
	b = unic_os_alloc(req->host->os, sizeof(*b));
	if (!b) {
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	memcpy(b->reply, req->call.list, n * UNIC_CTL_BYTES);
	req->batch = b;
	b->parent = req;
	b->count = n;
	b->left = n + 1;
	b->open = req->host->features & UNIC_FEAT_BATCH;
	for (i = 0; i < n; i++)
		run_record(b, i);
	send_kept(b);
}
