/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_fastreg.c - fast registration by work request.
 */
#include "unit.h"

#include "derived_rig.h"
#include "memory/table.h"

static const uint8_t *runs(uint32_t off)
{
	off += 1000;
	return off < 2 * PAGE ? form_mb[0].mem + PAGE + off
			      : form_mb[2].mem + off - 2 * PAGE;
}

static void posted_fast_registration(void **state)
{
	uint16_t free = rb.nic.tlb.free, reserved = rb.nic.tlb.reserved;
	struct unic_sge list[2] = { form_piece(&form_mb[0], PAGE + 1000,
					       2 * PAGE - 1000),
				    form_piece(&form_mb[2], 0, PAGE + 5) };
	struct unic_xlate p;
	struct unic_cqe cqe;
	struct rig_mr f;
	uint8_t key;

	(void)state;
	form_alloc_ok(UNIC_FORM_FAST, 4, &f);
	assert_int_equal(rb.nic.tlb.free, free - 4);
	for (key = 1; key < 4; key++) {
		cqe = form_post_make(UNIC_WR_REG_MR, &f, key, RW, 0x7000 + 1000,
				     list, 2);
		assert_int_equal(cqe.status, 0);
		assert_int_equal(cqe.opcode, UNIC_WC_REG_MR);
		form_assert_bytes(&f, 3 * PAGE - 995, runs);
		assert_int_equal(form_access_b(&f, RW, 3 * PAGE - 995, 1, &p),
				 -UNIC_EBOUNDS);
		assert_int_equal(form_write_to(&f, 0, 9000), UNIC_WC_SUCCESS);
		assert_int_equal(form_local_inv(f.stag).status, 0);
		assert_int_equal(form_access_b(&f, 0, 0, 1, &p), -UNIC_ESTAG);
		assert_int_equal(rb.nic.tlb.reserved, reserved + 4);
	}
	assert_int_equal(rig_dereg(&rb, &f), UNIC_ST_OK);
	assert_int_equal(rb.nic.tlb.free, free);
	assert_int_equal(rb.nic.tlb.reserved, reserved);
}

static void each_wrong_fast_registration(void **state)
{
	struct unic_sge good[2] = { form_piece(&form_mb[0], PAGE, 2 * PAGE),
				    form_piece(&form_mb[2], 0, PAGE) },
			list[2];
	struct unic_cqe cqe;
	struct rig_mr f;

	(void)state;
	form_alloc_ok(UNIC_FORM_FAST, 3, &f);
#define BAD(at, code, which)                                                  \
	do {                                                                  \
		cqe = form_post_make(UNIC_WR_REG_MR, &f, 1, RW, at, list, 2); \
		assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);             \
		assert_int_equal(cqe.detail, UNIC_WD_##code);                 \
		assert_int_equal(unic_from_le32(cqe.byte_len), which);        \
		memcpy(list, good, sizeof(list));                             \
		form_again();                                                 \
	} while (0)
	memcpy(list, good, sizeof(list));
	BAD(0x7001, ALIGN, 0);
	BAD(0x7800, ALIGN, 0);
	list[0].len = unic_to_le32(2 * PAGE - 1);
	BAD(0x7000, ALIGN, 0);
	list[1].iova = unic_to_le64(form_mb[2].iova + 8);
	BAD(0x7000, ALIGN, 1);
	list[1].lkey = unic_to_le32(form_mb[2].stag ^ 1);
	BAD(0x7000, STAG, 1);
	list[1].len = unic_to_le32(PAGE + 1);
	BAD(0x7000, LENGTH, 0); /* one page too many */
#undef BAD
	cqe = form_post_make(UNIC_WR_REG_MR, &f, 1, RW, 0x7000, good, 2);
	assert_int_equal(cqe.status, 0);
}

/* Moves region @mr of three pages so that its last byte is at 2^64 - 1. */
static void move_to_the_end(struct rig_mr *mr)
{
	uint64_t *list = (uint64_t *)(void *)(rb.port.bar + UNIC_BAR_LIST_OFF) +
			 rb.cmd_tail % UNIC_CMD_ENTRIES * (UNIC_LIST_BYTES / 8);
	struct unic_cmd_mr_rereg c = { .mr = unic_to_le32(mr->mr),
				       .gen = unic_to_le32(mr->gen),
				       .what = UNIC_REREG_RANGE,
				       .length = unic_to_le64(3 * PAGE),
				       .n_pages = unic_to_le32(3) };
	uint32_t i;

	mr->iova = 0 - 3ull * PAGE;
	c.iova = unic_to_le64(mr->iova);
	for (i = 0; i < 3; i++)
		list[i] = UNIC_BUS(0, (uint64_t)(mr->mem - rb.port.window[0]) +
					      i * PAGE);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), 0);
}

