/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_derived.c - derived regions by command: allocation, sub-regions, re-
 * registration, and their end with the regions below them.
 */
#include "unit.h"

#include "derived_rig.h"
#include "memory/access.h"

/* -------------------------------------------------------------- sub-regions */

static void sub_region_is_a_range(void **state)
{
	struct unic_xlate p;
	struct rig_mr s;

	(void)state;
	form_alloc_ok(UNIC_FORM_SUB, 0, &s);
	assert_int_equal(form_access_b(&s, 0, 0, 1, &p), -UNIC_ESTAG);
	assert_int_equal(form_make_one(&s, &form_mb[0], 5000, 2000, RW, 3), 0);
	assert_int_equal(s.stag & 0xff, 3);
	assert_int_equal(form_access_b(&s, RW, 0, 2000, &p), 0);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus,
			 form_mb[0].mem + 5000);
	assert_int_equal(form_access_b(&s, RW, 0, 2001, &p), -UNIC_EBOUNDS);
	assert_int_equal(form_access_b(&s, RW, (uint64_t)-1, 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(form_access_b(&s, UNIC_MR_MW_BIND, 0, 1, &p),
			 -UNIC_ERIGHTS);
	assert_int_equal(unic_access(&rb.nic.memory, s.stag,
				     (uint16_t)rig_pd(&rb, 0), 0, s.iova, 1,
				     &p),
			 -UNIC_EPD);
	/* without entries; a sub-region is made once */
	assert_int_equal(rb.nic.mrs.mr[s.mr].n_pages, 0);
	assert_int_equal(form_make_one(&s, &form_mb[0], 0, 1, RW, 0),
			 UNIC_ST_STATE);
	assert_int_equal(form_inval(&s), UNIC_ST_STATE);
	assert_int_equal(form_write_to(&s, 0, 2000), UNIC_WC_SUCCESS);
	assert_memory_equal(form_mb[0].mem + 5000, ma.mem, 2000);
	assert_int_equal(rig_dereg(&rb, &s), UNIC_ST_OK);
	assert_int_equal(rb.nic.mrs.mr[form_mb[0].mr].deps, 0);
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(form_access_b(&s, 0, 0, 1, &p), -UNIC_ERELEASED);
}

static void each_wrong_sub_region(void **state)
{
	static struct unic_derived_regions before;
	struct form_plan good = { .n = 1, .rights = RW }, p;
	struct rig_mr s, w;

	(void)state;
	good.iova = form_mb[0].iova + 16;
	good.sge[0] = form_piece(&form_mb[0], 16, 3 * PAGE - 16);
	form_alloc_ok(UNIC_FORM_SUB, 0, &s);
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	before = rb.nic.derived;
#define BAD(field, value, status)                                      \
	do {                                                           \
		p = good;                                              \
		p.field = (value);                                     \
		assert_int_equal(form_make(&s, &p), UNIC_ST_##status); \
	} while (0)
	BAD(n, 0, INVALID);
	BAD(n, 2, TOO_LARGE);
	BAD(repeat, 2, INVALID);
	BAD(rights, UNIC_MR_RIGHTS_ALL + 1, INVALID);
	BAD(rights, UNIC_MR_REMOTE_WRITE, RIGHTS);
	BAD(iova, good.iova + 1, ALIGN);
	BAD(iova, (uint64_t)-16, INVALID); /* wraps */
	BAD(sge[0].len, unic_to_le32(0), INVALID);
	BAD(sge[0].len, unic_to_le32(3 * PAGE - 15), BOUNDS);
	BAD(sge[0].len, unic_to_le32(UINT32_MAX), BOUNDS);
	BAD(sge[0].iova, unic_to_le64(form_mb[0].iova - PAGE + 16), BOUNDS);
	BAD(sge[0].iova, unic_to_le64(UINT64_MAX), BOUNDS);
	BAD(sge[0].lkey, unic_to_le32(form_mb[0].stag ^ 1), NO_MR);
	BAD(sge[0].lkey, unic_to_le32(s.stag), NO_MR);
	BAD(sge[0].lkey, unic_to_le32(w.stag), NO_MR);
	BAD(sge[0].lkey, unic_to_le32(qb.rings.stag), BOUNDS);
	p = good;
	p.sge[0] = form_piece(&qb.rings, 0, PAGE);
	p.iova = 0;
	assert_int_equal(form_make(&s, &p),
			 UNIC_ST_NO_MR); /* of class control */
	assert_int_equal(form_rights_of(&rb, &form_mb[0], UNIC_MR_LOCAL_WRITE),
			 0);
	assert_int_equal(form_make(&s, &good), UNIC_ST_RIGHTS);
	/* no refusal had an effect */
	assert_memory_equal(&before, &rb.nic.derived, sizeof(before));
	assert_int_equal(form_rights_of(&rb, &form_mb[0], RWB), 0);
	assert_int_equal(form_make(&s, &good), 0);
#undef BAD
}

static void allocations_that_cannot_be(void **state)
{
	struct unic_cpl_usage u;
	struct unic_cmd_mr_alloc c = { .pd = unic_to_le32(form_pb),
				       .kind = UNIC_FORM_INDIRECT };
	struct rig_mr f[UNIC_ELEMENTS_PROC + 1];
	uint32_t i;

	(void)state;
	assert_int_equal(form_alloc(UNIC_FORM_PLAIN, 0, f), UNIC_ST_INVALID);
	assert_int_equal(form_alloc(6, 0, f), UNIC_ST_INVALID);
	assert_int_equal(form_alloc(UNIC_FORM_WINDOW2, 1, f), UNIC_ST_INVALID);
	assert_int_equal(form_alloc(UNIC_FORM_INDIRECT, 0, f), UNIC_ST_INVALID);
	assert_int_equal(form_alloc(UNIC_FORM_INDIRECT, UNIC_FORM_ELEMENTS + 1,
				    f),
			 UNIC_ST_INVALID);
	assert_int_equal(form_alloc(UNIC_FORM_FAST, 0, f), UNIC_ST_INVALID);
	assert_int_equal(form_alloc(UNIC_FORM_FAST, UNIC_TLB_ENTRIES + 1, f),
			 UNIC_ST_TOO_LARGE);
	c.pd = unic_to_le32(UNIC_PDS);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_ALLOC, &c, NULL),
			 UNIC_ST_NO_PD);
	/* a process may have a quarter of the elements; the usage names the
	 * limit of all */
	c.pd = unic_to_le32(form_pb);
	c.page_shift = 12; /* for FAST only */
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_ALLOC, &c, NULL),
			 UNIC_ST_INVALID);
	c.page_shift = 0;
	c.n = unic_to_le32(UNIC_ELEMENTS_PROC + 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_ALLOC, &c, &u),
			 UNIC_ST_ELEMENT_FULL);
	assert_int_equal(unic_from_le32(u.table), UNIC_TABLE_ELEMENT);
	assert_int_equal(unic_from_le32(u.limit), UNIC_ELEMENTS);
	for (i = 0; i < UNIC_ELEMENTS_PROC; i++)
		form_alloc_ok(UNIC_FORM_WINDOW2, 0, &f[i]);
	assert_int_equal(form_alloc(UNIC_FORM_WINDOW2, 0, &f[i]),
			 UNIC_ST_ELEMENT_FULL);
	for (i = 0; i < UNIC_ELEMENTS_PROC; i++)
		assert_int_equal(rig_dereg(&rb, &f[i]), UNIC_ST_OK);
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(rb.nic.derived.held[0], 0);
}

