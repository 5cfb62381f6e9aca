/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_cq.c - completion queues: order, fullness, notification. */
#include "unit.h"

#include "rig.h"

static struct rig r;
static struct rig_qp qp;
static uint32_t pd;

static int up(void **state)
{
	(void)state;
	rig_up(&r, 1);
	rig_attach(&r, 0, 1);
	pd = rig_pd(&r, 0);
	rig_qp(&r, 0, pd, 2, &qp);
	return 0;
}

static bool post(uint64_t id, uint8_t flags)
{
	struct unic_cqe cqe = { .wr_id = unic_to_le64(id),
				.qpn = unic_to_le32(qp.qpn),
				.flags = flags };

	return unic_cq_post(&r.nic.transport, qp.cq, &cqe);
}

static void arm(uint32_t word)
{
	unic_cq_arm(&r.nic.transport, qp.cq, word);
}

static struct unic_db_tail *row(void)
{
	return (struct unic_db_tail *)&r.nic.procs.proc[0].db->tail[2];
}

static uint32_t announced(void)
{
	return unic_from_le32(r.nic.procs.proc[0].np->cq_events[2]);
}

static void goes_round(void **state)
{
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	for (i = 0; i < 5 * RIG_SLOTS; i++) {
		assert_false(rig_cqe(&r, &qp, &cqe));
		assert_true(post(i, 0));
		assert_true(rig_cqe(&r, &qp, &cqe));
		assert_int_equal(unic_from_le64(cqe.wr_id), i);
		assert_int_equal(unic_from_le32(cqe.seq), i + 1);
	}
	assert_int_equal(rig_count(&r, cq_overflows), 0);
}

static void full_is_an_error(void **state)
{
	struct unic_evt_obj evt;
	uint32_t i;

	(void)state;
	for (i = 0; i < RIG_SLOTS; i++)
		assert_true(post(i, 0));
	/* one record was taken: one more fits */
	row()->cq_ci = unic_to_le32(1);
	assert_true(post(i, 0));
	assert_int_equal(rig_count(&r, cq_overflows), 0);
	assert_true(post(i, 0));
	assert_int_equal(rig_count(&r, cq_overflows), 1);
	rig_expect(&r, UNIC_EVT_CQ_ERROR, &evt);
	assert_int_equal(unic_from_le32(evt.detail), UNIC_CQ_OVERFLOW);
	assert_int_equal(unic_from_le64(qp.cqe[1].wr_id), 1); /* kept */
	assert_true(post(99, 0)); /* dropped, with one event */
	assert_int_equal(rig_count(&r, cq_overflows), 1);
}

static void post_to(uint32_t cq, uint32_t qpn)
{
	struct unic_cqe cqe = { .qpn = unic_to_le32(qpn) };

	assert_true(unic_cq_post(&r.nic.transport, cq, &cqe));
}

static uint8_t state_of(uint32_t qpn)
{
	return unic_qp_by_number(&r.nic.transport, qpn)->state;
}

