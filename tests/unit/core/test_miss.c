/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_miss.c - operations on pages that are missing in the NIC, at the
 * requester and at the responder: which operations wait, which go on, and the
 * answers to the peer.
 */
#include "unit.h"

#include "transport/requester_rx.h"
#include "rig.h"
#include "memory/access.h"

#define PAGES	8u
#define BYTES	(PAGES * 4096u)
#define MS	1000000ull
#define H_NS	50000000ull
#define A_FIRST 64u /* pages of the windows behind the cached regions */
#define B_FIRST 80u

static struct rig ra, rb;
static struct rig_qp qa, qb, qa2, qb2;
static struct rig_mr ma, mb;	   /* residency set by the test */
static struct rig_mr ra_mr, rb_mr; /* RESIDENT */
static uint32_t pa, pb;
static bool late; /* DMA of both answers PENDING */

static uint8_t *page_of(struct rig *r, uint32_t page)
{
	return r->port.window[0] + page * 4096;
}

static void bring_up(uint8_t res_a, uint8_t res_b, bool vendor)
{
	uint32_t i;

	rig_up(&ra, 1);
	rig_up(&rb, 2);
	fake_wire(&ra.port, &rb.port);
	rig_attach(&ra, 0, 1);
	rig_attach(&rb, 0, 1);
	pa = rig_pd(&ra, 0);
	pb = rig_pd(&rb, 0);
	rig_qp(&ra, 0, pa, 3, &qa);
	rig_qp(&rb, 0, pb, 5, &qb);
	rig_qp(&ra, 0, pa, 4, &qa2);
	rig_qp(&rb, 0, pb, 6, &qb2);
	rig_connect(&ra, &qa, &rb, &qb);
	rig_connect(&ra, &qa2, &rb, &qb2);
	for (i = 0; i < UNIC_QPS; i++)
		ra.nic.qps.qp[i].vendor = rb.nic.qps.qp[i].vendor = vendor;
	for (i = 0; i < PAGES; i++) {
		rig_table(&ra, i, 0, A_FIRST + i);
		rig_table(&rb, i, 0, B_FIRST + i);
	}
	assert_int_equal(rig_reg_cached(&ra, pa, PAGES, res_a, 0, &ma), 0);
	assert_int_equal(rig_reg_cached(&rb, pb, PAGES, res_b, 0, &mb), 0);
	assert_int_equal(rig_reg(&ra, 0, pa, PAGES, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &ra_mr),
			 0);
	assert_int_equal(rig_reg(&rb, 0, pb, PAGES, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &rb_mr),
			 0);
	ma.mem = page_of(&ra, A_FIRST);
	mb.mem = page_of(&rb, B_FIRST);
	for (i = 0; i < BYTES; i++) {
		ma.mem[i] = (uint8_t)(i * 7 + (i >> 8));
		mb.mem[i] = (uint8_t)(i * 13 + (i >> 8) + 1);
		ra_mr.mem[i] = (uint8_t)(i * 3 + (i >> 8));
		rb_mr.mem[i] = (uint8_t)(i * 5 + (i >> 8) + 1);
	}
	late = false;
}

static int up(void **state)
{
	(void)state;
	bring_up(UNIC_DEMAND, UNIC_DEMAND, true);
	return 0;
}

static int up_plain(void **state)
{
	(void)state;
	bring_up(UNIC_DEMAND, UNIC_DEMAND, false);
	return 0;
}

static int up_table(void **state)
{
	(void)state;
	bring_up(UNIC_TABLE, UNIC_TABLE, true);
	return 0;
}

/* After a test no region is held, and no DMA of a region is left. */
static int down(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_MRS; i++) {
		assert_int_equal(ra.nic.mrs.mr[i].holds, 0);
		assert_int_equal(rb.nic.mrs.mr[i].holds, 0);
		assert_int_equal(ra.nic.mrs.mr[i].dmas, 0);
		assert_int_equal(rb.nic.mrs.mr[i].dmas, 0);
	}
	/* no waiter is left to wake, and the poll loop does not look for one */
	assert_false(ra.nic.faults.any_woken || ra.nic.faults.ended);
	assert_false(rb.nic.faults.any_woken || rb.nic.faults.ended);
	return 0;
}

