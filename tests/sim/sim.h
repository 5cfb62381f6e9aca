/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sim.h - one deterministic run: a seed, a virtual clock, an event queue, the
 * log, and the verdict of a checker that fails.
 *
 * Secret: how time passes. Everything in a run is an event of this queue; events
 * of one instant run in the order they were queued. No file of this folder uses a
 * real clock, an address or any other source of chance than struct sim_rng.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US 1000ull
#define MS 1000000ull

/* splitmix64, whose state is one word. */
struct sim_rng {
	uint64_t s;
};

/** sim_rng_init() - start a separate stream for each (seed, who). */
void sim_rng_init(struct sim_rng *r, uint64_t seed, uint64_t who);
/** sim_salt() - give streams started from now on other values for each @n; 0: the
 * usual ones. */
void sim_salt(uint64_t n);
/** sim_u64() - 64 random bits. */
uint64_t sim_u64(struct sim_rng *r);
/** sim_below() - 0 .. @n - 1; 0 when @n is 0. */
uint32_t sim_below(struct sim_rng *r, uint32_t n);
/** sim_range() - @lo .. @hi, both included. */
uint64_t sim_range(struct sim_rng *r, uint64_t lo, uint64_t hi);
/** sim_chance() - true @ppm times in a million. */
bool sim_chance(struct sim_rng *r, uint32_t ppm);

/* The verdict of a run. `checker` is NULL if none failed. */
struct sim_verdict {
	const char *checker;
	char text[240];
	uint64_t at_ns;
	uint64_t log_hash; /* hash of the whole log */
	uint32_t events;
};

struct sim;
typedef void (*sim_fn)(void *ctx, uint64_t arg);

/**
 * sim_run() - run @main in a new world of time, memory and events; @main builds
 * nodes and calls sim_until(). Ends when @main returns or a checker fails, and
 * frees all memory of the run. @trace: print the log.
 */
void sim_run(uint64_t seed, bool trace, void (*main)(void *arg), void *arg,
	     struct sim_verdict *out);

/** sim_now() - virtual nanoseconds since the start. */
uint64_t sim_now(void);
/** sim_seed() - the seed of this run. */
uint64_t sim_seed(void);
/** sim_alloc() - zeroed memory that lives as long as the run; never fails. */
void *sim_alloc(size_t bytes);
/** sim_free() - free memory before the end of the run; NULL does nothing. */
void sim_free(void *p);
/** sim_at() - call @fn(@ctx, @arg) at @at_ns, which is not in the past. */
void sim_at(uint64_t at_ns, sim_fn fn, void *ctx, uint64_t arg);
/** sim_until() - run events until @end_ns, or until @done returns true after an
 * event. Returns whether @done did. */
bool sim_until(uint64_t end_ns, bool (*done)(void *ctx), void *ctx);

/** sim_log() - add one line to the log: always hashed, printed when tracing. */
void sim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** sim_note() - add numbers to the hash of the log only, for frequent records. */
void sim_note(uint64_t a, uint64_t b);
/** sim_tracing() - is the log printed? */
bool sim_tracing(void);
/** sim_fail() - fail the run for @checker. Does not return. */
void sim_fail(const char *checker, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

#endif /* SIM_H */
