/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_indirect.c - indirect registration: lists of elements, by command and
 * by work request.
 */
#include "unit.h"

#include "derived_rig.h"
#include "memory/access.h"
#include "revoke/register.h"

/* ----------------------------------------------------------------- indirect */

static void indirect_over_three_regions(void **state)
{
	struct unic_xlate p;
	struct rig_mr x;
	uint32_t i;

	(void)state;
	form_make_three(&x);
	for (i = 0; i < 2; i++) /* with and without a window */
		form_assert_bytes(&x, 8192, form_three);
	for (i = 0; i < 8192; i += 61) {
		assert_int_equal(form_access_b(&x, RW, 8191 - i, 1, &p), 0);
		assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus,
				 form_three(8191 - i));
	}
	assert_int_equal(form_access_b(&x, RW, 0, 8193, &p), -UNIC_EBOUNDS);
	assert_int_equal(form_access_b(&x, RW, 8192, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(form_access_b(&x, RW, (uint64_t)-1, 1, &p),
			 -UNIC_EBOUNDS);
	/* no access 2^32 away goes through the window */
	assert_int_equal(form_access_b(&x, RW, 0, 1, &p), 0);
	assert_int_equal(form_access_b(&x, RW, 1ull << 32, 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(form_access_b(&x, RW, 16 - (1ull << 32), 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(form_write_to(&x, 0, 8192), UNIC_WC_SUCCESS);
	for (i = 0; i < 8192; i++)
		assert_int_equal(*form_three(i), ma.mem[i]);
	assert_int_equal(form_inval(&x), 0);
	assert_int_equal(form_access_b(&x, 0, 0, 1, &p), -UNIC_ESTAG);
	for (i = 0; i < 3; i++)
		assert_int_equal(rb.nic.mrs.mr[form_mb[i].mr].deps, 0);
}

/* Makes a region over the whole of page 1 of form_mb[0], whose byte 2048 is at
 * 2^32. */
static void make_straddling(struct rig_mr *x)
{
	struct form_plan p = { .n = 1,
			       .rights = RW,
			       .iova = (1ull << 32) - 2048 };

	p.sge[0] = form_piece(&form_mb[0], PAGE, PAGE);
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, x);
	assert_int_equal(form_make(x, &p), 0);
}

static const uint8_t *straddling(uint32_t off)
{
	return form_mb[0].mem + PAGE + off;
}

/* A range that crosses a multiple of 2^32 is two pieces, each with a window of
 * its own, in any order of access. */
static void addresses_that_cross_4_gib(void **state)
{
	static const uint32_t first[] = { 0, 1024, 2047, 2048, 2049, 4095 };
	struct unic_xlate p;
	struct unic_mr_ctx *mr;
	struct rig_mr x;
	uint32_t i, j, left;

	(void)state;
	make_straddling(&x);
	mr = &rb.nic.mrs.mr[x.mr];
	for (i = 0; i < sizeof(first) / sizeof(*first); i++) {
		assert_int_equal(form_access_b(&x, RW, first[i], 1, &p), 0);
		form_assert_bytes(&x, PAGE, straddling);
		for (j = 0; j < PAGE; j += 31) {
			left = j < 2048 ? 2048 - j : PAGE - j;
			mr->win_bytes = 0;
			assert_int_equal(form_access_b(&x, RW, j, PAGE - j, &p),
					 0);
			assert_int_equal(p.len, left);
			assert_true(unic_mr_in_window(
				mr, (uint32_t)(x.iova + j), p.len));
			/* bytes below 4 GiB are not found 4 GiB above */
			assert_int_equal(form_access_b(&x, RW,
						       (1ull << 32) + j % 2048,
						       1, &p),
					 -UNIC_EBOUNDS);
		}
	}
	assert_int_equal(form_access_b(&x, RW, 0, PAGE + 1, &p), -UNIC_EBOUNDS);
}

static void messages_that_cross_4_gib(void **state)
{
	static const uint32_t from[] = { 2047, 2040, 2033, 2016, 2048, 1000 };
	struct rig_mr x;
	uint32_t i, k;

	(void)state;
	make_straddling(&x);
	for (k = 0; k < PAGE; k++)
		form_mb[0].mem[PAGE + k] = (uint8_t)(k * 3 + k / 256 + 5);
	for (i = 0; i < sizeof(from) / sizeof(*from); i++) {
		memset(ma.mem, 0, PAGE);
		rig_send(&rb, &qb, UNIC_WR_WRITE, i, &x, from[i], 32, ma.iova,
			 ma.stag);
		assert_int_equal(form_done(&rb, &qb).status, UNIC_WC_SUCCESS);
		assert_memory_equal(ma.mem, straddling(from[i]), 32);
		assert_int_equal(ma.mem[32], 0);
	}
	for (k = 0; k < PAGE; k++)
		ma.mem[k] = (uint8_t)(k * 7 + 1);
	for (i = 0; i < sizeof(from) / sizeof(*from); i++) {
		memset(form_mb[0].mem, 0, 3 * PAGE);
		assert_int_equal(form_write_to(&x, from[i], 32),
				 UNIC_WC_SUCCESS);
		assert_memory_equal(straddling(from[i]), ma.mem, 32);
		assert_int_equal(*straddling(from[i] - 1), 0);
		assert_int_equal(*straddling(from[i] + 32), 0);
	}
}

static void lists_with_every_element_wrong(void **state)
{
	static struct unic_derived_regions before;
	struct form_plan good, p;
	struct rig_mr x;
	uint32_t i;

	(void)state;
	form_list_three(&good);
	form_alloc_ok(UNIC_FORM_INDIRECT, 3, &x);
	before = rb.nic.derived;
#define BAD(field, value, status)                                      \
	do {                                                           \
		p = good;                                              \
		p.field = (value);                                     \
		assert_int_equal(form_make(&x, &p), UNIC_ST_##status); \
	} while (0)
	for (i = 0; i < 3; i++) {
		BAD(sge[i].len, unic_to_le32(0), INVALID);
		BAD(sge[i].len, unic_to_le32(UINT32_MAX), BOUNDS);
		BAD(sge[i].iova, unic_to_le64(UINT64_MAX), BOUNDS);
		BAD(sge[i].iova, unic_to_le64(form_mb[i].iova - 1), BOUNDS);
		BAD(sge[i].lkey, unic_to_le32(form_mb[i].stag ^ 0x80), NO_MR);
		BAD(sge[i].lkey, unic_to_le32(x.stag), NO_MR);
	}
	BAD(n, 0, INVALID);
	BAD(n, 4, TOO_LARGE);
	BAD(iova, UINT64_MAX - 8190, INVALID);
	BAD(repeat, UINT32_MAX, TOO_LARGE);
	BAD(rights, UNIC_MR_RIGHTS_ALL + 1, INVALID);
#undef BAD
	assert_memory_equal(&before, &rb.nic.derived, sizeof(before));
	good.iova = UINT64_MAX - 8191; /* ends at 2^64 */
	assert_int_equal(form_make(&x, &good), 0);
	form_assert_bytes(&x, 8192, form_three);
}

/* A window has no local key: its STag makes no element, even while the window
 * is bound and has the rights. */
static void windows_are_no_elements(void **state)
{
	static const uint8_t kind[] = { UNIC_FORM_SUB, UNIC_FORM_WINDOW1,
					UNIC_FORM_WINDOW2, UNIC_FORM_FAST,
					UNIC_FORM_INDIRECT };
	uint32_t type, i;
	struct rig_mr w, x;

	(void)state;
	for (type = UNIC_FORM_WINDOW1; type <= UNIC_FORM_WINDOW2; type++) {
		form_alloc_ok((uint8_t)type, 0, &w);
		assert_int_equal(form_make_one(&w, &form_mb[1], 0, PAGE,
					       UNIC_MR_REMOTE_READ, 1),
				 0);
		for (i = 0; i < sizeof(kind); i++) {
			form_alloc_ok(kind[i], kind[i] >= UNIC_FORM_FAST, &x);
			assert_int_not_equal(form_make_one(&x, &w, 0, PAGE,
							   UNIC_MR_REMOTE_READ,
							   1),
					     UNIC_ST_OK);
			if (kind[i] == UNIC_FORM_INDIRECT)
				assert_int_equal(
					form_make_one(&x, &w, 0, PAGE,
						      UNIC_MR_REMOTE_READ, 1),
					UNIC_ST_NO_MR);
			assert_int_equal(form_make_one(&x, &form_mb[1], 0, PAGE,
						       UNIC_MR_REMOTE_READ, 1),
					 UNIC_ST_OK);
			assert_int_equal(rig_dereg(&rb, &x), 0);
		}
		assert_int_equal(rb.nic.mrs.mr[w.mr].deps, 0);
		assert_int_equal(rig_dereg(&rb, &w), 0);
	}
}

/* T10-PI: blocks of 512 bytes from one region, 8 bytes of protection
 * information for each from another. */
static const uint8_t *t10(uint32_t off)
{
	uint32_t block = off / 520, in = off % 520;

	return in < 512 ? form_mb[0].mem + 300 + block * 512 + in
			: form_mb[1].mem + 8 * block + in - 512;
}

static void protection_information_interleaved(void **state)
{
	static const uint32_t stride[2] = { 512, 8 };
	struct form_plan p = {
		.n = 2, .repeat = 20, .stride = stride, .rights = RW, .iova = 0
	};
	struct unic_xlate piece_out;
	struct rig_mr x;
	uint32_t i;

	(void)state;
	p.sge[0] = form_piece(&form_mb[0], 300, 512);
	p.sge[1] = form_piece(&form_mb[1], 0, 8);
	form_alloc_ok(UNIC_FORM_INDIRECT, 2, &x);
	p.repeat = 24; /* the last block would end behind the region */
	assert_int_equal(form_make(&x, &p), UNIC_ST_BOUNDS);
	p.repeat = 20;
	assert_int_equal(form_make(&x, &p), 0);
	form_assert_bytes(&x, 20 * 520, t10);
	assert_int_equal(form_access_b(&x, RW, 0, 20 * 520 + 1, &piece_out),
			 -UNIC_EBOUNDS);
	assert_int_equal(form_write_to(&x, 3, 20 * 520 - 3), UNIC_WC_SUCCESS);
	for (i = 3; i < 20 * 520; i++)
		assert_int_equal(*t10(i), ma.mem[i - 3]);
}

static void nested_to_a_depth(void **state)
{
	struct form_plan p = { .n = 1, .rights = RW };
	struct unic_xlate out;
	struct rig_mr x[UNIC_FORM_DEPTH + 2], below = form_mb[0];
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_FORM_DEPTH; i++) {
		bool odd = i & 1;

		form_alloc_ok(odd ? UNIC_FORM_SUB : UNIC_FORM_INDIRECT, !odd,
			      &x[i]);
		p.sge[0] = form_piece(&below, 10, 9000 - 10 * i);
		p.iova = odd ? below.iova + 10 : 0x5555000000ull + i;
		assert_int_equal(form_make(&x[i], &p), 0);
		below = x[i];
	}
	assert_int_equal(form_access_b(&below, RW, 0, 100, &out), 0);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)out.bus,
			 form_mb[0].mem + 10 * UNIC_FORM_DEPTH);
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, &x[i]);
	p.sge[0] = form_piece(&below, 0, 1);
	assert_int_equal(form_make(&x[i], &p), UNIC_ST_TOO_LARGE);
	/* a region with dependents cannot be invalidated, but deregistered */
	assert_int_equal(form_inval(&x[0]), UNIC_ST_BUSY);
	assert_int_equal(form_access_b(&x[0], RW, 0, 100, &out), 0);
	assert_int_equal(rig_dereg(&rb, &form_mb[0]), UNIC_ST_OK);
	for (i = 0; i < UNIC_FORM_DEPTH; i++)
		assert_int_equal(form_access_b(&x[i], 0, 0, 1, &out),
				 -UNIC_EEVICTED);
}

static void posted_lists(void **state)
{
	struct unic_sq_slot s;
	struct unic_cqe cqe;
	struct form_plan p;
	struct rig_mr x;
	uint32_t strides[3] = { 0, 0, 0 };
	uint8_t strided[96];

	(void)state;
	form_list_three(&p);
	form_alloc_ok(UNIC_FORM_INDIRECT, 6, &x);
	/* inline: 48 bytes */
	cqe = form_post_make(UNIC_WR_REG_INDIRECT, &x, 4, RW, p.iova, p.sge, 3);
	assert_int_equal(cqe.status, 0);
	form_assert_bytes(&x, 8192, form_three);
	assert_int_equal(form_local_inv(x.stag).status, 0);
	/* with strides */
	memcpy(strided, p.sge, 48);
	memcpy(strided + 48, strides, 12);
	s = form_memop(UNIC_WR_REG_INDIRECT, x.stag, 5, RW, p.iova, 60);
	s.imm = unic_to_le32(unic_from_le32(s.imm) | UNIC_WR_IMM_STRIDED);
	assert_int_equal(form_post(&rb, &qb, s, strided).status, 0);
	x.stag = (x.stag & ~0xffu) | 5;
	form_assert_bytes(&x, 8192, form_three);
	assert_int_equal(form_local_inv(x.stag).status, 0);
	/* in memory, across a page */
	memcpy(form_mb[2].mem + PAGE - 20, p.sge, 48);
	s = form_memop(UNIC_WR_REG_INDIRECT, x.stag, 6, RW, p.iova, 0);
	s.num_sge = 1;
	s.sge[0] = form_piece(&form_mb[2], PAGE - 20, 48);
	assert_int_equal(form_post(&rb, &qb, s, NULL).status, 0);
	x.stag = (x.stag & ~0xffu) | 6;
	form_assert_bytes(&x, 8192, form_three);
	assert_int_equal(form_local_inv(x.stag).status, 0);
	/* half an element; then a wrong element, whose number is in byte_len */
	s.rkey = unic_to_le32(x.stag);
	s.sge[0].len = unic_to_le32(40);
	cqe = form_post(&rb, &qb, s, NULL);
	assert_int_equal(cqe.detail, UNIC_WD_SGE);
	form_again();
	p.sge[1].lkey = unic_to_le32(0);
	cqe = form_post_make(UNIC_WR_REG_INDIRECT, &x, 4, RW, p.iova, p.sge, 3);
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_STAG);
	assert_int_equal(unic_from_le32(cqe.byte_len), 1);
	form_again();
	p.sge[1] = p.sge[0];
	p.sge[2].lkey = unic_to_le32(0);
	memcpy(form_mb[2].mem, p.sge, 48);
	s.sge[0] = form_piece(&form_mb[2], 0, 48);
	cqe = form_post(&rb, &qb, s, NULL);
	assert_int_equal(cqe.detail, UNIC_WD_STAG);
	assert_int_equal(unic_from_le32(cqe.byte_len), 2);
	form_again();
	s.sge[0] = form_piece(&form_mb[2], 0, 3 * PAGE + 1);
	cqe = form_post(&rb, &qb, s, NULL);
	assert_int_equal(cqe.detail, UNIC_WD_LENGTH);
	form_again();
	s.sge[0] = form_piece(&form_mb[2], 3 * PAGE - 16, 32);
	cqe = form_post(&rb, &qb, s, NULL);
	assert_int_equal(cqe.detail, UNIC_WD_BOUNDS);
}

