/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* usage.c - see usage.h. */
#include "memory/usage.h"

#include <stddef.h>
#include <string.h>

#include "memory/candidates.h"
#include "memory/memory.h"

#define NIL UNIC_ELEMENT_NIL

_Static_assert(offsetof(struct unic_reported, uses) ==
		       offsetof(struct unic_reported, last_use_ns) +
			       sizeof(uint64_t),
	       "policies find the uses behind the last one");

#define FROM_USE(field)                                    \
	((int16_t)(offsetof(struct unic_reported, field) - \
		   offsetof(struct unic_reported, last_use_ns)))

void unic_usage_init(struct unic_memory *nic)
{
	struct unic_usages *u = &nic->usages;

	memset(u, 0, sizeof(*u));
	u->table = nic->candidates.table;
	u->table.last_use_ns = &u->reported[0].last_use_ns;
	u->table.stride = sizeof(u->reported[0]);
	u->table.since = FROM_USE(since_ns);
	u->table.size = FROM_USE(n_pages);
	u->table.hint = FROM_USE(importance);
	u->table.bytes = 0; /* nobody reports them */
	u->next_ns = UINT64_MAX;
}

/* --------------------------------------------------------- derived regions */

/* Adds accesses of a derived region to region @idx; bytes count as spread evenly
 * over its elements. */
static void add_accesses(struct unic_memory *nic, uint16_t idx, uint32_t uses,
			 uint32_t bytes, uint64_t last_ns)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	mr->uses += uses;
	if (__builtin_add_overflow(mr->bytes, bytes, &mr->bytes))
		mr->bytes_high++;
	if (mr->last_use_ns < last_ns)
		mr->last_use_ns = last_ns;
}

/* Ends, because derived regions nest to a fixed depth. */
void unic_usage_fold(struct unic_memory *nic, uint16_t idx)
{
	const struct unic_derived *form = &nic->derived.form[idx];
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_seen *seen = &nic->usages.of[idx];
	uint32_t uses = mr->uses - seen->uses, i;
	uint32_t bytes = mr->bytes - seen->bytes;

	if (!form->used || !uses)
		return;
	seen->uses = mr->uses;
	seen->bytes = mr->bytes;
	for (i = form->first; i < (uint32_t)form->first + form->used; i++) {
		uint16_t of = nic->derived.element[i].mr;

		add_accesses(nic, of, uses, bytes / form->used,
			     mr->last_use_ns);
		unic_usage_fold(nic, of);
	}
}

bool unic_usage_fold_into(struct unic_memory *nic, uint16_t mr)
{
	const struct unic_derived_regions *f = &nic->derived;
	uint32_t before = nic->mrs.mr[mr].uses;
	uint16_t i;

	for (i = f->form[mr].head; i != NIL; i = f->element[i].next) {
		if (f->form[f->element[i].owner].head != NIL)
			(void)unic_usage_fold_into(nic, f->element[i].owner);
		unic_usage_fold(nic, f->element[i].owner);
	}
	return nic->mrs.mr[mr].uses != before;
}

/* ----------------------------------------------------------------- reports */

static bool is_candidate(const struct unic_mr_ctx *mr)
{
	return mr->flags & UNIC_MR_F_RING;
}

/* The count that the owner reports; 0 for indices that its page has no word
 * for. */
static uint32_t word_of(const struct unic_memory *nic, uint16_t mr)
{
	const UNIC_BOX_DB_PAGE *db = nic->procs.proc[nic->mrs.mr[mr].owner].db;

	if (!db || mr >= UNIC_BOX_DB_USED)
		return 0;
	return unic_from_le32(UNIC_READ_ONCE(db->used[mr]));
}

static void begin_report(struct unic_memory *nic, uint16_t mr)
{
	const struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	nic->usages.reported[mr] = (struct unic_reported){
		.last_use_ns = m->since_ns,
		.since_ns = m->since_ns,
		.seen = word_of(nic, mr),
		.n_pages = m->n_pages,
		.importance = m->importance,
	};
}

