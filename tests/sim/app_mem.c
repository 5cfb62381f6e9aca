/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_mem.c - the regions of an application. Region 0 is for receives (class
 * messaging), the others have four parts: data that others may READ, a window
 * into which they WRITE, sources, and sinks of READs.
 */
#include "app.h"
#include "core.h"
#include "check.h"
#include "oracle.h"

#define NOTHING UINT32_MAX

static uint32_t index_of(const struct app *a, const struct region *r)
{
	return (uint32_t)(r - a->region);
}

uint32_t app_regions(const struct app *a)
{
	return a->how->regions + a->has_second;
}

bool app_is_second(const struct app *a, uint32_t i)
{
	return a->has_second && i == a->how->regions;
}

struct region *app_region(struct app *a, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < APP_REGIONS; i++)
		if (a->region[i].state != REGION_NONE && a->region[i].id == id)
			return &a->region[i];
	return NULL;
}

/* Fills the EXPORT part of a region, which nothing writes while the region
 * lives. */
static void fill_export(struct app *a, struct region *r)
{
	uint64_t op = 1ull << 63 | (uint64_t)a->index << 32 | index_of(a, r);
	uint32_t i, end = r->bytes / PARTS;

	for (i = 0; r->mr_class == UNIC_CLASS_RDMA && i < end; i++)
		*app_mem(a, r->at + i) = oracle_byte(op, i);
}

uint32_t app_chunk(struct region *r, enum app_part part, uint32_t len)
{
	uint32_t size = r->bytes / PARTS, at;

	if (len > size)
		return NOTHING;
	if (len > size - r->used[part]) {
		if (r->open[part])
			return NOTHING;
		r->used[part] = 0;
	}
	at = r->at + part * size + r->used[part];
	r->used[part] += len;
	r->open[part]++;
	return at;
}

/* ----------------------------------------------------------------- register */

static void revoked(struct region *r)
{
	r->revoked = true;
}

static void reg_done(struct app *a, uint32_t arg, uint32_t status,
		     const void *rec, uint32_t bytes)
{
	struct region *r = &a->region[arg];
	struct unic_ctl_mr_reg_reply rep;

	(void)bytes;
	memcpy(&rep, rec, sizeof(rep));
	if (status == UNIC_ST_PENDING) { /* perhaps granted already */
		r->id = unic_from_le32(rep.id);
		return;
	}
	if (status) {
		r->state = REGION_NONE;
		r->retry_ns = sim_now() + 300 * US;
		return;
	}
	r->id = unic_from_le32(rep.id);
	r->stag = unic_from_le32(rep.stag);
	r->state = REGION_ACTIVE;
	if (unic_from_le32(rep.entries) != r->entries)
		sim_fail("once", "app %u: a region of %u pages has %u entries",
			 a->index, r->entries, unic_from_le32(rep.entries));
}

static uint8_t some_rights(struct app *a)
{
	uint32_t r = sim_below(&a->rng, 8);

	if (r == 0)
		return UNIC_MR_LOCAL_WRITE; /* private */
	if (r == 1)
		return UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ;
	return UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
	       UNIC_MR_REMOTE_WRITE |
	       (core_has_atomics() ? UNIC_MR_REMOTE_ATOMIC : 0);
}

/* The scenario may fix the residency. Region 0 is RESIDENT then, so that
 * only operations want fault slots, not receives. */
static uint8_t some_residency(struct app *a, uint32_t i)
{
	static const uint8_t of[] = { UNIC_RESIDENT, UNIC_RESIDENT, UNIC_DEMAND,
				      UNIC_TABLE };

	if (app_is_second(a, i))
		return UNIC_RESIDENT; /* forms are made of it */
	if (a->scn->residency)
		return i ? a->scn->residency - 1 : UNIC_RESIDENT;
	return of[sim_below(&a->rng, 4)];
}

