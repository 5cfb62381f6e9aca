/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_order.c - events of a connection in unfavourable orders: completions
 * that have to wait while packets are lost, packets that are repeated while an
 * answer is sent, regions that are cut off while others are used.
 */
#include "unit.h"

#include "pair.h"

#define MS  1000000ull
#define BTH 42u
/* READs that the queue pairs of the rig have outstanding */
#define AGREED 4u
#define ALL    ((1u << UNIC_TX_BUFS) - 1) /* no buffer of the link is free */

/* What the wire does with frames; both directions are counted together. */
static struct {
	uint32_t seen;
	uint32_t lose; /* number of the frame to lose, from 1; 0: none */
	bool cut;
	int32_t keep; /* keep the first frame with this opcode; -1: none */
	uint8_t kept[FAKE_FRAME_BYTES];
	uint32_t kept_len, kept_flags;
} wire;

static void on_frame(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	if (frame[BTH] == wire.keep && !wire.kept_len) {
		memcpy(wire.kept, frame, len);
		wire.kept_len = len;
		wire.kept_flags = flags;
	}
	if (++wire.seen != wire.lose && !wire.cut)
		fake_deliver(port->peer, frame, len, flags);
}

/* Delivers the kept frame once more. */
static void again(struct rig *to)
{
	assert_int_not_equal(wire.kept_len, 0);
	fake_deliver(&to->port, wire.kept, wire.kept_len, wire.kept_flags);
}

static void bring_up(void)
{
	memset(&wire, 0, sizeof(wire));
	wire.keep = -1;
	pair_up();
	ra.port.on_frame = rb.port.on_frame = on_frame;
}

static int up(void **state)
{
	(void)state;
	bring_up();
	return 0;
}

/* ---------------------------------------------------------------- requester */

static void several(void)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 1500, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_READ, 2, &ma, 16384, 1500, mb.iova + 16384,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 2000, 100, mb.iova + 2000,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_READ, 4, &ma, 20480, 100, mb.iova + 20480,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 4000, 1500, mb.iova + 4000,
		 mb.stag);
}

static void several_check(void)
{
	static const uint32_t len[] = { 1500, 1500, 100, 100, 1500 };
	uint32_t i;

	for (i = 0; i < 5; i++)
		pair_expect(&ra, &qa, i + 1, 0, len[i]);
	pair_expect_none(&ra, &qa);
	assert_memory_equal(mb.mem, ma.mem, 1500);
	assert_memory_equal(mb.mem + 2000, ma.mem + 2000, 100);
	assert_memory_equal(mb.mem + 4000, ma.mem + 4000, 1500);
	assert_memory_equal(ma.mem + 16384, mb.mem + 16384, 1500);
	assert_memory_equal(ma.mem + 20480, mb.mem + 20480, 100);
	assert_int_equal(rig_count(&ra, rx_bad_opcode), 0);
	pair_quiet();
}

/*
 * Any one DMA of A is delayed, and any one frame is lost meanwhile:
 * acknowledged requests that cannot complete yet stand before the request that
 * is sent again.
 */
static void lost_while_completions_wait(void **state)
{
	uint32_t frames, calls, k, n;

	bring_up();
	calls = ra.port.calls;
	ra.port.again_call = ~0u; /* the same steps without a delay */
	several();
	pair_run(50 * MS);
	several_check();
	calls = ra.port.calls - calls;
	frames = wire.seen;
	assert_true(calls > 10 && frames > 8);
	for (k = 1; k <= calls + 2; k++)
		for (n = 0; n <= frames; n++) {
			up(state);
			ra.port.again_call = ra.port.calls + k;
			wire.lose = n;
			several();
			pair_run(50 * MS);
			several_check();
			if (!n) /* a delay causes no repetition */
				assert_int_equal(rig_count(&ra, retransmits),
						 0);
		}
}

/* A NAK for the third request arrives while completions wait: the third request
 * fails, and those before it succeed. */
static void refused_while_completions_wait(void **state)
{
	uint32_t k;

	for (k = 1; k < 30; k++) {
		up(state);
		ra.port.again_call = ra.port.calls + k;
		rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 1500, mb.iova,
			 mb.stag);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova + 2000,
			 mb.stag);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 1500, mb.iova,
			 mb.stag ^ 0x100);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 4, &ma, 0, 8, mb.iova,
			 mb.stag);
		pair_run(50 * MS);
		pair_expect(&ra, &qa, 1, 0, 1500);
		pair_expect(&ra, &qa, 2, 0, 8);
		pair_expect(&ra, &qa, 3, UNIC_WC_REM_ACCESS_ERR, 0);
		pair_expect(&ra, &qa, 4, UNIC_WC_WR_FLUSH_ERR, 0);
		pair_expect_none(&ra, &qa);
		pair_quiet();
	}
}

