/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_srq.c - shared receive queues: whose receive is next, the limit, the last receive of
 * a queue pair that dies, over DMA that is late; and processes that get it wrong.
 */
#include "unit.h"

#include "derived_rig.h"
#include "rc_rig.h"

#define QPS   3u
#define SLOTS 8u
#define ROW   20u /* of the queue */

/* Queue pairs of A, and of B, whose receives are shared. */
static struct rig_qp from[QPS], to[QPS];
static struct {
	uint32_t id, tail;
	struct rig_mr ring;
	struct unic_rq_slot *slot;
} srq;

static uint8_t create(uint32_t pd, uint32_t row, uint32_t slots,
		      const struct rig_mr *ring, uint64_t iova, uint32_t *id)
{
	struct unic_cmd_srq_create cmd = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(ring->stag),
		.iova = unic_to_le64(iova),
		.slots = unic_to_le32(slots),
		.db_index = unic_to_le32(row),
	};
	struct unic_cpl_obj cpl;
	uint8_t status = rig_cmd(&rb, UNIC_CMD_SRQ_CREATE, &cmd, &cpl);

	if (!status)
		*id = unic_from_le32(cpl.id);
	return status;
}

static uint8_t obj_cmd(uint8_t opcode, uint32_t id)
{
	struct unic_cmd_obj cmd = { .id = unic_to_le32(id) };

	return rig_cmd(&rb, opcode, &cmd, NULL);
}

static uint8_t set_limit(uint32_t limit)
{
	struct unic_cmd_srq_modify cmd = { .id = unic_to_le32(srq.id),
					   .limit = unic_to_le32(limit) };

	return rig_cmd(&rb, UNIC_CMD_SRQ_MODIFY, &cmd, NULL);
}

static void make_ring(struct rig_mr *ring)
{
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, ring),
			 0);
	memset(ring->mem, 0, 4096);
}

static int up_type(uint8_t type)
{
	uint32_t i;

	pair_up();
	memset(&srq, 0, sizeof(srq));
	make_ring(&srq.ring);
	srq.slot = (void *)srq.ring.mem;
	assert_int_equal(create(qb.pd, ROW, SLOTS, &srq.ring, srq.ring.iova,
				&srq.id),
			 0);
	for (i = 0; i < QPS; i++) {
		rig_qp_of(&ra, 0, qa.pd, 6 + i, type, 0, 0, &from[i]);
		rig_qp_shared(&rb, 0, qb.pd, 6 + i, type, srq.id, &to[i]);
		rig_connect(&ra, &from[i], &rb, &to[i]);
	}
	return 0;
}

static int up(void **state)
{
	(void)state;
	return up_type(UNIC_QPT_RC);
}

static int up_ud(void **state)
{
	(void)state;
	return up_type(UNIC_QPT_UD);
}

static uint32_t posted_rows(void)
{
	const struct unic_db_page *db = (void *)rb.port.window[0];

	return unic_from_le32(db->tail[ROW].rq);
}

static uint32_t taken(void)
{
	const struct unic_nic_page *np = (void *)(rb.port.window[0] + 4096);

	return unic_from_le32(np->srq_taken[ROW]);
}

/* Receive @wr_id of @len bytes at @off of @mr, without the doorbell. */
static void put(uint64_t wr_id, const struct rig_mr *mr, uint32_t off,
		uint32_t len)
{
	srq.slot[srq.tail++ % SLOTS] = (struct unic_rq_slot){
		.num_sge = 1,
		.wr_id = unic_to_le64(wr_id),
		.sge[0].iova = unic_to_le64(mr->iova + off),
		.sge[0].len = unic_to_le32(len),
		.sge[0].lkey = unic_to_le32(mr->stag),
	};
}

static void ring_bell(void)
{
	rig_ring(&rb, 0, UNIC_DB_SRQ, ROW, srq.tail);
	rig_poll(&rb);
}

/* Receives [@first, @first + @n), of 1000 bytes each, a KiB apart in mb. */
static void post(uint32_t first, uint32_t n)
{
	uint32_t i;

	for (i = first; i < first + n; i++)
		put(i, &mb, i * 1024, 1000);
	ring_bell();
}

static void send(uint32_t q, uint32_t wr_id, uint32_t len)
{
	rig_send(&ra, &from[q], UNIC_WR_SEND, wr_id, &ma, wr_id * 8, len, 0, 0);
	pair_at_once();
}

static void sent(uint32_t q, uint32_t wr_id, uint8_t status, uint32_t len)
{
	rc_expect(&ra, &from[q], UNIC_WC_SEND, wr_id, status, len);
}

/* Receive @wr_id of queue pair @q has message @from of @len bytes. */
static void got(uint32_t q, uint32_t wr_id, uint32_t msg, uint32_t len)
{
	rc_expect(&rb, &to[q], UNIC_WC_RECV, wr_id, 0, len);
	assert_memory_equal(mb.mem + wr_id * 1024, ma.mem + msg * 8, len);
}

static void expect_obj(uint8_t type, uint32_t id, uint32_t detail)
{
	struct unic_evt_obj evt;

	rig_expect(&rb, type, &evt);
	assert_int_equal(unic_from_le32(evt.id), id);
	assert_int_equal(unic_from_le32(evt.detail), detail);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
}

static void no_event(void)
{
	uint8_t evt[64];

	rig_poll(&rb);
	assert_false(rig_event(&rb, evt));
}

static void modify_state(struct rig_qp *qp, uint8_t state)
{
	struct unic_cmd_qp_modify cmd = { .qpn = unic_to_le32(qp->qpn),
					  .state = state };

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
	rig_poll(&rb);
}

static uint32_t frames_left;

