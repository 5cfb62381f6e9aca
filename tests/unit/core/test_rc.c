/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_rc.c - reliable connections: requests of every size, refusals, and a
 * wire that loses, repeats, swaps and damages frames.
 */
#include "unit.h"

#include "rc_rig.h"

static int rc_up_icrc(void **state)
{
	(void)state;
	rc_bring_up(true);
	return 0;
}

static const uint32_t sizes[] = { 0,	1,    2,    3,	  4,	5,
				  255,	1023, 1024, 1025, 2047, 2048,
				  2049, 4096, 4097, 8191, 12288 };

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void write_sizes(void **state)
{
	uint32_t i, n;

	(void)state;
	for (i = 0; i < N_SIZES; i++) {
		n = sizes[i];
		memset(mb.mem, 0xee, BYTES);
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 3, n, mb.iova + 5,
			 mb.stag);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_WRITE, i, 0, n);
		assert_memory_equal(mb.mem + 5, ma.mem + 3, n);
		assert_int_equal(mb.mem[4], 0xee);
		assert_int_equal(mb.mem[5 + n], 0xee);
	}
	rc_quiet();
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

static void read_sizes(void **state)
{
	uint32_t i, n;

	(void)state;
	for (i = 0; i < N_SIZES; i++) {
		n = sizes[i];
		memset(ma.mem, 0xee, BYTES);
		rig_send(&ra, &qa, UNIC_WR_READ, i, &ma, 7, n, mb.iova + 2,
			 mb.stag);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_READ, i, 0, n);
		assert_memory_equal(ma.mem + 7, mb.mem + 2, n);
		assert_int_equal(ma.mem[6], 0xee);
		assert_int_equal(ma.mem[7 + n], 0xee);
	}
	rc_quiet();
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

static void send_sizes(void **state)
{
	uint32_t i, n;

	(void)state;
	for (i = 0; i < N_SIZES; i++) {
		n = sizes[i];
		memset(mb.mem, 0xee, BYTES);
		rig_recv(&rb, &qb, 100 + i, &mb, 9, 16000);
		rig_send(&ra, &qa, UNIC_WR_SEND, i, &ma, 1, n, 0, 0);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_SEND, i, 0, n);
		rc_expect(&rb, &qb, UNIC_WC_RECV, 100 + i, 0, n);
		assert_memory_equal(mb.mem + 9, ma.mem + 1, n);
		assert_int_equal(mb.mem[8], 0xee);
		assert_int_equal(mb.mem[9 + n], 0xee);
	}
	rc_quiet();
}

static void immediate(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	rig_recv(&rb, &qb, 1, &mb, 0, 64);
	rig_recv(&rb, &qb, 2, &mb, 64, 64);
	rig_send(&ra, &qa, UNIC_WR_SEND_IMM, 11, &ma, 0, 64, 0, 0);
	qa.sq[0].imm = unic_to_le32(0xabcd0123);
	rig_send(&ra, &qa, UNIC_WR_WRITE_IMM, 12, &ma, 0, 3000, mb.iova + 4096,
		 mb.stag);
	qa.sq[1].imm = unic_to_le32(0x55);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_SEND, 11, 0, 64);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 12, 0, 3000);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(unic_from_le32(cqe.imm), 0xabcd0123);
	assert_int_equal(cqe.flags, UNIC_WC_WITH_IMM);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.opcode, UNIC_WC_RECV_WRITE_IMM);
	assert_int_equal(unic_from_le32(cqe.imm), 0x55);
	assert_int_equal(unic_from_le32(cqe.byte_len), 3000);
	assert_memory_equal(mb.mem + 4096, ma.mem, 3000);
	rc_quiet();
}

