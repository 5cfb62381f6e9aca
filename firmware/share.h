/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * share.h - who may have how much of a pool: fair shares with borrowing
 * (memory.md section 4; S0 section 2, "let processes use more than their fair
 * share if others do not").
 *
 * Knows units and owners, nothing of TLB entries or tokens (S0 section 4: the
 * same protocol arbitrates database connections). Pure arithmetic, no time.
 * Cost: O(owners), which is a small board constant.
 *
 * An owner's `net` is what it holds less what is already on its way back from
 * it; shares are compared with that.
 */
#ifndef UNIC_SHARE_H
#define UNIC_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"

#define UNIC_OWNER_NIL 0xffffu

struct unic_share_owner {
	uint32_t weight; /* 1..65535; 0: not present */
	uint32_t quota;	 /* hard limit in units; 0: none */
	uint32_t held;	 /* units it has, reserved ones included */
	uint32_t wanted; /* units its queued requests ask for */
	uint32_t coming; /* units already on their way back from it */
	uint32_t pain;	 /* what its last candidate would have hurt: ties */
};

struct unic_share {
	uint32_t capacity; /* at most 65536 */
	uint32_t coming;   /* sum over all owners */
	uint32_t present;  /* bit per owner that holds or wants */
	struct unic_share_owner owner[UNIC_PROCS];
};

void unic_share_init(struct unic_share *s, uint32_t capacity);

/** unic_share_part() - @owner's fair share of @pool (at most 65536) units of
 * another kind that the same owners, those who hold or want, use with these. */
uint32_t unic_share_part(const struct unic_share *s, uint32_t owner,
			 uint32_t pool);

/** unic_share_fair() - capacity x weight / weights of all who hold or want,
 * @owner itself always counted. */
uint32_t unic_share_fair(const struct unic_share *s, uint32_t owner);

/** unic_share_net() - units held and not on their way back. */
static inline uint32_t unic_share_net(const struct unic_share *s,
				      uint32_t owner)
{
	return s->owner[owner].held - s->owner[owner].coming;
}

/**
 * unic_share_excess() - units above the fair share, those on their way back
 * not counted; negative below it.
 */
int32_t unic_share_excess(const struct unic_share *s, uint32_t owner);

/**
 * unic_share_entitled() - would @owner with @n more units stay within its fair
 * share? Such a request is served within B whatever the others do (INV-8).
 * Units on their way back count until they are: who replaces its own is a
 * borrower.
 */
bool unic_share_entitled(const struct unic_share *s, uint32_t owner,
			 uint32_t n);

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
 * @skip: bit per owner that has nothing to give now.
 * Returns UNIC_OWNER_NIL if nobody qualifies.
 */
uint32_t unic_share_victim(const struct unic_share *s, uint32_t wanter,
			   uint32_t n, uint32_t skip);

/** unic_share_hold() / _want() - @owner holds, wants @n units more (less, if
 * negative). */
static inline void unic_share_hold(struct unic_share *s, uint32_t owner,
				   int32_t n)
{
	struct unic_share_owner *o = &s->owner[owner];

	o->held += (uint32_t)n;
	if (o->held | o->wanted)
		s->present |= 1u << owner;
	else
		s->present &= ~(1u << owner);
}

void unic_share_want(struct unic_share *s, uint32_t owner, int32_t n);

/** unic_share_coming() - @n units of @owner are on their way back. */
void unic_share_coming(struct unic_share *s, uint32_t owner, uint32_t n);

/** unic_share_not_coming() - they came, or will not after all. */
void unic_share_not_coming(struct unic_share *s, uint32_t owner, uint32_t n);

_Static_assert(UNIC_PROCS <= 32, "owners fit a mask of 32 bits");

#endif /* UNIC_SHARE_H */
