/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run.h - one run: NICs, drivers, and processes that use libunic, under the faults of a
 * seed, from power-on until all have left and nothing is left over.
 */
#ifndef LIBSIM_RUN_H
#define LIBSIM_RUN_H

#include "sim.h"

/** run_seed() - run @seed. @trace: print the log. */
void run_seed(uint64_t seed, bool trace, struct sim_verdict *out);
/** run_print() - the plan of @seed. */
void run_print(uint64_t seed);

#endif /* LIBSIM_RUN_H */
