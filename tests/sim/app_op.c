/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_op.c - operations of an application: what the script says is posted,
 * every completion is held against what was posted, and the bytes against the
 * pattern of their operation.
 */
#include "app.h"
#include "check.h"
#include "oracle.h"

#define NOTHING	  UINT32_MAX
#define TRIES	  60u /* a step that never becomes possible is skipped */
#define RECEIVE	  SCN_OP_KINDS
#define CTRL	  16u /* bytes of the control part of a tagged message */
#define RECV_MASK 0xffffull

/* ------------------------------------------------------------- the open ones */

static uint64_t id_of(struct app *a)
{
	return (uint64_t)(a->index + 1) << 48 |
	       (uint64_t)(a->epoch_life & 0xffff) << 32 | ++a->posted;
}

static struct op *op_free(struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_FREE)
			return &a->op[i];
	return NULL;
}

static struct op *op_find(struct app *a, uint64_t id)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED && a->op[i].id == id)
			return &a->op[i];
	return NULL;
}

static uint64_t queue_of(const struct qp *q)
{
	return (uint64_t)(q->app->index + 1) << 48 |
	       (uint64_t)q->app->epoch_life << 32 | q->index << 28 | q->gen;
}

static bool local_alive(const struct op *o)
{
	return o->local && o->local->life == o->local_life;
}

static bool remote_alive(const struct op *o)
{
	return o->remote && o->remote->life == o->remote_life &&
	       o->peer->life == o->peer_life;
}

static bool local_revoked(const struct op *o)
{
	return !local_alive(o) || o->local->revoked;
}

static bool remote_revoked(const struct op *o)
{
	return !remote_alive(o) || o->remote->revoked;
}

/* The bytes it used at both ends are free again. */
static void let_go(struct op *o)
{
	if (local_alive(o) && o->kind != RECEIVE)
		o->local->open[o->part]--;
	if (remote_alive(o) && !o->forbidden && !o->token)
		o->remote->open[o->kind == SCN_READ ? PART_EXPORT
						    : PART_WINDOW]--;
	oracle_revoke(o->grant);
	o->state = OP_FREE;
}

static void end_op(struct app *a, struct op *o, uint8_t status);

static bool is_write(const struct op *o)
{
	return o->kind == SCN_WRITE || o->kind == SCN_WRITE_IMM ||
	       o->kind == SCN_TOKEN;
}

bool app_op_idle(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED && a->op[i].kind != RECEIVE &&
		    !a->op[i].quiet)
			return false;
	return true;
}

static bool quiet_open(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED && a->op[i].quiet)
			return true;
	return false;
}

void app_op_drop_quiet(struct qp *q)
{
	struct app *a = q->app;
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++) {
		struct op *o = &a->op[i];

		if (o->state != OP_POSTED || !o->quiet || o->qp != q)
			continue;
		once_complete(o->id, queue_of(q), true);
		end_op(a, o, 1);
	}
}

void app_op_settle(struct link *l)
{
	uint32_t i, k;

	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_OPEN; k++) {
			struct op *o = &apps[i]->op[k];

			if (o->state == OP_LINGERS && o->link == l &&
			    o->gen != l->gen)
				let_go(o);
		}
}

void app_op_forget(struct app *a, bool safe)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++) {
		struct op *o = &a->op[i];

		if (!safe && !is_write(o))
			o->grant = 0;
		if (o->state == OP_POSTED && is_write(o))
			o->state = OP_LINGERS; /* it may still arrive there */
		else if (o->state == OP_POSTED)
			let_go(o);
	}
	once_forget((uint64_t)(a->index + 1) << 48 |
			    (uint64_t)(a->epoch_life & 0xffff) << 32,
		    0xffffffffull << 32);
}

/* ------------------------------------------------------------------ receives */

