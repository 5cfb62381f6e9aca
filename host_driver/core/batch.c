/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * batch.c - BATCH: several requests in one, and their commands in one.
 *
 * Each record is a request like any other and is run by its own handler. What
 * the handler says to the NIC first is kept until all have spoken and goes there
 * in one command; whatever it says later goes by itself. The reply is sent when
 * the last one is answered.
 */
#include "batch.h"

#include "request.h"

#define REC_BYTES 64u

struct unic_batch {
	struct unic_req *parent;
	uint32_t count, left; /* requests; not answered yet */
	uint32_t done;	      /* answered OK or PENDING */
	bool open;	      /* commands are kept */
	uint32_t kept;
	struct unic_req *of[UNIC_BATCH_MAX]; /* whose, in the order of `cmd` */
	uint32_t cmd_bytes, list_bytes;
	uint8_t cmd[UNIC_LIST_BYTES], list[UNIC_LIST_BYTES];
	uint8_t reply[UNIC_BATCH_MAX][REC_BYTES]; /* before: the request */
};

/* The command that takes @opcode, or 0. */
static uint8_t batch_opcode(uint8_t opcode)
{
	switch (opcode) {
	case UNIC_CMD_MR_REG:
	case UNIC_CMD_MR_ALLOC:
	case UNIC_CMD_MR_DEREG:
		return UNIC_CMD_MR_BATCH;
	case UNIC_CMD_TOKEN_ALLOC:
	case UNIC_CMD_TOKEN_CANCEL:
		return UNIC_CMD_TOKEN_BATCH;
	default:
		return 0;
	}
}

static bool has_wait_flag(const struct unic_call *call)
{
	struct unic_cmd_mr_reg cmd;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	return cmd.hdr.opcode == UNIC_CMD_MR_REG && cmd.flags & UNIC_REG_WAIT;
}

static uint8_t opcode_of(const uint8_t *rec)
{
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, rec, sizeof(hdr));
	return hdr.opcode;
}

bool unic_batch_keep(struct unic_req *req)
{
	struct unic_batch *b = req->batch;
	struct unic_call *call = &req->call;
	uint32_t list = call->list ? call->list_bytes : 0;
	uint8_t of = batch_opcode(opcode_of((const uint8_t *)call->cmd));

	if (!b->open || !of || has_wait_flag(call) ||
	    b->cmd_bytes + REC_BYTES + b->list_bytes + list > UNIC_LIST_BYTES ||
	    (b->kept && of != batch_opcode(opcode_of(b->cmd))))
		return false;
	memcpy(b->cmd + b->cmd_bytes, call->cmd, REC_BYTES);
	b->cmd_bytes += REC_BYTES;
	if (list)
		memcpy(b->list + b->list_bytes, call->list, list);
	b->list_bytes += list;
	b->of[b->kept++] = req;
	return true;
}

void unic_batch_answer(struct unic_req *req, uint32_t status, const void *rec)
{
	struct unic_batch *b = req->batch;
	struct unic_ctl_hdr hdr = {
		.op = unic_to_le16(req->op),
		.status = unic_to_le16((uint16_t)status),
		.seq = unic_to_le32(req->seq),
	};

	memcpy(b->reply[req->nth - 1], rec, REC_BYTES);
	memcpy(b->reply[req->nth - 1], &hdr, sizeof(hdr));
	b->done += status == UNIC_ST_OK || status == UNIC_ST_PENDING;
}

void unic_batch_left(struct unic_batch *b)
{
	struct unic_ctl_batch r = { .count = unic_to_le32(b->done) };
	struct unic_os *os = b->parent->host->os;

	if (--b->left)
		return;
	unic_req_answer(b->parent, UNIC_ST_OK, &r, b->reply,
			b->count * REC_BYTES);
	unic_os_free(os, b);
}

/* Each kept command gets what became of it; or, if none was tried, why. */
static void deliver_completions(struct unic_batch *b,
				const struct unic_call *call)
{
	uint32_t status = unic_call_status(call), i;
	const uint8_t *cpl = call->list;
	struct unic_cmd_hdr hdr;

	for (i = 0; i < b->kept; i++) {
		struct unic_call *c = &b->of[i]->call;

		memset(c->cpl, 0, sizeof(c->cpl));
		if (!status) {
			memcpy(c->cpl, cpl + i * REC_BYTES, REC_BYTES);
		} else {
			memcpy(&hdr, c->cmd, sizeof(hdr));
			hdr.status = UNIC_ST_FAILED;
			memcpy(c->cpl, &hdr, sizeof(hdr));
		}
		unic_host_done(b->parent->host, c);
	}
}

static void batch_done(struct unic_call *call)
{
	struct unic_batch *b = unic_req_of(call)->batch;

	deliver_completions(b, call);
	unic_batch_left(b);
}

/* What was kept, to the NIC; the parent is one of those that are waited for. */
static void send_kept(struct unic_batch *b)
{
	struct unic_req *parent = b->parent;
	struct unic_cmd_batch cmd = { .count = unic_to_le32(b->kept) };
	uint8_t *list = (uint8_t *)parent->call.list;

	b->open = false;
	if (!b->kept) {
		unic_batch_left(b);
		return;
	}
	memcpy(list, b->cmd, b->cmd_bytes);
	memcpy(list + b->cmd_bytes, b->list, b->list_bytes);
	parent->call.list_bytes = b->cmd_bytes + b->list_bytes;
	unic_req_send(parent, batch_opcode(opcode_of(b->cmd)), &cmd,
		      batch_done);
}

static bool is_batchable_op(const struct unic_ctl_hdr *hdr)
{
	uint32_t op = unic_from_le16(hdr->op);

	return op == UNIC_CTL_MR_REG || op == UNIC_CTL_MR_ALLOC ||
	       op == UNIC_CTL_MR_DEREG || op == UNIC_CTL_TOKEN_ALLOC ||
	       op == UNIC_CTL_TOKEN_CANCEL;
}

/* Record @nth, as if it had come by itself. */
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
		memset(b->reply[nth], 0, REC_BYTES);
		memcpy(b->reply[nth], &hdr, sizeof(hdr));
		unic_batch_left(b);
		return;
	}
	req->batch = b;
	req->nth = nth + 1;
	req->client = parent->client;
	req->op = unic_from_le16(hdr.op);
	req->seq = unic_from_le32(hdr.seq);
	memcpy(req->rec, rec, REC_BYTES);
	if (is_batchable_op(&hdr))
		unic_req_run(req, &hdr);
	else
		unic_req_status(req, UNIC_ST_BAD_OPCODE);
}

void unic_batch_run(struct unic_req *req)
{
	struct unic_ctl_batch r;
	struct unic_batch *b;
	uint32_t n, i;

	memcpy(&r, req->rec, sizeof(r));
	n = unic_from_le32(r.count);
	if (n < 1 || n > UNIC_BATCH_MAX || req->tail_bytes != n * REC_BYTES) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	b = unic_os_alloc(req->host->os, sizeof(*b));
	if (!b) {
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	memcpy(b->reply, req->call.list, n * REC_BYTES);
	req->batch = b;
	b->parent = req;
	b->count = n;
	b->left = n + 1;
	b->open = req->host->features & UNIC_FEAT_BATCH;
	for (i = 0; i < n; i++)
		run_record(b, i);
	send_kept(b);
}
