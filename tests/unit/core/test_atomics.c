/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_atomics.c - COMPARE_SWAP and FETCH_ADD on a reliable connection: what they do, in
 * which order, once each whatever the wire does, over DMA that takes its time; and who is
 * refused.
 */
#include "unit.h"

#include "derived_rig.h"
#include "rc_rig.h"

#define ADDS   12u
#define TARGET 4096u /* where in region mb */
#define BTH    42u

static struct {
	uint32_t
		seen; /* atomic operations of A, and answers of B, on the wire */
	uint32_t answers;
	uint8_t kept[32][128]; /* the operations */
	uint32_t kept_len, kept_flags, n_kept;
	bool lose_answers;
	uint8_t last[128]; /* the last answer */
} wire;

static unic_le64 *word_at(const struct rig_mr *mr, uint32_t off)
{
	return (void *)(mr->mem + off);
}

static uint64_t value_at(const struct rig_mr *mr, uint32_t off)
{
	return unic_from_le64(*word_at(mr, off));
}

/* Posts an atomic operation on byte @to of mb, with its result at @off of ma. */
static struct unic_sq_slot *post(uint8_t opcode, uint64_t wr_id, uint32_t off,
				 uint32_t to, uint64_t operand, uint64_t swap)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];
	struct unic_wr_atomic operands = { .operand = unic_to_le64(operand),
					   .swap = unic_to_le64(swap) };

	rig_send(&ra, &qa, opcode, wr_id, &ma, off, UNIC_ATOMIC_BYTES,
		 mb.iova + to, mb.stag);
	memcpy(&s->sge[1], &operands, sizeof(operands));
	return s;
}

static void add(uint64_t wr_id, uint64_t n)
{
	post(UNIC_WR_FETCH_ADD, wr_id, 8 * (uint32_t)wr_id, TARGET, n, 0);
}

static void keep(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	uint8_t op = frame[BTH];

	if (op == UNIC_OP_COMPARE_SWAP || op == UNIC_OP_FETCH_ADD) {
		assert_int_equal(len, 54 + 28 + 4);
		memcpy(wire.kept[wire.n_kept++ % 32], frame, len);
		wire.kept_len = len;
		wire.kept_flags = flags;
	}
	if (op == UNIC_OP_ATOMIC_ACK) {
		assert_int_equal(len, 54 + 4 + 8 + 4);
		wire.answers++;
		memcpy(wire.last, frame, len);
		if (wire.lose_answers)
			return;
	}
	fake_deliver(port->peer, frame, len, flags);
}

static int up(void **state)
{
	(void)state;
	memset(&wire, 0, sizeof(wire));
	pair_up();
	ra.port.on_frame = rb.port.on_frame = keep;
	*word_at(&mb, TARGET) = unic_to_le64(100);
	return 0;
}

/* @frame, as long as an operation, becomes one of @len bytes. */
static void set_length(uint8_t *frame, uint32_t len)
{
	uint32_t sum = (uint32_t)frame[24] << 8 | frame[25];

	sum += frame[17] - (len - 14);
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
	frame[17] = (uint8_t)(len - 14);
	frame[39] = (uint8_t)(len - 34);
}

/* Operation @n of the past comes once more. */
static void again(uint32_t n)
{
	fake_deliver(&rb.port, wire.kept[n], wire.kept_len, wire.kept_flags);
	rig_poll(&rb);
}

/* ------------------------------------------------------------ what they do */

static void add_and_swap(void **state)
{
	const uint64_t big = 0xfedcba9876543210;

	(void)state;
	add(0, 5);
	add(1, (uint64_t)-6);
	post(UNIC_WR_COMPARE_SWAP, 2, 16, TARGET, 99, big);
	post(UNIC_WR_COMPARE_SWAP, 3, 24, TARGET, 99, 1); /* not equal */
	add(4, 1ull << 60);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 0, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 1, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_COMPARE_SWAP, 2, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_COMPARE_SWAP, 3, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 4, 0, 8);
	assert_true(value_at(&ma, 0) == 100);
	assert_true(value_at(&ma, 8) == 105);
	assert_true(value_at(&ma, 16) == 99);
	assert_true(value_at(&ma, 24) == big);
	assert_true(value_at(&ma, 32) == big);
	assert_true(value_at(&mb, TARGET) == big + (1ull << 60));
	assert_int_equal(rig_count(&ra, retransmits), 0);
	pair_quiet();
}

