// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gptimer.c - see gptimer.h. */
#include "gptimer.h"

#include "cpu.h"

#define CFG   0x00u
#define TAMR  0x04u
#define CTL   0x0cu
#define IMR   0x18u
#define RIS   0x1cu
#define MIS   0x20u
#define ICR   0x24u
#define TAILR 0x28u
#define TAR   0x48u

#define ON	 1u
#define ONCE	 1u
#define PERIODIC 2u
#define TATO	 1u
#define NS_PER_S 1000000000ull

static void run_out(void *arg);

static void update_irq(struct gptimer *timer)
{
	cpu_irq(timer->board->cpu, timer->irq, timer->raw & timer->mask);
}

/* Of the event, at the clock of now; it is moved when the clock changes. */
static void arm_event(struct gptimer *timer)
{
	struct clock *clock = &timer->board->clock;
	uint64_t left = timer->end > clock->cycles ? timer->end - clock->cycles
						   : 0;

	clock_cancel(clock, run_out, timer);
	if (timer->control & ON)
		clock_at(clock,
			 clock_now_ns(clock) + left / clock->hz * NS_PER_S +
				 left % clock->hz * NS_PER_S / clock->hz + 1,
			 run_out, timer);
}

static void start_count(struct gptimer *timer)
{
	timer->end = timer->board->clock.cycles + timer->load;
	arm_event(timer);
}

static void run_out(void *arg)
{
	struct gptimer *timer = arg;

	timer->raw |= TATO;
	if (timer->mode == PERIODIC)
		timer->end += timer->load + 1ull;
	else
		timer->control &= ~ON;
	arm_event(timer);
	update_irq(timer);
}

static uint32_t read_count(const struct gptimer *timer)
{
	uint64_t now = timer->board->clock.cycles;

	return timer->end > now ? (uint32_t)(timer->end - now) : 0;
}

static uint32_t read_timer(void *device, uint32_t off)
{
	const struct gptimer *timer = device;

	switch (off) {
	case CFG:
		return timer->config;
	case TAMR:
		return timer->mode;
	case CTL:
		return timer->control;
	case IMR:
		return timer->mask;
	case RIS:
		return timer->raw;
	case MIS:
		return timer->raw & timer->mask;
	case TAILR:
		return timer->load;
	case TAR:
		return timer->control & ON ? read_count(timer) : timer->load;
	default:
		return 0;
	}
}

static void write_mode(struct gptimer *timer, uint32_t off, uint32_t value)
{
	if (timer->control & ON)
		board_fault(timer->board,
			    "timer register %02x is written while it counts",
			    off);
	if (off == CFG ? value != 0 : value != ONCE && value != PERIODIC)
		board_fault(timer->board,
			    "timer register %02x=%x is not modelled", off,
			    value);
	if (off == CFG)
		timer->config = value;
	else
		timer->mode = value;
}

static void write_timer(void *device, uint32_t off, uint32_t value)
{
	struct gptimer *timer = device;

	switch (off) {
	case CFG:
	case TAMR:
		write_mode(timer, off, value);
		break;
	case CTL:
		if (value & ON && !(timer->control & ON)) {
			timer->control = value;
			start_count(timer);
		}
		timer->control = value;
		arm_event(timer);
		break;
	case IMR:
		timer->mask = value;
		break;
	case ICR:
		timer->raw &= ~value;
		break;
	case TAILR:
		timer->load = value;
		if (timer->control & ON)
			start_count(timer);
		break;
	default:
		board_fault(timer->board, "timer register %02x is not modelled",
			    off);
	}
	update_irq(timer);
}

static void reset_timer(void *device)
{
	struct gptimer *timer = device;

	clock_cancel(&timer->board->clock, run_out, timer);
	timer->config = timer->mode = timer->control = timer->mask = 0;
	timer->raw = 0;
	timer->load = ~0u;
	update_irq(timer);
}

static void follow_clock(void *device, uint32_t old_hz)
{
	(void)old_hz;
	arm_event(device);
}

const struct device_ops gptimer_ops = {
	.name = "timer",
	.read = read_timer,
	.write = write_timer,
	.reset = reset_timer,
	.clocked = follow_clock,
};

void gptimer_init(struct gptimer *timer, struct board *board, uint32_t irq)
{
	timer->board = board;
	timer->irq = irq;
}
