/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_reap.c - the choice of victims: `random` among regions of which some are
 * too young, another victim after an extension, known regions, and the trace
 * records of choices.
 */
#include "memory/access.h"
#include "revoke/reclaim.h"
#include "rig.h"
#include "unit.h"

#define RESIDENCE_NS 5000000ull
#define N	     UNIC_TLB_ENTRIES
#define ROUNDS	     300u

static struct rig r;
static uint32_t pd[2];

static void set_up(void)
{
	struct unic_cmd_set_params p = { .flags = unic_to_le32(
						 UNIC_PARAM_WATERMARKS) };
	uint32_t i;

	rig_up(&r, 1);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
	for (i = 0; i < 2; i++) {
		rig_attach(&r, i, 1);
		pd[i] = rig_pd(&r, i);
	}
	rig_run(&r, 10 * RESIDENCE_NS);
}

static void reg(uint32_t proc, uint32_t pages, struct rig_mr *mr)
{
	assert_int_equal(rig_reg(&r, proc, pd[proc], pages, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, mr),
			 UNIC_ST_OK);
}

static void wait_for(uint32_t proc, uint32_t pages)
{
	struct rig_mr mr;

	assert_int_equal(rig_reg(&r, proc, pd[proc], pages, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &mr),
			 UNIC_ST_PENDING);
}

static void policy_of(uint32_t proc, uint32_t policy)
{
	struct unic_cmd_proc_set c = { .proc = unic_to_le32(proc),
				       .weight = unic_to_le32(1),
				       .policy = unic_to_le32(policy) };

	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_SET, &c, NULL), 0);
}

/*
 * For the request of a borrower two regions are old enough and the three
 * between them are not: each of the two is chosen half of the time, the young
 * ones never.
 */
static void random_among_the_old(void **state)
{
	uint32_t hits[5] = { 0 }, round, i;
	struct rig_mr m[5];
	uint64_t rng;

	(void)state;
	set_up();
	policy_of(0, UNIC_POLICY_RANDOM);
	for (i = 0; i < 5; i++)
		reg(0, 1, &m[i]);
	for (i = 0; i < 5; i++) /* the first and the last are old */
		if (i == 0 || i == 4)
			r.nic.mrs.mr[m[i].mr].since_ns -= 2 * RESIDENCE_NS;
	for (round = 1; round <= ROUNDS; round++) {
		uint16_t got;

		rng = 0x9e3779b97f4a7c15ull * round;
		r.nic.pains.state.rng = rng;
		got = unic_reclaim_pick(&r.nic.revoke, 0, 1, true);
		for (i = 0; i < 5 && m[i].mr != got; i++)
			;
		assert_true(i < 5);
		hits[i]++;
	}
	assert_int_equal(hits[1] + hits[2] + hits[3], 0);
	assert_in_range(hits[0], ROUNDS * 2 / 5, ROUNDS * 3 / 5);
	assert_in_range(hits[4], ROUNDS * 2 / 5, ROUNDS * 3 / 5);
}

/* A region that was asked for to serve a waiter gets an extension. The waiter
 * does not wait for its end: another region is asked for in the same round. */
static void next_one_after_an_extension(void **state)
{
	struct unic_evt_mr evt, next;
	struct rig_mr m[2], mine;

	(void)state;
	set_up();
	/* process 1 stays below its share here ... */
	reg(1, N / 2 - 1, &mine);
	reg(0, N / 4, &m[0]);
	reg(0, N - N / 2 + 1 - N / 4, &m[1]);
	rig_run(&r, 2 * RESIDENCE_NS);
	wait_for(1, N / 4); /* ... and exceeds the share here: it borrows */
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&r, &evt), UNIC_ST_OK);
	assert_false(rig_event(&r, &next));
	assert_int_equal(rig_answer(&r, &evt, UNIC_ANSWER_EXTEND, NULL, 5000,
				    NULL),
			 UNIC_ST_OK);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_NOTICE, &next);
	assert_int_not_equal(unic_from_le32(next.mr), unic_from_le32(evt.mr));
}

/* An evicted range is recognised when it is registered again. */
static void taken_back_is_known_again(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, mine;
	uint32_t i, ghosts = 0;

	(void)state;
	set_up();
	reg(0, N, &m);
	rig_run(&r, 2 * RESIDENCE_NS);
	wait_for(1, 1);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m.mr);
	for (i = 0; i < UNIC_GHOSTS; i++)
		ghosts += r.nic.candidates.ghost[i].tag != 0;
	assert_int_equal(ghosts, 1);
	assert_int_equal(rig_answer(&r, &evt, UNIC_ANSWER_RELEASE, NULL, 0,
				    NULL),
			 UNIC_ST_OK);
	reg(0, N / 2, &mine);
	r.nic.mrs.mr[mine.mr].iova = r.nic.mrs.mr[m.mr].iova;
	r.nic.mrs.mr[mine.mr].length = r.nic.mrs.mr[m.mr].length;
	unic_policy_meet(&r.nic.candidates.chooser[0],
			 unic_candidate_identity(&r.nic.mrs.mr[mine.mr]));
	assert_int_equal(r.nic.candidates.item[mine.mr].main, 1);
}

