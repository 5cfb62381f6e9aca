/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * access.h - the one access check, and its fast path inline, for callers that
 * cannot afford the call: the fast path of the transport. unic_access() is this
 * code and nothing else, so there is one check.
 */
#ifndef UNIC_ACCESS_H
#define UNIC_ACCESS_H

#include "memory/cached_window.h"
#include "memory/memory.h"
#include "memory/translate.h"

/* True if the span of every region fits 32 bits: a 2 MiB page for each entry. */
#define UNIC_SPAN32 (UNIC_TLB_ENTRIES <= 1024u)

/**
 * unic_access() - THE access check (MEMORY.md section 2), in the order of Linux's
 * siw driver: STag valid, PD, rights, bounds - then the translation of as many
 * bytes as are contiguous.
 * @stag: lkey or rkey.
 * @pd:   the queue's protection domain.
 * @need: enum unic_mr_rights that all must be granted; 0 = local read.
 * @iova: first byte, @len: bytes (0 allowed: then STag, PD and rights are
 *        checked, out->len is 0).
 *
 * Checks all @len bytes and translates the first of them; unic_xlate() translates
 * the others. Counts a use and @len bytes; counts each refusal. Returns 0, or
 * -UNIC_ESTAG, -UNIC_EPD (of another domain of the same process; a region of
 * another process gives -UNIC_ESTAG), -UNIC_ERIGHTS, -UNIC_EBOUNDS,
 * -UNIC_EEVICTED (only when all 32 bits match a region taken back),
 * -UNIC_ERELEASED (instead of -UNIC_ESTAG, when all 32 bits match a region of this
 * process that has ended, and whose STag its index still has); on error *out is
 * untouched. Regions of residency DEMAND and TABLE, and windows over
 * them, also have -UNIC_EMISS (all checks passed, a fault is open for the first
 * page, out->mr is the region, and nothing is counted) and -UNIC_ENOPAGE. Budget: 45 instructions on Cortex-A15
 * with a TLB hit.
 */
int unic_access(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		uint32_t need, uint64_t iova, uint32_t len,
		struct unic_xlate *out);

/**
 * unic_xlate() - translates @iova of region @mr, at most @len bytes.
 * For ranges that passed unic_access() at this poll or that hold a reference.
 * Returns 0; -UNIC_EEVICTED if the entry is gone (an operation that outlived its
 * region); -UNIC_EMISS, -UNIC_ENOPAGE (cache.h). On error *out is undefined.
 */
int unic_xlate(struct unic_memory *nic, uint16_t mr, uint64_t iova,
	       uint32_t len, struct unic_xlate *out);

/** unic_xlate_near() - unic_xlate() for callers with few free registers: entries
 * of residency RESIDENT only. Returns false if there is none; call unic_xlate()
 * then. */
bool unic_xlate_near(const struct unic_memory *nic, uint16_t mr, uint64_t iova,
		     uint32_t len, struct unic_xlate *out);

/**
 * unic_mr_check() - the access check (@len > 0) without use and translation, for
 * objects made of a range (tokens). Arguments and errors as unic_access().
 * Returns the region's index or the error, which is counted.
 */
int unic_mr_check(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		  uint32_t need, uint64_t iova, uint64_t len);

/** unic_xlate_cached() - unic_xlate_near() for regions whose entries are cached: the one of
 * @iova is used if it is on the NIC, and no fault is opened if it is not. Returns false if
 * it does not have all @len bytes. */
bool unic_xlate_cached(struct unic_memory *nic, uint16_t mr, uint64_t iova,
		       uint32_t len, struct unic_xlate *out);

/** unic_xlate_page() - writes the part of the page of @iova that belongs to region
 * @mr to *@out (translate.h). Returns false if @mr has no entry for it; then *@out
 * is undefined. */
bool unic_xlate_page(const struct unic_memory *nic,
		     const struct unic_mr_ctx *mr, uint64_t iova,
		     struct unic_xlate *out);

