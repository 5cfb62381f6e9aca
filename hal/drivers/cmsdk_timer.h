/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmsdk_timer.h - the timer of Arm's Cortex-M System Design Kit (ARM DDI 0479C,
 * 4.3): 32 bits that count down. One tells the time, another one interrupts.
 *
 * Inline: the core reads the clock in every poll round.
 */
#ifndef CMSDK_TIMER_H
#define CMSDK_TIMER_H

#include <stdint.h>

#define CMSDK_TIMER_NS_SHIFT 16u

struct cmsdk_timer {
	uintptr_t clock, alarm;
	uint64_t ticks; /* until `last` was read */
	uint32_t last;
	uint32_t ns_mult;   /* ns = ticks * ns_mult >> 16 */
	uint32_t tick_mult; /* ticks = ns * tick_mult >> 32 */
};

static inline volatile uint32_t *cmsdk_timer_reg(uintptr_t base, uint32_t off)
{
	return (volatile uint32_t *)(base + off);
}

#define CMSDK_TIMER_CTRL     0x0u /* 0: counts, 3: interrupts at 0 */
#define CMSDK_TIMER_VALUE    0x4u
#define CMSDK_TIMER_RELOAD   0x8u
#define CMSDK_TIMER_INTCLEAR 0xcu

/**
 * cmsdk_timer_init() - time begins.
 * @clock, @alarm: two timers, which nothing else uses. @hz: of both, 4 MHz to 1 GHz.
 */
static inline void cmsdk_timer_init(struct cmsdk_timer *t, uintptr_t clock,
				    uintptr_t alarm, uint32_t hz)
{
	t->clock = clock;
	t->alarm = alarm;
	t->ticks = 0;
	t->last = UINT32_MAX;
	t->ns_mult = (uint32_t)((1000000000ull << CMSDK_TIMER_NS_SHIFT) / hz);
	t->tick_mult = (uint32_t)(((uint64_t)hz << 32) / 1000000000u);
	*cmsdk_timer_reg(clock, CMSDK_TIMER_RELOAD) = UINT32_MAX;
	*cmsdk_timer_reg(clock, CMSDK_TIMER_VALUE) = UINT32_MAX;
	*cmsdk_timer_reg(clock, CMSDK_TIMER_CTRL) = 1;
}

/** cmsdk_timer_ns() - nanoseconds since then. To be asked before the 32 bits have
 * wrapped: every 170 s at 25 MHz. */
static inline uint64_t cmsdk_timer_ns(struct cmsdk_timer *t)
{
	uint32_t now = *cmsdk_timer_reg(t->clock, CMSDK_TIMER_VALUE);
	uint64_t low;

	t->ticks += t->last - now;
	t->last = now;
	low = (uint64_t)(uint32_t)t->ticks * t->ns_mult;
	return (low >> CMSDK_TIMER_NS_SHIFT) +
	       ((t->ticks >> 32) * t->ns_mult << (32 - CMSDK_TIMER_NS_SHIFT));
}

/** cmsdk_timer_alarm() - the alarm's interrupt in @ns, which are at most 2^32. */
static inline void cmsdk_timer_alarm(struct cmsdk_timer *t, uint32_t ns)
{
	uint32_t ticks = (uint32_t)((uint64_t)ns * t->tick_mult >> 32) + 1;

	*cmsdk_timer_reg(t->alarm, CMSDK_TIMER_CTRL) = 0;
	*cmsdk_timer_reg(t->alarm, CMSDK_TIMER_RELOAD) = ticks;
	*cmsdk_timer_reg(t->alarm, CMSDK_TIMER_VALUE) = ticks;
	*cmsdk_timer_reg(t->alarm, CMSDK_TIMER_CTRL) = 1 << 3 | 1;
}

/** cmsdk_timer_quiet() - stop the alarm and acknowledge its interrupt. */
static inline void cmsdk_timer_quiet(struct cmsdk_timer *t)
{
	*cmsdk_timer_reg(t->alarm, CMSDK_TIMER_CTRL) = 0;
	*cmsdk_timer_reg(t->alarm, CMSDK_TIMER_INTCLEAR) = 1;
}

#endif /* CMSDK_TIMER_H */