/* ------------------------------------------- work requests, field by field */

static void lists_that_are_none(void **state)
{
	struct unic_sq_slot s, good;
	struct unic_sge e = form_piece(&form_mb[1], 0, PAGE);
	struct rig_mr w, x;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	form_alloc_ok(UNIC_FORM_INDIRECT, 6, &x);
	good = form_memop(UNIC_WR_BIND_MW, w.stag, 1, UNIC_MR_REMOTE_READ,
			  form_mb[1].iova, 16);
	good.flags |= UNIC_WR_INLINE;
	s = good;
	s.num_sge = 1;
	form_refused(s, &e, UNIC_WD_SGE);
	s = good;
	s.inline_len = 15;
	form_refused(s, &e, UNIC_WD_SGE);
	s = good;
	s.imm = unic_to_le32(1u << 17);
	form_refused(s, &e, UNIC_WD_SGE);
	s = form_memop(UNIC_WR_BIND_MW, w.stag, 1, 0, form_mb[1].iova, 0);
	s.num_sge = 1; /* BIND_MW takes inline lists only */
	s.sge[0] = form_piece(&form_mb[2], 0, 16);
	form_refused(s, NULL, UNIC_WD_SGE);
	s = form_memop(UNIC_WR_REG_INDIRECT, x.stag, 1, RW, 0, 0);
	form_refused(s, NULL, UNIC_WD_SGE); /* no list */
	s.num_sge = 1;
	form_refused(s, NULL, UNIC_WD_SGE); /* no bytes */
	s.sge[0] = form_piece(&form_mb[2], 0, 16);
	s.sge[0].lkey = unic_to_le32(form_mb[2].stag ^ 0x100);
	form_refused(s, NULL, UNIC_WD_STAG);
	s = form_memop(UNIC_WR_REG_INDIRECT, x.stag, 1, RW, 0, 0);
	s.num_sge = 1;
	s.sge[0] = form_piece(&form_mb[2], 0, 16);
	memcpy(form_mb[2].mem, &e, 16); /* a valid element; the slot is wrong */
	s.inline_len = 1;
	form_refused(s, NULL, UNIC_WD_SGE);
	s.inline_len = 0;
	s.num_sge = 2;
	form_refused(s, NULL, UNIC_WD_SGE);
	assert_int_equal(rb.nic.derived.form[w.mr].used, 0);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 0);
	assert_int_equal(form_post(&rb, &qb, good, &e).status, 0);
}

