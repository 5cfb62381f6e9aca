/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_unmap.h - inside the core: regions whose memory the process unmaps. */
#ifndef UNIC_REGION_UNMAP_H
#define UNIC_REGION_UNMAP_H

#include "region/region.h"

/** unic_region_unmapped() - as unic_host_unmapped(). */
void unic_region_unmapped(struct unic_host *host, uint32_t slot, uint64_t va,
			  uint64_t length);

#endif /* UNIC_REGION_UNMAP_H */
