/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cut.h - whose time is over, and who uses it: operations end that still hold a
 * region after its grace.
 *
 * Secret: how they are found. Nothing says who holds a region, so all queue pairs
 * are looked through once, for all such regions together, as many as a round may;
 * a region that comes meanwhile has a whole lap of its own. It is closed before, so
 * nobody who was passed by takes hold of it again.
 */
#ifndef UNIC_CUT_H
#define UNIC_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "base/ration.h"

struct unic_nic;

/* What a round may look at: slots of windows, see unic_qp_cut(). */
#define UNIC_CUT_ROUND 256u

struct unic_cuts {
	uint32_t mr[(UNIC_MRS + 31u) / 32u]; /* a bit for each */
	struct unic_ration ration;
	uint16_t left; /* queue pairs to look at */
	uint16_t at;   /* the next one */
};

/** unic_cuts_has() - is region @mr's time over, by @c (NULL: that of none)? Asked
 * about regions that are held, and about none (UNIC_MR_NIL), of a READ of no bytes. */
static inline bool unic_cuts_has(const struct unic_cuts *c, uint32_t mr)
{
	return c && mr < UNIC_MRS && c->mr[mr / 32] >> mr % 32 & 1;
}

/** unic_cut() - @mr's time is over: operations that hold it complete EVICTED,
 * their QPs go to ERR, peers whose requests they are are told, all their holds are
 * dropped. DMA pieces in flight end by themselves. Nothing if it is under way. */
void unic_cut(struct unic_nic *nic, uint16_t mr);

/** unic_cut_run() - what a round may do of it. True if anything was looked at; the
 * rest follows in the next rounds. Ends regions. */
bool unic_cut_run(struct unic_nic *nic);

/** unic_cut_forget() - nothing holds @mr any more: its index may be another's. */
void unic_cut_forget(struct unic_nic *nic, uint16_t mr);

#endif /* UNIC_CUT_H */
