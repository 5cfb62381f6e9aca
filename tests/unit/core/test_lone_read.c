/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_lone_read.c - READs of one packet that are alone: asked for, answered and completed the
 * short way (fastpath_lone.c), and each reason to leave them to another way.
 */
#include "unit.h"

#include "lone_rig.h"
#include "transport/responder_nak.h"
#include "transport/sq.h"

#define MS  1000000ull
#define MTU 1024u

static void read_of(uint64_t id, uint32_t from, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_READ, id, &ma, 16, len, mb.iova + from,
		 mb.stag);
}

static void read_alone(uint64_t id, uint32_t from, uint32_t len)
{
	read_of(id, from, len);
	pair_run(MS);
}

static struct unic_sq_slot *last_request(void)
{
	return &qa.sq[(qa.sq_tail - 1) % RIG_SLOTS];
}

static struct unic_qp_ctx *qp_of(struct rig *r, const struct rig_qp *q)
{
	return unic_qp_by_number(&r->nic.transport, q->qpn);
}

static void do_some(void)
{
	read_alone(1, 64, 8);
	read_alone(2, 96, 8);
	read_alone(3, 80, 7);
}

/* Asked for and completed by A; B, which places nothing, sends the bytes. */
static void some_are_lone(void **state)
{
	(void)state;
	lone_both_ways(do_some, 3, 0);
	assert_int_equal(lone_result.cqes, 3);
	assert_int_equal(lone_result.cqe[0].opcode, UNIC_WC_READ);
	assert_memory_equal(ma.mem + 16, mb.mem + 80, 7);
	assert_memory_equal(ma.mem + 23, mb.mem + 103, 1);
}

/* Three rounds carry it: asked for, answered, completed. */
static void three_rounds_are_enough(void **state)
{
	(void)state;
	lone_warm(false, false);
	read_of(7, 64, 8);
	pair_rounds(&ra, 1);
	assert_int_equal(rb.port.rx_tail - rb.port.rx_head, 1);
	pair_rounds(&rb, 1);
	assert_int_equal(ra.port.rx_tail - ra.port.rx_head, 1);
	pair_rounds(&ra, 1);
	pair_expect(&ra, &qa, 7, 0, 8);
	assert_memory_equal(ma.mem + 16, mb.mem + 64, 8);
}

static void do_mixed(void)
{
	uint32_t i;

	for (i = 0; i < 4; i++) {
		if (i % 2)
			lone_write(i, 16, 8);
		else
			read_of(i, 64, 8);
		pair_run(MS);
	}
}

/* WRITEs and READs in turns find each other's headers changed, and nothing else. */
static void beside_writes(void **state)
{
	(void)state;
	lone_both_ways(do_mixed, 4, 2);
	assert_int_equal(lone_result.cqes, 4);
}

static void rings_go_round(void **state)
{
	uint32_t i;

	(void)state;
	lone_warm(false, false);
	for (i = 0; i < 3 * RIG_SLOTS; i++) {
		mb.mem[64] = (uint8_t)i;
		read_alone(i, 64, 8);
		pair_expect(&ra, &qa, i, 0, 8);
		assert_int_equal(ma.mem[16], (uint8_t)i);
	}
	assert_int_equal(lone_sent(&ra), 3 * RIG_SLOTS);
	pair_quiet();
}

/* --------------------------------------------------------- what is no such */

static void do_nothing(void)
{
	read_alone(1, 64, 0);
}

static void do_long(void)
{
	read_alone(1, 0, MTU + 1);
}

static void do_full_packet(void)
{
	read_alone(1, 0, MTU);
}

/* One packet is from one byte to a full one. */
static void lengths(void **state)
{
	(void)state;
	lone_both_ways(do_nothing, 0, 0);
	lone_both_ways(do_long, 0, 0);
	lone_both_ways(do_full_packet, 1, 0);
	assert_memory_equal(ma.mem + 16, mb.mem, MTU);
}

static void do_fence(void)
{
	read_of(1, 64, 8);
	last_request()->flags |= UNIC_WR_FENCE;
	pair_run(MS);
}

static void do_two_buffers(void)
{
	read_of(1, 64, 8);
	last_request()->num_sge = 2;
	last_request()->sge[1] = last_request()->sge[0];
	pair_run(MS);
}

static void do_control(void)
{
	read_of(1, 64, 8);
	last_request()->ctrl_len = unic_to_le32(4);
	pair_run(MS);
}

