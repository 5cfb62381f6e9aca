/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_rc_evict.c - reliable connections whose regions are evicted: receives
 * that are substituted, payload that is late, requests that are cut.
 */
#include "unit.h"

#include "rc_rig.h"

#define MTU 1024u

/* A request to an evicted remote region fails; the other requests succeed. */
static void remote_evicted(void **state)
{
	struct rig_mr other;
	uint32_t k;

	(void)state;
	for (k = 0; k < 6; k++) {
		rc_bring_up(false);
		assert_int_equal(rig_reg(&rb, 0, qb.pd, 2, UNIC_CLASS_MESSAGING,
					 UNIC_REG_LIST, 0, &other),
				 0);
		{
			struct unic_cmd_mr ev = {
				.mr = unic_to_le32(other.mr),
				.gen = unic_to_le32(other.gen),
			};

			assert_int_equal(
				rig_cmd(&rb, UNIC_CMD_MR_EVICT, &ev, NULL), 0);
		}
		pair_run(MS);
		rc_wire.seen = 0;
		rc_wire.lose = k;
		rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 1500, mb.iova,
			 mb.stag);
		rig_send(&ra, &qa, k & 1 ? UNIC_WR_READ : UNIC_WR_WRITE, 2, &ma,
			 0, 3000, other.iova, other.stag);
		rig_send(&ra, &qa, UNIC_WR_READ, 3, &ma, 16384, 3000,
			 mb.iova + 8192, mb.stag);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 4, &ma, 0, 4000,
			 mb.iova + 4096, mb.stag);
		pair_run(50 * MS);
		rc_expect(&ra, &qa, 0, 1, 0, 1500);
		rc_expect(&ra, &qa, 0, 2, UNIC_WC_REM_EVICTED, 0);
		rc_expect(&ra, &qa, 0, 3, 0, 3000);
		rc_expect(&ra, &qa, 0, 4, 0, 4000);
		assert_memory_equal(mb.mem + 4096, ma.mem, 4000);
		/* also as the last request in the queue */
		rig_send(&ra, &qa, k & 1 ? UNIC_WR_READ : UNIC_WR_WRITE, 5, &ma,
			 0, 3000, other.iova, other.stag);
		pair_run(MS);
		rc_expect(&ra, &qa, 0, 5, UNIC_WC_REM_EVICTED, 0);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 6, &ma, 0, 2000, mb.iova,
			 mb.stag);
		pair_run(MS);
		rc_expect(&ra, &qa, 0, 6, 0, 2000);
		assert_memory_equal(mb.mem, ma.mem, 2000);
		rc_quiet();
	}
}

/* The last READ request of A. */
static uint8_t request[FAKE_FRAME_BYTES + 2] __attribute__((aligned(4)));
static uint32_t request_len, request_flags;

static void keep_read(struct unic_port *port, const uint8_t *frame,
		      uint32_t len, uint32_t flags)
{
	if (frame[42] == UNIC_OP_READ_REQUEST) {
		memcpy(request + 2, frame, len);
		request_len = len;
		request_flags = flags;
	}
	rc_on_frame(port, frame, len, flags);
}

static uint8_t state_of(const struct rig *r, const struct rig_qp *qp)
{
	return r->nic.qps.qp[qp->qpn & 0xff].state;
}

/*
 * A copy of a READ, which the wire held back until its region had gone, harms nobody.
 * Where the answer was lost (@lost), the requester is told, and the responder lives on.
 */
static void read_again(bool lost)
{
	struct rig_mr other;

	rc_bring_up(false);
	ra.port.on_frame = keep_read;
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 2, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &other),
			 0);
	if (lost)
		rc_wire.lose = rc_wire.seen + 2;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 100, other.iova,
		 other.stag);
	pair_run(MS);
	if (!lost)
		rc_expect(&ra, &qa, 0, 1, 0, 100);
	assert_int_equal(rig_dereg(&rb, &other), 0);
	fake_deliver(&rb.port, request + 2, request_len, request_flags);
	pair_run(MS);
	assert_int_equal(state_of(&rb, &qb), UNIC_QPS_RTS);
	assert_int_equal(rig_count(&rb, rx_duplicate), 1);
	assert_int_equal(rig_count(&rb, tx_naks), 1);
	if (lost) {
		rc_expect(&ra, &qa, 0, 1, UNIC_WC_REM_ACCESS_ERR, 0);
		assert_int_equal(state_of(&ra, &qa), UNIC_QPS_ERR);
		return;
	}
	assert_int_equal(state_of(&ra, &qa), UNIC_QPS_RTS);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 2000, mb.iova, mb.stag);
	pair_run(MS);
	rc_expect(&ra, &qa, 0, 2, 0, 2000);
	rc_quiet();
}

