/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_share.c - fair shares, with a pool of database connections in place of
 * TLB entries (S0 section 4).
 */
#include "arbiter/share.h"
#include "unit.h"

#define CONNECTIONS 60u
#define NIL	    UNIC_OWNER_NIL

static struct unic_share s;

static int setup(void **state)
{
	uint32_t i;

	(void)state;
	unic_share_init(&s, CONNECTIONS);
	for (i = 0; i < UNIC_PROCS; i++)
		unic_share_weigh(&s, i, 1);
	return 0;
}

static void hold_one(uint32_t owner, uint32_t n)
{
	unic_share_hold(&s, owner, (int32_t)n - (int32_t)s.owner[owner].held);
}

static void hold(uint32_t a, uint32_t b, uint32_t c)
{
	hold_one(0, a);
	hold_one(1, b);
	hold_one(2, c);
}

static void want(uint32_t owner, uint32_t n)
{
	unic_share_want(&s, owner, (int32_t)n - (int32_t)s.owner[owner].wanted);
}

static void share_counts_who_holds_or_wants(void **state)
{
	(void)state;
	assert_int_equal(unic_share_fair(&s, 0), CONNECTIONS);
	hold(10, 0, 0);
	assert_int_equal(unic_share_fair(&s, 0), CONNECTIONS);
	assert_int_equal(unic_share_fair(&s, 1), CONNECTIONS / 2);
	want(2, 1);
	assert_int_equal(unic_share_fair(&s, 0), CONNECTIONS / 2);
	assert_int_equal(unic_share_fair(&s, 1), CONNECTIONS / 3);
	unic_share_weigh(&s, 2, 4);
	assert_int_equal(unic_share_fair(&s, 2), CONNECTIONS * 4 / 5);
	unic_share_weigh(&s, 0, 0);
	assert_int_equal(unic_share_fair(&s, 0), 0);
}

/* Another pool of the same owners is shared by the same weights. */
static void part_of_another_pool(void **state)
{
	(void)state;
	hold(10, 0, 0);
	want(2, 1);
	unic_share_weigh(&s, 2, 3);
	assert_int_equal(unic_share_part(&s, 0, 100), 25);
	assert_int_equal(unic_share_part(&s, 1, 100), 20);
	assert_int_equal(unic_share_part(&s, 2, 100), 75);
	assert_int_equal(unic_share_part(&s, 2, 65535), 49151);
}

static void shares_never_exceed_the_pool(void **state)
{
	uint32_t a, b, c;

	(void)state;
	hold(1, 1, 1);
	for (a = 1; a < 65536; a = a * 3 + 1)
		for (b = 1; b < 65536; b = b * 5 + 2)
			for (c = 1; c < 65536; c = c * 7 + 3) {
				unic_share_weigh(&s, 0, a);
				unic_share_weigh(&s, 1, b);
				unic_share_weigh(&s, 2, c);
				assert_true(unic_share_fair(&s, 0) +
						    unic_share_fair(&s, 1) +
						    unic_share_fair(&s, 2) <=
					    CONNECTIONS);
			}
}

static void entitled_up_to_the_share_exactly(void **state)
{
	(void)state;
	hold(20, 30, 0);
	want(2, 1);
	assert_true(unic_share_entitled(&s, 2, 20));
	assert_false(unic_share_entitled(&s, 2, 21));
	assert_true(unic_share_entitled(&s, 0, 0));
	assert_false(unic_share_entitled(&s, 0, 1));
	/* units on their way back do not count as excess, but are still held */
	unic_share_coming(&s, 1, 15);
	assert_false(unic_share_entitled(&s, 1, 1));
	assert_int_equal(unic_share_excess(&s, 1), -5);
	unic_share_not_coming(&s, 1, 15);
	assert_int_equal(unic_share_excess(&s, 1), 10);
	assert_int_equal(s.coming, 0);
}

static void victim_has_most_for_its_weight(void **state)
{
	(void)state;
	hold(25, 35, 0);
	want(2, 5);
	assert_int_equal(unic_share_victim(&s, 2, 5), 1);
	unic_share_weigh(&s, 1, 2); /* shares 15 and 30 */
	assert_int_equal(unic_share_victim(&s, 2, 5), 0);
	/* a skipped owner is not chosen */
	unic_share_skip(&s, 0);
	assert_int_equal(unic_share_victim(&s, 2, 5), 1);
	unic_share_skip(&s, 1);
	assert_int_equal(unic_share_victim(&s, 2, 5), NIL);
	unic_share_unskip(&s);
	assert_int_equal(unic_share_victim(&s, 2, 5), 0);
}

