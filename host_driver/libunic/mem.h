/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mem.h - memory of the slot behind addresses of the process. */
#ifndef UNIC_LIB_MEM_H
#define UNIC_LIB_MEM_H

#include "priv.h"

/** unic_mem_init() - initialise the lock of areas; there is no area. Returns 0. */
int unic_mem_init(struct unic_ctx *ctx);
/** unic_mem_fini() - unmap allocated memory and move back memory that was moved in. False, with words:
 * that lies in the slot still, and the call can be repeated. */
bool unic_mem_fini(struct unic_ctx *ctx);
/** unic_mem_cover() - make all of [@addr, @addr + @len) frames of the slot; private
 * pages in it are moved in (MEMORY.md section 9). 0, or -errno with words as
 * unic_reg_mr(). */
int unic_mem_cover(struct unic_ctx *ctx, const void *addr, size_t len);

/** unic_mem_make_private() - a region that was on [@addr, @addr + @len) has ended. Where malloc() is not the C
 * library's, what no region is on is private memory again: others take it for zeroes after
 * MADV_DONTNEED, which clears no memory of the slot. The C library clears what it ever used, and
 * memory that it hands out again is in the slot already. */
void unic_mem_make_private(struct unic_ctx *ctx, const void *addr, size_t len);

/** unic_mem_abandon() - unmap @mem of unic_alloc() without the driver, whose NIC is away. */
void unic_mem_abandon(struct unic_ctx *ctx, void *mem);

#endif /* UNIC_LIB_MEM_H */
