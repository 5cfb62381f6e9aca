/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_fuzzed.c - defects found by the fuzzers (tests/fuzz), each in its
 * smallest form. */
#include "memory/cache.h"
#include "rig.h"
#include "unit.h"

static struct rig a;

/*
 * A doorbell page next to, or equal to, that of another slot is refused: the
 * page behind a doorbell page is the NIC's page. A NIC page as doorbell page
 * let the NIC wake itself with its `asleep` word each time it went to sleep.
 */
static void doorbells_of_others_are_refused(void **state)
{
	static const int at[] = { -1, 0, 1 };
	struct unic_cmd_proc_attach cmd = { .weight = unic_to_le32(1) };
	uint32_t i;

	(void)state;
	rig_up(&a, 1);
	cmd.proc = unic_to_le32(1);
	cmd.doorbell = unic_to_le64(UNIC_BUS(1, 16 * 4096));
	assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_ATTACH, &cmd, NULL), 0);
	cmd.proc = unic_to_le32(2);
	for (i = 0; i < 3; i++) {
		cmd.doorbell = unic_to_le64(
			UNIC_BUS(1, (uint64_t)(16 + at[i]) * 4096));
		assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_ATTACH, &cmd, NULL),
				 UNIC_ST_BUSY);
	}
	cmd.doorbell = unic_to_le64(UNIC_BUS(1, 18 * 4096));
	assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_ATTACH, &cmd, NULL), 0);
	rig_run(&a, 1000000);
}

static uint32_t promised(void)
{
	uint32_t i, sum = 0;

	for (i = 0; i < UNIC_PROCS; i++)
		sum += a.nic.promises.to[i];
	return sum;
}

/*
 * A process waits at its quota, and an entry that was released is promised to
 * it. When another process takes all free entries the promise ends; it used to
 * stay.
 */
static void promises_end_with_what_they_promise(void **state)
{
	struct unic_cmd_proc_set quota = { .proc = unic_to_le32(1),
					   .weight = unic_to_le32(1),
					   .quota = unic_to_le32(10) };
	struct unic_evt_mr notice;
	struct rig_mr mr, rest;
	uint32_t pd[2], i;

	(void)state;
	rig_up(&a, 1);
	for (i = 0; i < 2; i++) {
		rig_attach(&a, i, 1);
		pd[i] = rig_pd(&a, i);
	}
	assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_SET, &quota, NULL), 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(rig_reg(&a, 1, pd[1], 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &mr),
				 UNIC_ST_OK);
	assert_int_equal(rig_reg(&a, 1, pd[1], 4, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &mr),
			 UNIC_ST_PENDING);
	rig_run(&a, 5000000);
	rig_expect(&a, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(rig_answer(&a, &notice, UNIC_ANSWER_RELEASE, NULL, 0,
				    NULL),
			 UNIC_ST_OK);
	assert_int_equal(promised(), 1);
	assert_int_equal(rig_reg(&a, 0, pd[0], a.nic.tlb.free, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &rest),
			 UNIC_ST_OK);
	assert_int_equal(a.nic.tlb.free, 0);
	assert_int_equal(promised(), 0);
}

/* Restores region @index of @pd, as after a reset. */
static struct rig_mr restore(uint32_t pd, uint32_t index, uint32_t n,
			     uint8_t residency)
{
	struct unic_cmd_mr_reg c = {
		.flags = UNIC_REG_RESTORE,
		.residency = residency,
		.page_shift = 12,
		.pd = unic_to_le32(pd),
		.n_pages = unic_to_le32(n),
		.length = unic_to_le64(n * 4096ull),
		.stag = unic_to_le32(index << UNIC_MR_IDX_SHIFT),
	};
	struct unic_cpl_mr_reg cpl;
	struct rig_mr mr = { 0 };

	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_REG, &c, &cpl), UNIC_ST_OK);
	mr.mr = unic_from_le32(cpl.mr);
	mr.gen = unic_from_le32(cpl.gen);
	return mr;
}

/*
 * Two processes have all entries. Process 1 waits at its quota, and gives one back,
 * which is promised to it. Returns its PD; its DEMAND region is @demand.
 */
static uint32_t promise_the_only_free_entry(struct rig_mr *demand)
{
	struct unic_cmd_proc_set quota = { .proc = unic_to_le32(1),
					   .weight = unic_to_le32(1),
					   .quota = unic_to_le32(10) };
	struct unic_evt_mr notice;
	struct rig_mr mr;
	uint32_t pd[2], i;

	rig_up(&a, 1);
	for (i = 0; i < 2; i++) {
		rig_attach(&a, i, 1);
		pd[i] = rig_pd(&a, i);
	}
	assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_SET, &quota, NULL), 0);
	for (i = 0; i < 8; i++) {
		mr = restore(pd[1], i, 1, UNIC_RESIDENT);
		assert_int_equal(rig_fill(&a, 1, 1, &mr), UNIC_ST_OK);
	}
	*demand = restore(pd[1], 8, 4, UNIC_DEMAND);
	restore(pd[0], 9, a.nic.tlb.free, UNIC_RESIDENT);
	assert_int_equal(rig_reg(&a, 1, pd[1], 4, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &mr),
			 UNIC_ST_PENDING);
	rig_run(&a, 5000000);
	rig_expect(&a, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(rig_answer(&a, &notice, UNIC_ANSWER_RELEASE, NULL, 0,
				    NULL),
			 UNIC_ST_OK);
	assert_int_equal(a.nic.tlb.free, 1);
	assert_int_equal(promised(), 1);
	return pd[1];
}

/*
 * A page of the process that waits takes the entry that is promised to it, and
 * the promise ends. It used to stay, so that the next entry was promised to this
 * process, whomever it was taken back for.
 */
static void a_page_uses_up_the_promise_to_its_process(void **state)
{
	struct rig_mr demand;

	(void)state;
	(void)promise_the_only_free_entry(&demand);
	assert_int_equal(unic_cache_insert(&a.nic.memory, (uint16_t)demand.mr,
					   0, UNIC_BUS(1, 4096), true),
			 0);
	assert_int_equal(a.nic.tlb.free, 0);
	assert_int_equal(promised(), 0);
	assert_int_equal(a.nic.promises.all, 0);
}

/* A page that no operation waits for leaves the promise, and finds no room. */
static void a_prefetched_page_leaves_the_promise(void **state)
{
	struct rig_mr demand;

	(void)state;
	(void)promise_the_only_free_entry(&demand);
	assert_int_equal(unic_cache_insert(&a.nic.memory, (uint16_t)demand.mr,
					   0, UNIC_BUS(1, 4096), false),
			 -UNIC_EAGAIN);
	assert_int_equal(a.nic.tlb.free, 1);
	assert_int_equal(promised(), 1);
}

/* A region that is restored takes the entry that was promised. */
static void a_restored_region_ends_a_promise(void **state)
{
	struct rig_mr demand;
	uint32_t pd;

	(void)state;
	pd = promise_the_only_free_entry(&demand);
	restore(pd, 10, 1, UNIC_RESIDENT);
	assert_int_equal(a.nic.tlb.free, 0);
	assert_int_equal(promised(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doorbells_of_others_are_refused),
		cmocka_unit_test(promises_end_with_what_they_promise),
		cmocka_unit_test(a_page_uses_up_the_promise_to_its_process),
		cmocka_unit_test(a_prefetched_page_leaves_the_promise),
		cmocka_unit_test(a_restored_region_ends_a_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
