/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_set.c - bit sets and tournaments of more processes than this board has:
 * two levels of words, and a number that is no power of two.
 */
#include "board.h"

#undef UNIC_PROCS
#define UNIC_PROCS 777u

#include "base/bitset.h"
#include "base/tournament.h"
#include "unit.h"

#define STEPS 30000u

static struct unic_bitset set;
static struct unic_tournament top;
static bool member[UNIC_PROCS];
static uint32_t key[UNIC_PROCS];
static uint64_t rng = 1;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static int setup(void **state)
{
	(void)state;
	memset(&set, 0, sizeof(set));
	memset(member, 0, sizeof(member));
	unic_tournament_init(&top);
	return 0;
}

/* The least member from @i on. */
static uint32_t next(uint32_t i)
{
	while (i < UNIC_PROCS && !member[i])
		i++;
	return i;
}

static uint32_t last(void)
{
	uint32_t i = UNIC_PROCS;

	while (!member[--i])
		;
	return i;
}

static void members_are_found(void **state)
{
	uint32_t step, i;

	(void)state;
	for (step = 0; step < STEPS; step++) {
		i = rnd(UNIC_PROCS);
		member[i] = !rnd(step / 1024 % 2 ? 2 : 20); /* dense, sparse */
		if (member[i])
			unic_bitset_add(&set, i);
		else
			unic_bitset_del(&set, i);
		i = rnd(UNIC_PROCS + 1);
		assert_int_equal(unic_bitset_next(&set, i), next(i));
		if (i < UNIC_PROCS)
			assert_int_equal(unic_bitset_has(&set, i), member[i]);
		assert_int_equal(unic_bitset_any(&set), next(0) < UNIC_PROCS);
		if (!unic_bitset_any(&set))
			continue;
		assert_int_equal(unic_bitset_first(&set), next(0));
		assert_int_equal(unic_bitset_last(&set), last());
	}
}

static void each_is_met_once_though_it_goes(void **state)
{
	uint32_t i, n = 0;

	(void)state;
	for (i = 0; i < UNIC_PROCS; i += 31)
		unic_bitset_add(&set, i);
	UNIC_BITSET_EACH(i, &set)
	{
		assert_int_equal(i, 31 * n++);
		unic_bitset_del(&set, i);
	}
	assert_int_equal(n, (UNIC_PROCS + 30) / 31);
	assert_false(unic_bitset_any(&set));
}

static bool takes_part(const void *in, uint32_t p)
{
	return ((const bool *)in)[p];
}

static bool less(const void *in, uint32_t a, uint32_t b)
{
	(void)in;
	return key[a] != key[b] ? key[a] < key[b] : a < b;
}

static uint32_t least(void)
{
	uint32_t i, best = UNIC_TOURNAMENT_NIL;

	for (i = 0; i < UNIC_PROCS; i++)
		if (member[i] &&
		    (best == UNIC_TOURNAMENT_NIL || less(NULL, i, best)))
			best = i;
	return best;
}

/* Several members change, and then each is played: the first is the least. */
static void first_is_the_least(void **state)
{
	uint32_t step, i, k, changed[3];

	(void)state;
	for (step = 0; step < STEPS / 4; step++) {
		for (k = 0; k < 3; k++) {
			i = changed[k] = rnd(UNIC_PROCS);
			key[i] = rnd(50);
			member[i] = rnd(step / 512 % 2 ? 2 : 40);
			if (step / 512 % 3 == 2)
				member[i] = false;
		}
		for (k = 0; k < 3; k++)
			unic_tournament_play(&top, changed[k], member,
					     takes_part, less);
		assert_int_equal(unic_tournament_first(&top, member,
						       takes_part),
				 least());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(members_are_found, setup),
		cmocka_unit_test_setup(each_is_met_once_though_it_goes, setup),
		cmocka_unit_test_setup(first_is_the_least, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
