/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* dma_mr.c - see dma_mr.h. */
#include "memory/dma_mr.h"

#include <string.h>

#include "memory/memory.h"
#include "memory/access.h"

/* Page size under which no entry is ever filled, see translate.h. */
#define NO_PAGES_SHIFT 31u

/*
 * IOVAs of lists have this bit, which no bus address has, and one list every 4
 * GiB from the region's first page on, so that their page numbers stay small.
 */
#define LISTED	   (1ull << 63)
#define LIST_SHIFT 32u
#define ALL_LISTS  (UINT32_MAX >> (32u - UNIC_DMA_MR_LISTS))

void unic_dma_mr_init(struct unic_memory *nic)
{
	nic->dma_mrs.used = 0;
}

/* ---------------------------------------------------------- registration */

int unic_dma_mr_check_args(const struct unic_memory *nic,
			   const struct unic_mr_args *a)
{
	uint64_t last = a->iova + (a->length - 1);

	if (a->pd >= UNIC_PDS || !nic->dma_mrs.pd[a->pd] ||
	    !unic_slot_live(&nic->base, nic->mrs.pd[a->pd].proc))
		return -UNIC_ENOPD;
	/* local use only, by queues and what they name: never a victim */
	if ((a->rights & ~(uint32_t)UNIC_MR_LOCAL_WRITE) ||
	    a->mr_class != UNIC_CLASS_CONTROL || a->flags || a->page_shift ||
	    a->n_pages || a->timeout_us)
		return -UNIC_EINVAL;
	if (!a->length || last < a->iova || (last & LISTED))
		return -UNIC_EINVAL;
	return a->length >> 32 ? -UNIC_ETOOLARGE : 0;
}

void unic_dma_mr_build(struct unic_memory *nic, const struct unic_mr_args *args,
		       struct unic_mr_result *out)
{
	struct unic_mr_args a = *args;

	a.page_shift = NO_PAGES_SHIFT;
	unic_mr_bare(nic, &a, UNIC_MR_F_PHYSICAL, out);
}

/* ----------------------------------------------------------- translation */

/* Offset of @iova from the region's first page, or from its first list. */
static uint64_t base_offset(const struct unic_mr_ctx *mr, uint64_t iova)
{
	return (iova & ~LISTED) -
	       (mr->iova & ~(uint64_t)((1u << NO_PAGES_SHIFT) - 1u));
}

static void xlate_list(const struct unic_memory *nic, uint64_t at,
		       struct unic_xlate *out)
{
	const uint64_t *bus = nic->dma_mrs.list[at >> LIST_SHIFT].bus;
	const uint32_t *len = nic->dma_mrs.list[at >> LIST_SHIFT].len;
	uint32_t off = (uint32_t)at;

	/* ends: the token's length is the sum of the pieces */
	for (; off >= *len; bus++, len++)
		off -= *len;
	*out = (struct unic_xlate){
		.bus = *bus + off,
		.before = off,
		.len = *len - off,
	};
}

void unic_dma_mr_xlate(const struct unic_memory *nic,
		       const struct unic_mr_ctx *mr, uint64_t iova,
		       struct unic_xlate *out)
{
	if (iova & LISTED) {
		xlate_list(nic, base_offset(mr, iova), out);
		return;
	}
	*out = (struct unic_xlate){
		.bus = iova,
		.before = (uint32_t)(iova - mr->iova),
		.len = (uint32_t)(mr->length - (iova - mr->iova)),
	};
}

/* ----------------------------------------------------------------- lists */

int unic_dma_mr_check(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		      const uint64_t *pieces, uint32_t n, uint32_t length)
{
	uint64_t sum = 0;
	uint32_t i;
	int mr = -UNIC_EINVAL;

	if (!nic->dma_mrs.pd[pd] || !n || n > UNIC_TOKEN_PIECES)
		return -UNIC_EINVAL;
	for (i = 0; i < n; i++) {
		const uint64_t *piece = &pieces[2 * i];

		/* a length above 32 bits means that reserved bits are set */
		if (!piece[1] || piece[1] >> 32)
			return -UNIC_EINVAL;
		mr = unic_mr_check(nic, stag, pd, UNIC_MR_LOCAL_WRITE, piece[0],
				   piece[1]);
		if (mr < 0)
			return mr;
		if (!unic_mr_physical(&nic->mrs.mr[mr]))
			return -UNIC_EINVAL;
		sum += piece[1];
	}
	if (sum != length)
		return -UNIC_EINVAL;
	return nic->dma_mrs.used == ALL_LISTS ? -UNIC_ETOKENFULL : mr;
}

uint64_t unic_dma_mr_list(struct unic_memory *nic, uint16_t mr,
			  const uint64_t *pieces, uint32_t n)
{
	struct unic_dma_mrs *p = &nic->dma_mrs;
	uint32_t i, at = (uint32_t)__builtin_ctz(~p->used);

	p->used |= 1u << at;
	for (i = 0; i < n; i++) {
		p->list[at].bus[i] = pieces[2 * i];
		p->list[at].len[i] = (uint32_t)pieces[2 * i + 1];
	}
	return LISTED | (nic->mrs.mr[mr].iova -
			 base_offset(&nic->mrs.mr[mr], nic->mrs.mr[mr].iova) +
			 ((uint64_t)at << LIST_SHIFT));
}

void unic_dma_mr_unlist(struct unic_memory *nic, uint16_t mr, uint64_t iova)
{
	const struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	if (unic_mr_physical(m) && (iova & LISTED))
		nic->dma_mrs.used &=
			~(1u << (base_offset(m, iova) >> LIST_SHIFT));
}

_Static_assert(UNIC_DMA_MR_LISTS <= 32, "a bit of a word for each list");
