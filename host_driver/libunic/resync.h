/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * resync.h - after upcalls were lost: take the state of all objects from the driver
 * (RESYNC). evt_lock is held.
 */
#ifndef UNIC_LIB_RESYNC_H
#define UNIC_LIB_RESYNC_H

#include "priv.h"

/** unic_resync_regions() - set the state of each region to what the driver answers,
 * and queue an event for each change. False: no answer; one upcall is skipped then. */
bool unic_resync_regions(struct unic_ctx *ctx);
/** unic_resync_objects() - queue events for changes of queues and connections that no
 * upcall brought, and a RESYNC event. */
void unic_resync_objects(struct unic_ctx *ctx);

#endif /* UNIC_LIB_RESYNC_H */
