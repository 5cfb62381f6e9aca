/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lookup.c - the longest lookups that there can be. Pages of one resident region
 * never meet in a bucket, so there a chain has a page of each region at most. A
 * `demand` or `table` region may be so much larger than the table that many of its
 * own pages meet: there a chain has all entries. tests/bench/lookup.py follows the
 * calls of tlb_called(), in the order of the reports.
 */
#include <stdio.h>

#include "count.h"
#include "memory/tlb.h"
#include "unit.h"

static __attribute__((noipa)) const struct unic_tlb_entry *
tlb_called(const struct unic_tlb *tlb, uint32_t base, uint32_t page)
{
	return unic_tlb_hit(tlb, base, page);
}

/* The name of what the next call is. */
static void say(const char *what, uint32_t entries, uint32_t n)
{
	printf("INSN %s%u %u\n", what, (unsigned int)entries, (unsigned int)n);
}

/* A bucket with @entries entries; the first one put in is the last one found. */
static void chain(uint32_t entries)
{
	static struct unic_tlb tlb;
	const struct unic_tlb_entry *e;
	uint32_t i, n;

	unic_tlb_init(&tlb);
	assert_true(unic_tlb_reserve(&tlb, entries));
	for (i = 0; i < entries; i++)
		unic_tlb_fill(&tlb, 0, i * UNIC_TLB_BUCKETS,
			      (uint64_t)(i + 1) << 12);
	MEASURE(n, e = tlb_called(&tlb, 0, 0));
	assert_non_null(e);
	assert_int_equal(e->bus, 4096);
	say("hit_", entries, n);
	MEASURE(n, e = tlb_called(&tlb, 0, i * UNIC_TLB_BUCKETS));
	assert_null(e);
	say("miss_", entries, n);
}

static void all(void **state)
{
	(void)state;
	count_init();
	MEASURE(empty, );
	chain(1);
	chain(UNIC_MRS < UNIC_TLB_ENTRIES ? UNIC_MRS : UNIC_TLB_ENTRIES);
	chain(UNIC_TLB_ENTRIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
