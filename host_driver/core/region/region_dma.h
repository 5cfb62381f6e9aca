/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_dma.h - the region of the driver's own process slot: memory by bus address. */
#ifndef UNIC_REGION_DMA_H
#define UNIC_REGION_DMA_H

#include "region/region.h"

/** unic_region_physical() - MR_REG @r of residency PHYSICAL, which only the driver
 * itself sends: answers @req as unic_region_reg(). */
void unic_region_physical(struct unic_req *req,
			  const struct unic_ctl_mr_reg *r);

#endif /* UNIC_REGION_DMA_H */
