/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ration.h - how much of something a round of work may do, all its callers
 * together.
 *
 * Secret: how one round is told from the next: rounds with work are counted.
 */
#ifndef UNIC_RATION_H
#define UNIC_RATION_H

#include <stdbool.h>
#include <stdint.h>

struct unic_ration {
	uint32_t round; /* 1 + nic->polls when `left` was last made full */
	uint32_t left;
};

/** unic_ration_left() - what is left of @full in the round that runs; @polls:
 * nic->polls. */
static inline uint32_t unic_ration_left(struct unic_ration *r, uint32_t polls,
					uint32_t full)
{
	if (r->round != polls + 1) {
		r->round = polls + 1;
		r->left = full;
	}
	return r->left;
}

/** unic_ration_spend() - @n of it is done: if that is more than was left, nothing
 * is left. */
static inline void unic_ration_spend(struct unic_ration *r, uint32_t n)
{
	r->left = r->left > n ? r->left - n : 0;
}

#endif /* UNIC_RATION_H */
