/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_use.c - the uses of a region: through derived regions, as processes
 * report them, in the tables and the trace; and the indices that derived
 * regions may hold.
 */
#include "revoke/reclaim.h"
#include "rig.h"
#include "unit.h"
#include "memory/access.h"

#define PAGE 4096u
#define MS   1000000ull
#define RW   (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)
#define N    4u

static struct rig r;
static struct rig_mr mr[N];
static uint32_t pd;

static void set_params(uint32_t flags)
{
	struct unic_cmd_set_params p = { .flags = unic_to_le32(flags) };

	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
}

static void set_policy(uint32_t proc, uint32_t policy)
{
	struct unic_cmd_proc_set c = { .proc = unic_to_le32(proc),
				       .weight = unic_to_le32(1),
				       .policy = unic_to_le32(policy) };

	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_SET, &c, NULL), 0);
}

static int setup(void **state)
{
	struct unic_cmd_mr_rereg c = { .what = UNIC_REREG_RIGHTS,
				       .rights = UNIC_MR_RIGHTS_ALL };
	uint32_t i;

	(void)state;
	rig_up(&r, 1);
	set_params(UNIC_PARAM_WATERMARKS);
	rig_attach(&r, 0, 1);
	set_policy(0, UNIC_POLICY_LRU);
	pd = rig_pd(&r, 0);
	for (i = 0; i < N; i++) {
		assert_int_equal(rig_reg(&r, 0, pd, 2, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &mr[i]),
				 0);
		c.mr = unic_to_le32(mr[i].mr);
		c.gen = unic_to_le32(mr[i].gen);
		assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_REREG, &c, NULL), 0);
		rig_run(&r, MS);
	}
	return 0;
}

static struct unic_mr_ctx *nic_mr(const struct rig_mr *m)
{
	return &r.nic.mrs.mr[m->mr];
}

static void use(const struct rig_mr *m, uint32_t off, uint32_t len)
{
	struct unic_xlate p;

	assert_int_equal(unic_access(&r.nic.memory, m->stag, (uint16_t)pd, 0,
				     m->iova + off, len, &p),
			 0);
}

/* Returns the next victim. */
static uint16_t pick(void)
{
	uint16_t found = unic_reclaim_pick(&r.nic.revoke, 0, 1, false);

	return unic_reclaim_beside(&r.nic.revoke, 0, found, 1, false);
}

/* -------------------------------------------------------------------- forms */

static uint8_t alloc(uint32_t of, uint8_t kind, uint32_t n, struct rig_mr *out)
{
	struct unic_cmd_mr_alloc c = {
		.pd = unic_to_le32(of),
		.kind = kind,
		.page_shift = kind == UNIC_FORM_FAST ? 12 : 0,
		.n = unic_to_le32(n),
	};
	struct unic_cpl_mr_reg cpl;
	uint8_t status = rig_cmd(&r, UNIC_CMD_MR_ALLOC, &c, &cpl);

	memset(out, 0, sizeof(*out));
	out->mr = unic_from_le32(cpl.mr);
	out->gen = unic_from_le32(cpl.gen);
	return status;
}

/* Makes a derived region of @bytes of each of the first @n regions of @of. */
static void form(uint8_t kind, const struct rig_mr *of, uint32_t n,
		 uint32_t bytes, struct rig_mr *out)
{
	struct unic_sge *list =
		(void *)(r.port.bar + UNIC_BAR_LIST_OFF +
			 (r.cmd_tail + 1) % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	struct unic_cmd_mr_make c = { .n = unic_to_le32(n), .rights = RW };
	struct unic_cpl_mr_reg cpl;
	uint32_t i;

	assert_int_equal(alloc(pd, kind, kind >= UNIC_FORM_FAST ? n : 0, out),
			 0);
	for (i = 0; i < n; i++)
		list[i] = (struct unic_sge){
			.iova = unic_to_le64(of[i].iova),
			.len = unic_to_le32(bytes),
			.lkey = unic_to_le32(of[i].stag),
		};
	out->iova = 64 * PAGE;
	c.mr = unic_to_le32(out->mr);
	c.gen = unic_to_le32(out->gen);
	c.iova = unic_to_le64(out->iova);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_MAKE, &c, &cpl), 0);
	out->stag = unic_from_le32(cpl.stag);
}

