// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * tm4c1294.c - the TM4C1294NCPDT on the EK-TM4C1294XL: memory map, interrupts, which
 * clock and which pins a device has (data sheet SPMS433 chapters 2, 5, 10, 26; board
 * manual SPMU365). UART 0 goes to the debug probe, UART 6 to BoosterPack 2: the console.
 */
#include <stdlib.h>

#include "board.h"
#include "connection.h"
#include "cpu.h"
#include "emac.h"
#include "gpio.h"
#include "gptimer.h"
#include "tm4c_flash.h"
#include "tm4c_sysctl.h"
#include "uart.h"
#include "watchdog.h"

#define RAM	  0x20000000u
#define RAM_BYTES 0x40000u
#define FLASHCTL  0x400fd000u
#define SYSCTL	  0x400fe000u
#define EMAC	  0x400ec000u
#define PAGE	  0x1000u
#define PORTS	  15u /* A to H, J to N, P, Q */
#define OLD_PORTS 9u  /* that have a place on the old bus, too */
#define UARTS	  8u
#define TIMERS	  8u
#define LINK	  0u /* UARTs */
#define CONSOLE	  6u
#define UART_PIN  1u /* functions of pins */
#define LED_PIN	  5u
#define PORT_A	  0u
#define PORT_C	  2u
#define PORT_D	  3u
#define PORT_F	  5u
#define PORT_P	  13u
#define ALWAYS	  TM4C_KINDS /* no gate */
#define PLACES	  64u

struct place {
	uint32_t base, kind, bit;
};

struct tm4c {
	struct board *board;
	struct tm4c_sysctl sys;
	struct tm4c_flash flash;
	struct gpio gpio[PORTS];
	struct uart uart[UARTS];
	struct gptimer timer[TIMERS];
	struct watchdog watchdog;
	struct emac emac;
	struct place places[PLACES]; /* beside the board's devices */
	uint8_t *ram;
};

static void map_device(struct tm4c *tm4c, struct place place,
		       const struct device_ops *ops, void *device)
{
	tm4c->places[tm4c->board->device_count] = place;
	board_map(tm4c->board, place.base, PAGE, ops, device);
}

static bool is_reached(void *chip, const struct board_device *device,
		       uint32_t off)
{
	struct tm4c *tm4c = chip;
	const struct place *p = &tm4c->places[device - tm4c->board->devices];

	if (p->kind == ALWAYS || tm4c_sysctl_ready(&tm4c->sys, p->kind, p->bit))
		return true;
	board_fault(tm4c->board, "%s at %08x is accessed while it is not ready",
		    device->ops->name, device->base + off);
	return false;
}

/* The transceiver has a clock of its own, which is the crystal's. */
static void switch_device(struct board *board, uint32_t kind, uint32_t bit)
{
	struct tm4c *tm4c = board->chip_state;

	if (tm4c && kind == TM4C_EPHY)
		emac_power(&tm4c->emac, tm4c_sysctl_runs(&tm4c->sys, kind, bit),
			   tm4c->sys.mosc_stable);
}

static void reset_device(struct board *board, uint32_t kind, uint32_t bit)
{
	struct tm4c *tm4c = board->chip_state;

	for (uint32_t i = 0; i < board->device_count; i++) {
		const struct board_device *d = &board->devices[i];
		const struct place *p = &tm4c->places[i];

		if (p->kind == kind && p->bit == bit && d->ops->reset)
			d->ops->reset(d->device);
	}
}

/* ------------------------------------------------------------- devices */

/* Those of the board. */
static bool is_wired(void *chip, const struct uart *uart, bool transmits)
{
	struct tm4c *tm4c = chip;
	uint32_t i = (uint32_t)(uart - tm4c->uart);

	if (i != LINK && i != CONSOLE)
		return false;
	return gpio_function(&tm4c->gpio[i == LINK ? PORT_A : PORT_P],
			     transmits) == UART_PIN;
}

/* LED D4 shows the link, D3 traffic. */
static bool is_led_wired(void *chip, uint32_t led)
{
	struct tm4c *tm4c = chip;

	return gpio_function(&tm4c->gpio[PORT_F], led ? 4 : 0) == LED_PIN;
}

static void create_ports(struct tm4c *tm4c)
{
	static const char names[PORTS + 1] = "ABCDEFGHJKLMNPQ";
	static const uint32_t old[OLD_PORTS] = {
		0x40004000, 0x40005000, 0x40006000, 0x40007000, 0x40024000,
		0x40025000, 0x40026000, 0x40027000, 0x4003d000,
	};

	for (uint32_t i = 0; i < PORTS; i++) {
		struct gpio *gpio = &tm4c->gpio[i];

		gpio_init(gpio, tm4c->board, names[i], i == PORT_C ? 0x0f : 0);
		if (i == PORT_D) /* NMI */
			gpio->locked = 0x80;
		map_device(tm4c,
			   (struct place){ 0x40058000 + i * PAGE, TM4C_GPIO,
					   i },
			   &gpio_ops, gpio);
		if (i < OLD_PORTS)
			map_device(tm4c, (struct place){ old[i], TM4C_GPIO, i },
				   &gpio_ops, gpio);
	}
}

