/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_anew.c - a queue pair goes to RESET and is connected again: nothing of
 * its last connection takes effect in the next (INV-18), on ports whose DMA
 * takes time. Frames and requests under way are dropped, and their resources
 * are free at once.
 */
#include "unit.h"

#include "pair.h"

#define US	1000ull
#define MS	1000000ull
#define GRH	UNIC_GRH_BYTES
#define PAGES	8u
#define B_FIRST 80u /* page of the window behind the region's first one */

static struct rig_mr mc; /* of rb, DEMAND */

static struct unic_qp_ctx *core(struct rig *r, const struct rig_qp *qp)
{
	return &r->nic.qps.qp[qp->qpn & 0xff];
}

/* Sets the tails to 0, as a process that connects again. */
static void forget_tails(struct rig *r, struct rig_qp *qp)
{
	struct unic_db_page *db = (void *)r->port.window[qp->proc];

	db->tail[qp->row].sq = db->tail[qp->row].rq = unic_to_le32(0);
	qp->sq_tail = qp->rq_tail = 0;
}

static struct unic_cmd_qp_modify modify(const struct rig_qp *qp, uint8_t state,
					const struct rig *peer,
					const struct rig_qp *to)
{
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qp->proc),
					  .qpn = unic_to_le32(qp->qpn),
					  .state = state };

	if (state == UNIC_QPS_INIT)
		cmd.rights = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE;
	if (state == UNIC_QPS_RTR) {
		cmd.mtu_shift = qp->mtu_shift;
		cmd.dest_qpn = unic_to_le32(to->qpn);
		cmd.rq_psn = unic_to_le32(to->psn);
		cmd.dest_ipv4 = unic_to_le32(peer->nic.ipv4);
		memcpy(cmd.dest_mac, peer->port.mac, 6);
	}
	if (state == UNIC_QPS_RTS) {
		cmd.sq_psn = unic_to_le32(qp->psn);
		cmd.timeout = 10; /* 4.2 ms */
		cmd.retry_cnt = 3;
	}
	return cmd;
}

