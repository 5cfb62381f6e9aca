/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_slots.c - the fault slots: faults for advised pages give way to faults
 * that operations wait for, and no process has more than its share of the slots
 * while another finds none (INV-20).
 */
#include "unit.h"

#include "memory/fault_answer.h"
#include "pair.h"

#define US    1000ull
#define MS    1000000ull
#define PAGES 512u /* of the hoarder's region */
#define SPAN  16u  /* pages of one fault */
#define FIRST 100u /* page of the window, behind the others' regions */
#define HALF  (UNIC_FAULTS / 2u)

static struct rig_mr mine, theirs; /* of ra, DEMAND: of process 0 and 1 */

static int up(void **state)
{
	(void)state;
	pair_up();
	rig_attach(&ra, 1, 1);
	assert_int_equal(rig_reg_cached(&ra, qa.pd, 64, UNIC_DEMAND, 0, &mine),
			 0);
	assert_int_equal(rig_reg_cached(&ra, rig_pd(&ra, 1), PAGES, UNIC_DEMAND,
					0, &theirs),
			 0);
	return 0;
}

static uint32_t slots_of(const struct rig_mr *mr)
{
	const struct unic_faults *ms = &ra.nic.faults;
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_FAULTS; i++)
		n += (ms->fault[i].state == UNIC_FAULT_DUE ||
		      ms->fault[i].state == UNIC_FAULT_SENT) &&
		     ms->fault[i].mr == mr->mr;
	return n;
}

/* An operation on @mr misses @n pages, too far apart to share a fault. */
static void miss(const struct rig_mr *mr, uint32_t at, uint32_t n)
{
	int r;

	for (; n; n--, at += SPAN) {
		r = unic_fault_raise(&ra.nic.memory, (uint16_t)mr->mr,
				     at % PAGES, 1);
		assert_true(r == -UNIC_EMISS || r == -UNIC_ENOPAGE);
	}
}

static void advise(void)
{
	rig_pages(&ra, &theirs, 0, PAGES, UNIC_ADVISE_WILL_NEED, NULL);
}

/* The next DEMAND event for @mr, if there is one; it stays unanswered. */
static bool told(const struct rig_mr *mr, struct unic_evt_miss *evt)
{
	while (rig_event(&ra, evt))
		if (evt->hdr.type == UNIC_EVT_MISS &&
		    unic_from_le32(evt->mr) == mr->mr)
			return true;
	return false;
}

static void answer(const struct rig_mr *mr, const struct unic_evt_miss *evt)
{
	uint32_t first = unic_from_le32(evt->first);

	assert_int_equal(rig_fault(&ra, mr, first, 1, unic_from_le32(evt->seq),
				   0, FIRST + first % 16, NULL),
			 0);
}

/* A WRITE of process 0 misses its page; the driver needs 50 us for it. */
static void write_in_time(uint32_t page)
{
	struct unic_evt_miss evt;

	rig_send(&ra, &qa, UNIC_WR_WRITE, page, &mine, page * 4096, 64, mb.iova,
		 mb.stag);
	pair_at_once();
	assert_true(told(&mine, &evt));
	pair_run(50 * US);
	answer(&mine, &evt);
	pair_run(1 * US);
	pair_expect(&ra, &qa, page, 0, 64);
	rig_pages(&ra, &mine, page, 1, UNIC_ADVISE_DONT_NEED, NULL);
}

/* Advice of a process, repeated while the driver brings none of the pages, does
 * not delay an operation of another process. */
static void advice_delays_nobody(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++) {
		advise();
		write_in_time(i);
		advise();
		pair_run(3 * MS);
	}
}

/* Advice of all processes together has at most half of the slots, and less when
 * operations need them. */
static void advice_has_half(void **state)
{
	(void)state;
	advise();
	advise();
	assert_int_equal(slots_of(&theirs), HALF);
	miss(&mine, 0, HALF);
	assert_int_equal(slots_of(&mine), HALF);
	assert_int_equal(slots_of(&theirs), HALF);
	/* operations take slots from advice */
	miss(&mine, 8, 4);
	assert_int_equal(slots_of(&mine), HALF + 4);
	assert_int_equal(slots_of(&theirs), HALF - 4);
	advise();
	assert_int_equal(slots_of(&theirs), HALF - 4);
}