static void run(uint64_t ns)
{
	uint64_t end = ra.port.now_ns + ns;

	if (!late) {
		rig_run2(&ra, &rb, ns);
		return;
	}
	ra.port.late_dma = rb.port.late_dma = true;
	for (; ra.port.now_ns < end; ra.port.now_ns += 1000) {
		rb.port.now_ns = ra.port.now_ns;
		rig_poll(&ra);
		rig_poll(&rb);
		fake_dma_run(&ra.port, 64);
		fake_dma_run(&rb.port, 64);
	}
	ra.port.late_dma = rb.port.late_dma = false;
}

/* Answers the next miss of @r, up to @most pages. False: there is none. */
static bool serve(struct rig *r, const struct rig_mr *mr, uint32_t first_page,
		  uint32_t most)
{
	struct unic_evt_miss evt;
	uint32_t first, count, done;

	if (!rig_event(r, &evt))
		return false;
	assert_int_equal(evt.hdr.type, UNIC_EVT_MISS);
	first = unic_from_le32(evt.first);
	count = unic_from_le32(evt.count);
	count = count < most ? count : most;
	assert_int_equal(rig_fault(r, mr, first, count, unic_from_le32(evt.seq),
				   0, first_page + first, &done),
			 0);
	assert_int_equal(done, count);
	return true;
}

/* Lets @ns pass; drivers answer misses every 20 us. */
static void run_served(uint64_t ns, uint32_t most)
{
	uint64_t end = ra.port.now_ns + ns;

	while (ra.port.now_ns < end) {
		run(20000);
		while (serve(&ra, &ma, A_FIRST, most))
			;
		while (serve(&rb, &mb, B_FIRST, most))
			;
	}
}

static void expect(struct rig *r, struct rig_qp *qp, uint64_t wr_id,
		   uint8_t status, uint8_t detail)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(r, qp, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(cqe.status, status);
	assert_int_equal(cqe.detail, detail);
}

static void expect_none(struct rig *r, struct rig_qp *qp)
{
	struct unic_cqe cqe;

	assert_false(rig_cqe(r, qp, &cqe));
}

static void same(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	assert_memory_equal(a, b, len);
}

/* A WRITE whose source pages are missing waits, and no other queue pair does;
 * no retry is used. */
static void requester_waits_for_its_page(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 100, 10000, rb_mr.iova,
		 rb_mr.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ra_mr, 0, 8, rb_mr.iova + 20000,
		 rb_mr.stag);
	rig_send(&ra, &qa2, UNIC_WR_WRITE, 3, &ra_mr, 0, 8, rb_mr.iova + 30000,
		 rb_mr.stag);
	run(1 * MS);
	expect_none(&ra, &qa);
	expect(&ra, &qa2, 3, 0, 0);
	assert_int_equal(ra.nic.counter[UNIC_C_miss_suspended], 1);
	assert_true(serve(&ra, &ma, A_FIRST, 16));
	run(1 * MS);
	expect(&ra, &qa, 1, 0, 0);
	expect(&ra, &qa, 2, 0, 0);
	same(rb_mr.mem, ma.mem + 100, 10000);
	assert_int_equal(ra.nic.counter[UNIC_C_miss_events], 1);
	assert_int_equal(ra.nic.counter[UNIC_C_retransmits], 0);
	assert_int_equal(ra.nic.counter[UNIC_C_timeouts], 0);
}

