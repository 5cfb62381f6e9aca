/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * policy.c - a replacement policy with a trial: an item that comes waits in NEW. If it is
 * used there it moves to MAIN, else it goes when its turn comes, so a scan that uses each
 * page once passes through NEW and leaves MAIN alone. MAIN is a clock: an item that was
 * used since the hand passed gets another round.
 *
 * What there is (firmware/arbiter/policy_item.h):
 *   c->head[list]     the first item of a list, or UNIC_ITEM_NIL
 *   c->count[list]    how many there are; unic_policy_items(c): in both
 *   used_since(c, i)  true if item i was used since the last such call for it, or since
 *                     it came
 *   rotate_list(c, list)   the first item of the list is the last one now
 *   promote(c, i)     moves item i of NEW to the end of MAIN
 */
#include "arbiter/policy_fifo.h"
#include "arbiter/policy_item.h"

static inline bool used_since(struct unic_chooser *c, uint16_t i)
{
	struct unic_item *item = item_of(c, i);
	const uint8_t *told = item_usage(c->table, i);

	if (is_stranger(item))
		init_seen(c->table, item, told);
	if (!is_used(item, told))
		return false;
	count_new_uses(item, told);
	return true;
}

static inline void promote(struct unic_chooser *c, uint16_t i)
{
	if (i == c->stranger)
		c->stranger = newcomer_after(c, i);
	to_main(c, i);
}

/* A choice looks at so many items at most. */
#define LOOKS 6u
#define TRIAL 10u /* one item of so many is on trial */

uint16_t unic_chooser_fifo(struct unic_chooser *c, uint64_t young_ns)
{
	uint32_t left;
	uint16_t i = UNIC_ITEM_NIL;

	(void)young_ns;
	for (left = LOOKS; left; left--) {
		bool trial = !c->count[MAIN] ||
			     c->count[NEW] * TRIAL >= unic_policy_items(c);

		i = c->head[trial ? NEW : MAIN];
		if (i == UNIC_ITEM_NIL || !used_since(c, i))
			return i;
		if (trial)
			promote(c, i);
		else
			rotate_list(c, MAIN);
	}
	return i;
}
