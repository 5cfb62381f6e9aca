/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bitset.h - sets of numbers below UNIC_PROCS, mostly processes.
 *
 * Secret: the layout. Up to 32 members are the bits of one word. For more,
 * word[0] says which of the words after it are not 0, so finding a member costs
 * the same for every UNIC_PROCS.
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

/** unic_bitset_first() - the least member of @s, which must not be empty. */
static inline uint32_t unic_bitset_first(const struct unic_bitset *s)
{
	uint32_t at = (uint32_t)__builtin_ctz(s->word[0]);

	if (UNIC_PROCS <= 32)
		return at;
	return at * 32 + (uint32_t)__builtin_ctz(s->word[1 + at]);
}

/** unic_bitset_last() - the greatest member of @s, which must not be empty. */
static inline uint32_t unic_bitset_last(const struct unic_bitset *s)
{
	uint32_t at = 31u - (uint32_t)__builtin_clz(s->word[0]);

	if (UNIC_PROCS <= 32)
		return at;
	return at * 32 + 31u - (uint32_t)__builtin_clz(s->word[1 + at]);
}

/** unic_bitset_next() - the least member of @s that is at least @i, or UNIC_PROCS
 * if there is none. */
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
	left = s->word[0] & ~1u << at; /* bits of the later words */
	if (!left)
		return UNIC_PROCS;
	at = (uint32_t)__builtin_ctz(left);
	return at * 32 + (uint32_t)__builtin_ctz(s->word[1 + at]);
}

/** UNIC_BITSET_EACH() - loops over the members @i of @s; the body may remove any
 * member. */
#define UNIC_BITSET_EACH(i, s)                           \
	for (i = unic_bitset_next(s, 0); i < UNIC_PROCS; \
	     i = unic_bitset_next(s, i + 1))

#endif /* UNIC_BITSET_H */