/* The wire loses all but the first frames. */
static void only_some(struct unic_port *port, const uint8_t *frame,
		      uint32_t len, uint32_t flags)
{
	if (frames_left && frames_left--)
		fake_deliver(port->peer, frame, len, flags);
}

/* Queue pair 0 has a receive @wr_id with a part of its message. */
static void begin_message(uint32_t wr_id)
{
	put(wr_id, &mb, 0, 8192);
	ring_bell();
	frames_left = 2;
	ra.port.on_frame = only_some;
	rig_send(&ra, &from[0], UNIC_WR_SEND, 1, &ma, 0, 8000, 0, 0);
	pair_at_once();
	assert_true(rb.nic.qps.qp[to[0].qpn & 0xff].rq.held);
	assert_int_equal(taken(), 1);
}

/* ---------------------------------------------------------------- messages */

static void oldest_first(void **state)
{
	(void)state;
	post(0, 5);
	assert_int_equal(taken(), 0);
	send(2, 10, 100);
	send(0, 11, 1000);
	send(2, 12, 0);
	send(1, 13, 7);
	got(2, 0, 10, 100);
	got(0, 1, 11, 1000);
	got(2, 2, 12, 0);
	got(1, 3, 13, 7);
	assert_int_equal(taken(), 4);
	pair_quiet();
}

/* Nothing there: RNR, and the message arrives when something is posted. */
static void empty(void **state)
{
	(void)state;
	send(0, 1, 64);
	pair_run(MS / 100);
	assert_true(rb.nic.qps.qp[to[0].qpn & 0xff].rsp.psn ==
		    from[0].psn); /* it waits */
	pair_expect_none(&ra, &from[0]);
	post(0, 1);
	pair_run(5 * MS);
	got(0, 0, 1, 64);
	sent(0, 1, 0, 64);
	no_event();
}

/* More than a ring of them, into slots that were read. */
static void round_and_round(void **state)
{
	uint32_t i;

	(void)state;
	post(0, SLOTS);
	for (i = 0; i < 5 * SLOTS; i++) {
		send(i % QPS, i, 32);
		rc_expect(&rb, &to[i % QPS], UNIC_WC_RECV, i % SLOTS, 0, 32);
		sent(i % QPS, i, 0, 32);
		assert_int_equal(taken(), i + 1);
		post(i % SLOTS, 1);
	}
	assert_int_equal(posted_rows(), 6 * SLOTS);
	no_event();
}

/* A message of many packets holds its receive; others take theirs meanwhile. */
static void long_messages(void **state)
{
	(void)state;
	put(1, &mb, 0, 8192);
	put(2, &mb, 8192, 8192);
	ring_bell();
	rig_send(&ra, &from[0], UNIC_WR_SEND, 1, &ma, 0, 8000, 0, 0);
	rig_send(&ra, &from[1], UNIC_WR_SEND, 2, &ma, 8192, 5000, 0, 0);
	pair_at_once();
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 1, 0, 8000);
	rc_expect(&rb, &to[1], UNIC_WC_RECV, 2, 0, 5000);
	assert_memory_equal(mb.mem, ma.mem, 8000);
	assert_memory_equal(mb.mem + 8192, ma.mem + 8192, 5000);
	pair_quiet();
}

/* WRITE with immediate takes one, and needs no bytes of it. */
static void write_with_immediate(void **state)
{
	(void)state;
	post(0, 1);
	rig_send(&ra, &from[1], UNIC_WR_WRITE_IMM, 5, &ma, 0, 16,
		 mb.iova + 20480, mb.stag);
	pair_at_once();
	rc_expect(&rb, &to[1], UNIC_WC_RECV_WRITE_IMM, 0, 0, 16);
	assert_int_equal(taken(), 1);
}

static void datagrams(void **state)
{
	struct rig_mr *at = &mb;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		put(i, at, i * 1024, 500);
		ring_bell();
		rig_send(&ra, &from[0], UNIC_WR_SEND, i, &ma, 64 * i, 60,
			 UNIC_UD_TO(rb.nic.ipv4, to[i].qkey), to[i].qpn);
		pair_run(MS);
		rc_expect(&rb, &to[i], UNIC_WC_RECV, i, 0, 100);
		assert_memory_equal(at->mem + i * 1024 + 40, ma.mem + 64 * i,
				    60);
	}
}

/* -------------------------------------------------------- limit, last receive */

static void limit(void **state)
{
	(void)state;
	post(0, 4);
	assert_int_equal(set_limit(SLOTS + 1), UNIC_ST_INVALID);
	assert_int_equal(set_limit(3), 0);
	no_event();
	send(0, 1, 8);
	no_event(); /* 3 are left */
	send(1, 2, 8);
	rig_poll(&rb);
	expect_obj(UNIC_EVT_SRQ_LIMIT, srq.id, 0);
	send(0, 3, 8);
	no_event();			   /* once */
	assert_int_equal(set_limit(3), 0); /* fewer already */
	rig_poll(&rb);
	expect_obj(UNIC_EVT_SRQ_LIMIT, srq.id, 0);
	assert_int_equal(set_limit(3), 0);
	assert_int_equal(set_limit(0), 0);
	rig_poll(&rb);
	expect_obj(UNIC_EVT_SRQ_LIMIT, srq.id, 0);
	send(0, 4, 8);
	no_event();
}

