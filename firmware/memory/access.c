/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * access.c - the one access check, and translation (MEMORY.md section 2). The NIC's
 * hottest code.
 */
#include "memory/access.h"
#include "memory/memory.h"
#include "memory/translate.h"

static int refuse_bounds(struct unic_memory *nic)
{
	UNIC_COUNT(nic, access_bounds);
	return -UNIC_EBOUNDS;
}

/* The error and the counter of a step of the check follow from its number. */
_Static_assert(UNIC_EBOUNDS - UNIC_ESTAG == 3 &&
		       UNIC_C_access_bounds - UNIC_C_access_stag == 3 &&
		       UNIC_EEVICTED - UNIC_ESTAG == 4 &&
		       UNIC_C_access_evicted - UNIC_C_access_stag == 4,
	       "in the order of the steps");

/*
 * Slow path: finds the step that refused. The work is the same for all steps and
 * none is skipped, so the time reveals nothing to a remote side (`refused_*` of
 * tests/bench/insn.c). A region of another process counts as none.
 */
int __attribute__((noinline, cold))
unic_access_refused(struct unic_memory *nic, const struct unic_mr_ctx *mr,
		    uint32_t stag, uint16_t pd, uint32_t need)
{
	uint32_t proc = nic->mrs.pd[pd].proc, own = mr->pd;
	/* 0 or 1 each; a product is "and" without a branch */
	int same = !((mr->stag ^ stag) | (mr->proc ^ proc));
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

	unic_count(&nic->counter[UNIC_C_access_stag + i], 1u);
	return -(UNIC_ESTAG + i);
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

/* The translation of one address within a region. */
struct spot {
	const struct unic_tlb_entry *e;
	uint32_t in_page,
		room; /* bytes of its page: before it, and from it on */
};

static inline uint32_t page_of(const struct unic_mr_ctx *mr, uint64_t iova)
{
	uint32_t shift = mr->page_shift, size = 1u << shift;

	if (SPAN32) /* low halves are enough: the span fits 32 bits */
		return ((uint32_t)iova - ((uint32_t)mr->iova & -size)) >> shift;
	return (uint32_t)((iova >> shift) - (mr->iova >> shift));
}

static inline struct spot lookup_tlb(const struct unic_memory *nic,
				     const struct unic_mr_ctx *mr,
				     uint64_t iova)
{
	uint32_t size = 1u << mr->page_shift, page = page_of(mr, iova);
	const struct unic_tlb *tlb = &nic->tlb;

	UNIC_IN_REGISTER(tlb);
	return (struct spot){
		.e = unic_tlb_hit(tlb, mr->tlb_base, page),
		.in_page = (uint32_t)iova & (size - 1u),
		.room = size - ((uint32_t)iova & (size - 1u)),
	};
}

static inline uint32_t min_offset(uint32_t n, uint64_t off)
{
	if (SPAN32)
		return n < (uint32_t)off ? n : (uint32_t)off;
	return n < off ? n : (uint32_t)off;
}

/* The part of the page of @iova that belongs to region @mr, which may begin or
 * end in it. */
static inline struct unic_spot clip_to_region(const struct unic_mr_ctx *mr,
					      uint64_t iova,
					      const struct spot *at)
{
	uint64_t off = iova - mr->iova;

	return (struct unic_spot){
		.bus = at->e->bus | at->in_page,
		.before = min_offset(at->in_page, off),
		.room = min_offset(at->room, mr->length - off),
	};
}

bool unic_access_spot(const struct unic_memory *nic,
		      const struct unic_mr_ctx *mr, uint64_t iova,
		      struct unic_spot *out)
{
	struct spot at = lookup_tlb(nic, mr, iova);

	if (!at.e)
		return false;
	*out = clip_to_region(mr, iova, &at);
	return true;
}

static inline void set_piece(struct unic_piece *out, const struct spot *at,
			     uint32_t mr, uint32_t len)
{
	out->mr = (uint16_t)mr;
	out->bus = at->e->bus | at->in_page;
	out->len = len < at->room ? len : at->room;
}

/* Looks up a cached entry; the fast path never finds one. Returns as
 * unic_cache_entry(). */
static int __attribute__((noinline))
lookup_cached(struct unic_memory *nic, uint16_t idx, uint64_t iova,
	      uint32_t len, struct spot *at)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t size = 1u << mr->page_shift, in_page;
	int r;

	in_page = (uint32_t)iova & (size - 1u);
	r = unic_cache_entry(nic, idx, page_of(mr, iova),
			     ((in_page + (len - 1u)) >> mr->page_shift) + 1u,
			     &at->e);
	at->in_page = in_page;
	at->room = size - in_page;
	return r;
}

/*
 * unic_xlate() where the fast path found no entry: a cached entry, a derived
 * region whose bytes lie in other regions, or a revoked region. The arguments are
 * in *@out, because passing them would cost the fast path registers.
 */