static void read_again_of_what_has_gone(void **state)
{
	(void)state;
	read_again(false);
	read_again(true);
}

static void evict(struct rig *r, const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
	};

	assert_int_equal(rig_cmd(r, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
}

/* Posted receives of an evicted region complete EVICTED; a message takes the
 * next other receive. */
static void messaging_evicted(void **state)
{
	struct rig_mr msg;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 2, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &msg),
			 0);
	for (i = 0; i < 12; i++)
		rig_recv(&rb, &qb, i, i % 3 == 1 ? &mb : &msg, i * 100, 100);
	pair_run(MS);
	evict(&rb, &msg);
	pair_run(MS);
	for (i = 0; i < 12; i++)
		if (i % 3 != 1)
			rc_expect(&rb, &qb, UNIC_WC_RECV, i, UNIC_WC_EVICTED,
				  0);
	pair_expect_none(&rb, &qb);
	for (i = 0; i < 4; i++)
		rig_send(&ra, &qa, UNIC_WR_SEND, i, &ma, 0, 100, 0, 0);
	pair_run(MS);
	for (i = 0; i < 4; i++) {
		rc_expect(&ra, &qa, UNIC_WC_SEND, i, 0, 100);
		rc_expect(&rb, &qb, UNIC_WC_RECV, 3 * i + 1, 0, 100);
		assert_memory_equal(mb.mem + (3 * i + 1) * 100, ma.mem, 100);
	}
	/* posted after the eviction: completes when a message reaches it */
	rig_recv(&rb, &qb, 20, &msg, 0, 100);
	rig_recv(&rb, &qb, 21, &mb, 0, 100);
	rig_send(&ra, &qa, UNIC_WR_SEND, 5, &ma, 0, 100, 0, 0);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_SEND, 5, 0, 100);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 20, UNIC_WC_EVICTED, 0);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 21, 0, 100);
	assert_int_equal(rig_count(&rb, rq_substituted), 1);
	assert_int_equal(rig_count(&ra, retransmits), 0);
	rc_quiet();
}

/* Lets time pass while the DMA of both sides is slow. */
static void run_late(uint32_t rounds)
{
	for (; rounds; rounds--) {
		rig_poll(&ra);
		rig_poll(&rb);
		fake_dma_run(&ra.port, 1);
		fake_dma_run(&rb.port, 1);
		ra.port.now_ns += 10000;
		rb.port.now_ns += 10000;
	}
}

/*
 * Of fourteen posted receives the first is in an evicted region, and only the
 * last has the queue's buffer class: the message takes the last one, beyond the
 * receives of the ring that the NIC keeps.
 */
static void far_substitute(bool late)
{
	struct rig_mr msg;
	uint32_t i;

	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &msg),
			 0);
	unic_qp_by_number(&rb.nic.transport, qb.qpn)->rq.class_bytes = 1000;
	rig_recv(&rb, &qb, 0, &msg, 0, 1000);
	for (i = 1; i < 14; i++)
		rig_recv(&rb, &qb, i, &mb, i * 1000, i == 13 ? 1000 : 100);
	pair_run(MS);
	evict(&rb, &msg);
	pair_run(MS);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	ra.port.late_dma = rb.port.late_dma = late;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 1000, 0, 0);
	run_late(60);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 13, 0, 1000);
	assert_memory_equal(mb.mem + 13000, ma.mem, 1000);
	rc_expect(&ra, &qa, UNIC_WC_SEND, 1, 0, 1000);
	/* the others follow in their order */
	for (i = 1; i < 13; i++)
		rig_send(&ra, &qa, UNIC_WR_SEND, i, &ma, 0, 100, 0, 0);
	run_late(200);
	for (i = 1; i < 13; i++) {
		rc_expect(&ra, &qa, UNIC_WC_SEND, i, 0, 100);
		rc_expect(&rb, &qb, UNIC_WC_RECV, i, 0, 100);
		assert_memory_equal(mb.mem + i * 1000, ma.mem, 100);
	}
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 0);
	assert_int_equal(rig_count(&rb, rx_out_of_seq), 0);
	ra.port.late_dma = rb.port.late_dma = false;
	rc_quiet();
}

