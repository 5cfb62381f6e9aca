/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * derived_load.h - the pages of a fast registration, of which some have no entries.
 *
 * Secret: how the words of a translation list (table.h) become entries of a fast
 * registration.
 */
#ifndef UNIC_DERIVED_LOAD_H
#define UNIC_DERIVED_LOAD_H

#include "memory/derived.h"
#include "memory/mr.h"

/*
 * Number of pages that a run touches; @in_page is the page size - 1. Counted,
 * because the end of a run may be 2^64, which is not an address.
 */
static inline uint32_t count_run_pages(const struct unic_sge *run,
				       uint32_t in_page, uint32_t shift)
{
	uint32_t before = (uint32_t)unic_from_le64(run->iova) & in_page;
	uint32_t behind = unic_from_le32(run->len) - 1u;

	return (behind >> shift) + ((before + (behind & in_page)) >> shift) +
	       1u;
}

/**
 * unic_derived_loads() - are the entries of region @of cached, and may a form of @kind be
 * made of it all the same? A fast registration copies addresses into entries of its own, and those of a
 * list are good as long as the region is: its pages stay pinned. Those of a DEMAND
 * region are unpinned when their entries are dropped.
 */
bool unic_derived_loads(const struct unic_memory *nic, uint8_t kind,
			uint16_t of);

/**
 * unic_derived_load() - copies the bus addresses of the runs of @p, which are checked but
 * for the words of lists, into the entries of fast registration @mr, which is SHUT.
 * Returns 0; or -UNIC_ENOPAGE, -UNIC_EAGAIN as of unic_table_look(): no entry of @mr is
 * filled, and p->wrong is the run.
 */
int unic_derived_load(struct unic_memory *nic, struct unic_mr_ctx *mr,
		      struct unic_derived_plan *p);

#endif /* UNIC_DERIVED_LOAD_H */
