/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cq_place.h - where the records of a completion queue are, for the files that write them
 * (cq.c, fastpath_lone.c).
 */
#ifndef UNIC_CQ_PLACE_H
#define UNIC_CQ_PLACE_H

#include <stdint.h>

#include "transport/transport.h"

#define UNIC_CQE_BYTES	   ((uint32_t)sizeof(struct unic_cqe))
#define UNIC_CQ_PAGE_SHIFT 12u /* no region has smaller pages */
#define UNIC_CQ_PAGE_MASK  ((1u << UNIC_CQ_PAGE_SHIFT) - 1u)

/** unic_cqe_offset() - where record @n is, in bytes from the start of the first page on. */
static inline uint32_t unic_cqe_offset(const struct unic_cq_ctx *cq, uint32_t n)
{
	return ((uint32_t)cq->iova & UNIC_CQ_PAGE_MASK) +
	       (n & cq->mask) * UNIC_CQE_BYTES;
}

/** unic_cq_place_one() - as unic_cq_window() of one record, for queues in the simplest
 * state: not in error, not full as last seen, on a page that was translated. NULL: it is
 * not, or the port has no window; unic_cq_post() knows more. */
static inline struct unic_cqe *unic_cq_place_one(struct unic_transport *nic,
						 const struct unic_cq_ctx *cq)
{
	uint32_t at = unic_cqe_offset(cq, cq->tail);

	if (unlikely(cq->error || cq->tail - cq->ci > cq->mask ||
		     at >> UNIC_CQ_PAGE_SHIFT != cq->page))
		return NULL;
	return unic_port_window(nic->port,
				cq->page_bus + (at & UNIC_CQ_PAGE_MASK),
				UNIC_CQE_BYTES);
}

#endif /* UNIC_CQ_PLACE_H */
