/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pain.h - what it costs an owner to lose an item (MEMORY.md section 6).
 *
 *   pain = traffic x time to register again
 *
 * The traffic is bytes per time, where an operation counts as UNIC_PAIN_OP bytes
 * beside those that it moves; the time is that of a call, of pinning and filling in
 * each entry, and what the owner had to wait lately. So pain is the bytes that stand
 * still while the item is away. Times are in sixteenths of 2^10 ns.
 *
 * Secret: the formula. All products are sums of unic_lg() of their factors, so no
 * count overflows, and a factor of 2 is UNIC_LG_ONE.
 */
#ifndef UNIC_PAIN_H
#define UNIC_PAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "arbiter/reuse.h"

/* Bytes that an operation counts as, beside those that it moves. */
#define UNIC_PAIN_OP 512u
/* A registration that does not wait: the call, beside 1 for each entry. */
#define UNIC_PAIN_CALL 256u
/* Weights are in 64ths. */
#define UNIC_PAIN_WEIGHT_LOG2 6u

/* What an owner has to wait is kept in 2^17 ns, in 16 bits. */
#define UNIC_PAIN_WAIT_LOG2 11u

/** unic_pain_again() - how long a registration of @entries takes for an owner who waits
 * for @wait, in 2^17 ns; both less than 2^16. */
static inline uint32_t unic_pain_again(uint32_t wait, uint32_t entries)
{
	return (wait << UNIC_PAIN_WAIT_LOG2) + UNIC_PAIN_CALL + entries;
}

/** unic_pain_wait() - returns the mean @wait after one more of @ns: the last ones count
 * most, each a quarter of those after it. */
uint32_t unic_pain_wait(uint32_t wait, uint64_t ns);

/** unic_pain_of_use() - unic_lg() of the bytes that a use of @bytes counts as; 0 for none
 * that are moved. */
uint16_t unic_pain_of_use(uint32_t bytes);

/* A choice: is an item to be taken back ahead of need? */
struct unic_pain_trade {
	uint32_t
		traffic; /* of the item: for each entry, as bytes in its window */
	uint32_t again;	  /* until it is registered again: unic_pain_again() */
	uint32_t entries; /* that it has */
	uint32_t mean;	  /* the traffic of all items, for each entry */
	uint32_t wait; /* of a request that finds no entry: unic_pain_wait() */
	uint32_t demand; /* new items in the same window, in 256ths */
	uint32_t stock;	 /* entries that are free, or on their way */
	uint32_t weight;
};

/**
 * unic_pain_pays() - true if the wait that is saved is worth the pain:
 *
 *   traffic x again x weight <= mean x wait x min(1, demand x entries / stock)
 *
 * where `stock` has the entries of the item, too. Always true without traffic, and with
 * a weight of 0.
 */
bool unic_pain_pays(const struct unic_pain_trade *t);

#endif /* UNIC_PAIN_H */
