/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_evict.c - who waits, who gives, and how a region ends: the module's own
 * promises. test_revoke.c has the conversation about one region.
 */
#include "rig.h"
#include "unit.h"
#include "memory/access.h"
#include "revoke/evict_answer.h"

#define T_NS	     20000000ull
#define RESIDENCE_NS 5000000ull
#define N	     UNIC_TLB_ENTRIES
#define ACTIVE(m)    (r.nic.mrs.mr[(m)->mr].state == UNIC_MR_ACTIVE)

static struct rig r;
static uint32_t pd[3];

static void params(uint32_t low, uint32_t high)
{
	struct unic_cmd_set_params p = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
		.low_entries = unic_to_le32(low),
		.high_entries = unic_to_le32(high),
	};

	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
}

static int setup(void **state)
{
	uint32_t i;

	(void)state;
	rig_up(&r, 1);
	params(0, 0);
	for (i = 0; i < 3; i++) {
		rig_attach(&r, i, 1);
		pd[i] = rig_pd(&r, i);
	}
	rig_run(&r, 10 * RESIDENCE_NS);
	return 0;
}

static uint8_t reg(uint32_t proc, uint32_t pages, struct rig_mr *mr)
{
	return rig_reg(&r, proc, pd[proc], pages, UNIC_CLASS_RDMA,
		       UNIC_REG_LIST, 0, mr);
}

static void reg_ok(uint32_t proc, uint32_t pages, struct rig_mr *mr)
{
	assert_int_equal(reg(proc, pages, mr), UNIC_ST_OK);
}

static uint32_t wait_for(uint32_t proc, uint32_t pages, uint32_t timeout_us)
{
	struct rig_mr mr;

	assert_int_equal(rig_reg(&r, proc, pd[proc], pages, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, timeout_us, &mr),
			 UNIC_ST_PENDING);
	return mr.wait;
}

static uint8_t cancel(uint32_t wait)
{
	struct unic_cmd_wait_cancel c = { .wait = unic_to_le32(wait) };

	return rig_cmd(&r, UNIC_CMD_WAIT_CANCEL, &c, NULL);
}

static void set_proc(uint32_t proc, uint32_t weight, uint32_t quota,
		     uint32_t policy)
{
	struct unic_cmd_proc_set c = { .proc = unic_to_le32(proc),
				       .weight = unic_to_le32(weight),
				       .quota = unic_to_le32(quota),
				       .policy = unic_to_le32(policy) };

	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_SET, &c, NULL), 0);
}

/* @n regions of @pages pages of one process. */
static void hoard(uint32_t proc, uint32_t n, uint32_t pages, struct rig_mr *mrs)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		reg_ok(proc, pages, &mrs[i]);
}

static void none(void)
{
	uint8_t rec[64];

	assert_false(rig_event(&r, rec));
}

static void granted(uint32_t wait)
{
	struct unic_evt_wait evt;

	rig_expect(&r, UNIC_EVT_GRANTED, &evt);
	assert_int_equal(unic_from_le32(evt.wait), wait);
}

/* Take all notices, acknowledge them; returns how many entries they name. */
static uint32_t noticed(uint32_t proc, uint8_t why)
{
	struct unic_evt_mr evt;
	uint32_t sum = 0;

	rig_poll(&r);
	while (rig_event(&r, &evt)) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_NOTICE);
		assert_int_equal(unic_from_le16(evt.hdr.proc), proc);
		assert_int_equal(evt.hdr.reason, why);
		assert_int_equal(rig_ack(&r, &evt), UNIC_ST_OK);
		sum += unic_from_le32(evt.entries);
	}
	return sum;
}

static void drop_events(uint8_t type)
{
	uint8_t rec[64];

	while (rig_event(&r, rec))
		assert_int_equal(rec[0], type);
}

/* ------------------------------------------------------------- waiting */

/* INV-7 */
static void granted_whole_or_not_at_all(void **state)
{
	struct rig_mr m[8];
	uint32_t w;

	(void)state;
	set_proc(0, 1, 0, UNIC_POLICY_LRU);
	hoard(0, 7, 8, m);
	reg_ok(0, 4, &m[7]);
	w = wait_for(1, 12, 0);
	assert_int_equal(noticed(0, UNIC_WHY_FAIR_SHARE), 8);
	assert_int_equal(r.nic.tlb.free, 4);
	assert_int_equal(r.nic.share.owner[1].held, 0);
	assert_int_equal(rig_dereg(&r, &m[7]), UNIC_ST_OK);
	none();
	assert_int_equal(r.nic.tlb.free, 8);
	rig_run(&r, T_NS);
	{
		struct unic_evt_mr evt;

		rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	}
	granted(w);
	assert_int_equal(r.nic.share.owner[1].held, 12);
	assert_int_equal(r.nic.tlb.reserved, 12);
}

static void fifo_inside_a_process(void **state)
{
	struct rig_mr big, small, m;
	uint32_t w[3];

	(void)state;
	set_proc(0, 2, 0, 0); /* half of the slots are for it */
	reg_ok(0, N - 8, &big);
	reg_ok(0, 6, &small);
	w[0] = wait_for(0, 4, 0);
	w[1] = wait_for(0, 1, 0);
	w[2] = wait_for(0, 2, 0);
	/* neither a later request nor a plain one passes the first */
	assert_int_equal(reg(0, 1, &m), UNIC_ST_TLB_FULL);
	drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&r, &small), UNIC_ST_OK);
	rig_poll(&r);
	granted(w[0]);
	granted(w[1]);
	granted(w[2]);
	none();
}

static void borrower_with_least_for_its_weight_is_first(void **state)
{
	struct rig_mr a, b, c, m;
	uint32_t w0, w1;

	(void)state;
	set_proc(1, 4, 0, 0);
	reg_ok(0, 6, &a);
	reg_ok(1, 40, &b); /* 10 for each unit of its weight */
	reg_ok(2, N - 46, &c);
	w0 = wait_for(0, 10, 0); /* would have 16, its share is 10 */
	w1 = wait_for(1, 12, 0); /* would have 13 a unit */
	drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&r, &c), UNIC_ST_OK);
	rig_poll(&r);
	granted(w1);
	none(); /* 6 are left, and the first in the order has them */
	assert_int_equal(reg(2, 6, &m), UNIC_ST_OK); /* but for the entitled */
	assert_int_equal(cancel(w0), UNIC_ST_OK);
}

static void entitled_come_first_and_oldest_first(void **state)
{
	struct rig_mr m[8];
	uint32_t greedy, w1, w2;

	(void)state;
	hoard(0, 8, N / 8, m);
	greedy = wait_for(0, N / 8, 0);
	w1 = wait_for(1, N / 8, 0);
	w2 = wait_for(2, N / 8, 0);
	rig_poll(&r);
	drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&r, &m[0]), UNIC_ST_OK);
	rig_poll(&r);
	granted(w1);
	none();
	assert_int_equal(rig_dereg(&r, &m[1]), UNIC_ST_OK);
	rig_poll(&r);
	granted(w2);
	none();
	assert_int_equal(rig_dereg(&r, &m[2]), UNIC_ST_OK);
	rig_poll(&r);
	granted(greedy);
}

