/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * request.c - a request under way: its memory, its commands to the provider, its only
 * answer, which is counted and logged (S4).
 */
#include "request.h"

/* ----------------------------------------------------------------- batches */

/* True if @req is a member of a batch (batch.c), and not the batch itself. */
static bool is_batch_member(const struct unic_req *req)
{
	return req->nth != 0;
}

uint8_t unic_req_batch_opcode(const void *cmd)
{
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, cmd, sizeof(hdr));
	switch (hdr.opcode) {
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

static bool batch_keep(struct unic_req *req)
{
	struct unic_batch *b = req->batch;
	struct unic_call *call = &req->call;
	uint32_t list = call->list ? call->list_bytes : 0;
	uint8_t of = unic_req_batch_opcode(call->cmd);

	if (!b->open || !of || has_wait_flag(call) ||
	    b->cmd_bytes + UNIC_CTL_BYTES + b->list_bytes + list >
		    req->host->list_bytes ||
	    (b->kept && of != unic_req_batch_opcode(b->cmd)))
		return false;
	memcpy(b->cmd + b->cmd_bytes, call->cmd, UNIC_CTL_BYTES);
	b->cmd_bytes += UNIC_CTL_BYTES;
	if (list)
		memcpy(b->list + b->list_bytes, call->list, list);
	b->list_bytes += list;
	b->of[b->kept++] = req;
	return true;
}

static void batch_answer(struct unic_req *req, uint32_t status, const void *rec)
{
	struct unic_batch *b = req->batch;
	struct unic_ctl_hdr hdr = {
		.op = unic_to_le16(req->op),
		.status = unic_to_le16((uint16_t)status),
		.seq = unic_to_le32(req->seq),
	};

	memcpy(b->reply[req->nth - 1], rec, UNIC_CTL_BYTES);
	memcpy(b->reply[req->nth - 1], &hdr, sizeof(hdr));
	b->done += status == UNIC_ST_OK || status == UNIC_ST_PENDING;
}

void unic_req_batch_left(struct unic_batch *b)
{
	struct unic_ctl_batch r = { .count = unic_to_le32(b->done) };
	struct unic_os *os = b->parent->host->os;

	if (--b->left)
		return;
	unic_req_answer(b->parent, UNIC_ST_OK, &r, b->reply,
			b->count * UNIC_CTL_BYTES);
	unic_os_free(os, b);
}

/* -------------------------------------------------------------- a request */

struct unic_req *unic_req_new(struct unic_host *host, uint32_t slot)
{
	struct unic_req *req = host->spare;

	host->spare = NULL;
	if (!req)
		req = unic_os_alloc(host->os, sizeof(*req));
	if (!req)
		return NULL;
	req->host = host;
	req->slot = slot;
	req->next = host->reqs;
	if (req->next)
		req->next->prev = req;
	host->reqs = req;
	return req;
}

void unic_req_discard(struct unic_os *os, struct unic_req *req)
{
	if (req)
		unic_os_free(os, req->call.list);
	unic_os_free(os, req);
}

/* Keep the memory of @req for the next unic_req_new(), zeroed except for the list. */
static void recycle_request(struct unic_host *host, struct unic_req *req)
{
	void *list = req->call.list;
	uint32_t room = req->room;

	memset(req, 0, sizeof(*req));
	req->call.list = list;
	req->room = room;
	host->spare = req;
}

uint64_t *unic_req_list(struct unic_req *req, uint32_t bytes)
{
	if (req->room < bytes) {
		unic_os_free(req->host->os, req->call.list);
		req->call.list = unic_os_alloc(req->host->os, bytes);
		req->room = req->call.list ? bytes : 0;
	}
	return req->call.list;
}

void unic_req_free(struct unic_req *req)
{
	struct unic_host *host = req->host;
	bool pooled = req->prev || req == host->reqs;
	struct unic_batch *batch = is_batch_member(req) ? req->batch : NULL;

	if (req->client && !batch)
		req->client->open--;
	if (!pooled)
		return; /* part of a struct unic_hproc */
	if (req->prev)
		req->prev->next = req->next;
	else
		host->reqs = req->next;
	if (req->next)
		req->next->prev = req->prev;
	if (host->spare)
		unic_req_discard(host->os, req);
	else
		recycle_request(host, req);
	if (batch)
		unic_req_batch_left(batch);
}

/* One process may have half of a NIC table; without a number, the NIC alone limits it. */
static uint32_t process_share(unic_le32 entries)
{
	uint32_t n = unic_from_le32(entries);

	return n ? n - n / 2 : UINT32_MAX;
}

void unic_req_shares(struct unic_host *host, const struct unic_info *info)
{
	host->share[UNIC_OBJ_PD] = process_share(info->pds);
	host->share[UNIC_OBJ_MR] = process_share(info->mrs);
	host->share[UNIC_OBJ_CQ] = process_share(info->cqs);
	host->share[UNIC_OBJ_QP] = process_share(info->qps);
	host->share[UNIC_OBJ_SRQ] = process_share(info->srqs);
}

uint32_t unic_req_room(const struct unic_req *req, enum unic_obj_type type)
{
	const struct unic_host *host = req->host;
	uint32_t n = unic_obj_count(&host->objects, type, req->slot);
	const struct unic_req *other;

	/* an MR is an object from its request on, others from their completion on */
	for (other = host->reqs; other && type != UNIC_OBJ_MR;
	     other = other->next)
		n += other != req && other->slot == req->slot &&
		     other->op == req->op &&
		     other->call.state == UNIC_CALL_TAKEN;
	return n < host->share[type] ? UNIC_ST_OK : UNIC_ST_QUOTA;
}

uint32_t unic_req_obj_id(const struct unic_req *req)
{
	struct unic_ctl_obj r;

	memcpy(&r, req->rec, sizeof(r));
	return unic_from_le32(r.id);
}

void *unic_req_obj_get(const struct unic_req *req, uint32_t id,
		       enum unic_obj_type type)
{
	return unic_obj_get(&req->host->objects, id, type, unic_req_owner(req));
}

void *unic_req_obj_new(struct unic_req *req, enum unic_obj_type type,
		       size_t bytes)
{
	if (!unic_req_proc(req) || !req->host->epoch)
		return NULL;
	return unic_obj_alloc(&req->host->objects, type, req->slot, bytes);
}

struct unic_hproc *unic_req_proc(const struct unic_req *req)
{
	struct unic_hproc *proc;

	if (req->slot >= req->host->config.slots)
		return NULL;
	proc = &req->host->proc[req->slot];
	return proc->state == UNIC_HPROC_LIVE ? proc : NULL;
}

/* Count and log @req, which is answered with @status. */
static void audit_request(struct unic_req *req, uint32_t status)
{
	struct unic_hproc *proc = unic_req_proc(req);
	bool refused = status != UNIC_ST_OK && status != UNIC_ST_PENDING;

	req->host->refused += refused;
	if (proc) {
		proc->requests++;
		proc->refused += refused;
	}
	unic_os_log(req->host->os, UNIC_LOG_AUDIT,
		    "pid %u slot %d %s id %x: status %u", req->client->pid,
		    (int)req->slot, req->name, req->id, status);
}

void unic_req_answer(struct unic_req *req, uint32_t status, void *rec,
		     const void *tail, uint32_t tail_bytes)
{
	uint64_t *msg = req->host->msg;
	struct unic_ctl_hdr hdr = {
		.op = unic_to_le16(req->op),
		.status = unic_to_le16((uint16_t)status),
		.seq = unic_to_le32(req->seq),
		.epoch = unic_to_le32(req->host->epoch),
		.tail_bytes = unic_to_le32(tail_bytes),
	};

	if (is_batch_member(req)) {
		if (req->client)
			audit_request(req, status);
		batch_answer(req, status, rec);
	} else if (req->client) {
		audit_request(req, status);
		memcpy(msg, rec, UNIC_CTL_BYTES);
		memcpy(msg, &hdr, sizeof(hdr));
		if (tail_bytes && tail != unic_req_tail(req))
			memmove(unic_req_tail(req), tail, tail_bytes);
		unic_os_reply(req->host->os, req->client, msg,
			      UNIC_CTL_BYTES + tail_bytes,
			      req->op == UNIC_CTL_HELLO && !status
				      ? req->slot
				      : UNIC_OS_NO_SLOT);
	}
	unic_req_free(req);
}

void unic_req_status(struct unic_req *req, uint32_t status)
{
	uint64_t rec[UNIC_REC_WORDS] = { 0 };

	unic_req_answer(req, status, rec, NULL, 0);
}

/* --------------------------------------------------------- to the provider */

uint32_t unic_call_status(const struct unic_call *call)
{
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, call->cpl, sizeof(hdr));
	if (hdr.status == UNIC_ST_FAILED || hdr.status == UNIC_ST_STALE_EPOCH)
		return UNIC_CTL_ST_RESET;
	return hdr.status;
}

