/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_lone.c - messages that are alone: which are sent, placed and completed by
 * fastpath_lone.c, and that each reason to leave them to another way ends as it does
 * without that file. A trace of frames switches it off.
 */
#include "unit.h"

#include "lone_rig.h"
#include "pair.h"
#include "transport/responder_nak.h"
#include "transport/tx.h"

#define MS 1000000ull

/* ------------------------------------------------------------ what is lone */

static void do_one(void)
{
	lone_write(7, 16, 8);
	pair_run(MS);
}

static void one_is_lone(void **state)
{
	(void)state;
	lone_both_ways(do_one, 1, 1);
	assert_int_equal(lone_result.cqes, 1);
	assert_memory_equal(mb.mem + 16, ma.mem + 16, 8);
}

/* Three rounds carry it: sent, placed and acknowledged, completed. */
static void three_rounds_are_enough(void **state)
{
	(void)state;
	lone_warm(false, false);
	lone_write(7, 16, 8);
	pair_rounds(&ra, 1);
	assert_int_equal(rb.port.rx_tail - rb.port.rx_head, 1);
	pair_rounds(&rb, 1);
	assert_int_equal(ra.port.rx_tail - ra.port.rx_head, 1);
	pair_rounds(&ra, 1);
	pair_expect(&ra, &qa, 7, 0, 8);
}

static void do_unsignaled(void)
{
	lone_write(7, 16, 8);
	qa.sq[(qa.sq_tail - 1) % RIG_SLOTS].flags = 0;
	pair_run(MS);
	lone_write(8, 16, 8);
	pair_run(MS);
}

/* No completion is written for one that wants none; the others still are. */
static void unsignaled_completes_nothing(void **state)
{
	(void)state;
	lone_both_ways(do_unsignaled, 2, 2);
	assert_int_equal(lone_result.cqes, 1);
	assert_int_equal(unic_from_le64(lone_result.cqe[0].wr_id), 8);
}

static void do_odd_length(void)
{
	uint32_t i;

	for (i = 0; i < 3; i++) {
		lone_write(i, 16, 7);
		pair_run(MS);
	}
}

/* The first of another length is not like the last; its padding is zeros. */
static void another_length(void **state)
{
	(void)state;
	lone_both_ways(do_odd_length, 2, 3);
	assert_int_equal(lone_result.cqes, 3);
}

static void do_wrap(void)
{
	uint32_t i;

	for (i = 0; i < 3 * RIG_SLOTS; i++) {
		lone_write(i, i % 32, 8);
		pair_run(MS);
		pair_expect(&ra, &qa, i, 0, 8);
	}
}

/* Rings, window and completion queue go round. */
static void rings_go_round(void **state)
{
	(void)state;
	lone_both_ways(do_wrap, 3 * RIG_SLOTS, 3 * RIG_SLOTS);
}

/* ------------------------------------------------------------ what is sent */

static void do_two(void)
{
	lone_write(1, 0, 8);
	lone_write(2, 8, 8);
	pair_run(MS);
}

/* Two requests at once go in a run, and one acknowledgement answers both. */
static void two_are_a_run(void **state)
{
	(void)state;
	lone_both_ways(do_two, 0, 0);
	assert_int_equal(lone_result.cqes, 2);
}

static void do_receive_first(void)
{
	rig_recv(&ra, &qa, 3, &ma, 64, 8);
	do_one();
}

/* A request behind another doorbell is for the scheduler. */
static void one_behind_a_receive(void **state)
{
	(void)state;
	lone_both_ways(do_receive_first, 0, 1);
}

static void do_second_behind(void)
{
	lone_write(1, 0, 8);
	pair_rounds(&ra, 1);
	lone_write(2, 8, 8);
	pair_run(MS);
}

/* A request behind one that is under way is not alone, nor is what answers both. */
static void one_under_way(void **state)
{
	(void)state;
	lone_both_ways(do_second_behind, 1, 0);
	assert_int_equal(lone_result.cqes, 2);
}

static void do_other_page(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		lone_write(i, 4096 + 8 * i, 8);
		pair_run(MS);
	}
}

