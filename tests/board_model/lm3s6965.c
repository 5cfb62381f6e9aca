// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * lm3s6965.c - the LM3S6965 on its evaluation board: memory map, interrupts, which
 * clock and which pins a device has (data sheet chapters 2, 4, 8; board manual).
 */
#include <stdlib.h>

#include "board.h"
#include "connection.h"
#include "cpu.h"
#include "gpio.h"
#include "gptimer.h"
#include "lm3s_flash.h"
#include "lm3s_sysctl.h"
#include "stellaris_mac.h"
#include "uart.h"
#include "watchdog.h"

#define RAM	  0x20000000u
#define RAM_BYTES 0x10000u
#define FLASHCTL  0x400fd000u
#define SYSCTL	  0x400fe000u
#define WATCHDOG  0x40000000u
#define PAGE	  0x1000u
#define ETHERNET  0x40048000u
#define EPHY	  30u /* of RCGC2 */
#define PORTS	  7u
#define UARTS	  3u
#define TIMERS	  4u
#define CONSOLE	  1u  /* UART */
#define ALWAYS	  32u /* no gate */

struct lm3s {
	struct board *board;
	struct lm3s_sysctl sys;
	struct lm3s_flash flash;
	struct gpio gpio[PORTS];
	struct uart uart[UARTS];
	struct gptimer timer[TIMERS];
	struct watchdog watchdog;
	struct stellaris_mac mac;
	uint8_t *ram;
};

/* The bit of RCGC<gate>. */
static const struct place {
	uint32_t base, gate, bit;
} places[] = {
	{ SYSCTL, 0, ALWAYS }, { FLASHCTL, 0, ALWAYS }, { WATCHDOG, 0, 3 },
	{ 0x4000c000, 1, 0 },  { 0x4000d000, 1, 1 },	{ 0x4000e000, 1, 2 },
	{ 0x40030000, 1, 16 }, { 0x40031000, 1, 17 },	{ 0x40032000, 1, 18 },
	{ 0x40033000, 1, 19 }, { 0x40004000, 2, 0 },	{ 0x40005000, 2, 1 },
	{ 0x40006000, 2, 2 },  { 0x40007000, 2, 3 },	{ 0x40024000, 2, 4 },
	{ 0x40025000, 2, 5 },  { 0x40026000, 2, 6 },	{ ETHERNET, 2, 28 },
};

static const struct place *place_of(uint32_t base)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].base == base)
			return &places[i];
	abort();
}

static bool is_reached(void *chip, const struct board_device *device,
		       uint32_t off)
{
	struct lm3s *lm3s = chip;
	const struct place *p = place_of(device->base);

	if (p->bit == ALWAYS || lm3s_sysctl_clocks(&lm3s->sys, p->gate, p->bit))
		return true;
	board_fault(lm3s->board, "%s at %08x is accessed without a clock",
		    device->ops->name, device->base + off);
	return false;
}

/* The transceiver has no registers on the bus, but a clock. */
static void switch_clock(struct board *board, uint32_t gate, uint32_t bit,
			 bool on)
{
	struct lm3s *lm3s = board->chip_state;

	if (gate == 2 && bit == EPHY)
		stellaris_mac_power(&lm3s->mac, on);
}

static void reset_device(struct board *board, uint32_t gate, uint32_t bit)
{
	for (uint32_t i = 0; i < board->device_count; i++) {
		const struct board_device *d = &board->devices[i];
		const struct place *p = place_of(d->base);

		if (p->gate == gate && p->bit == bit && d->ops->reset)
			d->ops->reset(d->device);
	}
}

/* ------------------------------------------------------------- devices */

/* Receive and transmit pins. */
static const struct {
	uint32_t port, rx, tx;
} uart_pins[UARTS] = { { 0, 0, 1 }, { 3, 2, 3 }, { 6, 0, 1 } };

static bool is_wired(void *chip, const struct uart *uart, bool transmits)
{
	struct lm3s *lm3s = chip;
	uint32_t i = (uint32_t)(uart - lm3s->uart);

	return gpio_carries(&lm3s->gpio[uart_pins[i].port],
			    transmits ? uart_pins[i].tx : uart_pins[i].rx);
}

static void create_ports(struct lm3s *lm3s)
{
	static const uint32_t base[PORTS] = {
		0x40004000, 0x40005000, 0x40006000, 0x40007000,
		0x40024000, 0x40025000, 0x40026000,
	};

	for (uint32_t i = 0; i < PORTS; i++) {
		/* JTAG: PB7, PC0 to PC3 */
		gpio_init(&lm3s->gpio[i], lm3s->board, (char)('A' + i),
			  i == 1   ? 0x80
			  : i == 2 ? 0x0f
				   : 0);
		board_map(lm3s->board, base[i], PAGE, &gpio_ops,
			  &lm3s->gpio[i]);
	}
}

