/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_lone_receive.c - SENDs of one packet that go into the next posted receive the short way
 * (fastpath_receive.h), alone and in runs, and each reason to leave them to rq.c.
 */
#include "unit.h"

#include "lone_rig.h"
#include "transport/responder_nak.h"

#define MS 1000000ull

static void receive_at(uint64_t id, uint32_t off, uint32_t len)
{
	rig_recv(&rb, &qb, id, &mb, off, len);
}

static void send_of(uint64_t id, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_SEND, id, &ma, 16, len, 0, 0);
}

static void send_alone(uint64_t id, uint32_t len)
{
	send_of(id, len);
	pair_run(MS);
}

static struct unic_qp_ctx *qp_of_b(void)
{
	return unic_qp_by_number(&rb.nic.transport, qb.qpn);
}

static struct unic_rq_slot *last_receive(void)
{
	return &qb.rq[(qb.rq_tail - 1) % RIG_SLOTS];
}

/* The first completion finds its page. */
static void receive_one(void)
{
	struct unic_cqe cqe;

	receive_at(9, 64, 8);
	send_alone(9, 8);
	pair_expect(&ra, &qa, 9, 0, 8);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	lone_forget(&ra);
	lone_forget(&rb);
}

static void do_some(void)
{
	uint32_t i;

	receive_one();
	for (i = 0; i < 3; i++) {
		receive_at(10 + i, 64 + 8 * i, 8);
		send_alone(i, 8);
	}
}

static void some_are_lone(void **state)
{
	(void)state;
	lone_both_ways(do_some, 3, 3);
	assert_int_equal(lone_result.cqes, 3);
	assert_int_equal(lone_result.cqes_b, 3);
	assert_memory_equal(mb.mem + 64, ma.mem + 16, 8);
	assert_memory_equal(mb.mem + 80, ma.mem + 16, 8);
}

static void do_shorter(void)
{
	receive_one();
	receive_at(10, 64, 33);
	send_alone(1, 7);
	receive_at(11, 72, 7);
	send_alone(2, 7);
}

/* A receive may be longer than the message, which has padding on the wire and none here. */
static void shorter_than_its_receive(void **state)
{
	(void)state;
	lone_both_ways(do_shorter, 1, 2);
	assert_int_equal(unic_from_le32(lone_result.cqe_b[0].byte_len), 7);
}

static void do_posted_ahead(void)
{
	uint32_t i;

	receive_one();
	for (i = 0; i < 12; i++)
		receive_at(10 + i, 64, 8);
	for (i = 0; i < 4; i++)
		send_alone(i, 8);
}

/* One fetch brings several receives. */
static void posted_ahead(void **state)
{
	(void)state;
	lone_both_ways(do_posted_ahead, 4, 4);
	assert_int_equal(unic_from_le64(lone_result.cqe_b[3].wr_id), 13);
}

/* Rings, window and completion queue go round; the window's half makes the NIC look ahead. */
static void rings_go_round(void **state)
{
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	lone_warm(false, false);
	receive_one();
	for (i = 0; i < 5 * RIG_SLOTS; i++) {
		receive_at(i, 64 + i % 32, 8);
		send_alone(i, 8);
		pair_expect(&ra, &qa, i, 0, 8);
		assert_true(rig_cqe(&rb, &qb, &cqe));
		assert_int_equal(unic_from_le64(cqe.wr_id), i);
		assert_int_equal(cqe.opcode, UNIC_WC_RECV);
		assert_int_equal(unic_from_le32(cqe.qpn), qb.qpn);
	}
	/* once in a round the completion queue looks full */
	assert_int_equal(lone_placed(&rb), 5 * (RIG_SLOTS - 1));
	pair_quiet();
}

/* ----------------------------------------------------- left to the other way */

static void do_no_receive(void)
{
	receive_one();
	send_of(1, 8);
	pair_run(5000);
	receive_at(10, 64, 8);
	pair_run(MS);
}

/* Not ready: it comes again. */
static void no_receive(void **state)
{
	(void)state;
	lone_both_ways(do_no_receive, 1, 0);
	assert_int_equal(lone_result.cqes_b, 1);
	assert_true(lone_result.count_b[UNIC_C_tx_rnr_naks] > 0);
}

static void do_too_long(void)
{
	receive_one();
	receive_at(10, 64, 7);
	send_alone(1, 8);
}

static void longer_than_its_receive(void **state)
{
	(void)state;
	lone_both_ways(do_too_long, 1, 0);
	assert_int_equal(lone_result.cqe_b[0].status, UNIC_WC_LOC_LEN_ERR);
}

