/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_table.c - translation lists in host memory: what a miss reads and keeps, what
 * of it is believed, and who waits for a read that takes its time.
 */
#include "memory/table.h"
#include "memory/access.h"
#include "memory/fault_answer.h"
#include "rig.h"
#include "transport/dma.h"
#include "unit.h"

#define FIRST 8u /* page of the window behind page 0 of a region */
#define PAGES 20u
#define H_NS  50000000ull

static struct rig a;
static uint32_t pd0, pd1;
static struct rig_mr mr;

static uint64_t bus_of(uint32_t proc, uint32_t page)
{
	return UNIC_BUS(proc, (FIRST + page) * 4096ull);
}

static void set_word(uint32_t page, uint64_t word)
{
	rig_words(&a)[page] = unic_to_le64(word);
}

static int up(void **state)
{
	struct unic_cmd_set_params params = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
	};
	uint32_t i;

	(void)state;
	rig_up(&a, 1);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_SET_PARAMS, &params, NULL), 0);
	rig_attach(&a, 0, 1);
	rig_attach(&a, 1, 1);
	pd0 = rig_pd(&a, 0);
	pd1 = rig_pd(&a, 1);
	for (i = 0; i < PAGES; i++)
		rig_table(&a, i, 0, FIRST + i);
	assert_int_equal(rig_reg_cached(&a, pd0, PAGES, UNIC_TABLE, 0, &mr), 0);
	return 0;
}

/* No read, and no hold of one, is left over. */
static int down(void **state)
{
	uint32_t i;

	(void)state;
	a.port.late_dma = false;
	while (fake_dma_run(&a.port, 64))
		rig_poll(&a);
	rig_poll(&a);
	assert_int_equal(a.nic.tables.under_way, 0);
	assert_int_equal(a.nic.pieces, 0);
	for (i = 0; i < UNIC_MRS; i++)
		assert_int_equal(a.nic.mrs.mr[i].holds, 0);
	return 0;
}

static int touch(uint32_t page, uint32_t pages)
{
	struct unic_xlate p;
	int r = unic_access(&a.nic.memory, mr.stag, (uint16_t)pd0, 0,
			    mr.iova + page * 4096ull, pages * 4096, &p);

	if (!r)
		assert_true(p.bus == bus_of(0, page));
	return r;
}

static bool has(uint32_t page)
{
	return unic_cache_has(&a.nic.memory, (uint16_t)mr.mr, page);
}

/* The pages of the region that are on the NIC, a bit each. */
static uint32_t there(void)
{
	uint32_t i, set = 0;

	for (i = 0; i < PAGES; i++)
		set |= (uint32_t)has(i) << i;
	return set;
}

static void set_prefetch(uint32_t n)
{
	struct unic_cmd_set_params params = { .prefetch = unic_to_le32(n) };

	assert_int_equal(rig_cmd(&a, UNIC_CMD_SET_PARAMS, &params, NULL), 0);
}

/* All reads under way end; the NIC sees it. */
static void reads_end(void)
{
	a.port.late_dma = false;
	fake_dma_run(&a.port, 64);
	rig_poll(&a);
}

/* MR_INVALIDATE of all pages, between what the DMA engine and the NIC do. */
static void invalidate_now(void)
{
	struct unic_cmd_mr_pages cmd = {
		.mr = unic_to_le32(mr.mr),
		.gen = unic_to_le32(mr.gen),
		.count = unic_to_le32(PAGES),
	};
	uint32_t done;

	assert_int_equal(unic_fault_invalidate(&a.nic.memory, &cmd, &done), 0);
}

/* ---------------------------------------------------------- what a miss keeps */

static void a_miss_reads_a_group_and_keeps_what_is_needed(void **state)
{
	(void)state;
	assert_int_equal(touch(2, 1), 0);
	assert_int_equal(there(), 1u << 2);
	/* an operation on pages 3 to 5; then one on more than the group has */
	assert_int_equal(touch(3, 3), 0);
	assert_int_equal(there(), 0xfu << 2);
	assert_int_equal(touch(6, 8), 0);
	assert_int_equal(there(), 0x3fu << 2);
	assert_int_equal(rig_count(&a, table_reads), 3);
	/* the last group has as many words as the region has pages */
	assert_int_equal(touch(17, 3), 0);
	assert_int_equal(there(), 0x3fu << 2 | 7u << 17);
	assert_int_equal(rig_count(&a, table_reads), 4);
	assert_int_equal(rig_count(&a, table_filled), 9);
}

