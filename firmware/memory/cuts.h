/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cuts.h - marks of regions whose grace is over while operations still hold them.
 *
 * The queue pairs read the marks and end the operations (transport/cut.h).
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
	uint32_t mr[(UNIC_MRS + 31u) / 32u]; /* a bit for each region */
	/* regions were marked since the queue pairs began a sweep */
	bool fresh;
};

/** unic_cuts_has() - true if @c marks region @mr. False for @c NULL, and for
 * UNIC_MR_NIL, the region of a READ of no bytes. @mr is held by an operation. */
static inline bool unic_cuts_has(const struct unic_cuts *c, uint32_t mr)
{
	return c && mr < UNIC_MRS && c->mr[mr / 32] >> mr % 32 & 1;
}

/** unic_cuts_init() - no region is marked. */
void unic_cuts_init(struct unic_memory *nic);

/** unic_cuts_mark() - marks @mr: operations that hold it end in this round or the
 * next ones. No effect if it is marked. */
void unic_cuts_mark(struct unic_memory *nic, uint16_t mr);

/** unic_cuts_forget() - clears the mark of @mr, which nothing holds: its index
 * may be used again. */
void unic_cuts_forget(struct unic_memory *nic, uint16_t mr);

/** unic_cuts_clear() - clears all marks: every queue pair was checked since the
 * last one. */
void unic_cuts_clear(struct unic_memory *nic);

#endif /* UNIC_CUTS_H */