/* ------------------------------------------------------------------ windows */

static void asked_back(const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr evt;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&rb, &evt), 0);
}

static void evict_step(void)
{
	if (unic_evict_deadlines(&rb.nic.revoke))
		unic_evict_poll(&rb.nic.revoke);
}

/* A region with many derived regions takes a round to end; other regions end in
 * the next one. */
static void deadline_of_many_forms_is_a_round(void **state)
{
	const struct unic_mr_ctx *light, *heavy;
	struct form_plan p = { .n = 1, .rights = UNIC_MR_REMOTE_READ };
	struct rig_mr form;
	uint32_t i;

	(void)state;
	light = &rb.nic.mrs.mr[form_mb[0].mr];
	heavy = &rb.nic.mrs.mr[form_mb[1].mr];
	p.sge[0] = form_piece(&form_mb[1], 0, PAGE);
	p.iova = form_mb[1].iova;
	for (i = 0; i < UNIC_ELEMENTS / 4; i++) {
		form_alloc_ok(UNIC_FORM_SUB, 0, &form);
		assert_int_equal(form_make(&form, &p), UNIC_ST_OK);
	}
	asked_back(&form_mb[0]); /* the one asked for last ends first */
	asked_back(&form_mb[1]);
	rb.nic.now_ns += 20 * MS;
	evict_step();
	assert_true(heavy->state >= UNIC_MR_DRAINING);
	assert_int_equal(light->state, UNIC_MR_NOTIFIED);
	/* the others end in the next round */
	assert_int_equal(rb.nic.timers_ns, 0);
	evict_step();
	assert_true(light->state >= UNIC_MR_DRAINING);
}