static void create_uarts(struct tm4c *tm4c)
{
	static const uint32_t irq[UARTS] = { 5, 6, 33, 56, 57, 58, 59, 60 };
	struct board_options *options = &tm4c->board->options;
	uint32_t outside;

	for (uint32_t i = 0; i < UARTS; i++) {
		struct uart *uart = &tm4c->uart[i];

		outside = i == LINK ? 0 : 1;
		uart_init(uart, tm4c->board, irq[i],
			  options->uart_baud[outside]);
		uart->is_wired = is_wired;
		map_device(tm4c,
			   (struct place){ 0x4000c000u + i * PAGE, TM4C_UART,
					   i },
			   &uart_ops, uart);
		if ((i == LINK || i == CONSOLE) && options->uart[outside])
			uart->connection = connection_serve(
				options->uart[outside], uart_input, uart);
	}
	tm4c->uart[CONSOLE].watch = tm4c->board->console_byte;
	tm4c->uart[CONSOLE].watch_arg = tm4c->board->console_arg;
}

static void create_timers(struct tm4c *tm4c)
{
	static const uint32_t irq[TIMERS] = { 19, 21, 23, 35, 63, 65, 98, 100 };
	static const uint32_t base[TIMERS] = {
		0x40030000, 0x40031000, 0x40032000, 0x40033000,
		0x40034000, 0x40035000, 0x400e0000, 0x400e1000,
	};

	for (uint32_t i = 0; i < TIMERS; i++) {
		gptimer_init(&tm4c->timer[i], tm4c->board, irq[i]);
		map_device(tm4c, (struct place){ base[i], TM4C_TIMER, i },
			   &gptimer_ops, &tm4c->timer[i]);
	}
	/* The other one, which another clock drives, is not modelled. */
	watchdog_init(&tm4c->watchdog, tm4c->board, 18);
	map_device(tm4c, (struct place){ 0x40000000, TM4C_WATCHDOG, 0 },
		   &watchdog_ops, &tm4c->watchdog);
}

static void create_memories(struct tm4c *tm4c)
{
	struct board *board = tm4c->board;

	tm4c->ram = aligned_alloc(4096, RAM_BYTES);
	if (!tm4c->ram)
		abort();
	for (uint32_t i = 0; i < RAM_BYTES; i++)
		tm4c->ram[i] = (uint8_t)board_random(board);
	board_memory(board, &(struct board_memory){ .base = RAM,
						    .bytes = RAM_BYTES,
						    .host = tm4c->ram,
						    .writable = true });
	tm4c_flash_init(&tm4c->flash, board);
}

static void *create_tm4c(struct board *board)
{
	struct tm4c *tm4c = calloc(1, sizeof(*tm4c));

	if (!tm4c)
		abort();
	tm4c->board = board;
	tm4c_sysctl_init(&tm4c->sys, board);
	tm4c->sys.reset_device = reset_device;
	tm4c->sys.switch_device = switch_device;
	create_memories(tm4c);
	map_device(tm4c, (struct place){ SYSCTL, ALWAYS, 0 }, &tm4c_sysctl_ops,
		   &tm4c->sys);
	map_device(tm4c, (struct place){ FLASHCTL, ALWAYS, 0 }, &tm4c_flash_ops,
		   &tm4c->flash);
	create_ports(tm4c);
	create_uarts(tm4c);
	create_timers(tm4c);
	emac_init(&tm4c->emac, board, 40, board->options.wire);
	tm4c->emac.is_led_wired = is_led_wired;
	map_device(tm4c, (struct place){ EMAC, TM4C_EMAC, 0 }, &emac_ops,
		   &tm4c->emac);
	return tm4c;
}

static void reset_tm4c(void *chip, enum board_reset cause)
{
	struct tm4c *tm4c = chip;

	tm4c_sysctl_start(&tm4c->sys, cause);
	emac_power(&tm4c->emac, false, false);
}

static struct phy *phy_of_tm4c(void *chip)
{
	return &((struct tm4c *)chip)->emac.ephy.phy;
}

static void end_tm4c(void *chip)
{
	struct tm4c *tm4c = chip;

	nor_cut(&tm4c->flash.nor);
	nor_save(&tm4c->flash.nor);
	board_say(tm4c->board, "%lu steps of the flash", tm4c->flash.nor.steps);
	uart_say(&tm4c->uart[LINK]);
	emac_say(&tm4c->emac);
}

const struct board_chip tm4c1294_chip = {
	.name = "tm4c1294",
	.core = "m4",
	.interrupts = 114,
	.flash_bytes = 0x100000,
	.page_bytes = 0x4000,
	.ram_bytes = RAM_BYTES,
	.create = create_tm4c,
	.reaches = is_reached,
	.reset = reset_tm4c,
	.end = end_tm4c,
	.phy = phy_of_tm4c,
};
