/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stellaris_timer.h - a general-purpose timer of the Stellaris family (LM3S6965
 * data sheet, chapter 10), as what ends a sleep: both halves as one that counts
 * down 32 bits, once.
 */
#ifndef STELLARIS_TIMER_H
#define STELLARIS_TIMER_H

#include <stdint.h>

#define STELLARIS_TIMER_CFG  0x00u /* 0: 32 bits */
#define STELLARIS_TIMER_MODE 0x04u /* 1: once */
#define STELLARIS_TIMER_CTL  0x0cu /* 1: counts */
#define STELLARIS_TIMER_IM   0x18u
#define STELLARIS_TIMER_ICR  0x24u
#define STELLARIS_TIMER_LOAD 0x28u

static inline volatile uint32_t *stellaris_timer_reg(uintptr_t base,
						     uint32_t off)
{
	return (volatile uint32_t *)(base + off);
}

/** stellaris_timer_init() - @base: a timer that nothing else uses, with its clock on. */
static inline void stellaris_timer_init(uintptr_t base)
{
	*stellaris_timer_reg(base, STELLARIS_TIMER_CTL) = 0;
	*stellaris_timer_reg(base, STELLARIS_TIMER_CFG) = 0;
	*stellaris_timer_reg(base, STELLARIS_TIMER_MODE) = 1;
	*stellaris_timer_reg(base, STELLARIS_TIMER_IM) = 1;
}

/** stellaris_timer_alarm() - its interrupt in @ticks of the processor's clock. */
static inline void stellaris_timer_alarm(uintptr_t base, uint32_t ticks)
{
	*stellaris_timer_reg(base, STELLARIS_TIMER_LOAD) = ticks;
	*stellaris_timer_reg(base, STELLARIS_TIMER_CTL) = 1;
}

/** stellaris_timer_quiet() - stop the alarm and acknowledge its interrupt. */
static inline void stellaris_timer_quiet(uintptr_t base)
{
	*stellaris_timer_reg(base, STELLARIS_TIMER_CTL) = 0;
	*stellaris_timer_reg(base, STELLARIS_TIMER_ICR) = 1;
}

/** stellaris_timer_sleep() - WFI until @ticks of the processor's clock are over, or
 * an interrupt is pending. Called with interrupts off, so that one that came after
 * the caller's last look ends the sleep at once. */
static inline void stellaris_timer_sleep(uintptr_t base, uint32_t ticks)
{
	stellaris_timer_alarm(base, ticks);
	__asm__ volatile("dsb\n\twfi" ::: "memory");
	stellaris_timer_quiet(base);
}

#endif /* STELLARIS_TIMER_H */