/* In ERR it gives back what it has, takes nothing more, and says when that is so. */
static void last_receive(void **state)
{
	(void)state;
	post(0, 4);
	rig_send(&ra, &from[0], UNIC_WR_SEND, 1, &ma, 0, 3000, 0, 0);
	pair_at_once(); /* longer than the receive */
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 0, UNIC_WC_LOC_LEN_ERR, 0);
	rig_poll(&rb);
	expect_obj(UNIC_EVT_QP_ERROR, to[0].qpn, UNIC_WC_LOC_LEN_ERR);
	expect_obj(UNIC_EVT_LAST_WQE, to[0].qpn, 0);
	no_event();
	modify_state(&to[1], UNIC_QPS_ERR);
	expect_obj(UNIC_EVT_LAST_WQE, to[1].qpn, 0);
	rig_send(&rb, &to[1], UNIC_WR_SEND, 9, &mb, 0, 8, 0, 0);
	rig_poll(&rb); /* flushed once more, and not told again */
	rc_expect(&rb, &to[1], 0, 9, UNIC_WC_WR_FLUSH_ERR, 0);
	no_event();
	assert_int_equal(taken(), 1);
	pair_expect_none(&rb, &to[1]);
	send(2, 2, 8); /* the queue goes on */
	got(2, 1, 2, 8);
	modify_state(&to[1], UNIC_QPS_RESET);
	no_event();
}

/* A queue pair dies amid a message: its receive is flushed, first. */
static void flushed_amid(void **state)
{
	(void)state;
	begin_message(7);
	rb.port.late_dma = true;
	modify_state(&to[0], UNIC_QPS_ERR);
	no_event(); /* its completion is under way */
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, FAKE_PENDING);
	rig_poll(&rb);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 7, UNIC_WC_WR_FLUSH_ERR, 0);
	expect_obj(UNIC_EVT_LAST_WQE, to[0].qpn, 0);
}

/* ---------------------------------------------------------------- late DMA */

static void late(void **state)
{
	uint32_t i;

	(void)state;
	post(0, 3);
	rb.port.late_dma = true;
	for (i = 0; i < 2; i++)
		rig_send(&ra, &from[i], UNIC_WR_SEND, i, &ma, i * 8, 100, 0, 0);
	rig_poll(&ra);
	pair_rounds(&rb, 4);
	assert_int_equal(fake_dma_run(&rb.port, 1), 1);
	assert_int_equal(taken(), 0);
	pair_rounds(&rb, 4);
	assert_int_equal(taken(), 1);
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, FAKE_PENDING);
	pair_run(10 * MS);
	assert_int_equal(taken(), 2);
	got(0, 0, 0, 100);
	got(1, 1, 1, 100);
	pair_quiet();
}

/* The ring cannot be read: the queue is in error, and whoever asks dies. */
static void bus_error(void **state)
{
	(void)state;
	post(0, 3);
	rb.port.late_dma = true;
	send(0, 1, 100);
	assert_int_equal(fake_dma_waiting(&rb.port), 1);
	rb.port.bad_dma = true;
	fake_dma_run(&rb.port, 1);
	rb.port.bad_dma = false;
	rb.port.late_dma = false;
	pair_run(MS);
	expect_obj(UNIC_EVT_QP_ERROR, to[0].qpn, UNIC_WC_LOC_BUS_ERR);
	expect_obj(UNIC_EVT_LAST_WQE, to[0].qpn, 0);
	expect_obj(UNIC_EVT_SRQ_ERROR, srq.id, 2);
	send(1, 2, 100);
	pair_run(MS);
	expect_obj(UNIC_EVT_QP_ERROR, to[1].qpn, UNIC_WC_LOC_BUS_ERR);
	expect_obj(UNIC_EVT_LAST_WQE, to[1].qpn, 0);
	sent(1, 2, UNIC_WC_REM_OP_ERR, 0);
}

/* ------------------------------------------------------------------ evicted */

static void evict(const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr evt;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
}

/* Receives whose region went long before a message: EVICTED, each once, and the message
 * gets the next one. What was read and is read late makes no difference. */
static void evicted(void **state)
{
	bool slow = *(bool *)*state;
	struct rig_mr gone, other;
	uint32_t i;

	up(NULL);
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &gone),
			 0);
	for (i = 0; i < 5; i++)
		put(i, i % 2 ? &mb : &gone, 1024 * i % 4096, 64);
	ring_bell();
	rb.port.late_dma = slow;
	evict(&gone);
	for (i = 0; i < 400; i++) {
		unic_nic_poll(&rb.nic);
		if (slow)
			fake_dma_run(&rb.port, 1);
	}
	rb.port.late_dma = false;
	assert_false(unic_revoked_any(&rb.nic.revoked));
	(void)rig_dereg(&rb, &gone);
	rig_poll(&rb);
	/* its index is in use again */
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &other),
			 0);
	assert_int_equal(taken(), 0);
	send(1, 1, 60);
	pair_run(MS);
	rc_expect(&rb, &to[1], UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	rc_expect(&rb, &to[1], UNIC_WC_RECV, 1, 0, 60);
	send(0, 2, 60);
	pair_run(MS);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 2, UNIC_WC_EVICTED, 0);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 3, 0, 60);
	/* a slot is marked once: what is posted there later is whole */
	put(8, &mb, 0, 64);
	ring_bell();
	send(2, 3, 60);
	pair_run(MS);
	rc_expect(&rb, &to[2], UNIC_WC_RECV, 4, UNIC_WC_EVICTED, 0);
	rc_expect(&rb, &to[2], UNIC_WC_RECV, 8, 0, 60);
	for (i = 9; i < 16; i++) {
		put(i, &mb, 0, 64);
		ring_bell();
		send(2, i, 60);
		rc_expect(&rb, &to[2], UNIC_WC_RECV, i, 0, 60);
	}
}

