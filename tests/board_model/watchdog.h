/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * watchdog.h - a watchdog timer (LM3S6965 data sheet chapter 10): the first time-out
 * interrupts, the second one resets the board, if that is enabled.
 *
 * Secret: the registers, and their lock.
 */
#ifndef BOARD_MODEL_WATCHDOG_H
#define BOARD_MODEL_WATCHDOG_H

#include "board.h"

struct watchdog {
	struct board *board;
	uint32_t irq;
	uint32_t load, control, raw, test;
	bool locked;
	uint64_t end; /* cycles when it is at 0 */
};

extern const struct device_ops watchdog_ops;

/** watchdog_init() - @irq: of the first time-out. */
void watchdog_init(struct watchdog *dog, struct board *board, uint32_t irq);

#endif /* BOARD_MODEL_WATCHDOG_H */
