/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cut.h - who uses the regions whose time is over (memory/cuts.h): operations end
 * that still hold a region after its grace.
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

#include "base/ration.h"
#include "board.h"

struct unic_transport;

/* What a round may look at: slots of windows, see unic_qp_cut(). */
#define UNIC_CUT_ROUND 256u

struct unic_cut_lap {
	struct unic_ration ration;
	uint16_t left; /* queue pairs to look at */
	uint16_t at;   /* the next one */
};

/** unic_cut_init() - there is nobody to look at. */
void unic_cut_init(struct unic_transport *nic);

/** unic_cut_due() - is there work for unic_cut_run()? */
bool unic_cut_due(const struct unic_transport *nic);

/**
 * unic_cut_run() - what a round may do of it. Operations that hold a marked region
 * complete EVICTED, their QPs go to ERR, peers whose requests they are are told, all
 * their holds are dropped. DMA pieces in flight end by themselves. True if anything
 * was looked at; the rest follows in the next rounds. Regions that
 * nothing holds any more are noted (idle.h).
 */
bool unic_cut_run(struct unic_transport *nic);

#endif /* UNIC_CUT_H */
