/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_local_ops.c - queue pairs whose local operation waits, for a region that
 * is in use or for the reader of lists, beside others that send.
 */
#include "unit.h"

#include "sched_rig.h"

static struct unic_sq_slot local_op(uint8_t opcode, uint32_t stag)
{
	return (struct unic_sq_slot){
		.opcode = opcode,
		.flags = UNIC_WR_SIGNALED,
		.rkey = unic_to_le32(stag),
	};
}

static void post(uint32_t q, struct unic_sq_slot s)
{
	sched_qa[q].sq[sched_qa[q].sq_tail % RIG_SLOTS] = s;
	rig_ring(&sched_a, sched_qa[q].proc, UNIC_DB_SQ, sched_qa[q].row,
		 ++sched_qa[q].sq_tail);
}

/* Allocates an empty form of process @proc. */
static void form_of(uint32_t proc, struct rig_mr *out)
{
	struct unic_cmd_mr_alloc cmd = { .pd = unic_to_le32(sched_pa[proc]),
					 .kind = UNIC_FORM_INDIRECT,
					 .n = unic_to_le32(1) };
	struct unic_cpl_mr_reg cpl;

	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_MR_ALLOC, &cmd, &cpl), 0);
	memset(out, 0, sizeof(*out));
	out->mr = unic_from_le32(cpl.mr);
	out->gen = unic_from_le32(cpl.gen);
	out->stag = unic_from_le32(cpl.stag);
}

/* Posts REG_INDIRECT of @form on @q, with a list in the region of its
 * process. */
static void make_of_memory(uint32_t q, const struct rig_mr *form)
{
	struct unic_sq_slot s = local_op(UNIC_WR_REG_INDIRECT, form->stag);
	const struct rig_mr *mr = &sched_ma[sched_qa[q].proc];
	struct unic_sge e = { .iova = unic_to_le64(mr->iova + 512),
			      .len = unic_to_le32(64),
			      .lkey = unic_to_le32(mr->stag) };

	memcpy(mr->mem, &e, sizeof(e));
	s.imm = unic_to_le32(1u | (uint32_t)UNIC_MR_REMOTE_READ << 8);
	s.num_sge = 1;
	s.sge[0] = (struct unic_sge){ .iova = unic_to_le64(mr->iova),
				      .len = unic_to_le32(sizeof(e)),
				      .lkey = unic_to_le32(mr->stag) };
	post(q, s);
}

/* A LOCAL_INV waits for a region in use; other queue pairs send meanwhile. */
static void a_waiting_invalidation_holds_up_nobody(void **state)
{
	uint32_t q[4], i, rounds, start, served = 0;
	struct unic_cqe cqe;
	struct rig_mr x;

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = sched_connect(false, 0);
	q[3] = sched_connect(false, 1);
	form_of(0, &x);
	make_of_memory(q[0], &x);
	rig_poll(&sched_a);
	assert_int_equal(sched_completed(q[0]), 1);
	x.stag = (x.stag & ~0xffu) | 1;
	unic_mr_hold(&sched_a.nic.memory,
		     (uint16_t)x.mr); /* as a READ of a peer does */
	for (i = 0; i < 3; i++)
		post(q[i], local_op(UNIC_WR_LOCAL_INV, x.stag));
	for (i = 0; i < 4; i++)
		unic_nic_poll(&sched_a.nic);
	sched_write(q[3], SCHED_LONG);
	for (rounds = 0; rounds < 20; rounds++)
		sched_round();
	assert_int_equal(sched_completed(q[3]), 1);
	assert_int_equal(sched_completed(q[0]), 0);
	for (i = 0; i < 12; i++) /* waiting queue pairs take no turns */
		sched_write(q[3], SCHED_LONG);
	start = sched_frames;
	unic_nic_poll(&sched_a.nic);
	assert_true(sched_frames - start >= 22);
	unic_mr_unhold(&sched_a.nic.memory, (uint16_t)x.mr);
	for (rounds = 0; rounds < 20; rounds++)
		sched_round();
	for (i = 0; i < 3; i++) { /* one succeeds, the others fail */
		assert_true(rig_cqe(&sched_a, &sched_qa[q[i]], &cqe));
		served += !cqe.status;
	}
	assert_int_equal(served, 1);
}