static void do_two_buffers(void)
{
	receive_one();
	receive_at(10, 64, 4);
	last_receive()->num_sge = 2;
	last_receive()->sge[1] = last_receive()->sge[0];
	send_alone(1, 8);
}

static void two_buffers(void **state)
{
	(void)state;
	lone_both_ways(do_two_buffers, 1, 0);
	assert_int_equal(lone_result.cqe_b[0].status, 0);
}

static void do_reserved(void)
{
	receive_one();
	receive_at(10, 64, 8);
	last_receive()->rsvd0[6] = 1;
	send_alone(1, 8);
}

static void do_reserved_low(void)
{
	receive_one();
	receive_at(10, 64, 8);
	last_receive()->rsvd0[0] = 1;
	send_alone(1, 8);
}

/* Reserved bytes of a receive are looked at. */
static void reserved_bytes(void **state)
{
	(void)state;
	lone_both_ways(do_reserved, 1, 0);
	assert_int_equal(lone_result.cqe_b[0].status, UNIC_WC_LOC_QP_OP_ERR);
	lone_both_ways(do_reserved_low, 1, 0);
	assert_int_equal(lone_result.cqe_b[0].status, UNIC_WC_LOC_QP_OP_ERR);
}

static void do_wrong_key(void)
{
	receive_one();
	receive_at(10, 64, 8);
	last_receive()->sge[0].lkey = unic_to_le32(mb.stag ^ 1);
	send_alone(1, 8);
}

static void a_wrong_key(void **state)
{
	(void)state;
	lone_both_ways(do_wrong_key, 1, 0);
	assert_int_equal(lone_result.cqe_b[0].status, UNIC_WC_LOC_PROT_ERR);
}

static void do_whole_buffer(void)
{
	receive_one();
	receive_at(10, PAIR_BYTES - 8, 16);
	send_alone(1, 8);
}

/* All of the buffer must be the region's, also what the message leaves alone. */
static void a_buffer_beyond_its_region(void **state)
{
	(void)state;
	lone_both_ways(do_whole_buffer, 1, 0);
	assert_int_equal(lone_result.cqe_b[0].status, UNIC_WC_LOC_PROT_ERR);
}

static void do_read_only(void)
{
	struct unic_mr_ctx *mr = &rb.nic.mrs.mr[mb.mr];

	receive_one();
	mr->rights &= (uint8_t)~UNIC_MR_LOCAL_WRITE;
	receive_at(10, 64, 8);
	send_alone(1, 8);
	mr->rights |= UNIC_MR_LOCAL_WRITE;
}

static void a_buffer_that_is_read_only(void **state)
{
	(void)state;
	lone_both_ways(do_read_only, 1, 0);
	assert_int_equal(lone_result.cqe_b[0].status, UNIC_WC_LOC_PROT_ERR);
}

static void do_solicited(void)
{
	receive_one();
	rig_ring(&rb, 0, UNIC_DB_ARM, qb.row, 1u << 31 | qb.cq_ci);
	receive_at(10, 64, 8);
	send_of(1, 8);
	qa.sq[(qa.sq_tail - 1) % RIG_SLOTS].flags |= UNIC_WR_SOLICITED;
	pair_run(MS);
	receive_at(11, 64, 8);
	send_alone(2, 8);
}

/* A message that asks for an event has one, and says so. */
static void a_solicited_message(void **state)
{
	(void)state;
	lone_both_ways(do_solicited, 0, 1);
	assert_int_equal(lone_result.cqe_b[0].flags, UNIC_WC_SOLICITED);
	assert_int_equal(lone_result.cqe_b[1].flags, 0);
	assert_int_equal(lone_result.count_b[UNIC_C_cq_events], 1);
}

static void do_behind_a_nak(void)
{
	receive_one();
	receive_at(10, 64, 8);
	send_of(1, 8);
	pair_rounds(&ra, 1);
	unic_responder_owe_ack(&rb.nic.transport, qp_of_b());
	pair_run(MS);
}

/* What is owed to the peer goes first. */
static void behind_what_is_owed(void **state)
{
	(void)state;
	lone_both_ways(do_behind_a_nak, 1, 0);
	assert_int_equal(lone_result.cqes, 1);
}

/* A gap: the one behind it is not taken for it, whatever receives there are. */
static void one_that_is_lost(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	lone_warm(false, false);
	receive_one();
	receive_at(10, 64, 8);
	receive_at(11, 72, 8);
	send_alone(1, 8);
	send_of(2, 8);
	pair_rounds(&ra, 1);
	rb.port.rx_head = rb.port.rx_tail; /* lost */
	rb.port.rx_done = rb.port.rx_tail;
	send_of(3, 8);
	receive_at(12, 80, 8);
	pair_run(1000 * MS);
	pair_expect(&ra, &qa, 1, 0, 8);
	pair_expect(&ra, &qa, 2, 0, 8);
	pair_expect(&ra, &qa, 3, 0, 8);
	assert_true(rig_cqe(&rb, &qb, &cqe) && rig_cqe(&rb, &qb, &cqe) &&
		    rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 12);
	assert_false(rig_cqe(&rb, &qb, &cqe));
	pair_quiet();
}

