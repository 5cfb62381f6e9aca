/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * histogram.h - how long things took: how many of them for each power of two of
 * microseconds (enum unic_histogram).
 *
 * Secret: how the bucket of a time is found without a division. The counts are as old as
 * the counters of abi/unic_stats.h, and outlive a reset as those do.
 */
#ifndef UNIC_HISTOGRAM_H
#define UNIC_HISTOGRAM_H

#include <stdint.h>

#include "board.h"
#include "unic_cmd_dump.h"

struct unic_histograms {
	uint32_t count[UNIC_HISTOGRAMS ? UNIC_HIST_COUNT : 1]
		      [UNIC_HISTOGRAMS ? UNIC_HIST_BUCKETS : 1];
};

/** unic_histogram_bucket() - the bucket of @ns: 0 below a microsecond, n from 2^(n-1)
 * microseconds on, the last one for all that is longer. */
static inline uint32_t unic_histogram_bucket(uint64_t ns)
{
	uint64_t units = ns >> 10; /* of 1.024 us */
	uint32_t b;

	if (units >> (UNIC_HIST_BUCKETS - 2))
		return UNIC_HIST_BUCKETS - 1;
	b = units ? 32u - (uint32_t)__builtin_clz((uint32_t)units) : 0;
	return ns >= 1000ull << b ? b + 1 : b;
}

/** unic_histogram_add() - something of kind @which took @ns. */
static inline void unic_histogram_add(struct unic_histograms *h,
				      enum unic_histogram which, uint64_t ns)
{
	if (UNIC_HISTOGRAMS)
		h->count[which][unic_histogram_bucket(ns)]++;
}

#endif /* UNIC_HISTOGRAM_H */
