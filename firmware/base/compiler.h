/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * compiler.h - hints to the compiler beyond C: likely branches, and values that
 * stay in one register.
 */
#ifndef UNIC_COMPILER_H
#define UNIC_COMPILER_H

#include <stdint.h>

/* Elements of an array that a board does without; a prover knows no such array. */
#ifdef __FRAMAC__
#define UNIC_NONE 1u
#else
#define UNIC_NONE 0u
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * Keeps pointer @p in one register: the compiler would fold the offset of a
 * table in struct unic_base into that of each field, and such offsets do not fit
 * into a load or store.
 */
#define UNIC_IN_REGISTER(p) __asm__("" : "+r"(p))

/* Loads 64 bits as one value; the compiler would load the halves one after the
 * other. */
static inline uint64_t unic_whole(const uint64_t *at)
{
	uint64_t v = *at;

	UNIC_IN_REGISTER(v);
	return v;
}

/* Adds @n to *@counter with one 64-bit load and store, as unic_whole(). */
static inline void unic_count(uint64_t *counter, uint64_t n)
{
	uint64_t v = unic_whole(counter) + n;

	UNIC_IN_REGISTER(v);
	*counter = v;
}

#endif /* UNIC_COMPILER_H */