static const uint8_t *last_then_first(uint32_t off)
{
	return off < 2 * PAGE ? form_mb[1].mem + PAGE + off
			      : form_mb[0].mem + off - 2 * PAGE;
}

/* Runs of pages that end at 2^64: the end wraps to 0, less than the
 * beginning. */
static void runs_that_end_at_2_to_the_64(void **state)
{
	struct unic_sge list[2];
	struct unic_xlate p;
	struct rig_mr f, sub, list_of;
	struct form_plan strided = { .n = 1, .rights = RW };

	(void)state;
	move_to_the_end(&form_mb[1]);
	list[0] = form_piece(&form_mb[1], PAGE, 2 * PAGE);
	list[1] = form_piece(&form_mb[0], 0, 100);
	form_alloc_ok(UNIC_FORM_FAST, 3, &f);
	assert_int_equal(form_post_make(UNIC_WR_REG_MR, &f, 1, RW, 0x7000, list,
					2)
				 .status,
			 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 3);
	form_assert_bytes(&f, 2 * PAGE + 100, last_then_first);
	assert_int_equal(form_access_b(&f, RW, 2 * PAGE + 100, 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(form_write_to(&f, 0, 2 * PAGE + 100), UNIC_WC_SUCCESS);
	assert_memory_equal(form_mb[1].mem + PAGE, ma.mem, 2 * PAGE);
	/* the derived region may end there, too */
	assert_int_equal(form_local_inv(f.stag).status, 0);
	assert_int_equal(form_post_make(UNIC_WR_REG_MR, &f, 2, RW,
					0 - 2ull * PAGE, list, 1)
				 .status,
			 0);
	form_assert_bytes(&f, 2 * PAGE, last_then_first);
	/* no element may reach beyond 2^64 */
	list[0] = form_piece(&form_mb[1], PAGE, 2 * PAGE + 1);
	assert_int_equal(form_local_inv(f.stag).status, 0);
	assert_int_equal(form_post_make(UNIC_WR_REG_MR, &f, 3, RW, 0x7000, list,
					1)
				 .detail,
			 UNIC_WD_BOUNDS);
	form_again();
	/* the other kinds of derived regions over the same bytes */
	form_alloc_ok(UNIC_FORM_SUB, 0, &sub);
	assert_int_equal(
		form_make_one(&sub, &form_mb[1], PAGE, 2 * PAGE, RW, 0), 0);
	assert_int_equal(form_access_b(&sub, RW, 2 * PAGE - 1, 1, &p), 0);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus,
			 form_mb[1].mem + 3 * PAGE - 1);
	assert_int_equal(form_access_b(&sub, RW, 2 * PAGE - 1, 2, &p),
			 -UNIC_EBOUNDS);
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, &list_of);
	strided.sge[0] = form_piece(&form_mb[1], PAGE, 2 * PAGE);
	assert_int_equal(form_make(&list_of, &strided), 0);
	form_assert_bytes(&list_of, 2 * PAGE, last_then_first);
	strided.sge[0] = form_piece(&form_mb[1], 2 * PAGE, PAGE + 1);
	assert_int_equal(form_inval(&list_of), 0);
	assert_int_equal(form_make(&list_of, &strided), UNIC_ST_BOUNDS);
}

/* Posts REG_MR of @f with the one element @e on @rb, which does not look. */
static void post_reg_mr(const struct rig_mr *f, uint8_t key, uint8_t flags,
			struct unic_sge e)
{
	struct unic_sq_slot s =
		form_memop(UNIC_WR_REG_MR, f->stag, key, RW, 0x7000, sizeof(e));

	s.flags |= flags;
	s.sge[0] = e;
	qb.sq[qb.sq_tail % RIG_SLOTS] = s;
	rig_ring(&rb, 0, UNIC_DB_SQ, qb.row, ++qb.sq_tail);
}

static struct unic_cqe next_cqe(void)
{
	struct unic_cqe cqe = { 0 };

	assert_true(rig_cqe(&rb, &qb, &cqe));
	return cqe;
}

/* A registration takes effect in its turn, whatever becomes of what is before it: in ERR
 * it completes with success, signaled or not, and who comes too late is flushed. */
