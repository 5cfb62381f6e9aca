/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_loop.c - the loop-back provider of the host driver: its
 * doorbells and its STags. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "provider/provider_loop.h"

/* ------------------------------- loop-back: a writer that laps the reader */

#define LAP_WORDS (3 * UNIC_DB_FIFO)

static struct loop looped;

static struct unic_db_page looped_db;

static struct unic_nic_page looped_np;

static uint32_t looped_more; /* words that are appended while others are read */

static bool looped_half; /* and one more word that is not published */

static void looped_store(enum unic_db_kind kind, uint32_t row)
{
	uint32_t seq = unic_from_le32(looped_db.fifo_seq);

	looped_db.fifo[seq % UNIC_DB_FIFO] =
		unic_to_le32(UNIC_DB_WORD(kind, row, 0));
}

static void looped_append(enum unic_db_kind kind, uint32_t row)
{
	looped_store(kind, row);
	looped_db.fifo_seq =
		unic_to_le32(unic_from_le32(looped_db.fifo_seq) + 1);
}

static void looped_go_on(void)
{
	uint32_t n;

	looped.p.os->on_ring = NULL;
	for (n = looped_more; n; n--)
		looped_append(UNIC_DB_SQ, 9);
	if (looped_half)
		looped_store(UNIC_DB_SQ, 9);
}

/* Two completion queues of one process: to arm the first is answered at once. */
static void looped_up(struct unic_os *os)
{
	uint32_t i;

	memset(&looped, 0, sizeof(looped));
	memset(&looped_db, 0, sizeof(looped_db));
	looped.p.os = os;
	looped.slots = 1;
	looped.proc[0].db = &looped_db;
	looped.proc[0].np = &looped_np;
	for (i = 0; i < 2; i++)
		looped.cq[i] = (struct loop_cq){
			.used = true,
			.db = i,
			.written = !i,
		};
}

/* However many words the process rings while others are read, and with a word
 * half rung: no arming is lost. */
static void loop_back_loses_no_arming(void **state)
{
	struct unic_os os = { 0 };
	uint32_t n;

	(void)state;
	for (n = 0; n < 2 * LAP_WORDS; n++) {
		looped_up(&os);
		looped_append(UNIC_DB_ARM, 0);
		looped_append(UNIC_DB_ARM, 1);
		looped_more = n / 2;
		looped_half = n & 1;
		os.on_ring = looped_go_on;
		while (looped.proc[0].db_seen !=
		       unic_from_le32(looped_db.fifo_seq))
			loop_data_poll(&looped);
		assert_null(os.on_ring);
		assert_true(looped.cq[1].armed);
	}
}

/* The oldest arming of a full FIFO is not lost while the next word is stored. */
static void loop_back_and_the_next_word(void **state)
{
	struct unic_os os = { 0 };
	uint32_t n;

	(void)state;
	for (n = 0; n < LAP_WORDS; n++) {
		looped_up(&os);
		looped_append(UNIC_DB_ARM, 1);
		looped_more = n;
		looped_half = true;
		looped_go_on();
		while (looped.proc[0].db_seen !=
		       unic_from_le32(looped_db.fifo_seq))
			loop_data_poll(&looped);
		assert_true(looped.cq[1].armed);
	}
}

/* ------------------------------------------------------ loop-back: its STags */

static void looped_done(struct unic_call *call)
{
	(void)call;
}

/* Executes one request. Returns its status. */
static uint8_t looped_run(struct loop *l, struct unic_call *call,
			  uint8_t opcode, const void *cmd)
{
	struct unic_cmd_hdr hdr;

	memcpy(call->cmd, cmd, sizeof(call->cmd));
	memcpy(&hdr, cmd, sizeof(hdr));
	hdr.opcode = opcode;
	memcpy(call->cmd, &hdr, sizeof(hdr));
	call->done = looped_done;
	call->state = UNIC_CALL_TAKEN;
	assert_int_equal(l->p.ops->command(&l->p, call), 0);
	l->p.ops->poll(&l->p, 0);
	assert_int_equal(call->state, UNIC_CALL_IDLE);
	memcpy(&hdr, call->cpl, sizeof(hdr));
	return hdr.status;
}

