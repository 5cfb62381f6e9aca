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
#ifndef UNIC_LEARN_H
#define UNIC_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#define UNIC_LEARN_CLASSES 3u
#define UNIC_LEARN_BINS	   24u
#define UNIC_LG_ONE	   64 /* unic_lg() of twice as much is more by this */
#define UNIC_WORTH_NONE	   (-4096)

struct unic_learn {
	uint16_t total[UNIC_LEARN_CLASSES];
	uint8_t at; /* the worth to be made anew next */
	uint8_t hit[UNIC_LEARN_CLASSES][UNIC_LEARN_BINS];
	uint8_t end[UNIC_LEARN_CLASSES][UNIC_LEARN_BINS];
	int16_t worth[UNIC_LEARN_CLASSES][UNIC_LEARN_BINS];
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
#define UNIC_HABIT_BITS 4u
#define UNIC_HABIT_MANY ((1u << UNIC_HABIT_BITS) - 1u)

static inline uint32_t unic_habit_known(uint16_t habit)
{
	return habit & UNIC_HABIT_MANY;
}

static inline int32_t unic_habit_mean(uint16_t habit)
{
	return habit >> UNIC_HABIT_BITS;
}

/* It is taken to be over when the item was not used for 2^5 mean intervals. */
#define UNIC_HABIT_LASTS (5 * UNIC_LG_ONE)

/** unic_habit_lasts() - an item last used @age ago may still have @habit, and
 * @habit is one. */
static inline bool unic_habit_lasts(uint16_t habit, uint32_t age)
{
	return unic_habit_known(habit) &&
	       unic_lg(age) < unic_habit_mean(habit) + UNIC_HABIT_LASTS;
}

/** unic_habit_add() - @habit after @uses (not 0) more intervals, @span in all. */
uint16_t unic_habit_add(uint16_t habit, uint32_t span, uint32_t uses);

/** unic_learn_init() - nothing is known: what was used last is worth most. */
void unic_learn_init(struct unic_learn *l);

/** unic_learn_hit() / _end() - an item of that @habit was used again after
 * @age; was not, for so long that it is forgotten. */
void unic_learn_hit(struct unic_learn *l, uint16_t habit, uint32_t age);
void unic_learn_end(struct unic_learn *l, uint16_t habit, uint32_t age);

/** unic_learn_step() - make one worth anew from what was counted, each in turn.
 * At most UNIC_LEARN_BINS short steps. */
void unic_learn_step(struct unic_learn *l);

/* Ages as multiples of the mean: up to 1/4, half octaves to 2, then octaves.
 * *@part: how far from the beginning of the bin to that of the next, in 32nds. */
static inline uint32_t unic_learn_ratio(int32_t lg, uint32_t *part)
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
	if (bin < UNIC_LEARN_BINS - 1u)
		return bin;
	*part = 0;
	return UNIC_LEARN_BINS - 1u;
}

static inline uint32_t unic_learn_octave(int32_t lg)
{
	uint32_t bin = (uint32_t)lg >> 6;

	return bin < UNIC_LEARN_BINS ? bin : UNIC_LEARN_BINS - 1u;
}

static inline uint32_t unic_learn_class(uint32_t known)
{
	return known ? 1u + (known > 2) : 0;
}

/**
 * unic_learn_worth() - 64 log2 of the hits per time that an item of @habit, last
 * used @age ago, is expected to bring while it is worth keeping;
 * UNIC_WORTH_NONE or less: none is expected.
 */
static inline int32_t unic_learn_worth(const struct unic_learn *l,
				       uint16_t habit, uint32_t age)
{
	uint32_t known = unic_habit_known(habit), part;
	int32_t lg = unic_lg(age), mean = unic_habit_mean(habit), worth;
	const int16_t *w;

	if (!known)
		return l->worth[0][unic_learn_octave(lg)];
	w = l->worth[unic_learn_class(known)];
	w += unic_learn_ratio(lg - mean, &part);
	worth = w[0] + 6 * UNIC_LG_ONE - mean;
	/* between two bins, so that of a ring the last one used stands out */
	if (part && w[0] > UNIC_WORTH_NONE && w[1] > UNIC_WORTH_NONE)
		worth += (w[1] - w[0]) * (int32_t)part / 32;
	return worth;
}

#endif /* UNIC_LEARN_H */