static void what_was_registered_is_not_flushed(void **state)
{
	struct unic_cmd_qp_modify c = { .qpn = unic_to_le32(qb.qpn),
					.state = UNIC_QPS_ERR };
	struct unic_sge e = form_piece(&form_mb[0], 0, PAGE);
	struct rig_mr f[3];
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		form_alloc_ok(UNIC_FORM_FAST, 1, &f[i]);
	rig_send(&rb, &qb, UNIC_WR_WRITE, 5, &form_mb[1], 0, 64, ma.iova,
		 ma.stag);
	post_reg_mr(&f[0], 1, UNIC_WR_SIGNALED, e);
	post_reg_mr(&f[1], 1, 0, e);
	pair_rounds(&rb, 4); /* the peer says nothing */
	assert_true(rb.nic.mrs.mr[f[1].mr].filled);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &c, NULL), 0);
	post_reg_mr(&f[2], 1, 0, e);
	pair_rounds(&rb, 4);
	assert_int_equal(next_cqe().status, UNIC_WC_WR_FLUSH_ERR);
	for (i = 0; i < 3; i++) {
		cqe = next_cqe();
		assert_int_equal(cqe.opcode, UNIC_WC_REG_MR);
		assert_int_equal(cqe.status, i < 2 ? 0 : UNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(unic_from_le32(cqe.byte_len), 0);
	}
	assert_false(rb.nic.mrs.mr[f[2].mr].filled);
	assert_false(rig_cqe(&rb, &qb, &cqe));
}

/* A region of residency @residency and @pages pages, those of form_mb[0] again and again,
 * which holds no entry. */
static void reg_pages(uint8_t residency, uint32_t pages, struct rig_mr *out)
{
	uint32_t page = (uint32_t)(form_mb[0].mem - rb.port.window[0]) / PAGE;
	uint32_t i;

	for (i = 0; i < pages; i++)
		rig_table(&rb, i, 0, page + i % 3);
	assert_int_equal(rig_reg_cached(&rb, form_pb, pages, residency, 0, out),
			 0);
	assert_int_equal(rb.nic.mrs.mr[out->mr].n_pages, 0);
}

static void reg_without_entries(uint8_t residency, struct rig_mr *out)
{
	reg_pages(residency, 3, out);
}

static const uint8_t *listed(uint32_t off)
{
	return form_mb[0].mem + 1000 + off;
}

static uint8_t invalidate(const struct rig_mr *mr)
{
	struct unic_cmd_mr_pages c = { .mr = unic_to_le32(mr->mr),
				       .gen = unic_to_le32(mr->gen),
				       .count = unic_to_le32(1) };

	return rig_cmd(&rb, UNIC_CMD_MR_INVALIDATE, &c, NULL);
}

/* Pages of a list are loaded without entries of their region, into those of the
 * registration, which ends with the region. */
static void pages_without_entries_are_loaded(void **state)
{
	struct unic_xlate p;
	struct rig_mr of, f;
	struct unic_sge e;
	uint16_t free;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	reg_without_entries(UNIC_TABLE, &of);
	e = form_piece(&of, 1000, 3 * PAGE - 1000);
	form_alloc_ok(UNIC_FORM_FAST, 3, &f);
	free = rb.nic.tlb.free;
	assert_int_equal(form_post_make(UNIC_WR_REG_MR, &f, 1, RW,
					0x7000 + 1000, &e, 1)
				 .status,
			 0);
	assert_int_equal(rb.nic.tlb.free, free);
	assert_int_equal(rb.nic.mrs.mr[of.mr].n_pages, 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 3);
	assert_int_equal(rig_count(&rb, table_reads), 1); /* of a group */
	form_assert_bytes(&f, 3 * PAGE - 1000, listed);
	assert_int_equal(form_write_to(&f, 0, 9000), UNIC_WC_SUCCESS);
	assert_memory_equal(form_mb[0].mem + 1000, ma.mem, 9000);
	/* a page is not taken out of a list of which there are copies */
	assert_int_equal(invalidate(&of), UNIC_ST_BUSY);
	assert_int_equal(form_local_inv(f.stag).status, 0);
	assert_int_equal(invalidate(&of), 0);
	/* an entry that is there is as good as its word */
	assert_int_equal(unic_table_miss(&rb.nic.memory, (uint16_t)of.mr, 1, 1,
					 false),
			 1);
	assert_int_equal(form_post_make(UNIC_WR_REG_MR, &f, 2, RW,
					0x7000 + 1000, &e, 1)
				 .status,
			 0);
	form_assert_bytes(&f, 3 * PAGE - 1000, listed);
	assert_int_equal(rig_dereg(&rb, &of), 0);
	assert_int_equal(form_access_b(&f, RW, 0, 1, &p), -UNIC_EEVICTED);
}

static const uint8_t *of_three_regions(uint32_t off)
{
	static const uint8_t page[] = { 1, 2, 0, 2 };

	return off < PAGE ? form_mb[1].mem + PAGE + off
			  : form_mb[0].mem + page[off / PAGE - 1] * PAGE +
				    off % PAGE;
}

