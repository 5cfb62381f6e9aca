/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cache.c - see cache.h. */
#include <string.h>

#include "memory/access.h"
#include "memory/cached_window.h"
#include "memory/derived_load.h"
#include "memory/fault.h"
#include "memory/memory.h"

/* unic_tlb_entry.mark of a cached entry: two flags and the time of its
 * insertion. */
#define USED	    (1u << 15) /* used since the hand passed */
#define WANTED	    (1u << 14) /* an operation waits for it */
#define STAMP_SHIFT 18u	       /* one stamp is 262 us */
#define STAMP_MASK  0xfffu
#define SPARED	    4u /* stamps for which a WANTED entry is spared */

#define LOOKS 16u /* entries examined for one victim */
/* a process that still lacks an entry asks more often */
#define SHORT_NS 1000000u
#define MIN_SET	 4u /* entries that a borrower keeps while others wait */

void unic_cache_init(struct unic_memory *nic)
{
	uint32_t i;

	memset(&nic->cache, 0, sizeof(nic->cache));
	nic->cache.short_proc = UNIC_PROCS;
	for (i = 0; i < UNIC_PROCS; i++)
		nic->cache.hand[i] = UNIC_TLB_NIL;
	unic_fault_init(nic);
	if (UNIC_TABLE_READS)
		unic_table_init(nic);
}

static uint16_t stamp_now(const struct unic_memory *nic)
{
	return (uint16_t)(nic->now_ns >> STAMP_SHIFT & STAMP_MASK);
}

/* -------------------------------------------------------------- regions */

static uint32_t bare_regions(const struct unic_memory *nic, uint32_t proc)
{
	return (uint32_t)nic->cache.regions[proc] + nic->derived.bare[proc];
}

/* Shares shrink when other processes come; the number in the first test does
 * not. */
bool unic_cache_bare_room(struct unic_memory *nic, uint32_t proc)
{
	uint32_t own = bare_regions(nic, proc), all = 0, i;

	if (own < UNIC_MRS / UNIC_PROCS / 4u)
		return true;
	for (i = 0; i < UNIC_PROCS; i++)
		all += bare_regions(nic, i);
	return all < UNIC_MRS / 2u &&
	       own < unic_share_part(&nic->share, proc, UNIC_MRS) / 2;
}

int unic_cache_check(struct unic_memory *nic, const struct unic_mr_args *a,
		     uint32_t pages)
{
	uint32_t proc = a->proc;

	if (a->mr_class == UNIC_CLASS_CONTROL ||
	    (a->flags & (UNIC_REG_LIST | UNIC_REG_WAIT)))
		return -UNIC_EINVAL;
	if (pages > UNIC_CACHED_PAGES ||
	    (UNIC_SPAN32 && (a->length >> 32 || !(uint32_t)a->length)))
		return -UNIC_ETOOLARGE;
	if (a->residency == UNIC_TABLE &&
	    (!UNIC_TABLE_READS || !unic_table_fits(a, pages)))
		return -UNIC_EINVAL;
	if (!unic_cache_bare_room(nic, proc))
		return -UNIC_EMRFULL;
	return 0;
}

void unic_cache_adopt(struct unic_memory *nic, uint16_t idx,
		      const struct unic_mr_args *args)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	nic->cache.of[idx] = (struct unic_cached_mr){
		.base = mr->tlb_base,
		.demand = args->residency == UNIC_DEMAND,
		.shown = UNIC_CACHED_WINDOWS ? UNIC_MR_NIL : 0,
	};
	if (UNIC_TABLE_READS)
		nic->tables.list[idx] = args->list;
	mr->tlb_base = UNIC_CACHE_HIDDEN(idx);
	mr->flags |= UNIC_MR_F_CACHED;
	nic->cache.regions[mr->proc]++;
}

static bool is_demand(const struct unic_memory *nic, uint16_t mr)
{
	return !UNIC_TABLE_READS || nic->cache.of[mr].demand;
}

void unic_cache_hold(struct unic_memory *nic, const struct unic_mr_span *span,
		     uint32_t n)
{
	nic->cache.held = span;
	nic->cache.n_held = n;
}

static bool __attribute__((noinline, cold))
is_held(const struct unic_memory *nic, uint16_t mr)
{
	const struct unic_cache *c = &nic->cache;
	uint32_t i;

	for (i = 0; i < c->n_held; i++)
		if (c->held[i].mr == mr ||
		    (UNIC_CACHED_WINDOWS &&
		     unic_cached_window_region(nic, c->held[i].mr) == mr))
			return true;
	return false;
}

