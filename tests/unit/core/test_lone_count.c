/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_lone_count.c - the counters of lone messages: each request that is alone is counted
 * once, as one that went the short way or, if it is a WRITE of one packet, as one that did
 * not; and what makes a message no lone one.
 */
#include "unit.h"

#include "pair.h"
#include "transport/requester.h"
#include "transport/tx.h"

#define MS  1000000ull
#define MTU 1024u

static void write_of(uint64_t id, uint32_t off, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, id, &ma, off, len, mb.iova + off,
		 mb.stag);
}

/* What NIC @r shows: its counters are in its memory at the next heartbeat. */
static uint32_t shown(struct rig *r, enum unic_counter which)
{
	const struct unic_stats_page *page =
		(const void *)(r->port.bar + UNIC_BAR_STATS_OFF);

	r->nic.beat_ns = r->nic.timers_ns = 0;
	pair_rounds(r, 1);
	return (uint32_t)unic_from_le64(page->counter[which]);
}

static void expect_counts(uint32_t sent, uint32_t placed, uint32_t other)
{
	assert_int_equal(shown(&ra, UNIC_C_lone_sent), sent);
	assert_int_equal(shown(&rb, UNIC_C_lone_placed), placed);
	assert_int_equal(shown(&ra, UNIC_C_lone_other), other);
	assert_int_equal(shown(&ra, UNIC_C_lone_placed), 0);
	assert_int_equal(shown(&rb, UNIC_C_lone_sent), 0);
}

/* @n WRITEs of @len bytes, one at a time. */
static void write_alone(uint32_t n, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		write_of(i, 0, len);
		pair_run(MS);
		pair_expect(&ra, &qa, i, 0, len);
	}
}

static void up(bool icrc)
{
	pair_make(icrc, PAIR_PAGES);
	ra.nic.trace.mask = rb.nic.trace.mask = 0;
}

/* The first of a connection is like no other; those behind it are lone at both ends. */
static void each_is_counted_once(void **state)
{
	(void)state;
	up(false);
	write_alone(1, 8);
	expect_counts(0, 0, 1);
	write_alone(5, 8);
	expect_counts(5, 5, 1);
	write_alone(
		1,
		16); /* it has another form, which is nothing to the receiver */
	expect_counts(5, 6, 2);
}

/* Other ways are counted of WRITEs of one packet only: one of two packets, the first SEND and a
 * long READ are no such. */
static void others_are_no_writes_of_a_packet(void **state)
{
	(void)state;
	up(false);
	write_alone(1, MTU);
	expect_counts(0, 0, 1);
	write_alone(2, MTU + 1);
	expect_counts(0, 0, 1);
	rig_recv(&rb, &qb, 1, &mb, 0, 64);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 8, 0, 0);
	pair_run(MS);
	pair_expect(&ra, &qa, 2, 0, 8);
	rig_send(&ra, &qa, UNIC_WR_READ, 3, &ma, 0, MTU + 1, mb.iova, mb.stag);
	pair_run(MS);
	pair_expect(&ra, &qa, 3, 0, MTU + 1);
	expect_counts(0, 0, 1);
}

/* The first request of a connection is not seen at its doorbell: it counts whatever it is. */
static void a_read_is_first(void **state)
{
	(void)state;
	up(false);
	rig_send(&ra, &qa, UNIC_WR_READ, 3, &ma, 0, 8, mb.iova, mb.stag);
	pair_run(MS);
	pair_expect(&ra, &qa, 3, 0, 8);
	expect_counts(0, 0, 1);
}

/* Inline data, and data in pieces, are in one packet here. */
static void inline_is_other(void **state)
{
	struct unic_sq_slot *s = NULL;

	(void)state;
	up(false);
	write_alone(2, 8);
	expect_counts(1, 1, 1);
	write_of(7, 0, 8);
	s = &qa.sq[(qa.sq_tail - 1) % RIG_SLOTS];
	s->num_sge = 0;
	s->flags |= UNIC_WR_INLINE;
	s->inline_len = 4;
	pair_run(MS);
	pair_expect(&ra, &qa, 7, 0, 4);
	expect_counts(1, 2, 2);
}

