/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_queue.c - the queue pairs of the kernel-resident page service:
 * completions, receives in turn, and data in pieces or by a derived region.
 */
#include "unit.h"

#include "kio_rig.h"
#include "kio_ring.h"

/* Sends data from @pieces pieces, which must be in the slots from @at on. */
static void expect_gathered(struct unic_kio_ring *r, uint32_t at,
			    uint32_t pieces)
{
	struct unic_token_piece piece[UNIC_KIO_GATHER];
	struct unic_kio_data data = {
		.piece = piece, .pieces = pieces, .token = 7, .key = 8
	};
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA };
	struct unic_ctl_qp_create where = { 0 };
	const struct unic_sq_slot *sq;
	const struct unic_sge *sge;
	uint32_t i;

	unic_kio_ring_qp(r, 1, &where);
	sq = (void *)(r->mem + unic_from_le64(where.sq_iova) - r->bus);
	for (i = 0; i < pieces; i++)
		piece[i] = (struct unic_token_piece){
			.bus = unic_to_le64(0x10000ull * (i + 1)),
			.len = unic_to_le32(512 * (i + 1)),
		};
	assert_true(
		unic_kio_ring_data(r, 1, &msg, &data, UNIC_KIO_TAG_CLIENT, 3));
	assert_int_equal(sq[at % 64].num_sge, 1 + pieces);
	assert_int_equal(unic_from_le64(sq[at % 64].remote), 8);
	for (i = 0; i < pieces; i++) {
		sge = i ? (const void *)&sq[(at + 1) % 64]
			: &sq[at % 64].sge[1];
		sge += i ? i - 1 : 0;
		assert_int_equal(unic_from_le64(sge->iova), 0x10000 * (i + 1));
		assert_int_equal(unic_from_le32(sge->len), 512 * (i + 1));
		assert_int_equal(unic_from_le32(sge->lkey), r->stag);
	}
}

/* Writes completion @n, of request @wr_id, and polls it. */
static void complete(struct unic_kio_ring *r, uint32_t n, uint64_t wr_id)
{
	struct unic_ctl_cq_create where = { 0 };
	struct unic_kio_done done;
	struct unic_cqe *cqe;

	unic_kio_ring_cq(r, &where);
	cqe = (void *)(r->mem + unic_from_le64(where.iova) - r->bus);
	cqe[n] = (struct unic_cqe){ .wr_id = unic_to_le64(wr_id),
				    .opcode = UNIC_WC_TOKEN,
				    .qpn = unic_to_le32(5),
				    .seq = unic_to_le32(n + 1) };
	assert_true(unic_kio_ring_poll(r, &done));
	assert_int_equal(done.tag, UNIC_KIO_TAG_CLIENT);
	assert_int_equal(done.at, 3);
}

static struct unic_cqe *next_cqe(struct unic_kio_ring *r)
{
	struct unic_ctl_cq_create where = { 0 };
	struct unic_cqe *cqe;

	unic_kio_ring_cq(r, &where);
	cqe = (void *)(r->mem + unic_from_le64(where.iova) - r->bus);
	return &cqe[r->cq_ci];
}

/* A completion of no live queue pair, or of no posted request, is dropped and
 * counted; a message is never longer than its buffer, whatever its byte_len. */
static void completions_that_are_none(void **state)
{
	static _Alignas(64) uint8_t slot[3 * 4096];
	void *mem = test_malloc(unic_kio_ring_bytes(false));
	struct unic_kio_done done;
	struct unic_kio_ring r;
	struct unic_cqe good, wrong[6];
	uint32_t i;

	(void)state;
	unic_kio_ring_init(&r, NULL, slot, 2, mem, 1ull << 20, false);
	unic_kio_ring_up(&r, 1, 5);
	good = (struct unic_cqe){
		.wr_id = unic_to_le64(UNIC_KIO_TAG_RECV | 0u << 8 | 1u << 16),
		.opcode = UNIC_WC_RECV,
		.qpn = unic_to_le32(5),
		.byte_len = unic_to_le32(513),
	};
	for (i = 0; i < 6; i++)
		wrong[i] = good;
	wrong[0].qpn = unic_to_le32(4); /* an earlier number of the link */
	wrong[1].wr_id = unic_to_le64(UNIC_KIO_TAG_RECV | 0u << 8 | 0u << 16);
	wrong[2].wr_id = unic_to_le64(UNIC_KIO_TAG_RECV | 64u << 8 | 1u << 16);
	wrong[3].wr_id = unic_to_le64(0u << 8 | 1u << 16);
	wrong[4].opcode = UNIC_WC_TOKEN;
	wrong[5].wr_id = /* none is posted */
		unic_to_le64(UNIC_KIO_TAG_CLIENT | 0u << 8 | 1u << 16);
	wrong[5].opcode = UNIC_WC_TOKEN;
	for (i = 0; i < 6; i++) {
		wrong[i].seq = unic_to_le32(i + 1);
		*next_cqe(&r) = wrong[i];
		assert_false(unic_kio_ring_poll(&r, &done));
		assert_int_equal(r.bad, i + 1);
	}
	good.seq = unic_to_le32(7);
	*next_cqe(&r) = good;
	assert_true(unic_kio_ring_poll(&r, &done));
	assert_int_equal(done.tag, UNIC_KIO_TAG_RECV);
	assert_int_equal(done.link, 1);
	assert_int_equal(done.at, 0);
	assert_int_equal(done.bytes, 512);
	assert_int_equal(done.payload, 0);
	assert_int_equal(r.bad, 6);
	test_free(mem);
}

