/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* app_op.c - operations of an application: posts those of the script. */
#include "app_op.h"
#include "core.h"
#include "lives.h"
#include "oracle.h"

#define LINGER 8u  /* WRITEs of UC; then their connection is made anew */
#define TRIES  60u /* attempts at a step before it is skipped */

/* ------------------------------------------------------------------ receives */

static void post_recv(struct app *a, struct qp *q, struct region *r,
		      uint32_t chunk)
{
	struct unic_rq_slot *s = app_qp_rq(q);
	struct op *o = op_free(a);

	*o = (struct op){ .state = OP_POSTED,
			  .kind = RECEIVE,
			  .id = op_id(a),
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

struct qp *op_some_qp(struct app *a, uint64_t r)
{
	struct qp *q = &a->qp[r % APP_QPS];

	if (q->link && q->state == QP_RTS && !q->dying && !q->failed &&
	    q->gen == q->link->gen && q->sq_slots + 2 <= APP_SLOTS &&
	    q->link->qp[!q->end]->state == QP_RTS)
		return q;
	return NULL;
}

struct region *op_some_region(struct app *a, uint64_t r, uint32_t rights)
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

/* Lengths around the edges of packets and pages, or any length. */
static uint32_t some_len(uint64_t r, uint32_t max)
{
	static const uint32_t edge[] = { 1,   8,    64,	  255,	256,  257,
					 512, 1023, 1024, 1025, 2048, 4096 };
	uint32_t len = r & 1 ? edge[r / 2 % 12]
			     : (uint32_t)(1 + r / 2 % (r & 2 ? 64 : max));

	return len > max ? max : len;
}

void op_fill_source(struct app *a, const struct op *o)
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
	[ATOMIC] = UNIC_WR_FETCH_ADD,
};

/* The work request of @o, in two elements if it is long enough. */
struct unic_sq_slot *op_put_wr(struct app *a, struct op *o)
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

void op_post(struct app *a, struct op *o)
{
	struct qp *q = o->qp;
	struct link *l = q->link;

	o->state = OP_POSTED;
	o->posted_ns = sim_now();
	o->local_resets = world->node[o->qp->app->node]->resets;
	if (o->peer)
		o->remote_resets = world->node[o->peer->node]->resets;
	if (o->kind == SCN_SEND || o->kind == SCN_SEND_IMM ||
	    o->kind == SCN_TOKEN) {
		l->sent[q->end][l->sends[q->end] % LINK_SENDS].op = o->id;
		l->sent[q->end][l->sends[q->end]++ % LINK_SENDS].len =
			o->forbidden ? 0
			: o->ctrl    ? o->ctrl
				     : o->len;
	}
	if (o->kind == SCN_SEND || o->kind == SCN_SEND_IMM ||
	    o->kind == SCN_TOKEN || o->kind == SCN_WRITE_IMM)
		lives_post(l, q->gen, q->end, o->id);
	if (op_spoiled(o))
		oracle_any(o->grant);
	once_post(o->id, op_queue(q), o->quiet);
	if (o->part == PART_SOURCE)
		oracle_name(a->node, a->slot, o->local_at, o->len);
	q->sq_open += !o->quiet;
	q->sq_slots++;
	sim_log("app %u: posts %llx kind %u, %u bytes from page %u + %u",
		a->index, (unsigned long long)o->id, o->kind, o->len,
		o->local_at / 4096, o->local_at % 4096);
	app_qp_ring(a, UNIC_DB_SQ, q->index, ++q->sq_tail);
}

void op_set_remote(struct op *o, struct app *peer, struct region *r)
{
	o->peer = peer;
	o->peer_life = peer->life;
	o->remote = r;
	o->remote_life = r->life;
	o->remote_was = r->revoked;
}

/* Takes a chunk of a region at the other end that allows the operation. */
static bool take_remote(struct op *o, struct app *peer, uint64_t r)
{
	bool read = o->kind == SCN_READ;
	struct region *m = op_some_region(
		peer, r, read ? UNIC_MR_REMOTE_READ : UNIC_MR_REMOTE_WRITE);

	if (!m)
		return false;
	if (o->len > m->bytes / PARTS)
		o->len = m->bytes / PARTS;
	o->remote_at = app_chunk(m, read ? PART_EXPORT : PART_WINDOW, o->len);
	if (o->remote_at == NOTHING)
		return false;
	op_set_remote(o, peer, m);
	return true;
}

uint64_t op_iova(const struct region *r, uint32_t at)
{
	return r->iova + (at - r->at);
}

/* Addresses a datagram to the other end, one of eight with a wrong Q_Key. */
static void aim(struct op *o, struct unic_sq_slot *s, uint64_t r)
{
	const struct qp *peer = o->qp->link->qp[!o->qp->end];
	uint32_t key = app_qkey(o->link);

	if (r >> 30 & 1) /* bit 31: "the queue pair's" */
		key ^= 1u << 31;
	if (!(r >> 31 & 7)) {
		key = app_qkey(o->link) ^ 1u << (r >> 34) % 31;
		o->forbidden = true;
	}
	s->remote =
		unic_to_le64(UNIC_UD_TO(0x0a000001u + peer->app->node, key));
	s->rkey = unic_to_le32(peer->qpn);
}

/* Bytes of one message, at most. */
static uint32_t most(const struct op *o)
{
	uint32_t mtu = 1u << app_mtu_shift();

	if (o->link->type != UNIC_QPT_UD)
		return APP_CHUNK;
	return mtu < APP_CHUNK - UNIC_GRH_BYTES ? mtu
						: APP_CHUNK - UNIC_GRH_BYTES;
}

/* Has the SEND invalidate a derived region of the peer, if there is one. */
static void invalidate(const struct op *o, struct unic_sq_slot *s, uint64_t r)
{
	struct app *peer = o->qp->link->qp[!o->qp->end]->app;
	uint32_t stag = app_form_invalidate(peer, r);

	if (!stag)
		return;
	s->opcode = UNIC_WR_SEND_INV;
	s->rkey = unic_to_le32(stag);
}

static bool post_send(struct app *a, struct op *o, uint64_t r)
{
	struct unic_sq_slot *s;

	o->len = some_len(r, most(o));
	if (o->len < 8)
		o->len = 8;
	if (o->len > o->local->bytes / PARTS)
		o->len = o->local->bytes / PARTS;
	o->local_at = app_chunk(o->local, PART_SOURCE, o->len);
	if (o->local_at == NOTHING)
		return false;
	op_fill_source(a, o);
	s = op_put_wr(a, o);
	if (o->link->type == UNIC_QPT_UD)
		aim(o, s, r);
	else if (op_reliable(o) && o->kind == SCN_SEND && r >> 60 & 1)
		invalidate(o, s, r >> 32);
	op_post(a, o);
	return true;
}

static bool post_rdma(struct app *a, struct op *o, uint64_t r)
{
	struct app *peer = o->qp->link->qp[!o->qp->end]->app;
	bool read = o->kind == SCN_READ;
	const struct form *f;
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
		op_fill_source(a, o);
	o->grant = oracle_grant(to->node, to->slot,
				read ? o->local_at : o->remote_at, o->len,
				read ? ORACLE_ANY : ORACLE_DATA, o->id);
	s = op_put_wr(a, o);
	f = o->id & 1 ? app_form(peer, o->remote) : NULL;
	s->remote = unic_to_le64(op_iova(o->remote, o->remote_at));
	s->rkey = unic_to_le32(o->remote->stag);
	if (f) {
		s->remote =
			unic_to_le64(f->iova + o->remote_at - o->remote->at);
		s->rkey = unic_to_le32(f->stag);
		o->through = f->first_stag;
	}
	op_post(a, o);
	return true;
}

/* ------------------------------------------------------------------- script */

/* The kind of the script, or the nearest one that @l allows. */
static uint8_t fit(const struct link *l, uint8_t kind)
{
	if (l->type == UNIC_QPT_RC || kind == SCN_LIE)
		return kind;
	if (kind == SCN_TOKEN)
		return SCN_SEND;
	if (l->type == UNIC_QPT_UC)
		return kind == SCN_READ ? SCN_WRITE : kind;
	return kind == SCN_SEND_IMM || kind == SCN_WRITE_IMM ? SCN_SEND_IMM
							     : SCN_SEND;
}

/* Whether a WRITE of UC has arrived is unknown until the queue pair is gone. */
static bool too_many_linger(const struct app *a, const struct link *l)
{
	uint32_t i, n = 0;

	for (i = 0; i < APP_OPEN; i++)
		n += a->op[i].state == OP_LINGERS && a->op[i].link == l;
	return n >= LINGER && l->type == UNIC_QPT_UC;
}

static bool try_post(struct app *a, const struct scn_op *s)
{
	struct qp *q = op_some_qp(a, s->r >> 56);
	struct region *m = op_some_region(a, s->r >> 48, UNIC_MR_LOCAL_WRITE);
	struct op *o = op_free(a);

	if (!q || !m || !o)
		return false;
	if (too_many_linger(a, q->link)) {
		app_link_break(q->link);
		return false;
	}
	*o = (struct op){ .kind = fit(q->link, s->kind),
			  .id = op_id(a),
			  .qp = q,
			  .link = q->link,
			  .gen = q->gen,
			  .local = m,
			  .local_life = m->life,
			  .local_was = m->revoked,
			  .part = PART_SOURCE,
			  .quiet = !(s->r >> 44 & 3) && !op_quiet_open(a) };
	if (o->kind == SCN_LIE || o->kind == SCN_TOKEN)
		o->quiet = false;
	if (o->kind == SCN_TOKEN)
		return op_token_post(a, o, s->r);
	if (o->kind == SCN_SEND || o->kind == SCN_SEND_IMM)
		return post_send(a, o, s->r);
	if (o->kind == SCN_READ && core_has_atomics() && !(s->r >> 33 & 3))
		return op_atomic_post(a, o, s->r >> 20);
	if (o->kind == SCN_LIE)
		return op_lie(a, o, s->r);
	return post_rdma(a, o, s->r);
}

/* One of four WRITEs is followed by others that are adjacent to it at both
 * ends: a NIC may send, place and complete them together. In half of these rows
 * every other WRITE goes to another region. */
static bool post_writes(struct app *a, const struct scn_op *s)
{
	uint32_t more = s->r >> 36 & 3 ? 0 : 1 + (s->r >> 38 & 7);
	struct scn_op other = *s;

	other.r ^= (s->r >> 41 & 1) << 20; /* see take_remote() */
	if (!try_post(a, s))
		return false;
	for (; more; more--)
		if (!try_post(a, more & 1 ? &other : s))
			break;
	return true;
}

static void change_policy(struct app *a, uint64_t r)
{
	struct unic_ctl_policy req = {
		.proc = unic_to_le32(a->slot),
		.weight = unic_to_le32(1 + (uint32_t)r % 5),
		.quota = unic_to_le32(r >> 8 & 1 ? 8 + (uint32_t)(r >> 9) % 40
						 : 0),
		.policy = unic_to_le32((uint32_t)(r >> 16) % UNIC_POLICIES),
		.flags = unic_to_le32(UNIC_CTL_POLICY_FLAGS_ALL),
	};

	app_ask(a, UNIC_CTL_POLICY, &req, 0, NULL);
}

/* The process's own part: its policy, and the importance of a region. */
static void change_own(struct app *a, uint64_t r)
{
	struct region *m = op_some_region(a, r >> 48, 0);
	struct unic_ctl_own_policy policy = {
		.policy = unic_to_le32((uint32_t)(r >> 16) % UNIC_POLICIES),
	};
	struct unic_ctl_mr_rereg hint = { .what = UNIC_REREG_HINT,
					  .importance = (uint8_t)r };

	if (r >> 24 & 1 || !m) {
		app_ask(a, UNIC_CTL_OWN_POLICY, &policy, 0, NULL);
		return;
	}
	hint.id = unic_to_le32(m->id);
	app_ask(a, UNIC_CTL_MR_REREG, &hint, 0, NULL);
}

static bool do_op(struct app *a, const struct scn_op *s)
{
	switch (s->kind) {
	case SCN_WRITE:
		return post_writes(a, s);
	case SCN_REREG:
		app_rereg(a, s->r);
		return true;
	case SCN_POLICY:
		if (s->r >> 40 & 1)
			change_own(a, s->r);
		else
			change_policy(a, s->r);
		return true;
	case SCN_PAUSE:
		a->pause_ns = sim_now() + s->r % (2 * MS);
		return true;
	case SCN_CANCEL:
		op_token_cancel(a, s->r);
		return true;
	case SCN_LIE:
		if (!a->how->lies)
			return true;
		if (s->r % 4 == 0)
			op_ring_wildly(a, s->r >> 8);
		if (s->r % 4 == 1)
			op_ask_wildly(a, s->r >> 8);
		if (s->r % 4 == 2 && s->r >> 2 & 1)
			app_form_lie(a, s->r >> 8);
		if (s->r % 4 < 2 || (s->r % 4 == 2 && s->r >> 2 & 1))
			return true;
		break;
	default:
		break;
	}
	return try_post(a, s);
}

uint32_t app_op_open(const struct app *a)
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
			op_token_alloc(a, i, sim_u64(&a->rng));
	while (more(a) && app_op_open(a) < a->how->window) {
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
