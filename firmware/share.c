/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* share.c - fair shares: nothing but arithmetic. */
#include <string.h>

#include "share.h"

void unic_share_init(struct unic_share *s, uint32_t capacity)
{
	memset(s, 0, sizeof(*s));
	s->capacity = capacity;
}

static bool present(const struct unic_share_owner *o)
{
	return o->held | o->wanted;
}

uint32_t unic_share_fair(const struct unic_share *s, uint32_t owner)
{
	uint32_t i, weights = 0;

	for (i = 0; i < UNIC_PROCS; i++)
		if (i == owner || present(&s->owner[i]))
			weights += s->owner[i].weight;
	if (!weights)
		return 0;
	/* 32 bits are enough: both factors have 16 */
	return s->capacity * s->owner[owner].weight / weights;
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

/* What a victim search has found so far. */
struct best {
	uint32_t owner, net, weight, pain;
};

/*
 * More units for its weight? Fair shares are proportional to weights, so the
 * order by net / weight is the order by excess / weight, without dividing.
 * The products fit: a net is at most the capacity, 16 bits.
 */
static bool heavier(const struct best *a, const struct best *b)
{
	uint32_t l = a->net * b->weight, r = b->net * a->weight;

	return l > r || (l == r && a->pain < b->pain);
}

/*
 * The heaviest owner in @mask, the wanter counted with @n more. If the
 * heaviest is not above its share, nobody is.
 */
static struct best heaviest(const struct unic_share *s, uint32_t mask,
			    uint32_t wanter, uint32_t n)
{
	struct best best = { UNIC_OWNER_NIL, 0, 1, 0 };
	uint32_t i;

	for (i = 0; mask >> i; i++) {
		const struct unic_share_owner *o = &s->owner[i];
		struct best b = { i, o->held - o->coming, o->weight, o->pain };

		if (!(mask >> i & 1) || !b.net)
			continue; /* nothing to take, whatever it wants */
		if (i == wanter)
			b.net += n;
		if (best.owner == UNIC_OWNER_NIL || heavier(&b, &best))
			best = b;
	}
	return best;
}

static bool above(const struct unic_share *s, const struct best *b)
{
	return b->owner != UNIC_OWNER_NIL &&
	       b->net > unic_share_fair(s, b->owner);
}

uint32_t unic_share_victim(const struct unic_share *s, uint32_t wanter,
			   uint32_t n, uint32_t skip)
{
	const uint32_t all = (uint32_t)((1ull << UNIC_PROCS) - 1);
	struct best b = heaviest(s, all & ~skip, wanter, n);

	if (above(s, &b))
		return b.owner;
	if (wanter != UNIC_OWNER_NIL || b.owner == UNIC_OWNER_NIL)
		return UNIC_OWNER_NIL;
	if (skip) {
		struct best whole = heaviest(s, all, wanter, n);

		if (above(s, &whole))
			return UNIC_OWNER_NIL;
	}
	return b.owner;
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