static void create_uarts(struct lm3s *lm3s)
{
	static const uint32_t irq[UARTS] = { 5, 6, 33 };
	struct board_options *options = &lm3s->board->options;

	for (uint32_t i = 0; i < UARTS; i++) {
		struct uart *uart = &lm3s->uart[i];

		uart_init(uart, lm3s->board, irq[i], options->uart_baud[i]);
		uart->is_wired = is_wired;
		board_map(lm3s->board, 0x4000c000u + i * PAGE, PAGE, &uart_ops,
			  uart);
		if (options->uart[i])
			uart->connection = connection_serve(options->uart[i],
							    uart_input, uart);
	}
	lm3s->uart[CONSOLE].watch = lm3s->board->console_byte;
	lm3s->uart[CONSOLE].watch_arg = lm3s->board->console_arg;
}

static void create_timers(struct lm3s *lm3s)
{
	static const uint32_t irq[TIMERS] = { 19, 21, 23, 35 };

	for (uint32_t i = 0; i < TIMERS; i++) {
		gptimer_init(&lm3s->timer[i], lm3s->board, irq[i]);
		board_map(lm3s->board, 0x40030000u + i * PAGE, PAGE,
			  &gptimer_ops, &lm3s->timer[i]);
	}
	watchdog_init(&lm3s->watchdog, lm3s->board, 18);
	board_map(lm3s->board, WATCHDOG, PAGE, &watchdog_ops, &lm3s->watchdog);
}

static void create_memories(struct lm3s *lm3s)
{
	struct board *board = lm3s->board;

	lm3s->ram = aligned_alloc(4096, RAM_BYTES);
	if (!lm3s->ram)
		abort();
	for (uint32_t i = 0; i < RAM_BYTES; i++)
		lm3s->ram[i] = (uint8_t)board_random(board);
	board_memory(board, &(struct board_memory){ .base = RAM,
						    .bytes = RAM_BYTES,
						    .host = lm3s->ram,
						    .writable = true });
	lm3s_flash_init(&lm3s->flash, board, &lm3s->sys);
}

static void *create_lm3s(struct board *board)
{
	struct lm3s *lm3s = calloc(1, sizeof(*lm3s));

	if (!lm3s)
		abort();
	lm3s->board = board;
	lm3s_sysctl_init(&lm3s->sys, board);
	lm3s->sys.reset_device = reset_device;
	lm3s->sys.switch_clock = switch_clock;
	create_memories(lm3s);
	board_map(board, SYSCTL, PAGE, &lm3s_sysctl_ops, &lm3s->sys);
	board_map(board, FLASHCTL, PAGE, &lm3s_flash_ops, &lm3s->flash);
	create_ports(lm3s);
	create_uarts(lm3s);
	create_timers(lm3s);
	stellaris_mac_init(&lm3s->mac, board, 42, board->options.wire);
	board_map(board, ETHERNET, PAGE, &stellaris_mac_ops, &lm3s->mac);
	return lm3s;
}

static void reset_lm3s(void *chip, enum board_reset cause)
{
	struct lm3s *lm3s = chip;

	stellaris_mac_power(&lm3s->mac, false);
	lm3s_sysctl_start(&lm3s->sys, cause);
}

static struct phy *phy_of_lm3s(void *chip)
{
	return &((struct lm3s *)chip)->mac.phy;
}

static void end_lm3s(void *chip)
{
	struct lm3s *lm3s = chip;

	nor_cut(&lm3s->flash.nor);
	nor_save(&lm3s->flash.nor);
	board_say(lm3s->board, "%lu steps of the flash", lm3s->flash.nor.steps);
	board_say(lm3s->board,
		  "%lu frames came, %lu went, %lu were lost, %lu overruns",
		  lm3s->mac.wire.received, lm3s->mac.wire.sent, lm3s->mac.lost,
		  lm3s->mac.overruns);
	board_say(lm3s->board, "%lu lengths of frames were nonsense",
		  lm3s->mac.nonsense);
	uart_say(&lm3s->uart[0]);
}

const struct board_chip lm3s6965_chip = {
	.name = "lm3s6965",
	.core = "m3",
	.interrupts = 44,
	.flash_bytes = 0x40000,
	.page_bytes = 0x400,
	.ram_bytes = RAM_BYTES,
	.create = create_lm3s,
	.reaches = is_reached,
	.reset = reset_lm3s,
	.end = end_lm3s,
	.phy = phy_of_lm3s,
};
