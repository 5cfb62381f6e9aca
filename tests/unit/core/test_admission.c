/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_admission.c - which requests wait for entries, which is granted first,
 * and which is denied.
 */
#include "memory/access.h"
#include "unit.h"

#include "evict_rig.h"

/* ------------------------------------------------------------- waiting */

/* INV-7: a request is granted whole; while it waits it holds no entry. */
static void granted_whole_or_not_at_all(void **state)
{
	struct rig_mr m[8];
	uint32_t w;

	(void)state;
	evict_set_proc(0, 1, 0, UNIC_POLICY_LRU);
	evict_hoard(0, 7, 8, m);
	evict_reg_ok(0, 4, &m[7]);
	w = evict_wait_for(1, 12, 0);
	assert_int_equal(evict_noticed(0, UNIC_WHY_FAIR_SHARE), 8);
	assert_int_equal(er.nic.tlb.free, 4);
	assert_int_equal(er.nic.share.owner[1].held, 0);
	assert_int_equal(rig_dereg(&er, &m[7]), UNIC_ST_OK);
	evict_none();
	assert_int_equal(er.nic.tlb.free, 8);
	rig_run(&er, T_NS);
	{
		struct unic_evt_mr evt;

		rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	}
	evict_granted(w);
	assert_int_equal(er.nic.share.owner[1].held, 12);
	assert_int_equal(er.nic.tlb.reserved, 12);
}

static void fifo_inside_a_process(void **state)
{
	struct rig_mr big, small, m;
	uint32_t w[3];

	(void)state;
	evict_set_proc(0, 2, 0, 0); /* process 0 gets half of the wait slots */
	evict_reg_ok(0, N - 8, &big);
	evict_reg_ok(0, 6, &small);
	w[0] = evict_wait_for(0, 4, 0);
	w[1] = evict_wait_for(0, 1, 0);
	w[2] = evict_wait_for(0, 2, 0);
	/* neither a later request nor one without wait overtakes the first */
	assert_int_equal(evict_reg(0, 1, &m), UNIC_ST_TLB_FULL);
	evict_drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&er, &small), UNIC_ST_OK);
	rig_poll(&er);
	evict_granted(w[0]);
	evict_granted(w[1]);
	evict_granted(w[2]);
	evict_none();
}

static void borrower_with_least_for_its_weight_is_first(void **state)
{
	struct rig_mr a, b, c, m;
	uint32_t w0, w1;

	(void)state;
	evict_set_proc(1, 4, 0, 0);
	evict_reg_ok(0, 6, &a);
	evict_reg_ok(1, 40, &b); /* 10 per unit of weight */
	evict_reg_ok(2, N - 46, &c);
	/* when granted 16 per unit of weight; the share is 10 */
	w0 = evict_wait_for(0, 10, 0);
	w1 = evict_wait_for(1, 12, 0); /* when granted 13 per unit */
	evict_drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&er, &c), UNIC_ST_OK);
	rig_poll(&er);
	evict_granted(w1);
	evict_none(); /* 6 are left, reserved for the first request */
	assert_int_equal(evict_reg(2, 6, &m),
			 UNIC_ST_OK); /* within its share: overtakes */
	assert_int_equal(evict_cancel(w0), UNIC_ST_OK);
}

static void entitled_come_first_and_oldest_first(void **state)
{
	struct rig_mr m[8];
	uint32_t greedy, w1, w2;

	(void)state;
	evict_hoard(0, 8, N / 8, m);
	greedy = evict_wait_for(0, N / 8, 0);
	w1 = evict_wait_for(1, N / 8, 0);
	w2 = evict_wait_for(2, N / 8, 0);
	rig_poll(&er);
	evict_drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&er, &m[0]), UNIC_ST_OK);
	rig_poll(&er);
	evict_granted(w1);
	evict_none();
	assert_int_equal(rig_dereg(&er, &m[1]), UNIC_ST_OK);
	rig_poll(&er);
	evict_granted(w2);
	evict_none();
	assert_int_equal(rig_dereg(&er, &m[2]), UNIC_ST_OK);
	rig_poll(&er);
	evict_granted(greedy);
}

