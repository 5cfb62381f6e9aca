// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* watchdog.c - see watchdog.h. */
#include "watchdog.h"

#include "cpu.h"

#define LOAD  0x000u
#define VALUE 0x004u
#define CTL   0x008u
#define ICR   0x00cu
#define RIS   0x010u
#define MIS   0x014u
#define TEST  0x418u
#define LOCK  0xc00u
#define KEY   0x1acce551u

#define INTEN	 1u
#define RESEN	 2u
#define STALL	 0x100u /* stop while the debugger halts the core */
#define NS_PER_S 1000000000ull

static void run_out(void *arg);

static void update_irq(struct watchdog *dog)
{
	cpu_irq(dog->board->cpu, dog->irq, dog->raw && dog->control & INTEN);
}

static void arm_event(struct watchdog *dog)
{
	struct clock *clock = &dog->board->clock;
	uint64_t left = dog->end > clock->cycles ? dog->end - clock->cycles : 0;

	clock_cancel(clock, run_out, dog);
	if (dog->control & INTEN)
		clock_at(clock,
			 clock_now_ns(clock) + left / clock->hz * NS_PER_S +
				 left % clock->hz * NS_PER_S / clock->hz + 1,
			 run_out, dog);
}

static void start_count(struct watchdog *dog)
{
	dog->end = dog->board->clock.cycles + dog->load;
	arm_event(dog);
}

static void run_out(void *arg)
{
	struct watchdog *dog = arg;

	if (dog->board->cpu->halted && dog->test & STALL) {
		start_count(dog);
		return;
	}
	if (dog->raw && dog->control & RESEN) {
		board_say(dog->board, "the watchdog resets the board");
		board_want_reset(dog->board, BOARD_WATCHDOG);
		return;
	}
	dog->raw = 1;
	start_count(dog);
	update_irq(dog);
}

static uint32_t read_watchdog(void *device, uint32_t off)
{
	const struct watchdog *dog = device;
	uint64_t now = dog->board->clock.cycles;

	switch (off) {
	case LOAD:
		return dog->load;
	case VALUE:
		if (!(dog->control & INTEN))
			return dog->load;
		return dog->end > now ? (uint32_t)(dog->end - now) : 0;
	case CTL:
		return dog->control;
	case RIS:
		return dog->raw;
	case MIS:
		return dog->raw && dog->control & INTEN;
	case TEST:
		return dog->test;
	case LOCK:
		return dog->locked;
	default:
		return 0;
	}
}

static void write_watchdog(void *device, uint32_t off, uint32_t value)
{
	struct watchdog *dog = device;

	if (off == LOCK) {
		dog->locked = value != KEY;
		return;
	}
	if (dog->locked) {
		board_fault(dog->board,
			    "watchdog register %03x is written, but locked",
			    off);
		return;
	}
	if (off == LOAD) {
		dog->load = value;
		start_count(dog);
	} else if (off == CTL) {
		bool was_on = dog->control & INTEN;

		/* once on, only a reset stops it */
		dog->control = (value & (INTEN | RESEN)) |
			       (dog->control & INTEN);
		if (!was_on)
			start_count(dog);
	} else if (off == ICR) {
		dog->raw = 0;
		start_count(dog);
	} else if (off == TEST) {
		dog->test = value & STALL;
	}
	update_irq(dog);
}

static void reset_watchdog(void *device)
{
	struct watchdog *dog = device;

	clock_cancel(&dog->board->clock, run_out, dog);
	dog->control = dog->raw = dog->test = 0;
	dog->load = ~0u;
	dog->locked = false;
	update_irq(dog);
}

static void follow_clock(void *device, uint32_t old_hz)
{
	(void)old_hz;
	arm_event(device);
}

const struct device_ops watchdog_ops = {
	.name = "watchdog",
	.read = read_watchdog,
	.write = write_watchdog,
	.reset = reset_watchdog,
	.clocked = follow_clock,
};

void watchdog_init(struct watchdog *dog, struct board *board, uint32_t irq)
{
	dog->board = board;
	dog->irq = irq;
}