/* Runs of a resident region, of pages in two groups of a list, and of another list are
 * loaded in their order, each group by one read. */
static void runs_of_three_regions(void **state)
{
	struct rig_mr of, other, f;
	struct unic_sge e[3];
	struct unic_cqe cqe;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	reg_pages(UNIC_TABLE, 10, &of);
	reg_pages(UNIC_TABLE, 10, &other);
	e[0] = form_piece(&form_mb[1], PAGE, PAGE);
	e[1] = form_piece(&of, 7 * PAGE, 3 * PAGE);
	e[2] = form_piece(&other, 8 * PAGE, PAGE);
	form_alloc_ok(UNIC_FORM_FAST, 5, &f);
	assert_int_equal(
		form_post_make(UNIC_WR_REG_MR, &f, 1, RW, 0x7000, e, 3).status,
		0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 5);
	assert_int_equal(rig_count(&rb, table_reads), 3);
	form_assert_bytes(&f, 5 * PAGE, of_three_regions);
	/* the second of three runs, and the first of two, has no page */
	assert_int_equal(form_local_inv(f.stag).status, 0);
	rig_words(&rb)[7] = unic_to_le64(0);
	cqe = form_post_make(UNIC_WR_REG_MR, &f, 2, RW, 0x7000, e, 3);
	assert_int_equal(cqe.detail, UNIC_WD_PAGE);
	assert_int_equal(unic_from_le32(cqe.byte_len), 1);
	form_again();
	cqe = form_post_make(UNIC_WR_REG_MR, &f, 2, RW, 0x7000, &e[1], 2);
	assert_int_equal(cqe.detail, UNIC_WD_PAGE);
	assert_int_equal(unic_from_le32(cqe.byte_len), 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
}

/* A list of pages of 64 KiB, of a region that begins within one, of which a fast
 * registration has pages of 4 KiB. */
static void parts_of_larger_pages(void **state)
{
	struct unic_cpl_mr_reg cpl;
	struct unic_cmd_mr_reg reg = {
		.pd = unic_to_le32(form_pb),
		.rights = RW,
		.residency = UNIC_TABLE,
		.page_shift = 16,
		.iova = unic_to_le64(0x3000f000),
		.length = unic_to_le64(0x20000),
		.n_pages = unic_to_le32(3),
		.list = unic_to_le64(RIG_LIST),
		.flags = UNIC_REG_HOST_TABLE,
	};
	struct rig_mr of = { .iova = 0x3000f000 }, f;
	struct unic_xlate p;
	struct unic_sge e;
	uint32_t i;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	for (i = 0; i < 3; i++)
		rig_table(&rb, i, 0, 0x70 - 0x10 * i);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REG, &reg, &cpl), 0);
	of.stag = unic_from_le32(cpl.stag);
	e = form_piece(&of, 0x10000, 2 * PAGE);
	form_alloc_ok(UNIC_FORM_FAST, 2, &f);
	assert_int_equal(
		form_post_make(UNIC_WR_REG_MR, &f, 1, RW, 0x7000, &e, 1).status,
		0);
	assert_int_equal(form_access_b(&f, RW, 0, 1, &p), 0);
	assert_true(p.bus == UNIC_BUS(0, 0x6f000));
	assert_int_equal(form_access_b(&f, RW, PAGE, 1, &p), 0);
	assert_true(p.bus == UNIC_BUS(0, 0x50000));
}

/* What is no page of the list, and what is no list: refused, and nothing is loaded. */
static void pages_that_nobody_has(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr of, f;
	struct unic_sge e;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	reg_without_entries(UNIC_TABLE, &of);
	form_alloc_ok(UNIC_FORM_FAST, 3, &f);
	rig_words(&rb)[2] = unic_to_le64(0);
	e = form_piece(&of, 0, 3 * PAGE);
	cqe = form_post_make(UNIC_WR_REG_MR, &f, 1, RW, 0x7000, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PAGE);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
	assert_int_equal(rb.nic.mrs.mr[of.mr].deps, 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].stag, f.stag);
	form_again();
	e = form_piece(&of, 0, 2 * PAGE);
	assert_int_equal(
		form_post_make(UNIC_WR_REG_MR, &f, 1, RW, 0x7000, &e, 1).status,
		0);
	assert_int_equal(form_local_inv(f.stag).status, 0);
	reg_without_entries(UNIC_DEMAND, &of);
	e = form_piece(&of, 0, 3 * PAGE);
	cqe = form_post_make(UNIC_WR_REG_MR, &f, 1, RW, 0x7000, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_STAG);
}