enum turn {
	NONE,
	GOOD,
	LOST
};

/* Completes receive @n of link 1, in message buffer @at, and polls it. */
static void receives(struct unic_kio_ring *r, uint64_t n, uint32_t at,
		     enum turn want)
{
	struct unic_kio_done done;
	uint32_t bad = r->bad;

	*next_cqe(r) = (struct unic_cqe){
		.wr_id = unic_to_le64(UNIC_KIO_TAG_RECV | at << 8 | 1u << 16 |
				      n << 32),
		.opcode = UNIC_WC_RECV,
		.qpn = unic_to_le32(5),
		.seq = unic_to_le32(r->cq_ci + 1),
	};
	assert_int_equal(unic_kio_ring_poll(r, &done), want != NONE);
	assert_int_equal(r->bad - bad, want == NONE);
	if (want == NONE)
		return;
	assert_int_equal(done.tag, UNIC_KIO_TAG_RECV);
	assert_int_equal(done.ok, want == GOOD);
}

/* Receives complete in the order in which they were posted, each once:
 * otherwise a buffer would be posted twice, and one message would overwrite
 * another. A receive that is not the next one shows that a message was lost. */
static void receives_complete_in_turn(void **state)
{
	static _Alignas(64) uint8_t slot[3 * 4096];
	const struct unic_db_page *db = (void *)slot;
	void *mem = test_malloc(unic_kio_ring_bytes(false));
	struct unic_kio_ring r;

	(void)state;
	unic_kio_ring_init(&r, NULL, slot, 2, mem, 1ull << 20, false);
	unic_kio_ring_up(&r, 1, 5);
	receives(&r, 0, 1, NONE); /* the buffer of another receive */
	receives(&r, 0, 0, GOOD);
	receives(&r, 0, 0, NONE);	       /* again */
	receives(&r, UNIC_KIO_SLOTS, 0, NONE); /* not posted yet */
	unic_kio_ring_repost(&r, 1);
	assert_int_equal(unic_from_le32(db->tail[2].rq), UNIC_KIO_SLOTS + 1);
	receives(&r, 0, 0, NONE);
	receives(&r, 2, 2, LOST);
	receives(&r, UNIC_KIO_SLOTS, 0, LOST);
	receives(&r, UNIC_KIO_SLOTS + 1, 1, NONE);
	receives(&r, 1, 1, GOOD); /* the next one */
	unic_kio_ring_up(&r, 1, 5);
	receives(&r, 0, 0, GOOD);
	test_free(mem);
}

/* Data in more pieces than a slot names takes a second slot, also across the
 * end of the ring; one completion frees both. */
static void data_in_pieces(void **state)
{
	static _Alignas(64) uint8_t slot[3 * 4096];
	void *mem = test_malloc(unic_kio_ring_bytes(false));
	struct unic_token_piece one = { .len = unic_to_le32(4) };
	struct unic_kio_data data = { .piece = &one, .pieces = 1 };
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA };
	struct unic_kio_ring r;
	uint32_t at = 0, n = 0, last;

	(void)state;
	unic_kio_ring_init(&r, NULL, slot, 2, mem, 1ull << 20, false);
	assert_null(unic_kio_ring_get(&r)); /* no buffers */
	r.stag = 99;
	unic_kio_ring_up(&r, 1, 5);
	while (at < 200) {
		uint32_t pieces = 1 + n % UNIC_KIO_GATHER;

		expect_gathered(&r, at, pieces);
		last = at + (pieces > 1);
		at = last + 1;
		complete(&r, n++,
			 UNIC_KIO_TAG_CLIENT | 3u << 8 | 1u << 16 |
				 (uint64_t)last << 32);
	}
	for (n = 0;
	     unic_kio_ring_data(&r, 1, &msg, &data, UNIC_KIO_TAG_CLIENT, 3);)
		n++;
	assert_int_equal(n, 64);
	test_free(mem);
}

