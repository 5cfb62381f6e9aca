/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * chip.h - clocks, pins and power of a TM4C1294NCPDT on its EK-TM4C1294XL (data sheet
 * chapter 5, System Control; chapter 10, GPIO), for the boot stub and the firmware.
 *
 * Secret: what has to be on, and in which order, before a device may be touched. A
 * device whose clock is off, or has just come on, is a bus fault: each function here
 * waits until the chip says that it is ready, a bounded number of looks.
 */
#ifndef TM4C_CHIP_H
#define TM4C_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#define TM4C_HZ		 120000000u /* crystal of 25 MHz, by the PLL */
#define TM4C_CRYSTAL_HZ	 25000000u  /* the PLL does not lock */
#define TM4C_INTERNAL_HZ 16000000u  /* the crystal does not swing */

/**
 * tm4c_clock_start() - full speed, or as fast as it goes. A clock that is at full
 * speed already stays as it is. Any other is changed: no UART may be sending.
 * Returns the processor's clock: TM4C_HZ, TM4C_CRYSTAL_HZ or TM4C_INTERNAL_HZ.
 */
uint32_t tm4c_clock_start(void);

/** tm4c_console_start() - pins and UART of the console, for a clock of @hz. */
void tm4c_console_start(uint32_t hz);

/** tm4c_line_start() - clock and pins of the line to the host; its UART is off. */
void tm4c_line_start(void);

/** tm4c_timers_start() - clocks of the watchdog and of the timer that ends a sleep. */
void tm4c_timers_start(void);

/**
 * tm4c_reset_cause() - why the chip was reset: TM4C_RESET_* since the last call. From
 * here on a brown-out is a reset; and each reset but that at power-on leaves the RAM
 * as it is, where the crash record lies.
 */
uint32_t tm4c_reset_cause(void);

#define TM4C_RESET_POWER_ON  (1u << 1)
#define TM4C_RESET_BROWN_OUT (1u << 2)
#define TM4C_RESET_WATCHDOG  (1u << 3)

/**
 * tm4c_ethernet_start() - power, clock and reset of the Ethernet controller and its
 * PHY, and the LEDs D3 and D4. The PHY negotiates from here on, which takes some
 * seconds. Call it once per reset.
 * Returns false if one of both does not become ready; it may not be touched then.
 */
bool tm4c_ethernet_start(void);

/** tm4c_address() - the MAC address that the board's maker wrote into the chip; if
 * there is none, one of the local kind, made of the chip's unique number. */
void tm4c_address(uint8_t mac[6]);

#endif /* TM4C_CHIP_H */
