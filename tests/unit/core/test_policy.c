/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_policy.c - replacement policies, the reuse predictor, and pain. */
#include <stddef.h>
#include <string.h>

#include "arbiter/frequency.h"
#include "arbiter/policy.h"
#include "unit.h"

#define ITEMS	  16u
#define THINGS	  64u
#define HALF_LIFE (1ull << 27)
#define TICK	  (1ull << 10)
#define NOT_THERE 0xffffu

/* A table with one entry per item, and the thing in each item. */
static struct seen {
	uint64_t last_ns;
	uint32_t uses;
	uint16_t entries;
	uint8_t hint;
	uint64_t since_ns;
	uint16_t thing;
} seen[ITEMS];
static struct unic_item item[ITEMS];
static struct unic_ghost ghost[32];
static struct unic_chooser c;
static uint16_t where[THINGS];
static struct unic_moved moved[ITEMS];
static uint16_t ghost_loss[32];
static struct unic_policy_state written;
static uint64_t now;
static uint32_t held;

static const struct unic_policy_table table = {
	.item = item,
	.last_use_ns = &seen[0].last_ns,
	.stride = sizeof(seen[0]),
	.since = offsetof(struct seen, since_ns),
	.size = offsetof(struct seen, entries),
	.hint = offsetof(struct seen, hint),
	.ghost = ghost,
	.ghost_mask = 7,
	.state = &written,
};

static void begin(uint32_t kind)
{
	memset(seen, 0, sizeof(seen));
	memset(ghost, 0, sizeof(ghost));
	memset(where, 0xff, sizeof(where));
	written = (struct unic_policy_state){ .rng = 88172645463325252ull,
					      .moved = moved,
					      .ghost_loss = ghost_loss };
	now = TICK;
	held = 0;
	unic_policy_init(&c, &table);
	unic_policy_set(&c, kind);
}

static uint32_t id_of(uint16_t thing)
{
	return (thing + 1u) * 0x9e3779b1u;
}

static uint16_t victim(void)
{
	return unic_policy_victim(&c, UINT64_MAX, 1);
}

static void meet(uint32_t left)
{
	while (left-- && unic_policy_stranger(&c) != UNIC_ITEM_NIL)
		unic_policy_meet(&c,
				 id_of(seen[unic_policy_stranger(&c)].thing));
	unic_policy_look(&c, now);
}

static uint16_t take_back(void)
{
	uint16_t i;

	if (unic_policy_blind(&c))
		meet(ITEMS);
	i = victim();
	assert_in_range(i, 0, ITEMS - 1);
	unic_policy_evicted(&c, i, id_of(seen[i].thing), now);
	unic_policy_remove(&c, i);
	where[seen[i].thing] = NOT_THERE;
	meet(2);
	return i;
}

/* Uses @thing. Returns true if it was in the table. */
static bool use(uint16_t thing, uint8_t hint)
{
	uint16_t i = where[thing];

	now += TICK;
	if (i != NOT_THERE) {
		seen[i].last_ns = now;
		seen[i].uses++;
		return true;
	}
	i = held < ITEMS ? (uint16_t)held++ : take_back();
	seen[i] = (struct seen){ now, 0, 1, hint, now, thing };
	where[thing] = i;
	unic_policy_add(&c, i);
	return false;
}

static void fill(void)
{
	uint16_t i;

	for (i = 0; i < ITEMS; i++)
		assert_false(use(i, 0));
}

static void lru_takes_the_longest_unused(void **state)
{
	uint16_t i;

	(void)state;
	begin(UNIC_POLICY_LRU);
	fill();
	for (i = 0; i < ITEMS; i++)
		if (i != 3)
			assert_true(use(i, 0));
	/* found within a few choices: the order is kept lazily */
	for (i = 20; i < 24 && where[3] != NOT_THERE; i++)
		use(i, 0);
	assert_int_equal(where[3], NOT_THERE);
}

