/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_reclaim.c - which process gives entries: the share, the policy of a
 * process, and the reaper.
 */
#include "unit.h"

#include "evict_rig.h"
#include "memory/access.h"

/* ------------------------------------------------------------- choosing */

/* INV-5: entries are recalled down to the share, and no further. */
static void borrowed_entries_are_recalled_to_the_share(void **state)
{
	struct rig_mr m[16], x;
	uint32_t i;

	(void)state;
	evict_hoard(0, 16, N / 16, m);
	for (i = 0; i < 2; i++)
		evict_wait_for(1, N / 4, 0);
	assert_int_equal(evict_noticed(0, UNIC_WHY_FAIR_SHARE), N / 2);
	assert_int_equal(rig_reg(&er, 1, er_pd[1], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &x),
			 UNIC_ST_TLB_FULL);
	rig_run(&er, T_NS);
	assert_int_equal(er.nic.share.owner[0].held, N / 2);
	assert_int_equal(er.nic.share.owner[1].held, N / 2);
}

static void two_waiters_one_hoarder(void **state)
{
	struct rig_mr m[16];
	uint8_t rec[64];
	uint32_t grants = 0;

	(void)state;
	evict_hoard(0, 16, N / 16, m);
	evict_wait_for(1, 20, 0);
	evict_wait_for(2, 20, 0);
	assert_int_equal(evict_noticed(0, UNIC_WHY_FAIR_SHARE), 40);
	rig_run(&er, T_NS);
	while (rig_event(&er, rec))
		grants += rec[0] == UNIC_EVT_GRANTED;
	assert_int_equal(grants, 2);
}

static void lru_gives_the_longest_unused(void **state)
{
	struct unic_xlate p;
	struct unic_evt_mr evt;
	struct rig_mr m[4];
	uint32_t i;

	(void)state;
	evict_set_proc(0, 1, 0, UNIC_POLICY_LRU);
	evict_hoard(0, 4, N / 4, m);
	for (i = 0; i < 4; i++) {
		er.port.now_ns += 1000;
		rig_poll(&er);
		/* in the order 1 3 0 2 */
		assert_int_equal(
			unic_access(&er.nic.memory, m[(i * 2 + 1) % 5 % 4].stag,
				    (uint16_t)er_pd[0], 0,
				    m[(i * 2 + 1) % 5 % 4].iova, 1, &p),
			0);
	}
	evict_wait_for(1, 1, 0);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m[1].mr);
}

/* LRU with more regions than one sample has: a ring of buffers, used in
 * order. */