/* Makes a form through queue pair @q, and holds it as an operation would. */
static void form_in_use(uint32_t q, struct rig_mr *form)
{
	form_of(sched_qa[q].proc, form);
	make_of_memory(q, form);
	rig_poll(&sched_a);
	assert_int_equal(sched_completed(q), 1);
	form->stag = (form->stag & ~0xffu) | 1;
	unic_mr_hold(&sched_a.nic.memory, (uint16_t)form->mr);
}

/* Five queue pairs wait for a region, and one of another process for a region
 * of its own: when that is idle its queue pair goes on within two rounds. */
static void who_waits_does_not_wait_for_others(void **state)
{
	uint32_t i, phase, rounds, worst = 0;
	struct rig_mr x, y;
	struct unic_cqe cqe;

	(void)state;
	for (phase = 0; phase < SCHED_QPS; phase++) {
		sched_up(1, 1, 1);
		for (i = 0; i < SCHED_QPS; i++)
			sched_connect(false, i == 5);
		form_in_use(0, &x);
		form_in_use(5, &y);
		for (i = 0; i < SCHED_QPS; i++)
			post(i, local_op(UNIC_WR_LOCAL_INV,
					 i == 5 ? y.stag : x.stag));
		for (i = 0; i < 10 + phase; i++)
			unic_nic_poll(&sched_a.nic);
		unic_mr_unhold(&sched_a.nic.memory, (uint16_t)y.mr);
		for (rounds = 1; rounds < 20; rounds++) {
			unic_nic_poll(&sched_a.nic);
			if (rig_cqe(&sched_a, &sched_qa[5], &cqe))
				break;
		}
		worst = rounds > worst ? rounds : worst;
	}
	assert_true(worst <= 2);
}

static void reset(const struct rig_qp *qp)
{
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qp->proc),
					  .qpn = unic_to_le32(qp->qpn),
					  .state = UNIC_QPS_RESET };

	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
}

/* A queue pair that waits, and one that has waited, can end; nothing of either
 * is left on any list. */
static void who_waits_can_go(void **state)
{
	uint32_t q[3], i;
	struct rig_mr x;

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = sched_connect(false, 0);
	form_in_use(q[0], &x);
	post(q[0], local_op(UNIC_WR_LOCAL_INV, x.stag));
	post(q[1], local_op(UNIC_WR_LOCAL_INV, x.stag));
	for (i = 0; i < 5; i++)
		unic_nic_poll(&sched_a.nic);
	assert_int_equal(sched_a.nic.order.waits, 2);
	reset(&sched_qa[q[1]]); /* its operation waits */
	for (i = 0; i < 5; i++)
		unic_nic_poll(&sched_a.nic);
	assert_int_equal(sched_a.nic.sched.work, 1);
	fake_room(&sched_a.port, fake_path(2), 0);
	sched_write(q[2], SCHED_LONG); /* the queue pair is not alone */
	unic_nic_poll(&sched_a.nic);
	unic_mr_unhold(&sched_a.nic.memory, (uint16_t)x.mr);
	for (i = 0; i < 5; i++)
		unic_nic_poll(&sched_a.nic);
	assert_int_equal(sched_completed(q[0]), 1);
	reset(&sched_qa[q[0]]); /* its operation has waited */
	assert_int_equal(sched_a.nic.sched.work, 1);
	fake_room(&sched_a.port, fake_path(2), FAKE_NEVER_FULL);
	for (i = 0; i < 5; i++)
		sched_round();
	assert_int_equal(sched_completed(q[2]), 1);
	assert_int_equal(sched_a.nic.sched.work, 0);
	assert_int_equal(sched_a.nic.order.waits, 0);
}

