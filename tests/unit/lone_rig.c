/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* lone_rig.c - see lone_rig.h. */
#include "unit.h"

#include "lone_rig.h"
#include "transport/tx.h"

#define MS 1000000ull

struct lone_outcome lone_result, lone_by_runs;

void lone_write(uint64_t id, uint32_t off, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, id, &ma, off, len, mb.iova + off,
		 mb.stag);
}

uint32_t lone_sent(const struct rig *r)
{
	return (uint32_t)rig_count(r, lone_sent) + r->nic.qps.roce.lone_sent;
}

uint32_t lone_placed(const struct rig *r)
{
	return (uint32_t)rig_count(r, lone_placed) +
	       r->nic.qps.roce.lone_placed;
}

void lone_forget(struct rig *r)
{
	unic_roce_publish(&r->nic.transport);
	r->nic.counter[UNIC_C_lone_sent] = 0;
	r->nic.counter[UNIC_C_lone_placed] = 0;
	r->nic.counter[UNIC_C_lone_other] = 0;
}

void lone_warm(bool icrc, bool traced)
{
	uint32_t i;

	pair_make(icrc, PAIR_PAGES);
	ra.nic.trace.mask = rb.nic.trace.mask = traced ? ~0u : 0;
	for (i = 0; i < 2; i++) {
		lone_write(i, 0, 8);
		pair_run(MS);
		pair_expect(&ra, &qa, i, 0, 8);
	}
	lone_forget(&ra);
	lone_forget(&rb);
}

void lone_give_back(struct rig *r, const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr notice;

	assert_int_equal(rig_cmd(r, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	pair_run(MS);
	rig_expect(r, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(rig_ack(r, &notice), 0);
	assert_int_equal(
		rig_answer(r, &notice, UNIC_ANSWER_RELEASE, NULL, 0, NULL), 0);
	pair_run(MS);
}

static void take_counts(struct rig *r, uint64_t *count)
{
	unic_roce_count(&r->nic.transport);
	memcpy(count, r->nic.counter, sizeof(r->nic.counter));
	count[UNIC_C_polls] = count[UNIC_C_sleeps] = 0;
}

void lone_take(struct lone_outcome *o)
{
	memset(o, 0, sizeof(*o));
	while (o->cqes < LONE_CQES && rig_cqe(&ra, &qa, &o->cqe[o->cqes]))
		o->cqes++;
	while (o->cqes_b < LONE_CQES && rig_cqe(&rb, &qb, &o->cqe_b[o->cqes_b]))
		o->cqes_b++;
	o->lone_a = lone_sent(&ra);
	o->lone_b = lone_placed(&rb);
	take_counts(&ra, o->count_a);
	take_counts(&rb, o->count_b);
	o->other_a = (uint32_t)o->count_a[UNIC_C_lone_other];
	memset(&o->count_a[UNIC_C_lone_sent], 0, 3 * sizeof(uint64_t));
	memset(&o->count_b[UNIC_C_lone_sent], 0, 3 * sizeof(uint64_t));
	memcpy(o->bytes_a, ma.mem, sizeof(o->bytes_a));
	memcpy(o->bytes_b, mb.mem, sizeof(o->bytes_b));
	o->holds_a = ra.nic.mrs.mr[ma.mr].holds;
	o->holds_b = rb.nic.mrs.mr[mb.mr].holds;
}

void lone_both_ways_of(bool icrc, void (*what)(void), uint32_t lone_a,
		       uint32_t lone_b)
{
	lone_warm(icrc, true);
	what();
	lone_take(&lone_by_runs);
	assert_int_equal(lone_by_runs.lone_a, 0);
	assert_int_equal(lone_by_runs.lone_b, 0);
	lone_warm(icrc, false);
	what();
	lone_take(&lone_result);
	assert_int_equal(lone_result.lone_a, lone_a);
	assert_int_equal(lone_result.lone_b, lone_b);
	lone_result.lone_a = lone_result.lone_b = lone_result.other_a = 0;
	lone_by_runs.other_a = 0;
	assert_memory_equal(&lone_result, &lone_by_runs, sizeof(lone_result));
	pair_quiet();
}

void lone_both_ways(void (*what)(void), uint32_t lone_a, uint32_t lone_b)
{
	lone_both_ways_of(false, what, lone_a, lone_b);
}
