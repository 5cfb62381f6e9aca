/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* reuse.c - computes from intervals between uses the benefit of keeping an item. */
#include <string.h>

#include "arbiter/reuse.h"

/* Samples of a class at which all its counts are halved, so new habits are
 * learned within some hundred evictions. */
#define MEMORY 256u

/* Hits assumed in addition to those counted, at the expected rate. */
#define PRIOR 4u
/* First bin of a class with habits that begins at UNIC_INTERVAL_LASTS. */
#define LATE 11u
/* k of expected_rate(), in 64ths of an interval. */
#define KNOWN	 (8u << 6)
#define RATE_ONE (-6 * UNIC_LG_ONE) /* one use per mean interval */
#define RATE_LEAST \
	(-31 * UNIC_LG_ONE) /* 2^-31, the least that inverse_lg() can invert */

/* Keeps a habit from having all its 15 bits set. */
#define MEAN_MAX 2046

/* First ratio of each bin of a class with habits, in 64ths of the mean interval. */
static const uint32_t ratio_edge[UNIC_REUSE_BINS + 1] = {
	0,	 16,	  23,	   32,	    45,	     64,      91,
	128,	 256,	  512,	   1 << 10, 1 << 11, 1 << 12, 1 << 13,
	1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20,
	1 << 21, 1 << 22, 1 << 23, 1 << 24,
};

static uint32_t bin_edge(uint32_t class, uint32_t bin)
{
	if (class)
		return ratio_edge[bin];
	return bin ? 1u << bin : 0;
}

/* The inverse of unic_lg(), except for rounding. */
static uint32_t inverse_lg(int32_t lg)
{
	uint64_t x = (uint64_t)(64u + ((uint32_t)lg & 63u)) << (lg >> 6);

	return (uint32_t)(x >> 6);
}

uint16_t unic_interval_add(uint16_t habit, uint32_t span, uint32_t uses)
{
	uint32_t known = unic_interval_known(habit), all;
	uint64_t sum = span;
	int32_t mean;

	if (uses > UNIC_INTERVAL_MANY) { /* older intervals do not count */
		known = 0;
		all = uses;
	} else {
		all = known + uses;
	}
	if (known)
		sum += (uint64_t)inverse_lg(unic_interval_mean(habit)) * known;
	if (sum > UINT32_MAX)
		sum = UINT32_MAX;
	mean = unic_lg((uint32_t)sum / all);
	if (mean > MEAN_MAX)
		mean = MEAN_MAX;
	if (all > UNIC_INTERVAL_MANY)
		all = UNIC_INTERVAL_MANY;
	return (uint16_t)((uint32_t)mean << UNIC_INTERVAL_BITS | all);
}

void unic_reuse_init(struct unic_reuse *l)
{
	uint32_t b;

	memset(l, 0, sizeof(*l));
	for (b = 0; b < UNIC_REUSE_BINS; b++)
		l->worth[0][b] = (int16_t)(-UNIC_LG_ONE * (int32_t)(b + 7));
}

static void count_sample(struct unic_reuse *l,
			 uint8_t what[UNIC_REUSE_CLASSES][UNIC_REUSE_BINS],
			 uint16_t habit, uint32_t age)
{
	uint32_t known = unic_interval_known(habit), b, part;
	uint32_t class = unic_reuse_class(known);
	int32_t lg = unic_lg(age), mean = unic_interval_mean(habit);
	uint8_t *n = &what[class][known ? unic_reuse_ratio(lg - mean, &part)
					: unic_reuse_octave(lg)];

	if (*n == UINT8_MAX || l->total[class] >= MEMORY) {
		l->total[class] = 0;
		for (b = 0; b < UNIC_REUSE_BINS; b++) {
			l->hit[class][b] /= 2;
			l->end[class][b] /= 2;
			l->total[class] =
				(uint16_t)(l->total[class] + l->hit[class][b] +
					   l->end[class][b]);
		}
	}
	(*n)++;
	l->total[class]++;
}

void unic_reuse_hit(struct unic_reuse *l, uint16_t habit, uint32_t age)
{
	count_sample(l, l->hit, habit, age);
}

void unic_reuse_end(struct unic_reuse *l, uint16_t habit, uint32_t age)
{
	count_sample(l, l->end, habit, age);
}

static int32_t lg_u64(uint64_t x)
{
	uint32_t high = (uint32_t)(x >> 32), shift;

	if (!high)
		return unic_lg((uint32_t)x);
	shift = 32u - (uint32_t)__builtin_clz(high);
	return unic_lg((uint32_t)(x >> shift)) + UNIC_LG_ONE * (int32_t)shift;
}

/*
 * The expected rate of a bin without counts: that of the bin before, and less the
 * longer an item was not used. Without a habit the rate halves at twice the age.
 * With a habit it is at most one use per mean interval, and at r times the
 * interval k / (k + r) of that: right for an item used at random of which k
 * intervals are known.
 */
static int32_t expected_rate(const struct unic_reuse *l, uint32_t class,
			     uint32_t b)
{
	int32_t rate = l->worth[class][b ? b - 1u : 0];

	if (!class) {
		rate -= UNIC_LG_ONE;
	} else {
		if (!b || rate > RATE_ONE)
			rate = RATE_ONE;
		rate -= unic_lg(KNOWN + ratio_edge[b + 1u]) -
			unic_lg(KNOWN + ratio_edge[b]);
	}
	return rate < RATE_LEAST ? RATE_LEAST : rate;
}

/* No hits are assumed after a habit is over, nor for an item without a habit that
 * was just used. */
static uint32_t prior_hits(uint32_t class, uint32_t from)
{
	return (class ? from < LATE : from) ? PRIOR : 0;
}

/*
 * The best ratio of hits to time among all ways to keep an item of this age for a
 * while and then give up. An item whose hits come late is rated by them; one that
 * is used soon or never is worth keeping for a short while.
 */
static int32_t compute_benefit(const struct unic_reuse *l, uint32_t class,
			       uint32_t from)
{
	uint32_t b, ends, left = l->total[class],
			  hits = prior_hits(class, from);
	int32_t best = UNIC_BENEFIT_NONE, now;
	/* expected time, times 2 */
	uint64_t twice =
		2ull * hits * inverse_lg(-expected_rate(l, class, from));

	for (b = 0; b < from; b++)
		left -= l->hit[class][b] + (uint32_t)l->end[class][b];
	for (; left || b == from; b++) {
		uint32_t width = bin_edge(class, b + 1) - bin_edge(class, b);

		ends = l->hit[class][b] + (uint32_t)l->end[class][b];
		hits += l->hit[class][b];
		twice += (uint64_t)(2 * left - ends) * width;
		left -= ends;
		if (!hits || (b != from && !l->hit[class][b]))
			continue;
		now = unic_lg(hits) + UNIC_LG_ONE - lg_u64(twice);
		if (now > best)
			best = now;
	}
	return best;
}

void unic_reuse_step(struct unic_reuse *l)
{
	uint32_t class = l->at / UNIC_REUSE_BINS, b = l->at % UNIC_REUSE_BINS;

	if (l->total[class])
		l->worth[class][b] = (int16_t)compute_benefit(l, class, b);
	if (++l->at == UNIC_REUSE_CLASSES * UNIC_REUSE_BINS)
		l->at = 0;
}