static void random_spreads(void **state)
{
	uint32_t hit[ITEMS] = { 0 }, i;

	(void)state;
	begin(UNIC_POLICY_RANDOM);
	fill();
	for (i = 0; i < 3200; i++)
		hit[victim()]++;
	for (i = 0; i < ITEMS; i++)
		assert_in_range(hit[i], 130, 270); /* 200, 5 deviations */
}

/* Hits in the last of @rounds laps over @n things. */
static uint32_t ring(uint16_t n, uint32_t rounds)
{
	uint32_t hits = 0;
	uint16_t i;

	while (rounds--)
		for (hits = 0, i = 0; i < n; i++)
			hits += use(i, 0);
	return hits;
}

/* P7: most of a ring stays in the table, whether the ring is a bit larger than
 * the table or much larger. */
static void default_keeps_most_of_a_ring(void **state)
{
	(void)state;
	begin(UNIC_POLICY_LRU);
	assert_int_equal(ring(ITEMS + 4, 30), 0);
	begin(UNIC_POLICY_DEFAULT);
	assert_true(ring(ITEMS + 4, 30) >= ITEMS - 3);
	begin(UNIC_POLICY_DEFAULT);
	assert_true(ring(3 * ITEMS, 30) >= ITEMS - 3);
}

static void default_keeps_hot_things_under_a_scan(void **state)
{
	uint32_t hits = 0, n;
	uint16_t i;

	(void)state;
	begin(UNIC_POLICY_DEFAULT);
	for (n = 0; n < 4000; n++) {
		i = (uint16_t)(n % 8);
		hits += use(i, 0) && n >= 400;
		use((uint16_t)(8 + n % (THINGS - 8)), 0);
	}
	assert_true(hits >= 3600 * 98 / 100);
}

static void default_follows_a_change_of_phase(void **state)
{
	uint32_t n, hits = 0;

	(void)state;
	begin(UNIC_POLICY_DEFAULT);
	for (n = 0; n < 2000; n++)
		use((uint16_t)(n % 12), 0);
	for (n = 0; n < 2000; n++)
		hits += use((uint16_t)(40 + n % 12), 0);
	assert_true(hits >= 1900);
}

static bool remembered(uint16_t thing)
{
	const struct unic_ghost *g = &ghost[(id_of(thing) & 7u) * 4u];
	uint32_t i;

	for (i = 0; i < 4; i++)
		if (g[i].tag == (uint16_t)(id_of(thing) >> 16 | 1u))
			return true;
	return false;
}

/* A scan does not displace an item that was used lately from the 32 ghosts (8
 * sets of 4). */
static void a_scan_does_not_make_it_forget(void **state)
{
	uint16_t i, scanned;

	(void)state;
	begin(UNIC_POLICY_DEFAULT);
	for (i = 0; i < 64; i++)
		use(i % 4, 0);
	unic_policy_evicted(&c, where[0], id_of(0), now);
	unic_policy_remove(&c, where[0]);
	for (scanned = 4; scanned < THINGS; scanned++)
		assert_false(use(scanned, 0));
	assert_true(remembered(0));
	now += 1000 * TICK; /* its last use is long ago now */
	for (scanned = 4; scanned < THINGS; scanned++)
		use(scanned, 0);
	assert_false(remembered(0));
}

static void s3fifo_gets_rid_of_what_is_used_once(void **state)
{
	uint16_t i;

	(void)state;
	begin(UNIC_POLICY_S3FIFO);
	fill();
	for (i = 0; i < 4; i++)
		assert_true(use(i, 0) && use(i, 0) && use(i, 0));
	for (i = 16; i < 48; i++)
		use(i, 0);
	for (i = 0; i < 4; i++)
		assert_true(use(i, 0));
}

/* Returns the number of things that come and are used twice before thing 0 is
 * replaced, which was used @uses times in the main list. */
