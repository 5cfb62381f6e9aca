/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_pin.h - inside the core: which frames of a region are pinned.
 *
 * Secret: which pages of a DEMAND region are pinned, and why. A page is pinned
 * from before MR_FAULT names it until the NIC says that it gave it up (a drop
 * record, fewer pages done than asked, the end of the region), and not a moment
 * longer. All pages that a TABLE region lists are pinned as long as it lives.
 */
#ifndef UNIC_REGION_PIN_H
#define UNIC_REGION_PIN_H

#include "region/region.h"

/** unic_region_writable() - the device may write there. */
bool unic_region_writable(const struct unic_region *mr);

/** unic_region_allows() - its pages may be had with these rights, too. */
bool unic_region_allows(struct unic_host *host, const struct unic_region *mr,
			uint8_t rights);

/** unic_region_range() - as unic_host_region(). */
bool unic_region_range(struct unic_host *host, const struct unic_client *client,
		       uint32_t id, uint64_t *va, uint64_t *length);

/** unic_region_pin() - once. OK; NOT_MAPPED: its frames are not there (any more);
 * NO_FRAMES, NO_MEMORY; BUSY: try again. */
uint32_t unic_region_pin(struct unic_host *host, struct unic_region *mr);

/** unic_region_unpin() - the NIC does not touch its frames any more; or nobody
 * knows, then they are unpinned when it is reset. */
void unic_region_unpin(struct unic_host *host, struct unic_region *mr);

/** unic_region_unpin_next() - nothing comes of a MR_REREG under way. */
void unic_region_unpin_next(struct unic_host *host, struct unic_region *mr);

/** unic_region_pages_forget() - the NIC does not touch its pages any more. @unpin:
 * false: all pins of the process are taken at once, elsewhere (INV-14). */
void unic_region_pages_forget(struct unic_host *host, struct unic_region *mr,
			      bool unpin);

/** unic_region_pages_there() - some of pages [@first, @first + @count) of a DEMAND region
 * is pinned. */
bool unic_region_pages_there(const struct unic_region *mr, uint32_t first,
			     uint32_t count);

/** unic_region_pages_drop() - these are not on the NIC any more: unpin them. */
void unic_region_pages_drop(struct unic_host *host, struct unic_region *mr,
			    uint32_t first, uint32_t count);

/** unic_region_pages_fini() - free the books of all regions. */
void unic_region_pages_fini(struct unic_host *host);

/** unic_region_page_there() - page @page of a DEMAND region is pinned. */
bool unic_region_page_there(const struct unic_region *mr, uint32_t page);

/** unic_region_page_pin() - 0; -EAGAIN: it is on its way; else: it is not mapped (any
 * more). */
int unic_region_page_pin(struct unic_host *host, struct unic_region *mr,
			 uint32_t page);

/** unic_region_page_unpin() - of one that is there. */
void unic_region_page_unpin(struct unic_host *host, struct unic_region *mr,
			    uint32_t page);

#endif /* UNIC_REGION_PIN_H */
