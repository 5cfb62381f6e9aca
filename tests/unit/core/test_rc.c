/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_rc.c - reliable connections: two whole NICs on one wire, which loses,
 * repeats, swaps and damages frames as the test likes.
 */
#include "unit.h"

#include "pair.h"

#define BYTES PAIR_BYTES
#define MS    1000000ull
#define MTU   1024u

/* What the wire does to the frames of both directions, counted together. */
static struct wire {
	uint32_t seen;
	uint32_t lose, twice, swap; /* number of that frame, from 1; 0: none */
	bool cut;
	uint8_t held[FAKE_FRAME_BYTES];
	uint32_t held_len, held_flags;
} wire;

static void on_frame(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	uint32_t n = ++wire.seen;

	if (wire.cut || n == wire.lose)
		return;
	if (n == wire.swap) {
		memcpy(wire.held, frame, len);
		wire.held_len = len;
		wire.held_flags = flags;
		port->user = &wire;
		return;
	}
	fake_deliver(port->peer, frame, len, flags);
	if (n == wire.twice)
		fake_deliver(port->peer, frame, len, flags);
	if (port->user && wire.held_len) { /* behind the next of its way */
		fake_deliver(port->peer, wire.held, wire.held_len,
			     wire.held_flags);
		wire.held_len = 0;
		port->user = NULL;
	}
}

static void bring_up(bool icrc)
{
	memset(&wire, 0, sizeof(wire));
	pair_make(icrc, PAIR_PAGES);
	ra.port.on_frame = rb.port.on_frame = on_frame;
}

static int up(void **state)
{
	(void)state;
	bring_up(false);
	return 0;
}

static int up_icrc(void **state)
{
	(void)state;
	bring_up(true);
	return 0;
}

static void expect(struct rig *r, struct rig_qp *qp, uint8_t opcode,
		   uint64_t wr_id, uint8_t status, uint32_t len)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(r, qp, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(cqe.status, status);
	if (opcode)
		assert_int_equal(cqe.opcode, opcode);
	if (!status)
		assert_int_equal(unic_from_le32(cqe.byte_len), len);
	assert_int_equal(unic_from_le32(cqe.qpn), qp->qpn);
}

static void expect_none(struct rig *r, struct rig_qp *qp)
{
	struct unic_cqe cqe;

	assert_false(rig_cqe(r, qp, &cqe));
}

static void run(uint64_t ns)
{
	rig_run2(&ra, &rb, ns);
}

/* Every hold is given back: nothing keeps a region when all is quiet. */
static void check_quiet_of(const struct rig *r)
{
	uint32_t i;

	for (i = 0; i < UNIC_MRS; i++) {
		assert_int_equal(r->nic.mrs.mr[i].holds, 0);
		assert_int_equal(r->nic.mrs.mr[i].dmas, 0);
	}
	assert_int_equal(r->port.tx_held, 0);
	assert_int_equal(r->port.rx_done, r->port.rx_head);
}

static void check_quiet(void)
{
	check_quiet_of(&ra);
	check_quiet_of(&rb);
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
		run(MS);
		expect(&ra, &qa, UNIC_WC_WRITE, i, 0, n);
		assert_memory_equal(mb.mem + 5, ma.mem + 3, n);
		assert_int_equal(mb.mem[4], 0xee);
		assert_int_equal(mb.mem[5 + n], 0xee);
	}
	check_quiet();
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
		run(MS);
		expect(&ra, &qa, UNIC_WC_READ, i, 0, n);
		assert_memory_equal(ma.mem + 7, mb.mem + 2, n);
		assert_int_equal(ma.mem[6], 0xee);
		assert_int_equal(ma.mem[7 + n], 0xee);
	}
	check_quiet();
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
		run(MS);
		expect(&ra, &qa, UNIC_WC_SEND, i, 0, n);
		expect(&rb, &qb, UNIC_WC_RECV, 100 + i, 0, n);
		assert_memory_equal(mb.mem + 9, ma.mem + 1, n);
		assert_int_equal(mb.mem[8], 0xee);
		assert_int_equal(mb.mem[9 + n], 0xee);
	}
	check_quiet();
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
	run(MS);
	expect(&ra, &qa, UNIC_WC_SEND, 11, 0, 64);
	expect(&ra, &qa, UNIC_WC_WRITE, 12, 0, 3000);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(unic_from_le32(cqe.imm), 0xabcd0123);
	assert_int_equal(cqe.flags, UNIC_WC_WITH_IMM);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.opcode, UNIC_WC_RECV_WRITE_IMM);
	assert_int_equal(unic_from_le32(cqe.imm), 0x55);
	assert_int_equal(unic_from_le32(cqe.byte_len), 3000);
	assert_memory_equal(mb.mem + 4096, ma.mem, 3000);
	check_quiet();
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
		run(MS);
		expect(&ra, &qa, UNIC_WC_WRITE, 0, 0, len[i]);
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
		run(MS);
		expect(&ra, &qa, UNIC_WC_WRITE, 0, 0, off);
		assert_memory_equal(mb.mem, ma.mem, off);
	}
	check_quiet();
}

