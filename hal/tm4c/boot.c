/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * boot.c - the boot stub: what is this chip's. The firmware finds the clock at full
 * speed, if it can be, and does not change it while the console still sends.
 *
 * The flash is erased 16 KiB at a time. Both slots hold the firmware, linked for that
 * place; hal/cortexm/boot_choice.h has the records.
 *
 *	00000000  boot stub, 16 KiB
 *	00004000  record of slot A, and nothing else that is erased with it
 *	00008000  record of slot B
 *	00040000  slot A, 256 KiB
 *	00080000  slot B, 256 KiB
 */
#include "boot_choice.h"
#include "chip.h"
#include "machine.h"
#include "pl011.h"
#include "tm4c.h"

static const struct boot_layout flash = {
	.image = { 0x40000, 0x80000 },
	.record = { 0x4000, 0x8000 },
	.image_bytes = 0x40000,
};

static void say(const char *text)
{
	pl011_puts(TM4C_CONSOLE, text);
	pl011_drain(TM4C_CONSOLE);
}

void machine_boot(void)
{
	tm4c_console_start(tm4c_clock_start());
	boot_run(&flash, say);
}