/* A WRITE and a SEND wait for each of their pages in turn. */
static void requester_waits_midway(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, BYTES, rb_mr.iova,
		 rb_mr.stag);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 5, 3000, 0, 0);
	rig_recv(&rb, &qb, 9, &rb_mr, 0, 4096);
	run_served(1 * MS, 1);
	expect(&ra, &qa, 1, 0, 0);
	expect(&ra, &qa, 2, 0, 0);
	expect(&rb, &qb, 9, 0, 0);
	same(rb_mr.mem + 4096, ma.mem + 4096, BYTES - 4096);
	same(rb_mr.mem, ma.mem + 5, 3000);
	assert_int_equal(ra.nic.counter[UNIC_C_miss_events], PAGES);
}

/* Further pages of the message are requested in the same event. */
static void asks_for_what_is_left(void **state)
{
	struct unic_evt_miss evt;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ra_mr, 0, 4 * 4096 + 1, mb.iova,
		 mb.stag);
	run(20000);
	rig_expect(&rb, UNIC_EVT_MISS, &evt);
	assert_int_equal(unic_from_le32(evt.first), 0);
	assert_int_equal(unic_from_le32(evt.count), 5);
	assert_int_equal(rig_fault(&rb, &mb, 0, 1, unic_from_le32(evt.seq), 0,
				   B_FIRST, NULL),
			 0);
	run(MS); /* in the middle of the message, too */
	rig_expect(&rb, UNIC_EVT_MISS, &evt);
	assert_int_equal(unic_from_le32(evt.first), 1);
	assert_int_equal(unic_from_le32(evt.count), 4);
	assert_int_equal(rig_fault(&rb, &mb, 1, 4, unic_from_le32(evt.seq), 0,
				   B_FIRST + 1, NULL),
			 0);
	run(3 * MS);
	expect(&ra, &qa, 1, 0, 0);
	same(mb.mem, ra_mr.mem, 4 * 4096 + 1);
	assert_false(rig_event(&rb, &evt));
}

/* Expects a miss of @r for @count pages from @first on, and no other; all of
 * them are filled, from page @from of the window on. */
static void served_exactly(struct rig *r, const struct rig_mr *mr,
			   uint32_t first, uint32_t count, uint32_t from)
{
	struct unic_evt_miss evt;

	rig_expect(r, UNIC_EVT_MISS, &evt);
	assert_int_equal(unic_from_le32(evt.first), first);
	assert_int_equal(unic_from_le32(evt.count), count);
	assert_int_equal(rig_fault(r, mr, first, count, unic_from_le32(evt.seq),
				   0, from + first, NULL),
			 0);
	run(MS);
	assert_false(rig_event(r, &evt));
}

/* The pages that the message touches are requested, and no others, at the
 * requester and at the responder. */
static void asks_for_no_page_too_many(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 4096, 2 * 4096, rb_mr.iova,
		 rb_mr.stag);
	run(20000);
	served_exactly(&ra, &ma, 1, 2, A_FIRST);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ra_mr, 0, 4096, mb.iova, mb.stag);
	run(20000);
	served_exactly(&rb, &mb, 0, 1, B_FIRST);
	rig_send(&ra, &qa, UNIC_WR_READ, 3, &ra_mr, 0, 8192, mb.iova + 4096,
		 mb.stag);
	run(20000);
	served_exactly(&rb, &mb, 1, 2, B_FIRST);
	rig_send(&ra, &qa, UNIC_WR_READ, 4, &ma, 3 * 4096 + 4095, 2, rb_mr.iova,
		 rb_mr.stag);
	run(20000);
	served_exactly(&ra, &ma, 3, 2, A_FIRST);
	expect(&ra, &qa, 1, 0, 0);
	expect(&ra, &qa, 2, 0, 0);
	expect(&ra, &qa, 3, 0, 0);
	expect(&ra, &qa, 4, 0, 0);
}

static uint32_t answers_lost;

static void lose_an_answer(struct unic_port *port, const uint8_t *frame,
			   uint32_t len, uint32_t flags)
{
	if (frame[42] == UNIC_OP_READ_RESP_ONLY && !answers_lost++)
		return;
	fake_deliver(port->peer, frame, len, flags);
}

/* A READ comes again when its page is no more on the NIC: it waits for it, as the first
 * time. */
