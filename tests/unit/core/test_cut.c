/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_cut.c - a region is evicted at its deadline while requests of a peer use
 * it: the NAK to the peer, its repetition after a loss, and which queue pairs
 * are not affected.
 */
#include "unit.h"

#include "pair.h"
#include "memory/access.h"

#define MS	   1000000ull
#define BYTES	   PAIR_BYTES
#define BTH	   42u
#define TIMEOUT_NS (4096ull << 14) /* longer than the grace: 67 ms */
#define RETRIES	   7u
#define SOON	   (5 * MS)

static uint32_t pass; /* frames of A that the wire still delivers */
static uint32_t answered, lose_from, lose_to; /* B's frames; the lost ones */
static uint8_t answers[64];		      /* opcodes */

static void from_a(struct unic_port *port, const uint8_t *frame, uint32_t len,
		   uint32_t flags)
{
	if (!pass)
		return;
	pass--;
	fake_deliver(port->peer, frame, len, flags);
}

static void from_b(struct unic_port *port, const uint8_t *frame, uint32_t len,
		   uint32_t flags)
{
	uint32_t n = answered++;

	answers[n % sizeof(answers)] = frame[BTH];
	if (n < lose_from || n >= lose_to)
		fake_deliver(port->peer, frame, len, flags);
}

/* The frames @from to @to - 1 that B sends, counted from now, are lost. */
static void lose(uint32_t from, uint32_t to)
{
	answered = 0;
	lose_from = from;
	lose_to = to;
}

static void set_up(bool vendor)
{
	struct unic_qp_ctx *qp;

	pair_up();
	memset(ma.mem, 0x5a, BYTES);
	memset(mb.mem, 0xa5, BYTES);
	qp = unic_qp_by_number(&ra.nic.transport, qa.qpn);
	qp->timeout_ns = TIMEOUT_NS;
	qp->retry_cnt = RETRIES;
	qp->sq.retries = RETRIES;
	qp->vendor = vendor;
	unic_qp_by_number(&rb.nic.transport, qb.qpn)->vendor = vendor;
	ra.port.on_frame = from_a;
	rb.port.on_frame = from_b;
	pass = UINT32_MAX;
	lose(0, 0);
}

static void run(uint64_t ns)
{
	rig_run2(&ra, &rb, ns);
}

/* Evicts region @mr of @r, and runs until it has ended, at its deadline. */
static void take_back(struct rig *r, const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr evt;

	assert_int_equal(rig_cmd(r, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	run(1000);
	rig_expect(r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(r, &evt), 0);
	run(20 * MS);
	rig_expect(r, UNIC_EVT_EVICTED, &evt);
	assert_true(unic_from_le32(evt.flags) & UNIC_EVICTED_WAS_BUSY);
}

static void expect(uint64_t wr_id, uint8_t status, uint8_t detail)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(cqe.status, status);
	assert_int_equal(cqe.detail, detail);
}

static void expect_none(void)
{
	struct unic_cqe cqe;

	assert_false(rig_cqe(&ra, &qa, &cqe));
}

static uint8_t state_of(struct rig *r, const struct rig_qp *qp)
{
	return unic_qp_by_number(&r->nic.transport, qp->qpn)->state;
}

/* A WRITE of 8 packets, of which 3 arrive before the region is evicted, and
 * another WRITE behind it. */
static void cut_write(bool vendor)
{
	set_up(vendor);
	pass = 3;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8192, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova, mb.stag);
	run(1000);
	pass = UINT32_MAX;
}

