/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_cached_long.c - messages of many packets from and to regions whose entries come and
 * go: the fast path has them where the entries are on the NIC.
 */
#include "unit.h"

#include "memory/access.h"
#include "memory/cache.h"
#include "pair.h"

#define MS	1000000ull
#define A_FIRST 64u /* pages of the windows behind the cached regions */
#define B_FIRST 80u

static struct rig_mr ca, cb; /* cached */

static uint8_t *page_of(struct rig *r, uint32_t page)
{
	return r->port.window[0] + page * 4096;
}

static void bring_up(uint8_t residency)
{
	uint32_t i;

	pair_up();
	for (i = 0; i < PAIR_PAGES; i++) {
		rig_table(&ra, i, 0, A_FIRST + i);
		rig_table(&rb, i, 0, B_FIRST + i);
	}
	assert_int_equal(rig_reg_cached(&ra, 0, PAIR_PAGES, residency, 0, &ca),
			 0);
	assert_int_equal(rig_reg_cached(&rb, 0, PAIR_PAGES, residency, 0, &cb),
			 0);
	ca.mem = page_of(&ra, A_FIRST);
	cb.mem = page_of(&rb, B_FIRST);
	for (i = 0; i < PAIR_BYTES; i++)
		ca.mem[i] = (uint8_t)(i * 3 + (i >> 8) + 5);
}

static int up_table(void **state)
{
	(void)state;
	bring_up(UNIC_TABLE);
	return 0;
}

static int up_demand(void **state)
{
	(void)state;
	bring_up(UNIC_DEMAND);
	return 0;
}

static int down(void **state)
{
	(void)state;
	pair_quiet();
	return 0;
}

/* WRITE all bytes of @from to @to. Returns the transfers by DMA that it took. */
static uint32_t write_all(const struct rig_mr *from, const struct rig_mr *to)
{
	uint32_t before = ra.port.calls + rb.port.calls;

	memset(to->mem, 0, PAIR_BYTES);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, from, 0, PAIR_BYTES, to->iova,
		 to->stag);
	pair_run(MS);
	pair_expect(&ra, &qa, 1, 0, PAIR_BYTES);
	assert_memory_equal(to->mem, from->mem, PAIR_BYTES);
	return ra.port.calls + rb.port.calls - before;
}

static uint32_t all_misses(void)
{
	return (uint32_t)(rig_count(&ra, misses) + rig_count(&rb, misses));
}

/* Each packet that does not take the fast path is a transfer at either end. */
static void entries_that_are_here_take_the_fast_path(void **state)
{
	uint32_t resident, misses;

	(void)state;
	write_all(&ma, &mb);
	write_all(&ca, &cb); /* brings the entries */
	misses = all_misses();
	resident = write_all(&ma, &mb);
	assert_int_equal(write_all(&ca, &cb), resident);
	assert_int_equal(write_all(&ma, &cb), resident);
	assert_int_equal(write_all(&ca, &mb), resident);
	assert_int_equal(all_misses(), misses);
}

static void drop(struct rig *r, const struct rig_mr *mr, uint32_t page)
{
	uint32_t done;

	assert_int_equal(rig_pages(r, mr, page, 1, 0, &done), 0);
	assert_int_equal(done, 1);
	assert_false(unic_cache_has(&r->nic.memory, (uint16_t)mr->mr, page));
}

/* The page that its list names now is the one that is read and written. */
static void a_page_is_another_one_meanwhile(void **state)
{
	(void)state;
	write_all(&ca, &cb);
	drop(&ra, &ca, 3);
	drop(&rb, &cb, 5);
	rig_table(&ra, 3, 0, A_FIRST);
	rig_table(&rb, 5, 0, B_FIRST + 1);
	memset(cb.mem, 0, PAIR_BYTES);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ca, 0, PAIR_BYTES, cb.iova,
		 cb.stag);
	pair_run(MS);
	pair_expect(&ra, &qa, 1, 0, PAIR_BYTES);
	assert_memory_equal(cb.mem + 3 * 4096, ca.mem, 4096);
	assert_memory_equal(cb.mem + 4096, ca.mem + 5 * 4096, 4096);
	assert_int_equal(cb.mem[5 * 4096] | cb.mem[6 * 4096 - 1], 0);
	assert_memory_equal(cb.mem + 6 * 4096, ca.mem + 6 * 4096, 2 * 4096);
}

