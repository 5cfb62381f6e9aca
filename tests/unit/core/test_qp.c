/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_qp.c - states of a queue pair and every attribute at its bounds. */
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
	rig_qp(&r, 0, pd, 0, &qp);
	return 0;
}

static struct unic_cmd_qp_modify to(uint8_t state)
{
	struct unic_cmd_qp_modify cmd = { .qpn = unic_to_le32(qp.qpn),
					  .state = state };

	if (state == UNIC_QPS_RTR) {
		cmd.mtu_shift = 10;
		cmd.max_dest_rd = 1;
		cmd.dest_qpn = unic_to_le32(0x123);
		cmd.rq_psn = unic_to_le32(0x100);
		cmd.dest_ipv4 = unic_to_le32(0x0a000002);
		cmd.dest_mac[5] = 2;
	}
	if (state == UNIC_QPS_RTS) {
		cmd.timeout = 14;
		cmd.sq_psn = unic_to_le32(0x200);
	}
	return cmd;
}

static uint8_t modify(struct unic_cmd_qp_modify cmd)
{
	return rig_cmd(&r, UNIC_CMD_QP_MODIFY, &cmd, NULL);
}

static uint8_t enter(uint8_t state)
{
	return modify(to(state));
}

static const struct unic_qp_ctx *core_qp(void)
{
	return &r.nic.qps.qp[qp.qpn & 0xff];
}

/* In the state before @next, QP_MODIFY refuses @bad and takes @ok. */
#define BOUND(next, field, ok, bad)                                  \
	do {                                                         \
		struct unic_cmd_qp_modify c = to(next);              \
		uint8_t s;                                           \
                                                                     \
		assert_int_equal(enter(UNIC_QPS_RESET), UNIC_ST_OK); \
		for (s = UNIC_QPS_INIT; s < (next); s++)             \
			assert_int_equal(enter(s), UNIC_ST_OK);      \
		c.field = (bad);                                     \
		assert_int_equal(modify(c), UNIC_ST_INVALID);        \
		assert_int_equal(core_qp()->state, (next)-1);        \
		c.field = (ok);                                      \
		assert_int_equal(modify(c), UNIC_ST_OK);             \
		assert_int_equal(core_qp()->state, (next));          \
	} while (0)

static void bounds_of_init(void **state)
{
	(void)state;
	BOUND(UNIC_QPS_INIT, rights, UNIC_MR_REMOTE_READ, UNIC_MR_LOCAL_WRITE);
	BOUND(UNIC_QPS_INIT, rights, UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE,
	      0x80);
	assert_int_equal(core_qp()->rights,
			 UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE);
}

static void bounds_of_rtr(void **state)
{
	(void)state;
	BOUND(UNIC_QPS_RTR, mtu_shift, 8, 7);
	BOUND(UNIC_QPS_RTR, mtu_shift, 12, 13);
	BOUND(UNIC_QPS_RTR, rnr_timer, 31, 32);
	BOUND(UNIC_QPS_RTR, max_dest_rd, UNIC_QP_READS, UNIC_QP_READS + 1);
	BOUND(UNIC_QPS_RTR, max_dest_rd, 0, 255);
	BOUND(UNIC_QPS_RTR, vendor, 1, 2);
	BOUND(UNIC_QPS_RTR, dest_qpn, unic_to_le32(2), unic_to_le32(1));
	BOUND(UNIC_QPS_RTR, dest_qpn, unic_to_le32(0xffffff),
	      unic_to_le32(0x1000000));
	BOUND(UNIC_QPS_RTR, rq_psn, unic_to_le32(0xffffff),
	      unic_to_le32(0x1000000));
	BOUND(UNIC_QPS_RTR, dest_ipv4, unic_to_le32(1), unic_to_le32(0));
	BOUND(UNIC_QPS_RTR, dest_mac[0], 2, 1);
	assert_int_equal(core_qp()->dest_mac[0], 2);
}

static void bounds_of_rts(void **state)
{
	(void)state;
	BOUND(UNIC_QPS_RTS, max_rd, UNIC_QP_READS, UNIC_QP_READS + 1);
	BOUND(UNIC_QPS_RTS, timeout, 1, 0);
	BOUND(UNIC_QPS_RTS, timeout, 31, 32);
	BOUND(UNIC_QPS_RTS, retry_cnt, 7, 8);
	BOUND(UNIC_QPS_RTS, rnr_retry, 7, 8);
	BOUND(UNIC_QPS_RTS, sq_psn, unic_to_le32(0xffffff),
	      unic_to_le32(0x1000000));
}

