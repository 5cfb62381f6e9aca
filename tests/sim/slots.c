/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * slots.c - no process has more than its share of the fault slots while an
 * operation of another process, which is within its share, gets none (INV-20).
 *
 * Each page that the NIC asks for has a slot, so the mailbox shows how many
 * slots each process has, or more: it does not show that one was taken back. A
 * process with fewer than its share, even if all processes had some, gets one
 * at once for a page that it waits for: if all are taken, another process is
 * above its share.
 *
 * An operation waits for a page for certain if it is the oldest of its queue,
 * begins in that page, and has not read it.
 */
#include "app_op.h"
#include "check.h"
#include "core.h"

/* Time of poll rounds; four late transfers are added. The NIC was polled
 * after the first check, so it knows the operation. */
#define SLACK_NS (200 * US)

/* How long the NIC keeps the slot of @miss: H; but B and H, and an EXTEND and a
 * residence, if there was no room for the page and a region must go first. */
static uint64_t kept_ns(const struct model *m, const struct model_miss *miss)
{
	if (!miss->short_of)
		return m->deliver_ns;
	return 2 * m->deliver_ns + m->grace_ns + m->extend_ns +
	       m->residence_ns + m->reaper_ns + m->drain_ns;
}

static bool is_open(const struct model *m, const struct model_miss *miss)
{
	return miss->at_ns && sim_now() - miss->at_ns < kept_ns(m, miss);
}

static bool covers(const struct model_miss *miss, const struct model_mr *r,
		   uint32_t page)
{
	return miss->mr == r->mr && miss->gen == r->gen &&
	       page - miss->first < miss->count;
}

static bool is_asked_for(const struct model *m, const struct model_mr *r,
			 uint32_t page)
{
	uint32_t i;

	for (i = 0; i < MODEL_MISSES; i++)
		if (m->miss[i].at_ns && covers(&m->miss[i], r, page))
			return true;
	return false;
}

/* Slots that @proc has, at most. */
static uint32_t slots_of(const struct model *m, uint32_t proc)
{
	uint32_t i, n = 0;

	for (i = 0; i < MODEL_MISSES; i++) {
		const struct model_mr *r = &m->mr[m->miss[i].mr % MODEL_MRS];

		n += is_open(m, &m->miss[i]) && r->state != MODEL_GONE &&
		     r->gen == m->miss[i].gen && r->proc == proc;
	}
	return n;
}

/* The share of the slots, at least: every process that is there may have some. */
static uint32_t share_of(const struct model *m, uint32_t proc)
{
	uint32_t i, weights = 0;

	for (i = 0; i < MODEL_PROCS; i++)
		if (m->proc[i].attached)
			weights += m->proc[i].weight;
	return weights ? core_misses() * m->proc[proc].weight / weights : 0;
}

/* Must the process get another slot? With it the process is within its
 * share; and it has less than half of all slots, as some are kept for others.
 */
static bool is_due_one(const struct model *m, uint32_t proc)
{
	uint32_t has = slots_of(m, proc);

	return has + 1 <= share_of(m, proc) &&
	       (!has || 2 * has < core_misses());
}

static const struct model_mr *region_of(const struct model *m,
					const struct app *a, const struct op *o)
{
	uint32_t i;

	for (i = 0; i < MODEL_MRS; i++)
		if (m->mr[i].state == MODEL_ACTIVE &&
		    m->mr[i].stag == o->local->stag &&
		    m->mr[i].proc == a->slot &&
		    m->mr[i].residency == UNIC_DEMAND)
			return &m->mr[i];
	return NULL;
}

/* May the operation have read the page? Reads through a window are not reported,
 * so there the page must have been missing since the post. */
static bool may_have_read(const struct node *n, const struct op *o,
			  uint64_t moved_ns)
{
	return n->port.kind == PORT_LATE ? o->read : moved_ns >= o->posted_ns;
}

/* Does the operation wait for a page of its process, for certain, and for nothing
 * else? */
static bool lacks(const struct node *n, const struct model *m, struct app *a,
		  const struct op *o)
{
	const struct model_mr *r;
	uint32_t page;

	if (o->part != PART_SOURCE || o->kind == MEMOP || o->lie ||
	    o->forbidden || !op_local_alive(o) ||
	    o->local_resets != n->resets || n->stands ||
	    sim_now() < n->port.stall_ns)
		return false;
	r = region_of(m, a, o);
	if (!r)
		return false;
	page = (uint32_t)((op_iova(o->local, o->local_at) >> r->shift) -
			  (r->iova >> r->shift));
	return !r->bus[page] && !may_have_read(n, o, r->moved_ns[page]) &&
	       !is_asked_for(m, r, page) && is_due_one(m, r->proc);
}

static uint64_t bound_ns(const struct node *n)
{
	uint64_t late = n->port.kind == PORT_COPYING ? 0 : n->port.odds.late_ns;

	return SLACK_NS + 4 * late;
}

static void look(const struct node *n, const struct model *m, struct app *a,
		 const struct qp *q)
{
	struct op *o = op_can_send(q) ? op_oldest(a, q) : NULL;

	if (!o)
		return;
	if (!lacks(n, m, a, o))
		o->short_ns = 0;
	else if (!o->short_ns)
		o->short_ns = sim_now();
	else if (sim_now() - o->short_ns > bound_ns(n))
		sim_fail("slots",
			 "nic %u: process %u has %u of its %u slots of misses, "
			 "and the page that operation %llx waits for is not "
			 "asked for since %llu us",
			 n->id, a->slot, slots_of(m, a->slot),
			 share_of(m, a->slot), (unsigned long long)o->id,
			 (unsigned long long)((sim_now() - o->short_ns) / US));
}

static bool lies_in(struct app *a, const struct op *o, const uint8_t *host,
		    uint32_t len)
{
	return o->state == OP_POSTED && o->part == PART_SOURCE &&
	       (uintptr_t)app_mem(a, o->local_at) - (uintptr_t)host < len;
}

void slots_read(const struct node *n, const void *host, uint32_t len)
{
	uint32_t i, k;

	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_OPEN && apps[i]->node == n->id; k++)
			if (lies_in(apps[i], &apps[i]->op[k], host, len))
				apps[i]->op[k].read = true;
}

/* Has any process a slot? */
static bool any(const struct model *m)
{
	uint32_t i;

	for (i = 0; i < MODEL_MISSES; i++)
		if (is_open(m, &m->miss[i]))
			return true;
	return false;
}

void slots_tick(struct node *n, const struct model *m)
{
	uint32_t i, k;

	if (!any(m))
		return;
	for (i = 0; i < apps_count; i++) {
		struct app *a = apps[i];

		if (a->node != n->id || a->state != APP_RUNS || a->reset)
			continue;
		for (k = 0; k < APP_QPS; k++)
			look(n, m, a, &a->qp[k]);
	}
}