/* -------------------------------------------------------------------- ends */

/* Sends MR_EVICT of @mr. Returns its notice, acknowledged. */
static struct unic_evt_mr notice_of(const struct rig_mr *mr)
{
	struct unic_cmd_mr c = { .mr = unic_to_le32(mr->mr),
				 .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr n;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &c, NULL), 0);
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_NOTICE, &n);
	assert_int_equal(rig_ack(&rb, &n), 0);
	return n;
}

static void dependents_end_with_their_region(void **state)
{
	struct unic_sge e = form_piece(&form_mb[1], 0, PAGE);
	struct unic_evt_mr n, evt;
	struct unic_xlate p;
	struct rig_mr w, s, x, y;
	uint32_t i, seen = 0;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	form_post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
		       form_mb[1].iova, &e, 1);
	form_alloc_ok(UNIC_FORM_SUB, 0, &s);
	assert_int_equal(form_make_one(&s, &form_mb[1], 0, PAGE, RW, 0), 0);
	form_make_three(&x);
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, &y);
	assert_int_equal(form_make_one(&y, &x, 0, 4000, RW, 0), 0);
	assert_int_equal(form_access_b(&w, 0, 0, 1, &p), 0); /* has a window */
	n = notice_of(&form_mb[1]);
	assert_int_equal(unic_from_le32(n.dependents), 4);
	rig_run(&rb, 19 * MS);
	assert_int_equal(form_access_b(&y, RW, 100, 1, &p), 0); /* grace */
	rig_run(&rb, 2 * MS);
	while (rig_event(&rb, &evt)) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_EVICTED);
		seen++;
	}
	assert_int_equal(unic_from_le32(evt.mr),
			 form_mb[1].mr); /* its event comes last */
	assert_int_equal(seen, 5);
	assert_int_equal(form_access_b(&w, 0, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(form_access_b(&s, RW, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(form_access_b(&x, RW, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(form_access_b(&y, RW, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(rb.nic.derived.used, 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(rb.nic.mrs.mr[form_mb[i].mr].deps, 0);
	assert_int_equal(form_access_b(&form_mb[0], RW, 0, 1, &p), 0);
	assert_int_equal(form_write_to(&x, 0, 4), UNIC_WC_REM_EVICTED);
	assert_int_equal(rig_count(&rb, forms_evicted), 4);
	assert_int_equal(rig_dereg(&rb, &x), UNIC_ST_OK);
}

static void held_dependent_keeps_its_region(void **state)
{
	struct unic_evt_mr evt;
	struct unic_xlate p;
	struct rig_mr x;

	(void)state;
	form_make_three(&x);
	unic_mr_dma_get(&rb.nic.memory, (uint16_t)x.mr);
	assert_int_equal(rig_dereg(&rb, &form_mb[1]), UNIC_ST_PENDING);
	assert_int_equal(form_access_b(&x, RW, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(form_access_b(&form_mb[0], RW, 0, 1, &p), 0);
	/* operations under way are still translated (INV-3) */
	assert_int_equal(unic_xlate(&rb.nic.memory, (uint16_t)x.mr,
				    x.iova + 200, 9, &p),
			 0);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus, form_three(200));
	rig_run(&rb, 40 * MS);
	assert_false(rig_event(&rb, &evt));
	unic_mr_dma_put(&rb.nic.memory, (uint16_t)x.mr);
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), x.mr);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_DEREG);
	rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), form_mb[1].mr);
}

static void first_frame_only(struct unic_port *port, const uint8_t *frame,
			     uint32_t len, uint32_t flags)
{
	fake_deliver(port->peer, frame, len, flags);
	port->peer = NULL;
	port->on_frame = NULL;
}

static void write_through_an_evicted_element_is_cut(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr x;
	uint32_t seen = 0;

	(void)state;
	form_make_three(&x);
	/* one packet of eight arrives */
	ra.port.on_frame = first_frame_only;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 0, 8192, x.iova, x.stag);
	rig_poll(&ra);
	rig_poll(&rb);
	assert_int_equal(rb.nic.mrs.mr[x.mr].holds, 1);
	notice_of(&form_mb[1]);
	rig_run(&rb, 22 * MS);
	while (rig_event(&rb, &evt))
		seen += evt.hdr.type == UNIC_EVT_EVICTED;
	assert_int_equal(seen, 2);
	assert_int_equal(rb.nic.mrs.mr[form_mb[0].mr].deps, 0);
	assert_int_equal(rb.nic.qps.qp[qb.qpn & 0xff].state, UNIC_QPS_ERR);
}

static void fast_registration_is_asked_back(void **state)
{
	struct unic_evt_mr n;
	struct rig_mr f;

	(void)state;
	form_alloc_ok(UNIC_FORM_FAST, 4, &f);
	n = notice_of(&f);
	assert_int_equal(unic_from_le32(n.entries), 4);
	rig_run(&rb, 22 * MS);
	rig_expect(&rb, UNIC_EVT_EVICTED, &n);
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].state, UNIC_MR_EVICTED);
}

static void forms_cannot_be_asked_back(void **state)
{
	struct unic_cmd_mr c;
	struct rig_mr s;

	(void)state;
	form_alloc_ok(UNIC_FORM_SUB, 0, &s);
	c = (struct unic_cmd_mr){ .mr = unic_to_le32(s.mr),
				  .gen = unic_to_le32(s.gen) };
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &c, NULL),
			 UNIC_ST_INVALID);
}

