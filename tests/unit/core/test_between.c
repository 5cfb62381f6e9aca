/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_between.c - how requests of one queue pair affect each other: fences,
 * retry counts, responses and repeated requests that do not match.
 */
#include "unit.h"

#include "pair.h"
#include "transport/requester_rx.h"

#define MS    1000000ull
#define BTH   42u
#define EXT   54u
#define PSN   51u
#define TRIES 3u /* retries of each kind, as rig_connect() sets */

/* The wire's treatment of frames of both directions. */
static struct {
	uint32_t of[256];   /* frames by opcode */
	int32_t keep;	    /* opcode of the frames to keep; -1: none */
	bool swallow;	    /* each kept frame is lost */
	uint32_t with;	    /* and this many frames behind it */
	uint32_t lose;	    /* frames still to be lost */
	uint32_t lose_of_a; /* frames of A to lose: bit 0 is the next */
	uint32_t n;
	struct {
		uint8_t bytes[FAKE_FRAME_BYTES];
		uint32_t len, flags;
	} kept[4];
} wire;

static void keep_frame(const uint8_t *frame, uint32_t len, uint32_t flags)
{
	assert_true(wire.n < 4);
	memcpy(wire.kept[wire.n].bytes, frame, len);
	wire.kept[wire.n].len = len;
	wire.kept[wire.n++].flags = flags;
}

static void on_frame(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	bool is_kept = frame[BTH] == wire.keep;

	wire.of[frame[BTH]]++;
	if (port == &ra.port) {
		wire.lose += wire.lose_of_a & 1;
		wire.lose_of_a >>= 1;
	}
	if (is_kept)
		keep_frame(frame, len, flags);
	if (is_kept && wire.swallow)
		wire.lose = 1 + wire.with;
	if (!wire.lose)
		fake_deliver(port->peer, frame, len, flags);
	else
		wire.lose--;
}

static void keep(uint8_t op, bool swallow)
{
	wire.keep = op;
	wire.swallow = swallow;
	wire.n = 0;
}

/* The frame that was kept as number @i, from 0, arrives at @to. */
static void arrive(struct rig *to, uint32_t i)
{
	assert_true(i < wire.n);
	fake_deliver(&to->port, wire.kept[i].bytes, wire.kept[i].len,
		     wire.kept[i].flags);
	pair_at_once();
}

static uint32_t get(uint32_t i, uint32_t off)
{
	const uint8_t *f = wire.kept[i].bytes + off;

	return (uint32_t)f[0] << 24 | (uint32_t)f[1] << 16 |
	       (uint32_t)f[2] << 8 | f[3];
}

static void put(uint32_t i, uint32_t off, uint32_t v)
{
	uint32_t k;

	for (k = 0; k < 4; k++)
		wire.kept[i].bytes[off + k] = (uint8_t)(v >> (24 - 8 * k));
}

static int up(void **state)
{
	(void)state;
	memset(&wire, 0, sizeof(wire));
	wire.keep = -1;
	pair_up();
	ra.port.on_frame = rb.port.on_frame = on_frame;
	return 0;
}

static int down(void **state)
{
	(void)state;
	pair_quiet();
	return 0;
}

static struct unic_sq *sq(void)
{
	return &unic_qp_by_number(&ra.nic.transport, qa.qpn)->sq;
}

/* ------------------------------------------------------------------- fences */

/* As rig_send(), from region ma, with a fence. */
static void fenced(uint8_t opcode, uint64_t wr_id, uint32_t off, uint32_t len,
		   uint64_t remote)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];

	rig_send(&ra, &qa, opcode, wr_id, &ma, off, len, remote, mb.stag);
	s->flags |= UNIC_WR_FENCE;
}

/* Sends @n READs of 100 bytes, whose responses the wire keeps. */
static void reads_are_slow(uint32_t n)
{
	uint32_t i;

	keep(UNIC_OP_READ_RESP_ONLY, true);
	for (i = 0; i < n; i++)
		rig_send(&ra, &qa, UNIC_WR_READ, i + 1, &ma, 100 * i, 100,
			 mb.iova + 8192 + 100 * i, mb.stag);
	pair_at_once();
	assert_int_equal(wire.n, n);
	wire.keep = -1;
}

