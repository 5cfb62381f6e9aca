/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * evict_events.h - NOTICE and EVICTED, and the question IDLE.
 *
 * Secret: what the records say, and that a NOTICE or EVICTED for which the event ring has
 * no room stays as a bit of its region until there is some (INV-11).
 */
#ifndef UNIC_EVICT_EVENTS_H
#define UNIC_EVICT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct unic_revoke;

/** unic_evict_events_notice() - NOTICE of region @idx, whose notice is open: at once, or
 * in the first round in which there is room. */
void unic_evict_events_notice(struct unic_revoke *nic, uint16_t idx);

/** unic_evict_events_drop_notice() - a NOTICE of region @idx that is held back is not
 * published any more. */
void unic_evict_events_drop_notice(struct unic_revoke *nic, uint16_t idx);

/** unic_evict_events_evicted() - EVICTED of region @idx, which has no entries. False:
 * there is no room. It is held back, and the region is buried when it is published. */
bool unic_evict_events_evicted(struct unic_revoke *nic, uint16_t idx);

/** unic_evict_events_idle() - IDLE of region @idx with @pain. False: there is no room, and
 * nothing is held back. */
bool unic_evict_events_idle(struct unic_revoke *nic, uint16_t idx,
			    uint32_t pain);

/** unic_evict_events_flush() - publish what is held back, until the ring is full. */
void unic_evict_events_flush(struct unic_revoke *nic);

#endif /* UNIC_EVICT_EVENTS_H */