/* Bytes beside the word, and operands of the slot that FETCH_ADD does not have. */
static void nothing_else(void **state)
{
	uint8_t before[PAIR_BYTES];
	uint32_t i;

	(void)state;
	memcpy(before, mb.mem, sizeof(before));
	post(UNIC_WR_FETCH_ADD, 0, 4, TARGET, 7, 0xdead);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 0, 0, 8);
	for (i = 0; i < sizeof(before); i++)
		if (i < TARGET || i >= TARGET + 8)
			assert_int_equal(mb.mem[i], before[i]);
	assert_true(value_at(&mb, TARGET) == 107);
}

/* The order of a queue: a WRITE before is seen, one behind is not. */
static void in_order(void **state)
{
	(void)state;
	*word_at(&ma, 1024) = unic_to_le64(7000);
	*word_at(&ma, 1032) = unic_to_le64(9000);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 1024, 8, mb.iova + TARGET,
		 mb.stag);
	add(2, 1);
	rig_send(&ra, &qa, UNIC_WR_READ, 3, &ma, 2048, 8, mb.iova + TARGET,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 4, &ma, 1032, 8, mb.iova + TARGET,
		 mb.stag);
	qa.sq[3].flags |= UNIC_WR_FENCE;
	add(5, 1);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 2, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_READ, 3, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 4, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 5, 0, 8);
	assert_true(value_at(&ma, 16) == 7000);
	assert_true(value_at(&ma, 2048) == 7001);
	assert_true(value_at(&ma, 40) == 9000);
	assert_true(value_at(&mb, TARGET) == 9001);
	pair_quiet();
}

/* ------------------------------------------------------------- once each */

/* Additions and READs of more than a packet, turn about. */
static void mixture(void)
{
	uint32_t i;

	for (i = 0; i < ADDS; i++) {
		if (i % 4 == 3)
			rig_send(&ra, &qa, UNIC_WR_READ, i, &ma, 8192, 2500,
				 mb.iova + 8192, mb.stag);
		else
			add(i, 1);
	}
}

static void mixture_check(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < ADDS; i++) {
		if (i % 4 == 3) {
			rc_expect(&ra, &qa, UNIC_WC_READ, i, 0, 2500);
			continue;
		}
		rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, i, 0, 8);
		assert_int_equal(value_at(&ma, 8 * i), 100 + n++);
	}
	assert_int_equal(value_at(&mb, TARGET), 100 + n);
	assert_memory_equal(ma.mem + 8192, mb.mem + 8192, 2500);
	pair_expect_none(&ra, &qa);
	rc_quiet();
}

static void start(bool icrc)
{
	rc_bring_up(icrc);
	*word_at(&mb, TARGET) = unic_to_le64(100);
}

static uint32_t frames_of_mixture(void)
{
	start(true);
	mixture();
	pair_run(100 * MS);
	mixture_check();
	return rc_wire.seen;
}

static void each_frame_once_more(void **state)
{
	uint32_t n = frames_of_mixture(), k, what;

	(void)state;
	for (what = 0; what < 3; what++) {
		for (k = 1; k <= n; k++) {
			start(false);
			rc_wire.lose = what == 0 ? k : 0;
			rc_wire.twice = what == 1 ? k : 0;
			rc_wire.swap = what == 2 ? k : 0;
			mixture();
			pair_run(100 * MS);
			mixture_check();
		}
	}
}

/* All answers are lost, once: nothing is executed twice. */
static void answers_lost(void **state)
{
	uint32_t i;

	(void)state;
	wire.lose_answers = true;
	for (i = 0; i < 4; i++)
		add(i, 1);
	pair_run(MS);
	assert_int_equal(wire.answers, 4);
	assert_int_equal(value_at(&mb, TARGET), 104);
	pair_expect_none(&ra, &qa);
	wire.lose_answers = false;
	*word_at(&mb, TARGET) = unic_to_le64(5000); /* by the host */
	pair_run(100 * MS);
	for (i = 0; i < 4; i++) {
		rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, i, 0, 8);
		assert_int_equal(value_at(&ma, 8 * i), 100 + i);
	}
	assert_int_equal(value_at(&mb, TARGET), 5000);
	pair_quiet();
}