static void messaging_evicted_far(void **state)
{
	(void)state;
	far_substitute(false);
}

/* Frames that wait for their payload keep their order; none is NAKed or
 * repeated. */
static void late_in_order(void **state)
{
	uint32_t i;

	(void)state;
	ra.port.late_dma = rb.port.late_dma = true;
	for (i = 0; i < 8; i++) { /* doorbells during gathering */
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, i * 3000,
			 i & 1 ? 3000 : 8, mb.iova + i * 3000, mb.stag);
		run_late(3);
	}
	run_late(200);
	for (i = 0; i < 8; i++) {
		rc_expect(&ra, &qa, UNIC_WC_WRITE, i, 0, i & 1 ? 3000 : 8);
		assert_memory_equal(mb.mem + i * 3000, ma.mem + i * 3000,
				    i & 1 ? 3000 : 8);
	}
	assert_int_equal(rig_count(&rb, rx_out_of_seq), 0);
	assert_int_equal(rig_count(&ra, retransmits), 0);
	ra.port.late_dma = rb.port.late_dma = false;
	rc_quiet();
}

/* Delivers the next frame with byte wire.swap inverted, once. */
static void turned_over(struct unic_port *port, const uint8_t *frame,
			uint32_t len, uint32_t flags)
{
	uint8_t copy[FAKE_FRAME_BYTES];

	memcpy(copy, frame, len);
	copy[rc_wire.swap] ^= 0xff;
	fake_deliver(port->peer, copy, len, flags);
	port->on_frame = rc_on_frame;
}

/*
 * A frame that differs from the frame before it in one byte of its headers is
 * not placed by the fast path for frames alike. (Left out: the sender's
 * Ethernet address, UDP source port and checksum, reserved bits of BTH, and the
 * opcode.)
 */
static void alike_but_one_byte(void **state)
{
	static const uint8_t ranges[][2] = {
		{ 0, 6 }, { 12, 34 }, { 36, 40 }, { 47, 50 }
	};
	uint32_t i, at;

	(void)state;
	for (i = 0; i < 4; i++) {
		for (at = ranges[i][0]; at < ranges[i][1]; at++) {
			memset(mb.mem, 0, 8);
			rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 8, 8, mb.iova,
				 mb.stag);
			pair_run(MS);
			rc_expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 8);
			assert_memory_equal(mb.mem, ma.mem + 8, 8);
			rc_wire.swap = at;
			ra.port.on_frame = turned_over;
			rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 16, 8,
				 mb.iova, mb.stag);
			pair_run(100000);
			assert_memory_equal(mb.mem, ma.mem + 8, 8);
			rc_wire.swap = 0;
			pair_run(20 * MS);
			rc_expect(&ra, &qa, UNIC_WC_WRITE, 2, 0, 8);
			assert_memory_equal(mb.mem, ma.mem + 16, 8);
		}
	}
	rc_quiet();
}

/* An inline WRITE, which needs no DMA, does not overtake a WRITE that waits for
 * its payload. */
static void not_overtaken(uint32_t len)
{
	struct unic_sq_slot *s = &qa.sq[(qa.sq_tail + 1) % RIG_SLOTS];
	uint32_t i;

	*s = (struct unic_sq_slot){
		.opcode = UNIC_WR_WRITE,
		.flags = UNIC_WR_SIGNALED | UNIC_WR_INLINE,
		.inline_len = 8,
		.wr_id = unic_to_le64(2),
		.remote = unic_to_le64(mb.iova),
		.rkey = unic_to_le32(mb.stag),
	};
	memset(s->sge, 0x5a, 8);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, len, mb.iova, mb.stag);
	qa.sq_tail++;
	rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, qa.sq_tail);
	for (i = 0; i < 60; i++) { /* doorbells while the first WRITE waits */
		rig_poll(&ra);
		rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, qa.sq_tail);
		run_late(1);
	}
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, len);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 2, 0, 8);
	assert_memory_equal(mb.mem, s->sge, 8);
	assert_memory_equal(mb.mem + 8, ma.mem + 8, len - 8);
}

static void late_not_overtaken(void **state)
{
	(void)state;
	ra.port.late_dma = true;
	not_overtaken(16);
	not_overtaken(MTU);
	not_overtaken(MTU + 16); /* its last packet waits */
	not_overtaken(3 * MTU);
	assert_int_equal(rig_count(&rb, rx_out_of_seq), 0);
	assert_int_equal(rig_count(&ra, retransmits), 0);
	ra.port.late_dma = false;
	rc_quiet();
}