/* A fenced request behind a READ waits for the READ's response, and sends the
 * bytes that the READ brought. */
static void fence_waits_for_a_read(void **state)
{
	static const struct {
		uint8_t opcode, op;
		uint32_t len;
	} kind[] = {
		{ UNIC_WR_WRITE, UNIC_OP_WRITE_ONLY, 100 },
		{ UNIC_WR_WRITE, UNIC_OP_WRITE_FIRST, 2000 },
		{ UNIC_WR_SEND, UNIC_OP_SEND_ONLY, 100 },
		{ UNIC_WR_READ, UNIC_OP_READ_REQUEST, 50 },
	};
	uint32_t i, before;

	for (i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		up(state);
		rig_recv(&rb, &qb, 9, &mb, 0, 4096);
		reads_are_slow(1);
		before = wire.of[kind[i].op];
		fenced(kind[i].opcode, 2, 0, kind[i].len, mb.iova);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 4096, 8,
			 mb.iova + 4096, mb.stag);
		pair_at_once();
		assert_int_equal(wire.of[kind[i].op], before);
		assert_memory_not_equal(mb.mem + 4096, ma.mem + 4096, 8);
		pair_expect_none(&ra, &qa);
		arrive(&ra, 0); /* nothing else wakes the fenced one */
		pair_expect(&ra, &qa, 1, 0, 100);
		pair_expect(&ra, &qa, 2, 0, kind[i].len);
		pair_expect(&ra, &qa, 3, 0, 8);
		if (kind[i].opcode != UNIC_WR_READ)
			assert_memory_equal(mb.mem, mb.mem + 8192, 100);
		assert_memory_equal(mb.mem + 4096, ma.mem + 4096, 8);
		assert_int_equal(rig_count(&ra, retransmits), 0);
		down(state);
	}
}

/* A fence waits for all READs before it, not just the first or the last. */
static void fence_waits_for_each_read(void **state)
{
	(void)state;
	reads_are_slow(3);
	fenced(UNIC_WR_WRITE, 4, 0, 300, mb.iova);
	pair_at_once();
	arrive(&ra, 0);
	arrive(&ra, 1);
	assert_int_equal(wire.of[UNIC_OP_WRITE_ONLY], 0);
	pair_expect(&ra, &qa, 1, 0, 100);
	pair_expect(&ra, &qa, 2, 0, 100);
	arrive(&ra, 2);
	pair_expect(&ra, &qa, 3, 0, 100);
	pair_expect(&ra, &qa, 4, 0, 300);
	assert_memory_equal(mb.mem, mb.mem + 8192, 300);
}

/* A request without a fence waits for nothing, and a fence waits for READs
 * only. */
static void only_a_fence_waits_and_only_for_reads(void **state)
{
	(void)state;
	keep(UNIC_OP_ACK, true);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, mb.iova, mb.stag);
	pair_at_once();
	assert_int_equal(wire.n, 1);
	fenced(UNIC_WR_WRITE, 2, 16, 8, mb.iova + 16);
	pair_at_once();
	assert_memory_equal(mb.mem + 16, ma.mem + 16, 8);
	pair_expect_none(&ra, &qa);
	arrive(&ra, 1);
	pair_expect(&ra, &qa, 1, 0, 8);
	pair_expect(&ra, &qa, 2, 0, 8);
	reads_are_slow(1);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 4096, 8, mb.iova + 4096,
		 mb.stag);
	pair_at_once();
	assert_memory_equal(mb.mem + 4096, ma.mem + 4096, 8);
	/* the READ's response was lost: A requests it again */
	pair_run(20 * MS);
	pair_expect(&ra, &qa, 1, 0, 100);
	pair_expect(&ra, &qa, 3, 0, 8);
}