static void inline_and_lists(void **state)
{
	static const uint8_t len[] = { 0, 1, 8, 32, 33, 96 };
	uint32_t i, k, n = 0;

	(void)state;
	for (i = 0; i < sizeof(len); i++) {
		uint32_t slots = len[i] > 32 ? 2 : 1;
		uint32_t at = qa.sq_tail;
		struct unic_sq_slot *s = &qa.sq[at % RIG_SLOTS];

		if (slots == 2 && at % RIG_SLOTS == RIG_SLOTS - 1)
			continue;
		memset(s, 0, 128);
		s->opcode = UNIC_WR_WRITE;
		s->flags = UNIC_WR_SIGNALED | UNIC_WR_INLINE;
		s->inline_len = len[i];
		s->remote = unic_to_le64(mb.iova);
		s->rkey = unic_to_le32(mb.stag);
		memcpy(s->sge, ma.mem, len[i] < 32 ? len[i] : 32);
		if (slots == 2)
			memcpy(s + 1, ma.mem + 32, len[i] - 32u);
		qa.sq_tail += slots;
		rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, qa.sq_tail);
		memset(mb.mem, 0, 200);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_WRITE, 0, 0, len[i]);
		assert_memory_equal(mb.mem, ma.mem, len[i]);
		assert_int_equal(mb.mem[len[i]], 0);
	}
	/* six pieces of odd sizes, one empty, around the end of the ring */
	for (k = 0; k < 20; k++) {
		struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];
		struct unic_sge *ext =
			(struct unic_sge *)&qa.sq[(qa.sq_tail + 1) % RIG_SLOTS];
		uint32_t off = 0;

		memset(s, 0, 64);
		s->opcode = UNIC_WR_WRITE;
		s->flags = UNIC_WR_SIGNALED;
		s->num_sge = 6;
		s->remote = unic_to_le64(mb.iova);
		s->rkey = unic_to_le32(mb.stag);
		for (i = 0; i < 6; i++) {
			struct unic_sge *g = i < 2 ? &s->sge[i] : &ext[i - 2];

			n = i == 3 ? 0 : 333 + 100 * i + k;
			g->iova = unic_to_le64(ma.iova + off);
			g->len = unic_to_le32(n);
			g->lkey = unic_to_le32(n ? ma.stag : 0xdead);
			off += n;
		}
		qa.sq_tail += 2;
		rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, qa.sq_tail);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_WRITE, 0, 0, off);
		assert_memory_equal(mb.mem, ma.mem, off);
	}
	rc_quiet();
}

/* A mixture of all operations, with a check of each effect. */
static void mixture(void)
{
	rig_recv(&rb, &qb, 100, &mb, 0, 4096);
	rig_recv(&rb, &qb, 101, &mb, 4096, 4096);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 2500, 0, 0);
	rig_send(&ra, &qa, UNIC_WR_READ, 2, &ma, 16384, 3000, mb.iova + 24576,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 3000, mb.iova + 8192,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_READ, 4, &ma, 20480, 100, mb.iova + 28672,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_SEND, 5, &ma, 100, 10, 0, 0);
}

static void mixture_check(void)
{
	rc_expect(&ra, &qa, UNIC_WC_SEND, 1, 0, 2500);
	rc_expect(&ra, &qa, UNIC_WC_READ, 2, 0, 3000);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 3, 0, 3000);
	rc_expect(&ra, &qa, UNIC_WC_READ, 4, 0, 100);
	rc_expect(&ra, &qa, UNIC_WC_SEND, 5, 0, 10);
	pair_expect_none(&ra, &qa);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 100, 0, 2500);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 101, 0, 10);
	pair_expect_none(&rb, &qb);
	assert_memory_equal(mb.mem, ma.mem, 2500);
	assert_memory_equal(mb.mem + 4096, ma.mem + 100, 10);
	assert_memory_equal(mb.mem + 8192, ma.mem, 3000);
	assert_memory_equal(ma.mem + 16384, mb.mem + 24576, 3000);
	assert_memory_equal(ma.mem + 20480, mb.mem + 28672, 100);
	rc_quiet();
}

static uint32_t frames_of_mixture(void)
{
	rc_bring_up(false);
	mixture();
	pair_run(100 * MS);
	mixture_check();
	return rc_wire.seen;
}

static void each_lost(void **state)
{
	uint32_t n = frames_of_mixture(), k;

	(void)state;
	assert_true(n > 10);
	for (k = 1; k <= n; k++) {
		rc_bring_up(false);
		rc_wire.lose = k;
		mixture();
		pair_run(100 * MS);
		mixture_check();
	}
}

static void each_twice(void **state)
{
	uint32_t n = frames_of_mixture(), k;

	(void)state;
	for (k = 1; k <= n; k++) {
		rc_bring_up(false);
		rc_wire.twice = k;
		mixture();
		pair_run(100 * MS);
		mixture_check();
	}
}

