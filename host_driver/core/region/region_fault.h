/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_fault.h - inside the core: pages of DEMAND regions that the NIC misses.
 *
 * A MISS is answered within the poll that brings it. When all places are taken, the
 * oldest fault of the process with most faults is dropped. An answer that the NIC has
 * no room for (BUSY) is sent again, until H, when the NIC gives up.
 */
#ifndef UNIC_REGION_FAULT_H
#define UNIC_REGION_FAULT_H

#include "region/region.h"

/** unic_region_fault_reset() - drop all faults: the NIC was reset. */
void unic_region_fault_reset(struct unic_host *host);

/** unic_region_fault_miss() - handle MISS: pin the pages and send their addresses. */
void unic_region_fault_miss(struct unic_host *host,
			    const struct unic_evt_miss *evt);
/** unic_region_fault_poll() - send the answers again that the NIC had no room for and
 * that are due at @now (ns, CLOCK_MONOTONIC). Returns when to call again. */
uint64_t unic_region_fault_poll(struct unic_host *host, uint64_t now);
/** unic_region_fault_advise() - MR_ADVISE, the handler: pass advice about a DEMAND or
 * TABLE region on to the NIC; for a RESIDENT one it is OK without effect. NO_MR,
 * INVALID, BUSY. */
void unic_region_fault_advise(struct unic_req *req);

/** unic_region_fault_dropped() - handle a drop record: unpin the page in @drop. */
void unic_region_fault_dropped(struct unic_host *host,
			       const struct unic_drop *drop);

#endif /* UNIC_REGION_FAULT_H */