/* A path MTU above that of the link is refused. */
static void mtu_of_the_link(void **state)
{
	struct unic_cmd_qp_modify c = to(UNIC_QPS_RTR);

	(void)state;
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	r.nic.link.max_frame = 1024 + UNIC_FRAME_OVERHEAD;
	c.mtu_shift = 11;
	assert_int_equal(modify(c), UNIC_ST_INVALID);
	r.nic.link.max_frame--;
	c.mtu_shift = 10;
	assert_int_equal(modify(c), UNIC_ST_INVALID);
	r.nic.link.max_frame++;
	assert_int_equal(modify(c), UNIC_ST_OK);
}

/* Without a link no peer can be reached, whatever the path MTU. */
static void no_route_without_a_link(void **state)
{
	static const uint32_t too_short[] = { 0, 255 + UNIC_FRAME_OVERHEAD };
	struct unic_cmd_qp_modify c = to(UNIC_QPS_RTR);
	uint32_t i;

	(void)state;
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	for (i = 0; i < sizeof(too_short) / sizeof(too_short[0]); i++) {
		r.nic.link.max_frame = too_short[i];
		for (c.mtu_shift = 8; c.mtu_shift <= 12; c.mtu_shift++)
			assert_int_equal(modify(c), UNIC_ST_NO_ROUTE);
	}
	assert_int_equal(core_qp()->state, UNIC_QPS_INIT);
	r.nic.link.max_frame = 256 + UNIC_FRAME_OVERHEAD;
	c.mtu_shift = 8;
	assert_int_equal(modify(c), UNIC_ST_OK);
}

/* The states follow in the order RESET, INIT, RTR, RTS; ERR follows on any
 * state but RESET. */
static void order_of_states(void **state)
{
	uint8_t from, next, s;

	(void)state;
	for (from = UNIC_QPS_RESET; from <= UNIC_QPS_RTS; from++) {
		for (next = UNIC_QPS_INIT; next <= UNIC_QPS_RTS; next++) {
			assert_int_equal(enter(UNIC_QPS_RESET), UNIC_ST_OK);
			for (s = UNIC_QPS_INIT; s <= from; s++)
				assert_int_equal(enter(s), UNIC_ST_OK);
			assert_int_equal(enter(next), next == from + 1
							      ? UNIC_ST_OK
							      : UNIC_ST_STATE);
		}
	}
	assert_int_equal(enter(UNIC_QPS_RESET), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_ERR), UNIC_ST_STATE);
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_ERR), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_RTR), UNIC_ST_STATE);
	assert_int_equal(enter(99), UNIC_ST_INVALID);
}

static void of_the_owner_only(void **state)
{
	struct unic_cmd_qp_modify c = to(UNIC_QPS_INIT);

	(void)state;
	rig_attach(&r, 1, 1);
	c.proc = unic_to_le32(1);
	assert_int_equal(modify(c), UNIC_ST_NO_QP);
	c = to(UNIC_QPS_INIT);
	c.qpn = unic_to_le32(qp.qpn ^ 0x100);
	assert_int_equal(modify(c), UNIC_ST_NO_QP);
	c.qpn = unic_to_le32(qp.qpn ^ 1);
	assert_int_equal(modify(c), UNIC_ST_NO_QP);
	c.qpn = unic_to_le32((qp.qpn & ~0xffu) | UNIC_QPS); /* no such row */
	assert_int_equal(modify(c), UNIC_ST_NO_QP);
	assert_int_equal(core_qp()->state, UNIC_QPS_RESET);
}

static const struct unic_row_qp *row(void)
{
	struct unic_cmd_dump cmd = { .table = unic_to_le32(UNIC_TABLE_QP) };
	struct unic_cpl_dump cpl;
	void *rows = r.port.bar + UNIC_BAR_LIST_OFF +
		     r.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;

	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &cmd, &cpl), 0);
	assert_int_equal(unic_from_le32(cpl.rows), 1);
	return rows;
}

/* A row of the dump shows the peer, the PSNs and the posted requests of a queue
 * pair; none completes, as the peer does not exist. */