static void read_again_of_a_page_that_was_dropped(void **state)
{
	uint32_t done;

	(void)state;
	answers_lost = 0;
	rb.port.on_frame = lose_an_answer;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ra_mr, 0, 100, mb.iova, mb.stag);
	run(20000);
	assert_true(serve(&rb, &mb, B_FIRST, 1));
	run(MS);
	assert_int_equal(answers_lost, 1);
	assert_int_equal(rig_pages(&rb, &mb, 0, 1, 0, &done), 0);
	assert_int_equal(done, 1);
	run(6 * MS);
	assert_true(serve(&rb, &mb, B_FIRST, 1));
	run(6 * MS);
	rb.port.on_frame = NULL;
	expect(&ra, &qa, 1, 0, 0);
	same(ra_mr.mem, mb.mem, 100);
	assert_true(rig_count(&rb, rx_duplicate) > 0);
}

/* With all fault slots taken a requester waits until one is free. */
static void requester_waits_for_its_turn(void **state)
{
	struct unic_xlate p;
	struct rig_mr many;
	uint32_t i, n = 0;

	(void)state;
	assert_int_equal(rig_reg_cached(&ra, pa, 2 * UNIC_FAULTS, UNIC_DEMAND,
					0, &many),
			 0);
	for (i = 0; i < UNIC_FAULTS; i++)
		assert_int_equal(unic_access(&ra.nic.memory, many.stag,
					     (uint16_t)pa, 0,
					     many.iova + i * 8192, 8, &p),
				 -UNIC_EMISS);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 100, rb_mr.iova,
		 rb_mr.stag);
	run(MS);
	while (n < UNIC_FAULTS && serve(&ra, &many, 96, 1))
		n++;
	assert_int_equal(n, UNIC_FAULTS);
	run(MS);
	assert_true(serve(&ra, &ma, A_FIRST, 1));
	run(MS);
	expect(&ra, &qa, 1, 0, 0);
	same(rb_mr.mem, ma.mem, 100);
}

static void read_sink_waits(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 10, 20000, rb_mr.iova + 3,
		 rb_mr.stag);
	run_served(3 * MS, 2);
	expect(&ra, &qa, 1, 0, 0);
	same(ma.mem + 10, rb_mr.mem + 3, 20000);
	assert_int_equal(ra.nic.counter[UNIC_C_timeouts], 0);
}

static void lost_pages_are_brought_again_for_retransmission(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 3000, rb_mr.iova,
		 rb_mr.stag);
	rb.port.rx_overrun = 0;
	rb.nic.rx_fault = 3; /* all three packets are lost */
	run(10000);
	assert_true(serve(&ra, &ma, A_FIRST, 16));
	run(10000);
	assert_int_equal(rb.nic.rx_fault, 0);
	/* the page is dropped meanwhile */
	assert_int_equal(
		rig_pages(&ra, &ma, 0, PAGES, UNIC_ADVISE_DONT_NEED, NULL), 0);
	run_served(500 * MS, 16);
	expect(&ra, &qa, 1, 0, 0);
	same(rb_mr.mem, ma.mem, 3000);
	assert_int_equal(ra.nic.counter[UNIC_C_timeouts], 1);
}

/* A peer with the vendor opcodes gets RETRY_AFTER; it uses no retry. */
static void responder_says_when(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ra_mr, 0, 20000, mb.iova + 50,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ra_mr, 0, 8, mb.iova, mb.stag);
	run_served(3 * MS, 1);
	expect(&ra, &qa, 1, 0, 0);
	expect(&ra, &qa, 2, 0, 0);
	same(mb.mem + 50, ra_mr.mem, 20000);
	same(mb.mem, ra_mr.mem, 8);
	assert_true(rb.nic.counter[UNIC_C_miss_put_off] >= 5);
	assert_int_equal(rb.nic.counter[UNIC_C_tx_rnr_naks], 0);
	assert_int_equal(ra.nic.counter[UNIC_C_timeouts], 0);
}

