/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_policy.c - victim policies and pain. */
#include "policy.h"
#include "unit.h"

#define HALF_LIFE  (1ull << 27)
#define CANDIDATES 5u
#define ROUNDS	   20000u

static void lru_takes_the_longest_unused(void **state)
{
	struct unic_policy_stat a = { .last_use_ns = 5 };
	struct unic_policy_stat b = { .last_use_ns = 6, .uses = 99 };
	uint64_t rng = 1;

	(void)state;
	assert_true(unic_policy_better(UNIC_POLICY_LRU, &a, &b, &rng));
	assert_false(unic_policy_better(UNIC_POLICY_LRU, &b, &a, &rng));
	assert_true(unic_policy_better(UNIC_POLICY_DEFAULT, &a, &b, &rng));
	assert_true(rng == 1);
}

static void random_is_uniform(void **state)
{
	struct unic_policy_stat c[CANDIDATES];
	uint32_t hits[CANDIDATES] = { 0 }, round, i, best;
	uint64_t rng = 42;

	(void)state;
	for (i = 0; i < CANDIDATES; i++)
		c[i] = (struct unic_policy_stat){ .last_use_ns = i,
						  .nth = i + 1 };
	for (round = 0; round < ROUNDS; round++) {
		best = 0;
		for (i = 1; i < CANDIDATES; i++)
			if (unic_policy_better(UNIC_POLICY_RANDOM, &c[i],
					       &c[best], &rng))
				best = i;
		hits[best]++;
	}
	for (i = 0; i < CANDIDATES; i++) {
		assert_true(hits[i] > ROUNDS / CANDIDATES * 9 / 10);
		assert_true(hits[i] < ROUNDS / CANDIDATES * 11 / 10);
	}
}

static void pain_halves_in_its_half_life(void **state)
{
	(void)state;
	assert_int_equal(unic_policy_pain(1000, 0, 0, 0, 1), 1000);
	assert_int_equal(unic_policy_pain(1000, 0, HALF_LIFE, 0, 1), 500);
	assert_int_equal(unic_policy_pain(1000, 7, 7 + 2 * HALF_LIFE, 0, 1),
			 250);
	assert_int_equal(unic_policy_pain(1000, 0, HALF_LIFE / 2, 0, 1), 750);
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
		cmocka_unit_test(random_is_uniform),
		cmocka_unit_test(pain_halves_in_its_half_life),
		cmocka_unit_test(pain_is_per_entry_and_saturates),
		cmocka_unit_test(pain_never_rises_without_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
