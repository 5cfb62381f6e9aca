/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * shared.h - words in memory that the NIC or the driver use at the same time:
 * one access each, with its order in the name.
 */
#ifndef UNIC_LIB_SHARED_H
#define UNIC_LIB_SHARED_H

#include "unic_types.h"

/* Loads @word before the reads of what it guards. */
static inline uint32_t unic_load_acquire(const unic_le32 *word)
{
	const uint32_t *p = (UNIC_FORCE const uint32_t *)word;

	return unic_from_le32(
		(UNIC_FORCE unic_le32)__atomic_load_n(p, __ATOMIC_ACQUIRE));
}

static inline void unic_store_relaxed(unic_le32 *word, uint32_t value)
{
	__atomic_store_n((UNIC_FORCE uint32_t *)word,
			 (UNIC_FORCE uint32_t)unic_to_le32(value),
			 __ATOMIC_RELAXED);
}

/* Stores @word after the writes that it publishes. */
static inline void unic_store_release(unic_le32 *word, uint32_t value)
{
	__atomic_store_n((UNIC_FORCE uint32_t *)word,
			 (UNIC_FORCE uint32_t)unic_to_le32(value),
			 __ATOMIC_RELEASE);
}

#endif /* UNIC_LIB_SHARED_H */