/* The peer gets EVICTED at once, and a NAK that ends the connection. */
static void peer_is_told(void **state)
{
	(void)state;
	cut_write(true);
	take_back(&rb, &mb);
	run(SOON);
	expect(1, UNIC_WC_REM_EVICTED, UNIC_WD_BUSY);
	expect(2, UNIC_WC_WR_FLUSH_ERR, 0);
	expect_none();
	assert_int_equal(rig_count(&ra, timeouts), 0);
	assert_int_equal(rig_count(&rb, tx_vacks), 1);
	assert_int_equal(state_of(&rb, &qb), UNIC_QPS_ERR);
	assert_int_equal(state_of(&ra, &qa), UNIC_QPS_ERR);
	assert_int_equal(ra.nic.mrs.mr[ma.mr].holds, 0);
}

static void conventional_peer_is_told(void **state)
{
	(void)state;
	cut_write(false);
	take_back(&rb, &mb);
	run(SOON);
	expect(1, UNIC_WC_REM_OP_ERR, 0);
	expect(2, UNIC_WC_WR_FLUSH_ERR, 0);
	expect_none();
	assert_int_equal(rig_count(&ra, timeouts), 0);
	assert_int_equal(rig_count(&rb, tx_vacks), 0);
	assert_int_equal(rig_count(&rb, tx_naks), 1);
}

/* Nothing is placed any more, whatever the peer sends. */
static void nothing_arrives_after(void **state)
{
	(void)state;
	cut_write(true);
	take_back(&rb, &mb);
	memset(mb.mem, 0x11, BYTES);
	run(SOON);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 8, mb.iova, mb.stag);
	run(TIMEOUT_NS);
	assert_int_equal(mb.mem[0], 0x11);
	assert_int_equal(mb.mem[8191], 0x11);
}

/* The first @lost answers of B are lost: A has one timeout for each. */
static void answer_is_repeated(bool vendor, uint32_t lost, uint8_t status,
			       uint8_t detail)
{
	cut_write(vendor);
	lose(0, lost);
	take_back(&rb, &mb);
	/* after T, T, 2 T, 4 T, 4 T ... */
	run((lost < 3 ? lost : 4 * (lost - 2)) * TIMEOUT_NS + SOON);
	expect(1, status, detail);
	expect(2, UNIC_WC_WR_FLUSH_ERR, 0);
	expect_none();
	assert_int_equal(rig_count(&ra, timeouts), lost);
}

static void lost_answers_are_repeated(void **state)
{
	uint32_t lost;

	(void)state;
	for (lost = 1; lost < RETRIES; lost++) {
		answer_is_repeated(true, lost, UNIC_WC_REM_EVICTED,
				   UNIC_WD_BUSY);
		answer_is_repeated(false, lost, UNIC_WC_REM_OP_ERR, 0);
	}
}

/* B's NAK behind its vendor acknowledgement is lost, and repeated. */
static void lost_end_is_repeated(void **state)
{
	(void)state;
	cut_write(true);
	lose(1, 2);
	take_back(&rb, &mb);
	run(SOON);
	assert_int_equal(answers[0], UNIC_OP_VACK);
	assert_int_equal(answered, 2);
	assert_int_equal(answers[1], UNIC_OP_ACK);
	expect_none();
	run(TIMEOUT_NS);
	expect(1, UNIC_WC_REM_EVICTED, UNIC_WD_BUSY);
	expect(2, UNIC_WC_WR_FLUSH_ERR, 0);
}

/* A QP in the error state repeats its NAK a limited number of times. */
static void repetition_is_bounded(void **state)
{
	uint32_t i;

	(void)state;
	cut_write(true);
	lose(0, UINT32_MAX);
	take_back(&rb, &mb);
	for (i = 0; i < 200; i++) {
		struct unic_qp_ctx *qp =
			unic_qp_by_number(&ra.nic.transport, qa.qpn);

		qp->sq.retries = RETRIES;
		run(TIMEOUT_NS);
	}
	assert_in_range(answered, RETRIES + 1, 64);
}

/* The NAK of a refused request is lost, and repeated after a timeout. */
static void refusal_is_repeated(void **state)
{
	(void)state;
	set_up(true);
	lose(0, 1);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, mb.iova + BYTES,
		 mb.stag);
	run(TIMEOUT_NS + SOON);
	expect(1, UNIC_WC_REM_ACCESS_ERR, 0);
	assert_int_equal(rig_count(&rb, tx_naks), 2);
	assert_int_equal(rig_count(&ra, timeouts), 1);
}

