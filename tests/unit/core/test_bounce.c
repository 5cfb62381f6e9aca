/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_bounce.c - packets of UC and UD for pages that are not on the NIC:
 * dropped, placed in another receive, or parked until the page is there
 * (MEMORY.md section 1).
 */
#include "unit.h"

#include "pair.h"

#define US	1000ull
#define MS	1000000ull
#define GRH	UNIC_GRH_BYTES
#define PAGES	8u
#define B_FIRST 80u /* page of the window behind the region's first one */

static struct rig_qp ua, ub; /* UC */
static struct rig_qp da, db; /* UD */
static struct rig_mr mc;     /* of rb, DEMAND */

static void bring_up(uint8_t miss, uint32_t rq_class)
{
	pair_up();
	rig_qp_of(&ra, 0, qa.pd, 6, UNIC_QPT_UC, miss, 0, &ua);
	rig_qp_of(&rb, 0, qb.pd, 7, UNIC_QPT_UC, miss, rq_class, &ub);
	rig_connect(&ra, &ua, &rb, &ub);
	rig_qp_of(&ra, 0, qa.pd, 8, UNIC_QPT_UD, miss, 0, &da);
	rig_qp_of(&rb, 0, qb.pd, 9, UNIC_QPT_UD, miss, rq_class, &db);
	rig_connect(&ra, &da, &ra, &da);
	rig_connect(&rb, &db, &rb, &db);
	assert_int_equal(rig_reg_cached(&rb, qb.pd, PAGES, UNIC_DEMAND, 0, &mc),
			 0);
	mc.mem = rb.port.window[0] + B_FIRST * 4096;
}

static int up_drop(void **state)
{
	(void)state;
	bring_up(UNIC_QPM_DROP, 0);
	return 0;
}

static int up_substitute(void **state)
{
	(void)state;
	bring_up(UNIC_QPM_SUBSTITUTE, 300);
	return 0;
}

static int up_bounce(void **state)
{
	(void)state;
	bring_up(UNIC_QPM_BOUNCE, 0);
	return 0;
}

static int down(void **state)
{
	uint32_t i;

	(void)state;
	pair_run(1 * MS);
	pair_quiet();
	for (i = 0; i < UNIC_PARKED_FRAMES; i++)
		assert_int_equal(rb.nic.parked.frame[i].state,
				 UNIC_PARKED_FREE);
	return 0;
}

/* Answers the next DEMAND event with at most @most pages, or, unless @can, with
 * a failure. False: there is no event. */
static bool serve_one(bool can, uint32_t most)
{
	struct unic_evt_miss evt;
	uint32_t first, count;

	if (!rig_event(&rb, &evt))
		return false;
	if (evt.hdr.type != UNIC_EVT_MISS)
		return true;
	first = unic_from_le32(evt.first);
	count = unic_from_le32(evt.count);
	assert_int_equal(rig_fault(&rb, &mc, first, count < most ? count : most,
				   unic_from_le32(evt.seq),
				   can ? 0 : FAKE_WINDOWS, B_FIRST + first,
				   NULL),
			 0);
	return true;
}

static void serve(bool can)
{
	while (serve_one(can, PAGES))
		;
}

static void drop_pages(uint32_t first, uint32_t count)
{
	rig_pages(&rb, &mc, first, count, UNIC_ADVISE_DONT_NEED, NULL);
}

static void datagram(uint64_t wr_id, uint32_t off, uint32_t len)
{
	rig_send(&ra, &da, UNIC_WR_SEND, wr_id, &ma, off, len,
		 UNIC_UD_TO(rb.nic.ipv4, 0x1234), db.qpn);
	pair_run(100 * US);
	pair_expect(&ra, &da, wr_id, 0, len);
}

static void message(uint64_t wr_id, uint32_t off, uint32_t len)
{
	rig_send(&ra, &ua, UNIC_WR_SEND, wr_id, &ma, off, len, 0, 0);
	pair_run(100 * US);
	pair_expect(&ra, &ua, wr_id, 0, len);
}