/* What was freed for a waiter is not for passers-by. */
static void freed_entries_are_reserved(void **state)
{
	struct rig_mr m[8], x;
	uint32_t w;

	(void)state;
	hoard(0, 8, N / 8, m);
	w = wait_for(1, N / 8 + 1, 0);
	rig_poll(&r);
	drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&r, &m[0]), UNIC_ST_OK);
	assert_int_equal(r.nic.tlb.free, N / 8);
	assert_int_equal(reg(0, 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(reg(2, 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(rig_dereg(&r, &m[1]), UNIC_ST_OK);
	rig_poll(&r);
	granted(w);
	reg_ok(2, 1, &x);
}

/* A borrower's entries are safe, its wishes are not. */
static void borrower_reserves_only_what_was_freed_for_it(void **state)
{
	struct rig_mr m[8], x;
	struct unic_evt_mr evt;
	uint32_t w, i;

	(void)state;
	hoard(0, 7, 8, m);
	rig_run(&r, RESIDENCE_NS);
	w = wait_for(0, 24, 0); /* more than its share: from its own */
	rig_poll(&r);
	for (i = 0; rig_event(&r, &evt); i++) {
		assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
		assert_int_equal(evt.hdr.reason, UNIC_WHY_WAITER);
		m[7].mr = unic_from_le32(evt.mr);
		m[7].gen = unic_from_le32(evt.gen);
	}
	assert_int_equal(i, 2);
	/* 8 entries nobody freed for anybody */
	reg_ok(1, 8, &x);
	assert_int_equal(rig_dereg(&r, &m[7]), UNIC_ST_OK);
	assert_int_equal(r.nic.tlb.free, 8);
	assert_int_equal(reg(1, 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(cancel(w), UNIC_ST_OK);
	reg_ok(1, 1, &x);
}

/* ------------------------------------------------------------- denials */

/* S0: a newcomer that only asks must not starve beside one that has it all. */
static void denied_register_asks_the_hog(void **state)
{
	struct rig_mr hog[8], x;

	(void)state;
	hoard(0, 8, N / 8, hog);
	rig_run(&r, RESIDENCE_NS);
	assert_int_equal(reg(1, N / 8 + 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(noticed(0, UNIC_WHY_FAIR_SHARE), N / 4);
	rig_run(&r, T_NS); /* the hog is silent, and takes what it can */
	drop_events(UNIC_EVT_EVICTED);
	assert_int_equal(r.nic.tlb.free, N / 4);
	assert_int_equal(reg(0, N / 8, &x), UNIC_ST_TLB_FULL);
	reg_ok(0, N / 8 - 1, &x); /* what is left over is not kept */
	reg_ok(1, N / 8 + 1, &x);
	assert_int_equal(r.nic.admission.denials.of[1].n, 0);
	assert_false(unic_bitset_any(&r.nic.promises.waiters));
	assert_int_equal(r.nic.share.owner[1].wanted, 0);
}

/* B for its entries to come, T to come for them, and no longer. */
static void denied_is_forgotten(void **state)
{
	const uint64_t keep = 50000000 + 2 * T_NS + 1000000 + 1000000;
	struct rig_mr hog, x;

	(void)state;
	reg_ok(0, N, &hog);
	assert_int_equal(reg(1, 8, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(noticed(0, UNIC_WHY_FAIR_SHARE), N);
	assert_int_equal(rig_dereg(&r, &hog), UNIC_ST_OK);
	rig_run(&r, keep - 1000);
	assert_int_equal(reg(2, N - 7, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(reg(2, N - 8, &x), UNIC_ST_OK);
	rig_dereg(&r, &x);
	assert_int_equal(r.nic.admission.denials.of[1].n, 8);
	rig_run(&r, 1000);
	assert_int_equal(r.nic.admission.denials.of[1].n, 0);
	reg_ok(0, N, &hog);
	assert_int_equal(r.nic.admission.denials.count, 0);
	assert_false(unic_bitset_any(&r.nic.promises.waiters));
	assert_int_equal(unic_share_fair(&r.nic.share, 0), N);
}

/* Each at its own time, though nothing else happens then. */
static void denied_are_forgotten_one_by_one(void **state)
{
	const uint64_t keep = 50000000 + 2 * T_NS + 1000000 + 1000000;
	struct rig_mr hog, x;

	(void)state;
	reg_ok(0, N, &hog);
	assert_int_equal(reg(1, 8, &x), UNIC_ST_TLB_FULL);
	rig_run(&r, 10000000);
	assert_int_equal(reg(2, 8, &x), UNIC_ST_TLB_FULL);
	drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&r, &hog), UNIC_ST_OK);
	rig_run(&r, keep - 10000000);
	assert_int_equal(r.nic.admission.denials.of[1].n, 0);
	rig_run(&r, 10000000 - 1000);
	assert_int_equal(r.nic.admission.denials.of[2].n, 8);
	rig_run(&r, 1000);
	assert_int_equal(r.nic.admission.denials.count, 0);
	assert_false(unic_bitset_any(&r.nic.promises.waiters));
}

/* Neither it nor who waits takes from the other. */
static void denied_beside_a_waiter(void **state)
{
	struct rig_mr hog[8], x;
	uint32_t w;

	(void)state;
	hoard(0, 8, N / 8, hog);
	assert_int_equal(reg(1, N / 8, &x), UNIC_ST_TLB_FULL);
	w = wait_for(2, N / 8, 0);
	rig_poll(&r);
	drop_events(UNIC_EVT_NOTICE);
	rig_run(&r, T_NS / 2);
	assert_int_equal(reg(1, N / 8, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(rig_dereg(&r, &hog[0]), UNIC_ST_OK);
	rig_poll(&r);
	none(); /* kept for the one that came first */
	assert_int_equal(rig_dereg(&r, &hog[1]), UNIC_ST_OK);
	rig_poll(&r);
	granted(w);
	reg_ok(1, N / 8, &x);
}

/* More than its share is nobody's due, and waiting takes the place of it. */
static void denied_beyond_the_share_reserves_nothing(void **state)
{
	struct rig_mr hog, part, x;
	uint32_t w;

	(void)state;
	reg_ok(0, N / 4, &hog);
	reg_ok(0, 3 * N / 4, &part);
	assert_int_equal(reg(1, N / 2 + 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(r.nic.admission.denials.count, 0);
	none();
	assert_int_equal(rig_dereg(&r, &hog), UNIC_ST_OK);
	reg_ok(0, N / 4, &hog);
	assert_int_equal(reg(1, 1, &x), UNIC_ST_TLB_FULL);
	w = wait_for(1, 2, 0);
	assert_int_equal(r.nic.admission.denials.count, 0);
	assert_int_equal(r.nic.share.owner[1].wanted, 2);
	assert_int_equal(reg(1, 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(r.nic.admission.denials.count, 0);
	assert_int_equal(cancel(w), UNIC_ST_OK);
	assert_false(unic_bitset_any(&r.nic.promises.waiters));
}

/* Nothing is left of it when its process goes. */
static void denied_goes_with_its_process(void **state)
{
	struct unic_cmd_proc_detach c = { .proc = unic_to_le32(1) };
	struct rig_mr hog, x;

	(void)state;
	reg_ok(0, N, &hog);
	assert_int_equal(reg(1, 8, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(r.nic.admission.denials.count, 1);
	rig_cmd(&r, UNIC_CMD_PROC_DETACH, &c, NULL);
	rig_poll(&r);
	assert_int_equal(r.nic.admission.denials.count, 0);
	assert_false(unic_bitset_any(&r.nic.promises.waiters));
}

static void never_fitting_requests_fail_at_once(void **state)
{
	struct rig_mr m;

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd[0], N + 1, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_TOO_LARGE);
	set_proc(0, 1, 10, 0);
	assert_int_equal(rig_reg(&r, 0, pd[0], 11, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_TOO_LARGE);
	assert_int_equal(reg(0, 11, &m), UNIC_ST_TOO_LARGE);
	assert_int_equal(r.nic.admission.waiting, 0);
}

static void quota_recalls_from_its_own_process(void **state)
{
	struct rig_mr m[2], other, x;
	uint32_t w;

	(void)state;
	set_proc(0, 1, 16, 0);
	hoard(0, 2, 8, m);
	reg_ok(1, 8, &other);
	rig_run(&r, RESIDENCE_NS);
	assert_int_equal(reg(0, 1, &x), UNIC_ST_QUOTA);
	w = wait_for(0, 8, 0);
	assert_int_equal(noticed(0, UNIC_WHY_QUOTA), 8);
	/* it does not hold up others meanwhile */
	reg_ok(1, N - 24, &x);
	rig_run(&r, T_NS);
	{
		struct unic_evt_mr evt;

		rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	}
	granted(w);
	assert_int_equal(r.nic.share.owner[0].held, 16);
}

static void control_class_is_capped(void **state)
{
	struct rig_mr m, big;

	(void)state;
	reg_ok(1, 1, &m);
	/* the share is 32: a quarter is 8, but 16 are everybody's */
	assert_int_equal(rig_reg(&r, 0, pd[0], 17, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &big),
			 UNIC_ST_CTRL_CAP);
	assert_int_equal(rig_reg(&r, 0, pd[0], 16, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &big),
			 UNIC_ST_OK);
	assert_int_equal(rig_reg(&r, 0, pd[0], 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_CTRL_CAP);
	assert_int_equal(r.nic.mrs.control[0].entries, 16);
	assert_int_equal(rig_dereg(&r, &big), UNIC_ST_OK);
	assert_int_equal(r.nic.mrs.control[0].entries, 0);
}

static uint32_t control_regions(uint32_t proc, struct rig_mr *m)
{
	struct rig_mr next;
	uint32_t n;

	for (n = 0; !rig_reg(&r, proc, pd[proc], 1, UNIC_CLASS_CONTROL,
			     UNIC_REG_LIST, 0, &next);
	     n++)
		*m = next;
	return n;
}

/* They are never victims: whoever is alone at first must leave indices. */
static void control_class_leaves_indices(void **state)
{
	uint32_t i, n, left = UNIC_MRS;
	struct rig_mr m;

	(void)state;
	for (i = 0; i < UNIC_PROCS; i++) {
		n = control_regions(i, &m);
		assert_in_range(n, UNIC_MRS / UNIC_PROCS / 2, UNIC_MRS / 4);
		assert_int_equal(r.nic.mrs.control[i].mrs, n);
		left -= n;
	}
	assert_true(left >= UNIC_MRS / 4);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_OK);
	assert_int_equal(control_regions(UNIC_PROCS - 1, &m), 1);
	reg_ok(0, 1, &m);
}

static void time_out_to_the_nanosecond(void **state)
{
	struct unic_evt_wait evt;
	struct rig_mr m;
	uint32_t w;

	(void)state;
	set_proc(0, 1, 8, 0);
	reg_ok(0, 8, &m);
	w = wait_for(0, 8, 1000);
	drop_events(UNIC_EVT_NOTICE);
	rig_run(&r, 1000000 - 1);
	unic_evict_kick(&r.nic.revoke); /* whatever wakes it */
	rig_poll(&r);
	none();
	rig_run(&r, 1);
	rig_expect(&r, UNIC_EVT_WAIT_ENDED, &evt);
	assert_int_equal(unic_from_le32(evt.wait), w);
	assert_int_equal(unic_from_le32(evt.status), UNIC_ST_TIMEOUT);
	assert_int_equal(unic_from_le32(evt.waited_us), 1000);
	assert_int_equal(cancel(w), UNIC_ST_NO_WAIT);
	assert_int_equal(r.nic.share.owner[0].wanted, 0);
}

static void cancelled_is_never_granted(void **state)
{
	struct rig_mr m, x;
	uint32_t w, v;

	(void)state;
	reg_ok(0, N, &m);
	w = wait_for(0, 8, 0);
	v = wait_for(0, 4, 0);
	drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(cancel(w), UNIC_ST_OK);
	assert_int_equal(cancel(w), UNIC_ST_NO_WAIT);
	assert_int_equal(cancel(0), UNIC_ST_NO_WAIT);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_OK);
	rig_poll(&r);
	granted(v);
	none();
	reg_ok(1, N - 4, &x);
}

/* INV-8: nobody takes the slots of the others. */
static void slots_are_shared_by_weight(void **state)
{
	struct rig_mr m;
	uint32_t i;

	(void)state;
	reg_ok(0, N, &m);
	set_proc(1, 2, 0, 0);
	for (i = 0; i < UNIC_WAITS / 2; i++)
		wait_for(1, 1, 0);
	assert_int_equal(rig_reg(&r, 1, pd[1], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_WAIT_FULL);
	for (i = 0; i < UNIC_WAITS / 4; i++)
		wait_for(2, 1, 0);
	assert_int_equal(rig_reg(&r, 2, pd[2], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_WAIT_FULL);
}

/* However light a process is. */
static void a_slot_is_left_for_everybody(void **state)
{
	struct rig_mr m;
	uint32_t n = 0;

	(void)state;
	reg_ok(0, N, &m);
	set_proc(0, 65535, 0, 0);
	while (rig_reg(&r, 0, pd[0], 1, UNIC_CLASS_RDMA, UNIC_REG_WAIT, 0,
		       &m) == UNIC_ST_PENDING)
		n++;
	assert_int_equal(n, UNIC_WAITS - 2);
	wait_for(1, 1, 0);
	wait_for(2, 1, 0);
}

/* ------------------------------------------------------------- choosing */

/* INV-5: recalled down to the share, and no further. */
static void borrowed_entries_are_recalled_to_the_share(void **state)
{
	struct rig_mr m[16], x;
	uint32_t i;

	(void)state;
	hoard(0, 16, N / 16, m);
	for (i = 0; i < 2; i++)
		wait_for(1, N / 4, 0);
	assert_int_equal(noticed(0, UNIC_WHY_FAIR_SHARE), N / 2);
	assert_int_equal(rig_reg(&r, 1, pd[1], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &x),
			 UNIC_ST_TLB_FULL);
	rig_run(&r, T_NS);
	assert_int_equal(r.nic.share.owner[0].held, N / 2);
	assert_int_equal(r.nic.share.owner[1].held, N / 2);
}

static void two_waiters_one_hoarder(void **state)
{
	struct rig_mr m[16];
	uint8_t rec[64];
	uint32_t grants = 0;

	(void)state;
	hoard(0, 16, N / 16, m);
	wait_for(1, 20, 0);
	wait_for(2, 20, 0);
	assert_int_equal(noticed(0, UNIC_WHY_FAIR_SHARE), 40);
	rig_run(&r, T_NS);
	while (rig_event(&r, rec))
		grants += rec[0] == UNIC_EVT_GRANTED;
	assert_int_equal(grants, 2);
}

static void lru_gives_the_longest_unused(void **state)
{
	struct unic_piece p;
	struct unic_evt_mr evt;
	struct rig_mr m[4];
	uint32_t i;

	(void)state;
	set_proc(0, 1, 0, UNIC_POLICY_LRU);
	hoard(0, 4, N / 4, m);
	for (i = 0; i < 4; i++) {
		r.port.now_ns += 1000;
		rig_poll(&r);
		/* in the order 1 3 0 2 */
		assert_int_equal(
			unic_access(&r.nic.memory, m[(i * 2 + 1) % 5 % 4].stag,
				    (uint16_t)pd[0], 0,
				    m[(i * 2 + 1) % 5 % 4].iova, 1, &p),
			0);
	}
	wait_for(1, 1, 0);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m[1].mr);
}

/* More regions than are looked at: a ring of buffers, used in order. */
static void lru_holds_for_many_regions(void **state)
{
	struct unic_evt_mr evt;
	struct unic_piece p;
	struct rig_mr m[16];
	uint32_t i, k;

	(void)state;
	set_proc(0, 1, 0, UNIC_POLICY_LRU);
	hoard(0, 16, N / 16, m);
	for (i = 0; i < 40; i++) {
		r.nic.now_ns += 1000;
		k = i % 16;
		assert_int_equal(unic_access(&r.nic.memory, m[k].stag,
					     (uint16_t)pd[0], 0, m[k].iova, 1,
					     &p),
				 0);
	}
	/* 24 to 39 were the last uses: of regions 8 to 15, then 0 to 7 */
	for (i = 0; i < 8; i++) {
		if (i % 4 == 0)
			wait_for(1, N / 4, 0);
		rig_expect(&r, UNIC_EVT_NOTICE, &evt);
		for (k = 0; m[k].mr != unic_from_le32(evt.mr); k++)
			;
		assert_in_range(k, 8, 15);
	}
}

static void random_policy_spreads(void **state)
{
	uint32_t hit = 0, round;
	struct unic_evt_mr evt;
	struct rig_mr m[4], back;
	uint32_t w, i;

	(void)state;
	set_proc(0, 1, 0, UNIC_POLICY_RANDOM);
	hoard(0, 4, N / 4, m);
	for (round = 0; round < 40; round++) {
		w = wait_for(1, 1, 0);
		rig_expect(&r, UNIC_EVT_NOTICE, &evt);
		for (i = 0; i < 4; i++)
			if (m[i].mr == unic_from_le32(evt.mr)) {
				hit |= 1u << i;
				assert_int_equal(cancel(w), UNIC_ST_OK);
				assert_int_equal(rig_dereg(&r, &m[i]),
						 UNIC_ST_OK);
				reg_ok(0, N / 4, &back);
				m[i] = back;
			}
	}
	assert_int_equal(hit, 15);
}

static void young_regions_are_spared_for_borrowers_only(void **state)
{
	struct rig_mr m[2];
	uint32_t w;

	(void)state;
	hoard(0, 2, N / 2, m);
	w = wait_for(0, 1, 0); /* a borrower, from itself */
	rig_run(&r, RESIDENCE_NS - 1);
	none();
	rig_run(&r, 1000000);
	assert_int_equal(noticed(0, UNIC_WHY_WAITER), N / 2);
	assert_int_equal(cancel(w), UNIC_ST_OK);

	setup(state);
	hoard(0, 2, N / 2, m);
	wait_for(1, 1, 0); /* within its share: at once */
	assert_int_equal(noticed(0, UNIC_WHY_FAIR_SHARE), N / 2);
}

static void borrowers_do_not_thrash(void **state)
{
	struct rig_mr a[8], b[2], c;
	struct unic_evt_mr evt;

	(void)state;
	hoard(0, 8, 5, a); /* shares are 21: these two are above */
	hoard(1, 2, 11, b);
	reg_ok(2, 2, &c);
	rig_run(&r, RESIDENCE_NS);
	wait_for(1, 5, 0);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
	assert_int_equal(
		rig_answer(&r, &evt, UNIC_ANSWER_RELEASE, NULL, 0, NULL), 0);
	rig_poll(&r);
	drop_events(UNIC_EVT_GRANTED);
	/* the larger borrower was asked just now: this one's own */
	wait_for(1, 5, 0);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 1);
	assert_int_equal(
		rig_answer(&r, &evt, UNIC_ANSWER_RELEASE, NULL, 0, NULL), 0);
	rig_run(&r, RESIDENCE_NS);
	drop_events(UNIC_EVT_GRANTED);
	wait_for(1, 12, 0); /* and now it may be asked again */
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
}

/* Alone: all of the table is its fair share. */
static void reaper_spares_who_is_alone(void **state)
{
	struct rig_mr m[16];

	(void)state;
	hoard(0, 16, N / 16, m);
	rig_run(&r, RESIDENCE_NS);
	params(8, 16);
	rig_run(&r, 10 * RESIDENCE_NS);
	none();
	assert_int_equal(r.nic.tlb.free, 0);
}

/* What a silent borrower has under notice counts as gone, so the shares are
 * equal and the meek one is not asked in its place. */
static void reaper_spares_who_is_at_his_share(void **state)
{
	struct rig_mr m[16], meek[4];

	(void)state;
	hoard(0, 12, 4, m);
	hoard(1, 4, 4, meek);
	rig_run(&r, RESIDENCE_NS);
	params(48, 48);
	assert_int_equal(noticed(0, UNIC_WHY_REAPER), 16);
	rig_run(&r, RESIDENCE_NS);
	none();
}

static void reaper_keeps_entries_free(void **state)
{
	struct rig_mr m[16], other;

	(void)state;
	hoard(0, 13, 4, m);
	reg_ok(1, 4, &other); /* so the share of 0 is a half */
	rig_run(&r, RESIDENCE_NS);
	params(8, 16);
	assert_int_equal(noticed(0, UNIC_WHY_REAPER), 0); /* 8 are free */
	reg_ok(0, 2, &m[13]);
	assert_int_equal(noticed(0, UNIC_WHY_REAPER), 12); /* 6 -> 16 or more */
	rig_run(&r, T_NS);
	drop_events(UNIC_EVT_EVICTED);
	assert_int_equal(r.nic.tlb.free, 18);
	rig_run(&r, T_NS);
	none();
}

static void ranks_follow_the_order_of_want(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m[8];
	uint32_t i;

	(void)state;
	hoard(0, 8, N / 8, m);
	wait_for(1, N / 2, 0);
	for (i = 0; i < 4; i++) {
		rig_expect(&r, UNIC_EVT_NOTICE, &evt);
		assert_int_equal(unic_from_le32(evt.rank), i);
	}
}

/* ------------------------------------------------------------- ending */

static void admin(const struct rig_mr *m)
{
	struct unic_cmd_mr c = { .mr = unic_to_le32(m->mr),
				 .gen = unic_to_le32(m->gen) };

	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_EVICT, &c, NULL), 0);
}

static void evict_now(const struct rig_mr *m, uint32_t flags)
{
	struct unic_evt_mr evt;

	admin(m);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&r, &evt), 0);
	rig_run(&r, T_NS);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m->mr);
	assert_int_equal(unic_from_le32(evt.flags), flags);
}

static int look(const struct rig_mr *m)
{
	struct unic_piece p;

	return unic_access(&r.nic.memory, m->stag, (uint16_t)pd[0], 0, m->iova,
			   1, &p);
}

static void tombstone_answers_evicted(void **state)
{
	struct rig_mr m[UNIC_MRS], x;
	uint32_t i;

	(void)state;
	hoard(0, 3, 1, m);
	for (i = 0; i < 2; i++)
		evict_now(&m[i],
			  UNIC_EVICTED_DEADLINE | UNIC_EVICTED_TOMBSTONE);
	assert_int_equal(look(&m[0]), -UNIC_EEVICTED);
	m[0].stag ^= 1; /* only the whole STag */
	assert_int_equal(look(&m[0]), -UNIC_ESTAG);
	m[0].stag ^= 1;
	/* oldest first, and only when no index is free */
	hoard(0, UNIC_MRS - 3, 1, m + 3);
	assert_int_equal(look(&m[0]), -UNIC_EEVICTED);
	reg_ok(0, 1, &x);
	assert_int_equal(look(&m[0]), -UNIC_ESTAG);
	assert_int_equal(look(&m[1]), -UNIC_EEVICTED);
	assert_int_equal(rig_dereg(&r, &m[1]), UNIC_ST_OK);
	assert_int_equal(look(&m[1]), -UNIC_ESTAG);
	assert_int_equal(rig_dereg(&r, &m[1]), UNIC_ST_NO_MR);
	reg_ok(0, 1, &x);
	assert_int_equal(reg(0, 1, &x), UNIC_ST_MR_FULL);
}

/* INV-3, INV-4: entries come free after the last reference, and only then. */
static void busy_region_is_drained(void **state)
{
	struct unic_evt_mr evt;
	struct unic_piece p;
	struct rig_mr m;
	uint16_t i;

	(void)state;
	reg_ok(0, 4, &m);
	i = (uint16_t)m.mr;
	unic_mr_dma_get(&r.nic.memory, i);
	unic_mr_hold(&r.nic.memory, i);
	admin(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&r, &evt), 0);
	assert_int_equal(look(&m), 0);
	rig_run(&r, T_NS - 1);
	unic_evict_kick(&r.nic.revoke);
	rig_poll(&r);
	assert_int_equal(look(&m), 0);
	rig_run(&r, 1);
	assert_int_equal(r.nic.mrs.mr[i].state, UNIC_MR_DRAINING);
	assert_int_equal(look(&m), -UNIC_EEVICTED);
	/* who holds it can still translate */
	assert_int_equal(unic_xlate(&r.nic.memory, i, m.iova, 1, &p), 0);
	none();
	unic_mr_unhold(&r.nic.memory, i);
	none();
	assert_int_equal(r.nic.tlb.free, N - 4);
	unic_mr_dma_put(&r.nic.memory, i);
	rig_poll(&r);
	assert_int_equal(r.nic.tlb.free, N);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags),
			 UNIC_EVICTED_WAS_BUSY | UNIC_EVICTED_DEADLINE |
				 UNIC_EVICTED_TOMBSTONE);
	assert_int_equal(unic_xlate(&r.nic.memory, i, m.iova, 1, &p),
			 -UNIC_EEVICTED);
	rig_run(&r, T_NS);
	none();
	assert_int_equal(rig_count(&r, evicted_busy), 1);
}

static void dereg_of_a_held_region_is_pending(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	reg_ok(0, 4, &m);
	unic_mr_hold(&r.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_PENDING);
	assert_int_equal(look(&m), -UNIC_ESTAG);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_NO_MR);
	rig_run(&r, T_NS / 2);
	none();
	unic_mr_unhold(&r.nic.memory, (uint16_t)m.mr);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_DEREG);
	assert_int_equal(unic_from_le32(evt.flags), 0);
	assert_int_equal(r.nic.mrs.free, UNIC_MRS);
	assert_int_equal(rig_count(&r, evicted_regions), 0);
	/* one that outlives T is cut */
	reg_ok(0, 4, &m);
	unic_mr_hold(&r.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_PENDING);
	rig_run(&r, T_NS);
	unic_mr_unhold(&r.nic.memory, (uint16_t)m.mr);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags), UNIC_EVICTED_WAS_BUSY);
}

/* A command finds nothing half done: the entries of a region that was let go of in the
 * same round are free. */
static void next_command_finds_the_entries(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, all;

	(void)state;
	reg_ok(0, 4, &m);
	unic_mr_hold(&r.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_PENDING);
	assert_int_equal(reg(0, N, &all), UNIC_ST_TLB_FULL);
	unic_mr_unhold(&r.nic.memory, (uint16_t)m.mr);
	reg_ok(0, N, &all);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
}

/* What is let go of before its deadline is handled was not busy at it. */
static void idle_at_its_deadline_is_not_cut(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	reg_ok(0, 4, &m);
	unic_mr_hold(&r.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_PENDING);
	rig_run(&r, T_NS - 1);
	none();
	unic_mr_unhold(&r.nic.memory, (uint16_t)m.mr);
	r.port.now_ns++;
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags), 0);
}

/* In the round in which its driver has failed a NIC says nothing else: not even that
 * a wait is over at this very instant. */
static void failing_says_nothing_else(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr asked;

	(void)state;
	reg_ok(0, N, &asked);
	admin(&asked);
	wait_for(1, 4, 50000);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	rig_run(&r, 50000000);
	assert_int_equal(r.nic.state, UNIC_NIC_FAILED);
	none();
}

/* However often it is said that nothing uses a region, it ends once, and so do those
 * that were named in between. */
static void idle_is_noted_once(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m[2];
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		reg_ok(0, 4, &m[i]);
		unic_mr_hold(&r.nic.memory, (uint16_t)m[i].mr);
		assert_int_equal(rig_dereg(&r, &m[i]), UNIC_ST_PENDING);
	}
	for (i = 0; i < 2; i++)
		unic_mr_unhold(&r.nic.memory, (uint16_t)m[i].mr);
	unic_idle_note(&r.nic.memory, (uint16_t)m[0].mr);
	rig_poll(&r);
	for (i = 0; i < 2; i++) {
		rig_expect(&r, UNIC_EVT_EVICTED, &evt);
		assert_int_equal(unic_from_le32(evt.mr), m[i].mr);
	}
	none();
	assert_int_equal(r.nic.tlb.free, N);
}

/* Nothing that was noted of regions is of their indices after a reset. */
static void reset_forgets_what_was_noted(void **state)
{
	uint16_t i;
	struct rig_mr m;

	(void)state;
	reg_ok(0, 4, &m);
	i = (uint16_t)m.mr;
	unic_mr_hold(&r.nic.memory, i);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_PENDING);
	unic_mr_unhold(&r.nic.memory, i);
	rig_reset(&r);
	none();
	assert_int_equal(r.nic.idle.next[i], 0);
	assert_int_equal(r.nic.mrs.free, UNIC_MRS);
	assert_int_equal(r.nic.tlb.free, N);
}

