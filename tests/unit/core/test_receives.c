/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_receives.c - receives of several pieces, unusable ones, far ones and
 * those of a long ring; each message goes to its own place; a doorbell reads
 * one word only; a NIC that fails while it receives.
 */
#include "unit.h"

#include "pair.h"

#define MS 1000000ull

static int up(void **state)
{
	(void)state;
	pair_up();
	return 0;
}

/* A receive of three pieces in two regions, one piece empty. */
static void pieces(const struct rig_mr *other, uint32_t lkey)
{
	struct unic_rq_slot *s = &qb.rq[qb.rq_tail % RIG_SLOTS];

	rig_recv(&rb, &qb, 7, &mb, 0, 100);
	s->num_sge = 3;
	s->sge[1].lkey = unic_to_le32(0xdead);
	s->sge[2].iova = unic_to_le64(other->iova + 50);
	s->sge[2].len = unic_to_le32(300);
	s->sge[2].lkey = unic_to_le32(lkey);
}

static void receive_in_pieces(void **state)
{
	struct rig_mr other;
	uint32_t k;

	for (k = 0; k < 4; k++) {
		up(state);
		assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &other),
				 0);
		memset(other.mem, 0xee, 4096);
		pieces(&other, other.stag ^ (k == 3 ? 0x100 : 0));
		rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, k < 2 ? 400 : 401,
			 0, 0);
		pair_run(20 * MS);
		if (k < 2) {
			pair_expect(&ra, &qa, 1, 0, 400);
			pair_expect(&rb, &qb, 7, 0, 400);
			assert_memory_equal(mb.mem, ma.mem, 100);
			assert_memory_equal(other.mem + 50, ma.mem + 100, 300);
			assert_int_equal(other.mem[350], 0xee);
		} else { /* the message is too long; the last key is wrong */
			pair_expect(&rb, &qb, 7,
				    k == 2 ? UNIC_WC_LOC_LEN_ERR
					   : UNIC_WC_LOC_PROT_ERR,
				    0);
			assert_int_equal(other.mem[50], 0xee);
		}
		pair_quiet();
	}
}

/* Elements behind the last piece of a receive do not count: they may be
 * invalid, and hold no region. */
static void behind_its_pieces(void **state)
{
	struct rig_mr other;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &other),
			 0);
	for (i = 0; i < 2; i++) { /* a piece of the first one is in @other */
		struct unic_rq_slot *s = &qb.rq[qb.rq_tail % RIG_SLOTS];

		rig_recv(&rb, &qb, i, &mb, 0, 100);
		s->num_sge = i ? 1 : 2;
		s->sge[1].iova = unic_to_le64(other.iova);
		s->sge[1].len = unic_to_le32(300);
		s->sge[1].lkey = unic_to_le32(i ? 0xdead : other.stag);
	}
	pair_run(MS);
	for (i = 0; i < 2; i++) {
		rb.port.late_dma = i;
		rig_send(&ra, &qa, UNIC_WR_SEND, i, &ma, 0, 90, 0, 0);
		rig_poll(&ra);
		pair_rounds(&rb, 4);
		assert_int_equal(rb.nic.mrs.mr[mb.mr].holds, i);
		assert_int_equal(rb.nic.mrs.mr[other.mr].holds, 0);
		rb.port.late_dma = false;
		fake_dma_run(&rb.port, FAKE_PENDING);
		pair_run(MS);
		pair_expect(&rb, &qb, i, 0, 90);
		pair_expect(&ra, &qa, i, 0, 90);
	}
	pair_quiet();
}

/* A WRITE behind a SEND goes to its own address, not to the receive, with or
 * without the fast path. */