/* A queue pair ends with either of its completion queues, and with no other. */
static void ends_its_queue_pairs(void **state)
{
	struct unic_cmd_cq_create cq = { .pd = unic_to_le32(pd),
					 .entries = unic_to_le32(2) };
	struct unic_cmd_qp_create create = {
		.pd = unic_to_le32(pd),
		.sq_slots = unic_to_le16(2),
		.rq_slots = unic_to_le16(2),
		.stag = unic_to_le32(qp.rings.stag),
		.sq_iova = unic_to_le64(qp.rings.iova + 2048),
		.rq_iova = unic_to_le64(qp.rings.iova + 4096 + 2048),
	};
	struct unic_cpl_obj cpl;
	uint32_t i, id[3], qpn[2];

	(void)state;
	for (i = 0; i < 3; i++) {
		struct unic_cmd_cq_create c = cq;

		c.stag = unic_to_le32(qp.rings.stag);
		c.iova = unic_to_le64(qp.rings.iova + 8192 + 1024 * (i + 1));
		c.db_index = unic_to_le32(10 + i);
		assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_CREATE, &c, &cpl), 0);
		id[i] = unic_from_le32(cpl.id);
	}
	for (i = 0; i < 2; i++) { /* CQs 0 and 1; 1 and 2 */
		struct unic_cmd_qp_create c = create;
		struct unic_cmd_qp_modify init;

		c.send_cq = unic_to_le32(id[i]);
		c.recv_cq = unic_to_le32(id[i + 1]);
		c.db_index = unic_to_le32(20 + i);
		assert_int_equal(rig_cmd(&r, UNIC_CMD_QP_CREATE, &c, &cpl), 0);
		qpn[i] = unic_from_le32(cpl.id);
		init = (struct unic_cmd_qp_modify){ .qpn = cpl.id,
						    .state = UNIC_QPS_INIT };
		assert_int_equal(rig_cmd(&r, UNIC_CMD_QP_MODIFY, &init, NULL),
				 0);
	}
	for (i = 0; i < 2; i++) { /* its send CQ; its receive CQ */
		uint32_t n;

		assert_int_equal(state_of(qpn[i]), UNIC_QPS_INIT);
		for (n = 0; n < 2; n++)
			post_to(id[2 * i], qpn[i]);
		assert_int_equal(state_of(qpn[i]), UNIC_QPS_INIT);
		post_to(id[2 * i], qpn[i]); /* one record too many */
		assert_int_equal(state_of(qpn[i]), UNIC_QPS_ERR);
	}
	assert_int_equal(rig_count(&r, cq_overflows), 2);
	assert_int_equal(r.nic.qps.qp[qp.qpn & 0xff].state, UNIC_QPS_RESET);
}

/* A sleeping process is woken when its queue fails; arming a queue that has
 * failed wakes at once. */
static void failure_wakes(void **state)
{
	uint32_t i, before = announced(), rung = r.port.rung[1];

	(void)state;
	arm(RIG_SLOTS + 5); /* a record beyond the full ring */
	for (i = 0; i < RIG_SLOTS; i++)
		assert_true(post(i, 0));
	assert_int_equal(announced(), before);
	assert_true(post(i, 0));
	assert_int_equal(announced(), before + 1);
	assert_int_equal(r.port.rung[1], rung + 1);
	arm(RIG_SLOTS + 5);
	assert_int_equal(announced(), before + 2);
	assert_int_equal(r.port.rung[1], rung + 2);
}

/* The event of a failure is dropped with its queue. */
static void untold_failure_goes_with_it(void **state)
{
	struct unic_evt_obj evt = { .hdr.type = UNIC_EVT_PROC_GONE };
	struct unic_cmd_obj cmd = { .id = unic_to_le32(qp.qpn) };
	uint32_t i;

	(void)state;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_QP_DESTROY, &cmd, NULL), 0);
	while (unic_mbox_event(&r.nic.base, &evt))
		evt.hdr.type = UNIC_EVT_PROC_GONE;
	for (i = 0; i <= RIG_SLOTS; i++)
		assert_true(post(i, 0));
	assert_int_equal(r.nic.cqs.evts_due, 1);
	cmd = (struct unic_cmd_obj){ .id = unic_to_le32(qp.cq) };
	assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_DESTROY, &cmd, NULL), 0);
	assert_int_equal(r.nic.cqs.evts_due, 0);
	while (rig_event(&r, &evt))
		assert_int_equal(evt.hdr.type, UNIC_EVT_PROC_GONE);
	rig_run(&r, 10000000);
	assert_false(rig_event(&r, &evt));
	assert_false(r.nic.chores);
}