void unic_req_send(struct unic_req *req, uint8_t opcode, const void *cmd,
		   void (*done)(struct unic_call *call))
{
	struct unic_cmd_hdr hdr = { .opcode = opcode };
	struct unic_call *call = &req->call;
	struct unic_provider *p = req->host->provider;

	memcpy(call->cmd, cmd, sizeof(call->cmd));
	memcpy(call->cmd, &hdr, sizeof(hdr));
	call->done = done;
	call->state = UNIC_CALL_TAKEN;
	if (is_batch_member(req) && batch_keep(req))
		return;
	req->host->commands++;
	if (!p->ops->command(p, call))
		return;
	call->state = UNIC_CALL_IDLE;
	hdr.status = UNIC_ST_FAILED;
	memset(call->cpl, 0, sizeof(call->cpl));
	memcpy(call->cpl, &hdr, sizeof(hdr));
	done(call);
}

void unic_req_send_if(struct unic_req *req, uint32_t status, uint8_t opcode,
		      const void *cmd, void (*done)(struct unic_call *call))
{
	if (status)
		unic_req_status(req, status);
	else
		unic_req_send(req, opcode, cmd, done);
}

/* Audits the provider: one completion for each command, with its opcode. */
void unic_req_done(struct unic_host *host, struct unic_call *call)
{
	struct unic_cmd_hdr asked, got;

	if (call->state != UNIC_CALL_TAKEN) {
		host->audits++;
		return;
	}
	memcpy(&asked, call->cmd, sizeof(asked));
	memcpy(&got, call->cpl, sizeof(got));
	if (asked.opcode != got.opcode || got.status > UNIC_ST_STALE) {
		host->audits++;
		got.opcode = asked.opcode;
		got.status = UNIC_ST_FAILED;
		memcpy(call->cpl, &got, sizeof(got));
	}
	host->failed += got.status == UNIC_ST_FAILED;
	call->state = UNIC_CALL_IDLE;
	call->done(call);
}

