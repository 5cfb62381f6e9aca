/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* frequency.c - see frequency.h. */
#include "arbiter/frequency.h"

#define FRACTION  9u /* bits of the logarithm behind the point */
#define ONE	  (1u << FRACTION)
#define HALF_LIFE 20u	      /* 2^20 units of time take ONE away */
#define MOST	  (ONE << 20) /* of 1 + count, times ONE */
/* units of unic_lg() have 6 bits behind the point */
#define TO_LG (FRACTION - 6u)

static uint32_t decayed(uint16_t frequency, uint32_t span)
{
	uint32_t less = span >> (HALF_LIFE - FRACTION);

	return frequency > less ? frequency - less : 0;
}

/* 512 log2(x / 512) for x of at least 512, the fraction by a chord. */
static uint32_t fine_lg(uint32_t x)
{
	uint32_t zeros = (uint32_t)__builtin_clz(x);

	return ((31u - FRACTION - zeros) << FRACTION) |
	       (x << zeros >> (31u - FRACTION) & (ONE - 1u));
}

uint16_t unic_frequency_add(uint16_t frequency, uint32_t span, uint32_t uses)
{
	uint32_t left = decayed(frequency, span);
	uint32_t all = (ONE + (left & (ONE - 1u))) << (left >> FRACTION);

	if (uses > MOST / ONE || all + uses * ONE > MOST)
		all = MOST;
	else
		all += uses * ONE;
	return (uint16_t)fine_lg(all);
}

int32_t unic_frequency_now(uint16_t frequency, uint32_t age)
{
	return (int32_t)(decayed(frequency, age) >> TO_LG);
}