static uint8_t some_shift(struct app *a)
{
	static const uint8_t shifts[] = { 12, 16, 21 };

	return shifts[sim_below(&a->rng, a->area == 12	 ? 1
					 : a->area == 16 ? 2
							 : 3)];
}

/*
 * Registers region @i. @like: at the IOVA of that one, without waiting; NULL:
 * at any IOVA.
 */
static void reg(struct app *a, uint32_t i, const struct region *like)
{
	struct region *r = &a->region[i];
	uint32_t life = r->life + 1, first = 0, last = 0;
	uint64_t in_page;
	struct unic_ctl_mr_reg req = {
		.pd = unic_to_le32(app_is_second(a, i) ? a->second_pd : a->pd),
		.user = unic_to_le32(i),
		.key = (uint8_t)life,
		.importance = (uint8_t)sim_below(&a->rng, 256),
	};

	memset(r, 0, sizeof(*r));
	r->life = life;
	r->n = (uint32_t)sim_range(&a->rng, a->how->min_pages,
				   a->how->max_pages);
	if (app_is_second(a, i))
		r->n = 1;
	r->mr_class = i ? UNIC_CLASS_RDMA : UNIC_CLASS_MESSAGING;
	r->rights = i ? some_rights(a) : UNIC_MR_LOCAL_WRITE;
	if (i) { /* both ends lie within a page */
		first = sim_below(&a->rng, 4096 - 256);
		last = r->n > 1 ? sim_below(&a->rng, 4096) : 0;
	}
	r->at = (APP_QPS + i * APP_REG_PAGES) * 4096 + first;
	r->bytes = r->n * 4096 - first - last;
	r->shift = like ? 12 : some_shift(a);
	in_page = app_va(a, r->at) & ((1ull << r->shift) - 1);
	r->entries = (uint32_t)((in_page + r->bytes - 1) >> r->shift) + 1;
	/* many regions start at the same address: only the STag tells them apart */
	r->iova = in_page;
	if (sim_below(&a->rng, 2))
		r->iova += sim_u64(&a->rng) >> r->shift << r->shift & INT64_MAX;
	if (like)
		r->iova = (like->iova & ~0xfffull) + in_page;
	req.va = unic_to_le64(app_va(a, r->at));
	req.iova = unic_to_le64(r->iova);
	req.length = unic_to_le64(r->bytes);
	req.rights = r->rights | (i ? UNIC_MR_MW_BIND : 0);
	req.mr_class = r->mr_class;
	req.page_shift = r->shift;
	req.residency = some_residency(a, i);
	r->resident = req.residency == UNIC_RESIDENT;
	if (!a->gathers && !like && (a->how->waits || sim_below(&a->rng, 2))) {
		req.flags = UNIC_CTL_REG_WAIT;
		if (sim_below(&a->rng, 3) == 0)
			req.flags |= UNIC_CTL_REG_ASYNC;
		if (sim_below(&a->rng, 3) == 0)
			req.timeout_us = unic_to_le32(
				(uint32_t)sim_range(&a->rng, 50, 20000));
	}
	if (!app_ask(a, UNIC_CTL_MR_REG, &req, i, reg_done))
		return;
	r->state = REGION_ASKED;
	r->reg_seq = a->seq;
	oracle_clear(a->node, a->slot, (APP_QPS + i * APP_REG_PAGES) * 4096,
		     APP_REG_PAGES * 4096);
	fill_export(a, r);
	if (r->rights & UNIC_MR_REMOTE_READ)
		oracle_name(a->node, a->slot, r->at, r->bytes / PARTS);
}

/* NO_WAIT: the wait was granted or has ended. OK: the reply to MR_REG ends
 * it. */
static void cancel_done(struct app *a, uint32_t arg, uint32_t status,
			const void *rec, uint32_t bytes)
{
	(void)arg;
	(void)rec;
	(void)bytes;
	if (status != UNIC_ST_OK && status != UNIC_ST_NO_WAIT &&
	    status != UNIC_CTL_ST_RESET && status != UNIC_CTL_ST_NO_NIC)
		sim_fail("once", "app %u: WAIT_CANCEL answers %u", a->index,
			 status);
}