/* A mixture of everything; what each must have done is checked. */
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
	expect(&ra, &qa, UNIC_WC_SEND, 1, 0, 2500);
	expect(&ra, &qa, UNIC_WC_READ, 2, 0, 3000);
	expect(&ra, &qa, UNIC_WC_WRITE, 3, 0, 3000);
	expect(&ra, &qa, UNIC_WC_READ, 4, 0, 100);
	expect(&ra, &qa, UNIC_WC_SEND, 5, 0, 10);
	expect_none(&ra, &qa);
	expect(&rb, &qb, UNIC_WC_RECV, 100, 0, 2500);
	expect(&rb, &qb, UNIC_WC_RECV, 101, 0, 10);
	expect_none(&rb, &qb);
	assert_memory_equal(mb.mem, ma.mem, 2500);
	assert_memory_equal(mb.mem + 4096, ma.mem + 100, 10);
	assert_memory_equal(mb.mem + 8192, ma.mem, 3000);
	assert_memory_equal(ma.mem + 16384, mb.mem + 24576, 3000);
	assert_memory_equal(ma.mem + 20480, mb.mem + 28672, 100);
	check_quiet();
}

static uint32_t frames_of_mixture(void)
{
	bring_up(false);
	mixture();
	run(100 * MS);
	mixture_check();
	return wire.seen;
}

static void each_lost(void **state)
{
	uint32_t n = frames_of_mixture(), k;

	(void)state;
	assert_true(n > 10);
	for (k = 1; k <= n; k++) {
		bring_up(false);
		wire.lose = k;
		mixture();
		run(100 * MS);
		mixture_check();
	}
}

static void each_twice(void **state)
{
	uint32_t n = frames_of_mixture(), k;

	(void)state;
	for (k = 1; k <= n; k++) {
		bring_up(false);
		wire.twice = k;
		mixture();
		run(100 * MS);
		mixture_check();
	}
}

static void each_swapped(void **state)
{
	uint32_t n = frames_of_mixture(), k;

	(void)state;
	for (k = 1; k <= n; k++) {
		bring_up(false);
		wire.swap = k;
		mixture();
		run(100 * MS);
		mixture_check();
	}
}

static void loss_and_duplicate(void **state)
{
	uint32_t n = frames_of_mixture(), k, j;

	(void)state;
	for (k = 1; k <= n; k++) {
		for (j = 1; j <= n + 6; j += 3) {
			bring_up(false);
			wire.lose = k;
			wire.twice = j;
			mixture();
			run(100 * MS);
			mixture_check();
		}
	}
}

static void late_dma(void **state)
{
	uint32_t i, batch;

	(void)state;
	for (batch = 1; batch < 9; batch += 3) {
		bring_up(batch == 4);
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
		run(MS);
		mixture_check();
	}
}

static void receiver_not_ready(void **state)
{
	(void)state;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 2000, 0, 0);
	run(5000);
	expect_none(&ra, &qa);
	assert_true(rig_count(&rb, tx_rnr_naks) > 0);
	rig_recv(&rb, &qb, 2, &mb, 0, 2000);
	run(MS);
	expect(&ra, &qa, UNIC_WC_SEND, 1, 0, 2000);
	expect(&rb, &qb, UNIC_WC_RECV, 2, 0, 2000);
	assert_memory_equal(mb.mem, ma.mem, 2000);
	check_quiet();
}

static void rnr_exhausted(void **state)
{
	struct unic_evt_obj evt;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 20, 0, 0);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 20, 0, 0);
	run(10 * MS);
	expect(&ra, &qa, 0, 1, UNIC_WC_RNR_RETRY_EXC_ERR, 0);
	expect(&ra, &qa, 0, 2, UNIC_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 4);
	rig_expect(&ra, UNIC_EVT_QP_ERROR, &evt);
	assert_int_equal(unic_from_le32(evt.detail), UNIC_WC_RNR_RETRY_EXC_ERR);
	check_quiet();
}

static void retries_exhausted(void **state)
{
	uint32_t i;

	(void)state;
	wire.cut = true;
	for (i = 0; i < 5; i++)
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 2000, mb.iova,
			 mb.stag);
	rig_recv(&ra, &qa, 50, &ma, 0, 10);
	run(15 * MS);
	expect_none(&ra, &qa);
	run(5 * MS);
	expect(&ra, &qa, 0, 0, UNIC_WC_RETRY_EXC_ERR, 0);
	for (i = 1; i < 5; i++)
		expect(&ra, &qa, 0, i, UNIC_WC_WR_FLUSH_ERR, 0);
	expect(&ra, &qa, UNIC_WC_RECV, 50, UNIC_WC_WR_FLUSH_ERR, 0);
	expect_none(&ra, &qa);
	assert_int_equal(rig_count(&ra, timeouts), 4);
	/* what is posted to a dead QP is flushed as well */
	rig_send(&ra, &qa, UNIC_WR_SEND, 60, &ma, 0, 1, 0, 0);
	run(MS);
	expect(&ra, &qa, 0, 60, UNIC_WC_WR_FLUSH_ERR, 0);
	check_quiet();
}

