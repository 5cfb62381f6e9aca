/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* policy_fifo.c - the policies that need only the order of the items. */
#include "arbiter/policy_item.h"
#include "arbiter/policy_fifo.h"

#define SAMPLE 5u /* items that `random` chooses among */
#define STEPS  6u /* `s3fifo`: items passed in one choice */

/* Chooses one of the next few items that are old enough, each equally likely. */
uint16_t unic_chooser_any(struct unic_chooser *c, uint64_t young_ns)
{
	uint16_t found = UNIC_ITEM_NIL, at = c->head[NEW];
	uint32_t left = SAMPLE, nth = 0;

	if (at == UNIC_ITEM_NIL)
		return UNIC_ITEM_NIL;
	do {
		if (since_ns(c->table, item_usage(c->table, at)) <= young_ns &&
		    (uint64_t)unic_policy_random(&c->table->state->rng) *
					    ++nth >>
				    32 ==
			    0)
			found = at;
		at = item_of(c, at)->next;
	} while (at != c->head[NEW] && --left);
	c->head[NEW] = at;
	return found;
}

static uint32_t update_frequency(const struct unic_chooser *c,
				 struct unic_item *item, const uint8_t *t)
{
	uint32_t uses;

	if (is_stranger(item))
		init_seen(c->table, item, t);
	uses = item->habit + (is_used(item, t) ? count_new_uses(item, t) : 0u);
	return uses > 3 ? 3 : uses;
}

/*
 * S3-FIFO (Yang et al., SOSP 2023); uses are noticed when an item is reached. A
 * tenth of the items are newcomers. A newcomer used twice moves to the main list;
 * an item of the main list stays for one more turn per use, three at most. An
 * item that returns soon starts in the main list.
 */
uint16_t unic_chooser_fifo(struct unic_chooser *c, uint64_t young_ns)
{
	uint32_t left, all = unic_policy_items(c);

	for (left = all ? STEPS : 0; left; left--) {
		bool is_new = !c->count[MAIN] || c->count[NEW] * 10u >= all;
		uint16_t i = c->head[is_new ? NEW : MAIN];
		struct unic_item *item = item_of(c, i);
		const uint8_t *t = item_usage(c->table, i);
		uint32_t uses = update_frequency(c, item, t);

		item->habit = uses & 3u;
		if ((uses < (is_new ? 2 : 1) || left == 1) &&
		    since_ns(c->table, t) <= young_ns)
			return i;
		item->habit = (is_new || !uses ? 0 : uses - 1) & 3u;
		if (i == c->stranger)
			c->stranger = newcomer_after(c, i);
		to_main(c, i);
	}
	return UNIC_ITEM_NIL;
}
