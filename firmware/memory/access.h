/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * access.h - the straight path of the one access check (mr.h, unic_access()),
 * for callers that cannot afford the call: the fast lane of the transport.
 * unic_access() is this and nothing else, so there is one check.
 *
 * Included behind nic.h.
 */
#ifndef UNIC_ACCESS_H
#define UNIC_ACCESS_H

#include "memory/memory.h"
#include "memory/translate.h"

/* Spans of all regions fit 32 bits: as many 2 MiB pages as there are entries. */
#define UNIC_SPAN32 (UNIC_TLB_ENTRIES <= 1024u)

/**
 * unic_access() - THE access check (MEMORY.md section 2; siw's order): STag
 * valid, PD, rights, bounds - then the translation of the first piece.
 * @stag: lkey or rkey.
 * @pd:   the queue's protection domain.
 * @need: enum unic_mr_rights that all must be granted; 0 = local read.
 * @iova: first byte, @len: bytes (0 allowed: then STag, PD and rights are
 *        checked, out->len is 0).
 *
 * Checks all @len bytes; translates only the first piece, and the caller goes
 * on with unic_xlate(). Counts a use and @len bytes; counts each refusal.
 * Returns 0, or -UNIC_ESTAG, -UNIC_EPD (of another domain of the same process;
 * a region of another process is as good as none), -UNIC_ERIGHTS, -UNIC_EBOUNDS,
 * -UNIC_EEVICTED (only when all 32 bits match a region taken back); on error
 * *out is untouched. Regions of residency DEMAND and TABLE also have
 * -UNIC_EMISS: all checks passed, the first page is not on the NIC but asked for,
 * out->mr is the region and nothing is counted; and -UNIC_ENOPAGE.
 * Budget: 45 instructions on Cortex-A15 with a TLB hit.
 */
int unic_access(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		uint32_t need, uint64_t iova, uint32_t len,
		struct unic_piece *out);

/**
 * unic_xlate() - the piece of region @mr that starts at @iova, @len bytes at
 * most. For ranges that unic_access() let through at this poll or that hold a
 * reference.
 * Returns 0; -UNIC_EEVICTED if the entry is gone (an operation that outlived
 * its region); -UNIC_EMISS, -UNIC_ENOPAGE (cache.h); then *out is undefined.
 */
int unic_xlate(struct unic_memory *nic, uint16_t mr, uint64_t iova,
	       uint32_t len, struct unic_piece *out);

/** unic_xlate_near() - the same for those whose registers are dear: entries of
 * residency RESIDENT only. False: there is none, ask unic_xlate(). */
bool unic_xlate_near(const struct unic_memory *nic, uint16_t mr, uint64_t iova,
		     uint32_t len, struct unic_piece *out);

/**
 * unic_mr_check() - the access check (@len > 0) without use and translation, for objects
 * that are made of a range (tokens). Arguments and errors as unic_access().
 * Returns the region's index or the error, counted.
 */
int unic_mr_check(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		  uint32_t need, uint64_t iova, uint64_t len);

/** unic_access_spot() - the spot (translate.h) of @iova, if @mr has an entry for it. */
bool unic_access_spot(const struct unic_memory *nic,
		      const struct unic_mr_ctx *mr, uint64_t iova,
		      struct unic_spot *out);

/* Off the straight path: no STag, PD or right opens @mr. The error, counted. */
int unic_access_refused(struct unic_memory *nic, const struct unic_mr_ctx *mr,
			uint32_t stag, uint16_t pd, uint32_t need);

/*
 * Beside the window of @mr, which opened: bounds, then another page, which
 * becomes the window. Otherwise as unic_access().
 */
int unic_access_page(struct unic_memory *nic, struct unic_mr_ctx *mr,
		     uint64_t iova, uint32_t len, struct unic_piece *out);

/* STag valid, PD. One comparison for both: struct unic_mr_ctx. */
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
 * Does all of it lie in the window, if the upper half of the address fits?
 * Wrap-safe: behind the window and before it, more bytes are left to its end
 * than it has.
 */
static inline bool unic_mr_in_window(const struct unic_mr_ctx *mr,
				     uint32_t iova, uint32_t len)
{
	uint32_t room = mr->win_end - iova;

	return room <= mr->win_bytes && len <= room;
}

static inline void unic_mr_used(struct unic_memory *nic, struct unic_mr_ctx *mr,
				uint32_t len)
{
	mr->uses++;
	if (unlikely(__builtin_add_overflow(mr->bytes, len, &mr->bytes)))
		mr->bytes_high++;
	mr->last_use_ns = nic->now_ns;
}

/* An access check of @len bytes that nothing came of. */
static inline void unic_mr_not_used(struct unic_mr_ctx *mr, uint32_t len)
{
	mr->uses--;
	if (unlikely(__builtin_sub_overflow(mr->bytes, len, &mr->bytes)))
		mr->bytes_high--;
}

/* Are the entries of region @mr cached ones? Then nothing may be kept of their
 * translation beyond this poll. */
static inline bool unic_mr_cached_at(const struct unic_memory *nic, uint16_t mr)
{
	return unic_mr_cached(&nic->mrs.mr[mr]);
}

/* Nobody uses it. LIVE tokens end when it drains, so those left are CLAIMED: a
 * message is on its way through each. Forms made of it close with it, and leave
 * it when they are idle. */
static inline bool unic_mr_idle(const struct unic_mr_ctx *mr)
{
	return !mr->holds && !mr->dmas && !mr->n_tokens && !mr->deps;
}

/* unic_access() without the call. */
static inline __attribute__((always_inline)) int
unic_access_inline(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		   uint32_t need, uint64_t iova, uint32_t len,
		   struct unic_piece *out)
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
