/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mem_sweep.h - moved memory that the application has unmapped, or moved, without a call of this library. */
#ifndef UNIC_LIB_MEM_SWEEP_H
#define UNIC_LIB_MEM_SWEEP_H

#include "priv.h"

/** unic_mem_sweep() - mark the areas of @ctx that are not mapped any more as stale, cut where that
 * begins or ends, and give the frames of those back that are mapped nowhere. *@strays: frames are mapped at
 * addresses of no area. 0, or -errno with words. mem_lock held. */
int unic_mem_sweep(struct unic_ctx *ctx, bool *strays);

#endif /* UNIC_LIB_MEM_SWEEP_H */