/* While frames are traced, and where they have checksums, none goes the short way. */
static void barred_are_counted(void **state)
{
	(void)state;
	up(false);
	write_alone(2, 8);
	expect_counts(1, 1, 1);
	ra.nic.trace.mask = UNIC_TG_WIRE;
	write_alone(3, 8);
	expect_counts(1, 4, 4);
	rig_recv(&rb, &qb, 1, &mb, 0, 64);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 8, 0, 0);
	pair_run(MS);
	pair_expect(&ra, &qa, 2, 0, 8);
	expect_counts(1, 4, 4);
	up(true);
	write_alone(3, 8);
	expect_counts(0, 0, 3);
}

/* What is not alone is counted nowhere: several requests, or one behind another. */
static void who_is_not_alone(void **state)
{
	(void)state;
	up(false);
	write_alone(1, 8);
	write_of(1, 0, 8);
	write_of(2, 8, 8);
	pair_run(MS);
	expect_counts(0, 0, 1);
	write_of(3, 0, 8);
	pair_rounds(&ra, 1);
	write_of(4, 8, 8); /* the one before it is under way */
	pair_rounds(&ra, 1);
	pair_run(MS);
	expect_counts(1, 0, 1);
	ra.nic.trace.mask = UNIC_TG_WIRE;
	write_of(5, 0, 8);
	pair_rounds(&ra, 1);
	write_of(6, 8, 8);
	pair_rounds(&ra, 1);
	pair_run(MS);
	expect_counts(1, 0, 2);
}

/* Counters outlive a reset, though nobody read them before. */
static void counts_outlive_a_reset(void **state)
{
	(void)state;
	up(false);
	write_alone(3, 8);
	rig_reset(&ra);
	rig_reset(&rb);
	assert_int_equal(shown(&ra, UNIC_C_lone_sent), 2);
	assert_int_equal(shown(&rb, UNIC_C_lone_placed), 2);
	assert_int_equal(ra.nic.qps.roce.lone_sent, 0);
}

/* -------------------------------------------------------- what bars a message */

static uint32_t first_qp; /* of the first frame that A sent */

static void note_first(struct unic_port *port, const uint8_t *frame,
		       uint32_t len, uint32_t flags)
{
	if (!first_qp)
		first_qp = (uint32_t)frame[UNIC_BTH_OFF + 5] << 16 |
			   (uint32_t)frame[UNIC_BTH_OFF + 6] << 8 |
			   frame[UNIC_BTH_OFF + 7];
	fake_deliver(port->peer, frame, len, flags);
}

/* Who posts one request waits behind another that has more to send than fits in a round. */
static void who_waits_is_not_passed(void **state)
{
	struct rig_qp qa2, qb2;
	uint32_t i;

	(void)state;
	up(false);
	rig_qp(&ra, 0, qa.pd, 9, &qa2);
	rig_qp(&rb, 0, qb.pd, 9, &qb2);
	rig_connect(&ra, &qa2, &rb, &qb2);
	write_alone(2, 8);
	for (i = 0; i < RIG_SLOTS; i++)
		rig_send(&ra, &qa2, UNIC_WR_WRITE, i, &ma, 0, 4096, mb.iova,
			 mb.stag);
	pair_rounds(&ra, 1);
	assert_int_not_equal(ra.nic.sched.work, 0);
	first_qp = 0;
	ra.port.on_frame = note_first;
	write_of(7, 0, 8);
	pair_rounds(&ra, 1);
	ra.port.on_frame = NULL;
	assert_int_equal(first_qp, qb2.qpn);
	expect_counts(1, 1, 1);
	pair_run(100 * MS);
	pair_expect(&ra, &qa, 7, 0, 8);
}

/* Of the frames of A, only those whose bit is set arrive; each asks for an acknowledgement. */
static uint32_t arrives;

static void some_arrive(struct unic_port *port, const uint8_t *frame,
			uint32_t len, uint32_t flags)
{
	uint8_t copy[FAKE_FRAME_BYTES];

	memcpy(copy, frame, len);
	copy[UNIC_BTH_OFF + 8] |= 0x80;
	if (arrives & 1)
		fake_deliver(port->peer, copy, len, flags);
	arrives >>= 1;
}

