/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_window_miss.c - operations of a peer that meet a missing page behind a memory window:
 * what becomes of each kind, and what may happen to window, region and process meanwhile.
 */
#include "unit.h"

#include "derived_rig.h"
#include "memory/access.h"

static struct rig_mr of, w;

/* A DEMAND region without a page, and a window over all of it. */
static int up(void **state)
{
	if (form_up(state))
		return -1;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 0, 3 * PAGE, &w);
	return 0;
}

/* @opcode of @len bytes at @off of the window. */
static void ask(uint8_t opcode, uint64_t off, uint32_t len)
{
	rig_send(&ra, &qa, opcode, 5, &ma, 0, len, w.iova + off, w.stag);
	rig_run2(&ra, &rb, 5 * MS);
}

static void expect_none(void)
{
	struct unic_cqe cqe;

	assert_false(rig_cqe(&ra, &qa, &cqe));
}

static void fill(uint32_t pages)
{
	uint32_t i;

	for (i = 0; i < pages * PAGE; i++)
		of.mem[i] = (uint8_t)(i * 5 + i / PAGE + 3);
}

/* ---------------------------------------------------------- each operation */

static void a_read_waits(void **state)
{
	(void)state;
	fill(3);
	ask(UNIC_WR_READ, 100, 2 * PAGE);
	expect_none();
	form_serve(&of, 0, 3);
	assert_int_equal(form_done(&ra, &qa).status, 0);
	assert_memory_equal(ma.mem, of.mem + 100, 2 * PAGE);
	assert_int_equal(rb.nic.mrs.mr[w.mr].holds, 0);
}

/* The page goes between two packets of the answer. */
static void a_read_waits_in_its_middle(void **state)
{
	struct unic_evt_miss evt;

	(void)state;
	fill(3);
	form_bring(&of, 0, 1);
	ask(UNIC_WR_READ, 0, 3 * PAGE);
	expect_none();
	assert_true(rig_event(&rb, &evt));
	assert_int_equal(unic_from_le32(evt.first), 1);
	form_drop_page(&of, 0);
	form_bring(&of, 1, 2);
	assert_int_equal(form_done(&ra, &qa).status, 0);
	assert_memory_equal(ma.mem, of.mem, 3 * PAGE);
}

/* The page goes, and another one comes, between two packets that go to it. */
static void a_write_goes_on_in_another_page(void **state)
{
	uint32_t tail;

	(void)state;
	form_bring(&of, 0, 1);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 0, PAGE, w.iova, w.stag);
	rig_poll(&ra);
	tail = rb.port.rx_tail;
	assert_int_equal(tail - rb.port.rx_head, 4);
	rb.port.rx_tail = tail - 2;
	rig_poll(&rb);
	form_drop_page(&of, 0);
	assert_int_equal(rig_fault(&rb, &of, 0, 1, rb.nic.cache.of[of.mr].seq,
				   0, form_first_page() + 2, NULL),
			 0);
	rb.port.rx_tail = tail;
	assert_int_equal(form_done(&ra, &qa).status, 0);
	assert_memory_equal(of.mem, ma.mem, PAGE / 2);
	assert_int_equal(of.mem[PAGE / 2], 0);
	assert_memory_equal(of.mem + 2 * PAGE + PAGE / 2, ma.mem + PAGE / 2,
			    PAGE / 2);
}

static void an_atomic_operation_waits(void **state)
{
	struct unic_wr_atomic n = { .operand = unic_to_le64(3) };
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];
	unic_le64 was = unic_to_le64(40), is;

	(void)state;
	if (!UNIC_ATOMICS)
		return;
	memcpy(of.mem + PAGE + 8, &was, sizeof(was));
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	assert_int_equal(form_make_one(&w, &of, PAGE, PAGE,
				       UNIC_MR_REMOTE_ATOMIC, 7),
			 0);
	rig_send(&ra, &qa, UNIC_WR_FETCH_ADD, 5, &ma, 0, 8, w.iova + 8, w.stag);
	memcpy(&s->sge[1], &n, sizeof(n));
	rig_run2(&ra, &rb, 5 * MS);
	expect_none();
	form_serve(&of, 1, 1);
	assert_int_equal(form_done(&ra, &qa).status, 0);
	memcpy(&is, of.mem + PAGE + 8, sizeof(is));
	assert_true(unic_from_le64(is) == 43);
	memcpy(&is, ma.mem, sizeof(is));
	assert_true(unic_from_le64(is) == 40);
}

