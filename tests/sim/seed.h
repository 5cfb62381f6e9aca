/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * seed.h - one seed, on NICs and drivers of one size of tables. The program has a
 * simulator of each size in it (Makefile), of which this is all that is seen.
 */
#ifndef SIM_SEED_H
#define SIM_SEED_H

#include <stdbool.h>
#include <stdint.h>

struct seed_how {
	bool trace, twice, stand, shrink;
	uint64_t salt;
};

#define SEED_NAME_(size) seed_run_##size
#define SEED_NAME(size)	 SEED_NAME_(size)
#define SEED_DECLARE(size) \
	bool SEED_NAME(size)(uint64_t seed, const struct seed_how *how);

/** seed_run_<size>() - run it, and say how one that failed can be had again. False:
 * it failed. */
SEED_DECLARE(small)
SEED_DECLARE(tiny)
SEED_DECLARE(mps2)
SEED_DECLARE(virt)

#endif /* SIM_SEED_H */