bool unic_cache_busy(const struct unic_memory *nic, uint16_t mr)
{
	return nic->mrs.mr[mr].dmas ||
	       (unlikely(nic->cache.n_held) && is_held(nic, mr));
}

/* ---------------------------------------------------------------- rings */

/* Adds entry @i at the end of the ring: before the hand. */
static void ring_add(struct unic_cache *c, uint32_t proc, unic_tlb_idx i)
{
	unic_tlb_idx *hand = &c->hand[proc];

	if (*hand == UNIC_TLB_NIL) {
		*hand = c->next[i] = c->prev[i] = i;
		return;
	}
	c->next[i] = *hand;
	c->prev[i] = c->prev[*hand];
	c->next[c->prev[i]] = i;
	c->prev[*hand] = i;
}

static void ring_remove(struct unic_cache *c, uint32_t proc, unic_tlb_idx i)
{
	unic_tlb_idx *hand = &c->hand[proc];

	if (c->next[i] == i) {
		*hand = UNIC_TLB_NIL;
		return;
	}
	c->next[c->prev[i]] = c->next[i];
	c->prev[c->next[i]] = c->prev[i];
	if (*hand == i)
		*hand = c->next[i];
}

/* Closes what accesses to region @idx use without a lookup, if it is the page of @e. */
static void close_windows(struct unic_memory *nic, uint16_t idx,
			  const struct unic_tlb_entry *e)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (UNIC_CACHED_WINDOWS && unlikely(mr->deps))
		unic_cached_window_drop(nic, idx, e->bus);
	unic_mr_drop_page(mr, e->bus, mr->page_shift);
}

/* Frees entry @i; its page cannot be reached afterwards. @tell: with a drop
 * record, if it belongs to a DEMAND region. */
static void drop_entry(struct unic_memory *nic, unic_tlb_idx i, bool tell)
{
	struct unic_cache *c = &nic->cache;
	struct unic_tlb_entry *e = &nic->tlb.entry[i];
	uint16_t idx = (uint16_t)unic_tlb_mr(e->tag);
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t page = e->tag - c->of[idx].base;
	bool had;

	close_windows(nic, idx, e);
	e->mark = 0;
	had = unic_tlb_invalidate(&nic->tlb, c->of[idx].base, page);
	UNIC_ASSERT(nic, had);
	ring_remove(c, mr->proc, i);
	c->entries[mr->proc]--;
	c->all_entries--;
	mr->n_pages--;
	mr->filled--;
	unic_share_hold(&nic->share, mr->proc, -1);
	if (is_demand(nic, idx)) {
		c->demand--;
		if (tell)
			unic_mbox_drop(&nic->base, idx, mr->gen, page,
				       mr->user);
	}
	UNIC_COUNT(nic, cache_dropped);
	UNIC_TRACE(nic, DROPPED, mr->proc, idx, page, 0, 0);
}

/* Drops entries of @mr by walking the ring of its process: a region may have many
 * more pages than there are entries. */
static uint32_t drop_all(struct unic_memory *nic, uint16_t idx, uint32_t first,
			 uint32_t count, bool tell)
{
	struct unic_cache *c = &nic->cache;
	uint32_t proc = nic->mrs.mr[idx].proc, n = 0, left;
	unic_tlb_idx i = c->hand[proc], next;

	for (left = c->entries[proc]; left; left--, i = next) {
		uint32_t tag = nic->tlb.entry[i].tag;

		next = c->next[i];
		if (unic_tlb_mr(tag) != idx ||
		    tag - c->of[idx].base - first >= count)
			continue;
		drop_entry(nic, i, tell);
		n++;
	}
	return n;
}

uint32_t unic_cache_drop(struct unic_memory *nic, uint16_t mr, uint32_t first,
			 uint32_t count, bool tell)
{
	uint32_t base = nic->cache.of[mr].base, n = 0, i;

	if (count > nic->cache.entries[nic->mrs.mr[mr].proc])
		return drop_all(nic, mr, first, count, tell);
	for (; count; count--, first++) {
		i = unic_tlb_find(&nic->tlb, base, first);
		if (i == UNIC_TLB_NIL)
			continue;
		drop_entry(nic, (unic_tlb_idx)i, tell);
		n++;
	}
	return n;
}