static void responder_answers_rnr(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ra_mr, 0, 9000, mb.iova, mb.stag);
	run_served(400 * MS, 16);
	expect(&ra, &qa, 1, 0, 0);
	same(mb.mem, ra_mr.mem, 9000);
	assert_true(rb.nic.counter[UNIC_C_tx_rnr_naks] >= 1);
	assert_int_equal(rb.nic.counter[UNIC_C_tx_vacks], 0);
}

static void receive_in_missing_pages(void **state)
{
	(void)state;
	rig_recv(&rb, &qb, 7, &mb, 4000, 8000);
	rig_recv(&rb, &qb, 8, &mb, 20000, 100);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ra_mr, 0, 6000, 0, 0);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ra_mr, 0, 100, 0, 0);
	run_served(3 * MS, 1);
	expect(&ra, &qa, 1, 0, 0);
	expect(&ra, &qa, 2, 0, 0);
	expect(&rb, &qb, 7, 0, 0);
	expect(&rb, &qb, 8, 0, 0);
	same(mb.mem + 4000, ra_mr.mem, 6000);
	same(mb.mem + 20000, ra_mr.mem, 100);
}

static void read_source_in_missing_pages(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ra_mr, 0, 30000, mb.iova + 1,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ra_mr, 0, 8, rb_mr.iova,
		 rb_mr.stag);
	run_served(3 * MS, 1);
	expect(&ra, &qa, 1, 0, 0);
	expect(&ra, &qa, 2, 0, 0);
	same(ra_mr.mem, mb.mem + 1, 30000);
}

/* SEND, WRITE and READ at once while pages of both NICs are dropped and brought
 * back one by one. */
static void all_ways(void)
{
	uint32_t i;

	rig_recv(&rb, &qb, 7, &mb, 100, 3 * 4096);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 20000, mb.iova + 12000,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 3, 10000, 0, 0);
	rig_send(&ra, &qa, UNIC_WR_READ, 3, &ma, 20000, 12000, mb.iova + 16000,
		 mb.stag);
	for (i = 0; i < 20; i++) {
		run_served(2 * MS, 1);
		rig_pages(&ra, &ma, i % PAGES, 1, UNIC_ADVISE_DONT_NEED, NULL);
		rig_pages(&rb, &mb, i % PAGES, 1, UNIC_ADVISE_DONT_NEED, NULL);
	}
	run_served(100 * MS, 4);
	expect(&ra, &qa, 1, 0, 0);
	expect(&ra, &qa, 2, 0, 0);
	expect(&ra, &qa, 3, 0, 0);
	expect(&rb, &qb, 7, 0, 0);
	same(mb.mem + 100, ma.mem + 3, 10000);
	same(mb.mem + 12300, ma.mem + 300, 3000);
	same(ma.mem + 20000, mb.mem + 16000, 12000);
}

static void everything_misses(void **state)
{
	(void)state;
	all_ways();
}

static void everything_misses_late(void **state)
{
	(void)state;
	late = true;
	all_ways();
}

static void table_pages_never_wait(void **state)
{
	(void)state;
	rig_recv(&rb, &qb, 7, &mb, 100, 8000);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 20000, mb.iova + 12000,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 3, 8000, 0, 0);
	rig_send(&ra, &qa, UNIC_WR_READ, 3, &ma, 20000, 12000, mb.iova + 16000,
		 mb.stag);
	run(1 * MS);
	expect(&ra, &qa, 1, 0, 0);
	expect(&ra, &qa, 2, 0, 0);
	expect(&ra, &qa, 3, 0, 0);
	expect(&rb, &qb, 7, 0, 0);
	same(mb.mem + 100, ma.mem + 3, 8000);
	assert_int_equal(ra.nic.counter[UNIC_C_miss_suspended], 0);
	assert_int_equal(rb.nic.counter[UNIC_C_miss_put_off], 0);
}

/* ---------------------------------------------------------------- tokens */