static void to_reset(struct rig *r, struct rig_qp *qp)
{
	struct unic_cmd_qp_modify cmd = modify(qp, UNIC_QPS_RESET, NULL, NULL);

	assert_int_equal(rig_cmd(r, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
	forget_tails(r, qp);
}

static void put_command(struct rig *r, struct unic_cmd_qp_modify *cmd)
{
	cmd->hdr.opcode = UNIC_CMD_QP_MODIFY;
	cmd->hdr.cookie = unic_to_le16(++r->cookie);
	cmd->hdr.epoch = unic_to_le32(r->nic.epoch);
	memcpy(r->port.bar + UNIC_BAR_CMD_OFF +
		       r->cmd_tail++ % UNIC_CMD_ENTRIES * 64,
	       cmd, 64);
}

/* Moves @qp to RESET and back to RTS, connected to @to, between two looks of
 * the NIC at the frame in hand. */
static void anew_at_once(struct rig *r, struct rig_qp *qp, struct rig *peer,
			 const struct rig_qp *to)
{
	static const uint8_t states[] = { UNIC_QPS_RESET, UNIC_QPS_INIT,
					  UNIC_QPS_RTR, UNIC_QPS_RTS };
	struct unic_driver_page *d =
		(struct unic_driver_page *)(r->port.bar + UNIC_BAR_DRIVER_OFF);
	struct unic_cmd_qp_modify cmd;
	uint32_t i;

	for (i = 0; i < sizeof(states); i++) {
		cmd = modify(qp, states[i], peer, to);
		put_command(r, &cmd);
	}
	forget_tails(r, qp);
	d->cmd_tail = unic_to_le32(r->cmd_tail);
	unic_nic_poll(&r->nic);
	r->cpl_head += sizeof(states);
	d->cpl_head = unic_to_le32(r->cpl_head);
	assert_int_equal(core(r, qp)->state, UNIC_QPS_RTS);
}

/* Connects both ends again, each between two looks of its NIC. */
static void connect_anew(void)
{
	anew_at_once(&ra, &qa, &rb, &qb);
	anew_at_once(&rb, &qb, &ra, &qa);
}

static int up(void **state)
{
	(void)state;
	pair_up();
	assert_int_equal(rig_reg_cached(&rb, qb.pd, PAGES, UNIC_DEMAND, 0, &mc),
			 0);
	mc.mem = rb.port.window[0] + B_FIRST * 4096;
	return 0;
}

static int down(void **state)
{
	uint32_t i;

	(void)state;
	rb.port.no_dma = false;
	pair_run(1 * MS);
	pair_quiet();
	assert_int_equal(rb.nic.qps.roce.rx_stage, UNIC_RX_IDLE);
	for (i = 0; i < UNIC_PARKED_FRAMES; i++)
		assert_int_equal(rb.nic.parked.frame[i].state,
				 UNIC_PARKED_FREE);
	return 0;
}

/* Runs poll rounds of both NICs, while B's DMA is stopped and B has no idle
 * instant. */
static void rounds(void)
{
	pair_rounds(&ra, 20);
	pair_rounds(&rb, 20);
}

/* Answers each DEMAND event with its page. */
static void serve(void)
{
	struct unic_evt_miss evt;
	uint32_t first;

	while (rig_event(&rb, &evt)) {
		if (evt.hdr.type != UNIC_EVT_MISS)
			continue;
		first = unic_from_le32(evt.first);
		assert_int_equal(rig_fault(&rb, &mc, first,
					   unic_from_le32(evt.count),
					   unic_from_le32(evt.seq), 0,
					   B_FIRST + first, NULL),
				 0);
	}
}

/* A message of the new connection must arrive, and nothing else. */
static void works(uint64_t wr_id)
{
	rig_recv(&rb, &qb, wr_id, &mb, 4096, 100);
	rig_send(&ra, &qa, UNIC_WR_SEND, wr_id, &ma, 300, 77, 0, 0);
	pair_run(1 * MS);
	pair_expect(&ra, &qa, wr_id, 0, 77);
	pair_expect(&rb, &qb, wr_id, 0, 77);
	assert_memory_equal(mb.mem + 4096, ma.mem + 300, 77);
	pair_expect_none(&ra, &qa);
	pair_expect_none(&rb, &qb);
}

/* B has placed the message in hand and cannot write its completion when it is
 * connected again: the completion is dropped. */
static void a_frame_whose_completion_waits(void **state)
{
	(void)state;
	rig_recv(&rb, &qb, 1, &mb, 0, 100);
	rig_recv(&rb, &qb, 2, &mb, 100, 100);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 10, 0, 0);
	pair_run(100 * US); /* both receives are fetched */
	pair_expect(&rb, &qb, 1, 0, 10);
	pair_expect(&ra, &qa, 1, 0, 10);
	rb.port.no_dma = true;
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 0, 0, 0);
	rounds();
	assert_int_equal(rb.nic.qps.roce.rx_stage, UNIC_RX_FINISH);
	qa.psn = 0x77;
	connect_anew();
	rb.port.no_dma = false;
	pair_run(1 * MS);
	assert_int_equal(core(&rb, &qb)->rsp.psn, 0x77);
	works(3);
}

/* B waits to fetch the receive of the message in hand, whose PSN is also the
 * next one of the new connection: the message is dropped. */
static void a_frame_that_is_to_be_looked_at_again(void **state)
{
	(void)state;
	rb.port.no_dma = true;
	rig_recv(&rb, &qb, 1, &mb, 0, 100);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 10, 0, 0);
	rounds();
	assert_int_equal(rb.nic.qps.roce.rx_stage, UNIC_RX_REDO);
	connect_anew();
	rb.port.no_dma = false;
	rig_recv(&rb, &qb, 2, &mb, 0, 100);
	pair_run(1 * MS);
	assert_int_equal(core(&rb, &qb)->rsp.psn, qa.psn);
	pair_expect_none(&rb, &qb);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 50, 20, 0, 0);
	pair_run(1 * MS);
	pair_expect(&rb, &qb, 2, 0, 20);
	pair_expect(&ra, &qa, 2, 0, 20);
	works(3);
}

