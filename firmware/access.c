/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * access.c - the one access check, translation, and the references that keep
 * a region in place (memory.md section 2). The NIC's hottest code.
 */
#include "access.h"
#include "nic.h"

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

int unic_xlate(struct unic_nic *nic, uint16_t mr, uint64_t iova, uint32_t len,
	       struct unic_piece *out)
{
	const struct unic_mr *m = &nic->mrs.mr[mr];
	const struct unic_tlb_entry *e;
	struct unic_spot at;

	UNIC_IN_REGISTER(m);
	at = unic_mr_spot(m, iova);
	e = unic_tlb_hit(&nic->tlb, m->tlb_base, mr, at.page);
	if (UNIC_UNLIKELY(!e))
		return -UNIC_EEVICTED;
	unic_mr_answer(out, m, mr, e, at.in_page, len);
	return 0;
}

/* Refusals; and no bytes: all but the bounds is checked, nothing translated. */
int __attribute__((noinline, cold))
unic_access_refused(struct unic_nic *nic, uint32_t stag, uint16_t pd,
		    uint32_t need, uint64_t iova, uint32_t len,
		    struct unic_piece *out)
{
	uint16_t idx = (uint16_t)(stag >> UNIC_MR_IDX_SHIFT);
	struct unic_mr *mr = &nic->mrs.mr[idx];

	(void)iova;
	if (len || !unic_mr_opens(mr, stag, pd, need))
		return refuse(nic, mr, stag, pd, need);
	*out = (struct unic_piece){ .mr = idx };
	unic_mr_used(nic, mr, 0);
	return 0;
}

/* The check passed; the translation is not the first of its chain. */
int __attribute__((noinline, cold))
unic_access_chained(struct unic_nic *nic, uint32_t idx, uint64_t iova,
		    uint32_t len, struct unic_piece *out)
{
	int err = unic_xlate(nic, (uint16_t)idx, iova, len, out);

	UNIC_ASSERT(nic, !err); /* accessible regions are filled (INV-2) */
	unic_mr_used(nic, &nic->mrs.mr[idx], len);
	return 0;
}

int unic_access(struct unic_nic *nic, uint32_t stag, uint16_t pd, uint32_t need,
		uint64_t iova, uint32_t len, struct unic_piece *out)
{
	return unic_access_inline(nic, stag, pd, need, iova, len, out);
}

int unic_mr_check(struct unic_nic *nic, uint32_t stag, uint16_t pd,
		  uint32_t need, uint64_t iova, uint64_t len)
{
	uint16_t idx = (uint16_t)(stag >> UNIC_MR_IDX_SHIFT);
	struct unic_mr *mr = &nic->mrs.mr[idx];

	if (!unic_mr_opens(mr, stag, pd, need) ||
	    !unic_mr_within(mr, iova, len))
		return refuse(nic, mr, stag, pd, need);
	return idx;
}

/* ----------------------------------------------------------- references */

static void dropped(struct unic_nic *nic, uint16_t mr)
{
	const struct unic_mr *m = &nic->mrs.mr[mr];

	if (UNIC_UNLIKELY(m->state == UNIC_MR_DRAINING) && !m->holds &&
	    !m->dmas)
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