/* A request of an evicted region, local or remote, fails while completions
 * wait; the requests around it succeed. */
static void evicted_while_completions_wait(void **state)
{
	struct rig_mr gone;
	uint32_t k;

	for (k = 0; k < 60; k++) {
		bool here = k & 1;

		up(state);
		pair_gone_region(here ? &ra : &rb, here ? qa.pd : qb.pd, &gone);
		ra.port.again_call = ra.port.calls + k / 2 + 1;
		rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 1500, mb.iova,
			 mb.stag);
		if (here)
			rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &gone, 0, 1500,
				 mb.iova, mb.stag);
		else
			rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 1500,
				 gone.iova, gone.stag);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 8, mb.iova + 2000,
			 mb.stag);
		pair_run(50 * MS);
		pair_expect(&ra, &qa, 1, 0, 1500);
		pair_expect(&ra, &qa, 2,
			    here ? UNIC_WC_EVICTED : UNIC_WC_REM_EVICTED, 0);
		pair_expect(&ra, &qa, 3, 0, 8);
		pair_expect_none(&ra, &qa);
		assert_memory_equal(mb.mem, ma.mem, 1500);
		assert_memory_equal(mb.mem + 2000, ma.mem, 8);
		pair_quiet();
	}
}

/* Lets the grace of A's regions pass, while no completion can be written. */
static void pass_grace(void)
{
	uint32_t i;

	ra.port.no_dma = true;
	for (i = 0; i < 60; i++) {
		ra.port.now_ns += MS / 2;
		pair_rounds(&ra, 8);
	}
	ra.port.no_dma = false;
	rb.port.now_ns = ra.port.now_ns;
}

/* A region is cut while one request that used it is acknowledged but has no
 * completion yet, and another one is not acknowledged: only the second one ends
 * EVICTED. */
static void cut_off_while_completions_wait(void **state)
{
	struct unic_cmd_mr evict = { .mr = unic_to_le32(ma.mr),
				     .gen = unic_to_le32(ma.gen) };
	struct unic_evt_mr notice;
	struct rig_mr other;

	(void)state;
	assert_int_equal(rig_reg(&ra, 0, qa.pd, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &other),
			 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 1500, mb.iova, mb.stag);
	rig_poll(&ra);
	ra.port.tx_held = ALL;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &other, 0, 8, mb.iova, mb.stag);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_expect(&ra, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(rig_ack(&ra, &notice), 0);
	rig_poll(&rb); /* acknowledges the first */
	pass_grace();
	assert_int_equal(unic_qp_by_number(&ra.nic.transport, qa.qpn)->state,
			 UNIC_QPS_ERR);
	pair_expect_none(&ra, &qa);
	ra.port.tx_held = 0;
	pair_run(20 * MS);
	pair_expect(&ra, &qa, 1, 0, 1500);
	pair_expect(&ra, &qa, 2, UNIC_WC_EVICTED, 0);
	pair_expect(&ra, &qa, 3, UNIC_WC_WR_FLUSH_ERR, 0);
	pair_expect_none(&ra, &qa);
	pair_quiet();
}

/* All requests that used a region are acknowledged, and only their completions
 * wait: the region is not in use, ends at once when its owner deregisters it,
 * and cuts no request. */
static void spared_while_completions_wait(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 1500, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova, mb.stag);
	rig_poll(&ra);
	assert_int_equal(ra.nic.mrs.mr[ma.mr].holds, 2);
	ra.port.no_dma = true;
	rig_poll(&rb); /* acknowledges both */
	pair_rounds(&ra, 8);
	pair_expect_none(&ra, &qa);
	assert_int_equal(ra.nic.mrs.mr[ma.mr].holds, 0);
	unic_cuts_mark(&ra.nic.memory, (uint16_t)ma.mr);
	unic_cut_run(&ra.nic.transport);
	assert_int_equal(unic_qp_by_number(&ra.nic.transport, qa.qpn)->state,
			 UNIC_QPS_RTS);
	assert_int_equal(rig_dereg(&ra, &ma), 0);
	ra.port.no_dma = false;
	pair_run(MS);
	pair_expect(&ra, &qa, 1, 0, 1500);
	pair_expect(&ra, &qa, 2, 0, 8);
	pair_expect_none(&ra, &qa);
}

/* A SEND that got an RNR NAK arrives once more and is taken: the requester goes
 * on at once, before the RNR wait ends. */
