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

/* A region of residency @residency over the pages of form_mb[0], which holds no entry. */
static void reg_without_entries(uint8_t residency, struct rig_mr *out)
{
	uint32_t page = (uint32_t)(form_mb[0].mem - rb.port.window[0]) / PAGE;
	uint32_t i;

	for (i = 0; i < 3; i++)
		rig_table(&rb, i, 0, page + i);
	assert_int_equal(rig_reg_cached(&rb, form_pb, 3, residency, 0, out), 0);
	assert_int_equal(rb.nic.mrs.mr[out->mr].n_pages, 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(posted_fast_registration),
		TEST(each_wrong_fast_registration),
		TEST(runs_that_end_at_2_to_the_64),
		TEST(what_was_registered_is_not_flushed),
		TEST(pages_without_entries_are_loaded),
		TEST(pages_that_nobody_has),
		TEST(only_fast_registrations_have_pages),
		TEST(words_that_come_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