/* No other form is made of a list: it has no entries to borrow. */
static void only_fast_registrations_have_pages(void **state)
{
	struct form_plan p = { .n = 1, .rights = RW };
	struct rig_mr of, form;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	reg_without_entries(UNIC_TABLE, &of);
	p.sge[0] = form_piece(&of, 0, PAGE);
	form_alloc_ok(UNIC_FORM_SUB, 0, &form);
	assert_int_equal(form_make(&form, &p), UNIC_ST_NO_MR);
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, &form);
	assert_int_equal(form_make(&form, &p), UNIC_ST_NO_MR);
}

/* A port whose DMA takes its time: the request waits for the words. */
static void words_that_come_later(void **state)
{
	struct rig_mr of, f;
	struct unic_sge e;
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	reg_without_entries(UNIC_TABLE, &of);
	e = form_piece(&of, 0, 3 * PAGE);
	form_alloc_ok(UNIC_FORM_FAST, 3, &f);
	rb.port.late_dma = true;
	post_reg_mr(&f, 1, UNIC_WR_SIGNALED | UNIC_WR_INLINE, e);
	for (i = 0; i < 20 && !rb.nic.tables.under_way; i++) {
		fake_dma_run(&rb.port, 1); /* its slot comes */
		unic_nic_poll(&rb.nic);
	}
	assert_int_equal(rb.nic.tables.under_way, 1);
	pair_rounds(&rb, 3);
	assert_false(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
	for (i = 0; i < 20 && !rb.nic.mrs.mr[f.mr].filled; i++) {
		fake_dma_run(&rb.port, 1);
		unic_nic_poll(&rb.nic);
	}
	rb.port.late_dma = false;
	while (fake_dma_run(&rb.port, 64))
		rig_poll(&rb);
	rig_poll(&rb);
	assert_int_equal(next_cqe().status, 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 3);
	assert_int_equal(rb.nic.tables.under_way, 0);
}

/* What is read comes, and the NIC looks at it. */
static void words_come(void)
{
	fake_dma_run(&rb.port, 64);
	rig_poll(&rb);
}

static bool is_made(const struct rig_mr *f)
{
	return !(rb.nic.mrs.mr[f->mr].flags & UNIC_MR_F_SHUT);
}

/* MR_MAKE of @f: @pages pages of @of from page @first on. */
static uint8_t make_listed(struct rig_mr *f, const struct rig_mr *of,
			   uint32_t first, uint32_t pages)
{
	struct form_plan p = { .n = 1, .rights = RW, .iova = 0x7000 };

	p.sge[0] = form_piece(of, (uint64_t)first * PAGE, pages * PAGE);
	return form_make(f, &p);
}

/* The same, again and again while words come. */
static uint8_t make_patiently(struct rig_mr *f, const struct rig_mr *of,
			      uint32_t first, uint32_t pages)
{
	uint8_t status = make_listed(f, of, first, pages);
	uint32_t i;

	for (i = 0; i < 20 && status == UNIC_ST_BUSY; i++) {
		words_come();
		status = make_listed(f, of, first, pages);
	}
	return status;
}

static const uint8_t *again_and_again(uint32_t off)
{
	return form_mb[0].mem + off / PAGE % 3 * PAGE + off % PAGE;
}

static const uint8_t *from_the_second(uint32_t off)
{
	return again_and_again(off + PAGE);
}

static void quiet_again(void)
{
	rb.port.late_dma = false;
	while (fake_dma_run(&rb.port, 64))
		rig_poll(&rb);
	rig_poll(&rb);
	assert_int_equal(rb.nic.tables.under_way, 0);
}

/* Words of three groups that come later, while the pool has no free entry: a fast
 * registration needs none beside its own, and each group is read once. */
static void words_need_no_room(void **state)
{
	struct rig_mr of, f, fill;
	struct unic_sge e;
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	reg_pages(UNIC_TABLE, 20, &of);
	e = form_piece(&of, 0, 20 * PAGE);
	form_alloc_ok(UNIC_FORM_FAST, 20, &f);
	assert_int_equal(rig_reg(&rb, 0, form_pb, rb.nic.tlb.free,
				 UNIC_CLASS_RDMA, 0, 0, &fill),
			 0);
	rb.port.late_dma = true;
	post_reg_mr(&f, 1, UNIC_WR_SIGNALED | UNIC_WR_INLINE, e);
	for (i = 0; i < 20 && !is_made(&f); i++)
		words_come();
	assert_true(is_made(&f));
	quiet_again();
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.status, 0);
	assert_int_equal(rig_count(&rb, table_reads), 3);
	assert_int_equal(rb.nic.mrs.mr[of.mr].n_pages, 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 20);
	f.stag = rb.nic.mrs.mr[f.mr].stag;
	f.iova = rb.nic.mrs.mr[f.mr].iova;
	form_assert_bytes(&f, 20 * PAGE, again_and_again);
}

