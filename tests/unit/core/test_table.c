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

static int touch_of(const struct rig_mr *m, uint32_t page, uint32_t pages,
		    struct unic_xlate *p)
{
	return unic_access(&a.nic.memory, m->stag, (uint16_t)pd0, 0,
			   m->iova + page * 4096ull, pages * 4096, p);
}

static int touch(uint32_t page, uint32_t pages)
{
	struct unic_xlate p;
	int r = touch_of(&mr, page, pages, &p);

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

/* The next @n reads fail at the port; the NIC sees it. */
static void reads_fail(uint32_t n)
{
	a.port.bad_dma = true;
	assert_int_equal(fake_dma_run(&a.port, n), n);
	a.port.bad_dma = false;
	rig_poll(&a);
}

/* Registers a TABLE region of as many pages, whose list is behind that of `mr`. */
static void reg_other(struct rig_mr *other)
{
	uint32_t i;

	for (i = 0; i < PAGES; i++)
		rig_table(&a, 24 + i, 0, FIRST + PAGES + i);
	assert_int_equal(rig_reg_cached(&a, pd0, PAGES, UNIC_TABLE, 24, other),
			 0);
}

/* Process 1 takes all entries that are free but @left. */
static void hog_all_but(uint32_t left, struct rig_mr *hog)
{
	assert_int_equal(rig_reg(&a, 1, pd1, a.nic.tlb.free - left,
				 UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, hog),
			 0);
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

/* Pages that are there are neither read into a second entry nor counted. */
static void pages_that_are_there_are_kept(void **state)
{
	uint32_t done;

	(void)state;
	assert_int_equal(touch(3, 1), 0);
	set_prefetch(4);
	assert_int_equal(touch(1, 1), 0);
	assert_int_equal(there(), 0xfu << 1);
	assert_int_equal(rig_count(&a, table_filled), 4);
	set_prefetch(1);
	assert_int_equal(touch(10, 1), 0);
	assert_int_equal(rig_pages(&a, &mr, 9, 4, UNIC_ADVISE_WILL_NEED, &done),
			 0);
	assert_int_equal(done, 3);
	assert_int_equal(there(), 0xfu << 1 | 0xfu << 9);
	assert_int_equal(rig_count(&a, table_filled), 8);
	assert_int_equal(rig_count(&a, table_reads), 4);
}

/* What lies behind a page that is none is read all the same. */
static void advice_passes_over_what_is_no_page(void **state)
{
	uint32_t done;

	(void)state;
	set_word(1, 0);
	set_word(8, 0);
	assert_int_equal(
		rig_pages(&a, &mr, 0, PAGES, UNIC_ADVISE_WILL_NEED, &done), 0);
	assert_int_equal(done, PAGES - 2);
	assert_int_equal(there(), ((1u << PAGES) - 1u) & ~(1u << 1 | 1u << 8));
}

/* The watermark is for requests that come; no prefetch goes below it. */
static void prefetch_leaves_what_the_reaper_keeps_free(void **state)
{
	struct unic_cmd_set_params params = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
		.low_entries = unic_to_le32(10),
		.high_entries = unic_to_le32(12),
	};
	struct rig_mr hog;

	(void)state;
	set_prefetch(8);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_SET_PARAMS, &params, NULL), 0);
	hog_all_but(14, &hog);
	assert_int_equal(touch(0, 1), 0);
	assert_int_equal(there(), 0xfu);
	assert_int_equal(a.nic.tlb.free, 10);
	assert_int_equal(rig_dereg(&a, &hog), 0);
}