/* The queue ends while the sweep reads it. */
static void ends_amid_the_sweep(void **state)
{
	struct rig_mr gone, ring;
	uint32_t other = 0, i;

	(void)state;
	make_ring(&ring);
	assert_int_equal(
		create(qb.pd, ROW + 1, SLOTS, &ring, ring.iova, &other), 0);
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &gone),
			 0);
	((struct unic_rq_slot *)(void *)ring.mem)->num_sge = 1;
	rig_ring(&rb, 0, UNIC_DB_SRQ, ROW + 1, 1);
	rig_poll(&rb);
	rb.port.late_dma = true;
	evict(&gone);
	for (i = 0; !rb.nic.srqs.sweep_fetching && i < 400; i++)
		unic_nic_poll(&rb.nic);
	assert_true(rb.nic.srqs.sweep_fetching);
	assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, other), 0);
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, FAKE_PENDING);
	rig_poll(&rb);
	assert_false(unic_revoked_any(&rb.nic.revoked));
	assert_int_equal(rig_dereg(&rb, &ring), 0);
	for (i = 0; i < SLOTS / 32 + 1; i++)
		assert_int_equal(rb.nic.srqs.srq[other].lost[i], 0);
}

/* ------------------------------------------------- what is late, and what is full */

/* Messages for queue pairs 0 and 1, whose receives are both being read: the first queue
 * pair dies meanwhile, and what was for it is dropped. */
static void two_are_read(void)
{
	post(0, 3);
	rb.port.late_dma = true;
	send(0, 1, 100);
	assert_int_equal(fake_dma_waiting(&rb.port), 1);
	modify_state(&to[0], UNIC_QPS_ERR);
	send(1, 2, 100);
	assert_int_equal(fake_dma_waiting(&rb.port), 2);
	no_event(); /* queue pair 0 has one still */
}

/* Slots are free when all that was taken is read, and no sooner. */
static void read_in_turn(void **state)
{
	(void)state;
	two_are_read();
	assert_int_equal(fake_dma_run(&rb.port, 1), 1);
	pair_rounds(&rb, 8);
	assert_int_equal(taken(), 0);
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, FAKE_PENDING);
	pair_run(MS);
	assert_int_equal(taken(), 2);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 0, UNIC_WC_WR_FLUSH_ERR, 0);
	expect_obj(UNIC_EVT_LAST_WQE, to[0].qpn, 0);
	got(1, 1, 2, 100);
	no_event();
}

/* Neither can be read: the queue fails once. */
static void fails_once(void **state)
{
	(void)state;
	two_are_read();
	rb.port.bad_dma = true;
	fake_dma_run(&rb.port, 1);
	rig_poll(&rb);
	expect_obj(UNIC_EVT_LAST_WQE, to[0].qpn, 0);
	expect_obj(UNIC_EVT_SRQ_ERROR, srq.id, 2);
	no_event();
	fake_dma_run(&rb.port, FAKE_PENDING);
	rb.port.bad_dma = rb.port.late_dma = false;
	pair_run(MS);
	expect_obj(UNIC_EVT_QP_ERROR, to[1].qpn, UNIC_WC_LOC_BUS_ERR);
	expect_obj(UNIC_EVT_LAST_WQE, to[1].qpn, 0);
	no_event();
	assert_int_equal(taken(), 2);
}

/* The ring cannot be read now: nothing is taken, and the message waits. */
static void no_dma_now(void **state)
{
	(void)state;
	post(0, 2);
	assert_int_equal(set_limit(2), 0);
	rb.port.no_dma = true;
	rig_send(&ra, &from[0], UNIC_WR_SEND, 1, &ma, 8, 100, 0, 0);
	rig_poll(&ra);
	pair_rounds(&rb, 8);
	assert_int_equal(taken(), 0);
	rb.port.no_dma = false;
	pair_run(MS);
	got(0, 0, 1, 100);
	assert_int_equal(taken(), 1);
	expect_obj(UNIC_EVT_SRQ_LIMIT, srq.id, 0);
	no_event();
}

/* A transfer that is refused at once is as one that fails. */
static void refused_dma(void **state)
{
	(void)state;
	post(0, 2);
	rb.port.fail_call = rb.port.calls + 1;
	send(0, 1, 100);
	rb.port.fail_call = 0;
	pair_run(MS);
	expect_obj(UNIC_EVT_QP_ERROR, to[0].qpn, UNIC_WC_LOC_BUS_ERR);
	expect_obj(UNIC_EVT_LAST_WQE, to[0].qpn, 0);
	expect_obj(UNIC_EVT_SRQ_ERROR, srq.id, 2);
	no_event();
	assert_int_equal(taken(), 0);
	sent(0, 1, UNIC_WC_REM_OP_ERR, 0);
}

static uint8_t arm(uint32_t id, uint32_t limit)
{
	struct unic_cmd_srq_modify cmd = { .id = unic_to_le32(id),
					   .limit = unic_to_le32(limit) };

	return rig_cmd(&rb, UNIC_CMD_SRQ_MODIFY, &cmd, NULL);
}

/* Another queue, without receives, whose limit was told until the ring of events had no
 * room for once more. Returns its id; *@told: how many times it was. */
static uint32_t fill_events(uint32_t *told)
{
	struct rig_mr ring;
	uint32_t id = 0;

	make_ring(&ring);
	assert_int_equal(create(qb.pd, ROW + 1, SLOTS, &ring, ring.iova, &id),
			 0);
	for (*told = 0; !rig_count(&rb, evt_stalls); ++*told) {
		assert_true(*told < 1000);
		assert_int_equal(arm(id, 1), 0);
		rig_poll(&rb);
	}
	--*told;
	return id;
}

/* The next event that is not DB_ERROR, with room for one more after it. */
static void next_event(uint8_t type, uint32_t id)
{
	struct unic_evt_obj evt;

	do {
		rig_poll(&rb);
		assert_true(rig_event(&rb, &evt));
	} while (evt.hdr.type == UNIC_EVT_DB_ERROR);
	assert_int_equal(evt.hdr.type, type);
	assert_int_equal(unic_from_le32(evt.id), id);
	rig_poll(&rb);
}