/* The expected WRITE ends the silence behind a NAK, though it comes alone: the next gap is
 * told again. */
static void a_gap_behind_a_repeat(void **state)
{
	(void)state;
	up(false);
	write_alone(2, 8);
	ra.port.on_frame = some_arrive;
	/* the first is lost, the second tells B, the first arrives, the second does not ... */
	arrives = 1u << 1 | 1u << 2;
	write_of(2, 0, 8);
	pair_rounds(&ra, 1);
	write_of(3, 8, 8);
	pair_rounds(&ra, 1);
	pair_rounds(&rb, 1);
	assert_int_equal(rig_count(&rb, tx_naks), 1);
	pair_rounds(&ra, 1);
	assert_int_equal(arrives, 0);
	pair_rounds(&rb, 1);
	pair_rounds(&ra, 1);
	pair_expect(&ra, &qa, 2, 0, 8);
	/* ... and the third tells B again */
	arrives = 1;
	write_of(4, 16, 8);
	pair_rounds(&ra, 1);
	assert_int_equal(arrives, 0);
	pair_rounds(&rb, 1);
	assert_int_equal(rig_count(&rb, tx_naks), 2);
	arrives = ~0u;
	pair_run(MS);
	ra.port.on_frame = NULL;
	pair_expect(&ra, &qa, 3, 0, 8);
	pair_expect(&ra, &qa, 4, 0, 8);
	assert_int_equal(rig_count(&ra, timeouts), 0);
}

/* Frames of A are kept, and those of @keep delivered later. */
static struct {
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t len, flags;
} kept;

static void keep_one(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	(void)port;
	memcpy(kept.frame, frame, len);
	kept.len = len;
	kept.flags = flags;
}

static void put_be(uint32_t at, uint64_t v, uint32_t bytes)
{
	while (bytes--) {
		kept.frame[at + bytes] = (uint8_t)v;
		v >>= 8;
	}
}

static void first_of_two(struct unic_port *port, const uint8_t *frame,
			 uint32_t len, uint32_t flags)
{
	if (arrives & 1)
		fake_deliver(port->peer, frame, len, flags);
	arrives >>= 1;
}

/* A WRITE that comes in the middle of a SEND, with the PSN that is due, is no lone one: the
 * queue pair fails, and nothing is placed. */
static void in_the_middle_of_a_message(void **state)
{
	uint8_t before[8];

	(void)state;
	up(false);
	write_alone(2, 8);
	ra.port.on_frame = keep_one;
	write_of(2, 128, 8);
	pair_rounds(&ra, 1);
	memcpy(before, mb.mem + 128, 8);
	assert_memory_not_equal(before, ma.mem + 128, 8);
	/* the SEND takes the place of the WRITE that was kept, which comes as its second packet */
	up(false);
	write_alone(2, 8);
	rig_recv(&rb, &qb, 1, &mb, 4096, 2 * MTU);
	ra.port.on_frame = first_of_two;
	arrives = 1;
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 2 * MTU, 0, 0);
	pair_rounds(&ra, 1);
	pair_rounds(&rb, 1);
	kept.frame[UNIC_BTH_OFF + 11]++;
	put_be(UNIC_BTH_OFF + 5, qb.qpn, 3);
	put_be(UNIC_EXT_OFF, mb.iova + 128, 8);
	put_be(UNIC_EXT_OFF + 8, mb.stag, 4);
	fake_deliver(&rb.port, kept.frame, kept.len, kept.flags);
	pair_rounds(&rb, 1);
	ra.port.on_frame = NULL;
	assert_memory_equal(mb.mem + 128, before, 8);
	assert_int_equal(rig_count(&rb, tx_naks), 1);
	assert_int_equal(shown(&rb, UNIC_C_lone_placed), 1);
}