/* The first page without room ends advice: no other is read. */
static void advice_ends_where_the_room_does(void **state)
{
	struct rig_mr hog;
	uint32_t done;

	(void)state;
	hog_all_but(0, &hog);
	assert_int_equal(
		rig_pages(&a, &mr, 0, PAGES, UNIC_ADVISE_WILL_NEED, &done), 0);
	assert_int_equal(done, 0);
	assert_int_equal(there(), 0);
	assert_int_equal(rig_count(&a, table_reads), 1);
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

/* ------------------------------------------------------------ what is shown */

/* Row of region @m in a dump of all regions. */
static struct unic_row_mr row_of(const struct rig_mr *m)
{
	struct unic_cmd_dump c = { .table = unic_to_le32(UNIC_TABLE_MR) };
	const struct unic_row_mr *row =
		(void *)(a.port.bar + UNIC_BAR_LIST_OFF +
			 a.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	struct unic_cpl_dump cpl;
	uint32_t i;

	assert_int_equal(rig_cmd(&a, UNIC_CMD_DUMP, &c, &cpl), 0);
	for (i = 0; i < unic_from_le32(cpl.rows); i++)
		if (unic_from_le32(row[i].index) == m->mr)
			return row[i];
	fail();
	return row[0];
}

static void a_row_names_the_residency(void **state)
{
	struct rig_mr demand;
	struct unic_row_mr row;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 4, UNIC_DEMAND, 0, &demand),
			 0);
	assert_int_equal(touch(2, 1), 0);
	row = row_of(&mr);
	assert_int_equal(row.mr_class, UNIC_CLASS_RDMA | UNIC_TABLE << 4);
	assert_int_equal(unic_from_le32(row.misses), 1);
	row = row_of(&demand);
	assert_int_equal(row.mr_class, UNIC_CLASS_RDMA | UNIC_DEMAND << 4);
	assert_int_equal(unic_from_le32(row.misses), 0);
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

/* A page that came with the one before it is there for who waits for it. */
static void a_page_comes_once_for_two_that_wait(void **state)
{
	(void)state;
	set_prefetch(8);
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	assert_int_equal(touch(5, 1), -UNIC_EMISS);
	reads_end();
	assert_int_equal(there(), 0x3fu << 2);
	assert_int_equal(rig_count(&a, table_filled), 6);
	assert_int_equal(a.nic.faults.busy, 0);
}

/* A read serves those who wait for pages of its region, and nobody else. */
static void each_region_has_its_read(void **state)
{
	struct unic_xlate p;
	struct rig_mr other;

	(void)state;
	reg_other(&other);
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	assert_int_equal(touch_of(&other, 2, 1, &p), -UNIC_EMISS);
	rig_poll(&a);
	assert_int_equal(rig_count(&a, table_reads), 2);
	assert_int_equal(fake_dma_run(&a.port, 1), 1);
	rig_poll(&a);
	assert_int_equal(there(), 1u << 2);
	assert_int_equal(__builtin_popcount(a.nic.faults.busy), 1);
	assert_int_equal(touch_of(&other, 2, 1, &p), -UNIC_EMISS);
	reads_end();
	assert_int_equal(a.nic.faults.busy, 0);
	assert_int_equal(touch_of(&other, 2, 1, &p), 0);
	assert_true(p.bus == bus_of(0, PAGES + 2));
	assert_int_equal(rig_dereg(&a, &other), 0);
}

/* The port fails a read: who waits is told, and words that came before are not used. */
static void a_late_read_that_fails(void **state)
{
	uint32_t done;

	(void)state;
	assert_int_equal(touch(0, 1), 0);
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	assert_int_equal(touch(9, 1), -UNIC_EMISS);
	rig_poll(&a);
	reads_fail(1);
	assert_int_equal(rig_count(&a, dma_errors), 1);
	assert_int_equal(touch(2, 1), -UNIC_ENOPAGE);
	assert_int_equal(there(), 1u << 0);
	reads_end();
	assert_int_equal(there(), 1u << 0 | 1u << 9);
	/* nor for what is advised: the words of page 9 are those of its group */
	a.port.late_dma = true;
	assert_int_equal(rig_pages(&a, &mr, 3, 1, UNIC_ADVISE_WILL_NEED, &done),
			 0);
	assert_int_equal(done, 1);
	reads_fail(1);
	assert_int_equal(rig_count(&a, dma_errors), 2);
	assert_int_equal(there(), 1u << 0 | 1u << 9);
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

/* MR_INVALIDATE while the group is under way: it is asked for again at once. */
static void a_group_is_asked_for_again(void **state)
{
	(void)state;
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	rig_poll(&a);
	assert_int_equal(rig_count(&a, table_reads), 1);
	invalidate_now();
	rig_poll(&a);
	assert_int_equal(rig_count(&a, table_reads), 2);
	assert_int_equal(fake_dma_waiting(&a.port), 2);
	reads_end();
	assert_int_equal(rig_count(&a, table_stale), 1);
	assert_int_equal(there(), 1u << 2);
	assert_int_equal(a.nic.faults.busy, 0);
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
static void expect_no_end_before_the_read(void)
{
	struct unic_evt_mr evt;

	assert_int_equal(rig_dereg(&a, &mr), UNIC_ST_PENDING);
	rig_run(&a, 30000000);
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

static void the_list_is_read_no_more_after_the_end(void **state)
{
	(void)state;
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	expect_no_end_before_the_read();
}

/* The same without anybody who waits: only the read itself holds the region. */
static void nor_for_advice(void **state)
{
	uint32_t done;

	(void)state;
	a.port.late_dma = true;
	assert_int_equal(rig_pages(&a, &mr, 2, 1, UNIC_ADVISE_WILL_NEED, &done),
			 0);
	expect_no_end_before_the_read();
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

/* unic_table_look() of page @page of @m, with the words of @at. */
static int look_up(const struct rig_mr *m, uint32_t page,
		   struct unic_table_read **at, uint64_t *bus)
{
	return unic_table_look(&a.nic.memory, (uint16_t)m->mr, page, at, bus);
}

/* A look at a page reads its group once, and takes no entry; a port that fails, or is
 * busy, or takes its time, says so each time. */
static void a_look_takes_no_entry(void **state)
{
	struct unic_table_read *at = NULL;
	struct rig_mr other;
	uint64_t bus;
	uint32_t i;

	(void)state;
	reg_other(&other);
	for (i = 0; i < 10; i++) {
		assert_int_equal(look_up(&mr, i, &at, &bus), 0);
		assert_true(bus == bus_of(0, i));
	}
	assert_int_equal(rig_count(&a, table_reads), 2);
	assert_int_equal(look_up(&other, 9, &at, &bus), 0);
	assert_true(bus == bus_of(0, PAGES + 9));
	assert_int_equal(look_up(&mr, 9, &at, &bus), 0);
	assert_true(bus == bus_of(0, 9));
	assert_int_equal(rig_count(&a, table_reads), 4);
	assert_int_equal(there(), 0);

	at = NULL;
	a.port.fail_call = a.port.calls + 1;
	assert_int_equal(look_up(&mr, 0, &at, &bus), -UNIC_ENOPAGE);
	assert_null(at);
	assert_int_equal(rig_count(&a, dma_errors), 1);
	a.port.no_dma = true;
	assert_int_equal(look_up(&mr, 0, &at, &bus), -UNIC_EAGAIN);
	assert_null(at);
	a.port.no_dma = false;

	a.port.late_dma = true;
	for (i = 0; i < 2; i++) { /* the second joins the first */
		assert_int_equal(look_up(&mr, 0, &at, &bus), -UNIC_EAGAIN);
		assert_null(at);
		assert_int_equal(fake_dma_waiting(&a.port), 1);
	}
	for (i = 1; i < UNIC_TABLE_READS + 1; i++)
		assert_int_equal(look_up(i % 2 ? &other : &mr, i / 2 * 8 % 24,
					 &at, &bus),
				 -UNIC_EAGAIN);
	reads_end();
	assert_int_equal(look_up(&mr, 0, &at, &bus), 0);
	assert_true(bus == bus_of(0, 0));
	assert_int_equal(rig_dereg(&a, &other), 0);
}

/* Process 1 holds all entries in @hog, so the words of page 2 come, and have no room. */
static void come_without_room(struct rig_mr *hog)
{
	hog_all_but(0, hog);
	a.port.late_dma = true;
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	reads_end();
	assert_int_equal(there(), 0);
}

/* There is no room when the words come: they are read again when there is. */
static void room_is_waited_for(void **state)
{
	struct rig_mr hog;

	(void)state;
	come_without_room(&hog);
	assert_int_equal(touch(2, 1), -UNIC_EMISS);
	assert_int_equal(rig_dereg(&a, &hog), 0);
	rig_run(&a, 200000);
	assert_int_equal(there(), 1u << 2);
}

/* Somebody else brings the page first: it is not read again, and nobody waits. */
static void a_page_that_came_meanwhile(void **state)
{
	struct rig_mr hog;
	uint32_t done, reads;

	(void)state;
	come_without_room(&hog);
	assert_int_equal(rig_dereg(&a, &hog), 0);
	assert_int_equal(rig_pages(&a, &mr, 2, 1, UNIC_ADVISE_WILL_NEED, &done),
			 0);
	assert_int_equal(done, 1);
	reads = rig_count(&a, table_reads);
	assert_int_equal(__builtin_popcount(a.nic.faults.busy), 1);
	rig_run(&a, 200000);
	assert_int_equal(a.nic.faults.busy, 0);
	assert_int_equal(rig_count(&a, table_reads), reads);
	assert_int_equal(touch(2, 1), 0);
}

/* When there is room the word is no page any more: who waits is told. */
static void a_page_that_is_none_meanwhile(void **state)
{
	struct rig_mr hog;

	(void)state;
	come_without_room(&hog);
	set_word(2, 0);
	assert_int_equal(rig_dereg(&a, &hog), 0);
	rig_run(&a, 200000);
	set_word(2, bus_of(0, 2) | UNIC_TABLE_VALID);
	assert_int_equal(touch(2, 1), -UNIC_ENOPAGE); /* remembered */
	rig_run(&a, H_NS);
	assert_int_equal(touch(2, 1), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_miss_reads_a_group_and_keeps_what_is_needed),
		TEST(prefetch_fills_free_entries_only),
		TEST(pages_that_are_there_are_kept),
		TEST(advice_passes_over_what_is_no_page),
		TEST(prefetch_leaves_what_the_reaper_keeps_free),
		TEST(advice_ends_where_the_room_does),
		TEST(prefetch_is_within_the_quota),
		TEST(prefetch_has_bounds),
		TEST(a_page_of_another_window_is_none),
		TEST(bad_words_are_no_pages),
		TEST(a_list_outside_of_memory),
		TEST(a_row_names_the_residency),
		TEST(a_late_read_suspends_without_an_event),
		TEST(the_list_is_read_no_more_after_the_end),
		TEST(nor_for_advice),
		TEST(a_page_comes_once_for_two_that_wait),
		TEST(each_region_has_its_read),
		TEST(a_late_read_that_fails),
		TEST(a_late_read_of_nothing_fails_all),
		TEST(an_old_line_is_discarded),
		TEST(a_group_is_asked_for_again),
		TEST(an_old_line_of_advice_is_discarded),
		TEST(a_reset_waits_for_reads),
		TEST(a_read_that_does_not_end),
		TEST(more_reads_than_places),
		TEST(a_look_takes_no_entry),
		TEST(room_is_waited_for),
		TEST(a_page_that_came_meanwhile),
		TEST(a_page_that_is_none_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
