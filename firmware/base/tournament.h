/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tournament.h - the first process in an order that changes. A tournament: a
 * change of one process is played again from its leaf upwards. Cost: O(log
 * processes) for a change, O(1) for a query.
 *
 * Node i holds the first of nodes 2i and 2i + 1; node UNIC_PROCS + p is process
 * p.
 */
#ifndef UNIC_TOURNAMENT_H
#define UNIC_TOURNAMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "board.h"

#define UNIC_TOURNAMENT_NIL 0xffffu /* = UNIC_OWNER_NIL */

struct unic_tournament {
	uint16_t node[UNIC_PROCS];
};

/* An order over the processes for which @in is true: true if @a comes before @b.
 * It must be strict and total. */
typedef bool unic_tournament_in(const void *in, uint32_t p);
typedef bool unic_tournament_before(const void *in, uint32_t a, uint32_t b);

static inline void unic_tournament_init(struct unic_tournament *t)
{
	memset(t, 0xff, sizeof(*t)); /* nobody takes part */
}

static inline __attribute__((always_inline)) uint32_t
unic_tournament_at(const struct unic_tournament *t, uint32_t node,
		   const void *in, unic_tournament_in *has)
{
	if (node < UNIC_PROCS)
		return t->node[node];
	return has(in, node - UNIC_PROCS) ? node - UNIC_PROCS
					  : UNIC_TOURNAMENT_NIL;
}

/** unic_tournament_first() - the first process, or UNIC_TOURNAMENT_NIL. */
static inline __attribute__((always_inline)) uint32_t
unic_tournament_first(const struct unic_tournament *t, const void *in,
		      unic_tournament_in *has)
{
	return unic_tournament_at(t, 1, in, has);
}

/** unic_tournament_play() - updates the tournament after process @p entered, left
 * or moved in the order. Stops where the winner stays the same. */
static inline __attribute__((always_inline)) void
unic_tournament_play(struct unic_tournament *t, uint32_t p, const void *in,
		     unic_tournament_in *has, unic_tournament_before *before)
{
	uint32_t best = has(in, p) ? p : UNIC_TOURNAMENT_NIL, node;

	for (node = UNIC_PROCS + p; node > 1; node /= 2) {
		uint32_t other = unic_tournament_at(t, node ^ 1, in, has);
		uint32_t was = t->node[node / 2];

		if (best == UNIC_TOURNAMENT_NIL ||
		    (other != UNIC_TOURNAMENT_NIL && before(in, other, best)))
			best = other;
		t->node[node / 2] = (uint16_t)best;
		if (best == was && best != p)
			return;
	}
}

#endif /* UNIC_TOURNAMENT_H */