/* An unreliable one asks for the page, and is dropped. */
static void an_unreliable_write_is_dropped(void **state)
{
	struct rig_qp ua, ub;
	struct unic_cqe cqe;

	(void)state;
	rig_qp_of(&ra, 0, form_pa, 6, UNIC_QPT_UC, 0, 0, &ua);
	rig_qp_of(&rb, 0, form_pb, 7, UNIC_QPT_UC, 0, 0, &ub);
	rig_connect(&ra, &ua, &rb, &ub);
	rig_send(&ra, &ua, UNIC_WR_WRITE, 5, &ma, 0, 5000, w.iova + 10, w.stag);
	rig_run2(&ra, &rb, 5 * MS);
	assert_true(rig_cqe(&ra, &ua, &cqe));
	assert_int_equal(cqe.status, 0);
	form_serve(&of, 0, 2);
	rig_run2(&ra, &rb, 5 * MS);
	assert_int_equal(of.mem[10], 0);
	rig_send(&ra, &ua, UNIC_WR_WRITE, 6, &ma, 0, 5000, w.iova + 10, w.stag);
	rig_run2(&ra, &rb, 5 * MS);
	assert_memory_equal(of.mem + 10, ma.mem, 5000);
	assert_int_equal(rb.nic.mrs.mr[w.mr].holds, 0);
}

/* Its page comes to nothing. */
static void a_page_that_cannot_be_had_ends_the_operation(void **state)
{
	struct unic_evt_miss evt;

	(void)state;
	ask(UNIC_WR_WRITE, 0, 100);
	rig_expect(&rb, UNIC_EVT_MISS, &evt);
	assert_int_equal(rig_fault(&rb, &of, 0, 1, unic_from_le32(evt.seq),
				   FAKE_WINDOWS, 0, NULL),
			 0);
	assert_int_equal(form_done(&ra, &qa).status, UNIC_WC_REM_ACCESS_ERR);
}

/* No byte, no page, no address; but the key and the rights must be good ones. */
static void nothing_waits_for_no_bytes(void **state)
{
	struct unic_xlate p;

	(void)state;
	assert_int_equal(form_access_b(&w, REMOTE, 7 * PAGE, 0, &p), 0);
	assert_int_equal(p.len, 0);
	assert_int_equal(p.mr, w.mr);
	w.stag ^= 1;
	assert_int_equal(form_access_b(&w, REMOTE, 0, 0, &p), -UNIC_ESTAG);
	w.stag ^= 1;
	assert_int_equal(form_access_b(&w, RW, 0, 0, &p), -UNIC_ERIGHTS);
	ask(UNIC_WR_WRITE, 0, 0);
	assert_int_equal(form_done(&ra, &qa).status, 0);
	ask(UNIC_WR_READ, 5 * PAGE, 0);
	assert_int_equal(form_done(&ra, &qa).status, 0);
	assert_int_equal(rig_count(&rb, misses), 0);
}

/* -------------------------------------------------------- what may happen */

/* What was begun in a window that its peer closes behind it is finished first. */
static void a_read_is_finished_before_the_peer_closes_the_window(void **state)
{
	(void)state;
	fill(3);
	form_bring(&of, 0, 1);
	rig_recv(&rb, &qb, 9, &form_mb[1], 0, 64);
	rig_send(&ra, &qa, UNIC_WR_READ, 5, &ma, 0, 3 * PAGE, w.iova, w.stag);
	rig_send(&ra, &qa, UNIC_WR_SEND_INV, 6, &ma, 3 * PAGE, 4, 0, w.stag);
	rig_run2(&ra, &rb, 5 * MS);
	expect_none();
	form_serve(&of, 1, 2);
	assert_int_equal(form_done(&ra, &qa).status, 0);
	assert_memory_equal(ma.mem, of.mem, 3 * PAGE);
	assert_int_equal(form_done(&ra, &qa).status, 0);
	assert_true(rb.nic.mrs.mr[w.mr].flags & UNIC_MR_F_SHUT);
}