static void dropped_and_the_next_one_comes(void **state)
{
	(void)state;
	rig_recv(&rb, &db, 11, &mc, 0, GRH + 100);
	rig_recv(&rb, &ub, 12, &mc, 4096, 5000);
	datagram(1, 0, 100);
	message(1, 0, 4000);
	pair_expect_none(&rb, &db);
	pair_expect_none(&rb, &ub);
	assert_int_equal(rig_count(&rb, miss_dropped), 2);
	assert_int_equal(rig_count(&rb, uc_skipped), 3);
	serve(true);
	datagram(2, 5, 100);
	message(2, 7, 4000);
	pair_expect(&rb, &db, 11, 0, GRH + 100);
	pair_expect(&rb, &ub, 12, 0, 4000);
	assert_memory_equal(mc.mem + GRH, ma.mem + 5, 100);
	assert_memory_equal(mc.mem + 4096, ma.mem + 7, 4000);
}

/* A UC message is dropped at a missing page in its middle; the page is there
 * for the next message. A WRITE is dropped in the same way. */
static void dropped_midway(void **state)
{
	(void)state;
	rig_recv(&rb, &ub, 12, &mc, 3000, 9000);
	pair_run(100 * US);
	serve(true);
	drop_pages(1, 1);
	message(1, 0, 8000);
	pair_expect_none(&rb, &ub);
	assert_int_equal(rig_count(&rb, miss_dropped), 1);
	serve(true);
	message(2, 3, 8000);
	pair_expect(&rb, &ub, 12, 0, 8000);
	assert_memory_equal(mc.mem + 3000, ma.mem + 3, 8000);
	/* a WRITE */
	drop_pages(0, PAGES);
	rig_send(&ra, &ua, UNIC_WR_WRITE, 3, &ma, 0, 100, mc.iova, mc.stag);
	pair_run(100 * US);
	assert_int_equal(rig_count(&rb, miss_dropped), 2);
	serve(true);
	rig_send(&ra, &ua, UNIC_WR_WRITE, 4, &ma, 0, 100, mc.iova, mc.stag);
	pair_run(100 * US);
	assert_memory_equal(mc.mem, ma.mem, 100);
}

/* The first receive whose pages are there and that is long enough is taken; a
 * receive that was passed over is next again when its pages are there. */
static void another_receive_is_taken(void **state)
{
	(void)state;
	rig_recv(&rb, &db, 11, &mc, 0, GRH + 300);
	rig_recv(&rb, &db, 12, &mb, 0, 299); /* below the class */
	rig_recv(&rb, &db, 13, &mc, 8192, GRH + 300);
	rig_recv(&rb, &db, 14, &mb, 4096, GRH + 300);
	rig_recv(&rb, &ub, 21, &mc, 16384, 3000);
	rig_recv(&rb, &ub, 22, &mb, 8192, 3000);
	datagram(1, 1, 200);
	message(1, 3, 3000);
	pair_expect(&rb, &db, 14, 0, GRH + 200);
	pair_expect(&rb, &ub, 22, 0, 3000);
	assert_memory_equal(mb.mem + 4096 + GRH, ma.mem + 1, 200);
	assert_memory_equal(mb.mem + 8192, ma.mem + 3, 3000);
	assert_int_equal(rig_count(&rb, miss_substituted), 2);
	assert_int_equal(rig_count(&rb, miss_dropped), 0);
	datagram(2, 1, 200); /* no other receive is free */
	message(2, 3, 3000);
	assert_int_equal(rig_count(&rb, miss_dropped), 2);
	serve(true);
	datagram(3, 1, 200);
	datagram(4, 2, 200);
	datagram(5, 3, 200);
	message(3, 3, 3000);
	pair_expect(&rb, &db, 11, 0, GRH + 200);
	pair_expect(&rb, &db, 12, 0, GRH + 200);
	pair_expect(&rb, &db, 13, 0, GRH + 200);
	pair_expect(&rb, &ub, 21, 0, 3000);
}