/* A region is not the victim while its sub-region was used lately. */
static void form_keeps_its_region(void **state)
{
	struct rig_mr sub;
	uint32_t bytes;

	(void)state;
	form(UNIC_FORM_SUB, mr, 1, PAGE, &sub);
	assert_int_equal(pick(), mr[0].mr);
	rig_run(&r, MS);
	bytes = nic_mr(&mr[0])->bytes;
	use(&sub, 0, 100);
	use(&sub, 100, 200);
	assert_int_equal(nic_mr(&mr[0])->uses, 0); /* before the first sweep */
	assert_int_equal(pick(), mr[1].mr);
	assert_int_equal(nic_mr(&mr[0])->uses, 2);
	assert_int_equal(nic_mr(&mr[0])->bytes - bytes, 300);
	assert_true(nic_mr(&mr[0])->last_use_ns == r.nic.now_ns);
	/* each use counts once */
	assert_int_equal(pick(), mr[1].mr);
	assert_int_equal(nic_mr(&mr[0])->uses, 2);
}

/* A use of a derived region that is older than the last use of its region is
 * counted, and does not change the time of the last use. */
static void form_was_used_before(void **state)
{
	struct rig_mr sub;
	uint64_t last_ns;

	(void)state;
	form(UNIC_FORM_SUB, mr, 1, PAGE, &sub);
	use(&sub, 0, 8);
	rig_run(&r, MS);
	use(&mr[0], 0, 8);
	last_ns = nic_mr(&mr[0])->last_use_ns;
	assert_int_equal(nic_mr(&mr[0])->uses, 1);
	rig_run(&r, MS);
	unic_usage_fold(&r.nic.memory, (uint16_t)sub.mr);
	assert_int_equal(nic_mr(&mr[0])->uses, 2);
	assert_true(nic_mr(&mr[0])->last_use_ns == last_ns);
}

/* A use of a sub-region of an indirect region counts for all regions behind
 * it. */
static void nested_forms_keep_theirs(void **state)
{
	struct rig_mr list, sub;

	(void)state;
	form(UNIC_FORM_INDIRECT, mr, 3, PAGE, &list);
	form(UNIC_FORM_SUB, &list, 1, 3 * PAGE, &sub);
	rig_run(&r, MS);
	use(&sub, 0, 64);
	assert_int_equal(pick(), mr[3].mr);
	assert_int_equal(nic_mr(&list)->uses, 1);
	assert_int_equal(nic_mr(&mr[0])->uses, 1);
	assert_true(nic_mr(&mr[0])->last_use_ns == r.nic.now_ns);
}

/* Uses of a derived region still count after it is invalidated, and only once
 * after its index is used again. */
static void unmade_form_was_used(void **state)
{
	struct rig_mr list;
	struct unic_cmd_mr c = { 0 };

	(void)state;
	form(UNIC_FORM_INDIRECT, mr, 2, PAGE, &list);
	use(&list, 0, 64);
	use(&list, 64, 64);
	c.mr = unic_to_le32(list.mr);
	c.gen = unic_to_le32(list.gen);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_INVAL, &c, NULL), 0);
	assert_int_equal(nic_mr(&mr[0])->uses, 2);
	assert_int_equal(nic_mr(&mr[1])->uses, 2);
	assert_int_equal(nic_mr(&mr[0])->bytes, 64); /* half each */
	assert_int_equal(rig_dereg(&r, &list), 0);
	form(UNIC_FORM_SUB, mr, 1, PAGE, &list);
	use(&list, 0, 10);
	unic_usage_fold(&r.nic.memory, (uint16_t)list.mr);
	assert_int_equal(nic_mr(&mr[0])->uses, 3);
}

/* When the derived regions of all regions were used lately, a victim is found
 * all the same, after a bounded search. */
static void everybody_was_used(void **state)
{
	struct rig_mr sub[N];
	uint32_t i;

	(void)state;
	for (i = 0; i < N; i++)
		form(UNIC_FORM_SUB, &mr[i], 1, PAGE, &sub[i]);
	rig_run(&r, MS);
	for (i = 0; i < N; i++)
		use(&sub[i], 0, 1);
	assert_in_range(pick(), 0, UNIC_MRS - 1);
}

/* Derived regions that are allocated and not used hold indices that cannot be
 * asked back: a process may have some of them, and all processes together half
 * of the table, so that others find indices. */
