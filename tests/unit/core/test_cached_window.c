/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_cached_window.c - memory windows over regions whose entries come and go: residency
 * DEMAND and TABLE.
 */
#include "unit.h"

#include "derived_rig.h"
#include "memory/access.h"
#include "memory/cached_window.h"

static void write_through(const struct rig_mr *w, uint64_t off, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 0, len, w->iova + off,
		 w->stag);
	rig_run2(&ra, &rb, 5 * MS);
}

static void expect_done(uint8_t status)
{
	struct unic_cqe cqe = { 0 };

	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, status);
}

static void expect_none(void)
{
	struct unic_cqe cqe;

	assert_false(rig_cqe(&ra, &qa, &cqe));
}

/* ------------------------------------------------------------- accesses */

/* The miss is one of the region: it is named, with the page there; all that the message
 * will need is asked for. */
static void a_write_waits_for_the_pages_of_the_region(void **state)
{
	struct rig_mr of, w;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 4000, 5000, &w);
	write_through(&w, 50, 4500); /* bytes 4050 to 8550 */
	expect_none();
	form_serve(&of, 0, 3);
	rig_run2(&ra, &rb, 5 * MS);
	expect_done(0);
	assert_memory_equal(of.mem + 4050, ma.mem, 4500);
	assert_int_equal(of.mem[4049], 0);
	assert_int_equal(of.mem[8550], 0);
	write_through(&w, 0, 8);
	expect_done(0);
	assert_int_equal(rig_count(&rb, miss_events), 1);
	assert_int_equal(rb.nic.mrs.mr[w.mr].n_pages, 0);
}

/* A TABLE region's pages are read when they are missed; windows of type 1 are bound by
 * command, again and again. */
static void a_window_of_type_1_goes_from_region_to_region(void **state)
{
	struct rig_mr of, w;

	(void)state;
	form_reg_cached(UNIC_TABLE_READS ? UNIC_TABLE : UNIC_DEMAND, &of);
	if (!UNIC_TABLE_READS)
		form_bring(&of, 0, 3);
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	assert_int_equal(form_make_one(&w, &of, 100, 2 * PAGE, REMOTE, 1), 0);
	assert_int_equal(form_write_to(&w, 10, 5000), 0);
	assert_memory_equal(of.mem + 110, ma.mem, 5000);
	assert_int_equal(form_make_one(&w, &form_mb[1], 0, PAGE, REMOTE, 2), 0);
	assert_int_equal(rb.nic.mrs.mr[of.mr].deps, 0);
	assert_int_equal(form_write_to(&w, 10, 3000), 0);
	assert_memory_equal(form_mb[1].mem + 10, ma.mem, 3000);
	assert_int_equal(form_make_one(&w, &of, PAGE, PAGE, REMOTE, 3), 0);
	assert_int_equal(form_write_to(&w, 0, 4000), 0);
	assert_memory_equal(of.mem + PAGE, ma.mem, 4000);
}

/* A dump says of such a window what it says of any: it has no pages of its own. */
static void the_row_of_a_window(void **state)
{
	const struct unic_row_mr *row;
	struct unic_cmd_dump cmd = { .table = unic_to_le32(UNIC_TABLE_MR) };
	struct rig_mr of, w;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 0, PAGE, &w);
	cmd.first = unic_to_le32(w.mr);
	row = (const void *)(rb.port.bar + UNIC_BAR_LIST_OFF +
			     rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_DUMP, &cmd, NULL), 0);
	assert_int_equal(unic_from_le32(row->index), w.mr);
	assert_int_equal(row->page_shift, 31);
	assert_int_equal(unic_from_le32(row->entries), 0);
	assert_int_equal(row->mr_class >> 4, UNIC_RESIDENT);
}

/* The window that had a page of a region last goes to another region: each of two windows loses the
 * page of its own region, and no other. */
static void windows_change_places(void **state)
{
	struct unic_xlate p;
	struct rig_mr of, w[2];
	uint32_t i;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bring(&of, 0, 3);
	for (i = 0; i < 2; i++) {
		form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w[i]);
		assert_int_equal(form_make_one(&w[i], &of, i * PAGE, PAGE,
					       REMOTE, i),
				 0);
		assert_int_equal(form_access_b(&w[i], REMOTE, 0, 1, &p), 0);
	}
	/* the one that was used last is over another region now */
	assert_int_equal(form_make_one(&w[1], &form_mb[1], 0, PAGE, REMOTE, 2),
			 0);
	assert_int_equal(form_access_b(&w[1], REMOTE, 0, 1, &p), 0);
	assert_int_equal(form_access_b(&w[0], REMOTE, 0, 1, &p), 0);
	assert_int_equal(unic_cache_drop(&rb.nic.memory, (uint16_t)of.mr, 0, 3,
					 true),
			 3);
	assert_int_equal(form_access_b(&w[0], REMOTE, 0, 1, &p), -UNIC_EMISS);
	assert_int_equal(form_access_b(&w[1], REMOTE, 0, 1, &p), 0);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus, form_mb[1].mem);
}