/* Executes one request, well. Returns its completion. */
static const void *looped_call(struct loop *l, struct unic_call *call,
			       uint8_t opcode, const void *cmd)
{
	assert_int_equal(looped_run(l, call, opcode, cmd), UNIC_ST_OK);
	return call->cpl;
}

/* A region of one page in domain 0. */
static struct unic_cpl_mr_reg looped_reg(struct loop *l, uint8_t flags,
					 uint32_t stag)
{
	unic_le64 page = unic_to_le64(0);
	struct unic_call call = { .list = &page, .list_bytes = sizeof(page) };
	struct unic_cmd_mr_reg cmd = { .length = unic_to_le64(100),
				       .rights = UNIC_MR_REMOTE_WRITE,
				       .page_shift = 12,
				       .n_pages = unic_to_le32(1),
				       .key = 7,
				       .flags = flags | UNIC_REG_LIST,
				       .stag = unic_to_le32(stag) };
	struct unic_cpl_mr_reg cpl;

	memcpy(&cpl, looped_call(l, &call, UNIC_CMD_MR_REG, &cmd), sizeof(cpl));
	return cpl;
}

static void looped_dereg(struct loop *l, const struct unic_cpl_mr_reg *mr)
{
	struct unic_cmd_mr cmd = { .mr = mr->mr, .gen = mr->gen };
	struct unic_call call = { 0 };

	looped_call(l, &call, UNIC_CMD_MR_DEREG, &cmd);
}

static struct loop *looped_ready(struct fake *f)
{
	void *mem = f; /* nothing is read there */
	struct unic_provider *p = unic_loop_provider(&f->os, 1, &mem, 4096);
	struct loop *l = (struct loop *)(void *)p;

	p->host = f->host;
	l->state = UNIC_PROVIDER_READY;
	l->pd[0] = 0;
	return l;
}

static void looped_end(struct fake *f, struct loop *l)
{
	l->p.ops->fini(&l->p);
	unic_os_free(&f->os, l);
}

/* 24 bits of an STag are drawn, the low ones the consumer's. Of a source that
 * repeats itself no index has its STag twice in succession. */
static void loop_back_draws_stags(void **state)
{
	uint32_t ones = 0, zeros = 0, i, stag, last;
	struct fake *f = fake_new();
	struct loop *l = looped_ready(f);
	struct unic_cpl_mr_reg mr;

	(void)state;
	f->os.all_random = 1;
	for (i = 0; i < 1000; i++) {
		mr = looped_reg(l, 0, 0);
		stag = unic_from_le32(mr.stag);
		assert_ptr_equal(loop_mr_of(l, stag),
				 &l->mr[unic_from_le32(mr.mr)]);
		assert_null(loop_mr_of(l, stag ^ 0x100));
		assert_null(loop_mr_of(l, stag ^ 1));
		looped_dereg(l, &mr);
		assert_null(loop_mr_of(l, stag));
		ones |= stag;
		zeros |= ~stag;
	}
	assert_int_equal(ones & zeros, 0xffffff00);
	assert_int_equal(ones & 0xff, 7);
	for (i = 0, last = 0; i < 8; i++, last = stag) {
		f->os.all_random = 1;
		mr = looped_reg(l, 0, 0);
		stag = unic_from_le32(mr.stag);
		looped_dereg(l, &mr);
		assert_int_not_equal(stag, last);
	}
	/* after a reset they are what they were */
	mr = looped_reg(l, UNIC_REG_RESTORE, stag);
	assert_int_equal(unic_from_le32(mr.stag), stag);
	looped_end(f, l);
	fake_delete(f);
}