/* Two queue pairs get the one reader of lists in turn, with DMA that completes
 * late. */
static void lists_are_read_in_turn(void **state)
{
	struct unic_sge e = form_piece(&form_mb[1], 5, 100);
	struct rig_qp *q[2] = { &qb, NULL };
	struct rig_qp far, near;
	struct unic_sq_slot s;
	struct unic_cqe cqe;
	struct rig_mr x[2];
	uint32_t i, k;

	(void)state;
	rig_qp(&ra, 0, form_pa, 9, &far);
	rig_qp(&rb, 0, form_pb, 9, &near);
	rig_connect(&ra, &far, &rb, &near);
	q[1] = &near;
	memcpy(form_mb[2].mem, &e, sizeof(e));
	rb.port.late_dma = true;
	for (i = 0; i < 2; i++) {
		form_alloc_ok(UNIC_FORM_INDIRECT, 1, &x[i]);
		s = form_memop(UNIC_WR_REG_INDIRECT, x[i].stag, 1, RW, 0, 0);
		s.num_sge = 1;
		s.flags = UNIC_WR_SIGNALED;
		s.sge[0] = form_piece(&form_mb[2], 0, 16);
		q[i]->sq[q[i]->sq_tail % RIG_SLOTS] = s;
		rig_ring(&rb, 0, UNIC_DB_SQ, q[i]->row, ++q[i]->sq_tail);
	}
	for (k = 0; k < 50; k++) {
		rig_poll(&rb);
		fake_dma_run(&rb.port, 1);
		rb.port.now_ns += 1000;
	}
	for (i = 0; i < 2; i++) {
		assert_true(rig_cqe(&rb, q[i], &cqe));
		assert_int_equal(cqe.status, 0);
		assert_int_equal(rb.nic.derived.form[x[i].mr].used, 1);
	}
	rb.port.late_dma = false;
	assert_int_equal(rb.nic.list_reader.qpn, 0);
	assert_int_equal(rb.nic.order.waits, 0);
}

