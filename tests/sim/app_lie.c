/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* app_lie.c - misuse by a process, which must not succeed. */
#include "app_op.h"
#include "check.h"
#include "oracle.h"
#include "stags.h"

/* -------------------------------------------------------------------- lies */

static void lie_remote(struct op *o, struct unic_sq_slot *s, uint64_t r)
{
	struct region *m = o->remote;
	const struct form *f = &o->peer->form[m - o->peer->region];
	uint64_t end = m->iova + m->bytes;

	if (f->gone) { /* the STag was invalidated */
		s->remote = unic_to_le64(f->iova);
		s->rkey = unic_to_le32(f->stag);
		return;
	}
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

	if (r % 2) { /* a region of another process */
		struct region *m = op_some_region(other, r >> 16, 0);

		if (other != a && m && other->node == a->node) {
			s->sge[0].lkey = unic_to_le32(m->stag);
			s->sge[0].iova = unic_to_le64(m->iova);
			return;
		}
	}
	s->sge[0].lkey = unic_to_le32((uint32_t)(r >> 8) | 0xff000000u);
}

/* Replaces an STag of @s by a former one, one of another process or an
 * unused one. False: there is none. */
static bool name_wrong(struct app *a, struct op *o, struct unic_sq_slot *s,
		       uint64_t r, bool local)
{
	const struct app *whose = local ? a : o->peer;
	uint64_t iova;

	o->lie = stags_wrong(check_model(world->node[whose->node]), whose->slot,
			     r, &iova);
	o->lie_is_local = local;
	if (!o->lie)
		return false;
	if (local) {
		s->sge[0].lkey = unic_to_le32(o->lie);
		s->sge[0].iova = unic_to_le64(iova);
	} else {
		s->rkey = unic_to_le32(o->lie);
		s->remote = unic_to_le64(iova);
	}
	return true;
}

/* The operation must not succeed, and touches no memory but its own. */
bool op_lie(struct app *a, struct op *o, uint64_t r)
{
	struct app *peer = o->qp->link->qp[!o->qp->end]->app;
	struct region *m = op_some_region(
		peer, r >> 20, UNIC_MR_REMOTE_WRITE | UNIC_MR_REMOTE_READ);
	struct region *private = op_some_region(peer, r >> 24, 0);
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
	op_set_remote(o, peer, m);
	o->refused = o->link->type == UNIC_QPT_UD || o->kind == SCN_READ;
	s = op_put_wr(a, o);
	if (r >> 42 & 1) {
		s->remote = unic_to_le64(m->iova + m->bytes / PARTS);
		s->rkey = unic_to_le32(m->stag);
		if (!(r >> 43 & 1) || !name_wrong(a, o, s, r >> 44, true))
			lie_local(a, s, r);
		o->refused = true;
	} else if (r >> 43 & 1 && o->link->type != UNIC_QPT_UD &&
		   name_wrong(a, o, s, r >> 44, false)) {
		;
	} else if (!(private->rights & UNIC_MR_REMOTE_WRITE) &&
		   o->kind == SCN_WRITE) {
		/* if it ends, the error is excused */
		op_set_remote(o, peer, private);
		s->remote = unic_to_le64(private->iova);
		s->rkey = unic_to_le32(private->stag);
	} else {
		lie_remote(o, s, r);
	}
	op_post(a, o);
	return true;
}

/* Doorbells for nothing: unknown rows, the same word many times. */
void op_ring_wildly(struct app *a, uint64_t r)
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

/* Sends a request with random fields; any answer is right. */
void op_ask_wildly(struct app *a, uint64_t r)
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