/* Events wait for room, and each is told once. */
static void events_wait(void **state)
{
	uint32_t told, other = fill_events(&told), i;

	(void)state;
	post(0, 2);
	assert_int_equal(set_limit(SLOTS), 0);
	rig_ring(&rb, 0, UNIC_DB_SRQ, ROW, SLOTS + 3);
	modify_state(&to[1], UNIC_QPS_ERR);
	for (i = 0; i < told; i++)
		next_event(UNIC_EVT_SRQ_LIMIT, other);
	next_event(UNIC_EVT_LAST_WQE, to[1].qpn);
	next_event(UNIC_EVT_SRQ_ERROR, srq.id);
	next_event(UNIC_EVT_SRQ_LIMIT, srq.id);
	next_event(UNIC_EVT_SRQ_LIMIT, other);
	no_event();
}

/* What waits is forgotten with its queue; another's is told, and the next of that number
 * is another. */
static void events_end(void **state)
{
	uint32_t told, other = fill_events(&told), again = 0, i;

	(void)state;
	assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, other), 0);
	assert_int_equal(set_limit(1), 0);
	for (i = 0; i < told; i++)
		expect_obj(UNIC_EVT_SRQ_LIMIT, other, 0);
	next_event(UNIC_EVT_SRQ_LIMIT, srq.id);
	no_event();
	assert_int_equal(create(qb.pd, ROW + 1, SLOTS, &srq.ring, srq.ring.iova,
				&again),
			 0);
	assert_int_equal(again, other);
	no_event();
	assert_int_equal(arm(again, 1), 0);
	next_event(UNIC_EVT_SRQ_LIMIT, again);
	no_event();
}

/* ----------------------------------------------------- evicted, amid other work */

static struct rig_mr lost;

/* Receives 0 to @n - 1, the first of them of a region that is evicted then; nothing is
 * polled after that. */
static void post_lost(uint32_t n)
{
	uint32_t i;

	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &lost),
			 0);
	put(0, &lost, 0, 64);
	for (i = 1; i < n; i++)
		put(i, &mb, i * 1024, 64);
	ring_bell();
}

/* The sweep is over, and the index of the region is another's. */
static void swept(void)
{
	struct rig_mr other;
	uint32_t i;

	for (i = 0; i < 400; i++)
		unic_nic_poll(&rb.nic);
	assert_false(unic_revoked_any(&rb.nic.revoked));
	(void)rig_dereg(&rb, &lost);
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &other),
			 0);
	no_event();
}

static void poll_until_it_sweeps(void)
{
	uint32_t i;

	for (i = 0; !rb.nic.srqs.sweep_fetching && i < 400; i++)
		unic_nic_poll(&rb.nic);
	assert_true(rb.nic.srqs.sweep_fetching);
}

/* A message takes what the sweep is about to see: it is looked for with the queue pair,
 * and what is posted to that slot later is another receive. */
static void taken_amid_the_sweep(void **state)
{
	uint32_t i;

	(void)state;
	post_lost(2);
	rb.port.late_dma = true;
	evict(&lost);
	poll_until_it_sweeps();
	send(0, 1, 60);
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, FAKE_PENDING);
	pair_run(MS);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 1, 0, 60);
	swept();
	for (i = 2; i < SLOTS; i++) {
		post(i, 1);
		send(1, i, 8);
		rc_expect(&rb, &to[1], UNIC_WC_RECV, i, 0, 8);
	}
	lost.stag ^= 0x55; /* nobody's, ever */
	put(8, &lost, 0, 64);
	ring_bell();
	send(2, 2, 60);
	pair_run(MS);
	rc_expect(&rb, &to[2], UNIC_WC_RECV, 8, UNIC_WC_LOC_PROT_ERR, 0);
}

/* A message takes it between two steps of the sweep. */
static void taken_before_the_sweep(void **state)
{
	uint32_t i;

	(void)state;
	post_lost(3);
	evict(&lost);
	rig_send(&ra, &from[0], UNIC_WR_SEND, 1, &ma, 8, 60, 0, 0);
	for (i = 0; rb.nic.srqs.sweep_left != srq.id + 1 && i < 400; i++)
		unic_nic_poll(&rb.nic);
	assert_int_equal(rb.nic.srqs.sweep_left, srq.id + 1);
	assert_int_equal(taken(), 0);
	rig_poll(&ra);
	pair_run(MS);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 1, 0, 60);
	swept();
	send(1, 2, 60);
	rc_expect(&rb, &to[1], UNIC_WC_RECV, 2, 0, 60);
}

/* It is in neither ring while it is read: the sweep waits for it. */
static void read_amid_the_sweep(void **state)
{
	uint32_t i;

	(void)state;
	post_lost(1);
	rb.port.late_dma = true;
	send(0, 1, 60);
	assert_int_equal(fake_dma_waiting(&rb.port), 1);
	evict(&lost);
	for (i = 0; i < 400; i++)
		unic_nic_poll(&rb.nic);
	assert_true(unic_revoked_any(&rb.nic.revoked));
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, FAKE_PENDING);
	post(1, 1);
	pair_run(10 * MS);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 1, 0, 60);
	swept();
}

/* A receive is found when DMA is possible again. */
static void no_dma_for_the_sweep(void **state)
{
	uint32_t i;

	(void)state;
	post_lost(2);
	rb.port.no_dma = true;
	evict(&lost);
	for (i = 0; i < 400; i++)
		unic_nic_poll(&rb.nic);
	assert_true(unic_revoked_any(&rb.nic.revoked));
	rb.port.no_dma = false;
	swept();
	send(0, 1, 60);
	pair_run(MS);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 1, 0, 60);
}

/* The sweep cannot read the ring, at once or later: it goes on, and the queue is not in
 * error before a message finds out. */
