/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mr.h - regions, as the files of libunic see them. */
#ifndef UNIC_LIB_MR_H
#define UNIC_LIB_MR_H

#include "priv.h"

/** unic_reg_any_class() - as unic_reg_mr(), class control too. */
int unic_reg_any_class(struct unic_pd *pd, const struct unic_mr_attr *attr,
		       struct unic_mr **out);
/** unic_mem_region_new() - allocate a region of @pd, in state WAITING and with a
 * handle for upcalls. NULL, with words: no memory or no handle is left. */
struct unic_mem_region *unic_mem_region_new(struct unic_pd *pd);
/** unic_mem_region_abandon() - free @mr, which the driver did not end: it does so with
 * the context, or when that is recovered. */
void unic_mem_region_abandon(struct unic_mr *mr);
/** unic_mem_region_drop() - unic_dereg_mr(), and abandon @mr if that fails. */
void unic_mem_region_drop(struct unic_mr *mr);
/** unic_mem_region_forget() - free @r, which the driver does not have. */
void unic_mem_region_forget(struct unic_mem_region *r);
/** unic_mem_region_reply() - take id, STag, base and entries of @r from @reply. @r is
 * LIVE afterwards, or, if @pending, WAITING. */
void unic_mem_region_reply(struct unic_mem_region *r,
			   const struct unic_ctl_mr_reg_reply *reply,
			   bool pending);
/** unic_mem_region_prepare() - check @attr, make the region *@out, and write its
 * MR_REG to @req. The caller sends @req and ends with unic_mem_region_reply() or
 * unic_mem_region_forget(). 0, or -errno with words and nothing made. */
int unic_mem_region_prepare(struct unic_pd *pd, const struct unic_mr_attr *attr,
			    struct unic_mem_region **out,
			    struct unic_ctl_mr_reg *req);
/** unic_mem_region_iova() - the IOVA that @at has if it is the first byte of @r. */
uint64_t unic_mem_region_iova(const struct unic_mem_region *r, const void *at);
/** unic_mem_region_leave() - begin to deregister @mr. Returns its id, or 0 if the
 * driver does not have it. unic_mem_region_left() - end that with @status of MR_DEREG
 * (-1: the driver is gone), and free @mr if the region ended. 0, or -errno with
 * words: @mr is there still. */
uint32_t unic_mem_region_leave(struct unic_mr *mr);
int unic_mem_region_left(struct unic_mr *mr, int status);
/** unic_mem_region_at() - true if there is a region on some byte of [@va, @va + @bytes);
 * @known: one that the driver has. */
bool unic_mem_region_at(struct unic_ctx *ctx, const uint8_t *va, size_t bytes,
			bool known);
/** unic_mem_region_put() - drop a reference to @r; the last one frees it. evt_lock
 * held. */
void unic_mem_region_put(struct unic_ctx *ctx, struct unic_mem_region *r);

#endif /* UNIC_LIB_MR_H */