static int __attribute__((noinline, cold))
cached_xlate(struct unic_memory *nic, struct unic_piece *out)
{
	uint64_t iova = out->bus;
	struct unic_spot form;
	struct spot at;
	int r;

	if (!unic_mr_cached(&nic->mrs.mr[out->mr])) {
		if (!unic_spot_find(nic, out->mr, iova, &form))
			return -UNIC_EEVICTED;
		out->bus = form.bus;
		out->len = out->len < form.room ? out->len : form.room;
		return 0;
	}
	r = lookup_cached(nic, out->mr, iova, out->len, &at);
	if (!r)
		set_piece(out, &at, out->mr, out->len);
	return r;
}

inline bool unic_xlate_near(const struct unic_memory *nic, uint16_t mr,
			    uint64_t iova, uint32_t len, struct unic_piece *out)
{
	const struct unic_mr_ctx *m = &nic->mrs.mr[mr];
	struct spot at;

	UNIC_IN_REGISTER(m);
	at = lookup_tlb(nic, m, iova);
	if (unlikely(!at.e))
		return false;
	set_piece(out, &at, mr, len);
	return true;
}

inline int unic_xlate(struct unic_memory *nic, uint16_t mr, uint64_t iova,
		      uint32_t len, struct unic_piece *out)
{
	if (likely(unic_xlate_near(nic, mr, iova, len, out)))
		return 0;
	*out = (struct unic_piece){ iova, len, mr };
	return cached_xlate(nic, out);
}

/*
 * Ends an access outside the window: the page @at of @iova becomes the window,
 * and the piece is as much of @len as lies in it.
 */
static inline int set_window(struct unic_memory *nic, struct unic_mr_ctx *mr,
			     uint32_t idx, uint64_t iova, uint32_t len,
			     const struct unic_spot *at, struct unic_piece *out)
{
	uint32_t low = (uint32_t)iova;

	mr->win_hi = (uint32_t)(iova >> 32);
	mr->win_end = low + at->room;
	mr->win_bytes = at->room + at->before;
	mr->win_add = (uint32_t)at->bus - low;
	mr->win_bus = (uint32_t)(at->bus >> 32);
	out->mr = (uint16_t)idx;
	out->bus = at->bus;
	out->len = len < at->room ? len : at->room;
	unic_mr_used(nic, mr, len);
	return 0;
}

/* An access of no bytes: bounds are not checked, nothing is translated. */
static int __attribute__((noinline, cold))
access_zero_len(struct unic_memory *nic, struct unic_mr_ctx *mr,
		struct unic_piece *out)
{
	unic_mr_used(nic, mr, 0);
	out->bus = 0;
	out->len = 0;
	out->mr = (uint16_t)(mr->stag >> UNIC_MR_IDX_SHIFT);
	return 0;
}

/*
 * unic_access_page() for a derived region, for which @mr has no entry. The upper
 * half of an IOVA may change anywhere in it; the window and the piece end there.
 */
static int __attribute__((noinline, cold))
derived_page(struct unic_memory *nic, struct unic_mr_ctx *mr, uint64_t iova,
	     uint32_t len, struct unic_piece *out)
{
	uint16_t idx = (uint16_t)(mr->stag >> UNIC_MR_IDX_SHIFT);
	uint32_t low = (uint32_t)iova;
	struct unic_spot at;

	/* accessible regions are filled (INV-2), and derived ones lie in such
	 * regions */
	UNIC_ASSERT(nic, unic_spot_find(nic, idx, iova, &at));
	at.before = min_offset(at.before, low);
	at.room = 1u + min_offset(at.room - 1u, UINT32_MAX - low);
	return set_window(nic, mr, idx, iova, len, &at, out);
}

/* The end of unic_access_page() if the fast path found no entry. */
static int __attribute__((noinline, cold))
cached_page(struct unic_memory *nic, struct unic_mr_ctx *mr, uint64_t iova,
	    uint32_t len, struct unic_piece *out)
{
	uint16_t idx = (uint16_t)(mr->stag >> UNIC_MR_IDX_SHIFT);
	struct unic_spot of_mr;
	struct spot at;
	int r;

	if (!unic_mr_cached(mr))
		return derived_page(nic, mr, iova, len, out);
	r = lookup_cached(nic, idx, iova, len, &at);
	if (r) {
		out->mr = idx;
		return r;
	}
	of_mr = clip_to_region(mr, iova, &at);
	return set_window(nic, mr, idx, iova, len, &of_mr, out);
}

int __attribute__((noinline))
unic_access_page(struct unic_memory *nic, struct unic_mr_ctx *mr, uint64_t iova,
		 uint32_t len, struct unic_piece *out)
{
	struct unic_spot of_mr;
	struct spot at;

	UNIC_IN_REGISTER(mr);
	if (unlikely(!len))
		return access_zero_len(nic, mr, out);
	if (unlikely(!is_in_bounds(mr, iova, len)))
		return refuse_bounds(nic);
	at = lookup_tlb(nic, mr, iova);
	if (unlikely(!at.e))
		return cached_page(nic, mr, iova, len, out);
	of_mr = clip_to_region(mr, iova, &at);
	return set_window(nic, mr, mr->stag >> UNIC_MR_IDX_SHIFT, iova, len,
			  &of_mr, out);
}

int unic_access(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		uint32_t need, uint64_t iova, uint32_t len,
		struct unic_piece *out)
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