static void remote_refusals(void **state)
{
	uint32_t k;

	(void)state;
	for (k = 0; k < 4; k++) {
		bring_up(k & 1);
		rig_send(&ra, &qa, k & 1 ? UNIC_WR_READ : UNIC_WR_WRITE, 1, &ma,
			 0, 100, k & 2 ? mb.iova + BYTES - 99 : mb.iova,
			 k & 2 ? mb.stag : mb.stag ^ 0x100);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 100, mb.iova,
			 mb.stag);
		rig_recv(&rb, &qb, 3, &mb, 0, 10);
		run(10 * MS);
		expect(&ra, &qa, 0, 1, UNIC_WC_REM_ACCESS_ERR, 0);
		expect(&ra, &qa, 0, 2, UNIC_WC_WR_FLUSH_ERR, 0);
		expect(&rb, &qb, 0, 3, UNIC_WC_WR_FLUSH_ERR, 0);
		expect_none(&ra, &qa);
		check_quiet();
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
	run(MS);
	expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 3000); /* in order */
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_BOUNDS);
	expect(&ra, &qa, 0, 3, UNIC_WC_WR_FLUSH_ERR, 0);
	check_quiet();
}

/*
 * Four WRITEs that go out and come in as one run, but for the third: its address
 * or its STag is not what the first one's check was about. It alone is refused,
 * and nothing of it is written.
 */
static void one_wrong_of_a_run(void **state)
{
	static const struct {
		int64_t off;
		uint32_t stag;
	} wrong[] = {
		{ 4096 - 4, 0 }, /* into the next page: not in the region */
		{ -4, 0 },	     { -8, 0 }, { 1ll << 32, 0 },
		{ -(1ll << 32), 0 }, { 16, 1 }, { 16, 0x100 },
	};
	static uint8_t before[BYTES];
	struct rig_mr ends, at;
	uint32_t k, i;

	(void)state;
	for (k = 0; k < 2 * sizeof(wrong) / sizeof(*wrong); k++) {
		struct rig *r = k & 1 ? &ra : &rb;

		bring_up(false);
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
		run(10 * MS);
		expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 8);
		expect(&ra, &qa, UNIC_WC_WRITE, 2, 0, 8);
		expect(&ra, &qa, 0, 3,
		       k & 1 ? UNIC_WC_LOC_PROT_ERR : UNIC_WC_REM_ACCESS_ERR,
		       0);
		expect(&ra, &qa, 0, 4, UNIC_WC_WR_FLUSH_ERR, 0);
		check_quiet();
		assert_memory_equal(before + 24, mb.mem + 24, BYTES - 24);
	}
}

static void too_long(void **state)
{
	(void)state;
	rig_recv(&rb, &qb, 9, &mb, 0, 2000);
	rig_recv(&rb, &qb, 10, &mb, 0, 2000);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 2001, 0, 0);
	run(10 * MS);
	expect(&ra, &qa, 0, 1, UNIC_WC_REM_INV_REQ_ERR, 0);
	expect(&rb, &qb, 0, 9, UNIC_WC_LOC_LEN_ERR, 0);
	expect(&rb, &qb, 0, 10, UNIC_WC_WR_FLUSH_ERR, 0);
	check_quiet();
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
	run(MS);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 16, &ma, 0, 8, mb.iova, mb.stag);
	run(MS);
	rig_expect(&ra, UNIC_EVT_CQ_ERROR, &evt);
	assert_int_equal(unic_from_le32(evt.id), qa.cq);
	rig_expect(&ra, UNIC_EVT_QP_ERROR, &evt);
	assert_int_equal(rig_count(&ra, cq_overflows), 1);
	while (rig_cqe(&ra, &qa, &cqe))
		n++;
	assert_int_equal(n, RIG_SLOTS);
	check_quiet();
}

static void garbage_work(void **state)
{
	uint32_t i, k, n;
	struct unic_cqe cqe;

	(void)state;
	srand(7);
	for (k = 0; k < 60; k++) {
		bring_up(false);
		for (i = 0; i < RIG_SLOTS * 64; i++) {
			((uint8_t *)qa.sq)[i] = (uint8_t)(rand() >> 7);
			((uint8_t *)qa.rq)[i] = (uint8_t)(rand() >> 7);
		}
		if (k & 1) /* well-formed for a moment */
			qa.sq[0].opcode = UNIC_WR_WRITE, qa.sq[0].flags = 0;
		rig_ring(&ra, 0, UNIC_DB_RQ, qa.row, 8);
		rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, 8);
		run(30 * MS);
		for (n = 0; rig_cqe(&ra, &qa, &cqe); n++)
			assert_int_not_equal(cqe.status, UNIC_WC_SUCCESS);
		assert_in_range(n, 12, 16); /* some took two slots */
		check_quiet();
	}
}