static void prefetch_fills_free_entries_only(void **state)
{
	struct rig_mr hog;
	uint32_t n = UNIC_TLB_ENTRIES - 4;

	(void)state;
	set_prefetch(4);
	assert_int_equal(touch(1, 1), 0);
	assert_int_equal(there(), 0xfu << 1);
	assert_int_equal(touch(6, 1), 0); /* not beyond the group */
	assert_int_equal(there(), 0xfu << 1 | 3u << 6);
	assert_int_equal(rig_pages(&a, &mr, 0, PAGES, 0, NULL), 0);
	assert_int_equal(rig_reg(&a, 1, pd1, n, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &hog),
			 0);
	assert_int_equal(touch(8, 1), 0);
	assert_int_equal(a.nic.tlb.free, 0);
	assert_int_equal(touch(16, 1), 0); /* replaces one, and no more */
	assert_int_equal(__builtin_popcount(there()), 4);
	assert_true(has(16) && !has(17));
	assert_int_equal(rig_dereg(&a, &hog), 0);
}

static void prefetch_is_within_the_quota(void **state)
{
	struct unic_cmd_proc_set set = {
		.weight = unic_to_le32(1),
		.quota = unic_to_le32(3),
	};

	(void)state;
	set_prefetch(8);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_SET, &set, NULL), 0);
	assert_int_equal(touch(0, 1), 0);
	assert_int_equal(there(), 7u);
}

static void prefetch_has_bounds(void **state)
{
	struct unic_cmd_set_params params = {
		.prefetch = unic_to_le32(UNIC_TABLE_GROUP + 1),
	};

	(void)state;
	assert_int_equal(rig_cmd(&a, UNIC_CMD_SET_PARAMS, &params, NULL),
			 UNIC_ST_INVALID);
	params = (struct unic_cmd_set_params){ .rsvd = { unic_to_le32(1) } };
	assert_int_equal(rig_cmd(&a, UNIC_CMD_SET_PARAMS, &params, NULL),
			 UNIC_ST_INVALID);
	set_prefetch(3);
	set_prefetch(0); /* as it is */
	assert_int_equal(touch(0, 1), 0);
	assert_int_equal(there(), 7u);
	rig_reset(&a);
	assert_int_equal(a.nic.tables.prefetch, 1);
}

/* ------------------------------------------------------------ what is believed */

/* With a window for each process, a list names no page of another one. */
static void a_page_of_another_window_is_none(void **state)
{
	(void)state;
	set_word(1, bus_of(1, 1) | UNIC_TABLE_VALID);
	assert_int_equal(touch(1, 1), -UNIC_ENOPAGE);
	assert_int_equal(touch(0, 4), 0); /* nor is it kept for what follows */
	assert_int_equal(there(), 0xdu);
	set_word(1, bus_of(FAKE_WINDOWS, 1) | UNIC_TABLE_VALID);
	assert_int_equal(touch(1, 1), -UNIC_ENOPAGE);
	set_word(1, bus_of(0, 1) | UNIC_TABLE_VALID);
	assert_int_equal(touch(1, 1), 0);
}

static void bad_words_are_no_pages(void **state)
{
	static const uint64_t bits[] = { 2, 8, 0x800, 1ull << 63 };
	uint32_t i;

	(void)state;
	set_word(0, 0);
	assert_int_equal(touch(0, 1), -UNIC_ENOPAGE);
	set_word(0, bus_of(0, 0));
	assert_int_equal(touch(0, 1), -UNIC_ENOPAGE);
	for (i = 0; i < 4; i++) {
		set_word(0, (bus_of(0, 0) ^ bits[i]) | UNIC_TABLE_VALID);
		assert_int_equal(touch(0, 1), -UNIC_ENOPAGE);
	}
	assert_int_equal(there(), 0);
}