/* A NIC whose driver has failed still says what has ended. */
static void region_ends_on_a_failed_nic(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, asked;

	(void)state;
	reg_ok(0, 4, &m);
	reg_ok(0, 4, &asked);
	unic_mr_dma_get(&r.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_PENDING);
	admin(&asked);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	rig_run(&r, 50000000);
	assert_int_equal(r.nic.state, UNIC_NIC_FAILED);
	none();
	unic_mr_dma_put(&r.nic.memory, (uint16_t)m.mr);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m.mr);
}

/* A release leaves what is left of the grace, not a new T. */
static void release_keeps_the_deadline(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	reg_ok(0, 4, &m);
	unic_mr_hold(&r.nic.memory, (uint16_t)m.mr);
	admin(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&r, &evt), 0);
	rig_run(&r, T_NS / 2);
	assert_int_equal(rig_answer(&r, &evt, UNIC_ANSWER_RELEASE, NULL, 0,
				    NULL),
			 UNIC_ST_PENDING);
	assert_int_equal(look(&m), -UNIC_EEVICTED);
	rig_run(&r, T_NS / 2 - 1);
	assert_int_equal(r.nic.mrs.mr[m.mr].evt_flags, 0);
	rig_run(&r, 1);
	assert_int_equal(r.nic.mrs.mr[m.mr].evt_flags, UNIC_EVICTED_WAS_BUSY);
	unic_mr_unhold(&r.nic.memory, (uint16_t)m.mr);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_ADMIN);
}