/* A repetition has the answer of then, also when the region has ended; one that is no
 * longer remembered has none. A READ does not take the place of an atomic operation. */
static void repeated(void **state)
{
	uint32_t i, n = UNIC_QP_READS + 1;

	(void)state;
	for (i = 0; i < n; i++) {
		post(UNIC_WR_FETCH_ADD, i, 8 * i, TARGET, 1, 0);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, i, 0, 8);
	}
	assert_int_equal(wire.answers, n);
	assert_int_equal(rig_dereg(&rb, &mb), 0);
	again(0);
	assert_int_equal(wire.answers, n);
	for (i = 1; i < n; i++) {
		unic_be32 low;

		again(i);
		assert_int_equal(wire.answers, n + i);
		memcpy(&low, wire.last + 54 + 4 + 4, 4);
		assert_int_equal(unic_from_be32(low), 100 + i);
	}
	/* as a READ of nothing, of what was answered, at its PSN */
	wire.kept[1][BTH] = UNIC_OP_READ_REQUEST;
	set_length(wire.kept[1], 54 + 16 + 4);
	memset(wire.kept[1] + 54, 0, 16);
	wire.kept[1][54 + 7] = 101;
	wire.kept_len = 54 + 16 + 4;
	again(1);
	assert_int_equal(rig_count(&rb, rx_bad_ip), 0);
	assert_int_equal(rb.nic.qps.qp[qb.qpn & 0xff].state, UNIC_QPS_RTS);
	assert_int_equal(wire.answers, n + n - 1);
	assert_int_equal(value_at(&mb, TARGET), 100 + n);
	pair_run(MS);
	pair_quiet();
}

/* The PSNs have gone round, and an operation has that of an older one: when its answer is
 * lost, it has its own once more. */
static void repeated_a_round_later(void **state)
{
	struct unic_qp_ctx *a = unic_qp_by_number(&ra.nic.transport, qa.qpn);
	struct unic_qp_ctx *b = unic_qp_by_number(&rb.nic.transport, qb.qpn);
	uint32_t psn = a->sq.psn;

	(void)state;
	add(0, 1);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 0, 0, 8);
	a->sq.psn = a->sq.psn_max = a->sq.psn_una = psn;
	b->rsp.psn = psn;
	wire.lose_answers = true;
	add(1, 1);
	pair_run(MS);
	assert_int_equal(value_at(&mb, TARGET), 102);
	pair_expect_none(&ra, &qa);
	wire.lose_answers = false;
	pair_run(100 * MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 1, 0, 8);
	assert_int_equal(value_at(&ma, 8), 101);
	assert_int_equal(value_at(&mb, TARGET), 102);
	pair_quiet();
}

/* An atomic operation at the PSN of a READ of the past is nothing. */
static void repeated_as_another(void **state)
{
	(void)state;
	add(0, 1);
	pair_run(MS);
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 2048, 8, mb.iova, mb.stag);
	pair_run(MS);
	wire.kept[0][BTH + 11]++;
	again(0);
	pair_run(MS);
	assert_int_equal(wire.answers, 1);
	assert_int_equal(value_at(&mb, TARGET), 101);
}

/* ---------------------------------------------------------------- how many */

static struct unic_qp_ctx *at(struct rig *r, const struct rig_qp *qp)
{
	return unic_qp_by_number(&r->nic.transport, qp->qpn);
}