static uint32_t token(uint64_t iova, uint32_t len, uint32_t flags,
		      uint64_t *key)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(pb),
		.stag = unic_to_le32(mb.stag),
		.iova = unic_to_le64(iova),
		.length = unic_to_le32(len),
		.flags = unic_to_le32(flags),
	};
	struct unic_cpl_token cpl;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl), 0);
	*key = unic_from_le64(cpl.key);
	return unic_from_le32(cpl.index);
}

/* The claim of a token is released while its page is missing; the token is used
 * once all the same. */
static void tagged_message(void)
{
	uint32_t index;
	uint64_t key;

	index = token(mb.iova + 4000, 9000, 0, &key);
	rig_recv(&rb, &qb, 7, &rb_mr, 0, 100);
	rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ra_mr, 0, 9000, key, index);
	run(1000);
	run_served(5 * MS, 1);
	expect(&ra, &qa, 1, 0, 0);
	expect(&rb, &qb, 7, 0, 0);
	same(mb.mem + 4000, ra_mr.mem, 9000);
	assert_int_equal(rb.nic.counter[UNIC_C_tokens_used], 1);
	assert_int_equal(rb.nic.counter[UNIC_C_tokens_aborted], 0);
}

static void token_of_missing_pages(void **state)
{
	(void)state;
	tagged_message();
}

static void token_of_missing_pages_late(void **state)
{
	(void)state;
	late = true;
	tagged_message();
}

/* A message does not claim a token for many messages, so a miss releases no
 * claim: the token also serves the next message. */
static void token_for_many_of_missing_pages(void **state)
{
	uint32_t index;
	uint64_t key;

	(void)state;
	index = token(mb.iova + 4000, 9000, UNIC_TOKEN_F_MULTI, &key);
	rig_recv(&rb, &qb, 7, &rb_mr, 0, 100);
	rig_recv(&rb, &qb, 8, &rb_mr, 0, 100);
	rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ra_mr, 0, 9000, key, index);
	run(1000);
	run_served(5 * MS, 1);
	expect(&ra, &qa, 1, 0, 0);
	expect(&rb, &qb, 7, 0, 0);
	same(mb.mem + 4000, ra_mr.mem, 9000);
	assert_true(rb.nic.counter[UNIC_C_miss_put_off] > 0);
	assert_int_equal(rb.nic.counter[UNIC_C_tokens_used], 0);
	rig_send(&ra, &qa, UNIC_WR_TOKEN, 2, &ra_mr, 9000, 9000, key, index);
	run_served(5 * MS, 1);
	expect(&ra, &qa, 2, 0, 0);
	expect(&rb, &qb, 8, 0, 0);
	same(mb.mem + 4000, ra_mr.mem + 9000, 9000);
	assert_int_equal(rig_dereg(&rb, &mb), UNIC_ST_OK);
	assert_int_equal(rb.nic.counter[UNIC_C_tokens_evicted], 1);
}

/* --------------------------------------------------------------- failures */

static void refuse(struct rig *r, const struct rig_mr *mr)
{
	struct unic_evt_miss evt;

	rig_expect(r, UNIC_EVT_MISS, &evt);
	assert_int_equal(rig_fault(r, mr, unic_from_le32(evt.first), 1,
				   unic_from_le32(evt.seq), FAKE_WINDOWS, 0,
				   NULL),
			 0);
}

static void page_that_a_requester_cannot_have(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 100, rb_mr.iova,
		 rb_mr.stag);
	run(1 * MS);
	refuse(&ra, &ma);
	run(1 * MS);
	expect(&ra, &qa, 1, UNIC_WC_LOC_PROT_ERR, UNIC_WD_PAGE);
}

static void page_that_a_responder_cannot_have(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ra_mr, 0, 100, mb.iova, mb.stag);
	run(20000);
	refuse(&rb, &mb);
	run(1 * MS);
	expect(&ra, &qa, 1, UNIC_WC_REM_ACCESS_ERR, 0);
	assert_int_equal(unic_key_guard_held(&rb.nic.memory, 0x0a000001, 0), 0);
}

