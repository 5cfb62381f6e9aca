/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_model.c - the tables of TLB, regions, requests and evictions against a
 * naive reference: random steps from a seed, every answer and every event
 * compared, all invariants checked all the time.
 */
#include "revoke/register.h"
#include "rig.h"
#include "unit.h"
#include "memory/access.h"
#include "revoke/evict_answer.h"

#define STEPS	  600000u
#define DEEP	  512u /* steps between full comparisons */
#define N	  UNIC_TLB_ENTRIES
#define PROCS	  3u
#define MAX_PAGES 12u
#define OLD	  64u

/* How long, at most, a request that was refused counts as waiting: B and T. */
#define DENIED_NS 92000000ull

/* A region in the reference model. */
struct ref {
	struct unic_mr_result id;
	uint64_t iova;
	uint64_t bus[MAX_PAGES];
	uint64_t grace_ns; /* INV-6: not taken before; 0: no grace runs */
	uint32_t n, seq, proc, holds, dmas;
	uint8_t mr_class;
	bool live;     /* accesses must succeed */
	bool loading;  /* granted, no page filled */
	bool draining; /* PENDING or cut: EVICTED must come */
	bool gone;     /* deregistered by its owner */
	bool extended; /* under notice, and its grace was extended */
};

static struct rig r;
static struct ref ref[UNIC_MRS];
static struct ref old[OLD]; /* ended regions */
/* A request that is queued. */
struct want {
	uint32_t id, proc, n;
};

static struct want wants[UNIC_WAITS * 4];
static uint32_t n_wants;

/* The last request of a process that was refused: it may count as waiting. */
static struct {
	uint32_t n;
	uint64_t until_ns;
} denied[PROCS];
static uint32_t pd[PROCS], n_old;
static uint64_t rng;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static void forget(struct ref *f)
{
	old[n_old++ % OLD] = *f;
	memset(f, 0, sizeof(*f));
}

static void fill_bus(struct ref *f)
{
	uint32_t i;

	for (i = 0; i < f->n; i++)
		f->bus[i] = (uint64_t)(rnd(1u << 20) + 1) << 12;
}

static void adopt(const struct unic_mr_result *id, const struct ref *f)
{
	assert_true(id->mr < UNIC_MRS);
	assert_int_equal(ref[id->mr].n, 0); /* the index was free */
	ref[id->mr] = *f;
	ref[id->mr].id = *id;
}

/* --------------------------------------------------------------- steps */

static void step_reg(void)
{
	struct ref f = { .n = rnd(MAX_PAGES) + 1, .proc = rnd(PROCS) };
	bool wait = rnd(3) == 0;
	struct unic_mr_args a = {
		.pd = (uint16_t)pd[f.proc],
		.proc = (uint16_t)f.proc,
		.rights = UNIC_MR_LOCAL_WRITE,
		.page_shift = 12,
		.iova = (uint64_t)rnd(1u << 30) << 12 | rnd(64),
		.n_pages = f.n,
		.length = f.n * 4096ull - 64,
		.flags = UNIC_REG_LIST | (wait ? UNIC_REG_WAIT : 0),
		.timeout_us = wait && rnd(2) ? rnd(50000) + 1 : 0,
		.user = f.proc,
	};
	uint32_t free = r.nic.tlb.free;
	struct unic_mr_result id;
	int err;

	f.mr_class = rnd(8) == 0   ? UNIC_CLASS_CONTROL
		     : rnd(4) == 0 ? UNIC_CLASS_MESSAGING
				   : UNIC_CLASS_RDMA;
	a.mr_class = f.mr_class;
	f.iova = a.iova;
	fill_bus(&f);
	err = unic_mr_reg(&r.nic.revoke, &a, f.bus, &id);
	denied[f.proc].n = err && err != -UNIC_EPENDING ? f.n : 0;
	denied[f.proc].until_ns = r.nic.now_ns + DENIED_NS;
	if (!err) {
		assert_true(f.n <= free);
		f.live = true;
		adopt(&id, &f);
	} else if (err == -UNIC_EPENDING) {
		assert_true(wait);
		wants[n_wants++] = (struct want){ id.wait, f.proc, f.n };
	} else {
		assert_true(err == -UNIC_ETLBFULL || err == -UNIC_EMRFULL ||
			    err == -UNIC_ECTRLCAP || err == -UNIC_EWAITFULL);
		assert_int_equal(r.nic.tlb.free, free);
	}
}