static void write_behind_a_send(void **state)
{
	uint32_t k, i;

	for (k = 0; k < 2; k++) {
		up(state);
		rb.port.late_dma = k;
		memset(mb.mem, 0xee, 8192);
		rig_recv(&rb, &qb, 1, &mb, 0, 200);
		rig_recv(&rb, &qb, 2, &mb, 200, 200);
		rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 100, 0, 0);
		rig_send(&ra, &qa, UNIC_WR_WRITE_IMM, 2, &ma, 1000, 90,
			 mb.iova + 4096, mb.stag);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 3000, 80,
			 mb.iova + 5000, mb.stag);
		for (i = 0; i < 40; i++) {
			rig_poll(&ra);
			rig_poll(&rb);
			fake_dma_run(&rb.port, 1);
		}
		pair_expect(&rb, &qb, 1, 0, 100);
		pair_expect(&rb, &qb, 2, 0, 90);
		for (i = 0; i < 3; i++)
			pair_expect(&ra, &qa, i + 1, 0, 100 - 10 * i);
		assert_memory_equal(mb.mem, ma.mem, 100);
		assert_int_equal(mb.mem[100], 0xee);
		assert_memory_equal(mb.mem + 4096, ma.mem + 1000, 90);
		assert_int_equal(mb.mem[4096 + 90], 0xee);
		assert_memory_equal(mb.mem + 5000, ma.mem + 3000, 80);
		assert_int_equal(mb.mem[5080], 0xee);
		rb.port.late_dma = false;
		pair_quiet();
	}
}

/* A WRITE behind a failed SEND of another queue pair goes to its own
 * address. */
static void write_behind_a_failed_send(void **state)
{
	struct rig_qp a2, b2;
	uint32_t k, i, whole = 0;
	struct unic_cqe cqe;

	for (k = 1; k < 8; k++) {
		up(state);
		rig_qp(&ra, 0, qa.pd, 8, &a2);
		rig_qp(&rb, 0, qb.pd, 9, &b2);
		rig_connect(&ra, &a2, &rb, &b2);
		memset(mb.mem, 0xee, 8192);
		rig_recv(&rb, &qb, 1, &mb, 0, 200);
		rig_recv(&rb, &b2, 2, &mb, 200, 200);
		rb.port.fail_call = rb.port.calls + k;
		rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 100, 0, 0);
		pair_run(20 * MS);
		whole += rig_cqe(&ra, &qa, &cqe) && !cqe.status;
		memset(mb.mem, 0xee, 100);
		rig_send(&ra, &a2, UNIC_WR_WRITE_IMM, 2, &ma, 1000, 300,
			 mb.iova + 4096, mb.stag);
		pair_run(20 * MS);
		if (rb.nic.cqs.cq[b2.cq].error)
			continue; /* the bus refused another transfer */
		for (i = 0; i < 100; i++)
			assert_int_equal(mb.mem[i], 0xee);
		if (rig_cqe(&ra, &a2, &cqe) && !cqe.status)
			assert_memory_equal(mb.mem + 4096, ma.mem + 1000, 300);
	}
	assert_in_range(whole, 1, 6);
}

/*
 * Two receives are in an evicted region: the first one, and one beyond the
 * receives of the ring that the NIC keeps; between them are nine that are too
 * short. The message takes the last receive. The ring has wrapped before.
 */
static void far_behind(const struct rig_mr *gone, uint32_t again_call)
{
	uint32_t i;

	for (i = 0; i < 9; i++) {
		rig_recv(&rb, &qb, i, &mb, 0, 10);
		rig_send(&ra, &qa, UNIC_WR_SEND, i, &ma, 0, 10, 0, 0);
		pair_at_once();
		pair_expect(&ra, &qa, i, 0, 10);
		pair_expect(&rb, &qb, i, 0, 10);
	}
	rig_recv(&rb, &qb, 100, gone, 0, 1000);
	for (i = 1; i < 10; i++)
		rig_recv(&rb, &qb, 100 + i, &mb, 1000 * i, 100);
	rig_recv(&rb, &qb, 110, gone, 0, 1000);
	rig_recv(&rb, &qb, 111, &mb, 16384, 1000);
	pair_run(MS / 10);
	rb.port.again_call = again_call ? rb.port.calls + again_call : ~0u;
	rig_send(&ra, &qa, UNIC_WR_SEND, 50, &ma, 0, 1000, 0, 0);
	pair_run(10 * MS);
	pair_expect(&ra, &qa, 50, 0, 1000);
	pair_expect(&rb, &qb, 100, UNIC_WC_EVICTED, 0);
	pair_expect(&rb, &qb, 110, UNIC_WC_EVICTED, 0);
	pair_expect(&rb, &qb, 111, 0, 1000);
	assert_memory_equal(mb.mem + 16384, ma.mem, 1000);
}