/* Until the next sweep the region of this index counts as the youngest. */
static void reset_report(struct unic_memory *nic, uint16_t mr)
{
	nic->usages.reported[mr] = (struct unic_reported){
		.last_use_ns = UINT64_MAX,
		.since_ns = UINT64_MAX,
		.n_pages = 1,
	};
}

void unic_usage_end(struct unic_memory *nic, uint16_t mr)
{
	nic->usages.of[mr] = (struct unic_seen){ 0 };
	if (UNIC_PAIN) {
		nic->candidates.pain[mr] = (struct unic_pain){ 0 };
		nic->pains.ops[mr] = (struct unic_ops){ 0 };
	}
	if (unlikely(nic->usages.off))
		reset_report(nic, mr);
}

/* A false report harms its process only: it orders that process's own regions. */
static void read_report(struct unic_memory *nic, uint16_t mr)
{
	struct unic_usages *u = &nic->usages;
	const struct unic_mr_ctx *m = &nic->mrs.mr[mr];
	struct unic_reported *r = &u->reported[mr];
	uint32_t more;

	if (r->since_ns == UINT64_MAX)
		begin_report(nic, mr);
	more = word_of(nic, mr) - r->seen;
	r->n_pages = m->n_pages;
	if (!more)
		return;
	r->seen += more;
	r->uses += more;
	r->last_use_ns = nic->now_ns;
	if (u->told[m->proc])
		return;
	u->told[m->proc] = true;
	unic_usage_policy(nic, m->proc, false);
}

void unic_usage_policy(struct unic_memory *nic, uint32_t proc, bool fresh)
{
	struct unic_usages *u = &nic->usages;
	uint32_t kind = nic->procs.proc[proc].policy;

	if (fresh)
		u->told[proc] = false;
	if (u->off && !u->told[proc])
		kind = UNIC_POLICY_RANDOM;
	unic_policy_set(&nic->candidates.chooser[proc], kind);
}

/* Changes the table of the policy: all items become strangers. */
static void switch_table(struct unic_chooser *c,
			 const struct unic_policy_table *table)
{
	uint32_t kind = c->kind;

	unic_policy_set(c, kind == UNIC_POLICY_RANDOM ? UNIC_POLICY_LRU
						      : UNIC_POLICY_RANDOM);
	c->table = table;
	unic_policy_set(c, kind);
}

void unic_usage_switch(struct unic_memory *nic, bool off)
{
	struct unic_usages *u = &nic->usages;
	uint16_t i;

	if (u->off == off)
		return;
	u->off = off;
	memset(u->told, 0, sizeof(u->told));
	for (i = 0; off && i < UNIC_MRS; i++)
		if (is_candidate(&nic->mrs.mr[i]))
			begin_report(nic, i);
		else
			reset_report(nic, i);
	for (i = 0; i < UNIC_PROCS; i++) {
		switch_table(&nic->candidates.chooser[i],
			     off ? &u->table : &nic->candidates.table);
		if (nic->procs.proc[i].db)
			unic_usage_policy(nic, i, true);
	}
	u->next_ns = 0;
	nic->timers_ns = 0;
}

/* ---------------------------------------------------- what the host can read */

uint32_t unic_usage_pain(const struct unic_memory *nic, uint16_t idx)
{
	const struct unic_pain *p = &nic->candidates.pain[idx];
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t now = (uint32_t)(nic->now_ns >> 16);

	return unic_policy_pain(p->value, 0, (uint64_t)(now - p->at) << 16,
				mr->bytes - p->bytes, mr->n_pages);
}

static uint64_t age_of(const struct unic_memory *nic, uint32_t at)
{
	return (uint64_t)((uint32_t)(nic->now_ns >> 16) - at) << 16;
}