static void receive_page_that_cannot_be_had(void **state)
{
	(void)state;
	rig_recv(&rb, &qb, 7, &mb, 0, 100);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ra_mr, 0, 100, 0, 0);
	run(20000);
	refuse(&rb, &mb);
	run(1 * MS);
	expect(&ra, &qa, 1, UNIC_WC_REM_OP_ERR, 0);
	expect(&rb, &qb, 7, UNIC_WC_LOC_PROT_ERR, UNIC_WD_PAGE);
}

static void read_source_that_cannot_be_had(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ra_mr, 0, 8000, mb.iova, mb.stag);
	run(20000);
	assert_true(serve(&rb, &mb, B_FIRST, 1));
	run(200000);
	refuse(&rb, &mb);
	run(1 * MS);
	expect(&ra, &qa, 1, UNIC_WC_REM_OP_ERR, 0);
}

static void driver_that_never_answers(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 100, rb_mr.iova,
		 rb_mr.stag);
	run(H_NS - MS);
	expect_none(&ra, &qa);
	run(2 * MS);
	expect(&ra, &qa, 1, UNIC_WC_LOC_PROT_ERR, UNIC_WD_PAGE);
	assert_int_equal(ra.nic.counter[UNIC_C_miss_timeouts], 1);
}

/* A request waits for a page when the request before it gets an RNR NAK: the
 * arrival of the page does not end the RNR wait. */
static void page_ends_no_silence(void **state)
{
	struct unic_qp_ctx *qp = &ra.nic.qps.qp[qa.qpn & 0xff];

	(void)state;
	rb.nic.qps.qp[qb.qpn & 0xff].rsp.rnr_code = 14; /* 1.28 ms */
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ra_mr, 0, 100, 0, 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 100, rb_mr.iova,
		 rb_mr.stag);
	run(1000);
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 1);
	assert_true(qp->sq.rnr_wait);
	rig_recv(&rb, &qb, 7, &rb_mr, 4096, 100);
	assert_true(serve(&ra, &ma, A_FIRST, 16));
	run(1 * MS);
	assert_true(qp->sq.rnr_wait);
	expect_none(&ra, &qa);
	run(1 * MS);
	expect(&ra, &qa, 1, 0, 0);
	expect(&ra, &qa, 2, 0, 0);
}

/* Answers the next miss of A, and drops the page before it is used. */
static void page_comes_and_goes(void)
{
	struct unic_evt_miss evt;

	rig_expect(&ra, UNIC_EVT_MISS, &evt);
	ra.port.tx_held = (1u << UNIC_TX_BUFS) - 1; /* nothing can be sent */
	assert_int_equal(rig_fault(&ra, &ma, unic_from_le32(evt.first), 1,
				   unic_from_le32(evt.seq), 0, A_FIRST, NULL),
			 0);
	assert_int_equal(
		rig_pages(&ra, &ma, unic_from_le32(evt.first), 1, 0, NULL), 0);
	ra.port.tx_held = 0;
}

/* The page of a packet is dropped each time before it is used: the packet waits
 * for twice the bound of a fault, and then fails. */
static void page_that_never_stays(void **state)
{
	uint64_t bound = unic_fault_bound_ns(&ra.nic.memory), step = bound / 4;
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 100, rb_mr.iova,
		 rb_mr.stag);
	rig_run2(&ra, &rb, 0);
	for (i = 0; i < 8; i++) { /* to 2 * bound, and not beyond */
		page_comes_and_goes();
		rig_run2(&ra, &rb, step);
		expect_none(&ra, &qa);
	}
	for (i = 0; i < 4 && !rig_cqe(&ra, &qa, &cqe); i++) {
		page_comes_and_goes();
		rig_run2(&ra, &rb, step);
	}
	assert_in_range(i, 1, 2);
	assert_int_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PAGE);
	assert_int_equal(rig_count(&ra, miss_timeouts), 1);
}

