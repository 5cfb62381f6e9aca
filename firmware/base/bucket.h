/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bucket.h - a token bucket: how much of something is given in a time.
 *
 * Secret: a bucket is the time at which all that was taken is paid for. No timer
 * fills it, so one that nobody looks at costs nothing.
 *
 * Whoever may take takes `turn` units at the most, and perhaps one thing more that
 * was begun within them; the bucket owes them then, and gives nothing until they are
 * paid for. In any time t no more than rate * t + burst units and that one thing are
 * taken. What is late by less than burst - turn units loses nothing.
 */
#ifndef UNIC_BUCKET_H
#define UNIC_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct unic_bucket {
	uint64_t paid_ns;  /* all that was taken is paid for, NIC time */
	uint64_t unit;	   /* time of one unit, 2^-20 ns; 0: no limit */
	uint64_t saved_ns; /* time that an unused bucket saves up, at most */
	uint32_t rest;	   /* of paid_ns, 2^-20 ns */
	uint32_t
		turn; /* units given at a time; without a limit: of no meaning */
};

/** unic_bucket_set() - gives @rate units in a second from now on, 0: any number;
 * @burst units at once, of which one turn takes half, and @turn at most. @rate is 1 to 10^11,
 * and @burst no more than @rate or 65536. Nothing is saved up at first. A rate that
 * does not rise keeps what is owed, so who sets it again and again gains nothing. */
void unic_bucket_set(struct unic_bucket *b, uint64_t now_ns, uint64_t rate,
		     uint32_t burst, uint32_t turn);

/** unic_bucket_at() - the time from which on something may be taken; in the past: it
 * may be taken now. 0: there is no limit. */
static inline uint64_t unic_bucket_at(const struct unic_bucket *b)
{
	return b->unit ? b->paid_ns : 0;
}

/** unic_bucket_take() - @n units are taken, at most 2^17; more than `turn` only if
 * they cannot be parted. */
void unic_bucket_take(struct unic_bucket *b, uint64_t now_ns, uint32_t n);

#endif /* UNIC_BUCKET_H */
