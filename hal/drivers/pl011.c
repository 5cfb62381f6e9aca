/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "pl011.h"

#define PL011_DR       0x00u
#define PL011_FR       0x18u
#define PL011_FR_TXFF  (1u << 5)
#define PL011_PATIENCE 100000u /* polls, about 10 ms */

static volatile uint32_t *pl011_reg(uintptr_t base, uint32_t off)
{
	return (volatile uint32_t *)(base + off);
}

static void pl011_putc(uintptr_t base, char c)
{
	for (uint32_t i = 0; i < PL011_PATIENCE; i++) {
		if (*pl011_reg(base, PL011_FR) & PL011_FR_TXFF)
			continue;
		*pl011_reg(base, PL011_DR) = (uint8_t)c;
		return;
	}
}

void pl011_puts(uintptr_t base, const char *text)
{
	while (*text)
		pl011_putc(base, *text++);
}

void pl011_hex(uintptr_t base, const char *name, uint32_t value)
{
	pl011_puts(base, name);
	pl011_putc(base, '=');
	for (int shift = 28; shift >= 0; shift -= 4)
		pl011_putc(base, "0123456789abcdef"[value >> shift & 15]);
}