/* Posts on @q that a new indirect region @x is made of the list in
 * form_mb[2]. */
static void post_a_list(struct rig_qp *q, struct rig_mr *x)
{
	struct unic_sq_slot s;

	form_alloc_ok(UNIC_FORM_INDIRECT, 1, x);
	s = form_memop(UNIC_WR_REG_INDIRECT, x->stag, 1, RW, 0, 0);
	s.num_sge = 1;
	s.flags = UNIC_WR_SIGNALED;
	s.sge[0] = form_piece(&form_mb[2], 0, 16);
	q->sq[q->sq_tail % RIG_SLOTS] = s;
	rig_ring(&rb, 0, UNIC_DB_SQ, q->row, ++q->sq_tail);
}

/* A queue pair fails while its list is read: the list is not taken for that of
 * the next queue pair. */
static void late_list_is_nobodys(void **state)
{
	struct unic_cmd_qp_modify err = { .qpn = unic_to_le32(qb.qpn),
					  .state = UNIC_QPS_ERR };
	struct unic_sge e = form_piece(&form_mb[1], 5, 100);
	struct rig_qp far, near;
	struct unic_cqe cqe;
	struct rig_mr x, y;
	uint32_t k;

	(void)state;
	rig_qp(&ra, 0, form_pa, 9, &far);
	rig_qp(&rb, 0, form_pb, 9, &near);
	rig_connect(&ra, &far, &rb, &near);
	memcpy(form_mb[2].mem, &e, sizeof(e));
	rb.port.late_dma = true;
	post_a_list(&qb, &x);
	post_a_list(&near, &y);
	rig_poll(&rb);
	while (rb.nic.list_reader.next_qpn != near.qpn) {
		fake_dma_run(&rb.port, 1);
		rig_poll(&rb);
	}
	assert_int_equal(rb.nic.list_reader.sgl.pending, 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &err, NULL), 0);
	for (k = 0; k < 50; k++)
		rig_poll(&rb);
	assert_int_equal(rb.nic.list_reader.qpn, 0);
	for (k = 0; k < 50; k++) {
		fake_dma_run(&rb.port, 1);
		rig_poll(&rb);
		rb.port.now_ns += 1000;
	}
	rb.port.late_dma = false;
	assert_true(rig_cqe(&rb, &near, &cqe));
	assert_int_equal(cqe.status, 0);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 0);
	assert_int_equal(rb.nic.derived.form[y.mr].used, 1);
	assert_int_equal(rb.nic.list_reader.sgl.pending, 0);
}