static void indices_are_not_hoarded(void **state)
{
	uint32_t other, third, got = 0, most = UNIC_MRS / 4, i;
	struct unic_cpl_usage u;
	struct unic_cmd_mr_alloc c = { .kind = UNIC_FORM_WINDOW2 };
	struct rig_mr f[UNIC_MRS], x;
	uint8_t status;

	(void)state;
	rig_attach(&r, 1, 1);
	rig_attach(&r, 2, 1);
	other = rig_pd(&r, 1);
	third = rig_pd(&r, 2);
	assert_int_equal(rig_reg(&r, 1, other, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &x),
			 0);
	while (alloc(pd, UNIC_FORM_WINDOW2, 0, &f[got]) == UNIC_ST_OK)
		got++;
	assert_int_equal(got, most);
	assert_int_equal(r.nic.derived.bare[0], most);
	c.pd = unic_to_le32(pd);
	status = rig_cmd(&r, UNIC_CMD_MR_ALLOC, &c, &u);
	assert_int_equal(status, UNIC_ST_MR_FULL);
	assert_int_equal(unic_from_le32(u.table), UNIC_TABLE_MR);
	/* regions that can be asked back are not limited, those that cannot
	 * are */
	assert_int_equal(alloc(pd, UNIC_FORM_FAST, 1, &x), UNIC_ST_OK);
	assert_int_equal(rig_reg_cached(&r, pd, 4, UNIC_DEMAND, 0, &x),
			 UNIC_ST_MR_FULL);
	/* the other processes have their part, and room for regions */
	for (i = 0; i < most; i++)
		assert_int_equal(alloc(other, UNIC_FORM_WINDOW2, 0, &x), 0);
	for (i = 0; i < UNIC_MRS / UNIC_PROCS / 4; i++)
		assert_int_equal(alloc(third, UNIC_FORM_WINDOW2, 0, &x), 0);
	assert_int_equal(alloc(third, UNIC_FORM_WINDOW2, 0, &x),
			 UNIC_ST_MR_FULL);
	assert_int_equal(rig_reg(&r, 2, third, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &x),
			 0);
	for (i = 0; i < got; i++)
		assert_int_equal(rig_dereg(&r, &f[i]), 0);
	assert_int_equal(r.nic.derived.bare[0], 0);
}

/* The dump of regions shows the kind and the dependents of each, as `unicctl
 * mr` prints them. */
static void rows_say_kind_and_dependents(void **state)
{
	struct unic_cmd_dump c = { .table = unic_to_le32(UNIC_TABLE_MR) };
	const struct unic_row_mr *rows =
		(void *)(r.port.bar + UNIC_BAR_LIST_OFF +
			 (r.cmd_tail + 4) % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	struct unic_cpl_dump cpl;
	struct rig_mr list, sub;
	uint32_t i, seen = 0;

	(void)state;
	form(UNIC_FORM_INDIRECT, mr, 2, PAGE, &list);
	form(UNIC_FORM_SUB, &list, 1, PAGE, &sub);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &c, &cpl), 0);
	for (i = 0; i < unic_from_le32(cpl.rows); i++) {
		uint32_t idx = unic_from_le32(rows[i].index), deps;

		deps = unic_from_le16(rows[i].dependents);
		if (idx == mr[0].mr || idx == mr[1].mr) {
			assert_int_equal(rows[i].kind, UNIC_FORM_PLAIN);
			assert_int_equal(deps, 2);
			seen++;
		} else if (idx == list.mr) {
			assert_int_equal(rows[i].kind, UNIC_FORM_INDIRECT);
			assert_int_equal(deps, 1);
			seen++;
		} else if (idx == sub.mr) {
			assert_int_equal(rows[i].kind, UNIC_FORM_SUB);
			assert_int_equal(deps, 0);
			seen++;
		}
		assert_int_equal(unic_from_le16(rows[i].pd), pd);
	}
	assert_int_equal(seen, 4);
}

/* ------------------------------------------------------------------ reports */

static void report(const struct rig_mr *m)
{
	struct unic_db_page *db = (void *)r.port.window[0];

	db->used[m->mr] = unic_to_le32(unic_from_le32(db->used[m->mr]) + 1);
}

static void reported_uses_decide(void **state)
{
	uint32_t i;

	(void)state;
	report(&mr[3]); /* before reports count: without effect */
	set_params(UNIC_PARAM_USES_REPORTED);
	assert_int_equal(r.nic.candidates.chooser[0].kind, UNIC_POLICY_RANDOM);
	rig_run(&r, 2 * MS);
	assert_int_equal(r.nic.candidates.chooser[0].kind, UNIC_POLICY_RANDOM);
	for (i = 0; i < N; i++) {
		report(&mr[(i + 2) % N]);
		rig_run(&r, 4 * MS);
	}
	/* policy `lru` again; uses that the NIC sees do not count */
	assert_int_equal(r.nic.candidates.chooser[0].kind, UNIC_POLICY_LRU);
	use(&mr[2], 0, 100);
	assert_int_equal(pick(), mr[2].mr);
	report(&mr[2]);
	report(&mr[2]);
	rig_run(&r, 4 * MS);
	assert_int_equal(r.nic.usages.reported[mr[2].mr].uses, 3);
	assert_int_equal(pick(), mr[3].mr);
	/* uses that the NIC sees count again: mr[0] is the oldest */
	set_params(UNIC_PARAM_USES_COUNTED);
	assert_int_equal(pick(), mr[0].mr);
}

