/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * chip.c - the five functions of hal/template/chip.h, for an LM3S6965. A function that
 * is not written panics with its name, and the NIC stops.
 */
#include "chip.h"

#include "machine.h"
#include "pl011.h"
#include "semihost.h"
#include "unic_port.h"

#define NOT_WRITTEN() not_written(__func__, __LINE__)

static void not_written(const char *name, uint32_t line)
	__attribute__((noreturn));
static void not_written(const char *name, uint32_t line)
{
	machine_puts("unic: not written: ");
	machine_puts(name);
	machine_puts("()\n");
	unic_port_panic(NULL, name, line);
}

void chip_start(void)
{
	NOT_WRITTEN();
}

/* By way of the debugger, until you write this one. */
void chip_puts(const char *text)
{
	semihost_puts(text);
}

bool chip_line_get(uint8_t *byte)
{
	(void)byte;
	NOT_WRITTEN();
}

bool chip_line_room(void)
{
	NOT_WRITTEN();
}

void chip_line_put(uint8_t byte)
{
	(void)byte;
	NOT_WRITTEN();
}