static void taken_before_the_wait_is_over(void **state)
{
	(void)state;
	wire.keep = UNIC_OP_SEND_ONLY;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 100, 0, 0);
	pair_at_once();
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 1);
	rig_recv(&rb, &qb, 7, &mb, 0, 100);
	again(&rb);
	pair_at_once();
	pair_expect(&rb, &qb, 7, 0, 100);
	pair_expect(&ra, &qa, 1, 0, 100);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 50, mb.iova + 200,
		 mb.stag);
	pair_at_once();
	pair_expect(&ra, &qa, 2, 0, 50);
	assert_memory_equal(mb.mem + 200, ma.mem, 50);
	pair_run(20 * MS);
	assert_int_equal(rig_count(&ra, retransmits), 0);
	pair_quiet();
}

/* The acknowledgement arrives after the time-out, while the link has no room
 * for the repeated requests: they are not sent again. */
static void acknowledged_before_it_is_sent_again(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 8 * i, 8,
			 mb.iova + 8 * i, mb.stag);
	rig_poll(&ra);
	wire.keep = UNIC_OP_ACK;
	wire.cut = true;
	rig_poll(&rb);
	ra.port.tx_held = ALL;
	ra.port.now_ns += 6 * MS;
	pair_rounds(&ra, 8);
	assert_int_equal(rig_count(&ra, retransmits), 1);
	again(&ra);
	pair_rounds(&ra, 8);
	ra.port.tx_held = 0;
	wire.seen = 0;
	rig_poll(&ra);
	for (i = 0; i < 4; i++)
		pair_expect(&ra, &qa, i, 0, 8);
	assert_int_equal(wire.seen, 0);
	wire.cut = false;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 4, &ma, 32, 8, mb.iova + 32, mb.stag);
	rb.port.now_ns = ra.port.now_ns;
	pair_at_once();
	pair_expect(&ra, &qa, 4, 0, 8);
	assert_memory_equal(mb.mem, ma.mem, 40);
	pair_quiet();
}

/* A READ response with the PSN of a WRITE: no byte is placed, and no request
 * completes. */
static void response_to_a_write(void **state)
{
	(void)state;
	wire.keep = UNIC_OP_READ_RESP_ONLY;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 100, mb.iova, mb.stag);
	pair_at_once();
	pair_expect(&ra, &qa, 1, 0, 100);
	wire.cut = true;
	memset(ma.mem + 4096, 0x3c, 100);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 4096, 100, mb.iova + 4096,
		 mb.stag);
	pair_at_once();
	wire.kept[BTH + 11]++; /* the PSN of the WRITE */
	again(&ra);
	pair_at_once();
	pair_expect_none(&ra, &qa);
	assert_int_equal(rig_count(&ra, rx_stale_ack), 1);
	wire.cut = false;
	pair_run(20 * MS);
	pair_expect(&ra, &qa, 2, 0, 100);
	assert_int_equal(ma.mem[4096], 0x3c);
	assert_int_equal(ma.mem[4096 + 99], 0x3c);
	assert_memory_equal(mb.mem + 4096, ma.mem + 4096, 100);
	pair_quiet();
}

/* -------------------------------------------------------------------- READs */

static void read_from(uint64_t id, const struct rig_mr *to, uint32_t off)
{
	rig_send(&ra, &qa, UNIC_WR_READ, id, &ma, (uint32_t)(2048 * id), 100,
		 to->iova + off, to->stag);
}

/* A WRITE of two pages is posted behind a READ that waits for its response. A
 * part of the WRITE's payload cannot be read: the WRITE gets the bus error, and
 * the READ is flushed. */
static void write_fails_behind_a_read(void **state)
{
	struct unic_cqe cqe;
	uint32_t k, i, failed = 0;

	for (k = 1; k < 10; k++) {
		up(state);
		wire.cut = true;
		read_from(1, &mb, 0);
		pair_rounds(&ra, 4);
		ra.port.late_dma = true;
		ra.port.fail_call = ra.port.calls + k;
		rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 4096 - 100, 300,
			 mb.iova, mb.stag);
		for (i = 0; i < 30; i++) {
			rig_poll(&ra);
			fake_dma_run(&ra.port, 1);
		}
		if (!rig_cqe(&ra, &qa, &cqe))
			continue;
		assert_int_equal(unic_from_le64(cqe.wr_id), 1);
		assert_int_equal(cqe.status, UNIC_WC_WR_FLUSH_ERR);
		pair_expect(&ra, &qa, 2, UNIC_WC_LOC_BUS_ERR, 0);
		failed++;
	}
	assert_true(failed > 0);
}

/* A READ that is answered again gives up its place when the peer has sent as
 * many new READs as were agreed. */
