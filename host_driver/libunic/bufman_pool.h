/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman_pool.h - the pools of fast registrations that the buffer manager runs.
 *
 * Secret: which there are, and when they are looked at: after each event, and each
 * period.
 */
#ifndef UNIC_LIB_BUFMAN_POOL_H
#define UNIC_LIB_BUFMAN_POOL_H

#include "bufman_chunk.h"

/** unic_bm_pools_run() - look at all pools of @bm. Returns how long to sleep until the
 * next look, in ms. The manager's thread only, without its lock. */
int unic_bm_pools_run(struct unic_bm *bm);

/** unic_bm_pools_end() - end all pools of @bm, whose thread has ended. */
void unic_bm_pools_end(struct unic_bm *bm);

#endif /* UNIC_LIB_BUFMAN_POOL_H */
