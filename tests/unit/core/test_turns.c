/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_turns.c - which queue pair sends next: turns of queue pairs and of
 * processes, and a queue pair that fails while it waits for its turn.
 */
#include "unit.h"

#include "command/proc.h"
#include "transport/requester.h"
#include "rig.h"

#define US    1000ull
#define MS    1000000ull
#define QPS   4u
#define PAGES 2u
#define ALL   ((1u << UNIC_TX_BUFS) - 1) /* no buffer of the link is free */

static struct rig ra, rb;
static struct rig_qp qa[QPS], qb[QPS];
static struct rig_mr ma[3], mb[3]; /* by process */

/* The process of each of A's frames in order; bytes of each process. */
static uint8_t order[4096];
static uint32_t frames, bytes[3], in_poll;

static void watch(struct unic_port *port, const uint8_t *f, uint32_t len,
		  uint32_t flags)
{
	uint32_t qpn = (uint32_t)f[47] << 16 | f[48] << 8 | f[49], i;

	(void)port;
	(void)flags;
	for (i = 0; i < QPS && qb[i].qpn != qpn; i++)
		;
	assert_true(i < QPS && frames < sizeof(order));
	order[frames++] = (uint8_t)qa[i].proc;
	bytes[qa[i].proc] += len;
	in_poll += len;
}

/* Connects queue pairs of @procs processes; @weight: of each process. */
static void set_up(uint32_t procs, const uint32_t *weight)
{
	uint32_t pa[3], pb[3], i;

	frames = 0;
	memset(bytes, 0, sizeof(bytes));
	rig_up(&ra, 1);
	rig_up(&rb, 2);
	fake_wire(&ra.port, &rb.port);
	for (i = 0; i < procs; i++) {
		rig_attach(&ra, i, weight[i]);
		rig_attach(&rb, i, weight[i]);
		pa[i] = rig_pd(&ra, i);
		pb[i] = rig_pd(&rb, i);
	}
	for (i = 0; i < (procs > 1 ? procs : QPS); i++) {
		uint32_t p = i % procs;

		rig_qp(&ra, p, pa[p], i, &qa[i]);
		rig_qp(&rb, p, pb[p], i, &qb[i]);
		rig_connect(&ra, &qa[i], &rb, &qb[i]);
	}
	for (i = 0; i < procs; i++) {
		assert_int_equal(rig_reg(&ra, i, pa[i], PAGES, 0, UNIC_REG_LIST,
					 0, &ma[i]),
				 0);
		assert_int_equal(rig_reg(&rb, i, pb[i], PAGES, 0, UNIC_REG_LIST,
					 0, &mb[i]),
				 0);
	}
}

static void write_by(uint32_t q, uint64_t id, uint32_t len)
{
	uint32_t p = qa[q].proc;

	rig_send(&ra, &qa[q], UNIC_WR_WRITE, id, &ma[p], 0, len,
		 mb[p].iova + 512 * q, mb[p].stag);
}

static void kill_qp(struct rig *r, const struct rig_qp *qp)
{
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qp->proc),
					  .qpn = unic_to_le32(qp->qpn),
					  .state = UNIC_QPS_ERR };

	assert_int_equal(rig_cmd(r, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
}

static void destroy(struct rig *r, const struct rig_qp *qp)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(qp->proc),
				    .id = unic_to_le32(qp->qpn) };

	rig_cmd(r, UNIC_CMD_QP_DESTROY, &cmd, NULL);
}

static void well(uint32_t q, uint64_t id)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(&ra, &qa[q], &cqe));
	assert_int_equal(cqe.status, 0);
	assert_int_equal(unic_from_le64(cqe.wr_id), id);
}

/* One of three queue pairs that wait to send on a full link fails or is
 * destroyed, and a fourth one posts a request. The others send, once each. */
static void dies_before_it_sends(void **state)
{
	static const uint32_t one = 1;
	uint32_t dead, i;

	(void)state;
	for (dead = 0; dead < 6; dead++) {
		uint32_t d = dead % 3;

		set_up(1, &one);
		ra.port.tx_held = ALL;
		for (i = 0; i < 3; i++)
			write_by(i, i, 64);
		for (i = 0; i < 4; i++)
			unic_nic_poll(&ra.nic);
		if (dead < 3)
			kill_qp(&ra, &qa[d]);
		else
			destroy(&ra, &qa[d]);
		write_by(3, 3, 64);
		unic_nic_poll(&ra.nic);
		ra.port.tx_held = 0;
		rig_run2(&ra, &rb, 100 * US);
		for (i = 0; i < QPS; i++)
			if (i != d)
				well(i, i);
		assert_int_equal(rig_count(&ra, retransmits), 0);
		/* the NIC goes idle */
		assert_true(rig_poll(&ra) > ra.port.now_ns);
		assert_int_equal(ra.nic.sched.work, 0);
	}
}

/* One of three queue pairs that wait to send an acknowledgement on a full link
 * fails. The others send theirs, once each. */
static void dies_before_it_answers(void **state)
{
	static const uint32_t one = 1;
	uint32_t d, i;

	(void)state;
	for (d = 0; d < 3; d++) {
		set_up(1, &one);
		rb.port.tx_held = ALL;
		for (i = 0; i < 3; i++) {
			write_by(i, i, 64);
			rig_poll(&ra);
			unic_nic_poll(&rb.nic);
		}
		kill_qp(&rb, &qb[d]);
		write_by(3, 3, 64);
		rig_poll(&ra);
		unic_nic_poll(&rb.nic);
		assert_int_equal(rig_count(&rb, tx_acks), 0);
		rb.port.tx_held = 0;
		rig_run2(&ra, &rb, 100 * US);
		for (i = 0; i < QPS; i++)
			if (i != d)
				well(i, i);
		assert_int_equal(rig_count(&rb, tx_acks), QPS - 1);
		assert_int_equal(rig_count(&ra, retransmits), 0);
		assert_int_equal(rb.nic.sched.work, 0);
	}
}

