/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_fault.h - inside the core: pages of DEMAND regions that the NIC misses.
 *
 * A MISS is answered within the poll that brings it, whatever others wait for:
 * with no place left, the oldest of the process that has most goes. BUSY (the NIC
 * has no room just now) is tried again; after H the NIC does not wait any more.
 */
#ifndef UNIC_REGION_FAULT_H
#define UNIC_REGION_FAULT_H

#include "region/region.h"

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