static void wild_doorbells(void **state)
{
	(void)state;
	rig_recv(&ra, &qa, 1, &ma, 0, 8);
	rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, RIG_SLOTS + 1);
	run(MS);
	assert_int_equal(rig_count(&ra, db_bad), 1);
	expect(&ra, &qa, 0, 1, UNIC_WC_WR_FLUSH_ERR, 0);
	check_quiet();
}

/* Any single bit wrong on the wire: not delivered wrongly, and made good. */
static void damaged(void **state)
{
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t bit, len, refused, tried = 0;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 50, mb.iova, mb.stag);
	wire.swap = 1; /* take the frame away */
	run(1000);
	len = wire.held_len;
	memcpy(frame, wire.held, len);
	memset(mb.mem, 0xee, 64);
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
	wire.held_len = 0;
	run(10 * MS);
	expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 50);
	assert_memory_equal(mb.mem, ma.mem, 50);
}

/* Every length from nothing to whole, with and without a right ICRC. */
static void truncated(void **state)
{
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t n, len;

	(void)state;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 50, mb.iova, mb.stag);
	wire.swap = 1;
	run(1000);
	len = wire.held_len;
	memcpy(frame, wire.held, len);
	memset(mb.mem, 0xee, 64);
	for (n = 0; n < len; n++) {
		fake_deliver(&rb.port, frame, n, UNIC_FRAME_NO_ICRC);
		rig_poll(&rb);
		assert_int_equal(mb.mem[0], 0xee);
	}
	assert_int_equal(rig_count(&rb, rx_short), len);
	wire.held_len = 0;
	run(10 * MS);
	expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 50);
	check_quiet();
}

/* The remote region was taken back: that request alone fails. */
static void remote_evicted(void **state)
{
	struct rig_mr other;
	uint32_t k;

	(void)state;
	for (k = 0; k < 6; k++) {
		bring_up(false);
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
		run(MS);
		wire.seen = 0;
		wire.lose = k;
		rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 1500, mb.iova,
			 mb.stag);
		rig_send(&ra, &qa, k & 1 ? UNIC_WR_READ : UNIC_WR_WRITE, 2, &ma,
			 0, 3000, other.iova, other.stag);
		rig_send(&ra, &qa, UNIC_WR_READ, 3, &ma, 16384, 3000,
			 mb.iova + 8192, mb.stag);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 4, &ma, 0, 4000,
			 mb.iova + 4096, mb.stag);
		run(50 * MS);
		expect(&ra, &qa, 0, 1, 0, 1500);
		expect(&ra, &qa, 0, 2, UNIC_WC_REM_EVICTED, 0);
		expect(&ra, &qa, 0, 3, 0, 3000);
		expect(&ra, &qa, 0, 4, 0, 4000);
		assert_memory_equal(mb.mem + 4096, ma.mem, 4000);
		/* and alone, at the end of the queue */
		rig_send(&ra, &qa, k & 1 ? UNIC_WR_READ : UNIC_WR_WRITE, 5, &ma,
			 0, 3000, other.iova, other.stag);
		run(MS);
		expect(&ra, &qa, 0, 5, UNIC_WC_REM_EVICTED, 0);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 6, &ma, 0, 2000, mb.iova,
			 mb.stag);
		run(MS);
		expect(&ra, &qa, 0, 6, 0, 2000);
		assert_memory_equal(mb.mem, ma.mem, 2000);
		check_quiet();
	}
}

/* ------------------------------------------------------------------ tokens */

static uint64_t token_alloc(const struct rig_mr *mr, uint32_t off, uint32_t len,
			    uint32_t *index)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(qb.pd),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova + off),
		.length = unic_to_le32(len),
	};
	struct unic_cpl_token cpl;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl), 0);
	*index = unic_from_le32(cpl.index);
	return unic_from_le64(cpl.key);
}

static void tagged(uint64_t wr_id, uint32_t ctrl, uint32_t payload,
		   uint32_t index, uint64_t key)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];

	rig_send(&ra, &qa, UNIC_WR_TOKEN, wr_id, &ma, 0, ctrl + payload, key,
		 index);
	s->ctrl_len = unic_to_le32(ctrl);
}

static void expect_tagged(uint64_t wr_id, uint32_t ctrl, uint32_t payload,
			  uint32_t index, uint8_t refused)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.opcode, UNIC_WC_RECV_TOKEN);
	assert_int_equal(cqe.status, 0);
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(unic_from_le32(cqe.byte_len), ctrl);
	assert_int_equal(unic_from_le32(cqe.imm), payload);
	assert_int_equal(unic_from_le32(cqe.token), index);
	assert_int_equal(cqe.detail, refused);
}

