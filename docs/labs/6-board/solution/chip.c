/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * chip.c - hal/template/chip.h as a port to an LM3S6965 by docs/PORTING.md would have
 * it. test_template.py shows whether that is enough, too.
 */
#include "chip.h"

#include "pl011.h"

#define SYS	  0x400fe000u
#define RCC	  0x060u
#define RCGC1	  0x104u
#define RCGC2	  0x108u
#define RCC_50MHZ 0x01c00380u
#define LINE	  0x4000c000u
#define CONSOLE	  0x4000d000u

static void set_sys(uint32_t off, uint32_t v)
{
	*(volatile uint32_t *)(SYS + off) = v;
}

void chip_start(void)
{
	set_sys(RCC, RCC_50MHZ);
	set_sys(RCGC1, 3);
	set_sys(RCGC2, 9);
	pl011_start(LINE, CHIP_HZ, CHIP_BAUD);
	pl011_start(CONSOLE, CHIP_HZ, 115200);
}

void chip_puts(const char *text)
{
	pl011_puts(CONSOLE, text);
}

bool chip_line_get(uint8_t *byte)
{
	return pl011_get(LINE, byte);
}

bool chip_line_room(void)
{
	return pl011_room(LINE);
}

void chip_line_put(uint8_t byte)
{
	pl011_put(LINE, byte);
}