static uint32_t fifo_lasts(uint32_t uses)
{
	uint32_t n;
	uint16_t i;

	begin(UNIC_POLICY_S3FIFO);
	fill();
	for (n = 0; n < 2; n++)
		for (i = 0; i < ITEMS; i++)
			use(i, 0);
	for (i = 16; i < 18; i++) /* all of them are in the main list */
		use(i, 0);
	while (uses--)
		use(0, 0);
	for (n = 0; n < 1000 && where[0] != NOT_THERE; n++) {
		i = (uint16_t)(20 + n % 40);
		use(i, 0);
		use(i, 0);
		use(i, 0);
	}
	return n;
}

/* Each use in the main list keeps an item for one lap more, at most three. */
static void s3fifo_counts_to_three(void **state)
{
	uint32_t three = fifo_lasts(3);

	(void)state;
	assert_true(fifo_lasts(2) < three);
	assert_true(three < 1000);
	assert_int_equal(fifo_lasts(4), three);
	assert_int_equal(fifo_lasts(9), three);
}

/* ----------------------------------------------------------- `lfu` */

/* Of each number of uses, right after them, half a life later and lives later. */
static void frequency_halves(void **state)
{
	const uint32_t life = 1u << 20;
	uint16_t f;
	uint32_t n;

	(void)state;
	assert_int_equal(unic_frequency_now(0, 0), 0);
	/* more than there is a number for, at once and in two steps */
	f = unic_frequency_add(0, 0, UINT32_MAX);
	assert_int_equal(unic_frequency_add(0, 0, (1u << 20) + 1), f);
	assert_int_equal(unic_frequency_add(unic_frequency_add(0, 0, 1u << 19),
					    0, 1u << 20),
			 f);
	for (n = 1; n < 1u << 16; n = n * 3 / 2 + 1) {
		int32_t lg = unic_lg(1 + n), now_lg;

		f = unic_frequency_add(0, 5, n);
		now_lg = unic_frequency_now(f, 0);
		assert_in_range(now_lg, lg - 1, lg + 1);
		assert_in_range(unic_frequency_now(f, life / 2),
				now_lg > 33 ? now_lg - 33 : 0,
				now_lg > 31 ? now_lg - 31 : 0);
		assert_int_equal(unic_frequency_now(f, UINT32_MAX), 0);
		/* the same again, and after a life */
		assert_in_range(unic_frequency_now(unic_frequency_add(f, 0, n),
						   0),
				unic_lg(1 + 2 * n) - 2, unic_lg(1 + 2 * n) + 2);
		assert_in_range(
			unic_frequency_now(unic_frequency_add(f, life, n), 0),
			unic_lg(1 + 3 * n) - UNIC_LG_ONE - 4,
			unic_lg(1 + 3 * n) - UNIC_LG_ONE + 4);
	}
	/* one at a time */
	for (f = 0, n = 1; n <= 500; n++) {
		f = unic_frequency_add(f, 0, 1);
		assert_in_range(unic_frequency_now(f, 0), unic_lg(1 + n) - 8,
				unic_lg(1 + n) + 8);
	}
	for (n = 0; n < 100; n++)
		f = unic_frequency_add(f, 0, UINT32_MAX);
	assert_int_equal(unic_frequency_now(f, 0), 20 * UNIC_LG_ONE);
	assert_true(f < UNIC_STRANGER);
}

/* Of a table whose items are used 1 to 16 times, the least used ones go first. */
static void lfu_keeps_what_is_used_most(void **state)
{
	uint16_t i, k, used;

	(void)state;
	begin(UNIC_POLICY_LFU);
	fill();
	for (used = 0; used < 16; used++)
		for (i = used; i < ITEMS; i++)
			for (k = 0; k < 4; k++)
				use(i, 0);
	for (k = 0; k < ITEMS; k++)
		meet(ITEMS);
	for (i = 0; i < ITEMS; i++) {
		assert_int_equal(seen[take_back()].thing, i);
		meet(ITEMS);
	}
}

