/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * boot.c - the boot stub: what is this chip's. Changes nothing but the clocks of
 * UART 1.
 */
#include "boot.h"

#include "boot_choice.h"
#include "cortexm.h"
#include "lm3s.h"
#include "machine.h"
#include "pl011.h"

#define RESET_HZ    12500000u /* internal oscillator, roughly */
#define CONSOLE	    115200u
#define RCGC1	    0x104u
#define RCGC2	    0x108u
#define RCGC1_UART1 0x2u
#define RCGC2_PORTD 0x8u
#define GPIO_AFSEL  0x420u
#define GPIO_DEN    0x51cu

static void start_console(void)
{
	CORTEXM_REG(LM3S_SYS + RCGC1) |= RCGC1_UART1;
	CORTEXM_REG(LM3S_SYS + RCGC2) |= RCGC2_PORTD;
	(void)CORTEXM_REG(LM3S_SYS + RCGC2);
	(void)CORTEXM_REG(LM3S_SYS + RCGC2);
	CORTEXM_REG(LM3S_GPIOD + GPIO_AFSEL) |= 0x0c;
	CORTEXM_REG(LM3S_GPIOD + GPIO_DEN) |= 0x0c;
	pl011_start(LM3S_UART1, RESET_HZ, CONSOLE);
}

void machine_boot(void)
{
	static const struct boot_layout layout = {
		{ BOOT_SLOT_BASE(0), BOOT_SLOT_BASE(1) },
		{ BOOT_RECORD(0), BOOT_RECORD(1) },
		BOOT_SLOT_BYTES,
	};

	start_console();
	boot_run(&layout, LM3S_UART1);
}