/* Posts that indirect region @x is made of a list of one element in form_mb[2].
 * The port moves nothing of the list until the test lets it. */
static void begin_a_list(struct rig_mr *x)
{
	struct unic_sge e = form_piece(&form_mb[1], 5, 100);
	struct unic_sq_slot s;

	memcpy(form_mb[2].mem, &e, sizeof(e));
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, x);
	s = form_memop(UNIC_WR_REG_INDIRECT, x->stag, 1, RW, 0, 0);
	s.num_sge = 1;
	s.flags = UNIC_WR_SIGNALED;
	s.sge[0] = form_piece(&form_mb[2], 0, 16);
	qb.sq[qb.sq_tail % RIG_SLOTS] = s;
	rig_ring(&rb, 0, UNIC_DB_SQ, qb.row, ++qb.sq_tail);
	rb.port.again_call = rb.port.calls + 2; /* the list: call 2 */
	unic_nic_poll(&rb.nic);
	assert_int_equal(rb.port.calls, rb.port.again_call);
	assert_true(rb.nic.list_reader.started);
	rb.port.no_dma = true;
}

static struct unic_cqe end_of_the_list(void)
{
	rb.port.no_dma = false;
	rb.port.again_call = 0;
	return form_done(&rb, &qb);
}

/* Registers regions of one page for process 1 at the address of @like, each of
 * them page @page of its window, until one has the index of @like, all in one
 * poll round. */
