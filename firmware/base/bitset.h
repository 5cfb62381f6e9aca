/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bitset.h - sets of processes, or of whatever else there are UNIC_PROCS of.
 *
 * Secret: one word where that is enough; where it is not, words and before them
 * one that says which of these are not 0, so that finding a member costs the
 * same however many there may be.
 */
#ifndef UNIC_BITSET_H
#define UNIC_BITSET_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"

#define UNIC_BITSET_WORDS (UNIC_PROCS <= 32 ? 1 : 1 + (UNIC_PROCS + 31) / 32)

struct unic_bitset {
	uint32_t word[UNIC_BITSET_WORDS];
};

_Static_assert(UNIC_PROCS <= 1024, "one word says which words are not 0");

static inline void unic_bitset_add(struct unic_bitset *s, uint32_t i)
{
	if (UNIC_PROCS <= 32) {
		s->word[0] |= 1u << i;
	} else {
		s->word[0] |= 1u << i / 32;
		s->word[1 + i / 32] |= 1u << i % 32;
	}
}

static inline void unic_bitset_del(struct unic_bitset *s, uint32_t i)
{
	if (UNIC_PROCS <= 32) {
		s->word[0] &= ~(1u << i);
	} else {
		s->word[1 + i / 32] &= ~(1u << i % 32);
		if (!s->word[1 + i / 32])
			s->word[0] &= ~(1u << i / 32);
	}
}

static inline bool unic_bitset_has(const struct unic_bitset *s, uint32_t i)
{
	if (UNIC_PROCS <= 32)
		return s->word[0] >> i & 1;
	return s->word[1 + i / 32] >> i % 32 & 1;
}

static inline bool unic_bitset_any(const struct unic_bitset *s)
{
	return s->word[0];
}

/** unic_bitset_first() - the least member; there is one. */
static inline uint32_t unic_bitset_first(const struct unic_bitset *s)
{
	uint32_t at = (uint32_t)__builtin_ctz(s->word[0]);

	if (UNIC_PROCS <= 32)
		return at;
	return at * 32 + (uint32_t)__builtin_ctz(s->word[1 + at]);
}

/** unic_bitset_last() - the greatest member; there is one. */
static inline uint32_t unic_bitset_last(const struct unic_bitset *s)
{
	uint32_t at = 31u - (uint32_t)__builtin_clz(s->word[0]);

	if (UNIC_PROCS <= 32)
		return at;
	return at * 32 + 31u - (uint32_t)__builtin_clz(s->word[1 + at]);
}

/** unic_bitset_next() - the least member of @i and above; UNIC_PROCS: none. */
static inline uint32_t unic_bitset_next(const struct unic_bitset *s, uint32_t i)
{
	uint32_t left, at = i / 32;

	if (i >= UNIC_PROCS)
		return UNIC_PROCS;
	if (UNIC_PROCS <= 32) {
		left = s->word[0] >> i;
		return left ? i + (uint32_t)__builtin_ctz(left) : UNIC_PROCS;
	}
	left = s->word[1 + at] >> i % 32;
	if (left)
		return i + (uint32_t)__builtin_ctz(left);
	left = s->word[0] & ~1u << at; /* of the words behind it */
	if (!left)
		return UNIC_PROCS;
	at = (uint32_t)__builtin_ctz(left);
	return at * 32 + (uint32_t)__builtin_ctz(s->word[1 + at]);
}

/** UNIC_BITSET_EACH() - for each member of @s, @i; it may be taken out, and others
 * too. */
#define UNIC_BITSET_EACH(i, s)                           \
	for (i = unic_bitset_next(s, 0); i < UNIC_PROCS; \
	     i = unic_bitset_next(s, i + 1))

#endif /* UNIC_BITSET_H */
