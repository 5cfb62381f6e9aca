/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dma_mr.h - host memory that is named by its bus address and takes no TLB entry
 * (MEMORY.md sections 1, 7 and 8), for the queues, messages and transfers of the
 * driver only.
 *
 * Secret: how a physical address passes for a translated one. A region of
 * residency PHYSICAL is a range of bus addresses whose IOVAs are these addresses.
 * It has no entries, so the fast path of the access check finds none and comes
 * here, as for derived regions (translate.h). The whole range then becomes the
 * region's window, so that a second access costs the same as in any region. Up to
 * 16 pieces of such a region form the buffer of a token; they have IOVAs of their
 * own outside the region, so that no work request can name them.
 *
 * Trust: only the driver allocates a physical protection domain, and gives it to
 * none of its processes; the region's rights are local. The port refuses
 * addresses that lie in no window of host memory.
 */
#ifndef UNIC_DMA_MR_H
#define UNIC_DMA_MR_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/mr.h"
#include "memory/translate.h"

struct unic_dma_mrs {
	struct {
		uint64_t bus[UNIC_TOKEN_PIECES];
		uint32_t len[UNIC_TOKEN_PIECES];
	} list[UNIC_DMA_MR_LISTS];
	uint32_t used;	   /* a bit for each list in use */
	bool pd[UNIC_PDS]; /* the domain has UNIC_PD_PHYSICAL */
};

static inline bool unic_mr_physical(const struct unic_mr_ctx *mr)
{
	return mr->flags & UNIC_MR_F_PHYSICAL;
}

/** unic_dma_mr_init() - no list is in use. */
void unic_dma_mr_init(struct unic_memory *nic);

/** unic_dma_mr_check_args() - checks @a for residency PHYSICAL. Returns 0,
 * -UNIC_ENOPD (not a physical domain of a live process), -UNIC_EINVAL,
 * -UNIC_ETOOLARGE. */
int unic_dma_mr_check_args(const struct unic_memory *nic,
			   const struct unic_mr_args *a);

/** unic_dma_mr_build() - makes the region of the checked @args; ACTIVE at once. */
void unic_dma_mr_build(struct unic_memory *nic, const struct unic_mr_args *args,
		       struct unic_mr_result *out);

/** unic_dma_mr_xlate() - unic_xlate_run() for the physical region @mr: @iova lies
 * in it or in a list of one of its tokens. */
void unic_dma_mr_xlate(const struct unic_memory *nic,
		       const struct unic_mr_ctx *mr, uint64_t iova,
		       struct unic_xlate *out);

/**
 * unic_dma_mr_check() - may @n pieces, two words each (struct unic_token_piece),
 * of region @stag be a buffer of @length bytes? Returns the region's index;
 * -UNIC_EINVAL (the region or its PD is not physical; no piece, too many, an
 * empty one, or a sum other than @length); the errors of unic_access() for each
 * piece; -UNIC_ETOKENFULL if no list is free.
 */
int unic_dma_mr_check(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		      const uint64_t *pieces, uint32_t n, uint32_t length);

/** unic_dma_mr_list() - stores checked pieces of region @mr in a free list.
 * Returns the IOVA of their first byte. */
uint64_t unic_dma_mr_list(struct unic_memory *nic, uint16_t mr,
			  const uint64_t *pieces, uint32_t n);

/** unic_dma_mr_unlist() - the token at @iova of region @mr has ended: frees its
 * list. No effect if the token is a range of the region. */
void unic_dma_mr_unlist(struct unic_memory *nic, uint16_t mr, uint64_t iova);

#endif /* UNIC_DMA_MR_H */