/* A fence does not wait for a READ that was refused. */
static void fence_waits_for_no_read_that_was_refused(void **state)
{
	struct rig_mr gone;

	(void)state;
	pair_gone_region(&rb, qb.pd, &gone);
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 100, gone.iova, gone.stag);
	fenced(UNIC_WR_WRITE, 2, 16, 8, mb.iova + 16);
	pair_run(20 * MS);
	pair_expect(&ra, &qa, 1, UNIC_WC_REM_EVICTED, 0);
	pair_expect(&ra, &qa, 2, 0, 8);
	assert_int_equal(sq()->reads, 0);
}

/* ------------------------------------------------------------------ retries */

/* Sends SEND @wr_id: B has no receive for it @times times, then one. */
static void not_ready(uint64_t wr_id, uint32_t times)
{
	uint32_t i, want = wire.of[UNIC_OP_SEND_ONLY] + times;

	rig_send(&ra, &qa, UNIC_WR_SEND, wr_id, &ma, 0, 100, 0, 0);
	for (i = 0; i < 1000 && wire.of[UNIC_OP_SEND_ONLY] != want; i++)
		pair_run(1000);
	assert_int_equal(wire.of[UNIC_OP_SEND_ONLY], want);
	rig_recv(&rb, &qb, wr_id, &mb, 0, 100);
	pair_run(MS);
}

/* Each request begins with its full number of RNR retries, however many the one
 * before it used. */
static void each_request_may_find_no_receive(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 1; i <= 4; i++) {
		not_ready(i, TRIES);
		pair_expect(&ra, &qa, i, 0, 100);
		pair_expect(&rb, &qb, i, 0, 100);
		assert_int_equal(rig_count(&rb, tx_rnr_naks), i * TRIES);
	}
	not_ready(i, TRIES + 1);
	pair_expect(&ra, &qa, i, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
}

/* Each request begins with its full number of retries, however many the one
 * before it used. */
static void each_request_may_be_lost(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 1; i <= 5; i++) {
		wire.lose = TRIES + (i == 5);
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 8, mb.iova,
			 mb.stag);
		pair_run(40 * MS);
		pair_expect(&ra, &qa, i, i == 5 ? UNIC_WC_RETRY_EXC_ERR : 0, 8);
	}
	assert_int_equal(rig_count(&ra, timeouts), 4 * TRIES + TRIES + 1);
}

/* Losses and RNR NAKs of a request are counted separately, each to its
 * limit. */
static void two_kinds_of_patience(void **state)
{
	uint32_t i, us;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 100, 0, 0);
	for (i = 1; i <= TRIES; i++) {
		pair_at_once();
		assert_int_equal(rig_count(&rb, tx_rnr_naks), i);
		assert_int_equal(sq()->rnrs, TRIES - i);
		assert_int_equal(sq()->retries, TRIES - (i - 1));
		pair_expect_none(&ra, &qa);
		wire.lose = 1;
		for (us = 0; us < 5000 && rig_count(&ra, timeouts) < i; us++)
			pair_run(1000);
	}
	pair_expect(&ra, &qa, 1, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
	assert_int_equal(rig_count(&rb, tx_rnr_naks), TRIES + 1);
}

/* rnr_retry 7 is no limit, 6 is one. */
static void seven_is_for_ever(void **state)
{
	struct unic_qp_ctx *qp = unic_qp_by_number(&ra.nic.transport, qa.qpn);

	(void)state;
	qp->rnr_retry = 7;
	qp->sq.rnrs = 7;
	not_ready(1, 30);
	pair_expect(&ra, &qa, 1, 0, 100);
	qp->rnr_retry = 6;
	not_ready(2, 1); /* still counted from 7 */
	pair_expect(&ra, &qa, 2, 0, 100);
	not_ready(3, 7);
	pair_expect(&ra, &qa, 3, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
}

/* A gets @n RETRY_AFTERs for its oldest packet. */
static void put_off(uint32_t n)
{
	struct unic_qp_ctx *qp = unic_qp_by_number(&ra.nic.transport, qa.qpn);

	while (n-- && qp->state == UNIC_QPS_RTS) {
		unic_requester_vack(&ra.nic.transport, qp, qp->sq.psn_una,
				    UNIC_EV_RETRY_AFTER, 0);
		wire.lose = 1;
		pair_run(11000);
	}
}

/* RETRY_AFTERs are counted for each packet by itself, and use up neither
 * retries nor RNR retries. */
static void each_packet_may_be_put_off(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		wire.lose = 1;
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 8, mb.iova,
			 mb.stag);
		pair_run(1000);
		put_off(4000);
		pair_expect_none(&ra, &qa);
		assert_int_equal(sq()->afters, 4000);
		assert_int_equal(sq()->retries, TRIES);
		assert_int_equal(sq()->rnrs, TRIES);
		wire.lose = 0;
		pair_run(10 * MS);
		pair_expect(&ra, &qa, i, 0, 8);
	}
}