static void another_form(void **state)
{
	(void)state;
	lone_both_ways(do_fence, 0, 0);
	lone_both_ways(do_two_buffers, 0, 0);
	lone_both_ways(do_control, 0, 0);
	assert_int_equal(lone_result.cqe[0].status, UNIC_WC_LOC_QP_OP_ERR);
}

static void do_no_reads(void)
{
	qp_of(&ra, &qa)->max_rd = 0;
	read_alone(1, 64, 8);
}

static void without_leave_to_read(void **state)
{
	(void)state;
	lone_both_ways(do_no_reads, 0, 0);
	assert_int_equal(lone_result.cqe[0].status, UNIC_WC_LOC_QP_OP_ERR);
}

static void do_wrong_lkey(void)
{
	read_of(1, 64, 8);
	last_request()->sge[0].lkey = unic_to_le32(ma.stag ^ 1);
	pair_run(MS);
}

static void do_read_only(void)
{
	struct unic_mr_ctx *mr = &ra.nic.mrs.mr[ma.mr];

	mr->rights &= (uint8_t)~UNIC_MR_LOCAL_WRITE;
	read_alone(1, 64, 8);
	mr->rights |= UNIC_MR_LOCAL_WRITE;
}

/* Where the bytes go must be the process's to write. */
static void a_wrong_buffer(void **state)
{
	(void)state;
	lone_both_ways(do_wrong_lkey, 0, 0);
	assert_int_equal(lone_result.cqe[0].status, UNIC_WC_LOC_PROT_ERR);
	lone_both_ways(do_read_only, 0, 0);
	assert_int_equal(lone_result.cqe[0].status, UNIC_WC_LOC_PROT_ERR);
}

/* --------------------------------------------------------- what is answered */

static void do_wrong_rkey(void)
{
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 16, 8, mb.iova, mb.stag ^ 1);
	pair_run(MS);
}

static void do_outside(void)
{
	read_alone(1, PAIR_BYTES - 4, 8);
}

static void do_no_right(void)
{
	struct unic_mr_ctx *mr = &rb.nic.mrs.mr[mb.mr];

	mr->rights &= (uint8_t)~UNIC_MR_REMOTE_READ;
	read_alone(1, 64, 8);
	mr->rights |= UNIC_MR_REMOTE_READ;
}

static void do_no_right_here(void)
{
	qp_of(&rb, &qb)->rights &= (uint8_t)~UNIC_MR_REMOTE_READ;
	read_alone(1, 64, 8);
}

static void do_no_leave(void)
{
	qp_of(&rb, &qb)->rsp.max_rd = 0;
	read_alone(1, 64, 8);
}

/* Each check of the other way refuses here, too, and no byte leaves. */
static void what_is_refused(void **state)
{
	void (*const cases[])(void) = { do_wrong_rkey, do_outside, do_no_right,
					do_no_right_here };
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		lone_both_ways(cases[i], 1, 0);
		assert_int_equal(lone_result.cqe[0].status,
				 UNIC_WC_REM_ACCESS_ERR);
	}
	lone_both_ways(do_no_leave, 1, 0);
	assert_int_equal(lone_result.cqe[0].status, UNIC_WC_REM_INV_REQ_ERR);
}

static void do_behind_an_ack(void)
{
	read_of(1, 64, 8);
	pair_rounds(&ra, 1);
	unic_responder_owe_ack(&rb.nic.transport, qp_of(&rb, &qb));
	pair_run(MS);
}

static void behind_what_is_owed(void **state)
{
	(void)state;
	lone_both_ways(do_behind_an_ack, 1, 0);
	assert_int_equal(lone_result.cqes, 1);
}

static void do_after_a_nak(void)
{
	qp_of(&rb, &qb)->rsp.nak_sent = true;
	read_alone(1, 64, 8);
	assert_false(qp_of(&rb, &qb)->rsp.nak_sent);
}

/* What was missing has come: the next gap is told again. */
static void behind_a_gap(void **state)
{
	(void)state;
	lone_both_ways(do_after_a_nak, 1, 0);
}

/* Bytes of the first frame that waits for @r. */
static const uint8_t *first_frame(const struct rig *r)
{
	assert_true(r->port.rx_tail != r->port.rx_head);
	return r->port.rx[r->port.rx_head % FAKE_FRAMES].bytes;
}

#define RESPONSE_BYTES 70u /* headers, AETH, 8 bytes, ICRC */

static uint8_t *frame_for(struct rig *r)
{
	return (uint8_t *)(uintptr_t)first_frame(r);
}

/* Why a READ is left to the other way, by what B finds. */
enum odd {
	ODD_PAD,
	ODD_PSN,
	ODD_MESSAGE,
	ODD_ICRC,
	ODD_ROOM,
	ODDS
};