static void all_of_a_process_goes(void **state)
{
	struct unic_cmd_proc_detach c = { .proc = unic_to_le32(0) };
	struct unic_evt_obj evt;
	struct rig_mr x, w;
	uint8_t status;

	(void)state;
	form_make_three(&x);
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	assert_int_equal(form_make_one(&w, &x, 50, 100, UNIC_MR_REMOTE_READ, 0),
			 UNIC_ST_RIGHTS);
	status = rig_cmd(&rb, UNIC_CMD_PROC_DETACH, &c, NULL);
	if (status == UNIC_ST_PENDING) {
		rig_poll(&rb);
		rig_expect(&rb, UNIC_EVT_PROC_GONE, &evt);
	}
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(rb.nic.mrs.free, UNIC_MRS);
}

/* Byte @off of an indirect region over the elements 10 to 4105 and 2000 to 6095
 * of form_mb[0]. */
static const uint8_t *overlapped(uint32_t off)
{
	return form_mb[0].mem + (off < PAGE ? 10 + off : 2000 - PAGE + off);
}

/* Elements of an indirect region may overlap: first they have bytes 2000 to 4105
 * in common, then all but one. Each offset belongs to one element, and the page
 * that the NIC remembers of an access ends where the element ends. */
static void elements_that_overlap(void **state)
{
	static const uint32_t at[] = { PAGE, PAGE - 1, PAGE, 1990, PAGE };
	struct form_plan p = { .n = 2, .rights = RW, .iova = 0x10000 };
	struct unic_xlate piece;
	struct rig_mr x;
	uint32_t i;

	(void)state;
	form_alloc_ok(UNIC_FORM_INDIRECT, 2, &x);
	p.sge[0] = form_piece(&form_mb[0], 10, PAGE);
	p.sge[1] = form_piece(&form_mb[0], 2000, PAGE);
	assert_int_equal(form_make(&x, &p), 0);
	form_assert_bytes(&x, 2 * PAGE, overlapped);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		assert_int_equal(form_access_b(&x, RW, at[i], 1, &piece), 0);
		assert_ptr_equal(rb.port.window[0] + (uint32_t)piece.bus,
				 overlapped(at[i]));
	}
	assert_int_equal(rig_dereg(&rb, &x), 0);
	form_alloc_ok(UNIC_FORM_INDIRECT, 2, &x);
	p.sge[1] = form_piece(&form_mb[0], 11, PAGE);
	assert_int_equal(form_make(&x, &p), 0);
	assert_int_equal(form_write_to(&x, 0, 2 * PAGE), UNIC_WC_SUCCESS);
	/* the second element is written last; no byte beside the two is
	 * written */
	assert_int_equal(form_mb[0].mem[10], ma.mem[0]);
	assert_memory_equal(form_mb[0].mem + 11, ma.mem + PAGE, PAGE);
	assert_int_equal(form_mb[0].mem[9], 0);
	assert_int_equal(form_mb[0].mem[11 + PAGE], 0);
	/* two elements of one region count twice, but make one dependent */
	assert_int_equal(rb.nic.mrs.mr[form_mb[0].mr].deps, 2);
	assert_int_equal(unic_dependents_count(&rb.nic.memory,
					       (uint16_t)form_mb[0].mr),
			 1);
	/* whichever marks earlier counts have left */
	rb.nic.derived.stamp = UINT16_MAX;
	rb.nic.derived.form[x.mr].stamp = 1;
	assert_int_equal(unic_dependents_count(&rb.nic.memory,
					       (uint16_t)form_mb[0].mr),
			 1);
}

