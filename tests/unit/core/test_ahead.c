/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_ahead.c - receives whose pages are fetched before their messages arrive
 * (MEMORY-TESTS.md 1.18: "free-queue buffers are pre-translated").
 */
#include "unit.h"

#include "pair.h"

#define US	1000ull
#define MS	1000000ull
#define PAGES	16u
#define B_FIRST 80u /* page of the window, behind the region's first one */

static struct rig_mr mc; /* of rb, residency set by the test */

static int up(uint8_t residency)
{
	uint32_t i;

	pair_up();
	for (i = 0; i < PAGES; i++)
		rig_table(&rb, i, 0, B_FIRST + i);
	assert_int_equal(rig_reg_cached(&rb, qb.pd, PAGES, residency, 0, &mc),
			 0);
	mc.mem = rb.port.window[0] + B_FIRST * 4096;
	return 0;
}

static int up_demand(void **state)
{
	(void)state;
	return up(UNIC_DEMAND);
}

static int up_table(void **state)
{
	(void)state;
	return up(UNIC_TABLE);
}

static int down(void **state)
{
	(void)state;
	pair_quiet();
	return 0;
}

/* Answers all DEMAND events. Returns their number; *@pages is the number of
 * pages that they asked for. */
static uint32_t serve(uint32_t *pages)
{
	struct unic_evt_miss evt;
	uint32_t n = 0, first, count;

	for (*pages = 0; rig_event(&rb, &evt); n++) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_MISS);
		first = unic_from_le32(evt.first);
		count = unic_from_le32(evt.count);
		*pages += count;
		assert_int_equal(rig_fault(&rb, &mc, first, count,
					   unic_from_le32(evt.seq), 0,
					   B_FIRST + first, NULL),
				 0);
	}
	return n;
}

static void send(uint64_t wr_id, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_SEND, wr_id, &ma, 0, len, 0, 0);
}

/* The page is requested when the receive is posted, and present when the first
 * message arrives. */
static void first_message_is_not_put_off(void **state)
{
	uint32_t i, pages;

	(void)state;
	for (i = 0; i < 3; i++)
		rig_recv(&rb, &qb, i, &mc, 2 * i * 4096 + 100, 200);
	pair_run(20 * US);
	assert_int_equal(serve(&pages), 3);
	assert_int_equal(pages, 3);
	assert_int_equal(rig_count(&rb, rq_ahead), 3);
	for (i = 0; i < 3; i++)
		send(i, 200);
	pair_run(1 * MS);
	for (i = 0; i < 3; i++) {
		pair_expect(&ra, &qa, i, 0, 200);
		pair_expect(&rb, &qb, i, 0, 200);
		assert_memory_equal(mc.mem + 2 * i * 4096 + 100, ma.mem, 200);
	}
	assert_int_equal(rig_count(&rb, miss_put_off), 0);
	assert_int_equal(rig_count(&rb, misses), 0);
}

static void table_pages_are_read_ahead(void **state)
{
	(void)state;
	rig_recv(&rb, &qb, 1, &mc, 4000, 200);
	pair_run(20 * US);
	assert_int_equal(rig_count(&rb, table_filled), 2);
	send(1, 200);
	pair_run(1 * MS);
	pair_expect(&rb, &qb, 1, 0, 200);
	assert_int_equal(rig_count(&rb, misses), 0);
}

/* For a long receive only the first pages are requested. */
static void long_receive_is_bounded(void **state)
{
	uint32_t pages;

	(void)state;
	rig_recv(&rb, &qb, 1, &mc, 0, PAGES * 4096);
	pair_run(20 * US);
	assert_int_equal(serve(&pages), 1);
	assert_int_equal(pages, UNIC_FAULT_BEFORE);
}

/* The NIC requests the pages of UNIC_RQ_WINDOW receives, and of further ones as
 * receives are used up, without another post. */