static void make_odd(enum odd odd)
{
	struct unic_qp_ctx *b = qp_of(&rb, &qb);

	if (odd == ODD_PAD)
		frame_for(&rb)[UNIC_BTH_OFF + 1] |= 1u << UNIC_BTH_PAD_SHIFT;
	else if (odd == ODD_PSN)
		b->rsp.psn = unic_psn_add(b->rsp.psn, 1);
	else if (odd == ODD_MESSAGE)
		b->rsp.msg.kind = UNIC_MSG_WRITE;
	else if (odd == ODD_ICRC)
		rb.nic.link.icrc_offload = false;
	else
		fake_room(&rb.port, fake_path(1), 0);
}

/* None of them is remembered as answered. */
static void odd_questions(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < ODDS; i++) {
		lone_warm(false, false);
		read_of(1, 64, 8);
		pair_rounds(&ra, 1);
		make_odd(i);
		pair_rounds(&rb, 1);
		assert_int_equal(qp_of(&rb, &qb)->rsp.rd_next,
				 i == ODD_ICRC || i == ODD_ROOM);
		assert_int_equal(qp_of(&rb, &qb)->rsp.rd_active, i == ODD_ROOM);
		fake_room(&rb.port, fake_path(1), FAKE_NEVER_FULL);
	}
}

static void do_no_room(void)
{
	fake_room(&ra.port, fake_path(2), 0);
	read_alone(1, 64, 8);
	fake_room(&ra.port, fake_path(2), FAKE_NEVER_FULL);
	pair_run(MS);
}

static void no_room(void **state)
{
	(void)state;
	lone_both_ways(do_no_room, 0, 0);
	assert_int_equal(lone_result.cqes, 1);
}

/* Question and answer are the frames of the other way. */
static void the_same_frames(void **state)
{
	uint8_t asked[2][RESPONSE_BYTES], said[2][RESPONSE_BYTES];
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		lone_warm(false, i);
		read_of(1, 64, 8);
		pair_rounds(&ra, 1);
		memcpy(asked[i], first_frame(&rb), RESPONSE_BYTES);
		pair_rounds(&rb, 2);
		memcpy(said[i], first_frame(&ra), RESPONSE_BYTES);
		assert_int_equal(lone_sent(&ra), !i);
	}
	assert_memory_equal(asked[0], asked[1], RESPONSE_BYTES);
	assert_memory_equal(said[0], said[1], RESPONSE_BYTES);
}

static void do_limited(void)
{
	struct unic_cmd_rate cmd = {
		.proc = unic_to_le32(0),
		.flags = unic_to_le32(UNIC_RATE_SET),
		.rate = unic_to_le64(1000),
		.burst = unic_to_le32(4096),
	};
	uint32_t i;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_RATE, &cmd, NULL), 0);
	for (i = 0; i < 8; i++)
		read_alone(i, 0, MTU);
}

/* Answers of a process that may not send so much wait. */
static void a_limit(void **state)
{
	(void)state;
	lone_warm(false, false);
	do_limited();
	lone_take(&lone_result);
	assert_in_range(lone_result.cqes, 1, 3);
}

/* The place of an atomic operation is a READ's in its turn. */
static void in_the_place_of_an_atomic(void **state)
{
	uint32_t i;

	(void)state;
	lone_warm(false, false);
	for (i = 0; i < UNIC_QP_READS; i++) {
		rig_send(&ra, &qa, UNIC_WR_FETCH_ADD, i, &ma, 16, 8,
			 mb.iova + 64, mb.stag);
		pair_run(MS);
		pair_expect(&ra, &qa, i, 0, 8);
	}
	read_of(99, 64, 8);
	pair_rounds(&ra, 1);
	pair_rounds(&rb, 1);
	ra.port.rx_head = ra.port.rx_tail; /* the response is lost */
	ra.port.rx_done = ra.port.rx_tail;
	pair_run(1000 * MS);
	pair_expect(&ra, &qa, 99, 0, 8);
	assert_memory_equal(ma.mem + 16, mb.mem + 64, 8);
}

/* A READ that was answered the short way is answered again when it comes again, with what is
 * there by then, and another range under its PSN is not. */