/* Returns the number of trace records of @code, and the last of them. */
static uint32_t traced(uint32_t code, const struct unic_trace_rec **last)
{
	const struct unic_trace_rec *ring =
		(const void *)(r.port.bar + UNIC_BAR_TRACE_OFF);
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_TRACE_ENTRIES; i++)
		if (unic_from_le32(ring[i].seq) == i + 1 &&
		    unic_from_le16(ring[i].code) == code) {
			*last = &ring[i];
			n++;
		}
	return n;
}

/* A choice has one trace record, with the pain of the process: bytes per entry,
 * which decay. */
static void choices_are_traced(void **state)
{
	const struct unic_trace_rec *t = NULL;
	struct unic_evt_mr evt;
	struct rig_mr m, mine;

	(void)state;
	set_up();
	reg(1, N / 2 + 1, &mine);
	reg(0, N - N / 2 - 1, &m);
	rig_run(&r, 2 * RESIDENCE_NS);
	unic_mr_used(&r.nic.memory, &r.nic.mrs.mr[mine.mr], 1000 * (N / 2 + 1));
	wait_for(0, 1); /* within its share */
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(traced(UNIC_T_CHOSE, &t), 1);
	assert_int_equal(unic_from_le16(t->proc), 1);
	assert_int_equal(unic_from_le32(t->arg[0]), mine.mr);
	assert_int_equal(unic_from_le32(t->arg[1]), N / 2 + 1);
	assert_in_range(unic_from_le32(t->arg[2]), 900, 1000);
	assert_int_equal(unic_from_le32(t->arg[2]), unic_from_le32(evt.pain));
	assert_int_equal(unic_from_le32(t->arg[3]), UNIC_WHY_FAIR_SHARE);
	assert_int_equal(traced(UNIC_T_SPARED, &t), 0);
}

/* A borrower needs more than one region of another borrower. After the first
 * notice the victim is spared for the minimum residence, and the trace records
 * this. */
static void sparing_is_traced(void **state)
{
	const struct unic_trace_rec *t = NULL;
	struct unic_evt_mr evt;
	struct rig_mr m[4];
	uint32_t i;

	(void)state;
	set_up();
	for (i = 0; i < 4; i++)
		reg(0, N / 4, &m[i]);
	rig_run(&r, 2 * RESIDENCE_NS);
	wait_for(1, N / 2 + 1); /* more than its share: it borrows */
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
	assert_int_equal(traced(UNIC_T_CHOSE, &t), 1);
	assert_true(traced(UNIC_T_SPARED, &t) > 0);
	assert_int_equal(unic_from_le16(t->proc), 0);
}

/* What went through a region does not count for the next one of its index: neither
 * for its choice, nor in the row that the host reads. */
static void next_region_of_an_index_has_no_pain(void **state)
{
	const struct unic_use_row *row;
	uint32_t i, idx, tries = 0;
	struct rig_mr m;

	(void)state;
	set_up();
	for (i = 0; i < 2; i++) { /* its index is free, or rests for a while */
		reg(0, 1, &m);
		idx = m.mr;
		r.nic.mrs.mr[idx].bytes = 1u << 20;
		r.nic.mrs.mr[idx].uses = 9;
		r.nic.candidates.pain[idx] = (struct unic_pain){
			.value = 5000, .at = (uint32_t)(r.nic.now_ns >> 16)
		};
		if (i)
			m.gen = r.nic.mrs.mr[idx].gen = UINT16_MAX;
		assert_int_equal(rig_dereg(&r, &m), UNIC_ST_OK);
		assert_int_equal(r.nic.candidates.pain[idx].value, 0);
	}
	rig_run(&r, 10000000000ull);
	do {
		reg(0, 1, &m);
		if (m.mr != idx)
			assert_int_equal(rig_dereg(&r, &m), UNIC_ST_OK);
	} while (m.mr != idx && ++tries < 100 * UNIC_MRS);
	assert_int_equal(m.mr, idx);
	assert_int_equal(r.nic.candidates.pain[idx].value, 0);
	rig_run(&r, 2000000000ull);
	row = (const void *)(r.port.bar + UNIC_BAR_USE_OFF + 32 * idx);
	assert_int_equal(unic_from_le32(row->stag), m.stag);
	assert_int_equal(unic_from_le32(row->rate), 0);
	assert_int_equal(unic_from_le64(row->bytes), 0);
	assert_int_equal(unic_from_le32(row->uses), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_among_the_old),
		cmocka_unit_test(next_one_after_an_extension),
		cmocka_unit_test(taken_back_is_known_again),
		cmocka_unit_test(choices_are_traced),
		cmocka_unit_test(sparing_is_traced),
		cmocka_unit_test(next_region_of_an_index_has_no_pain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