/* @factor * @n, or as much as fits. */
static uint32_t times(uint32_t factor, uint32_t n)
{
	return __builtin_mul_overflow(factor, n, &n) ? UINT32_MAX : n;
}

static uint32_t decayed_ops(const struct unic_memory *nic, uint16_t idx)
{
	const struct unic_ops *ops = &nic->pains.ops[idx];

	if (!UNIC_PAIN)
		return 0;
	return unic_policy_pain(ops->value, 0,
				age_of(nic, nic->candidates.pain[idx].at),
				times(256, nic->mrs.mr[idx].uses - ops->uses),
				1);
}

/* Adds to the traffic of all; derived regions hold no entry, and what they move counts for
 * those that they are made of. */
static void add_traffic(struct unic_memory *nic, uint16_t idx)
{
	const struct unic_pain *p = &nic->candidates.pain[idx];
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_traffic *all = &nic->candidates.traffic;
	uint64_t more =
		mr->bytes - p->bytes +
		(uint64_t)UNIC_PAIN_OP * (mr->uses - nic->pains.ops[idx].uses);

	if (!mr->n_pages)
		return;
	more >>= 6;
	all->value = unic_policy_pain(
		all->value, 0, age_of(nic, all->at),
		more > UINT32_MAX ? UINT32_MAX : (uint32_t)more, 1);
	all->at = (uint32_t)(nic->now_ns >> 16);
}

static __attribute__((noinline, cold)) void settle_ops(struct unic_memory *nic,
						       uint16_t idx)
{
	add_traffic(nic, idx);
	nic->pains.ops[idx].value = decayed_ops(nic, idx);
	nic->pains.ops[idx].uses = nic->mrs.mr[idx].uses;
}

/* Returns true if there were uses since it was called last, or the last ones still count. */
static inline bool has_ops(const struct unic_memory *nic, uint16_t idx)
{
	const struct unic_ops *ops = &nic->pains.ops[idx];

	return UNIC_PAIN && (ops->value || nic->mrs.mr[idx].uses != ops->uses);
}

bool unic_usage_rests(const struct unic_memory *nic, uint16_t idx)
{
	const struct unic_pain *p = &nic->candidates.pain[idx];

	return !p->value && p->bytes == nic->mrs.mr[idx].bytes &&
	       !has_ops(nic, idx);
}

void unic_usage_settle(struct unic_memory *nic, uint16_t idx)
{
	struct unic_pain *p = &nic->candidates.pain[idx];

	if (has_ops(nic, idx))
		settle_ops(nic, idx);
	/* most regions that are chosen rest */
	if (!UNIC_PAIN ||
	    unlikely(p->value || p->bytes != nic->mrs.mr[idx].bytes))
		p->value = unic_usage_pain(nic, idx);
	p->at = (uint32_t)(nic->now_ns >> 16);
	p->bytes = nic->mrs.mr[idx].bytes;
}

uint32_t unic_usage_traffic(const struct unic_memory *nic, uint16_t idx)
{
	uint32_t bytes = unic_usage_pain(nic, idx),
		 n = nic->mrs.mr[idx].n_pages;
	uint64_t ops = (uint64_t)UNIC_PAIN_OP * decayed_ops(nic, idx) >> 8;

	ops = bytes + (n ? ops / n : 0);
	return ops > UINT32_MAX ? UINT32_MAX : (uint32_t)ops;
}

/* How many regions were registered, without those that came back. */
static inline uint32_t new_regions(const struct unic_memory *nic)
{
	const struct unic_new_regions *n = nic->pains.new_regions;

	return (uint32_t)nic->counter[UNIC_C_mr_registered] - n->returned;
}

uint32_t unic_usage_demand(struct unic_memory *nic)
{
	struct unic_new_regions *n = nic->pains.new_regions;
	uint32_t new = new_regions(nic);
	uint32_t left = unic_policy_pain(n->value, 0, age_of(nic, n->at), 0, 1);
	int64_t value = left + 256ll * (int32_t)(new - n->seen);

	if (new == n->seen) /* what decays in small steps is rounded up */
		return left;
	n->value = value < 0		? 0
		   : value > UINT32_MAX ? UINT32_MAX
					: (uint32_t)value;
	n->seen = new;
	n->at = (uint32_t)(nic->now_ns >> 16);
	return n->value;
}

