/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * gptimer.h - a general-purpose timer (LM3S6965 data sheet chapter 9) as one of 32
 * bits that counts down at the system clock, once or again and again.
 *
 * Rules: its configuration is written while it is stopped; other modes are not
 * modelled.
 *
 * Secret: the registers.
 */
#ifndef BOARD_MODEL_GPTIMER_H
#define BOARD_MODEL_GPTIMER_H

#include "board.h"

struct gptimer {
	struct board *board;
	uint32_t irq;
	uint32_t config, mode, control, mask, raw, load;
	uint64_t end; /* cycles when it is at 0 */
};

extern const struct device_ops gptimer_ops;

/** gptimer_init() - @irq: of its half A. */
void gptimer_init(struct gptimer *timer, struct board *board, uint32_t irq);

#endif /* BOARD_MODEL_GPTIMER_H */
