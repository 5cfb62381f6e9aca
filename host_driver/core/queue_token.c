/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * queue_token.c - see queue_token.h.
 */
#include "queue_token.h"

#include "region/region.h"
#include "request.h"
#include "unic_queue.h"
#include "upcall.h"

/* A TOKEN_CANCEL that waits for the end of token @id; NULL: none. */
static struct unic_req *find_waiting(struct unic_host *host, uint32_t id)
{
	struct unic_req *req = host->reqs;

	while (req && !(req->waits && req->id == id))
		req = req->next;
	return req;
}

/* Free @t. Each TOKEN_CANCEL that waits for its end is answered: @status, and with OK
 * how it ended, @r. */
static void free_token(struct unic_host *host, struct unic_htoken *t,
		       uint32_t status, const struct unic_ctl_token_reply *r)
{
	uint32_t id = t->obj.id, waits = t->waits;
	struct unic_ctl_token_reply copy = *r;
	struct unic_req *req;

	if (t->index < host->tokens && host->token_of &&
	    host->token_of[t->index] == id)
		host->token_of[t->index] = 0;
	unic_obj_free(&host->objects, &t->obj);
	/* an answer may free other requests: look again after each */
	while (waits-- && (req = find_waiting(host, id))) {
		req->waits = false;
		unic_req_answer(req, status, &copy, NULL, 0);
	}
}

void unic_queue_token_free(struct unic_host *host, struct unic_htoken *t,
			   uint32_t status)
{
	struct unic_ctl_token_reply none = { 0 };

	free_token(host, t, status, &none);
}

/* The NIC gave the index of @t to another token, so @t has ended: used up by a
 * completion of the process, or by a TOKEN_END that the provider passes on later
 * (completions come first). */
static void token_replace(struct unic_host *host, struct unic_htoken *t)
{
	host->replaced += !t->replaced;
	t->replaced = true;
}

void unic_queue_settled(struct unic_host *host)
{
	struct unic_htoken *t;
	uint32_t at = 0;

	if (!host->replaced)
		return;
	host->replaced = 0;
	while ((t = unic_obj_next(&host->objects, &at, UNIC_OBJ_TOKEN,
				  UNIC_OBJ_ANYONE)))
		if (t->replaced)
			unic_queue_token_free(host, t, UNIC_ST_NO_TOKEN);
}

/* Enter @t as the token of its index. A token that has the index has ended. */
static void token_index(struct unic_host *host, struct unic_htoken *t)
{
	struct unic_htoken *old = unic_obj_get(&host->objects,
					       host->token_of[t->index],
					       UNIC_OBJ_TOKEN, UNIC_OBJ_ANYONE);

	if (old)
		token_replace(host, old);
	host->token_of[t->index] = t->obj.id;
}

static struct unic_cpl_token token_completion(const struct unic_call *call)
{
	struct unic_cpl_token cpl;

	memcpy(&cpl, call->cpl, sizeof(cpl));
	return cpl;
}

static void token_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_htoken *t = unic_req_obj_get(req, req->id, UNIC_OBJ_TOKEN);
	uint32_t status = unic_call_status(call);
	struct unic_ctl_token_reply r = { 0 };
	struct unic_cpl_token cpl = token_completion(call);

	if (!t) {
		unic_req_status(req, UNIC_CTL_ST_RESET);
		return;
	}
	if (!status && unic_from_le32(cpl.index) >= req->host->tokens) {
		req->host->audits++;
		status = UNIC_CTL_ST_NO_NIC;
	}
	if (status) {
		unic_obj_free(&req->host->objects, &t->obj);
		unic_req_status(req, status);
		return;
	}
	t->index = unic_from_le32(cpl.index);
	t->key = unic_from_le64(cpl.key);
	token_index(req->host, t);
	unic_journal_put(req->host, &t->obj, req->rec, t->index, t->user);
	r.id = unic_to_le32(t->obj.id);
	r.index = cpl.index;
	r.key = cpl.key;
	unic_req_answer(req, UNIC_ST_OK, &r, NULL, 0);
}

/* Number of pieces of @r; UNIC_LOST: @r is invalid. Pieces have bus addresses, so only
 * the driver itself (client->kernel) may name any. */
static uint32_t token_pieces(const struct unic_req *req,
			     const struct unic_ctl_token_alloc *r)
{
	uint32_t n = req->tail_bytes / sizeof(struct unic_token_piece);
	bool pieces = unic_from_le32(r->flags) & UNIC_TOKEN_F_PIECES;

	if (pieces != !!req->tail_bytes ||
	    (pieces && (!req->client->kernel || n > UNIC_TOKEN_PIECES ||
			req->tail_bytes % sizeof(struct unic_token_piece))))
		return UNIC_LOST;
	return n;
}