/* What was used often goes before what is used now. */
static void lfu_forgets(void **state)
{
	uint16_t i, k;

	(void)state;
	begin(UNIC_POLICY_LFU);
	fill();
	for (k = 0; k < 200; k++)
		use(0, 0);
	for (k = 0; k < ITEMS; k++)
		meet(ITEMS);
	now += 12ull << 30; /* a dozen half-lives */
	for (k = 0; k < 3; k++)
		for (i = 1; i < ITEMS; i++)
			use(i, 0);
	for (k = 0; k < ITEMS; k++)
		meet(ITEMS);
	assert_int_equal(seen[take_back()].thing, 0);
}

/* An item that returns has the uses from before: a scan does not replace it. */
static void lfu_remembers_who_returns(void **state)
{
	uint16_t k, scanned;

	(void)state;
	begin(UNIC_POLICY_LFU);
	fill();
	for (k = 0; k < 100; k++)
		use(0, 0);
	for (k = 0; k < ITEMS; k++)
		meet(ITEMS);
	unic_policy_evicted(&c, where[0], id_of(0), now);
	unic_policy_remove(&c, where[0]);
	seen[where[0]] = (struct seen){ now, 0, 1, 0, now, 0 };
	unic_policy_add(&c, where[0]);
	for (scanned = ITEMS; scanned < THINGS; scanned++)
		assert_false(use(scanned, 0));
	assert_true(use(0, 0));
}

/* What another policy remembers of an item means nothing to `lfu`, and the other way
 * round. */
static void ghosts_are_of_their_policy(void **state)
{
	static const uint8_t kinds[] = { UNIC_POLICY_DEFAULT, UNIC_POLICY_LFU };
	uint32_t k, n;

	(void)state;
	for (k = 0; k < 2; k++) {
		begin(kinds[k]);
		fill();
		for (n = 0; n < 8; n++) {
			now += 100000 * TICK; /* 100 ms */
			use(0, 0);
			meet(ITEMS);
		}
		unic_policy_evicted(&c, where[0], id_of(0), now);
		unic_policy_remove(&c, where[0]);
		assert_true(remembered(0));
		unic_policy_set(&c, kinds[!k]);
		now += TICK;
		seen[where[0]] = (struct seen){ now, 0, 1, 0, now, 0 };
		unic_policy_add(&c, where[0]);
		for (n = 0; n < 4; n++)
			meet(ITEMS);
		assert_int_equal(item[where[0]].habit, 0);
		assert_true(remembered(0));
	}
}

/* An item with a high importance goes to the main list at once, even if it is
 * unknown. */
static void app_lets_in_what_matters(void **state)
{
	(void)state;
	begin(UNIC_POLICY_APP);
	use(0, 200);
	use(1, 0);
	meet(2);
	assert_int_equal(item[where[0]].main, 1);
	assert_int_equal(item[where[1]].main, 0);
	begin(UNIC_POLICY_DEFAULT);
	use(0, 200);
	meet(1);
	assert_int_equal(item[where[0]].main, 0);
}

/* Items of low importance are replaced first, however much they are used. */
static void app_heeds_importance(void **state)
{
	uint32_t n, gone = 0;
	uint16_t i;

	(void)state;
	begin(UNIC_POLICY_APP);
	for (i = 0; i < ITEMS; i++)
		use(i, i < 8 ? 200 : 1);
	for (n = 0; n < 200; n++)
		use((uint16_t)(16 + n % 20), 1);
	for (i = 0; i < 8; i++)
		gone += where[i] == NOT_THERE;
	assert_int_equal(gone, 0);
}