static void sweep_fails(void **state)
{
	bool slow = *(bool *)*state;

	up(NULL);
	post_lost(2);
	rb.port.late_dma = slow;
	if (!slow)
		rb.port.fail_call = rb.port.calls + 1;
	evict(&lost);
	if (slow) {
		poll_until_it_sweeps();
		rb.port.bad_dma = true;
		fake_dma_run(&rb.port, FAKE_PENDING);
		rb.port.bad_dma = rb.port.late_dma = false;
	}
	swept();
	assert_int_equal(rig_count(&rb, dma_errors), 1);
	assert_int_equal(rb.nic.srqs.srq[srq.id].lost[0], 0);
	rb.port.fail_call = 0;
	assert_int_equal(rb.nic.srqs.srq[srq.id].error, 0);
}

/* The sweep reads nothing of a queue in error. */
static void sweep_of_an_error(void **state)
{
	struct unic_evt_obj evt;

	(void)state;
	post_lost(2);
	rig_ring(&rb, 0, UNIC_DB_SRQ, ROW, SLOTS + 1);
	rig_poll(&rb);
	while (rig_event(&rb, &evt))
		rig_poll(&rb);
	rb.port.late_dma = true;
	evict(&lost);
	swept();
	assert_int_equal(fake_dma_waiting(&rb.port), 0);
}

/* A receive that says it has more SGEs than there are: those of the next one are not its. */
static void sweep_of_too_many_sges(void **state)
{
	struct unic_rq_slot *slot = srq.slot + 1;

	(void)state;
	post_lost(1);
	put(1, &mb, 0, 64);
	put(2, &lost, 0, 64);
	slot->num_sge = 255;
	ring_bell();
	evict(&lost);
	swept();
	assert_int_equal(rb.nic.srqs.srq[srq.id].lost[0], 1u << 0 | 1u << 2);
	send(0, 1, 60);
	pair_run(MS);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 1, UNIC_WC_LOC_QP_OP_ERR, 0);
}

/* ------------------------------------------------------------ wrong, hostile */

static void refused(void **state)
{
	struct rig_mr ring;
	uint32_t pd = rig_pd(&rb, 0), id[UNIC_SRQS], i;

	(void)state;
	make_ring(&ring);
	assert_int_equal(create(UNIC_PDS, 30, 8, &ring, ring.iova, id),
			 UNIC_ST_NO_PD);
	assert_int_equal(create(qb.pd, 30, 3, &ring, ring.iova, id),
			 UNIC_ST_INVALID);
	assert_int_equal(create(qb.pd, 30, 1, &ring, ring.iova, id),
			 UNIC_ST_INVALID);
	assert_int_equal(create(qb.pd, 30, 2 * UNIC_QP_SLOTS, &ring, ring.iova,
				id),
			 UNIC_ST_INVALID);
	assert_int_equal(create(qb.pd, 30, 8, &ring, ring.iova + 32, id),
			 UNIC_ST_INVALID);
	assert_int_equal(create(qb.pd, UNIC_DB_OBJECTS, 8, &ring, ring.iova,
				id),
			 UNIC_ST_INVALID);
	assert_int_equal(create(qb.pd, 30, 128, &ring, ring.iova, id),
			 UNIC_ST_BOUNDS);
	assert_int_equal(create(pd, 30, 8, &ring, ring.iova, id),
			 UNIC_ST_NO_PD);
	assert_int_equal(create(qb.pd, 30, 8, &mb, mb.iova, id),
			 UNIC_ST_INVALID);
	assert_int_equal(create(qb.pd, ROW, 8, &ring, ring.iova, id),
			 UNIC_ST_BUSY);
	assert_int_equal(create(qb.pd, to[0].row, 8, &ring, ring.iova, id),
			 UNIC_ST_BUSY);
	for (i = 1; i < UNIC_SRQS; i++)
		assert_int_equal(
			create(qb.pd, 30 + i, 8, &ring, ring.iova, &id[i]), 0);
	assert_int_equal(create(qb.pd, 30, 8, &ring, ring.iova, id),
			 UNIC_ST_SRQ_FULL);
	assert_int_equal(rig_dereg(&rb, &ring), UNIC_ST_BUSY);
	for (i = 1; i < UNIC_SRQS; i++)
		assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, id[i]), 0);
	assert_int_equal(rig_dereg(&rb, &ring), 0);
	assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, id[1]), UNIC_ST_NO_SRQ);
	assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, UNIC_SRQS),
			 UNIC_ST_NO_SRQ);
	assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, UINT32_MAX),
			 UNIC_ST_NO_SRQ);
}

static uint8_t make_qp(uint32_t pd, uint32_t name,
		       void (*change)(struct unic_cmd_qp_create *))
{
	struct unic_cmd_qp_create cmd = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(qb.rings.stag),
		.sq_iova = unic_to_le64(qb.rings.iova),
		.sq_slots = unic_to_le16(2),
		.send_cq = unic_to_le32(qb.cq),
		.recv_cq = unic_to_le32(qb.cq),
		.db_index = unic_to_le32(40),
		.type = UNIC_QPT_UD,
		.srq = unic_to_le32(name),
	};

	if (change)
		change(&cmd);
	return rig_cmd(&rb, UNIC_CMD_QP_CREATE, &cmd, NULL);
}

static void with_ring(struct unic_cmd_qp_create *cmd)
{
	cmd->rq_slots = unic_to_le16(2);
}

static void with_iova(struct unic_cmd_qp_create *cmd)
{
	cmd->rq_iova = cmd->sq_iova;
}

static void with_class(struct unic_cmd_qp_create *cmd)
{
	cmd->rq_class = unic_to_le32(64);
}

