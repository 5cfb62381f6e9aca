/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * access.c - the one access check, and translation (MEMORY.md section 2). The NIC's
 * hottest code. Its steps, in the order in which they stand here:
 *
 * STag, state, PD, rights: unic_access_inline() in access.h compares them and takes
 *   the page used last; unic_access_refused() finds which of them refused.
 * Bounds: is_in_bounds(), of an access outside the page used last.
 * Translation: lookup_tlb(); lookup_cached() where entries are a cache;
 *   unic_xlate_run() (translate.h) for a region made of others.
 */
#include "memory/access.h"
#include "memory/cached_window.h"
#include "memory/memory.h"
#include "memory/translate.h"

static int refuse_bounds(struct unic_memory *nic)
{
	UNIC_COUNT(nic, access_bounds);
	return -UNIC_EBOUNDS;
}

/* The error and the counter of a step of the check follow from its number. */
_Static_assert(UNIC_ESTAG - UNIC_ERELEASED == 1 && UNIC_MR_F_GONE == 1,
	       "a flag of 0 or 1 lowers the error by one");
_Static_assert(UNIC_EBOUNDS - UNIC_ESTAG == 3 &&
		       UNIC_C_access_bounds - UNIC_C_access_stag == 3 &&
		       UNIC_EEVICTED - UNIC_ESTAG == 4 &&
		       UNIC_C_access_evicted - UNIC_C_access_stag == 4,
	       "in the order of the steps");

/*
 * Slow path: finds the step that refused. The work is the same for all steps and
 * none is skipped, so the time reveals nothing to a remote side (`refused_*` of
 * tests/bench/insn.c). A region of another process counts as none. A region that
 * has ended is none, too; that its index still has the STag is for key_guard.h only.
 */
int __attribute__((noinline, cold))
unic_access_refused(struct unic_memory *nic, const struct unic_mr_ctx *mr,
		    uint32_t stag, uint16_t pd, uint32_t need)
{
	uint32_t proc = nic->mrs.pd[pd].proc, own = mr->pd;
	/* 0 or 1 each; a product is "and" without a branch */
	int same = !((mr->stag ^ stag) | (mr->owner ^ proc));
	int past = same * (mr->state >= UNIC_MR_DRAINING);
	/* only a region that is not past has a lock that opens */
	int here = same * (mr->lock == (stag ^ own << UNIC_MR_IDX_SHIFT));
	int taken = past * !(mr->flags & UNIC_MR_F_GONE);
	int ours = here * (own == pd);
	int granted = ours * !(need & ~(uint32_t)mr->rights);
	//@ assert same == 0 || same == 1;
	//@ assert (past == 0 || past == 1) && (here == 0 || here == 1);
	//@ assert taken == 0 || taken == 1;
	//@ assert (ours == 0 || ours == 1) && (granted == 0 || granted == 1);
	int i = 4 * taken + here + ours + granted;
	//@ assert by_wp: taken == 0 || here == 0;
	//@ assert by_wp: 0 <= i <= 4;
	int ended = same * (mr->flags & UNIC_MR_F_GONE);
	//@ assert ended == 0 || ended == 1;

	unic_count(&nic->counter[UNIC_C_access_stag + i], 1u);
	return -(UNIC_ESTAG + i - ended);
}

#define SPAN32 UNIC_SPAN32

/*
 * Bounds, for @len > 0. Wrap-safe: an iova below the region's makes an offset
 * above any length.
 */
static inline bool is_in_bounds(const struct unic_mr_ctx *mr, uint64_t iova,
				uint64_t len)
{
	uint64_t off = iova - mr->iova;

	if (SPAN32)
		return !(off >> 32) && (uint32_t)off < (uint32_t)mr->length &&
		       len <= (uint32_t)mr->length - (uint32_t)off;
	return off < mr->length && len <= mr->length - off;
}

static inline uint32_t page_of(const struct unic_mr_ctx *mr, uint64_t iova)
{
	uint32_t shift = mr->page_shift, size = 1u << shift;

	if (SPAN32) /* low halves are enough: the span fits 32 bits */
		return ((uint32_t)iova - ((uint32_t)mr->iova & -size)) >> shift;
	return (uint32_t)((iova >> shift) - (mr->iova >> shift));
}

/* *@at becomes the page of entry @e, which has @size bytes, around IOVA @low. */
static inline void set_page(struct unic_xlate *at,
			    const struct unic_tlb_entry *e, uint32_t low,
			    uint32_t size)
{
	uint32_t in_page = low & (size - 1u);

	at->bus = e->bus | in_page;
	at->before = in_page;
	at->len = size - in_page;
}

/* Writes the page of @iova to *@at. Returns false if the TLB has no entry. */
static inline bool lookup_tlb(const struct unic_memory *nic,
			      const struct unic_mr_ctx *mr, uint64_t iova,
			      struct unic_xlate *at)
{
	uint32_t size = 1u << mr->page_shift, page = page_of(mr, iova);
	const struct unic_tlb *tlb = &nic->tlb;
	const struct unic_tlb_entry *e;