/* What is not for the window is refused before any page is looked for. */
static void refusals_ask_for_no_page(void **state)
{
	struct unic_xlate p;
	struct rig_mr of, w;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 4000, 5000, &w);
	assert_int_equal(form_access_b(&w, REMOTE, 5000, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(form_access_b(&w, REMOTE, 0, 5001, &p), -UNIC_EBOUNDS);
	assert_int_equal(form_access_b(&w, REMOTE, (uint64_t)-1, 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(form_access_b(&w, UNIC_MR_LOCAL_WRITE, 0, 1, &p),
			 -UNIC_ERIGHTS);
	w.stag ^= 2;
	assert_int_equal(form_access_b(&w, REMOTE, 0, 1, &p), -UNIC_ESTAG);
	w.stag ^= 2;
	assert_int_equal(rig_count(&rb, misses), 0);
	form_bring(&of, 0, 3);
	assert_int_equal(form_access_b(&w, REMOTE, 0, 5000, &p), 0);
	assert_int_equal(p.mr, w.mr);
	assert_int_equal(p.len, 96);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus, of.mem + 4000);
	assert_int_equal(form_access_b(&w, REMOTE, 0, 97, &p), 0);
	assert_int_equal(p.len, 96);
	assert_int_equal(form_access_b(&w, REMOTE, 4192, 808, &p), 0);
	assert_int_equal(p.len, 808);
	assert_int_equal(form_access_b(&w, REMOTE, 5000, 1, &p), -UNIC_EBOUNDS);
	/* what was in its cached page counts for the window, and later for the region */
	assert_int_equal(rb.nic.mrs.mr[w.mr].uses, 3);
	assert_int_equal(form_local_inv(w.stag).status, 0);
	assert_int_equal(rb.nic.mrs.mr[of.mr].uses, 3);
}

/* Its pages are the region's: an address has the place in a page that it has there. */
static void each_wrong_window(void **state)
{
	struct form_plan plan = { .n = 1, .rights = REMOTE };
	struct unic_sge e;
	struct rig_mr of, w, other;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	plan.sge[0] = form_piece(&of, 100, PAGE);
	plan.iova = 101;
	assert_int_equal(form_make(&w, &plan), UNIC_ST_ALIGN);
	plan.iova = 5 * PAGE + 100;
	plan.sge[0] = form_piece(&of, 100, 3 * PAGE);
	assert_int_equal(form_make(&w, &plan), UNIC_ST_BOUNDS);
	plan.sge[0] = form_piece(&of, 100, PAGE);
	plan.rights = RW;
	assert_int_equal(form_make(&w, &plan), UNIC_ST_RIGHTS);
	plan.rights = REMOTE;
	assert_int_equal(form_rights_of(&rb, &of, RW), 0);
	assert_int_equal(form_make(&w, &plan), UNIC_ST_RIGHTS);
	assert_int_equal(form_rights_of(&rb, &of, RWB), 0);
	assert_int_equal(form_make(&w, &plan), 0);
	/* no window lies in a window */
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &other);
	e = form_piece(&w, 0, PAGE);
	form_refused(form_memop(UNIC_WR_BIND_MW, other.stag, 1, REMOTE, w.iova,
				16),
		     &e, UNIC_WD_RIGHTS);
	/* nor is it a region with pages of its own */
	assert_int_equal(rig_fault(&rb, &w, 0, 1, 0, 0, form_first_page(),
				   NULL),
			 UNIC_ST_STATE);
	assert_int_equal(rig_pages(&rb, &w, 0, 1, 0, NULL), UNIC_ST_STATE);
	plan.iova = of.iova;
	plan.rights = RW;
	form_alloc_ok(UNIC_FORM_SUB, 0, &other);
	assert_int_equal(form_make(&other, &plan), UNIC_ST_NO_MR);
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, &other);
	assert_int_equal(form_make(&other, &plan), UNIC_ST_NO_MR);
}

/* ------------------------------------------------------------ pages that go */

/* A page that is dropped is not reached by any window that had it as its cached page. */
static void a_page_that_goes_is_in_no_window(void **state)
{
	struct unic_xlate p;
	struct rig_mr of, w[2];
	uint32_t i;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 0, 2 * PAGE, &w[0]);
	form_bind(&of, 8, 2 * PAGE, &w[1]);
	form_bring(&of, 0, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(form_access_b(&w[0], REMOTE, 8, 1, &p), 0);
		assert_int_equal(rb.nic.mrs.mr[w[0].mr].win_bytes, PAGE);
		assert_int_equal(form_access_b(&w[1], REMOTE, 8, 1, &p), 0);
		assert_int_equal(rb.nic.mrs.mr[w[1].mr].win_bytes, PAGE - 8);
		/* one has a cached page */
		assert_int_equal(rb.nic.mrs.mr[w[0].mr].win_bytes, 0);
	}
	form_drop_page(&of, 1); /* another one */
	assert_int_equal(rb.nic.mrs.mr[w[1].mr].win_bytes, PAGE - 8);
	form_drop_page(&of, 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(form_access_b(&w[i], REMOTE, 8, 1, &p),
				 -UNIC_EMISS);
}

