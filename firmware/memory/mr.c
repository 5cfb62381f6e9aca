/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mr.c - the region table, and the life of a region except its eviction. */
#include <string.h>

#include "memory/access.h"
#include "memory/candidates.h"
#include "memory/pd.h"
#include "memory/memory.h"

#define IDX_SHIFT UNIC_MR_IDX_SHIFT
/* Number of next regions whose STags are computed in advance. */
#define DRAWN_AHEAD 8u

/* ----------------------------------------------------------------- locks */

/* A lock that no STag of the index makes with any PD: a PD does not reach the top
 * bit. */
static uint32_t no_lock(uint32_t idx)
{
	return (idx ^ UNIC_MRS / 2u) << IDX_SHIFT;
}

void unic_mr_close(struct unic_memory *nic, uint16_t mr)
{
	nic->mrs.mr[mr].lock = no_lock(mr);
}

void unic_mr_open(struct unic_memory *nic, uint16_t mr)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	m->lock = m->stag ^ (uint32_t)m->pd << IDX_SHIFT;
}

/* --------------------------------------------------------- free indices */

static void __attribute__((noinline))
draw_stag(struct unic_memory *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t random;

	mr->stag = unic_stag_next(nic, idx, &random);
	mr->flags = 0;
	mr->tlb_base = UNIC_TLB_BASE(idx, random);
	mr->drawn = true;
}

void unic_mr_draw(struct unic_memory *nic)
{
	struct unic_mrs *m = &nic->mrs;
	uint32_t i;

	if (--m->draw_in)
		return;
	for (i = m->free; i && i + DRAWN_AHEAD > m->free; i--)
		if (!m->mr[m->order[i - 1u]].drawn) {
			draw_stag(nic, m->order[i - 1u]);
			m->draw_in = 1;
			return;
		}
}

static inline void schedule_draw(struct unic_memory *nic)
{
	nic->mrs.draw_in = 2;
	nic->chores = true;
}

/*
 * Resets index @idx for its next region. Statistics are reset when a region ends,
 * so that a registration is short.
 */
static void prepare_index(struct unic_memory *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	UNIC_IN_REGISTER(mr);
	mr->lock = no_lock(idx);
	mr->drawn = false;
	if (mr->gen == UINT16_MAX)
		mr->gen = 1; /* 0: never used; the index has rested since */
	mr->win_bytes = 0;
	mr->bytes = mr->bytes_high = mr->uses = 0;
	mr->holds = mr->dmas = 0;
	mr->tokens = UNIC_MR_NIL;
	mr->filled = 0;
	mr->notice = UNIC_NOTICE_NIL;
	mr->why = mr->evt_flags = mr->evt_due = 0;
	mr->n_tokens = 0; /* not `queues`: its queues may count it down later */
	mr->for_proc = UNIC_OWNER_NIL; /* `flags`: with the next STag */
	mr->seq = 0;
	mr->deps = 0;
	unic_usage_end(nic, idx);
}

/*
 * Free indices lie in random order: a new one goes to a random place, and the one
 * that was there to the top. So each free index is the next one with the same
 * probability, also one that was freed just before: the indices that a process
 * gets reveal nothing about those that other processes get.
 */
static void push_free_index(struct unic_memory *nic, uint16_t idx,
			    uint32_t random)
{
	struct unic_mrs *m = &nic->mrs;
	uint32_t at;

	prepare_index(nic, idx);
	m->free++;
	at = (uint32_t)((uint64_t)random * m->free >> 32);
	m->order[m->free - 1u] = m->order[at];
	m->order[at] = idx;
	schedule_draw(nic);
}

/* The region at @idx has ended: the index is free or rests. The low bits of the
 * random word decide that, the high bits its place. */
static void index_put(struct unic_memory *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t random = unic_random_u32(&nic->base);

	mr->state = UNIC_MR_FREE;
	mr->flags = UNIC_MR_F_GONE;
	if (!unic_stag_used(nic, idx, mr->proc, random)) {
		push_free_index(nic, idx, random);
		return;
	}
	/* at rest, closed like a free one */
	mr->lock = no_lock(idx);
	unic_usage_end(nic, idx);
}

