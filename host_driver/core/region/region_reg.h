/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_reg.h - registering, waiting, deregistering. */
#ifndef UNIC_REGION_REG_H
#define UNIC_REGION_REG_H

#include "region/region.h"

void unic_region_reg(struct unic_req *req);
void unic_region_dereg(struct unic_req *req);
void unic_region_cancel(struct unic_req *req);

/** unic_region_poll() - regions whose frames were on their way. Returns when to
 * call again. */
uint64_t unic_region_poll(struct unic_host *host, uint64_t now);

/** unic_region_drop() - it ends without the NIC; requests that wait for it are
 * answered @status. */
void unic_region_drop(struct unic_host *host, struct unic_region *mr,
		      uint32_t status);

/** unic_region_failed() - it never came to be: tell @req, or, if that is NULL, the
 * process by an upcall, and forget it. */
void unic_region_failed(struct unic_host *host, struct unic_region *mr,
			struct unic_req *req, uint32_t status);

/** unic_region_waits() - the device queued it: what was asked of it meanwhile is
 * done now. */
void unic_region_waits(struct unic_host *host, struct unic_region *mr);

/** unic_region_requeue() - the device does not have it any more, or not yet: register
 * it there once more, waiting for as long as is left of its time. */
void unic_region_requeue(struct unic_host *host, struct unic_region *mr);

/** unic_region_granted() - a wait is over: the NIC has it LOADING, by the numbers
 * that are in @mr. */
void unic_region_granted(struct unic_host *host, struct unic_region *mr);

/** unic_region_wait_event() - GRANTED, WAIT_ENDED. */
void unic_region_wait_event(struct unic_host *host,
			    const struct unic_evt_wait *evt);

/** unic_region_drop_all() - forget the regions of @owner (UNIC_OBJ_ANYONE: all);
 * requests that wait for them are answered @status. */
void unic_region_drop_all(struct unic_host *host, uint32_t owner,
			  uint32_t status);

#endif /* UNIC_REGION_REG_H */