static struct ref *any(void)
{
	struct ref *f = &ref[rnd(UNIC_MRS)];

	return f->n ? f : NULL;
}

static void step_access(void)
{
	struct ref *f = any();
	struct unic_xlate p;
	uint64_t off;
	uint32_t len, in;
	int err;

	if (!f)
		return;
	off = rnd(f->n * 4096 - 64);
	len = rnd(f->n * 4096) + 1;
	err = unic_access(&r.nic.memory, f->id.stag, (uint16_t)pd[f->proc], 0,
			  f->iova + off, len, &p);
	if (!f->live) {
		assert_int_equal(err, f->gone	   ? -UNIC_ERELEASED
				      : f->loading ? -UNIC_ESTAG
						   : -UNIC_EEVICTED);
		return;
	}
	if (off + len > f->n * 4096ull - 64) {
		assert_int_equal(err, -UNIC_EBOUNDS);
		return;
	}
	assert_int_equal(err, 0);
	in = (uint32_t)(f->iova & 4095);
	assert_true(p.bus == f->bus[(off + in) >> 12] + ((off + in) & 4095));
	assert_true(p.len >= 1 && p.len <= len);
	assert_true(((off + in) & 4095) + p.len <= 4096);
}

/* INV-4: the STag of a region that ended stays invalid. */
static void step_access_old(void)
{
	const struct ref *f = &old[rnd(OLD)];
	struct unic_xlate p;
	int err;

	if (!f->n)
		return;
	err = unic_access(&r.nic.memory, f->id.stag, (uint16_t)pd[f->proc], 0,
			  f->iova, 1, &p);
	assert_true(err == -UNIC_ESTAG || err == -UNIC_ERELEASED ||
		    err == -UNIC_EEVICTED);
}

static void step_refs(void)
{
	struct ref *f = any();
	uint16_t i;

	if (!f)
		return;
	i = (uint16_t)f->id.mr;
	if (f->live && rnd(3) == 0) {
		if (rnd(2)) {
			unic_mr_hold(&r.nic.memory, i);
			f->holds++;
		} else {
			unic_mr_dma_get(&r.nic.memory, i);
			f->dmas++;
		}
	} else if (f->holds) {
		f->holds--;
		unic_mr_unhold(&r.nic.memory, i);
	} else if (f->dmas) {
		f->dmas--;
		unic_mr_dma_put(&r.nic.memory, i);
	}
	unic_evict_settle(&r.nic.revoke); /* as before each command */
}

static void ended_by_owner(struct ref *f, int err, bool gone)
{
	if (!err) {
		assert_int_equal(f->holds + f->dmas, 0);
		forget(f);
		return;
	}
	assert_int_equal(err, -UNIC_EPENDING);
	assert_true(f->holds + f->dmas || f->draining);
	f->live = false;
	f->loading = false;
	f->draining = true;
	f->gone |= gone;
}

static void step_dereg(void)
{
	struct ref *f = any();
	int err;

	if (!f)
		return;
	err = unic_mr_dereg(&r.nic.revoke, f->id.mr, f->id.gen);
	if (f->gone)
		assert_int_equal(err, -UNIC_ENOMR);
	else
		ended_by_owner(f, err, true);
}

static void step_fill(void)
{
	struct ref *f = any();

	if (!f || !f->loading)
		return;
	fill_bus(f);
	assert_int_equal(unic_mr_fill(&r.nic.memory, f->id.mr, f->id.gen, 0,
				      f->n, f->bus),
			 0);
	f->loading = false;
	f->live = true;
}

static void answer_extend(struct ref *f, int err, uint8_t refusal, uint32_t us)
{
	if (err)
		assert_true(refusal == UNIC_REFUSED_WAITER ||
			    refusal == UNIC_REFUSED_BUDGET);
	else
		f->grace_ns += us * 1000ull;
	f->extended |= !err;
}

static void answer_offer(struct ref *f, struct ref *o, int err, uint8_t refusal)
{
	bool good = o && o->live && !o->seq && o != f && o->proc == f->proc &&
		    o->mr_class != UNIC_CLASS_CONTROL && o->n >= f->n;

	assert_int_equal(!err, good);
	if (err) {
		assert_true(refusal);
		return;
	}
	o->extended = f->extended;
	f->extended = false;
	o->seq = f->seq;
	o->grace_ns = f->grace_ns;
	f->seq = 0;
	f->grace_ns = 0;
}