/* The first access to another page is another way's, on both sides; the next is not. */
static void another_page(void **state)
{
	(void)state;
	lone_both_ways(do_other_page, 1, 1);
}

static void do_over_the_edge(void)
{
	lone_write(1, 4092, 8);
	pair_run(MS);
}

static void two_pages(void **state)
{
	(void)state;
	lone_both_ways(do_over_the_edge, 0, 0);
	assert_memory_equal(mb.mem + 4092, ma.mem + 4092, 8);
}

static void do_wrong_key(void)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, 9, &ma, 0, 8, mb.iova, mb.stag);
	qa.sq[(qa.sq_tail - 1) % RIG_SLOTS].sge[0].lkey =
		unic_to_le32(ma.stag ^ 1);
	pair_run(MS);
}

static void a_wrong_local_key(void **state)
{
	(void)state;
	lone_both_ways(do_wrong_key, 0, 0);
	assert_int_equal(lone_result.cqe[0].status, UNIC_WC_LOC_PROT_ERR);
	assert_int_equal(lone_result.cqe[0].detail, UNIC_WD_STAG);
}

static void do_outside(void)
{
	lone_write(9, PAIR_BYTES - 4, 8);
	pair_run(MS);
}

static void beyond_the_region(void **state)
{
	(void)state;
	lone_both_ways(do_outside, 0, 0);
	assert_int_equal(lone_result.cqe[0].detail, UNIC_WD_BOUNDS);
}

static void do_evicted_here(void)
{
	lone_give_back(&ra, &ma);
	lone_write(9, 0, 8);
	pair_run(MS);
}

/* No byte leaves a region that was taken back (INV-4). */
static void an_evicted_source(void **state)
{
	(void)state;
	lone_both_ways(do_evicted_here, 0, 0);
	assert_int_equal(lone_result.cqe[0].status, UNIC_WC_EVICTED);
}

static void do_no_room(void)
{
	fake_room(&ra.port, fake_path(2), 0);
	lone_write(9, 0, 8);
	pair_run(MS);
	pair_expect_none(&ra, &qa);
	fake_room(&ra.port, fake_path(2), FAKE_NEVER_FULL);
	pair_run(10 * MS);
}

/* It waits in its turn; of its slot there is one copy, which counts. */
static void no_room(void **state)
{
	(void)state;
	lone_both_ways(do_no_room, 0, 1);
	assert_int_equal(lone_result.cqes, 1);
}

static void do_rewritten(void)
{
	fake_room(&ra.port, fake_path(2), 0);
	lone_write(9, 0, 8);
	pair_run(MS);
	qa.sq[(qa.sq_tail - 1) % RIG_SLOTS].sge[0].lkey = unic_to_le32(0);
	fake_room(&ra.port, fake_path(2), FAKE_NEVER_FULL);
	pair_run(10 * MS);
}

/* What the process writes to the slot after it was fetched is not looked at (INV-12). */
static void a_slot_is_read_once(void **state)
{
	(void)state;
	lone_both_ways(do_rewritten, 0, 1);
	assert_int_equal(lone_result.cqe[0].status, 0);
}

static void with_checksums(void **state)
{
	(void)state;
	lone_both_ways_of(true, do_one, 0, 0);
}

/* A region of DEMAND whose page comes later. */
static void a_missing_source(void **state)
{
	struct rig_mr d;
	uint32_t done;

	(void)state;
	lone_warm(false, false);
	assert_int_equal(rig_reg_cached(&ra, qa.pd, 2, UNIC_DEMAND, 0, &d), 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 9, &d, 0, 8, mb.iova, mb.stag);
	pair_run(MS);
	pair_expect_none(&ra, &qa);
	assert_int_equal(ra.nic.mrs.mr[d.mr].holds, 1);
	assert_int_equal(rig_fault(&ra, &d, 0, 1, 0, 0, 20, &done), 0);
	pair_run(MS);
	pair_expect(&ra, &qa, 9, 0, 8);
	assert_memory_equal(mb.mem, ra.port.window[0] + 20 * 4096, 8);
}