static void it_is_remembered(void **state)
{
	struct unic_qp_ctx *b;

	(void)state;
	lone_warm(false, false);
	b = qp_of(&rb, &qb);
	read_of(1, 64, 8);
	pair_rounds(&ra, 1);
	pair_rounds(&rb, 1);
	ra.port.rx_head = ra.port.rx_tail; /* the response is lost */
	ra.port.rx_done = ra.port.rx_tail;
	mb.mem[64] ^= 0xff;
	pair_run(1000 * MS);
	pair_expect(&ra, &qa, 1, 0, 8);
	assert_memory_equal(ma.mem + 16, mb.mem + 64, 8);
	assert_int_equal(rig_count(&rb, rx_duplicate), 1);
	assert_int_equal(b->rsp.rd_active, 0);
	pair_quiet();
}

/* ------------------------------------------------------- what is completed */

/* A READ of 8 bytes is answered, and A has not looked yet. */
static struct unic_sq *answered(void)
{
	lone_warm(false, false);
	read_of(1, 64, 8);
	pair_rounds(&ra, 1);
	pair_rounds(&rb, 1);
	return &qp_of(&ra, &qa)->sq;
}

/* A peer answers with more or less than was asked for, or an atomic operation by a READ's
 * response: nothing is placed. */
static void answers_to_another_question(void **state)
{
	uint8_t was[8];
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct unic_sq *sq = answered();

		memcpy(was, ma.mem + 16, 8);
		mb.mem[64] ^= 0xff;
		if (i < 2)
			unic_sq_wr(sq, sq->una)->len = i ? 7 : 9;
		else
			unic_sq_slot(sq, sq->una)->opcode = UNIC_WR_FETCH_ADD;
		pair_rounds(&ra, 1);
		pair_expect_none(&ra, &qa);
		assert_memory_equal(ma.mem + 16, was, 8);
	}
}

/* A response that is no acknowledgement, and one behind retries for want of a receive, which
 * are counted anew by the other way. */
static void answers_after_trouble(void **state)
{
	struct unic_sq *sq = answered();

	(void)state;
	frame_for(&ra)[UNIC_EXT_OFF] = UNIC_AETH_NAK;
	pair_rounds(&ra, 1);
	pair_expect(&ra, &qa, 1, 0, 8);
	sq = answered();
	sq->rnrs--;
	pair_rounds(&ra, 1);
	pair_expect(&ra, &qa, 1, 0, 8);
	assert_int_equal(sq->rnrs, qp_of(&ra, &qa)->rnr_retry);
}

/* The response of one that is under way no more changes nothing. */
static void an_answer_that_comes_twice(void **state)
{
	struct unic_sq *sq = answered();
	struct fake_frame twice = ra.port.rx[ra.port.rx_head % FAKE_FRAMES];

	(void)state;
	pair_rounds(&ra, 1);
	pair_expect(&ra, &qa, 1, 0, 8);
	assert_int_equal(sq->reads, 0);
	ra.port.rx[ra.port.rx_tail++ % FAKE_FRAMES] = twice;
	ma.mem[16] ^= 0xff;
	pair_rounds(&ra, 1);
	pair_expect_none(&ra, &qa);
	assert_int_not_equal(ma.mem[16], mb.mem[64]);
	assert_int_equal(rig_count(&ra, rx_stale_ack), 1);
	pair_quiet();
}

/* A FENCE waits for it, as for any READ. */
static void a_fence_behind_it(void **state)
{
	(void)state;
	lone_warm(false, false);
	read_of(1, 64, 8);
	pair_rounds(&ra, 1);
	lone_write(2, 16, 8);
	last_request()->flags |= UNIC_WR_FENCE;
	pair_rounds(&ra, 1);
	assert_int_equal(rb.port.rx_tail - rb.port.rx_head, 1);
	pair_run(MS);
	pair_expect(&ra, &qa, 1, 0, 8);
	pair_expect(&ra, &qa, 2, 0, 8);
	pair_quiet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_are_lone),
		cmocka_unit_test(three_rounds_are_enough),
		cmocka_unit_test(beside_writes),
		cmocka_unit_test(rings_go_round),
		cmocka_unit_test(lengths),
		cmocka_unit_test(another_form),
		cmocka_unit_test(without_leave_to_read),
		cmocka_unit_test(a_wrong_buffer),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(behind_what_is_owed),
		cmocka_unit_test(behind_a_gap),
		cmocka_unit_test(odd_questions),
		cmocka_unit_test(no_room),
		cmocka_unit_test(the_same_frames),
		cmocka_unit_test(a_limit),
		cmocka_unit_test(in_the_place_of_an_atomic),
		cmocka_unit_test(it_is_remembered),
		cmocka_unit_test(answers_to_another_question),
		cmocka_unit_test(answers_after_trouble),
		cmocka_unit_test(an_answer_that_comes_twice),
		cmocka_unit_test(a_fence_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