static uint32_t far_calls(uint32_t again_call)
{
	struct rig_mr gone;
	uint32_t i, calls;

	pair_up();
	unic_qp_by_number(&rb.nic.transport, qb.qpn)->rq.class_bytes = 1000;
	pair_gone_region(&rb, qb.pd, &gone);
	calls = rb.port.calls;
	far_behind(&gone, again_call);
	calls = rb.port.calls - calls;
	rb.port.again_call = 0;
	for (i = 1; i < 10; i++) {
		rig_send(&ra, &qa, UNIC_WR_SEND, i, &ma, 0, 100, 0, 0);
		pair_run(MS / 10);
		pair_expect(&ra, &qa, i, 0, 100);
		pair_expect(&rb, &qb, 100 + i, 0, 100);
		assert_memory_equal(mb.mem + 1000 * i, ma.mem, 100);
	}
	rig_send(&ra, &qa, UNIC_WR_SEND, 60, &ma, 0, 100, 0, 0);
	pair_run(MS / 100);
	pair_expect_none(&rb, &qb); /* all receives are used, each once */
	rig_recv(&rb, &qb, 112, &mb, 20000, 100);
	pair_run(10 * MS);
	pair_expect(&ra, &qa, 60, 0, 100);
	pair_expect(&rb, &qb, 112, 0, 100);
	assert_int_equal(rig_count(&rb, rq_substituted), 2);
	pair_quiet();
	return calls;
}

/* Any one DMA is delayed: each receive completes once, in the same order, and
 * is fetched once. */
static void useless_receives(void **state)
{
	uint32_t k, once = far_calls(0);

	(void)state;
	for (k = 1; k < 30; k++)
		assert_in_range(far_calls(k), once, once + 2);
}

static uint32_t passed;

/* Delivers the first frame and loses the others. */
static void first_frame(struct unic_port *port, const uint8_t *frame,
			uint32_t len, uint32_t flags)
{
	if (!passed++)
		fake_deliver(port->peer, frame, len, flags);
}

/* A message is cut at T: the receive that it was placed in completes EVICTED,
 * not the smaller one that it passed over. */
static void cut_behind_a_small_one(void **state)
{
	struct unic_cmd_mr evict = { 0 };
	struct rig_mr gone, own;

	(void)state;
	unic_qp_by_number(&rb.nic.transport, qb.qpn)->rq.class_bytes = 1000;
	pair_gone_region(&rb, qb.pd, &gone);
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &own),
			 0);
	rig_recv(&rb, &qb, 1, &gone, 0, 1000);
	rig_recv(&rb, &qb, 2, &mb, 0, 100);
	rig_recv(&rb, &qb, 3, &own, 0, 4000);
	passed = 0;
	ra.port.on_frame = first_frame;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 3000, 0, 0);
	pair_run(MS);
	pair_expect(&rb, &qb, 1, UNIC_WC_EVICTED, 0);
	pair_expect_none(&rb, &qb);
	evict.mr = unic_to_le32(own.mr);
	evict.gen = unic_to_le32(own.gen);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	pair_run(25 * MS);
	pair_expect(&rb, &qb, 2, UNIC_WC_WR_FLUSH_ERR, 0);
	pair_expect(&rb, &qb, 3, UNIC_WC_EVICTED, 0);
	pair_expect_none(&rb, &qb);
}

/* Each receive is taken in order from a ring that begins in the middle of a
 * page and is longer than one page. */
static void long_ring(void **state)
{
	struct unic_cmd_qp_create create = {
		.pd = unic_to_le32(qb.pd),
		.sq_slots = unic_to_le16(2),
		.rq_slots = unic_to_le16(128),
		.db_index = unic_to_le32(7),
		.send_cq = unic_to_le32(qb.cq),
		.recv_cq = unic_to_le32(qb.cq),
	};
	struct rig_qp a2, b2 = qb;
	struct unic_rq_slot *ring;
	struct unic_cpl_obj cpl;
	struct rig_mr rings;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 4, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &rings),
			 0);
	memset(rings.mem, 0, 4 * 4096);
	create.stag = unic_to_le32(rings.stag);
	create.sq_iova = unic_to_le64(rings.iova);
	create.rq_iova = unic_to_le64(rings.iova + 3 * 64);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_CREATE, &create, &cpl), 0);
	b2.qpn = unic_from_le32(cpl.id);
	ring = (void *)(rings.mem + 3 * 64);
	rig_qp(&ra, 0, qa.pd, 8, &a2);
	rig_connect(&ra, &a2, &rb, &b2);
	for (i = 0; i < 400; i++) {
		ring[i % 128] = (struct unic_rq_slot){
			.num_sge = 1,
			.wr_id = unic_to_le64(i),
			.sge[0].iova = unic_to_le64(mb.iova + i * 16),
			.sge[0].len = unic_to_le32(16),
			.sge[0].lkey = unic_to_le32(mb.stag),
		};
		if (i % 8 != 7)
			continue; /* the NIC takes eight at a time */
		rig_ring(&rb, 0, UNIC_DB_RQ, 7, i + 1);
		pair_run(1000);
		for (a2.rq_tail = i - 7; a2.rq_tail <= i; a2.rq_tail++)
			rig_send(&ra, &a2, UNIC_WR_SEND, a2.rq_tail, &ma,
				 a2.rq_tail * 16, 16, 0, 0);
		pair_run(1000);
		for (a2.rq_tail = i - 7; a2.rq_tail <= i; a2.rq_tail++) {
			pair_expect(&ra, &a2, a2.rq_tail, 0, 16);
			pair_expect(&rb, &qb, a2.rq_tail, 0, 16);
		}
	}
	assert_memory_equal(mb.mem, ma.mem, 400 * 16);
	pair_quiet();
}