/* A message that took another receive and is lost gives it back. */
static void substitute_of_a_lost_message(void **state)
{
	(void)state;
	rig_recv(&rb, &ub, 21, &mc, 0, 3000);
	rig_recv(&rb, &ub, 22, &mb, 0, 2000);
	message(1, 3, 3000); /* 22 is too short for its end */
	pair_expect_none(&rb, &ub);
	assert_int_equal(rig_count(&rb, unrel_too_long), 1);
	serve(true);
	message(2, 3, 3000);
	message(3, 3, 2000);
	pair_expect(&rb, &ub, 21, 0, 3000);
	pair_expect(&rb, &ub, 22, 0, 2000);
}

/* A frame is parked until its page is there, then placed. A frame that comes
 * meanwhile and cannot be placed either is dropped. */
static void kept_until_the_page_is_there(void **state)
{
	(void)state;
	rig_recv(&rb, &db, 11, &mc, 4000, GRH + 500); /* two pages */
	rig_recv(&rb, &db, 12, &mc, 8192, GRH + 500);
	rig_recv(&rb, &ub, 21, &mc, 12288, 1000);
	rig_recv(&rb, &ub, 22, &mc, 16384, 1000);
	datagram(1, 1, 500);
	datagram(2, 2, 500);
	message(1, 3, 1000);
	message(2, 4, 1000);
	pair_expect_none(&rb, &db);
	pair_expect_none(&rb, &ub);
	assert_int_equal(rig_count(&rb, miss_bounced), 2);
	assert_int_equal(rig_count(&rb, miss_dropped), 2);
	serve(true);
	pair_run(100 * US);
	pair_expect(&rb, &db, 11, 0, GRH + 500);
	pair_expect(&rb, &ub, 21, 0, 1000);
	assert_memory_equal(mc.mem + 4000 + GRH, ma.mem + 1, 500);
	assert_memory_equal(mc.mem + 12288, ma.mem + 3, 1000);
	message(3, 5, 1000);
	pair_expect(&rb, &ub, 22, 0, 1000);
	assert_memory_equal(mc.mem + 16384, ma.mem + 5, 1000);
	assert_int_equal(rig_count(&rb, miss_put_off), 0);
}

/* A WRITE is parked, and so is the last packet of a message, which then
 * completes. */
static void kept_midway(void **state)
{
	(void)state;
	rig_send(&ra, &ua, UNIC_WR_WRITE, 1, &ma, 0, 1000, mc.iova, mc.stag);
	pair_run(100 * US);
	pair_expect(&ra, &ua, 1, 0, 1000);
	assert_int_equal(rig_count(&rb, miss_bounced), 1);
	serve(true);
	pair_run(100 * US);
	assert_memory_equal(mc.mem, ma.mem, 1000);
	rig_recv(&rb, &ub, 21, &mc, 2 * 4096 - 1024, 2048);
	pair_run(100 * US);
	serve(true);
	drop_pages(2, 1);
	message(2, 7, 2048); /* its last packet is parked */
	assert_int_equal(rig_count(&rb, miss_bounced), 2);
	serve(true);
	pair_run(100 * US);
	pair_expect(&rb, &ub, 21, 0, 2048);
	assert_memory_equal(mc.mem + 2 * 4096 - 1024, ma.mem + 7, 2048);
	assert_int_equal(rig_count(&rb, miss_dropped), 0);
}