static void step_answer(void)
{
	struct ref *f = any(), *o = any();
	struct unic_cmd_notice_answer c;
	uint32_t tries;
	uint64_t deadline;
	uint32_t what = rnd(3) + 1;
	uint8_t refusal = 0;
	int err;

	if (!f || !f->seq || !f->live || !f->grace_ns)
		return;
	/* mostly a region of the same process, or few offers are good */
	for (tries = 0; tries < 6 && (!o || o->proc != f->proc); tries++)
		o = any();
	memset(&c, 0, sizeof(c));
	c.mr = unic_to_le32(f->id.mr);
	c.gen = unic_to_le32(f->id.gen);
	c.seq = unic_to_le32(f->seq);
	c.answer = unic_to_le32(what);
	c.extend_us = unic_to_le32(rnd(30000) + 1);
	if (o) {
		c.offer_mr = unic_to_le32(o->id.mr);
		c.offer_gen = unic_to_le32(o->id.gen);
	}
	err = unic_evict_answer(&r.nic.revoke, &c, &deadline, &refusal);
	if (what == UNIC_ANSWER_RELEASE)
		ended_by_owner(f, err, false);
	else if (what == UNIC_ANSWER_EXTEND)
		answer_extend(f, err, refusal, unic_from_le32(c.extend_us));
	else
		answer_offer(f, o, err, refusal);
}

static void step_cancel(void)
{
	uint32_t i;

	if (!n_wants)
		return;
	i = rnd(n_wants);
	if (unic_admission_cancel(&r.nic.revoke, wants[i].id) == 0)
		wants[i] = wants[--n_wants];
}

/* --------------------------------------------------------------- shares */

/* What a process has: regions, and those that are not on their way back; of their
 * entries the latter, and those that come back late. */
struct has {
	uint32_t regions, net_regions, net, late;
};

/* How a process can be above its share. */
enum above {
	ABOVE = 1,	/* with what it has */
	ABOVE_LATE = 2, /* ... and with what comes back late */
	ABOVE_WANT = 4, /* ... and with what it waits for */
};

static uint32_t was_above[PROCS]; /* before the last step */
static uint32_t asked[ABOVE_WANT + 1];

static uint32_t weight_of(uint32_t proc)
{
	return proc + 1;
}

/* Entries that the largest request of @proc wants, or that it was refused; 0: it
 * waits for none. */
static uint32_t most_wanted(uint32_t proc)
{
	uint32_t i,
		n = r.nic.now_ns < denied[proc].until_ns ? denied[proc].n : 0;

	for (i = 0; i < n_wants; i++)
		if (wants[i].proc == proc && wants[i].n > n)
			n = wants[i].n;
	return n;
}

static struct has has_of(uint32_t proc)
{
	struct has h = { 0 };
	uint32_t i;

	for (i = 0; i < UNIC_MRS; i++) {
		const struct ref *f = &ref[i];

		if (!f->n || f->proc != proc)
			continue;
		h.regions++;
		h.net_regions += !f->seq && !f->draining;
		h.net += f->seq || f->draining ? 0 : f->n;
		h.late += f->extended && !f->draining ? f->n : 0;
	}
	return h;
}

/* Entries and regions are shared by weight among those that have or want some, or
 * were refused. */
static uint32_t above(uint32_t proc)
{
	struct has h = has_of(proc);
	uint32_t want = most_wanted(proc), part = weight_of(proc);
	uint32_t i, weights = 0;

	for (i = 0; i < PROCS; i++)
		if (i == proc || has_of(i).regions || most_wanted(i))
			weights += weight_of(i);
	return (h.net * weights > N * part ||
				h.net_regions * weights > UNIC_MRS * part
			? ABOVE
			: 0) |
	       ((h.net + h.late) * weights > N * part ? ABOVE_LATE : 0) |
	       ((h.net + h.late + want) * weights > N * part && want
			? ABOVE_WANT
			: 0);
}

static void note_shares(void)
{
	uint32_t i;

	for (i = 0; i < PROCS; i++)
		was_above[i] = above(i);
}

/*
 * INV-5: whose region is asked for is above its share. It may be so with what
 * comes back late only if a request waits that is within its share, and with what
 * it waits for itself only if it is not asked for a watermark. The step may have
 * moved the shares before the choice or after it.
 */