/* A peer without requests under way gets the NAK for its next request. */
static void next_request_is_answered(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	set_up(true);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, mb.iova, mb.stag);
	run(1000);
	expect(1, 0, 0);
	lose(0, UINT32_MAX);
	rig_send(&rb, &qb, UNIC_WR_WRITE, 9, &mb, 0, 8, ma.iova, ma.stag);
	run(1000);
	unic_qp_by_number(&rb.nic.transport, qb.qpn)->sq.timer_ns = UNIC_NEVER;
	lose(0, 0);
	take_back(&rb, &mb);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_EVICTED);
	/* the request that was cut is B's own: no NAK */
	assert_int_equal(answered, 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova, mb.stag);
	run(SOON);
	expect(2, UNIC_WC_REM_OP_ERR, 0);
	assert_int_equal(rig_count(&ra, timeouts), 0);
}

/* The region of a READ is evicted before B can send the responses: the READ
 * fails with @status, and a request behind it fails, too. */
static void cut_read(bool vendor, uint8_t status, uint8_t detail)
{
	set_up(vendor);
	rb.port.tx_held = (1u << UNIC_TX_BUFS) - 1;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 4096, mb.iova, mb.stag);
	run(1000);
	take_back(&rb, &mb);
	rb.port.tx_held = 0;
	run(SOON);
	expect(1, status, detail);
	expect_none();
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova, mb.stag);
	run(SOON);
	if (vendor)
		expect(2, UNIC_WC_REM_OP_ERR, 0);
	else
		expect(2, UNIC_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(rig_count(&ra, timeouts), 0);
	assert_int_equal(state_of(&ra, &qa), UNIC_QPS_ERR);
}

static void reader_is_told(void **state)
{
	(void)state;
	cut_read(true, UNIC_WC_REM_EVICTED, 0);
	cut_read(false, UNIC_WC_REM_OP_ERR, 0);
}

/* Of two READs only the region of the second is evicted. B has answered
 * neither, so the NAK is for the first. */
static void reader_of_two_is_told(void **state)
{
	struct rig_mr other;

	(void)state;
	set_up(true);
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &other),
			 0);
	rb.port.tx_held = (1u << UNIC_TX_BUFS) - 1;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 100, other.iova,
		 other.stag);
	rig_send(&ra, &qa, UNIC_WR_READ, 2, &ma, 0, 100, mb.iova, mb.stag);
	run(1000);
	take_back(&rb, &mb);
	rb.port.tx_held = 0;
	run(SOON);
	expect(1, UNIC_WC_REM_OP_ERR, 0);
	expect(2, UNIC_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(rig_count(&ra, timeouts), 0);
}

/* Two READs, the first of no bytes: it has no region to be cut by, and does not
 * hide the second from the cut. */
static void reader_of_nothing_is_told(void **state)
{
	(void)state;
	set_up(true);
	rb.port.tx_held = (1u << UNIC_TX_BUFS) - 1;
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 0, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_READ, 2, &ma, 0, 100, mb.iova, mb.stag);
	run(1000);
	assert_int_equal(
		unic_qp_by_number(&rb.nic.transport, qb.qpn)->rsp.rd_active, 2);
	take_back(&rb, &mb);
	rb.port.tx_held = 0;
	run(SOON);
	expect(1, UNIC_WC_REM_OP_ERR, 0);
	expect(2, UNIC_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(rig_count(&ra, timeouts), 0);
}

/* A WRITE that was executed before the QP failed, and whose acknowledgement was
 * lost, is acknowledged. */
