/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * clock.h - virtual time: cycles of the system clock, which may change its rate, as
 * nanoseconds; and what is to happen at a time.
 *
 * Secret: how the events are kept.
 */
#ifndef BOARD_MODEL_CLOCK_H
#define BOARD_MODEL_CLOCK_H

#include <stdint.h>

#define CLOCK_EVENTS 64u
#define CLOCK_NEVER  UINT64_MAX

struct clock_event {
	uint64_t ns;
	void (*happen)(void *arg);
	void *arg;
};

struct clock {
	uint64_t
		cycles; /* since the power came; the processor counts them up */
	uint64_t due;	/* cycles when the next event is */
	uint64_t base_cycles, base_ns;
	uint32_t hz;
	uint32_t count;
	struct clock_event events[CLOCK_EVENTS];
};

/** clock_start() - time 0, at @hz. */
void clock_start(struct clock *clock, uint32_t hz);

/** clock_now_ns() - nanoseconds since clock_start(). */
uint64_t clock_now_ns(const struct clock *clock);

/** clock_set_hz() - cycles are of this rate from now on. */
void clock_set_hz(struct clock *clock, uint32_t hz);

/** clock_at() - call @happen(@arg) at @ns, or with the next clock_run() if that is
 * past. An event of the same two is moved. */
void clock_at(struct clock *clock, uint64_t ns, void (*happen)(void *),
	      void *arg);

/** clock_cancel() - take that event back; none: nothing happens. */
void clock_cancel(struct clock *clock, void (*happen)(void *), void *arg);

/** clock_next_ns() - when the next event is, or CLOCK_NEVER. */
uint64_t clock_next_ns(const struct clock *clock);

/** clock_run() - let all happen that is due. */
void clock_run(struct clock *clock);

/** clock_skip_to() - nothing runs until @ns, which is not before now. */
void clock_skip_to(struct clock *clock, uint64_t ns);

/** clock_cycles_at() - the cycles at @ns, which is not before now. */
uint64_t clock_cycles_at(const struct clock *clock, uint64_t ns);

#endif /* BOARD_MODEL_CLOCK_H */