/* A peer that refuses again and again what is empty already does not keep it for ever. */
static void refused_for_ever(void **state)
{
	struct unic_qp_ctx *qp = unic_qp_by_number(&ra.nic.transport, qa.qpn);
	uint32_t n;

	(void)state;
	wire.lose = 1;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, mb.iova, mb.stag);
	pair_run(1000);
	for (n = 0; n < 5000 && qp->state == UNIC_QPS_RTS; n++) {
		unic_requester_vack(&ra.nic.transport, qp, qp->sq.psn_una,
				    UNIC_EV_EVICTED, 0);
		wire.lose = 1;
		pair_run(100);
	}
	assert_in_range(n, 4000, 4999);
	pair_expect(&ra, &qa, 1, UNIC_WC_REM_EVICTED, 0);
}

/* An RNR NAK counts once: a copy of it neither counts nor starts the pause
 * again. */
static void not_ready_is_heard_once(void **state)
{
	uint32_t i;

	(void)state;
	unic_qp_by_number(&rb.nic.transport, qb.qpn)->rsp.rnr_code =
		14; /* 1.28 ms */
	keep(UNIC_OP_ACK, false);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 100, 0, 0);
	pair_at_once();
	assert_int_equal(sq()->rnrs, TRIES - 1);
	for (i = 0; i < 3; i++) {
		pair_run(400000);
		arrive(&ra, 0);
		assert_int_equal(sq()->rnrs, TRIES - 1);
		assert_int_equal(wire.of[UNIC_OP_SEND_ONLY], 1);
	}
	rig_recv(&rb, &qb, 1, &mb, 0, 100);
	wire.keep = -1;
	pair_run(80000);
	pair_expect(&ra, &qa, 1, 0, 100);
	pair_expect(&rb, &qb, 1, 0, 100);
}

/* The pause begins when the NAK is read, also by a NIC that has not looked at its
 * clock for some rounds. */
static void pause_begins_with_its_nak(void **state)
{
	(void)state;
	unic_qp_by_number(&rb.nic.transport, qb.qpn)->rsp.rnr_code =
		14; /* 1.28 ms */
	keep(UNIC_OP_ACK, true);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 100, 0, 0);
	pair_at_once();
	wire.keep = -1;
	ra.nic.stale = 0;
	ra.port.now_ns += MS;
	rb.port.now_ns += MS;
	arrive(&ra, 0);
	assert_int_equal(sq()->rnrs, TRIES - 1);
	pair_run(1270000);
	assert_int_equal(wire.of[UNIC_OP_SEND_ONLY], 1);
	pair_run(20000);
	assert_int_equal(wire.of[UNIC_OP_SEND_ONLY], 2);
	rig_recv(&rb, &qb, 1, &mb, 0, 100);
	pair_run(2 * MS);
	pair_expect(&ra, &qa, 1, 0, 100);
	pair_expect(&rb, &qb, 1, 0, 100);
}

/* A NAK for a request behind a READ takes effect when the READ has its
 * answer. */