static void executed_is_acknowledged(void **state)
{
	(void)state;
	set_up(true);
	lose(0, 2); /* the first WRITE's ACK, and the NAK of the cut */
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, mb.iova, mb.stag);
	run(1000);
	pass = 2;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8192, mb.iova, mb.stag);
	run(1000);
	take_back(&rb, &mb);
	assert_int_equal(answered, 2);
	pass = 1; /* the first WRITE comes again */
	run(TIMEOUT_NS);
	expect(1, 0, 0);
	expect_none();
	pass = UINT32_MAX;
	run(TIMEOUT_NS + SOON);
	expect(2, UNIC_WC_REM_EVICTED, UNIC_WD_BUSY);
}

/* All responses to a READ are lost, and its region is evicted before A repeats
 * it. The next request is not mistaken for a duplicate. */
static void reread_is_told(void **state)
{
	struct unic_cmd_mr cmd;
	struct unic_evt_mr evt;

	(void)state;
	set_up(true);
	cmd = (struct unic_cmd_mr){ .mr = unic_to_le32(mb.mr),
				    .gen = unic_to_le32(mb.gen) };
	lose(0, 4);
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 4096, mb.iova, mb.stag);
	run(1000);
	assert_int_equal(answered, 4);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	run(1000);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&rb, &evt), 0);
	run(20 * MS);
	run(TIMEOUT_NS);
	expect(1, UNIC_WC_REM_EVICTED, 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova, mb.stag);
	run(SOON);
	expect(2, UNIC_WC_REM_EVICTED, 0);
	assert_int_equal(rig_count(&ra, timeouts), 1);
}

/* -------------------------------------------------------- cut into rounds */

#define MANY 3u

static struct rig_qp many[MANY]; /* of A, each with a peer of its own */
static struct rig_mr other;	 /* of A */

/* Each of the MANY queue pairs of A has a WRITE under way, from ma, the last
 * one from `other`. No frame arrives. */
static void all_busy(void)
{
	uint32_t pd = qa.pd, i;
	struct rig_qp to;

	set_up(true);
	assert_int_equal(rig_reg(&ra, 0, pd, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &other),
			 0);
	many[0] = qa;
	for (i = 1; i < MANY; i++) {
		rig_qp(&ra, 0, pd, 10 + i, &many[i]);
		rig_qp(&rb, 0, qb.pd, 10 + i, &to);
		rig_connect(&ra, &many[i], &rb, &to);
		unic_qp_by_number(&ra.nic.transport, many[i].qpn)->timeout_ns =
			TIMEOUT_NS;
	}
	pass = 0;
	for (i = 0; i < MANY; i++)
		rig_send(&ra, &many[i], UNIC_WR_WRITE, i,
			 i + 1 < MANY ? &ma : &other, 0, 8, mb.iova, mb.stag);
	run(1000);
	pass = UINT32_MAX;
}

static uint32_t dead(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < MANY; i++)
		n += state_of(&ra, &many[i]) == UNIC_QPS_ERR;
	return n;
}

/* Leaves the search one queue pair to look at in this round. */
static void little_is_left(void)
{
	struct unic_ration *r = &ra.nic.cut_lap.ration;

	unic_ration_left(r, ra.nic.polls, UNIC_CUT_ROUND);
	unic_ration_spend(r, UNIC_CUT_ROUND - 1);
}

/* Evicts @mr and moves the clock to its deadline. No round has run yet. */
static void time_over(const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr evt;

	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	rig_poll(&ra);
	rig_expect(&ra, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&ra, &evt), 0);
	ra.port.now_ns += 20 * MS;
	ra.nic.stale = UINT8_MAX;
}

/* A region that many queue pairs use: they are cut over several rounds, while
 * the region is closed at once and other requests are served. It ends once,
 * with the last cut. */
