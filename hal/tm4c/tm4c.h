/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tm4c.h - the memory map of the TM4C1294NCPDT (its data sheet, table 2-4), and which
 * UART is for what. Other addresses are not mapped: a wild pointer faults.
 */
#ifndef TM4C_H
#define TM4C_H

#define TM4C_FLASH	   0x00000000u
#define TM4C_FLASH_SHIFT   20
#define TM4C_RAM	   0x20000000u
#define TM4C_RAM_SHIFT	   18
#define TM4C_DEVICES	   0x40000000u
#define TM4C_DEVICES_SHIFT 20

#define TM4C_WATCHDOG 0x40000000u
#define TM4C_GPIOA    0x40058000u
#define TM4C_GPIOF    0x4005d000u
#define TM4C_GPIOP    0x40065000u
#define TM4C_UART0    0x4000c000u
#define TM4C_UART6    0x40012000u
#define TM4C_TIMER    0x40030000u
#define TM4C_EMAC     0x400ec000u
#define TM4C_SYS      0x400fe000u

#define TM4C_UART0_IRQ	  5u
#define TM4C_WATCHDOG_IRQ 18u
#define TM4C_TIMER_IRQ	  19u
#define TM4C_EMAC_IRQ	  40u

/* The line to the host: the debug probe of the board makes it a tty of the host. */
#define TM4C_LINE     TM4C_UART0
#define TM4C_LINE_IRQ TM4C_UART0_IRQ
/* Words for a human: BoosterPack 2, X6-05 receives and X6-07 transmits. */
#define TM4C_CONSOLE	  TM4C_UART6
#define TM4C_CONSOLE_BAUD 115200u

#endif /* TM4C_H */
