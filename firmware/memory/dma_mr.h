/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dma_mr.h - host memory that is named by its bus address and takes no entry of
 * the TLB (MEMORY.md sections 1, 7 and 8): for the driver's own queues, messages
 * and transfers, and for nobody else.
 *
 * Secret: how a physical address passes for a translated one. A region of
 * residency PHYSICAL is a range of bus addresses whose IOVAs are those addresses;
 * it has no entries, so the straight path of the access check never finds one and
 * comes here, as it does for forms (translate.h). What was found becomes the region's
 * window, all of the range at once, so that a second access costs what it does in
 * any region. Up to 16 pieces of such a region make the buffer of a token; they
 * have IOVAs of their own, which lie outside the region, so that no work request
 * can name them.
 *
 * Trust: only the driver allocates a physical protection domain, and gives it to
 * none of its processes; the region's rights are local. The port refuses what lies
 * in no window of host memory.
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
	uint32_t used;	   /* bit per list */
	bool pd[UNIC_PDS]; /* UNIC_PD_PHYSICAL */
};

static inline bool unic_mr_physical(const struct unic_mr_ctx *mr)
{
	return mr->flags & UNIC_MR_F_PHYSICAL;
}

/** unic_dma_mr_init() - no list is used. */
void unic_dma_mr_init(struct unic_memory *nic);

/** unic_dma_mr_check_args() - may there be such a region? 0, -UNIC_ENOPD (not a
 * physical domain of a live process), -UNIC_EINVAL, -UNIC_ETOOLARGE. */
int unic_dma_mr_check_args(const struct unic_memory *nic,
			   const struct unic_mr_args *a);

/** unic_dma_mr_build() - make the checked region @args; ACTIVE at once. */
void unic_dma_mr_build(struct unic_memory *nic, const struct unic_mr_args *args,
		       struct unic_mr_result *out);

/** unic_dma_mr_spot() - the spot of @iova, in the physical region @mr or in a
 * list of one of its tokens. */
void unic_dma_mr_spot(const struct unic_memory *nic,
		      const struct unic_mr_ctx *mr, uint64_t iova,
		      struct unic_spot *out);

/**
 * unic_dma_mr_check() - may @n pieces, two words each (struct
 * unic_token_piece), of region @stag make a buffer of @length bytes?
 * The region's index; -UNIC_EINVAL (it, or its PD, is not physical; no piece, too
 * many, an empty one, or their sum is not @length), the errors of unic_access() for any
 * of them, -UNIC_ETOKENFULL if there is no list left.
 */
int unic_dma_mr_check(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		      const uint64_t *pieces, uint32_t n, uint32_t length);

/** unic_dma_mr_list() - take a list for checked pieces of region @mr. Returns
 * the IOVA of their first byte. */
uint64_t unic_dma_mr_list(struct unic_memory *nic, uint16_t mr,
			  const uint64_t *pieces, uint32_t n);

/** unic_dma_mr_unlist() - the token at @iova of region @mr has ended; no effect
 * if it is a range of the region. */
void unic_dma_mr_unlist(struct unic_memory *nic, uint16_t mr, uint64_t iova);

#endif /* UNIC_DMA_MR_H */