static void cut_lets_others_through(void **state)
{
	struct unic_mr_ctx *mr;
	struct unic_evt_mr evt;

	(void)state;
	all_busy();
	mr = &ra.nic.mrs.mr[ma.mr];
	time_over(&ma);
	little_is_left();
	unic_nic_poll(&ra.nic);
	assert_int_equal(dead(), 1);
	assert_int_equal(mr->state, UNIC_MR_DRAINING);
	assert_false(rig_event(&ra, &evt) && evt.hdr.type == UNIC_EVT_EVICTED);
	assert_int_equal(unic_mr_check(&ra.nic.memory, ma.stag, (uint16_t)qa.pd,
				       0, ma.iova, 8),
			 -UNIC_EEVICTED);
	/* no more of the search in this round */
	ra.nic.polls--;
	assert_false(unic_cut_run(&ra.nic.transport));
	ra.nic.polls++;
	/* a request of B is served before the next cut */
	rig_send(&rb, &qb, UNIC_WR_WRITE, 7, &mb, 0, 8, other.iova, other.stag);
	unic_nic_poll(&rb.nic);
	little_is_left();
	unic_nic_poll(&ra.nic);
	assert_int_equal(dead(), 2);
	assert_int_equal(rig_count(&ra, evicted_regions), 1);
	pair_rounds(&ra, 2 * UNIC_QPS);
	assert_int_equal(dead(), 2);
	assert_int_equal(ra.nic.cut_lap.left, 0);
	do /* QP_ERRORs of the round come first, and nothing else */
		assert_true(rig_event(&ra, &evt));
	while (evt.hdr.type == UNIC_EVT_QP_ERROR);
	assert_int_equal(evt.hdr.type, UNIC_EVT_EVICTED);
	assert_true(unic_from_le32(evt.flags) & UNIC_EVICTED_WAS_BUSY);
	while (rig_event(&ra, &evt))
		assert_int_not_equal(evt.hdr.type, UNIC_EVT_EVICTED);
	expect(0, UNIC_WC_EVICTED, UNIC_WD_BUSY);
	expect_none();
}

/* The search goes on after a round that found no operation. */
static void cut_goes_on_by_itself(void **state)
{
	(void)state;
	all_busy();
	pair_rounds(&ra, 8);
	assert_false(ra.nic.chores);
	little_is_left();
	unic_cuts_mark(&ra.nic.memory, (uint16_t)other.mr);
	unic_cut_run(&ra.nic.transport);
	ra.nic.polls++;
	assert_int_equal(dead(), 0);
	pair_rounds(&ra, 2 * UNIC_QPS);
	assert_int_equal(dead(), 1);
	assert_int_equal(ra.nic.cut_lap.left, 0);
}

/* Regions with the same deadline share one search. A region that has ended is
 * not searched for: its index may have another owner. */
static void one_look_for_all(void **state)
{
	struct unic_cut_lap *lap = &ra.nic.cut_lap;
	const struct unic_cuts *c = &ra.nic.cuts;

	(void)state;
	all_busy();
	unic_cuts_mark(&ra.nic.memory, (uint16_t)ma.mr);
	unic_cuts_mark(&ra.nic.memory, (uint16_t)other.mr);
	unic_cut_run(&ra.nic.transport);
	assert_int_equal(dead(), MANY);
	assert_int_equal(lap->left, 0);
	assert_false(unic_cuts_has(c, ma.mr) || unic_cuts_has(c, other.mr));
	all_busy();
	time_over(&other);
	lap->at = (uint16_t)(many[MANY - 1].qpn & 0xff);
	little_is_left();
	unic_nic_poll(&ra.nic);
	assert_int_equal(dead(), 1);
	assert_int_equal(rig_count(&ra, evicted_regions), 1);
	assert_true(lap->left);
	assert_false(unic_cuts_has(c, other.mr));
	/* a region that joins meanwhile gets a whole lap, and no more than
	 * one */
	little_is_left();
	unic_cuts_mark(&ra.nic.memory, (uint16_t)ma.mr);
	unic_cut_run(&ra.nic.transport);
	assert_int_equal(lap->left, UNIC_QPS - 1);
	unic_cuts_mark(&ra.nic.memory, (uint16_t)ma.mr);
	assert_false(c->fresh);
	pair_rounds(&ra, 2 * UNIC_QPS);
	assert_int_equal(dead(), MANY);
}

