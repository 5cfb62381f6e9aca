/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cached_window.c - see cached_window.h. */
#include "memory/cached_window.h"

#include "memory/memory.h"

#define COLD __attribute__((noinline, cold))

static const struct unic_element *element_of(const struct unic_memory *nic,
					     uint16_t mr)
{
	return &nic->derived.element[nic->derived.form[mr].first];
}

COLD uint16_t unic_cached_window_find(const struct unic_memory *nic,
				      uint16_t mr, uint64_t *iova)
{
	const struct unic_element *e = element_of(nic, mr);

	*iova += e->iova - nic->mrs.mr[mr].iova;
	return e->mr;
}

COLD uint16_t unic_cached_window_region(const struct unic_memory *nic,
					uint16_t mr)
{
	return unic_mr_over_cached(&nic->mrs.mr[mr]) ? element_of(nic, mr)->mr
						     : mr;
}

void unic_cached_window_begin(struct unic_memory *nic, uint16_t mr)
{
	nic->mrs.mr[mr].page_shift = UNIC_MR_PAGES_BEHIND;
}

void unic_cached_window_show(struct unic_memory *nic, uint16_t mr)
{
	struct unic_cached_mr *of = &nic->cache.of[element_of(nic, mr)->mr];

	if (of->shown != mr && of->shown != UNIC_MR_NIL)
		nic->mrs.mr[of->shown].win_bytes = 0;
	of->shown = mr;
}

COLD void unic_cached_window_drop(struct unic_memory *nic, uint16_t of,
				  uint64_t bus)
{
	uint16_t shown = nic->cache.of[of].shown;

	if (shown != UNIC_MR_NIL)
		unic_mr_drop_page(&nic->mrs.mr[shown], bus,
				  nic->mrs.mr[of].page_shift);
}
