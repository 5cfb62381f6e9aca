/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * clock.h - NIC time from the Arm generic timer (virtual counter and timer).
 *
 * Inline: the core reads the clock in every poll round.
 */
#ifndef VIRT_CLOCK_H
#define VIRT_CLOCK_H

#include "port.h"

#define VIRT_TIMER_INTID 27u /* virtual timer, level-triggered, per CPU */
#define VIRT_NS_SHIFT	 24u

static inline uint64_t virt_ticks(void)
{
	uint32_t lo, hi;

	/*
	 * No ISB before it: the counter may then be read a few instructions
	 * early, which no deadline notices.
	 */
	__asm__ volatile("mrrc p15, 1, %0, %1, c14" : "=r"(lo), "=r"(hi));
	return (uint64_t)hi << 32 | lo;
}

/* The counter must tick at 4 MHz or more (here: 62.5 MHz). */
static inline void virt_clock_init(struct virt_clock *clock)
{
	uint32_t hz;

	__asm__ volatile("mrc p15, 0, %0, c14, c0, 0" : "=r"(hz));
	clock->ns_mult = (uint32_t)((1000000000ull << VIRT_NS_SHIFT) / hz);
	clock->tick_mult = (uint32_t)(((uint64_t)hz << 32) / 1000000000u);
}

static inline uint64_t virt_clock_ns(const struct virt_clock *clock)
{
	uint64_t ticks = virt_ticks();
	uint64_t low = (uint64_t)(uint32_t)ticks * clock->ns_mult;
	uint64_t high = (ticks >> 32) * clock->ns_mult;

	return (low >> VIRT_NS_SHIFT) + (high << (32 - VIRT_NS_SHIFT));
}

/* Let the timer interrupt be pending @ns from now. */
static inline void virt_timer_start(const struct virt_clock *clock, uint32_t ns)
{
	uint64_t at =
		virt_ticks() + 1 + ((uint64_t)ns * clock->tick_mult >> 32);

	__asm__ volatile("mcrr p15, 3, %0, %1, c14\n\t"	  /* CNTV_CVAL */
			 "mcr p15, 0, %2, c14, c3, 1\n\t" /* CNTV_CTL */
			 "isb" ::"r"((uint32_t)at),
			 "r"((uint32_t)(at >> 32)), "r"(1)
			 : "memory");
}

static inline void virt_timer_stop(void)
{
	__asm__ volatile("mcr p15, 0, %0, c14, c3, 1\n\t"
			 "isb" ::"r"(0)
			 : "memory");
}

#endif /* VIRT_CLOCK_H */
