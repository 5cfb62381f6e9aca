/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_held.h - inside the core: registrations that may wait, by the places that
 * the NIC has for those.
 *
 * Secret: a process has a share of the places. A registration takes one when it goes
 * to the NIC, because the NIC may have it wait, and gives it back when it is granted
 * or ends. Where all of the share is taken, and the NIC has not said yet which of
 * those wait, a registration is held until it has: only requests that do wait are a
 * reason to refuse one. O(requests that are open) for each that is held.
 */
#ifndef UNIC_REGION_HELD_H
#define UNIC_REGION_HELD_H

#include "request.h"

/** unic_region_has_wait_place() - less is taken than the share of @proc of the NIC's
 * places to wait, which is one at least. */
bool unic_region_has_wait_place(const struct unic_host *host,
				const struct unic_hproc *proc);

/**
 * unic_region_hold() - holds MR_REG @req, which may wait, if there is no place for it
 * now and may be one as soon as the NIC answers. Returns true if so: then it is
 * unic_region_next_held() that returns it. False: it goes on now.
 */
bool unic_region_hold(struct unic_req *req);

/** unic_region_asked() - the NIC is asked with @req, which may wait (@asked), or has
 * answered. The latter does nothing for a request that was not asked with. */
void unic_region_asked(struct unic_req *req, bool asked);

/** unic_region_next_held() - returns the held request of process @slot that came
 * first, which is held no more, if it can go on now: there is a place, or nothing is
 * left to be answered. NULL if it cannot, or if there is none. */
struct unic_req *unic_region_next_held(struct unic_host *host, uint32_t slot);

/** unic_region_unhold() - returns the held request of process @slot with number @seq,
 * which is held no more; or NULL. */
struct unic_req *unic_region_unhold(struct unic_host *host, uint32_t slot,
				    uint32_t seq);

#endif /* UNIC_REGION_HELD_H */
