/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lm3s.h - the memory map of the LM3S6965 (Stellaris LM3S6965 data sheet). Other
 * addresses are not mapped: a wild pointer faults.
 */
#ifndef LM3S_H
#define LM3S_H

#define LM3S_FLASH	   0x00000000u
#define LM3S_FLASH_SHIFT   18
#define LM3S_RAM	   0x20000000u
#define LM3S_RAM_SHIFT	   16
#define LM3S_DEVICES	   0x40000000u
#define LM3S_DEVICES_SHIFT 20

#define LM3S_GPIOA 0x40004000u
#define LM3S_GPIOD 0x40007000u
#define LM3S_GPIOF 0x40025000u
#define LM3S_UART0 0x4000c000u
#define LM3S_UART1 0x4000d000u
#define LM3S_TIMER 0x40030000u
#define LM3S_ETH   0x40048000u
#define LM3S_SYS   0x400fe000u

#define LM3S_UART0_IRQ 5u
#define LM3S_UART1_IRQ 6u
#define LM3S_TIMER_IRQ 19u
#define LM3S_ETH_IRQ   42u

#endif /* LM3S_H */
