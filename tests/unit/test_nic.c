/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_nic.c - the poll loop: reset while everything is under way, time taken
 * from a clock that is not stale, a failed NIC that keeps silent, sleep.
 */
#include "rig.h"
#include "unit.h"

#define T_NS 20000000ull
#define H_NS 50000000ull

static struct rig a, b;

static struct unic_driver_page *driver_page(struct rig *r)
{
	return (struct unic_driver_page *)(r->port.bar + UNIC_BAR_DRIVER_OFF);
}

static struct unic_info *info(struct rig *r)
{
	return (struct unic_info *)r->port.bar;
}

struct ends {
	uint32_t pa, pb;
	struct rig_qp qa, qb;
	struct rig_mr ma, mb;
};

static void ends_up(struct ends *e)
{
	rig_up(&a, 1);
	rig_up(&b, 2);
	fake_wire(&a.port, &b.port);
	rig_attach(&a, 0, 1);
	rig_attach(&b, 0, 1);
	e->pa = rig_pd(&a, 0);
	e->pb = rig_pd(&b, 0);
	rig_qp(&a, 0, e->pa, 0, &e->qa);
	rig_qp(&b, 0, e->pb, 0, &e->qb);
	rig_connect(&a, &e->qa, &b, &e->qb);
	assert_int_equal(rig_reg(&a, 0, e->pa, 2, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &e->ma),
			 0);
	assert_int_equal(rig_reg(&b, 0, e->pb, 2, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &e->mb),
			 0);
}

/* A peer that sends without end cannot keep a resetting NIC from its reset. */
static void reset_ends_under_traffic(void **state)
{
	uint32_t req, i, rounds, n = 0;
	struct unic_cqe cqe;
	uint64_t frames;
	struct ends e;

	(void)state;
	ends_up(&e);
	a.port.late_dma = true;
	for (i = 0; i < 8; i++)
		rig_send(&b, &e.qb, UNIC_WR_WRITE, n++, &e.mb, 0, 4096,
			 e.ma.iova, e.ma.stag);
	for (i = 0; i < 10; i++) {
		unic_nic_poll(&b.nic);
		unic_nic_poll(&a.nic);
	}
	assert_true(fake_dma_waiting(&a.port) > 0);
	req = unic_from_le32(info(&a)->reset_ack) + 1;
	driver_page(&a)->reset_req = unic_to_le32(req);
	unic_nic_poll(&a.nic);
	assert_int_equal(a.nic.state, UNIC_NIC_RESET);
	frames = rig_count(&a, rx_frames);
	for (rounds = 0; rounds < 1000; rounds++) {
		if (unic_from_le32(info(&a)->reset_ack) == req)
			break;
		fake_dma_run(&a.port, 1);
		while (rig_cqe(&b, &e.qb, &cqe))
			;
		unic_nic_poll(&a.nic);
		unic_nic_poll(&b.nic);
	}
	assert_true(rounds < 100);
	assert_int_equal(rig_count(&a, rx_frames), frames);
	assert_int_equal(a.nic.state, UNIC_NIC_READY);
	/* frames held when it came went back to the link */
	a.port.late_dma = false;
	rig_poll(&a);
	assert_int_equal(a.port.rx_head - a.port.rx_done, 0);
	assert_int_equal(a.port.tx_held, 0);
}

/* What was rung for in the round that finds the request is not begun. */
static void reset_begins_nothing(void **state)
{
	uint32_t req, waiting;
	struct ends e;

	(void)state;
	ends_up(&e);
	a.port.late_dma = true;
	rig_send(&b, &e.qb, UNIC_WR_WRITE, 1, &e.mb, 0, 64, e.ma.iova,
		 e.ma.stag);
	unic_nic_poll(&b.nic);
	unic_nic_poll(&a.nic);
	waiting = fake_dma_waiting(&a.port);
	assert_true(waiting > 0);
	req = unic_from_le32(info(&a)->reset_ack) + 1;
	driver_page(&a)->reset_req = unic_to_le32(req);
	rig_send(&a, &e.qa, UNIC_WR_SEND, 2, &e.ma, 0, 64, 0, 0);
	unic_nic_poll(&a.nic);
	assert_int_equal(a.nic.state, UNIC_NIC_RESET);
	assert_int_equal(fake_dma_waiting(&a.port), waiting);
	fake_dma_run(&a.port, waiting);
	rig_poll(&a);
	assert_int_equal(unic_from_le32(info(&a)->reset_ack), req);
}

static void ask_back(struct unic_evt_mr *notice)
{
	struct unic_cmd_mr evict;
	struct rig_mr mr;
	uint32_t pd;

	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	pd = rig_pd(&a, 0);
	assert_int_equal(rig_reg(&a, 0, pd, 8, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	memset(&evict, 0, sizeof(evict));
	evict.mr = unic_to_le32(mr.mr);
	evict.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_NOTICE, notice);
}

/* The clock of an awake NIC is read now and then; a grace starts now. */
static void grace_starts_at_the_acknowledgement(void **state)
{
	struct unic_cmd_nop nop = { .data = unic_to_le64(0) };
	struct unic_cmd_notice_ack ack;
	struct unic_cpl_notice cpl;
	struct unic_evt_mr notice;

	(void)state;
	ask_back(&notice);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_NOP, &nop, NULL), 0);
	a.port.now_ns += 300000;
	memset(&ack, 0, sizeof(ack));
	ack.mr = notice.mr;
	ack.gen = notice.gen;
	ack.seq = notice.seq;
	assert_int_equal(rig_cmd(&a, UNIC_CMD_NOTICE_ACK, &ack, &cpl), 0);
	assert_true(unic_from_le64(cpl.deadline_ns) == a.port.now_ns + T_NS);
}

