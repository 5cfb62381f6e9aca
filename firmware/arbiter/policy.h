/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * policy.h - which of an owner's own items to take back (MEMORY.md section 6;
 * S0 section 3, "RNIC TLB replacement policies").
 *
 * An item is whatever occupies a table: a region of a process, a cached entry.
 * The items of all owners lie in one table of their module, which is asked for
 * nothing but the statistics it keeps anyway: no use of an item costs anything
 * here, uses are noticed when a victim is looked for. One struct unic_chooser is
 * one owner with the policy of his choice. The same source replays traces in
 * unic-policysim.
 *
 * Secret: order, sample and memory of each policy. Choosing (unic_policy_victim)
 * is flat and short; what it chooses among is prepared after each choice
 * (unic_policy_look), which is flat too.
 */
#ifndef UNIC_POLICY_H
#define UNIC_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "arbiter/reuse.h"
#include "unic_mbox.h"

#define UNIC_ITEM_NIL 0xffffu

struct unic_item {
	uint16_t prev, next; /* of its list, circular */
	uint32_t seen;	     /* its last use that was noticed, a stamp */
	uint16_t uses;	     /* ... and how many there were, low bits */
	uint16_t habit : 15; /* reuse.h, or UNIC_STRANGER; `s3fifo`: its uses */
	uint16_t main : 1;   /* it is in the main list */
};

/* Not yet looked at: what else is in it means nothing. */
#define UNIC_STRANGER 0x7fffu

/* Something that was taken back, known by its identity. */
struct unic_ghost {
	uint32_t last; /* stamp of its last use */
	uint16_t tag;  /* 0: free */
	uint16_t habit;
};

/* The table of items, seen as bytes: whoever owns it lays it out. */
struct unic_policy_table {
	struct unic_item *item;
	const void
		*last_use_ns; /* uint64_t of item 0; uint32_t uses behind it */
	uint32_t stride;      /* bytes from item to item */
	int16_t since, size, hint; /* from there to uint64_t since_ns, uint16_t
					size in entries, uint8_t importance */
	struct unic_ghost *ghost;  /* 4 * (ghost_mask + 1) of them */
	uint32_t ghost_mask;	   /* a power of two less 1 */
	uint64_t *rng;		   /* for `random`; not 0 */
};

#define UNIC_POLICY_POOL 4u

struct unic_chooser {
	const struct unic_policy_table *table;
	uint8_t kind;	  /* enum unic_policy */
	uint8_t pooled;	  /* candidates there are */
	uint16_t head[2]; /* of newcomers and of the main list */
	uint16_t count[2];
	uint16_t stranger; /* first newcomer not asked who he is, or NIL */
	uint16_t wanted;   /* entries, last time: unic_lg() */
	/* those worth least for each entry wanted, in this order */
	struct unic_candidate {
		uint16_t item;
		int32_t worth;
	} pool[UNIC_POLICY_POOL];
	struct unic_reuse learn;
};

/** unic_policy_init() - no items, policy `default`. @table must last. */
void unic_policy_init(struct unic_chooser *c,
		      const struct unic_policy_table *table);

/** unic_policy_set() - another policy from now on; items stay. Linear in items
 * of the owner. @kind: enum unic_policy, checked by the caller. */
void unic_policy_set(struct unic_chooser *c, uint32_t kind);

/** unic_policy_add() - @item came: the newest one. */
void unic_policy_add(struct unic_chooser *c, uint16_t item);

/** unic_policy_remove() - @item, which was added, may not be chosen any more. */
void unic_policy_remove(struct unic_chooser *c, uint16_t item);

/**
 * unic_policy_victim() - the item to take back next, or UNIC_ITEM_NIL if none
 * of those looked at is old enough (others are looked at next time). Nothing is
 * done to it: call unic_policy_evicted() and unic_policy_remove() then.
 * @young_ns: no item that came later; @entries: how many are wanted, more of an
 * item count for nothing.
 */
uint16_t unic_policy_victim(struct unic_chooser *c, uint64_t young_ns,
			    uint32_t entries);

/** unic_policy_evicted() - @item, of identity @id (a hash of what will make the
 * same thing known when it comes back), is taken back: remember it. Before
 * unic_policy_remove(). */
void unic_policy_evicted(struct unic_chooser *c, uint16_t item, uint32_t id,
			 uint64_t now_ns);

/**
 * unic_policy_stranger() - an item whose identity the policy wants to know now,
 * or UNIC_ITEM_NIL: then answer with unic_policy_meet(). After each choice,
 * some of them each time.
 */
static inline uint16_t unic_policy_stranger(const struct unic_chooser *c)
{
	if (c->kind == UNIC_POLICY_RANDOM || c->kind == UNIC_POLICY_LRU)
		return UNIC_ITEM_NIL;
	return c->stranger;
}
void unic_policy_meet(struct unic_chooser *c, uint32_t id);

/** unic_policy_blind() - there are items, but none that could be chosen for a
 * reason: better meet a number of them and look before the first choice. */
static inline bool unic_policy_blind(const struct unic_chooser *c)
{
	return !c->pooled && unic_policy_stranger(c) != UNIC_ITEM_NIL;
}

/** unic_policy_look() - prepare the next choice: look at a few more items. */
void unic_policy_look(struct unic_chooser *c, uint64_t now_ns);

/** unic_policy_random() - xorshift64 (Marsaglia); *@rng must not be 0. */
static inline uint32_t unic_policy_random(uint64_t *rng)
{
	uint64_t x = *rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*rng = x;
	return (uint32_t)(x >> 32);
}

/**
 * unic_policy_pain() - decayed bytes per entry: half-life 2^27 ns (134 ms),
 * linear in between.
 * @pain, @at_ns: value and its time; @bytes: moved since; returns the value at
 * @now_ns, saturating.
 */
uint32_t unic_policy_pain(uint32_t pain, uint64_t at_ns, uint64_t now_ns,
			  uint32_t bytes, uint32_t entries);

#endif /* UNIC_POLICY_H */
