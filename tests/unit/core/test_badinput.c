/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_badinput.c - wrong lengths, wrong and late answers to notices, regions
 * released twice, cancels of unknown tokens and waits. Each wrong request is
 * refused for its own reason, and changes nothing.
 *
 * The same for registrations is in test_mr, for lists in test_indirect, for
 * windows in test_window, for offers in test_evict, for pages in test_cache,
 * for frames in test_roce.
 */
#include "memory/access.h"
#include "command/cmd.h"
#include "pair.h"
#include "unit.h"

#define MS   1000000ull
#define T_NS (20 * MS)
#define NO   UINT32_MAX

/* @free entries must be free, and every entry counted once. */
static void check_books(const struct rig *r, uint32_t free)
{
	uint32_t i, used = 0;

	for (i = 0; i < UNIC_TLB_ENTRIES; i++)
		used += r->nic.tlb.entry[i].tag != UNIC_TLB_NO_TAG;
	assert_int_equal(r->nic.tlb.free, free);
	assert_int_equal(used + r->nic.tlb.free + r->nic.tlb.reserved,
			 UNIC_TLB_ENTRIES);
}

static void none(struct rig *r)
{
	uint8_t rec[64];

	assert_false(rig_event(r, rec));
}

/* ------------------------------------------------- lengths of work requests */

#define BYTES PAIR_BYTES
#define HALF  0x80000000u

static const struct work {
	uint8_t opcode;
	uint32_t len[2]; /* of its SGEs; NO: one SGE only */
	uint64_t at;	 /* added to the address of the first */
	uint64_t remote; /* added to the remote address */
	uint8_t status, detail;
} works[] = {
	{ UNIC_WR_WRITE, { 0, NO }, 0, 0, 0, 0 },
	{ UNIC_WR_WRITE, { 0, 0 }, UINT64_MAX, UINT64_MAX, 0, 0 },
	{ UNIC_WR_READ, { 0, NO }, 0, 0, 0, 0 },
	/* minus two; minus 2^31; one more than a message may have; as many */
	{ UNIC_WR_WRITE, { UINT32_MAX - 1, NO }, 0, 0, 2, UNIC_WD_LENGTH },
	{ UNIC_WR_READ, { UINT32_MAX - 1, NO }, 0, 0, 2, UNIC_WD_LENGTH },
	{ UNIC_WR_SEND, { UINT32_MAX - 1, NO }, 0, 0, 2, UNIC_WD_LENGTH },
	{ UNIC_WR_TOKEN, { UINT32_MAX - 1, NO }, 0, 0, 2, UNIC_WD_LENGTH },
	{ UNIC_WR_WRITE, { HALF, NO }, 0, 0, 2, UNIC_WD_LENGTH },
	{ UNIC_WR_WRITE, { UNIC_MSG_MAX + 1, NO }, 0, 0, 2, UNIC_WD_LENGTH },
	{ UNIC_WR_WRITE, { UNIC_MSG_MAX, NO }, 0, 0, 3, UNIC_WD_BOUNDS },
	/* together 2^32, or a little more */
	{ UNIC_WR_WRITE, { HALF, HALF }, 0, 0, 2, UNIC_WD_LENGTH },
	{ UNIC_WR_WRITE, { HALF, HALF + 8 }, 0, 0, 2, UNIC_WD_LENGTH },
	{ UNIC_WR_SEND, { 9, UINT32_MAX - 1 }, 0, 0, 2, UNIC_WD_LENGTH },
	{ UNIC_WR_READ, { UINT32_MAX - 1, 10 }, 0, 0, 2, UNIC_WD_LENGTH },
	/* local: a byte before the region, over its end, 2^32 and 2^63 away */
	{ UNIC_WR_WRITE, { 8, NO }, -1ull, 0, 3, UNIC_WD_BOUNDS },
	{ UNIC_WR_READ, { 8, NO }, BYTES - 7, 0, 3, UNIC_WD_BOUNDS },
	{ UNIC_WR_SEND, { 8, NO }, 1ull << 32, 0, 3, UNIC_WD_BOUNDS },
	{ UNIC_WR_SEND, { 8, NO }, 1ull << 63, 0, 3, UNIC_WD_BOUNDS },
	{ UNIC_WR_READ, { 1, UINT32_MAX / 8 }, 0, 0, 3, UNIC_WD_BOUNDS },
	/* remote: the same */
	{ UNIC_WR_WRITE, { 8, NO }, 0, -1ull, 6, 0 },
	{ UNIC_WR_WRITE, { 8, NO }, 0, BYTES - 7, 6, 0 },
	{ UNIC_WR_READ, { 8, NO }, 0, BYTES - 7, 6, 0 },
	{ UNIC_WR_READ, { 8, NO }, 0, 1ull << 32, 6, 0 },
	{ UNIC_WR_WRITE, { BYTES, NO }, 0, 1, 6, 0 },
	{ UNIC_WR_READ, { BYTES, NO }, 0, -4096ull, 6, 0 },
};

