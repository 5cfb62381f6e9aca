/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* restore.h - after a reset: everything is made again that can be. */
#ifndef UNIC_RESTORE_H
#define UNIC_RESTORE_H

#include "state.h"

/**
 * unic_restore() - the device is set up and empty: make again, one after the
 * other, what processes keep; then call @done. A device that is lost meanwhile
 * is the end of it; another unic_restore() begins from the start.
 */
void unic_restore(struct unic_host *host, void (*done)(struct unic_host *host));

/** unic_restore_lost() - the device forgot everything: what nobody keeps ends,
 * and what was under way; the rest is marked as not there. */
void unic_restore_lost(struct unic_host *host);

/** unic_restore_pins() - all pins are gone: pin again what is kept. */
void unic_restore_pins(struct unic_host *host);

/** unic_restore_away() - processes that an earlier driver served and that did not
 * come back in time are given up. Returns when to call again. */
uint64_t unic_restore_away(struct unic_host *host);

/** unic_restore_waits() - queue the REGISTER_WAITs again that were queued. */
void unic_restore_waits(struct unic_host *host);

#endif /* UNIC_RESTORE_H */
