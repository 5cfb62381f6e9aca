/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_pain.c - the pain of a region: its formula, its part in the choice of a region and
 * in how far the reaper goes ahead of demand, and that a weight of 0 is none.
 */
#include <stddef.h>
#include <string.h>

#include "unit.h"

#include "evict_rig.h"
#include "memory/access.h"
#include "memory/usage.h"

#define MS   1000000ull
#define BULK 4096u

/* ------------------------------------------------------------------ the formula */

static void use_counts_what_it_moves(void **state)
{
	uint32_t bytes;

	(void)state;
	assert_int_equal(unic_pain_of_use(0), 0);
	assert_int_equal(unic_pain_of_use(UNIC_PAIN_OP), UNIC_LG_ONE);
	assert_int_equal(unic_pain_of_use(7 * UNIC_PAIN_OP), 3 * UNIC_LG_ONE);
	for (bytes = 1; bytes < 1u << 31; bytes *= 2)
		assert_true(unic_pain_of_use(bytes) >=
			    unic_pain_of_use(bytes / 2));
	assert_int_equal(unic_pain_of_use(UINT32_MAX),
			 unic_pain_of_use(1u << 16));
}

static void registering_takes_its_time(void **state)
{
	(void)state;
	assert_int_equal(unic_pain_again(0, 1), UNIC_PAIN_CALL + 1);
	assert_int_equal(unic_pain_again(0, 256), UNIC_PAIN_CALL + 256);
	/* 2^17 ns are 2^11 sixteenths of 2^10 ns */
	assert_int_equal(unic_pain_again(1, 0), UNIC_PAIN_CALL + 2048);
	assert_true(unic_pain_again(UINT16_MAX, UINT16_MAX) >
		    UINT16_MAX * 2048u);
}

static void last_waits_count_most(void **state)
{
	uint32_t wait = 0, i;

	(void)state;
	wait = unic_pain_wait(0, 4 * MS);
	assert_in_range(wait, (uint32_t)(MS >> 6) - 1, (uint32_t)(MS >> 6));
	for (i = 0; i < 100; i++)
		wait = unic_pain_wait(wait, 4 * MS);
	assert_in_range(wait, (uint32_t)(4 * MS >> 6) - 4,
			(uint32_t)(4 * MS >> 6));
	for (i = 0; i < 100; i++)
		wait = unic_pain_wait(wait, UINT64_MAX);
	assert_true(wait > UINT32_MAX - 8);
}

/* What is saved is worth the pain: just so, and by a factor of two not. */
static void trade_is_the_formula(void **state)
{
	const struct unic_pain_trade even = {
		.traffic = 1000,
		.again = 1024,
		.entries = 4,
		.mean = 1000,
		.wait = 4096,
		.demand = 256,
		.stock = 12,
		.weight = 64,
	};
	struct unic_pain_trade t = even;

	(void)state;
	assert_true(unic_pain_pays(&t));
	t.traffic *= 2;
	assert_false(unic_pain_pays(&t));
	t = even;
	t.again *= 2;
	assert_false(unic_pain_pays(&t));
	t = even;
	t.weight *= 2;
	assert_false(unic_pain_pays(&t));
	t = even;
	t.mean /= 2;
	assert_false(unic_pain_pays(&t));
	t = even;
	t.wait /= 2;
	assert_false(unic_pain_pays(&t));
	t = even;
	t.demand /= 2;
	assert_false(unic_pain_pays(&t));
	t = even;
	t.stock = 28;
	assert_false(unic_pain_pays(&t));
	t = even; /* more than all that is free is not needed */
	t.demand *= 1024;
	t.wait /= 8;
	assert_false(unic_pain_pays(&t));
}

static void nothing_to_lose_or_to_gain(void **state)
{
	struct unic_pain_trade t = { .traffic = UINT32_MAX,
				     .again = UINT32_MAX,
				     .entries = 1,
				     .stock = 1,
				     .wait = 1,
				     .mean = 1,
				     .demand = 1 };

	(void)state;
	assert_true(unic_pain_pays(&t)); /* no weight */
	t.weight = 256;
	assert_false(unic_pain_pays(&t));
	t.traffic = 0;
	assert_true(unic_pain_pays(&t));
	t.traffic = 1;
	t.again = 1;
	t.weight = 1;
	t.mean = t.wait = t.demand = t.stock = t.entries = UINT32_MAX;
	assert_true(unic_pain_pays(&t));
	t.mean = 0;
	assert_false(unic_pain_pays(&t));
	t.mean = UINT32_MAX;
	t.demand = 0;
	assert_false(unic_pain_pays(&t));
}

