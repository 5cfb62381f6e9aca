/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * policy.c - a replacement policy: first in, first out. It stands where the policy
 * `s3fifo` of the NIC stands, and has what that one has: two lists of items, NEW and
 * MAIN. An item that comes is appended to NEW, or to MAIN if it went not long ago. Who
 * calls takes the item that is chosen out of its list.
 *
 * What there is (firmware/arbiter/policy_item.h):
 *   c->head[list]     the first item of a list, or UNIC_ITEM_NIL
 *   c->count[list]    how many there are; unic_policy_items(c): in both
 *   used_since(c, i)  true if item i was used since the last such call for it, or since
 *                     it came
 *   rotate_list(c, list)   the first item of the list is the last one now
 *   promote(c, i)     moves item i of NEW to the end of MAIN
 *   came_ns(c, i)     when it came
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

static inline uint64_t came_ns(const struct unic_chooser *c, uint16_t i)
{
	return since_ns(c->table, item_usage(c->table, i));
}

/* The item to take away next. There is no time to look at all of them: a choice may
 * look at LOOKS items, and must name one. @young_ns: see unic_policy_victim(); the
 * simulator protects nobody. */
#define LOOKS 6u

uint16_t unic_chooser_fifo(struct unic_chooser *c, uint64_t young_ns)
{
	uint16_t first = c->head[NEW], other = c->head[MAIN];

	(void)young_ns;
	if (first == UNIC_ITEM_NIL || other == UNIC_ITEM_NIL)
		return first == UNIC_ITEM_NIL ? other : first;
	return came_ns(c, first) < came_ns(c, other) ? first : other;
}