void unic_queue_token_alloc(struct unic_req *req)
{
	struct unic_ctl_token_alloc r;
	struct unic_cmd_token_alloc cmd = { 0 };
	uint32_t stag, pd, pieces;
	struct unic_htoken *t;

	memcpy(&r, req->rec, sizeof(r));
	pieces = token_pieces(req, &r);
	if (pieces == UNIC_LOST) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	if (!unic_region_stag(req->host, unic_from_le32(r.mr),
			      unic_req_owner(req), &stag, &pd)) {
		unic_req_status(req, UNIC_ST_NO_MR);
		return;
	}
	t = unic_req_obj_new(req, UNIC_OBJ_TOKEN, sizeof(*t));
	if (!t) {
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	t->index = UINT32_MAX;
	t->user = unic_from_le32(r.user);
	req->id = t->obj.id;
	cmd.pd = unic_to_le32(pd);
	cmd.stag = unic_to_le32(stag);
	cmd.iova = r.iova;
	cmd.length = r.length;
	cmd.ttl_us = r.ttl_us;
	cmd.sender_ipv4 = r.sender_ipv4;
	cmd.sender_qpn = r.sender_qpn;
	cmd.flags = r.flags;
	cmd.user = unic_to_le32(t->obj.id);
	cmd.pieces = unic_to_le32(pieces);
	unic_req_send(req, UNIC_CMD_TOKEN_ALLOC, &cmd, token_done);
}

static void token_cancel_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_htoken *t = unic_req_obj_get(req, req->id, UNIC_OBJ_TOKEN);
	uint32_t status = unic_call_status(call);
	struct unic_ctl_token_reply r = { 0 };
	struct unic_cpl_token cpl = token_completion(call);

	if (status == UNIC_ST_PENDING && t) {
		t->waits++;
		req->waits = true;
		return; /* TOKEN_END follows */
	}
	if (status == UNIC_ST_PENDING) /* its process leaves */
		status = UNIC_ST_NO_TOKEN;
	if (!status) {
		r.id = unic_to_le32(req->id);
		r.index = cpl.index;
		r.end = cpl.end;
		r.placed = cpl.placed;
	}
	if (t && !status)
		free_token(req->host, t, status, &r);
	else if (t && status == UNIC_ST_NO_TOKEN)
		token_replace(req->host, t);
	unic_req_answer(req, status, &r, NULL, 0);
}

void unic_queue_token_cancel(struct unic_req *req)
{
	struct unic_cmd_token_cancel cmd = { .proc = unic_to_le32(req->slot) };
	struct unic_htoken *t;

	req->id = unic_req_obj_id(req);
	t = unic_req_obj_get(req, req->id, UNIC_OBJ_TOKEN);
	if (!t || t->index == UINT32_MAX) {
		unic_req_status(req, UNIC_ST_NO_TOKEN);
		return;
	}
	cmd.index = unic_to_le32(t->index);
	cmd.key = unic_to_le64(t->key);
	if (req->host->features & UNIC_FEAT_CANCEL_WAIT)
		cmd.flags = unic_to_le32(UNIC_CANCEL_WAIT);
	unic_req_send(req, UNIC_CMD_TOKEN_CANCEL, &cmd, token_cancel_done);
}

/* The process of @t is told how it ended, as @r says: once, by the answer to its
 * TOKEN_CANCEL, or by an upcall. */
static void tell_end(struct unic_host *host, struct unic_htoken *t,
		     const struct unic_ctl_token_reply *r)
{
	struct unic_upcall_token up = {
		.hdr = { .type = UNIC_UP_TOKEN_END, .id = r->id },
		.user = unic_to_le32(t->user),
		.index = r->index,
		.end = r->end,
		.placed = r->placed,
	};

	if (!t->waits)
		unic_upcall_send(host, t->obj.owner, &up);
	free_token(host, t, UNIC_ST_OK, r);
}

void unic_queue_token_event(struct unic_host *host,
			    const struct unic_evt_token *evt)
{
	struct unic_htoken *t = unic_obj_get(&host->objects,
					     unic_from_le32(evt->user),
					     UNIC_OBJ_TOKEN, UNIC_OBJ_ANYONE);
	struct unic_ctl_token_reply r = {
		.id = evt->user,
		.index = evt->index,
		.end = evt->end,
		.placed = evt->placed,
	};

	if (t && t->index == unic_from_le32(evt->index))
		tell_end(host, t, &r); /* else TOKEN_CANCEL has answered */
}

void unic_queue_token_reset(struct unic_host *host, struct unic_obj *obj)
{
	struct unic_htoken *t = (struct unic_htoken *)(void *)obj;
	struct unic_ctl_token_reply r = {
		.id = unic_to_le32(obj->id),
		.index = unic_to_le32(t->index),
		.end = unic_to_le32(UNIC_TOKEN_RESET),
	};

	/* no upcall for a token whose TOKEN_ALLOC is under way (its answer is
	 * RESET), nor for one that was replaced (and so was used) */
	if (unic_journal_keeps(host, obj->owner) && t->index != UINT32_MAX &&
	    !t->replaced)
		tell_end(host, t, &r);
	else
		unic_queue_token_free(host, t, UNIC_CTL_ST_RESET);
}