/* A consumer index beyond the written records is ignored. */
static void wild_consumer(void **state)
{
	uint32_t i;

	(void)state;
	row()->cq_ci = unic_to_le32(0x80000000);
	for (i = 0; i < RIG_SLOTS; i++)
		assert_true(post(i, 0));
	row()->cq_ci = unic_to_le32(RIG_SLOTS + 1);
	assert_true(post(i, 0));
	assert_int_equal(rig_count(&r, cq_overflows), 1);
}

static void told_once_per_arming(void **state)
{
	uint32_t rung = r.port.rung[1];

	(void)state;
	post(0, 0);
	assert_int_equal(announced(), 0);
	arm(1); /* arms for record 1 */
	assert_int_equal(announced(), 0);
	post(1, 0);
	post(2, 0);
	assert_int_equal(announced(), 1);
	arm(2); /* record 2 is there already */
	assert_int_equal(announced(), 2);
	assert_int_equal(r.port.rung[1], rung + 2);
	post(3, 0);
	assert_int_equal(announced(), 2);
}

/* The count of a row goes on: one who saw it when it made another queue there sees the first
 * notification of that. */
static void told_of_the_next_in_its_row(void **state)
{
	struct unic_cmd_obj obj = { .id = unic_to_le32(qp.qpn) };
	struct unic_cmd_dump dump = { .table = unic_to_le32(UNIC_TABLE_CQ) };
	struct unic_row_cq of;

	(void)state;
	arm(0);
	post(0, 0);
	assert_int_equal(announced(), 1);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_QP_DESTROY, &obj, NULL), 0);
	obj = (struct unic_cmd_obj){ .id = unic_to_le32(qp.cq) };
	assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_DESTROY, &obj, NULL), 0);
	rig_qp(&r, 0, pd, 2, &qp);
	assert_int_equal(announced(), 1);
	arm(0);
	post(0, 0);
	assert_int_equal(announced(), 2);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &dump, NULL), UNIC_ST_OK);
	memcpy(&of,
	       r.port.bar + UNIC_BAR_LIST_OFF +
		       (r.cmd_tail - 1) % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES,
	       sizeof(of));
	assert_int_equal(unic_from_le32(of.events), 1); /* its own */
}

static void solicited_only(void **state)
{
	struct unic_cqe failed = { .qpn = unic_to_le32(qp.qpn),
				   .status = UNIC_WC_WR_FLUSH_ERR };

	(void)state;
	arm(0x80000000u);
	post(0, 0);
	assert_int_equal(announced(), 0);
	post(1, UNIC_WC_SOLICITED);
	assert_int_equal(announced(), 1);
	arm(0x80000000u | 2);
	assert_int_equal(announced(), 1);
	unic_cq_post(&r.nic.transport, qp.cq,
		     &failed); /* errors always count */
	assert_int_equal(announced(), 2);
}

/* A record is announced when its DMA is done, not before. */
static void told_after_late_dma(void **state)
{
	(void)state;
	r.port.late_dma = true;
	arm(0);
	assert_true(post(7, 0));
	assert_int_equal(announced(), 0);
	fake_dma_run(&r.port, 1);
	unic_dma_poll(&r.nic.transport);
	assert_int_equal(announced(), 1);
	assert_int_equal(unic_from_le64(qp.cqe[0].wr_id), 7);
}