/* INV-5 */
static void nobody_at_or_below_its_share(void **state)
{
	(void)state;
	hold(20, 40, 0);
	want(2, 5);
	assert_int_equal(unic_share_victim(&s, 2, 5), 1);
	unic_share_skip(&s, 1);
	assert_int_equal(unic_share_victim(&s, 2, 5), NIL);
	assert_int_equal(unic_share_victim(&s, NIL, 0), NIL);
	unic_share_unskip(&s);
	/* enough units are coming: all owners are at their share */
	unic_share_coming(&s, 1, 20);
	assert_int_equal(unic_share_victim(&s, 2, 5), NIL);
}

/* To keep a watermark, only owners above their share give units. */
static void low_water_takes_from_who_is_above(void **state)
{
	(void)state;
	hold(60, 0, 0);
	assert_int_equal(unic_share_victim(&s, NIL, 0), NIL);
	hold(29, 31, 0);
	assert_int_equal(unic_share_victim(&s, NIL, 0), 1);
	unic_share_coming(&s, 1, 1); /* counts as given */
	assert_int_equal(unic_share_victim(&s, NIL, 0), NIL);
	unic_share_not_coming(&s, 1, 1);
	hold(30, 30, 0);
	assert_int_equal(unic_share_victim(&s, NIL, 0), NIL);
	hold(0, 0, 0);
	assert_int_equal(unic_share_victim(&s, NIL, 0), NIL);
}

static void borrower_takes_from_larger_borrower_or_itself(void **state)
{
	(void)state;
	hold(22, 38, 0);
	want(0, 10);
	assert_int_equal(unic_share_victim(&s, 0, 10), 1);
	/* both at their share: each gives its own units for its own request */
	hold(30, 30, 0);
	assert_int_equal(unic_share_victim(&s, 0, 10), 0);
	hold(60, 0, 0); /* alone */
	assert_int_equal(unic_share_victim(&s, 0, 10), 0);
}

/* The largest pool and weights are computed without overflow. */
static void products_do_not_wrap(void **state)
{
	(void)state;
	unic_share_init(&s, 65536);
	unic_share_weigh(&s, 0, 65535);
	unic_share_weigh(&s, 1, 65535);
	hold(40000, 20000, 0);
	want(0, 40000);
	assert_int_equal(unic_share_fair(&s, 0), 32768);
	assert_int_equal(unic_share_victim(&s, 0, 40000), 0);
	hold(20000, 40000, 0); /* a request counts for the whole pool at most */
	assert_int_equal(unic_share_victim(&s, 0, 60000), 0);
	hold(40000, 20000, 0);
	unic_share_weigh(&s, 1, 1); /* its share is 1 */
	assert_int_equal(unic_share_fair(&s, 0), 65535);
	assert_int_equal(unic_share_victim(&s, 0, 40000), 1);
	hold(65536, 0, 0); /* alone */
	want(0, 65536);
	unic_share_weigh(&s, 1, 65535);
	assert_int_equal(unic_share_fair(&s, 0), 65536);
	assert_int_equal(unic_share_victim(&s, 0, 65536), 0);
}

static void ties_go_to_the_least_pain(void **state)
{
	(void)state;
	hold(30, 30, 0);
	want(2, 5);
	unic_share_hurts(&s, 0, 9);
	unic_share_hurts(&s, 1, 8);
	assert_int_equal(unic_share_victim(&s, 2, 5), 1);
	unic_share_hurts(&s, 1, 10);
	assert_int_equal(unic_share_victim(&s, 2, 5), 0);
}

/* A request within the share is served from the excess of others. */
static void entitled_demand_can_always_be_met(void **state)
{
	uint32_t a, b, fair;

	(void)state;
	for (a = 0; a <= CONNECTIONS; a++)
		for (b = 0; a + b <= CONNECTIONS; b++) {
			hold(a, b, 0);
			want(2, 1);
			fair = unic_share_fair(&s, 2);
			if (CONNECTIONS - a - b >= fair)
				continue;
			assert_int_not_equal(unic_share_victim(&s, 2, fair),
					     NIL);
			assert_int_not_equal(unic_share_victim(&s, 2, fair), 2);
		}
}