static void messaging_goes_without_notice(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd[0], 4, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &m),
			 0);
	admin(&m);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.seq), 0);
	assert_int_equal(look(&m), -UNIC_EEVICTED);
	assert_int_equal(rig_count(&r, msg_evicted), 1);
	assert_int_equal(rig_count(&r, notices), 0);
	/* a receive that is being filled has until T */
	assert_int_equal(rig_reg(&r, 0, pd[0], 4, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &m),
			 0);
	unic_mr_hold(&r.nic.memory, (uint16_t)m.mr);
	admin(&m);
	assert_int_equal(look(&m), -UNIC_EEVICTED);
	rig_run(&r, T_NS - 1);
	assert_int_equal(r.nic.mrs.mr[m.mr].evt_flags, 0);
	none();
	rig_run(&r, 1);
	assert_int_equal(r.nic.mrs.mr[m.mr].evt_flags, UNIC_EVICTED_WAS_BUSY);
	unic_mr_unhold(&r.nic.memory, (uint16_t)m.mr);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags),
			 UNIC_EVICTED_WAS_BUSY | UNIC_EVICTED_TOMBSTONE);
}

static void wrong_subjects_are_refused(void **state)
{
	struct rig_mr m, loading;
	uint64_t deadline;

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd[0], 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &m),
			 0);
	assert_int_equal(
		rig_reg(&r, 0, pd[0], 1, UNIC_CLASS_RDMA, 0, 0, &loading), 0);
	assert_int_equal(unic_evict_admin(&r.nic.revoke, m.mr, m.gen),
			 -UNIC_EINVAL);
	assert_int_equal(unic_evict_admin(&r.nic.revoke, m.mr, m.gen + 1),
			 -UNIC_ENOMR);
	assert_int_equal(unic_evict_admin(&r.nic.revoke, loading.mr,
					  loading.gen),
			 -UNIC_ESTATE);
	assert_int_equal(unic_evict_ack(&r.nic.revoke, m.mr, m.gen, 1,
					&deadline),
			 -UNIC_ESTATE);
}

