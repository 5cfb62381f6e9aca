/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * durations.h - how long many things took.
 *
 * Secret: all of them are kept, so that percentiles are exact.
 */
#ifndef UNIC_DURATIONS_H
#define UNIC_DURATIONS_H

#include <stdint.h>

#define DURATIONS_BUCKETS \
	33 /* of a histogram: powers of two of 1 us, and below */

struct durations {
	uint64_t *ns; /* sorted by durations_sort() */
	uint32_t n, room;
};

/** durations_init() - room for @room of them. 0, or -ENOMEM with words in
 * unic_last_error(). durations_fini() is due. */
int durations_init(struct durations *d, uint32_t room);
/** durations_fini() - free what @d holds. */
void durations_fini(struct durations *d);

/** durations_add() - one more, of @ns; beyond the room: nothing. */
void durations_add(struct durations *d, uint64_t ns);
/** durations_sort() - to be called before those below, after the last one was added. */
void durations_sort(struct durations *d);
/** durations_mean_us() - in microseconds; 0: there are none. */
double durations_mean_us(const struct durations *d);
/** durations_at_most_us() - the least that @per_mille of them do not exceed, in
 * microseconds: 0 for the shortest, 1000 for the longest. 0: there are none. */
double durations_at_most_us(const struct durations *d, uint32_t per_mille);
/** durations_histogram() - how many took [2^(i-1), 2^i) us, in bucket i; in bucket 0 those
 * below 1 us. Returns how many buckets there are up to the last that is not empty. */
uint32_t durations_histogram(const struct durations *d,
			     uint32_t bucket[DURATIONS_BUCKETS]);

#endif /* UNIC_DURATIONS_H */
