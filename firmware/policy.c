/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* policy.c - what taking a region back would hurt. */
#include "policy.h"

#define HALF_LIFE_LOG2 27u
#define FRACTION_BITS  8u

/* pain / 2^(dt / half-life), the fractional part by a chord of the curve. */
static uint32_t decayed(uint32_t pain, uint64_t dt_ns)
{
	uint64_t lives = dt_ns >> HALF_LIFE_LOG2;
	uint32_t part = (uint32_t)(dt_ns >> (HALF_LIFE_LOG2 - FRACTION_BITS)) &
			((1u << FRACTION_BITS) - 1);

	if (lives >= 32)
		return 0;
	pain >>= lives;
	return pain - (uint32_t)((uint64_t)pain * part >> (FRACTION_BITS + 1));
}

uint32_t unic_policy_pain(uint32_t pain, uint64_t at_ns, uint64_t now_ns,
			  uint32_t bytes, uint32_t entries)
{
	uint32_t left = decayed(pain, now_ns - at_ns);
	uint32_t fresh = entries ? bytes / entries : 0;

	return left + fresh < left ? UINT32_MAX : left + fresh;
}