static void each_refusal_of_an_offer(void **state)
{
	struct rig_mr m, small, other, control, loading;
	struct unic_evt_mr evt;
	uint32_t why;

	(void)state;
	reg_ok(0, 4, &m);
	reg_ok(0, 3, &small);
	reg_ok(1, 4, &other);
	rig_reg(&r, 0, pd[0], 4, UNIC_CLASS_CONTROL, UNIC_REG_LIST, 0,
		&control);
	rig_reg(&r, 0, pd[0], 4, UNIC_CLASS_RDMA, 0, 0, &loading);
	admin(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
#define REFUSED(region, reason)                                          \
	do {                                                             \
		why = 0;                                                 \
		assert_int_equal(rig_answer(&r, &evt, UNIC_ANSWER_OFFER, \
					    &(region), 0, &why),         \
				 UNIC_ST_REFUSED);                       \
		assert_int_equal(why, reason);                           \
		assert_true(ACTIVE(&small));                             \
	} while (0)
	REFUSED(small, UNIC_REFUSED_SMALLER);
	REFUSED(other, UNIC_REFUSED_NOT_YOURS);
	REFUSED(loading, UNIC_REFUSED_NOT_ACTIVE);
	REFUSED(m, UNIC_REFUSED_SAME);
	REFUSED(control, UNIC_REFUSED_CLASS);
	small.gen++;
	REFUSED(small, UNIC_REFUSED_NOT_ACTIVE);
#undef REFUSED
	assert_int_equal(rig_count(&r, offers_refused), 6);
}

static void offered_region_can_be_asked_for_again(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, other;

	(void)state;
	reg_ok(0, 4, &m);
	reg_ok(0, 6, &other);
	admin(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(
		rig_answer(&r, &evt, UNIC_ANSWER_OFFER, &other, 0, NULL), 0);
	assert_true(ACTIVE(&m));
	assert_int_equal(r.nic.share.coming, 6);
	admin(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&r, &evt), 0);
	rig_run(&r, T_NS);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	none();
	assert_int_equal(r.nic.share.coming, 0);
	assert_int_equal(r.nic.evict.open[0], 0);
	assert_int_equal(r.nic.tlb.free, N);
}

/* And the one it stood in for is there for the next who needs its entries. */
static void spared_region_is_next(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, other, all;

	(void)state;
	reg_ok(0, N / 2, &m);
	reg_ok(0, N / 2, &other);
	admin(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&r, &evt), 0);
	assert_int_equal(
		rig_answer(&r, &evt, UNIC_ANSWER_OFFER, &other, 0, NULL), 0);
	rig_run(&r, 2 * T_NS);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), other.mr);
	reg_ok(1, N / 2, &all);
	set_proc(1, 7, 0, UNIC_POLICY_LRU);
	rig_run(&r, 10 * RESIDENCE_NS);
	wait_for(1, N / 4, 0);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m.mr);
}

