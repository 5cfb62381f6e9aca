/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ration.h - how much of one kind of work all callers together may do in a poll
 * round.
 *
 * Secret: a new round is detected by the count of rounds with work.
 */
#ifndef UNIC_RATION_H
#define UNIC_RATION_H

#include <stdbool.h>
#include <stdint.h>

struct unic_ration {
	uint32_t round; /* 1 + nic->polls of the round that `left` is of */
	uint32_t left;
};

/** unic_ration_left() - returns what is left of @full in this round. @polls:
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

/** unic_ration_spend() - takes @n from what is left, at most all of it. */
static inline void unic_ration_spend(struct unic_ration *r, uint32_t n)
{
	r->left = r->left > n ? r->left - n : 0;
}

#endif /* UNIC_RATION_H */
