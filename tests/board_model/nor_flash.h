/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * nor_flash.h - an array of flash: bits fall when a word is programmed and rise when a
 * page is erased, both of which take time. When the power fails meanwhile, bits that
 * were to change are marginal: each read of one is random, until its page is erased
 * (bits of an erased page) or its word programmed (bits that are to be 0) to the end.
 *
 * Secret: what a power cut leaves. It is kept in the file beside the bytes:
 * FILE.marginal, a mask of the same size, is there if there is such a bit.
 */
#ifndef BOARD_MODEL_NOR_FLASH_H
#define BOARD_MODEL_NOR_FLASH_H

#include "board.h"

struct nor_flash {
	struct board *board;
	const char *path;
	uint32_t bytes, page_bytes;
	uint8_t *data, *marginal;
	uint32_t marginal_pages; /* that have such a bit */
	unsigned long steps;	 /* pages erased and words programmed */
	/* what goes on */
	bool busy;
	uint32_t at, size;
	uint8_t *target; /* @size bytes as they will be */
};

/** nor_init() - from the file of the options; without one, or a shorter one, erased.
 * Registers the memory at address 0. */
void nor_init(struct nor_flash *nor, struct board *board);

/** nor_erase() - begin to erase the page of @at; nor_finish() ends it. */
void nor_erase(struct nor_flash *nor, uint32_t at);

/** nor_program() - begin to program @bytes at @at, which is a multiple of 4; bits
 * can only fall. @data: the caller's. */
void nor_program(struct nor_flash *nor, uint32_t at, const uint32_t *data,
		 uint32_t bytes);

/** nor_finish() - the step is done. */
void nor_finish(struct nor_flash *nor);

/** nor_cut() - the power fails: if a step is under way it leaves marginal bits. */
void nor_cut(struct nor_flash *nor);

/** nor_shake() - give the marginal bits of [@at, @at + @bytes) new random values: for
 * every read. */
void nor_shake(struct nor_flash *nor, uint32_t at, uint32_t bytes);

/** nor_save() - write the files. */
void nor_save(const struct nor_flash *nor);

#endif /* BOARD_MODEL_NOR_FLASH_H */