/* A queue pair with a limit waits as others do, and keeps the limit. */
static void who_waits_keeps_its_limit(void **state)
{
	struct unic_cmd_rate cmd = {
		.rate = unic_to_le64(1000000),
		.flags = unic_to_le32(UNIC_RATE_SET),
	};
	struct rig_mr x;
	uint32_t q, i;

	(void)state;
	sched_up(1, 1, 1);
	q = sched_connect(false, 0);
	cmd.qpn = unic_to_le32(sched_qa[q].qpn);
	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_RATE, &cmd, NULL), 0);
	form_in_use(q, &x);
	post(q, local_op(UNIC_WR_LOCAL_INV, x.stag));
	for (i = 0; i < 5; i++)
		unic_nic_poll(&sched_a.nic);
	assert_int_equal(sched_a.nic.order.waits, 1);
	assert_int_equal(sched_a.nic.sched.sole_on, 0);
	unic_mr_unhold(&sched_a.nic.memory, (uint16_t)x.mr);
	for (i = 0; i < 5; i++)
		unic_nic_poll(&sched_a.nic);
	assert_int_equal(sched_completed(q), 1);
	assert_int_equal(sched_a.nic.sched.work, 0);
	assert_int_equal(sched_a.nic.qps.qp[sched_qa[q].qpn & 0xff].on,
			 UNIC_ON_METERED);
}

/* Polls until queue pair @q reads a list, whose DMA does not complete. */
static void until_reading(uint32_t q)
{
	uint32_t i;

	sched_a.port.late_dma = true;
	for (i = 0; i < 20 && !sched_a.nic.list_reader.qpn; i++) {
		unic_nic_poll(&sched_a.nic);
		if (!sched_a.nic.list_reader.qpn)
			fake_dma_run(&sched_a.port, 1);
	}
	assert_int_equal(sched_a.nic.list_reader.qpn, sched_qa[q].qpn);
}

/* The retransmission timer of @q expires. */
static void time_out(uint32_t q)
{
	sched_a.nic.qps.qp[sched_qa[q].qpn & 0xff].sq.timer_ns =
		sched_a.nic.now_ns;
	sched_a.nic.qps.timer_ns = 0;
	sched_a.nic.timers_ns = 0;
	unic_nic_poll(&sched_a.nic);
	assert_int_equal(rig_count(&sched_a, timeouts), 1);
}

/* A queue pair in an RNR pause gives up the reader of lists. */
static void a_silent_queue_pair_reads_no_list(void **state)
{
	uint32_t a, b, i;
	struct rig_mr x[2];

	(void)state;
	sched_up(1, 1, 1);
	a = sched_connect(false, 0);
	b = sched_connect(false, 1);
	form_of(0, &x[0]);
	form_of(1, &x[1]);
	rig_send(&sched_a, &sched_qa[a], UNIC_WR_SEND, 1, &sched_ma[0], 0, 8, 0,
		 0);
	make_of_memory(a, &x[0]);
	until_reading(a);
	rig_poll(&sched_b); /* without a receive: RNR NAK */
	for (i = 0; i < 20; i++) {
		rig_poll(&sched_a);
		fake_dma_run(&sched_a.port, FAKE_PENDING);
	}
	assert_true(sched_a.nic.qps.qp[sched_qa[a].qpn & 0xff].sq.rnr_wait);
	make_of_memory(b, &x[1]);
	for (i = 0; i < 20; i++) {
		rig_poll(&sched_a);
		fake_dma_run(&sched_a.port, FAKE_PENDING);
	}
	assert_int_equal(sched_completed(b), 1);
}

/* A queue pair that has to retransmit, and for which C has no room, gives up
 * the reader of lists. */
