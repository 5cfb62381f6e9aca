/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * chip.h - all that a new board with a Cortex-M3 must write to be a NIC whose host
 * is at the end of a UART: five functions and the numbers below. port.c does the
 * rest with them. Addresses and numbers are of your data sheet; those here are the
 * ones that most processors of this kind have.
 */
#ifndef TEMPLATE_CHIP_H
#define TEMPLATE_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#define CHIP_HZ	  50000000u /* of the processor, after chip_start() */
#define CHIP_BAUD 115200u /* of the line; more when interrupts take its bytes */

/* What may be accessed; all else faults (MPU). Sizes are powers of two, and a
 * base is a multiple of its size. As in ld/template.ld. */
#define CHIP_CODE	   0x00000000u
#define CHIP_CODE_SHIFT	   18
#define CHIP_RAM	   0x20000000u
#define CHIP_RAM_SHIFT	   16
#define CHIP_DEVICES	   0x40000000u
#define CHIP_DEVICES_SHIFT 29

/**
 * chip_start() - clocks at their speed, power to the UARTs, their pins, the line's
 * UART at CHIP_BAUD, 8 bits, no parity. Called once, with interrupts off. Waits
 * for a PLL a bounded number of times.
 */
void chip_start(void);

/**
 * chip_puts() - @text to the console, for a human. May be called before
 * chip_start() and in a fault handler; drops what does not go. Until you have
 * written it, it goes through your debugger (semihosting).
 */
void chip_puts(const char *text);

/** chip_line_get() - a byte that the line's UART has received. False: none.
 * Never waits. Bytes with errors may come: the link has checksums. */
bool chip_line_get(uint8_t *byte);

/** chip_line_room() - may a byte be put now? */
bool chip_line_room(void);

/** chip_line_put() - a byte to the host; there is room. */
void chip_line_put(uint8_t byte);

#endif /* TEMPLATE_CHIP_H */