static void the_window_moves_on(void **state)
{
	uint32_t i, pages;

	(void)state;
	for (i = 0; i < 12; i++)
		rig_recv(&rb, &qb, i, &mc, i * 4096, 100);
	pair_run(20 * US);
	assert_int_equal(serve(&pages), UNIC_RQ_WINDOW);
	for (i = 0; i < 12; i++) {
		send(i, 100);
		pair_run(100 * US);
		serve(&pages);
		pair_expect(&rb, &qb, i, 0, 100);
	}
	assert_int_equal(rig_count(&rb, rq_ahead), 12);
	assert_int_equal(rig_count(&rb, miss_put_off), 0);
}

/* Receives of several queues take at most half of the fault slots; a receive
 * that found no free slot gets one later. */
static void half_of_the_misses_are_left(void **state)
{
	struct rig_qp mine, other;
	uint32_t i, pages;

	(void)state;
	rig_qp(&rb, 0, qb.pd, 6, &other);
	rig_qp(&ra, 0, qa.pd, 4, &mine);
	rig_connect(&ra, &mine, &rb, &other);
	for (i = 0; i < UNIC_RQ_WINDOW; i++) {
		rig_recv(&rb, &qb, i, &mc, 2 * i * 4096, 100);
		rig_recv(&rb, &other, i, &mc, (2 * i + 1) * 4096, 100);
	}
	pair_run(20 * US);
	assert_int_equal(rig_count(&rb, miss_events), UNIC_FAULTS / 2);
	assert_int_equal(serve(&pages), UNIC_FAULTS);
	assert_int_equal(rig_count(&rb, rq_ahead), UNIC_FAULTS);
}

/* No page is requested for a receive that would be refused (bounds, STag,
 * rights), nor for one in a resident region. */
static void nonsense_is_not_asked_for(void **state)
{
	struct rig_mr m = mc;

	(void)state;
	rig_recv(&rb, &qb, 1, &m, PAGES * 4096 - 1, 2);
	m.iova -= 4096;
	rig_recv(&rb, &qb, 2, &m, 0, 2);
	m = mc;
	m.stag ^= 1;
	rig_recv(&rb, &qb, 3, &m, 0, 2);
	pair_run(20 * US);
	rb.nic.mrs.mr[mc.mr].rights &= (uint8_t)~UNIC_MR_LOCAL_WRITE;
	rig_recv(&rb, &qb, 4, &mc, 0, 2);
	pair_run(20 * US);
	rb.nic.mrs.mr[mc.mr].rights |= UNIC_MR_LOCAL_WRITE;
	rig_recv(&rb, &qb, 5, &mb, 0, 2);
	pair_run(20 * US);
	assert_int_equal(rig_count(&rb, rq_ahead), 0);
	assert_int_equal(rig_count(&rb, miss_events), 0);
	assert_int_equal(rig_count(&rb, access_bounds), 0);
}

/* Pages of receives that were posted in RESET are requested when the queue pair
 * is connected, with DMA that completes late. */
static void posted_before_and_late(void **state)
{
	struct rig_qp mine, other;
	uint32_t i, pages;

	(void)state;
	rb.port.late_dma = true;
	rig_qp(&rb, 0, qb.pd, 6, &other);
	for (i = 0; i < 2; i++)
		rig_recv(&rb, &other, i, &mc, i * 4096, 100);
	rig_poll(&rb);
	/* in state RESET, where attributes may change */
	assert_int_equal(rig_count(&rb, rq_ahead), 0);
	rig_qp(&ra, 0, qa.pd, 4, &mine);
	rig_connect(&ra, &mine, &rb, &other);
	for (i = 0; i < 4; i++) {
		rig_poll(&rb);
		fake_dma_run(&rb.port, 64);
	}
	rig_poll(&rb);
	assert_int_equal(rig_count(&rb, rq_ahead), 2);
	assert_int_equal(serve(&pages), 2);
	rb.port.late_dma = false;
}

#define TEST(f, u) cmocka_unit_test_setup_teardown(f, u, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_message_is_not_put_off, up_demand),
		TEST(table_pages_are_read_ahead, up_table),
		TEST(long_receive_is_bounded, up_demand),
		TEST(the_window_moves_on, up_demand),
		TEST(half_of_the_misses_are_left, up_demand),
		TEST(nonsense_is_not_asked_for, up_demand),
		TEST(posted_before_and_late, up_demand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