static void refusal_waits_for_a_read(void **state)
{
	(void)state;
	reads_are_slow(1);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 100, 0, 0);
	wire.lose = 1;
	rig_poll(&ra);
	wire.lose = 0;
	rig_poll(&rb);
	rig_send(&ra, &qa, UNIC_WR_SEND, 3, &ma, 0, 100, 0, 0);
	rig_poll(&ra);
	pair_expect_none(&ra, &qa);
	assert_int_equal(sq()->rnrs, TRIES);
	assert_int_equal(sq()->retries, TRIES);
	keep(UNIC_OP_READ_RESP_ONLY, true);
	rig_poll(&rb);
	rig_poll(&ra); /* the NAK is for the SEND: no effect before the READ */
	assert_int_equal(sq()->retries, TRIES);
	pair_expect_none(&ra, &qa);
	wire.keep = -1;
	rig_recv(&rb, &qb, 8, &mb, 0, 100);
	rig_recv(&rb, &qb, 9, &mb, 0, 100);
	pair_run(20 * MS);
	pair_expect(&ra, &qa, 1, 0, 100);
	pair_expect(&ra, &qa, 2, 0, 100);
	pair_expect(&ra, &qa, 3, 0, 100);
}

/* The pause after RETRY_AFTER is at least 10 us and at most a second. */
static void silence_has_bounds(void **state)
{
	static const struct {
		uint32_t us, want_us;
	} t[] = {
		{ 0, 10 },
		{ 9, 10 },
		{ 11, 11 },
		{ 999999, 999999 },
		{ 1000001, 1000000 },
		{ UINT32_MAX, 1000000 },
	};
	uint32_t i, before;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct unic_qp_ctx *qp =
			unic_qp_by_number(&ra.nic.transport, qa.qpn);

		wire.lose = 1;
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 8, mb.iova,
			 mb.stag);
		pair_at_once();
		before = wire.of[UNIC_OP_WRITE_ONLY];
		unic_requester_vack(&ra.nic.transport, qp, qp->sq.psn_una,
				    UNIC_EV_RETRY_AFTER, t[i].us);
		pair_run(t[i].want_us * 1000ull - 1);
		assert_int_equal(wire.of[UNIC_OP_WRITE_ONLY], before);
		pair_run(1);
		assert_int_equal(wire.of[UNIC_OP_WRITE_ONLY], before + 1);
		pair_expect(&ra, &qa, i, 0, 8);
	}
}

/* Each gap gets one NAK: after a first gap was closed, by a message or by a
 * READ, the next ones get theirs, without a timeout. */
static void each_gap_is_told(void **state)
{
	static const uint32_t lost[] = { 0x01, 0x05, 0x11, 0x13 };
	uint32_t way, i, first, k;

	for (way = 0; way < 2; way++)
		for (first = 0; first < 2; first++)
			for (i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
				up(state);
				if (way) /* no windows */
					ra.port.fail_call = rb.port.fail_call =
						UINT32_MAX;
				wire.lose_of_a = lost[i];
				for (k = 0; k < 3; k++)
					rig_send(&ra, &qa,
						 k || first ? UNIC_WR_WRITE
							    : UNIC_WR_READ,
						 k, &ma, 16 * k, 8,
						 mb.iova + 16 * k, mb.stag);
				pair_at_once();
				assert_int_equal(wire.lose_of_a, 0);
				for (k = 0; k < 3; k++)
					pair_expect(&ra, &qa, k, 0, 8);
				assert_int_equal(rig_count(&ra, timeouts), 0);
				down(state);
			}
}

/* A READ whose response is lost is repeated at once, but only once, and again
 * after each timeout. */
static void each_time_has_its_question(void **state)
{
	uint32_t i;

	(void)state;
	keep(UNIC_OP_READ_RESP_ONLY, true);
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 100, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 200, 100, mb.iova + 200,
		 mb.stag);
	pair_at_once();
	assert_int_equal(rig_count(&ra, retransmits), 1);
	for (i = 0; i < 5000 && !rig_count(&ra, timeouts); i++)
		pair_run(1000);
	assert_int_equal(rig_count(&ra, timeouts), 1);
	assert_int_equal(rig_count(&ra, retransmits), 3);
	wire.keep = -1;
	pair_run(20 * MS);
	pair_expect(&ra, &qa, 1, 0, 100);
	pair_expect(&ra, &qa, 2, 0, 100);
}