static void tokens(void **state)
{
	static const uint32_t len[] = { 0,    1,    896,  897,	1024,
					1025, 1920, 1921, 4000, 9000 };
	uint32_t i, index, ctrl;
	uint64_t key;

	(void)state;
	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		ctrl = i & 1 ? 128 : i & 2 ? 0 : 17;
		memset(mb.mem, 0xee, BYTES);
		key = token_alloc(&mb, 4096, len[i] ? len[i] : 1, &index);
		rig_recv(&rb, &qb, i, &mb, 0, 128);
		tagged(i, ctrl, len[i], index, key);
		run(MS);
		expect(&ra, &qa, UNIC_WC_TOKEN, i, 0, ctrl + len[i]);
		expect_tagged(i, ctrl, len[i], index, 0);
		assert_memory_equal(mb.mem, ma.mem, ctrl);
		assert_memory_equal(mb.mem + 4096, ma.mem + ctrl, len[i]);
		assert_int_equal(mb.mem[4096 + len[i]], 0xee);
		/* single use: the same again places nothing and lives on */
		memset(mb.mem, 0xee, BYTES);
		rig_recv(&rb, &qb, i, &mb, 0, 128);
		tagged(i, ctrl, len[i], index, key);
		run(MS);
		expect(&ra, &qa, UNIC_WC_TOKEN, i, 0, ctrl + len[i]);
		expect_tagged(i, ctrl, 0, index, UNIC_TOKEN_USED);
		assert_memory_equal(mb.mem, ma.mem, ctrl);
		assert_int_equal(mb.mem[4096], 0xee);
	}
	check_quiet();
}

/* Part of the message goes to the receive: not more than there is of it, and not
 * more than may be. */
static void control_part_has_bounds(void **state)
{
	static const uint32_t ctrl[] = { 11, UNIC_TOKEN_CTRL_MAX + 1 };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct unic_cqe cqe;

		up(state);
		rig_recv(&rb, &qb, 9, &mb, 0, 4096);
		rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ma, 0, i ? 2000 : 10, 5,
			 6);
		qa.sq[(qa.sq_tail - 1) % RIG_SLOTS].ctrl_len =
			unic_to_le32(ctrl[i]);
		run(MS);
		assert_true(rig_cqe(&ra, &qa, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_LOC_QP_OP_ERR);
		assert_int_equal(cqe.detail, UNIC_WD_LENGTH);
		expect_none(&rb, &qb);
	}
}

/* INV-4 for tokens: its owner may use the buffer again after TOKEN_END. */
static void token_ends_after_its_last_byte(void **state)
{
	struct unic_cmd_qp_modify dead = { .proc = unic_to_le32(qb.proc),
					   .qpn = unic_to_le32(qb.qpn),
					   .state = UNIC_QPS_ERR };
	uint32_t index, i;
	uint64_t key = token_alloc(&mb, 4096, 500, &index);
	struct unic_evt_token evt;

	(void)state;
	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	rig_recv(&rb, &qb, 2, &mb, 0, 128);
	tagged(1, 0, 500, index, key); /* both receives are fetched for it */
	run(MS);
	expect_tagged(1, 0, 500, index, 0);
	memset(mb.mem, 0xee, BYTES);
	key = token_alloc(&mb, 4096, 500, &index);
	rb.port.late_dma = true;
	tagged(2, 0, 500, index, key);
	run(MS / 10);
	assert_int_equal(fake_dma_waiting(&rb.port), 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &dead, NULL), 0);
	rig_poll(&rb);
	assert_int_equal(mb.mem[4096], 0xee);
	assert_false(rig_event(&rb, &evt));
	for (i = 0; i < 8; i++) {
		fake_dma_run(&rb.port, 64);
		rig_poll(&rb);
	}
	assert_memory_equal(mb.mem + 4096, ma.mem, 500);
	rig_expect(&rb, UNIC_EVT_TOKEN_END, &evt);
	assert_int_equal(unic_from_le32(evt.end), UNIC_TOKEN_ABORTED);
}

static void token_refusals(void **state)
{
	uint32_t index;
	uint64_t key = token_alloc(&mb, 4096, 3000, &index);

	(void)state;
	memset(mb.mem, 0xee, BYTES);
	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	rig_recv(&rb, &qb, 2, &mb, 0, 128);
	rig_recv(&rb, &qb, 3, &mb, 0, 128);
	rig_recv(&rb, &qb, 4, &mb, 0, 128);
	tagged(1, 8, 3000, index, key ^ 1);
	tagged(2, 8, 3001, index, key);
	tagged(3, 8, 10, UNIC_TOKENS, key);
	run(MS);
	assert_int_equal(mb.mem[4096], 0xee);
	tagged(4, 8, 3000, index, key); /* still good */
	run(MS);
	expect_tagged(1, 8, 0, index, UNIC_TOKEN_BAD_KEY);
	expect_tagged(2, 8, 0, index, UNIC_TOKEN_TOO_LONG);
	expect_tagged(3, 8, 0, UNIC_TOKENS, UNIC_TOKEN_BAD_KEY);
	expect_tagged(4, 8, 3000, index, 0);
	check_quiet();
}