/* As many are sent as were agreed, READs included. */
static void no_more_than_agreed(void **state)
{
	static const uint8_t depth[] = { 1, 4, UNIC_QP_READS };
	uint32_t i, k, most;

	for (k = 0; k < 3; k++) {
		up(state);
		at(&ra, &qa)->max_rd = at(&rb, &qb)->rsp.max_rd = depth[k];
		for (i = 0; i < RIG_SLOTS - 1; i++)
			add(i, 1);
		for (i = 0, most = 0; i < 8; i++) {
			pair_rounds(&ra, 1);
			if (at(&ra, &qa)->sq.reads > most)
				most = at(&ra, &qa)->sq.reads;
		}
		assert_int_equal(most, depth[k] < RIG_SLOTS - 1
					       ? depth[k]
					       : RIG_SLOTS - 1);
		pair_run(MS);
		for (i = 0; i < RIG_SLOTS - 1; i++) {
			rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, i, 0, 8);
			assert_int_equal(value_at(&ma, 8 * i), 100 + i);
		}
		pair_quiet();
	}
}

/* One more than was agreed: NAK invalid request; it is not executed. */
static void more_than_agreed(void **state)
{
	uint32_t i;

	(void)state;
	at(&ra, &qa)->max_rd = 5;
	rb.port.tx_held = (1u << UNIC_TX_BUFS) - 1; /* no answer goes out */
	for (i = 0; i < 5; i++)
		add(i, 1);
	pair_rounds(&ra, 8);
	pair_rounds(&rb, 8);
	rb.port.tx_held = 0;
	pair_run(MS);
	assert_int_equal(value_at(&mb, TARGET), 104);
	assert_int_equal(at(&rb, &qb)->state, UNIC_QPS_ERR);
	assert_int_equal(rig_count(&rb, rx_bad_opcode), 1);
	assert_int_equal(at(&ra, &qa)->state, UNIC_QPS_ERR);
}

/* ------------------------------------------------------------- who is refused */