/* The responder's message sequence number grows by one for each message,
 * however many packets it has, and for each READ (IBTA 9.7.5.1.5). */
static void messages_are_counted(void **state)
{
	uint32_t way, i;

	for (way = 0; way < 2; way++) {
		up(state);
		if (way) /* no windows */
			ra.port.fail_call = rb.port.fail_call = UINT32_MAX;
		rig_recv(&rb, &qb, 9, &mb, 0, 4096);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 0, &ma, 0, 3000, mb.iova,
			 mb.stag);
		rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 3000, 0, 0);
		rig_send(&ra, &qa, UNIC_WR_READ, 2, &ma, 0, 3000, mb.iova,
			 mb.stag);
		pair_at_once();
		keep(UNIC_OP_ACK, false);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 8, mb.iova,
			 mb.stag);
		pair_at_once();
		assert_int_equal(wire.n, 1);
		assert_int_equal(get(0, EXT) & 0xffffff, 4);
		for (i = 0; i < 4; i++)
			pair_expect(&ra, &qa, i, 0, i < 3 ? 3000 : 8);
		down(state);
	}
}

/* A packet is gathered for a second time when the ACK of its first copy
 * arrives: an error of that DMA then has no effect. */
static void gathered_for_nothing(void **state)
{
	uint32_t k, i, met = 0;

	for (k = 1; k < 8; k++) {
		struct unic_cqe cqe;

		up(state);
		ra.port.late_dma = true;
		keep(UNIC_OP_ACK, true);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 4096 - 100, 300,
			 mb.iova, mb.stag);
		for (i = 0; i < 30; i++) {
			rig_poll(&ra);
			fake_dma_run(&ra.port, 1);
			rig_poll(&rb);
		}
		assert_int_equal(wire.n, 1);
		ra.port.fail_call = ra.port.calls + k;
		ra.port.now_ns += 5 * MS;
		for (i = 0; i < 4 && !sq()->gathering; i++)
			rig_poll(&ra);
		if (!sq()->gathering || ra.port.calls < ra.port.fail_call)
			continue;
		ra.port.fail_call = 0;
		met++;
		fake_deliver(&ra.port, wire.kept[0].bytes, wire.kept[0].len,
			     wire.kept[0].flags);
		for (i = 0; i < 30; i++) {
			rig_poll(&ra);
			fake_dma_run(&ra.port, 1);
		}
		assert_true(rig_cqe(&ra, &qa, &cqe));
		assert_int_equal(cqe.status, 0);
		assert_int_equal(
			unic_qp_by_number(&ra.nic.transport, qa.qpn)->state,
			UNIC_QPS_RTS);
	}
	assert_true(met > 0);
}

static uint32_t asked[32]; /* packets that request an ACK */
static uint32_t n_asked, n_packets;

static void note_asked(struct unic_port *port, const uint8_t *frame,
		       uint32_t len, uint32_t flags)
{
	if (frame[BTH + 8] & 0x80)
		asked[n_asked++] = n_packets;
	n_packets++;
	fake_deliver(port->peer, frame, len, flags);
}

/* A message requests an ACK with its last packet, and with each packet whose
 * PSN is 31 modulo 32, on the fast path and off it. */
static void long_messages_ask_on_the_way(void **state)
{
	uint32_t way;

	for (way = 0; way < 2; way++) {
		up(state);
		if (way)
			ra.port.fail_call = UINT32_MAX; /* no windows */
		ra.port.on_frame = note_asked;
		n_asked = n_packets = 0;
		rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 28 * 1024, mb.iova,
			 mb.stag); /* from 0x1000 */
		rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 28 * 1024, mb.iova,
			 mb.stag);
		pair_run(20 * MS);
		pair_expect(&ra, &qa, 1, 0, 28 * 1024);
		pair_expect(&ra, &qa, 2, 0, 28 * 1024);
		assert_int_equal(n_packets, 56);
		assert_int_equal(n_asked, 3);
		assert_int_equal(asked[0], 27);
		assert_int_equal(asked[1], 31);
		assert_int_equal(asked[2], 55);
		down(state);
	}
}

