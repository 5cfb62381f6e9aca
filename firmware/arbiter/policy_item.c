/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* policy_item.c - the lists of policy_item.h. */
#include "arbiter/policy_item.h"

void unic_chooser_unlink(struct unic_chooser *c, uint16_t i)
{
	struct unic_item *table = c->table->item, *item = &table[i];
	uint16_t *head = &c->head[item->main];

	c->count[item->main]--;
	if (item->next == i) {
		*head = UNIC_ITEM_NIL;
		return;
	}
	table[item->prev].next = item->next;
	table[item->next].prev = item->prev;
	if (*head == i)
		*head = item->next;
}

void unic_chooser_drop(struct unic_chooser *c, uint16_t i)
{
	uint32_t k;

	for (k = 0; k < c->pooled && c->pool[k].item != i; k++)
		;
	if (k < c->pooled)
		for (c->pooled--; k < c->pooled; k++)
			c->pool[k] = c->pool[k + 1u];
}

/*
 * `lru` keeps the list in the order of last use, lazily: a head used later than
 * the tail moves to the end, which in a ring is one store. A tail that was never
 * used does not keep a used head in its place. Each choice repairs a part of the
 * order.
 */
void unic_chooser_tidy(struct unic_chooser *c, uint32_t list, uint32_t left)
{
	const struct unic_policy_table *table = c->table;
	uint16_t at = c->head[list];
	const uint8_t *t = item_usage(table, table->item[at].prev);
	uint64_t newest = last_ns(t);

	if (newest == since_ns(table, t))
		newest = 0;
	for (; left; left--) {
		t = item_usage(table, at);
		if (last_ns(t) <= newest || last_ns(t) == since_ns(table, t))
			break;
		newest = last_ns(t);
		at = table->item[at].next;
	}
	c->head[list] = at;
}