static void row_tells(void **state)
{
	const struct unic_row_qp *q;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_RTR), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_RTS), UNIC_ST_OK);
	rig_recv(&r, &qp, 1, &mr, 0, 8);
	rig_recv(&r, &qp, 2, &mr, 0, 8);
	rig_send(&r, &qp, UNIC_WR_WRITE, 3, &mr, 0, 3000, 0x1000, 0x100);
	rig_poll(&r);
	q = row();
	assert_int_equal(unic_from_le32(q->qpn), qp.qpn);
	assert_int_equal(unic_from_le32(q->proc), 0);
	assert_int_equal(unic_from_le32(q->pd), pd);
	assert_int_equal(unic_from_le32(q->state), UNIC_QPS_RTS);
	assert_int_equal(unic_from_le32(q->dest_qpn), 0x123);
	assert_int_equal(unic_from_le32(q->dest_ipv4), 0x0a000002);
	assert_int_equal(unic_from_le32(q->sq_psn), 0x203);
	assert_int_equal(unic_from_le32(q->una_psn), 0x200);
	assert_int_equal(unic_from_le32(q->rq_psn), 0x100);
	assert_int_equal(unic_from_le32(q->sq_posted), 1);
	assert_int_equal(unic_from_le32(q->sq_done), 0);
	assert_int_equal(unic_from_le32(q->rq_posted), 2);
	assert_int_equal(unic_from_le32(q->rq_done), 0);
	assert_int_equal(unic_from_le32(q->retries), 0);
}

/* In the error state each posted request completes flushed, once. */
static void error_flushes(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr mr;
	uint64_t seen = 0;

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_RTR), UNIC_ST_OK);
	rig_recv(&r, &qp, 1, &mr, 0, 8);
	rig_recv(&r, &qp, 2, &mr, 0, 8);
	rig_poll(&r);
	assert_int_equal(enter(UNIC_QPS_ERR), UNIC_ST_OK);
	/* posted to a queue pair in the error state */
	rig_recv(&r, &qp, 3, &mr, 0, 8);
	rig_poll(&r);
	while (rig_cqe(&r, &qp, &cqe)) {
		assert_int_equal(cqe.status, UNIC_WC_WR_FLUSH_ERR);
		seen = seen << 4 | unic_from_le64(cqe.wr_id);
	}
	assert_int_equal(seen, 0x123);
}

static uint32_t frames;

static void count(struct unic_port *port, const uint8_t *frame, uint32_t len,
		  uint32_t flags)
{
	(void)port;
	(void)frame;
	(void)len;
	(void)flags;
	frames++;
}

/* Requests posted before RTS are sent at RTS, without another doorbell. */
static void posted_before_rts(void **state)
{
	struct rig_mr mr;

	(void)state;
	frames = 0;
	r.port.on_frame = count;
	assert_int_equal(rig_reg(&r, 0, pd, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	rig_send(&r, &qp, UNIC_WR_WRITE, 3, &mr, 0, 8, 0x1000, 0x100);
	rig_poll(&r);
	assert_int_equal(enter(UNIC_QPS_RTR), UNIC_ST_OK);
	rig_poll(&r);
	assert_int_equal(frames, 0);
	assert_int_equal(enter(UNIC_QPS_RTS), UNIC_ST_OK);
	rig_poll(&r);
	assert_int_equal(frames, 1);
}

static uint8_t destroy(uint32_t proc)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(proc),
				    .id = unic_to_le32(qp.qpn) };

	return rig_cmd(&r, UNIC_CMD_QP_DESTROY, &cmd, NULL);
}

static uint32_t posted(bool recv)
{
	return recv ? core_qp()->rq.tail : core_qp()->sq.tail;
}

/* A doorbell, or an overrun of doorbells, makes the NIC read a row whose
 * tails are older than a reset of the queue pair. In RESET these tails do
 * not count. */
static void tails_of_before_a_reset(void **state)
{
	uint32_t n;

	(void)state;
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	rig_ring(&r, 0, UNIC_DB_RQ, 0, 3);
	rig_ring(&r, 0, UNIC_DB_SQ, 0, 2);
	rig_poll(&r);
	assert_int_equal(posted(true), 3);
	assert_int_equal(enter(UNIC_QPS_ERR), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_RESET), UNIC_ST_OK);
	rig_ring(&r, 0, UNIC_DB_RQ, 0, 3);
	rig_ring(&r, 0, UNIC_DB_SQ, 0, 2);
	rig_poll(&r);
	for (n = 0; n < UNIC_DB_FIFO + 1; n++)
		rig_ring(&r, 0, UNIC_DB_ARM, 1, 0);
	rig_poll(&r);
	assert_int_equal(posted(true), 0);
	assert_int_equal(posted(false), 0);
	rig_ring(&r, 0, UNIC_DB_RQ, 0, 0);
	rig_ring(&r, 0, UNIC_DB_SQ, 0, 0);
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	assert_int_equal(posted(true), 0);
	assert_int_equal(posted(false), 0);
}