#define REFUSED(what, wc)                                            \
	do {                                                         \
		up(state);                                           \
		what;                                                \
		pair_run(MS);                                        \
		pair_expect(&ra, &qa, 1, UNIC_WC_##wc, 0);           \
		assert_int_equal(value_at(&mb, TARGET), 100);        \
		assert_int_equal(at(&rb, &qb)->state, UNIC_QPS_ERR); \
		pair_quiet();                                        \
	} while (0)

static void refused(void **state)
{
	uint32_t off;

	for (off = 1; off < 8; off++)
		REFUSED(post(UNIC_WR_FETCH_ADD, 1, 8, TARGET + off, 1, 0),
			REM_INV_REQ_ERR);
	REFUSED(post(UNIC_WR_FETCH_ADD, 1, 8, PAIR_BYTES, 1, 0),
		REM_ACCESS_ERR);
	REFUSED(post(UNIC_WR_FETCH_ADD, 1, 8, TARGET, 1, 0)->rkey ^= 1,
		REM_ACCESS_ERR);
	REFUSED(at(&rb, &qb)->rights = UNIC_MR_REMOTE_READ |
				       UNIC_MR_REMOTE_WRITE;
		add(1, 1), REM_ACCESS_ERR);
	REFUSED(rb.nic.mrs.mr[mb.mr].rights = UNIC_MR_LOCAL_WRITE |
					      UNIC_MR_REMOTE_READ |
					      UNIC_MR_REMOTE_WRITE;
		add(1, 1), REM_ACCESS_ERR);
	REFUSED(at(&rb, &qb)->rsp.max_rd = 0; add(1, 1), REM_INV_REQ_ERR);
	/* misaligned and of no region: the alignment is what is said */
	REFUSED(post(UNIC_WR_FETCH_ADD, 1, 8, TARGET + 1, 1, 0)->rkey ^= 1,
		REM_INV_REQ_ERR);
}

static void malformed(uint8_t detail)
{
	struct unic_cqe cqe;

	pair_run(MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_LOC_QP_OP_ERR);
	assert_int_equal(cqe.detail, detail);
	assert_int_equal(wire.n_kept, 0);
	assert_int_equal(value_at(&mb, TARGET), 100);
	pair_quiet();
}

static void refused_here(void **state)
{
	struct unic_sq_slot *s;
	struct unic_cqe cqe;

	add(1, 1);
	qa.sq[0].num_sge = 0;
	malformed(UNIC_WD_SGE);
	up(state);
	add(1, 1);
	qa.sq[0].num_sge = 2;
	malformed(UNIC_WD_SGE);
	up(state);
	add(1, 1);
	qa.sq[0].sge[0].len = unic_to_le32(16);
	malformed(UNIC_WD_LENGTH);
	up(state);
	add(1, 1);
	qa.sq[0].sge[0].len = unic_to_le32(4);
	malformed(UNIC_WD_LENGTH);
	up(state);
	add(1, 1);
	qa.sq[0].flags |= UNIC_WR_INLINE;
	malformed(UNIC_WD_FLAGS);
	up(state);
	at(&ra, &qa)->max_rd = 0;
	add(1, 1);
	malformed(UNIC_WD_OPCODE);
	up(state);
	add(1, 1);
	qa.sq[0].opcode = UNIC_WR_FETCH_ADD + 1;
	malformed(UNIC_WD_OPCODE);
	/* the result needs LOCAL_WRITE */
	up(state);
	ra.nic.mrs.mr[ma.mr].rights = UNIC_MR_REMOTE_ATOMIC;
	s = post(UNIC_WR_FETCH_ADD, 1, 0, TARGET, 1, 0);
	assert_int_equal(s->num_sge, 1);
	pair_run(MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_RIGHTS);
}

/* REMOTE_ATOMIC, as REMOTE_WRITE, needs LOCAL_WRITE. */
static void needs_local_write(void **state)
{
	(void)state;
	assert_int_equal(form_rights_of(&rb, &mb, UNIC_MR_REMOTE_ATOMIC),
			 UNIC_ST_INVALID);
	assert_int_equal(form_rights_of(&rb, &mb,
					UNIC_MR_REMOTE_ATOMIC |
						UNIC_MR_LOCAL_WRITE),
			 0);
	assert_int_equal(form_rights_of(&rb, &mb, UNIC_MR_RIGHTS_ALL + 1),
			 UNIC_ST_INVALID);
}

/* Frames that are too short or too long for their header. */
static void odd_frames(void **state)
{
	uint32_t extra;

	for (extra = 0; extra < 2; extra++) {
		uint8_t frame[128] = { 0 };
		uint32_t len;

		up(state);
		add(1, 1);
		pair_run(MS);
		assert_int_equal(value_at(&mb, TARGET), 101);
		/* the next request of A, with another length */
		len = wire.kept_len + (extra ? 4 : -4u);
		memcpy(frame, wire.kept[0], wire.kept_len);
		frame[BTH + 11]++; /* PSN */
		set_length(frame, len);
		fake_deliver(&rb.port, frame, len, wire.kept_flags);
		rig_poll(&rb);
		assert_int_equal(rig_count(&rb, rx_bad_ip), 0);
		assert_int_equal(rig_count(&rb, rx_bad_opcode), 1);
		assert_int_equal(at(&rb, &qb)->state, UNIC_QPS_ERR);
		assert_int_equal(value_at(&mb, TARGET), 101);
	}
}

/* An answer of another length, or to what is no atomic operation, is not taken. */
static void odd_answers(void **state)
{
	(void)state;
	wire.lose_answers = true;
	add(0, 1);
	pair_run(MS);
	wire.lose_answers = false;
	wire.last[BTH] = UNIC_OP_READ_RESP_ONLY;
	fake_deliver(&ra.port, wire.last, 54 + 4 + 8 + 4, wire.kept_flags);
	rig_poll(&ra);
	assert_int_equal(rig_count(&ra, rx_stale_ack), 1);
	wire.last[BTH] = UNIC_OP_ATOMIC_ACK;
	set_length(wire.last, 54 + 4 + 12 + 4);
	fake_deliver(&ra.port, wire.last, 54 + 4 + 12 + 4, wire.kept_flags);
	rig_poll(&ra);
	assert_int_equal(rig_count(&ra, rx_bad_opcode), 1);
	set_length(wire.last, 54 + 4 + 8 + 4);
	pair_expect_none(&ra, &qa);
	pair_run(100 * MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 0, 0, 8);
	assert_int_equal(value_at(&ma, 0), 100);
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 2048, 8, mb.iova, mb.stag);
	pair_rounds(&ra, 4);
	wire.last[BTH] = UNIC_OP_ATOMIC_ACK;
	wire.last[BTH + 11]++;
	fake_deliver(&ra.port, wire.last, 54 + 4 + 8 + 4, wire.kept_flags);
	rig_poll(&ra);
	assert_int_equal(rig_count(&ra, rx_stale_ack), 2);
	pair_run(100 * MS);
	rc_expect(&ra, &qa, UNIC_WC_READ, 1, 0, 8);
	assert_memory_equal(ma.mem + 2048, mb.mem, 8);
}