static void lru_holds_for_many_regions(void **state)
{
	struct unic_evt_mr evt;
	struct unic_xlate p;
	struct rig_mr m[16];
	uint32_t i, k;

	(void)state;
	evict_set_proc(0, 1, 0, UNIC_POLICY_LRU);
	evict_hoard(0, 16, N / 16, m);
	for (i = 0; i < 40; i++) {
		er.nic.now_ns += 1000;
		k = i % 16;
		assert_int_equal(unic_access(&er.nic.memory, m[k].stag,
					     (uint16_t)er_pd[0], 0, m[k].iova,
					     1, &p),
				 0);
	}
	/* the last uses, 24 to 39, were of regions 8 to 15, then 0 to 7 */
	for (i = 0; i < 8; i++) {
		if (i % 4 == 0)
			evict_wait_for(1, N / 4, 0);
		rig_expect(&er, UNIC_EVT_NOTICE, &evt);
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
	evict_set_proc(0, 1, 0, UNIC_POLICY_RANDOM);
	evict_hoard(0, 4, N / 4, m);
	for (round = 0; round < 40; round++) {
		w = evict_wait_for(1, 1, 0);
		rig_expect(&er, UNIC_EVT_NOTICE, &evt);
		for (i = 0; i < 4; i++)
			if (m[i].mr == unic_from_le32(evt.mr)) {
				hit |= 1u << i;
				assert_int_equal(evict_cancel(w), UNIC_ST_OK);
				assert_int_equal(rig_dereg(&er, &m[i]),
						 UNIC_ST_OK);
				evict_reg_ok(0, N / 4, &back);
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
	evict_hoard(0, 2, N / 2, m);
	w = evict_wait_for(0, 1, 0); /* a borrower takes from its own regions */
	rig_run(&er, RESIDENCE_NS - 1);
	evict_none();
	rig_run(&er, 1000000);
	assert_int_equal(evict_noticed(0, UNIC_WHY_WAITER), N / 2);
	assert_int_equal(evict_cancel(w), UNIC_ST_OK);

	evict_up(state);
	evict_hoard(0, 2, N / 2, m);
	evict_wait_for(1, 1, 0); /* within its share: a notice at once */
	assert_int_equal(evict_noticed(0, UNIC_WHY_FAIR_SHARE), N / 2);
}

static void borrowers_do_not_thrash(void **state)
{
	struct rig_mr a[8], b[2], c;
	struct unic_evt_mr evt;

	(void)state;
	evict_hoard(0, 8, 5, a); /* the shares are 21: these two are above */
	evict_hoard(1, 2, 11, b);
	evict_reg_ok(2, 2, &c);
	rig_run(&er, RESIDENCE_NS);
	evict_wait_for(1, 5, 0);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
	assert_int_equal(
		rig_answer(&er, &evt, UNIC_ANSWER_RELEASE, NULL, 0, NULL), 0);
	rig_poll(&er);
	evict_drop_events(UNIC_EVT_GRANTED);
	/* the larger borrower was asked just before, so process 1 must give its
	 * own regions */
	evict_wait_for(1, 5, 0);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 1);
	assert_int_equal(
		rig_answer(&er, &evt, UNIC_ANSWER_RELEASE, NULL, 0, NULL), 0);
	rig_run(&er, RESIDENCE_NS);
	evict_drop_events(UNIC_EVT_GRANTED);
	evict_wait_for(1, 12, 0); /* process 0 may be asked again */
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
}

/* The reaper takes nothing from a process that is alone, as its share is the
 * whole table. */
static void reaper_spares_who_is_alone(void **state)
{
	struct rig_mr m[16];

	(void)state;
	evict_hoard(0, 16, N / 16, m);
	rig_run(&er, RESIDENCE_NS);
	evict_params(8, 16);
	rig_run(&er, 10 * RESIDENCE_NS);
	evict_none();
	assert_int_equal(er.nic.tlb.free, 0);
}

/* The reaper counts entries under notice as returned: then the shares are
 * equal, and no region of process 1 is asked for. */
static void reaper_spares_who_is_at_his_share(void **state)
{
	struct rig_mr m[16], meek[4];

	(void)state;
	evict_hoard(0, 12, 4, m);
	evict_hoard(1, 4, 4, meek);
	rig_run(&er, RESIDENCE_NS);
	evict_params(48, 48);
	assert_int_equal(evict_noticed(0, UNIC_WHY_REAPER), 16);
	rig_run(&er, RESIDENCE_NS);
	evict_none();
}

static void reaper_keeps_entries_free(void **state)
{
	struct rig_mr m[16], other;

	(void)state;
	evict_hoard(0, 13, 4, m);
	evict_reg_ok(1, 4, &other); /* the share of 0 is a half */
	rig_run(&er, RESIDENCE_NS);
	evict_params(8, 16);
	assert_int_equal(evict_noticed(0, UNIC_WHY_REAPER), 0); /* 8 are free */
	evict_reg_ok(0, 2, &m[13]);
	assert_int_equal(evict_noticed(0, UNIC_WHY_REAPER),
			 12); /* 6 -> 16 or more */
	rig_run(&er, T_NS);
	evict_drop_events(UNIC_EVT_EVICTED);
	assert_int_equal(er.nic.tlb.free, 18);
	rig_run(&er, T_NS);
	evict_none();
}

static void ranks_follow_the_order_of_want(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m[8];
	uint32_t i;

	(void)state;
	evict_hoard(0, 8, N / 8, m);
	evict_wait_for(1, N / 2, 0);
	for (i = 0; i < 4; i++) {
		rig_expect(&er, UNIC_EVT_NOTICE, &evt);
		assert_int_equal(unic_from_le32(evt.rank), i);
	}
}

/* ------------------------------------------------- a ring of buffers */

#define BUFFERS 20u
#define BUFFER	4u /* pages; N / 4 buffers fit */

static struct rig_mr buffer[BUFFERS]; /* wait 1: the buffer is registered */

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

/* Registers buffer @i, as a library does before each transfer, and releases
 * every region that is asked for. */
static void register_buffer(uint32_t i)
{
	struct unic_cpl_mr_reg cpl;
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(er_pd[0]),
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
	uint8_t status = rig_cmd(&er, UNIC_CMD_MR_REG, &cmd, &cpl);

	buffer[i].mr = unic_from_le32(cpl.mr);
	buffer[i].gen = unic_from_le32(cpl.gen);
	while (status == UNIC_ST_PENDING) {
		rig_run(&er, RESIDENCE_NS / 4);
		if (!rig_event(&er, &evt))
			continue;
		if (evt.mr.hdr.type == UNIC_EVT_NOTICE) {
			buffer[buffer_of(&evt.mr)].wait = 0;
			assert_int_equal(rig_answer(&er, &evt.mr,
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
	assert_int_equal(rig_fill(&er, 0, BUFFER, &buffer[i]), 0);
	buffer[i].wait = 1;
}

/* Returns how many buffers were still registered in the last of ten laps. */
static uint32_t laps(uint32_t policy)
{
	uint32_t lap, i, there = 0;
	struct unic_xlate p;

	memset(buffer, 0, sizeof(buffer));
	evict_set_proc(0, 1, 0, policy);
	evict_params(0, 0);
	for (lap = 0; lap < 10; lap++)
		for (there = 0, i = 0; i < BUFFERS; i++) {
			if (buffer[i].wait) {
				there++;
			} else {
				buffer[i].stag = 0;
				register_buffer(i);
			}
			rig_run(&er, RESIDENCE_NS);
			assert_int_equal(
				unic_access(&er.nic.memory, buffer[i].stag,
					    (uint16_t)er_pd[0], 0,
					    0x40000000ull + i * 0x10000ull, 1,
					    &p),
				0);
		}
	return there;
}

/* P7 on a whole NIC: most buffers of a ring stay registered. */
static void a_ring_of_buffers_stays_mostly(void **state)
{
	(void)state;
	assert_int_equal(laps(UNIC_POLICY_LRU), 0);
	evict_up(state);
	assert_true(laps(UNIC_POLICY_DEFAULT) >= BUFFERS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(borrowed_entries_are_recalled_to_the_share),
		TEST(two_waiters_one_hoarder),
		TEST(lru_gives_the_longest_unused),
		TEST(lru_holds_for_many_regions),
		TEST(a_ring_of_buffers_stays_mostly),
		TEST(random_policy_spreads),
		TEST(young_regions_are_spared_for_borrowers_only),
		TEST(borrowers_do_not_thrash),
		TEST(reaper_spares_who_is_alone),
		TEST(reaper_spares_who_is_at_his_share),
		TEST(reaper_keeps_entries_free),
		TEST(ranks_follow_the_order_of_want),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
