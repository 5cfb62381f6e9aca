/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * gpio.h - a port of eight pins (LM3S6965 data sheet chapter 8): which of them carry
 * the signal of a device.
 *
 * Rules: pins of JTAG are not taken from it, and only a committed write can; a locked
 * pin changes after it is unlocked.
 *
 * Secret: the registers. Levels of pins are not modelled.
 */
#ifndef BOARD_MODEL_GPIO_H
#define BOARD_MODEL_GPIO_H

#include "board.h"

#define GPIO_BYTES 0x1000u

struct gpio {
	struct board *board;
	char port;	  /* 'A' ... */
	uint32_t special; /* pins of JTAG */
	uint32_t locked;  /* other pins that a reset locks */
	uint32_t reg[GPIO_BYTES / 4];
};

extern const struct device_ops gpio_ops;

/** gpio_init() - @special: the pins that a reset gives to JTAG. */
void gpio_init(struct gpio *gpio, struct board *board, char port,
	       uint32_t special);

/** gpio_carries() - pin @pin has a device behind it: alternate function, and
 * digital. */
bool gpio_carries(const struct gpio *gpio, uint32_t pin);

/** gpio_function() - which device that is, on a chip whose pins have several: its
 * number in GPIOPCTL; 0: none. */
uint32_t gpio_function(const struct gpio *gpio, uint32_t pin);

#endif /* BOARD_MODEL_GPIO_H */