/* -------------------------------------------------------------- mismatches */

/* The response to READ 1, of @len bytes, arrives with the PSN of READ 2, of
 * @want bytes, whose own response is kept. */
static void response_for(uint32_t len, uint32_t want)
{
	uint8_t last[3];
	uint32_t i;

	up(NULL);
	keep(UNIC_OP_READ_RESP_ONLY, false);
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, len, mb.iova, mb.stag);
	pair_at_once();
	pair_expect(&ra, &qa, 1, 0, len);
	keep(UNIC_OP_READ_RESP_ONLY, true);
	memset(ma.mem, 0x5a, 2048);
	wire.n = 1; /* the next one is kept as number 1 */
	rig_send(&ra, &qa, UNIC_WR_READ, 2, &ma, 0, want, mb.iova, mb.stag);
	pair_at_once();
	assert_int_equal(wire.n, 2);
	memcpy(last, wire.kept[1].bytes + PSN, 3);
	memcpy(wire.kept[0].bytes + PSN, last, 3);
	wire.keep = -1;
	arrive(&ra, 0);
	for (i = 0; i < 2048; i++)
		assert_int_equal(ma.mem[i], 0x5a);
}

/* A READ response that is longer or shorter than requested is dropped. */
static void response_of_another_length(void **state)
{
	static const uint32_t len[] = { 1, 96, 99, 101, 104, 1024 };
	uint32_t i;

	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		response_for(len[i], 100);
		pair_expect_none(&ra, &qa);
		assert_int_equal(rig_count(&ra, rx_bad_opcode), 1);
		arrive(&ra, 1);
		pair_expect(&ra, &qa, 2, 0, 100);
		assert_memory_equal(ma.mem, mb.mem, 100);
		assert_int_equal(ma.mem[100], 0x5a);
		down(state);
	}
}

/* A packet of a READ response whose opcode is that of another place is
 * dropped. */
static void response_of_another_place(void **state)
{
	static const uint8_t op[] = { UNIC_OP_READ_RESP_FIRST,
				      UNIC_OP_READ_RESP_MIDDLE,
				      UNIC_OP_READ_RESP_LAST,
				      UNIC_OP_READ_RESP_ONLY };
	uint32_t i, k;

	for (i = 0; i < 3; i++) {
		for (k = 0; k < 4; k++) {
			if (i == k || i + k == 5) /* ONLY passes for LAST */
				continue;
			up(state);
			keep(op[i], true);
			wire.with = 100;
			rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 3 * 1024,
				 mb.iova, mb.stag);
			pair_at_once();
			assert_true(wire.n > 0);
			wire.keep = -1;
			memset(ma.mem + 1024 * i, 0x5a, 1024);
			wire.lose = 0;
			wire.kept[0].bytes[BTH] = op[k];
			arrive(&ra, 0);
			pair_expect_none(&ra, &qa);
			assert_int_equal(ma.mem[1024 * i], 0x5a);
			assert_int_equal(rig_count(&ra, rx_bad_opcode), 1);
			pair_run(20 * MS);
			pair_expect(&ra, &qa, 1, 0, 3 * 1024);
			assert_memory_equal(ma.mem, mb.mem, 3 * 1024);
			down(state);
		}
	}
}

/* A response to a READ that was refused meanwhile is dropped: the READ no
 * longer holds its region, which may have another owner by then. */
