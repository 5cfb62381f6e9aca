/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * yard.h - the yardsticks that every figure is divided by, because the machine
 * drifts and only ratios within one run mean anything: `line`, half a round
 * trip of a cache line between two spinning processes, and `shm2`, a stream of
 * 64 KiB through shared memory with one copy on each side.
 */
#ifndef YARD_H
#define YARD_H

#include <stdint.h>

/** yard_now_ns() - CLOCK_MONOTONIC. */
uint64_t yard_now_ns(void);

/** yard_line_ns() - ns per hop: the median of @rounds round trips (16 at
 * least, timed 16 at once), hence of those during which both processes ran. */
double yard_line_ns(uint64_t rounds);

/** yard_shm2_mbs() - MB/s over @chunks of 64 KiB. */
double yard_shm2_mbs(uint64_t chunks);

/** yard_median() - of @n values, which are sorted. */
double yard_median(double *v, unsigned int n);

/** yard_part() - the value below which @part of @n values are; sorts them. */
double yard_part(double *v, unsigned int n, double part);

#endif /* YARD_H */
