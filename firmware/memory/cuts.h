/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cuts.h - regions whose time is over while operations still hold them.
 *
 * A region is marked; the queue pairs look for the marks and end the operations
 * (transport/cut.h).
 */
#ifndef UNIC_CUTS_H
#define UNIC_CUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"

struct unic_memory;

/* The longest a drain takes once operations are cut: one DMA piece. */
#define UNIC_DRAIN_BOUND_US 1000u

struct unic_cuts {
	uint32_t mr[(UNIC_MRS + 31u) / 32u]; /* a bit for each */
	bool fresh; /* some were marked since the queue pairs began to look */
};

/** unic_cuts_has() - is region @mr's time over, by @c (NULL: that of none)? Asked
 * about regions that are held, and about none (UNIC_MR_NIL), of a READ of no bytes. */
static inline bool unic_cuts_has(const struct unic_cuts *c, uint32_t mr)
{
	return c && mr < UNIC_MRS && c->mr[mr / 32] >> mr % 32 & 1;
}

/** unic_cuts_init() - no region is marked. */
void unic_cuts_init(struct unic_memory *nic);

/** unic_cuts_mark() - @mr's time is over: operations that hold it are to end, in
 * this round or in those that follow. Nothing if it is marked already. */
void unic_cuts_mark(struct unic_memory *nic, uint16_t mr);

/** unic_cuts_forget() - nothing holds @mr any more: its index may be another's. */
void unic_cuts_forget(struct unic_memory *nic, uint16_t mr);

/** unic_cuts_clear() - every queue pair was looked at since the last mark. */
void unic_cuts_clear(struct unic_memory *nic);

#endif /* UNIC_CUTS_H */
