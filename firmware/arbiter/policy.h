/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * policy.h - which of an owner's own items to take back (MEMORY.md section 6; S0
 * section 3, "RNIC TLB replacement policies").
 *
 * An item occupies a place in a table: a region of a process, a cached entry. The
 * items of all owners lie in one table of their module. The policies read the
 * statistics that the table keeps anyway, when they look for a victim, so a use
 * of an item costs nothing here. A struct unic_chooser is one owner with its
 * policy. The same source replays traces in unic-policysim.
 *
 * Secret: order, sample and memory of each policy. Choosing (unic_policy_victim)
 * takes bounded, short time; unic_policy_look() prepares the candidates after
 * each choice, in bounded time, too.
 */
#ifndef UNIC_POLICY_H
#define UNIC_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "arbiter/pain.h"
#include "arbiter/reuse.h"
#include "unic_mbox.h"

#define UNIC_ITEM_NIL 0xffffu

struct unic_item {
	uint16_t prev, next; /* neighbours in its circular list */
	uint32_t seen;	     /* stamp of the last use noticed */
	uint16_t uses;	     /* low bits of the count of uses noticed */
	uint16_t habit : 15; /* reuse.h, or UNIC_STRANGER; `s3fifo`: its uses */
	uint16_t main : 1;   /* 1 if it is in the main list */
};

/* The item was not examined yet; its other fields have no meaning. */
#define UNIC_STRANGER 0x7fffu

/* The memory of an item that was taken back, found by a hash of its identity. */
struct unic_ghost {
	uint32_t last; /* stamp of its last use */
	uint16_t tag;  /* 0: free */
	uint16_t habit;
};

/* What moved through an item when it was used. */
struct unic_moved {
	uint32_t bytes; /* the count noticed, low bits */
	uint32_t loss;	/* unic_pain_of_use() of a use */
};

/* What the policies of a table write. */
struct unic_policy_state {
	uint64_t rng;		  /* for `random`; not 0 */
	struct unic_moved *moved; /* of item 0, and of ghost 0 */
	uint16_t *ghost_loss;
	uint32_t weight; /* of pain, see pain.h; 0: none */
};

/* Describes the owner's table as bytes: the owner lays it out. */
struct unic_policy_table {
	struct unic_item *item;
	const void
		*last_use_ns; /* uint64_t of item 0; uint32_t uses behind it */
	uint32_t stride;      /* bytes from item to item */
	/* offsets from there to uint64_t since_ns, uint16_t size in entries,
	 * uint8_t importance */
	int16_t since, size, hint;
	/* and to the low bits of the bytes moved, uint32_t; 0: they are not counted */
	int16_t bytes;
	struct unic_ghost *ghost; /* 4 * (ghost_mask + 1) ghosts */
	uint32_t ghost_mask;	  /* a power of two minus 1 */
	struct unic_policy_state *state;
};

#define UNIC_POLICY_POOL 4u

struct unic_chooser {
	const struct unic_policy_table *table;
	uint8_t kind;	  /* enum unic_policy */
	uint8_t pooled;	  /* number of candidates in pool */
	uint16_t head[2]; /* of newcomers and of the main list */
	uint16_t count[2];
	uint16_t stranger; /* first newcomer to meet, or NIL */
	uint16_t wanted;   /* unic_lg() of the entries last asked for */
	uint16_t wait;	   /* of the owner's registrations, 2^17 ns: pain.h */
	/* candidates, least worth for each entry wanted first */
	struct unic_candidate {
		uint16_t item;
		int32_t worth;
	} pool[UNIC_POLICY_POOL];
	struct unic_reuse learn;
};

/** unic_policy_init() - no items, policy `default`. @table must outlive @c. */
void unic_policy_init(struct unic_chooser *c,
		      const struct unic_policy_table *table);

/** unic_policy_set() - changes the policy; items stay. Linear in items of the
 * owner. @kind: enum unic_policy, checked by the caller. */
void unic_policy_set(struct unic_chooser *c, uint32_t kind);

/** unic_policy_add() - adds @item as the newest one. */
void unic_policy_add(struct unic_chooser *c, uint16_t item);

/** unic_policy_remove() - removes @item, which was added, so it is not chosen
 * again. */
void unic_policy_remove(struct unic_chooser *c, uint16_t item);

/** unic_policy_rehint() - the importance of @item, which was added, has changed:
 * the next choice by `app` weighs it anew; others heed none. */
void unic_policy_rehint(struct unic_chooser *c, uint16_t item, uint64_t now_ns);

/**
 * unic_policy_victim() - returns the item to take back next, or UNIC_ITEM_NIL if
 * none of those examined is old enough (the next call examines others). The item
 * stays: the caller must call unic_policy_evicted() and unic_policy_remove().
 * @young_ns: items that came later are not chosen; @entries: how many are wanted,
 * more entries of an item count for nothing.
 */
uint16_t unic_policy_victim(struct unic_chooser *c, uint64_t young_ns,
			    uint32_t entries);

/** unic_policy_evicted() - @item is taken back: remembers it under @id, a hash of
 * the identity by which it is recognised when it returns. Call before
 * unic_policy_remove(). */
void unic_policy_evicted(struct unic_chooser *c, uint16_t item, uint32_t id,
			 uint64_t now_ns);

/**
 * unic_policy_stranger() - returns an item whose identity the policy needs, or
 * UNIC_ITEM_NIL. The caller answers with unic_policy_meet(), for some of them
 * after each choice.
 */
static inline uint16_t unic_policy_stranger(const struct unic_chooser *c)
{
	if (c->kind == UNIC_POLICY_RANDOM || c->kind == UNIC_POLICY_LRU)
		return UNIC_ITEM_NIL;
	return c->stranger;
}
/** unic_policy_meet() - the identity of unic_policy_stranger() is @id. True if it was
 * taken back before, and is remembered. */
bool unic_policy_meet(struct unic_chooser *c, uint32_t id);

/** unic_policy_blind() - true if there are items but no candidate: before the
 * first choice the caller should meet several items and call
 * unic_policy_look(). */
static inline bool unic_policy_blind(const struct unic_chooser *c)
{
	return !c->pooled && unic_policy_stranger(c) != UNIC_ITEM_NIL;
}

/** unic_policy_items() - how many items there are. */
static inline uint32_t unic_policy_items(const struct unic_chooser *c)
{
	return c->count[0] + (uint32_t)c->count[1];
}

/** unic_policy_look() - prepares the next choice: examines a few more items. */
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