/* An unknown newcomer is replaced if it is less important than the victim. */
static void app_does_not_spare_newcomers(void **state)
{
	uint16_t i;

	(void)state;
	begin(UNIC_POLICY_APP);
	for (i = 0; i < ITEMS; i++)
		use(i, 200);
	for (i = 0; i < 2 * ITEMS; i++) /* all things are known */
		use(i % ITEMS, 200);
	use(ITEMS, 1); /* replaces another item */
	use(ITEMS + 1, 200);
	assert_int_equal(where[ITEMS], NOT_THERE);
}

/* The importance of an item can change at any time, and the next choice follows it:
 * of an item that stands in the main list, is a candidate, or was not met yet. */
static void app_follows_a_change(void **state)
{
	uint16_t i, k, at;

	(void)state;
	for (i = 0; i < ITEMS; i++) {
		begin(UNIC_POLICY_APP);
		for (k = 0; k < ITEMS; k++)
			use(k, 100);
		meet(ITEMS / 2 + 1); /* the others are strangers */
		at = where[i];
		seen[at].hint = 1;
		unic_policy_rehint(&c, at, now);
		assert_int_equal(victim(), at);
		meet(ITEMS);
		assert_int_equal(victim(), at);
		/* and back, above all others */
		seen[at].hint = 255;
		unic_policy_rehint(&c, at, now);
		for (k = 0; k < ITEMS - 1; k++)
			assert_int_not_equal(take_back(), at);
		assert_int_equal(take_back(), at);
	}
}

/* A newcomer that was used once enters the main list with its first importance. */
static void app_lets_in_what_begins_to_matter(void **state)
{
	(void)state;
	begin(UNIC_POLICY_APP);
	use(0, 0);
	meet(1);
	assert_int_equal(item[where[0]].main, 0);
	seen[where[0]].hint = 7;
	unic_policy_rehint(&c, where[0], now);
	assert_int_equal(item[where[0]].main, 1);
	assert_int_equal(victim(), where[0]);
	/* other policies heed none */
	begin(UNIC_POLICY_DEFAULT);
	use(0, 0);
	meet(1);
	seen[where[0]].hint = 7;
	unic_policy_rehint(&c, where[0], now);
	assert_int_equal(item[where[0]].main, 0);
}

/* For a request of 64 entries, items of 64 entries are chosen before items of
 * one. */
static void larger_items_give_more(void **state)
{
	uint32_t n, odd, large;
	uint16_t i;

	(void)state;
	for (odd = 0; odd < 2; odd++) { /* for odd items and for even ones */
		begin(UNIC_POLICY_DEFAULT);
		for (n = 0; n < 40; n++)
			for (i = 0; i < ITEMS + 4; i++)
				use(i, 0);
		for (i = 0; i < ITEMS; i++)
			seen[i].entries = i % 2 == odd ? 64 : 1;
		for (n = 0; n < 8; n++) {
			unic_policy_victim(&c, UINT64_MAX, 64);
			unic_policy_look(&c, now);
		}
		for (n = large = 0; n < 4; n++) {
			i = unic_policy_victim(&c, UINT64_MAX, 64);
			large += seen[i].entries == 64;
			unic_policy_remove(&c, i);
			unic_policy_look(&c, now);
		}
		assert_int_equal(large, 4);
	}
}

static void young_items_are_spared(void **state)
{
	static const uint8_t kinds[] = {
		UNIC_POLICY_DEFAULT, UNIC_POLICY_RANDOM, UNIC_POLICY_LRU,
		UNIC_POLICY_S3FIFO,  UNIC_POLICY_APP,	 UNIC_POLICY_LFU
	};
	uint32_t k;
	uint16_t i;

	(void)state;
	for (k = 0; k < sizeof(kinds); k++) {
		begin(kinds[k]);
		fill();
		assert_int_equal(unic_policy_victim(&c, 0, 1), UNIC_ITEM_NIL);
		for (i = 0; i < 20; i++)
			use((uint16_t)(20 + i), 0);
		assert_int_equal(unic_policy_victim(&c, 0, 1), UNIC_ITEM_NIL);
		/* @young_ns itself is old enough */
		assert_in_range(unic_policy_victim(&c, now, 1), 0, ITEMS - 1);
	}
}