static void take_its_index(const struct rig_mr *like, uint32_t pd,
			   uint32_t page)
{
	const struct unic_mr_args args = {
		.pd = (uint16_t)pd,
		.proc = 1,
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = 12,
		.flags = UNIC_REG_LIST,
		.iova = like->iova,
		.length = 4096,
		.n_pages = 1,
	};
	const uint64_t bus = UNIC_BUS(1, page * 4096u);
	struct unic_mr_result y;

	do {
		assert_int_equal(unic_mr_reg(&rb.nic.revoke, &args, &bus, &y),
				 0);
	} while (y.mr != like->mr);
}

/* The region with the list ends while the list is read, and another process
 * gets its index, with a list at the same address: the request is refused. */
static void list_of_another_process(void **state)
{
	struct unic_sge e = form_piece(&form_mb[1], 5, 100);
	struct unic_cqe cqe;
	struct rig_mr x;
	uint32_t other;

	(void)state;
	rig_attach(&rb, 1, 1);
	other = rig_pd(&rb, 1);
	begin_a_list(&x);
	memset(form_mb[2].mem, 0, sizeof(e));
	memcpy(rb.port.window[1] + 100 * 4096, &e, sizeof(e));
	assert_int_equal(unic_mr_dereg(&rb.nic.revoke, form_mb[2].mr,
				       form_mb[2].gen),
			 0);
	take_its_index(&form_mb[2], other, 100);
	cqe = end_of_the_list();
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_STAG);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 0);
	assert_int_equal(rb.nic.list_reader.qpn, 0);
}

