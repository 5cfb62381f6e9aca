// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* tm4c_flash.c - see tm4c_flash.h. */
#include "tm4c_flash.h"

#include <string.h>

#include "cpu.h"

#define FMA	0x000u
#define FMD	0x004u
#define FMC	0x008u
#define FCRIS	0x00cu
#define FCIM	0x010u
#define FCMISC	0x014u
#define FMC2	0x020u
#define FWBVAL	0x030u
#define FWB	0x100u
#define FLASHPP 0xfc0u
#define SSIZE	0xfc4u
#define CONF	0xfc8u

#define KEY	     0xa442u /* as long as BOOTCFG says so, which it does */
#define WORD	     1u
#define SECTOR	     2u
#define ALL	     4u
#define RIS_ACCESS   0x001u
#define RIS_END	     0x002u
#define RIS_INVALID  0x400u
#define IRQ	     29u
#define PP_1_MIB     0x701401ffu /* 16 KiB of a sector in bits 18:16 */
#define SSIZE_256KIB 0x3ffu

#define WORD_NS	  50000u
#define SECTOR_NS 8000000u

static void end_step(void *arg);

static void update_irq(struct tm4c_flash *flash)
{
	cpu_irq(flash->board->cpu, IRQ, flash->raw & flash->mask);
}

static void begin_wait(struct tm4c_flash *flash, uint64_t ns)
{
	struct clock *clock = &flash->board->clock;

	clock_at(clock, clock_now_ns(clock) + ns, end_step, flash);
}

static void end_step(void *arg)
{
	struct tm4c_flash *flash = arg;

	nor_finish(&flash->nor);
	if (flash->command & ALL && flash->erase_to < flash->nor.bytes) {
		nor_erase(&flash->nor, flash->erase_to);
		flash->erase_to += flash->nor.page_bytes;
		begin_wait(flash, SECTOR_NS);
		return;
	}
	if (flash->buffered)
		flash->valid = 0;
	flash->command = 0;
	flash->buffered = false;
	flash->raw |= RIS_END;
	update_irq(flash);
}

/* A fault if the address is not of @grain bytes. */
static bool check_address(struct tm4c_flash *flash, uint32_t grain)
{
	if (flash->addr % grain)
		board_fault(flash->board, "FMA=%08x is not of %u bytes",
			    flash->addr, grain);
	if (flash->addr < flash->nor.bytes && flash->addr % grain == 0)
		return true;
	flash->raw |= RIS_ACCESS;
	return false;
}

static void check_rising(struct tm4c_flash *flash, uint32_t at, uint32_t value)
{
	uint32_t was;

	memcpy(&was, flash->nor.data + at, 4);
	if (value & ~was)
		flash->raw |= RIS_INVALID;
}

static void begin_word(struct tm4c_flash *flash)
{
	if (!check_address(flash, 4))
		return;
	check_rising(flash, flash->addr, flash->data);
	flash->command = WORD;
	nor_program(&flash->nor, flash->addr, &flash->data, 4);
	begin_wait(flash, WORD_NS);
}

static void begin_sector(struct tm4c_flash *flash)
{
	if (!check_address(flash, flash->nor.page_bytes))
		return;
	flash->command = SECTOR;
	nor_erase(&flash->nor, flash->addr);
	begin_wait(flash, SECTOR_NS);
}

/* Words of the buffer that were not written stay as they are in the flash. */
static void begin_buffer(struct tm4c_flash *flash)
{
	uint32_t words[TM4C_FLASH_WORDS], count = 0;

	if (!check_address(flash, 4 * TM4C_FLASH_WORDS))
		return;
	for (uint32_t i = 0; i < TM4C_FLASH_WORDS; i++) {
		words[i] = ~0u;
		if (!(flash->valid >> i & 1))
			continue;
		words[i] = flash->buffer[i];
		check_rising(flash, flash->addr + 4 * i, words[i]);
		count++;
	}
	flash->buffered = true;
	nor_program(&flash->nor, flash->addr, words, sizeof(words));
	begin_wait(flash, (uint64_t)(count + 1) / 2 * WORD_NS);
}

static bool is_busy(struct tm4c_flash *flash, const char *name, uint32_t value)
{
	bool busy = flash->command || flash->buffered;

	if (busy)
		board_fault(flash->board, "%s=%08x while the flash is busy",
			    name, value);
	return busy;
}

static void begin_command(struct tm4c_flash *flash, uint32_t value)
{
	if (value >> 16 != KEY || !(value & 0xf) ||
	    is_busy(flash, "FMC", value))
		return;
	if (value & WORD) {
		begin_word(flash);
	} else if (value & SECTOR) {
		begin_sector(flash);
	} else if (value & ALL) {
		flash->command = ALL;
		flash->erase_to = 0;
		end_step(flash);
	} else {
		board_fault(flash->board,
			    "FMC=%08x: registers that are "
			    "committed are not modelled",
			    value);
	}
}

static uint32_t read_flash(void *device, uint32_t off)
{
	const struct tm4c_flash *flash = device;

	if (off >= FWB && off < FWB + sizeof(flash->buffer))
		return flash->buffer[(off - FWB) / 4];
	switch (off) {
	case FMA:
		return flash->addr;
	case FMD:
		return flash->data;
	case FMC:
		return flash->command;
	case FMC2:
		return flash->buffered;
	case FWBVAL:
		return flash->valid;
	case FCRIS:
		return flash->raw;
	case FCIM:
		return flash->mask;
	case FCMISC:
		return flash->raw & flash->mask;
	case FLASHPP:
		return PP_1_MIB;
	case SSIZE:
		return SSIZE_256KIB;
	case CONF:
		return flash->config;
	default:
		return 0;
	}
}

static void write_buffer(struct tm4c_flash *flash, uint32_t index,
			 uint32_t value)
{
	if (flash->buffered)
		board_fault(flash->board, "the write buffer is written while "
					  "it is programmed");
	flash->buffer[index] = value;
	flash->valid |= 1u << index;
}

static void write_flash(void *device, uint32_t off, uint32_t value)
{
	struct tm4c_flash *flash = device;

	if (off >= FWB && off < FWB + sizeof(flash->buffer))
		write_buffer(flash, (off - FWB) / 4, value);
	else if (off == FMC)
		begin_command(flash, value);
	else if (off == FMC2 && value >> 16 == KEY && value & 1) {
		if (!is_busy(flash, "FMC2", value))
			begin_buffer(flash);
	} else if ((off == FMA || off == FMD) && is_busy(flash, "FMA", value))
		return;
	else if (off == FMA)
		flash->addr = value;
	else if (off == FMD)
		flash->data = value;
	else if (off == FCIM)
		flash->mask = value;
	else if (off == FCMISC)
		flash->raw &= ~value;
	else if (off == FWBVAL)
		flash->valid = value;
	else if (off == CONF)
		flash->config = value;
	update_irq(flash);
}

/* What goes on is finished: that a reset leaves marginal bits is not known. */
static void reset_flash(void *device)
{
	struct tm4c_flash *flash = device;

	clock_cancel(&flash->board->clock, end_step, flash);
	nor_finish(&flash->nor);
	flash->addr = flash->data = flash->command = flash->config = 0;
	flash->raw = flash->mask = flash->valid = 0;
	flash->buffered = false;
	update_irq(flash);
}

const struct device_ops tm4c_flash_ops = {
	.name = "flash controller",
	.read = read_flash,
	.write = write_flash,
	.reset = reset_flash,
};

void tm4c_flash_init(struct tm4c_flash *flash, struct board *board)
{
	flash->board = board;
	nor_init(&flash->nor, board);
}