/* An answer that finds no room on the link is sent when there is some. */
static void no_room_for_the_answer(void **state)
{
	(void)state;
	fake_room(&rb.port, fake_path(1), 0);
	add(0, 1);
	pair_rounds(&ra, 2);
	pair_rounds(&rb, 4);
	assert_int_equal(value_at(&mb, TARGET), 101);
	assert_int_equal(wire.answers, 0);
	fake_room(&rb.port, fake_path(1), FAKE_NEVER_FULL);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 0, 0, 8);
	assert_int_equal(wire.answers, 1);
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

/* -------------------------------------------------------------- late DMA */

static void run_late(uint32_t rounds)
{
	while (rounds--) {
		pair_rounds(&ra, 2);
		pair_rounds(&rb, 2);
		fake_dma_run(&ra.port, 1);
		fake_dma_run(&rb.port, 1);
	}
}

static void over_late_dma(void **state)
{
	uint32_t i;

	(void)state;
	ra.port.late_dma = rb.port.late_dma = true;
	for (i = 0; i < 6; i++)
		add(i, 1);
	post(UNIC_WR_COMPARE_SWAP, 6, 48, TARGET, 1, 2); /* writes nothing */
	post(UNIC_WR_COMPARE_SWAP, 7, 56, TARGET, 106, 77);
	run_late(200);
	for (i = 0; i < 6; i++) {
		rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, i, 0, 8);
		assert_int_equal(value_at(&ma, 8 * i), 100 + i);
	}
	rc_expect(&ra, &qa, UNIC_WC_COMPARE_SWAP, 6, 0, 8);
	rc_expect(&ra, &qa, UNIC_WC_COMPARE_SWAP, 7, 0, 8);
	assert_int_equal(value_at(&ma, 48), 106);
	assert_int_equal(value_at(&ma, 56), 106);
	assert_int_equal(value_at(&mb, TARGET), 77);
	ra.port.late_dma = rb.port.late_dma = false;
	pair_run(MS);
	pair_quiet();
}

/* Runs B until a piece of DMA of it waits, once @n pieces have been. */
static void until_piece(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < 20; i++) {
		pair_rounds(&rb, 1);
		if (fake_dma_waiting(&rb.port) && !n--)
			return;
		fake_dma_run(&rb.port, 1);
	}
	fail();
}

/* What compares in vain writes nothing, not even what it read. */
static void compares_in_vain(void **state)
{
	(void)state;
	post(UNIC_WR_COMPARE_SWAP, 1, 8, TARGET, 1, 2);
	pair_rounds(&ra, 4);
	rb.port.late_dma = true;
	until_piece(0);
	fake_dma_run(&rb.port, 1);
	*word_at(&mb, TARGET) = unic_to_le64(555); /* by the host */
	run_late(20);
	rb.port.late_dma = false;
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_COMPARE_SWAP, 1, 0, 8);
	assert_int_equal(value_at(&ma, 8), 100);
	assert_int_equal(value_at(&mb, TARGET), 555);
	pair_quiet();
}

/* The region ends between the two pieces: nothing is written, and the peer is told. */
static void region_ends_amid(void **state)
{
	(void)state;
	add(1, 1);
	pair_rounds(&ra, 4);
	rb.port.late_dma = true;
	until_piece(0); /* the word is being read */
	assert_int_equal(rig_dereg(&rb, &mb), UNIC_ST_PENDING);
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, 1);
	pair_run(MS);
	pair_expect(&ra, &qa, 1, UNIC_WC_REM_ACCESS_ERR, 0);
	assert_int_equal(value_at(&mb, TARGET), 100);
	pair_quiet();
}