/* The list lies where no memory is: the port says so, at the miss. */
static void a_list_outside_of_memory(void **state)
{
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(pd0),
		.residency = UNIC_TABLE,
		.page_shift = 12,
		.iova = unic_to_le64(0x40000000),
		.length = unic_to_le64(4096),
		.n_pages = unic_to_le32(1),
		.flags = UNIC_REG_HOST_TABLE,
		.list = unic_to_le64(UNIC_BUS(0, FAKE_WINDOW_BYTES)),
	};
	struct unic_cpl_mr_reg cpl;
	struct unic_xlate p;

	(void)state;
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_REG, &cmd, &cpl), 0);
	assert_int_equal(unic_access(&a.nic.memory, unic_from_le32(cpl.stag),
				     (uint16_t)pd0, 0, 0x40000000, 1, &p),
			 -UNIC_ENOPAGE);
	assert_int_equal(rig_count(&a, dma_errors), 1);
}

/* ----------------------------------------------------- reads that take their time */

static void a_late_read_suspends_without_an_event(void **state)
{
	struct unic_evt_miss evt;

	(void)state;
	a.port.late_dma = true;
	assert_int_equal(touch(2, 3), -UNIC_EMISS);
	assert_int_equal(touch(2, 1), -UNIC_EMISS); /* joins */
	assert_int_equal(touch(6, 1), -UNIC_EMISS); /* of the same group */
	assert_int_equal(touch(9, 1), -UNIC_EMISS); /* of another one */
	rig_poll(&a);
	assert_int_equal(rig_count(&a, table_reads), 2);
	assert_int_equal(fake_dma_waiting(&a.port), 2);
	reads_end();
	assert_int_equal(there(), 7u << 2 | 1u << 6 | 1u << 9);
	assert_false(rig_event(&a, &evt));
	assert_int_equal(a.nic.faults.busy, 0);
	assert_int_equal(touch(2, 3), 0);
}

static void a_late_read_of_nothing_fails_all(void **state)
{
	(void)state;
	set_word(2, 0);
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	assert_int_equal(touch(3, 1), -UNIC_EMISS);
	reads_end();
	assert_int_equal(touch(2, 1), -UNIC_ENOPAGE);
	assert_int_equal(touch(3, 1), 0);
	/* remembered, until the driver has written the word and says so */
	set_word(2, bus_of(0, 2) | UNIC_TABLE_VALID);
	assert_int_equal(touch(2, 1), -UNIC_ENOPAGE);
	assert_int_equal(rig_pages(&a, &mr, 2, 1, 0, NULL), 0);
	assert_int_equal(touch(2, 1), 0);
}

/* Words that were read before MR_INVALIDATE are discarded, and read again. */
static void an_old_line_is_discarded(void **state)
{
	(void)state;
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	/* the DMA engine has the old word, the NIC does not yet */
	assert_int_equal(fake_dma_run(&a.port, 64), 1);
	set_word(2, bus_of(0, 10) | UNIC_TABLE_VALID);
	invalidate_now();
	rig_poll(&a);
	assert_int_equal(there(), 0);
	assert_int_equal(rig_count(&a, table_stale), 1);
	reads_end();
	assert_int_equal(there(), 1u << 2);
	assert_int_equal(rig_count(&a, table_reads), 2);
	{
		struct unic_xlate p;

		assert_int_equal(unic_access(&a.nic.memory, mr.stag,
					     (uint16_t)pd0, 0,
					     mr.iova + 2 * 4096ull, 1, &p),
				 0);
		assert_true(p.bus == bus_of(0, 10));
	}
}

/* The same without anybody who waits: advice. */
static void an_old_line_of_advice_is_discarded(void **state)
{
	uint32_t done;

	(void)state;
	a.port.late_dma = true;
	assert_int_equal(rig_pages(&a, &mr, 1, 9, UNIC_ADVISE_WILL_NEED, &done),
			 0);
	assert_int_equal(done, 9);
	fake_dma_run(&a.port, 1);
	invalidate_now();
	reads_end();
	assert_int_equal(there(), 0);
	assert_int_equal(rig_count(&a, table_stale), 2);
	a.port.late_dma = true;
	assert_int_equal(rig_pages(&a, &mr, 1, 9, UNIC_ADVISE_WILL_NEED, &done),
			 0);
	reads_end();
	assert_int_equal(there(), 0x3feu);
}

