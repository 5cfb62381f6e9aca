/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* restore.h - after a reset: make the objects of processes again. */
#ifndef UNIC_RESTORE_H
#define UNIC_RESTORE_H

#include "state.h"

/** unic_restore() - make all objects that processes keep again, one after the other,
 * on a device that is set up and empty; then call @done. If the device is lost
 * meanwhile, @done is not called, and another unic_restore() begins from the start. */
void unic_restore(struct unic_host *host, void (*done)(struct unic_host *host));

/** unic_restore_lost() - the device was reset: free the objects that no process
 * keeps, end what is under way, and mark the other objects as not on the device. */
void unic_restore_lost(struct unic_host *host);

/** unic_restore_pins() - pin the frames of kept regions again, after all pins were
 * taken. */
void unic_restore_pins(struct unic_host *host);

/** unic_restore_away() - end the processes of an earlier driver that have not come
 * back in time. Returns when to call again. */
uint64_t unic_restore_away(struct unic_host *host);

/** unic_restore_waits() - queue again the REGISTER_WAITs that were queued before. */
void unic_restore_waits(struct unic_host *host);

#endif /* UNIC_RESTORE_H */
