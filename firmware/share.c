/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* share.c - fair shares: nothing but arithmetic. */
#include <string.h>

#include "share.h"

void unic_share_init(struct unic_share *s, uint32_t capacity)
{
	memset(s, 0, sizeof(*s));
	s->capacity = capacity;
}

void unic_share_want(struct unic_share *s, uint32_t owner, int32_t n)
{
	s->owner[owner].wanted += (uint32_t)n;
	unic_share_hold(s, owner, 0); /* it may be present now, or not */
}

uint32_t unic_share_part(const struct unic_share *s, uint32_t owner,
			 uint32_t pool)
{
	uint32_t left = s->present | 1u << owner, weights = 0;

	for (; left; left &= left - 1u)
		weights += s->owner[__builtin_ctz(left)].weight;
	if (!weights)
		return 0;
	/* 32 bits are enough: both factors have 16 */
	return pool * s->owner[owner].weight / weights;
}

uint32_t unic_share_fair(const struct unic_share *s, uint32_t owner)
{
	return unic_share_part(s, owner, s->capacity);
}

int32_t unic_share_excess(const struct unic_share *s, uint32_t owner)
{
	return (int32_t)unic_share_net(s, owner) -
	       (int32_t)unic_share_fair(s, owner);
}

bool unic_share_entitled(const struct unic_share *s, uint32_t owner, uint32_t n)
{
	return s->owner[owner].held + n <= unic_share_fair(s, owner);
}

/*
 * The owner in @mask with the most units for its weight, the wanter counted
 * with @n more; nobody who has nothing. Fair shares are proportional to
 * weights, so the order by net / weight is the order by excess / weight without
 * dividing, and if the first is not above its share, nobody is. The products
 * fit: a net is at most the capacity, 16 bits.
 * *net: units of the one found.
 */
static uint32_t heaviest(const struct unic_share *s, uint32_t mask,
			 uint32_t wanter, uint32_t n, uint32_t *net)
{
	uint32_t best = UNIC_OWNER_NIL, weight = 1, pain = 0;

	*net = 0;
	for (mask &= s->present; mask; mask &= mask - 1u) {
		uint32_t i = (uint32_t)__builtin_ctz(mask), l, r;
		const struct unic_share_owner *o = &s->owner[i];
		uint32_t has = o->held - o->coming;

		if (!has)
			continue;
		if (i == wanter)
			has += n;
		l = has * weight;
		r = *net * o->weight;
		if (l < r ||
		    (l == r && o->pain >= pain && best != UNIC_OWNER_NIL))
			continue;
		best = i;
		weight = o->weight;
		pain = o->pain;
		*net = has;
	}
	return best;
}

uint32_t unic_share_victim(const struct unic_share *s, uint32_t wanter,
			   uint32_t n, uint32_t skip)
{
	uint32_t net, found = heaviest(s, ~skip, wanter, n, &net), whole;

	if (found == UNIC_OWNER_NIL)
		return UNIC_OWNER_NIL;
	if (net > unic_share_fair(s, found))
		return found;
	if (wanter != UNIC_OWNER_NIL)
		return UNIC_OWNER_NIL;
	/* INV-5: not if one that was skipped is above */
	whole = skip ? heaviest(s, ~0u, wanter, n, &net) : found;
	return net > unic_share_fair(s, whole) ? UNIC_OWNER_NIL : found;
}

void unic_share_coming(struct unic_share *s, uint32_t owner, uint32_t n)
{
	s->owner[owner].coming += n;
	s->coming += n;
}

void unic_share_not_coming(struct unic_share *s, uint32_t owner, uint32_t n)
{
	s->owner[owner].coming -= n;
	s->coming -= n;
}