	UNIC_IN_REGISTER(tlb);
	e = unic_tlb_hit(tlb, mr->tlb_base, page);
	if (unlikely(!e))
		return false;
	set_page(at, e, (uint32_t)iova, size);
	return true;
}

static inline uint32_t min_offset(uint32_t n, uint64_t off)
{
	if (SPAN32)
		return n < (uint32_t)off ? n : (uint32_t)off;
	return n < off ? n : (uint32_t)off;
}

/* Takes from the page @at of @iova what is not of region @mr, which may begin or
 * end in it. */
static inline void clip_to_region(const struct unic_mr_ctx *mr, uint64_t iova,
				  struct unic_xlate *at)
{
	uint64_t off = iova - mr->iova;

	at->before = min_offset(at->before, off);
	at->len = min_offset(at->len, mr->length - off);
}

bool unic_xlate_page(const struct unic_memory *nic,
		     const struct unic_mr_ctx *mr, uint64_t iova,
		     struct unic_xlate *out)
{
	if (!lookup_tlb(nic, mr, iova, out))
		return false;
	clip_to_region(mr, iova, out);
	return true;
}

/* *@out becomes the first @len bytes of @at, at most all of them, in region @mr. */
static inline void set_first(struct unic_xlate *out,
			     const struct unic_xlate *at, uint32_t mr,
			     uint32_t len)
{
	out->mr = (uint16_t)mr;
	out->bus = at->bus;
	out->len = len < at->len ? len : at->len;
}

/* Looks up a cached entry; the fast path never finds one. Returns as
 * unic_cache_entry(). */
static int __attribute__((noinline))
lookup_cached(struct unic_memory *nic, uint16_t idx, uint64_t iova,
	      uint32_t len, const struct unic_tlb_entry **e)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t in_page = (uint32_t)iova & ((1u << mr->page_shift) - 1u);

	return unic_cache_entry(nic, idx, page_of(mr, iova),
				((in_page + (len - 1u)) >> mr->page_shift) + 1u,
				e);
}

/* lookup_cached() for window @idx over such a region: writes the page to *@at. */
static int __attribute__((noinline, cold))
lookup_behind(struct unic_memory *nic, uint16_t idx, uint64_t iova,
	      uint32_t len, struct unic_xlate *at)
{
	uint16_t of = unic_cached_window_find(nic, idx, &iova);
	const struct unic_tlb_entry *e;
	int r = lookup_cached(nic, of, iova, len, &e);

	if (!r)
		set_page(at, e, (uint32_t)iova,
			 1u << nic->mrs.mr[of].page_shift);
	return r;
}

/*
 * unic_xlate() where the fast path found no entry: a cached entry, a derived
 * region whose bytes lie in other regions, or a revoked region. The arguments are
 * in *@out, because passing them would cost the fast path registers.
 */
static int __attribute__((noinline, cold))
cached_xlate(struct unic_memory *nic, struct unic_xlate *out)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[out->mr];
	const struct unic_tlb_entry *e;
	struct unic_xlate at;
	int r;

	if (unic_mr_cached(mr)) {
		r = lookup_cached(nic, out->mr, out->bus, out->len, &e);
		if (r)
			return r;
		set_page(&at, e, (uint32_t)out->bus, 1u << mr->page_shift);
	} else if (unlikely(unic_mr_over_cached(mr))) {
		r = lookup_behind(nic, out->mr, out->bus, out->len, &at);
		if (r)
			return r;
	} else if (!unic_xlate_run(nic, out->mr, out->bus, &at)) {
		return -UNIC_EEVICTED;
	}
	set_first(out, &at, out->mr, out->len);
	return 0;
}

inline bool unic_xlate_near(const struct unic_memory *nic, uint16_t mr,
			    uint64_t iova, uint32_t len, struct unic_xlate *out)
{
	const struct unic_mr_ctx *m = &nic->mrs.mr[mr];
	struct unic_xlate at;

	UNIC_IN_REGISTER(m);
	if (unlikely(!lookup_tlb(nic, m, iova, &at)))
		return false;
	set_first(out, &at, mr, len);
	return true;
}

bool __attribute__((noinline))
unic_xlate_cached(struct unic_memory *nic, uint16_t idx, uint64_t iova,
		  uint32_t len, struct unic_xlate *out)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t size = 1u << mr->page_shift;
	const struct unic_tlb_entry *e;
	struct unic_xlate at;

	if (!unic_mr_cached(mr) || size - ((uint32_t)iova & (size - 1u)) < len)
		return false;
	e = unic_cache_hit(nic, idx, page_of(mr, iova));
	if (!e)
		return false;
	set_page(&at, e, (uint32_t)iova, size);
	set_first(out, &at, idx, len);
	return true;
}

inline int unic_xlate(struct unic_memory *nic, uint16_t mr, uint64_t iova,
		      uint32_t len, struct unic_xlate *out)
{
	if (likely(unic_xlate_near(nic, mr, iova, len, out)))
		return 0;
	out->bus = iova;
	out->len = len;
	out->mr = mr;
	return cached_xlate(nic, out);
}

/*
 * Ends an access outside the window: the page @at of @iova becomes the window,
 * and *@out is as much of @len as lies in it.
 */