/* Pages are used through a window: second chance sees it, and spares them. */
static void pages_that_a_window_uses_are_used(void **state)
{
	struct unic_xlate p;
	struct rig_mr of, w;
	uint32_t i;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 0, 3 * PAGE, &w);
	form_bring(&of, 0, 3);
	for (i = 0; i < 2; i++)
		assert_int_equal(form_access_b(&w, REMOTE, i * PAGE, 1, &p), 0);
	assert_int_equal(unic_cache_take(&rb.nic.memory, 0, 1), 1);
	assert_true(unic_cache_has(&rb.nic.memory, (uint16_t)of.mr, 0));
	assert_true(unic_cache_has(&rb.nic.memory, (uint16_t)of.mr, 1));
	assert_false(unic_cache_has(&rb.nic.memory, (uint16_t)of.mr, 2));
	/* the hand has passed: the next access must be seen again */
	assert_int_equal(rb.nic.mrs.mr[w.mr].win_bytes, 0);
}

/* The page that a piece of DMA moves to stays until it has. */
static void dma_through_a_window_keeps_the_page(void **state)
{
	struct rig_mr of, w;
	uint32_t done, i;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 0, PAGE, &w);
	form_bring(&of, 0, 1);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 0, 100, w.iova, w.stag);
	rb.port.late_dma = true;
	rig_run2(&ra, &rb, 20000);
	for (i = 0; i < 20 && !rb.nic.mrs.mr[w.mr].dmas; i++) {
		fake_dma_run(&rb.port, 64); /* its rings */
		rig_run2(&ra, &rb, 20000);
	}
	assert_int_equal(rb.nic.mrs.mr[w.mr].dmas, 1);
	assert_int_equal(rb.nic.mrs.mr[of.mr].dmas, 1);
	assert_int_equal(rig_pages(&rb, &of, 0, 1, UNIC_ADVISE_DONT_NEED,
				   &done),
			 UNIC_ST_BUSY);
	assert_int_equal(unic_cache_take(&rb.nic.memory, 0, 1), 0);
	fake_dma_run(&rb.port, 64);
	rb.port.late_dma = false;
	rig_run2(&ra, &rb, 5 * MS);
	expect_done(0);
	assert_int_equal(rb.nic.mrs.mr[of.mr].dmas, 0);
	assert_memory_equal(of.mem, ma.mem, 100);
	form_drop_page(&of, 0);
}

/* A frame that waits for DMA into a window holds the pages of the region, too. */
static void a_frame_that_waits_keeps_the_page(void **state)
{
	struct unic_mr_span span = { .len = 8 };
	struct rig_mr of, w;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 0, PAGE, &w);
	form_bring(&of, 0, 1);
	span.mr = (uint16_t)w.mr;
	unic_cache_hold(&rb.nic.memory, &span, 1);
	assert_true(unic_cache_busy(&rb.nic.memory, (uint16_t)of.mr));
	assert_int_equal(unic_cache_take(&rb.nic.memory, 0, 1), 0);
	unic_cache_hold(&rb.nic.memory, NULL, 0);
	assert_false(unic_cache_busy(&rb.nic.memory, (uint16_t)of.mr));
	assert_int_equal(unic_cache_take(&rb.nic.memory, 0, 1), 1);
}

/* --------------------------------------------------------- windows that go */

/* The page comes when the window has gone: the WRITE that waited for it is refused. */
static void a_window_goes_while_its_page_comes(void **state)
{
	struct rig_mr of, w;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 0, PAGE, &w);
	write_through(&w, 0, 100);
	expect_none();
	assert_int_equal(form_inval(&w), 0);
	assert_int_equal(rb.nic.mrs.mr[of.mr].deps, 0);
	form_serve(&of, 0, 1);
	rig_run2(&ra, &rb, 5 * MS);
	expect_done(UNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(of.mem[0], 0);
}

/* A message that is under way goes on in a window that was closed, as it would over pages
 * that are all there. */