/* INV-9: whatever is lost or doubled, the token ends once, USED. */
static void tokens_on_a_bad_wire(void **state)
{
	uint32_t k, index;
	uint64_t key;

	(void)state;
	for (k = 1; k < 16; k++) {
		bring_up(false);
		key = token_alloc(&mb, 4096, 3000, &index);
		if (k & 1)
			wire.lose = k / 2 + 1;
		else
			wire.twice = k / 2;
		if (k % 3)
			rig_recv(&rb, &qb, 1, &mb, 0, 128);
		tagged(1, 100, 3000, index, key);
		run(5000);
		if (!(k % 3)) /* was not ready at first */
			rig_recv(&rb, &qb, 1, &mb, 0, 128);
		run(50 * MS);
		expect(&ra, &qa, UNIC_WC_TOKEN, 1, 0, 3100);
		expect_tagged(1, 100, 3000, index, 0);
		expect_none(&rb, &qb);
		assert_int_equal(rig_count(&rb, tokens_used), 1);
		assert_memory_equal(mb.mem + 4096, ma.mem + 100, 3000);
		check_quiet();
	}
}

/* --------------------------------------------------------------- eviction */

static void evict(struct rig *r, const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
	};

	assert_int_equal(rig_cmd(r, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
}

/* Posted receives of an evicted region come back; the next one serves. */
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
	run(MS);
	evict(&rb, &msg);
	run(MS);
	for (i = 0; i < 12; i++)
		if (i % 3 != 1)
			expect(&rb, &qb, UNIC_WC_RECV, i, UNIC_WC_EVICTED, 0);
	expect_none(&rb, &qb);
	for (i = 0; i < 4; i++)
		rig_send(&ra, &qa, UNIC_WR_SEND, i, &ma, 0, 100, 0, 0);
	run(MS);
	for (i = 0; i < 4; i++) {
		expect(&ra, &qa, UNIC_WC_SEND, i, 0, 100);
		expect(&rb, &qb, UNIC_WC_RECV, 3 * i + 1, 0, 100);
		assert_memory_equal(mb.mem + (3 * i + 1) * 100, ma.mem, 100);
	}
	/* posted after the eviction: the message meets it */
	rig_recv(&rb, &qb, 20, &msg, 0, 100);
	rig_recv(&rb, &qb, 21, &mb, 0, 100);
	rig_send(&ra, &qa, UNIC_WR_SEND, 5, &ma, 0, 100, 0, 0);
	run(MS);
	expect(&ra, &qa, UNIC_WC_SEND, 5, 0, 100);
	expect(&rb, &qb, UNIC_WC_RECV, 20, UNIC_WC_EVICTED, 0);
	expect(&rb, &qb, UNIC_WC_RECV, 21, 0, 100);
	assert_int_equal(rig_count(&rb, rq_substituted), 1);
	assert_int_equal(rig_count(&ra, retransmits), 0);
	check_quiet();
}

/* Time passes while both sides' DMA is slow. */
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
 * Of fourteen posted receives only the last has the queue's buffer class, and
 * the one that the message would have taken is gone: the message takes that
 * last one, beyond all that the NIC keeps of the ring.
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
	run(MS);
	evict(&rb, &msg);
	run(MS);
	expect(&rb, &qb, UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	ra.port.late_dma = rb.port.late_dma = late;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 1000, 0, 0);
	run_late(60);
	expect(&rb, &qb, UNIC_WC_RECV, 13, 0, 1000);
	assert_memory_equal(mb.mem + 13000, ma.mem, 1000);
	expect(&ra, &qa, UNIC_WC_SEND, 1, 0, 1000);
	/* the others follow in their order */
	for (i = 1; i < 13; i++)
		rig_send(&ra, &qa, UNIC_WR_SEND, i, &ma, 0, 100, 0, 0);
	run_late(200);
	for (i = 1; i < 13; i++) {
		expect(&ra, &qa, UNIC_WC_SEND, i, 0, 100);
		expect(&rb, &qb, UNIC_WC_RECV, i, 0, 100);
		assert_memory_equal(mb.mem + i * 1000, ma.mem, 100);
	}
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 0);
	assert_int_equal(rig_count(&rb, rx_out_of_seq), 0);
	ra.port.late_dma = rb.port.late_dma = false;
	check_quiet();
}

static void messaging_evicted_far(void **state)
{
	(void)state;
	far_substitute(false);
}

/* Frames that wait for their payload keep their order: no NAK, no repetition. */
static void late_in_order(void **state)
{
	uint32_t i;

	(void)state;
	ra.port.late_dma = rb.port.late_dma = true;
	for (i = 0; i < 8; i++) { /* each rings while others are gathered */
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, i * 3000,
			 i & 1 ? 3000 : 8, mb.iova + i * 3000, mb.stag);
		run_late(3);
	}
	run_late(200);
	for (i = 0; i < 8; i++) {
		expect(&ra, &qa, UNIC_WC_WRITE, i, 0, i & 1 ? 3000 : 8);
		assert_memory_equal(mb.mem + i * 3000, ma.mem + i * 3000,
				    i & 1 ? 3000 : 8);
	}
	assert_int_equal(rig_count(&rb, rx_out_of_seq), 0);
	assert_int_equal(rig_count(&ra, retransmits), 0);
	ra.port.late_dma = rb.port.late_dma = false;
	check_quiet();
}

