/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_pin.h - inside the core: which frames of a region are pinned.
 *
 * Secret: which pages of a DEMAND region are pinned, and why. A page is pinned
 * from before MR_FAULT names it until the NIC says that it gave it up (a drop
 * record, fewer pages done than asked, the end of the region), and not a moment
 * longer. All pages that a TABLE region lists are pinned as long as it lives, and its
 * list is memory that only the driver gives out: it is taken back when the pages are,
 * no sooner (INV-14).
 */
#ifndef UNIC_REGION_PIN_H
#define UNIC_REGION_PIN_H

#include "region/region.h"

/** unic_region_writable() - true if the device may write to @mr. */
bool unic_region_writable(const struct unic_region *mr);

/** unic_region_allows() - true if the frames of @mr may be used with @rights, too. */
bool unic_region_allows(struct unic_host *host, const struct unic_region *mr,
			uint8_t rights);

/** unic_region_range() - as unic_host_region(). */
bool unic_region_range(struct unic_host *host, const struct unic_client *client,
		       uint32_t id, uint64_t *va, uint64_t *length);

/** unic_region_pin() - pin the frames of @mr, unless they are. OK; NOT_MAPPED: a
 * frame is not there; NO_FRAMES, NO_MEMORY; BUSY: try again. After an error nothing
 * is pinned. */
uint32_t unic_region_pin(struct unic_host *host, struct unic_region *mr);

/** unic_region_unpin() - unpin the frames of @mr, which the NIC does not touch any
 * more. While that is not certain (host->dark), they stay pinned: unic_proc_reset()
 * unpins all at once (INV-14). */
void unic_region_unpin(struct unic_host *host, struct unic_region *mr);

/** unic_region_unpin_next() - unpin what a MR_REREG of @mr, which failed, had pinned.
 */
void unic_region_unpin_next(struct unic_host *host, struct unic_region *mr);

/** unic_region_pages_forget() - drop the books of the pages of @mr, which the NIC
 * does not touch any more, and, if @unpin, unpin them; else all pins of the process
 * are taken at once, elsewhere (INV-14). */
void unic_region_pages_forget(struct unic_host *host, struct unic_region *mr,
			      bool unpin);

/** unic_region_pages_there() - true if a page of [@first, @first + @count) of a
 * DEMAND region is pinned. */
bool unic_region_pages_there(const struct unic_region *mr, uint32_t first,
			     uint32_t count);

/** unic_region_pages_drop() - unpin pages [@first, @first + @count), which are not on
 * the NIC any more. */
void unic_region_pages_drop(struct unic_host *host, struct unic_region *mr,
			    uint32_t first, uint32_t count);

/** unic_region_pages_fini() - free the books of all regions. */
void unic_region_pages_fini(struct unic_host *host);

/** unic_region_page_there() - true if page @page of a DEMAND region is pinned. */
bool unic_region_page_there(const struct unic_region *mr, uint32_t page);

/** unic_region_page_pin() - pin page @page. 0; -EAGAIN: its frame is on its way;
 * else: it is not mapped. */
int unic_region_page_pin(struct unic_host *host, struct unic_region *mr,
			 uint32_t page);

/** unic_region_page_unpin() - unpin page @page, which is pinned. */
void unic_region_page_unpin(struct unic_host *host, struct unic_region *mr,
			    uint32_t page);

#endif /* UNIC_REGION_PIN_H */