/* A queue pair that has failed sends nothing: what is posted to it is flushed. */
static void of_a_queue_pair_that_failed(void **state)
{
	struct unic_qp_ctx *qp;
	uint64_t sent;

	(void)state;
	up(false);
	write_alone(2, 8);
	qp = unic_qp_by_number(&ra.nic.transport, qa.qpn);
	unic_qp_error(&ra.nic.transport, qp, UNIC_WC_LOC_QP_OP_ERR);
	pair_run(MS);
	(void)shown(&ra, UNIC_C_tx_frames);
	sent = rig_count(&ra, tx_frames);
	write_of(7, 0, 8);
	pair_run(MS);
	pair_expect(&ra, &qa, 7, UNIC_WC_WR_FLUSH_ERR, 8);
	expect_counts(1, 1, 1);
	assert_int_equal(rig_count(&ra, tx_frames), sent);
}

/* What a queue pair with a limit sends is charged, so it has its turn like any other. */
static void with_a_limit(void **state)
{
	struct unic_cmd_rate cmd = {
		.proc = unic_to_le32(0),
		.qpn = 0, /* the process */
		.flags = unic_to_le32(UNIC_RATE_SET),
		.rate = unic_to_le64(1000000),
		.burst = unic_to_le32(4096),
	};

	(void)state;
	up(false);
	write_alone(2, 8);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_RATE, &cmd, NULL), 0);
	write_alone(3, 8);
	expect_counts(1, 4, 1);
}

/* While a READ is being answered, and waits for a page of it, a WRITE behind it is placed, but
 * not acknowledged before the READ has its response. */
