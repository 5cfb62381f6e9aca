/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_form.c - derived regions ("forms") of an application. Some regions have
 * one: a sub-region, a window, a fast registration or an indirect region of
 * three pieces. It covers all bytes of the region in their order, and peers
 * read and write the region by either STag. A command or a work request makes a
 * form; MR_DEREG, LOCAL_INV or a SEND of a peer ends it.
 */
#include "app_op.h"
#include "check.h"
#include "core.h"
#include "stags.h"

#define REMOTE (UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)

static bool same_region(const struct app *a, uint32_t i)
{
	const struct region *r = &a->region[i];

	return r->state == REGION_ACTIVE && !r->evicted &&
	       r->life == a->form[i].life;
}

const struct form *app_form(const struct app *a, const struct region *r)
{
	uint32_t i = (uint32_t)(r - a->region);
	const struct form *f = &a->form[i];

	return f->state == FORM_MADE && !f->evicted && same_region(a, i) ? f
									 : NULL;
}

/* ------------------------------------------------------------------- let go */

static void dereg_done(struct app *a, uint32_t arg, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	struct form *f = &a->form[arg];

	(void)rec;
	(void)bytes;
	if (status == UNIC_ST_OK || status == UNIC_ST_NO_MR ||
	    status == UNIC_CTL_ST_RESET) {
		f->state = FORM_NONE;
	} else if (status == UNIC_ST_BUSY || status == UNIC_CTL_ST_TOO_MANY ||
		   status == UNIC_CTL_ST_NO_NIC) {
		f->state = FORM_MADE; /* again later */
		f->evicted = true;
		f->retry_ns = sim_now() + 100 * US;
	} else {
		sim_fail("once", "app %u: MR_DEREG of a form answers %u",
			 a->index, status);
	}
}

static void dereg(struct app *a, uint32_t i)
{
	struct unic_ctl_obj req = { .id = unic_to_le32(a->form[i].id) };

	a->region[i].revoked = true; /* accesses through it may fail */
	if (app_ask(a, UNIC_CTL_MR_DEREG, &req, i, dereg_done))
		a->form[i].state = FORM_LEAVING;
}

/* --------------------------------------------------------------------- make */

/* May the derived region itself, whose STag is @own, be the reason of
 * @status? The NIC may take back the entries of a fast registration; a reset of
 * the NIC ends all derived regions. */
static bool taken_back(const struct app *a, const struct form *f, uint32_t own,
		       uint32_t status)
{
	if (status != UNIC_ST_EVICTED)
		return false;
	return f->kind == UNIC_FORM_FAST ||
	       !stags_live(check_model(world->node[a->node]), own);
}

static void make_done(struct app *a, uint32_t arg, uint32_t status,
		      const void *rec, uint32_t bytes)
{
	struct form *f = &a->form[arg];
	struct unic_ctl_mr_reg_reply rep;
	uint32_t own = f->stag;

	(void)bytes;
	memcpy(&rep, rec, sizeof(rep));
	f->state = FORM_MADE;
	f->stag = unic_from_le32(rep.stag);
	/* EVICTED may be what is said of an element in front of the wrong one */
	if (f->lie && !taken_back(a, f, own, status) &&
	    (status != UNIC_ST_EVICTED || !f->lie_at))
		stags_status(check_model(world->node[a->node]), f->lie, a->slot,
			     f->lie_status, status);
	if (f->wrong && !status)
		sim_fail("oracle",
			 "app %u: a form of kind %u is made of more than its "
			 "region gives",
			 a->index, f->kind);
	if (!status)
		return;
	if (!f->wrong && !f->lie && same_region(a, arg) &&
	    !a->region[arg].revoked &&
	    (status == UNIC_ST_INVALID || status == UNIC_ST_ALIGN ||
	     status == UNIC_ST_BOUNDS || status == UNIC_ST_RIGHTS))
		sim_fail("once", "app %u: MR_MAKE of kind %u answers %u",
			 a->index, f->kind, status);
	f->evicted = true; /* unusable: step() releases it */
}

