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

#include "nic.h"

#define UNIC_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Spans of all regions fit 32 bits: as many 2 MiB pages as there are entries. */
#define UNIC_SPAN32 (UNIC_TLB_ENTRIES <= 1024u)

/* Off the straight path; as unic_access(). */
int unic_access_refused(struct unic_nic *nic, uint32_t stag, uint16_t pd,
			uint32_t need, uint64_t iova, uint32_t len,
			struct unic_piece *out);
int unic_access_chained(struct unic_nic *nic, uint32_t idx, uint64_t iova,
			uint32_t len, struct unic_piece *out);

/* STag valid, PD, rights. One comparison for the first two: struct unic_mr. */
static inline bool unic_mr_opens(const struct unic_mr *mr, uint32_t stag,
				 uint16_t pd, uint32_t need)
{
	return mr->lock == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT) &&
	       !(need & ~(uint32_t)mr->rights);
}

/*
 * Bounds, for @len > 0. Wrap-safe: an iova below the region's makes an offset
 * above any length.
 */
static inline bool unic_mr_within(const struct unic_mr *mr, uint64_t iova,
				  uint64_t len)
{
	uint64_t off = iova - mr->iova;

	if (UNIC_SPAN32)
		return !(off >> 32) && (uint32_t)off < (uint32_t)mr->length &&
		       len <= (uint32_t)mr->length - (uint32_t)off;
	return off < mr->length && len <= mr->length - off;
}

/* Page of the region, and place in the page, of an address within it. */
struct unic_spot {
	uint32_t page, in_page;
};

static inline struct unic_spot unic_mr_spot(const struct unic_mr *mr,
					    uint64_t iova)
{
	uint32_t from = (uint32_t)iova - mr->page0, shift = mr->page_shift;
	uint64_t off;

	if (UNIC_SPAN32)
		return (struct unic_spot){ from >> shift,
					   from - (from >> shift << shift) };
	off = iova - mr->iova + ((uint32_t)mr->iova - mr->page0);
	return (struct unic_spot){ (uint32_t)(off >> shift),
				   (uint32_t)off & ((1u << shift) - 1u) };
}

static inline void unic_mr_answer(struct unic_piece *out,
				  const struct unic_mr *mr, uint16_t idx,
				  const struct unic_tlb_entry *e,
				  uint32_t in_page, uint32_t len)
{
	uint32_t room = (1u << mr->page_shift) - in_page;

	out->bus = e->bus + in_page;
	out->len = len < room ? len : room;
	out->mr = idx;
}

static inline void unic_mr_used(struct unic_nic *nic, struct unic_mr *mr,
				uint32_t len)
{
	mr->uses++;
	mr->bytes += len;
	mr->last_use_ns = nic->now_ns;
}

/* unic_access() without the call. */
static inline __attribute__((always_inline)) int
unic_access_inline(struct unic_nic *nic, uint32_t stag, uint16_t pd,
		   uint32_t need, uint64_t iova, uint32_t len,
		   struct unic_piece *out)
{
	uint32_t idx = stag >> UNIC_MR_IDX_SHIFT;
	struct unic_mr *mr = &nic->mrs.mr[idx];
	const struct unic_tlb *tlb = &nic->tlb;
	const struct unic_tlb_entry *e;
	struct unic_spot at;

	UNIC_IN_REGISTER(mr);
	if (UNIC_UNLIKELY(!unic_mr_opens(mr, stag, pd, need) ||
			  !unic_mr_within(mr, iova, len)))
		return unic_access_refused(nic, stag, pd, need, iova, len, out);
	at = unic_mr_spot(mr, iova);
	UNIC_IN_REGISTER(tlb);
	e = unic_tlb_first(tlb, mr->tlb_base, at.page);
	if (UNIC_UNLIKELY(e->tag != UNIC_TLB_TAG(idx, at.page)))
		return unic_access_chained(nic, idx, iova, len, out);
	unic_mr_answer(out, mr, (uint16_t)idx, e, at.in_page, len);
	unic_mr_used(nic, mr, len);
	return 0;
}

#endif /* UNIC_ACCESS_H */