static void messaging_evicted_far_late(void **state)
{
	(void)state;
	far_substitute(true);
}

/* No receive of the class is left: the message gets RNR NAKs until one is
 * posted. */
static void messaging_evicted_none(void **state)
{
	uint64_t refused, moved;
	struct rig_mr msg;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &msg),
			 0);
	unic_qp_by_number(&rb.nic.transport, qb.qpn)->rq.class_bytes = 1000;
	rig_recv(&rb, &qb, 0, &msg, 0, 1000);
	for (i = 1; i < 12; i++)
		rig_recv(&rb, &qb, i, &mb, i * 1000, 100);
	pair_run(MS);
	evict(&rb, &msg);
	pair_run(MS);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	unic_qp_by_number(&ra.nic.transport, qa.qpn)->rnr_retry =
		7; /* for ever */
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 1000, 0, 0);
	pair_run(20000);
	refused = rig_count(&rb, tx_rnr_naks);
	moved = rig_count(&rb, dma_bytes);
	assert_true(refused > 0);
	pair_expect_none(&rb, &qb);
	/* the ring is searched once: no receive was posted since */
	pair_run(3 * MS);
	assert_true(rig_count(&rb, tx_rnr_naks) > refused);
	assert_int_equal(rig_count(&rb, dma_bytes), moved);
	rig_recv(&rb, &qb, 12, &mb, 12000, 2000);
	pair_run(MS);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 12, 0, 1000);
	rc_expect(&ra, &qa, UNIC_WC_SEND, 1, 0, 1000);
	assert_memory_equal(mb.mem + 12000, ma.mem, 1000);
}

/* A request whose source was evicted before it was sent completes EVICTED, in
 * order; the other requests succeed. */
static void send_side_evicted(void **state)
{
	struct rig_mr msg;

	(void)state;
	assert_int_equal(rig_reg(&ra, 0, qa.pd, 2, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &msg),
			 0);
	evict(&ra, &msg);
	pair_run(MS);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 3000, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &msg, 0, 8, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 8, mb.iova, mb.stag);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 3000);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 2, UNIC_WC_EVICTED, 0);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 3, 0, 8);
	rc_quiet();
}

/* Requests that are sent and not acknowledged hold their region until T ends;
 * then they are cut. */
static void cut_at_deadline(void **state)
{
	struct unic_evt_mr notice;
	struct unic_cqe cqe;

	(void)state;
	rc_wire.cut = true;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 3000, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_READ, 2, &ma, 8192, 3000, mb.iova, mb.stag);
	pair_run(1000);
	assert_true(ra.nic.mrs.mr[ma.mr].holds >= 2);
	evict(&ra, &ma);
	pair_run(1000);
	rig_expect(&ra, UNIC_EVT_NOTICE, &notice);
	ra.nic.qps.qp[unic_qp_by_number(&ra.nic.transport, qa.qpn)->qpn & 0xff]
		.timeout_ns = 4096ull << 20; /* no retry may end the WRITE */
	ra.nic.qps.qp[qa.qpn & 0xff].sq.timer_ns = UNIC_NEVER;
	assert_int_equal(rig_ack(&ra, &notice), 0);
	pair_run(19 * MS);
	pair_expect_none(&ra, &qa);
	pair_run(2 * MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_EVICTED);
	assert_int_equal(cqe.detail, UNIC_WD_BUSY);
	rc_expect(&ra, &qa, 0, 2, UNIC_WC_EVICTED, 0);
	pair_expect_none(&ra, &qa);
	rc_quiet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_again_of_what_has_gone),
		cmocka_unit_test(remote_evicted),
		cmocka_unit_test_setup(messaging_evicted, rc_up),
		cmocka_unit_test_setup(messaging_evicted_far, rc_up),
		cmocka_unit_test_setup(messaging_evicted_far_late, rc_up),
		cmocka_unit_test_setup(late_in_order, rc_up),
		cmocka_unit_test_setup(late_not_overtaken, rc_up),
		cmocka_unit_test_setup(alike_but_one_byte, rc_up),
		cmocka_unit_test_setup(messaging_evicted_none, rc_up),
		cmocka_unit_test_setup(send_side_evicted, rc_up),
		cmocka_unit_test_setup(cut_at_deadline, rc_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