/* Nobody is passed: with somebody on a list of the scheduler a request waits, too. */
static void nobody_is_passed(void **state)
{
	struct rig_qp q2;

	(void)state;
	lone_warm(false, false);
	rig_qp(&ra, 0, qa.pd, 9, &q2);
	fake_room(&ra.port, fake_path(2), 0);
	lone_write(1, 0, 8);
	pair_rounds(&ra, 2); /* A waits for room */
	assert_int_not_equal(ra.nic.sched.work, 0);
	fake_room(&ra.port, fake_path(2), FAKE_NEVER_FULL);
	lone_forget(&ra);
	lone_write(2, 8, 8);
	pair_rounds(&ra, 1);
	assert_int_equal(lone_sent(&ra), 0);
	pair_run(10 * MS);
	pair_expect(&ra, &qa, 1, 0, 8);
	pair_expect(&ra, &qa, 2, 0, 8);
}

/* Two queue pairs that are rung together take turns, in the order of the scheduler. */
static void two_queue_pairs_take_turns(void **state)
{
	struct rig_qp qa2, qb2;

	(void)state;
	lone_warm(false, false);
	rig_qp(&ra, 0, qa.pd, 9, &qa2);
	rig_qp(&rb, 0, qb.pd, 9, &qb2);
	rig_connect(&ra, &qa2, &rb, &qb2);
	lone_write(1, 0, 8);
	rig_send(&ra, &qa2, UNIC_WR_WRITE, 2, &ma, 8, 8, mb.iova + 8, mb.stag);
	pair_rounds(&ra, 1);
	assert_int_equal(lone_sent(&ra), 0);
	pair_run(MS);
	pair_expect(&ra, &qa, 1, 0, 8);
	pair_expect(&ra, &qa2, 2, 0, 8);
}

#define ALONE  4u /* queue pairs with one request each */
#define ROUNDS 300u

/* Of the queue pair with the fewest, how many requests complete in ROUNDS rounds if each of
 * ALONE has one under way always, and @busy: another has all it can have. */
static uint32_t fewest_done(bool busy)
{
	struct rig_qp one[ALONE], peer[ALONE];
	uint32_t done[ALONE] = { 0 }, i, round, under_way = 0, least = ROUNDS;
	struct unic_cqe cqe;

	lone_warm(false, false);
	for (i = 0; i < ALONE; i++) {
		rig_qp(&ra, 0, qa.pd, 9 + i, &one[i]);
		rig_qp(&rb, 0, qb.pd, 9 + i, &peer[i]);
		rig_connect(&ra, &one[i], &rb, &peer[i]);
		rig_send(&ra, &one[i], UNIC_WR_WRITE, 0, &ma, 8 * i, 8,
			 mb.iova + 8 * i, mb.stag);
	}
	for (round = 0; round < ROUNDS; round++) {
		for (; busy && under_way < RIG_SLOTS; under_way++)
			lone_write(0, 64, 64);
		pair_rounds(&ra, 1);
		pair_rounds(&rb, 1);
		while (rig_cqe(&ra, &qa, &cqe))
			under_way--;
		for (i = 0; i < ALONE; i++) {
			if (!rig_cqe(&ra, &one[i], &cqe))
				continue;
			assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
			done[i]++;
			rig_send(&ra, &one[i], UNIC_WR_WRITE, 0, &ma, 8 * i, 8,
				 mb.iova + 8 * i, mb.stag);
		}
	}
	for (i = 0; i < ALONE; i++)
		least = done[i] < least ? done[i] : least;
	return least;
}

/* Who has one request at a time gets what it gets without another that has many. */
static void a_share_beside_many(void **state)
{
	uint32_t without = fewest_done(false), beside = fewest_done(true);

	(void)state;
	assert_true(without > ROUNDS / 4);
	assert_true(beside * 10 >= without * 9);
}