uint64_t unic_mr_rested(struct unic_memory *nic)
{
	uint64_t next_ns = UINT64_MAX;
	uint16_t idx;

	while ((idx = unic_stag_rested(nic, &next_ns)) != UNIC_MR_NIL)
		push_free_index(nic, idx, unic_random_u32(&nic->base));
	return next_ns;
}

static void tomb_unlink(struct unic_mrs *m, uint16_t idx)
{
	struct unic_mr_ctx *mr = &m->mr[idx];

	if (mr->prev == UNIC_MR_NIL)
		m->tomb_head = mr->next;
	else
		m->mr[mr->prev].next = mr->next;
	if (mr->next == UNIC_MR_NIL)
		m->tomb_tail = mr->prev;
	else
		m->mr[mr->next].prev = mr->prev;
	m->tombstones--;
}

static void tomb_link(struct unic_mrs *m, uint16_t idx)
{
	struct unic_mr_ctx *mr = &m->mr[idx];

	mr->next = UNIC_MR_NIL;
	mr->prev = m->tomb_tail;
	if (mr->prev == UNIC_MR_NIL)
		m->tomb_head = idx;
	else
		m->mr[mr->prev].next = idx;
	m->tomb_tail = idx;
	m->tombstones++;
}

static void tomb_free(struct unic_memory *nic, uint16_t idx)
{
	tomb_unlink(&nic->mrs, idx);
	index_put(nic, idx);
}

/* Recycles tombstones, oldest first, until an index is free; an index whose rest
 * has ended comes first. */
static void __attribute__((noinline, cold))
recycle_tombstones(struct unic_memory *nic)
{
	unic_mr_rested(nic);
	while (!nic->mrs.free && nic->mrs.tombstones)
		tomb_free(nic, nic->mrs.tomb_head);
}

static inline void make_room(struct unic_memory *nic)
{
	if (unlikely(!nic->mrs.free))
		recycle_tombstones(nic);
}

bool unic_mr_room(struct unic_memory *nic)
{
	make_room(nic);
	return nic->mrs.free;
}

void unic_mr_evict_due(struct unic_memory *nic)
{
	nic->evict_due = true;
	nic->timers_ns = 0;
}

uint32_t unic_mr_capacity(const struct unic_memory *nic)
{
	return UNIC_MRS - unic_stag_left(nic);
}

void unic_mr_forget(struct unic_memory *nic, uint16_t mr)
{
	tomb_free(nic, mr);
}

/* Draws a new key, and puts all indices, none of them used, in a new random
 * order. */
static void draw_indices(struct unic_memory *nic)
{
	uint32_t i;

	unic_stag_draw(nic);
	nic->pains.state.rng = (uint64_t)unic_random_u32(&nic->base) << 32 |
			       unic_random_u32(&nic->base) | 1u;
	nic->mrs.free = 0;
	for (i = 0; i < UNIC_MRS; i++)
		push_free_index(nic, (uint16_t)i, unic_random_u32(&nic->base));
}

void unic_mr_init(struct unic_memory *nic)
{
	struct unic_mrs *m = &nic->mrs;

	memset(m, 0, sizeof(*m));
	unic_dependents_init(nic);
	unic_candidates_init(nic);
	m->tomb_head = m->tomb_tail = UNIC_MR_NIL;
	unic_pd_init(nic);
	draw_indices(nic);
}

/* Number of regions made in this epoch, ended ones included. */
static uint32_t regions_made(const struct unic_mrs *m)
{
	uint32_t i, made = 0;

	for (i = 0; i < UNIC_MRS; i++)
		made += m->mr[i].gen;
	return made;
}

void unic_mr_rekey(struct unic_memory *nic)
{
	if (!regions_made(&nic->mrs))
		draw_indices(nic);
}

/* ----------------------------------------------------- begin and end */

