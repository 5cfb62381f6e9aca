/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * count.h - instructions between two places, exact under QEMU -icount.
 *
 * On the Cortex-A15 the counter is PMU event 0x08 (instructions retired), which
 * QEMU derives from its instruction count. The Cortex-M3 of `mps2-an385` has none:
 * there each instruction takes 2^10 ns (-icount shift=10), which is 25.6 ticks of a
 * timer with 25 MHz. The same binary gives the same numbers, always.
 */
#ifndef COUNT_H
#define COUNT_H

#include <stdint.h>

static uint32_t empty; /* what counting itself costs */

#if __ARM_ARCH_PROFILE == 'M'
#define TIMER	    ((volatile uint32_t *)0x40000000)
#define TICKS_BY_10 256u /* of ten instructions */

static void count_init(void)
{
	TIMER[2] = UINT32_MAX; /* reload, value, on */
	TIMER[1] = UINT32_MAX;
	TIMER[0] = 1;
}

static inline uint32_t count(void)
{
	return UINT32_MAX - TIMER[1];
}

static inline uint32_t instructions(uint32_t from, uint32_t to)
{
	return (uint32_t)(((uint64_t)(to - from) * 10 + TICKS_BY_10 / 2) /
			  TICKS_BY_10);
}
#else
static inline uint32_t instructions(uint32_t from, uint32_t to)
{
	return to - from;
}

static void count_init(void)
{
	uint32_t v;

	__asm__ volatile("mrc p15, 0, %0, c9, c12, 0" : "=r"(v));
	__asm__ volatile("mcr p15, 0, %0, c9, c12, 5\n\tisb\n\t"
			 "mcr p15, 0, %1, c9, c13, 1\n\t"
			 "mcr p15, 0, %2, c9, c12, 1\n\t"
			 "mcr p15, 0, %3, c9, c12, 0\n\tisb" ::"r"(0),
			 "r"(0x08), "r"(0x80000001u), "r"(v | 7));
}

static inline uint32_t count(void)
{
	uint32_t n;

	__asm__ volatile("mrc p15, 0, %0, c9, c13, 2" : "=r"(n)::"memory");
	return n;
}
#endif

#define MEASURE(var, statement)                              \
	do {                                                 \
		uint32_t from = count();                     \
		statement;                                   \
		(var) = instructions(from, count()) - empty; \
	} while (0)

#endif /* COUNT_H */
