/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * clock.h - NIC time, and sleep, from SysTick alone: 24 bits that count down at
 * the processor's clock, made 64 here.
 *
 * So somebody must ask for the time before they wrap: every 335 ms at 50 MHz.
 * A NIC that polls or sleeps until its next heartbeat does.
 */
#ifndef CORTEXM_CLOCK_H
#define CORTEXM_CLOCK_H

#include <stdint.h>

#define SYSTICK_CSR 0xe000e010u
#define SYSTICK_RVR 0xe000e014u
#define SYSTICK_CVR 0xe000e018u
#define SYSTICK_MAX 0xffffffu

#define CORTEXM_NS_SHIFT 24u

struct cortexm_clock {
	uint64_t ticks; /* until `last` was read */
	uint32_t last;
	uint32_t ns_mult;   /* ns = ticks * ns_mult >> 24 */
	uint32_t tick_mult; /* ticks = ns * tick_mult >> 32 */
};

/** cortexm_clock_init() - time begins. @hz: of the processor, 4 MHz or more. */
void cortexm_clock_init(struct cortexm_clock *clock, uint32_t hz);

/** cortexm_clock_ns() - nanoseconds since then. */
static inline uint64_t cortexm_clock_ns(struct cortexm_clock *clock)
{
	uint32_t now = *(volatile uint32_t *)SYSTICK_CVR;
	uint64_t low;

	clock->ticks += (clock->last - now) & SYSTICK_MAX;
	clock->last = now;
	low = (uint64_t)(uint32_t)clock->ticks * clock->ns_mult;
	return (low >> CORTEXM_NS_SHIFT) +
	       ((clock->ticks >> 32) * clock->ns_mult
		<< (32 - CORTEXM_NS_SHIFT));
}

/**
 * cortexm_clock_sleep() - WFI for @ns at most: until an interrupt is pending, or
 * some earlier time. A time too short to be worth it is none. PRIMASK is set.
 */
void cortexm_clock_sleep(struct cortexm_clock *clock, uint64_t ns);

#endif /* CORTEXM_CLOCK_H */