/* A frame of UC does not overtake a parked one before it. */
static void nothing_overtakes(void **state)
{
	(void)state;
	rig_recv(&rb, &ub, 21, &mb, 0, 100);
	rig_send(&ra, &ua, UNIC_WR_WRITE, 1, &ma, 0, 1000, mc.iova, mc.stag);
	rig_send(&ra, &ua, UNIC_WR_SEND, 2, &ma, 0, 100, 0, 0);
	pair_run(100 * US);
	pair_expect(&ra, &ua, 1, 0, 1000);
	pair_expect(&ra, &ua, 2, 0, 100);
	pair_expect_none(&rb, &ub);
	assert_int_equal(rig_count(&rb, miss_dropped), 1);
	serve(true);
	message(3, 9, 100);
	pair_expect(&rb, &ub, 21, 0, 100);
	assert_memory_equal(mc.mem, ma.mem, 1000);
	assert_memory_equal(mb.mem, ma.mem + 9, 100);
}

/* A datagram's first page is there, the second cannot be had: the receive
 * fails. */
static void second_page_cannot_be_had(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	rig_recv(&rb, &db, 11, &mc, 4000, GRH + 500);
	pair_run(100 * US);
	serve_one(true, 1);
	datagram(1, 1, 500);
	serve(false);
	pair_run(1 * MS);
	assert_true(rig_cqe(&rb, &db, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PAGE);
	assert_false(
		unic_qp_receives(unic_qp_by_number(&rb.nic.transport, db.qpn)));
}

/* All queue pairs share UNIC_PARKED_FRAMES parked frames; further ones are
 * dropped. */
static void no_more_than_there_are(void **state)
{
	struct rig_qp more;

	(void)state;
	assert_int_equal(UNIC_PARKED_FRAMES, 2);
	rig_qp_of(&rb, 0, qb.pd, 10, UNIC_QPT_UD, UNIC_QPM_BOUNCE, 0, &more);
	rig_connect(&rb, &more, &rb, &more);
	rig_recv(&rb, &more, 31, &mc, 0, GRH + 100);
	rig_recv(&rb, &db, 11, &mc, 4096, GRH + 100);
	rig_recv(&rb, &ub, 21, &mc, 8192, 100);
	datagram(1, 1, 100);
	message(1, 1, 100);
	rig_send(&ra, &da, UNIC_WR_SEND, 2, &ma, 0, 100,
		 UNIC_UD_TO(rb.nic.ipv4, 0x1234), more.qpn);
	pair_run(100 * US);
	assert_int_equal(rig_count(&rb, miss_bounced), 2);
	assert_int_equal(rig_count(&rb, miss_dropped), 1);
	serve(true);
	pair_run(100 * US);
	pair_expect(&rb, &db, 11, 0, GRH + 100);
	pair_expect(&rb, &ub, 21, 0, 100);
	pair_expect_none(&rb, &more);
}

/* The host has no such page: the receive fails, as on RC. */
static void kept_for_a_page_that_never_comes(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	rig_recv(&rb, &db, 11, &mc, 0, GRH + 100);
	datagram(1, 1, 100);
	serve(false);
	pair_run(1 * MS);
	assert_true(rig_cqe(&rb, &db, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PAGE);
	/* a WRITE is refused, and uses up no receive */
	rig_send(&ra, &ua, UNIC_WR_WRITE, 2, &ma, 0, 100, mc.iova + 4096,
		 mc.stag);
	pair_run(100 * US);
	pair_expect(&ra, &ua, 2, 0, 100);
	serve(false);
	pair_run(1 * MS);
	assert_int_equal(rig_count(&rb, unrel_refused), 1);
	rig_recv(&rb, &ub, 21, &mb, 0, 100);
	message(3, 1, 100);
	pair_expect(&rb, &ub, 21, 0, 100);
}

/* A parked frame is dropped when its queue pair is destroyed, or the NIC
 * reset. */
static void kept_for_a_queue_pair_that_goes(void **state)
{
	struct unic_cmd_obj cmd = { 0 };

	(void)state;
	rig_recv(&rb, &db, 11, &mc, 0, GRH + 100);
	datagram(1, 1, 100);
	cmd.id = unic_to_le32(db.qpn);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_DESTROY, &cmd, NULL), 0);
	assert_int_equal(rig_count(&rb, rx_no_qp), 1); /* at once */
	serve(true);
	pair_run(1 * MS);
	assert_int_equal(rig_count(&rb, rx_no_qp), 1);
	rig_recv(&rb, &ub, 21, &mc, 4096, 100);
	message(1, 1, 100);
	assert_int_equal(rig_count(&rb, miss_bounced), 2);
	rig_reset(&rb);
}