static void each_swapped(void **state)
{
	uint32_t n = frames_of_mixture(), k;

	(void)state;
	for (k = 1; k <= n; k++) {
		rc_bring_up(false);
		rc_wire.swap = k;
		mixture();
		pair_run(100 * MS);
		mixture_check();
	}
}

static void loss_and_duplicate(void **state)
{
	uint32_t n = frames_of_mixture(), k, j;

	(void)state;
	for (k = 1; k <= n; k++) {
		for (j = 1; j <= n + 6; j += 3) {
			rc_bring_up(false);
			rc_wire.lose = k;
			rc_wire.twice = j;
			mixture();
			pair_run(100 * MS);
			mixture_check();
		}
	}
}

static void late_dma(void **state)
{
	uint32_t i, batch;

	(void)state;
	for (batch = 1; batch < 9; batch += 3) {
		rc_bring_up(batch == 4);
		ra.port.late_dma = rb.port.late_dma = true;
		mixture();
		for (i = 0; i < 2000; i++) {
			rig_poll(&ra);
			rig_poll(&rb);
			fake_dma_run(&ra.port, batch);
			fake_dma_run(&rb.port, batch);
			ra.port.now_ns += 10000;
			rb.port.now_ns += 10000;
		}
		pair_run(MS);
		mixture_check();
	}
}

static void receiver_not_ready(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 2000, 0, 0);
	pair_run(5000);
	pair_expect_none(&ra, &qa);
	assert_true(rig_count(&rb, tx_rnr_naks) > 0);
	rig_recv(&rb, &qb, 2, &mb, 0, 2000);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_SEND, 1, 0, 2000);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 2, 0, 2000);
	assert_memory_equal(mb.mem, ma.mem, 2000);
	rc_quiet();
}

static void rnr_exhausted(void **state)
{
	struct unic_evt_obj evt;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 20, 0, 0);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 20, 0, 0);
	pair_run(10 * MS);
	rc_expect(&ra, &qa, 0, 1, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
	rc_expect(&ra, &qa, 0, 2, UNIC_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 4);
	rig_expect(&ra, UNIC_EVT_QP_ERROR, &evt);
	assert_int_equal(unic_from_le32(evt.detail), UNIC_WC_RNR_RETRY_EXC_ERR);
	rc_quiet();
}

static void retries_exhausted(void **state)
{
	uint32_t i;

	(void)state;
	rc_wire.cut = true;
	for (i = 0; i < 5; i++)
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 2000, mb.iova,
			 mb.stag);
	rig_recv(&ra, &qa, 50, &ma, 0, 10);
	/* a peer that may only be slow is waited for longer: 1, 1, 2, 4 times T */
	for (i = 0; i < 4; i++) {
		static const uint32_t until[] = { 1, 2, 4, 8 };
		uint64_t t_ns = 4096ull << 10;

		pair_run((until[i] - (i ? until[i - 1] : 0)) * t_ns -
			 (i ? MS / 5 : MS / 10));
		assert_int_equal(rig_count(&ra, timeouts), i);
		pair_expect_none(&ra, &qa);
		pair_run(MS / 5);
		assert_int_equal(rig_count(&ra, timeouts), i + 1);
	}
	rc_expect(&ra, &qa, 0, 0, UNIC_WC_RETRY_EXC_ERR, 0);
	for (i = 1; i < 5; i++)
		rc_expect(&ra, &qa, 0, i, UNIC_WC_WR_FLUSH_ERR, 0);
	rc_expect(&ra, &qa, UNIC_WC_RECV, 50, UNIC_WC_WR_FLUSH_ERR, 0);
	pair_expect_none(&ra, &qa);
	assert_int_equal(rig_count(&ra, timeouts), 4);
	/* a request posted to a failed QP is flushed, too */
	rig_send(&ra, &qa, UNIC_WR_SEND, 60, &ma, 0, 1, 0, 0);
	pair_run(MS);
	rc_expect(&ra, &qa, 0, 60, UNIC_WC_WR_FLUSH_ERR, 0);
	rc_quiet();
}

