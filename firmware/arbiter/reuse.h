/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * reuse.h - what a place in a table is worth: the hits it is expected to bring
 * per time, learned from how long after their last use items were used again.
 *
 * Secret: the histograms and how a worth is made of them. Items are told apart
 * by how often they were seen to return: never, once or twice, more often. Of
 * the first the age since the last use is counted; of the others the age as a
 * multiple of their own mean interval, so that a ring of buffers and a hot page
 * share what is learned.
 *
 * Times are in units of 2^10 ns in 32 bits; they wrap, and a span longer than
 * 73 minutes counts as that.
 */
#ifndef UNIC_REUSE_H
#define UNIC_REUSE_H

#include <stdbool.h>
#include <stdint.h>

#define UNIC_REUSE_CLASSES 3u
#define UNIC_REUSE_BINS	   24u
#define UNIC_LG_ONE	   64 /* unic_lg() of twice as much is more by this */
#define UNIC_BENEFIT_NONE  (-4096)

struct unic_reuse {
	uint16_t total[UNIC_REUSE_CLASSES];
	uint8_t at; /* the worth to be made anew next */
	uint8_t hit[UNIC_REUSE_CLASSES][UNIC_REUSE_BINS];
	uint8_t end[UNIC_REUSE_CLASSES][UNIC_REUSE_BINS];
	int16_t worth[UNIC_REUSE_CLASSES][UNIC_REUSE_BINS];
};

/** unic_stamp() - NIC time in units of this header. */
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
 * The habit of an item: how many of its intervals are known (up to 15), and
 * their mean as unic_lg(). 0: none.
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

/* It is taken to be over when the item was not used for 2^5 mean intervals. */
#define UNIC_INTERVAL_LASTS (5 * UNIC_LG_ONE)

/** unic_interval_lasts() - an item last used @age ago may still have @habit, and
 * @habit is one. */
static inline bool unic_interval_lasts(uint16_t habit, uint32_t age)
{
	return unic_interval_known(habit) &&
	       unic_lg(age) < unic_interval_mean(habit) + UNIC_INTERVAL_LASTS;
}

/** unic_interval_add() - @habit after @uses (not 0) more intervals, @span in all. */
uint16_t unic_interval_add(uint16_t habit, uint32_t span, uint32_t uses);

/** unic_reuse_init() - nothing is known: what was used last is worth most. */
void unic_reuse_init(struct unic_reuse *l);

/** unic_reuse_hit() / _end() - an item of that @habit was used again after
 * @age; was not, for so long that it is forgotten. */
void unic_reuse_hit(struct unic_reuse *l, uint16_t habit, uint32_t age);
void unic_reuse_end(struct unic_reuse *l, uint16_t habit, uint32_t age);

/** unic_reuse_step() - make one worth anew from what was counted, each in turn.
 * At most UNIC_REUSE_BINS short steps. */
void unic_reuse_step(struct unic_reuse *l);

/* Ages as multiples of the mean: up to 1/4, half octaves to 2, then octaves.
 * *@part: how far from the beginning of the bin to that of the next, in 32nds. */
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
 * unic_reuse_benefit() - 64 log2 of the hits per time that an item of @habit, last
 * used @age ago, is expected to bring while it is worth keeping;
 * UNIC_BENEFIT_NONE or less: none is expected.
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
	/* between two bins, so that of a ring the last one used stands out */
	if (part && w[0] > UNIC_BENEFIT_NONE && w[1] > UNIC_BENEFIT_NONE)
		worth += (w[1] - w[0]) * (int32_t)part / 32;
	return worth;
}

#endif /* UNIC_REUSE_H */