/* Entries freed for a waiter are not given to a request that comes
 * meanwhile. */
static void freed_entries_are_reserved(void **state)
{
	struct rig_mr m[8], x;
	uint32_t w;

	(void)state;
	evict_hoard(0, 8, N / 8, m);
	w = evict_wait_for(1, N / 8 + 1, 0);
	rig_poll(&er);
	evict_drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&er, &m[0]), UNIC_ST_OK);
	assert_int_equal(er.nic.tlb.free, N / 8);
	assert_int_equal(evict_reg(0, 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(evict_reg(2, 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(rig_dereg(&er, &m[1]), UNIC_ST_OK);
	rig_poll(&er);
	evict_granted(w);
	evict_reg_ok(2, 1, &x);
}

/* Entries freed for a borrower are reserved for it; other free entries are
 * not. */
static void borrower_reserves_only_what_was_freed_for_it(void **state)
{
	struct rig_mr m[8], x;
	struct unic_evt_mr evt;
	uint32_t w, i;

	(void)state;
	evict_hoard(0, 7, 8, m);
	rig_run(&er, RESIDENCE_NS);
	/* beyond its share: the regions asked for are its own */
	w = evict_wait_for(0, 24, 0);
	rig_poll(&er);
	for (i = 0; rig_event(&er, &evt); i++) {
		assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
		assert_int_equal(evt.hdr.reason, UNIC_WHY_WAITER);
		m[7].mr = unic_from_le32(evt.mr);
		m[7].gen = unic_from_le32(evt.gen);
	}
	assert_int_equal(i, 2);
	/* 8 entries that were not freed for a waiter */
	evict_reg_ok(1, 8, &x);
	assert_int_equal(rig_dereg(&er, &m[7]), UNIC_ST_OK);
	assert_int_equal(er.nic.tlb.free, 8);
	assert_int_equal(evict_reg(1, 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(evict_cancel(w), UNIC_ST_OK);
	evict_reg_ok(1, 1, &x);
}

/* @proc gives back a region that it is asked for. */
static void give_one_back(uint32_t proc)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	rig_poll(&er);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), proc);
	m.mr = unic_from_le32(evt.mr);
	m.gen = unic_from_le32(evt.gen);
	evict_drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_OK);
}

/* Of entries freed for a borrower, those that its first request leaves are reserved
 * for its second. */
static void what_a_grant_leaves_stays_reserved(void **state)
{
	struct rig_mr m[10], x;
	uint32_t w[2];

	(void)state;
	evict_hoard(0, 10, 6, m);
	evict_reg_ok(1, N - 60, &x);
	rig_run(&er, RESIDENCE_NS);
	w[0] = evict_wait_for(0, 4, 0);
	w[1] = evict_wait_for(0, 4, 0);
	give_one_back(0);
	rig_poll(&er);
	evict_granted(w[0]);
	assert_int_equal(er.nic.tlb.free, 2);
	assert_int_equal(er.nic.promises.to[0], 2);
	assert_int_equal(evict_reg(1, 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(evict_cancel(w[1]), UNIC_ST_OK);
	evict_reg_ok(1, 1, &x);
}

/* An entry that only its quota keeps from a process is free for others, and none is
 * taken from a borrower for which it was freed. */
static void capped_loses_its_reservation_first(void **state)
{
	struct rig_mr own[8], m[13], x;

	(void)state;
	evict_set_proc(1, 1, 10, 0);
	evict_hoard(1, 8, 1, own);
	evict_hoard(2, 13, 4, m);
	evict_reg_ok(0, N - 60, &x);
	rig_run(&er, RESIDENCE_NS);
	evict_wait_for(1, 4, 0);
	give_one_back(1);
	assert_int_equal(er.nic.promises.to[1], 1);
	evict_wait_for(2, 8, 0);
	give_one_back(2);
	assert_int_equal(er.nic.promises.to[2], 4);
	assert_int_equal(er.nic.tlb.free, 5);
	evict_reg_ok(0, 1, &x);
	assert_int_equal(er.nic.promises.to[1], 0);
	assert_int_equal(er.nic.promises.to[2], 4);
}

/* INV-8: pages that another process loads leave the free entries that a request
 * within its share needs, so it is served after one grace. */
static void pages_of_others_do_not_delay_a_request(void **state)
{
	struct rig_mr hog[5], table;
	struct unic_xlate x;
	uint32_t w, i;

	(void)state;
	for (i = 0; i < N / 3; i++)
		rig_table(&er, i, 1, 8 + i);
	assert_int_equal(rig_reg_cached(&er, er_pd[1], N / 3, UNIC_TABLE, 0,
					&table),
			 UNIC_ST_OK);
	evict_hoard(0, 5, 8, hog);
	for (i = 0; i < 14; i++)
		assert_int_equal(unic_access(&er.nic.memory, table.stag,
					     (uint16_t)er_pd[1], 0,
					     table.iova + i * 4096ull, 8, &x),
				 0);
	assert_int_equal(er.nic.tlb.free, N - 54);
	w = evict_wait_for(2, 16, 0);
	assert_int_equal(evict_noticed(0, UNIC_WHY_FAIR_SHARE), 8);
	for (; i < N / 3; i++)
		assert_int_equal(unic_access(&er.nic.memory, table.stag,
					     (uint16_t)er_pd[1], 0,
					     table.iova + i * 4096ull, 8, &x),
				 0);
	assert_int_equal(er.nic.tlb.free, N - 54);
	rig_run(&er, T_NS);
	{
		struct unic_evt_mr evt;

		rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	}
	evict_granted(w);
}

/* ------------------------------------------------------------- denials */

/* S0: a process that only asks, and does not wait, must not starve beside one
 * that holds all entries. */
static void denied_register_asks_the_hog(void **state)
{
	struct rig_mr hog[8], x;

	(void)state;
	evict_hoard(0, 8, N / 8, hog);
	rig_run(&er, RESIDENCE_NS);
	assert_int_equal(evict_reg(1, N / 8 + 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(evict_noticed(0, UNIC_WHY_FAIR_SHARE), N / 4);
	/* process 0 does not answer, and registers what it can */
	rig_run(&er, T_NS);
	evict_drop_events(UNIC_EVT_EVICTED);
	assert_int_equal(er.nic.tlb.free, N / 4);
	assert_int_equal(evict_reg(0, N / 8, &x), UNIC_ST_TLB_FULL);
	/* entries beyond the request are not reserved */
	evict_reg_ok(0, N / 8 - 1, &x);
	evict_reg_ok(1, N / 8 + 1, &x);
	assert_int_equal(er.nic.admission.denials.of[1].n, 0);
	assert_false(unic_bitset_any(&er.nic.promises.waiters));
	assert_int_equal(er.nic.share.owner[1].wanted, 0);
}

/* The reservation of a denied request ends after B (until the entries come) and
 * T. */
static void denied_is_forgotten(void **state)
{
	const uint64_t keep = 50000000 + 2 * T_NS + 1000000 + 1000000;
	struct rig_mr hog, x;

	(void)state;
	evict_reg_ok(0, N, &hog);
	assert_int_equal(evict_reg(1, 8, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(evict_noticed(0, UNIC_WHY_FAIR_SHARE), N);
	assert_int_equal(rig_dereg(&er, &hog), UNIC_ST_OK);
	rig_run(&er, keep - 1000);
	assert_int_equal(evict_reg(2, N - 7, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(evict_reg(2, N - 8, &x), UNIC_ST_OK);
	rig_dereg(&er, &x);
	assert_int_equal(er.nic.admission.denials.of[1].n, 8);
	rig_run(&er, 1000);
	assert_int_equal(er.nic.admission.denials.of[1].n, 0);
	evict_reg_ok(0, N, &hog);
	assert_int_equal(er.nic.admission.denials.count, 0);
	assert_false(unic_bitset_any(&er.nic.promises.waiters));
	assert_int_equal(unic_share_fair(&er.nic.share, 0), N);
}

/* Each reservation ends at its own time, without another event. */
static void denied_are_forgotten_one_by_one(void **state)
{
	const uint64_t keep = 50000000 + 2 * T_NS + 1000000 + 1000000;
	struct rig_mr hog, x;

	(void)state;
	evict_reg_ok(0, N, &hog);
	assert_int_equal(evict_reg(1, 8, &x), UNIC_ST_TLB_FULL);
	rig_run(&er, 10000000);
	assert_int_equal(evict_reg(2, 8, &x), UNIC_ST_TLB_FULL);
	evict_drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(rig_dereg(&er, &hog), UNIC_ST_OK);
	rig_run(&er, keep - 10000000);
	assert_int_equal(er.nic.admission.denials.of[1].n, 0);
	rig_run(&er, 10000000 - 1000);
	assert_int_equal(er.nic.admission.denials.of[2].n, 8);
	rig_run(&er, 1000);
	assert_int_equal(er.nic.admission.denials.count, 0);
	assert_false(unic_bitset_any(&er.nic.promises.waiters));
}

/* Neither the denied process nor the waiter takes entries from the other. */
static void denied_beside_a_waiter(void **state)
{
	struct rig_mr hog[8], x;
	uint32_t w;

	(void)state;
	evict_hoard(0, 8, N / 8, hog);
	assert_int_equal(evict_reg(1, N / 8, &x), UNIC_ST_TLB_FULL);
	w = evict_wait_for(2, N / 8, 0);
	rig_poll(&er);
	evict_drop_events(UNIC_EVT_NOTICE);
	rig_run(&er, T_NS / 2);
	assert_int_equal(evict_reg(1, N / 8, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(rig_dereg(&er, &hog[0]), UNIC_ST_OK);
	rig_poll(&er);
	evict_none(); /* reserved for the earlier request */
	assert_int_equal(rig_dereg(&er, &hog[1]), UNIC_ST_OK);
	rig_poll(&er);
	evict_granted(w);
	evict_reg_ok(1, N / 8, &x);
}

/* A request beyond the share reserves nothing, and a wait replaces a
 * reservation. */
static void denied_beyond_the_share_reserves_nothing(void **state)
{
	struct rig_mr hog, part, x;
	uint32_t w;

	(void)state;
	evict_reg_ok(0, N / 4, &hog);
	evict_reg_ok(0, 3 * N / 4, &part);
	assert_int_equal(evict_reg(1, N / 2 + 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(er.nic.admission.denials.count, 0);
	evict_none();
	assert_int_equal(rig_dereg(&er, &hog), UNIC_ST_OK);
	evict_reg_ok(0, N / 4, &hog);
	assert_int_equal(evict_reg(1, 1, &x), UNIC_ST_TLB_FULL);
	w = evict_wait_for(1, 2, 0);
	assert_int_equal(er.nic.admission.denials.count, 0);
	assert_int_equal(er.nic.share.owner[1].wanted, 2);
	assert_int_equal(evict_reg(1, 1, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(er.nic.admission.denials.count, 0);
	assert_int_equal(evict_cancel(w), UNIC_ST_OK);
	assert_false(unic_bitset_any(&er.nic.promises.waiters));
}

/* A reservation ends with its process. */
static void denied_goes_with_its_process(void **state)
{
	struct unic_cmd_proc_detach c = { .proc = unic_to_le32(1) };
	struct rig_mr hog, x;

	(void)state;
	evict_reg_ok(0, N, &hog);
	assert_int_equal(evict_reg(1, 8, &x), UNIC_ST_TLB_FULL);
	assert_int_equal(er.nic.admission.denials.count, 1);
	rig_cmd(&er, UNIC_CMD_PROC_DETACH, &c, NULL);
	rig_poll(&er);
	assert_int_equal(er.nic.admission.denials.count, 0);
	assert_false(unic_bitset_any(&er.nic.promises.waiters));
}

static void never_fitting_requests_fail_at_once(void **state)
{
	struct rig_mr m;

	(void)state;
	assert_int_equal(rig_reg(&er, 0, er_pd[0], N + 1, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_TOO_LARGE);
	evict_set_proc(0, 1, 10, 0);
	assert_int_equal(rig_reg(&er, 0, er_pd[0], 11, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_TOO_LARGE);
	assert_int_equal(evict_reg(0, 11, &m), UNIC_ST_TOO_LARGE);
	assert_int_equal(er.nic.admission.waiting, 0);
}

static void quota_recalls_from_its_own_process(void **state)
{
	struct rig_mr m[2], other, x;
	uint32_t w;

	(void)state;
	evict_set_proc(0, 1, 16, 0);
	evict_hoard(0, 2, 8, m);
	evict_reg_ok(1, 8, &other);
	rig_run(&er, RESIDENCE_NS);
	assert_int_equal(evict_reg(0, 1, &x), UNIC_ST_QUOTA);
	w = evict_wait_for(0, 8, 0);
	assert_int_equal(evict_noticed(0, UNIC_WHY_QUOTA), 8);
	/* neither request holds up another process */
	evict_reg_ok(1, N - 24, &x);
	rig_run(&er, T_NS);
	{
		struct unic_evt_mr evt;

		rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	}
	evict_granted(w);
	assert_int_equal(er.nic.share.owner[0].held, 16);
}

/* What a process has above a quota that is set later is asked back, and no more; of
 * another process nothing is. */
static void surplus_is_asked_back(void **state)
{
	struct rig_mr m[4], other;

	(void)state;
	evict_hoard(0, 4, 8, m);
	evict_reg_ok(1, 8, &other);
	rig_run(&er, RESIDENCE_NS);
	evict_set_proc(0, 1, 32, 0);
	assert_int_equal(evict_noticed(0, UNIC_WHY_QUOTA), 0);
	evict_set_proc(0, 1, 15, 0);
	assert_int_equal(evict_noticed(0, UNIC_WHY_QUOTA), 24);
	rig_run(&er, T_NS);
	evict_drop_events(UNIC_EVT_EVICTED);
	assert_int_equal(er.nic.share.owner[0].held, 8);
	rig_run(&er, 10 * T_NS);
	evict_none();
	assert_int_equal(er.nic.share.owner[1].held, 8);
}

/* A region that is too young is asked for when it is old enough; one whose grace was
 * extended is not asked for twice, nor another in its place. */
static void surplus_has_its_time(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m[2];

	(void)state;
	evict_hoard(0, 2, 8, m);
	evict_set_proc(0, 1, 8, 0);
	rig_run(&er, RESIDENCE_NS / 2);
	evict_none();
	rig_run(&er, 2 * RESIDENCE_NS);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_QUOTA);
	assert_int_equal(rig_ack(&er, &evt), UNIC_ST_OK);
	assert_int_equal(rig_answer(&er, &evt, UNIC_ANSWER_EXTEND, NULL, 30000,
				    NULL),
			 UNIC_ST_OK);
	rig_run(&er, 2 * T_NS);
	evict_none();
	rig_run(&er, T_NS);
	evict_drop_events(UNIC_EVT_EVICTED);
	assert_int_equal(er.nic.share.owner[0].held, 8);
}

/* A region that a reset brings back above the quota is asked for again. */
static void surplus_outlives_a_reset(void **state)
{
	struct unic_cmd_mr_reg c = {
		.flags = UNIC_REG_RESTORE,
		.page_shift = 12,
		.pd = unic_to_le32(er_pd[0]),
		.n_pages = unic_to_le32(16),
		.length = unic_to_le64(16 * 4096),
		.stag = unic_to_le32(3u << UNIC_MR_IDX_SHIFT),
	};
	struct unic_cpl_mr_reg cpl;
	struct rig_mr m = { 0 };
	uint32_t i, ms = 0;

	(void)state;
	evict_set_proc(0, 1, 8, 0);
	assert_int_equal(rig_cmd(&er, UNIC_CMD_MR_REG, &c, &cpl), UNIC_ST_OK);
	m.mr = unic_from_le32(cpl.mr);
	m.gen = unic_from_le32(cpl.gen);
	assert_int_equal(rig_fill(&er, 0, 16, &m), UNIC_ST_OK);
	for (i = 0; !i && ms < 1100; ms++) {
		rig_run(&er, 1000000);
		i = evict_noticed(0, UNIC_WHY_QUOTA);
	}
	assert_int_equal(i, 16);
}

/* Another process waits, and no region but those above the quota can serve it. */
static void surplus_serves_who_waits(void **state)
{
	struct rig_mr m[2], mine;

	(void)state;
	evict_hoard(0, 2, 8, m);
	rig_run(&er, RESIDENCE_NS);
	evict_reg_ok(1, N - 16, &mine);
	evict_wait_for(1, 8, 0); /* its own region is too young */
	rig_poll(&er);
	evict_none();
	evict_set_proc(0, 1, 8, 0);
	assert_int_equal(evict_noticed(0, UNIC_WHY_QUOTA), 8);
}

/* Who has nothing that can be asked back holds up nobody, and the NIC sleeps. */
static void surplus_that_cannot_be_given(void **state)
{
	struct rig_mr queues, other;

	(void)state;
	assert_int_equal(rig_reg(&er, 0, er_pd[0], 8, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &queues),
			 UNIC_ST_OK);
	evict_hoard(1, 1, 8, &other);
	rig_run(&er, RESIDENCE_NS);
	evict_set_proc(0, 1, 4, 0);
	evict_set_proc(1, 1, 4, 0);
	assert_int_equal(evict_noticed(1, UNIC_WHY_QUOTA), 8);
	rig_run(&er, 2 * T_NS);
	evict_drop_events(UNIC_EVT_EVICTED);
	rig_run(&er, T_NS);
	assert_true(unic_reclaim_poll(&er.nic.revoke) >=
		    er.nic.now_ns + 1000000000);
	/* another one that waits at its quota is looked at as soon as ever */
	evict_set_proc(2, 1, 8, 0);
	evict_reg_ok(2, 8, &other);
	evict_wait_for(2, 8, 0);
	assert_true(unic_reclaim_poll(&er.nic.revoke) <=
		    er.nic.now_ns + 1000ull * er.nic.candidates.reaper_us);
	evict_set_proc(0, 1, 0, 0);
	rig_run(&er, T_NS);
	assert_false(unic_bitset_any(&er.nic.reclaim.lowered));
}

static void control_class_is_capped(void **state)
{
	struct rig_mr m, big;

	(void)state;
	evict_reg_ok(1, 1, &m);
	/* the share is 32: a quarter is 8, but each process may have 16 */
	assert_int_equal(rig_reg(&er, 0, er_pd[0], 17, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &big),
			 UNIC_ST_CTRL_CAP);
	assert_int_equal(rig_reg(&er, 0, er_pd[0], 16, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &big),
			 UNIC_ST_OK);
	assert_int_equal(rig_reg(&er, 0, er_pd[0], 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_CTRL_CAP);
	assert_int_equal(er.nic.mrs.control[0].entries, 16);
	assert_int_equal(rig_dereg(&er, &big), UNIC_ST_OK);
	assert_int_equal(er.nic.mrs.control[0].entries, 0);
}

static uint32_t control_regions(uint32_t proc, struct rig_mr *m)
{
	struct rig_mr next;
	uint32_t n;

	for (n = 0; !rig_reg(&er, proc, er_pd[proc], 1, UNIC_CLASS_CONTROL,
			     UNIC_REG_LIST, 0, &next);
	     n++)
		*m = next;
	return n;
}

/* Regions of class control are never victims: even a process that is alone must
 * leave indices for others. */
static void control_class_leaves_indices(void **state)
{
	uint32_t i, n, left = UNIC_MRS;
	struct rig_mr m;

	(void)state;
	for (i = 0; i < UNIC_PROCS; i++) {
		n = control_regions(i, &m);
		assert_in_range(n, UNIC_MRS / UNIC_PROCS / 2, UNIC_MRS / 4);
		assert_int_equal(er.nic.mrs.control[i].mrs, n);
		left -= n;
	}
	assert_true(left >= UNIC_MRS / 4);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_OK);
	assert_int_equal(control_regions(UNIC_PROCS - 1, &m), 1);
	evict_reg_ok(0, 1, &m);
}

static void time_out_to_the_nanosecond(void **state)
{
	struct unic_evt_wait evt;
	struct rig_mr m;
	uint32_t w;

	(void)state;
	evict_set_proc(0, 1, 8, 0);
	evict_reg_ok(0, 8, &m);
	w = evict_wait_for(0, 8, 1000);
	evict_drop_events(UNIC_EVT_NOTICE);
	rig_run(&er, 1000000 - 1);
	unic_evict_kick(&er.nic.revoke); /* any kick of the eviction step */
	rig_poll(&er);
	evict_none();
	rig_run(&er, 1);
	rig_expect(&er, UNIC_EVT_WAIT_ENDED, &evt);
	assert_int_equal(unic_from_le32(evt.wait), w);
	assert_int_equal(unic_from_le32(evt.status), UNIC_ST_TIMEOUT);
	assert_int_equal(unic_from_le32(evt.waited_us), 1000);
	assert_int_equal(evict_cancel(w), UNIC_ST_NO_WAIT);
	assert_int_equal(er.nic.share.owner[0].wanted, 0);
}

static void cancelled_is_never_granted(void **state)
{
	struct rig_mr m, x;
	uint32_t w, v;

	(void)state;
	evict_reg_ok(0, N, &m);
	w = evict_wait_for(0, 8, 0);
	v = evict_wait_for(0, 4, 0);
	evict_drop_events(UNIC_EVT_NOTICE);
	assert_int_equal(evict_cancel(w), UNIC_ST_OK);
	assert_int_equal(evict_cancel(w), UNIC_ST_NO_WAIT);
	assert_int_equal(evict_cancel(0), UNIC_ST_NO_WAIT);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_OK);
	rig_poll(&er);
	evict_granted(v);
	evict_none();
	evict_reg_ok(1, N - 4, &x);
}

/* INV-8: wait slots are shared by weight, so no process takes those of
 * another. */
static void slots_are_shared_by_weight(void **state)
{
	struct rig_mr m;
	uint32_t i;

	(void)state;
	evict_reg_ok(0, N, &m);
	evict_set_proc(1, 2, 0, 0);
	for (i = 0; i < UNIC_WAITS / 2; i++)
		evict_wait_for(1, 1, 0);
	assert_int_equal(rig_reg(&er, 1, er_pd[1], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_WAIT_FULL);
	for (i = 0; i < UNIC_WAITS / 4; i++)
		evict_wait_for(2, 1, 0);
	assert_int_equal(rig_reg(&er, 2, er_pd[2], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &m),
			 UNIC_ST_WAIT_FULL);
}

/* Each process can get a wait slot, however small its weight. */
static void a_slot_is_left_for_everybody(void **state)
{
	struct rig_mr m;
	uint32_t n = 0;

	(void)state;
	evict_reg_ok(0, N, &m);
	evict_set_proc(0, 65535, 0, 0);
	while (rig_reg(&er, 0, er_pd[0], 1, UNIC_CLASS_RDMA, UNIC_REG_WAIT, 0,
		       &m) == UNIC_ST_PENDING)
		n++;
	assert_int_equal(n, UNIC_WAITS - 2);
	evict_wait_for(1, 1, 0);
	evict_wait_for(2, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(granted_whole_or_not_at_all),
		TEST(fifo_inside_a_process),
		TEST(borrower_with_least_for_its_weight_is_first),
		TEST(entitled_come_first_and_oldest_first),
		TEST(freed_entries_are_reserved),
		TEST(borrower_reserves_only_what_was_freed_for_it),
		TEST(what_a_grant_leaves_stays_reserved),
		TEST(capped_loses_its_reservation_first),
		TEST(pages_of_others_do_not_delay_a_request),
		TEST(denied_register_asks_the_hog),
		TEST(denied_is_forgotten),
		TEST(denied_are_forgotten_one_by_one),
		TEST(denied_beside_a_waiter),
		TEST(denied_beyond_the_share_reserves_nothing),
		TEST(denied_goes_with_its_process),
		TEST(never_fitting_requests_fail_at_once),
		TEST(quota_recalls_from_its_own_process),
		TEST(surplus_is_asked_back),
		TEST(surplus_has_its_time),
		TEST(surplus_outlives_a_reset),
		TEST(surplus_serves_who_waits),
		TEST(surplus_that_cannot_be_given),
		TEST(control_class_is_capped),
		TEST(control_class_leaves_indices),
		TEST(time_out_to_the_nanosecond),
		TEST(cancelled_is_never_granted),
		TEST(slots_are_shared_by_weight),
		TEST(a_slot_is_left_for_everybody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