/* A command is looked at within some rounds, whatever else there is to do. */
static void a_command_is_not_starved(void **state)
{
	struct unic_driver_page *page =
		(void *)(ra.port.bar + UNIC_BAR_DRIVER_OFF);
	struct unic_cmd_nop cmd = { .hdr = { .opcode = UNIC_CMD_NOP } };
	uint32_t i;

	(void)state;
	lone_warm(false, false);
	cmd.hdr.epoch = unic_to_le32(ra.nic.epoch);
	memcpy(ra.port.bar + UNIC_BAR_CMD_OFF +
		       ra.cmd_tail % UNIC_CMD_ENTRIES * 64,
	       &cmd, 64);
	lone_write(0, 0, 8);
	pair_rounds(&ra, 1); /* it is awake */
	pair_rounds(&rb, 1);
	page->cmd_tail = unic_to_le32(++ra.cmd_tail);
	for (i = 1; i < 6; i++) {
		pair_rounds(&ra, 1); /* has an acknowledgement */
		lone_write(i, 0, 8);
		pair_rounds(&ra, 1);
		pair_rounds(&rb, 1);
	}
	assert_int_equal(ra.nic.mbox.cpl_tail, ra.cpl_head + 1);
}

/* -------------------------------------------------------- what is received */

/* The wire inverts byte @flip.at of the next frame of A, or loses it. */
static struct {
	uint32_t at;
	bool lose, done;
} flip;

static void on_frame(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	uint8_t copy[FAKE_FRAME_BYTES];
	bool hit = !flip.done;

	flip.done = true;
	memcpy(copy, frame, len);
	if (hit && flip.lose)
		return;
	if (hit)
		copy[flip.at] ^= 0x40;
	fake_deliver(port->peer, copy, len, flags);
}

static void do_flip(void)
{
	flip.done = false;
	ra.port.on_frame = on_frame;
	lone_write(7, 16, 8);
	pair_run(200 * MS);
	ra.port.on_frame = NULL;
}

/* Each word of a header counts: EtherType, addresses, ports, opcode, queue pair, PSN, the
 * address, key and length of the RETH. */
static void headers_that_differ(void **state)
{
	static const uint32_t at[] = { 12, 14, 26, 30, 36, 42, 47, 51,
				       53, 54, 58, 61, 62, 65, 66, 69 };
	uint32_t i;

	(void)state;
	flip.lose = false;
	for (i = 0; i < sizeof(at) / sizeof(*at); i++) {
		flip.at = at[i];
		lone_warm(false, true);
		do_flip();
		lone_take(&lone_by_runs);
		lone_warm(false, false);
		do_flip();
		lone_take(&lone_result);
		assert_int_equal(lone_result.cqes, lone_by_runs.cqes);
		assert_memory_equal(lone_result.cqe, lone_by_runs.cqe,
				    sizeof(lone_result.cqe));
		assert_memory_equal(lone_result.bytes_b, lone_by_runs.bytes_b,
				    64);
		assert_memory_equal(lone_result.count_b, lone_by_runs.count_b,
				    sizeof(lone_result.count_b));
	}
}

/* One that was lost is asked for again, and the one behind it is not placed before. */
static uint32_t ack_flags;

static void look_at_acks(struct unic_port *port, const uint8_t *frame,
			 uint32_t len, uint32_t flags)
{
	if (frame[42] == UNIC_OP_ACK)
		ack_flags = flags;
	fake_deliver(port->peer, frame, len, flags);
}

/* A link that wants checksums in its frames gets them in an ACK at once, too. */
static void an_acknowledgement_has_its_checksum(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		lone_warm(false, false);
		rb.port.on_frame = look_at_acks;
		rb.nic.link.icrc_offload = i;
		ack_flags = 0;
		lone_write(2, 0, 8);
		pair_run(MS);
		pair_expect(&ra, &qa, 2, 0, 8);
		assert_int_equal(ack_flags & UNIC_FRAME_NO_ICRC,
				 i ? UNIC_FRAME_NO_ICRC : 0);
	}
}

static void one_is_lost(void **state)
{
	(void)state;
	flip.lose = true;
	lone_both_ways(do_flip, 1, 1);
	assert_int_equal(lone_result.cqes, 1);
}