/* All of its regions at once: each has an index of its own. */
static void loop_back_gives_each_index_once(void **state)
{
	struct fake *f = fake_new();
	struct loop *l = looped_ready(f);
	uint32_t i;

	(void)state;
	f->os.all_random = 1;
	for (i = 0; i < LOOP_MRS; i++)
		looped_reg(l, 0, 0);
	for (i = 0; i < LOOP_MRS; i++)
		assert_ptr_equal(loop_mr_of(l, l->mr[i].stag), &l->mr[i]);
	looped_end(f, l);
	fake_delete(f);
}

/* ------------------------------------------------- loop-back: another ring */

/* A region of a page in domain 0. */
static struct unic_cpl_mr_reg looped_ring(struct loop *l)
{
	unic_le64 page = unic_to_le64(0);
	struct unic_call call = { .list = &page, .list_bytes = sizeof(page) };
	struct unic_cmd_mr_reg cmd = { .length = unic_to_le64(4096),
				       .page_shift = 12,
				       .n_pages = unic_to_le32(1),
				       .flags = UNIC_REG_LIST };
	struct unic_cpl_mr_reg cpl;

	memcpy(&cpl, looped_call(l, &call, UNIC_CMD_MR_REG, &cmd), sizeof(cpl));
	return cpl;
}

static uint8_t looped_resize(struct loop *l, const struct unic_cpl_mr_reg *mr,
			     uint32_t proc, uint32_t id, uint32_t entries)
{
	struct unic_cmd_cq_resize cmd = { .proc = unic_to_le32(proc),
					  .id = unic_to_le32(id),
					  .stag = mr->stag,
					  .iova = unic_to_le64(64),
					  .entries = unic_to_le32(entries) };
	struct unic_call call = { 0 };
	struct unic_cpl_cq_resize cpl;
	uint8_t status = looped_run(l, &call, UNIC_CMD_CQ_RESIZE, &cmd);

	memcpy(&cpl, call.cpl, sizeof(cpl));
	assert_int_equal(unic_from_le32(cpl.records),
			 status ? 0 : l->cq[id].written);
	return status;
}

static void loop_back_goes_on_in_another_ring(void **state)
{
	struct fake *f = fake_new();
	struct loop *l = looped_ready(f);
	struct unic_cpl_mr_reg one = looped_ring(l), two = looped_ring(l);
	struct unic_cmd_cq_create cq = { .stag = one.stag,
					 .entries = unic_to_le32(16) };
	struct unic_call call = { 0 };

	(void)state;
	memset(&looped_db, 0, sizeof(looped_db));
	l->proc[0].db = &looped_db;
	l->proc[0].np = &looped_np;
	looped_call(l, &call, UNIC_CMD_CQ_CREATE, &cq);
	l->cq[0].written = 7;
	looped_db.tail[0].cq_ci = unic_to_le32(2);
	assert_int_equal(looped_resize(l, &two, 0, 1, 8), UNIC_ST_NO_CQ);
	assert_int_equal(looped_resize(l, &two, 1, 0, 8), UNIC_ST_NO_CQ);
	assert_int_equal(looped_resize(l, &two, 0, 0, 0), UNIC_ST_INVALID);
	assert_int_equal(looped_resize(l, &two, 0, 0, 6), UNIC_ST_INVALID);
	assert_int_equal(looped_resize(l, &two, 0, 0, 128), UNIC_ST_INVALID);
	assert_int_equal(looped_resize(l, &two, 0, 0, 4), UNIC_ST_BUSY);
	assert_int_equal(l->cq[0].entries, 16);
	assert_int_equal(looped_resize(l, &two, 0, 0, 8), UNIC_ST_OK);
	assert_int_equal(l->cq[0].entries, 8);
	assert_int_equal(l->cq[0].iova, 64);
	assert_int_equal(l->mr[unic_from_le32(one.mr)].queues, 0);
	assert_int_equal(l->mr[unic_from_le32(two.mr)].queues, 1);
	looped_dereg(l, &one);
	looped_end(f, l);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loop_back_loses_no_arming),
		cmocka_unit_test(loop_back_and_the_next_word),
		cmocka_unit_test(loop_back_draws_stags),
		cmocka_unit_test(loop_back_gives_each_index_once),
		cmocka_unit_test(loop_back_goes_on_in_another_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
