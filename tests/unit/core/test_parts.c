/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_parts.c - a READ whose responses were lost is asked for in parts, and a peer that is
 * still answering is not given up.
 */
#include "unit.h"

#include "pair.h"
#include "transport/read_parts.h"

#define PAGES	24u
#define BYTES	(PAGES * 4096u)
#define MTU	256u
#define PACKETS (BYTES / MTU)
#define PART	UNIC_READ_PART
#define MS	1000000ull
#define ASKS	64u
#define BTH	42u
#define RETH	(BTH + 12u)

/* What was asked for, in order, and which of the frames of B are lost. */
static struct {
	uint32_t asks, psn[ASKS], len[ASKS];
	uint32_t lose_from, lose_to; /* responses, by packet, once */
	bool lose_asks, lose_first;  /* the response of packet 0, always */
} wire;

static uint32_t be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static uint32_t packet_of(const uint8_t *frame)
{
	return unic_psn_add(be32(frame + BTH + 8) & UNIC_PSN_MASK, -qa.psn);
}

static void take(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	uint32_t k = packet_of(frame);

	if (port == &ra.port && frame[BTH] == UNIC_OP_READ_REQUEST) {
		assert_true(wire.asks < ASKS);
		wire.psn[wire.asks] = k;
		wire.len[wire.asks++] = be32(frame + RETH + 12);
		if (wire.lose_asks)
			return;
	}
	if (port == &rb.port && wire.asks && k == wire.psn[wire.asks - 1])
		assert_true(frame[BTH] == UNIC_OP_READ_RESP_FIRST ||
			    frame[BTH] == UNIC_OP_READ_RESP_ONLY);
	if (port == &rb.port && wire.lose_first && !k)
		return;
	if (port == &rb.port && k >= wire.lose_from && k < wire.lose_to) {
		if (k + 1 == wire.lose_to)
			wire.lose_to = 0;
		return;
	}
	fake_deliver(port->peer, frame, len, flags);
}

/* The responses of these packets, which come late, in order or one of them for ever. */
#define KEPT 65u

static struct {
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t len, flags;
} kept[KEPT];

static void keep_answer(struct unic_port *port, const uint8_t *frame,
			uint32_t len, uint32_t flags)
{
	uint32_t k = packet_of(frame);

	if (port != &rb.port || k >= KEPT)
		return;
	memcpy(kept[k].frame, frame, len);
	kept[k].len = len;
	kept[k].flags = flags;
}

static void deliver_kept(uint32_t k)
{
	fake_deliver(&ra.port, kept[k].frame, kept[k].len, kept[k].flags);
	rig_poll(&ra);
}

static struct unic_qp_ctx *core(struct rig *r, const struct rig_qp *qp)
{
	return unic_qp_by_number(&r->nic.transport, qp->qpn);
}

static int up(void **state)
{
	uint32_t i;

	(void)state;
	memset(&wire, 0, sizeof(wire));
	pair_make(false, PAGES);
	core(&ra, &qa)->mtu_shift = core(&rb, &qb)->mtu_shift = 8;
	ra.port.on_frame = rb.port.on_frame = take;
	for (i = 0; i < BYTES; i++) {
		mb.mem[i] = (uint8_t)(i * 7 + i / 1000);
		ma.mem[i] = (uint8_t)~mb.mem[i];
	}
	return 0;
}

static void post_read(uint64_t wr_id)
{
	rig_send(&ra, &qa, UNIC_WR_READ, wr_id, &ma, 0, BYTES, mb.iova,
		 mb.stag);
}

static void expect_done(uint64_t wr_id)
{
	pair_expect(&ra, &qa, wr_id, UNIC_WC_SUCCESS, BYTES);
	assert_memory_equal(ma.mem, mb.mem, BYTES);
	pair_quiet();
}

/* Each ask but the first is of one part at most, and of no more than up to its end; the next
 * one begins where it ended, or before that, where a response was lost. */
static void expect_parts(uint32_t from)
{
	uint32_t i, at = from, sum = 0;

	assert_int_equal(wire.psn[0], 0);
	assert_int_equal(wire.len[0], BYTES);
	for (i = 1; i < wire.asks; i++) {
		uint32_t n = wire.len[i] / MTU;

		assert_true(wire.psn[i] <= at);
		assert_true(n && n <= PART - wire.psn[i] % PART);
		at = wire.psn[i] + n;
		sum += n;
	}
	assert_int_equal(at, PACKETS);
	assert_true(sum < 2 * PACKETS);
}

static void in_parts(void **state)
{
	(void)state;
	wire.lose_from = 30;
	wire.lose_to = 60;
	post_read(1);
	pair_run(500 * MS);
	expect_done(1);
	expect_parts(PART);
}

/* Nothing came: the first part is of the beginning. */
static void from_the_beginning(void **state)
{
	(void)state;
	wire.lose_to = PACKETS;
	post_read(1);
	pair_run(3000 * MS);
	expect_done(1);
	expect_parts(0);
}

/* The peer never saw the whole: each part is a READ of its own to it. */
static void whole_was_lost(void **state)
{
	(void)state;
	wire.lose_asks = true;
	post_read(1);
	pair_run(MS);
	wire.lose_asks = false;
	assert_int_equal(wire.asks, 1);
	/* ... and of the first part a response is lost */
	wire.lose_from = 50;
	wire.lose_to = 51;
	pair_run(3000 * MS);
	expect_done(1);
	assert_int_equal(wire.len[1], PART * MTU);
	assert_int_equal(wire.psn[2], 50);
	assert_int_equal(wire.len[2], (PART - 50) * MTU);
}

/* What follows the READ waits for its last part, and READs behind it are asked for in
 * parts, too. */