static void post(const struct work *w)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];

	rig_send(&ra, &qa, w->opcode, 1, &ma, 0, 0, mb.iova + w->remote,
		 mb.stag);
	s->num_sge = w->len[1] == NO ? 1 : 2;
	s->sge[0].iova = unic_to_le64(ma.iova + w->at);
	s->sge[0].len = unic_to_le32(w->len[0]);
	s->sge[0].lkey = unic_to_le32(ma.stag);
	s->sge[1] = s->sge[0];
	s->sge[1].iova = unic_to_le64(ma.iova);
	s->sge[1].len = unic_to_le32(w->len[1]);
}

static void lengths_of_work(void **state)
{
	static uint8_t a[BYTES], b[BYTES];
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		pair_up();
		memcpy(a, ma.mem, BYTES);
		memcpy(b, mb.mem, BYTES);
		post(&works[i]);
		pair_run(30 * MS);
		assert_true(rig_cqe(&ra, &qa, &cqe));
		if (cqe.status != works[i].status ||
		    cqe.detail != works[i].detail)
			fail_msg("row %u: %u, %u", (unsigned int)i, cqe.status,
				 cqe.detail);
		pair_expect_none(&ra, &qa);
		assert_memory_equal(a, ma.mem, BYTES);
		assert_memory_equal(b, mb.mem, BYTES);
		pair_quiet();
	}
}

/* ------------------------------------------------- what each side learns */

/* A region of B where step @step of the access check refuses a request *@opcode
 * of the peer for 8 bytes at its beginning. */
static struct rig_mr refused_by(uint32_t step, uint8_t *opcode)
{
	struct unic_cmd_mr_rereg c = { .what = UNIC_REREG_RIGHTS };
	struct rig_mr mr = mb;

	*opcode = UNIC_WR_WRITE;
	switch (step) {
	case UNIC_WD_STAG:
		mr.stag ^= 0x100;
		break;
	case UNIC_WD_PD:
		assert_int_equal(rig_reg(&rb, 0, rig_pd(&rb, 0), 1,
					 UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
					 &mr),
				 0);
		break;
	case UNIC_WD_RIGHTS:
		c.mr = unic_to_le32(mb.mr);
		c.gen = unic_to_le32(mb.gen);
		c.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE;
		assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), 0);
		*opcode = UNIC_WR_READ;
		break;
	default:
		mr.iova -= 8;
	}
	return mr;
}

static uint8_t nak[2][FAKE_FRAME_BYTES];
static uint32_t nak_len;

static void keep_nak(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	(void)flags;
	nak_len = len;
	memcpy(nak[0], frame, len);
	fake_deliver(port->peer, frame, len, UNIC_FRAME_NO_ICRC);
}