static inline void proc_link(struct unic_memory *nic, struct unic_mr_ctx *mr,
			     uint16_t idx)
{
	struct unic_proc *p = &nic->procs.proc[mr->proc];

	UNIC_IN_REGISTER(p);
	mr->prev = UNIC_MR_NIL;
	mr->next = p->mr_head;
	if (mr->next != UNIC_MR_NIL)
		nic->mrs.mr[mr->next].prev = idx;
	p->mr_head = idx;
	p->mrs++;
}

static void proc_unlink(struct unic_memory *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_proc *p = &nic->procs.proc[mr->proc];

	if (mr->prev == UNIC_MR_NIL)
		p->mr_head = mr->next;
	else
		nic->mrs.mr[mr->prev].next = mr->next;
	if (mr->next != UNIC_MR_NIL)
		nic->mrs.mr[mr->next].prev = mr->prev;
	p->mrs--;
}

/* Fields that prepare_index() cannot set. */
static inline void apply_args(struct unic_memory *nic, struct unic_mr_ctx *mr,
			      const struct unic_mr_args *a)
{
	mr->rights = a->rights;
	mr->page_shift = a->page_shift;
	mr->state = UNIC_MR_LOADING;
	mr->mr_class = a->mr_class;
	mr->stag |= a->key;
	mr->iova = a->iova;
	mr->length = a->length;
	mr->pd = a->pd;
	mr->since_ns = nic->now_ns;
	mr->user = a->user;
	mr->gen++;
	mr->n_pages = (uint16_t)a->n_pages;
	mr->proc = a->proc;
	mr->owner = (unic_slot_small)nic->mrs.pd[a->pd].proc;
	mr->importance = a->importance;
}

static inline __attribute__((always_inline)) uint16_t
make_mr(struct unic_memory *nic, const struct unic_mr_args *args)
{
	struct unic_mrs *m = &nic->mrs;
	struct unic_mr_ctx *mr;
	uint16_t idx;
	bool fits;

	UNIC_IN_REGISTER(m);
	make_room(nic);
	UNIC_ASSERT(nic, m->free);
	idx = m->order[--m->free];
	mr = &m->mr[idx];
	UNIC_IN_REGISTER(mr);
	if (unlikely(!mr->drawn)) {
		draw_stag(nic, idx);
		schedule_draw(nic);
	}
	apply_args(nic, mr, args);
	fits = unic_tlb_reserve(&nic->tlb, args->n_pages);
	UNIC_ASSERT(nic, fits); /* INV-7: granted whole or not at all */
	m->pd[args->pd].users++;
	proc_link(nic, mr, idx);
	unic_share_hold(&nic->share, mr->proc, (int32_t)args->n_pages);
	if (args->mr_class == UNIC_CLASS_CONTROL) {
		m->control[mr->proc].entries += args->n_pages;
		m->control[mr->proc].mrs++;
	}
	if (nic->tlb.free < m->low)
		unic_mr_evict_due(nic);
	UNIC_COUNT(nic, mr_registered);
	UNIC_TRACE(nic, MR_REG, mr->proc, idx, mr->gen, mr->stag,
		   args->n_pages);
	return idx;
}

uint16_t unic_mr_make(struct unic_memory *nic, const struct unic_mr_args *args)
{
	return make_mr(nic, args);
}

void unic_mr_strip(struct unic_memory *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t page, filled = 0;

	UNIC_ASSERT(nic, unic_mr_idle(mr)); /* INV-3 */
	if (unlikely(nic->trace.mask & UNIC_TG_REF))
		unic_usage_trace(nic, idx);
	if (unic_mr_cached(mr))
		unic_cache_strip(nic, idx);
	for (page = 0; page < mr->n_pages && filled < mr->filled; page++)
		filled += unic_tlb_invalidate(&nic->tlb, mr->tlb_base, page);
	UNIC_ASSERT(nic, filled == mr->filled);
	unic_tlb_unreserve(&nic->tlb, mr->n_pages - filled);
	unic_share_hold(&nic->share, mr->proc, -(int32_t)mr->n_pages);
	if (mr->mr_class == UNIC_CLASS_CONTROL) {
		nic->mrs.control[mr->proc].entries -= mr->n_pages;
		nic->mrs.control[mr->proc].mrs--;
	}
	nic->mrs.pd[mr->pd].users--;
}

