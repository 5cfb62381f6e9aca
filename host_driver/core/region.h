/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region.h - inside the access layer: memory regions as the driver sees them.
 * region.c registers and deregisters, notice.c is about asking them back.
 *
 *   REGISTERING -> (WAITING ->) FILLING -> ACTIVE <-> NOTIFIED
 *                                            |           |
 *                                            +-----+-----+
 *                                                  v
 *                                     EVICTED (until MR_DEREG)
 *
 * Frames are pinned from before the NIC learns of them until it has said that
 * it will not touch them again (completion of MR_DEREG, or EVICTED). A waiting
 * request pins nothing.
 *
 * A grant may cross a WAIT_CANCEL: the process is told NO_WAIT before the
 * region is ACTIVE, and deregisters it at once. That MR_DEREG waits here, so
 * that nothing is left behind.
 */
#ifndef UNIC_REGION_H
#define UNIC_REGION_H

#include "access.h"

enum region_state {
	R_REGISTERING,
	R_WAITING,
	R_FILLING,
	R_ACTIVE,
	R_NOTIFIED,
	R_EVICTED,
};

struct unic_hmr {
	struct unic_obj obj;
	uint8_t state; /* enum region_state */
	uint8_t page_shift;
	bool may_wait, async, pinned;
	uint32_t pd; /* the NIC's */
	uint64_t va, iova, length;
	uint32_t n_pages;
	uint32_t mr, gen, stag, wait; /* the NIC's */
	uint32_t user, reg_seq, waited_us;
	uint32_t notice_seq;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	struct unic_req
		*waiter; /* MR_REG that waits, or MR_DEREG that drains */
	struct unic_req *cancel; /* WAIT_CANCEL that came before PENDING */
	struct unic_req *dereg;	 /* MR_DEREG that came before ACTIVE */
};

static inline struct unic_hproc *proc_of(struct unic_host *host,
					 const struct unic_hmr *mr)
{
	return &host->proc[mr->obj.owner];
}

static inline struct unic_hmr *mr_get(const struct unic_req *req, uint32_t id)
{
	return unic_obj_get(&req->host->objects, id, UNIC_OBJ_MR,
			    unic_req_owner(req));
}

/** unic_mr_unpin() - the NIC does not touch its frames any more; or nobody
 * knows, then they are unpinned when it is reset. */
void unic_mr_unpin(struct unic_host *host, struct unic_hmr *mr);

/** unic_hmr_forget() - unpin and free; its id ends. */
void unic_hmr_forget(struct unic_host *host, struct unic_hmr *mr);

/** unic_mr_send_dereg() - have the NIC forget it too; nobody waits for that. */
void unic_mr_send_dereg(struct unic_host *host, const struct unic_hmr *mr);

#endif /* UNIC_REGION_H */
