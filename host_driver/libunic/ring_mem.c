/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ring_mem.c - see ring_mem.h.
 *
 * Secret: the pages of a region. Queues may hold a quarter of a share of the table
 * (CTRL_CAP), which a large ring in small pages is most of.
 */
#include <errno.h>

#include "context.h"
#include "mem.h"
#include "mr.h"
#include "ring_mem.h"

#define LARGE_RING \
	(128u << 10) /* bytes: of 2 x 1,024 slots, of 4,096 records */
#define LARGE_PAGE (64u << 10)

static int reg_pages(struct unic_pd *pd, size_t bytes, unsigned int page_bytes,
		     struct unic_mr **out)
{
	struct unic_mr_attr attr = {
		.length = (bytes + page_bytes - 1) & ~(size_t)(page_bytes - 1),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_CONTROL,
		.flags = UNIC_MR_WAIT,
		.page_bytes = page_bytes,
		.timeout_us = UNIC_CALL_MS * 1000u,
	};
	int err;

	attr.addr = unic_alloc(pd->ctx, attr.length, page_bytes);
	if (!attr.addr)
		return -errno;
	err = unic_reg_any_class(pd, &attr, out);
	if (err)
		unic_free(pd->ctx, attr.addr);
	return err;
}

int unic_reg_control(struct unic_pd *pd, size_t bytes, struct unic_mr **out)
{
	/* the kernel puts pages together as it can */
	if (bytes > LARGE_RING && !unic_conn_kernel(pd->ctx->conn) &&
	    !reg_pages(pd, bytes, LARGE_PAGE, out))
		return 0;
	return reg_pages(pd, bytes, UNIC_PAGE, out);
}

void unic_dereg_control(struct unic_mr *mr)
{
	struct unic_ctx *ctx = mr->ctx;
	void *mem = mr->addr;

	int err = unic_dereg_mr(mr);

	/* The NIC is away, and comes back in another epoch: the context is about to be
	 * lost, so this one ends as in a context that is. */
	if (err == -ENODEV) {
		unic_mem_region_abandon(mr);
		unic_mem_abandon(ctx, mem);
	}
	if (!err)
		unic_free(ctx, mem);
}
