/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * idle.h - DRAINING regions that are no longer in use: unic_evict_settle() ends
 * them, in the order in which they became idle.
 *
 * An idle region has no hold, no DMA piece, no token and no dependent
 * (unic_mr_idle()). It stays idle, because no access opens it (INV-4).
 */
#ifndef UNIC_IDLE_H
#define UNIC_IDLE_H

#include <stdint.h>

#include "board.h"

struct unic_memory;

struct unic_idle {
	/* index + 1 of the next; 0: not on the list; NIL: last */
	uint16_t next[UNIC_MRS];
	uint16_t head, tail; /* index + 1, as in `next`; 0: none */
};

/** unic_idle_init() - no region is on the list. */
void unic_idle_init(struct unic_memory *nic);

/**
 * unic_idle_note() - region @mr may have lost its last user. If it is DRAINING
 * and idle, it ends in this poll round, before events are handed out, and before
 * the next command is executed.
 */
void unic_idle_note(struct unic_memory *nic, uint16_t mr);

/** unic_idle_take() - removes the first region from the list and returns it, or
 * UNIC_MR_NIL. */
uint16_t unic_idle_take(struct unic_memory *nic);

#endif /* UNIC_IDLE_H */