static void put(struct unic_sge *sge, const struct region *r, uint32_t from,
		uint32_t to)
{
	sge->iova = unic_to_le64(r->iova + from);
	sge->len = unic_to_le32(to - from);
	sge->lkey = unic_to_le32(r->stag);
}

/* Picks the IOVA of a form. @pages: with the offset of the region's IOVA
 * within a page. Otherwise half of them lie a few bytes behind the region's
 * IOVA, so that in a row of WRITEs to both only the STag tells where they go.
 */
static uint64_t some_iova(struct app *a, const struct region *r, bool pages)
{
	uint64_t iova = sim_u64(&a->rng) >> 8;

	uint64_t mask = (1ull << r->shift) - 1;

	if (pages)
		return (iova & ~mask) | (r->iova & mask);
	return iova & 1 ? iova : r->iova + (iova >> 8) % 64 * 8;
}

static void make(struct app *a, uint32_t i)
{
	const struct region *r = &a->region[i];
	struct form *f = &a->form[i];
	struct {
		struct unic_ctl_mr_make req;
		struct unic_sge sge[3];
	} msg = { 0 };
	uint32_t n = f->kind == UNIC_FORM_INDIRECT ? 3 : 1;
	uint32_t third = r->bytes / 3 - sim_below(&a->rng, 64);
	struct wrong w;

	f->iova = some_iova(a, r, n == 1);
	if (n == 1) {
		put(&msg.sge[0], r, 0, r->bytes);
	} else {
		put(&msg.sge[0], r, 0, third);
		put(&msg.sge[1], r, third, 2 * third + 1);
		put(&msg.sge[2], r, 2 * third + 1, r->bytes);
	}
	msg.req.id = unic_to_le32(f->id);
	msg.req.iova = unic_to_le64(f->iova);
	msg.req.n = unic_to_le32(n);
	msg.req.key = (uint8_t)sim_below(&a->rng, 256);
	msg.req.rights = r->rights;
	if (f->kind == UNIC_FORM_WINDOW2 || f->kind == UNIC_FORM_WINDOW1)
		msg.req.rights &= REMOTE;
	f->wrong = !op_lie_list(a, f, msg.sge, n, &msg.req.rights, &w) &&
		   !sim_below(&a->rng, 6);
	if (f->wrong)
		op_spoil_list(a, r, f, &msg.sge[n - 1], &msg.req.rights);
	if (!app_ask_list(a, UNIC_CTL_MR_MAKE, &msg.req, n * 16, i, make_done))
		f->evicted = true; /* too many requests are open */
}

/* --------------------------------------------------------- by work request */

static bool by_request(const struct form *f)
{
	return f->kind == UNIC_FORM_WINDOW2 || f->kind == UNIC_FORM_INDIRECT ||
	       f->kind == UNIC_FORM_FAST;
}

static uint8_t opcode_of(const struct form *f)
{
	if (f->kind == UNIC_FORM_FAST)
		return UNIC_WR_REG_MR;
	return f->kind == UNIC_FORM_WINDOW2 ? UNIC_WR_BIND_MW
					    : UNIC_WR_REG_INDIRECT;
}

static uint8_t refused_with(uint8_t opcode)
{
	return opcode == UNIC_WR_BIND_MW ? UNIC_WC_MW_BIND_ERR
					 : UNIC_WC_MEM_OP_ERR;
}

/* A work request about form @i, and its slot; NULL: none can be posted now. */
static struct op *request(struct app *a, uint32_t i, uint8_t opcode,
			  struct unic_sq_slot **slot)
{
	struct qp *q = op_some_qp(a, sim_below(&a->rng, APP_QPS));
	struct op *o = op_free(a);

	if (!q || !o || q->link->type == UNIC_QPT_UD)
		return NULL;
	*o = (struct op){ .kind = MEMOP,
			  .id = op_id(a),
			  .qp = q,
			  .link = q->link,
			  .gen = q->gen,
			  .form = &a->form[i],
			  .form_id = a->form[i].id };
	*slot = app_qp_sq(q);
	memset(*slot, 0, sizeof(**slot));
	(*slot)->opcode = opcode;
	(*slot)->flags = UNIC_WR_SIGNALED;
	(*slot)->wr_id = unic_to_le64(o->id);
	(*slot)->rkey = unic_to_le32(a->form[i].stag);
	return o;
}