/* An advised page that an operation waits for no longer counts as advice. */
static void advice_that_is_needed(void **state)
{
	(void)state;
	advise();
	miss(&theirs, 3, HALF);
	assert_int_equal(slots_of(&theirs), HALF);
	advise();
	assert_int_equal(slots_of(&theirs), HALF);
	miss(&mine, 0, HALF);
	assert_int_equal(slots_of(&mine), HALF);
	assert_int_equal(slots_of(&theirs), HALF);
	miss(&mine, 8, 1); /* each process has its share */
	assert_int_equal(slots_of(&mine), HALF);
	assert_int_equal(slots_of(&theirs), HALF);
}

/* Two processes that advise pages share the slots of advice. */
static void advice_is_shared(void **state)
{
	(void)state;
	advise();
	rig_pages(&ra, &mine, 0, 64, UNIC_ADVISE_WILL_NEED, NULL);
	assert_int_equal(slots_of(&mine), HALF / 2);
	assert_int_equal(slots_of(&theirs), HALF / 2);
	advise();
	assert_int_equal(slots_of(&mine), HALF / 2);
}

/* Operations of one process that wait in all slots do not delay an operation of
 * another process. */
static void hoarder_delays_nobody(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++) {
		miss(&theirs, i, UNIC_FAULTS + 4);
		if (!i)
			assert_int_equal(slots_of(&theirs), UNIC_FAULTS);
		write_in_time(i);
		miss(&theirs, i + 5, UNIC_FAULTS + 4);
		pair_run(3 * MS);
	}
}

/* An operation that finds no slot takes one back from the process above its
 * share; afterwards one slot stays free for the next such operation, so that
 * slots are not taken back again and again. */
static void taken_back_once(void **state)
{
	struct unic_evt_miss evt;
	uint32_t events;

	(void)state;
	miss(&theirs, 0, UNIC_FAULTS);
	write_in_time(0);
	events = (uint32_t)rig_count(&ra, miss_events);
	assert_int_equal(slots_of(&theirs), UNIC_FAULTS - 1);
	miss(&theirs, UNIC_FAULTS * SPAN, 4);
	assert_int_equal(slots_of(&theirs), UNIC_FAULTS - 1);
	write_in_time(1);
	assert_int_equal(slots_of(&theirs), UNIC_FAULTS - 1);
	assert_int_equal(rig_count(&ra, miss_events), events + 1);
	while (rig_event(&ra, &evt))
		;
}

/* A process that is alone may have all slots again. */
static void alone_again(void **state)
{
	(void)state;
	miss(&theirs, 0, UNIC_FAULTS);
	write_in_time(0);
	pair_run(200 * MS);
	assert_int_equal(slots_of(&theirs), 0);
	miss(&theirs, 1, UNIC_FAULTS);
	assert_int_equal(slots_of(&theirs), UNIC_FAULTS);
}

/* A process keeps the slots of its share. */
static void share_is_kept(void **state)
{
	(void)state;
	miss(&theirs, 0, HALF);
	miss(&mine, 0, HALF);
	assert_int_equal(slots_of(&mine), HALF);
	miss(&mine, 8, 2);
	miss(&theirs, 8, 2);
	assert_int_equal(slots_of(&mine), HALF);
	assert_int_equal(slots_of(&theirs), HALF);
}

/* A fault whose slot was taken back is requested again when there is a slot; if
 * its page comes before, the operation goes on. */
