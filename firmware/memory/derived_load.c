/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* derived_load.c - see derived_load.h. */
#include "memory/derived_load.h"

#include "memory/memory.h"
#include "memory/translate.h"

#define COLD __attribute__((noinline, cold))

COLD bool unic_derived_loads(const struct unic_memory *nic, uint8_t kind,
			     uint16_t of)
{
	return UNIC_TABLE_READS && kind == UNIC_FORM_FAST &&
	       unic_mr_cached(&nic->mrs.mr[of]) && !nic->cache.of[of].demand;
}

/* Writes the bus address of byte @from of region @of to *@bus. Returns 0, or the error of
 * unic_table_look(), which *@group is of. */
static int find_address(struct unic_memory *nic, uint16_t of, uint64_t from,
			struct unic_table_read **group, uint64_t *bus)
{
	const struct unic_mr_ctx *m = &nic->mrs.mr[of];
	uint32_t shift = m->page_shift;
	struct unic_xlate at;
	int r;

	if (unic_mr_cached(m)) {
		r = unic_table_look(
			nic, of,
			(uint32_t)((from >> shift) - (m->iova >> shift)), group,
			bus);
		*bus |= from & ((1u << shift) - 1u);
		return r;
	}
	UNIC_ASSERT(nic,
		    unic_xlate_run(nic, of, from, &at)); /* it is resident */
	*bus = at.bus;
	return 0;
}

static int load_run(struct unic_memory *nic, struct unic_mr_ctx *mr,
		    const struct unic_sge *run, struct unic_table_read **group)
{
	uint32_t in_page = (1u << mr->page_shift) - 1u;
	uint32_t left = count_run_pages(run, in_page, mr->page_shift);
	uint64_t from = unic_from_le64(run->iova), bus;
	int err;

	for (; left; left--, from = (from | in_page) + 1) {
		err = find_address(nic,
				   (uint16_t)(unic_from_le32(run->lkey) >>
					      UNIC_MR_IDX_SHIFT),
				   from, group, &bus);
		if (err)
			return err;
		unic_tlb_fill(&nic->tlb, mr->tlb_base, mr->filled++,
			      bus & ~(uint64_t)in_page);
	}
	return 0;
}

COLD int unic_derived_load(struct unic_memory *nic, struct unic_mr_ctx *mr,
			   struct unic_derived_plan *p)
{
	struct unic_table_read *group = NULL;
	int err = 0;

	for (p->wrong = 0; p->wrong < p->n && !err; p->wrong++)
		err = load_run(nic, mr, &p->list[p->wrong], &group);
	UNIC_ASSERT(nic, mr->filled <= mr->n_pages); /* INV-2 */
	p->wrong = err ? p->wrong - 1u : 0;
	if (err)
		unic_mr_unfill(nic, (uint16_t)(mr->stag >> UNIC_MR_IDX_SHIFT));
	return err;
}
