/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* bucket.c - see bucket.h. */
#include "base/bucket.h"

#define FINE   20u
#define SECOND 1000000000ull

/* Bit by bit: small cores have no division of 64 bits. */
static uint64_t divide(uint64_t n, uint64_t by)
{
	uint64_t quotient = 0, rest = 0;
	uint32_t i;

	for (i = 64; i--;) {
		rest = rest << 1 | (n >> i & 1u);
		quotient <<= 1;
		if (rest >= by) {
			rest -= by;
			quotient |= 1u;
		}
	}
	return quotient;
}

void unic_bucket_set(struct unic_bucket *b, uint64_t now_ns, uint64_t rate,
		     uint32_t burst, uint32_t turn)
{
	uint64_t unit = rate ? divide(SECOND << FINE, rate) : 0;

	if (unit < b->unit || !b->unit)
		b->paid_ns = now_ns;
	b->rest = 0;
	b->unit = unit;
	b->turn = burst - burst / 2 < turn ? burst - burst / 2 : turn;
	b->saved_ns = (burst - b->turn) * b->unit >> FINE;
}

void unic_bucket_take(struct unic_bucket *b, uint64_t now_ns, uint32_t n)
{
	uint64_t cost = n * b->unit + b->rest;

	if (!b->unit)
		return;
	if (now_ns - b->paid_ns < UINT64_MAX / 2 &&
	    now_ns - b->paid_ns > b->saved_ns)
		b->paid_ns = now_ns - b->saved_ns;
	b->paid_ns += cost >> FINE;
	b->rest = (uint32_t)cost & ((1u << FINE) - 1);
}