/* Takes all entries, evicts @mr, and has process 1 wait for @pages entries. */
static void waiting_for(const struct rig_mr *mr, uint32_t pages)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct rig_mr some;
	struct unic_evt_mr evt;
	uint32_t pd, n;

	rig_attach(&ra, 1, 2);
	pd = rig_pd(&ra, 1);
	for (n = 64; n; n /= 2)
		while (!rig_reg(&ra, 0, qa.pd, n, UNIC_CLASS_RDMA,
				UNIC_REG_LIST, 0, &some))
			;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	rig_poll(&ra);
	rig_expect(&ra, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&ra, &evt), 0);
	assert_int_equal(rig_reg(&ra, 1, pd, pages, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &some),
			 UNIC_ST_PENDING);
	rig_poll(&ra);
}

/* A waiter gets the entries of a busy region in the round in which the
 * operations are cut (INV-8). */
static void waiter_is_served_in_the_round_of_the_cut(void **state)
{
	uint8_t evt[64];

	(void)state;
	all_busy();
	waiting_for(&ma, PAIR_PAGES);
	while (rig_event(&ra, evt))
		assert_int_not_equal(evt[0], UNIC_EVT_GRANTED);
	assert_int_equal(dead(), 0);
	ra.port.now_ns += 20 * MS;
	ra.nic.stale = UINT8_MAX;
	unic_nic_poll(&ra.nic);
	assert_int_equal(dead(), 2);
	rig_expect(&ra, UNIC_EVT_EVICTED, evt);
	rig_expect(&ra, UNIC_EVT_GRANTED, evt);
}

/* A region whose last operation ends by a timeout ends in the same round. */
static void ends_in_the_round_of_the_last_retry(void **state)
{
	struct unic_qp_ctx *qp;
	struct unic_evt_mr evt;

	(void)state;
	all_busy();
	assert_int_equal(rig_dereg(&ra, &other), UNIC_ST_PENDING);
	rig_poll(&ra);
	qp = unic_qp_by_number(&ra.nic.transport, many[MANY - 1].qpn);
	qp->retry_cnt = 0;
	qp->sq.retries = 0;
	qp->sq.timer_ns = ra.port.now_ns + MS;
	ra.nic.qps.timer_ns = ra.nic.timers_ns = qp->sq.timer_ns;
	ra.port.now_ns += MS;
	ra.nic.stale = UINT8_MAX;
	unic_nic_poll(&ra.nic);
	assert_int_equal(dead(), 1);
	do
		assert_true(rig_event(&ra, &evt));
	while (evt.hdr.type != UNIC_EVT_EVICTED);
	assert_int_equal(unic_from_le32(evt.flags), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peer_is_told),
		cmocka_unit_test(conventional_peer_is_told),
		cmocka_unit_test(nothing_arrives_after),
		cmocka_unit_test(lost_answers_are_repeated),
		cmocka_unit_test(lost_end_is_repeated),
		cmocka_unit_test(repetition_is_bounded),
		cmocka_unit_test(refusal_is_repeated),
		cmocka_unit_test(next_request_is_answered),
		cmocka_unit_test(reader_is_told),
		cmocka_unit_test(reader_of_two_is_told),
		cmocka_unit_test(reader_of_nothing_is_told),
		cmocka_unit_test(executed_is_acknowledged),
		cmocka_unit_test(reread_is_told),
		cmocka_unit_test(cut_lets_others_through),
		cmocka_unit_test(cut_goes_on_by_itself),
		cmocka_unit_test(one_look_for_all),
		cmocka_unit_test(waiter_is_served_in_the_round_of_the_cut),
		cmocka_unit_test(ends_in_the_round_of_the_last_retry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