static void post_recv(struct app *a, struct qp *q, struct region *r,
		      uint32_t chunk)
{
	struct unic_rq_slot *s = app_qp_rq(q);
	struct op *o = op_free(a);

	*o = (struct op){ .state = OP_POSTED,
			  .kind = RECEIVE,
			  .id = id_of(a),
			  .qp = q,
			  .link = q->link,
			  .gen = q->gen,
			  .local = r,
			  .local_life = r->life,
			  .local_at = r->at + chunk * APP_CHUNK,
			  .len = APP_CHUNK,
			  .serial = q->rq_tail,
			  .local_was = r->revoked };
	memset(app_mem(a, o->local_at), 0, APP_CHUNK);
	o->grant = oracle_grant(a->node, a->slot, o->local_at, APP_CHUNK,
				ORACLE_ANY, o->id);
	memset(s, 0, sizeof(*s));
	s->num_sge = 1;
	s->wr_id = unic_to_le64(o->id);
	s->sge[0].iova = unic_to_le64(r->iova + chunk * APP_CHUNK);
	s->sge[0].len = unic_to_le32(APP_CHUNK);
	s->sge[0].lkey = unic_to_le32(r->stag);
	once_post(o->id, 0, false);
	sim_log("app %u: posts receive %llx to page %u + %u", a->index,
		(unsigned long long)o->id, o->local_at / 4096,
		o->local_at % 4096);
	q->rq_open++;
	app_qp_ring(a, UNIC_DB_RQ, q->index, ++q->rq_tail);
}

/* Receives complete in any order: is the next slot of the ring free? */
static bool slot_free(const struct qp *q)
{
	const struct app *a = q->app;
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED && a->op[i].kind == RECEIVE &&
		    a->op[i].qp == q &&
		    q->rq_tail - a->op[i].serial >= APP_SLOTS)
			return false;
	return true;
}

static bool chunk_used(const struct app *a, uint32_t at)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED && a->op[i].kind == RECEIVE &&
		    a->op[i].local_at == at)
			return true;
	return false;
}

static void post_receives(struct app *a)
{
	struct region *r = &a->region[0];
	uint32_t i, chunk, most = r->n * 4;

	for (i = 0; i < APP_QPS && r->state == REGION_ACTIVE && !r->evicted;
	     i++) {
		struct qp *q = &a->qp[i];

		if (q->state != QP_RTS || q->dying || q->failed)
			continue;
		for (chunk = 0; chunk < most && q->rq_open < 6; chunk++)
			if (op_free(a) && slot_free(q) &&
			    !chunk_used(a, r->at + chunk * APP_CHUNK))
				post_recv(a, q, r, chunk);
	}
}

/* ----------------------------------------------------------------- posting */

static struct qp *some_qp(struct app *a, uint64_t r)
{
	struct qp *q = &a->qp[r % APP_QPS];

	if (q->link && q->state == QP_RTS && !q->dying && !q->failed &&
	    q->gen == q->link->gen && q->sq_slots + 2 <= APP_SLOTS &&
	    q->link->qp[!q->end]->state == QP_RTS)
		return q;
	return NULL;
}

static struct region *some_region(struct app *a, uint64_t r, uint32_t rights)
{
	uint32_t i, n = a->how->regions;

	for (i = 0; i < n; i++) {
		struct region *m = &a->region[(r + i) % n];

		if (m->state == REGION_ACTIVE && !m->evicted &&
		    m->mr_class == UNIC_CLASS_RDMA &&
		    (m->rights & rights) == rights)
			return m;
	}
	return NULL;
}

/* Lengths around the edges of packets and pages, and any. */
static uint32_t some_len(uint64_t r, uint32_t max)
{
	static const uint32_t edge[] = { 1,   8,    64,	  255,	256,  257,
					 512, 1023, 1024, 1025, 2048, 4096 };
	uint32_t len = r & 1 ? edge[r / 2 % 12]
			     : (uint32_t)(1 + r / 2 % (r & 2 ? 64 : max));

	return len > max ? max : len;
}

static void fill_source(struct app *a, const struct op *o)
{
	uint32_t i;
	bool framed = o->kind == SCN_SEND || o->kind == SCN_SEND_IMM;

	/* the control part of a tagged message is not part of the pattern */
	for (i = 0; i < o->len; i++)
		*app_mem(a, o->local_at + i) =
			i < o->ctrl ? (uint8_t)i
				    : oracle_byte(o->id, i - o->ctrl);
	if (framed || o->ctrl)
		for (i = 0; i < 8; i++)
			*app_mem(a, o->local_at + i) =
				(uint8_t)(o->id >> 8 * i);
}

