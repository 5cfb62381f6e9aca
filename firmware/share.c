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
	/* 32 bits are enough: 2^16 x (2^16 - 1) */
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

/* The owner found, with its units; and the weights of all who are present. */
struct heaviest {
	uint32_t owner, net, weight, weights;
};

/*
 * The owner with the most units for its weight but those in @skip, the wanter
 * counted with @n more; nobody who has nothing. Fair shares are proportional to
 * weights, so the order by net / weight is the order by excess / weight without
 * dividing, and if the first is not above its share, nobody is. Nobody can have
 * more than all; one more than that is enough to be above. So the products fit:
 * (2^16 + 1) x (2^16 - 1) is 2^32 - 1.
 */
static inline struct heaviest
heaviest(const struct unic_share *s, uint32_t skip, uint32_t wanter, uint32_t n)
{
	struct heaviest best = { UNIC_OWNER_NIL, 0, 1, 0 };
	uint32_t left, pain = 0;

	for (left = s->present; left; left &= left - 1u) {
		uint32_t i = (uint32_t)__builtin_ctz(left), has, l, r;
		const struct unic_share_owner *o = &s->owner[i];

		best.weights += o->weight;
		has = o->held - o->coming;
		if (!has || skip >> i & 1)
			continue;
		if (i == wanter)
			has = has + n > s->capacity ? s->capacity + 1 : has + n;
		l = has * best.weight;
		r = best.net * o->weight;
		if (l < r ||
		    (l == r && o->pain >= pain && best.owner != UNIC_OWNER_NIL))
			continue;
		best.owner = i;
		best.weight = o->weight;
		best.net = has;
		pain = o->pain;
	}
	return best;
}

/* Apart, so that the usual case is compiled for a mask of none. */
static __attribute__((noinline, cold)) struct heaviest
heaviest_but(const struct unic_share *s, uint32_t skip, uint32_t wanter,
	     uint32_t n)
{
	return heaviest(s, skip, wanter, n);
}

/* More than unic_share_fair(), without dividing. */
static inline bool above(const struct unic_share *s, const struct heaviest *h)
{
	return (uint64_t)h->net * h->weights >
	       (uint64_t)s->capacity * h->weight;
}

uint32_t unic_share_victim(const struct unic_share *s, uint32_t wanter,
			   uint32_t n, uint32_t skip)
{
	struct heaviest found = skip ? heaviest_but(s, skip, wanter, n)
				     : heaviest(s, 0, wanter, n);

	if (found.owner == UNIC_OWNER_NIL || above(s, &found)) /* INV-5 */
		return found.owner;
	return UNIC_OWNER_NIL;
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
