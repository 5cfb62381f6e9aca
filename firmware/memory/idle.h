/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * idle.h - DRAINING regions that nothing uses any more: unic_evict_settle() ends
 * them, in the order in which they became so.
 *
 * An idle region stays so, for nothing opens it (INV-4): it has no hold, no DMA
 * piece, no token and no dependent (unic_mr_idle()).
 */
#ifndef UNIC_IDLE_H
#define UNIC_IDLE_H

#include <stdint.h>

#include "board.h"

struct unic_memory;

struct unic_idle {
	uint16_t next[UNIC_MRS]; /* 0: not on the list; NIL: the last one */
	uint16_t head, tail;	 /* index + 1, as in `next`; 0: none */
};

/** unic_idle_init() - no region is on the list. */
void unic_idle_init(struct unic_memory *nic);

/**
 * unic_idle_note() - region @mr may have lost its last user. If it is DRAINING and
 * idle it ends in this poll round, before events are handed out, and before the
 * next command is carried out.
 */
void unic_idle_note(struct unic_memory *nic, uint16_t mr);

/** unic_idle_take() - the first of the list, off it; UNIC_MR_NIL: there is none. */
uint16_t unic_idle_take(struct unic_memory *nic);

#endif /* UNIC_IDLE_H */