void unic_cache_strip(struct unic_memory *nic, uint16_t mr)
{
	nic->cache.regions[nic->mrs.mr[mr].proc]--;
	if (UNIC_TABLE_READS && unlikely(nic->loading.n))
		unic_derived_load_forget(nic, mr);
	drop_all(nic, mr, 0, UNIC_CACHED_PAGES, false);
	unic_fault_mr_gone(nic, mr);
}

/* ---------------------------------------------------- which of them goes */

static bool is_spared(const struct unic_memory *nic,
		      const struct unic_tlb_entry *e)
{
	return (e->mark & WANTED) &&
	       ((uint32_t)(stamp_now(nic) - e->mark) & STAMP_MASK) <= SPARED;
}

/* True if the entry is not in use and no operation waits for it. */
static bool can_drop_entry(const struct unic_memory *nic,
			   const struct unic_tlb_entry *e)
{
	uint16_t mr = (uint16_t)unic_tlb_mr(e->tag);

	return nic->mrs.mr[mr].state < UNIC_MR_DRAINING && !is_spared(nic, e) &&
	       !unic_cache_busy(nic, mr);
}

/*
 * Second chance: the hand moves to an entry that was not used since it last
 * passed, or takes the first one passed. An access through a window does not set
 * USED, so the hand closes the window of an entry that it passes.
 */
static unic_tlb_idx find_victim(struct unic_memory *nic, uint32_t proc)
{
	struct unic_cache *c = &nic->cache;
	unic_tlb_idx i = c->hand[proc], first = UNIC_TLB_NIL;
	uint32_t left = c->entries[proc] < LOOKS ? c->entries[proc] : LOOKS;

	for (; left; left--, i = c->next[i]) {
		struct unic_tlb_entry *e = &nic->tlb.entry[i];

		if (!can_drop_entry(nic, e))
			continue;
		if (!(e->mark & USED)) {
			first = i;
			break;
		}
		e->mark ^= USED; /* clears USED, which is set */
		close_windows(nic, (uint16_t)unic_tlb_mr(e->tag), e);
		if (first == UNIC_TLB_NIL)
			first = i;
	}
	c->hand[proc] = i;
	return first;
}

uint32_t unic_cache_take(struct unic_memory *nic, uint32_t proc, uint32_t n)
{
	uint32_t taken = 0;
	unic_tlb_idx i;

	for (; taken < n && nic->cache.entries[proc]; taken++) {
		i = find_victim(nic, proc);
		if (i == UNIC_TLB_NIL)
			break;
		drop_entry(nic, i, true);
	}
	return taken;
}

/* Makes the reaper take a region back for entries of @proc. */
static void set_short_proc(struct unic_memory *nic, uint32_t proc)
{
	nic->cache.short_proc = (uint16_t)proc;
	nic->cache.short_until_ns = nic->now_ns + SHORT_NS;
	unic_mr_evict_due(nic);
}

/*
 * Drops one cached entry of the owner that has to give to @proc, which wants @n.
 * If the owners that have to give have no cached entry, @proc loses one of its
 * own, and the reaper asks a region back.
 */
static bool take_by_share(struct unic_memory *nic, uint32_t proc, uint32_t n)
{
	struct unic_share *s = &nic->share;
	bool others = false, taken = false;
	uint32_t owner;

	while (!taken &&
	       (owner = unic_share_victim(s, proc, n)) != UNIC_OWNER_NIL) {
		others |= owner != proc;
		taken = unic_cache_take(nic, owner, 1);
		if (!taken)
			unic_share_skip(s, owner);
	}
	unic_share_unskip(s);
	if (taken)
		return true;
	if (others)
		set_short_proc(nic, proc);
	return unic_cache_take(nic, proc, 1);
}

static inline uint32_t claim_of(const struct unic_promises *p, uint32_t proc)
{
	return p->to[proc] > p->needed[proc] ? p->to[proc] : p->needed[proc];
}

void unic_cache_promise(struct unic_memory *nic, uint32_t proc, uint32_t n)
{
	struct unic_promises *p = &nic->promises;

	p->claimed -= claim_of(p, proc);
	p->all += n - p->to[proc];
	p->to[proc] = n;
	p->claimed += claim_of(p, proc);
	if (n)
		unic_bitset_add(&p->owed, proc);
	else
		unic_bitset_del(&p->owed, proc);
	unic_bitset_add(&nic->share.moved, proc);
}

void unic_cache_need(struct unic_memory *nic, uint32_t proc, uint32_t n)
{
	struct unic_promises *p = &nic->promises;

	p->claimed -= claim_of(p, proc);
	p->needed[proc] = n;
	p->claimed += claim_of(p, proc);
}

