/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * boot.c - the boot stub: what is this chip's. Its console needs the crystal: the
 * internal oscillator, at +-30 %, makes no readable text. Changes nothing else but
 * the clocks of UART 1.
 */
#include "boot.h"

#include "boot_choice.h"
#include "lm3s.h"
#include "lm3s_clock.h"
#include "machine.h"
#include "pl011.h"

#define CONSOLE	    115200u
#define RCGC1_UART1 0x2u
#define RCGC2_PORTD 0x8u

static void start_console(void)
{
	lm3s_clock_on(LM3S_RCGC1, RCGC1_UART1);
	lm3s_clock_on(LM3S_RCGC2, RCGC2_PORTD);
	lm3s_use_pins(LM3S_GPIOD, 0x0c);
	pl011_start(LM3S_UART1, LM3S_CRYSTAL_HZ, CONSOLE);
}

static void say(const char *text)
{
	pl011_puts(LM3S_UART1, text);
	pl011_drain(LM3S_UART1);
}

void machine_boot(void)
{
	static const struct boot_layout layout = {
		{ BOOT_SLOT_BASE(0), BOOT_SLOT_BASE(1) },
		{ BOOT_RECORD(0), BOOT_RECORD(1) },
		BOOT_SLOT_BYTES,
	};

	lm3s_use_crystal();
	start_console();
	boot_run(&layout, say);
}
