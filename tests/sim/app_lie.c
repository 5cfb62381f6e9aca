/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* app_lie.c - misuse by a process, which must not succeed. */
#include "app_op.h"
#include "check.h"
#include "oracle.h"
#include "stags.h"

/* ------------------------------------------------------------ wrong STags */

/* A derived region of one of these kinds (a set of bits), or NULL. */
static const struct form *some_form(const struct app *a, uint32_t kinds,
				    uint32_t r)
{
	uint32_t i;

	for (i = 0; i < APP_REGIONS; i++) {
		const struct form *f = &a->form[(r + i) % APP_REGIONS];

		if (f->state == FORM_MADE && !f->evicted &&
		    kinds >> f->kind & 1)
			return f;
	}
	return NULL;
}

static void is_form(struct wrong *w, const struct form *f)
{
	w->stag = f->stag;
	w->iova = f->iova;
}

static void is_region(struct wrong *w, const struct region *r)
{
	w->stag = r->stag;
	w->iova = r->iova;
}

/* A derived region of another process, with its present key. */
static void others_form(const struct app *a, struct sim_rng *rng,
			struct wrong *w)
{
	uint32_t i, r = sim_below(rng, apps_count);

	for (i = 0; i < apps_count; i++) {
		const struct app *other = apps[(r + i) % apps_count];
		const struct form *f = some_form(other, ~0u, r);

		if (other != a && other->node == a->node && f)
			is_form(w, f);
	}
}

/* The region of its second domain, or what is derived from it. */
static void of_second(const struct app *a, struct sim_rng *rng, struct wrong *w)
{
	uint32_t i = a->how->regions;

	w->detail = UNIC_WD_PD;
	w->status = UNIC_ST_NO_PD;
	if (!a->has_second || a->region[i].state != REGION_ACTIVE)
		return;
	if (a->form[i].state == FORM_MADE && sim_below(rng, 4))
		is_form(w, &a->form[i]);
	else
		is_region(w, &a->region[i]);
}

/* Its own, but of a kind that does not do. A window may lack the rights first. */
static void of_its_own(struct app *a, enum named as, struct sim_rng *rng,
		       struct wrong *w)
{
	uint32_t windows = 1u << UNIC_FORM_WINDOW1 | 1u << UNIC_FORM_WINDOW2;
	uint32_t fixed = 1u << UNIC_FORM_WINDOW1 | 1u << UNIC_FORM_SUB;
	uint32_t r = (uint32_t)sim_u64(rng);
	const struct form *f;
	const struct region *m;

	f = some_form(a, as == NAMED_ELEMENT ? windows : fixed, r);
	m = op_some_region(a, r, 0);
	w->detail = as == NAMED_TARGET ? UNIC_WD_STATE : UNIC_WD_RIGHTS;
	w->status = UNIC_ST_RIGHTS;
	if (f && !app_is_second(a, (uint32_t)(f - a->form)))
		is_form(w, f);
	else if (m && as == NAMED_TARGET)
		is_region(w, m);
}

bool op_wrong(struct app *a, uint64_t r, enum named as, struct wrong *out)
{
	struct sim_rng rng = { r };

	*out = (struct wrong){ 0 };
	switch (sim_below(&rng, as == NAMED_ACCESS ? 6 : 8)) {
	case 0:
		others_form(a, &rng, out);
		break;
	case 1:
	case 2:
		of_second(a, &rng, out);
		break;
	case 6:
	case 7:
		of_its_own(a, as, &rng, out);
		break;
	default:
		out->stag = stags_wrong(check_model(world->node[a->node]),
					a->slot, sim_u64(&rng), &out->iova);
	}
	return out->stag;
}

void op_set_lie(struct op *o, const struct wrong *w, uint8_t status,
		bool is_local)
{
	o->lie = w->stag;
	o->lie_status = status;
	o->lie_detail = w->detail;
	o->lie_is_local = is_local;
}

/* ---------------------------------------------- lists of derived regions */

void op_spoil_list(struct app *a, const struct region *r, const struct form *f,
		   struct unic_sge *last, uint8_t *rights)
{
	bool window = f->kind == UNIC_FORM_WINDOW1 ||
		      f->kind == UNIC_FORM_WINDOW2;
	uint8_t more = (UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE |
			UNIC_MR_LOCAL_WRITE) &
		       ~r->rights;

	if (window)
		more = more & UNIC_MR_LOCAL_WRITE ? UNIC_MR_REMOTE_WRITE : 0;
	if (more && sim_below(&a->rng, 2))
		*rights |= more;
	else
		last->len = unic_to_le32(unic_from_le32(last->len) + 1);
}

bool op_lie_list(struct app *a, struct form *f, struct unic_sge *sge,
		 uint32_t n, uint8_t *rights, struct wrong *w)
{
	f->lie = 0;
	if (!a->how->lies || app_is_second(a, (uint32_t)(f - a->form)) ||
	    sim_below(&a->rng, 2) ||
	    !op_wrong(a, sim_u64(&a->rng), NAMED_ELEMENT, w))
		return false;
	f->lie = w->stag;
	f->lie_at = sim_below(&a->rng, n);
	f->lie_status = w->status;
	sge[f->lie_at].lkey = unic_to_le32(w->stag);
	sge[f->lie_at].iova = unic_to_le64(w->iova);
	sge[f->lie_at].len = unic_to_le32(64);
	*rights &= UNIC_MR_REMOTE_READ;
	return true;
}

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

/* Replaces an STag of @s by a wrong one. False: there is none. */
static bool name_wrong(struct app *a, struct op *o, struct unic_sq_slot *s,
		       uint64_t r, bool local)
{
	struct wrong w;

	if (!op_wrong(local ? a : o->peer, r, NAMED_ACCESS, &w))
		return false;
	op_set_lie(o, &w, local ? UNIC_WC_LOC_PROT_ERR : UNIC_WC_REM_ACCESS_ERR,
		   local);
	if (local) {
		s->sge[0].lkey = unic_to_le32(w.stag);
		s->sge[0].iova = unic_to_le64(w.iova);
	} else {
		s->rkey = unic_to_le32(w.stag);
		s->remote = unic_to_le64(w.iova);
	}
	return true;
}

/* A SEND that is to invalidate what it must not. */
static bool lie_invalidate(struct app *a, struct op *o, uint64_t r)
{
	struct app *peer = o->qp->link->qp[!o->qp->end]->app;
	struct unic_sq_slot *s;
	struct wrong w;

	if (!op_wrong(peer, r, NAMED_TARGET, &w))
		return false;
	o->kind = SCN_SEND;
	o->forbidden = true;
	o->peer = peer;
	o->peer_life = peer->life;
	o->len = 8 + (uint32_t)(r >> 12) % (o->local->bytes / PARTS - 8);
	if (o->len > APP_CHUNK)
		o->len = APP_CHUNK;
	o->local_at = app_chunk(o->local, PART_SOURCE, o->len);
	if (o->local_at == NOTHING)
		return false;
	op_fill_source(a, o);
	op_set_lie(o, &w, UNIC_WC_REM_ACCESS_ERR, false);
	s = op_put_wr(a, o);
	s->opcode = UNIC_WR_SEND_INV;
	s->rkey = unic_to_le32(w.stag);
	op_post(a, o);
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

	if (op_reliable(o) && r >> 41 & 1)
		return lie_invalidate(a, o, r);
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