static void backlog(uint32_t procs)
{
	uint32_t i, q;

	ra.port.on_frame = watch;
	for (i = 0; i < 12; i++)
		for (q = 0; q < procs; q++)
			write_by(q, i, 8192);
}

/* Polls until @n frames are sent. One poll sends a bounded number of bytes, so
 * that the other steps of the round are not delayed. */
static void send_at_least(uint32_t n)
{
	uint32_t polls;

	for (polls = 0; frames < n && polls < 100; polls++) {
		in_poll = 0;
		unic_nic_poll(&ra.nic);
		assert_in_range(in_poll, 0, 80000);
	}
	assert_true(frames >= n);
}

/* Processes of the same weight alternate: each sends within any stretch of
 * frames as long as one turn of each process. */
static void alike_take_turns(void **state)
{
	static const uint32_t weight[3] = { 1, 1, 1 };
	uint32_t i, k;

	(void)state;
	set_up(3, weight);
	backlog(3);
	send_at_least(200);
	for (i = 0; i + 18 <= frames; i++) {
		uint32_t n[3] = { 0 };

		for (k = 0; k < 18; k++)
			n[order[i + k]]++;
		for (k = 0; k < 3; k++)
			assert_in_range(n[k], 3, 12);
	}
	for (k = 0; k < 3; k++)
		assert_in_range(bytes[k], bytes[(k + 1) % 3] * 4 / 5,
				bytes[(k + 1) % 3] * 5 / 4);
}

/* Turns, and so the bytes sent, are in proportion to the weights. */
static void turns_are_as_long_as_weights(void **state)
{
	static const uint32_t weight[3] = { 1, 2, 4 };

	(void)state;
	set_up(3, weight);
	backlog(3);
	send_at_least(140);
	assert_in_range(bytes[1] * 10 / bytes[0], 13, 30);
	assert_in_range(bytes[2] * 10 / bytes[1], 13, 30);
}

/* A process that had nothing to send has gained no credit. */
static void idleness_is_no_credit(void **state)
{
	static const uint32_t weight[3] = { 1, 1, 1 };
	uint32_t i, k, n[3] = { 0 };

	(void)state;
	set_up(3, weight);
	for (i = 0; i < 40; i++) { /* two processes send, with pauses */
		write_by(0, i, 100);
		write_by(1, i, 100);
		rig_run2(&ra, &rb, 20 * US);
		well(0, i);
		well(1, i);
	}
	frames = 0;
	backlog(3);
	send_at_least(60);
	for (k = 0; k < 30; k++)
		n[order[k]]++;
	for (k = 0; k < 3; k++)
		assert_in_range(n[k], 5, 15);
}

/* Gives queue pair @q, of the only process, a turn with @deficit. */
static void turn_of(uint32_t q, int32_t deficit)
{
	unic_proc_take(&ra.nic.command, 0);
	unic_requester_send(&ra.nic.transport, (uint16_t)(qa[q].qpn & 0xff),
			    &deficit);
}

/* A turn sends as much of a long message as its deficit pays for; the last
 * packet may exceed the deficit. */
static void a_turn_ends_within_a_message(void **state)
{
	static const uint32_t weight[1] = { 1 };

	(void)state;
	set_up(1, weight);
	write_by(0, 1, 8192);
	turn_of(0, 2500);
	assert_int_equal(ra.nic.qps.qp[qa[0].qpn & 0xff].sq.psn - qa[0].psn, 3);
	rig_run2(&ra, &rb, MS);
	well(0, 1);
}

/* Requests that complete before they are sent are charged to the turn as
 * packets are, with or without the fast path. */
static void completions_cost_a_turn(void **state)
{
	static const uint8_t ops[] = { UNIC_WR_WRITE, UNIC_WR_WRITE_IMM };
	static const uint32_t weight[1] = { 1 };
	struct unic_cmd_mr evict;
	struct unic_cqe cqe;
	struct rig_mr mr;
	uint32_t k, i, n;

	(void)state;
	for (k = 0; k < sizeof(ops); k++) {
		set_up(1, weight);
		assert_int_equal(rig_reg(&ra, 0, qa[0].pd, 1,
					 UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0,
					 &mr),
				 0);
		evict = (struct unic_cmd_mr){ .mr = unic_to_le32(mr.mr),
					      .gen = unic_to_le32(mr.gen) };
		assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &evict, NULL),
				 0);
		for (i = 0; i < 10; i++)
			rig_send(&ra, &qa[0], ops[k], i, &mr, 0, 8, mb[0].iova,
				 mb[0].stag);
		turn_of(0, 3 * ra.nic.sched.cost_last);
		for (n = 0; rig_cqe(&ra, &qa[0], &cqe); n++)
			assert_int_equal(cqe.status, UNIC_WC_EVICTED);
		assert_int_equal(n, 3);
		rig_run2(&ra, &rb, MS);
		while (rig_cqe(&ra, &qa[0], &cqe))
			n++;
		assert_int_equal(n, 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dies_before_it_sends),
		cmocka_unit_test(dies_before_it_answers),
		cmocka_unit_test(alike_take_turns),
		cmocka_unit_test(turns_are_as_long_as_weights),
		cmocka_unit_test(idleness_is_no_credit),
		cmocka_unit_test(a_turn_ends_within_a_message),
		cmocka_unit_test(completions_cost_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