static void check_victim(const struct ref *f, uint8_t why)
{
	uint32_t a = was_above[f->proc] | above(f->proc);

	if (a & ABOVE)
		asked[ABOVE]++;
	else if ((a & ABOVE_LATE) && why == UNIC_WHY_FAIR_SHARE)
		asked[ABOVE_LATE]++;
	else if ((a & ABOVE_WANT) && why != UNIC_WHY_REAPER)
		asked[ABOVE_WANT]++;
	else
		fail_msg("process %u is at its share, and is asked for more "
			 "(reason %u)",
			 (unsigned int)f->proc, (unsigned int)why);
}

/* --------------------------------------------------------------- events */

/* Only a live RDMA region without a notice gets a notice. */
static void on_notice(const struct unic_evt_mr *e)
{
	struct ref *f = &ref[unic_from_le32(e->mr)];
	uint64_t deadline = 0;

	if (unic_from_le32(e->gen) != f->id.gen)
		return; /* deregistered before the event was read */
	assert_true(f->n && f->live && !f->seq);
	assert_int_equal(f->mr_class, UNIC_CLASS_RDMA);
	check_victim(f, e->hdr.reason);
	f->seq = unic_from_le32(e->seq);
	assert_int_equal(unic_evict_ack(&r.nic.revoke, f->id.mr, f->id.gen,
					f->seq, &deadline),
			 0);
	f->grace_ns = deadline;
}

static void on_evicted(const struct unic_evt_mr *e)
{
	struct ref *f = &ref[unic_from_le32(e->mr)];

	/* one event per region, and only for a live one (INV-4) */
	assert_int_equal(f->id.gen, unic_from_le32(e->gen));
	assert_int_equal(f->id.stag, unic_from_le32(e->stag));
	assert_int_equal(f->holds + f->dmas, 0); /* INV-3 */
	if (!f->draining && f->mr_class == UNIC_CLASS_RDMA) {
		assert_true(f->seq && f->grace_ns);
		assert_true(unic_from_le64(e->time_ns) >= f->grace_ns);
	}
	assert_int_not_equal(f->mr_class == UNIC_CLASS_CONTROL && !f->gone, 1);
	forget(f);
}

static void drop_want(uint32_t id)
{
	uint32_t i;

	for (i = 0; i < n_wants && wants[i].id != id; i++)
		;
	assert_true(i < n_wants); /* each wait ends once */
	wants[i] = wants[--n_wants];
}

static void on_granted(const struct unic_evt_wait *e)
{
	struct ref f = { .loading = true, .proc = unic_from_le32(e->user) };
	struct unic_mr_result id = { .mr = unic_from_le32(e->mr),
				     .gen = unic_from_le32(e->gen),
				     .stag = unic_from_le32(e->stag) };
	const struct unic_mr_ctx *m = unic_mr_get(&r.nic.memory, id.mr, id.gen);

	drop_want(unic_from_le32(e->wait));
	assert_non_null(m);
	f.n = m->n_pages;
	f.iova = m->iova;
	f.mr_class = m->mr_class;
	adopt(&id, &f);
}

static void take_events(void)
{
	uint8_t rec[64];

	while (rig_event(&r, rec)) {
		const struct unic_evt_hdr *h = (const void *)rec;

		if (h->type == UNIC_EVT_NOTICE)
			on_notice((const void *)rec);
		else if (h->type == UNIC_EVT_EVICTED)
			on_evicted((const void *)rec);
		else if (h->type == UNIC_EVT_GRANTED)
			on_granted((const void *)rec);
		else if (h->type == UNIC_EVT_WAIT_ENDED)
			drop_want(unic_from_le32(
				((const struct unic_evt_wait *)h)->wait));
		else
			fail_msg("unexpected event %u", h->type);
	}
}

/* A poll that ends the grace of a region also ends access to the region. */
static void note_state(void)
{
	uint32_t i;

	for (i = 0; i < UNIC_MRS; i++) {
		struct ref *f = &ref[i];
		uint8_t state = r.nic.mrs.mr[i].state;

		if (!f->n || !f->live || state < UNIC_MR_DRAINING)
			continue;
		if (f->mr_class == UNIC_CLASS_RDMA) /* INV-6 */
			assert_true(f->grace_ns && r.nic.now_ns >= f->grace_ns);
		f->live = false;
	}
}

/* --------------------------------------------------------- comparisons */

