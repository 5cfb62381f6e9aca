/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* derived_load.c - see derived_load.h. */
#include "memory/derived_load.h"

#include <string.h>

#include "memory/memory.h"
#include "memory/translate.h"

#define COLD __attribute__((noinline, cold))

#define GIVEN_UP_NS 10000000u /* a load that waits is called in each round */

COLD bool unic_derived_loads(const struct unic_memory *nic, uint8_t kind,
			     uint16_t of)
{
	return UNIC_TABLE_READS && kind == UNIC_FORM_FAST &&
	       !nic->cache.of[of].demand;
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

/* Fills entries of @mr with the pages of @run, but for the first *@skip, which is counted
 * down. */
static int load_run(struct unic_memory *nic, struct unic_mr_ctx *mr,
		    const struct unic_sge *run, uint32_t *skip,
		    struct unic_table_read **group)
{
	uint32_t in_page = (1u << mr->page_shift) - 1u;
	uint32_t left = count_run_pages(run, in_page, mr->page_shift);
	uint64_t from = unic_from_le64(run->iova), bus;
	int err;

	for (; left; left--, from = (from | in_page) + 1) {
		if (*skip) {
			--*skip;
			continue;
		}
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

/* ------------------------------------------------------- loads that wait */

/* The registration that the load fills has not ended: neither its index nor its entries are
 * of something else. (Once it is made, no load waits.) */
static bool is_waiting(const struct unic_memory *nic)
{
	const struct unic_derived_loading *l = &nic->loading;
	const struct unic_mr_ctx *mr = &nic->mrs.mr[l->form];

	return l->n && mr->gen == l->gen && mr->state != UNIC_MR_FREE &&
	       mr->state < UNIC_MR_DRAINING;
}

static bool is_given_up(const struct unic_memory *nic)
{
	return nic->now_ns - nic->loading.last_ns >= GIVEN_UP_NS;
}

static bool goes_on(const struct unic_memory *nic, uint16_t idx,
		    const struct unic_derived_plan *p)
{
	const struct unic_derived_loading *l = &nic->loading;

	return l->n == p->n && l->form == idx &&
	       !memcmp(l->run, p->list, p->n * sizeof(l->run[0]));
}

/* Afterwards no load waits, and no words are kept for one. */
static void end_load(struct unic_memory *nic)
{
	nic->loading.n = 0;
	nic->loading.came.busy = false;
}

static void drop_load(struct unic_memory *nic)
{
	if (is_waiting(nic))
		unic_mr_unfill(nic, nic->loading.form);
	end_load(nic);
}

static void wait_for_words(struct unic_memory *nic, uint16_t idx,
			   const struct unic_derived_plan *p)
{
	struct unic_derived_loading *l = &nic->loading;

	l->form = idx;
	l->gen = nic->mrs.mr[idx].gen;
	l->n = p->n;
	l->last_ns = nic->now_ns;
	memcpy(l->run, p->list, p->n * sizeof(l->run[0]));
}

void unic_derived_load_init(struct unic_memory *nic)
{
	memset(&nic->loading, 0, sizeof(nic->loading));
}

COLD void unic_derived_load_forget(struct unic_memory *nic, uint16_t mr)
{
	struct unic_derived_loading *l = &nic->loading;
	uint32_t i;

	l->came.busy &= l->came.mr != mr;
	for (i = 0; i < l->n; i++)
		if (unic_from_le32(l->run[i].lkey) >> UNIC_MR_IDX_SHIFT == mr)
			drop_load(nic);
}

COLD int unic_derived_load(struct unic_memory *nic, struct unic_mr_ctx *mr,
			   struct unic_derived_plan *p)
{
	uint16_t idx = (uint16_t)(mr->stag >> UNIC_MR_IDX_SHIFT);
	struct unic_table_read *group = NULL;
	uint32_t skip;
	int err = 0;

	if (!goes_on(nic, idx, p) &&
	    (nic->loading.form == idx || is_given_up(nic)))
		drop_load(nic);
	if (nic->loading.form != idx && is_waiting(nic))
		return -UNIC_EPENDING; /* it reads nothing: words are kept for one */
	skip = mr->filled;
	for (p->wrong = 0; p->wrong < p->n && !err; p->wrong++)
		err = load_run(nic, mr, &p->list[p->wrong], &skip, &group);
	UNIC_ASSERT(nic, mr->filled <= mr->n_pages); /* INV-2 */
	p->wrong = err ? p->wrong - 1u : 0;
	if (err == -UNIC_EAGAIN) {
		wait_for_words(nic, idx, p);
		return -UNIC_EPENDING;
	}
	if (err)
		unic_mr_unfill(nic, idx);
	if (nic->loading.form == idx)
		end_load(nic);
	return err;
}
