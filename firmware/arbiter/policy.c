/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * policy.c - the replacement policies: how each chooses.
 *
 * The items of an owner are in two circular lists. `random` and `lru` use the
 * first one only. For the other policies the first list holds newcomers in order
 * of arrival; an item that was used, or was seen before, moves to the main list,
 * which is scanned in a circle.
 */
#include "arbiter/policy_item.h"
#include "arbiter/policy_fifo.h"

#define SAMPLE 5u /* items that `lru` examines */
#define FIRST  3u /* newcomers to examine without a candidate */

/* ---------------------------------------------------------------- lists */

void unic_policy_add(struct unic_chooser *c, uint16_t i)
{
	struct unic_item *item = item_of(c, i);

	item->habit = UNIC_STRANGER;
	link_item(c, NEW, i);
	if (c->stranger == UNIC_ITEM_NIL)
		c->stranger = i;
}

void unic_policy_remove(struct unic_chooser *c, uint16_t i)
{
	if (c->stranger == i)
		c->stranger = newcomer_after(c, i);
	unic_chooser_drop(c, i);
	unic_chooser_unlink(c, i);
}

/* ---------------------------------------------------------------- `lru` */

/*
 * Returns the least recently used among the first @left items of a list that are
 * old enough. If none is, returns NIL; with @turns the list is rotated, so that
 * the next call examines other items.
 */
static inline uint16_t find_oldest(struct unic_chooser *c, uint32_t list,
				   uint32_t left, bool turns, uint64_t young_ns)
{
	const struct unic_policy_table *table = c->table;
	uint16_t at = c->head[list], found = UNIC_ITEM_NIL;
	uint64_t best = UINT64_MAX;

	UNIC_IN_REGISTER(table);
	if (at == UNIC_ITEM_NIL)
		return UNIC_ITEM_NIL;
	do {
		const uint8_t *t = item_usage(table, at);
		uint64_t last = last_ns(t);

		/* test the age last: few items get this far */
		if (last < best && since_ns(table, t) <= young_ns) {
			best = last;
			found = at;
		}
		at = table->item[at].next;
	} while (--left);
	if (found == UNIC_ITEM_NIL && turns)
		c->head[list] = at;
	return found;
}

static uint16_t find_lru_victim(struct unic_chooser *c, uint32_t list,
				uint64_t young_ns)
{
	if (c->head[list] == UNIC_ITEM_NIL)
		return UNIC_ITEM_NIL;
	unic_chooser_tidy(c, list, SAMPLE);
	return find_oldest(c, list, SAMPLE, true, young_ns);
}

/* --------------------------------------------------------------- choice */

/* Without a usable candidate: newcomers were not examined yet, or the candidates
 * are young or in use. */
static __attribute__((noinline, cold)) uint16_t
find_fallback_victim(struct unic_chooser *c, uint64_t young_ns)
{
	/* newcomers keep the order of arrival: the first ones are the oldest */
	uint16_t i = find_oldest(c, NEW, FIRST, false, young_ns);

	return i == UNIC_ITEM_NIL ? find_lru_victim(c, MAIN, young_ns) : i;
}

/* `app`: returns the newest newcomer, even if unknown, if it is less important
 * than candidate @i; otherwise @i. */
static __attribute__((noinline, cold)) uint16_t
pick_less_important(const struct unic_chooser *c, uint16_t i, uint64_t young_ns)
{
	const struct unic_policy_table *table = c->table;
	const uint8_t *t;
	uint16_t newest;

	if (c->stranger == UNIC_ITEM_NIL)
		return i;
	newest = table->item[c->head[NEW]].prev;
	t = item_usage(table, newest);
	if (since_ns(table, t) > young_ns ||
	    t[table->hint] >= item_usage(table, i)[table->hint])
		return i;
	return newest;
}

uint16_t unic_policy_victim(struct unic_chooser *c, uint64_t young_ns,
			    uint32_t entries)
{
	const struct unic_policy_table *table = c->table;
	uint32_t k;

	if (c->kind == UNIC_POLICY_LRU)
		return find_lru_victim(c, NEW, young_ns);
	if (c->kind == UNIC_POLICY_RANDOM)
		return unic_chooser_any(c, young_ns);
	if (c->kind == UNIC_POLICY_S3FIFO)
		return unic_chooser_fifo(c, young_ns);
	c->wanted = (uint16_t)unic_lg(entries);
	for (k = 0; k < c->pooled; k++) {
		uint16_t i = c->pool[k].item;
		const uint8_t *t = item_usage(table, i);

		if (!is_used(&table->item[i], t) &&
		    since_ns(table, t) <= young_ns)
			return c->kind == UNIC_POLICY_APP
				       ? pick_less_important(c, i, young_ns)
				       : i;
	}
	return find_fallback_victim(c, young_ns);
}
