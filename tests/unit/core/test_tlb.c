/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_tlb.c - the pool of translation entries. */
#include "memory/tlb.h"
#include "unit.h"

#define BASE UNIC_TLB_BASE

static struct unic_tlb tlb;

static int setup(void **state)
{
	(void)state;
	unic_tlb_init(&tlb);
	return 0;
}

static void reserve_is_all_or_nothing(void **state)
{
	(void)state;
	assert_true(unic_tlb_reserve(&tlb, UNIC_TLB_ENTRIES - 1));
	assert_false(unic_tlb_reserve(&tlb, 2));
	assert_int_equal(tlb.free, 1);
	assert_int_equal(tlb.reserved, UNIC_TLB_ENTRIES - 1);
	assert_true(unic_tlb_reserve(&tlb, 1));
	assert_false(unic_tlb_reserve(&tlb, 1));
	assert_true(unic_tlb_reserve(&tlb, 0));
	unic_tlb_unreserve(&tlb, UNIC_TLB_ENTRIES);
	assert_int_equal(tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(tlb.reserved, 0);
}

static void fill_find_invalidate(void **state)
{
	uint32_t i;

	(void)state;
	assert_int_equal(unic_tlb_find(&tlb, BASE(1, 5), 0), UNIC_TLB_NIL);
	assert_true(unic_tlb_reserve(&tlb, 1));
	unic_tlb_fill(&tlb, BASE(1, 5), 3, 0x1234000);
	assert_int_equal(tlb.reserved, 0);
	i = unic_tlb_find(&tlb, BASE(1, 5), 3);
	assert_int_not_equal(i, UNIC_TLB_NIL);
	assert_true(tlb.entry[i].bus == 0x1234000);
	assert_int_equal(unic_tlb_find(&tlb, BASE(1, 5), 4), UNIC_TLB_NIL);
	assert_int_equal(unic_tlb_find(&tlb, BASE(2, 5), 3), UNIC_TLB_NIL);
	assert_false(unic_tlb_invalidate(&tlb, BASE(2, 5), 3));
	assert_true(unic_tlb_invalidate(&tlb, BASE(1, 5), 3));
	assert_false(unic_tlb_invalidate(&tlb, BASE(1, 5), 3));
	assert_int_equal(unic_tlb_find(&tlb, BASE(1, 5), 3), UNIC_TLB_NIL);
	assert_int_equal(tlb.free, UNIC_TLB_ENTRIES);
}

/* Same bucket base for all: every page number collides with all regions. */
static void chains_of_colliding_regions(void **state)
{
	const uint32_t regions = 8, pages = UNIC_TLB_ENTRIES / 8;
	uint32_t r, p, i;

	(void)state;
	assert_true(unic_tlb_reserve(&tlb, UNIC_TLB_ENTRIES));
	for (r = 0; r < regions; r++)
		for (p = 0; p < pages; p++)
			unic_tlb_fill(&tlb, BASE(r, 77), p,
				      (uint64_t)r << 32 | p << 12);
	/* take out every other region, from the middle of the chains */
	for (r = 1; r < regions; r += 2)
		for (p = 0; p < pages; p++)
			assert_true(unic_tlb_invalidate(&tlb, BASE(r, 77), p));
	for (r = 0; r < regions; r++)
		for (p = 0; p < pages; p++) {
			i = unic_tlb_find(&tlb, BASE(r, 77), p);
			assert_int_equal(i == UNIC_TLB_NIL, r & 1);
			if (!(r & 1))
				assert_true(tlb.entry[i].bus ==
					    ((uint64_t)r << 32 | p << 12));
		}
	assert_int_equal(tlb.free, UNIC_TLB_ENTRIES / 2);
}

/* Regions beside each other, and the largest pages and bases there can be. */
static void tags_do_not_meet(void **state)
{
	const uint32_t last = BASE(1, ~0u) + 0xffff;

	(void)state;
	assert_int_equal(BASE(1, ~0u) >> 20, 1);
	assert_true(last < BASE(2, 0));
	assert_true(BASE(4095, ~0u) + 0xffff < UNIC_TLB_NO_TAG);
}

/* A run whose buckets wrap past the end of the table. */
static void run_wraps_and_ors_addresses(void **state)
{
	const uint32_t n = UNIC_TLB_ENTRIES;
	const uint32_t base = BASE(9, UNIC_TLB_BUCKETS - n / 2);
	uint64_t bus[UNIC_TLB_ENTRIES];
	uint32_t i, at;

	(void)state;
	for (i = 0; i < n; i++)
		bus[i] = UINT64_C(0x3000000000000) + i * 4096ull;
	bus[n / 2] += 0x20;
	assert_true(unic_tlb_reserve(&tlb, n));
	assert_int_equal(unic_tlb_fill_run(&tlb, base, 0, n, bus) & 0xfff,
			 0x20);
	for (i = 0; i < n; i++) {
		at = unic_tlb_find(&tlb, base, i);
		assert_int_not_equal(at, UNIC_TLB_NIL);
		assert_true(tlb.entry[at].bus == bus[i]);
	}
	assert_int_equal(tlb.free + tlb.reserved, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reserve_is_all_or_nothing, setup),
		cmocka_unit_test_setup(fill_find_invalidate, setup),
		cmocka_unit_test_setup(chains_of_colliding_regions, setup),
		cmocka_unit_test_setup(tags_do_not_meet, setup),
		cmocka_unit_test_setup(run_wraps_and_ors_addresses, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
