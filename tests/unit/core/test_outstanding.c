/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_outstanding.c - many READs and atomic operations of one connection at a time: which
 * are answered again, what makes room for another one, and what is held meanwhile.
 */
#include "unit.h"

#include "rc_rig.h"
#include "transport/cut.h"

#define BTH    42u
#define TARGET 4096u /* where in region mb */
#define KEPT   64u

static struct {
	uint8_t frame[KEPT][128]; /* what A asked for, in order */
	uint32_t len[KEPT], flags, n;
	uint32_t answers;   /* frames of READ responses and answers of B */
	uint32_t psn[KEPT]; /* of each */
	bool lose_answers;
} wire;

static uint32_t psn_of(const uint8_t *frame)
{
	return (uint32_t)frame[BTH + 9] << 16 | (uint32_t)frame[BTH + 10] << 8 |
	       frame[BTH + 11];
}

static bool is_ask(uint8_t op)
{
	return op == UNIC_OP_READ_REQUEST || op == UNIC_OP_COMPARE_SWAP ||
	       op == UNIC_OP_FETCH_ADD;
}

static bool is_answer(uint8_t op)
{
	return (op >= UNIC_OP_READ_RESP_FIRST &&
		op <= UNIC_OP_READ_RESP_ONLY) ||
	       op == UNIC_OP_ATOMIC_ACK;
}

static void keep(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	if (port == &ra.port && is_ask(frame[BTH])) {
		assert_true(wire.n < KEPT && len <= sizeof(wire.frame[0]));
		memcpy(wire.frame[wire.n], frame, len);
		wire.len[wire.n++] = len;
		wire.flags = flags;
	}
	if (port == &rb.port && is_answer(frame[BTH])) {
		wire.psn[wire.answers++ % KEPT] = psn_of(frame);
		if (wire.lose_answers)
			return;
	}
	fake_deliver(port->peer, frame, len, flags);
}

static int up(void **state)
{
	(void)state;
	memset(&wire, 0, sizeof(wire));
	pair_up();
	ra.port.on_frame = rb.port.on_frame = keep;
	return 0;
}

/* Request @n of the past comes once more. */
static void again(uint32_t n)
{
	fake_deliver(&rb.port, wire.frame[n], wire.len[n], wire.flags);
	rig_poll(&rb);
}

static struct unic_qp_ctx *core(struct rig *r, const struct rig_qp *qp)
{
	return unic_qp_by_number(&r->nic.transport, qp->qpn);
}

static void read_of(uint64_t wr_id, const struct rig_mr *from, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_READ, wr_id, &ma, 0, len, from->iova,
		 from->stag);
}

/* Posts COMPARE_SWAP of 0 by @swap, or FETCH_ADD of 1 if that is 0, on TARGET. */
static void atomic(uint64_t wr_id, uint64_t swap)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];
	struct unic_wr_atomic operands = { .operand = unic_to_le64(!swap),
					   .swap = unic_to_le64(swap) };

	rig_send(&ra, &qa, swap ? UNIC_WR_COMPARE_SWAP : UNIC_WR_FETCH_ADD,
		 wr_id, &ma, 64, UNIC_ATOMIC_BYTES, mb.iova + TARGET, mb.stag);
	memcpy(&s->sge[1], &operands, sizeof(operands));
}

static uint64_t target(void)
{
	unic_le64 v;

	memcpy(&v, mb.mem + TARGET, sizeof(v));
	return unic_from_le64(v);
}

static void set_target(uint64_t v)
{
	unic_le64 word = unic_to_le64(v);

	memcpy(mb.mem + TARGET, &word, sizeof(word));
}

/* @n READs of 8 bytes, each answered. */
static void answered_reads(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		read_of(i, &mb, 8);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_READ, i, 0, 8);
	}
}

/* -------------------------------------------------------------- asked again */

/* Two old READs are answered again, not what is between them. While the link has no room
 * each holds its region, so that taking back that of the later one ends the connection. */
static void a_gap_between_two(void **state)
{
	struct rig_mr other;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &other),
			 0);
	answered_reads(2);
	read_of(2, &other, 8);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_READ, 2, 0, 8);
	fake_room(&rb.port, fake_path(1), 0);
	again(2);
	again(0); /* the order of the ring is that of the answers */
	assert_int_equal(core(&rb, &qb)->rsp.rd_active, 2);
	assert_int_equal(rb.nic.mrs.mr[mb.mr].holds, 1);
	assert_int_equal(rb.nic.mrs.mr[other.mr].holds, 1);
	unic_cuts_mark(&rb.nic.memory, (uint16_t)other.mr);
	unic_cut_run(&rb.nic.transport);
	assert_int_equal(core(&rb, &qb)->state, UNIC_QPS_ERR);
	assert_int_equal(rb.nic.mrs.mr[mb.mr].holds, 0);
	assert_int_equal(rb.nic.mrs.mr[other.mr].holds, 0);
	fake_room(&rb.port, fake_path(1), FAKE_NEVER_FULL);
}

