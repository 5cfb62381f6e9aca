// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* clock.c - see clock.h. Few events: they are not sorted. */
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>

#define NS_PER_S 1000000000ull

void clock_start(struct clock *clock, uint32_t hz)
{
	*clock = (struct clock){ .hz = hz, .due = CLOCK_NEVER };
}

uint64_t clock_now_ns(const struct clock *clock)
{
	uint64_t cycles = clock->cycles - clock->base_cycles;

	return clock->base_ns + cycles / clock->hz * NS_PER_S +
	       cycles % clock->hz * NS_PER_S / clock->hz;
}

/* Rounds up, so that the event is not early. */
uint64_t clock_cycles_at(const struct clock *clock, uint64_t ns)
{
	uint64_t left = ns - clock->base_ns;

	if (ns == CLOCK_NEVER)
		return CLOCK_NEVER;
	return clock->base_cycles + left / NS_PER_S * clock->hz +
	       (left % NS_PER_S * clock->hz + NS_PER_S - 1) / NS_PER_S;
}

uint64_t clock_next_ns(const struct clock *clock)
{
	uint64_t first = CLOCK_NEVER;

	for (uint32_t i = 0; i < clock->count; i++)
		if (clock->events[i].ns < first)
			first = clock->events[i].ns;
	return first;
}

static void find_due(struct clock *clock)
{
	uint64_t next = clock_next_ns(clock);

	clock->due = next <= clock_now_ns(clock) ? clock->cycles
						 : clock_cycles_at(clock, next);
}

void clock_set_hz(struct clock *clock, uint32_t hz)
{
	clock->base_ns = clock_now_ns(clock);
	clock->base_cycles = clock->cycles;
	clock->hz = hz;
	find_due(clock);
}

void clock_cancel(struct clock *clock, void (*happen)(void *), void *arg)
{
	for (uint32_t i = 0; i < clock->count; i++)
		if (clock->events[i].happen == happen &&
		    clock->events[i].arg == arg) {
			clock->events[i] = clock->events[--clock->count];
			break;
		}
	find_due(clock);
}

void clock_at(struct clock *clock, uint64_t ns, void (*happen)(void *),
	      void *arg)
{
	clock_cancel(clock, happen, arg);
	if (clock->count == CLOCK_EVENTS) {
		fprintf(stderr, "board-model: too many events\n");
		exit(1);
	}
	clock->events[clock->count++] = (struct clock_event){ ns, happen, arg };
	find_due(clock);
}

/* Of those that are due the earliest first: it may make others. */
void clock_run(struct clock *clock)
{
	for (;;) {
		uint64_t now = clock_now_ns(clock), first = now + 1;
		struct clock_event event = { .happen = NULL };

		for (uint32_t i = 0; i < clock->count; i++)
			if (clock->events[i].ns < first) {
				event = clock->events[i];
				first = event.ns;
			}
		if (!event.happen)
			break;
		clock_cancel(clock, event.happen, event.arg);
		event.happen(event.arg);
	}
	find_due(clock);
}

void clock_skip_to(struct clock *clock, uint64_t ns)
{
	uint64_t cycles = clock_cycles_at(clock, ns);

	if (cycles > clock->cycles)
		clock->cycles = cycles;
}
