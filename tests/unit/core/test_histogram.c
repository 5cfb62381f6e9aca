/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_histogram.c - how long waits, graces and misses took, as DUMP shows it. */
#include "unit.h"

#include "evict_rig.h"
#include "memory/fault.h"

#define US 1000ull

static uint32_t count[UNIC_HIST_COUNT][UNIC_HIST_BUCKETS];

/* Reads all histograms by one command. Returns the status. */
static uint8_t read_all(void)
{
	struct unic_cmd_dump cmd = { .table = unic_to_le32(
					     UNIC_TABLE_HISTOGRAM) };
	const struct unic_row_histogram *row =
		(const void *)(er.port.bar + UNIC_BAR_LIST_OFF +
			       er.cmd_tail % UNIC_CMD_ENTRIES *
				       UNIC_LIST_BYTES);
	struct unic_cpl_dump cpl;
	uint8_t status = rig_cmd(&er, UNIC_CMD_DUMP, &cmd, &cpl);
	uint32_t i, b, n = 0;

	if (status)
		return status;
	assert_int_equal(unic_from_le32(cpl.next), 0);
	for (i = 0; i < unic_from_le32(cpl.rows); i++, row++)
		for (b = 0; b < UNIC_HIST_ROW; b++, n++)
			count[unic_from_le32(row->which)]
			     [unic_from_le32(row->first) + b] =
				     unic_from_le32(row->count[b]);
	assert_int_equal(n, UNIC_HIST_COUNT * UNIC_HIST_BUCKETS);
	return 0;
}

/* Histogram @which has @n of @ns, and nothing else. */
static void has_only(enum unic_histogram which, uint64_t ns, uint32_t n)
{
	uint32_t b, all = 0;

	assert_int_equal(read_all(), 0);
	for (b = 0; b < UNIC_HIST_BUCKETS; b++)
		all += count[which][b];
	assert_int_equal(count[which][unic_histogram_bucket(ns)], n);
	assert_int_equal(all, n);
}

static void buckets_are_powers_of_two(void **state)
{
	uint32_t n;

	(void)state;
	assert_int_equal(unic_histogram_bucket(0), 0);
	assert_int_equal(unic_histogram_bucket(999), 0);
	for (n = 1; n < UNIC_HIST_BUCKETS; n++) {
		assert_int_equal(unic_histogram_bucket(US << (n - 1)), n);
		assert_int_equal(unic_histogram_bucket((US << (n - 1)) - 1),
				 n - 1);
	}
	assert_int_equal(unic_histogram_bucket(US << UNIC_HIST_BUCKETS),
			 UNIC_HIST_BUCKETS - 1);
	assert_int_equal(unic_histogram_bucket(UINT64_MAX),
			 UNIC_HIST_BUCKETS - 1);
}

static struct unic_evt_mr ask(const struct rig_mr *m)
{
	struct unic_cmd_mr c = { .mr = unic_to_le32(m->mr),
				 .gen = unic_to_le32(m->gen) };
	struct unic_evt_mr evt;

	assert_int_equal(rig_cmd(&er, UNIC_CMD_MR_EVICT, &c, NULL), 0);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	return evt;
}

/* From the delivery on, whatever that took. */
static void graces_that_owners_used(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	evict_reg_ok(0, 4, &m);
	evt = ask(&m);
	rig_run(&er, 7000 * US);
	assert_int_equal(rig_ack(&er, &evt), 0);
	rig_run(&er, 600 * US);
	assert_int_equal(
		rig_answer(&er, &evt, UNIC_ANSWER_RELEASE, NULL, 0, NULL), 0);
	has_only(UNIC_HIST_GRACE, 600 * US, 1);
}

static void grace_that_ran_out(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	evict_reg_ok(0, 4, &m);
	evt = ask(&m);
	assert_int_equal(rig_ack(&er, &evt), 0);
	rig_run(&er, T_NS + 1);
	has_only(UNIC_HIST_GRACE, T_NS, 1);
}

/* A region that its owner ends before it has heard of the notice had no grace. */
static void no_grace_had_begun(void **state)
{
	struct rig_mr m;

	(void)state;
	evict_reg_ok(0, 4, &m);
	ask(&m);
	rig_run(&er, 600 * US);
	rig_dereg(&er, &m);
	has_only(UNIC_HIST_GRACE, 0, 0);
}

static void waits_that_were_granted(void **state)
{
	struct rig_mr m;
	uint32_t wait;

	(void)state;
	evict_reg_ok(0, N, &m);
	wait = evict_wait_for(1, 1, 0);
	evict_cancel(evict_wait_for(2, 1, 0));
	evict_drop_events(UNIC_EVT_NOTICE);
	rig_run(&er, 300 * US);
	rig_dereg(&er, &m);
	rig_poll(&er);
	assert_int_equal(rig_count(&er, waits_granted), 1);
	assert_int_not_equal(wait, 0);
	has_only(UNIC_HIST_WAIT, 300 * US, 1);
}

static void misses_that_were_filled(void **state)
{
	struct unic_evt_miss evt;
	struct rig_mr m;
	uint32_t done, seq;

	(void)state;
	assert_int_equal(rig_reg_cached(&er, er_pd[0], 4, UNIC_DEMAND, 0, &m),
			 0);
	assert_int_equal(unic_fault_raise(&er.nic.memory, (uint16_t)m.mr, 0, 1),
			 -UNIC_EMISS);
	rig_run(&er, 40 * US);
	rig_expect(&er, UNIC_EVT_MISS, &evt);
	seq = unic_from_le32(evt.seq);
	assert_int_equal(rig_fault(&er, &m, 0, 1, seq, 0, 40, &done), 0);
	has_only(UNIC_HIST_MISS, 40 * US, 1);
	/* what nobody waits for is no miss */
	assert_int_equal(rig_pages(&er, &m, 1, 1, UNIC_ADVISE_WILL_NEED, &done),
			 0);
	rig_run(&er, 40 * US);
	assert_int_equal(rig_fault(&er, &m, 1, 1, seq, 0, 41, &done), 0);
	has_only(UNIC_HIST_MISS, 40 * US, 1);
}

/* As the counters do. */
static void counts_outlive_a_reset(void **state)
{
	(void)state;
	unic_histogram_add(&er.nic.histograms, UNIC_HIST_WAIT, 5 * US);
	rig_reset(&er);
	has_only(UNIC_HIST_WAIT, 5 * US, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_are_powers_of_two),
		TEST(graces_that_owners_used),
		TEST(grace_that_ran_out),
		TEST(no_grace_had_begun),
		TEST(waits_that_were_granted),
		TEST(misses_that_were_filled),
		TEST(counts_outlive_a_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