static void a_message_goes_on_in_a_closed_window(void **state)
{
	struct rig_mr of, w;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 0, 3 * PAGE, &w);
	form_bring(&of, 0, 1);
	write_through(&w, 0, 3 * PAGE);
	expect_none(); /* it waits for the second page */
	assert_int_equal(rb.nic.mrs.mr[w.mr].holds, 1);
	assert_int_equal(form_inval(&w), UNIC_ST_BUSY);
	form_serve(&of, 1, 2);
	rig_run2(&ra, &rb, 10 * MS);
	expect_done(0);
	assert_memory_equal(of.mem, ma.mem, 3 * PAGE);
	assert_int_equal(rb.nic.mrs.mr[w.mr].holds, 0);
	assert_int_equal(form_inval(&w), 0);
	write_through(&w, 0, 8);
	expect_done(UNIC_WC_REM_ACCESS_ERR);
}

/* A region ends with the windows over it, and not before. */
static void a_region_takes_its_windows_along(void **state)
{
	struct unic_xlate p;
	struct unic_evt_mr evt;
	struct rig_mr of, w;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_bind(&of, 0, 2 * PAGE, &w);
	form_bring(&of, 0, 1);
	assert_int_equal(form_access_b(&w, REMOTE, 0, 1, &p), 0);
	assert_int_equal(rig_dereg(&rb, &of), UNIC_ST_OK);
	rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), w.mr);
	assert_int_equal(form_access_b(&w, REMOTE, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(rb.nic.mrs.mr[w.mr].flags & UNIC_MR_F_CACHED, 0);
	assert_int_equal(rb.nic.cache.all_entries, 0);
}

/* A window is no copy of addresses, as a fast registration is: pages of its region may
 * be taken out. */
static void pages_are_taken_out_under_a_window(void **state)
{
	struct rig_mr of, w, fast;
	struct unic_sge e;
	uint32_t done;

	(void)state;
	if (!UNIC_TABLE_READS)
		return;
	form_reg_cached(UNIC_TABLE, &of);
	form_bind(&of, 0, PAGE, &w);
	assert_int_equal(form_write_to(&w, 0, 100), 0);
	form_drop_page(&of, 0);
	form_alloc_ok(UNIC_FORM_FAST, 3, &fast);
	e = form_piece(&of, 0, PAGE);
	assert_int_equal(form_post_make(UNIC_WR_REG_MR, &fast, 1, RW, 0x7000,
					&e, 1)
				 .status,
			 0);
	assert_int_equal(rig_pages(&rb, &of, 0, 1, 0, &done), UNIC_ST_BUSY);
	rig_words(&rb)[0] = unic_to_le64(0);
	assert_int_equal(form_write_to(&w, 0, 100), UNIC_WC_REM_ACCESS_ERR);
}

/* A board without room refuses them. */
static void a_board_without_them(void **state)
{
	const struct unic_info *info = (const struct unic_info *)rb.port.bar;
	struct rig_mr of, w;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	assert_int_equal(form_make_one(&w, &of, 0, PAGE, REMOTE, 1),
			 UNIC_CACHED_WINDOWS ? 0 : UNIC_ST_NO_MR);
	assert_int_equal(!(unic_from_le64(info->features) &
			   UNIC_FEAT_CACHED_WINDOWS),
			 !UNIC_CACHED_WINDOWS);
}

/* Other forms have no entries to borrow there; a fast registration copies those of a TABLE. */
static void only_windows_lie_in_such_regions(void **state)
{
	struct rig_mr of, form;

	(void)state;
	form_reg_cached(UNIC_DEMAND, &of);
	form_alloc_ok(UNIC_FORM_SUB, 0, &form);
	assert_int_equal(form_make_one(&form, &of, 0, PAGE, RW, 1),
			 UNIC_ST_NO_MR);
	form_alloc_ok(UNIC_FORM_FAST, 1, &form);
	assert_int_equal(form_make_one(&form, &of, 0, PAGE, RW, 1),
			 UNIC_ST_NO_MR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_write_waits_for_the_pages_of_the_region),
		TEST(a_window_of_type_1_goes_from_region_to_region),
		TEST(the_row_of_a_window),
		TEST(windows_change_places),
		TEST(refusals_ask_for_no_page),
		TEST(each_wrong_window),
		TEST(a_page_that_goes_is_in_no_window),
		TEST(pages_that_a_window_uses_are_used),
		TEST(dma_through_a_window_keeps_the_page),
		TEST(a_frame_that_waits_keeps_the_page),
		TEST(a_window_goes_while_its_page_comes),
		TEST(a_message_goes_on_in_a_closed_window),
		TEST(a_region_takes_its_windows_along),
		TEST(pages_are_taken_out_under_a_window),
	};
	const struct CMUnitTest any_board[] = {
		TEST(a_board_without_them),
		TEST(only_windows_lie_in_such_regions),
	};
	int failed = cmocka_run_group_tests(any_board, NULL, NULL);

	if (UNIC_CACHED_WINDOWS)
		failed += cmocka_run_group_tests(tests, NULL, NULL);
	return failed;
}