/* The region with the list moves to another domain, with the same STag and
 * generation, while the list is read: the request is refused. */
static void list_that_is_not_ours_any_more(void **state)
{
	struct unic_cmd_mr_rereg c = { .mr = unic_to_le32(form_mb[2].mr),
				       .gen = unic_to_le32(form_mb[2].gen),
				       .pd = unic_to_le32(rig_pd(&rb, 0)),
				       .what = UNIC_REREG_PD };
	struct unic_cqe cqe;
	struct rig_mr x;

	(void)state;
	begin_a_list(&x);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), 0);
	cqe = end_of_the_list();
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PD);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 0);
}

/* A list is read when the port moves data again. */
static void list_that_had_to_wait(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr x;

	(void)state;
	begin_a_list(&x);
	unic_nic_poll(&rb.nic);
	cqe = end_of_the_list();
	assert_int_equal(cqe.status, 0);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(indirect_over_three_regions),
		TEST(addresses_that_cross_4_gib),
		TEST(messages_that_cross_4_gib),
		TEST(lists_with_every_element_wrong),
		TEST(windows_are_no_elements),
		TEST(protection_information_interleaved),
		TEST(nested_to_a_depth),
		TEST(posted_lists),
		TEST(lists_that_are_none),
		TEST(lists_are_read_in_turn),
		TEST(late_list_is_nobodys),
		TEST(list_of_another_process),
		TEST(list_that_is_not_ours_any_more),
		TEST(list_that_had_to_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