static void two(void **state)
{
	(void)state;
	wire.lose_from = 10;
	wire.lose_to = 11;
	post_read(1);
	post_read(2);
	pair_run(2000 * MS);
	pair_expect(&ra, &qa, 1, UNIC_WC_SUCCESS, BYTES);
	expect_done(2);
}

/* The peer answers for longer than a time-out what it was asked before, of which the first
 * response was lost: it is not given up, and no time-out is counted. */
static void still_answering(void **state)
{
	uint64_t patience = core(&ra, &qa)->timeout_ns;
	uint32_t i;

	(void)state;
	rb.port.on_frame = keep_answer;
	wire.lose_to = 1;
	post_read(1);
	pair_at_once();
	for (i = 1; i < KEPT; i++) {
		pair_run(patience / 2);
		deliver_kept(i);
	}
	assert_int_equal(rig_count(&ra, timeouts), 0);
	assert_int_equal(core(&ra, &qa)->sq.retries, core(&ra, &qa)->retry_cnt);
	rb.port.on_frame = take;
	pair_run(20 * patience); /* and now it is silent */
	assert_true(rig_count(&ra, timeouts));
	expect_done(1);
}

/* A peer that says the same for ever answers nothing. */
static void says_the_same(void **state)
{
	uint64_t patience = core(&ra, &qa)->timeout_ns;
	uint32_t i;

	(void)state;
	rb.port.on_frame = keep_answer;
	post_read(1);
	rig_poll(&ra);
	pair_at_once();
	for (i = 0; i < 64; i++) {
		pair_run(patience / 2);
		deliver_kept(2);
	}
	pair_expect(&ra, &qa, 1, UNIC_WC_RETRY_EXC_ERR, 0);
	pair_quiet();
}

/* The peer answers the second of two READs alone, and at once: each is asked for as often as there are
 * retries, and once more where an answer says that the first was lost; not at each answer. */
static void second_alone(void **state)
{
	uint32_t tries = 1 + core(&ra, &qa)->retry_cnt;

	(void)state;
	wire.lose_first = true;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, MTU, mb.iova, mb.stag);
	post_read(2);
	pair_run(2 * tries * core(&ra, &qa)->timeout_ns);
	pair_expect(&ra, &qa, 1, UNIC_WC_RETRY_EXC_ERR, 0);
	pair_expect(&ra, &qa, 2, UNIC_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(wire.asks, 4 * tries);
	pair_quiet();
}

/* The way to the peer takes no frame: the part waits. */
static void waits_for_a_frame(void **state)
{
	(void)state;
	wire.lose_asks = true;
	post_read(1);
	pair_run(MS);
	wire.lose_asks = false;
	fake_room(&ra.port, fake_path(2), 0);
	pair_run(core(&ra, &qa)->timeout_ns * 3 / 2);
	assert_int_equal(wire.asks, 1);
	assert_true(rig_count(&ra, retransmits));
	fake_room(&ra.port, fake_path(2), FAKE_NEVER_FULL);
	pair_run(500 * MS);
	expect_done(1);
	expect_parts(0);
}

/* A READ that ends with its part: another response that says it is the last is none. */
static void only_the_end_ends(void **state)
{
	struct unic_sq *sq;

	(void)state;
	wire.lose_asks = true;
	post_read(1);
	pair_run(MS);
	sq = &core(&ra, &qa)->sq;
	assert_false(sq->in_parts);
	assert_false(unic_read_parts_is_end(sq, sq->psn + PART - 1));
	pair_run(core(&ra, &qa)->timeout_ns * 3 / 2);
	assert_true(sq->in_parts && wire.asks > 1);
	assert_true(unic_read_parts_is_end(sq, sq->psn - 1));
	assert_false(unic_read_parts_is_end(sq, sq->psn - 2));
	assert_false(unic_read_parts_is_end(sq, sq->psn));
}

/* What was never asked for is not repeated, and a queue pair that waits, or has failed,
 * asks for nothing. */
static void nothing_to_repeat(void **state)
{
	struct unic_qp_ctx *qp = core(&ra, &qa);
	struct unic_sq *sq = &qp->sq;

	(void)state;
	wire.lose_asks = true;
	post_read(1);
	pair_run(MS);
	unic_read_parts_begin(sq); /* behind the READ */
	assert_false(sq->in_parts);
	sq->cur = sq->una; /* as if its frame had waited */
	unic_read_parts_begin(sq);
	assert_false(sq->in_parts);
	unic_requester_seek(sq, sq->psn_una);
	unic_read_parts_begin(sq);
	assert_true(sq->in_parts);
	sq->rnr_wait = true;
	assert_int_equal(unic_read_parts_send(&ra.nic.transport, qp),
			 UNIC_TURN_DONE);
	sq->rnr_wait = false;
	qp->state = UNIC_QPS_ERR;
	assert_int_equal(unic_read_parts_send(&ra.nic.transport, qp),
			 UNIC_TURN_DONE);
	assert_int_equal(wire.asks, 1);
	qp->state = UNIC_QPS_RTS;
	assert_int_equal(unic_read_parts_send(&ra.nic.transport, qp),
			 UNIC_TURN_AGAIN);
	rig_poll(&ra);
	assert_int_equal(wire.asks, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(in_parts, up),
		cmocka_unit_test_setup(from_the_beginning, up),
		cmocka_unit_test_setup(whole_was_lost, up),
		cmocka_unit_test_setup(two, up),
		cmocka_unit_test_setup(still_answering, up),
		cmocka_unit_test_setup(says_the_same, up),
		cmocka_unit_test_setup(second_alone, up),
		cmocka_unit_test_setup(waits_for_a_frame, up),
		cmocka_unit_test_setup(only_the_end_ends, up),
		cmocka_unit_test_setup(nothing_to_repeat, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