/* Changes of the policy lose no item, and each item is chosen once. */
static void policies_change_at_any_time(void **state)
{
	uint32_t n, k, chosen = 0;
	uint16_t i;

	(void)state;
	begin(UNIC_POLICY_DEFAULT);
	for (n = 0; n < 5000; n++) {
		use((uint16_t)(unic_policy_random(&written.rng) % THINGS), 0);
		if (n % 37 == 0)
			unic_policy_set(&c, n / 37 % UNIC_POLICIES);
		assert_int_equal(c.count[0] + c.count[1], held);
	}
	for (k = 0; k < ITEMS; k++) {
		i = victim();
		assert_in_range(i, 0, ITEMS - 1);
		assert_false(chosen >> i & 1);
		chosen |= 1u << i;
		unic_policy_remove(&c, i);
		unic_policy_look(&c, now);
	}
	assert_int_equal(victim(), UNIC_ITEM_NIL);
	unic_policy_look(&c, now);
	assert_int_equal(unic_policy_stranger(&c), UNIC_ITEM_NIL);
}

/* ----------------------------------------------------------- learning */

static void lg_is_a_logarithm(void **state)
{
	uint32_t x;

	(void)state;
	assert_int_equal(unic_lg(0), 0);
	assert_int_equal(unic_lg(1), 0);
	assert_int_equal(unic_lg(2), UNIC_LG_ONE);
	assert_int_equal(unic_lg(3), UNIC_LG_ONE * 3 / 2);
	assert_int_equal(unic_lg(UINT32_MAX), 32 * UNIC_LG_ONE - 1);
	for (x = 1; x < 1u << 20; x = x * 9 / 8 + 1)
		assert_true(unic_lg(x + 1) >= unic_lg(x));
}

static void habits_are_means(void **state)
{
	uint16_t h = 0;
	uint32_t i;

	(void)state;
	h = unic_interval_add(h, 1000, 1);
	assert_int_equal(unic_interval_known(h), 1);
	assert_int_equal(unic_interval_mean(h), unic_lg(1000));
	h = unic_interval_add(h, 3000, 1);
	assert_int_equal(unic_interval_known(h), 2);
	assert_in_range(unic_interval_mean(h), unic_lg(1980), unic_lg(2000));
	for (i = 0; i < 200; i++)
		h = unic_interval_add(h, 500, 1);
	assert_int_equal(unic_interval_known(h), UNIC_INTERVAL_MANY);
	assert_in_range(unic_interval_mean(h), unic_lg(480), unic_lg(520));
	/* UNIC_INTERVAL_MANY at once replace the history */
	h = unic_interval_add(h, 100000, 100);
	assert_int_equal(unic_interval_mean(h), unic_lg(1000));
	for (i = 0; i < 20; i++)
		h = unic_interval_add(h, UINT32_MAX, 1);
	assert_true(h < UNIC_STRANGER);
}

static void steps(struct unic_reuse *l)
{
	uint32_t i;

	for (i = 0; i < UNIC_REUSE_CLASSES * UNIC_REUSE_BINS; i++)
		unic_reuse_step(l);
}

/* In a ring, the item used longest ago is used next: its benefit is larger. */
static void a_ring_is_worth_more_with_age(void **state)
{
	uint16_t h = unic_interval_add(0, 3000, 3);
	struct unic_reuse l;
	uint32_t i;

	(void)state;
	unic_reuse_init(&l);
	for (i = 0; i < 100; i++)
		unic_reuse_hit(&l, h, 1000);
	steps(&l);
	assert_true(unic_reuse_benefit(&l, h, 900) >
		    unic_reuse_benefit(&l, h, 100));
	assert_true(unic_reuse_benefit(&l, h, 100) >
		    unic_reuse_benefit(&l, h, 4000));
}

