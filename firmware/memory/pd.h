/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pd.h - protection domains and their owners (MEMORY.md section 2). Regions and
 * queues count themselves in struct unic_pd_ctx.
 */
#ifndef UNIC_PD_H
#define UNIC_PD_H

#include <stdbool.h>
#include <stdint.h>

struct unic_memory;

/** unic_pd_init() - all domains are free. */
void unic_pd_init(struct unic_memory *nic);

/** unic_pd_alloc() - allocates a domain for @proc; @physical: UNIC_PD_PHYSICAL.
 * Returns its index, -UNIC_ENOPROC or -UNIC_EPDFULL. */
int unic_pd_alloc(struct unic_memory *nic, uint32_t proc, bool physical);

/** unic_pd_free() - frees a domain. Returns 0, -UNIC_ENOPD (not @proc's),
 * -UNIC_EBUSY (in use). */
int unic_pd_free(struct unic_memory *nic, uint32_t proc, uint32_t pd);

#endif /* UNIC_PD_H */