/* The NAK to the peer is the same to the last byte, whichever step failed. */
static void a_peer_is_told_nothing(void **state)
{
	uint32_t step, len = 0;
	uint8_t opcode;
	struct rig_mr at;

	(void)state;
	for (step = UNIC_WD_STAG; step <= UNIC_WD_BOUNDS; step++) {
		pair_up();
		at = refused_by(step, &opcode);
		nak_len = 0;
		rb.port.on_frame = keep_nak;
		rig_send(&ra, &qa, opcode, 1, &ma, 0, 8, at.iova, at.stag);
		pair_run(30 * MS);
		rb.port.on_frame = NULL;
		pair_expect(&ra, &qa, 1, UNIC_WC_REM_ACCESS_ERR, 0);
		assert_true(nak_len > 0);
		if (step == UNIC_WD_STAG) {
			memcpy(nak[1], nak[0], nak_len);
			len = nak_len;
		}
		assert_int_equal(nak_len, len);
		assert_memory_equal(nak[1], nak[0], len);
		pair_quiet();
	}
}

/* A peer without the vendor opcodes gets the same NAK for an evicted region as
 * for any wrong access; a peer with them gets EVICTED, and the connection goes
 * on. */
static void a_peer_is_told_of_an_eviction(void **state)
{
	uint32_t vendor;
	struct rig_mr gone;

	(void)state;
	for (vendor = 0; vendor < 2; vendor++) {
		pair_up();
		pair_gone_region(&rb, qb.pd, &gone);
		rb.nic.qps.qp[qb.qpn & 0xff].vendor = vendor;
		rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, gone.iova,
			 gone.stag);
		rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova,
			 mb.stag);
		pair_run(30 * MS);
		pair_expect(&ra, &qa, 1,
			    vendor ? UNIC_WC_REM_EVICTED
				   : UNIC_WC_REM_ACCESS_ERR,
			    0);
		pair_expect(&ra, &qa, 2, vendor ? 0 : UNIC_WC_WR_FLUSH_ERR, 8);
		assert_int_equal(rig_count(&rb, tx_vacks), vendor);
		assert_int_equal(rig_count(&rb, tx_naks), !vendor);
		pair_quiet();
	}
}

/* A local access that is refused reports the step that failed. */
static void each_step_is_told_here(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr from;
	uint32_t step;
	uint8_t opcode;

	(void)state;
	for (step = UNIC_WD_STAG; step <= UNIC_WD_BOUNDS; step++) {
		pair_up();
		if (step == UNIC_WD_RIGHTS) { /* a READ needs LOCAL_WRITE */
			struct unic_cmd_mr_rereg c = {
				.mr = unic_to_le32(mb.mr),
				.gen = unic_to_le32(mb.gen),
				.what = UNIC_REREG_RIGHTS,
			};

			assert_int_equal(
				rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), 0);
			from = mb;
		} else {
			from = refused_by(step, &opcode);
		}
		opcode = step == UNIC_WD_RIGHTS ? UNIC_WR_READ : UNIC_WR_WRITE;
		rig_send(&rb, &qb, opcode, 1, &from, 0, 8, ma.iova, ma.stag);
		pair_run(30 * MS);
		assert_true(rig_cqe(&rb, &qb, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
		assert_int_equal(cqe.detail, step);
		pair_quiet();
	}
}

/* ------------------------------------------------------ SGEs that overlap */

#define LEN 600u

/* @src was placed in @mem through two SGEs of LEN bytes, at @from and at @from
 * + @apart: each byte there comes from one of the SGEs that cover it, and all
 * other bytes are as @before. */
static void check_overlapped(const uint8_t *mem, const uint8_t *before,
			     const uint8_t *src, uint32_t from, uint32_t apart)
{
	uint32_t i;

	for (i = 0; i < BYTES; i++) {
		uint32_t k = i - from, l = k - apart;
		bool first = k < LEN, second = l < LEN;

		if (!first && !second)
			assert_int_equal(mem[i], before[i]);
		else
			assert_true((first && mem[i] == src[k]) ||
				    (second && mem[i] == src[LEN + l]));
	}
}

static void two_places(struct unic_sge *sge, const struct rig_mr *mr,
		       uint32_t from, uint32_t apart)
{
	sge[0] = (struct unic_sge){ .iova = unic_to_le64(mr->iova + from),
				    .len = unic_to_le32(LEN),
				    .lkey = unic_to_le32(mr->stag) };
	sge[1] = sge[0];
	sge[1].iova = unic_to_le64(mr->iova + from + apart);
}

static void places_that_overlap(void **state)
{
	static const uint32_t apart[] = { 0, 1, LEN / 2, LEN - 1, LEN };
	static uint8_t before[BYTES];
	struct unic_sq_slot *s;
	uint32_t i, from = 4096 - LEN / 2; /* across the end of a page */

	(void)state;
	for (i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		pair_up();
		memcpy(before, ma.mem, BYTES);
		s = &qa.sq[qa.sq_tail % RIG_SLOTS];
		rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 0, mb.iova,
			 mb.stag);
		s->num_sge = 2;
		two_places(s->sge, &ma, from, apart[i]);
		pair_run(30 * MS);
		pair_expect(&ra, &qa, 1, 0, 2 * LEN);
		check_overlapped(ma.mem, before, mb.mem, from, apart[i]);

		memcpy(before, mb.mem, BYTES);
		rig_recv(&rb, &qb, 2, &mb, 0, 0);
		qb.rq[0].num_sge = 2;
		two_places(qb.rq[0].sge, &mb, from, apart[i]);
		rig_send(&ra, &qa, UNIC_WR_SEND, 3, &ma, 0, 2 * LEN, 0, 0);
		pair_run(30 * MS);
		pair_expect(&ra, &qa, 3, 0, 2 * LEN);
		pair_expect(&rb, &qb, 2, 0, 2 * LEN);
		check_overlapped(mb.mem, before, ma.mem, from, apart[i]);
		pair_quiet();
	}
}