/* Posts RDMA; the next slot must be a request of one SGE, to or from the peer. */
static void expect_rdma(struct unic_kio_ring *r, uint32_t at, bool reads)
{
	struct unic_kio_rdma move = {
		.piece = { .bus = unic_to_le64(0x7000),
			   .len = unic_to_le32(513) },
		.read = reads,
		.stag = 0x1234,
		.iova = 0x5678900000ull,
	};
	struct unic_ctl_qp_create where = { 0 };
	const struct unic_sq_slot *s;

	unic_kio_ring_qp(r, 1, &where);
	s = (void *)(r->mem + unic_from_le64(where.sq_iova) - r->bus);
	s += at % 64;
	assert_true(unic_kio_ring_rdma(r, 1, &move, 3));
	assert_int_equal(s->opcode, reads ? UNIC_WR_READ : UNIC_WR_WRITE);
	assert_int_equal(s->flags, UNIC_WR_SIGNALED);
	assert_int_equal(s->num_sge, 1);
	assert_int_equal(unic_from_le32(s->rkey), 0x1234);
	assert_int_equal(unic_from_le64(s->remote), 0x5678900000ull);
	assert_int_equal(unic_from_le64(s->sge[0].iova), 0x7000);
	assert_int_equal(unic_from_le32(s->sge[0].len), 513);
	assert_int_equal(unic_from_le32(s->sge[0].lkey), r->stag);
	assert_int_equal(unic_from_le64(s->wr_id), UNIC_KIO_TAG_RDMA | 3u << 8 |
							   1u << 16 |
							   (uint64_t)at << 32);
}

/* Completes request @n with @why, and polls it. */
static struct unic_kio_done completed(struct unic_kio_ring *r, uint32_t n,
				      uint32_t tag, uint8_t why)
{
	struct unic_kio_done done;

	*next_cqe(r) = (struct unic_cqe){
		.wr_id = unic_to_le64(tag | 3u << 8 | 1u << 16 |
				      (uint64_t)n << 32),
		.opcode = UNIC_WC_WRITE,
		.status = why,
		.qpn = unic_to_le32(5),
		.seq = unic_to_le32(r->cq_ci + 1),
	};
	assert_true(unic_kio_ring_poll(r, &done));
	assert_int_equal(done.tag, tag);
	assert_int_equal(done.at, 3);
	return done;
}

/* Of RDMA alone, a region of the peer's that was taken back is no failure of the link:
 * a message that did not arrive is lost. */
static void rdma_of_what_was_taken_back(void **state)
{
	static _Alignas(64) uint8_t slot[3 * 4096];
	void *mem = test_malloc(unic_kio_ring_bytes(false));
	struct unic_token_piece one = { .len = unic_to_le32(4) };
	struct unic_kio_data data = { .piece = &one, .pieces = 1 };
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA };
	struct unic_kio_done done;
	struct unic_kio_ring r;
	uint32_t n;

	(void)state;
	unic_kio_ring_init(&r, NULL, slot, 2, mem, 1ull << 20, false);
	r.stag = 99;
	unic_kio_ring_up(&r, 1, 5);
	for (n = 0; n < 70; n++) { /* round the ring */
		expect_rdma(&r, n, n % 2);
		done = completed(&r, n, UNIC_KIO_TAG_RDMA, UNIC_WC_SUCCESS);
		assert_true(done.ok && !done.stale);
	}
	expect_rdma(&r, n, false);
	done = completed(&r, n++, UNIC_KIO_TAG_RDMA, UNIC_WC_REM_EVICTED);
	assert_true(done.ok && done.stale);
	expect_rdma(&r, n, false);
	done = completed(&r, n++, UNIC_KIO_TAG_RDMA, UNIC_WC_REM_ACCESS_ERR);
	assert_true(!done.ok && !done.stale);
	assert_true(
		unic_kio_ring_data(&r, 1, &msg, &data, UNIC_KIO_TAG_SERVER, 3));
	done = completed(&r, n, UNIC_KIO_TAG_SERVER, UNIC_WC_REM_EVICTED);
	assert_true(!done.ok && !done.stale);
	for (n = 0; n < 64; n++)
		assert_true(unic_kio_ring_send(&r, 1, &msg, NULL, 0));
	assert_false(
		unic_kio_ring_rdma(&r, 1, &(struct unic_kio_rdma){ 0 }, 3));
	test_free(mem);
}

#define FORM 0x1234578u

/* Sends data by a derived region: the slots from @at on must be one request
 * that makes the region of a list, and one message from the region. */