/* The accounts of the tables, counted from scratch. */
static void compare(void)
{
	uint32_t held[PROCS] = { 0 }, coming[PROCS] = { 0 }, used = 0, i, k;
	uint32_t filled = 0, in_tlb = 0, mrs[PROCS] = { 0 };
	uint32_t ending[PROCS] = { 0 };

	for (i = 0; i < UNIC_MRS; i++) {
		const struct unic_mr_ctx *m = &r.nic.mrs.mr[i];
		const struct ref *f = &ref[i];

		if (!f->n)
			continue;
		assert_int_equal(m->gen, f->id.gen);
		assert_int_equal(m->stag, f->id.stag);
		assert_int_equal(m->holds, f->holds);
		assert_int_equal(m->dmas, f->dmas);
		held[f->proc] += f->n;
		mrs[f->proc]++;
		if (m->flags & UNIC_MR_F_COMING)
			coming[f->proc] += f->n;
		ending[f->proc] += m->flags & UNIC_MR_F_COMING ||
				   m->state == UNIC_MR_EVICTED;
		filled += m->filled;
		for (k = 0; k < f->n; k++)
			in_tlb += unic_tlb_find(&r.nic.tlb, m->tlb_base, k) !=
				  UNIC_TLB_NIL;
	}
	assert_int_equal(filled, in_tlb);
	for (i = 0; i < PROCS; i++) {
		assert_int_equal(r.nic.share.owner[i].held, held[i]);
		assert_int_equal(r.nic.share.owner[i].coming, coming[i]);
		assert_int_equal(r.nic.procs.proc[i].mrs, mrs[i]);
		assert_int_equal(r.nic.evict.indices_coming[i], ending[i]);
		used += held[i];
	}
	assert_int_equal(used, N - r.nic.tlb.free);
	assert_int_equal(used - filled, r.nic.tlb.reserved);
	for (i = used = 0; i < N; i++)
		used += r.nic.tlb.entry[i].tag != UNIC_TLB_NO_TAG;
	assert_int_equal(used, filled);
	assert_int_equal(n_wants, r.nic.admission.waiting);
}

static void quick_check(void)
{
	uint32_t i, promised = 0;

	for (i = 0; i < PROCS; i++)
		promised += r.nic.promises.to[i];
	assert_true(promised <= r.nic.tlb.free);
	assert_true(r.nic.tlb.free <= N && r.nic.tlb.reserved <= N);
}

static void one_step(void)
{
	static void (*const steps[])(void) = {
		step_reg,    step_reg,	      step_access, step_access,
		step_access, step_access_old, step_refs,   step_refs,
		step_dereg,  step_fill,	      step_fill,   step_answer,
		step_answer, step_cancel,
	};

	steps[rnd(sizeof(steps) / sizeof(steps[0]))]();
}

static void run(uint64_t seed, uint32_t steps)
{
	uint32_t i;

	rng = seed;
	memset(ref, 0, sizeof(ref));
	memset(old, 0, sizeof(old));
	memset(denied, 0, sizeof(denied));
	n_wants = 0;
	rig_up(&r, 1);
	for (i = 0; i < PROCS; i++) {
		rig_attach(&r, i, i + 1);
		pd[i] = rig_pd(&r, i);
	}
	for (i = 0; i < steps; i++) {
		note_shares();
		one_step();
		note_state();
		take_events();
		quick_check();
		if (rnd(4) == 0) {
			r.port.now_ns += rnd(400000);
			r.nic.now_ns = r.port.now_ns;
			note_shares();
			if (unic_evict_deadlines(&r.nic.revoke))
				unic_evict_poll(&r.nic.revoke);
			note_state();
			take_events();
		}
		if (i % DEEP == 0)
			compare();
	}
	compare();
}

/* Each run must have covered all of these cases. */
static void assert_covered(void)
{
	assert_true(rig_count(&r, waits_granted) > 100);
	assert_true(rig_count(&r, released) > 10);
	assert_true(rig_count(&r, offers_taken) > 3);
	assert_true(rig_count(&r, extends_taken) > 3);
	assert_true(rig_count(&r, deadlines) > 10);
	assert_true(rig_count(&r, evicted_busy) > 3);
	assert_true(rig_count(&r, msg_evicted) > 10);
}

static void random_steps_match_the_reference(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 6; seed++) {
		run(seed * 0x9e3779b97f4a7c15ull, STEPS / 6);
		assert_covered();
	}
	assert_true(asked[ABOVE] > 1000);
	assert_true(asked[ABOVE_LATE] > 0);
	assert_true(asked[ABOVE_WANT] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_steps_match_the_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