/* Delivers the next frame with byte wire.swap turned over, once. */
static void turned_over(struct unic_port *port, const uint8_t *frame,
			uint32_t len, uint32_t flags)
{
	uint8_t copy[FAKE_FRAME_BYTES];

	memcpy(copy, frame, len);
	copy[wire.swap] ^= 0xff;
	fake_deliver(port->peer, copy, len, flags);
	port->on_frame = on_frame;
}

/*
 * A frame just like the one before it, but for one byte of its headers, is not
 * taken for it. (Left out: what is nobody's business, which is the sender's
 * Ethernet address, UDP source port and checksum, what BTH reserves, and the
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
			run(MS);
			expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 8);
			assert_memory_equal(mb.mem, ma.mem + 8, 8);
			wire.swap = at;
			ra.port.on_frame = turned_over;
			rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 16, 8,
				 mb.iova, mb.stag);
			run(100000);
			assert_memory_equal(mb.mem, ma.mem + 8, 8);
			wire.swap = 0;
			run(20 * MS);
			expect(&ra, &qa, UNIC_WC_WRITE, 2, 0, 8);
			assert_memory_equal(mb.mem, ma.mem + 16, 8);
		}
	}
	check_quiet();
}

/* A WRITE whose data are at hand does not overtake one that waits for its. */
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
	for (i = 0; i < 60; i++) { /* rung while it waits, whatever for */
		rig_poll(&ra);
		rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, qa.sq_tail);
		run_late(1);
	}
	expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, len);
	expect(&ra, &qa, UNIC_WC_WRITE, 2, 0, 8);
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
	check_quiet();
}

static void messaging_evicted_far_late(void **state)
{
	(void)state;
	far_substitute(true);
}

/* None of the class is left: the message is told "not ready", and comes again
 * when one is posted. */
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
	run(MS);
	evict(&rb, &msg);
	run(MS);
	expect(&rb, &qb, UNIC_WC_RECV, 0, UNIC_WC_EVICTED, 0);
	unic_qp_by_number(&ra.nic.transport, qa.qpn)->rnr_retry =
		7; /* for ever */
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 1000, 0, 0);
	run(20000);
	refused = rig_count(&rb, tx_rnr_naks);
	moved = rig_count(&rb, dma_bytes);
	assert_true(refused > 0);
	expect_none(&rb, &qb);
	/* looked through once: nothing was posted since */
	run(3 * MS);
	assert_true(rig_count(&rb, tx_rnr_naks) > refused);
	assert_int_equal(rig_count(&rb, dma_bytes), moved);
	rig_recv(&rb, &qb, 12, &mb, 12000, 2000);
	run(MS);
	expect(&rb, &qb, UNIC_WC_RECV, 12, 0, 1000);
	expect(&ra, &qa, UNIC_WC_SEND, 1, 0, 1000);
	assert_memory_equal(mb.mem + 12000, ma.mem, 1000);
}

/* Nothing sent: that request alone completes EVICTED, in order. */
static void send_side_evicted(void **state)
{
	struct rig_mr msg;

	(void)state;
	assert_int_equal(rig_reg(&ra, 0, qa.pd, 2, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &msg),
			 0);
	evict(&ra, &msg);
	run(MS);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 3000, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &msg, 0, 8, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 8, mb.iova, mb.stag);
	run(MS);
	expect(&ra, &qa, UNIC_WC_WRITE, 1, 0, 3000);
	expect(&ra, &qa, UNIC_WC_WRITE, 2, UNIC_WC_EVICTED, 0);
	expect(&ra, &qa, UNIC_WC_WRITE, 3, 0, 8);
	check_quiet();
}

/* Sent and not acknowledged: held until T is over, then cut. */
static void cut_at_deadline(void **state)
{
	struct unic_evt_mr notice;
	struct unic_cqe cqe;

	(void)state;
	wire.cut = true;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 3000, mb.iova, mb.stag);
	rig_send(&ra, &qa, UNIC_WR_READ, 2, &ma, 8192, 3000, mb.iova, mb.stag);
	run(1000);
	assert_true(ra.nic.mrs.mr[ma.mr].holds >= 2);
	evict(&ra, &ma);
	run(1000);
	rig_expect(&ra, UNIC_EVT_NOTICE, &notice);
	ra.nic.qps.qp[unic_qp_by_number(&ra.nic.transport, qa.qpn)->qpn & 0xff]
		.timeout_ns = 4096ull
			      << 20; /* its own retries shall not end it */
	ra.nic.qps.qp[qa.qpn & 0xff].sq.timer_ns = UNIC_NEVER;
	assert_int_equal(rig_ack(&ra, &notice), 0);
	run(19 * MS);
	expect_none(&ra, &qa);
	run(2 * MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_EVICTED);
	assert_int_equal(cqe.detail, UNIC_WD_BUSY);
	expect(&ra, &qa, 0, 2, UNIC_WC_EVICTED, 0);
	expect_none(&ra, &qa);
	check_quiet();
}