/* @f of 20 pages waits for the second group of @of. */
static void wait_for_second(struct rig_mr *of, struct rig_mr *f)
{
	reg_pages(UNIC_TABLE, 20, of);
	form_alloc_ok(UNIC_FORM_FAST, 20, f);
	rb.port.late_dma = true;
	assert_int_equal(make_listed(f, of, 0, 20), UNIC_ST_BUSY);
	assert_int_equal(rb.nic.mrs.mr[f->mr].filled, 0);
	words_come();
	assert_int_equal(make_listed(f, of, 0, 20), UNIC_ST_BUSY);
	assert_int_equal(rb.nic.mrs.mr[f->mr].filled, 8);
}

/* A page is taken out of a list while a registration waits for others: no copy is left. */
static void words_that_change_meanwhile(void **state)
{
	struct rig_mr of, f;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	wait_for_second(&of, &f);
	assert_int_equal(invalidate(&of), 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
	rig_words(&rb)[0] = unic_to_le64(0);
	assert_int_equal(make_patiently(&f, &of, 0, 20), UNIC_ST_BUS);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
	/* and what has come, and was not looked at, is not looked at any more */
	rig_table(&rb, 0, 0,
		  (uint32_t)(form_mb[0].mem - rb.port.window[0]) / PAGE);
	assert_int_equal(make_listed(&f, &of, 0, 20), UNIC_ST_BUSY);
	words_come();
	assert_int_equal(invalidate(&of), 0);
	rig_words(&rb)[0] = unic_to_le64(0);
	assert_int_equal(make_patiently(&f, &of, 0, 20), UNIC_ST_BUS);
	quiet_again();
}

/* The region, or the registration, ends while that waits. */
static void ends_while_words_come(void **state)
{
	struct rig_mr of, f, next;
	uint16_t free;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	free = rb.nic.tlb.free;
	wait_for_second(&of, &f);
	assert_int_equal(rig_dereg(&rb, &of), UNIC_ST_PENDING);
	quiet_again();
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
	assert_int_equal(make_listed(&f, &of, 0, 20), UNIC_ST_NO_MR);
	assert_int_equal(rig_dereg(&rb, &f), 0);
	assert_int_equal(rb.nic.tlb.free, free);
	wait_for_second(&of, &f);
	assert_int_equal(rig_dereg(&rb, &f), 0);
	assert_int_equal(rb.nic.tlb.free, free);
	form_alloc_ok(UNIC_FORM_FAST, 20, &next);
	assert_int_not_equal(next.mr, f.mr);
	assert_int_equal(make_patiently(&next, &of, 0, 20), 0);
	form_assert_bytes(&next, 20 * PAGE, again_and_again);
	quiet_again();
}

/* The list of another region changes while that waits: what came stays. */
static void other_list_changes_meanwhile(void **state)
{
	struct rig_mr of, f, other;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	reg_pages(UNIC_TABLE, 20, &other);
	wait_for_second(&of, &f);
	assert_int_equal(invalidate(&other), 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 8);
	assert_int_equal(make_patiently(&f, &of, 0, 20), 0);
	form_assert_bytes(&f, 20 * PAGE, again_and_again);
	quiet_again();
}

/* MR_REREG of the second region, of three pages: to those of the third. */
static void takes_other_pages(void)
{
	const struct rig_mr *mr = &form_mb[1];
	uint64_t *list = (uint64_t *)(void *)(rb.port.bar + UNIC_BAR_LIST_OFF) +
			 rb.cmd_tail % UNIC_CMD_ENTRIES * (UNIC_LIST_BYTES / 8);
	struct unic_cmd_mr_rereg c = { .mr = unic_to_le32(mr->mr),
				       .gen = unic_to_le32(mr->gen),
				       .what = UNIC_REREG_RANGE,
				       .iova = unic_to_le64(mr->iova),
				       .length = unic_to_le64(3 * PAGE),
				       .n_pages = unic_to_le32(3) };
	uint32_t i;

	for (i = 0; i < 3; i++)
		list[i] = UNIC_BUS(
			0, (uint64_t)(form_mb[2].mem - rb.port.window[0]) +
				   i * PAGE);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), 0);
}

/* A page of a resident region, or of another registration, and behind it pages whose words
 * come later. */