/* Items that were never used again have no benefit; after some short intervals
 * the benefit is high for young items only. */
static void what_never_returns_is_worth_nothing(void **state)
{
	struct unic_reuse l;
	uint32_t i;

	(void)state;
	unic_reuse_init(&l);
	assert_true(unic_reuse_benefit(&l, 0, 10) >
		    unic_reuse_benefit(&l, 0, 99));
	for (i = 0; i < 100; i++)
		unic_reuse_end(&l, 0, 100000);
	steps(&l);
	assert_int_equal(unic_reuse_benefit(&l, 0, 1), UNIC_BENEFIT_NONE);
	for (i = 0; i < 25; i++)
		unic_reuse_hit(&l, 0, 20);
	steps(&l);
	assert_true(unic_reuse_benefit(&l, 0, 10) >
		    unic_reuse_benefit(&l, 0, 40));
	assert_true(unic_reuse_benefit(&l, 0, 10) >
		    unic_reuse_benefit(&l, 0, 5000) + 6 * UNIC_LG_ONE);
}

/* Beyond the longest counted interval the benefit fades and then ends; an
 * interval that ended without a use lowers it at once. */
static void a_habit_fades(void **state)
{
	uint16_t h = unic_interval_add(0, 8000, 8);
	struct unic_reuse l, ended;
	uint32_t i;

	(void)state;
	unic_reuse_init(&l);
	for (i = 0; i < 100; i++)
		unic_reuse_hit(&l, h, 500 + i * 10);
	ended = l;
	unic_reuse_end(&ended, h, 15000);
	steps(&l);
	steps(&ended);
	assert_true(unic_reuse_benefit(&l, h, 1000) >
		    unic_reuse_benefit(&l, h, 8000));
	assert_true(unic_reuse_benefit(&l, h, 8000) >
		    unic_reuse_benefit(&l, h, 30000));
	assert_true(unic_reuse_benefit(&l, h, 30000) >
		    unic_reuse_benefit(&l, h, 1000) - 4 * UNIC_LG_ONE);
	assert_true(unic_reuse_benefit(&l, h, 40000) <= UNIC_BENEFIT_NONE);
	assert_true(unic_reuse_benefit(&ended, h, 8000) <
		    unic_reuse_benefit(&l, h, 8000));
	assert_true(unic_interval_lasts(h, 30000));
	assert_false(unic_interval_lasts(h, 40000));
	assert_false(unic_interval_lasts(0, 1));
}

/* The benefit is a rate: an item that is used after each interval is worth one
 * use per interval, to the width of a bin. */
static void worth_is_a_rate(void **state)
{
	static const struct {
		uint32_t mean, n, age;
	} known[] = {
		{ 0, 100, 2 }, /* by the age itself */
		{ 0, 100, 1000 },
		{ 0, 200, 1u << 23 }, /* a sum of more than 32 bits */
		{ 3000, 100, 1500 },  /* by multiples of a mean */
		{ 3000, 100, 9000 },
	};
	struct unic_reuse l;
	uint32_t k, i;
	uint16_t h;

	(void)state;
	for (k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		h = known[k].mean ? unic_interval_add(0, known[k].mean, 1) : 0;
		unic_reuse_init(&l);
		for (i = 0; i < known[k].n; i++)
			unic_reuse_hit(&l, h, known[k].age);
		steps(&l);
		assert_in_range(-unic_reuse_benefit(&l, h, 1),
				unic_lg(known[k].age) - UNIC_LG_ONE / 2,
				unic_lg(known[k].age) + UNIC_LG_ONE * 3 / 4);
	}
}

static void counts_do_not_wrap(void **state)
{
	struct unic_reuse l;
	uint32_t i;

	(void)state;
	unic_reuse_init(&l);
	for (i = 0; i < 100000; i++)
		unic_reuse_hit(&l, 0, 20 + i % 3 * 1000);
	assert_in_range(l.total[0], 100, 256);
	steps(&l);
	assert_true(unic_reuse_benefit(&l, 0, 10) > UNIC_BENEFIT_NONE);
}