/* ---------------------------------------------------------------- doorbells */

/* A doorbell names the word of the row that was written: the NIC does not read
 * the others. */
static void bell_of_another_kind(void **state)
{
	struct unic_db_page *db = (void *)rb.port.window[0];

	(void)state;
	db->tail[qb.row].rq = unic_to_le32(0x12345);
	rig_ring(&rb, 0, UNIC_DB_ARM, qb.row, 0);
	pair_at_once();
	assert_int_equal(rig_count(&rb, db_bad), 0);
	assert_int_equal(unic_qp_by_number(&rb.nic.transport, qb.qpn)->state,
			 UNIC_QPS_RTS);
}

static uint8_t state_in_dump(uint32_t qpn)
{
	struct unic_cmd_dump dump = { .table = unic_to_le32(UNIC_TABLE_QP) };
	struct unic_cpl_dump cpl;
	struct unic_row_qp row;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_DUMP, &dump, &cpl), UNIC_ST_OK);
	assert_int_equal(unic_from_le32(cpl.rows), 1);
	memcpy(&row,
	       rb.port.bar + UNIC_BAR_LIST_OFF +
		       (rb.cmd_tail - 1) % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES,
	       sizeof(row));
	assert_int_equal(unic_from_le32(row.qpn), qpn);
	return row.state;
}

/* Messages that arrive while the NIC fails do not complete, not even as errors,
 * and a dump of the NIC's tables shows the queues in error. */
static void fails_while_receiving(void **state)
{
	uint32_t i;

	(void)state;
	rig_recv(&rb, &qb, 1, &mb, 0, 100);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 90, 0, 0);
	pair_run(MS / 10);
	pair_expect(&rb, &qb, 1, 0, 90); /* the next receive is fetched */
	rig_recv(&rb, &qb, 2, &mb, 0, 100);
	rig_recv(&rb, &qb, 3, &mb, 100, 100);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 90, 0, 0);
	pair_run(MS / 10);
	pair_expect(&rb, &qb, 2, 0, 90);
	rb.port.late_dma = true;
	rig_send(&ra, &qa, UNIC_WR_SEND, 3, &ma, 0, 90, 0, 0);
	rig_poll(&ra);
	pair_rounds(&rb, 4);
	assert_int_equal(fake_dma_waiting(&rb.port), 1);
	assert_int_equal(state_in_dump(qb.qpn), UNIC_QPS_RTS);
	unic_nic_quiesce(&rb.nic);
	assert_int_equal(state_in_dump(qb.qpn), UNIC_QPS_ERR);
	for (i = 0; i < 10; i++) {
		fake_dma_run(&rb.port, FAKE_PENDING);
		unic_nic_poll(&rb.nic);
	}
	assert_int_equal(fake_dma_waiting(&rb.port), 0);
	pair_expect_none(&rb, &qb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receive_in_pieces),
		cmocka_unit_test_setup(behind_its_pieces, up),
		cmocka_unit_test(write_behind_a_send),
		cmocka_unit_test(write_behind_a_failed_send),
		cmocka_unit_test(useless_receives),
		cmocka_unit_test_setup(cut_behind_a_small_one, up),
		cmocka_unit_test_setup(long_ring, up),
		cmocka_unit_test_setup(bell_of_another_kind, up),
		cmocka_unit_test_setup(fails_while_receiving, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