static void read_that_needs_room(void **state)
{
	uint32_t i;

	(void)state;
	wire.keep = UNIC_OP_READ_REQUEST;
	read_from(0, &mb, 0);
	pair_at_once();
	pair_expect(&ra, &qa, 0, 0, 100);
	rb.port.tx_held = ALL;
	again(&rb);
	pair_rounds(&rb, 4);
	for (i = 1; i <= AGREED; i++)
		read_from(i, &mb, 500 * i);
	pair_rounds(&ra, 8);
	pair_rounds(&rb, 8);
	rb.port.tx_held = 0;
	pair_run(MS);
	for (i = 1; i <= AGREED; i++) {
		pair_expect(&ra, &qa, i, 0, 100);
		assert_memory_equal(ma.mem + 2048 * i, mb.mem + 500 * i, 100);
	}
	assert_int_equal(rig_count(&ra, retransmits), 0);
	pair_quiet();
}

/* The payload of a response is in two pages, and any one DMA of it is delayed:
 * the response is gathered again, and is sent once. */
static void response_gathered_twice(void **state)
{
	uint32_t k, i;

	for (k = 1; k < 8; k++) {
		up(state);
		rb.port.late_dma = true;
		rb.port.again_call = rb.port.calls + k;
		rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 300,
			 mb.iova + 4096 - 100, mb.stag);
		for (i = 0; i < 30; i++) {
			rig_poll(&ra);
			rig_poll(&rb);
			fake_dma_run(&rb.port, 1);
		}
		pair_expect(&ra, &qa, 1, 0, 300);
		assert_memory_equal(ma.mem, mb.mem + 4096 - 100, 300);
		rb.port.late_dma = false;
		pair_quiet();
	}
}

/*
 * A region is cut off at the end of its grace while a READ of it is answered.
 * Another queue pair, which has written to that region and answers a READ of
 * another one, is not affected.
 */
static void cut_off_beside(void **state)
{
	struct unic_cmd_mr evict = { 0 };
	struct unic_evt_mr notice;
	struct rig_qp a2, b2;
	struct rig_mr other;
	uint32_t i;

	(void)state;
	rig_qp(&ra, 0, qa.pd, 8, &a2);
	rig_qp(&rb, 0, qb.pd, 9, &b2);
	rig_connect(&ra, &a2, &rb, &b2);
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &other),
			 0);
	memset(other.mem, 0x21, 4096);
	rig_send(&ra, &a2, UNIC_WR_WRITE, 1, &ma, 0, 3000, mb.iova, mb.stag);
	pair_at_once();
	pair_expect(&ra, &a2, 1, 0, 3000);
	rb.port.tx_held = ALL;
	read_from(2, &mb, 0);
	rig_send(&ra, &a2, UNIC_WR_READ, 3, &ma, 0, 100, other.iova,
		 other.stag);
	pair_rounds(&ra, 8);
	pair_rounds(&rb, 8);
	evict.mr = unic_to_le32(mb.mr);
	evict.gen = unic_to_le32(mb.gen);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	pair_rounds(&rb, 8);
	rig_expect(&rb, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(rig_ack(&rb, &notice), 0);
	for (i = 0; i < 60; i++) {
		rb.port.now_ns += MS / 2;
		pair_rounds(&rb, 8);
	}
	assert_int_equal(unic_qp_by_number(&rb.nic.transport, qb.qpn)->state,
			 UNIC_QPS_ERR);
	assert_int_equal(unic_qp_by_number(&rb.nic.transport, b2.qpn)->state,
			 UNIC_QPS_RTS);
	ra.port.now_ns = rb.port.now_ns;
	rb.port.tx_held = 0;
	pair_run(20 * MS);
	pair_expect(&ra, &a2, 3, 0, 100);
	assert_memory_equal(ma.mem, other.mem, 100);
	pair_quiet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_while_completions_wait),
		cmocka_unit_test(refused_while_completions_wait),
		cmocka_unit_test(evicted_while_completions_wait),
		cmocka_unit_test_setup(cut_off_while_completions_wait, up),
		cmocka_unit_test_setup(spared_while_completions_wait, up),
		cmocka_unit_test_setup(taken_before_the_wait_is_over, up),
		cmocka_unit_test_setup(acknowledged_before_it_is_sent_again,
				       up),
		cmocka_unit_test_setup(response_to_a_write, up),
		cmocka_unit_test(write_fails_behind_a_read),
		cmocka_unit_test_setup(read_that_needs_room, up),
		cmocka_unit_test(response_gathered_twice),
		cmocka_unit_test_setup(cut_off_beside, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