/* --------------------------------------------------------------- pain */

static void pain_halves_in_its_half_life(void **state)
{
	(void)state;
	assert_int_equal(unic_policy_pain(1000, 0, 0, 0, 1), 1000);
	assert_int_equal(unic_policy_pain(1000, 0, HALF_LIFE, 0, 1), 500);
	assert_int_equal(unic_policy_pain(1000, 7, 7 + 2 * HALF_LIFE, 0, 1),
			 250);
	assert_int_equal(unic_policy_pain(1000, 5 * HALF_LIFE, 7 * HALF_LIFE, 0,
					  1),
			 250);
	assert_int_equal(unic_policy_pain(1000, 0, HALF_LIFE / 2, 0, 1), 750);
	assert_int_equal(unic_policy_pain(UINT32_MAX, 0, 31 * HALF_LIFE, 0, 1),
			 1);
	assert_int_equal(unic_policy_pain(UINT32_MAX, 0, 32 * HALF_LIFE, 0, 1),
			 0);
	assert_int_equal(unic_policy_pain(UINT32_MAX, 0, UINT64_MAX, 0, 1), 0);
}

static void pain_is_per_entry_and_saturates(void **state)
{
	(void)state;
	assert_int_equal(unic_policy_pain(0, 0, 0, 4096, 8), 512);
	assert_int_equal(unic_policy_pain(0, 0, 0, 4096, 0), 0);
	assert_int_equal(unic_policy_pain(UINT32_MAX, 0, 0, 4096, 1),
			 UINT32_MAX);
}

static void pain_never_rises_without_use(void **state)
{
	uint32_t last = 1000000, pain;
	uint64_t t;

	(void)state;
	for (t = 0; t < 4 * HALF_LIFE; t += HALF_LIFE / 37) {
		pain = unic_policy_pain(1000000, 0, t, 0, 1);
		assert_true(pain <= last);
		last = pain;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lru_takes_the_longest_unused),
		cmocka_unit_test(random_spreads),
		cmocka_unit_test(default_keeps_most_of_a_ring),
		cmocka_unit_test(default_keeps_hot_things_under_a_scan),
		cmocka_unit_test(default_follows_a_change_of_phase),
		cmocka_unit_test(a_scan_does_not_make_it_forget),
		cmocka_unit_test(s3fifo_gets_rid_of_what_is_used_once),
		cmocka_unit_test(s3fifo_counts_to_three),
		cmocka_unit_test(frequency_halves),
		cmocka_unit_test(lfu_keeps_what_is_used_most),
		cmocka_unit_test(lfu_forgets),
		cmocka_unit_test(lfu_remembers_who_returns),
		cmocka_unit_test(ghosts_are_of_their_policy),
		cmocka_unit_test(app_lets_in_what_matters),
		cmocka_unit_test(app_heeds_importance),
		cmocka_unit_test(app_does_not_spare_newcomers),
		cmocka_unit_test(app_follows_a_change),
		cmocka_unit_test(app_lets_in_what_begins_to_matter),
		cmocka_unit_test(larger_items_give_more),
		cmocka_unit_test(young_items_are_spared),
		cmocka_unit_test(policies_change_at_any_time),
		cmocka_unit_test(lg_is_a_logarithm),
		cmocka_unit_test(habits_are_means),
		cmocka_unit_test(a_ring_is_worth_more_with_age),
		cmocka_unit_test(what_never_returns_is_worth_nothing),
		cmocka_unit_test(a_habit_fades),
		cmocka_unit_test(worth_is_a_rate),
		cmocka_unit_test(counts_do_not_wrap),
		cmocka_unit_test(pain_halves_in_its_half_life),
		cmocka_unit_test(pain_is_per_entry_and_saturates),
		cmocka_unit_test(pain_never_rises_without_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
