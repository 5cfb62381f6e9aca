/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * share.h - who may have how much of a pool: fair shares with borrowing
 * (MEMORY.md section 4; S0 section 2, "let processes use more than their fair
 * share if others do not").
 *
 * Knows units and owners, nothing of TLB entries or tokens (S0 section 4: the
 * same protocol arbitrates database connections). Pure arithmetic, no time.
 *
 * Secret: who has most for its weight. The order by units for weight does not
 * depend on the fair share, which changes for all when one comes or goes; so it
 * is kept, a tournament in which one owner's change is played again on its way
 * to the top only. What changes is noted, and played when somebody asks. Cost: a
 * change and a question O(log owners), a change of what is not asked about O(1).
 *
 * An owner's `net` is what it holds less what is already on its way back from
 * it; shares are compared with that.
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
	uint32_t weight;  /* 1..65535; 0: not there. See unic_share_weigh() */
	uint32_t quota;	  /* hard limit in units; 0: none */
	uint32_t held;	  /* units it has, reserved ones included */
	uint32_t wanted;  /* units its queued requests ask for */
	uint32_t coming;  /* units already on their way back from it */
	uint32_t pain;	  /* what its last candidate would have hurt: ties */
	uint32_t counted; /* of it in unic_share.weights */
};

struct unic_share {
	uint32_t capacity; /* at most 65536 */
	uint32_t coming;   /* sum over all owners */
	uint32_t all_weights;
	uint32_t weights; /* of all who hold or want, as last settled */
	struct unic_bitset changed; /* since then */
	struct unic_bitset moved;   /* changed; for who works with shares */
	struct unic_bitset skipped; /* see unic_share_skip() */
	struct unic_share_owner owner[UNIC_PROCS];
	struct unic_tournament heaviest; /* of those who can give */
};

/** unic_share_init() - nobody holds or wants any of @capacity units. */
void unic_share_init(struct unic_share *s, uint32_t capacity);

/** unic_share_part() - @owner's fair share of @pool (at most 65536) units of
 * another kind that the same owners, those who hold or want, use with these. */
uint32_t unic_share_part(struct unic_share *s, uint32_t owner, uint32_t pool);

/** unic_share_fair() - capacity x weight / weights of all who hold or want,
 * @owner itself always counted. */
uint32_t unic_share_fair(struct unic_share *s, uint32_t owner);

/** unic_share_net() - units held and not on their way back. */
static inline uint32_t unic_share_net(const struct unic_share *s,
				      uint32_t owner)
{
	return s->owner[owner].held - s->owner[owner].coming;
}

/** unic_share_above_quota() - can @o never have so many? */
static inline bool unic_share_above_quota(const struct unic_share_owner *o,
					  uint32_t n)
{
	return o->quota && n > o->quota;
}

/**
 * unic_share_excess() - units above the fair share, those on their way back
 * not counted; negative below it.
 */
int32_t unic_share_excess(struct unic_share *s, uint32_t owner);

/**
 * unic_share_entitled() - would @owner with @n more units stay within its fair
 * share? Such a request is served within B whatever the others do (INV-8).
 * Units on their way back count until they are: who replaces its own is a
 * borrower.
 */
bool unic_share_entitled(struct unic_share *s, uint32_t owner, uint32_t n);

/**
 * unic_share_victim() - the owner to take from on behalf of @wanter, who asks
 * for @n units (UNIC_OWNER_NIL, 0: nobody in particular, the pool runs low):
 * the one with the most units for its weight; ties go to the least pain.
 *
 * The wanter competes with what it would have, so a borrower that wants still
 * more takes from a larger borrower or from itself, and one that stays within
 * its share never from itself while it can be served otherwise.
 * Never an owner at or below its share (INV-5), those on their way back counted
 * as gone: what a pool holds for nobody in particular is nobody's due.
 * Nor one that is skipped. Returns UNIC_OWNER_NIL if nobody qualifies.
 */
uint32_t unic_share_victim(struct unic_share *s, uint32_t wanter, uint32_t n);

/** unic_share_skip() - @owner has nothing to give now. */
static inline void unic_share_skip(struct unic_share *s, uint32_t owner)
{
	unic_bitset_add(&s->skipped, owner);
	unic_bitset_add(&s->changed, owner);
}

/** unic_share_unskip() - whoever was skipped may have something again. */
void unic_share_unskip(struct unic_share *s);

/** unic_share_settle() - count what has changed; ->weights and ->moved are right
 * then. All questions here do it themselves. */
void unic_share_settle(struct unic_share *s);

/** unic_share_hold() / _want() - @owner holds, wants @n units more (less, if
 * negative). */
static inline void unic_share_hold(struct unic_share *s, uint32_t owner,
				   int32_t n)
{
	s->owner[owner].held += (uint32_t)n;
	unic_bitset_add(&s->changed, owner);
}

/** unic_share_want() - @owner asks for @n units more than before, or for -@n
 * fewer. */
void unic_share_want(struct unic_share *s, uint32_t owner, int32_t n);

/** unic_share_weigh() - @owner's weight from now on. */
void unic_share_weigh(struct unic_share *s, uint32_t owner, uint32_t weight);

/** unic_share_hurts() - what taking from @owner hurts. */
void unic_share_hurts(struct unic_share *s, uint32_t owner, uint32_t pain);

/** unic_share_coming() - @n units of @owner are on their way back. */
void unic_share_coming(struct unic_share *s, uint32_t owner, uint32_t n);

/** unic_share_not_coming() - they came, or will not after all. */
void unic_share_not_coming(struct unic_share *s, uint32_t owner, uint32_t n);

#endif /* UNIC_SHARE_H */