static void behind_half_a_response(void **state)
{
	struct unic_evt_miss miss;
	uint32_t done;
	struct rig_mr d;

	(void)state;
	up(false);
	write_alone(2, 8);
	assert_int_equal(rig_reg_cached(&rb, qb.pd, 2, UNIC_DEMAND, 0, &d), 0);
	assert_int_equal(rig_fault(&rb, &d, 0, 1, 0, 0, 20, &done), 0);
	rig_send(&ra, &qa, UNIC_WR_READ, 5, &ma, 4096, 8192, d.iova, d.stag);
	pair_run(MS);
	rig_expect(&rb, UNIC_EVT_MISS, &miss);
	assert_int_equal(
		unic_qp_by_number(&rb.nic.transport, qb.qpn)->rsp.rd_active, 1);
	assert_int_equal(rb.nic.sched.work, 0);
	write_of(7, 0, 8);
	pair_run(MS);
	assert_int_equal(shown(&rb, UNIC_C_lone_placed), 1);
	pair_expect_none(&ra, &qa);
	assert_int_equal(rig_fault(&rb, &d, 1, 1, unic_from_le32(miss.seq), 0,
				   21, &done),
			 0);
	pair_run(MS);
	pair_expect(&ra, &qa, 5, 0, 8192);
	pair_expect(&ra, &qa, 7, 0, 8);
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

/* Nothing is written to a completion queue that failed, though there is room. */
static void of_a_queue_that_failed(void **state)
{
	struct unic_cq_ctx *cq;

	(void)state;
	up(false);
	write_alone(2, 8);
	write_of(7, 0, 8);
	pair_rounds(&ra, 1);
	pair_rounds(&rb, 1);
	cq = &ra.nic.cqs.cq[unic_qp_by_number(&ra.nic.transport, qa.qpn)
				    ->send_cq];
	cq->error = UNIC_CQ_BUS;
	pair_run(MS);
	assert_int_equal(cq->tail, qa.cq_ci);
	pair_expect_none(&ra, &qa);
}

/* A request of one packet whose region @r of NIC A waits for a page; taken back meanwhile it
 * completes EVICTED, and holds nothing afterwards. */
static void taken_back_meanwhile(void **state)
{
	struct unic_evt_mr notice;
	struct unic_evt_miss miss;
	struct unic_cmd_mr cmd;
	uint32_t done;
	struct rig_mr d;

	(void)state;
	up(false);
	write_alone(2, 8);
	assert_int_equal(rig_reg_cached(&ra, qa.pd, 2, UNIC_DEMAND, 0, &d), 0);
	assert_int_equal(rig_fault(&ra, &d, 1, 1, 0, 0, 21, &done), 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 9, &d, 0, 8, mb.iova, mb.stag);
	pair_run(MS);
	rig_expect(&ra, UNIC_EVT_MISS, &miss);
	assert_int_equal(ra.nic.mrs.mr[d.mr].holds, 1);
	cmd = (struct unic_cmd_mr){ .mr = unic_to_le32(d.mr),
				    .gen = unic_to_le32(d.gen) };
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	pair_run(MS);
	rig_expect(&ra, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(rig_ack(&ra, &notice), 0);
	pair_run(100 * MS);
	pair_expect(&ra, &qa, 9, UNIC_WC_EVICTED, 8);
	assert_int_equal(ra.nic.mrs.mr[d.mr].holds, 0);
}

/* Woken while the region is closed, and its queue pair not yet told so, it keeps its hold. */
static void woken_between(void **state)
{
	struct unic_qp_ctx *qp;
	struct unic_mr_ctx *mr;
	uint32_t done;
	struct rig_mr d;

	(void)state;
	up(false);
	write_alone(2, 8);
	assert_int_equal(rig_reg_cached(&ra, qa.pd, 2, UNIC_DEMAND, 0, &d), 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 9, &d, 0, 8, mb.iova, mb.stag);
	pair_run(MS);
	qp = unic_qp_by_number(&ra.nic.transport, qa.qpn);
	mr = &ra.nic.mrs.mr[d.mr];
	mr->lock ^= 1;
	unic_requester_filled(&ra.nic.transport,
			      unic_qp_index(&ra.nic.transport, qp));
	assert_int_equal(mr->holds, 1);
	assert_int_equal(qp->sq.next, qp->sq.cur + 1);
	mr->lock ^= 1;
	assert_int_equal(rig_fault(&ra, &d, 0, 1, 0, 0, 20, &done), 0);
	pair_run(MS);
	pair_expect(&ra, &qa, 9, 0, 8);
	assert_int_equal(mr->holds, 0);
}

/* One that was sent, was lost, and finds its page dropped is repeated with its PSN. */
static void dropped_before_its_repeat(void **state)
{
	struct unic_evt_miss miss;
	uint32_t done;
	struct rig_mr d;

	(void)state;
	up(false);
	write_alone(2, 8);
	assert_int_equal(rig_reg_cached(&ra, qa.pd, 2, UNIC_DEMAND, 0, &d), 0);
	assert_int_equal(rig_fault(&ra, &d, 0, 1, 0, 0, 20, &done), 0);
	ra.port.on_frame = some_arrive;
	arrives = 0;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 9, &d, 0, 8, mb.iova, mb.stag);
	pair_rounds(&ra, 2);
	assert_int_equal(rig_pages(&ra, &d, 0, 1, 0, &done), 0);
	ra.port.on_frame = NULL;
	pair_run(20 * MS);
	pair_expect_none(&ra, &qa);
	rig_expect(&ra, UNIC_EVT_MISS, &miss);
	assert_int_equal(rig_fault(&ra, &d, 0, 1, unic_from_le32(miss.seq), 0,
				   20, &done),
			 0);
	pair_run(100 * MS);
	pair_expect(&ra, &qa, 9, 0, 8);
	assert_memory_equal(mb.mem, ra.port.window[0] + 20 * 4096, 8);
	assert_int_equal(ra.nic.mrs.mr[d.mr].holds, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_counted_once),
		cmocka_unit_test(others_are_no_writes_of_a_packet),
		cmocka_unit_test(a_read_is_first),
		cmocka_unit_test(inline_is_other),
		cmocka_unit_test(barred_are_counted),
		cmocka_unit_test(who_is_not_alone),
		cmocka_unit_test(counts_outlive_a_reset),
		cmocka_unit_test(who_waits_is_not_passed),
		cmocka_unit_test(a_gap_behind_a_repeat),
		cmocka_unit_test(in_the_middle_of_a_message),
		cmocka_unit_test(of_a_queue_pair_that_failed),
		cmocka_unit_test(with_a_limit),
		cmocka_unit_test(behind_half_a_response),
		cmocka_unit_test(of_a_queue_that_failed),
		cmocka_unit_test(taken_back_meanwhile),
		cmocka_unit_test(woken_between),
		cmocka_unit_test(dropped_before_its_repeat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
