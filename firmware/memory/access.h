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

/* Spans of all regions fit 32 bits: as many 2 MiB pages as there are entries. */
#define UNIC_SPAN32 (UNIC_TLB_ENTRIES <= 1024u)

/* Off the straight path: no STag, PD or right opens @mr. The error, counted. */
int unic_access_refused(struct unic_memory *nic, const struct unic_mr *mr,
			uint32_t stag, uint16_t pd, uint32_t need);

/*
 * Beside the window of @mr, which opened: bounds, then another page, which
 * becomes the window. Otherwise as unic_access().
 */
int unic_access_page(struct unic_memory *nic, struct unic_mr *mr, uint64_t iova,
		     uint32_t len, struct unic_piece *out);

/* STag valid, PD. One comparison for both: struct unic_mr. */
static inline bool unic_mr_opens(const struct unic_mr *mr, uint32_t stag,
				 uint16_t pd)
{
	return mr->lock == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT);
}

static inline bool unic_mr_grants(const struct unic_mr *mr, uint32_t need)
{
	return !(need & ~(uint32_t)mr->rights);
}

/*
 * Does all of it lie in the window, if the upper half of the address fits?
 * Wrap-safe: behind the window and before it, more bytes are left to its end
 * than it has.
 */
static inline bool unic_mr_in_window(const struct unic_mr *mr, uint32_t iova,
				     uint32_t len)
{
	uint32_t room = mr->win_end - iova;

	return room <= mr->win_bytes && len <= room;
}

static inline void unic_mr_used(struct unic_memory *nic, struct unic_mr *mr,
				uint32_t len)
{
	mr->uses++;
	if (unlikely(__builtin_add_overflow(mr->bytes, len, &mr->bytes)))
		mr->bytes_high++;
	mr->last_use_ns = nic->now_ns;
}

/* An access check of @len bytes that nothing came of. */
static inline void unic_mr_not_used(struct unic_mr *mr, uint32_t len)
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
static inline bool unic_mr_idle(const struct unic_mr *mr)
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
	struct unic_mr *mr = &nic->mrs.mr[idx];

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