static void remote_refusals(void **state)
{
	uint32_t k;

	(void)state;
	for (k = 0; k < 4; k++) {
		rc_bring_up(k & 1);
		rig_send(&ra, &qa, k & 1 ? UNIC_WR_READ : UNIC_WR_WRITE, 1, &ma,
			 0, 100, k & 2 ? mb.iova + BYTES - 99 : mb.iova,
			 k & 2 ? mb.stag : mb.stag ^ 0x100);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 100, mb.iova,
			 mb.stag);
		rig_recv(&rb, &qb, 3, &mb, 0, 10);
		pair_run(10 * MS);
		rc_expect(&ra, &qa, 0, 1, UNIC_WC_REM_ACCESS_ERR, 0);
		rc_expect(&ra, &qa, 0, 2, UNIC_WC_WR_FLUSH_ERR, 0);
		rc_expect(&rb, &qb, 0, 3, UNIC_WC_WR_FLUSH_ERR, 0);
		pair_expect_none(&ra, &qa);
		rc_quiet();
	}
}

static void local_refusals(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 3000, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, BYTES - 5, 6, mb.iova,
		 mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 30, mb.iova, mb.stag);
	pair_run(MS);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 3000); /* in order */
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_BOUNDS);
	rc_expect(&ra, &qa, 0, 3, UNIC_WC_WR_FLUSH_ERR, 0);
	rc_quiet();
}

/*
 * Four WRITEs are sent and received as one run, except that the address or the
 * STag of the third differs from the one that was checked. Only the third is
 * refused, and none of its bytes is written.
 */
static void one_wrong_of_a_run(void **state)
{
	static const struct {
		int64_t off;
		uint32_t stag;
	} wrong[] = {
		{ 4096 - 4, 0 }, /* into the next page, outside the region */
		{ -4, 0 },	     { -8, 0 }, { 1ll << 32, 0 },
		{ -(1ll << 32), 0 }, { 16, 1 }, { 16, 0x100 },
	};
	static uint8_t before[BYTES];
	struct rig_mr ends, at;
	uint32_t k, i;

	(void)state;
	for (k = 0; k < 2 * sizeof(wrong) / sizeof(*wrong); k++) {
		struct rig *r = k & 1 ? &ra : &rb;

		rc_bring_up(false);
		assert_int_equal(rig_reg(r, 0, k & 1 ? qa.pd : qb.pd, 1,
					 UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
					 &ends),
				 0);
		memcpy(before, mb.mem, BYTES);
		for (i = 1; i <= 4; i++) {
			at = ends;
			if (i == 3) {
				at.iova += (uint64_t)wrong[k / 2].off;
				at.stag ^= wrong[k / 2].stag;
			}
			if (k & 1)
				rig_send(&ra, &qa, UNIC_WR_WRITE, i, &at, 0, 8,
					 mb.iova + 8 * i, mb.stag);
			else
				rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 8,
					 at.iova, at.stag);
		}
		pair_run(10 * MS);
		rc_expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 8);
		rc_expect(&ra, &qa, UNIC_WC_WRITE, 2, 0, 8);
		rc_expect(&ra, &qa, 0, 3,
			  k & 1 ? UNIC_WC_LOC_PROT_ERR : UNIC_WC_REM_ACCESS_ERR,
			  0);
		rc_expect(&ra, &qa, 0, 4, UNIC_WC_WR_FLUSH_ERR, 0);
		rc_quiet();
		assert_memory_equal(before + 24, mb.mem + 24, BYTES - 24);
	}
}

static void too_long(void **state)
{
	(void)state;
	rig_recv(&rb, &qb, 9, &mb, 0, 2000);
	rig_recv(&rb, &qb, 10, &mb, 0, 2000);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 2001, 0, 0);
	pair_run(10 * MS);
	rc_expect(&ra, &qa, 0, 1, UNIC_WC_REM_INV_REQ_ERR, 0);
	rc_expect(&rb, &qb, 0, 9, UNIC_WC_LOC_LEN_ERR, 0);
	rc_expect(&rb, &qb, 0, 10, UNIC_WC_WR_FLUSH_ERR, 0);
	rc_quiet();
}