/* The bound of the wait is counted for each packet of a request anew. */
static void each_page_has_its_time(void **state)
{
	uint64_t step = unic_fault_bound_ns(&ra.nic.memory) / 4;
	struct unic_evt_miss evt;
	uint32_t i, k;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, BYTES, rb_mr.iova,
		 rb_mr.stag);
	rig_run2(&ra, &rb, 0);
	for (i = 0; i < PAGES; i++) {
		for (k = 0; k < 3; k++) {
			page_comes_and_goes();
			rig_run2(&ra, &rb, step);
			expect_none(&ra, &qa);
		}
		rig_expect(&ra, UNIC_EVT_MISS, &evt);
		assert_int_equal(unic_from_le32(evt.first), i);
		assert_int_equal(rig_fault(&ra, &ma, i, 1,
					   unic_from_le32(evt.seq), 0,
					   A_FIRST + i, NULL),
				 0);
		rig_run2(&ra, &rb, MS);
	}
	expect(&ra, &qa, 1, 0, 0);
	same(rb_mr.mem, ma.mem, BYTES);
}

/* A request whose peer always answers RETRY_AFTER fails after a bounded
 * time. */
static void endless_retry_after(void **state)
{
	struct unic_qp_ctx *qp = &ra.nic.qps.qp[qa.qpn & 0xff];
	uint32_t i, psn;

	(void)state;
	rb.nic.rx_fault = 1000000;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ra_mr, 0, 100, rb_mr.iova,
		 rb_mr.stag);
	run(1000);
	psn = qp->sq.psn_una;
	for (i = 0; i < 5000 && qp->state == UNIC_QPS_RTS; i++) {
		unic_requester_vack(&ra.nic.transport, qp, psn,
				    UNIC_EV_RETRY_AFTER, 0);
		run(11000);
	}
	assert_in_range(i, 4000, 4200);
	expect(&ra, &qa, 1, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
	rb.nic.rx_fault = 0;
}

/* A request whose region ends while it waits for its page completes EVICTED. */
static void region_that_ends_meanwhile(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 100, rb_mr.iova,
		 rb_mr.stag);
	run(1 * MS);
	assert_int_equal(rig_dereg(&ra, &ma), UNIC_ST_PENDING);
	assert_int_equal(rig_fault(&ra, &ma, 0, 1, 0, 0, A_FIRST, NULL),
			 UNIC_ST_STATE);
	run(30 * MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_EVICTED);
	assert_int_equal(ra.nic.mrs.mr[ma.mr].state, UNIC_MR_FREE);
	assert_int_equal(ra.nic.faults.fault[0].state, UNIC_FAULT_FREE);
}

#define TEST(f)		cmocka_unit_test_setup_teardown(f, up, down)
#define TEST_WITH(f, s) cmocka_unit_test_setup_teardown(f, s, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requester_waits_for_its_page),
		TEST(requester_waits_midway),
		TEST(asks_for_what_is_left),
		TEST(asks_for_no_page_too_many),
		TEST(read_again_of_a_page_that_was_dropped),
		TEST(requester_waits_for_its_turn),
		TEST(read_sink_waits),
		TEST(lost_pages_are_brought_again_for_retransmission),
		TEST(responder_says_when),
		TEST_WITH(responder_answers_rnr, up_plain),
		TEST(receive_in_missing_pages),
		TEST(read_source_in_missing_pages),
		TEST(everything_misses),
		TEST(everything_misses_late),
		TEST_WITH(table_pages_never_wait, up_table),
		TEST(token_of_missing_pages),
		TEST(token_of_missing_pages_late),
		TEST(token_for_many_of_missing_pages),
		TEST(page_that_a_requester_cannot_have),
		TEST(page_that_a_responder_cannot_have),
		TEST(receive_page_that_cannot_be_had),
		TEST(read_source_that_cannot_be_had),
		TEST(driver_that_never_answers),
		TEST(page_ends_no_silence),
		TEST(page_that_never_stays),
		TEST(each_page_has_its_time),
		TEST(endless_retry_after),
		TEST(region_that_ends_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