static void waits_behind(const struct rig_mr *first, struct rig_mr *of,
			 struct rig_mr *f, struct form_plan *p)
{
	*p = (struct form_plan){ .n = 2, .rights = RW, .iova = 0x7000 };
	reg_pages(UNIC_TABLE, 20, of);
	form_alloc_ok(UNIC_FORM_FAST, 11, f);
	p->sge[0] = form_piece(first, 0, PAGE);
	p->sge[1] = form_piece(of, 0, 10 * PAGE);
	rb.port.late_dma = true;
	assert_int_equal(form_make(f, p), UNIC_ST_BUSY);
	assert_int_equal(rb.nic.mrs.mr[f->mr].filled, 1);
}

/* What a load has copied from is changed while it waits: no old address is left. */
static void region_changes_meanwhile(void **state)
{
	uint8_t status = UNIC_ST_BUSY;
	struct rig_mr of, f, other;
	struct form_plan p;
	uint32_t i;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	waits_behind(&form_mb[1], &of, &f, &p);
	takes_other_pages();
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
	for (i = 0; i < 20 && status == UNIC_ST_BUSY; i++) {
		words_come();
		status = form_make(&f, &p);
	}
	assert_int_equal(status, 0);
	*form_mb[2].mem = 0x5e;
	assert_int_equal(form_access_b(&f, RW, 0, 1, &(struct unic_xlate){ 0 }),
			 0);
	assert_int_equal(
		rb.nic.tlb
			.entry[unic_tlb_find(&rb.nic.tlb,
					     rb.nic.mrs.mr[f.mr].tlb_base, 0)]
			.bus,
		UNIC_BUS(0, (uint64_t)(form_mb[2].mem - rb.port.window[0])));
	quiet_again();
	form_alloc_ok(UNIC_FORM_FAST, 1, &other);
	p = (struct form_plan){ .n = 1, .rights = RW, .iova = 0x9000 };
	p.sge[0] = form_piece(&form_mb[0], 0, PAGE);
	assert_int_equal(form_make(&other, &p), 0);
	other.iova = 0x9000;
	waits_behind(&other, &of, &f, &p);
	assert_int_equal(form_inval(&other), 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
	quiet_again();
}

/* Two loads whose words come together: the one that waited first ends first. */
static void two_take_turns(void **state)
{
	uint8_t one = UNIC_ST_BUSY, two = UNIC_ST_BUSY;
	struct rig_mr of, other, f, g;
	uint32_t i;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	reg_pages(UNIC_TABLE, 20, &of);
	reg_pages(UNIC_TABLE, 20, &other);
	form_alloc_ok(UNIC_FORM_FAST, 20, &f);
	form_alloc_ok(UNIC_FORM_FAST, 20, &g);
	rb.port.late_dma = true;
	for (i = 0; i < 40 && (one || two); i++) {
		words_come();
		if (one)
			one = make_listed(&f, &of, 0, 20);
		assert_true(one || two);
		if (two)
			two = make_listed(&g, &other, 0, 20);
	}
	assert_int_equal(one | two, 0);
	quiet_again();
}

/* The registration is taken back while it waits. */
static void one_that_waits_is_evicted(void **state)
{
	struct unic_cmd_mr c = { 0 };
	struct unic_evt_mr evt;
	struct rig_mr of, f, g;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	wait_for_second(&of, &f);
	c.mr = unic_to_le32(f.mr);
	c.gen = unic_to_le32(f.gen);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &c, NULL), 0);
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&rb, &evt), 0);
	rig_run(&rb, 21 * MS);
	rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), f.mr);
	wait_for_second(&of, &g);
	assert_int_equal(make_patiently(&g, &of, 0, 20), 0);
	form_assert_bytes(&g, 20 * PAGE, again_and_again);
	quiet_again();
}

/* The index of a registration that ended while it waited is used again: the load keeps
 * nobody waiting, and is not undone in the region that has the index now. */
static void index_of_one_that_waited(void **state)
{
	struct rig_mr of, f, g, next;
	uint32_t i;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	wait_for_second(&of, &f);
	assert_int_equal(rig_dereg(&rb, &f), 0);
	for (i = 0; i < UNIC_MRS; i++) {
		form_alloc_ok(UNIC_FORM_FAST, 20, &next);
		if (next.mr == f.mr)
			break;
		assert_int_equal(rig_dereg(&rb, &next), 0);
	}
	assert_int_equal(next.mr, f.mr);
	form_alloc_ok(UNIC_FORM_FAST, 17, &g);
	assert_int_equal(make_patiently(&g, &of, 1, 17), 0);
	form_assert_bytes(&g, 17 * PAGE, from_the_second);
	assert_int_equal(make_patiently(&next, &of, 0, 20), 0);
	form_assert_bytes(&next, 20 * PAGE, again_and_again);
	quiet_again();
}