/* ... and are answered in their order when there is room. */
static void in_the_order_of_then(void **state)
{
	(void)state;
	answered_reads(3);
	fake_room(&rb.port, fake_path(1), 0);
	again(2);
	again(0);
	fake_room(&rb.port, fake_path(1), FAKE_NEVER_FULL);
	wire.answers = 0;
	pair_run(MS);
	assert_int_equal(wire.answers, 2);
	assert_int_equal(wire.psn[0], psn_of(wire.frame[0]));
	assert_int_equal(wire.psn[1], psn_of(wire.frame[2]));
	pair_expect_none(&ra, &qa);
	rc_quiet();
}

/* A new READ takes the place of the oldest, which is being answered again for nothing,
 * though fewer are under way than were agreed. */
static void the_place_of_an_old_one(void **state)
{
	(void)state;
	core(&rb, &qb)->rsp.max_rd = UNIC_QP_READS;
	answered_reads(UNIC_QP_READS);
	fake_room(&rb.port, fake_path(1), 0);
	again(0);
	assert_int_equal(core(&rb, &qb)->rsp.rd_active, 1);
	read_of(77, &mb, 8);
	pair_rounds(&ra, 2);
	pair_rounds(&rb, 2);
	assert_int_equal(core(&rb, &qb)->rsp.rd_active, 1);
	wire.answers = 0;
	fake_room(&rb.port, fake_path(1), FAKE_NEVER_FULL);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_READ, 77, 0, 8);
	assert_int_equal(wire.answers, 1);
	rc_quiet();
}

/* The response of a READ that was asked for again is being filled by DMA. */
static void fill_again(uint32_t n)
{
	rb.port.late_dma = true;
	again(n);
	assert_true(core(&rb, &qb)->rsp.gathering);
	assert_int_equal(fake_dma_waiting(&rb.port), 1);
}

static void end_of_filling(void)
{
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, 1);
	pair_run(100 * MS);
}

/* An old atomic operation that is asked for meanwhile is as if it was lost: nothing that is
 * being filled moves. */
static void an_atomic_beside_a_response(void **state)
{
	(void)state;
	set_target(41);
	atomic(0, 0);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 0, 0, 8);
	answered_reads(1);
	wire.answers = 0;
	fill_again(1);
	again(0);
	assert_int_equal(core(&rb, &qb)->rsp.rd_active, 1);
	end_of_filling();
	assert_int_equal(wire.answers, 1);
	assert_int_equal(wire.psn[0], psn_of(wire.frame[1]));
	again(0); /* now it is answered */
	pair_run(MS);
	assert_int_equal(wire.answers, 2);
	assert_true(target() == 42);
	rc_quiet();
}

/* Nor is a new one executed if that is the place it needs: it is when it comes again. */
static void an_atomic_without_a_place(void **state)
{
	(void)state;
	core(&ra, &qa)->max_rd = core(&rb, &qb)->rsp.max_rd = 1;
	set_target(41);
	answered_reads(1);
	fill_again(0);
	atomic(5, 0);
	pair_rounds(&ra, 4);
	pair_rounds(&rb, 4);
	assert_true(target() == 41);
	assert_int_equal(core(&rb, &qb)->state, UNIC_QPS_RTS);
	end_of_filling();
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 5, 0, 8);
	assert_true(target() == 42);
	assert_int_equal(rig_count(&ra, timeouts), 1);
	rc_quiet();
}

/* ------------------------------------------------------------- other ports */

/* A port that shows no host memory, but moves it at once. */
static void by_dma_at_once(void **state)
{
	(void)state;
	set_target(0);
	rb.port.again_call = ~0u;
	atomic(1, 7);
	atomic(2, 0);
	atomic(3, 9); /* compares in vain */
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_COMPARE_SWAP, 1, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 2, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_COMPARE_SWAP, 3, 0, 8);
	assert_true(target() == 8);
	assert_int_equal(core(&rb, &qb)->dmas, 0);
	rb.port.again_call = 0;
	rc_quiet();
}

/* ------------------------------------------------------- behind a failure */

/* The answer of an operation is lost, and its queue pair fails by a later request: whoever
 * asks again is told that, not that it was executed, since what it was is forgotten. */
static void no_answer_after_a_failure(void **state)
{
	uint64_t swap;

	for (swap = 0; swap < 2; swap++) {
		up(state);
		set_target(0);
		wire.lose_answers = true;
		atomic(1, swap);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova,
			 mb.stag ^ 1);
		pair_rounds(&ra, 4);
		rb.port.on_frame = NULL; /* its NAK is not lost ... */
		pair_rounds(&rb, 4);
		rb.port.on_frame = keep;
		assert_int_equal(core(&rb, &qb)->state, UNIC_QPS_ERR);
		wire.lose_answers = false;
		again(0);
		pair_run(100 * MS);
		assert_int_equal(rig_count(&rb, tx_acks), 0);
		assert_true(rig_count(&rb, tx_naks) >= 2);
		assert_true(target() == 1);
	}
}

#define TEST(f) cmocka_unit_test_setup(f, up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_gap_between_two),
		TEST(in_the_order_of_then),
		TEST(the_place_of_an_old_one),
		TEST(an_atomic_beside_a_response),
		TEST(an_atomic_without_a_place),
		TEST(by_dma_at_once),
		TEST(no_answer_after_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
