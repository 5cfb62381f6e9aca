/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * share.h - who may have how much of a pool: fair shares with borrowing
 * (MEMORY.md section 4; S0 section 2, "let processes use more than their fair
 * share if others do not").
 *
 * The module handles units and owners, not TLB entries or tokens (S0 section 4:
 * the same protocol arbitrates database connections). Pure arithmetic, no time.
 *
 * Secret: which owner has most for its weight. The order by units for weight does
 * not depend on the fair share, which changes for all owners when one comes or
 * goes. So the order is kept in a tournament: a change of one owner is replayed
 * on its way to the top only, and not before a query. Cost: O(log owners) for a
 * change and a query, O(1) for a change that no query follows.
 *
 * An owner's `net` is what it holds less what is already on its way back from it;
 * shares are compared with `net`.
 */
#ifndef UNIC_SHARE_H
#define UNIC_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "base/bitset.h"
#include "base/tournament.h"

#define UNIC_OWNER_NIL 0xffffu

struct unic_share_owner {
	/* 1..65535; 0: no such owner. See unic_share_weigh() */
	uint32_t weight;
	uint32_t quota;	  /* hard limit in units; 0: none */
	uint32_t held;	  /* units held, reserved ones included */
	uint32_t wanted;  /* units that its queued requests ask for */
	uint32_t coming;  /* units held that are on their way back */
	uint32_t pain;	  /* of its last victim; breaks ties */
	uint32_t counted; /* its weight in unic_share.weights, or 0 */
};

struct unic_share {
	uint32_t capacity; /* at most 65536 */
	uint32_t coming;   /* sum over all owners */
	uint32_t all_weights;
	/* of owners that hold or want, as of the last settle */
	uint32_t weights;
	struct unic_bitset changed; /* owners changed since the last settle */
	/* owners settled; the user of the shares clears it */
	struct unic_bitset moved;
	/* owners passed over by unic_share_skip() */
	struct unic_bitset skipped;
	struct unic_share_owner owner[UNIC_PROCS];
	struct unic_tournament heaviest; /* of the owners that can give */
};

/** unic_share_init() - nobody holds or wants any of @capacity units. */
void unic_share_init(struct unic_share *s, uint32_t capacity);

/** unic_share_part() - returns @owner's fair share of @pool (at most 65536) units
 * of another kind, divided by the weights of the owners that hold or want units
 * of this kind. */
uint32_t unic_share_part(struct unic_share *s, uint32_t owner, uint32_t pool);

/** unic_share_fair() - returns capacity x weight / weights of all owners that
 * hold or want; @owner itself is always counted. */
uint32_t unic_share_fair(struct unic_share *s, uint32_t owner);

/** unic_share_net() - returns the units held that are not on their way back. */
static inline uint32_t unic_share_net(const struct unic_share *s,
				      uint32_t owner)
{
	return s->owner[owner].held - s->owner[owner].coming;
}

/** unic_share_above_quota() - true if the quota of @o never allows @n units. */
static inline bool unic_share_above_quota(const struct unic_share_owner *o,
					  uint32_t n)
{
	return o->quota && n > o->quota;
}

/** unic_share_excess() - returns net minus the fair share; negative below it. */
int32_t unic_share_excess(struct unic_share *s, uint32_t owner);

/**
 * unic_share_entitled() - true if @owner with @n more units stays within its fair
 * share. Such a request is served within B whatever other owners do (INV-8).
 * Units on their way back count as held: an owner that replaces its own units
 * borrows meanwhile.
 */
bool unic_share_entitled(struct unic_share *s, uint32_t owner, uint32_t n);

/**
 * unic_share_victim() - returns the owner to take from on behalf of @wanter,
 * which asks for @n units (UNIC_OWNER_NIL, 0: the pool runs low, nobody asks), or
 * UNIC_OWNER_NIL. The victim has the most units for its weight; ties go to the
 * least pain.
 *
 * The wanter competes with the units it would have. So a borrower that wants more
 * takes from a larger borrower or from itself, and an owner that stays within its
 * share never takes from itself while it can be served otherwise.
 *
 * An owner whose net is at or below its share (INV-5) and a skipped owner are
 * never returned.
 */
uint32_t unic_share_victim(struct unic_share *s, uint32_t wanter, uint32_t n);

/** unic_share_skip() - @owner has nothing to give at present. */
static inline void unic_share_skip(struct unic_share *s, uint32_t owner)
{
	unic_bitset_add(&s->skipped, owner);
	unic_bitset_add(&s->changed, owner);
}

/** unic_share_unskip() - ends all unic_share_skip(). */
void unic_share_unskip(struct unic_share *s);

/** unic_share_settle() - applies all changes; ->weights and ->moved are then
 * right. Every query here calls it. */
void unic_share_settle(struct unic_share *s);

/** unic_share_hold() - @owner holds @n units more (fewer if negative). */
static inline void unic_share_hold(struct unic_share *s, uint32_t owner,
				   int32_t n)
{
	s->owner[owner].held += (uint32_t)n;
	unic_bitset_add(&s->changed, owner);
}

/** unic_share_want() - @owner asks for @n units more (fewer if negative). */
void unic_share_want(struct unic_share *s, uint32_t owner, int32_t n);

/** unic_share_weigh() - sets @owner's weight. */
void unic_share_weigh(struct unic_share *s, uint32_t owner, uint32_t weight);

/** unic_share_hurts() - sets @owner's pain. */
void unic_share_hurts(struct unic_share *s, uint32_t owner, uint32_t pain);

/** unic_share_coming() - @n units of @owner are on their way back. */
void unic_share_coming(struct unic_share *s, uint32_t owner, uint32_t n);

/** unic_share_not_coming() - @n units of @owner came back, or will not. */
void unic_share_not_coming(struct unic_share *s, uint32_t owner, uint32_t n);

#endif /* UNIC_SHARE_H */