/* One registration waits at a time; one that nobody asks for any more makes way. */
static void one_waits_at_a_time(void **state)
{
	struct rig_mr of, f, g;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	wait_for_second(&of, &f);
	form_alloc_ok(UNIC_FORM_FAST, 17, &g);
	assert_int_equal(make_patiently(&g, &of, 1, 17), UNIC_ST_BUSY);
	assert_int_equal(rb.nic.mrs.mr[g.mr].filled, 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 8);
	rb.port.now_ns += 10 * MS;
	rig_poll(&rb);
	assert_int_equal(make_patiently(&g, &of, 1, 17), 0);
	form_assert_bytes(&g, 17 * PAGE, from_the_second);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
	assert_int_equal(make_patiently(&f, &of, 0, 20), 0);
	form_assert_bytes(&f, 20 * PAGE, again_and_again);
	quiet_again();
}

/* Who asks seldom, and nobody else does, gets on, too. */
static void one_asks_slowly(void **state)
{
	uint8_t status = UNIC_ST_BUSY;
	struct rig_mr of, f;
	uint32_t i;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	wait_for_second(&of, &f);
	for (i = 0; i < 2 && status == UNIC_ST_BUSY; i++) {
		words_come();
		rb.port.now_ns += 20 * MS;
		rig_poll(&rb);
		status = make_listed(&f, &of, 0, 20);
	}
	assert_int_equal(status, 0);
	form_assert_bytes(&f, 20 * PAGE, again_and_again);
	quiet_again();
}

/* Other runs than those that it waited for; also those of a region with entries. */
static void other_runs_begin_anew(void **state)
{
	struct rig_mr of, f, g;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	wait_for_second(&of, &f);
	assert_int_equal(make_patiently(&f, &of, 1, 17), 0);
	form_assert_bytes(&f, 17 * PAGE, from_the_second);
	quiet_again();
	assert_int_equal(form_inval(&f), 0);
	assert_int_equal(rig_dereg(&rb, &f), 0);
	wait_for_second(&of, &g);
	assert_int_equal(make_listed(&g, &form_mb[0], 0, 3), 0);
	assert_int_equal(rb.nic.mrs.mr[g.mr].filled, 3);
	form_assert_bytes(&g, 3 * PAGE, again_and_again);
	quiet_again();
}

/* Words that nobody waits for when they come are those of the list, as long as it does not
 * change. */
static void words_that_nobody_waits_for(void **state)
{
	struct rig_mr of, f, g;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	reg_pages(UNIC_TABLE, 8, &of);
	form_alloc_ok(UNIC_FORM_FAST, 8, &f);
	form_alloc_ok(UNIC_FORM_FAST, 8, &g);
	rb.port.late_dma = true;
	assert_int_equal(make_listed(&f, &of, 0, 8), UNIC_ST_BUSY);
	assert_int_equal(rig_dereg(&rb, &f), 0);
	words_come();
	assert_int_equal(invalidate(&of), 0);
	rig_words(&rb)[0] = unic_to_le64(0);
	assert_int_equal(make_patiently(&g, &of, 0, 8), UNIC_ST_BUS);
	assert_int_equal(rb.nic.mrs.mr[g.mr].filled, 0);
	quiet_again();
}

/* A list that lies in no memory, as the port says later. */
static void words_that_never_come(void **state)
{
	struct rig_mr of, f;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	wait_for_second(&of, &f);
	rb.port.bad_dma = true;
	assert_int_equal(make_patiently(&f, &of, 0, 20), UNIC_ST_BUS);
	rb.port.bad_dma = false;
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 0);
	assert_int_equal(make_patiently(&f, &of, 0, 20), 0);
	quiet_again();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(posted_fast_registration),
		TEST(each_wrong_fast_registration),
		TEST(runs_that_end_at_2_to_the_64),
		TEST(what_was_registered_is_not_flushed),
		TEST(pages_without_entries_are_loaded),
		TEST(runs_of_three_regions),
		TEST(parts_of_larger_pages),
		TEST(pages_that_nobody_has),
		TEST(only_fast_registrations_have_pages),
		TEST(words_that_come_later),
		TEST(words_need_no_room),
		TEST(words_that_change_meanwhile),
		TEST(ends_while_words_come),
		TEST(other_list_changes_meanwhile),
		TEST(region_changes_meanwhile),
		TEST(two_take_turns),
		TEST(one_that_waits_is_evicted),
		TEST(index_of_one_that_waited),
		TEST(one_waits_at_a_time),
		TEST(one_asks_slowly),
		TEST(other_runs_begin_anew),
		TEST(words_that_nobody_waits_for),
		TEST(words_that_never_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
