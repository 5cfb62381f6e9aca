/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_reg.h - registering, waiting, deregistering (S1; S0 for REGISTER_WAIT).
 *
 * A handler takes @req over and answers it exactly once, which frees it.
 */
#ifndef UNIC_REGION_REG_H
#define UNIC_REGION_REG_H

#include "region/region.h"

/** unic_region_reg() - MR_REG: pin the frames of [va, va + length) of the process and
 * register them; answered with id, STag and base when the region is ACTIVE. With
 * REG_WAIT the answer waits for the grant and frames are pinned only then; with
 * ASYNC, too, the answer is PENDING, and an upcall follows. Any other status: no
 * region, no pin, no place taken. NO_PD, INVALID, QUOTA, WAIT_FULL, NOT_MAPPED,
 * NOT_ALIGNED, NO_FRAMES, NO_MEMORY; refusals of the NIC carry struct unic_cpl_usage
 * as tail. */
void unic_region_reg(struct unic_req *req);

/** unic_region_send_reg() - send MR_REG of @mr, which is filled in, for @req; the rest is
 * as of unic_region_reg(). */
void unic_region_send_reg(struct unic_req *req, struct unic_region *mr);

/** unic_region_dereg() - MR_DEREG: answered when nothing uses the region any more and
 * its frames are unpinned, within T. One that waits is cancelled; one whose grant is
 * under way is deregistered when it has arrived. NO_MR; BUSY: it is being
 * deregistered, or a queue lives in it, and then it stays. */
void unic_region_dereg(struct unic_req *req);

/** unic_region_cancel() - WAIT_CANCEL of the MR_REG with number `wait_seq`. OK: that
 * request is answered CANCELLED and will not be granted; NO_WAIT: it was granted or
 * has ended already, and its own answer says so. */
void unic_region_cancel(struct unic_req *req);

/** unic_region_poll() - pin again for regions whose frames were on their way at the
 * last try, at @now in ns of CLOCK_MONOTONIC. Returns when to call again; UINT64_MAX:
 * there is no such region. */
uint64_t unic_region_poll(struct unic_host *host, uint64_t now);

/** unic_region_drop() - forget @mr without a command to the NIC; requests that wait
 * for it are answered @status, but for one that is with the provider, which calls it
 * back. */
void unic_region_drop(struct unic_host *host, struct unic_region *mr,
		      uint32_t status);

/** unic_region_failed() - the registration of @mr has failed with @status: answer
 * @req, or, if that is NULL, send the process a WAIT_ENDED upcall; then free @mr. An
 * MR_DEREG that waits for @mr is answered OK. */
void unic_region_failed(struct unic_host *host, struct unic_region *mr,
			struct unic_req *req, uint32_t status);

/** unic_region_waits() - the device has queued @mr and its wait has a number: send
 * the WAIT_CANCEL that came before that, or the one that an early MR_DEREG needs. */
void unic_region_waits(struct unic_host *host, struct unic_region *mr);

/** unic_region_requeue() - register @mr once more with a device that does not have it
 * (a reset, or entries given back), waiting for as long as is left of its time.
 * TIMEOUT or NO_MEMORY end it as unic_region_failed(). */
void unic_region_requeue(struct unic_host *host, struct unic_region *mr);

/** unic_region_granted() - the wait of @mr is over, and the NIC has it LOADING under
 * the numbers in @mr: pin its frames and fill it. */
void unic_region_granted(struct unic_host *host, struct unic_region *mr);

/** unic_region_wait_event() - handle GRANTED or WAIT_ENDED of the NIC. One that fits
 * no region that waits is counted in host->audits. */
void unic_region_wait_event(struct unic_host *host,
			    const struct unic_evt_wait *evt);

/** unic_region_drop_all() - unic_region_drop() of each region of process @owner
 * (UNIC_OBJ_ANYONE: of all). */
void unic_region_drop_all(struct unic_host *host, uint32_t owner,
			  uint32_t status);

#endif /* UNIC_REGION_REG_H */