static void do_lose_twice(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		do_flip();
		pair_run(MS);
		flip.done = false;
		ra.port.on_frame = on_frame;
		lone_write(i, 0, 8);
		pair_rounds(&ra, 1); /* is lost */
		ra.port.on_frame = NULL;
		lone_write(i + 8, 8, 8);
		pair_run(200 * MS);
	}
}

/* Each gap is answered by a NAK of its own. */
static void gaps_are_told(void **state)
{
	(void)state;
	flip.lose = true;
	lone_warm(false, true);
	do_lose_twice();
	lone_take(&lone_by_runs);
	lone_warm(false, false);
	do_lose_twice();
	lone_take(&lone_result);
	assert_int_equal(lone_by_runs.count_b[UNIC_C_tx_naks], 2);
	assert_int_equal(lone_result.count_b[UNIC_C_tx_naks], 2);
	assert_int_equal(lone_result.count_a[UNIC_C_timeouts],
			 lone_by_runs.count_a[UNIC_C_timeouts]);
}

/* A READ that waits for a page is answered before the WRITE behind it. */
static void an_acknowledgement_behind_a_read(void **state)
{
	struct rig_mr d;
	uint32_t done;

	(void)state;
	lone_warm(false, false);
	assert_int_equal(rig_reg_cached(&rb, qb.pd, 2, UNIC_DEMAND, 0, &d), 0);
	rig_send(&ra, &qa, UNIC_WR_READ, 5, &ma, 64, 8, d.iova, d.stag);
	pair_run(MS);
	lone_write(7, 16, 8);
	pair_run(MS);
	assert_int_equal(lone_placed(&rb), 0);
	pair_expect_none(&ra, &qa);
	assert_int_equal(rig_fault(&rb, &d, 0, 1, 0, 0, 20, &done), 0);
	pair_run(MS);
	pair_expect(&ra, &qa, 5, 0, 8);
	pair_expect(&ra, &qa, 7, 0, 8);
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

static uint32_t to_lose;

static void lose_some(struct unic_port *port, const uint8_t *frame,
		      uint32_t len, uint32_t flags)
{
	if (to_lose)
		to_lose--;
	else
		fake_deliver(port->peer, frame, len, flags);
}

/* A lone request is repeated after the timeout, however long the timer was for that before
 * it. */
static void a_repeat_is_not_late(void **state)
{
	struct unic_qp_ctx *qp;
	uint64_t t;

	(void)state;
	lone_warm(false, false);
	qp = unic_qp_by_number(&ra.nic.transport, qa.qpn);
	t = qp->timeout_ns;
	ra.port.on_frame = lose_some;
	to_lose = 3;
	lone_write(1, 0, 8);
	pair_run(30 * t);
	pair_expect(&ra, &qa, 1, 0, 8);
	assert_int_equal(rig_count(&ra, timeouts), 3);
	to_lose = 1;
	lone_write(2, 0, 8);
	pair_run(t / 2);
	assert_int_equal(rig_count(&ra, timeouts), 3);
	pair_run(t);
	assert_int_equal(rig_count(&ra, timeouts), 4);
	pair_expect(&ra, &qa, 2, 0, 8);
	ra.port.on_frame = NULL;
}

/* ... and not before, though the timer of the one before it runs on. */
static void a_repeat_is_not_early(void **state)
{
	uint64_t t;

	(void)state;
	lone_warm(false, false);
	t = unic_qp_by_number(&ra.nic.transport, qa.qpn)->timeout_ns;
	ra.port.on_frame = lose_some;
	lone_write(1, 0, 8);
	pair_run(3 * t / 4);
	pair_expect(&ra, &qa, 1, 0, 8);
	to_lose = 1;
	lone_write(2, 0, 8);
	pair_run(t / 2);
	assert_int_equal(to_lose, 0);
	assert_int_equal(rig_count(&ra, timeouts), 0);
	pair_run(t);
	assert_int_equal(rig_count(&ra, timeouts), 1);
	pair_expect(&ra, &qa, 2, 0, 8);
	ra.port.on_frame = NULL;
}

/* ... or however late that timer is looked at: it counts for this one, too, if it is due. */
static void a_repeat_of_a_late_look(void **state)
{
	uint64_t t;

	(void)state;
	lone_warm(false, false);
	t = unic_qp_by_number(&ra.nic.transport, qa.qpn)->timeout_ns;
	ra.port.on_frame = lose_some;
	to_lose = 1;
	lone_write(2, 0, 8);
	pair_rounds(&ra, 1);
	assert_int_equal(to_lose, 0);
	ra.port.now_ns += 2 * t;
	pair_rounds(&ra, 8);
	assert_int_equal(rig_count(&ra, timeouts), 1);
	pair_run(MS);
	pair_expect(&ra, &qa, 2, 0, 8);
	ra.port.on_frame = NULL;
}

static uint32_t to_change;

/* A WRITE does not ask to be acknowledged. */
static void ask_for_nothing(struct unic_port *port, const uint8_t *frame,
			    uint32_t len, uint32_t flags)
{
	uint8_t changed[256];

	memcpy(changed, frame, len);
	if (to_change) {
		to_change--;
		changed[UNIC_BTH_OFF + 8] &= 0x7f;
	}
	fake_deliver(port->peer, changed, len, flags);
}

static void do_unasked(void)
{
	ra.port.on_frame = ask_for_nothing;
	to_change = 1;
	lone_write(9, 8, 8);
	pair_run(100 * MS);
	ra.port.on_frame = NULL;
}

/* It is placed, and acknowledged when its peer asks. */
static void one_that_asks_for_nothing(void **state)
{
	(void)state;
	lone_both_ways(do_unasked, 1, 0);
	assert_int_equal(lone_result.cqes, 1);
	assert_int_equal(lone_result.count_a[UNIC_C_timeouts], 1);
}

static void do_evicted_there(void)
{
	lone_give_back(&rb, &mb);
	lone_write(9, 0, 8);
	pair_run(10 * MS);
}

/* No byte is written to a region that was taken back (INV-4). */
static void an_evicted_target(void **state)
{
	(void)state;
	lone_both_ways(do_evicted_there, 1, 0);
	assert_int_not_equal(lone_result.cqe[0].status, 0);
}

static void do_wrong_rkey(void)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, 9, &ma, 8, 8, mb.iova, mb.stag ^ 1);
	pair_run(10 * MS);
}