/*
 * Process 0 reports all of its regions, and those of process 1, as used all the
 * time, with counters that jump and go back. It gains nothing: a request of
 * process 1 within its share is served in time, out of regions of process 0
 * alone.
 */
static void lies_hurt_nobody_else(void **state)
{
	struct unic_db_page *db = (void *)r.port.window[0];
	struct rig_mr own, mine, waits, more;
	struct unic_evt_mr evt;
	uint32_t i, k, got = 0, pd1;
	uint8_t rec[64];

	(void)state;
	rig_attach(&r, 1, 1);
	pd1 = rig_pd(&r, 1);
	assert_int_equal(rig_reg(&r, 1, pd1, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &own),
			 0);
	while (!rig_reg(&r, 0, pd, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mine))
		;
	while (!rig_reg(&r, 0, pd, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &more))
		;
	assert_int_equal(r.nic.tlb.free, 0);
	set_params(UNIC_PARAM_USES_REPORTED);
	for (i = 0; i < 40; i++) {
		for (k = 0; k < UNIC_DB_USED; k++)
			db->used[k] = unic_to_le32(i & 1 ? UINT32_MAX - k
							 : k * 0x9e3779b1u);
		if (i == 20)
			assert_int_equal(rig_reg(&r, 1, pd1, 12,
						 UNIC_CLASS_RDMA, UNIC_REG_WAIT,
						 0, &waits),
					 UNIC_ST_PENDING);
		rig_run(&r, 2 * MS);
		while (rig_event(&r, rec)) {
			memcpy(&evt, rec, sizeof(evt));
			got += rec[0] == UNIC_EVT_GRANTED;
			if (rec[0] == UNIC_EVT_GRANTED)
				continue;
			assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
			if (rec[0] == UNIC_EVT_NOTICE)
				assert_int_equal(rig_ack(&r, &evt), 0);
		}
	}
	assert_int_equal(got, 1);
	assert_int_equal(r.nic.mrs.mr[own.mr].state, UNIC_MR_ACTIVE);
	assert_int_equal(r.nic.usages.reported[own.mr].uses, 0);
	assert_int_equal(r.nic.share.owner[1].held, 16);
}

/* A region made just before a sweep is included by the next one. The next
 * process of a slot has reported no uses. */
static void reports_begin_and_end(void **state)
{
	struct unic_cmd_proc_detach c = { 0 };
	struct rig_mr late;

	(void)state;
	set_params(UNIC_PARAM_USES_REPORTED);
	report(&mr[0]);
	rig_run(&r, 4 * MS);
	assert_int_equal(r.nic.candidates.chooser[0].kind, UNIC_POLICY_LRU);
	assert_int_equal(rig_reg(&r, 0, pd, 3, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &late),
			 0);
	/* the new region is not in the sample yet: it counts as young */
	assert_int_not_equal(unic_reclaim_pick(&r.nic.revoke, 0, 1, true),
			     late.mr);
	rig_run(&r, 4 * MS);
	assert_int_equal(r.nic.usages.reported[late.mr].n_pages, 3);
	assert_true(r.nic.usages.reported[late.mr].since_ns ==
		    nic_mr(&late)->since_ns);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_DETACH, &c, NULL), 0);
	rig_attach(&r, 0, 1);
	assert_int_equal(r.nic.candidates.chooser[0].kind, UNIC_POLICY_RANDOM);
	rig_reset(&r);
	assert_false(r.nic.usages.off);
}

/* While processes report uses, the next sweep is due a reaper period later;
 * otherwise no sweep is due. */
static void sweeps_keep_their_interval(void **state)
{
	uint64_t period = r.nic.candidates.reaper_us * 1000ull;

	(void)state;
	unic_usage_switch(&r.nic.memory, true);
	assert_true(unic_usage_sweep(&r.nic.memory) == r.nic.now_ns + period);
	r.nic.now_ns += period - 1;
	assert_true(unic_usage_sweep(&r.nic.memory) == r.nic.now_ns + 1);
	r.nic.now_ns++;
	assert_true(unic_usage_sweep(&r.nic.memory) == r.nic.now_ns + period);
	unic_usage_switch(&r.nic.memory, false);
	assert_true(unic_usage_sweep(&r.nic.memory) == UINT64_MAX);
}