/* A receive whose region was taken back is passed over, and its mark with it. */
static void behind_one_that_is_gone(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr gone;

	(void)state;
	lone_warm(false, false);
	receive_one();
	pair_gone_region(&rb, qb.pd, &gone);
	rig_recv(&rb, &qb, 10, &gone, 0, 8);
	receive_at(11, 64, 8);
	receive_at(12, 72, 8);
	send_alone(1, 8);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 10);
	assert_int_equal(cqe.status, UNIC_WC_EVICTED);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 11);
	lone_forget(&rb);
	send_alone(2, 8);
	assert_int_equal(lone_placed(&rb), 1);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 12);
	assert_memory_equal(mb.mem + 72, ma.mem + 16, 8);
}

/* Receives that completed out of order leave their places with the one before them. */
static void behind_those_that_are_gone(void **state)
{
	struct unic_cmd_mr cmd = { 0 };
	struct unic_cqe cqe;
	struct rig_mr gone;
	uint32_t i;

	(void)state;
	lone_warm(false, false);
	receive_one();
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &gone),
			 0);
	for (i = 0; i < RIG_SLOTS; i++)
		rig_recv(&rb, &qb, i, i == 2 ? &gone : &mb, 64, 8);
	pair_rounds(&rb, 1);
	cmd.mr = unic_to_le32(gone.mr);
	cmd.gen = unic_to_le32(gone.gen);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	pair_run(MS); /* the sweep finds it */
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 2);
	send_alone(0, 8); /* the first may be a substitute */
	send_alone(1, 8);
	assert_int_equal(lone_placed(&rb), 1);
	for (i = 0; i < 3; i++) /* so many more have room */
		receive_at(RIG_SLOTS + i, 64, 8);
	for (i = 3; i < RIG_SLOTS + 3; i++) {
		send_alone(i, 8);
		while (rig_cqe(&ra, &qa, &cqe))
			assert_int_equal(cqe.status, 0);
		while (rig_cqe(&rb, &qb, &cqe))
			assert_int_equal(cqe.status, 0);
	}
	assert_int_equal(rb.nic.counter[UNIC_C_db_bad], 0);
	assert_int_equal(unic_from_le64(cqe.wr_id), RIG_SLOTS + 2);
}

static void do_picked(void)
{
	receive_one();
	qp_of_b()->rq.picked = true;
	receive_at(10, 64, 8);
	send_alone(1, 8);
}

static void do_substitute(void)
{
	receive_one();
	qp_of_b()->rq.substitute = true;
	qp_of_b()->rq.class_bytes = 16;
	receive_at(10, 64, 8);
	receive_at(11, 64, 16);
	send_alone(1, 8);
}

/* A message begun, or one that had its receive taken, has another choice. */
static void not_the_next(void **state)
{
	(void)state;
	lone_both_ways(do_picked, 1, 0);
	lone_both_ways(do_substitute, 1, 0);
	assert_int_equal(unic_from_le64(lone_result.cqe_b[0].wr_id), 11);
}

static void do_after_a_nak(void)
{
	receive_one();
	qp_of_b()->rsp.nak_sent = true;
	receive_at(10, 64, 8);
	send_alone(1, 8);
	assert_false(qp_of_b()->rsp.nak_sent);
}

/* What was missing has come: the next gap is told again. */
static void behind_a_gap(void **state)
{
	(void)state;
	lone_both_ways(do_after_a_nak, 1, 0);
}

/* When half of the window is used, the NIC looks at pages of those behind it. */
static void the_next_are_looked_at(void **state)
{
	struct unic_evt_mr miss;
	struct rig_mr d;
	uint32_t i;

	(void)state;
	lone_warm(false, false);
	receive_one();
	assert_int_equal(rig_reg_cached(&rb, qb.pd, 2, UNIC_DEMAND, 0, &d), 0);
	for (i = 0; i < 8; i++)
		receive_at(i, 64, 8);
	rig_recv(&rb, &qb, 9, &d, 0, 8);
	pair_run(MS);
	assert_false(rig_event(&rb, &miss));
	for (i = 0; i < 4; i++)
		send_alone(i, 8);
	assert_int_equal(lone_placed(&rb), 4);
	rig_expect(&rb, UNIC_EVT_MISS, &miss);
}

