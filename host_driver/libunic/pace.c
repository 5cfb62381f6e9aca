/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* pace.c - see pace.h. */
#include "pace.h"

#include "priv.h"

#define FIRST_RATE 32000u     /* until a rate is measured */
#define RATE_MAX   100000000u /* 100 GB/s */
#define PIECE_MAX  (16u << 20)

static uint32_t rate_of(const struct unic_pace *p)
{
	return __atomic_load_n(&p->rate, __ATOMIC_RELAXED);
}

static void set_rate(struct unic_pace *p, uint32_t rate)
{
	__atomic_store_n(&p->rate, rate, __ATOMIC_RELAXED);
}

void unic_pace_init(struct unic_pace *p, uint32_t grace_us)
{
	p->grace_us = grace_us;
	set_rate(p, FIRST_RATE);
}

uint32_t unic_pace_expect(const struct unic_pace *p, uint64_t bytes)
{
	uint64_t us = bytes * 1000 / rate_of(p);

	return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

uint32_t unic_pace_piece(const struct unic_pace *p, unsigned int window)
{
	uint64_t bytes =
		(uint64_t)rate_of(p) * (p->grace_us / 2) / 1000 / window;

	if (bytes > PIECE_MAX)
		bytes = PIECE_MAX;
	bytes &= ~(uint64_t)(UNIC_PAGE - 1);
	return bytes < UNIC_PAGE ? UNIC_PAGE : (uint32_t)bytes;
}

void unic_pace_measured(struct unic_pace *p, uint64_t bytes, uint64_t ns)
{
	uint64_t now = bytes * 1000000 / (ns ? ns : 1);
	uint32_t old = rate_of(p);

	now = now < 1 ? 1 : now > RATE_MAX ? RATE_MAX : now;
	if (now > old)
		now = (old * 7ull + now) / 8;
	set_rate(p, (uint32_t)now);
}

void unic_pace_cut(struct unic_pace *p)
{
	uint32_t least = UNIC_PAGE * 1000 / (p->grace_us + 1) + 1;
	uint32_t half = rate_of(p) / 2;

	set_rate(p, half > least ? half : least);
}
