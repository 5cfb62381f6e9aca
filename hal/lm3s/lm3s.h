/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lm3s.h - the memory map of the LM3S6965 (Stellaris LM3S6965 data sheet). Other
 * addresses are not mapped: a wild pointer faults.
 */
#ifndef LM3S_H
#define LM3S_H

#include <stdint.h>

#include "cortexm.h"

#define LM3S_FLASH	   0x00000000u
#define LM3S_FLASH_SHIFT   18
#define LM3S_RAM	   0x20000000u
#define LM3S_RAM_SHIFT	   16
#define LM3S_DEVICES	   0x40000000u
#define LM3S_DEVICES_SHIFT 20

#define LM3S_WATCHDOG 0x40000000u
#define LM3S_GPIOA    0x40004000u
#define LM3S_GPIOD    0x40007000u
#define LM3S_GPIOF    0x40025000u
#define LM3S_UART0    0x4000c000u
#define LM3S_UART1    0x4000d000u
#define LM3S_TIMER    0x40030000u
#define LM3S_ETH      0x40048000u
#define LM3S_SYS      0x400fe000u

/* System control, data sheet chapter 5. */
#define LM3S_DID0    (LM3S_SYS + 0x000u)
#define LM3S_PBORCTL (LM3S_SYS + 0x030u)
#define LM3S_LDOPCTL (LM3S_SYS + 0x034u)
#define LM3S_RIS     (LM3S_SYS + 0x050u)
#define LM3S_MISC    (LM3S_SYS + 0x058u)
#define LM3S_RESC    (LM3S_SYS + 0x05cu)
#define LM3S_RCC     (LM3S_SYS + 0x060u)
#define LM3S_RCGC0   (LM3S_SYS + 0x100u)
#define LM3S_RCGC1   (LM3S_SYS + 0x104u)
#define LM3S_RCGC2   (LM3S_SYS + 0x108u)
#define LM3S_USER0   (LM3S_SYS + 0x1e0u)
#define LM3S_USER1   (LM3S_SYS + 0x1e4u)

/* General-purpose pins, data sheet chapter 8. */
#define LM3S_GPIO_AFSEL 0x420u
#define LM3S_GPIO_DEN	0x51cu

#define LM3S_UART0_IRQ	  5u
#define LM3S_UART1_IRQ	  6u
#define LM3S_WATCHDOG_IRQ 18u
#define LM3S_TIMER_IRQ	  19u
#define LM3S_ETH_IRQ	  42u

/** lm3s_clock_on() - of the devices of @bits of RCGC0 to RCGC2. They may be used
 * three cycles later: the reads take longer. */
static inline void lm3s_clock_on(uintptr_t rcgc, uint32_t bits)
{
	CORTEXM_REG(rcgc) |= bits;
	(void)CORTEXM_REG(rcgc);
	(void)CORTEXM_REG(rcgc);
}

/** lm3s_use_pins() - @pins of the port at @gpio, whose clock is on, belong to their
 * device. */
static inline void lm3s_use_pins(uintptr_t gpio, uint32_t pins)
{
	CORTEXM_REG(gpio + LM3S_GPIO_AFSEL) |= pins;
	CORTEXM_REG(gpio + LM3S_GPIO_DEN) |= pins;
}

#endif /* LM3S_H */