/* The NIC's answer to MR_FORMS of @mr: the indices of forms that end with it. */
static uint8_t forms_of(const struct rig_mr *mr, bool is[UNIC_MRS])
{
	uint32_t at = rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES, i;
	uint8_t *list = rb.port.bar + UNIC_BAR_LIST_OFF + at;
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	uint8_t status;

	memset(list, 0xff, UNIC_LIST_BYTES);
	status = rig_cmd(&rb, UNIC_CMD_MR_FORMS, &cmd, NULL);
	for (i = 0; i < UNIC_MRS; i++)
		is[i] = list[i / 8] & 1u << i % 8;
	return status;
}

/* All forms that end with a region, directly made of it or not, and no others. */
static void forms_of_a_region_are_named(void **state)
{
	struct form_plan p = { .n = 2, .rights = RW, .iova = 0x10000 };
	struct rig_mr sub, list, shut, other, gone;
	bool is[UNIC_MRS];
	uint32_t i;

	(void)state;
	if (!UNIC_MR_FORMS) {
		assert_int_equal(forms_of(&form_mb[0], is), UNIC_ST_BAD_OPCODE);
		return;
	}
	assert_int_equal(forms_of(&form_mb[0], is), UNIC_ST_OK);
	for (i = 0; i < UNIC_MRS; i++)
		assert_false(is[i]);
	form_alloc_ok(UNIC_FORM_SUB, 0, &sub);
	form_alloc_ok(UNIC_FORM_SUB, 0, &other);
	form_alloc_ok(UNIC_FORM_INDIRECT, 2, &list);
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &shut);
	form_alloc_ok(UNIC_FORM_SUB, 0, &gone);
	assert_int_equal(form_make_one(&sub, &form_mb[0], 0, 16, RW, 0), 0);
	assert_int_equal(form_make_one(&other, &form_mb[1], 0, 16, RW, 0), 0);
	assert_int_equal(form_make_one(&gone, &form_mb[0], 0, 16, RW, 0), 0);
	p.sge[0] = form_piece(&sub, 0, 16); /* of a form of the region */
	p.sge[1] = form_piece(&form_mb[2], 0, 16);
	assert_int_equal(form_make(&list, &p), 0);
	assert_int_equal(rig_dereg(&rb, &gone), UNIC_ST_OK);
	assert_int_equal(forms_of(&form_mb[0], is), UNIC_ST_OK);
	for (i = 0; i < UNIC_MRS; i++)
		assert_int_equal(is[i], i == sub.mr || i == list.mr);
	assert_int_equal(forms_of(&sub, is), UNIC_ST_OK);
	for (i = 0; i < UNIC_MRS; i++)
		assert_int_equal(is[i], i == list.mr);
	assert_int_equal(forms_of(&gone, is), UNIC_ST_NO_MR);
}

/* A posted request that names form_mb[1] is refused. After an eviction the
 * queue pair goes on; else it ends. */
static void expect_refused(const struct unic_cqe *cqe, uint8_t status,
			   uint8_t wc)
{
	if (status == UNIC_ST_EVICTED) {
		assert_int_equal(cqe->status, UNIC_WC_EVICTED);
		assert_int_equal(form_write_to(&form_mb[2], 0, 8),
				 UNIC_WC_SUCCESS);
		return;
	}
	assert_int_equal(cqe->status, wc);
	assert_int_equal(cqe->detail, UNIC_WD_STAG);
	form_again();
}

/* Tries to make regions of form_mb[1]: commands get @status, posted requests
 * the same refusal. */
static void nothing_is_made(uint8_t status)
{
	static const uint8_t kinds[] = { UNIC_FORM_SUB, UNIC_FORM_WINDOW1,
					 UNIC_FORM_INDIRECT };
	struct unic_sge e = form_piece(&form_mb[1], 0, PAGE);
	struct unic_cqe cqe;
	struct rig_mr f;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		form_alloc_ok(kinds[i], kinds[i] == UNIC_FORM_INDIRECT, &f);
		assert_int_equal(form_make_one(&f, &form_mb[1], 0, PAGE,
					       UNIC_MR_REMOTE_READ, 1),
				 status);
		/* the refusal has no effect on the region */
		assert_int_equal(form_make_one(&f, &form_mb[2], 0, PAGE,
					       UNIC_MR_REMOTE_READ, 1),
				 0);
		assert_int_equal(rig_dereg(&rb, &f), 0);
	}
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &f);
	cqe = form_post_make(UNIC_WR_BIND_MW, &f, 1, UNIC_MR_REMOTE_READ,
			     form_mb[1].iova, &e, 1);
	expect_refused(&cqe, status, UNIC_WC_MW_BIND_ERR);
	assert_int_equal(rig_dereg(&rb, &f), 0);
	form_alloc_ok(UNIC_FORM_FAST, 1, &f);
	cqe = form_post_make(UNIC_WR_REG_MR, &f, 1, RW, form_mb[1].iova, &e, 1);
	expect_refused(&cqe, status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(rig_dereg(&rb, &f), 0);
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(rb.nic.mrs.mr[form_mb[1].mr].deps, 0);
}