static void with_substitutes(struct unic_cmd_qp_create *cmd)
{
	cmd->miss = UNIC_QPM_SUBSTITUTE;
}

static void with_far_ring(struct unic_cmd_qp_create *cmd)
{
	cmd->sq_iova = unic_to_le64(qb.rings.iova - 64);
}

static uint32_t other_stag;
static uint64_t other_iova;

static void with_other(struct unic_cmd_qp_create *cmd)
{
	cmd->stag = unic_to_le32(other_stag);
	cmd->sq_iova = unic_to_le64(other_iova);
}

/* Another process, its own queue, and this one's. */
static void not_yours(void **state)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(1),
				    .id = unic_to_le32(srq.id) };
	struct unic_cmd_srq_modify mod = { .proc = unic_to_le32(1),
					   .id = unic_to_le32(srq.id) };
	struct unic_cmd_pd pd_cmd = { .proc = unic_to_le32(0) };
	uint32_t pd = rig_pd(&rb, 0), pd1, foreign = 0;
	struct rig_mr other;

	(void)state;
	rig_attach(&rb, 1, 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_SRQ_DESTROY, &cmd, NULL),
			 UNIC_ST_NO_SRQ);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_SRQ_MODIFY, &mod, NULL),
			 UNIC_ST_NO_SRQ);
	assert_int_equal(make_qp(qb.pd, 2 + srq.id, NULL), UNIC_ST_NO_SRQ);
	assert_int_equal(make_qp(qb.pd, UNIC_SRQS + 1, NULL), UNIC_ST_NO_SRQ);
	assert_int_equal(make_qp(qb.pd, UINT32_MAX, NULL), UNIC_ST_NO_SRQ);
	assert_int_equal(make_qp(qb.pd, 1 + srq.id, with_ring),
			 UNIC_ST_INVALID);
	assert_int_equal(make_qp(qb.pd, 1 + srq.id, with_iova),
			 UNIC_ST_INVALID);
	assert_int_equal(make_qp(qb.pd, 1 + srq.id, with_class),
			 UNIC_ST_INVALID);
	assert_int_equal(make_qp(qb.pd, 1 + srq.id, with_substitutes),
			 UNIC_ST_INVALID);
	assert_int_equal(make_qp(qb.pd, 1 + srq.id, with_far_ring),
			 UNIC_ST_BOUNDS);
	/* a queue of another domain, and of another process */
	assert_int_equal(rig_reg(&rb, 0, pd, 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &other),
			 0);
	other_stag = other.stag;
	other_iova = other.iova;
	assert_int_equal(make_qp(pd, 1 + srq.id, with_other), UNIC_ST_NO_PD);
	pd1 = rig_pd(&rb, 1);
	assert_int_equal(rig_reg(&rb, 1, pd1, 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &other),
			 0);
	assert_int_equal(create(pd1, 9, 8, &other, other.iova, &foreign), 0);
	assert_int_equal(make_qp(qb.pd, 1 + foreign, NULL), UNIC_ST_NO_SRQ);
	assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, foreign),
			 UNIC_ST_NO_SRQ);
	assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, srq.id), UNIC_ST_BUSY);
	pd_cmd.pd = unic_to_le32(qb.pd);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_PD_FREE, &pd_cmd, NULL),
			 UNIC_ST_BUSY);
	assert_int_equal(make_qp(qb.pd, 1 + srq.id, NULL), 0);
}

/* In use until its last queue pair is gone. */
static void destroyed_last(void **state)
{
	uint32_t i;

	(void)state;
	post(0, 2);
	for (i = 0; i < QPS; i++) {
		assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, srq.id),
				 UNIC_ST_BUSY);
		assert_int_equal(obj_cmd(UNIC_CMD_QP_DESTROY, to[i].qpn), 0);
	}
	assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, srq.id), 0);
	assert_int_equal(rig_dereg(&rb, &srq.ring), 0);
	rig_ring(&rb, 0, UNIC_DB_SRQ, ROW, 3); /* names nothing now */
	rig_poll(&rb);
	assert_int_equal(rig_count(&rb, db_bad), 1);
}

/* Tails that run ahead or back: the queue is in error, whoever asks dies, and nobody
 * else. */
static void wild_tail(void **state)
{
	static const uint32_t wild[] = { SLOTS + 3, 1, 0x80000000, UINT32_MAX };
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		up(NULL);
		post(0, 2);
		rig_ring(&rb, 0, UNIC_DB_SRQ, ROW, wild[i]);
		rig_poll(&rb);
		assert_int_equal(rig_count(&rb, db_bad), 1);
		expect_obj(UNIC_EVT_SRQ_ERROR, srq.id, 1);
	}
}

static void in_error(void **state)
{
	struct unic_evt_obj evt;

	(void)state;
	post(0, 2);
	rig_ring(&rb, 0, UNIC_DB_SRQ, ROW, SLOTS + 1);
	rig_poll(&rb);
	assert_true(rig_event(&rb, &evt));
	if (evt.hdr.type != UNIC_EVT_DB_ERROR)
		assert_int_equal(evt.hdr.type, UNIC_EVT_SRQ_ERROR);
	send(0, 1, 8);
	pair_run(MS);
	sent(0, 1, UNIC_WC_REM_OP_ERR, 0);
	rig_ring(&rb, 0, UNIC_DB_SRQ, ROW, 2);
	rig_poll(&rb);
	assert_int_equal(rig_count(&rb, db_bad), 1);
	assert_int_equal(taken(), 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 9, &ma, 0, 64, mb.iova, mb.stag);
	pair_at_once();
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 9, 0, 64);
}

