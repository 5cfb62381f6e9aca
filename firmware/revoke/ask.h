/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ask.h - asking for what lies idle, where nobody has to give (MEMORY.md section 6).
 *
 * A question binds nobody: its region stays ACTIVE and no time runs. The owner gives it
 * up by MR_DEREG, or keeps it and says nothing (INV-5). So a question never has to end,
 * and a region that is asked for can be asked back or deregistered like any other.
 *
 *   REST --short of entries--> LOOK --whole table seen--> ASK --> REST
 *
 * LOOK is a part of the table a call. REST lasts T after questions, for the answers, and
 * otherwise until the first region has lain idle for long enough.
 *
 * Secret: which regions are asked for, how many at a time, and when again.
 */
#ifndef UNIC_ASK_H
#define UNIC_ASK_H

#include <stdint.h>

#include "base/compiler.h"
#include "board.h"

struct unic_revoke;

/* Questions at a time, at most. */
#define UNIC_ASK_BEST (UNIC_ASKS ? 8u : 2u)

struct unic_asks {
	uint64_t idle_ns; /* unused for so long is idle; 0: nothing is asked */
	uint64_t next_ns; /* REST until then */
	uint64_t ripe_ns; /* LOOK: the first that is passed over is idle then */
	uint16_t at;	  /* LOOK: the next region to look at */
	uint16_t n;	  /* in `best`, least loss first */
	struct unic_ask_best {
		uint64_t loss;
		uint16_t mr, gen;
	} best[UNIC_ASK_BEST];
	/* the last question about each index; not its region if `gen` is not */
	struct unic_asked {
		uint32_t at; /* in 2^20 ns */
		uint16_t gen;
	} asked[UNIC_ASKS ? UNIC_MRS : 1];
};

/** unic_ask_init() - nothing is asked for. */
void unic_ask_init(struct unic_revoke *nic);

/** unic_ask_after() - regions are idle that were not used for @idle_us; 0: no region
 * is, and nothing is asked for, as after a reset. */
void unic_ask_after(struct unic_revoke *nic, uint32_t idle_us);

/** unic_ask_step() - see unic_ask_poll(). */
uint64_t unic_ask_step(struct unic_revoke *nic, uint32_t entries);

/**
 * unic_ask_poll() - @entries should be free, and nobody can be made to give any: looks
 * at some regions, or asks for some. Returns when to call again if that is still so (NIC
 * time, UINT64_MAX: never). @asks: nic->asks.
 */
static inline uint64_t unic_ask_poll(struct unic_revoke *nic,
				     const struct unic_asks *asks,
				     uint32_t entries)
{
	if (!UNIC_ASKS || likely(!asks->idle_ns))
		return UINT64_MAX;
	return unic_ask_step(nic, entries);
}

#endif /* UNIC_ASK_H */
