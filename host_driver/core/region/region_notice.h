/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_notice.h - regions that the NIC asks back. */
#ifndef UNIC_REGION_NOTICE_H
#define UNIC_REGION_NOTICE_H

#include "region/region.h"

void unic_region_answer(struct unic_req *req);
void unic_region_evict(struct unic_req *req);
/** unic_region_event() - NOTICE, EVICTED (@evt a struct unic_evt_mr). */
void unic_region_event(struct unic_host *host, const struct unic_evt_mr *evt);

/** unic_region_release() - answer its notice in the name of its owner, who is told
 * EVICTED. */
void unic_region_release(struct unic_host *host, struct unic_region *mr);

/** unic_region_evicted() - it is not on the NIC any more: its frames are unpinned,
 * its owner is told, or who waits for its end. @evt: why. */
void unic_region_evicted(struct unic_host *host, struct unic_region *mr,
			 const struct unic_evt_mr *evt);

/** unic_region_row(), unic_region_object_row() - RESYNC's row of a region, of which the
 * second's id and type are set. */
void unic_region_row(const struct unic_region *mr, struct unic_ctl_region *row);
void unic_region_object_row(const struct unic_region *mr,
			    struct unic_ctl_object *row);

/** unic_region_revoked() - the NIC has let go of a region that we revoked. */
void unic_region_revoked(struct unic_host *host, struct unic_region *mr);

#endif /* UNIC_REGION_NOTICE_H */