uint32_t unic_usage_mean(const struct unic_memory *nic)
{
	const struct unic_traffic *all = &nic->candidates.traffic;
	uint64_t sum =
		unic_policy_pain(all->value, 0, age_of(nic, all->at), 0, 1);
	uint32_t used = UNIC_TLB_ENTRIES - nic->tlb.free;

	sum = used ? (sum << 6) / used : 0;
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* A reader that reads the same STag before and after has a whole row. */
static void publish_usage_row(struct unic_memory *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_use_row *row =
		(struct unic_use_row *)(nic->mbox.bar + UNIC_BOX_USE) + idx;

	UNIC_WRITE_ONCE(row->stag, unic_to_le32(0));
	if (mr->state == UNIC_MR_FREE || mr->state == UNIC_MR_EVICTED)
		return;
	unic_wmb();
	row->last_use_ns = unic_to_le64(mr->last_use_ns);
	row->bytes = unic_to_le64(unic_mr_bytes(mr));
	row->uses = unic_to_le32(mr->uses);
	row->reported = unic_to_le32(
		nic->usages.off ? nic->usages.reported[idx].uses : 0);
	row->rate = unic_to_le32(unic_usage_pain(nic, idx));
	unic_wmb();
	UNIC_WRITE_ONCE(row->stag, unic_to_le32(mr->stag));
}

void unic_usage_trace(struct unic_memory *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_seen *seen = &nic->usages.of[idx];
	uint32_t uses = mr->uses - seen->traced;
	uint64_t ago = nic->now_ns - mr->last_use_ns;

	if (!uses || !mr->n_pages || mr->mr_class == UNIC_CLASS_CONTROL)
		return;
	seen->traced = mr->uses;
	UNIC_TRACE(nic, REF, mr->proc, unic_candidate_identity(mr),
		   mr->n_pages | (uint32_t)mr->importance << 16, uses,
		   ago > UINT32_MAX ? UINT32_MAX : (uint32_t)ago);
}

/* The first UNIC_USAGE_SWEEP regions from `at` on. */
static __attribute__((noinline)) void sweep_regions(struct unic_memory *nic)
{
	struct unic_usages *u = &nic->usages;
	uint32_t left;

	for (left = UNIC_USAGE_SWEEP; left; left--) {
		const struct unic_mr_ctx *mr = &nic->mrs.mr[u->at];

		unic_usage_fold(nic, u->at);
		/* what was not used decays by itself; an index that rests keeps the
		 * uses of its last region */
		if (UNIC_PAIN && mr->uses != nic->pains.ops[u->at].uses &&
		    mr->state != UNIC_MR_FREE)
			unic_usage_settle(nic, u->at);
		if (u->off && is_candidate(mr))
			read_report(nic, u->at);
		if (nic->trace.mask & UNIC_TG_REF && mr->state != UNIC_MR_FREE)
			unic_usage_trace(nic, u->at);
		publish_usage_row(nic, u->at);
		u->at = (uint16_t)((u->at + 1u) % UNIC_MRS);
	}
}

uint64_t unic_usage_sweep(struct unic_memory *nic)
{
	struct unic_usages *u = &nic->usages;
	bool often = u->off || nic->trace.mask & UNIC_TG_REF;

	if (nic->now_ns < u->next_ns)
		return u->next_ns;
	sweep_regions(nic);
	if (UNIC_PAIN && new_regions(nic) != nic->pains.new_regions->seen)
		(void)unic_usage_demand(nic);
	u->next_ns = often ? nic->now_ns + nic->candidates.reaper_us * 1000ull
			   : UINT64_MAX;
	return u->next_ns;
}