/* The owner closes it: an operation may wait for its page for T, then it is cut. */
static void a_read_is_cut_when_its_page_does_not_come(void **state)
{
	struct rig_qp other, its_peer;
	struct unic_cqe cqe;

	(void)state;
	rig_qp(&ra, 0, form_pa, 6, &its_peer);
	rig_qp(&rb, 0, form_pb, 7, &other);
	rig_connect(&ra, &its_peer, &rb, &other);
	form_bring(&of, 0, 1);
	ask(UNIC_WR_READ, 0, 3 * PAGE);
	expect_none();
	assert_int_equal(rb.nic.mrs.mr[w.mr].holds, 1);
	other.sq[0] = form_memop(UNIC_WR_LOCAL_INV, w.stag, 0, 0, 0, 0);
	other.sq[0].flags = UNIC_WR_SIGNALED;
	rig_ring(&rb, 0, UNIC_DB_SQ, other.row, 1);
	rig_run2(&ra, &rb, 15 * MS);
	assert_false(rig_cqe(&rb, &other, &cqe));
	assert_int_equal(form_done(&rb, &other).status, 0);
	assert_int_equal(form_done(&ra, &qa).status, UNIC_WC_REM_EVICTED);
	assert_int_equal(rb.nic.mrs.mr[w.mr].holds, 0);
	assert_int_equal(rb.nic.mrs.mr[of.mr].deps, 0);
	form_bring(&of, 1, 2);
}

/* A window of type 1 goes elsewhere under the same name while a WRITE waits: the name
 * says where that goes. */
static void a_window_goes_elsewhere_meanwhile(void **state)
{
	uint32_t i;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	for (i = 0; i < 2; i++) {
		assert_int_equal(form_make_one(&w, &of, 0, PAGE, REMOTE, 3), 0);
		ask(UNIC_WR_WRITE, 0, 100);
		expect_none();
		assert_int_equal(form_make_one(&w, &form_mb[1], 0, PAGE, REMOTE,
					       (uint8_t)(3 + i)),
				 0);
		w.iova = of.iova;
		form_serve(&of, 0, 1);
		assert_int_equal(form_done(&ra, &qa).status,
				 i || form_mb[1].iova != of.iova
					 ? UNIC_WC_REM_ACCESS_ERR
					 : 0);
		assert_int_equal(of.mem[0], 0);
		form_drop_page(&of, 0);
		form_again();
	}
	assert_int_equal(form_mb[1].mem[0],
			 form_mb[1].iova == of.iova ? ma.mem[0] : 0);
}

static void the_process_goes_meanwhile(void **state)
{
	struct unic_cmd_proc_detach c = { .proc = unic_to_le32(0) };
	struct unic_evt_miss miss;
	struct unic_evt_obj evt;
	struct unic_drop drop;

	(void)state;
	form_bring(&of, 0, 1);
	ask(UNIC_WR_WRITE, 0, 3 * PAGE);
	expect_none();
	rig_expect(&rb, UNIC_EVT_MISS, &miss);
	if (rig_cmd(&rb, UNIC_CMD_PROC_DETACH, &c, NULL) == UNIC_ST_PENDING) {
		rig_poll(&rb);
		rig_expect(&rb, UNIC_EVT_PROC_GONE, &evt);
	}
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(rb.nic.cache.all_entries, 0);
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(rb.nic.mrs.free, UNIC_MRS);
	assert_int_equal(rb.nic.faults.busy, 0);
	assert_false(rig_dropped(&rb, &drop));
}

/* The region is deregistered in the middle of a message: neither it nor the window
 * stays for longer than what has its pages. */
