/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * chip.h - all that a new board with a Cortex-M3 must write to be a NIC whose
 * host is at the end of a UART: five functions and the numbers below. port.c does
 * the rest. Addresses and numbers come from the data sheet of your board; those
 * here are common among such processors.
 */
#ifndef TEMPLATE_CHIP_H
#define TEMPLATE_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#define CHIP_HZ 50000000u /* clock of the processor, after chip_start() */
/* Of the line. The UART is emptied once a round of the core, which may take 1 ms
 * (an estimate): 115,200 baud need a FIFO of 16 bytes (1.4 ms). A faster line, and a
 * UART that holds one byte (0.1 ms), need interrupts (machine_irq() of port.c).
 * unicd must be told: its --baud is 921,600 if nothing is said. */
#define CHIP_BAUD 115200u

/* The memory map: every other access faults (MPU). Sizes are powers of two, and a
 * base is a multiple of its size. ld/template.ld has the same numbers. */
#define CHIP_CODE	   0x00000000u
#define CHIP_CODE_SHIFT	   18
#define CHIP_RAM	   0x20000000u
#define CHIP_RAM_SHIFT	   16
#define CHIP_DEVICES	   0x40000000u
#define CHIP_DEVICES_SHIFT 29

/**
 * chip_start() - start the clocks, the power and pins of the UARTs, and the
 * line's UART at CHIP_BAUD, 8 bits, no parity. Called once, with interrupts off.
 * Waits for a PLL a bounded number of times.
 */
void chip_start(void);

/**
 * chip_puts() - write @text to the console. May be called before chip_start() and
 * in a fault handler; drops bytes that the console cannot take. Until you write
 * this function, @text goes through your debugger (semihosting).
 */
void chip_puts(const char *text);

/** chip_line_get() - read a byte that the line's UART has received. False: none.
 * Never waits. Bytes with errors may come: the link has checksums. */
bool chip_line_get(uint8_t *byte);

/** chip_line_room() - may a byte be put now? */
bool chip_line_room(void);

/** chip_line_put() - send a byte to the host; chip_line_room() has said true. */
void chip_line_put(uint8_t byte);

#endif /* TEMPLATE_CHIP_H */
