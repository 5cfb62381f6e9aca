/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * reuse.h - the benefit of a place in a table: the expected hits per time,
 * learned from how long after their last use items were used again.
 *
 * Secret: the histograms and how a benefit is computed from them. Items are in
 * classes by how often they returned: never, once or twice, more often. The first
 * class counts the age since the last use; the others count the age as a multiple
 * of the item's own mean interval, so that a ring of buffers and a hot page share
 * what is learned.
 *
 * Times are in units of 2^10 ns in 32 bits; they wrap, and a span longer than 73
 * minutes counts as 73 minutes.
 */
#ifndef UNIC_REUSE_H
#define UNIC_REUSE_H

#include <stdbool.h>
#include <stdint.h>

#define UNIC_REUSE_CLASSES 3u
#define UNIC_REUSE_BINS	   24u
#define UNIC_LG_ONE	   64 /* unic_lg(2 * x) - unic_lg(x) */
#define UNIC_BENEFIT_NONE  (-4096)

struct unic_reuse {
	uint16_t total[UNIC_REUSE_CLASSES];
	uint8_t at; /* index of the next benefit to recompute */
	uint8_t hit[UNIC_REUSE_CLASSES][UNIC_REUSE_BINS];
	uint8_t end[UNIC_REUSE_CLASSES][UNIC_REUSE_BINS];
	int16_t worth[UNIC_REUSE_CLASSES][UNIC_REUSE_BINS];
};

/** unic_stamp() - converts NIC time to the units of this header. */
static inline uint32_t unic_stamp(uint64_t ns)
{
	return (uint32_t)(ns >> 10);
}

/** unic_lg() - 64 log2(x), the fraction by a chord; 0 for 0 and 1. */
static inline int32_t unic_lg(uint32_t x)
{
	uint32_t zeros = (uint32_t)__builtin_clz(x | 1u);

	return (int32_t)((31u - zeros) << 6 | (x << zeros >> 25 & 63u));
}

/*
 * The habit of an item: the number of known intervals (up to 15), and their mean
 * as unic_lg(). 0: no habit.
 */
#define UNIC_INTERVAL_BITS 4u
#define UNIC_INTERVAL_MANY ((1u << UNIC_INTERVAL_BITS) - 1u)

static inline uint32_t unic_interval_known(uint16_t habit)
{
	return habit & UNIC_INTERVAL_MANY;
}

static inline int32_t unic_interval_mean(uint16_t habit)
{
	return habit >> UNIC_INTERVAL_BITS;
}

/* A habit is over when the item was not used for 2^5 mean intervals. */
#define UNIC_INTERVAL_LASTS (5 * UNIC_LG_ONE)

/** unic_interval_lasts() - true if @habit is one and is not over for an item last
 * used @age ago. */
static inline bool unic_interval_lasts(uint16_t habit, uint32_t age)
{
	return unic_interval_known(habit) &&
	       unic_lg(age) < unic_interval_mean(habit) + UNIC_INTERVAL_LASTS;
}

/** unic_interval_add() - returns @habit after @uses (not 0) more intervals of
 * together @span. */
uint16_t unic_interval_add(uint16_t habit, uint32_t span, uint32_t uses);

/** unic_reuse_init() - no samples: the most recently used item is worth most. */
void unic_reuse_init(struct unic_reuse *l);

/** unic_reuse_hit() / _end() - counts an item of @habit that was used again after
 * @age / that was forgotten unused after @age. */
void unic_reuse_hit(struct unic_reuse *l, uint16_t habit, uint32_t age);
void unic_reuse_end(struct unic_reuse *l, uint16_t habit, uint32_t age);

/** unic_reuse_step() - recomputes one benefit from the counts, each in turn. At
 * most UNIC_REUSE_BINS short steps. */
void unic_reuse_step(struct unic_reuse *l);

/* The bin of age / mean: up to 1/4, half octaves to 2, then octaves. *@part:
 * position between the beginnings of this bin and the next, in 32nds. */
static inline uint32_t unic_reuse_ratio(int32_t lg, uint32_t *part)
{
	uint32_t up = (uint32_t)(lg + 2 * UNIC_LG_ONE), bin;

	if (lg < -2 * UNIC_LG_ONE) {
		bin = (uint32_t)(-2 * UNIC_LG_ONE - 1 - lg) >> 6;
		*part = 16u >> (bin & 31u);
		return 0;
	}
	if (lg < UNIC_LG_ONE) {
		*part = up & 31u;
		return 1u + (up >> 5);
	}
	bin = 4u + (up >> 6);
	*part = up >> 1 & 31u;
	if (bin < UNIC_REUSE_BINS - 1u)
		return bin;
	*part = 0;
	return UNIC_REUSE_BINS - 1u;
}

static inline uint32_t unic_reuse_octave(int32_t lg)
{
	uint32_t bin = (uint32_t)lg >> 6;

	return bin < UNIC_REUSE_BINS ? bin : UNIC_REUSE_BINS - 1u;
}

static inline uint32_t unic_reuse_class(uint32_t known)
{
	return known ? 1u + (known > 2) : 0;
}

/**
 * unic_reuse_benefit() - returns 64 log2 of the hits per time that an item of
 * @habit, last used @age ago, is expected to bring while it is worth keeping.
 * UNIC_BENEFIT_NONE or less: no hits are expected.
 */
static inline int32_t unic_reuse_benefit(const struct unic_reuse *l,
					 uint16_t habit, uint32_t age)
{
	uint32_t known = unic_interval_known(habit), part;
	int32_t lg = unic_lg(age), mean = unic_interval_mean(habit), worth;
	const int16_t *w;

	if (!known)
		return l->worth[0][unic_reuse_octave(lg)];
	w = l->worth[unic_reuse_class(known)];
	w += unic_reuse_ratio(lg - mean, &part);
	worth = w[0] + 6 * UNIC_LG_ONE - mean;
	/* interpolate, so that in a ring the last item used stands out */
	if (part && w[0] > UNIC_BENEFIT_NONE && w[1] > UNIC_BENEFIT_NONE)
		worth += (w[1] - w[0]) * (int32_t)part / 32;
	return worth;
}

#endif /* UNIC_REUSE_H */