/* Making derived regions over a region under notice, evicted or released, and
 * over one whose index has another owner. */
static void forms_over_regions_that_go(void **state)
{
	struct unic_evt_mr n;
	struct unic_xlate p;
	struct rig_mr w, next;
	uint32_t i;
	uint8_t rec[64];

	(void)state;
	/* under notice: allowed until the deadline */
	n = notice_of(&form_mb[1]);
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	assert_int_equal(form_make_one(&w, &form_mb[1], 0, PAGE,
				       UNIC_MR_REMOTE_READ, 1),
			 0);
	unic_mr_hold(&rb.nic.memory, (uint16_t)form_mb[1].mr);
	rig_run(&rb, 20 * MS);
	assert_int_equal(form_access_b(&w, 0, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(rb.nic.mrs.mr[form_mb[1].mr].state, UNIC_MR_DRAINING);
	while (rig_event(&rb, rec))
		assert_int_equal(rec[0], UNIC_EVT_EVICTED);
	nothing_is_made(UNIC_ST_EVICTED);
	unic_mr_unhold(&rb.nic.memory, (uint16_t)form_mb[1].mr);
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_EVICTED, &n);
	nothing_is_made(UNIC_ST_EVICTED); /* a tombstone */
	assert_int_equal(rig_dereg(&rb, &form_mb[1]), 0);
	nothing_is_made(UNIC_ST_NO_MR);
	for (i = 0; i < 10 * UNIC_MRS; i++) {
		assert_int_equal(rig_reg(&rb, 0, form_pb, 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &next),
				 0);
		if (next.mr == form_mb[1].mr)
			break;
		assert_int_equal(rig_dereg(&rb, &next), 0);
	}
	assert_int_equal(next.mr, form_mb[1].mr);
	nothing_is_made(UNIC_ST_NO_MR);
}

/* ------------------------------------------------------- re-register, batch */

/* The importance of a region changes in use and asked back, and nothing else of it
 * does. */
static void importance_changes_at_any_time(void **state)
{
	struct unic_cmd_mr_rereg good = { .mr = unic_to_le32(form_mb[0].mr),
					  .gen = unic_to_le32(form_mb[0].gen),
					  .what = UNIC_REREG_HINT,
					  .importance = 9 },
				 c;
	struct unic_mr_ctx *m = &rb.nic.mrs.mr[form_mb[0].mr], was;
	struct unic_cmd_mr evict = { .mr = good.mr, .gen = good.gen };
	struct unic_evt_mr evt;
	struct rig_mr s;

	(void)state;
#define TRY(status)                                                 \
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), \
			 UNIC_ST_##status)
	c = good;
	TRY(OK);
	assert_int_equal(m->importance, 9);
	unic_mr_hold(&rb.nic.memory, (uint16_t)form_mb[0].mr);
	form_alloc_ok(UNIC_FORM_SUB, 0, &s);
	was = *m;
	c.importance = 200;
	TRY(OK);
	was.importance = 200;
	assert_memory_equal(m, &was, sizeof(was));
	unic_mr_unhold(&rb.nic.memory, (uint16_t)form_mb[0].mr);
	c.mr = unic_to_le32(s.mr);
	c.gen = unic_to_le32(s.gen);
	TRY(OK); /* a form */
	assert_int_equal(rb.nic.mrs.mr[s.mr].importance, 200);
	assert_int_equal(rig_dereg(&rb, &s), 0);
	TRY(NO_MR);
	/* alone */
	c = good;
	c.what |= UNIC_REREG_RIGHTS;
	TRY(INVALID);
	c = good;
	c.length = unic_to_le64(1);
	TRY(INVALID);
	c = good;
	c.what = UNIC_REREG_RIGHTS;
	c.rights = RW;
	TRY(INVALID); /* an importance without UNIC_REREG_HINT */
	assert_int_equal(m->importance, 200);
	/* queues are never asked back */
	c = good;
	m->mr_class = UNIC_CLASS_CONTROL;
	TRY(INVALID);
	m->mr_class = UNIC_CLASS_RDMA;
	/* asked back, and gone */
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	assert_int_equal(m->state, UNIC_MR_NOTIFIED);
	c = good;
	TRY(OK);
	assert_int_equal(m->importance, 9);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&rb, &evt), UNIC_ST_OK);
	rig_run(&rb, 1000000000);
	assert_int_equal(m->state, UNIC_MR_EVICTED);
	TRY(STATE);
	c = good;
	c.importance = 0;
	c.what = UNIC_REREG_RIGHTS;
	c.rights = RW;
	TRY(STATE);