static void creation_is_checked(void **state)
{
	struct unic_cmd_cq_create good = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(qp.rings.stag),
		.iova = unic_to_le64(qp.rings.iova + 8192),
		.entries = unic_to_le32(16),
		.db_index = unic_to_le32(9),
	};
	struct unic_cmd_cq_create c;
	struct unic_cmd_obj obj = { .id = unic_to_le32(qp.cq) };

	(void)state;
	c = good, c.pd = unic_to_le32(UNIC_PDS);
	assert_int_equal(unic_cq_create(&r.nic.transport, &c), -UNIC_ENOPD);
	c = good, c.entries = unic_to_le32(17);
	assert_int_equal(unic_cq_create(&r.nic.transport, &c), -UNIC_EINVAL);
	c = good, c.entries = unic_to_le32(2u * UNIC_CQ_ENTRIES);
	assert_int_equal(unic_cq_create(&r.nic.transport, &c), -UNIC_EINVAL);
	c = good, c.iova = unic_to_le64(qp.rings.iova + 1);
	assert_int_equal(unic_cq_create(&r.nic.transport, &c), -UNIC_EINVAL);
	c = good, c.entries = unic_to_le32(256);
	assert_int_equal(unic_cq_create(&r.nic.transport, &c), -UNIC_EBOUNDS);
	c = good, c.stag ^= unic_to_le32(0x100);
	assert_int_equal(unic_cq_create(&r.nic.transport, &c), -UNIC_ESTAG);
	c = good, c.db_index = unic_to_le32(2);
	assert_int_equal(unic_cq_create(&r.nic.transport, &c), -UNIC_EBUSY);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_DESTROY, &obj, NULL),
			 UNIC_ST_BUSY);
	assert_int_equal(unic_cq_destroy(&r.nic.transport, 1, qp.cq),
			 -UNIC_ENOCQ);
	assert_int_equal(unic_cq_destroy(&r.nic.transport, 0, UNIC_CQS),
			 -UNIC_ENOCQ);
}

static void as_many_as_there_are(void **state)
{
	struct unic_cmd_cq_create cmd, good = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(qp.rings.stag),
		.iova = unic_to_le64(qp.rings.iova + 8192),
		.entries = unic_to_le32(16),
	};
	struct unic_cmd_obj obj = { .id = unic_to_le32(UNIC_CQS - 1) };
	uint32_t i;

	(void)state;
	for (i = 1; i < UNIC_CQS; i++) { /* CQ 0 is that of the set-up */
		cmd = good, cmd.db_index = unic_to_le32(i + 10);
		assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_CREATE, &cmd, NULL),
				 UNIC_ST_OK);
	}
	cmd = good, cmd.db_index = unic_to_le32(30);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_CREATE, &cmd, NULL),
			 UNIC_ST_CQ_FULL);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_DESTROY, &obj, NULL),
			 UNIC_ST_OK);
	cmd = good, cmd.db_index = unic_to_le32(30);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_CREATE, &cmd, NULL),
			 UNIC_ST_OK);
}

/* Posts a run of at most @n records with ids from @id on. Returns its
 * length. */
static uint32_t post_run(uint64_t id, uint32_t n)
{
	uint32_t i, seq = unic_cq_seq(&r.nic, qp.cq);
	struct unic_cqe *at;

	n = unic_cq_window(&r.nic.transport, qp.cq, n, &at);
	for (i = 0; i < n; i++) {
		at[i].wr_id = unic_to_le64(id + i);
		if (i)
			at[i].seq = unic_to_le32(seq + i);
	}
	if (n)
		unic_cq_publish(&r.nic.transport, qp.cq, at, n);
	return n;
}

static void take(uint64_t id, uint32_t n)
{
	struct unic_cqe cqe;

	for (; n; n--, id++) {
		assert_true(rig_cqe(&r, &qp, &cqe));
		assert_int_equal(unic_from_le64(cqe.wr_id), id);
		assert_int_equal(unic_from_le32(cqe.seq), qp.cq_ci);
	}
	assert_false(rig_cqe(&r, &qp, &cqe));
}

static void runs_go_round(void **state)
{
	uint32_t rung = r.port.rung[1];

	(void)state;
	assert_int_equal(post_run(0, 8), 8);
	take(0, 8);
	arm(10);
	assert_int_equal(post_run(20, 6), 6);
	assert_int_equal(announced(), 1); /* once, for record 10 of 8 to 13 */
	assert_int_equal(r.port.rung[1], rung + 1);
	take(20, 6);
	assert_int_equal(post_run(30, 5), 2); /* up to the end of the ring */
	assert_int_equal(post_run(32, 3), 3);
	take(30, 5);
	assert_int_equal(post_run(40, 8), 8);
	assert_int_equal(post_run(48, 8), 8 - 3); /* up to the end */
	assert_int_equal(post_run(53, 4), 0);	  /* three are free */
	assert_int_equal(post_run(53, 3), 3);
	assert_int_equal(rig_count(&r, cq_overflows), 0);
	take(40, 16);
}