static const uint8_t wr_opcode[] = {
	[SCN_WRITE] = UNIC_WR_WRITE,	   [SCN_WRITE_IMM] = UNIC_WR_WRITE_IMM,
	[SCN_READ] = UNIC_WR_READ,	   [SCN_SEND] = UNIC_WR_SEND,
	[SCN_SEND_IMM] = UNIC_WR_SEND_IMM, [SCN_TOKEN] = UNIC_WR_TOKEN,
};

/* The work request of @o, in two elements if it is long enough. */
static struct unic_sq_slot *put_wr(struct app *a, struct op *o)
{
	struct unic_sq_slot *s = app_qp_sq(o->qp);
	uint64_t iova = o->local->iova + (o->local_at - o->local->at);
	uint32_t cut = o->len > 40 && o->id % 3 == 0 ? o->len / 3 : o->len;

	memset(s, 0, sizeof(*s));
	s->opcode = wr_opcode[o->kind];
	s->flags = o->quiet ? 0 : UNIC_WR_SIGNALED;
	s->imm = unic_to_le32((uint32_t)o->id);
	s->wr_id = unic_to_le64(o->id);
	s->ctrl_len = unic_to_le32(o->ctrl);
	s->num_sge = cut < o->len ? 2 : 1;
	s->sge[0].iova = unic_to_le64(iova);
	s->sge[0].len = unic_to_le32(cut);
	s->sge[0].lkey = unic_to_le32(o->local->stag);
	s->sge[1].iova = unic_to_le64(cut < o->len ? iova + cut : 0);
	s->sge[1].len = unic_to_le32(o->len - cut);
	s->sge[1].lkey = unic_to_le32(cut < o->len ? o->local->stag : 0);
	if (s->opcode != UNIC_WR_SEND_IMM && s->opcode != UNIC_WR_WRITE_IMM)
		s->imm = unic_to_le32(0);
	(void)a;
	return s;
}

static void post(struct app *a, struct op *o)
{
	struct qp *q = o->qp;
	struct link *l = q->link;

	o->state = OP_POSTED;
	if (o->kind == SCN_SEND || o->kind == SCN_SEND_IMM ||
	    o->kind == SCN_TOKEN) {
		l->sent[q->end][l->sends[q->end] % LINK_SENDS].op = o->id;
		l->sent[q->end][l->sends[q->end]++ % LINK_SENDS].len =
			o->ctrl ? o->ctrl : o->len;
	}
	once_post(o->id, queue_of(q), o->quiet);
	q->sq_open += !o->quiet;
	q->sq_slots++;
	sim_log("app %u: posts %llx kind %u, %u bytes from page %u + %u",
		a->index, (unsigned long long)o->id, o->kind, o->len,
		o->local_at / 4096, o->local_at % 4096);
	app_qp_ring(a, UNIC_DB_SQ, q->index, ++q->sq_tail);
}

static void set_remote(struct op *o, struct app *peer, struct region *r)
{
	o->peer = peer;
	o->peer_life = peer->life;
	o->remote = r;
	o->remote_life = r->life;
	o->remote_was = r->revoked;
}

/* A chunk at the other end, and leave to write it. */
static bool take_remote(struct op *o, struct app *peer, uint64_t r)
{
	bool read = o->kind == SCN_READ;
	struct region *m = some_region(
		peer, r, read ? UNIC_MR_REMOTE_READ : UNIC_MR_REMOTE_WRITE);

	if (!m)
		return false;
	if (o->len > m->bytes / PARTS)
		o->len = m->bytes / PARTS;
	o->remote_at = app_chunk(m, read ? PART_EXPORT : PART_WINDOW, o->len);
	if (o->remote_at == NOTHING)
		return false;
	set_remote(o, peer, m);
	return true;
}

static uint64_t iova_of(const struct region *r, uint32_t at)
{
	return r->iova + (at - r->at);
}

static struct token *some_token(struct app *peer, uint64_t r)
{
	struct token *t = &peer->token[r % APP_TOKENS];