static void cq_overflow(void **state)
{
	struct unic_evt_obj evt;
	uint32_t i, n = 0;
	struct unic_cqe cqe;

	(void)state;
	for (i = 0; i < RIG_SLOTS; i++)
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 8, mb.iova,
			 mb.stag);
	pair_run(MS);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 16, &ma, 0, 8, mb.iova, mb.stag);
	pair_run(MS);
	rig_expect(&ra, UNIC_EVT_CQ_ERROR, &evt);
	assert_int_equal(unic_from_le32(evt.id), qa.cq);
	rig_expect(&ra, UNIC_EVT_QP_ERROR, &evt);
	assert_int_equal(rig_count(&ra, cq_overflows), 1);
	while (rig_cqe(&ra, &qa, &cqe))
		n++;
	assert_int_equal(n, RIG_SLOTS);
	rc_quiet();
}

static void garbage_work(void **state)
{
	uint32_t i, k, n;
	struct unic_cqe cqe;

	(void)state;
	srand(7);
	for (k = 0; k < 60; k++) {
		rc_bring_up(false);
		for (i = 0; i < RIG_SLOTS * 64; i++) {
			((uint8_t *)qa.sq)[i] = (uint8_t)(rand() >> 7);
			((uint8_t *)qa.rq)[i] = (uint8_t)(rand() >> 7);
		}
		if (k & 1) /* a valid opcode without flags */
			qa.sq[0].opcode = UNIC_WR_WRITE, qa.sq[0].flags = 0;
		rig_ring(&ra, 0, UNIC_DB_RQ, qa.row, 8);
		rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, 8);
		pair_run(30 * MS);
		for (n = 0; rig_cqe(&ra, &qa, &cqe); n++)
			assert_int_not_equal(cqe.status, UNIC_WC_SUCCESS);
		assert_in_range(n, 12, 16); /* some requests take two slots */
		rc_quiet();
	}
}

static void wild_doorbells(void **state)
{
	(void)state;
	rig_recv(&ra, &qa, 1, &ma, 0, 8);
	rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, RIG_SLOTS + 1);
	pair_run(MS);
	assert_int_equal(rig_count(&ra, db_bad), 1);
	rc_expect(&ra, &qa, 0, 1, UNIC_WC_WR_FLUSH_ERR, 0);
	rc_quiet();
}

/* Has A send 50 bytes and keeps the frame back, in @frame. Returns its length. */
static uint32_t hold_a_write(uint8_t *frame)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 50, mb.iova, mb.stag);
	rc_wire.swap = 1;
	pair_run(1000);
	memcpy(frame, rc_wire.held, rc_wire.held_len);
	memset(mb.mem, 0xee, 64);
	return rc_wire.held_len;
}

/* The frame is lost; its request is sent again, and arrives. */
static void let_it_come_again(void)
{
	rc_wire.held_len = 0;
	pair_run(10 * MS);
	rc_expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 50);
	assert_memory_equal(mb.mem, ma.mem, 50);
}

/* A frame with any one bit inverted is dropped, and its request is sent
 * again. */
static void damaged(void **state)
{
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t bit, len, refused, tried = 0;

	(void)state;
	len = hold_a_write(frame);
	for (bit = 14 * 8; bit < len * 8; bit++) {
		if (bit / 8 == 40 || bit / 8 == 41 || bit / 8 == 46)
			continue; /* UDP checksum, FECN/BECN: not protected */
		tried++;
		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		fake_deliver(&rb.port, frame, len, 0);
		rig_poll(&rb);
		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(mb.mem[0], 0xee);
	}
	refused = (uint32_t)(rig_count(&rb, rx_bad_icrc) +
			     rig_count(&rb, rx_bad_ip) +
			     rig_count(&rb, rx_short) +
			     rig_count(&rb, rx_not_ours));
	assert_int_equal(refused, tried);
	let_it_come_again();
}

/* A frame cut to any length is dropped and counted as too short. */
static void truncated(void **state)
{
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t n, len;

	(void)state;
	len = hold_a_write(frame);
	for (n = 0; n < len; n++) {
		fake_deliver(&rb.port, frame, n, rc_wire.held_flags);
		rig_poll(&rb);
		assert_int_equal(mb.mem[0], 0xee);
	}
	assert_int_equal(rig_count(&rb, rx_short), len);
	let_it_come_again();
	rc_quiet();
}

/* Has @frame, whose length fields are big-endian, say that it has @n bytes, with
 * a right IP checksum. */