/* ------------------------------------------------------------------- the choice */

#define REGIONS 12u

static struct rig_mr m[REGIONS];

static struct unic_mr_ctx *of(const struct rig_mr *mr)
{
	return &er.nic.mrs.mr[mr->mr];
}

static void weigh(uint32_t pct)
{
	struct unic_cmd_set_params p = { .flags = unic_to_le32(UNIC_PARAM_PAIN),
					 .pain_pct = unic_to_le32(pct) };

	assert_int_equal(rig_cmd(&er, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
}

/* Each region is used as often as any other; the odd ones are for bulk. */
static void use_all(uint32_t times, uint32_t bulk)
{
	uint32_t i;

	for (; times; times--)
		for (i = 0; i < REGIONS; i++) {
			rig_run(&er, MS / 4);
			unic_mr_used(&er.nic.memory, of(&m[i]),
				     i % 2 ? bulk : 8);
			unic_policy_look(&er.nic.candidates.chooser[0],
					 er.nic.now_ns);
		}
}

static void meet_all(void)
{
	struct unic_chooser *c = &er.nic.candidates.chooser[0];

	while (unic_policy_stranger(c) != UNIC_ITEM_NIL)
		unic_policy_meet(c, 77u * (unic_policy_stranger(c) + 1u));
}

/* How many of the six regions that go first are for bulk; their order in @order. */
static uint32_t bulk_victims(uint16_t order[6])
{
	struct unic_chooser *c = &er.nic.candidates.chooser[0];
	uint32_t bulk = 0, i, k;

	for (k = 0; k < 6; k++) {
		for (i = 0; i < 8; i++)
			unic_policy_look(c, er.nic.now_ns);
		order[k] = unic_reclaim_pick(&er.nic.revoke, 0, 1, false);
		for (i = 0; i < REGIONS && m[i].mr != order[k]; i++)
			;
		assert_true(i < REGIONS);
		bulk += i % 2;
		unic_candidate_remove(&er.nic.memory, order[k]);
	}
	return bulk;
}

static uint32_t victims(void **state, uint32_t pct, uint32_t bulk,
			uint16_t order[6])
{
	evict_up(state);
	weigh(pct);
	evict_hoard(0, REGIONS, 2, m);
	meet_all();
	use_all(20, bulk);
	return bulk_victims(order);
}

static void least_pain_goes_first(void **state)
{
	uint16_t order[6];

	assert_in_range(victims(state, 100, BULK, order), 0, 1);
}

/* The choice is that of a NIC that counts no bytes. */
static void weight_of_zero_is_none(void **state)
{
	uint16_t with[6], without[6];

	victims(state, 0, BULK, with);
	assert_in_range(victims(state, 0, 8, without), 1, 5);
	assert_memory_equal(with, without, sizeof(with));
}

/* Where all losses are alike they change nothing. */
static void equal_pain_changes_nothing(void **state)
{
	uint16_t with[6], without[6];

	victims(state, 100, 8, with);
	victims(state, 0, 8, without);
	assert_memory_equal(with, without, sizeof(with));
}

/* Counters that wrap, or run backwards, make a wrong choice among one's own regions, and
 * nothing else. */
static void counters_may_wrap(void **state)
{
	uint16_t order[6];
	uint32_t i;

	evict_up(state);
	evict_hoard(0, REGIONS, 2, m);
	meet_all();
	for (i = 0; i < REGIONS; i++) {
		of(&m[i])->bytes = UINT32_MAX - i;
		of(&m[i])->uses = UINT32_MAX - i % 3;
	}
	use_all(3, UINT32_MAX);
	for (i = 0; i < REGIONS; i++)
		unic_mr_not_used(of(&m[i]), 8);
	use_all(3, 0);
	rig_run(&er, 200 * MS);
	bulk_victims(order);
	for (i = 0; i < REGIONS; i++)
		assert_true(unic_usage_traffic(&er.nic.memory, m[i].mr) <=
			    UINT32_MAX);
}

/* ------------------------------------------------------------------- the reaper */

#define LOW  8u
#define HIGH 16u

/* Process 0 holds more than its share, in regions that all are used if @used; then fewer
 * than LOW entries are free. */
static void crowd(void **state, uint32_t pct, bool used)
{
	struct rig_mr other;
	uint32_t i, k;

	evict_up(state);
	weigh(pct);
	evict_hoard(0, REGIONS, 4, m);
	evict_reg_ok(1, 8, &other);
	for (k = 0; k < 400 && used; k++) { /* until none of them is new */
		rig_run(&er, 5 * MS);
		for (i = 0; i < REGIONS; i++)
			unic_mr_used(&er.nic.memory, of(&m[i]), BULK);
	}
	rig_run(&er, RESIDENCE_NS);
	evict_params(LOW + 1, HIGH);
}

/* Entries that the reaper asks back at once. */
static uint32_t reaped(void)
{
	return evict_noticed(0, UNIC_WHY_REAPER);
}

static void reaper_takes_what_rests(void **state)
{
	crowd(state, 100, false);
	assert_int_equal(reaped(), 8);
}

static void reaper_spares_what_is_used(void **state)
{
	crowd(state, 100, true);
	assert_int_equal(reaped(), 0);
	rig_run(&er, 10 * RESIDENCE_NS);
	assert_int_equal(reaped(), 0);
	evict_params(0, 0);
	rig_run(&er, 8000 * MS); /* until nothing of it counts any more */
	evict_params(LOW + 1, HIGH);
	assert_int_equal(reaped(), 8);
}

static void reaper_without_weight_spares_nothing(void **state)
{
	crowd(state, 0, true);
	assert_int_equal(reaped(), 8);
}

/* New regions come: the wait that they would have is worth some, as far as they need. */
static void reaper_goes_as_far_as_needed(void **state)
{
	uint32_t i;

	crowd(state, 100, true);
	for (i = 0; i < REGIONS; i++) /* all regions are like the mean */
		unic_usage_settle(&er.nic.memory, m[i].mr);
	er.nic.counter[UNIC_C_mr_registered] += 100;
	er.nic.depth.wait = 1u << 24;
	rig_run(&er, 2 * RESIDENCE_NS);
	assert_int_equal(reaped(), 8);
	crowd(state, 100, true);
	er.nic.counter[UNIC_C_mr_registered] += 100;
	er.nic.pains.new_regions->returned += 100; /* those only came back */
	er.nic.depth.wait = 1u << 24;
	rig_run(&er, 2 * RESIDENCE_NS);
	assert_int_equal(reaped(), 0);
}

/* Who waits is served, whatever it costs (INV-8). */
static void waiter_is_served_all_the_same(void **state)
{
	crowd(state, 400, true);
	evict_params(0, 0);
	evict_wait_for(1, 16, 0);
	assert_true(evict_noticed(0, UNIC_WHY_FAIR_SHARE) >= 8);
}

/* What a process waited is measured, and is that of its slot's next one no more. */
static void waits_are_measured(void **state)
{
	evict_up(state);
	assert_int_equal(er.nic.depth.wait, 0);
	unic_depth_waited(&er.nic.revoke, 1, 20000);
	assert_in_range(er.nic.depth.wait, (20 * MS >> 8) - 1,
			(20 * MS >> 8) + 1);
	assert_in_range(er.nic.candidates.chooser[1].wait, (20 * MS >> 19) - 1,
			(20 * MS >> 19) + 1);
	assert_int_equal(er.nic.candidates.chooser[0].wait, 0);
	unic_depth_waited(&er.nic.revoke, 1, UINT32_MAX);
	unic_reclaim_proc_forget(&er.nic.revoke, 1);
	assert_int_equal(er.nic.candidates.chooser[1].wait, 0);
}

/* A request that is granted after a wait. */
static void granted_wait_counts(void **state)
{
	struct rig_mr all;
	uint32_t wait;

	evict_up(state);
	evict_reg_ok(0, N, &all);
	wait = evict_wait_for(1, 1, 0);
	rig_run(&er, 2 * MS);
	evict_drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&er, &all), UNIC_ST_OK);
	rig_poll(&er);
	evict_granted(wait);
	assert_true(er.nic.depth.wait >= (2 * MS >> 8) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(use_counts_what_it_moves),
		cmocka_unit_test(registering_takes_its_time),
		cmocka_unit_test(last_waits_count_most),
		cmocka_unit_test(trade_is_the_formula),
		cmocka_unit_test(nothing_to_lose_or_to_gain),
		cmocka_unit_test(least_pain_goes_first),
		cmocka_unit_test(weight_of_zero_is_none),
		cmocka_unit_test(equal_pain_changes_nothing),
		cmocka_unit_test(counters_may_wrap),
		cmocka_unit_test(reaper_takes_what_rests),
		cmocka_unit_test(reaper_spares_what_is_used),
		cmocka_unit_test(reaper_without_weight_spares_nothing),
		cmocka_unit_test(reaper_goes_as_far_as_needed),
		cmocka_unit_test(waiter_is_served_all_the_same),
		cmocka_unit_test(waits_are_measured),
		cmocka_unit_test(granted_wait_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