static void cancel(struct app *a, struct region *r)
{
	struct unic_ctl_wait_cancel req = { .wait_seq =
						    unic_to_le32(r->reg_seq) };

	if (app_ask(a, UNIC_CTL_WAIT_CANCEL, &req, 0, cancel_done))
		r->cancelled = true;
}

/* ------------------------------------------------------------------- let go */

static void dereg_done(struct app *a, uint32_t arg, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	struct region *r = &a->region[arg];

	(void)rec;
	(void)bytes;
	if (status == UNIC_ST_OK || status == UNIC_ST_NO_MR ||
	    status == UNIC_CTL_ST_RESET) {
		r->state = REGION_NONE;
		return;
	}
	if (status == UNIC_ST_BUSY || status == UNIC_CTL_ST_TOO_MANY ||
	    status == UNIC_CTL_ST_NO_NIC) {
		r->state = REGION_ACTIVE; /* again later */
		r->retry_ns = sim_now() + 100 * US;
		return;
	}
	sim_fail("once", "app %u: MR_DEREG answers %u", a->index, status);
}

static bool dereg(struct app *a, struct region *r)
{
	struct unic_ctl_obj req = { .id = unic_to_le32(r->id) };

	revoked(r);
	if (!app_ask(a, UNIC_CTL_MR_DEREG, &req, index_of(a, r), dereg_done))
		return false;
	r->state = REGION_LEAVING;
	return true;
}

void app_rereg(struct app *a, uint64_t r)
{
	struct region *m = &a->region[r % a->how->regions];

	if (m->state == REGION_ACTIVE)
		dereg(a, m);
}

/* ----------------------------------------------------------------- exchange */

struct region *app_hold_back(struct app *a)
{
	uint32_t i;

	for (i = 1; i < a->how->regions; i++) {
		struct region *r = &a->region[i];

		if (r->state == REGION_ACTIVE && dereg(a, r)) {
			r->held_back = true;
			return r;
		}
	}
	return NULL;
}

void app_exchange(struct app *a, struct region *old, struct region *made)
{
	made->held_back = false;
	if (old->state != REGION_ACTIVE || !dereg(a, old))
		return;
	if (made->state == REGION_NONE)
		reg(a, index_of(a, made), old);
}

/* ------------------------------------------------------------------ notices */

static void answer_done(struct app *a, uint32_t arg, uint32_t status,
			const void *rec, uint32_t bytes)
{
	(void)arg;
	(void)rec;
	(void)bytes;
	if (status == UNIC_ST_OK || status == UNIC_ST_REFUSED ||
	    status == UNIC_ST_STATE || status == UNIC_ST_NO_MR ||
	    status == UNIC_CTL_ST_RESET || status == UNIC_CTL_ST_NO_NIC ||
	    status == UNIC_CTL_ST_TOO_MANY || a->how->lies)
		return;
	sim_fail("once", "app %u: NOTICE_ANSWER answers %u", a->index, status);
}

static void say(struct app *a, struct region *r, uint32_t answer,
		uint32_t offer, uint32_t us)
{
	struct unic_ctl_notice_answer req = {
		.id = unic_to_le32(r->id),
		.notice_seq = unic_to_le32(r->notice_seq),
		.answer = unic_to_le32(answer),
		.offer_id = unic_to_le32(offer),
		.extend_us = unic_to_le32(us),
	};

	app_ask(a, UNIC_CTL_NOTICE_ANSWER, &req, 0, answer_done);
}

static void offer(struct app *a, struct region *r)
{
	uint32_t i = sim_below(&a->rng, a->how->regions);
	struct region *o = &a->region[i];

	if (o == r || o->state != REGION_ACTIVE)
		return;
	revoked(o);
	say(a, r, UNIC_ANSWER_OFFER, o->id, 0);
}