/* Where the list of a work request is cut in two; 0: nowhere. The runs of a
 * fast registration meet at a page boundary. */
static uint32_t some_cut(struct app *a, const struct region *r,
			 const struct form *f)
{
	uint32_t page = 4096 - (uint32_t)r->iova % 4096;

	if (f->kind == UNIC_FORM_INDIRECT)
		return r->bytes / 2 - sim_below(&a->rng, 64);
	if (f->kind != UNIC_FORM_FAST || page >= r->bytes)
		return 0;
	return page +
	       sim_below(&a->rng, (r->bytes - page - 1) / 4096 + 1) * 4096;
}

/* BIND_MW, or REG_INDIRECT or REG_MR of two pieces: what fits into one slot. */
static bool post_make(struct app *a, uint32_t i)
{
	const struct region *r = &a->region[i];
	struct form *f = &a->form[i];
	bool window = f->kind == UNIC_FORM_WINDOW2;
	uint8_t rights = window ? r->rights & REMOTE : r->rights;
	uint32_t cut = some_cut(a, r, f);
	struct unic_sq_slot *s;
	struct op *o = request(a, i, opcode_of(f), &s);
	struct wrong w;

	if (!o)
		return false;
	f->iova = some_iova(a, r, f->kind != UNIC_FORM_INDIRECT);
	put(&s->sge[0], r, 0, cut ? cut : r->bytes);
	if (cut)
		put(&s->sge[1], r, cut, r->bytes);
	if (op_lie_list(a, f, s->sge, 1 + !!cut, &rights, &w)) {
		o->refused = true;
		op_set_lie(o, &w, refused_with(s->opcode), true);
	}
	/* rarely, as the refusal ends the queue pair */
	f->wrong = !f->lie && !sim_below(&a->rng, 12);
	if (f->wrong)
		op_spoil_list(a, r, f, &s->sge[!!cut], &rights);
	f->key = (uint8_t)sim_below(&a->rng, 256);
	s->flags |= UNIC_WR_INLINE;
	s->inline_len = cut ? 32 : 16;
	s->imm = unic_to_le32(f->key | (uint32_t)rights << 8);
	s->remote = unic_to_le64(f->iova);
	f->state = FORM_POSTED;
	op_post(a, o);
	return true;
}

static void post_inval(struct app *a, uint32_t i)
{
	struct unic_sq_slot *s;
	struct op *o = request(a, i, UNIC_WR_LOCAL_INV, &s);

	if (!o)
		return;
	a->region[i].revoked = true; /* accesses through it may fail */
	a->form[i].state = FORM_POSTED;
	op_post(a, o);
}

/* Posts REG_INDIRECT of an unused STag: the NIC reads its list, in @m. */
static bool post_list(struct app *a, struct region *m, const void **slot)
{
	uint32_t i, form = sim_below(&a->rng, APP_REGIONS);
	struct unic_sge sge[3];
	struct unic_sq_slot *s;
	uint32_t at;
	struct op *o;

	at = app_chunk(m, PART_SOURCE, sizeof(sge));
	if (at == NOTHING)
		return false;
	o = request(a, form, UNIC_WR_REG_INDIRECT, &s);
	if (!o) {
		m->open[PART_SOURCE]--;
		return false;
	}
	o->form_id = ~0u; /* no derived region of the application */
	o->refused = true;
	o->local = m;
	o->local_life = m->life;
	o->local_at = at;
	o->len = sizeof(sge);
	o->part = PART_SOURCE;
	for (i = 0; i < 3; i++)
		put(&sge[i], m, 0, 64);
	for (i = 0; i < sizeof(sge); i++)
		*app_mem(a, at + i) = ((const uint8_t *)sge)[i];
	s->rkey = unic_to_le32(0xff000000u | sim_below(&a->rng, 0x1000000));
	s->num_sge = 1;
	s->sge[0].iova = unic_to_le64(op_iova(m, at));
	s->sge[0].len = unic_to_le32(sizeof(sge));
	s->sge[0].lkey = unic_to_le32(m->stag);
	*slot = s;
	op_post(a, o);
	return true;
}

