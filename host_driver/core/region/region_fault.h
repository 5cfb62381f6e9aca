/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_fault.h - inside the access layer: regions of residency DEMAND and TABLE.
 *
 * Secret: which pages of a DEMAND region are pinned, and why. A page is pinned
 * from before MR_FAULT names it until the NIC says that it gave it up (a drop
 * record, fewer pages done than asked, the end of the region), and not a moment
 * longer. All pages that a TABLE region lists are pinned as long as it lives.
 *
 * A MISS is answered within the poll that brings it, whatever others wait for:
 * with no place left, the oldest of the process that has most goes. BUSY (the NIC
 * has no room just now) is tried again; after H the NIC does not wait any more.
 */
#ifndef UNIC_REGION_FAULT_H
#define UNIC_REGION_FAULT_H

#include "region/region.h"

/** unic_region_fault_begin() - a region of residency mr->residency is about to be asked
 * for, or again: its books, or its table (then its frames are pinned). False: no
 * memory, or no room for a table. unic_region_fault_forget() undoes it. */
bool unic_region_fault_begin(struct unic_host *host, struct unic_region *mr);

/** unic_region_fault_forget() - the NIC does not touch its pages any more. @unpin:
 * false: all pins of the process are taken at once, elsewhere (INV-14). */
void unic_region_fault_forget(struct unic_host *host, struct unic_region *mr,
			      bool unpin);

/** unic_region_fault_there() - some of pages [@first, @first + @count) of a DEMAND region
 * is pinned. */
bool unic_region_fault_there(const struct unic_region *mr, uint32_t first,
			     uint32_t count);

/** unic_region_fault_drop() - these are not on the NIC any more: unpin them. */
void unic_region_fault_drop(struct unic_host *host, struct unic_region *mr,
			    uint32_t first, uint32_t count);

/** unic_region_fault_fini() - free the books of all regions. */
void unic_region_fault_fini(struct unic_host *host);

/** unic_region_fault_reset() - the NIC forgot everything: no fault is under way. */
void unic_region_fault_reset(struct unic_host *host);

/** unic_region_fault_miss() - MISS: pin the pages and send them. */
void unic_region_fault_miss(struct unic_host *host,
			    const struct unic_evt_miss *evt);
/** unic_region_fault_poll() - answers that had no room. Returns when to call again. */
uint64_t unic_region_fault_poll(struct unic_host *host, uint64_t now);
/** unic_region_fault_advise() - MR_ADVISE. */
void unic_region_fault_advise(struct unic_req *req);

/** unic_region_fault_dropped() - the NIC gave up a page: unpin it. */
void unic_region_fault_dropped(struct unic_host *host,
			       const struct unic_drop *drop);

#endif /* UNIC_REGION_FAULT_H */