static void do_full(void)
{
	struct unic_cq_ctx *cq = &rb.nic.cqs.cq[qb.cq];

	receive_one();
	receive_at(10, 64, 8);
	cq->ci -= cq->mask + 1; /* as last seen */
	send_alone(1, 8);
}

/* A queue that looks full is looked at again, by the other way. */
static void a_full_completion_queue(void **state)
{
	(void)state;
	lone_both_ways(do_full, 1, 0);
	assert_int_equal(lone_result.cqes_b, 1);
}

/* Why a SEND is left to the other way, by what B finds. */
enum odd {
	ODD_MESSAGE,
	ODD_READ,
	ODD_NO_ASK,
	ODD_MTU,
	ODDS
};

static void make_odd(enum odd odd)
{
	struct unic_qp_ctx *b = qp_of_b();
	uint8_t *frame = rb.port.rx[rb.port.rx_head % FAKE_FRAMES].bytes;

	if (odd == ODD_READ) { /* one that waits for a page */
		b->read[0].active = true;
		b->rsp.miss_wait = true;
		b->rsp.rd_active = 1;
	} else if (odd == ODD_MESSAGE)
		b->rsp.msg.kind = UNIC_MSG_WRITE;
	else if (odd == ODD_NO_ASK)
		frame[UNIC_BTH_OFF + 8] = 0; /* nor an acknowledgement */
	else
		b->mtu_shift = 2;
}

/* None of them is placed the short way. */
static void odd_messages(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < ODDS; i++) {
		lone_warm(false, false);
		receive_one();
		receive_at(10, 64, 16);
		pair_rounds(&rb, 1);
		send_of(1, i == ODD_MTU ? 9 : 8);
		pair_rounds(&ra, 1);
		make_odd(i);
		pair_rounds(&rb, 1);
		assert_int_equal(lone_placed(&rb), 0);
	}
}

/* -------------------------------------------------------------------- runs */

static void do_several(void)
{
	uint32_t i;

	receive_one();
	for (i = 0; i < 3; i++)
		receive_at(10 + i, 64 + 8 * i, 8);
	for (i = 0; i < 3; i++)
		send_of(i, 8);
	pair_run(MS);
}

/* Several at once are placed in order. */
static void several_at_once(void **state)
{
	(void)state;
	lone_both_ways(do_several, 0, 0);
	assert_int_equal(lone_result.cqes_b, 3);
	assert_int_equal(lone_result.count_b[UNIC_C_tx_acks], 4);
	assert_memory_equal(mb.mem + 80, ma.mem + 16, 8);
}

/* One of them is lost: those behind it are not taken for it, and it is asked for. */
static void a_gap_in_a_run(void **state)
{
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	lone_warm(false, false);
	receive_one();
	for (i = 0; i < 4; i++)
		receive_at(10 + i, 64 + 8 * i, 8);
	for (i = 0; i < 4; i++)
		send_of(i, 8);
	pair_rounds(&ra, 1);
	rb.port.rx_head++; /* the first is lost */
	rb.port.rx_done++;
	pair_run(1000 * MS);
	for (i = 0; i < 4; i++) {
		pair_expect(&ra, &qa, i, 0, 8);
		assert_true(rig_cqe(&rb, &qb, &cqe));
		assert_int_equal(unic_from_le64(cqe.wr_id), 10 + i);
	}
	pair_quiet();
}

static void with_checksums(void **state)
{
	(void)state;
	lone_both_ways_of(true, do_some, 0, 0);
	assert_int_equal(lone_result.cqes_b, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_are_lone),
		cmocka_unit_test(shorter_than_its_receive),
		cmocka_unit_test(posted_ahead),
		cmocka_unit_test(rings_go_round),
		cmocka_unit_test(no_receive),
		cmocka_unit_test(longer_than_its_receive),
		cmocka_unit_test(two_buffers),
		cmocka_unit_test(reserved_bytes),
		cmocka_unit_test(a_wrong_key),
		cmocka_unit_test(a_buffer_beyond_its_region),
		cmocka_unit_test(a_buffer_that_is_read_only),
		cmocka_unit_test(a_solicited_message),
		cmocka_unit_test(behind_what_is_owed),
		cmocka_unit_test(one_that_is_lost),
		cmocka_unit_test(behind_one_that_is_gone),
		cmocka_unit_test(behind_those_that_are_gone),
		cmocka_unit_test(not_the_next),
		cmocka_unit_test(behind_a_gap),
		cmocka_unit_test(the_next_are_looked_at),
		cmocka_unit_test(a_full_completion_queue),
		cmocka_unit_test(odd_messages),
		cmocka_unit_test(several_at_once),
		cmocka_unit_test(a_gap_in_a_run),
		cmocka_unit_test(with_checksums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