/* ------------------------------------------------ wrong answers to notices */

static struct unic_evt_mr notice_of(struct rig *r, const struct rig_mr *mr)
{
	struct unic_cmd_mr c = { .mr = unic_to_le32(mr->mr),
				 .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr n;

	assert_int_equal(rig_cmd(r, UNIC_CMD_MR_EVICT, &c, NULL), 0);
	rig_poll(r);
	rig_expect(r, UNIC_EVT_NOTICE, &n);
	assert_int_equal(rig_ack(r, &n), 0);
	return n;
}

static struct rig_mr region(uint32_t pages)
{
	struct rig_mr mr;

	assert_int_equal(rig_reg(&ra, 0, qa.pd, pages, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	return mr;
}

static uint8_t answer(const struct unic_evt_mr *n, uint32_t how,
		      const struct rig_mr *offer, uint32_t us)
{
	uint32_t why;

	return rig_answer(&ra, n, how, offer, us, &why);
}

/* Each of the three answers to @n must get @status. */
static void refused_all(const struct unic_evt_mr *n, const struct rig_mr *offer,
			uint8_t status)
{
	assert_int_equal(answer(n, UNIC_ANSWER_RELEASE, NULL, 0), status);
	assert_int_equal(answer(n, UNIC_ANSWER_OFFER, offer, 0), status);
	assert_int_equal(answer(n, UNIC_ANSWER_EXTEND, NULL, 1000), status);
}

static void expect_evicted(const struct unic_evt_mr *n)
{
	struct unic_evt_mr evt;

	rig_expect(&ra, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), unic_from_le32(n->mr));
	assert_int_equal(unic_from_le32(evt.gen), unic_from_le32(n->gen));
	none(&ra);
}

/* Wrong answers are refused and change no deadline. */
static void answers_of_another_time(void **state)
{
	struct rig_mr mr, other;
	struct unic_evt_mr n, bad;
	uint32_t i;

	(void)state;
	pair_up();
	mr = region(4);
	other = region(4);
	n = notice_of(&ra, &mr);
#define BAD(field, value, status)                            \
	do {                                                 \
		bad = n;                                     \
		bad.field = unic_to_le32(value);             \
		refused_all(&bad, &other, UNIC_ST_##status); \
	} while (0)
	BAD(gen, mr.gen - 1, NO_MR);
	BAD(gen, mr.gen + 1, NO_MR);
	BAD(gen, UINT32_MAX, NO_MR);
	BAD(seq, unic_from_le32(n.seq) - 1, INVALID);
	BAD(seq, unic_from_le32(n.seq) + 1, INVALID);
	BAD(seq, 0, INVALID);
	BAD(mr, UNIC_MRS, NO_MR);
	BAD(mr, mr.mr + 0x10000, NO_MR);
	BAD(mr, UINT32_MAX, NO_MR);
#undef BAD
	bad = n; /* a region of the process, without a notice */
	bad.mr = unic_to_le32(other.mr);
	bad.gen = unic_to_le32(other.gen);
	refused_all(&bad, &mr, UNIC_ST_STATE);
	for (i = 0; i < 3; i++) {
		static const uint32_t how[] = { 0, 4, UINT32_MAX };

		assert_int_equal(answer(&n, how[i], NULL, 0), UNIC_ST_INVALID);
	}
	assert_int_equal(answer(&n, UNIC_ANSWER_EXTEND, NULL, 0),
			 UNIC_ST_INVALID);
	assert_int_equal(answer(&n, UNIC_ANSWER_EXTEND, NULL, UINT32_MAX),
			 UNIC_ST_REFUSED);
	assert_int_equal(answer(&n, UNIC_ANSWER_OFFER, &mr, 0),
			 UNIC_ST_REFUSED);
	assert_int_equal(ra.nic.mrs.mr[other.mr].state, UNIC_MR_ACTIVE);
	rig_run(&ra, T_NS - 1);
	none(&ra);
	rig_run(&ra, 1);
	expect_evicted(&n);
}

/* Answers are refused at the deadline, after it, and when the index has another
 * region. */
static void answers_that_come_too_late(void **state)
{
	struct rig_mr mr, other, next;
	struct unic_evt_mr n;
	uint32_t free, i;

	(void)state;
	pair_up();
	free = ra.nic.tlb.free;
	mr = region(4);
	other = region(4);
	n = notice_of(&ra, &mr);
	unic_mr_hold(&ra.nic.memory, (uint16_t)mr.mr);
	rig_run(&ra, T_NS);
	assert_int_equal(ra.nic.mrs.mr[mr.mr].state, UNIC_MR_DRAINING);
	refused_all(&n, &other, UNIC_ST_STATE);
	assert_int_equal(rig_ack(&ra, &n), UNIC_ST_STATE);
	unic_mr_unhold(&ra.nic.memory, (uint16_t)mr.mr);
	rig_poll(&ra);
	expect_evicted(&n);
	refused_all(&n, &other, UNIC_ST_STATE);
	assert_int_equal(rig_dereg(&ra, &mr), 0);
	refused_all(&n, &other, UNIC_ST_NO_MR);
	for (i = 0; i < 10 * UNIC_MRS; i++) { /* until the index comes again */
		next = region(1);
		if (next.mr == mr.mr)
			break;
		assert_int_equal(rig_dereg(&ra, &next), 0);
	}
	assert_int_equal(next.mr, mr.mr);
	refused_all(&n, &other, UNIC_ST_NO_MR);
	assert_int_equal(ra.nic.mrs.mr[next.mr].state, UNIC_MR_ACTIVE);
	assert_int_equal(ra.nic.mrs.mr[other.mr].state, UNIC_MR_ACTIVE);
	check_books(&ra, free - 5);
	none(&ra);
}

/* An answer to a notice from before a reset is refused. */
static void answers_of_another_life(void **state)
{
	struct unic_cmd_notice_answer cmd = { .hdr = { 0 } };
	struct unic_evt_mr n;
	struct rig_mr mr;
	struct unic_cmd_notice_answer cpl;
	uint32_t epoch;

	(void)state;
	pair_up();
	mr = region(4);
	n = notice_of(&ra, &mr);
	epoch = ra.nic.epoch;
	rig_reset(&ra);
	refused_all(&n, &mr, UNIC_ST_NO_MR);
	cmd.hdr.opcode = UNIC_CMD_NOTICE_ANSWER;
	cmd.hdr.epoch = unic_to_le32(epoch);
	cmd.mr = n.mr;
	cmd.gen = n.gen;
	cmd.seq = n.seq;
	cmd.answer = unic_to_le32(UNIC_ANSWER_RELEASE);
	unic_cmd_execute(&ra.nic.command, &cmd, &cpl,
			 ra.port.bar + UNIC_BAR_LIST_OFF);
	assert_int_equal(cpl.hdr.status, UNIC_ST_STALE_EPOCH);
	check_books(&ra, UNIC_TLB_ENTRIES);
}

/* ----------------------------------------------------------- released twice */

static void released_twice(void **state)
{
	struct unic_evt_mr n;
	struct rig_mr mr;
	uint32_t free;

	(void)state;
	pair_up();
	free = ra.nic.tlb.free;
	mr = region(4);
	n = notice_of(&ra, &mr);
	assert_int_equal(answer(&n, UNIC_ANSWER_RELEASE, NULL, 0), 0);
	check_books(&ra, free);
	refused_all(&n, &mr, UNIC_ST_STATE);
	assert_int_equal(rig_dereg(&ra, &mr), 0);
	refused_all(&n, &mr, UNIC_ST_NO_MR);
	assert_int_equal(rig_dereg(&ra, &mr), UNIC_ST_NO_MR);
	check_books(&ra, free);
	none(&ra); /* the owner released the region itself: no event */
}

/* A region is released twice while an operation holds it: one event, when the
 * operation ends. */
static void released_twice_in_use(void **state)
{
	struct unic_evt_mr n;
	struct rig_mr mr;
	uint32_t free;

	(void)state;
	pair_up();
	free = ra.nic.tlb.free;
	mr = region(4);
	n = notice_of(&ra, &mr);
	unic_mr_hold(&ra.nic.memory, (uint16_t)mr.mr);
	assert_int_equal(answer(&n, UNIC_ANSWER_RELEASE, NULL, 0),
			 UNIC_ST_PENDING);
	refused_all(&n, &mr, UNIC_ST_STATE);
	assert_int_equal(rig_dereg(&ra, &mr), UNIC_ST_PENDING);
	assert_int_equal(rig_dereg(&ra, &mr), UNIC_ST_NO_MR);
	refused_all(&n, &mr, UNIC_ST_STATE);
	check_books(&ra, free - 4);
	unic_mr_unhold(&ra.nic.memory, (uint16_t)mr.mr);
	rig_poll(&ra);
	expect_evicted(&n);
	check_books(&ra, free);
	assert_int_equal(rig_dereg(&ra, &mr), UNIC_ST_NO_MR);
	rig_run(&ra, 2 * T_NS);
	none(&ra);
}

/* ----------------------------------------------- cancels of unknown objects */

static uint8_t token(struct unic_cpl_token *out)
{
	struct unic_cmd_token_alloc c = { .pd = unic_to_le32(qa.pd),
					  .stag = unic_to_le32(ma.stag),
					  .iova = unic_to_le64(ma.iova),
					  .length = unic_to_le32(100) };

	return rig_cmd(&ra, UNIC_CMD_TOKEN_ALLOC, &c, out);
}

static uint8_t cancel(uint32_t proc, uint32_t index, uint64_t key)
{
	struct unic_cmd_token_cancel c = { .proc = unic_to_le32(proc),
					   .index = unic_to_le32(index),
					   .key = unic_to_le64(key) };

	return rig_cmd(&ra, UNIC_CMD_TOKEN_CANCEL, &c, NULL);
}

static void cancels_of_no_token(void **state)
{
	static const uint32_t index[] = { UNIC_TOKENS, 0x10000, HALF,
					  UINT32_MAX };
	struct unic_cpl_token t, u;
	uint64_t key;
	uint32_t at, i, bit;

	(void)state;
	pair_up();
	rig_attach(&ra, 1, 1);
	assert_int_equal(token(&t), 0);
	at = unic_from_le32(t.index);
	key = unic_from_le64(t.key);
	for (i = 0; i < 4; i++)
		assert_int_equal(cancel(0, index[i], key), UNIC_ST_NO_TOKEN);
	for (i = 0; i < UNIC_TOKENS; i++) { /* key 0 is that of no token */
		assert_int_equal(cancel(0, i, 0), UNIC_ST_NO_TOKEN);
		if (i != at)
			assert_int_equal(cancel(0, i, key), UNIC_ST_NO_TOKEN);
	}
	for (bit = 0; bit < 64; bit++)
		assert_int_equal(cancel(0, at, key ^ 1ull << bit),
				 UNIC_ST_NO_TOKEN);
	assert_int_equal(cancel(1, at, key), UNIC_ST_NO_TOKEN);
	assert_int_equal(cancel(UNIC_PROCS, at, key), UNIC_ST_NO_TOKEN);
	assert_int_equal(cancel(UINT32_MAX, at, key), UNIC_ST_NO_TOKEN);
	assert_int_equal(ra.nic.tokens.used, 1);
	assert_int_equal(rig_count(&ra, tokens_cancelled), 0);
	assert_int_equal(cancel(0, at, key), 0);
	/* a second cancel finds the cancelled token */
	assert_int_equal(cancel(0, at, key), 0);
	assert_int_equal(rig_count(&ra, tokens_cancelled), 1);
	for (i = 0; i < UNIC_TOKENS; i++) { /* reuse the index */
		assert_int_equal(token(&u), 0);
		if (unic_from_le32(u.index) == at)
			break;
	}
	assert_int_equal(unic_from_le32(u.index), at);
	assert_int_equal(cancel(0, at, key), UNIC_ST_NO_TOKEN);
	assert_int_equal(ra.nic.tokens.used, i + 1);
}

static uint8_t cancel_wait(uint32_t wait)
{
	struct unic_cmd_wait_cancel c = { .wait = unic_to_le32(wait) };

	return rig_cmd(&ra, UNIC_CMD_WAIT_CANCEL, &c, NULL);
}

static void cancels_of_no_wait(void **state)
{
	struct rig_mr all, w;
	uint8_t rec[64];

	(void)state;
	pair_up();
	all = region(ra.nic.tlb.free);
	assert_int_equal(rig_reg(&ra, 0, qa.pd, 2, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &w),
			 UNIC_ST_PENDING);
	assert_int_equal(cancel_wait(0), UNIC_ST_NO_WAIT);
	assert_int_equal(cancel_wait(w.wait - 1), UNIC_ST_NO_WAIT);
	assert_int_equal(cancel_wait(w.wait + 1), UNIC_ST_NO_WAIT);
	assert_int_equal(cancel_wait(UINT32_MAX), UNIC_ST_NO_WAIT);
	assert_int_equal(ra.nic.admission.waiting, 1);
	assert_int_equal(rig_dereg(&ra, &all), 0);
	rig_poll(&ra);
	while (rig_event(&ra, rec) && rec[0] != UNIC_EVT_GRANTED)
		;
	assert_int_equal(rec[0], UNIC_EVT_GRANTED);
	assert_int_equal(cancel_wait(w.wait), UNIC_ST_NO_WAIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_of_work),
		cmocka_unit_test(a_peer_is_told_nothing),
		cmocka_unit_test(a_peer_is_told_of_an_eviction),
		cmocka_unit_test(each_step_is_told_here),
		cmocka_unit_test(places_that_overlap),
		cmocka_unit_test(answers_of_another_time),
		cmocka_unit_test(answers_that_come_too_late),
		cmocka_unit_test(answers_of_another_life),
		cmocka_unit_test(released_twice),
		cmocka_unit_test(released_twice_in_use),
		cmocka_unit_test(cancels_of_no_token),
		cmocka_unit_test(cancels_of_no_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