void unic_mr_bury(struct unic_memory *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	proc_unlink(nic, idx);
	if (mr->flags & UNIC_MR_F_GONE) {
		index_put(nic, idx);
		return;
	}
	mr->state = UNIC_MR_EVICTED;
	tomb_link(&nic->mrs, idx);
}

struct unic_mr_ctx *unic_mr_get(struct unic_memory *nic, uint32_t mr,
				uint32_t gen)
{
	struct unic_mr_ctx *m;

	if (mr >= UNIC_MRS)
		return NULL;
	m = &nic->mrs.mr[mr];
	if (m->state == UNIC_MR_FREE || m->gen != gen ||
	    unic_slot_leaves(&nic->procs, m->proc))
		return NULL;
	return m;
}

/* ------------------------------------------------------- make and fill */

static inline void activate_mr(struct unic_memory *nic, struct unic_mr_ctx *mr,
			       uint16_t idx)
{
	mr->state = UNIC_MR_ACTIVE;
	mr->lock = mr->stag ^ (uint32_t)mr->pd << IDX_SHIFT;
	mr->since_ns = nic->now_ns;
	mr->last_use_ns = nic->now_ns;
	unic_candidate_add(nic, idx);
	UNIC_TRACE(nic, MR_ACTIVE, mr->proc, idx, mr->gen, 0, 0);
}

/* Takes pages [first, first + count) out again, because an address was not
 * aligned. */
static void unfill_entries(struct unic_memory *nic, uint16_t idx,
			   uint32_t first, uint32_t count)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t i;
	bool had = true;

	for (i = 0; i < count; i++)
		had &= unic_tlb_invalidate(&nic->tlb, mr->tlb_base, first + i);
	had &= unic_tlb_reserve(&nic->tlb, count);
	UNIC_ASSERT(nic, had);
}

void unic_mr_unfill(struct unic_memory *nic, uint16_t mr)
{
	unfill_entries(nic, mr, 0, nic->mrs.mr[mr].filled);
	nic->mrs.mr[mr].filled = 0;
}

static inline int fill_entries(struct unic_memory *nic, uint16_t idx,
			       uint32_t first, uint32_t count,
			       const uint64_t *pages)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_tlb *tlb = &nic->tlb;
	uint32_t low;

	UNIC_IN_REGISTER(mr);
	UNIC_IN_REGISTER(tlb);
	if (count == 1)
		low = unic_tlb_fill_one(tlb, mr->tlb_base, first, pages);
	else
		low = unic_tlb_fill_run(tlb, mr->tlb_base, first, count, pages);
	if (low & ((1u << mr->page_shift) - 1)) {
		unfill_entries(nic, idx, first, count);
		return -UNIC_EBUS;
	}
	mr->filled = (uint16_t)(mr->filled + count);
	if (mr->filled == mr->n_pages)
		activate_mr(nic, mr, idx);
	return 0;
}

int unic_mr_build(struct unic_memory *nic, const struct unic_mr_args *args,
		  const uint64_t *pages, struct unic_mr_result *out)
{
	uint16_t idx = make_mr(nic, args);
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	int err = pages ? fill_entries(nic, idx, 0, args->n_pages, pages) : 0;

	if (err) {
		unic_mr_strip(nic, idx);
		mr->flags |= UNIC_MR_F_GONE;
		unic_mr_bury(nic, idx);
		return err;
	}
	out->mr = idx;
	out->gen = mr->gen;
	out->stag = mr->stag;
	out->wait = 0;
	return 0;
}

void __attribute__((cold))
unic_mr_build_cached(struct unic_memory *nic, const struct unic_mr_args *args,
		     struct unic_mr_result *out)
{
	struct unic_mr_args a = *args;
	int err;

