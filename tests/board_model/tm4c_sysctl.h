/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tm4c_sysctl.h - system control of the TM4C1294NCPDT (data sheet SPMS433 chapter 5):
 * oscillators, PLL, memory timing, clocks and power of devices, causes of resets.
 *
 * Rules:
 *	- the main oscillator is used, for the system clock, the PLL or the transceiver,
 *	  after MOSCPUPRIS; its range bit fits the crystal of 25 MHz
 *	- the PLL makes 320 or 480 MHz, is used when it has locked, and is not set up anew
 *	  while it is used
 *	- MEMTIM0 takes effect with MEMTIMU; when the system clock rises, flash and EEPROM
 *	  have the wait states of the new frequency already, or with the same write
 *	- a device is reached when its clock is on and its bit in PR<x> is set; else the bus
 *	  answers with an error
 *
 * Secret: the registers, and what the oscillators do.
 */
#ifndef BOARD_MODEL_TM4C_SYSCTL_H
#define BOARD_MODEL_TM4C_SYSCTL_H

#include "board.h"

#define TM4C_KINDS \
	40u /* kinds of devices: registers of RCGC<x>, SR<x>, PR<x> */

/* Kinds: the offset in words from RCGCWD. */
#define TM4C_WATCHDOG 0u
#define TM4C_TIMER    1u
#define TM4C_GPIO     2u
#define TM4C_UART     6u
#define TM4C_EPHY     12u
#define TM4C_EMAC     39u

struct tm4c_sysctl {
	struct board *board;
	uint32_t moscctl, rsclkcfg, memtim, memtim_used, pllfreq[2],
		pll_used[2];
	uint32_t ptboctl, pwrtc, nmic, resbehavctl, raw, mask, cause;
	uint32_t clocked[TM4C_KINDS], held[TM4C_KINDS], powered[TM4C_KINDS];
	uint64_t ready_ns[TM4C_KINDS][16];
	uint32_t user[4];
	bool mosc_stable, locked;
	/* a device was held in reset, or lost its power */
	void (*reset_device)(struct board *board, uint32_t kind, uint32_t bit);
	/* the clock, the reset or the power of a device changed */
	void (*switch_device)(struct board *board, uint32_t kind, uint32_t bit);
};

extern const struct device_ops tm4c_sysctl_ops;

/** tm4c_sysctl_init() - the caller sets the two functions. */
void tm4c_sysctl_init(struct tm4c_sysctl *sys, struct board *board);

/** tm4c_sysctl_start() - after a reset: its cause, the internal oscillator. */
void tm4c_sysctl_start(struct tm4c_sysctl *sys, enum board_reset cause);

/** tm4c_sysctl_runs() - device @bit of @kind has a clock and is not in reset. */
bool tm4c_sysctl_runs(const struct tm4c_sysctl *sys, uint32_t kind,
		      uint32_t bit);

/** tm4c_sysctl_ready() - and its registers can be reached. */
bool tm4c_sysctl_ready(const struct tm4c_sysctl *sys, uint32_t kind,
		       uint32_t bit);

#endif /* BOARD_MODEL_TM4C_SYSCTL_H */
