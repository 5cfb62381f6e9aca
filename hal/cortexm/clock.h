/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * clock.h - NIC time from SysTick: 24 bits that count down at the processor's
 * clock, extended to 64 here. The board sleeps by another timer: SysTick, started
 * again as an alarm, would lose time, and in QEMU a write to it waits for the
 * thread that also takes the bytes of a line.
 *
 * The clock must be read before the 24 bits wrap: every 335 ms at 50 MHz. A NIC
 * that polls, or sleeps until its next heartbeat, reads it often enough.
 */
#ifndef CORTEXM_CLOCK_H
#define CORTEXM_CLOCK_H

#include "cortexm.h"

#define SYSTICK_CSR 0xe000e010u
#define SYSTICK_RVR 0xe000e014u
#define SYSTICK_CVR 0xe000e018u
#define SYSTICK_MAX 0xffffffu
#define SYSTICK_ON  5u /* at the clock of the processor; no interrupt */

#define CORTEXM_NS_SHIFT 24u

struct cortexm_clock {
	uint64_t ticks; /* time when `last` was read */
	uint32_t last;
	uint32_t ns_mult;   /* ns = ticks * ns_mult >> 24 */
	uint32_t tick_mult; /* ticks = ns * tick_mult >> 32 */
};

/** cortexm_clock_init() - start the time. @hz: of the processor, 4 MHz or more. */
static inline void cortexm_clock_init(struct cortexm_clock *clock, uint32_t hz)
{
	clock->ns_mult = (uint32_t)((1000000000ull << CORTEXM_NS_SHIFT) / hz);
	clock->tick_mult = (uint32_t)(((uint64_t)hz << 32) / 1000000000u);
	clock->ticks = 0;
	CORTEXM_REG(SYSTICK_RVR) = SYSTICK_MAX;
	CORTEXM_REG(SYSTICK_CVR) = 0;
	CORTEXM_REG(SYSTICK_CSR) = SYSTICK_ON;
	clock->last = CORTEXM_REG(SYSTICK_CVR);
}

/** cortexm_clock_ns() - nanoseconds since cortexm_clock_init(). */
static inline uint64_t cortexm_clock_ns(struct cortexm_clock *clock)
{
	uint32_t now = CORTEXM_REG(SYSTICK_CVR);
	uint64_t low;

	clock->ticks += (clock->last - now) & SYSTICK_MAX;
	clock->last = now;
	low = (uint64_t)(uint32_t)clock->ticks * clock->ns_mult;
	return (low >> CORTEXM_NS_SHIFT) +
	       ((clock->ticks >> 32) * clock->ns_mult
		<< (32 - CORTEXM_NS_SHIFT));
}

/** cortexm_clock_ticks() - @ns, at most 2^32, in cycles of the processor; not 0. */
static inline uint32_t cortexm_clock_ticks(const struct cortexm_clock *clock,
					   uint64_t ns)
{
	return (uint32_t)(ns * clock->tick_mult >> 32) + 1;
}

#endif /* CORTEXM_CLOCK_H */