static void the_region_goes_meanwhile(void **state)
{
	struct unic_evt_miss miss;
	struct unic_evt_mr evt;
	uint8_t status;

	(void)state;
	form_bring(&of, 0, 1);
	ask(UNIC_WR_READ, 0, 3 * PAGE);
	expect_none();
	rig_expect(&rb, UNIC_EVT_MISS, &miss);
	status = rig_dereg(&rb, &of);
	assert_true(status == UNIC_ST_OK || status == UNIC_ST_PENDING);
	assert_int_not_equal(form_done(&ra, &qa).status, 0);
	do
		rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
	while (unic_from_le32(evt.mr) != w.mr);
	assert_int_equal(rb.nic.mrs.mr[w.mr].holds, 0);
	assert_int_equal(rb.nic.mrs.mr[of.mr].state, UNIC_MR_FREE);
	assert_int_equal(rb.nic.cache.all_entries, 0);
	assert_int_equal(rb.nic.faults.busy, 0);
}

/* A region keeps rights and domain as long as a window relies on them. */
static void the_region_does_not_change_meanwhile(void **state)
{
	struct unic_cmd_mr_rereg c = {
		.mr = unic_to_le32(of.mr),
		.gen = unic_to_le32(of.gen),
		.what = UNIC_REREG_PD,
		.pd = unic_to_le32(rig_pd(&rb, 0)),
	};

	(void)state;
	assert_int_equal(form_rights_of(&rb, &of, RW), UNIC_ST_BUSY);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL),
			 UNIC_ST_BUSY);
	assert_int_equal(form_inval(&w), 0);
	assert_int_equal(form_rights_of(&rb, &of, RW), 0);
	assert_int_equal(form_make_one(&w, &of, 0, PAGE, REMOTE, 0),
			 UNIC_ST_RIGHTS);
}

/* ---------------------------------------------------------------- strangers */

/* Neither another domain nor another process binds to the region or comes in by the
 * window, and no page is brought for them. */
static void strangers_bring_no_page(void **state)
{
	uint32_t pd2 = rig_pd(&rb, 0), pd3;
	struct unic_xlate p;
	struct rig_mr x;

	(void)state;
	rig_attach(&rb, 1, 1);
	pd3 = rig_pd(&rb, 1);
	assert_int_equal(unic_access(&rb.nic.memory, w.stag, (uint16_t)pd2,
				     REMOTE, w.iova, 8, &p),
			 -UNIC_EPD);
	assert_int_equal(unic_access(&rb.nic.memory, w.stag, (uint16_t)pd3,
				     REMOTE, w.iova, 8, &p),
			 -UNIC_ESTAG);
	assert_int_equal(form_alloc_in(pd2, UNIC_FORM_WINDOW1, 0, &x), 0);
	assert_int_equal(form_make_one(&x, &of, 0, PAGE, REMOTE, 1),
			 UNIC_ST_NO_PD);
	assert_int_equal(form_alloc_in(pd3, UNIC_FORM_WINDOW1, 0, &x), 0);
	assert_int_equal(form_make_one(&x, &of, 0, PAGE, REMOTE, 1),
			 UNIC_ST_NO_MR);
	assert_int_equal(rig_count(&rb, misses), 0);
	assert_int_equal(rb.nic.faults.busy, 0);
}

#define MISS(f) cmocka_unit_test_setup(f, up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MISS(a_read_waits),
		MISS(a_read_waits_in_its_middle),
		MISS(a_write_goes_on_in_another_page),
		MISS(an_atomic_operation_waits),
		MISS(an_unreliable_write_is_dropped),
		MISS(a_page_that_cannot_be_had_ends_the_operation),
		MISS(nothing_waits_for_no_bytes),
		MISS(a_read_is_finished_before_the_peer_closes_the_window),
		MISS(a_read_is_cut_when_its_page_does_not_come),
		MISS(a_window_goes_elsewhere_meanwhile),
		MISS(the_process_goes_meanwhile),
		MISS(the_region_goes_meanwhile),
		MISS(the_region_does_not_change_meanwhile),
		MISS(strangers_bring_no_page),
	};

	return UNIC_CACHED_WINDOWS ? cmocka_run_group_tests(tests, NULL, NULL)
				   : 0;
}
