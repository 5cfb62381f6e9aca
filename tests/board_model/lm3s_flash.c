// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* lm3s_flash.c - see lm3s_flash.h. */
#include "lm3s_flash.h"

#define FMA	0x00u
#define FMD	0x04u
#define FMC	0x08u
#define FCRIS	0x0cu
#define FCIM	0x10u
#define FCMISC	0x14u
#define KEY	0xa442u
#define WORD	1u
#define PAGE	2u
#define ALL	4u
#define RIS_END 2u

#define WORD_NS 20000u
#define PAGE_NS 20000000u

static void end_step(void *arg);

static void begin_wait(struct lm3s_flash *flash, uint64_t ns)
{
	struct clock *clock = &flash->board->clock;

	clock_at(clock, clock_now_ns(clock) + ns, end_step, flash);
}

static void end_step(void *arg)
{
	struct lm3s_flash *flash = arg;

	nor_finish(&flash->nor);
	if (flash->command & ALL && flash->erase_to < flash->nor.bytes) {
		nor_erase(&flash->nor, flash->erase_to);
		flash->erase_to += flash->nor.page_bytes;
		begin_wait(flash, PAGE_NS);
		return;
	}
	flash->command = 0;
	flash->raw |= RIS_END;
}

static void begin_word(struct lm3s_flash *flash)
{
	if (flash->addr & 3 || flash->addr >= flash->nor.bytes) {
		board_fault(flash->board, "FMA=%08x is not of a word",
			    flash->addr);
		flash->command = 0;
		return;
	}
	nor_program(&flash->nor, flash->addr, &flash->data, 4);
	begin_wait(flash, WORD_NS);
}

static void begin_page(struct lm3s_flash *flash)
{
	if (flash->addr % flash->nor.page_bytes ||
	    flash->addr >= flash->nor.bytes) {
		board_fault(flash->board, "FMA=%08x is not of a page",
			    flash->addr);
		flash->command = 0;
		return;
	}
	nor_erase(&flash->nor, flash->addr);
	begin_wait(flash, PAGE_NS);
}

static void begin_command(struct lm3s_flash *flash, uint32_t value)
{
	if (value >> 16 != KEY || !(value & 0xf))
		return;
	if (flash->command) {
		board_fault(flash->board, "FMC=%08x while the flash is busy",
			    value);
		return;
	}
	if (!lm3s_sysctl_programs(flash->sys))
		board_fault(flash->board,
			    "USECRL=%02x does not fit the clock of %u kHz",
			    flash->sys->usecrl, flash->board->clock.hz / 1000);
	flash->command = value & 0xf;
	if (value & WORD) {
		begin_word(flash);
	} else if (value & PAGE) {
		begin_page(flash);
	} else if (value & ALL) {
		flash->erase_to = 0;
		end_step(flash);
	}
}

static uint32_t read_flash(void *device, uint32_t off)
{
	const struct lm3s_flash *flash = device;

	switch (off) {
	case FMA:
		return flash->addr;
	case FMD:
		return flash->data;
	case FMC:
		return flash->command;
	case FCRIS:
		return flash->raw;
	case FCIM:
		return flash->mask;
	default:
		return 0;
	}
}

static void write_flash(void *device, uint32_t off, uint32_t value)
{
	struct lm3s_flash *flash = device;

	if (flash->command && (off == FMA || off == FMD))
		board_fault(flash->board,
			    "flash register %02x is written while it is busy",
			    off);
	else if (off == FMA)
		flash->addr = value;
	else if (off == FMD)
		flash->data = value;
	else if (off == FMC)
		begin_command(flash, value);
	else if (off == FCIM)
		flash->mask = value;
	else if (off == FCMISC)
		flash->raw &= ~value;
}

/* What goes on is finished: that a reset leaves marginal bits is not known. */
static void reset_flash(void *device)
{
	struct lm3s_flash *flash = device;

	clock_cancel(&flash->board->clock, end_step, flash);
	nor_finish(&flash->nor);
	flash->addr = flash->data = flash->command = 0;
	flash->raw = flash->mask = 0;
}

const struct device_ops lm3s_flash_ops = {
	.name = "flash controller",
	.read = read_flash,
	.write = write_flash,
	.reset = reset_flash,
};

void lm3s_flash_init(struct lm3s_flash *flash, struct board *board,
		     const struct lm3s_sysctl *sys)
{
	flash->board = board;
	flash->sys = sys;
	nor_init(&flash->nor, board);
}
