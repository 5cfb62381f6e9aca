// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpio.c - see gpio.h. */
#include "gpio.h"

#include <string.h>

#define DATA_END 0x400u
#define AFSEL	 0x420u
#define PUR	 0x510u
#define DEN	 0x51cu
#define LOCK	 0x520u
#define CR	 0x524u
#define PCTL	 0x52cu
#define KEY	 0x1acce551u

static uint32_t read_gpio(void *device, uint32_t off)
{
	const struct gpio *gpio = device;

	/* bits 9:2 of the address select the pins that are read */
	if (off < DATA_END)
		return gpio->reg[0] & off >> 2;
	return gpio->reg[off / 4];
}

/* Those of registers that the commit register protects. */
static void write_committed(struct gpio *gpio, uint32_t off, uint32_t value)
{
	uint32_t *reg = &gpio->reg[off / 4];
	uint32_t free = gpio->reg[CR / 4];
	uint32_t result = (*reg & ~free) | (value & free);

	if ((result ^ *reg) & gpio->special)
		board_fault(gpio->board, "pins of JTAG change: port %c, %02x",
			    gpio->port, result);
	if ((value ^ *reg) & ~free & gpio->locked)
		board_fault(gpio->board,
			    "port %c, register %03x=%02x: a locked pin "
			    "changes",
			    gpio->port, off, value);
	*reg = result & 0xff;
}

static void write_gpio(void *device, uint32_t off, uint32_t value)
{
	struct gpio *gpio = device;

	if (off < DATA_END)
		gpio->reg[0] = (gpio->reg[0] & ~(off >> 2)) |
			       (value & off >> 2);
	else if (off == AFSEL || off == PUR || off == DEN)
		write_committed(gpio, off, value);
	else if (off == LOCK)
		gpio->reg[off / 4] = value != KEY;
	else if (off == PCTL)
		gpio->reg[off / 4] = value;
	else if (off == CR && !gpio->reg[LOCK / 4])
		gpio->reg[off / 4] = value & 0xff;
	else if (off != CR)
		gpio->reg[off / 4] = value & 0xff;
}

/* On reset the pins of JTAG are digital, have their function, and are locked. */
static void reset_gpio(void *device)
{
	struct gpio *gpio = device;

	memset(gpio->reg, 0, sizeof(gpio->reg));
	gpio->reg[AFSEL / 4] = gpio->special;
	gpio->reg[DEN / 4] = gpio->special;
	gpio->reg[PUR / 4] = gpio->special;
	gpio->reg[LOCK / 4] = 1;
	gpio->reg[CR / 4] = ~(gpio->special | gpio->locked) & 0xff;
	/* JTAG is function 1, where pins have functions */
	for (uint32_t pin = 0; pin < 8; pin++)
		gpio->reg[PCTL / 4] |= (gpio->special >> pin & 1) << 4 * pin;
}

const struct device_ops gpio_ops = {
	.name = "GPIO",
	.read = read_gpio,
	.write = write_gpio,
	.reset = reset_gpio,
};

void gpio_init(struct gpio *gpio, struct board *board, char port,
	       uint32_t special)
{
	gpio->board = board;
	gpio->port = port;
	gpio->special = special;
}

bool gpio_carries(const struct gpio *gpio, uint32_t pin)
{
	return gpio->reg[AFSEL / 4] >> pin & gpio->reg[DEN / 4] >> pin & 1;
}

uint32_t gpio_function(const struct gpio *gpio, uint32_t pin)
{
	return gpio_carries(gpio, pin) ? gpio->reg[PCTL / 4] >> 4 * pin & 15
				       : 0;
}
