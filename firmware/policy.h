/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * policy.h - which of a process's own regions to ask back (memory.md section
 * 6; S0 section 3, "RNIC TLB replacement policies").
 *
 * The interface sees candidates with their statistics and returns the better
 * victim of two; that is all a policy decides, so it compiles unchanged into a
 * trace simulator.
 */
#ifndef UNIC_POLICY_H
#define UNIC_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "unic_mbox.h"

/* Statistics of one candidate. */
struct unic_policy_stat {
	uint64_t last_use_ns;
	uint64_t since_ns;
	uint32_t entries;
	uint32_t pain; /* decayed bytes moved per entry */
	uint32_t uses;
	uint32_t nth;	    /* it is the nth candidate looked at, from 1 */
	uint8_t importance; /* hint of the process */
};

/** unic_policy_random() - xorshift64 (Marsaglia); *@rng must not be 0. */
static inline uint32_t unic_policy_random(uint64_t *rng)
{
	uint64_t x = *rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*rng = x;
	return (uint32_t)(x >> 32);
}

/**
 * unic_policy_better() - is @a a better victim than @b, the best of those
 * looked at before, under @policy (enum unic_policy)?
 * @rng: generator state, for `random`: the nth candidate replaces the best with
 *       odds 1/n, so each of them is chosen with the same odds.
 *
 * Inline because it runs once per candidate: a caller's statistics never leave
 * its registers.
 */
static inline bool unic_policy_better(uint32_t policy,
				      const struct unic_policy_stat *a,
				      const struct unic_policy_stat *b,
				      uint64_t *rng)
{
	if (policy == UNIC_POLICY_RANDOM)
		return ((uint64_t)unic_policy_random(rng) * a->nth) >> 32 == 0;
	return a->last_use_ns < b->last_use_ns;
}

/**
 * unic_policy_pain() - decayed bytes per entry: half-life 2^27 ns (134 ms),
 * linear in between.
 * @pain, @at_ns: value and its time; @bytes: moved since; returns the value at
 * @now_ns, saturating.
 */
uint32_t unic_policy_pain(uint32_t pain, uint64_t at_ns, uint64_t now_ns,
			  uint32_t bytes, uint32_t entries);

#endif /* UNIC_POLICY_H */
