/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sim.h - one deterministic run: a seed, a virtual clock, an event queue, the
 * log, and what happens when a checker objects.
 *
 * Secret: how time passes. Everything that ever happens in a run is an event
 * of this queue; events of one instant happen in the order they were queued.
 * Nothing here or in any file of this folder looks at a real clock, an address
 * or any other source of chance but struct sim_rng.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US 1000ull
#define MS 1000000ull

/* xoshiro-free: splitmix64 is enough and its state is one word. */
struct sim_rng {
	uint64_t s;
};

/** sim_rng_init() - a stream of its own for each (seed, who). */
void sim_rng_init(struct sim_rng *r, uint64_t seed, uint64_t who);
/** sim_salt() - from now on streams are others, with @n different for each @n;
 * 0: the usual ones. */
void sim_salt(uint64_t n);
/** sim_u64() - 64 random bits. */
uint64_t sim_u64(struct sim_rng *r);
/** sim_below() - 0 .. @n - 1; 0 when @n is 0. */
uint32_t sim_below(struct sim_rng *r, uint32_t n);
/** sim_range() - @lo .. @hi, both included. */
uint64_t sim_range(struct sim_rng *r, uint64_t lo, uint64_t hi);
/** sim_chance() - true @ppm times in a million. */
bool sim_chance(struct sim_rng *r, uint32_t ppm);

/* What a checker found. `checker` is NULL when nothing was. */
struct sim_verdict {
	const char *checker;
	char text[240];
	uint64_t at_ns;
	uint64_t log_hash; /* of all that was logged */
	uint32_t events;
};

struct sim;
typedef void (*sim_fn)(void *ctx, uint64_t arg);

/**
 * sim_run() - a fresh world of time, memory and events: calls @main, which
 * builds things and calls sim_until(). Ends when @main returns or a checker
 * fails; all memory of the run is gone afterwards.
 * @trace: print the log.
 */
void sim_run(uint64_t seed, bool trace, void (*main)(void *arg), void *arg,
	     struct sim_verdict *out);

/** sim_now() - virtual nanoseconds since the start. */
uint64_t sim_now(void);
/** sim_seed() - of this run. */
uint64_t sim_seed(void);
/** sim_alloc() - zeroed memory that lives as long as the run; never fails. */
void *sim_alloc(size_t bytes);
/** sim_free() - earlier than that; NULL is fine. */
void sim_free(void *p);
/** sim_at() - call @fn(@ctx, @arg) at @at_ns (not before now). */
void sim_at(uint64_t at_ns, sim_fn fn, void *ctx, uint64_t arg);
/** sim_until() - let things happen until @end_ns, or until @done says so after
 * an event. Returns true if @done did. */
bool sim_until(uint64_t end_ns, bool (*done)(void *ctx), void *ctx);

/** sim_log() - one line of the log: hashed always, printed when tracing. */
void sim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** sim_note() - the same for what is too frequent to format: hashed only. */
void sim_note(uint64_t a, uint64_t b);
/** sim_tracing() - is anybody reading along? */
bool sim_tracing(void);
/** sim_fail() - @checker objects. Does not return: the run is over. */
void sim_fail(const char *checker, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

#endif /* SIM_H */