static void a_wrong_remote_key(void **state)
{
	(void)state;
	lone_both_ways(do_wrong_rkey, 1, 0);
	assert_int_equal(lone_result.cqe[0].status, UNIC_WC_REM_ACCESS_ERR);
}

static void do_not_granted(void)
{
	rb.nic.mrs.mr[mb.mr].rights &= (uint8_t)~UNIC_MR_REMOTE_WRITE;
	lone_write(9, 8, 8);
	pair_run(10 * MS);
}

static void without_the_right(void **state)
{
	(void)state;
	lone_both_ways(do_not_granted, 1, 0);
	assert_int_equal(lone_result.cqe[0].status, UNIC_WC_REM_ACCESS_ERR);
}

static void do_no_room_back(void)
{
	fake_room(&rb.port, fake_path(1), 0);
	lone_write(9, 0, 8);
	pair_run(MS);
	pair_expect_none(&ra, &qa);
	fake_room(&rb.port, fake_path(1), FAKE_NEVER_FULL);
	pair_run(10 * MS);
}

/* An acknowledgement without room is owed, and sent once. */
static void an_acknowledgement_waits(void **state)
{
	(void)state;
	lone_warm(false, false);
	do_no_room_back();
	pair_expect(&ra, &qa, 9, 0, 8);
	unic_roce_count(&rb.nic.transport);
	assert_int_equal(rig_count(&rb, tx_acks), 3);
}