/* Slow path: @mr refused @stag, @pd or @need. Returns the error, counted. */
int unic_access_refused(struct unic_memory *nic, const struct unic_mr_ctx *mr,
			uint32_t stag, uint16_t pd, uint32_t need);

/*
 * The access lies outside the window of @mr, whose lock and rights passed: checks
 * the bounds, and makes the page the window. Otherwise as unic_access().
 */
int unic_access_page(struct unic_memory *nic, struct unic_mr_ctx *mr,
		     uint64_t iova, uint32_t len, struct unic_xlate *out);

/* True if STag and PD are right: one comparison for both, see struct
 * unic_mr_ctx. */
static inline bool unic_mr_opens(const struct unic_mr_ctx *mr, uint32_t stag,
				 uint16_t pd)
{
	return mr->lock == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT);
}

static inline bool unic_mr_grants(const struct unic_mr_ctx *mr, uint32_t need)
{
	return !(need & ~(uint32_t)mr->rights);
}

/*
 * True if all bytes lie in the window, given that the upper half of the address
 * matches. Wrap-safe: for an address outside, the distance to the window's end
 * exceeds its length.
 */
static inline bool unic_mr_in_window(const struct unic_mr_ctx *mr,
				     uint32_t iova, uint32_t len)
{
	uint32_t room = mr->win_end - iova;

	return room <= mr->win_bytes && len <= room;
}

/* The recorder of references looks at each use (make image-recorder). */
#ifndef UNIC_NOTE_USE
#define UNIC_NOTE_USE(nic, mr) ((void)0)
#endif

static inline void unic_mr_used(struct unic_memory *nic, struct unic_mr_ctx *mr,
				uint32_t len)
{
	UNIC_NOTE_USE(nic, mr);
	mr->uses++;
	if (unlikely(__builtin_add_overflow(mr->bytes, len, &mr->bytes)))
		mr->bytes_high++;
	mr->last_use_ns = nic->now_ns;
}

/* Takes back the statistics of an access check of @len bytes that was not used. */
static inline void unic_mr_not_used(struct unic_mr_ctx *mr, uint32_t len)
{
	mr->uses--;
	if (unlikely(__builtin_sub_overflow(mr->bytes, len, &mr->bytes)))
		mr->bytes_high--;
}

/* True if the entries of region @mr, or of that which window @mr is over, are cached: its
 * translation must not be kept beyond this poll. */
static inline bool unic_mr_cached_at(const struct unic_memory *nic, uint16_t mr)
{
	return unic_mr_cached(&nic->mrs.mr[mr]) ||
	       unic_mr_over_cached(&nic->mrs.mr[mr]);
}

/* True if nothing uses the region. LIVE tokens end when it drains, so the tokens
 * left are CLAIMED: each has a message in progress. Derived regions made of it
 * close with it, and leave it when they are idle. */
static inline bool unic_mr_idle(const struct unic_mr_ctx *mr)
{
	return !mr->holds && !mr->dmas && !mr->n_tokens && !mr->deps;
}

/* unic_access() without the call. */
static inline __attribute__((always_inline)) int
unic_access_inline(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		   uint32_t need, uint64_t iova, uint32_t len,
		   struct unic_xlate *out)
{
	uint32_t idx = stag >> UNIC_MR_IDX_SHIFT;
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	//@ assert apart: \separated(out, mr);
	UNIC_IN_REGISTER(mr);
	if (unlikely(!unic_mr_opens(mr, stag, pd) || !unic_mr_grants(mr, need)))
		return unic_access_refused(nic, mr, stag, pd, need);
	if (unlikely(mr->win_hi != (uint32_t)(iova >> 32) ||
		     !unic_mr_in_window(mr, (uint32_t)iova, len)))
		return unic_access_page(nic, mr, iova, len, out);
	out->bus = (uint64_t)mr->win_bus << 32 | (mr->win_add + (uint32_t)iova);
	out->len = len;
	out->mr = (uint16_t)idx;
	unic_mr_used(nic, mr, len);
	return 0;
}

#endif /* UNIC_ACCESS_H */
