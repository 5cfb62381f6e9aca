/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * policy_item.h - items and their lists, for policy.c, policy_fifo.c and
 * policy_sample.c: access to the statistics of the owner's table and to what the
 * policy noticed of them.
 */
#ifndef UNIC_POLICY_ITEM_H
#define UNIC_POLICY_ITEM_H

#include "arbiter/policy.h"
#include "base/compiler.h"
#include "board.h"

static inline struct unic_item *item_of(const struct unic_chooser *c,
					uint16_t i)
{
	return &c->table->item[i];
}

/* The statistics that the owner's table keeps of item @i, see struct
 * unic_policy_table. */
static inline const uint8_t *item_usage(const struct unic_policy_table *table,
					uint16_t i)
{
	return (const uint8_t *)table->last_use_ns + i * table->stride;
}

static inline uint64_t last_ns(const uint8_t *told)
{
	return unic_whole((const uint64_t *)(const void *)told);
}

static inline uint32_t uses_of(const uint8_t *told)
{
	return *(const uint32_t *)(const void *)(told + sizeof(uint64_t));
}

static inline uint64_t since_ns(const struct unic_policy_table *table,
				const uint8_t *told)
{
	told += table->since;
	return unic_whole((const uint64_t *)(const void *)told);
}

static inline bool is_stranger(const struct unic_item *item)
{
	return item->habit == UNIC_STRANGER;
}

/* Sets a stranger to its state at arrival: no use noticed. */
static inline void init_seen(const struct unic_policy_table *table,
			     struct unic_item *item, const uint8_t *told)
{
	item->seen = unic_stamp(since_ns(table, told));
	item->uses = 0;
	item->habit = 0;
}

/* True if the item was used since it was last examined. */
static inline bool is_used(const struct unic_item *item, const uint8_t *told)
{
	return unic_stamp(last_ns(told)) != item->seen;
}

/* Returns the uses since the item was last examined, at least 1, and marks them
 * noticed. */
static inline uint32_t count_new_uses(struct unic_item *item,
				      const uint8_t *told)
{
	uint16_t uses = (uint16_t)uses_of(told);
	uint16_t more = (uint16_t)(uses - item->uses);

	item->uses = uses;
	item->seen = unic_stamp(last_ns(told));
	return more ? more : 1u;
}

/* A board without room for it has no policy `lfu`. */
static inline bool is_lfu(const struct unic_chooser *c)
{
	return UNIC_LFU && c->kind == UNIC_POLICY_LFU;
}

/* It looks for candidates between two choices: `default`, `app`, `lfu`. */
static inline bool has_candidates(const struct unic_chooser *c)
{
	return likely(c->kind == UNIC_POLICY_DEFAULT) ||
	       c->kind >= UNIC_POLICY_APP;
}

/* The two lists. */
#define NEW  0u
#define MAIN 1u

/* link_item() - appends @i to the list. Inline, as each registration does it. */
static inline void link_item(struct unic_chooser *c, uint32_t list, uint16_t i)
{
	struct unic_item *table = c->table->item, *item = &table[i];
	uint16_t head = c->head[list];

	UNIC_IN_REGISTER(table);
	item->main = list & 1u;
	c->count[list]++;
	if (head == UNIC_ITEM_NIL) {
		c->head[list] = item->next = item->prev = i;
		return;
	}
	item->next = head;
	item->prev = table[head].prev;
	table[item->prev].next = i;
	table[head].prev = i;
}

/* unic_chooser_unlink() - takes @i out of the list in which it stands. */
void unic_chooser_unlink(struct unic_chooser *c, uint16_t i);

/* unic_chooser_drop() - @i is no candidate for the next choice. */
void unic_chooser_drop(struct unic_chooser *c, uint16_t i);

/* The newcomer after @i, or NIL. */
static inline uint16_t newcomer_after(const struct unic_chooser *c, uint16_t i)
{
	uint16_t next = item_of(c, i)->next;

	return next == c->head[NEW] ? UNIC_ITEM_NIL : next;
}

static inline void rotate_list(struct unic_chooser *c, uint32_t list)
{
	c->head[list] = item_of(c, c->head[list])->next;
}

static inline void to_main(struct unic_chooser *c, uint16_t i)
{
	unic_chooser_unlink(c, i);
	link_item(c, MAIN, i);
}

/* unic_chooser_tidy() - `lru`: moves heads of the list that were used later than
 * its tail to its end, at most @left. */
void unic_chooser_tidy(struct unic_chooser *c, uint32_t list, uint32_t left);

#endif /* UNIC_POLICY_ITEM_H */
