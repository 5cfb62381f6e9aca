/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mem.h - memory of the slot behind addresses of the process. */
#ifndef UNIC_LIB_MEM_H
#define UNIC_LIB_MEM_H

#include "priv.h"

/** unic_mem_init() - the lock of areas, of which there is none. 0. */
int unic_mem_init(struct unic_ctx *ctx);
/** unic_mem_fini() - unmap what was allocated, move back what was moved in. */
void unic_mem_fini(struct unic_ctx *ctx);
/** unic_mem_cover() - make [@addr, @addr + @len) frames of the slot: moves what
 * is not (MEMORY.md section 9). */
int unic_mem_cover(struct unic_ctx *ctx, const void *addr, size_t len);

#endif /* UNIC_LIB_MEM_H */
