/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lists.c - the part of sane() that walks lists: faults and the queue pairs
 * that wait for them, regions and their derived regions, the orders of the
 * policies. Each member is on the list that it names, and on no other.
 */
#include "memory/access.h"
#include "world.h"

/* --------------------------------------------------- pages that come and go */

static void check_cached_regions(const struct unic_nic *nic)
{
	uint32_t i, regions[UNIC_PROCS] = { 0 };

	for (i = 0; i < UNIC_MRS; i++) {
		const struct unic_mr_ctx *mr = &nic->mrs.mr[i];

		if (mr->state < UNIC_MR_LOADING ||
		    mr->state > UNIC_MR_DRAINING || !unic_mr_cached(mr))
			continue;
		regions[mr->proc]++;
		must(nic->cache.of[i].demand <= 1);
	}
	for (i = 0; i < UNIC_PROCS; i++)
		must(regions[i] == nic->cache.regions[i]);
}

/* No two faults begin at one page; no queue pair waits for an ended fault. */
static void check_miss(const struct unic_nic *nic,
		       const struct unic_page_fault *m)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[m->mr];
	uint32_t i;

	must(m->state <= UNIC_FAULT_FAILED);
	if (m->state == UNIC_FAULT_FREE || m->state == UNIC_FAULT_FAILED)
		for (i = 0; i < UNIC_QP_WORDS; i++)
			must(!m->qps[i]);
	if (m->state == UNIC_FAULT_FREE)
		return;
	must(m->mr < UNIC_MRS && unic_mr_cached(mr));
	must(mr->state >= UNIC_MR_ACTIVE && mr->state <= UNIC_MR_DRAINING);
	must(m->count >= 1 && m->count <= UNIC_FAULT_AHEAD);
	must((uint64_t)(m->first + m->count - 1) << mr->page_shift <
	     mr->length + (1ull << mr->page_shift) - 1);
	for (i = 0; i < UNIC_FAULTS; i++) {
		const struct unic_page_fault *o = &nic->faults.fault[i];

		must(o == m || o->state == UNIC_FAULT_FREE || o->mr != m->mr ||
		     o->first != m->first);
	}
}

static void check_misses(const struct unic_nic *nic)
{
	const struct unic_faults *ms = &nic->faults;
	uint32_t i;

	for (i = 0; i < UNIC_FAULTS; i++) {
		check_miss(nic, &ms->fault[i]);
		must((ms->fault[i].state != UNIC_FAULT_FREE) ==
		     (ms->busy >> i & 1));
	}
	for (i = 0; i < UNIC_QP_WORDS; i++)
		must(!ms->starved[i] || ms->any_starved);
	must(ms->last <= UNIC_FAULT_NONE);
}

/* --------------------------------------------------------- derived regions */

/* The list of region @mr: elements of derived regions, linked both ways.
 * Returns their number. */
static uint32_t check_dependents(const struct unic_nic *nic, uint16_t mr)
{
	const struct unic_derived_regions *f = &nic->derived;
	uint16_t at, prev = UNIC_ELEMENT_NIL;
	uint32_t n = 0;

	for (at = f->form[mr].head; at != UNIC_ELEMENT_NIL;
	     prev = at, at = f->element[at].next) {
		const struct unic_element *e = &f->element[at];
		const struct unic_derived *owner = &f->form[e->owner];

		must(at < UNIC_ELEMENTS && ++n <= UNIC_ELEMENTS);
		must(e->mr == mr && e->prev == prev && e->owner < UNIC_MRS);
		must((uint32_t)(at - owner->first) < owner->used);
		must(owner->depth > f->form[mr].depth &&
		     owner->depth <= UNIC_FORM_DEPTH);
		must(nic->mrs.mr[e->owner].pd == nic->mrs.mr[mr].pd);
	}
	return n;
}

static void check_forms(const struct unic_nic *nic)
{
	const struct unic_derived_regions *f = &nic->derived;
	uint32_t i, taken = 0, listed = 0, used = 0;

	for (i = 0; i < UNIC_ELEMENTS; i++) {
		const struct unic_element *e = &f->element[i];

		if (e->owner == UNIC_ELEMENT_NIL)
			continue;
		taken++;
		must(e->owner < UNIC_MRS &&
		     i - f->form[e->owner].first < f->form[e->owner].n);
	}
	for (i = 0; i < UNIC_MRS; i++) {
		listed += check_dependents(nic, (uint16_t)i);
		used += f->form[i].used;
		must(!f->form[i].marked);
		must((f->form[i].kind == UNIC_FORM_PLAIN) == !f->form[i].n);
	}
	must(taken == f->used && listed == used);
}

/* ---------------------------------------------------------------- policies */

static uint32_t check_order(const struct unic_nic *nic, uint32_t proc,
			    uint32_t list, bool *on)
{
	const struct unic_chooser *c = &nic->candidates.chooser[proc];
	const struct unic_item *item = nic->candidates.item;
	uint16_t at = c->head[list];
	uint32_t n;

	must((at == UNIC_ITEM_NIL) == !c->count[list]);
	for (n = 0; n < c->count[list]; n++, at = item[at].next) {
		must(at < UNIC_MRS && !on[at]);
		must(item[at].main == list);
		must(item[item[at].next].prev == at);
		must(nic->mrs.mr[at].proc == proc &&
		     (nic->mrs.mr[at].flags & UNIC_MR_F_RING));
		on[at] = true;
	}
	must(at == c->head[list]);
	return n;
}

/* Each region that may be evicted is on a list of its process; the pool of
 * candidates is sorted. */
static void check_policies(const struct unic_nic *nic)
{
	bool on[UNIC_MRS] = { false };
	uint32_t proc, i, listed = 0;

	for (proc = 0; proc < UNIC_PROCS; proc++) {
		const struct unic_chooser *c = &nic->candidates.chooser[proc];

		listed += check_order(nic, proc, 0, on);
		listed += check_order(nic, proc, 1, on);
		must(c->kind < UNIC_POLICIES && c->pooled <= UNIC_POLICY_POOL);
		for (i = 0; i < c->pooled; i++) {
			must(on[c->pool[i].item] &&
			     nic->mrs.mr[c->pool[i].item].proc == proc);
			must(!i || c->pool[i - 1].worth <= c->pool[i].worth);
		}
		must(c->stranger == UNIC_ITEM_NIL ||
		     (on[c->stranger] &&
		      !nic->candidates.item[c->stranger].main));
	}
	for (i = 0; i < UNIC_MRS; i++)
		if (nic->mrs.mr[i].state != UNIC_MR_FREE &&
		    (nic->mrs.mr[i].flags & UNIC_MR_F_RING))
			listed--;
	must(!listed);
}

void sane_lists(const struct unic_nic *nic)
{
	check_cached_regions(nic);
	check_misses(nic);
	check_forms(nic);
	check_policies(nic);
}