static void say_length(uint8_t *frame, uint32_t n)
{
	uint32_t ip = n - UNIC_ETH_BYTES, udp = ip - UNIC_IP_BYTES, sum = 0, i;
	uint8_t *at = frame + UNIC_ETH_BYTES;

	at[2] = (uint8_t)(ip >> 8);
	at[3] = (uint8_t)ip;
	at[UNIC_IP_BYTES + 4] = (uint8_t)(udp >> 8);
	at[UNIC_IP_BYTES + 5] = (uint8_t)udp;
	at[10] = at[11] = 0;
	for (i = 0; i < UNIC_IP_BYTES; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	at[10] = (uint8_t)(sum >> 8);
	at[11] = (uint8_t)sum;
}

/* A frame with an ICRC that is cut, and says that it has the bytes that are left,
 * is dropped for the ICRC, wherever the cut is. */
static void truncated_and_short_by_its_word(void **state)
{
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t n, len, tried = 0;

	(void)state;
	len = hold_a_write(frame);
	for (n = UNIC_EXT_OFF + UNIC_ICRC_BYTES; n < len; n++) {
		if ((n - UNIC_ETH_BYTES) % 4)
			continue; /* no such packets */
		say_length(frame, n);
		fake_deliver(&rb.port, frame, n, 0);
		rig_poll(&rb);
		tried++;
		assert_int_equal(mb.mem[0], 0xee);
		assert_int_equal(rig_count(&rb, rx_bad_icrc), tried);
	}
	assert_true(tried > 10);
	let_it_come_again();
	rc_quiet();
}

/* The k-th call of the port fails, for every k: each request completes once,
 * and nothing stays held (INV-10). */
static void each_call_fails(void **state)
{
	uint32_t k, calls, n;
	struct unic_cqe cqe;
	uint32_t seen;

	(void)state;
	rc_bring_up(false);
	calls = ra.port.calls;
	mixture();
	pair_run(MS);
	calls = ra.port.calls - calls;
	for (k = 1; k <= 2 * calls; k++) {
		struct rig *r = k & 1 ? &ra : &rb;

		rc_bring_up(false);
		r->port.fail_call = r->port.calls + (k + 1) / 2;
		mixture();
		pair_run(100 * MS);
		for (n = 0, seen = 0; rig_cqe(&ra, &qa, &cqe); n++) {
			seen |= 1u << unic_from_le64(cqe.wr_id);
			/* no region was evicted */
			assert_int_not_equal(cqe.status, UNIC_WC_EVICTED);
			assert_int_not_equal(cqe.status, UNIC_WC_REM_EVICTED);
		}
		if (ra.nic.cqs.cq[qa.cq].error)
			continue; /* completions could not be written */
		assert_int_equal(n, 5);
		assert_int_equal(seen, 0x3e);
		/* the peer may wait for the rest of a message */
		rc_quiet_of(&ra);
	}
}

static void destroyed_midway(void **state)
{
	struct unic_cmd_obj cmd = { 0 };
	struct unic_evt_obj evt;
	uint32_t i;
	uint8_t status;

	(void)state;
	ra.port.late_dma = true;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 3000, mb.iova, mb.stag);
	rig_poll(&ra);
	assert_true(fake_dma_waiting(&ra.port) > 0);
	cmd.id = unic_to_le32(qa.qpn);
	status = rig_cmd(&ra, UNIC_CMD_QP_DESTROY, &cmd, NULL);
	assert_int_equal(status, UNIC_ST_PENDING);
	for (i = 0; i < 8; i++) {
		fake_dma_run(&ra.port, 64);
		rig_poll(&ra);
	}
	rig_expect(&ra, UNIC_EVT_QP_GONE, &evt);
	assert_int_equal(unic_from_le32(evt.id), qa.qpn);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_DESTROY, &cmd, NULL),
			 UNIC_ST_NO_QP);
	cmd.id = unic_to_le32(qa.cq);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_CQ_DESTROY, &cmd, NULL), 0);
	rc_quiet();
}