bool app_form_lie(struct app *a, uint64_t r)
{
	static const uint8_t opcodes[] = { UNIC_WR_LOCAL_INV, UNIC_WR_BIND_MW,
					   UNIC_WR_REG_MR,
					   UNIC_WR_REG_INDIRECT };
	uint32_t i = (uint32_t)r % APP_REGIONS;
	const struct region *m = op_some_region(a, r >> 16, 0);
	struct unic_sq_slot *s;
	struct wrong w;
	struct op *o;

	if (!m || !op_wrong(a, r >> 8, NAMED_TARGET, &w))
		return false;
	o = request(a, i, opcodes[r >> 4 & 3], &s);
	if (!o)
		return false;
	o->form_id = ~0u; /* no derived region of the application */
	o->refused = true;
	op_set_lie(o, &w, refused_with(s->opcode), true);
	s->rkey = unic_to_le32(w.stag);
	if (s->opcode != UNIC_WR_LOCAL_INV) {
		s->flags |= UNIC_WR_INLINE;
		s->inline_len = sizeof(s->sge[0]);
		s->imm = unic_to_le32((w.stag & 0xff) | UNIC_MR_REMOTE_READ
								<< 8);
		s->remote = unic_to_le64(m->iova);
		put(&s->sge[0], m, 0, 64);
	}
	op_post(a, o);
	return true;
}

/* No operation uses region @i, so that its release completes at once. */
static bool is_idle(const struct app *a, uint32_t i)
{
	const struct region *r = &a->region[i];
	uint32_t k, open = 0;

	for (k = 0; k < PARTS; k++)
		open += r->open[k];
	return r->state == REGION_ACTIVE && !r->revoked && r->resident &&
	       !open && a->form[i].state == FORM_NONE;
}

struct region *app_form_list(struct app *a, const void **slot)
{
	uint32_t i;

	for (i = 1; i < a->how->regions; i++)
		if (is_idle(a, i))
			return post_list(a, &a->region[i], slot) ? &a->region[i]
								 : NULL;
	return NULL;
}

/* Is @o about the present derived region, not about an earlier one? */
static bool concerns(const struct op *o)
{
	return o->form->state == FORM_POSTED && o->form->id == o->form_id;
}

void app_form_done(struct app *a, struct op *o, uint8_t opcode, uint8_t status)
{
	struct form *f = o->form;

	if (!concerns(o))
		return;
	f->state = FORM_MADE;
	f->evicted = status || opcode == UNIC_WC_LOCAL_INV;
	if (f->evicted) {
		f->gone = !status;
		f->retry_ns = sim_now() + sim_below(&a->rng, 2) * MS;
		return;
	}
	if (f->wrong)
		sim_fail("oracle",
			 "app %u: a form of kind %u is made by request of more "
			 "than its region gives",
			 a->index, f->kind);
	f->stag = (f->stag & ~0xffu) | f->key;
}

bool app_form_may_fail(struct app *a, const struct op *o)
{
	uint32_t i = (uint32_t)(o->form - a->form);

	return o->form->wrong || o->form->evicted || a->how->lies ||
	       o->form->id != o->form_id || !same_region(a, i) ||
	       a->region[i].revoked;
}

void app_form_dropped(const struct op *o)
{
	if (!concerns(o))
		return;
	o->form->state = FORM_MADE;
	o->form->evicted = true;
}

uint32_t app_form_invalidate(struct app *a, uint64_t r)
{
	uint32_t i = (uint32_t)r % APP_REGIONS;
	struct form *f = &a->form[i];

	if (f->state != FORM_MADE || f->evicted || !by_request(f) ||
	    app_is_second(a, i))
		return 0;
	a->region[i].revoked = true;
	/* unused from now on; it ends when the SEND arrives */
	f->evicted = true;
	return f->stag;
}

/* ----------------------------------------------------------------- allocate */

