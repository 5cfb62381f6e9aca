/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* app_token.c - payload tokens of an application, and messages that name one. */
#include "app_op.h"
#include "oracle.h"

#define CTRL 16u /* bytes of the control part of a tagged message */

static void token_over(struct app *a, struct token *t, uint32_t end);

static void token_done(struct app *a, uint32_t arg, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	struct token *t = &a->token[arg];
	struct unic_ctl_token_reply r;

	(void)bytes;
	t->asked = false;
	if (status) {
		t->there = false;
		return;
	}
	memcpy(&r, rec, sizeof(r));
	t->id = unic_from_le32(r.id);
	t->index = unic_from_le32(r.index);
	t->key = unic_from_le64(r.key);
	if (t->early_id == t->id) /* its TOKEN_END came before this reply */
		token_over(a, t, t->early_end);
}

void op_token_alloc(struct app *a, uint32_t i, uint64_t r)
{
	struct region *m = op_some_region(a, r, UNIC_MR_LOCAL_WRITE);
	struct unic_ctl_token_alloc req = { .user = unic_to_le32(i) };
	struct token *t = &a->token[i];

	if (!m)
		return;
	*t = (struct token){ .there = true, .asked = true };
	t->len = 1 + (uint32_t)(r >> 8) % (m->bytes / PARTS);
	t->at = app_chunk(m, PART_WINDOW, t->len);
	t->region = (uint32_t)(m - a->region);
	t->region_life = m->life;
	if (t->at == NOTHING) {
		t->there = false;
		return;
	}
	req.iova = unic_to_le64(op_iova(m, t->at));
	req.mr = unic_to_le32(m->id);
	req.length = unic_to_le32(t->len);
	req.ttl_us =
		unic_to_le32(r >> 40 & 1 ? 1 + (uint32_t)(r >> 41) % 20000 : 0);
	t->multi = r >> 60 & 1;
	if (t->multi)
		req.flags = unic_to_le32(UNIC_TOKEN_F_MULTI);
	if (!app_ask(a, UNIC_CTL_TOKEN_ALLOC, &req, i, token_done))
		t->there = false;
}

/* No sender writes there any more: frees the bytes. */
static void let_go(struct app *a, struct token *t)
{
	struct region *m = &a->region[t->region];

	oracle_revoke(t->grant);
	if (m->life == t->region_life && m->open[PART_WINDOW])
		m->open[PART_WINDOW]--;
}

static void token_over(struct app *a, struct token *t, uint32_t end)
{
	once_token(t->key, end);
	t->there = false;
	/* else the message under way is placed */
	if (!t->multi || !t->claimed_by)
		let_go(a, t);
}

void app_token_upcall(struct app *a, const void *rec)
{
	struct unic_upcall_token up;
	struct token *t;

	memcpy(&up, rec, sizeof(up));
	t = &a->token[unic_from_le32(up.user) % APP_TOKENS];
	if (t->there && t->asked) {
		t->early_id = unic_from_le32(up.hdr.id);
		t->early_end = unic_from_le32(up.end);
	} else if (t->there && t->id == unic_from_le32(up.hdr.id)) {
		token_over(a, t, unic_from_le32(up.end));
	}
}

void app_token_restore(struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_TOKENS; i++)
		if (a->token[i].there)
			token_over(a, &a->token[i], UNIC_TOKEN_USED);
}

/* NO_TOKEN: its end was reported, or the completion of its use reports it. */
static void cancel_done(struct app *a, uint32_t arg, uint32_t status,
			const void *rec, uint32_t bytes)
{
	struct unic_ctl_token_reply r;
	uint32_t i;

	(void)bytes;
	memcpy(&r, rec, sizeof(r));
	for (i = 0; i < APP_TOKENS; i++) {
		struct token *t = &a->token[i];

		if (!t->there || t->asked || t->id != arg)
			continue;
		t->cancelling = false;
		if (!status && unic_from_le32(r.end) != UNIC_TOKEN_USED)
			token_over(a, t, unic_from_le32(r.end));
	}
}

void op_token_cancel(struct app *a, uint64_t r)
{
	struct token *t = &a->token[r % APP_TOKENS];
	struct unic_ctl_obj req = { .id = unic_to_le32(t->id) };

	if (t->there && !t->asked && !t->cancelling &&
	    app_ask(a, UNIC_CTL_TOKEN_CANCEL, &req, t->id, cancel_done))
		t->cancelling = true;
}

static struct token *some_token(struct app *peer, uint64_t r)
{
	struct token *t = &peer->token[r % APP_TOKENS];

	return t->there && !t->claimed_by && !t->asked && !t->cancelling ? t
									 : NULL;
}

/*
 * Offset of a message in the buffer of a token for many messages: any one at
 * which it fits, or one byte more than the last of these, which is refused (the
 * message arrives without its payload).
 */
static uint32_t some_offset(const struct token *t, uint32_t bytes, uint64_t r)
{
	uint32_t last = t->len - bytes;

	if (!t->multi)
		return 0;
	return (r >> 40) % 4 ? (uint32_t)(r >> 42) % (last + 1) : last + 1;
}

bool op_token_post(struct app *a, struct op *o, uint64_t r)
{
	struct app *peer = o->qp->link->qp[!o->qp->end]->app;
	struct token *t = some_token(peer, r);
	struct unic_sq_slot *s;
	uint32_t off;

	if (!t)
		return false;
	o->ctrl = CTRL;
	o->len = CTRL + (uint32_t)(1 + r / 8 % t->len);
	o->local_at = app_chunk(o->local, PART_SOURCE, o->len);
	if (o->local_at == NOTHING)
		return false;
	t->claimed_by = o->id;
	o->token = t;
	op_set_remote(o, peer, &peer->region[t->region]);
	op_fill_source(a, o);
	off = some_offset(t, o->len - CTRL, r);
	if (off + o->len - CTRL <= t->len)
		o->grant = oracle_grant(peer->node, peer->slot, t->at + off,
					o->len - CTRL, ORACLE_DATA, o->id);
	t->grant = o->grant;
	s = op_put_wr(a, o);
	s->remote = unic_to_le64(t->key);
	s->rkey = unic_to_le32(t->index);
	s->imm = unic_to_le32(off);
	op_post(a, o);
	return true;
}

/* A message is complete. Another one may name the token, unless it ended. */
static void message_over(struct app *a, struct token *t)
{
	if (t->there)
		oracle_revoke(t->grant);
	else
		let_go(a, t);
	t->grant = 0;
	t->claimed_by = 0;
}

/* Tagged message @id arrived: ends its token, if that is valid and for one
 * message only. */
void op_token_used(struct app *a, uint64_t id, const struct unic_cqe *c)
{
	uint32_t i;

	for (i = 0; i < APP_TOKENS; i++) {
		struct token *t = &a->token[i];

		if (t->multi && t->claimed_by == id)
			message_over(a, t);
		else if (!t->there || t->asked)
			continue;
		else if (!t->multi && !c->detail &&
			 t->index == unic_from_le32(c->token))
			token_over(a, t, UNIC_TOKEN_USED);
		else
			continue;
		return;
	}
}