/* While a record's DMA is under way there is no window for a run. */
static void no_window_while_late(void **state)
{
	(void)state;
	r.port.late_dma = true;
	post(1, 0);
	assert_int_equal(post_run(2, 3), 0);
	r.port.late_dma = false;
	assert_int_equal(post_run(2, 3), 0); /* one record is still under way */
	fake_dma_run(&r.port, 1);
	rig_poll(&r);
	take(1, 1);
	assert_int_equal(post_run(2, 3), 3);
	take(2, 3);
}

/* Records behind a consumer index that goes back are unread again: none of them
 * is overwritten. */
static void consumer_goes_back(void **state)
{
	(void)state;
	assert_int_equal(post_run(0, 8), 8);
	take(0, 8);
	assert_int_equal(post_run(8, 8), 8);
	assert_int_equal(post_run(16, 3), 3);
	row()->cq_ci = unic_to_le32(3); /* 19 were written: the ring is full */
	assert_int_equal(post_run(19, 6), 0);
	assert_int_equal(post_run(19, 5), 0);
	row()->cq_ci = unic_to_le32(8);
	assert_int_equal(post_run(19, 5), 5);
	take(8, 16);
	assert_int_equal(rig_count(&r, cq_overflows), 0);
}

static void rows_for_people(void **state)
{
	struct unic_cmd_dump dump = { .table = unic_to_le32(UNIC_TABLE_CQ) };
	struct unic_cpl_dump cpl;
	struct unic_row_cq row;

	(void)state;
	post(0, 0);
	post(1, 0);
	arm(5);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &dump, &cpl), UNIC_ST_OK);
	assert_int_equal(unic_from_le32(cpl.rows), 1);
	assert_int_equal(unic_from_le32(cpl.next), 0);
	memcpy(&row,
	       r.port.bar + UNIC_BAR_LIST_OFF +
		       (r.cmd_tail - 1) % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES,
	       sizeof(row));
	assert_int_equal(unic_from_le32(row.index), qp.cq);
	assert_int_equal(unic_from_le32(row.mr), qp.rings.mr);
	assert_int_equal(unic_from_le32(row.entries), RIG_SLOTS);
	assert_int_equal(unic_from_le32(row.written), 2);
	assert_int_equal(unic_from_le32(row.users), 2);
	assert_int_equal(unic_from_le32(row.arm), 5);
	assert_int_equal(row.armed, 1);
	assert_int_equal(row.error, 0);
	assert_int_equal(row.db_index, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(goes_round, up),
		cmocka_unit_test_setup(full_is_an_error, up),
		cmocka_unit_test_setup(ends_its_queue_pairs, up),
		cmocka_unit_test_setup(failure_wakes, up),
		cmocka_unit_test_setup(untold_failure_goes_with_it, up),
		cmocka_unit_test_setup(wild_consumer, up),
		cmocka_unit_test_setup(told_once_per_arming, up),
		cmocka_unit_test_setup(told_of_the_next_in_its_row, up),
		cmocka_unit_test_setup(solicited_only, up),
		cmocka_unit_test_setup(told_after_late_dma, up),
		cmocka_unit_test_setup(runs_go_round, up),
		cmocka_unit_test_setup(consumer_goes_back, up),
		cmocka_unit_test_setup(no_window_while_late, up),
		cmocka_unit_test_setup(creation_is_checked, up),
		cmocka_unit_test_setup(as_many_as_there_are, up),
		cmocka_unit_test_setup(rows_for_people, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
