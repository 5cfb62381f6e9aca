/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cached_window.h - memory windows over regions of residency DEMAND and TABLE.
 *
 * Such a region has entries that come and go, and the window has none: what is not in the
 * page that the window used last is looked up as the region's, at the region's address. The
 * window has the page size UNIC_MR_PAGES_BEHIND, under which no entry lies.
 *
 * Secret: which window has a page that it used last. Of all windows over one region one has at
 * a time, so who drops a page looks at that one, however many there are.
 */
#ifndef UNIC_CACHED_WINDOW_H
#define UNIC_CACHED_WINDOW_H

#include "memory/mr.h"

struct unic_memory;

/** unic_mr_over_cached() - true if @mr is a window over a region with cached entries. */
static inline bool unic_mr_over_cached(const struct unic_mr_ctx *mr)
{
	return UNIC_CACHED_WINDOWS && mr->page_shift == UNIC_MR_PAGES_BEHIND;
}

/** unic_cached_window_find() - returns the region that has byte @iova of window @mr, which is
 * over one with cached entries; *@iova becomes the address there. */
uint16_t unic_cached_window_find(const struct unic_memory *nic, uint16_t mr,
				 uint64_t *iova);

/** unic_cached_window_region() - returns the region whose entries @mr uses: that which a
 * window is over, or @mr itself. */
uint16_t unic_cached_window_region(const struct unic_memory *nic, uint16_t mr);

/** unic_cached_window_begin() - window @mr, SHUT, is made of a region with cached entries. */
void unic_cached_window_begin(struct unic_memory *nic, uint16_t mr);

/** unic_cached_window_show() - such a window, @mr, gets a page that it used last; the window of its
 * region that had one has none any more. */
void unic_cached_window_show(struct unic_memory *nic, uint16_t mr);

/** unic_cached_window_drop() - the page at @bus of region @of is dropped: the window over @of that has
 * one has it no longer. */
void unic_cached_window_drop(struct unic_memory *nic, uint16_t of,
			     uint64_t bus);

#endif /* UNIC_CACHED_WINDOW_H */