/* ------------------------------------------------------- failures and ends */

/* The k-th call of the machine fails, for every k: nothing hangs, leaks or
 * completes twice (INV-10). */
static void each_call_fails(void **state)
{
	uint32_t k, calls, n;
	struct unic_cqe cqe;
	uint32_t seen;

	(void)state;
	bring_up(false);
	calls = ra.port.calls;
	mixture();
	run(MS);
	calls = ra.port.calls - calls;
	for (k = 1; k <= 2 * calls; k++) {
		struct rig *r = k & 1 ? &ra : &rb;

		bring_up(false);
		r->port.fail_call = r->port.calls + (k + 1) / 2;
		mixture();
		run(100 * MS);
		for (n = 0, seen = 0; rig_cqe(&ra, &qa, &cqe); n++) {
			seen |= 1u << unic_from_le64(cqe.wr_id);
			/* nobody has taken anything back */
			assert_int_not_equal(cqe.status, UNIC_WC_EVICTED);
			assert_int_not_equal(cqe.status, UNIC_WC_REM_EVICTED);
		}
		if (ra.nic.cqs.cq[qa.cq].error)
			continue; /* its completions had nowhere to go */
		assert_int_equal(n, 5);
		assert_int_equal(seen, 0x3e);
		/* the other side may wait for the rest of a message */
		check_quiet_of(&ra);
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
	check_quiet();
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
	run(MS);
	assert_int_equal(ra.port.rung[1], before + 1);
	/* armed for what is there already: at once */
	db->tail[row].arm = unic_to_le32(1);
	rig_ring(&ra, 0, UNIC_DB_ARM, row, 1);
	run(MS);
	assert_int_equal(ra.port.rung[1], before + 2);
	/* armed for what is not: not yet; solicited only: not by a WRITE */
	db->tail[row].arm = unic_to_le32(0x80000002);
	rig_ring(&ra, 0, UNIC_DB_ARM, row, 0x80000002);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 8, mb.iova, mb.stag);
	run(MS);
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
	wire.cut = true; /* count what is sent, whoever gets it */
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
		cmocka_unit_test_setup(write_sizes, up),
		cmocka_unit_test_setup(read_sizes, up),
		cmocka_unit_test_setup(send_sizes, up),
		cmocka_unit_test_setup(immediate, up),
		cmocka_unit_test_setup(inline_and_lists, up),
		cmocka_unit_test_setup(write_sizes, up_icrc),
		cmocka_unit_test_setup(read_sizes, up_icrc),
		cmocka_unit_test_setup(send_sizes, up_icrc),
		cmocka_unit_test(each_lost),
		cmocka_unit_test(each_twice),
		cmocka_unit_test(each_swapped),
		cmocka_unit_test(loss_and_duplicate),
		cmocka_unit_test(late_dma),
		cmocka_unit_test_setup(receiver_not_ready, up),
		cmocka_unit_test_setup(rnr_exhausted, up),
		cmocka_unit_test_setup(retries_exhausted, up),
		cmocka_unit_test(remote_refusals),
		cmocka_unit_test_setup(local_refusals, up),
		cmocka_unit_test(one_wrong_of_a_run),
		cmocka_unit_test_setup(too_long, up),
		cmocka_unit_test_setup(cq_overflow, up),
		cmocka_unit_test(garbage_work),
		cmocka_unit_test_setup(wild_doorbells, up),
		cmocka_unit_test_setup(damaged, up_icrc),
		cmocka_unit_test_setup(truncated, up),
		cmocka_unit_test(remote_evicted),
		cmocka_unit_test_setup(tokens, up),
		cmocka_unit_test(control_part_has_bounds),
		cmocka_unit_test_setup(token_refusals, up),
		cmocka_unit_test_setup(token_ends_after_its_last_byte, up),
		cmocka_unit_test(tokens_on_a_bad_wire),
		cmocka_unit_test_setup(messaging_evicted, up),
		cmocka_unit_test_setup(messaging_evicted_far, up),
		cmocka_unit_test_setup(messaging_evicted_far_late, up),
		cmocka_unit_test_setup(late_in_order, up),
		cmocka_unit_test_setup(late_not_overtaken, up),
		cmocka_unit_test_setup(alike_but_one_byte, up),
		cmocka_unit_test_setup(messaging_evicted_none, up),
		cmocka_unit_test_setup(send_side_evicted, up),
		cmocka_unit_test_setup(cut_at_deadline, up),
		cmocka_unit_test(each_call_fails),
		cmocka_unit_test_setup(destroyed_midway, up),
		cmocka_unit_test_setup(armed_once, up),
		cmocka_unit_test_setup(fair_by_weight, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
