/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "pl011.h"

#define PL011_IBRD     0x24u
#define PL011_FBRD     0x28u
#define PL011_LCRH     0x2cu
#define PL011_CTL      0x30u
#define PL011_IFLS     0x34u
#define PL011_8_FIFO   0x70u
#define PL011_ON       0x301u  /* UART, transmitter, receiver */
#define PL011_IFLS_USE 0x11u   /* receive: at a half, send: at a quarter */
#define PL011_PATIENCE 100000u /* polls, about 10 ms */

static void pl011_putc(uintptr_t base, char c)
{
	for (uint32_t i = 0; i < PL011_PATIENCE; i++) {
		if (!pl011_room(base))
			continue;
		pl011_put(base, (uint8_t)c);
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

void pl011_drain(uintptr_t base)
{
	for (uint32_t i = 0; i < PL011_PATIENCE; i++)
		if (!(PL011_REG(base, PL011_FR) & PL011_FR_BUSY))
			return;
}

/* The divisor has 6 binary places, of 16 times the rate. */
void pl011_start(uintptr_t base, uint32_t hz, uint32_t baud)
{
	uint32_t divisor = (8 * hz / baud + 1) / 2;

	PL011_REG(base, PL011_CTL) = 0;
	PL011_REG(base, PL011_IM) = 0;
	PL011_REG(base, PL011_IBRD) = divisor >> 6;
	PL011_REG(base, PL011_FBRD) = divisor & 63;
	PL011_REG(base, PL011_LCRH) = PL011_8_FIFO;
	PL011_REG(base, PL011_IFLS) = PL011_IFLS_USE;
	PL011_REG(base, PL011_CTL) = PL011_ON;
}
