/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * resync.h - the driver is asked for everything: upcalls were lost.
 * evt_lock is held.
 */
#ifndef UNIC_LIB_RESYNC_H
#define UNIC_LIB_RESYNC_H

#include "priv.h"

/** unic_resync_regions() - after it regions are as the driver has them, and events
 * say what changed. False: no answer, then one upcall is skipped. */
bool unic_resync_regions(struct unic_ctx *ctx);
/** unic_resync_objects() - events for what happened to queues and connections
 * without a word, and RESYNC. */
void unic_resync_objects(struct unic_ctx *ctx);

#endif /* UNIC_LIB_RESYNC_H */