/* Words of the wrong kind: of a queue pair with a shared queue, of rows without. */
static void wrong_words(void **state)
{
	const struct unic_qp_ctx *qp = &rb.nic.qps.qp[to[0].qpn & 0xff];

	(void)state;
	post(0, 2);
	rig_ring(&rb, 0, UNIC_DB_RQ, to[0].row, 5); /* it has no ring */
	rig_poll(&rb);
	assert_int_equal(qp->rq.tail, 0);
	assert_int_equal(qp->state, UNIC_QPS_RTS);
	assert_int_equal(rig_count(&rb, db_bad), 0);
	rig_ring(&rb, 0, UNIC_DB_SRQ, to[0].row, 5);
	rig_ring(&rb, 0, UNIC_DB_SRQ, 50, 5);
	rig_poll(&rb);
	assert_int_equal(rig_count(&rb, db_bad), 2);
	rig_ring(&rb, 0, UNIC_DB_SQ, ROW, 5);
	rig_poll(&rb);
	send(0, 1, 8);
	got(0, 0, 1, 8);
}

/* A word for a row that is none. */
static void no_such_row(void **state)
{
	struct unic_db_page *db = (void *)rb.port.window[0];
	uint32_t seq = rb.fifo_seq[0]++;

	(void)state;
	db->fifo[seq % UNIC_DB_FIFO] =
		unic_to_le32(UNIC_DB_WORD(UNIC_DB_SRQ, UNIC_DB_OBJECTS, 1));
	db->fifo_seq = unic_to_le32(seq + 1);
	rig_poll(&rb);
	assert_int_equal(rig_count(&rb, db_bad), 1);
	post(0, 1);
	send(0, 1, 8);
	got(0, 0, 1, 8);
}

/* A process leaves: its queues end, and no other's. */
static void one_leaves(void **state)
{
	struct unic_cmd_proc_detach cmd = { .proc = unic_to_le32(0) };
	struct unic_cmd_srq_modify mod = { .proc = unic_to_le32(1) };
	struct rig_mr ring;
	uint32_t pd, id = 0;

	(void)state;
	rig_attach(&rb, 1, 1);
	pd = rig_pd(&rb, 1);
	assert_int_equal(rig_reg(&rb, 1, pd, 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &ring),
			 0);
	assert_int_equal(create(pd, 9, 8, &ring, ring.iova, &id), 0);
	mod.id = unic_to_le32(id);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_PROC_DETACH, &cmd, NULL), 0);
	assert_int_equal(rb.nic.srqs.n, 1);
	assert_int_equal(obj_cmd(UNIC_CMD_SRQ_DESTROY, srq.id), UNIC_ST_NO_SRQ);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_SRQ_MODIFY, &mod, NULL), 0);
}

/* The process leaves, and a reset. */
static void all_ends(void **state)
{
	struct unic_cmd_proc_detach cmd = { .proc = unic_to_le32(0) };
	uint32_t i;

	(void)state;
	post(0, 2);
	set_limit(4);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_PROC_DETACH, &cmd, NULL), 0);
	assert_int_equal(rb.nic.srqs.n, 0);
	for (i = 0; i < UNIC_SRQS; i++)
		assert_false(rb.nic.srqs.srq[i].used);
	up(NULL);
	rig_reset(&rb);
	assert_int_equal(rb.nic.srqs.n, 0);
}

static void announced(void **state)
{
	const struct unic_info *info = (const void *)rb.port.bar;

	(void)state;
	assert_true(unic_from_le64(info->features) & UNIC_FEAT_SRQ);
	assert_int_equal(unic_from_le32(info->srqs), UNIC_SRQS);
}

/* RESET forgets the receive that it had; then it takes the next. */
static void reset_takes_anew(void **state)
{
	(void)state;
	begin_message(7);
	ra.port.on_frame = NULL;
	put(8, &mb, 8192, 64);
	ring_bell();
	modify_state(&to[0], UNIC_QPS_RESET);
	no_event();
	rig_qp_of(&ra, 0, qa.pd, 15, UNIC_QPT_RC, 0, 0, &from[1]);
	rig_empty_row(&rb, &to[0]);
	rig_connect(&ra, &from[1], &rb, &to[0]);
	send(1, 1, 60);
	rc_expect(&rb, &to[0], UNIC_WC_RECV, 8, 0, 60);
	assert_int_equal(taken(), 2);
}

#define HERE(f) cmocka_unit_test_setup(f, up)

int main(void)
{
	static bool fast, slow = true;
	const struct CMUnitTest tests[] = {
		HERE(announced),
		HERE(oldest_first),
		HERE(empty),
		HERE(round_and_round),
		HERE(long_messages),
		HERE(write_with_immediate),
		cmocka_unit_test_setup(datagrams, up_ud),
		HERE(limit),
		HERE(last_receive),
		HERE(flushed_amid),
		HERE(late),
		HERE(bus_error),
		cmocka_unit_test_prestate(evicted, &fast),
		cmocka_unit_test_prestate(evicted, &slow),
		HERE(ends_amid_the_sweep),
		HERE(read_in_turn),
		HERE(fails_once),
		HERE(no_dma_now),
		HERE(refused_dma),
		HERE(events_wait),
		HERE(events_end),
		HERE(taken_amid_the_sweep),
		HERE(taken_before_the_sweep),
		HERE(read_amid_the_sweep),
		HERE(no_dma_for_the_sweep),
		cmocka_unit_test_prestate(sweep_fails, &fast),
		cmocka_unit_test_prestate(sweep_fails, &slow),
		HERE(sweep_of_an_error),
		HERE(sweep_of_too_many_sges),
		HERE(refused),
		HERE(not_yours),
		HERE(destroyed_last),
		cmocka_unit_test(wild_tail),
		HERE(in_error),
		HERE(wrong_words),
		HERE(no_such_row),
		HERE(one_leaves),
		HERE(all_ends),
		HERE(reset_takes_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
