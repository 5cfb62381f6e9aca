/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lm3s_sysctl.h - system control of the LM3S6965 (data sheet chapter 5): oscillators,
 * PLL, clocks of devices, causes of resets.
 *
 * Rules, from "Initialization and Configuration" of that chapter:
 *	- the PLL is set up while it is bypassed and USESYSDIV is 0; divider and end of
 *	  the bypass are later writes; the bypass ends when the PLL has locked
 *	- the main oscillator is enabled first, and used when it is stable
 *	- revision A2 (DID0) has its LDO at 2.75 V before the PLL is used (errata; vendor
 *	  code: "a workaround to allow the PLL to operate reliably")
 *	- a device is reached three cycles after its clock is on, and while it is not held
 *	  in reset; else the bus answers with an error
 *
 * Secret: the registers, and what the oscillators do.
 */
#ifndef BOARD_MODEL_LM3S_SYSCTL_H
#define BOARD_MODEL_LM3S_SYSCTL_H

#include "board.h"

#define LM3S_GATES 3u /* RCGC0 to RCGC2 */

struct lm3s_sysctl {
	struct board *board;
	uint32_t rcc, rcc2, ldo, cause, bor, gates[LM3S_GATES];
	uint32_t held[LM3S_GATES]; /* SRCR */
	uint32_t usecrl, user[2], raw, mask;
	uint64_t gated_at[LM3S_GATES][32]; /* cycles when the clock came on */
	uint64_t mosc_ns, pll_ns;	   /* since when enabled */
	bool locked;
	/* a device was held in, or let out of, reset */
	void (*reset_device)(struct board *board, uint32_t gate, uint32_t bit);
	/* a clock of RCGC came on or went off */
	void (*switch_clock)(struct board *board, uint32_t gate, uint32_t bit,
			     bool on);
};

extern const struct device_ops lm3s_sysctl_ops;

/** lm3s_sysctl_init() - the caller sets the two functions. */
void lm3s_sysctl_init(struct lm3s_sysctl *sys, struct board *board);

/** lm3s_sysctl_start() - after a reset: its cause, the clock of the oscillator. */
void lm3s_sysctl_start(struct lm3s_sysctl *sys, enum board_reset cause);

/** lm3s_sysctl_clocks() - a device of bit @bit of RCGC<@gate> can be reached. */
bool lm3s_sysctl_clocks(const struct lm3s_sysctl *sys, uint32_t gate,
			uint32_t bit);

/** lm3s_sysctl_programs() - the flash controller's timing (USECRL) fits the clock. */
bool lm3s_sysctl_programs(const struct lm3s_sysctl *sys);

#endif /* BOARD_MODEL_LM3S_SYSCTL_H */
