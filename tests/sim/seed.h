/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * seed.h - one seed, on NICs and drivers of one size of tables. The program has a
 * simulator of each size (sources.mk), and this is its only interface.
 */
#ifndef SIM_SEED_H
#define SIM_SEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

#define SEED_SECONDS 30 /* of processor time, for one run of a scenario */

struct seed_how {
	bool trace, twice, stand, attack, shrink;
	uint64_t salt;
};

#define SEED_NAME_(size) seed_run_##size
#define SEED_NAME(size)	 SEED_NAME_(size)
#define SEED_DECLARE(size) \
	bool SEED_NAME(size)(uint64_t seed, const struct seed_how *how);

/** seed_run_<size>() - run the seed, and print how to repeat a failure. False: it
 * failed. */
SEED_DECLARE(small)
SEED_DECLARE(tiny)
SEED_DECLARE(mps2)
SEED_DECLARE(virt)

/** seed_watch() - send SIGPROF unless the run that begins ends in time. */
static inline void seed_watch(void)
{
	static const struct itimerval limit = { .it_value.tv_sec =
							SEED_SECONDS };

	setitimer(ITIMER_PROF, &limit, NULL);
}

#endif /* SIM_SEED_H */