/* Free entries that are not promised to other processes. */
static uint32_t free_entries_for(const struct unic_memory *nic, uint32_t proc)
{
	const struct unic_promises *p = &nic->promises;
	uint32_t promised = p->all - p->to[proc];

	return promised < nic->tlb.free ? nic->tlb.free - promised : 0;
}

/* Shares are computed as if @proc held what it wants: a process that enters the
 * pool reduces the shares of the others. */
bool unic_cache_yield(struct unic_memory *nic, uint32_t proc, uint32_t n)
{
	struct unic_share *s = &nic->share;
	bool more = free_entries_for(nic, proc) < n;

	if (!more)
		return true;
	if (free_entries_for(nic, proc) + nic->cache.all_entries < n)
		return false; /* dropping all would not be enough */
	unic_share_want(s, proc, (int32_t)n);
	while (more && take_by_share(nic, proc, n))
		more = free_entries_for(nic, proc) < n;
	unic_share_want(s, proc, -(int32_t)n);
	return !more;
}

/* True if a free entry is left beside the claims of other processes. */
static bool has_unclaimed(const struct unic_memory *nic, uint32_t proc)
{
	const struct unic_promises *p = &nic->promises;

	return p->claimed - claim_of(p, proc) < nic->tlb.free;
}

/* Drops one entry for one of @proc, of the owner whose turn it is. */
static bool replace_by_share(struct unic_memory *nic, uint32_t proc)
{
	bool taken;

	unic_share_want(&nic->share, proc, 1);
	taken = take_by_share(nic, proc, 1);
	unic_share_want(&nic->share, proc, -1);
	return taken;
}

/*
 * Makes room while processes wait. A borrower that has MIN_SET entries replaces one
 * of them; others take a free entry that nobody else has a claim to, or replace one.
 * If all free entries are promised, one of them is so to @proc: this entry ends that
 * promise. A page that no operation waits for ends none.
 */
static bool __attribute__((noinline, cold))
make_room_beside_waiters(struct unic_memory *nic, uint32_t proc, bool wanted)
{
	if (nic->cache.entries[proc] >= MIN_SET &&
	    !unic_share_entitled(&nic->share, proc, 1))
		return unic_cache_take(nic, proc, 1);
	if (!has_unclaimed(nic, proc))
		return replace_by_share(nic, proc);
	if (nic->promises.all < nic->tlb.free)
		return true;
	if (wanted)
		unic_cache_promise(nic, proc, nic->promises.to[proc] - 1);
	return wanted;
}

/* Makes room for one entry of @proc. At its quota @proc replaces one of its own. */
static bool make_entry_room(struct unic_memory *nic, uint32_t proc, bool wanted)
{
	const struct unic_share_owner *o = &nic->share.owner[proc];

	if (o->quota && o->held >= o->quota) {
		unic_cache_take(nic, proc, o->held + 1 - o->quota);
		if (o->held >= o->quota)
			return false;
	}
	if (unic_bitset_any(&nic->promises.waiters))
		return make_room_beside_waiters(nic, proc, wanted);
	return unic_cache_yield(nic, proc, 1);
}

/* ----------------------------------------------------------- in and found */

static void insert_entry(struct unic_memory *nic, uint16_t idx, uint32_t page,
			 uint64_t bus, bool wanted)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_cache *c = &nic->cache;
	struct unic_tlb *tlb = &nic->tlb;
	unic_tlb_idx i = tlb->free_head;
	bool had = unic_tlb_reserve(tlb, 1);

	UNIC_ASSERT(nic, had);
	unic_tlb_fill_one(tlb, c->of[idx].base, page, &bus);
	tlb->entry[i].mark = (uint16_t)(stamp_now(nic) | (wanted ? WANTED : 0));
	ring_add(c, mr->proc, i);
	c->entries[mr->proc]++;
	c->all_entries++;
	if (unlikely(c->short_proc == mr->proc))
		c->short_proc = UNIC_PROCS;
	c->demand += is_demand(nic, idx);
	mr->n_pages++;
	mr->filled++;
	unic_share_hold(&nic->share, mr->proc, 1);
	if (tlb->free < nic->mrs.low)
		unic_mr_evict_due(nic);
	UNIC_TRACE(nic, CACHED, mr->proc, idx, page, 0, 0);
}