static void each_wrong_flag(void **state)
{
	static const uint32_t wrong[] = {
		UNIC_PARAM_USES_REPORTED | UNIC_PARAM_USES_COUNTED,
		UNIC_PARAM_PAIN << 1,
		UNIC_PARAM_WATERMARKS | 0x80000000u,
	};
	struct unic_cmd_set_params p;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		p = (struct unic_cmd_set_params){
			.flags = unic_to_le32(wrong[i]),
		};
		assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &p, NULL),
				 UNIC_ST_INVALID);
	}
	p = (struct unic_cmd_set_params){
		.flags = unic_to_le32(UNIC_PARAM_USES_REPORTED),
		.high_entries = unic_to_le32(1),
	};
	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &p, NULL),
			 UNIC_ST_INVALID);
	assert_false(r.nic.usages.off);
}

/* ---------------------------------------------------------- what is shown */

static const struct unic_use_row *row(uint32_t i)
{
	return (const struct unic_use_row *)(const void *)(r.port.bar +
							   UNIC_BAR_USE_OFF) +
	       i;
}

static void host_is_shown(void **state)
{
	const struct unic_use_row *u = row(mr[1].mr);
	uint64_t then;

	(void)state;
	use(&mr[1], 0, 4000);
	use(&mr[1], 5, 96);
	then = r.nic.now_ns;
	rig_run(&r, 200 * MS);
	assert_int_equal(unic_from_le32(u->stag), mr[1].stag);
	assert_int_equal(unic_from_le32(u->uses), 2);
	assert_int_equal(unic_from_le64(u->bytes), 4096);
	assert_true(unic_from_le64(u->last_use_ns) == then);
	/* 2,048 for each of its entries, decayed since a heartbeat at most 50 ms after:
	 * for between one and one and a half half-lives */
	assert_in_range(unic_from_le32(u->rate), 2048 * 10 / 29, 1024);
	assert_int_equal(rig_dereg(&r, &mr[1]), 0);
	rig_run(&r, 200 * MS);
	assert_int_equal(u->stag, 0);
	assert_int_equal(unic_from_le32(row(mr[0].mr)->stag), mr[0].stag);
}

/* The trace records the uses of a region since its last record, and how long
 * ago the last use was. */
static void trace_of_uses(void **state)
{
	struct unic_cmd_trace_ctl c = { .mask = unic_to_le32(UNIC_TG_REF) };
	const struct unic_trace_rec *t =
		(const void *)(r.port.bar + UNIC_BAR_TRACE_OFF);
	uint32_t from, id = unic_candidate_identity(nic_mr(&mr[2]));

	(void)state;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_TRACE_CTL, &c, NULL), 0);
	rig_run(&r, 200 * MS);
	from = r.nic.trace.seq;
	use(&mr[2], 0, 4);
	use(&mr[2], 0, 4);
	rig_run(&r, 2 * MS);
	assert_int_equal(r.nic.trace.seq, from + 1);
	t += from % UNIC_TRACE_ENTRIES;
	assert_int_equal(unic_from_le16(t->code), UNIC_T_REF);
	assert_int_equal(unic_from_le16(t->proc), 0);
	assert_int_equal(unic_from_le32(t->arg[0]), id);
	assert_int_equal(unic_from_le32(t->arg[1]), 2);
	assert_int_equal(unic_from_le32(t->arg[2]), 2);
	assert_in_range(unic_from_le32(t->arg[3]), 0, 2 * MS);
	/* the last uses of a region that ends are recorded */
	use(&mr[2], 0, 4);
	assert_int_equal(rig_dereg(&r, &mr[2]), 0);
	assert_int_equal(r.nic.trace.seq, from + 2);
	assert_int_equal(unic_from_le32(t[1].arg[0]), id);
	assert_int_equal(unic_from_le32(t[1].arg[2]), 1);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(form_keeps_its_region),
		TEST(form_was_used_before),
		TEST(nested_forms_keep_theirs),
		TEST(unmade_form_was_used),
		TEST(everybody_was_used),
		TEST(indices_are_not_hoarded),
		TEST(rows_say_kind_and_dependents),
		TEST(reported_uses_decide),
		TEST(lies_hurt_nobody_else),
		TEST(reports_begin_and_end),
		TEST(sweeps_keep_their_interval),
		TEST(each_wrong_flag),
		TEST(host_is_shown),
		TEST(trace_of_uses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
