/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * access.c - the one access check, translation, and the references that keep
 * a region in place (memory.md section 2). The NIC's hottest code.
 */
#include "nic.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

/* Spans of all regions fit 32 bits: as many 2 MiB pages as there are entries. */
#define SPAN32 (UNIC_TLB_ENTRIES <= 1024u)

/*
 * Off the straight path: which step refused. The same work for all of them, so
 * that a remote side learns nothing from the time it takes.
 */
static int refuse(struct unic_nic *nic, const struct unic_mr *mr, uint32_t stag,
		  uint16_t pd, uint32_t need)
{
	bool live = mr->stag == stag && (mr->state == UNIC_MR_ACTIVE ||
					 mr->state == UNIC_MR_NOTIFIED);
	bool taken = mr->stag == stag && mr->state >= UNIC_MR_DRAINING &&
		     !(mr->flags & UNIC_MR_F_GONE);

	if (taken) {
		UNIC_COUNT(nic, access_evicted);
		return -UNIC_EEVICTED;
	}
	if (!live) {
		UNIC_COUNT(nic, access_stag);
		return -UNIC_ESTAG;
	}
	if (mr->pd != pd) {
		UNIC_COUNT(nic, access_pd);
		return -UNIC_EPD;
	}
	if (need & ~(uint32_t)mr->rights) {
		UNIC_COUNT(nic, access_rights);
		return -UNIC_ERIGHTS;
	}
	UNIC_COUNT(nic, access_bounds);
	return -UNIC_EBOUNDS;
}

/* STag valid, PD, rights. One comparison for the first two: struct unic_mr. */
static inline bool opens(const struct unic_mr *mr, uint32_t stag, uint16_t pd,
			 uint32_t need)
{
	return mr->lock == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT) &&
	       !(need & ~(uint32_t)mr->rights);
}

/*
 * Bounds, for @len > 0. Wrap-safe: an iova below the region's makes an offset
 * above any length.
 */
static inline bool within(const struct unic_mr *mr, uint64_t iova, uint64_t len)
{
	uint64_t off = iova - mr->iova;

	if (SPAN32)
		return !(off >> 32) && (uint32_t)off < (uint32_t)mr->length &&
		       len <= (uint32_t)mr->length - (uint32_t)off;
	return off < mr->length && len <= mr->length - off;
}

/* Page of the region, and place in the page, of an address within it. */
struct spot {
	uint32_t page, in_page;
};

static inline struct spot spot_of(const struct unic_mr *mr, uint64_t iova)
{
	uint32_t from = (uint32_t)iova - mr->page0, shift = mr->page_shift;
	uint64_t off;

	if (SPAN32)
		return (struct spot){ from >> shift,
				      from - (from >> shift << shift) };
	off = iova - mr->iova + ((uint32_t)mr->iova - mr->page0);
	return (struct spot){ (uint32_t)(off >> shift),
			      (uint32_t)off & ((1u << shift) - 1u) };
}

static inline void answer(struct unic_piece *out, const struct unic_mr *mr,
			  uint16_t idx, const struct unic_tlb_entry *e,
			  uint32_t in_page, uint32_t len)
{
	uint32_t room = (1u << mr->page_shift) - in_page;

	out->bus = e->bus + in_page;
	out->len = len < room ? len : room;
	out->mr = idx;
}

static inline void used(struct unic_nic *nic, struct unic_mr *mr, uint32_t len)
{
	mr->uses++;
	mr->bytes += len;
	mr->last_use_ns = nic->now_ns;
}

int unic_xlate(struct unic_nic *nic, uint16_t mr, uint64_t iova, uint32_t len,
	       struct unic_piece *out)
{
	const struct unic_mr *m = &nic->mrs.mr[mr];
	const struct unic_tlb_entry *e;
	struct spot at;

	UNIC_IN_REGISTER(m);
	at = spot_of(m, iova);
	e = unic_tlb_hit(&nic->tlb, m->tlb_base, mr, at.page);
	if (unlikely(!e))
		return -UNIC_EEVICTED;
	answer(out, m, mr, e, at.in_page, len);
	return 0;
}