static void nonsense(struct app *a, struct region *r)
{
	struct region fake = *r;

	fake.id ^= sim_below(&a->rng, 3);
	fake.notice_seq ^= sim_below(&a->rng, 3);
	say(a, &fake, sim_below(&a->rng, 5), sim_below(&a->rng, 2) * r->id,
	    (uint32_t)sim_u64(&a->rng));
}

static void answer(struct app *a, struct region *r)
{
	const struct behaviour *b = a->how;
	uint32_t x = sim_below(&a->rng, b->release + b->offer + b->extend +
						b->silent + b->nonsense);

	if (x < b->release) {
		dereg(a, r);
	} else if ((x -= b->release) < b->offer) {
		offer(a, r);
	} else if ((x -= b->offer) < b->extend) {
		say(a, r, UNIC_ANSWER_EXTEND, 0,
		    (uint32_t)sim_range(&a->rng, 1, 5000));
	} else if ((x -= b->extend) >= b->silent) {
		nonsense(a, r);
	}
	r->notice_seq = 0;
}

/* The answer to a question: like that to a notice, but what is not a release may be
 * said of a notice only, and is refused. */
static void answer_idle(struct app *a, struct region *r)
{
	const struct behaviour *b = a->how;
	uint32_t x = sim_below(&a->rng, b->release + b->offer + b->extend +
						b->silent + b->nonsense);

	if (x < b->release)
		dereg(a, r);
	else if (x >= b->release + b->offer + b->extend + b->silent)
		nonsense(a, r);
	r->idle_asked = false;
}

/* The end of an asynchronous wait. Its upcall may overtake the reply, so the seq
 * of the request identifies the region. */
static void wait_upcall(struct app *a, const void *rec, bool granted)
{
	struct unic_upcall_wait up;
	uint32_t i;

	memcpy(&up, rec, sizeof(up));
	for (i = 0; i < APP_REGIONS; i++) {
		struct region *r = &a->region[i];

		if (r->state != REGION_ASKED ||
		    r->reg_seq != unic_from_le32(up.wait_seq))
			continue;
		r->state = granted ? REGION_ACTIVE : REGION_NONE;
		r->retry_ns = sim_now() + 300 * US;
		r->id = unic_from_le32(up.hdr.id);
		r->stag = unic_from_le32(up.stag);
	}
}

/* An upcall may overtake the reply with the id; `user` identifies the region, and
 * the key its life. */
static struct region *region_told(struct app *a,
				  const struct unic_upcall_mr *up)
{
	struct region *r = app_region(a, unic_from_le32(up->hdr.id));
	uint32_t i = unic_from_le32(up->user);

	if (r && r->state != REGION_ASKED)
		return r;
	r = i < app_regions(a) ? &a->region[i] : NULL;
	return r && r->state == REGION_ASKED &&
			       (uint8_t)r->life ==
				       (uint8_t)unic_from_le32(up->stag)
		       ? r
		       : NULL;
}

void app_mem_upcall(struct app *a, const void *rec, uint8_t type)
{
	struct unic_upcall_mr up;
	struct region *r;

	if (type == UNIC_UP_GRANTED || type == UNIC_UP_WAIT_ENDED) {
		wait_upcall(a, rec, type == UNIC_UP_GRANTED);
		return;
	}
	memcpy(&up, rec, sizeof(up));
	if (type == UNIC_UP_EVICTED)
		app_form_evicted(a, unic_from_le32(up.hdr.id));
	if (type == UNIC_UP_NOTICE)
		app_form_noticed(a, unic_from_le32(up.hdr.id));
	r = region_told(a, &up);
	if (!r)
		return;
	if (type == UNIC_UP_NOTICE) {
		revoked(r);
		r->notice_seq = unic_from_le32(up.notice_seq);
		r->answer_ns =
			sim_now() + sim_range(&a->rng, 0, a->how->late_us) * US;
	} else if (type == UNIC_UP_IDLE) {
		r->idle_asked = true;
		r->answer_ns =
			sim_now() + sim_range(&a->rng, 0, a->how->late_us) * US;
	} else if (type == UNIC_UP_EVICTED) {
		revoked(r);
		r->evicted = true;
		r->notice_seq = 0;
	}
}