/* --------------------------------------------------- against the definition */

static uint64_t rng = 1;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static uint32_t plain_weights(void)
{
	uint32_t i, sum = 0;

	for (i = 0; i < UNIC_PROCS; i++)
		if (s.owner[i].held || s.owner[i].wanted)
			sum += s.owner[i].weight;
	return sum;
}

/* Compares all owners: most units per weight, then least pain. */
static uint32_t plain_victim(uint32_t wanter, uint32_t n, uint32_t skip)
{
	uint32_t i, best = NIL;
	uint64_t most = 0, has, l, r;

	for (i = 0; i < UNIC_PROCS; i++) {
		has = s.owner[i].held - s.owner[i].coming;
		if (!has || skip >> i & 1)
			continue;
		if (i == wanter)
			has = has + n > s.capacity ? s.capacity + 1 : has + n;
		l = best == NIL ? 1 : has * s.owner[best].weight;
		r = best == NIL ? 0 : most * s.owner[i].weight;
		if (l < r || (l == r && s.owner[i].pain >= s.owner[best].pain))
			continue;
		best = i;
		most = has;
	}
	if (best != NIL && most * plain_weights() <=
				   (uint64_t)s.capacity * s.owner[best].weight)
		best = NIL;
	return best;
}

static void change(uint32_t i)
{
	struct unic_share_owner *o = &s.owner[i];

	switch (rnd(6)) {
	case 0:
		hold_one(i, o->coming + rnd(4) * 4);
		break;
	case 1:
		want(i, rnd(2) * 5);
		break;
	case 2:
		unic_share_not_coming(&s, i, o->coming);
		break;
	case 3:
		unic_share_coming(&s, i, rnd(o->held - o->coming + 1));
		break;
	case 4:
		unic_share_weigh(&s, i, rnd(3) + 1);
		break;
	default:
		unic_share_hurts(&s, i, rnd(2));
	}
}

/* The answers equal those of the definition; few values, so that ties occur. */
static void answers_are_those_of_the_definition(void **state)
{
	uint32_t step, i, n, skip, sum;

	(void)state;
	for (step = 0; step < 200000; step++) {
		for (n = rnd(3); n; n--)
			change(rnd(UNIC_PROCS));
		for (i = skip = 0; i < UNIC_PROCS; i++)
			if (!rnd(4)) {
				unic_share_skip(&s, i);
				skip |= 1u << i;
			}
		i = rnd(UNIC_PROCS + 1);
		i = i == UNIC_PROCS ? NIL : i;
		n = i == NIL ? 0 : rnd(9);
		assert_int_equal(unic_share_victim(&s, i, n),
				 plain_victim(i, n, skip));
		unic_share_unskip(&s);
		assert_int_equal(unic_share_victim(&s, i, n),
				 plain_victim(i, n, 0));
		sum = plain_weights();
		assert_int_equal(s.weights, sum);
		i = rnd(UNIC_PROCS);
		if (!s.owner[i].held && !s.owner[i].wanted)
			sum += s.owner[i].weight;
		assert_int_equal(unic_share_fair(&s, i),
				 CONNECTIONS * s.owner[i].weight / sum);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(share_counts_who_holds_or_wants, setup),
		cmocka_unit_test_setup(part_of_another_pool, setup),
		cmocka_unit_test_setup(shares_never_exceed_the_pool, setup),
		cmocka_unit_test_setup(entitled_up_to_the_share_exactly, setup),
		cmocka_unit_test_setup(victim_has_most_for_its_weight, setup),
		cmocka_unit_test_setup(nobody_at_or_below_its_share, setup),
		cmocka_unit_test_setup(low_water_takes_from_who_is_above,
				       setup),
		cmocka_unit_test_setup(
			borrower_takes_from_larger_borrower_or_itself, setup),
		cmocka_unit_test_setup(products_do_not_wrap, setup),
		cmocka_unit_test_setup(ties_go_to_the_least_pain, setup),
		cmocka_unit_test_setup(entitled_demand_can_always_be_met,
				       setup),
		cmocka_unit_test_setup(answers_are_those_of_the_definition,
				       setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
