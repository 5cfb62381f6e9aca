/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lm3s_flash.h - the flash controller of the LM3S6965 (data sheet chapter 7): a word
 * takes 20 us, a page 20 ms.
 *
 * Rules: nothing is begun while something goes on; addresses are those of a word, of a
 * page; USECRL fits the clock.
 */
#ifndef BOARD_MODEL_LM3S_FLASH_H
#define BOARD_MODEL_LM3S_FLASH_H

#include "board.h"
#include "lm3s_sysctl.h"
#include "nor_flash.h"

struct lm3s_flash {
	struct board *board;
	const struct lm3s_sysctl *sys;
	struct nor_flash nor;
	uint32_t addr, data, command, raw, mask;
	uint32_t erase_to; /* of a mass erase */
};

extern const struct device_ops lm3s_flash_ops;

/** lm3s_flash_init() - the array from its file. */
void lm3s_flash_init(struct lm3s_flash *flash, struct board *board,
		     const struct lm3s_sysctl *sys);

#endif /* BOARD_MODEL_LM3S_FLASH_H */