/* Requests posted in RESET count from INIT on, without another doorbell. */
static void posted_in_reset(void **state)
{
	(void)state;
	rig_ring(&r, 0, UNIC_DB_RQ, 0, 2);
	rig_ring(&r, 0, UNIC_DB_SQ, 0, 1);
	rig_poll(&r);
	assert_int_equal(posted(true), 0);
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	assert_int_equal(posted(true), 2);
	assert_int_equal(posted(false), 1);
}

/* While its DMA is under way a queue pair can neither be reset nor freed; its
 * owner destroys it once, and one event reports that it is gone. */
static void in_flight(void **state)
{
	struct unic_evt_obj evt;
	struct rig_mr mr;

	(void)state;
	rig_attach(&r, 1, 1);
	r.port.on_frame = count;
	assert_int_equal(rig_reg(&r, 0, pd, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_RTR), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_RTS), UNIC_ST_OK);
	r.port.late_dma = true;
	rig_send(&r, &qp, UNIC_WR_WRITE, 3, &mr, 0, 8, 0x1000, 0x100);
	rig_poll(&r);
	assert_int_equal(core_qp()->dmas, 1);
	assert_int_equal(enter(UNIC_QPS_RESET), UNIC_ST_BUSY);
	assert_int_equal(core_qp()->state, UNIC_QPS_RTS);
	assert_int_equal(destroy(1), UNIC_ST_NO_QP);
	assert_int_equal(destroy(0), UNIC_ST_PENDING);
	assert_int_equal(destroy(0), UNIC_ST_NO_QP);
	assert_int_equal(enter(UNIC_QPS_RESET), UNIC_ST_NO_QP);
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_NO_QP);
	assert_false(rig_event(&r, &evt));
	assert_true(core_qp()->used);
	fake_dma_run(&r.port, 8);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_QP_GONE, &evt);
	assert_int_equal(unic_from_le32(evt.id), qp.qpn);
	assert_false(rig_event(&r, &evt));
	assert_false(core_qp()->used);
	assert_int_equal(r.nic.qps.evts_due, 0);
	assert_false(r.nic.chores);
	assert_int_equal(destroy(0), UNIC_ST_NO_QP);
}

/* An error event that was not sent before its connection ended is not sent
 * during the next one. */
static void error_is_of_its_connection(void **state)
{
	struct unic_evt_obj evt = { .hdr.type = UNIC_EVT_PROC_GONE };

	(void)state;
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	while (unic_mbox_event(&r.nic.base, &evt))
		evt.hdr.type = UNIC_EVT_PROC_GONE;
	unic_qp_error(&r.nic.transport, &r.nic.qps.qp[qp.qpn & 0xff],
		      UNIC_WC_LOC_PROT_ERR);
	rig_run(&r, 1000);
	assert_int_equal(r.nic.qps.evts_due, 1);
	assert_int_equal(enter(UNIC_QPS_RESET), UNIC_ST_OK);
	assert_int_equal(enter(UNIC_QPS_INIT), UNIC_ST_OK);
	assert_int_equal(r.nic.qps.evts_due, 0);
	while (rig_event(&r, &evt))
		assert_int_equal(evt.hdr.type, UNIC_EVT_PROC_GONE);
	rig_run(&r, 10000000);
	assert_false(rig_event(&r, &evt));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(bounds_of_init, up),
		cmocka_unit_test_setup(bounds_of_rtr, up),
		cmocka_unit_test_setup(bounds_of_rts, up),
		cmocka_unit_test_setup(mtu_of_the_link, up),
		cmocka_unit_test_setup(no_route_without_a_link, up),
		cmocka_unit_test_setup(order_of_states, up),
		cmocka_unit_test_setup(of_the_owner_only, up),
		cmocka_unit_test_setup(row_tells, up),
		cmocka_unit_test_setup(error_flushes, up),
		cmocka_unit_test_setup(posted_before_rts, up),
		cmocka_unit_test_setup(tails_of_before_a_reset, up),
		cmocka_unit_test_setup(posted_in_reset, up),
		cmocka_unit_test_setup(in_flight, up),
		cmocka_unit_test_setup(error_is_of_its_connection, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