/* A piece ends in a bus error: REM_OP_ERR. */
static void bus_error(void **state)
{
	uint32_t piece;

	for (piece = 0; piece < 2; piece++) {
		up(state);
		add(1, 1);
		pair_rounds(&ra, 4);
		rb.port.late_dma = true;
		until_piece(piece);
		rb.port.bad_dma = true;
		fake_dma_run(&rb.port, 1);
		rb.port.late_dma = rb.port.bad_dma = false;
		pair_run(MS);
		pair_expect(&ra, &qa, 1, UNIC_WC_REM_OP_ERR, 0);
		assert_int_equal(value_at(&mb, TARGET), 100);
		assert_int_equal(at(&rb, &qb)->dmas, 0);
		pair_quiet();
	}
}

/* The queue pair ends between the pieces; another one goes on. */
static void ends_amid(void **state)
{
	struct unic_cmd_qp_modify cmd = { .state = UNIC_QPS_ERR };

	(void)state;
	cmd.qpn = unic_to_le32(qb.qpn);
	add(1, 1);
	pair_rounds(&ra, 4);
	rb.port.late_dma = true;
	until_piece(0);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
	cmd.state = UNIC_QPS_RESET;
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &cmd, NULL),
			 UNIC_ST_BUSY);
	fake_dma_run(&rb.port, 1);
	rb.port.late_dma = false;
	pair_run(MS);
	assert_int_equal(value_at(&mb, TARGET), 100);
	/* connected anew, with the same PSN */
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
	cmd.qpn = unic_to_le32(qa.qpn);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
	while (qa.cqe[qa.cq_ci % RIG_SLOTS].seq == unic_to_le32(qa.cq_ci + 1)) {
		struct unic_cqe cqe;

		assert_true(rig_cqe(&ra, &qa, &cqe));
	}
	rig_empty_row(&ra, &qa);
	rig_empty_row(&rb, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
	add(2, 10);
	rb.port.late_dma = true;
	run_late(50);
	rb.port.late_dma = false;
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 2, 0, 8);
	assert_int_equal(value_at(&ma, 16), 100);
	assert_int_equal(value_at(&mb, TARGET), 110);
	pair_quiet();
}

/* A port that has no room for DMA now: later. */
static void no_room_for_dma(void **state)
{
	(void)state;
	add(1, 1);
	pair_rounds(&ra, 4);
	rb.port.late_dma = rb.port.no_dma = true;
	pair_rounds(&rb, 4);
	assert_int_equal(value_at(&mb, TARGET), 100);
	rb.port.no_dma = false;
	until_piece(1);
	rb.port.no_dma = true;
	pair_rounds(&rb, 4);
	rb.port.no_dma = false;
	run_late(20);
	rb.port.late_dma = false;
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 1, 0, 8);
	assert_int_equal(value_at(&mb, TARGET), 101);
	pair_quiet();
}

/* ----------------------------------------------------------- kinds of regions */

/* An indirect region whose first 12 bytes are in one piece, which begins at an odd
 * address, and whose word at 16 is in two. */
static void over_pieces(void **state)
{
	struct form_plan p = { .n = 2, .rights = RW | UNIC_MR_REMOTE_ATOMIC };
	unic_le64 was = unic_to_le64(1ull << 40);
	struct rig_mr x;
	unic_le64 is;

	(void)state;
	p.sge[0] = form_piece(&form_mb[0], 101, 20);
	p.sge[1] = form_piece(&form_mb[1], 64, 100);
	assert_int_equal(form_rights_of(&rb, &form_mb[0],
					RWB | UNIC_MR_REMOTE_ATOMIC),
			 0);
	assert_int_equal(form_rights_of(&rb, &form_mb[1],
					RWB | UNIC_MR_REMOTE_ATOMIC),
			 0);
	form_alloc_ok(UNIC_FORM_INDIRECT, 2, &x);
	p.iova = 0x10000;
	assert_int_equal(form_make(&x, &p), 0);
	memcpy(form_mb[0].mem + 101, &was, 8);
	mb = x;
	mb.iova = 0x10000;
	post(UNIC_WR_FETCH_ADD, 1, 8, 0, 3, 0);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 1, 0, 8);
	memcpy(&is, form_mb[0].mem + 101, 8);
	assert_true(unic_from_le64(is) == (1ull << 40) + 3);
	assert_true(value_at(&ma, 8) == 1ull << 40);
	post(UNIC_WR_COMPARE_SWAP, 3, 8, 0, 1, 2); /* not equal */
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_COMPARE_SWAP, 3, 0, 8);
	memcpy(&is, form_mb[0].mem + 101, 8);
	assert_true(unic_from_le64(is) == (1ull << 40) + 3);
	post(UNIC_WR_FETCH_ADD, 2, 8, 16, 3, 0);
	pair_run(MS);
	rc_expect(&ra, &qa, 0, 2, UNIC_WC_REM_ACCESS_ERR, 0);
	assert_int_equal(rig_count(&rb, access_bounds), 1);
}