static void response_to_one_that_is_over(void **state)
{
	struct unic_qp_ctx *qp = unic_qp_by_number(&ra.nic.transport, qa.qpn);

	(void)state;
	reads_are_slow(1);
	memset(ma.mem, 0x5a, 100);
	wire.lose = 1;
	unic_requester_vack(&ra.nic.transport, qp, qp->sq.psn_una,
			    UNIC_EV_EVICTED, 0);
	pair_at_once();
	assert_int_equal(wire.lose, 0);
	assert_int_equal(ra.nic.mrs.mr[ma.mr].holds, 0);
	pair_expect_none(&ra, &qa);
	arrive(&ra, 0);
	pair_expect_none(&ra, &qa);
	assert_int_equal(ma.mem[0], 0x5a);
	assert_int_equal(ma.mem[99], 0x5a);
	assert_int_equal(rig_count(&ra, rx_stale_ack), 1);
	pair_run(20 * MS);
	pair_expect(&ra, &qa, 1, UNIC_WC_REM_EVICTED, 0);
}

#define RETH_IOVA (EXT + 4u) /* low half of the address */
#define RETH_RKEY (EXT + 8u)
#define RETH_LEN  (EXT + 12u)

/* The kept request arrives at B. Returns how many frames B sends. */
static uint32_t answers(void)
{
	uint32_t before = rig_count(&rb, tx_frames);

	arrive(&rb, 0);
	assert_int_equal(unic_qp_by_number(&rb.nic.transport, qb.qpn)->state,
			 UNIC_QPS_RTS);
	return rig_count(&rb, tx_frames) - before;
}

static void question_with(uint32_t off, uint32_t v)
{
	uint32_t was = get(0, off);

	put(0, off, v);
	assert_int_equal(answers(), 0);
	put(0, off, was);
}

/* B answers a repeated READ only if it requests the same bytes as before, or
 * the rest of them. */
static void question_that_is_another(void **state)
{
	struct rig_mr other;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 4, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &other),
			 0);
	rb.nic.mrs.mr[other.mr].iova = mb.iova;
	keep(UNIC_OP_READ_REQUEST, false);
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 3000, mb.iova, mb.stag);
	pair_at_once();
	pair_expect(&ra, &qa, 1, 0, 3000);
	wire.keep = -1;
	assert_int_equal(answers(), 3);
	question_with(RETH_LEN, 2999);
	question_with(RETH_LEN, 3001);
	question_with(RETH_LEN, 1);
	question_with(RETH_LEN, 3000 - 1024);
	question_with(RETH_IOVA, (uint32_t)mb.iova + 1);
	question_with(RETH_IOVA, (uint32_t)mb.iova + 1024);
	question_with(RETH_RKEY, other.stag); /* a right key, too */
	assert_int_equal(answers(), 3);
	/* the rest of it */
	wire.kept[0].bytes[PSN + 2]++;
	assert_int_equal(answers(), 0);
	put(0, RETH_LEN, 3000 - 1024);
	assert_int_equal(answers(), 0);
	put(0, RETH_IOVA, (uint32_t)mb.iova + 1024);
	assert_int_equal(answers(), 2);
	question_with(RETH_LEN, 3000 - 1024 + 1);
	question_with(RETH_LEN, 3000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)
#define LOOP(f) cmocka_unit_test(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOOP(fence_waits_for_a_read),
		TEST(fence_waits_for_each_read),
		TEST(only_a_fence_waits_and_only_for_reads),
		TEST(fence_waits_for_no_read_that_was_refused),
		TEST(each_request_may_find_no_receive),
		TEST(each_request_may_be_lost),
		TEST(two_kinds_of_patience),
		TEST(seven_is_for_ever),
		TEST(each_packet_may_be_put_off),
		TEST(refused_for_ever),
		TEST(not_ready_is_heard_once),
		TEST(pause_begins_with_its_nak),
		TEST(refusal_waits_for_a_read),
		TEST(silence_has_bounds),
		LOOP(each_gap_is_told),
		TEST(each_time_has_its_question),
		LOOP(messages_are_counted),
		LOOP(gathered_for_nothing),
		LOOP(long_messages_ask_on_the_way),
		LOOP(response_of_another_length),
		LOOP(response_of_another_place),
		TEST(response_to_one_that_is_over),
		TEST(question_that_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