static void who_lost_a_slot_goes_on(void **state)
{
	struct unic_evt_miss evt, again;
	struct rig_mr more;

	(void)state;
	assert_int_equal(
		rig_reg_cached(&ra, qa.pd, PAGES, UNIC_DEMAND, 0, &more), 0);
	miss(&more, 0, UNIC_FAULTS - 1);
	pair_run(1 * US);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 77, &mine, 0, 64, mb.iova, mb.stag);
	pair_run(1 * US);
	assert_true(told(&mine, &evt));
	assert_int_equal(slots_of(&mine), 1);
	miss(&theirs, 0, 1); /* takes back the slot of @mine */
	assert_int_equal(slots_of(&mine), 0);
	answer(&mine, &evt);
	pair_run(200 * US);
	pair_expect(&ra, &qa, 77, 0, 64);
	/* once more, without an answer */
	rig_pages(&ra, &mine, 0, 1, UNIC_ADVISE_DONT_NEED, NULL);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 78, &mine, 0, 64, mb.iova, mb.stag);
	pair_run(100 * US);
	assert_int_equal(slots_of(&mine), 0); /* @more has the whole share */
	assert_int_equal(slots_of(&more), UNIC_FAULTS - 1);
	assert_int_equal(
		unic_fault_refused(&ra.nic.memory,
				   &(struct unic_cmd_mr_fault){
					   .mr = unic_to_le32(more.mr),
					   .gen = unic_to_le32(more.gen),
					   .count = unic_to_le32(PAGES),
					   .cannot = unic_to_le32(1) },
				   NULL, &(uint32_t){ 0 }),
		0);
	pair_run(100 * US);
	assert_true(told(&mine, &again));
	answer(&mine, &again);
	pair_run(1 * US);
	pair_expect(&ra, &qa, 78, 0, 64);
}

/* Advice on a page table looks at a bounded number of pages, present or not. */
static void advice_on_a_table_is_bounded(void **state)
{
	struct rig_mr table;
	uint32_t i, done;

	(void)state;
	for (i = 0; i < 80; i++)
		rig_table(&ra, i, 0, FIRST);
	memset(rig_words(&ra), 0, 64 * 8);
	assert_int_equal(rig_reg_cached(&ra, qa.pd, 80, UNIC_TABLE, 0, &table),
			 0);
	assert_int_equal(
		rig_pages(&ra, &table, 0, 80, UNIC_ADVISE_WILL_NEED, &done), 0);
	assert_int_equal(done, 0);
	assert_int_equal(rig_pages(&ra, &table, 60, 20, UNIC_ADVISE_WILL_NEED,
				   &done),
			 0);
	assert_int_equal(done, 16);
}

/* A process with three quarters of the weight has three quarters of the
 * slots. */
static void slots_by_weight(void **state)
{
	struct unic_cmd_proc_set set = { .proc = unic_to_le32(1),
					 .weight = unic_to_le32(3) };

	(void)state;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_PROC_SET, &set, NULL), 0);
	miss(&theirs, 0, UNIC_FAULTS);
	miss(&mine, 0, HALF);
	assert_int_equal(slots_of(&mine), UNIC_FAULTS / 4);
	assert_int_equal(slots_of(&theirs), UNIC_FAULTS * 3 / 4);
}

/* A queue pair that waits for a slot no longer waits after its reset. */
static void who_finds_no_slot_can_go(void **state)
{
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qa.proc),
					  .qpn = unic_to_le32(qa.qpn),
					  .state = UNIC_QPS_RESET };
	uint16_t idx = qa.qpn & 0xff;
	struct rig_mr more;

	(void)state;
	assert_int_equal(
		rig_reg_cached(&ra, qa.pd, PAGES, UNIC_DEMAND, 0, &more), 0);
	miss(&more, 0, UNIC_FAULTS - 1);
	miss(&theirs, 0, 1);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 77, &mine, 0, 64, mb.iova, mb.stag);
	pair_run(1 * US);
	assert_int_equal(slots_of(&mine), 0);
	assert_true(unic_fault_waits(&ra.nic.memory, idx));
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
	assert_false(unic_fault_waits(&ra.nic.memory, idx));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(advice_delays_nobody, up),
		cmocka_unit_test_setup(advice_has_half, up),
		cmocka_unit_test_setup(advice_that_is_needed, up),
		cmocka_unit_test_setup(advice_is_shared, up),
		cmocka_unit_test_setup(hoarder_delays_nobody, up),
		cmocka_unit_test_setup(taken_back_once, up),
		cmocka_unit_test_setup(alone_again, up),
		cmocka_unit_test_setup(share_is_kept, up),
		cmocka_unit_test_setup(who_lost_a_slot_goes_on, up),
		cmocka_unit_test_setup(who_finds_no_slot_can_go, up),
		cmocka_unit_test_setup(advice_on_a_table_is_bounded, up),
		cmocka_unit_test_setup(slots_by_weight, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