/* Also of a notice that was sent before the waiter came. */
static void nobody_extends_while_the_entitled_wait(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m[8];
	uint32_t why, w;

	(void)state;
	hoard(0, 8, N / 8, m);
	admin(&m[0]);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&r, &evt), 0);
	w = wait_for(1, N / 8, 0);
	none(); /* it is on its way already */
	assert_int_equal(rig_answer(&r, &evt, UNIC_ANSWER_EXTEND, NULL, 1000,
				    &why),
			 UNIC_ST_REFUSED);
	assert_int_equal(why, UNIC_REFUSED_WAITER);
	assert_int_equal(cancel(w), UNIC_ST_OK);
	assert_int_equal(rig_answer(&r, &evt, UNIC_ANSWER_EXTEND, NULL, 1000,
				    &why),
			 UNIC_ST_OK);
}

static void extend(const struct unic_evt_mr *evt, uint32_t us)
{
	assert_int_equal(
		rig_answer(&r, evt, UNIC_ANSWER_EXTEND, NULL, us, NULL), 0);
}

/* It is no supply until then, but it does go: its owner is not brought below
 * his share for a watermark, nor for one who borrows (INV-5). */
static void extended_is_as_good_as_gone(void **state)
{
	struct unic_evt_mr evt, second;
	struct rig_mr m[3], other;

	(void)state;
	hoard(0, 3, N / 4, m);
	reg_ok(1, N / 4, &other);
	rig_run(&r, RESIDENCE_NS);
	params(2, 4);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_REAPER);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
	assert_int_equal(rig_ack(&r, &evt), 0);
	extend(&evt, 10000);
	assert_int_equal(r.nic.evict.put_off.all, N / 4);
	rig_run(&r, T_NS);
	none();
	wait_for(1, N / 4 + 1, 0);
	rig_expect(&r, UNIC_EVT_NOTICE, &second);
	assert_int_equal(unic_from_le16(second.hdr.proc), 1);
	none();
	wait_for(2, N / 8, 0); /* narrows the shares */
	rig_expect(&r, UNIC_EVT_NOTICE, &second);
	assert_int_equal(unic_from_le16(second.hdr.proc), 0);
}