/* While somebody waits to send, an acknowledgement waits in its turn. */
static void an_acknowledgement_passes_nobody(void **state)
{
	(void)state;
	lone_warm(false, false);
	fake_room(&rb.port, fake_path(1), 0);
	rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &mb, 0, 8, ma.iova, ma.stag);
	pair_rounds(&rb, 2);
	assert_int_not_equal(rb.nic.sched.work, 0);
	lone_write(9, 0, 8);
	pair_rounds(&ra, 1);
	pair_rounds(&rb, 1);
	assert_true(rb.nic.qps
			    .qp[unic_qp_by_number(&rb.nic.transport, qb.qpn) -
				rb.nic.qps.qp]
			    .rsp.ack);
	fake_room(&rb.port, fake_path(1), FAKE_NEVER_FULL);
	pair_run(10 * MS);
	pair_expect(&ra, &qa, 9, 0, 8);
	pair_expect(&rb, &qb, 1, 0, 8);
}

/* ------------------------------------------------------ what is completed */

static void do_overflow(void)
{
	uint32_t i;

	for (i = 0; i < RIG_SLOTS + 1; i++) {
		lone_write(i, 0, 8);
		pair_run(MS);
	}
}

/* A completion queue that nobody reads fails as ever (INV-10). */
static void a_full_completion_queue(void **state)
{
	(void)state;
	lone_warm(false, true);
	do_overflow();
	lone_take(&lone_by_runs);
	lone_warm(false, false);
	do_overflow();
	lone_take(&lone_result);
	assert_int_equal(lone_by_runs.count_a[UNIC_C_cq_overflows], 1);
	assert_memory_equal(lone_result.count_a, lone_by_runs.count_a,
			    sizeof(lone_result.count_a));
}

static void do_armed(void)
{
	rig_ring(&ra, 0, UNIC_DB_ARM, qa.row, qa.cq_ci);
	pair_run(MS);
	lone_write(7, 0, 8);
	pair_run(MS);
}

static void an_armed_queue_is_told(void **state)
{
	(void)state;
	lone_both_ways(do_armed, 1, 1);
	assert_int_equal(lone_result.count_a[UNIC_C_cq_events], 1);
}

static void do_arm_with_it(void)
{
	rig_ring(&ra, 0, UNIC_DB_ARM, qa.row, qa.cq_ci);
	lone_write(7, 0, 8);
	pair_run(MS);
	lone_write(8, 0, 8);
	rig_ring(&ra, 0, UNIC_DB_ARM, qa.row, qa.cq_ci + 1);
	pair_run(MS);
	rig_ring(&ra, 0, UNIC_DB_ARM, qa.row, qa.cq_ci + 1);
	lone_write(9, 0, 8);
	rig_ring(&ra, 0, UNIC_DB_ARM, qa.row, qa.cq_ci + 2);
	pair_run(MS);
}

/* Who sleeps until its request completes rings for that in the same round: before it, behind
 * it, or both. */
static void armed_with_it(void **state)
{
	(void)state;
	lone_both_ways(do_arm_with_it, 3, 3);
	assert_int_equal(lone_result.cqes, 3);
	assert_int_equal(lone_result.count_a[UNIC_C_cq_events], 3);
}

static void do_arm_receive(void)
{
	rig_ring(&ra, 0, UNIC_DB_ARM, qa.row, qa.cq_ci);
	do_receive_first();
}

/* The armed completion queue is passed over, the receive is not. */
static void one_behind_an_armed_receive(void **state)
{
	(void)state;
	lone_both_ways(do_arm_receive, 0, 1);
	assert_int_equal(lone_result.count_a[UNIC_C_cq_events], 1);
}

static void do_read_first(void)
{
	rig_send(&ra, &qa, UNIC_WR_READ, 5, &ma, 64, 8, mb.iova, mb.stag);
	pair_run(MS);
	lone_write(7, 16, 8);
	pair_run(MS);
}

/* A READ is completed by its response alone. */
static void a_read_before_it(void **state)
{
	(void)state;
	lone_both_ways(do_read_first, 2, 1);
	assert_int_equal(lone_result.cqes, 2);
}

