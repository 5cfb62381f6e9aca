/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fastpool.h - a pool of fast registrations, for who runs it.
 *
 * Secret: what is idle and what is taken, and how many there are to be. `target` is what
 * was taken at once in the last period, and a quarter and one more; it falls by an eighth
 * of the difference in each period in which less was taken, down to none.
 *
 *	(none) -> idle <-> taken -> (none)
 *	   ^       |  asked back, or above the target
 *	   +-------+  made anew when the NIC has had a period to use the room
 */
#ifndef UNIC_LIB_FASTPOOL_H
#define UNIC_LIB_FASTPOOL_H

#include "bufman.h"
#include "priv.h"

#define UNIC_POOL_PERIOD_NS 100000000ull

/** unic_fast_pool_heard() - true if @mr is of @pool. */
bool unic_fast_pool_heard(struct unic_fast_pool *pool,
			  const struct unic_mr *mr);

/** unic_fast_pool_asked() - the NIC asks for @mr, which it does not take: if nobody uses
 * it, unic_fast_pool_run() gives it back. */
void unic_fast_pool_asked(struct unic_fast_pool *pool,
			  const struct unic_mr *mr);

/** unic_fast_pool_run() - at @now_ns (CLOCK_MONOTONIC): give back what is idle and was
 * asked back, and bring the pool to its size. One thread at a time. @count: what was
 * done, and what unic_fast_pool_get() does from now on, is added there. */
void unic_fast_pool_run(struct unic_fast_pool *pool, uint64_t now_ns,
			struct unic_bm_stats *count);

#endif /* UNIC_LIB_FASTPOOL_H */
