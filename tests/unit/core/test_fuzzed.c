/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_fuzzed.c - defects found by the fuzzers (tests/fuzz), each in its
 * smallest form. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doorbells_of_others_are_refused),
		cmocka_unit_test(promises_end_with_what_they_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
