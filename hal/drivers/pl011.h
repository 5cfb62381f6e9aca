/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pl011.h - a PL011 UART: words for a human (why a board does not start, where it
 * crashed), or bytes of a line.
 */
#ifndef PL011_H
#define PL011_H

#include <stdbool.h>
#include <stdint.h>

/**
 * pl011_puts() - write @text to the UART at @base. A character that finds the
 * transmitter full for long is dropped: a console never stops a NIC.
 */
void pl011_puts(uintptr_t base, const char *text);

/** pl011_hex() - write "@name=" and @value as eight hexadecimal digits. */
void pl011_hex(uintptr_t base, const char *name, uint32_t value);

/** pl011_drain() - wait until what was written has left, for some ms at most:
 * before the clock of the UART changes, or a reset. */
void pl011_drain(uintptr_t base);

/* ------------------------------------------------------------ bytes */

#define PL011_DR      0x00u
#define PL011_FR      0x18u
#define PL011_IM      0x38u
#define PL011_FR_BUSY (1u << 3) /* until the last stop bit has left */
#define PL011_FR_RXFE (1u << 4)
#define PL011_FR_TXFF (1u << 5)
#define PL011_IM_RX   (1u << 4 | 1u << 6) /* some, or some for a while */
#define PL011_IM_TX   (1u << 5)
#define PL011_DR_BYTE 0xffu
#define PL011_DR_FE   (1u << 8)	 /* this byte has no stop bit */
#define PL011_DR_OE   (1u << 11) /* bytes after this one were lost */

#define PL011_REG(base, off) (*(volatile uint32_t *)((base) + (off)))

/**
 * pl011_start() - 8 data bits, no parity, FIFOs on, @baud of a clock of @hz; no
 * interrupt yet. Later: of the FIFOs' 16 bytes, 8 received interrupt, or 4 left to
 * send. At 921,600 baud that leaves 87 us until bytes are lost, and 43 us until the
 * line falls silent.
 */
void pl011_start(uintptr_t base, uint32_t hz, uint32_t baud);

/** pl011_take() - a byte that was received, with PL011_DR_FE and OE. False: there is
 * none. */
static inline bool pl011_take(uintptr_t base, uint32_t *byte)
{
	if (PL011_REG(base, PL011_FR) & PL011_FR_RXFE)
		return false;
	*byte = PL011_REG(base, PL011_DR);
	return true;
}

/** pl011_get() - as pl011_take(), the byte alone. */
static inline bool pl011_get(uintptr_t base, uint8_t *byte)
{
	uint32_t word = 0;
	bool came = pl011_take(base, &word);

	*byte = (uint8_t)(word & PL011_DR_BYTE);
	return came;
}

/** pl011_room() - may a byte be put? */
static inline bool pl011_room(uintptr_t base)
{
	return !(PL011_REG(base, PL011_FR) & PL011_FR_TXFF);
}

static inline void pl011_put(uintptr_t base, uint8_t byte)
{
	PL011_REG(base, PL011_DR) = byte;
}

/** pl011_interrupts() - PL011_IM_*: these, no others. */
static inline void pl011_interrupts(uintptr_t base, uint32_t mask)
{
	PL011_REG(base, PL011_IM) = mask;
}

#endif /* PL011_H */