	return t->there && !t->claimed_by && !t->asked && !t->cancelling ? t
									 : NULL;
}

static bool post_token(struct app *a, struct op *o, uint64_t r)
{
	struct app *peer = o->qp->link->qp[!o->qp->end]->app;
	struct token *t = some_token(peer, r);
	struct unic_sq_slot *s;

	if (!t)
		return false;
	o->ctrl = CTRL;
	o->len = CTRL + (uint32_t)(1 + r / 8 % t->len);
	o->local_at = app_chunk(o->local, PART_SOURCE, o->len);
	if (o->local_at == NOTHING)
		return false;
	t->claimed_by = o->id;
	o->token = t;
	set_remote(o, peer, &peer->region[t->region]);
	fill_source(a, o);
	o->grant = oracle_grant(peer->node, peer->slot, t->at, o->len - CTRL,
				ORACLE_DATA, o->id);
	t->grant = o->grant;
	s = put_wr(a, o);
	s->remote = unic_to_le64(t->key);
	s->rkey = unic_to_le32(t->index);
	post(a, o);
	return true;
}

static bool post_send(struct app *a, struct op *o, uint64_t r)
{
	o->len = some_len(r, APP_CHUNK);
	if (o->len < 8)
		o->len = 8;
	if (o->len > o->local->bytes / PARTS)
		o->len = o->local->bytes / PARTS;
	o->local_at = app_chunk(o->local, PART_SOURCE, o->len);
	if (o->local_at == NOTHING)
		return false;
	fill_source(a, o);
	put_wr(a, o);
	post(a, o);
	return true;
}

static bool post_rdma(struct app *a, struct op *o, uint64_t r)
{
	struct app *peer = o->qp->link->qp[!o->qp->end]->app;
	bool read = o->kind == SCN_READ;
	struct unic_sq_slot *s;
	struct app *to = read ? a : peer;

	o->len = some_len(r, o->local->bytes / PARTS);
	if (!take_remote(o, peer, r >> 20))
		return false;
	o->part = read ? PART_SINK : PART_SOURCE;
	o->local_at = app_chunk(o->local, (enum app_part)o->part, o->len);
	if (o->local_at == NOTHING) {
		o->remote->open[read ? PART_EXPORT : PART_WINDOW]--;
		return false;
	}
	if (!read)
		fill_source(a, o);
	o->grant = oracle_grant(to->node, to->slot,
				read ? o->local_at : o->remote_at, o->len,
				read ? ORACLE_ANY : ORACLE_DATA, o->id);
	s = put_wr(a, o);
	s->remote = unic_to_le64(iova_of(o->remote, o->remote_at));
	s->rkey = unic_to_le32(o->remote->stag);
	post(a, o);
	return true;
}

/* -------------------------------------------------------------------- lies */

static void lie_remote(struct op *o, struct unic_sq_slot *s, uint64_t r)
{
	struct region *m = o->remote;
	uint64_t end = m->iova + m->bytes;

	s->remote = unic_to_le64(m->iova);
	s->rkey = unic_to_le32(m->stag);
	switch (r % 5) {
	case 0: /* a key that is nearly right */
		s->rkey = unic_to_le32(m->stag ^ 1u << (r >> 8) % 8);
		return;
	case 1: /* a byte behind the end */
		s->remote = unic_to_le64(end - o->len + 1);
		return;
	case 2: /* a byte in front */
		s->remote = unic_to_le64(m->iova - 1);
		return;
	case 3: /* wraps */
		s->remote = unic_to_le64(0 - (uint64_t)o->len / 2);
		return;
	default: /* some key */
		s->rkey = unic_to_le32((uint32_t)(r >> 8) | 0xff000000u);
	}
}

static void lie_local(struct app *a, struct unic_sq_slot *s, uint64_t r)
{
	struct app *other = apps[(r >> 8) % apps_count];

	if (r % 2) { /* a region of somebody else */
		struct region *m = some_region(other, r >> 16, 0);

		if (other != a && m && other->node == a->node) {
			s->sge[0].lkey = unic_to_le32(m->stag);
			s->sge[0].iova = unic_to_le64(m->iova);
			return;
		}
	}
	s->sge[0].lkey = unic_to_le32((uint32_t)(r >> 8) | 0xff000000u);
}