static void expect_form(struct unic_kio_ring *r, uint32_t at)
{
	struct unic_token_piece piece[UNIC_TOKEN_PIECES];
	struct unic_kio_data data = { .piece = piece,
				      .pieces = UNIC_TOKEN_PIECES,
				      .form = FORM };
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA };
	struct unic_ctl_qp_create where = { 0 };
	const struct unic_sq_slot *sq, *reg, *token;
	const struct unic_sge *list;
	uint32_t i;

	unic_kio_ring_qp(r, 1, &where);
	sq = (void *)(r->mem + unic_from_le64(where.sq_iova) - r->bus);
	reg = &sq[at % 64];
	token = &sq[(at + 1) % 64];
	for (i = 0; i < UNIC_TOKEN_PIECES; i++)
		piece[i] = (struct unic_token_piece){
			.bus = unic_to_le64(0x10000ull * (i + 1)),
			.len = unic_to_le32(i + 1),
		};
	assert_true(
		unic_kio_ring_data(r, 1, &msg, &data, UNIC_KIO_TAG_CLIENT, 3));
	assert_int_equal(reg->opcode, UNIC_WR_REG_INDIRECT);
	assert_int_equal(reg->flags, 0);
	assert_int_equal(reg->num_sge, 1);
	assert_int_equal(unic_from_le32(reg->rkey), FORM);
	assert_int_equal(unic_from_le32(reg->imm), FORM & 0xff);
	assert_int_equal(unic_from_le32(reg->sge[0].lkey), r->stag);
	assert_int_equal(unic_from_le32(reg->sge[0].len),
			 UNIC_TOKEN_PIECES * sizeof(*list));
	list = (void *)(r->mem + unic_from_le64(reg->sge[0].iova) - r->bus);
	for (i = 0; i < UNIC_TOKEN_PIECES; i++) {
		assert_int_equal(unic_from_le64(list[i].iova),
				 0x10000 * (i + 1));
		assert_int_equal(unic_from_le32(list[i].len), i + 1);
		assert_int_equal(unic_from_le32(list[i].lkey), r->stag);
	}
	assert_int_equal(token->opcode, UNIC_WR_TOKEN);
	assert_int_equal(token->num_sge, 2);
	assert_int_equal(unic_from_le64(token->sge[1].iova), 0);
	assert_int_equal(unic_from_le32(token->sge[1].len), 16 * 17 / 2);
	assert_int_equal(unic_from_le32(token->sge[1].lkey), FORM);
}

/* Data by a derived region takes two slots; without room for both, none. */
static void data_by_a_form(void **state)
{
	static _Alignas(64) uint8_t slot[3 * 4096];
	void *mem = test_malloc(unic_kio_ring_bytes(false));
	struct unic_token_piece one = { .len = unic_to_le32(4) };
	struct unic_kio_data data = { .piece = &one, .pieces = 1 };
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA };
	struct unic_kio_ring r;
	uint32_t n;

	(void)state;
	unic_kio_ring_init(&r, NULL, slot, 2, mem, 1ull << 20, false);
	r.stag = 99;
	unic_kio_ring_up(&r, 1, 5);
	for (n = 0; n < 100; n++) {
		expect_form(&r, 2 * n);
		complete(&r, n,
			 UNIC_KIO_TAG_CLIENT | 3u << 8 | 1u << 16 |
				 (uint64_t)(2 * n + 1) << 32);
	}
	for (n = 0; n < 63; n++)
		assert_true(unic_kio_ring_data(&r, 1, &msg, &data,
					       UNIC_KIO_TAG_CLIENT, 3));
	data.form = FORM;
	assert_false(
		unic_kio_ring_data(&r, 1, &msg, &data, UNIC_KIO_TAG_CLIENT, 3));
	assert_int_equal(r.link[1].posted, 263);
	test_free(mem);
}

static void forms_are_lent_once(void **state)
{
	struct unic_kio_ring r = { 0 };
	uint32_t n, got_form[UNIC_KIO_FORMS];

	(void)state;
	assert_int_equal(unic_kio_ring_form(&r), 0);
	for (n = 1; n <= UNIC_KIO_FORMS; n++)
		unic_kio_ring_add_form(&r, n * 0x100);
	for (n = 0; n < UNIC_KIO_FORMS; n++) {
		got_form[n] = unic_kio_ring_form(&r);
		assert_int_equal(got_form[n], (n + 1) * 0x100);
	}
	assert_int_equal(unic_kio_ring_form(&r), 0);
	unic_kio_ring_form_put(&r, got_form[5]);
	unic_kio_ring_form_put(&r, 0x77); /* unknown: of before a reset */
	assert_int_equal(unic_kio_ring_form(&r), got_form[5]);
	assert_int_equal(unic_kio_ring_form(&r), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completions_that_are_none),
		cmocka_unit_test(receives_complete_in_turn),
		cmocka_unit_test(data_in_pieces),
		cmocka_unit_test(rdma_of_what_was_taken_back),
		cmocka_unit_test(data_by_a_form),
		cmocka_unit_test(forms_are_lent_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