/* A page of a parked frame is dropped each time before the frame is placed: in
 * the end the frame is dropped. */
static void kept_for_a_page_that_never_stays(void **state)
{
	uint32_t i;

	(void)state;
	rig_recv(&rb, &db, 11, &mc, 4000, GRH + 500); /* two pages */
	datagram(1, 1, 500);
	for (i = 0; i < 4000 && !rig_count(&rb, miss_dropped); i++) {
		pair_run(100 * US);
		serve_one(true, 1);
		drop_pages(0, 2);
	}
	assert_in_range(i, 100, 3999);
	assert_int_equal(rig_count(&rb, miss_bounced), 1);
	pair_run(10 * MS);
	serve(true);
	pair_run(10 * MS);
	datagram(2, 2, 500);
	pair_expect(&rb, &db, 11, 0, GRH + 500);
	pair_run(10 * MS);
	assert_false(rb.nic.chores); /* the NIC may sleep */
}

/* Parked frames are placed while other frames arrive, with DMA that completes
 * late. */
static void kept_and_late(void **state)
{
	uint32_t k;

	(void)state;
	rig_recv(&rb, &db, 11, &mc, 4000, GRH + 500);
	rig_recv(&rb, &ub, 21, &mc, 12288, 1000);
	datagram(1, 1, 500);
	message(1, 3, 1000);
	rig_recv(&rb, &qb, 1, &mb, 0, 1000);
	pair_run(100 * US);
	rb.port.late_dma = true;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 9, 1000, 0, 0);
	for (k = 0; k < 8 && rb.nic.qps.roce.rx_stage != UNIC_RX_PLACE; k++) {
		rig_poll(&ra);
		rig_poll(&rb);
		if (rb.nic.qps.roce.rx_stage != UNIC_RX_PLACE)
			fake_dma_run(&rb.port, 1);
	}
	assert_int_equal(rb.nic.qps.roce.rx_stage, UNIC_RX_PLACE);
	serve(true);
	for (k = 0; k < 100; k++) {
		ra.port.now_ns += 1000;
		rb.port.now_ns = ra.port.now_ns;
		rig_poll(&ra);
		rig_poll(&rb);
		fake_dma_run(&rb.port, 1);
	}
	while (fake_dma_run(&rb.port, 64))
		rig_poll(&rb);
	rb.port.late_dma = false;
	pair_run(1 * MS);
	pair_expect(&rb, &db, 11, 0, GRH + 500);
	pair_expect(&rb, &ub, 21, 0, 1000);
	pair_expect(&rb, &qb, 1, 0, 1000);
	assert_memory_equal(mc.mem + 4000 + GRH, ma.mem + 1, 500);
	assert_memory_equal(mc.mem + 12288, ma.mem + 3, 1000);
	assert_memory_equal(mb.mem, ma.mem + 9, 1000);
}

#define TEST(f, u) cmocka_unit_test_setup_teardown(f, u, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dropped_and_the_next_one_comes, up_drop),
		TEST(dropped_midway, up_drop),
		TEST(another_receive_is_taken, up_substitute),
		TEST(substitute_of_a_lost_message, up_substitute),
		TEST(kept_until_the_page_is_there, up_bounce),
		TEST(kept_midway, up_bounce),
		TEST(nothing_overtakes, up_bounce),
		TEST(second_page_cannot_be_had, up_bounce),
		TEST(no_more_than_there_are, up_bounce),
		TEST(kept_for_a_page_that_never_comes, up_bounce),
		TEST(kept_for_a_queue_pair_that_goes, up_bounce),
		TEST(kept_for_a_page_that_never_stays, up_bounce),
		TEST(kept_and_late, up_bounce),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