/* A region is not over, and its list not given back, before its reads are. */
static void the_list_is_read_no_more_after_the_end(void **state)
{
	struct unic_evt_mr evt;

	(void)state;
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	assert_int_equal(rig_dereg(&a, &mr), UNIC_ST_PENDING);
	rig_run(&a, 1000000);
	assert_false(rig_event(&a, &evt));
	assert_int_equal(touch(9, 1), -UNIC_ERELEASED);
	assert_int_equal(rig_count(&a, table_reads), 1);
	reads_end();
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), mr.mr);
	assert_int_equal(a.nic.faults.busy, 0);
	assert_int_equal(a.nic.tlb.free, UNIC_TLB_ENTRIES);
}

/* So is a reset. */
static void a_reset_waits_for_reads(void **state)
{
	(void)state;
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	assert_true(unic_dma_busy(&a.nic.transport));
	reads_end();
	assert_false(unic_dma_busy(&a.nic.transport));
}

/* Nobody waits longer than H for a port that does not move. */
static void a_read_that_does_not_end(void **state)
{
	(void)state;
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	rig_run(&a, H_NS - 1000);
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	rig_run(&a, 2000);
	assert_int_equal(touch(2, 1), -UNIC_ENOPAGE);
	assert_int_equal(rig_count(&a, miss_timeouts), 1);
}

/* More groups than reads, and a port that is busy: each page comes in its turn. */
static void more_reads_than_places(void **state)
{
	struct rig_mr large;
	uint32_t i, round, n = UNIC_TABLE_READS + 3, came = 0;
	struct unic_xlate p;

	(void)state;
	for (i = 0; i < 8 * n; i++)
		rig_table(&a, 32 + i, 0, FIRST + i % 64);
	assert_int_equal(rig_reg_cached(&a, pd0, 8 * n, UNIC_TABLE, 32, &large),
			 0);
	a.port.late_dma = true;
	for (round = 0; round < 3; round++) {
		for (i = 0, came = 0; i < n; i++)
			came += !unic_access(&a.nic.memory, large.stag,
					     (uint16_t)pd0, 0,
					     large.iova + 8 * i * 4096ull, 8,
					     &p);
		assert_true(a.nic.tables.under_way <= UNIC_TABLE_READS);
		fake_dma_run(&a.port, 64);
		rig_run(&a, 200000);
	}
	assert_int_equal(came, n);
	a.port.late_dma = false;
	a.port.no_dma = true;
	assert_int_equal(touch(0, 1), -UNIC_EMISS);
	a.port.no_dma = false;
	assert_int_equal(touch(0, 1), 0);
	assert_int_equal(rig_dereg(&a, &large), 0);
}

/* There is no room when the words come: they are read again when there is. */
static void room_is_waited_for(void **state)
{
	struct rig_mr hog;

	(void)state;
	assert_int_equal(rig_reg(&a, 1, pd1, UNIC_TLB_ENTRIES, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &hog),
			 0);
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	reads_end();
	assert_int_equal(there(), 0);
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	assert_int_equal(rig_dereg(&a, &hog), 0);
	rig_run(&a, 200000);
	assert_int_equal(there(), 1u << 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_miss_reads_a_group_and_keeps_what_is_needed),
		TEST(prefetch_fills_free_entries_only),
		TEST(prefetch_is_within_the_quota),
		TEST(prefetch_has_bounds),
		TEST(a_page_of_another_window_is_none),
		TEST(bad_words_are_no_pages),
		TEST(a_list_outside_of_memory),
		TEST(a_late_read_suspends_without_an_event),
		TEST(a_late_read_of_nothing_fails_all),
		TEST(an_old_line_is_discarded),
		TEST(an_old_line_of_advice_is_discarded),
		TEST(the_list_is_read_no_more_after_the_end),
		TEST(a_reset_waits_for_reads),
		TEST(a_read_that_does_not_end),
		TEST(more_reads_than_places),
		TEST(room_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