#undef TRY
}

static void reregister(void **state)
{
	uint64_t *list;
	struct unic_cmd_mr_rereg good = { .mr = unic_to_le32(form_mb[0].mr),
					  .gen = unic_to_le32(form_mb[0].gen) },
				 c;
	uint16_t free = rb.nic.tlb.free;
	uint32_t pd2 = rig_pd(&rb, 0);
	struct unic_xlate p;
	struct rig_mr s;

	(void)state;
	list = (uint64_t *)(void *)(rb.port.bar + UNIC_BAR_LIST_OFF);
#define TRY(status)                                                 \
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), \
			 UNIC_ST_##status)
#define LIST(i) \
	list[rb.cmd_tail % UNIC_CMD_ENTRIES * (UNIC_LIST_BYTES / 8) + (i)]
	form_alloc_ok(UNIC_FORM_SUB, 0, &s);
	c = (struct unic_cmd_mr_rereg){ .mr = unic_to_le32(s.mr),
					.gen = unic_to_le32(s.gen),
					.what = UNIC_REREG_RIGHTS };
	TRY(STATE); /* nothing has been made of it */
	assert_int_equal(form_make_one(&s, &form_mb[1], 0, PAGE, RW, 1), 0);
	TRY(STATE); /* it has pages of another */
	assert_int_equal(rig_dereg(&rb, &s), 0);
	c = good;
	TRY(INVALID); /* no UNIC_REREG_* bit */
	c.what = UNIC_REREG_HINT << 1;
	TRY(INVALID);
	c = good;
	c.what = UNIC_REREG_RIGHTS;
	c.pd = unic_to_le32(pd2);
	TRY(INVALID); /* a PD without UNIC_REREG_PD */
	c = good;
	c.what = UNIC_REREG_RIGHTS;
	c.rights = UNIC_MR_REMOTE_WRITE;
	TRY(INVALID);
	c = good;
	c.what = UNIC_REREG_PD;
	c.pd = unic_to_le32(UNIC_PDS);
	TRY(NO_PD);
	c.gen = unic_to_le32(form_mb[0].gen + 1);
	TRY(NO_MR);
	c.gen = good.gen;
	c.pd = unic_to_le32(pd2);
	/* BUSY while the region is in use or has derived regions */
	unic_mr_hold(&rb.nic.memory, (uint16_t)form_mb[0].mr);
	TRY(BUSY);
	unic_mr_unhold(&rb.nic.memory, (uint16_t)form_mb[0].mr);
	form_alloc_ok(UNIC_FORM_SUB, 0, &s);
	assert_int_equal(form_make_one(&s, &form_mb[0], 0, 1, RW, 0), 0);
	TRY(BUSY);
	assert_int_equal(rig_dereg(&rb, &s), 0);
	assert_int_equal(form_access_b(&form_mb[0], RW, 0, 9, &p),
			 0); /* as it was */
	TRY(OK);
	assert_int_equal(form_access_b(&form_mb[0], RW, 0, 9, &p), -UNIC_EPD);
	c.pd = unic_to_le32(form_pb);
	TRY(OK);
	/* another range, longer */
	c = good;
	c.what = UNIC_REREG_RANGE;
	c.iova = unic_to_le64(0x40000);
	c.length = unic_to_le64(4 * PAGE);
	c.n_pages = unic_to_le32(4);
	LIST(0) = LIST(1) = LIST(2) = UNIC_BUS(0, 64 * PAGE);
	LIST(3) = UNIC_BUS(0, 65 * PAGE) + 8;
	TRY(BUS);
	c.n_pages = unic_to_le32(3);
	TRY(INVALID);
	assert_int_equal(form_access_b(&form_mb[0], RW, 0, 9, &p), 0);
	c.n_pages = unic_to_le32(4);
	LIST(0) = LIST(1) = LIST(2) = UNIC_BUS(0, 64 * PAGE);
	LIST(3) = UNIC_BUS(0, 65 * PAGE);
	TRY(OK);
	assert_int_equal(rb.nic.tlb.free, free - 1);
	assert_int_equal(form_access_b(&form_mb[0], RW, 0, 9, &p),
			 -UNIC_EBOUNDS);
	form_mb[0].iova = 0x40000;
	assert_int_equal(form_access_b(&form_mb[0], RW, 3 * PAGE + 1, 9, &p),
			 0);
	assert_int_equal((uint32_t)p.bus, 65 * PAGE + 1);
	/* a refused one leaves the region unchanged */
	c.length = unic_to_le64((uint64_t)UNIC_TLB_ENTRIES * PAGE);
	c.n_pages = unic_to_le32(UNIC_TLB_ENTRIES);
	memset(&LIST(0), 0, UNIC_TLB_ENTRIES * 8);
	TRY(TLB_FULL);
	assert_int_equal(form_access_b(&form_mb[0], RW, 3 * PAGE + 1, 9, &p),
			 0);
	assert_int_equal(rig_dereg(&rb, &form_mb[0]), 0);
	assert_int_equal(rb.nic.tlb.free, free + 3);