/* The offered region has the extended grace, and is counted so. */
static void offer_after_extend(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, other;

	(void)state;
	reg_ok(0, 4, &m);
	reg_ok(0, 6, &other);
	admin(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	extend(&evt, 1000);
	assert_int_equal(r.nic.evict.put_off.of[0], 4);
	extend(&evt, 1000);
	assert_int_equal(r.nic.evict.put_off.of[0], 4);
	assert_int_equal(
		rig_answer(&r, &evt, UNIC_ANSWER_OFFER, &other, 0, NULL), 0);
	assert_int_equal(r.nic.evict.put_off.of[0], 6);
	assert_int_equal(r.nic.share.coming, 0);
	assert_int_equal(rig_dereg(&r, &other), UNIC_ST_OK);
	assert_int_equal(r.nic.evict.put_off.all, 0);
	assert_int_equal(r.nic.share.coming, 0);
	assert_int_equal(r.nic.tlb.free, N - 4);
}

/* INV-8: who extends is not what an entitled waiter has to wait for. */
static void extended_grace_does_not_delay_the_entitled(void **state)
{
	struct unic_evt_mr evt, second;
	struct rig_mr m[8];
	uint32_t w;

	(void)state;
	hoard(0, 8, N / 8, m);
	admin(&m[0]);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&r, &evt), 0);
	assert_int_equal(
		rig_answer(&r, &evt, UNIC_ANSWER_EXTEND, NULL, 40000, NULL), 0);
	w = wait_for(1, N / 8, 0);
	rig_expect(&r, UNIC_EVT_NOTICE, &second);
	assert_int_not_equal(unic_from_le32(second.mr), unic_from_le32(evt.mr));
	assert_int_equal(rig_ack(&r, &second), 0);
	rig_run(&r, T_NS);
	rig_expect(&r, UNIC_EVT_EVICTED, &second);
	granted(w);
	rig_run(&r, 40000000 - 1);
	none();
	rig_run(&r, 1);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
}

/* --------------------------------------------------- full event ring */

static uint32_t fill_ring(void)
{
	struct unic_evt_mr fill = { .hdr.type = UNIC_EVT_EVICTED,
				    .hdr.reason = 99 };
	uint32_t n = 0;

	while (unic_mbox_event(&r.nic.base, &fill))
		n++;
	return n;
}

static void empty_ring(uint32_t n)
{
	struct unic_evt_mr evt;

	while (n--) {
		rig_expect(&r, UNIC_EVT_EVICTED, &evt);
		assert_int_equal(evt.hdr.reason, 99);
	}
	rig_run(&r, 1000000);
}

static void events_are_held_back_not_lost(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m[2];
	uint32_t n, w;

	(void)state;
	set_proc(0, 1, 0, UNIC_POLICY_LRU);
	reg_ok(0, N - 4, &m[0]);
	rig_reg(&r, 0, pd[0], 4, UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0, &m[1]);
	n = fill_ring();
	w = wait_for(1, 4, 0);
	rig_poll(&r);
	assert_int_equal(r.nic.mrs.mr[m[0].mr].state, UNIC_MR_NOTIFIED);
	assert_int_equal(unic_evict_admin(&r.nic.revoke, m[1].mr, m[1].gen), 0);
	rig_run(&r, 1000000);
	assert_int_equal(look(&m[1]), -UNIC_EEVICTED);
	assert_int_equal(r.nic.evict.evts_due, 2);
	/* entries do not wait for the host to read (INV-11) */
	assert_int_equal(r.nic.admission.waiting, 0);
	assert_int_equal(r.nic.tlb.reserved, 4);
	empty_ring(n);
	assert_int_equal(r.nic.evict.evts_due, 0);
	n = 0;
	while (rig_event(&r, &evt))
		n |= 1u << evt.hdr.type;
	assert_int_equal(n, 1u << UNIC_EVT_NOTICE | 1u << UNIC_EVT_EVICTED |
				    1u << UNIC_EVT_GRANTED);
	assert_int_equal(cancel(w), UNIC_ST_NO_WAIT);
}

static void dereg_before_its_evicted_is_told(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;
	uint32_t n;

	(void)state;
	rig_reg(&r, 0, pd[0], 4, UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0, &m);
	n = fill_ring();
	assert_int_equal(unic_evict_admin(&r.nic.revoke, m.mr, m.gen), 0);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_OK);
	empty_ring(n);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags), 0);
	assert_int_equal(r.nic.mrs.free, UNIC_MRS);
	assert_int_equal(r.nic.mrs.tombstones, 0);
}

/* Nor is its slot another's before. */
static void exit_before_its_evicted_is_told(void **state)
{
	struct unic_cmd_proc_detach c = { .proc = 0 };
	struct unic_evt_mr evt;
	struct rig_mr m;
	uint32_t n;

	(void)state;
	rig_reg(&r, 0, pd[0], 4, UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0, &m);
	n = fill_ring();
	assert_int_equal(unic_evict_admin(&r.nic.revoke, m.mr, m.gen), 0);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_DETACH, &c, NULL),
			 UNIC_ST_PENDING);
	assert_int_equal(r.nic.evict.evts_due, 1);
	assert_int_equal(r.nic.procs.proc[0].mrs, 1);
	empty_ring(n);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m.mr);
	assert_int_equal(unic_from_le32(evt.flags), 0);
	rig_expect(&r, UNIC_EVT_PROC_GONE, &evt);
	assert_int_equal(r.nic.mrs.free, UNIC_MRS);
	assert_int_equal(r.nic.mrs.tombstones, 0);
}

/* ------------------------------------------------------------- exit */

