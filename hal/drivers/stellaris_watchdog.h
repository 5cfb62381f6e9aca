/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stellaris_watchdog.h - a watchdog of the Stellaris family (LM3S6965 data sheet,
 * chapter 11): 32 bits that count down. At 0 it interrupts, and starts again; at 0
 * for the second time, without having been fed, it resets the chip.
 */
#ifndef STELLARIS_WATCHDOG_H
#define STELLARIS_WATCHDOG_H

#include <stdint.h>

#define STELLARIS_WATCHDOG_LOAD	  0x000u
#define STELLARIS_WATCHDOG_CTL	  0x008u /* 1: counts, interrupts; 2: resets */
#define STELLARIS_WATCHDOG_ICR	  0x00cu
#define STELLARIS_WATCHDOG_TEST	  0x418u
#define STELLARIS_WATCHDOG_LOCK	  0xc00u
#define STELLARIS_WATCHDOG_STALL  (1u << 8) /* while a debugger has the core */
#define STELLARIS_WATCHDOG_UNLOCK 0x1acce551u

static inline volatile uint32_t *stellaris_watchdog_reg(uintptr_t base,
							uint32_t off)
{
	return (volatile uint32_t *)(base + off);
}

/**
 * stellaris_watchdog_start() - from now on, for good: an interrupt after @ticks of
 * the processor's clock without food, a reset after twice that. Locked against
 * stray writes.
 * @base: a watchdog that has its clock.
 */
static inline void stellaris_watchdog_start(uintptr_t base, uint32_t ticks)
{
	*stellaris_watchdog_reg(base, STELLARIS_WATCHDOG_LOAD) = ticks;
	*stellaris_watchdog_reg(base, STELLARIS_WATCHDOG_TEST) =
		STELLARIS_WATCHDOG_STALL;
	*stellaris_watchdog_reg(base, STELLARIS_WATCHDOG_CTL) = 3;
	*stellaris_watchdog_reg(base, STELLARIS_WATCHDOG_LOCK) = 0;
}

/** stellaris_watchdog_feed() - acknowledge its interrupt, if there is one; it
 * counts from the beginning. */
static inline void stellaris_watchdog_feed(uintptr_t base)
{
	*stellaris_watchdog_reg(base, STELLARIS_WATCHDOG_LOCK) =
		STELLARIS_WATCHDOG_UNLOCK;
	*stellaris_watchdog_reg(base, STELLARIS_WATCHDOG_ICR) = 1;
	*stellaris_watchdog_reg(base, STELLARIS_WATCHDOG_LOCK) = 0;
}

#endif /* STELLARIS_WATCHDOG_H */