/* It must not succeed, and touch nothing that is not its own. */
static bool post_lie(struct app *a, struct op *o, uint64_t r)
{
	struct app *peer = o->qp->link->qp[!o->qp->end]->app;
	struct region *m = some_region(
		peer, r >> 20, UNIC_MR_REMOTE_WRITE | UNIC_MR_REMOTE_READ);
	struct region *private = some_region(peer, r >> 24, 0);
	struct unic_sq_slot *s;

	if (!m || !private)
		return false;
	o->kind = r >> 40 & 1 ? SCN_WRITE : SCN_READ;
	o->forbidden = true;
	o->part = o->kind == SCN_READ ? PART_SINK : PART_SOURCE;
	o->len = 16 + (uint32_t)(r >> 12) % 100;
	o->local_at = app_chunk(o->local, (enum app_part)o->part, o->len);
	if (o->local_at == NOTHING)
		return false;
	set_remote(o, peer, m);
	s = put_wr(a, o);
	if (r >> 42 & 1) {
		s->remote = unic_to_le64(m->iova + m->bytes / PARTS);
		s->rkey = unic_to_le32(m->stag);
		lie_local(a, s, r);
	} else if (!(private->rights & UNIC_MR_REMOTE_WRITE) &&
		   o->kind == SCN_WRITE) {
		s->remote = unic_to_le64(private->iova);
		s->rkey = unic_to_le32(private->stag);
	} else {
		lie_remote(o, s, r);
	}
	post(a, o);
	return true;
}

/* Bells for nothing: unknown rows, the same word many times. */
static void ring_wildly(struct app *a, uint64_t r)
{
	uint32_t i, n = r & 7 ? 3 : 400;

	for (i = 0; i < n; i++)
		app_qp_ring(a, UNIC_DB_ARM, APP_QPS + (uint32_t)(r % 50),
			    (uint32_t)(r >> 8));
}

static void wild_done(struct app *a, uint32_t arg, uint32_t status,
		      const void *rec, uint32_t bytes)
{
	(void)a;
	(void)arg;
	(void)status;
	(void)rec;
	(void)bytes;
}

/* A request that names things at random; none of these gives anything away. */
static void ask_wildly(struct app *a, uint64_t r)
{
	static const uint16_t op[] = {
		UNIC_CTL_WAIT_CANCEL,  UNIC_CTL_NOTICE_ANSWER,
		UNIC_CTL_RESYNC,       UNIC_CTL_TOKEN_ALLOC,
		UNIC_CTL_QP_MODIFY,    UNIC_CTL_FRAMES_FREE,
		UNIC_CTL_TOKEN_CANCEL, UNIC_CTL_CONN_QUERY,
		UNIC_CTL_CONNECT,      UNIC_CTL_MR_REG,
	};
	uint64_t rec[8];
	struct sim_rng rng = { r };
	uint32_t i;

	for (i = 0; i < 8; i++)
		rec[i] = sim_u64(&rng) & sim_u64(&rng) & 0xffff0000ffull;
	app_ask(a, op[r % 10], rec, 0, wild_done);
}

/* ------------------------------------------------------------------- tokens */

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
	if (t->early_id == t->id) /* its end overtook this reply */
		token_over(a, t, t->early_end);
}

static void alloc_token(struct app *a, uint32_t i, uint64_t r)
{
	struct region *m = some_region(a, r, UNIC_MR_LOCAL_WRITE);
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
	req.iova = unic_to_le64(iova_of(m, t->at));
	req.mr = unic_to_le32(m->id);
	req.length = unic_to_le32(t->len);
	req.ttl_us =
		unic_to_le32(r >> 40 & 1 ? 1 + (uint32_t)(r >> 41) % 20000 : 0);
	if (!app_ask(a, UNIC_CTL_TOKEN_ALLOC, &req, i, token_done))
		t->there = false;
}