static void exit_drains_and_forgets(void **state)
{
	struct unic_cmd_proc_detach c = { .proc = 0 };
	struct unic_evt_mr evt;
	struct rig_mr m[4];

	(void)state;
	hoard(0, 4, N / 4, m);
	evict_now(&m[0], UNIC_EVICTED_DEADLINE | UNIC_EVICTED_TOMBSTONE);
	wait_for(0, N, 0);
	drop_events(UNIC_EVT_NOTICE);
	unic_mr_dma_get(&r.nic.memory, (uint16_t)m[1].mr);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_DETACH, &c, NULL),
			 UNIC_ST_PENDING);
	rig_run(&r, T_NS);
	assert_int_equal(look(&m[1]), -UNIC_ESTAG);
	none();
	unic_mr_dma_put(&r.nic.memory, (uint16_t)m[1].mr);
	unic_nic_poll(&r.nic); /* in one round */
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	rig_expect(&r, UNIC_EVT_PROC_GONE, &evt);
	none();
	assert_int_equal(r.nic.tlb.free, N);
	assert_int_equal(r.nic.mrs.free, UNIC_MRS);
	assert_int_equal(r.nic.admission.waiting, 0);
	assert_int_equal(r.nic.notices.open, 0);
}

/* ------------------------------------------------- a ring of buffers */

#define BUFFERS 20u
#define BUFFER	4u /* pages; N / 4 of them fit */

static struct rig_mr buffer[BUFFERS]; /* wait 1: it is registered */

static uint32_t buffer_of(const struct unic_evt_mr *evt)
{
	uint32_t i;

	for (i = 0;
	     !buffer[i].wait || buffer[i].mr != unic_from_le32(evt->mr) ||
	     buffer[i].gen != unic_from_le32(evt->gen);
	     i++)
		;
	return i;
}

/* As a library that pins what it is told to send: whatever is asked for is
 * given at once. */
static void register_buffer(uint32_t i)
{
	struct unic_cpl_mr_reg cpl;
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(pd[0]),
		.page_shift = 12,
		.iova = unic_to_le64(0x40000000ull + i * 0x10000ull),
		.length = unic_to_le64(BUFFER * 4096ull),
		.n_pages = unic_to_le32(BUFFER),
		.flags = UNIC_REG_WAIT,
	};
	union {
		struct unic_evt_mr mr;
		struct unic_evt_wait wait;
	} evt;
	uint8_t status = rig_cmd(&r, UNIC_CMD_MR_REG, &cmd, &cpl);

	buffer[i].mr = unic_from_le32(cpl.mr);
	buffer[i].gen = unic_from_le32(cpl.gen);
	while (status == UNIC_ST_PENDING) {
		rig_run(&r, RESIDENCE_NS / 4);
		if (!rig_event(&r, &evt))
			continue;
		if (evt.mr.hdr.type == UNIC_EVT_NOTICE) {
			buffer[buffer_of(&evt.mr)].wait = 0;
			assert_int_equal(rig_answer(&r, &evt.mr,
						    UNIC_ANSWER_RELEASE, NULL,
						    0, NULL),
					 0);
			continue;
		}
		assert_int_equal(evt.mr.hdr.type, UNIC_EVT_GRANTED);
		buffer[i].mr = unic_from_le32(evt.wait.mr);
		buffer[i].gen = unic_from_le32(evt.wait.gen);
		buffer[i].stag = unic_from_le32(evt.wait.stag);
		status = UNIC_ST_OK;
	}
	assert_int_equal(status, UNIC_ST_OK);
	if (!buffer[i].stag)
		buffer[i].stag = unic_from_le32(cpl.stag);
	assert_int_equal(rig_fill(&r, 0, BUFFER, &buffer[i]), 0);
	buffer[i].wait = 1;
}

/* Buffers that were there in the last of ten laps. */
static uint32_t laps(uint32_t policy)
{
	uint32_t lap, i, there = 0;
	struct unic_piece p;

	memset(buffer, 0, sizeof(buffer));
	set_proc(0, 1, 0, policy);
	params(0, 0);
	for (lap = 0; lap < 10; lap++)
		for (there = 0, i = 0; i < BUFFERS; i++) {
			if (buffer[i].wait) {
				there++;
			} else {
				buffer[i].stag = 0;
				register_buffer(i);
			}
			rig_run(&r, RESIDENCE_NS);
			assert_int_equal(
				unic_access(&r.nic.memory, buffer[i].stag,
					    (uint16_t)pd[0], 0,
					    0x40000000ull + i * 0x10000ull, 1,
					    &p),
				0);
		}
	return there;
}

/* P7, from the registration to the notice. */
static void a_ring_of_buffers_stays_mostly(void **state)
{
	(void)state;
	assert_int_equal(laps(UNIC_POLICY_LRU), 0);
	setup(state);
	assert_true(laps(UNIC_POLICY_DEFAULT) >= BUFFERS / 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(granted_whole_or_not_at_all),
		T(fifo_inside_a_process),
		T(borrower_with_least_for_its_weight_is_first),
		T(entitled_come_first_and_oldest_first),
		T(freed_entries_are_reserved),
		T(borrower_reserves_only_what_was_freed_for_it),
		T(denied_register_asks_the_hog),
		T(denied_is_forgotten),
		T(denied_are_forgotten_one_by_one),
		T(denied_beside_a_waiter),
		T(denied_beyond_the_share_reserves_nothing),
		T(denied_goes_with_its_process),
		T(never_fitting_requests_fail_at_once),
		T(quota_recalls_from_its_own_process),
		T(control_class_is_capped),
		T(control_class_leaves_indices),
		T(time_out_to_the_nanosecond),
		T(cancelled_is_never_granted),
		T(slots_are_shared_by_weight),
		T(a_slot_is_left_for_everybody),
		T(borrowed_entries_are_recalled_to_the_share),
		T(two_waiters_one_hoarder),
		T(lru_gives_the_longest_unused),
		T(lru_holds_for_many_regions),
		T(a_ring_of_buffers_stays_mostly),
		T(random_policy_spreads),
		T(young_regions_are_spared_for_borrowers_only),
		T(borrowers_do_not_thrash),
		T(reaper_spares_who_is_alone),
		T(reaper_spares_who_is_at_his_share),
		T(reaper_keeps_entries_free),
		T(ranks_follow_the_order_of_want),
		T(tombstone_answers_evicted),
		T(busy_region_is_drained),
		T(dereg_of_a_held_region_is_pending),
		T(next_command_finds_the_entries),
		T(idle_at_its_deadline_is_not_cut),
		T(region_ends_on_a_failed_nic),
		T(release_keeps_the_deadline),
		T(messaging_goes_without_notice),
		T(wrong_subjects_are_refused),
		T(each_refusal_of_an_offer),
		T(offered_region_can_be_asked_for_again),
		T(spared_region_is_next),
		T(nobody_extends_while_the_entitled_wait),
		T(extended_is_as_good_as_gone),
		T(offer_after_extend),
		T(extended_grace_does_not_delay_the_entitled),
		T(events_are_held_back_not_lost),
		T(dereg_before_its_evicted_is_told),
		T(exit_before_its_evicted_is_told),
		T(exit_drains_and_forgets),
		T(idle_is_noted_once),
		T(failing_says_nothing_else),
		T(reset_forgets_what_was_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