static inline int set_window(struct unic_memory *nic, struct unic_mr_ctx *mr,
			     uint32_t idx, uint64_t iova, uint32_t len,
			     const struct unic_xlate *at,
			     struct unic_xlate *out)
{
	uint32_t low = (uint32_t)iova;

	mr->win_hi = (uint32_t)(iova >> 32);
	mr->win_end = low + at->len;
	mr->win_bytes = at->len + at->before;
	mr->win_add = (uint32_t)at->bus - low;
	mr->win_bus = (uint32_t)(at->bus >> 32);
	set_first(out, at, idx, len);
	unic_mr_used(nic, mr, len);
	return 0;
}

/* An access of no bytes: bounds are not checked, nothing is translated. */
static int __attribute__((noinline, cold))
access_zero_len(struct unic_memory *nic, struct unic_mr_ctx *mr,
		struct unic_xlate *out)
{
	unic_mr_used(nic, mr, 0);
	out->bus = 0;
	out->len = 0;
	out->mr = (uint16_t)(mr->stag >> UNIC_MR_IDX_SHIFT);
	return 0;
}

/*
 * unic_access_page() for a derived region, for which @mr has no entry. The upper
 * half of an IOVA may change anywhere in it; the window and the translation end there.
 */
static int __attribute__((noinline, cold))
derived_page(struct unic_memory *nic, struct unic_mr_ctx *mr, uint64_t iova,
	     uint32_t len, struct unic_xlate *out)
{
	uint16_t idx = (uint16_t)(mr->stag >> UNIC_MR_IDX_SHIFT);
	uint32_t low = (uint32_t)iova;
	struct unic_xlate at;

	/* accessible regions are filled (INV-2), and derived ones lie in such
	 * regions */
	UNIC_ASSERT(nic, unic_xlate_run(nic, idx, iova, &at));
	at.before = min_offset(at.before, low);
	at.len = 1u + min_offset(at.len - 1u, UINT32_MAX - low);
	return set_window(nic, mr, idx, iova, len, &at, out);
}

/* cached_page() for a window over such a region. */
static int __attribute__((noinline, cold))
page_behind(struct unic_memory *nic, struct unic_mr_ctx *mr, uint64_t iova,
	    uint32_t len, struct unic_xlate *out)
{
	uint16_t idx = (uint16_t)(mr->stag >> UNIC_MR_IDX_SHIFT);
	struct unic_xlate at;
	int r = lookup_behind(nic, idx, iova, len, &at);

	if (r) {
		out->mr = idx;
		return r;
	}
	unic_cached_window_show(nic, idx);
	clip_to_region(mr, iova, &at);
	return set_window(nic, mr, idx, iova, len, &at, out);
}

/* The end of unic_access_page() if the fast path found no entry. */
static int __attribute__((noinline, cold))
cached_page(struct unic_memory *nic, struct unic_mr_ctx *mr, uint64_t iova,
	    uint32_t len, struct unic_xlate *out)
{
	uint16_t idx = (uint16_t)(mr->stag >> UNIC_MR_IDX_SHIFT);
	const struct unic_tlb_entry *e;
	struct unic_xlate at;
	int r;

	if (!unic_mr_cached(mr))
		return unlikely(unic_mr_over_cached(mr))
			       ? page_behind(nic, mr, iova, len, out)
			       : derived_page(nic, mr, iova, len, out);
	r = lookup_cached(nic, idx, iova, len, &e);
	if (r) {
		out->mr = idx;
		return r;
	}
	set_page(&at, e, (uint32_t)iova, 1u << mr->page_shift);
	clip_to_region(mr, iova, &at);
	return set_window(nic, mr, idx, iova, len, &at, out);
}

int __attribute__((noinline))
unic_access_page(struct unic_memory *nic, struct unic_mr_ctx *mr, uint64_t iova,
		 uint32_t len, struct unic_xlate *out)
{
	struct unic_xlate at;

	UNIC_IN_REGISTER(mr);
	if (unlikely(!len))
		return access_zero_len(nic, mr, out);
	if (unlikely(!is_in_bounds(mr, iova, len)))
		return refuse_bounds(nic);
	if (unlikely(!lookup_tlb(nic, mr, iova, &at)))
		return cached_page(nic, mr, iova, len, out);
	clip_to_region(mr, iova, &at);
	return set_window(nic, mr, mr->stag >> UNIC_MR_IDX_SHIFT, iova, len,
			  &at, out);
}

int unic_access(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		uint32_t need, uint64_t iova, uint32_t len,
		struct unic_xlate *out)
{
	return unic_access_inline(nic, stag, pd, need, iova, len, out);
}

int unic_mr_check(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		  uint32_t need, uint64_t iova, uint64_t len)
{
	uint16_t idx = (uint16_t)(stag >> UNIC_MR_IDX_SHIFT);
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (!unic_mr_opens(mr, stag, pd) || !unic_mr_grants(mr, need) ||
	    !is_in_bounds(mr, iova, len))
		return unic_access_refused(nic, mr, stag, pd, need);
	return idx;
}
