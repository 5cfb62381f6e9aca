/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lm3s_clock.h - the processor's clock of an LM3S6965, step by step (data sheet
 * 5.2.4, 5.3): crystal, then PLL. Boot stub and firmware use it.
 *
 * Secret: in which order the clock may be changed, and how long each step takes.
 */
#ifndef LM3S_CLOCK_H
#define LM3S_CLOCK_H

#include <stdint.h>

#define LM3S_CRYSTAL_HZ 8000000u /* of the evaluation board */
#define LM3S_PLL_HZ	50000000u

/**
 * lm3s_use_crystal() - run from the crystal, at LM3S_CRYSTAL_HZ. The internal
 * oscillator, from which a reset starts, may be 30 % off. Takes 130 ms after a
 * reset, no time if it was called since. UARTs must be idle.
 */
void lm3s_use_crystal(void);

/**
 * lm3s_use_pll() - run from the PLL. Calls lm3s_use_crystal().
 * Returns the clock: LM3S_PLL_HZ, or LM3S_CRYSTAL_HZ if the PLL does not lock.
 */
uint32_t lm3s_use_pll(void);

#endif /* LM3S_CLOCK_H */