static void a_blocked_queue_pair_reads_no_list(void **state)
{
	struct rig_mr x[2];
	uint32_t a, b, i;

	(void)state;
	sched_up(1, 1, 1);
	a = sched_connect(true, 0);
	b = sched_connect(false, 1);
	form_of(0, &x[0]);
	form_of(1, &x[1]);
	rig_send(&sched_a, &sched_qa[a], UNIC_WR_SEND, 1, &sched_ma[0], 0, 8, 0,
		 0);
	make_of_memory(a, &x[0]);
	until_reading(a);
	fake_room(&sched_a.port, fake_path(3), 0);
	time_out(a);
	make_of_memory(b, &x[1]);
	for (i = 0; i < 40; i++) {
		unic_nic_poll(&sched_a.nic);
		fake_dma_run(&sched_a.port, FAKE_PENDING);
	}
	assert_int_equal(sched_completed(b), 1);
}

/* A queue pair that is the next reader of lists may fail before its turn;
 * others read then. */
static void the_next_reader_can_go(void **state)
{
	uint32_t q[3], i;
	struct rig_mr x[3];

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 3; i++) {
		q[i] = sched_connect(false, i);
		form_of(i, &x[i]);
	}
	make_of_memory(q[0], &x[0]);
	make_of_memory(q[1], &x[1]);
	until_reading(q[0]);
	fake_dma_run(&sched_a.port, 1); /* DMA of the other's request */
	for (i = 0; i < 4; i++)
		unic_nic_poll(&sched_a.nic);
	assert_int_equal(sched_a.nic.list_reader.next_qpn, sched_qa[q[1]].qpn);
	sched_set_error(&sched_qa[q[1]]);
	make_of_memory(q[2], &x[2]);
	for (i = 0; i < 40; i++) {
		unic_nic_poll(&sched_a.nic);
		fake_dma_run(&sched_a.port, FAKE_PENDING);
	}
	assert_int_equal(sched_completed(q[2]), 1);
}

/* The reader of lists goes to a queue pair of another process first. */
static void lists_are_read_for_all_processes(void **state)
{
	uint32_t q[3], i, k, before = 0;
	struct rig_mr x[5];

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = sched_connect(false, i == 2);
	for (i = 0; i < 5; i++)
		form_of(i == 4, &x[i]);
	for (i = 0; i < 4; i++)
		make_of_memory(q[i % 2], &x[i]);
	sched_a.port.late_dma = true;
	for (k = 0; k < 200; k++) {
		if (k == 1)
			make_of_memory(q[2], &x[4]);
		unic_nic_poll(&sched_a.nic);
		sched_a.port.now_ns += 1000;
		fake_dma_run(&sched_a.port, 1);
		before += sched_completed(q[0]) + sched_completed(q[1]);
		if (sched_completed(q[2]))
			break;
	}
	assert_true(k < 200);
	assert_true(before <= 1);
}

/* Three queue pairs want the reader of lists while another has it. The first,
 * of the same process as the reader, gives way to the second, of another
 * process; the third does not change the order. */
static void another_process_reads_next(void **state)
{
	static const uint32_t proc[] = { 0, 0, 1, 2 }, next[] = { 0, 1, 2, 2 };
	uint32_t q[4], i, k;
	struct rig_mr x[4];

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 4; i++) {
		q[i] = sched_connect(false, proc[i]);
		form_of(proc[i], &x[i]);
	}
	for (i = 0; i < 4; i++)
		make_of_memory(q[i], &x[i]);
	until_reading(q[0]);
	for (i = 1; i < 4; i++) {
		fake_dma_run(&sched_a.port, 1); /* DMA of its request */
		for (k = 0; k < 4; k++)
			unic_nic_poll(&sched_a.nic);
		assert_int_equal(sched_a.nic.list_reader.next_qpn,
				 sched_qa[q[next[i]]].qpn);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiting_invalidation_holds_up_nobody),
		cmocka_unit_test(who_waits_does_not_wait_for_others),
		cmocka_unit_test(a_silent_queue_pair_reads_no_list),
		cmocka_unit_test(a_blocked_queue_pair_reads_no_list),
		cmocka_unit_test(lists_are_read_for_all_processes),
		cmocka_unit_test(another_process_reads_next),
		cmocka_unit_test(who_waits_keeps_its_limit),
		cmocka_unit_test(who_waits_can_go),
		cmocka_unit_test(the_next_reader_can_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