/* An acknowledgement of a READ acknowledges nothing. */
static void a_read_is_not_acknowledged(void **state)
{
	struct unic_qp_ctx *qp;

	(void)state;
	lone_warm(false, false);
	qp = unic_qp_by_number(&rb.nic.transport, qb.qpn);
	rig_send(&ra, &qa, UNIC_WR_READ, 5, &ma, 64, 8, mb.iova, mb.stag);
	pair_rounds(&ra, 1);
	rb.port.rx_head = rb.port.rx_tail; /* the request is lost ... */
	rb.port.rx_done = rb.port.rx_tail;
	qp->rsp.psn = unic_psn_add(qp->rsp.psn, 1);
	unic_responder_owe_ack(&rb.nic.transport, qp); /* and B lies */
	pair_rounds(&rb, 1);
	pair_rounds(&ra, 1);
	pair_expect_none(&ra, &qa);
	assert_int_equal(lone_sent(&ra), 1);
}

static void do_posted_behind(void)
{
	lone_write(1, 0, 8);
	pair_rounds(&ra, 1);
	pair_rounds(&rb, 1);
	lone_write(2, 8, 8); /* before the acknowledgement is looked at */
	pair_run(MS);
}

static void one_posted_meanwhile(void **state)
{
	(void)state;
	lone_both_ways(do_posted_behind, 1, 2);
	assert_int_equal(lone_result.cqes, 2);
}

/* A memory operation waits until all before it is acknowledged: then it has its turn. */
static void one_that_waits_for_it(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	lone_warm(false, false);
	lone_write(1, 0, 8);
	pair_rounds(&ra, 1);
	rig_send(&ra, &qa, UNIC_WR_LOCAL_INV, 2, &ma, 0, 0, 0, ma.stag ^ 1);
	pair_rounds(&ra, 1);
	pair_run(10 * MS);
	pair_expect(&ra, &qa, 1, 0, 8);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_is_lone),
		cmocka_unit_test(three_rounds_are_enough),
		cmocka_unit_test(unsignaled_completes_nothing),
		cmocka_unit_test(another_length),
		cmocka_unit_test(rings_go_round),
		cmocka_unit_test(two_are_a_run),
		cmocka_unit_test(one_behind_a_receive),
		cmocka_unit_test(one_under_way),
		cmocka_unit_test(another_page),
		cmocka_unit_test(two_pages),
		cmocka_unit_test(a_wrong_local_key),
		cmocka_unit_test(beyond_the_region),
		cmocka_unit_test(an_evicted_source),
		cmocka_unit_test(no_room),
		cmocka_unit_test(a_slot_is_read_once),
		cmocka_unit_test(with_checksums),
		cmocka_unit_test(a_missing_source),
		cmocka_unit_test(nobody_is_passed),
		cmocka_unit_test(two_queue_pairs_take_turns),
		cmocka_unit_test(one_behind_an_armed_receive),
		cmocka_unit_test(a_share_beside_many),
		cmocka_unit_test(a_command_is_not_starved),
		cmocka_unit_test(headers_that_differ),
		cmocka_unit_test(one_is_lost),
		cmocka_unit_test(an_acknowledgement_has_its_checksum),
		cmocka_unit_test(gaps_are_told),
		cmocka_unit_test(a_repeat_is_not_late),
		cmocka_unit_test(a_repeat_is_not_early),
		cmocka_unit_test(a_repeat_of_a_late_look),
		cmocka_unit_test(one_that_asks_for_nothing),
		cmocka_unit_test(an_acknowledgement_behind_a_read),
		cmocka_unit_test(an_evicted_target),
		cmocka_unit_test(a_wrong_remote_key),
		cmocka_unit_test(without_the_right),
		cmocka_unit_test(an_acknowledgement_waits),
		cmocka_unit_test(an_acknowledgement_passes_nobody),
		cmocka_unit_test(a_full_completion_queue),
		cmocka_unit_test(an_armed_queue_is_told),
		cmocka_unit_test(armed_with_it),
		cmocka_unit_test(a_read_before_it),
		cmocka_unit_test(a_read_is_not_acknowledged),
		cmocka_unit_test(one_posted_meanwhile),
		cmocka_unit_test(one_that_waits_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