static void put_command(struct rig *r, const void *rec)
{
	memcpy(r->port.bar + UNIC_BAR_CMD_OFF +
		       r->cmd_tail++ % UNIC_CMD_ENTRIES * 64,
	       rec, 64);
}

/* A NIC that did not run for longer than H finds the acknowledgement behind
 * four other commands: the driver did not fail. */
static void acknowledgement_in_the_ring_is_in_time(void **state)
{
	struct unic_cmd_nop nop;
	struct unic_cmd_notice_ack ack;
	struct unic_evt_mr notice;
	uint32_t i;

	(void)state;
	ask_back(&notice);
	memset(&nop, 0, sizeof(nop));
	nop.hdr.opcode = UNIC_CMD_NOP;
	nop.hdr.epoch = unic_to_le32(a.nic.epoch);
	memset(&ack, 0, sizeof(ack));
	ack.hdr.opcode = UNIC_CMD_NOTICE_ACK;
	ack.hdr.epoch = nop.hdr.epoch;
	ack.mr = notice.mr;
	ack.gen = notice.gen;
	ack.seq = notice.seq;
	for (i = 0; i < 4; i++)
		put_command(&a, &nop);
	put_command(&a, &ack);
	driver_page(&a)->cmd_tail = unic_to_le32(a.cmd_tail);
	a.port.now_ns += H_NS + 1000000;
	for (i = 0; i < 5; i++)
		unic_nic_poll(&a.nic);
	assert_int_equal(a.nic.state, UNIC_NIC_READY);
	assert_int_equal(rig_count(&a, notice_acks), 1);
}

static void failed_nic_is_silent_and_says_so(void **state)
{
	struct unic_cqe cqe;
	struct ends e;
	uint32_t rung;
	uint64_t moved;

	(void)state;
	ends_up(&e);
	rig_recv(&b, &e.qb, 1, &e.mb, 0, 64);
	rig_run2(&a, &b, 1000);
	rung = b.port.rung[0];
	unic_nic_quiesce(&b.nic);
	moved = rig_count(&b, rx_frames);
	rig_recv(&b, &e.qb, 2, &e.mb, 0, 64);
	rig_send(&a, &e.qa, UNIC_WR_SEND, 1, &e.ma, 0, 64, 0, 0);
	rig_run(&a, 1000000);
	rig_run(&b, 1000000);
	assert_false(rig_cqe(&b, &e.qb, &cqe));
	assert_int_equal(rig_count(&b, rx_frames), moved);
	assert_true(b.port.rung[0] > rung);
	assert_int_equal(unic_from_le32(info(&b)->state), UNIC_NIC_FAILED);
	rig_reset(&b);
	assert_int_equal(b.nic.state, UNIC_NIC_READY);
}

/* A process on its way out that still rings does not keep the NIC awake. */
static void detaching_process_may_ring(void **state)
{
	struct unic_cmd_proc_detach cmd = { .proc = 0 };
	uint32_t i, pd, rest = 0;
	struct unic_evt_obj gone;
	struct rig_mr mr;

	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	pd = rig_pd(&a, 0);
	assert_int_equal(rig_reg(&a, 0, pd, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	unic_mr_dma_get(&a.nic, (uint16_t)mr.mr); /* a piece in flight */
	assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_DETACH, &cmd, NULL),
			 UNIC_ST_PENDING);
	rig_ring(&a, 0, UNIC_DB_SQ, 0, 1);
	for (i = 0; i < 1000; i++) {
		rest += unic_nic_poll(&a.nic) != 0;
		if (!a.nic.armed)
			a.nic.idle_since_ns = 0;
	}
	assert_true(rest > 0);
	unic_mr_dma_put(&a.nic, (uint16_t)mr.mr);
	rig_run(&a, 1000000);
	do {
		assert_true(rig_event(&a, &gone));
	} while (gone.hdr.type != UNIC_EVT_PROC_GONE);
}

/* Doorbells, commands and frames that come while it sleeps find it armed. */
static void sleeping_nic_is_armed(void **state)
{
	struct unic_nic_idx *idx =
		(struct unic_nic_idx *)(a.port.bar + UNIC_BAR_NIC_OFF);
	struct unic_nic_page *np;

	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	np = (struct unic_nic_page *)(a.port.window[0] + 4096);
	rig_poll(&a);
	assert_true(unic_from_le32(idx->asleep) && unic_from_le32(np->asleep));
	assert_true(a.port.armed);
	driver_page(&a)->reset_req =
		unic_to_le32(unic_from_le32(info(&a)->reset_ack) + 1);
	assert_int_equal(unic_nic_poll(&a.nic), 0);
	assert_false(unic_from_le32(idx->asleep) || a.port.armed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reset_ends_under_traffic),
		cmocka_unit_test(reset_begins_nothing),
		cmocka_unit_test(grace_starts_at_the_acknowledgement),
		cmocka_unit_test(acknowledgement_in_the_ring_is_in_time),
		cmocka_unit_test(failed_nic_is_silent_and_says_so),
		cmocka_unit_test(detaching_process_may_ring),
		cmocka_unit_test(sleeping_nic_is_armed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
