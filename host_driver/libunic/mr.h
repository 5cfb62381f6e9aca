/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mr.h - regions, as the files of libunic see them. */
#ifndef UNIC_LIB_MR_H
#define UNIC_LIB_MR_H

#include "priv.h"

/** unic_reg_control() - memory and a region of class control for a queue. */
int unic_reg_control(struct unic_pd *pd, size_t bytes, struct unic_mr **out);
/** unic_dereg_control() - the region ends, and its memory with it if the driver took
 * the region back. */
void unic_dereg_control(struct unic_mr *mr);
/** unic_mem_region_new() - a region of @pd with a handle, WAITING; NULL with words. */
struct unic_mem_region *unic_mem_region_new(struct unic_pd *pd);
/** unic_mem_region_forget() - forget one that the driver does not have. */
void unic_mem_region_forget(struct unic_mem_region *r);
/** unic_mem_region_reply() - the driver has it now; not @pending: and it is LIVE. */
void unic_mem_region_reply(struct unic_mem_region *r,
			   const struct unic_ctl_mr_reg_reply *reply,
			   bool pending);
/** unic_mem_region_prepare() - a checked region with its request, which is to be sent
 * and answered by unic_mem_region_reply() or unic_mem_region_forget(). 0 or -errno. */
int unic_mem_region_prepare(struct unic_pd *pd, const struct unic_mr_attr *attr,
			    struct unic_mem_region **out,
			    struct unic_ctl_mr_reg *req);
/** unic_mem_region_iova() - what the IOVA of @at is, were it the first byte of @r. */
uint64_t unic_mem_region_iova(const struct unic_mem_region *r, const void *at);
/** unic_mem_region_leave() - @mr is about to be deregistered: its id, 0 if the driver
 * does not have it. Then unic_mem_region_left() with the status of MR_DEREG (-1: the
 * driver is gone), which frees @mr if it ended. 0 or -errno. */
uint32_t unic_mem_region_leave(struct unic_mr *mr);
int unic_mem_region_left(struct unic_mr *mr, int status);
/** unic_mem_region_within() - does the driver have a region on some of
 * [@va, @va + @bytes)? */
bool unic_mem_region_within(struct unic_ctx *ctx, const uint8_t *va,
			    size_t bytes);
/** unic_mem_region_put() - drop a reference; evt_lock held. */
void unic_mem_region_put(struct unic_ctx *ctx, struct unic_mem_region *r);

#endif /* UNIC_LIB_MR_H */