static void alloc_done(struct app *a, uint32_t arg, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	struct form *f = &a->form[arg];
	struct unic_ctl_mr_reg_reply rep;

	(void)bytes;
	memcpy(&rep, rec, sizeof(rep));
	if (status) {
		if (status == UNIC_ST_INVALID || status == UNIC_ST_STATE)
			sim_fail("once", "app %u: MR_ALLOC answers %u",
				 a->index, status);
		f->state = FORM_NONE;
		f->retry_ns = sim_now() + MS;
		return;
	}
	f->id = unic_from_le32(rep.id);
	f->state = FORM_MADE;
	f->evicted = !same_region(a, arg);
	if (f->evicted)
		return;
	f->stag = f->first_stag = unic_from_le32(rep.stag);
	if (by_request(f) &&
	    (a->region[arg].resident ||
	     (core_has_cached_windows() && f->kind == UNIC_FORM_WINDOW2)) &&
	    !app_is_second(a, arg) && sim_below(&a->rng, 2) &&
	    post_make(a, arg))
		return;
	f->state = FORM_ASKED;
	make(a, arg);
	if (f->evicted)
		f->state = FORM_MADE;
}

static void alloc(struct app *a, uint32_t i)
{
	static const uint8_t kinds[] = { UNIC_FORM_SUB, UNIC_FORM_WINDOW1,
					 UNIC_FORM_WINDOW2, UNIC_FORM_INDIRECT,
					 UNIC_FORM_FAST };
	struct form *f = &a->form[i];
	struct unic_ctl_mr_alloc req = {
		.pd = unic_to_le32(app_is_second(a, i) ? a->second_pd : a->pd),
		.kind = kinds[sim_below(&a->rng, sizeof(kinds))],
	};

	*f = (struct form){ .kind = req.kind, .life = a->region[i].life };
	if (f->kind == UNIC_FORM_INDIRECT)
		req.n = unic_to_le32(3);
	if (f->kind == UNIC_FORM_FAST) {
		req.n = unic_to_le32(a->region[i].n);
		req.page_shift = 12;
	}
	if (app_ask(a, UNIC_CTL_MR_ALLOC, &req, i, alloc_done))
		f->state = FORM_ASKED;
}

/* -------------------------------------------------------------------- steps */

static void step(struct app *a, uint32_t i)
{
	const struct region *r = &a->region[i];
	struct form *f = &a->form[i];
	bool good = r->state == REGION_ACTIVE && !r->evicted &&
		    !r->notice_seq && a->state == APP_RUNS && !a->stopping;

	if (sim_now() < f->retry_ns) {
		app_kick(a, f->retry_ns);
		return;
	}
	if (f->state == FORM_NONE && good && sim_chance(&a->rng, 100000))
		alloc(a, i);
	else if (f->state == FORM_MADE && good && !f->evicted &&
		 by_request(f) && !app_is_second(a, i) &&
		 sim_chance(&a->rng, 5000))
		post_inval(a, i);
	else if (f->state == FORM_MADE &&
		 (f->evicted || a->state != APP_RUNS || a->stopping ||
		  r->state == REGION_NONE || r->life != f->life))
		dereg(a, i);
}

void app_form_step(struct app *a)
{
	uint32_t i;

	for (i = 1; i < app_regions(a); i++)
		step(a, i);
}

void app_form_evicted(struct app *a, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < APP_REGIONS; i++)
		if (a->form[i].state != FORM_NONE && a->form[i].id == id)
			a->form[i].evicted = true;
}

/* Only a fast registration has entries that the NIC can ask back. Half of
 * the notices lead to a release, the others get no answer. */
void app_form_noticed(struct app *a, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < APP_REGIONS; i++) {
		struct form *f = &a->form[i];

		if (f->state == FORM_NONE || f->id != id)
			continue;
		if (f->kind != UNIC_FORM_FAST)
			sim_fail("once",
				 "app %u: a form of kind %u is asked "
				 "back",
				 a->index, f->kind);
		a->region[i].revoked = true; /* accesses through it may fail */
		if (f->state == FORM_MADE && sim_below(&a->rng, 2))
			f->evicted = true;
	}
}

void app_form_restore(struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_REGIONS; i++)
		a->form[i].evicted = true;
}

void app_form_forget(struct app *a)
{
	memset(a->form, 0, sizeof(a->form));
}

bool app_form_none(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_REGIONS; i++)
		if (a->form[i].state != FORM_NONE)
			return false;
	return true;
}