/* A form has the right only if what it is made of has it. */
static void forms(void **state)
{
	struct form_plan p = { .n = 1, .rights = RW | UNIC_MR_REMOTE_ATOMIC };
	struct rig_mr x;

	(void)state;
	p.sge[0] = form_piece(&form_mb[0], 0, 64);
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, &x);
	assert_int_equal(form_make(&x, &p), UNIC_ST_RIGHTS);
	assert_int_equal(form_rights_of(&rb, &form_mb[0],
					RWB | UNIC_MR_REMOTE_ATOMIC),
			 0);
	assert_int_equal(form_make(&x, &p), 0);
	p.rights = UNIC_MR_REMOTE_ATOMIC; /* without LOCAL_WRITE */
	assert_int_equal(form_inval(&x), 0);
	assert_int_equal(form_make(&x, &p), UNIC_ST_RIGHTS);
	/* a window grants it over a region that a process may write */
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &x);
	assert_int_equal(form_rights_of(&rb, &form_mb[0],
					UNIC_MR_REMOTE_READ | UNIC_MR_MW_BIND),
			 0);
	assert_int_equal(form_make_one(&x, &form_mb[0], 0, 64,
				       UNIC_MR_REMOTE_ATOMIC, 0),
			 UNIC_ST_RIGHTS);
	assert_int_equal(form_rights_of(&rb, &form_mb[0], RWB), 0);
	assert_int_equal(form_make_one(&x, &form_mb[0], 0, 64,
				       UNIC_MR_REMOTE_ATOMIC, 0),
			 0);
}

/* A page that is missing: the peer comes again, and it is executed once. */
static void over_missing_pages(void **state)
{
	struct unic_evt_miss miss;
	struct rig_mr x;

	(void)state;
	assert_int_equal(rig_reg_cached(&rb, qb.pd, 4, UNIC_DEMAND, 0, &x), 0);
	mb = x;
	add(1, 1);
	pair_at_once();
	rig_expect(&rb, UNIC_EVT_MISS, &miss);
	memset(rb.port.window[0] + 100 * 4096, 0, 4096);
	assert_int_equal(rig_fault(&rb, &x, 1, 1, unic_from_le32(miss.seq), 0,
				   100, NULL),
			 0);
	pair_run(10 * MS);
	rc_expect(&ra, &qa, UNIC_WC_FETCH_ADD, 1, 0, 8);
	assert_int_equal(value_at(&ma, 8), 0);
	assert_int_equal(rb.port.window[0][100 * 4096], 1);
	pair_quiet();
}

#define HERE(f) cmocka_unit_test_setup(f, up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(add_and_swap),
		HERE(nothing_else),
		HERE(in_order),
		cmocka_unit_test(each_frame_once_more),
		HERE(answers_lost),
		HERE(repeated),
		HERE(repeated_a_round_later),
		HERE(repeated_as_another),
		HERE(no_more_than_agreed),
		HERE(more_than_agreed),
		HERE(refused),
		HERE(refused_here),
		HERE(needs_local_write),
		HERE(odd_frames),
		HERE(odd_answers),
		HERE(no_room_for_the_answer),
		HERE(over_late_dma),
		HERE(compares_in_vain),
		HERE(region_ends_amid),
		HERE(bus_error),
		HERE(ends_amid),
		HERE(no_room_for_dma),
		TEST(over_pieces),
		TEST(forms),
		HERE(over_missing_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