void unic_req_done_status(struct unic_call *call)
{
	unic_req_status(unic_req_of(call), unic_call_status(call));
}

void unic_req_done_free(struct unic_call *call)
{
	unic_req_free(unic_req_of(call));
}

/* --------------------------------------------------------------------- ARP */

static void arp_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_status(call);
	struct unic_cpl_arp cpl;

	if (status == UNIC_ST_PENDING)
		return; /* ARP_RESULT follows */
	memcpy(&cpl, call->cpl, sizeof(cpl));
	memcpy(req->mac, cpl.mac, sizeof(req->mac));
	req->arp_user = 0;
	req->then(req, status);
}

void unic_req_arp(struct unic_req *req, uint32_t ipv4,
		  void (*then)(struct unic_req *req, uint32_t status))
{
	struct unic_cmd_arp cmd = { .ipv4 = unic_to_le32(ipv4) };

	if (!++req->host->arp_seq)
		req->host->arp_seq = 1;
	req->arp_user = req->host->arp_seq;
	req->then = then;
	cmd.user = unic_to_le32(req->arp_user);
	unic_req_send(req, UNIC_CMD_ARP_RESOLVE, &cmd, arp_done);
}

void unic_arp_event(struct unic_host *host, const struct unic_evt_arp *evt)
{
	uint32_t user = unic_from_le32(evt->user);
	struct unic_req *req;

	for (req = host->reqs; user && req; req = req->next) {
		if (req->arp_user != user || req->call.state != UNIC_CALL_IDLE)
			continue;
		memcpy(req->mac, evt->mac, sizeof(req->mac));
		req->arp_user = 0;
		req->then(req, evt->ok ? UNIC_ST_OK : UNIC_CTL_ST_UNREACHABLE);
		return;
	}
}