/* A datagram is parked until its page is there. RESET drops it, though no PSN
 * tells which connection it belongs to. */
static void a_frame_that_was_kept(void **state)
{
	struct rig_qp da, db;

	(void)state;
	rig_qp_of(&ra, 0, qa.pd, 8, UNIC_QPT_UD, 0, 0, &da);
	rig_qp_of(&rb, 0, qb.pd, 9, UNIC_QPT_UD, UNIC_QPM_BOUNCE, 0, &db);
	rig_connect(&ra, &da, &ra, &da);
	rig_connect(&rb, &db, &rb, &db);
	rig_recv(&rb, &db, 1, &mc, 0, GRH + 100);
	pair_run(100 * US);
	rig_send(&ra, &da, UNIC_WR_SEND, 1, &ma, 0, 100,
		 UNIC_UD_TO(rb.nic.ipv4, 0x1234), db.qpn);
	pair_run(100 * US);
	assert_true(core(&rb, &db)->bounced);
	to_reset(&rb, &db);
	assert_false(core(&rb, &db)->bounced);
	assert_false(unic_fault_waits(&rb.nic.memory, db.qpn & 0xff));
	rig_connect(&rb, &db, &rb, &db);
	rig_recv(&rb, &db, 2, &mb, 0, GRH + 100);
	serve();
	pair_run(1 * MS);
	pair_expect_none(&rb, &db);
	/* the queue pair may park another frame */
	rig_send(&ra, &da, UNIC_WR_SEND, 2, &ma, 0, 90,
		 UNIC_UD_TO(rb.nic.ipv4, 0x1234), db.qpn);
	pair_run(1 * MS);
	pair_expect(&rb, &db, 2, 0, GRH + 90);
}

/* A parked frame is in hand again and its completion waits when the queue pair
 * goes to RESET. The end of that frame does not end the one that is parked
 * next. */
static void a_frame_that_was_kept_and_is_in_hand(void **state)
{
	struct rig_qp da, db;

	(void)state;
	rig_qp_of(&ra, 0, qa.pd, 8, UNIC_QPT_UD, 0, 0, &da);
	rig_qp_of(&rb, 0, qb.pd, 9, UNIC_QPT_UD, UNIC_QPM_BOUNCE, 0, &db);
	rig_connect(&ra, &da, &ra, &da);
	rig_connect(&rb, &db, &rb, &db);
	rig_recv(&rb, &db, 1, &mc, 0, GRH + 100);
	pair_run(100 * US);
	rig_send(&ra, &da, UNIC_WR_SEND, 1, &ma, 0, 100,
		 UNIC_UD_TO(rb.nic.ipv4, 0x1234), db.qpn);
	pair_run(100 * US);
	assert_true(core(&rb, &db)->bounced);
	rb.port.no_dma = true;
	serve();
	rounds();
	assert_true(rb.nic.qps.roce.rx_again);
	assert_int_not_equal(rb.nic.qps.roce.rx_stage, UNIC_RX_IDLE);
	if (rb.nic.qps.roce.rx_stage == UNIC_RX_PLACE) {
		/* a transfer that the port has not taken yet counts, too */
		assert_int_equal(core(&rb, &db)->dmas, 1);
		rb.port.no_dma = false;
		rb.port.again_call = rb.port.calls + 2; /* the completion */
		unic_nic_poll(&rb.nic);
		rb.port.no_dma = true;
	}
	assert_int_equal(rb.nic.qps.roce.rx_stage, UNIC_RX_FINISH);
	to_reset(&rb, &db);
	assert_false(core(&rb, &db)->bounced);
	rig_connect(&rb, &db, &rb, &db);
	rb.port.no_dma = false;
	rig_recv(&rb, &db, 2, &mc, 5 * 4096, GRH + 100);
	pair_run(1 * MS);
	pair_expect_none(&rb, &db);
	rig_send(&ra, &da, UNIC_WR_SEND, 2, &ma, 0, 90,
		 UNIC_UD_TO(rb.nic.ipv4, 0x1234), db.qpn);
	pair_run(100 * US);
	serve();
	pair_run(1 * MS);
	pair_expect(&rb, &db, 2, 0, GRH + 90);
}

