/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tm4c_flash.h - the flash controller of the TM4C1294NCPDT (data sheet chapter 8):
 * 1 MiB in sectors of 16 KiB, which it times itself. A word takes 50 us, a buffer of 32
 * words that of its words, a sector 8 ms.
 *
 * Rules: nothing is begun while something goes on; addresses are those of a word, of 32
 * words, of a sector. A bit that is to rise by programming is an error (INVDRIS), and so
 * is an address beyond the flash (ARIS).
 *
 * Secret: the registers.
 */
#ifndef BOARD_MODEL_TM4C_FLASH_H
#define BOARD_MODEL_TM4C_FLASH_H

#include "board.h"
#include "nor_flash.h"

#define TM4C_FLASH_WORDS 32u /* of the write buffer */

struct tm4c_flash {
	struct board *board;
	struct nor_flash nor;
	uint32_t addr, data, command, raw, mask, config;
	uint32_t buffer[TM4C_FLASH_WORDS], valid;
	bool buffered;	   /* the write buffer is being programmed */
	uint32_t erase_to; /* of a mass erase */
};

extern const struct device_ops tm4c_flash_ops;

/** tm4c_flash_init() - the array from its file. */
void tm4c_flash_init(struct tm4c_flash *flash, struct board *board);

#endif /* BOARD_MODEL_TM4C_FLASH_H */