/* Refusals; and no bytes: all but the bounds is checked, nothing translated. */
static int __attribute__((noinline, cold))
access_refused(struct unic_nic *nic, uint32_t stag, uint16_t pd, uint32_t need,
	       uint64_t iova, uint32_t len, struct unic_piece *out)
{
	uint16_t idx = (uint16_t)(stag >> UNIC_MR_IDX_SHIFT);
	struct unic_mr *mr = &nic->mrs.mr[idx];

	(void)iova;
	if (len || !opens(mr, stag, pd, need))
		return refuse(nic, mr, stag, pd, need);
	*out = (struct unic_piece){ .mr = idx };
	used(nic, mr, 0);
	return 0;
}

/* The check passed; the translation is not the first of its chain. */
static int __attribute__((noinline, cold))
access_chained(struct unic_nic *nic, uint32_t idx, uint64_t iova, uint32_t len,
	       struct unic_piece *out)
{
	int err = unic_xlate(nic, (uint16_t)idx, iova, len, out);

	UNIC_ASSERT(nic, !err); /* accessible regions are filled (INV-2) */
	used(nic, &nic->mrs.mr[idx], len);
	return 0;
}

int unic_access(struct unic_nic *nic, uint32_t stag, uint16_t pd, uint32_t need,
		uint64_t iova, uint32_t len, struct unic_piece *out)
{
	uint32_t idx = stag >> UNIC_MR_IDX_SHIFT;
	struct unic_mr *mr = &nic->mrs.mr[idx];
	const struct unic_tlb *tlb = &nic->tlb;
	const struct unic_tlb_entry *e;
	struct spot at;

	UNIC_IN_REGISTER(mr);
	if (unlikely(!opens(mr, stag, pd, need) || !within(mr, iova, len)))
		return access_refused(nic, stag, pd, need, iova, len, out);
	at = spot_of(mr, iova);
	UNIC_IN_REGISTER(tlb);
	e = unic_tlb_first(tlb, mr->tlb_base, at.page);
	if (unlikely(e->tag != UNIC_TLB_TAG(idx, at.page)))
		return access_chained(nic, idx, iova, len, out);
	answer(out, mr, (uint16_t)idx, e, at.in_page, len);
	used(nic, mr, len);
	return 0;
}

int unic_mr_check(struct unic_nic *nic, uint32_t stag, uint16_t pd,
		  uint32_t need, uint64_t iova, uint64_t len)
{
	uint16_t idx = (uint16_t)(stag >> UNIC_MR_IDX_SHIFT);
	struct unic_mr *mr = &nic->mrs.mr[idx];

	if (!opens(mr, stag, pd, need) || !within(mr, iova, len))
		return refuse(nic, mr, stag, pd, need);
	return idx;
}

/* ----------------------------------------------------------- references */

static void dropped(struct unic_nic *nic, uint16_t mr)
{
	const struct unic_mr *m = &nic->mrs.mr[mr];

	if (unlikely(m->state == UNIC_MR_DRAINING) && !m->holds && !m->dmas)
		unic_evict_idle(nic, mr);
}

void unic_mr_hold(struct unic_nic *nic, uint16_t mr)
{
	nic->mrs.mr[mr].holds++;
	UNIC_ASSERT(nic, nic->mrs.mr[mr].holds); /* no wrap */
}

void unic_mr_unhold(struct unic_nic *nic, uint16_t mr)
{
	UNIC_ASSERT(nic, nic->mrs.mr[mr].holds);
	nic->mrs.mr[mr].holds--;
	dropped(nic, mr);
}

void unic_mr_dma_get(struct unic_nic *nic, uint16_t mr)
{
	nic->mrs.mr[mr].dmas++;
	UNIC_ASSERT(nic, nic->mrs.mr[mr].dmas); /* no wrap */
}

void unic_mr_dma_put(struct unic_nic *nic, uint16_t mr)
{
	UNIC_ASSERT(nic, nic->mrs.mr[mr].dmas);
	nic->mrs.mr[mr].dmas--;
	dropped(nic, mr);
}

void unic_mr_queue_get(struct unic_nic *nic, uint16_t mr)
{
	nic->mrs.mr[mr].queues++;
	UNIC_ASSERT(nic, nic->mrs.mr[mr].queues); /* no wrap */
}

void unic_mr_queue_put(struct unic_nic *nic, uint16_t mr)
{
	UNIC_ASSERT(nic, nic->mrs.mr[mr].queues);
	nic->mrs.mr[mr].queues--;
}