/* RESET ends a requester's wait for a page. */
static void a_wait_for_a_page(void **state)
{
	uint16_t idx = qb.qpn & 0xff;

	(void)state;
	rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &mc, 0, 100, ma.iova, ma.stag);
	pair_run(10 * US);
	assert_true(unic_fault_waits(&rb.nic.memory, idx));
	to_reset(&ra, &qa);
	to_reset(&rb, &qb);
	assert_false(unic_fault_waits(&rb.nic.memory, idx));
	rig_connect(&ra, &qa, &rb, &qb);
	assert_false(core(&rb, &qb)->sq.miss_wait);
	works(2);
	serve();
	pair_run(1 * MS);
	pair_expect_none(&rb, &qb);
}

/* RESET ends a responder's wait for a page: the rest of the READ is not sent to
 * the next connection, whose own READ does not wait for it. */
static void a_responders_wait_for_a_page(void **state)
{
	static uint8_t before[4096];
	uint16_t idx = qb.qpn & 0xff;

	(void)state;
	memset(mc.mem, 0x5a, 2 * 4096);
	memcpy(before, ma.mem + 4096, sizeof(before));
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 100, mc.iova, mc.stag);
	pair_run(100 * US);
	serve();
	pair_run(1 * MS);
	pair_expect(&ra, &qa, 1, 0, 100);
	rig_send(&ra, &qa, UNIC_WR_READ, 2, &ma, 0, 8192, mc.iova, mc.stag);
	pair_run(10 * US);
	assert_true(core(&rb, &qb)->rsp.miss_wait);
	assert_true(unic_fault_waits(&rb.nic.memory, idx));
	to_reset(&ra, &qa);
	to_reset(&rb, &qb);
	assert_false(unic_fault_waits(&rb.nic.memory, idx));
	rig_connect(&ra, &qa, &rb, &qb);
	assert_false(core(&rb, &qb)->rsp.miss_wait);
	rig_send(&ra, &qa, UNIC_WR_READ, 3, &ma, 200, 50, mb.iova, mb.stag);
	pair_run(1 * MS);
	pair_expect(&ra, &qa, 3, 0, 50);
	assert_memory_equal(ma.mem + 200, mb.mem, 50);
	serve();
	works(4);
	assert_memory_equal(ma.mem + 4096, before, sizeof(before));
}

/* B has sent its NAK for a gap that is still open when it is connected again: it sends
 * one for the first gap of the new connection, too. */
static void a_gap_that_was_told(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		qa.psn = 0x80; /* A begins there, B waits for 0x77 */
		anew_at_once(&ra, &qa, &rb, &qb);
		qa.psn = 0x77;
		anew_at_once(&rb, &qb, &ra, &qa);
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 8, mb.iova,
			 mb.stag);
		pair_run(100 * US);
		assert_int_equal(rig_count(&rb, tx_naks), i);
	}
	connect_anew();
	works(4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_frame_whose_completion_waits,
						up, down),
		cmocka_unit_test_setup_teardown(
			a_frame_that_is_to_be_looked_at_again, up, down),
		cmocka_unit_test_setup_teardown(a_frame_that_was_kept, up,
						down),
		cmocka_unit_test_setup_teardown(
			a_frame_that_was_kept_and_is_in_hand, up, down),
		cmocka_unit_test_setup_teardown(a_wait_for_a_page, up, down),
		cmocka_unit_test_setup_teardown(a_responders_wait_for_a_page,
						up, down),
		cmocka_unit_test_setup_teardown(a_gap_that_was_told, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