#undef TRY
#undef LIST
}

/* MR_MAKE refuses a wrong kind of list, and one of too many elements. */
static void wrong_lists_of_a_command(void **state)
{
	struct unic_cmd_mr_make c, good = { .n = unic_to_le32(1),
					    .repeat = unic_to_le32(1),
					    .rights = RW };
	struct rig_mr x;

	(void)state;
	form_alloc_ok(UNIC_FORM_INDIRECT, 2, &x);
	good.mr = unic_to_le32(x.mr);
	good.gen = unic_to_le32(x.gen);
	c = good;
	c.strided = 2;
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_MAKE, &c, NULL),
			 UNIC_ST_INVALID);
	c = good;
	c.n = unic_to_le32(UNIC_FORM_ELEMENTS + 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_MAKE, &c, NULL),
			 UNIC_ST_INVALID);
}

static void several_in_one_command(void **state)
{
	uint8_t *list = rb.port.bar + UNIC_BAR_LIST_OFF +
			rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	struct unic_cmd_batch c = { .count = unic_to_le32(4) };
	struct unic_cmd_mr_reg reg = {
		.hdr = { .opcode = UNIC_CMD_MR_REG },
		.pd = unic_to_le32(form_pb),
		.rights = RW,
		.page_shift = 12,
		.length = unic_to_le64(PAGE),
		.n_pages = unic_to_le32(1),
	};
	struct unic_cpl_mr_reg one;
	struct unic_cpl_batch cpl;

	(void)state;
	memcpy(list, &reg, 64);
	reg.flags = UNIC_REG_WAIT;
	memcpy(list + 64, &reg, 64);
	reg.flags = 0;
	reg.length = unic_to_le64((UNIC_TLB_ENTRIES + 1) * (uint64_t)PAGE);
	reg.n_pages = unic_to_le32(UNIC_TLB_ENTRIES + 1);
	memcpy(list + 128, &reg, 64);
	reg.hdr.opcode = UNIC_CMD_FAULT;
	memcpy(list + 192, &reg, 64);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_BATCH, &c, &cpl), 0);
	assert_int_equal(unic_from_le32(cpl.done), 1);
	memcpy(&one, list, 64);
	assert_int_equal(one.hdr.status, UNIC_ST_OK);
	assert_int_equal(rb.nic.mrs.mr[unic_from_le32(one.mr)].state,
			 UNIC_MR_LOADING);
	memcpy(&one, list + 64, 64);
	assert_int_equal(one.hdr.status, UNIC_ST_INVALID);
	memcpy(&one, list + 128, 64);
	assert_int_equal(one.hdr.status, UNIC_ST_TOO_LARGE);
	assert_int_equal(((struct unic_cpl_usage *)(void *)&one)->table,
			 UNIC_TABLE_TLB);
	memcpy(&one, list + 192, 64);
	assert_int_equal(one.hdr.status, UNIC_ST_BAD_OPCODE);
	c.count = unic_to_le32(UNIC_BATCH_MAX + 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_BATCH, &c, &cpl),
			 UNIC_ST_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sub_region_is_a_range),
		TEST(each_wrong_sub_region),
		TEST(allocations_that_cannot_be),
		TEST(deadline_of_many_forms_is_a_round),
		TEST(dependents_end_with_their_region),
		TEST(held_dependent_keeps_its_region),
		TEST(write_through_an_evicted_element_is_cut),
		TEST(fast_registration_is_asked_back),
		TEST(forms_cannot_be_asked_back),
		TEST(all_of_a_process_goes),
		TEST(elements_that_overlap),
		TEST(forms_of_a_region_are_named),
		TEST(forms_over_regions_that_go),
		TEST(importance_changes_at_any_time),
		TEST(reregister),
		TEST(wrong_lists_of_a_command),
		TEST(several_in_one_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