static void armed_once(void **state)
{
	uint32_t row = qa.row, before = ra.port.rung[1];
	struct unic_db_page *db = (void *)ra.nic.procs.proc[0].db;

	(void)state;
	db->tail[row].arm = unic_to_le32(0);
	rig_ring(&ra, 0, UNIC_DB_ARM, row, 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova, mb.stag);
	pair_run(MS);
	assert_int_equal(ra.port.rung[1], before + 1);
	/* armed for a record that is already written: an interrupt at once */
	db->tail[row].arm = unic_to_le32(1);
	rig_ring(&ra, 0, UNIC_DB_ARM, row, 1);
	pair_run(MS);
	assert_int_equal(ra.port.rung[1], before + 2);
	/* armed for a later, solicited record: a WRITE causes no interrupt */
	db->tail[row].arm = unic_to_le32(0x80000002);
	rig_ring(&ra, 0, UNIC_DB_ARM, row, 0x80000002);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 8, mb.iova, mb.stag);
	pair_run(MS);
	assert_int_equal(ra.port.rung[1], before + 2);
}

/* Two processes with a backlog each share the link by their weights. */
static void fair_by_weight(void **state)
{
	struct rig_qp q2, q3;
	struct rig_mr m2;
	uint32_t pd2, pd3, i, d1, d2;

	(void)state;
	rig_attach(&ra, 1, 3);
	rig_attach(&rb, 1, 3);
	pd2 = rig_pd(&ra, 1);
	pd3 = rig_pd(&rb, 1);
	rig_qp(&ra, 1, pd2, 1, &q2);
	rig_qp(&rb, 1, pd3, 1, &q3);
	rig_connect(&ra, &q2, &rb, &q3);
	assert_int_equal(rig_reg(&ra, 1, pd2, PAIR_PAGES, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &m2),
			 0);
	rc_wire.cut = true; /* frames are counted, and lost */
	for (i = 0; i < 8; i++) {
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, BYTES, mb.iova,
			 mb.stag);
		rig_send(&ra, &q2, UNIC_WR_WRITE, i, &m2, 0, BYTES, mb.iova,
			 mb.stag);
	}
	unic_nic_poll(&ra.nic);
	unic_nic_poll(&ra.nic);
	d1 = unic_psn_add(ra.nic.qps.qp[qa.qpn & 0xff].sq.psn, -0x1000u);
	d2 = unic_psn_add(ra.nic.qps.qp[q2.qpn & 0xff].sq.psn, -0x1000u);
	assert_true(d1 > 8);
	assert_in_range(d2, 2 * d1, 4 * d1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(write_sizes, rc_up),
		cmocka_unit_test_setup(read_sizes, rc_up),
		cmocka_unit_test_setup(send_sizes, rc_up),
		cmocka_unit_test_setup(immediate, rc_up),
		cmocka_unit_test_setup(inline_and_lists, rc_up),
		cmocka_unit_test_setup(write_sizes, rc_up_icrc),
		cmocka_unit_test_setup(read_sizes, rc_up_icrc),
		cmocka_unit_test_setup(send_sizes, rc_up_icrc),
		cmocka_unit_test(each_lost),
		cmocka_unit_test(each_twice),
		cmocka_unit_test(each_swapped),
		cmocka_unit_test(loss_and_duplicate),
		cmocka_unit_test(late_dma),
		cmocka_unit_test_setup(receiver_not_ready, rc_up),
		cmocka_unit_test_setup(rnr_exhausted, rc_up),
		cmocka_unit_test_setup(retries_exhausted, rc_up),
		cmocka_unit_test(remote_refusals),
		cmocka_unit_test_setup(local_refusals, rc_up),
		cmocka_unit_test(one_wrong_of_a_run),
		cmocka_unit_test_setup(too_long, rc_up),
		cmocka_unit_test_setup(cq_overflow, rc_up),
		cmocka_unit_test(garbage_work),
		cmocka_unit_test_setup(wild_doorbells, rc_up),
		cmocka_unit_test_setup(damaged, rc_up_icrc),
		cmocka_unit_test_setup(truncated, rc_up_icrc),
		cmocka_unit_test_setup(truncated_and_short_by_its_word,
				       rc_up_icrc),
		cmocka_unit_test_setup(truncated, rc_up),
		cmocka_unit_test(each_call_fails),
		cmocka_unit_test_setup(destroyed_midway, rc_up),
		cmocka_unit_test_setup(armed_once, rc_up),
		cmocka_unit_test_setup(fair_by_weight, rc_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
