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
#include "memory/table.h"
#include "unic_queue.h"

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

/*
 * The load whose words come later: the entries that it filled stay filled until the words
 * are there. unic_derived_load_forget() undoes them when a region that they come from changes.
 */
struct unic_derived_loading {
	struct unic_sge run[UNIC_TABLE_READS ? UNIC_FAST_RUNS : 1u];
	uint64_t last_ns;	     /* when it was last asked for */
	uint32_t n;		     /* runs; 0: there is none */
	uint16_t form, gen;	     /* which may have ended since */
	struct unic_table_read came; /* by unic_table_look(), good while busy */
};

/**
 * unic_derived_loads() - may a form of @kind, which is no window, be made of region @of, whose entries
 * are cached? A fast registration copies addresses into entries of its own, and those of a
 * list are good as long as the region is: its pages stay pinned. Those of a DEMAND
 * region are unpinned when their entries are dropped.
 */
bool unic_derived_loads(const struct unic_memory *nic, uint8_t kind,
			uint16_t of);

/**
 * unic_derived_load() - copies the bus addresses of the runs of @p, which are checked but
 * for the words of lists, into the entries of fast registration @mr, which is SHUT.
 * Returns 0; -UNIC_ENOPAGE as of unic_table_look(): no entry of @mr is filled, and p->wrong
 * is the run; -UNIC_EPENDING: call again with the same runs in the next round, and the load goes
 * on. One load goes on at a time: others wait until it ends, or was not called for 10 ms.
 */
int unic_derived_load(struct unic_memory *nic, struct unic_mr_ctx *mr,
		      struct unic_derived_plan *p);

/** unic_derived_load_init() - no load waits. */
void unic_derived_load_init(struct unic_memory *nic);

/**
 * unic_derived_load_forget() - the pages of region @mr change or end, or the list that
 * has their addresses does. A load that waits and has runs in @mr loses what it filled and
 * begins anew. Call it only while a load waits (loading.n).
 */
void unic_derived_load_forget(struct unic_memory *nic, uint16_t mr);

#endif /* UNIC_DERIVED_LOAD_H */