/* n_pages has 16 bits: one region cannot have all of a larger table. */
static inline bool can_add_page(const struct unic_mr_ctx *mr)
{
	return UNIC_TLB_ENTRIES <= UINT16_MAX || mr->n_pages < UINT16_MAX;
}

int unic_cache_insert(struct unic_memory *nic, uint16_t mr, uint32_t page,
		      uint64_t bus, bool wanted)
{
	/* every DEMAND entry on the NIC can be dropped (INV-17) */
	if (can_add_page(&nic->mrs.mr[mr]) &&
	    (!is_demand(nic, mr) ||
	     unic_mbox_drop_room(&nic->base) > nic->cache.demand) &&
	    make_entry_room(nic, nic->mrs.mr[mr].proc, wanted)) {
		insert_entry(nic, mr, page, bus, wanted);
		return 0;
	}
	UNIC_COUNT(nic, cache_no_room);
	set_short_proc(nic, nic->mrs.mr[mr].proc);
	return -UNIC_EAGAIN;
}

uint32_t unic_cache_short(const struct unic_memory *nic, bool *quota)
{
	uint32_t proc = nic->cache.short_proc;
	const struct unic_share_owner *o = &nic->share.owner[proc];

	if (proc == UNIC_PROCS || nic->now_ns >= nic->cache.short_until_ns ||
	    !o->weight)
		return UNIC_OWNER_NIL;
	*quota = o->quota && o->held >= o->quota;
	return proc;
}

bool unic_cache_spare(const struct unic_memory *nic, uint16_t mr)
{
	uint32_t proc = nic->mrs.mr[mr].proc;
	const struct unic_share_owner *o = &nic->share.owner[proc];

	return (!o->quota || o->held < o->quota) && has_unclaimed(nic, proc) &&
	       nic->tlb.free > nic->mrs.low;
}

bool unic_cache_has(const struct unic_memory *nic, uint16_t mr, uint32_t page)
{
	return unic_tlb_find(&nic->tlb, nic->cache.of[mr].base, page) !=
	       UNIC_TLB_NIL;
}

/* From the translation list. -UNIC_EPENDING: it is on its way, or was not to be had a
 * moment ago; fault.h knows. */
static int __attribute__((noinline))
read_entry(struct unic_memory *nic, uint16_t mr, uint32_t page, uint32_t ahead)
{
	int r;

	if (unlikely(nic->faults.busy) &&
	    unic_fault_find(&nic->faults, mr, page))
		return -UNIC_EPENDING;
	r = unic_table_miss(nic, mr, page, ahead, true);
	if (likely(r > 0))
		return 0;
	return r == -UNIC_EAGAIN ? unic_fault_starved(nic) : r;
}

static int __attribute__((noinline, cold))
fetch_entry(struct unic_memory *nic, uint16_t mr, uint32_t page, uint32_t ahead)
{
	int r = -UNIC_EPENDING;

	if (nic->mrs.mr[mr].state >= UNIC_MR_DRAINING)
		return -UNIC_EEVICTED;
	UNIC_COUNT(nic, misses);
	nic->cache.of[mr].misses++;
	if (!is_demand(nic, mr))
		r = read_entry(nic, mr, page, ahead);
	return r == -UNIC_EPENDING ? unic_fault_raise(nic, mr, page, ahead) : r;
}

static inline const struct unic_tlb_entry *used_entry(struct unic_memory *nic,
						      uint32_t i)
{
	struct unic_tlb_entry *e = &nic->tlb.entry[i];

	/* the first use of a WANTED entry does not set USED */
	e->mark = (uint16_t)(e->mark & WANTED ? e->mark & ~WANTED
					      : e->mark | USED);
	return e;
}

int unic_cache_entry(struct unic_memory *nic, uint16_t mr, uint32_t page,
		     uint32_t ahead, const struct unic_tlb_entry **out)
{
	uint32_t base = nic->cache.of[mr].base;
	uint32_t i = unic_tlb_find(&nic->tlb, base, page);
	int r;

	if (unlikely(i == UNIC_TLB_NIL)) {
		r = fetch_entry(nic, mr, page, ahead);
		if (r)
			return r;
		i = unic_tlb_find(&nic->tlb, base, page);
	}
	*out = used_entry(nic, i);
	return 0;
}

const struct unic_tlb_entry *unic_cache_hit(struct unic_memory *nic,
					    uint16_t mr, uint32_t page)
{
	uint32_t i = unic_tlb_find(&nic->tlb, nic->cache.of[mr].base, page);

	return i == UNIC_TLB_NIL ? NULL : used_entry(nic, i);
}