static void token_over(struct app *a, struct token *t, uint32_t end)
{
	struct region *m = &a->region[t->region];

	once_token(t->key, end);
	oracle_revoke(t->grant);
	if (m->life == t->region_life && m->open[PART_WINDOW])
		m->open[PART_WINDOW]--;
	t->there = false;
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

/* NO_TOKEN: it was told, or it was used and the completion says so. */
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

static void cancel_token(struct app *a, uint64_t r)
{
	struct token *t = &a->token[r % APP_TOKENS];
	struct unic_ctl_obj req = { .id = unic_to_le32(t->id) };

	if (t->there && !t->asked && !t->cancelling &&
	    app_ask(a, UNIC_CTL_TOKEN_CANCEL, &req, t->id, cancel_done))
		t->cancelling = true;
}

/* ------------------------------------------------------------------- script */

static bool try_post(struct app *a, const struct scn_op *s)
{
	struct qp *q = some_qp(a, s->r >> 56);
	struct region *m = some_region(a, s->r >> 48, UNIC_MR_LOCAL_WRITE);
	struct op *o = op_free(a);

	if (!q || !m || !o)
		return false;
	*o = (struct op){ .kind = s->kind,
			  .id = id_of(a),
			  .qp = q,
			  .link = q->link,
			  .gen = q->gen,
			  .local = m,
			  .local_life = m->life,
			  .local_was = m->revoked,
			  .part = PART_SOURCE,
			  .quiet = !(s->r >> 44 & 3) && !quiet_open(a) };
	if (s->kind == SCN_LIE || s->kind == SCN_TOKEN)
		o->quiet = false;
	if (s->kind == SCN_TOKEN)
		return post_token(a, o, s->r);
	if (s->kind == SCN_SEND || s->kind == SCN_SEND_IMM)
		return post_send(a, o, s->r);
	if (s->kind == SCN_LIE)
		return post_lie(a, o, s->r);
	return post_rdma(a, o, s->r);
}

static bool do_op(struct app *a, const struct scn_op *s)
{
	switch (s->kind) {
	case SCN_REREG:
		app_rereg(a, s->r);
		return true;
	case SCN_PAUSE:
		a->pause_ns = sim_now() + s->r % (2 * MS);
		return true;
	case SCN_CANCEL:
		cancel_token(a, s->r);
		return true;
	case SCN_LIE:
		if (!a->how->lies)
			return true;
		if (s->r % 4 == 0)
			ring_wildly(a, s->r >> 8);
		if (s->r % 4 == 1)
			ask_wildly(a, s->r >> 8);
		if (s->r % 4 < 2)
			return true;
		break;
	default:
		break;
	}
	return try_post(a, s);
}

static uint32_t in_flight(const struct app *a)
{
	uint32_t i, n = 0;

	for (i = 0; i < APP_OPEN; i++)
		n += a->op[i].state == OP_POSTED && a->op[i].kind != RECEIVE;
	return n;
}

static bool more(struct app *a)
{
	const struct scenario *scn = a->scn;

	while (a->next_op < scn->ops &&
	       (scn->op[a->next_op].app != a->index || scn->op[a->next_op].off))
		a->next_op++;
	return a->next_op < scn->ops;
}

void app_op_step(struct app *a)
{
	uint32_t i;

	post_receives(a);
	for (i = 0; i < APP_TOKENS && !a->stopping; i++)
		if (!a->token[i].there && sim_chance(&a->rng, 200000))
			alloc_token(a, i, sim_u64(&a->rng));
	while (more(a) && in_flight(a) < a->how->window) {
		if (sim_now() < a->pause_ns) {
			app_kick(a, a->pause_ns);
			return;
		}
		if (!do_op(a, &a->scn->op[a->next_op])) {
			if (++a->op_tries < TRIES) {
				app_kick(a, sim_now() + 100 * US);
				return;
			}
			a->ops_skipped++;
		}
		a->op_tries = 0;
		a->next_op++;
	}
}

/* -------------------------------------------------------------- completions */

static void check_read(struct app *a, const struct op *o)
{
	const struct region *r = o->remote;
	uint64_t op = 1ull << 63 | (uint64_t)o->peer->index << 32 |
		      (uint64_t)(r - o->peer->region);
	uint32_t i;

	/* given back meanwhile, the sink may be in use for something else */
	if (!local_alive(o) || !remote_alive(o))
		return;
	for (i = 0; i < o->len; i++)
		if (*app_mem(a, o->local_at + i) !=
		    oracle_byte(op, o->remote_at - r->at + i))
			sim_fail("oracle",
				 "app %u: byte %u of %u of READ %llx is %02x, "
				 "not %02x, at the peer it is %02x",
				 a->index, i, o->len, (unsigned long long)o->id,
				 *app_mem(a, o->local_at + i),
				 oracle_byte(op, o->remote_at - r->at + i),
				 *app_mem(o->peer, o->remote_at + i));
}

/* Acknowledged means there, as long as nobody took the memory away. */
static void check_written(struct app *a, const struct op *o)
{
	uint32_t i;

	(void)a;
	if (!remote_alive(o) || o->remote->state != REGION_ACTIVE)
		return;
	for (i = 0; i < o->len; i++)
		if (*app_mem(o->peer, o->remote_at + i) !=
		    oracle_byte(o->id, i))
			sim_fail("oracle",
				 "app %u: WRITE %llx was acknowledged, byte %u "
				 "of %u is not there",
				 a->index, (unsigned long long)o->id, i,
				 o->len);
}

static void succeeded(struct app *a, struct op *o)
{
	if (o->forbidden)
		sim_fail("oracle", "app %u: forbidden operation %llx succeeded",
			 a->index, (unsigned long long)o->id);
	if (o->kind == SCN_READ)
		check_read(a, o);
	if (o->kind == SCN_WRITE || o->kind == SCN_WRITE_IMM)
		check_written(a, o);
	a->ops_ok++;
}

/* Is this error one that may be? */
static bool excused(struct app *a, const struct op *o, uint8_t status)
{
	const struct node *n = world->node[a->node];

	switch (status) {
	case UNIC_WC_EVICTED:
		return !local_alive(o) ||
		       !bounds_too_early(n, o->local->stag) ||
		       o->local->mr_class == UNIC_CLASS_MESSAGING;
	case UNIC_WC_REM_EVICTED:
		return !remote_alive(o) ||
		       !bounds_too_early(world->node[o->peer->node],
					 o->remote->stag);
	case UNIC_WC_WR_FLUSH_ERR: /* its QP_ERROR must follow */
		o->qp->unexplained |= !o->qp->failed && o->gen == o->link->gen;
		return true;
	case UNIC_WC_RNR_RETRY_EXC_ERR: /* the peer waits for memory */
		return true;
	case UNIC_WC_REM_ACCESS_ERR:
		return o->forbidden || remote_revoked(o) || o->token;
	case UNIC_WC_LOC_PROT_ERR:
		return o->forbidden || local_revoked(o);
	case UNIC_WC_REM_OP_ERR: /* the receive was evicted while filled */
		return true;
	default:
		return !apps_calm;
	}
}

static bool fatal(uint8_t status)
{
	return status && status != UNIC_WC_EVICTED &&
	       status != UNIC_WC_REM_EVICTED;
}

static void failed(struct app *a, struct op *o, const struct unic_cqe *c)
{
	if (!excused(a, o, c->status))
		sim_fail("once",
			 "app %u: operation %llx (kind %u) completes with "
			 "status %u detail %u for no reason",
			 a->index, (unsigned long long)o->id, o->kind,
			 c->status, c->detail);
	if (fatal(c->status)) {
		o->qp->failed = true;
		app_link_break(o->link);
	}
}

/* A tagged message arrived: its token's end, if it named a good one. */
static void got_token(struct app *a, const struct unic_cqe *c)
{
	uint32_t i;

	for (i = 0; !c->detail && i < APP_TOKENS; i++) {
		struct token *t = &a->token[i];

		if (t->there && !t->asked &&
		    t->index == unic_from_le32(c->token)) {
			token_over(a, t, UNIC_TOKEN_USED);
			return;
		}
	}
}

static uint64_t message_id(struct app *a, const struct op *o)
{
	uint64_t id = 0;
	uint32_t i;

	for (i = 0; i < 8; i++)
		id |= (uint64_t)*app_mem(a, o->local_at + i) << 8 * i;
	return id;
}

/* Messages arrive once, in the order sent, whole. */
static void received(struct app *a, struct op *o, const struct unic_cqe *c)
{
	struct link *l = o->link;
	uint32_t from = !o->qp->end, at, i, len = unic_from_le32(c->byte_len);
	uint64_t id = message_id(a, o);

	if (c->opcode == UNIC_WC_RECV_WRITE_IMM || o->gen != l->gen)
		return;
	for (at = l->got[from]; at != l->sends[from]; at++)
		if (l->sent[from][at % LINK_SENDS].op == id)
			break;
	if (at == l->sends[from])
		sim_fail("once",
			 "app %u receives message %llx, which nobody sent, or "
			 "twice, or out of order",
			 a->index, (unsigned long long)id);
	if (l->sent[from][at % LINK_SENDS].len != len)
		sim_fail("oracle", "app %u: message %llx has %u bytes, not %u",
			 a->index, (unsigned long long)id, len,
			 l->sent[from][at % LINK_SENDS].len);
	l->got[from] = at + 1;
	if (c->opcode == UNIC_WC_RECV_TOKEN) {
		got_token(a, c);
		return;
	}
	for (i = 8; i < len; i++)
		if (*app_mem(a, o->local_at + i) != oracle_byte(id, i))
			sim_fail("oracle",
				 "app %u: byte %u of message %llx is wrong",
				 a->index, i, (unsigned long long)id);
	if (c->flags & UNIC_WC_WITH_IMM &&
	    unic_from_le32(c->imm) != (uint32_t)id)
		sim_fail("oracle", "app %u: the immediate of %llx is wrong",
			 a->index, (unsigned long long)id);
}

static void end_recv(struct app *a, struct op *o, const struct unic_cqe *c)
{
	o->qp->rq_open--;
	once_complete(o->id, 0, !c->status);
	if (!c->status)
		received(a, o, c);
	else
		failed(a, o, c);
	let_go(o);
}

static void end_op(struct app *a, struct op *o, uint8_t status)
{
	o->qp->sq_open -= !o->quiet;
	o->qp->sq_slots--;
	a->ops_done++;
	/* a frame of it may still be on the way */
	if (status && is_write(o))
		o->state = OP_LINGERS;
	else
		let_go(o);
}

/* Earlier ones of the queue that were to be quiet succeeded. */
static void end_quiet(struct app *a, const struct qp *q, uint64_t before)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++) {
		struct op *o = &a->op[i];

		if (o->state != OP_POSTED || o->kind == RECEIVE || !o->quiet ||
		    o->qp != q || o->id >= before)
			continue;
		once_complete(o->id, queue_of(q), true);
		succeeded(a, o);
		end_op(a, o, 0);
	}
}

