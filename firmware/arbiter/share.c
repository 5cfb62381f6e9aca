/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* share.c - fair shares: arithmetic only. */
#include <string.h>

#include "arbiter/share.h"

void unic_share_init(struct unic_share *s, uint32_t capacity)
{
	memset(s, 0, sizeof(*s));
	unic_tournament_init(&s->heaviest);
	s->capacity = capacity;
}

/* --------------------------------------------------------- who is heaviest */

/*
 * True if @a, with @net units, has more for its weight than @b. Ties go to the
 * least pain, then to the lower number. Fair shares are proportional to weights,
 * so the order by net / weight is the order by excess / weight without a
 * division, and if the first is not above its share, nobody is. @net is at most
 * capacity + 1, which is enough to be above, so the products fit: (2^16 + 1) x
 * (2^16 - 1) is 2^32 - 1.
 */
static inline bool is_heavier(const struct unic_share *s, uint32_t a,
			      uint32_t net, uint32_t b)
{
	const struct unic_share_owner *x = &s->owner[a], *y = &s->owner[b];
	uint32_t l = net * y->weight, r = unic_share_net(s, b) * x->weight;

	if (l != r)
		return l > r;
	return x->pain != y->pain ? x->pain < y->pain : a < b;
}

static bool can_give_units(const void *in, uint32_t owner)
{
	const struct unic_share *s = in;

	return unic_share_net(s, owner) && !unic_bitset_has(&s->skipped, owner);
}

static bool owner_before(const void *in, uint32_t a, uint32_t b)
{
	return is_heavier(in, a, unic_share_net(in, a), b);
}

void unic_share_settle(struct unic_share *s)
{
	while (unic_bitset_any(&s->changed)) {
		uint32_t i = unic_bitset_first(&s->changed);
		struct unic_share_owner *o = &s->owner[i];
		uint32_t weight = o->held | o->wanted ? o->weight : 0;

		s->weights += weight - o->counted;
		o->counted = weight;
		unic_bitset_del(&s->changed, i);
		unic_bitset_add(&s->moved, i);
		unic_tournament_play(&s->heaviest, i, s, can_give_units,
				     owner_before);
	}
}

static inline void settle_if_changed(struct unic_share *s)
{
	if (unic_bitset_any(&s->changed))
		unic_share_settle(s);
}

/* ----------------------------------------------------------------- questions */

uint32_t unic_share_part(struct unic_share *s, uint32_t owner, uint32_t pool)
{
	const struct unic_share_owner *o = &s->owner[owner];
	uint32_t weights;

	settle_if_changed(s);
	weights = s->weights + (o->counted ? 0 : o->weight);
	if (!weights)
		return 0;
	/* 32 bits are enough: 2^16 x (2^16 - 1) */
	return pool * o->weight / weights;
}

uint32_t unic_share_fair(struct unic_share *s, uint32_t owner)
{
	return unic_share_part(s, owner, s->capacity);
}

int32_t unic_share_excess(struct unic_share *s, uint32_t owner)
{
	return (int32_t)unic_share_net(s, owner) -
	       (int32_t)unic_share_fair(s, owner);
}

bool unic_share_entitled(struct unic_share *s, uint32_t owner, uint32_t n)
{
	return s->owner[owner].held + n <= unic_share_fair(s, owner);
}

/*
 * The wanter is compared as if it had @n more: that moves nobody else, and the
 * wanter only up. A wanter that has nothing has nothing to give.
 */
uint32_t unic_share_victim(struct unic_share *s, uint32_t wanter, uint32_t n)
{
	uint32_t best, net, with;

	settle_if_changed(s);
	best = unic_tournament_first(&s->heaviest, s, can_give_units);
	if (best == UNIC_OWNER_NIL)
		return best;
	net = unic_share_net(s, best);
	if (wanter != UNIC_OWNER_NIL && can_give_units(s, wanter)) {
		with = unic_share_net(s, wanter) + n;
		if (with > s->capacity)
			with = s->capacity + 1;
		if (best == wanter || is_heavier(s, wanter, with, best)) {
			best = wanter;
			net = with;
		}
	}
	/* more than unic_share_fair(), without dividing: INV-5 */
	if ((uint64_t)net * s->weights >
	    (uint64_t)s->capacity * s->owner[best].weight)
		return best;
	return UNIC_OWNER_NIL;
}

/* ------------------------------------------------------------------ changes */

void unic_share_unskip(struct unic_share *s)
{
	while (unic_bitset_any(&s->skipped)) {
		uint32_t i = unic_bitset_first(&s->skipped);

		unic_bitset_del(&s->skipped, i);
		unic_bitset_add(&s->changed, i);
	}
	settle_if_changed(s);
}

void unic_share_weigh(struct unic_share *s, uint32_t owner, uint32_t weight)
{
	s->all_weights += weight - s->owner[owner].weight;
	s->owner[owner].weight = weight;
	unic_bitset_add(&s->changed, owner);
}

void unic_share_hurts(struct unic_share *s, uint32_t owner, uint32_t pain)
{
	s->owner[owner].pain = pain;
	unic_bitset_add(&s->changed, owner);
}

void unic_share_want(struct unic_share *s, uint32_t owner, int32_t n)
{
	s->owner[owner].wanted += (uint32_t)n;
	unic_bitset_add(&s->changed, owner);
}

void unic_share_coming(struct unic_share *s, uint32_t owner, uint32_t n)
{
	s->owner[owner].coming += n;
	s->coming += n;
	unic_bitset_add(&s->changed, owner);
}

void unic_share_not_coming(struct unic_share *s, uint32_t owner, uint32_t n)
{
	unic_share_coming(s, owner, 0u - n);
}