/* Pages 1 and 3 of the source change places: a packet over two pages is not in one piece. */
static void packets_lie_over_two_pages(void **state)
{
	static const uint32_t place[PAIR_PAGES] = { 0, 3, 2, 1, 4, 5, 6, 7 };
	uint32_t i, from = 100, to = PAIR_BYTES - 100;

	(void)state;
	for (i = 0; i < PAIR_PAGES; i++)
		rig_table(&ra, i, 0, A_FIRST + place[i]);
	for (i = 0; i < 2; i++) { /* the first brings the entries */
		memset(cb.mem, 0, PAIR_BYTES);
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ca, from, to - from,
			 cb.iova + from, cb.stag);
		pair_run(MS);
		pair_expect(&ra, &qa, i, 0, to - from);
	}
	assert_int_equal(cb.mem[from - 1] | cb.mem[to], 0);
	for (i = from; i < to; i++)
		assert_int_equal(cb.mem[i],
				 ca.mem[place[i / 4096] * 4096 + i % 4096]);
}

/* Six packets each, the last with padding, from any PSN on. */
static void lengths_are_odd(void **state)
{
	const uint32_t len = 5 * 4096 + 1;
	uint32_t i;

	(void)state;
	for (i = 0; i < 32; i++) {
		memset(cb.mem, 0, PAIR_BYTES);
		ca.mem[len - 1] = (uint8_t)(i + 1);
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ca, 0, len, cb.iova,
			 cb.stag);
		pair_run(MS);
		pair_expect(&ra, &qa, i, 0, len);
		assert_memory_equal(cb.mem, ca.mem, len);
		assert_int_equal(cb.mem[len], 0);
	}
}

static void serve(struct rig *r, const struct rig_mr *mr, uint32_t first_page)
{
	struct unic_evt_miss evt;
	uint32_t first, count, done;

	while (rig_event(r, &evt)) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_MISS);
		first = unic_from_le32(evt.first);
		count = unic_from_le32(evt.count);
		assert_int_equal(rig_fault(r, mr, first, count,
					   unic_from_le32(evt.seq), 0,
					   first_page + first, &done),
				 0);
	}
}

static void run_served(void)
{
	uint32_t i;

	for (i = 0; i < 100; i++) {
		pair_run(20000);
		serve(&ra, &ca, A_FIRST);
		serve(&rb, &cb, B_FIRST);
	}
}

/* Nothing is asked for that is here, and the message waits for what is not. */
static void a_page_in_the_middle_is_waited_for(void **state)
{
	uint32_t i, misses = 0;

	(void)state;
	for (i = 0; i < 2; i++) {
		misses = all_misses();
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ca, 0, PAIR_BYTES,
			 cb.iova, cb.stag);
		run_served();
		pair_expect(&ra, &qa, i, 0, PAIR_BYTES);
		assert_memory_equal(cb.mem, ca.mem, PAIR_BYTES);
		memset(cb.mem, 0, PAIR_BYTES);
		drop(&ra, &ca, 3);
		drop(&rb, &cb, 5);
	}
	assert_int_equal(all_misses(), misses + 2);
}

/* Entries that the fast path uses are not the first to go. */
static void the_fast_path_is_a_use(void **state)
{
	struct rig_mr other;
	struct unic_xlate at;
	uint32_t i;

	(void)state;
	for (i = 0; i < PAIR_PAGES; i++)
		rig_table(&ra, PAIR_PAGES + i, 0, A_FIRST + i);
	assert_int_equal(rig_reg_cached(&ra, 0, PAIR_PAGES, UNIC_TABLE,
					PAIR_PAGES, &other),
			 0);
	write_all(&ca, &cb);
	for (i = 0; i < 2 * PAIR_PAGES; i++)
		assert_int_equal(unic_access(&ra.nic.memory, other.stag, 0,
					     UNIC_MR_LOCAL_WRITE,
					     other.iova + i % PAIR_PAGES * 4096,
					     4096, &at),
				 0);
	/* the hand passes all of them */
	assert_int_equal(unic_cache_take(&ra.nic.memory, 0, 1), 1);
	write_all(&ca, &cb);
	unic_cache_take(&ra.nic.memory, 0, PAIR_PAGES - 1);
	for (i = 0; i < PAIR_PAGES; i++)
		assert_true(unic_cache_has(&ra.nic.memory, (uint16_t)ca.mr, i));
}

int main(void)
{
#define TEST(f, up) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		TEST(entries_that_are_here_take_the_fast_path, up_table),
		TEST(a_page_is_another_one_meanwhile, up_table),
		TEST(packets_lie_over_two_pages, up_table),
		TEST(lengths_are_odd, up_table),
		TEST(a_page_in_the_middle_is_waited_for, up_demand),
		TEST(the_fast_path_is_a_use, up_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