static void complete(struct app *a, struct qp *q, const struct unic_cqe *c)
{
	uint64_t id = unic_from_le64(c->wr_id);
	struct op *o = op_find(a, id);

	sim_log("app %u: completion %llx opcode %u status %u detail %u",
		a->index, (unsigned long long)id, c->opcode, c->status,
		c->detail);
	if (!id && a->scn->odds.port.bus_ppm) {
		/* a work request that could not be fetched has no name */
		a->giving_up = true;
		return;
	}
	if (!o || o->qp != q)
		sim_fail("once",
			 "app %u: completion of %llx, which is not open",
			 a->index, (unsigned long long)id);
	if (o->kind == RECEIVE) {
		end_recv(a, o, c);
		return;
	}
	end_quiet(a, q, id);
	once_complete(id, queue_of(q), !c->status);
	if (c->status)
		failed(a, o, c);
	else
		succeeded(a, o);
	end_op(a, o, c->status);
}

bool app_op_reap(struct app *a)
{
	struct unic_cqe c;
	bool any = false;
	uint32_t i;

	for (i = 0; i < APP_QPS; i++)
		while (a->qp[i].has_cq && app_qp_cqe(&a->qp[i], &c)) {
			complete(a, &a->qp[i], &c);
			any = true;
		}
	return any;
}