/* -------------------------------------------------------------------- steps */

/* Advises DONT_NEED: pages go and come back, also under operations. */
static void advise(struct app *a, struct region *r)
{
	struct unic_ctl_mr_advise req = {
		.id = unic_to_le32(r->id),
		.length = unic_to_le64(r->bytes),
		.advice = unic_to_le32(UNIC_ADVISE_DONT_NEED),
	};

	app_ask(a, UNIC_CTL_MR_ADVISE, &req, 0, NULL);
}

void app_drop_pages(uint32_t node)
{
	uint32_t i, k;

	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_REGIONS; k++) {
			struct region *r = &apps[i]->region[k];

			if (apps[i]->node == node &&
			    apps[i]->state == APP_RUNS && !r->resident &&
			    r->state == REGION_ACTIVE && !r->evicted)
				advise(apps[i], r);
		}
}

static void step(struct app *a, uint32_t i, bool wanted)
{
	struct region *r = &a->region[i];

	if (sim_now() < r->retry_ns) {
		app_kick(a, r->retry_ns);
		return;
	}
	if (r->state == REGION_NONE && wanted) {
		if (!r->held_back)
			reg(a, i, NULL);
		return;
	}
	if (r->state == REGION_ASKED && !wanted && !r->cancelled)
		cancel(a, r);
	if (r->state != REGION_ACTIVE)
		return;
	if (r->evicted || !wanted) {
		dereg(a, r);
	} else if (r->notice_seq && sim_now() >= r->answer_ns) {
		answer(a, r);
	} else if (r->idle_asked && sim_now() >= r->answer_ns) {
		answer_idle(a, r);
	} else if (r->notice_seq || r->idle_asked) {
		app_kick(a, r->answer_ns);
	} else if (!r->resident && sim_chance(&a->rng, 20000)) {
		advise(a, r);
	}
}

void app_mem_step(struct app *a)
{
	uint32_t i;

	for (i = 0; i < app_regions(a); i++)
		step(a, i, a->state == APP_RUNS);
}

void app_mem_forget(struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_REGIONS; i++) {
		revoked(&a->region[i]);
		a->region[i].state = REGION_NONE;
		a->region[i].retry_ns = 0;
		a->region[i].held_back = false;
	}
}

/* Does the NIC have a region of this process with this STag, or a tombstone of
 * it? */
static bool there(const struct app *a, const struct region *r)
{
	const struct model *m = check_model(world->node[a->node]);
	uint32_t i;

	for (i = 0; i < MODEL_MRS; i++)
		if ((m->mr[i].state >= MODEL_ACTIVE || m->mr[i].told) &&
		    m->mr[i].stag == r->stag && m->mr[i].proc == a->slot)
			return true;
	return false;
}

void app_mem_restore(struct app *a, bool resumed)
{
	uint32_t i;

	for (i = 0; i < APP_REGIONS; i++) {
		struct region *r = &a->region[i];

		r->notice_seq = 0;
		if (resumed && r->state == REGION_ASKED)
			r->state = REGION_NONE;
		/* random requests of a liar may have released the region */
		if (r->state == REGION_ACTIVE && !r->evicted && !a->how->lies &&
		    !there(a, r))
			sim_fail("replay",
				 "app %u: region %x has not its STag %x after "
				 "a reset",
				 a->index, r->id, r->stag);
	}
}

bool app_mem_none(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_REGIONS; i++)
		if (a->region[i].state != REGION_NONE)
			return false;
	return true;
}
