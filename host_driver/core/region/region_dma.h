/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_dma.h - the regions of the driver's own process slot: memory by bus address.
 *
 * Secret: how a region comes to pages that no process has. There are two kinds. One of
 * residency PHYSICAL is for queues and messages, has no entries and local rights, and
 * lives as long as the slot. One with a list of pages has entries and any rights, is
 * checked, waits for entries, is asked back and evicted like that of a process, and is not
 * made again after a reset.
 */
#ifndef UNIC_REGION_DMA_H
#define UNIC_REGION_DMA_H

#include "region/region.h"

/**
 * unic_region_by_bus() - MR_REG @r, if it names bus addresses: residency PHYSICAL, or the
 * list of @req. Only the driver itself may: others are answered INVALID. Returns false
 * if @r names none; else @req is answered as by unic_region_reg().
 */
bool unic_region_by_bus(struct unic_req *req, struct unic_ctl_mr_reg *r);

#endif /* UNIC_REGION_DMA_H */
