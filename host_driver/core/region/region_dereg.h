/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_dereg.h - inside the core: MR_DEREG of a region that is ACTIVE. */
#ifndef UNIC_REGION_DEREG_H
#define UNIC_REGION_DEREG_H

#include "region/region.h"

/**
 * unic_region_dereg_for() - deregisters @mr, which the NIC has, for @req, which is
 * answered when the NIC does not touch it any more: OK, and @mr is forgotten; or why
 * it could not be, and @mr is as it was. A region that drains is answered for by its
 * EVICTED.
 */
void unic_region_dereg_for(struct unic_req *req, struct unic_region *mr);

#endif /* UNIC_REGION_DEREG_H */