	a.n_pages = 0;
	err = unic_mr_build(nic, &a, NULL, out);
	UNIC_ASSERT(nic, !err); /* no page, so none is misaligned */
	unic_cache_adopt(nic, (uint16_t)out->mr, &a);
	activate_mr(nic, &nic->mrs.mr[out->mr], (uint16_t)out->mr);
}

void unic_mr_bare(struct unic_memory *nic, const struct unic_mr_args *args,
		  uint8_t flag, struct unic_mr_result *out)
{
	int err = unic_mr_build(nic, args, NULL, out);
	struct unic_mr_ctx *mr = &nic->mrs.mr[out->mr];

	UNIC_ASSERT(nic, !err); /* no page, so none is misaligned */
	mr->flags |= flag;
	mr->tlb_base = UNIC_CACHE_HIDDEN(out->mr);
	activate_mr(nic, mr, (uint16_t)out->mr);
}

/* ------------------------------------------------------- after a reset */

bool unic_mr_claimable(const struct unic_memory *nic, uint32_t stag)
{
	const struct unic_mrs *m = &nic->mrs;

	return !m->mr[stag >> IDX_SHIFT].gen && regions_made(m) == m->restored;
}

void unic_mr_claim(struct unic_memory *nic, uint32_t stag)
{
	struct unic_mrs *m = &nic->mrs;
	uint32_t idx = stag >> IDX_SHIFT, top = m->free - 1u, at = 0;

	while (at < top && m->order[at] != idx)
		at++;
	UNIC_ASSERT(nic, m->order[at] == idx);
	m->order[at] = m->order[top];
	m->order[top] = (uint16_t)idx;
	unic_stag_begin(nic, (uint16_t)idx, stag);
	prepare_index(nic, (uint16_t)idx);
	m->restored++;
}

int unic_mr_fill(struct unic_memory *nic, uint32_t mr, uint32_t gen,
		 uint32_t first, uint32_t count, const uint64_t *pages)
{
	struct unic_mr_ctx *m = unic_mr_get(nic, mr, gen);
	uint32_t i;

	if (!m)
		return -UNIC_ENOMR;
	if (m->state != UNIC_MR_LOADING)
		return -UNIC_ESTATE;
	if (!count || first >= m->n_pages || count > m->n_pages - first)
		return -UNIC_EINVAL;
	for (i = first; m->filled && i < first + count; i++)
		if (unic_tlb_find(&nic->tlb, m->tlb_base, i) != UNIC_TLB_NIL)
			return -UNIC_ESTATE;
	return fill_entries(nic, (uint16_t)mr, first, count, pages);
}

/* Replaces the pages: the number of entries changes, and all are filled again. */
static void exchange_pages(struct unic_memory *nic, struct unic_mr_ctx *m,
			   uint16_t idx, const struct unic_mr_args *a,
			   const uint64_t *pages)
{
	bool fits;

	unic_mr_unfill(nic, idx);
	unic_tlb_unreserve(&nic->tlb, m->n_pages);
	fits = unic_tlb_reserve(&nic->tlb, a->n_pages);
	UNIC_ASSERT(nic, fits);
	unic_share_hold(&nic->share, m->proc,
			(int32_t)a->n_pages - (int32_t)m->n_pages);
	m->n_pages = (uint16_t)a->n_pages;
	m->iova = a->iova;
	m->length = a->length;
	unic_tlb_fill_run(&nic->tlb, m->tlb_base, 0, a->n_pages, pages);
	m->filled = m->n_pages;
	unic_mr_evict_due(nic);
}

void unic_mr_change(struct unic_memory *nic, uint16_t mr,
		    const struct unic_mr_args *args, const uint64_t *pages)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	if (UNIC_TABLE_READS && unlikely(nic->loading.n))
		unic_derived_load_forget(nic, mr);
	unic_mr_close(nic, mr);
	m->win_bytes = 0;
	if (pages)
		exchange_pages(nic, m, mr, args, pages);
	nic->mrs.pd[m->pd].users--;
	nic->mrs.pd[args->pd].users++;
	m->pd = args->pd;
	m->rights = args->rights;
	unic_mr_open(nic, mr);
}
