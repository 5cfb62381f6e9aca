/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bounds.c - a grace never ends early (INV-6), a request within its share is
 * served within B (INV-8), a process at or below its share is no victim while
 * another one is above (INV-5).
 */
#include "check.h"

#include <string.h>

/* Time of interrupts, poll rounds and commands, on top of B. */
#define SLACK_NS      (400 * US)
#define SLACK_BELL_NS (110 * MS) /* a lost doorbell costs a heartbeat or poll */

static uint64_t wait_slack(void)
{
	const struct world_odds *o = &world->odds;

	return SLACK_NS + (o->bell_lost || o->bell_late ? SLACK_BELL_NS : 0) +
	       20ull * o->port.late_ns;
}

/* -------------------------------------------------------------------- grace */

static uint64_t nic_now(const struct node *n, uint64_t at_ns)
{
	return at_ns - n->port.on_ns + US;
}

static void ack_done(struct node *n, struct model *m, const struct tap_cmd *c,
		     const void *rec)
{
	struct unic_cmd_notice_ack cmd;
	struct unic_cpl_notice cpl;
	const struct model_mr *r;

	memcpy(&cmd, c->rec, sizeof(cmd));
	memcpy(&cpl, rec, sizeof(cpl));
	r = model_find(m, unic_from_le32(cmd.mr), unic_from_le32(cmd.gen));
	if (r && unic_from_le64(cpl.deadline_ns) <
			 nic_now(n, c->seen_ns) + r->grace_ns)
		sim_fail("bounds",
			 "nic %u: the grace of region %u is shorter than T",
			 n->id, r->mr);
}

static bool in_grace(const struct model_mr *r)
{
	return r->state == MODEL_NOTIFIED &&
	       (!r->ack_ns || sim_now() < r->ack_ns + r->grace_ns);
}

bool bounds_too_early(const struct node *n, uint32_t stag)
{
	const struct model *m = check_model(n);
	uint32_t i;

	for (i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *r = &m->mr[i];

		if (r->stag == stag &&
		    (r->state == MODEL_ACTIVE || in_grace(r)))
			return true;
	}
	return false;
}

static void evicted(struct node *n, struct model *m,
		    const struct unic_evt_mr *e)
{
	const struct model_mr *r =
		model_find(m, unic_from_le32(e->mr), unic_from_le32(e->gen));

	if (r && r->mr_class == UNIC_CLASS_RDMA && in_grace(r))
		sim_fail("bounds",
			 "nic %u: region %u evicted %lld ns before its time",
			 n->id, r->mr,
			 (long long)(r->ack_ns + r->grace_ns - sim_now()));
	if (r && r->mr_class == UNIC_CLASS_RDMA && r->state == MODEL_ACTIVE)
		sim_fail("bounds", "nic %u: region %u evicted without a notice",
			 n->id, r->mr);
	if (r && r->mr_class == UNIC_CLASS_CONTROL &&
	    e->hdr.reason != UNIC_WHY_EXIT && r->state != MODEL_LEAVING)
		sim_fail("bounds", "nic %u: control region %u evicted", n->id,
			 r->mr);
}

/* ------------------------------------------------------------------- shares */

static uint32_t net(const struct model *m, uint32_t proc)
{
	return m->proc[proc].held - m->proc[proc].coming;
}

/* Is @proc above its share, or could it be, with entries that the mailbox does
 * not show? */
static bool may_be_above(const struct model *m, uint32_t proc)
{
	return net(m, proc) + model_cached(m, proc) >
	       model_fair(m, proc, false);
}

/* Is another process above its share, with a region that can be taken? */
static bool another_above(const struct model *m, uint32_t victim)
{
	uint32_t i;

	for (i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *r = &m->mr[i];

		if (r->state == MODEL_ACTIVE && r->proc != victim &&
		    r->mr_class != UNIC_CLASS_CONTROL && r->n_pages &&
		    sim_now() - r->active_ns > 4 * MS && /* residence is less */
		    net(m, r->proc) > model_fair(m, r->proc, true))
			return true;
	}
	return false;
}

/* Indices of regions, but those that are worn out. */
static uint32_t indices(const struct model *m)
{
	return m->mrs - m->mrs / 8;
}

static uint32_t all_regions(const struct model *m)
{
	uint32_t i, n = 0;

	for (i = 0; i < MODEL_PROCS; i++)
		n += m->proc[i].regions;
	return n;
}

/* With more regions a request may wait for an index instead of entries. */
static bool many_regions(const struct model *m)
{
	return all_regions(m) > m->mrs / 2;
}

static void noticed(struct node *n, struct model *m,
		    const struct unic_evt_mr *e)
{
	const struct model_mr *r =
		model_find(m, unic_from_le32(e->mr), unic_from_le32(e->gen));

	if (!r || r->state != MODEL_ACTIVE || e->hdr.reason < UNIC_WHY_REAPER ||
	    e->hdr.reason > UNIC_WHY_FAIR_SHARE)
		return;
	/* without a waiter the victim must be above its share in any case */
	if (e->hdr.reason == UNIC_WHY_REAPER && !may_be_above(m, r->proc))
		sim_fail("bounds",
			 "nic %u: process %u holds %u of its %u entries and is "
			 "asked for a watermark",
			 n->id, r->proc, net(m, r->proc),
			 model_fair(m, r->proc, false));
	if (m->proc[r->proc].wanted || many_regions(m))
		return; /* its own request, or indices are short */
	if (!may_be_above(m, r->proc) && another_above(m, r->proc))
		sim_fail("bounds",
			 "nic %u: process %u holds %u of its %u entries and is "
			 "a victim while another is above its share",
			 n->id, r->proc, net(m, r->proc),
			 model_fair(m, r->proc, false));
}

/* ---------------------------------------------------------------- questions */

/* A question is for a region that could be used, after the time that the driver set, and
 * not again before that time has passed. NIC time may be a poll round behind. */
static void asked(struct node *n, struct model *m, const struct unic_evt_mr *e)
{
	uint32_t mr = unic_from_le32(e->mr);
	struct model_mr *r = model_find(m, mr, unic_from_le32(e->gen));
	const uint64_t idle_ns = m->idle_ns;

	if (!idle_ns)
		sim_fail("bounds", "nic %u: a question that nobody wanted",
			 n->id);
	if (!r || r->state != MODEL_ACTIVE)
		sim_fail("bounds",
			 "nic %u: region %u is not active and is "
			 "asked for",
			 n->id, mr);
	if (r->mr_class == UNIC_CLASS_CONTROL || !r->held)
		sim_fail("bounds",
			 "nic %u: region %u is asked for, but has "
			 "nothing to give",
			 n->id, mr);
	if (sim_now() + US < r->active_ns + idle_ns ||
	    (r->asked_ns && sim_now() + US < r->asked_ns + idle_ns))
		sim_fail("bounds",
			 "nic %u: region %u was not idle for long "
			 "and is asked for",
			 n->id, mr);
	r->asked_ns = sim_now();
}

void bounds_event(struct node *n, struct model *m, const void *evt)
{
	struct unic_evt_mr e;

	memcpy(&e, evt, sizeof(e));
	if (e.hdr.type == UNIC_EVT_IDLE)
		asked(n, m, &e);
	else if (e.hdr.reason == UNIC_WHY_IDLE)
		sim_fail("bounds", "nic %u: region %u is taken by a question",
			 n->id, unic_from_le32(e.mr));
	if (e.hdr.type == UNIC_EVT_EVICTED)
		evicted(n, m, &e);
	else if (e.hdr.type == UNIC_EVT_NOTICE)
		noticed(n, m, &e);
}

/* -------------------------------------------------------------------- waits */

/* Is the process within its share even if every process wants its own, with all
 * that it waits for? */
static bool entitled(const struct model *m, uint32_t proc)
{
	const struct model_proc *p = &m->proc[proc];
	uint32_t i, weights = 0;

	if (p->quota && p->held + p->wanted > p->quota)
		return false; /* it waits for its own quota */
	for (i = 0; i < MODEL_PROCS; i++)
		if (m->proc[i].attached)
			weights += m->proc[i].weight;
	return m->proc[proc].held + m->proc[proc].wanted <=
	       m->capacity * m->proc[proc].weight / (weights ? weights : 1);
}

static uint64_t bound_ns(const struct model *m)
{
	return m->deliver_ns + m->grace_ns + m->reaper_ns + m->drain_ns +
	       wait_slack();
}

/* Did the command ask for entries without waiting for them? */
static bool asked_entries(const struct tap_cmd *c)
{
	struct unic_cmd_mr_reg reg;
	struct unic_cmd_mr_alloc alloc;

	memcpy(&reg, c->rec, sizeof(reg));
	memcpy(&alloc, c->rec, sizeof(alloc));
	if (reg.hdr.opcode == UNIC_CMD_MR_ALLOC)
		return alloc.kind == UNIC_FORM_FAST;
	return reg.hdr.opcode == UNIC_CMD_MR_REG && !reg.residency &&
	       !(reg.flags & UNIC_REG_WAIT);
}

/* A denied request counts as a wait for as long as the NIC may count it. */
static void answered(struct model *m, const struct tap_cmd *c, uint8_t status)
{
	struct unic_cmd_mr_reg cmd; /* `pd` is at the same place in MR_ALLOC */
	struct model_proc *p;

	memcpy(&cmd, c->rec, sizeof(cmd));
	p = &m->proc[m->pd_proc[unic_from_le32(cmd.pd) % MODEL_PDS]];
	if ((status == UNIC_ST_TLB_FULL || status == UNIC_ST_MR_FULL) &&
	    asked_entries(c))
		p->denied_until_ns = sim_now() + bound_ns(m) + m->grace_ns;
}

void bounds_done(struct node *n, struct model *m, const struct tap_cmd *c,
		 const void *cpl)
{
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, cpl, sizeof(hdr));
	if (hdr.opcode == UNIC_CMD_NOTICE_ACK && !hdr.status)
		ack_done(n, m, c, cpl);
	answered(m, c, hdr.status);
}

static bool ready(const struct node *n)
{
	const struct unic_info *info = (const void *)n->bar;

	return unic_from_le32(info->state) == UNIC_NIC_READY;
}

/* Are entries short, those under way counted, and is a process above its share? */
static bool hungry(const struct model *m, uint32_t proc)
{
	uint32_t i, left = m->capacity;

	for (i = 0; i < MODEL_PROCS; i++)
		left -= net(m, i);
	return left < m->proc[proc].wanted && another_above(m, proc);
}

/*
 * Do the regions of the process, and those it waits for, fit into its part of
 * the indices?
 */
static bool has_indices(const struct model *m, uint32_t proc)
{
	uint32_t i, n = m->proc[proc].regions, weights = 0;

	for (i = 0; i < MODEL_WAITS; i++)
		n += m->wait[i].id && m->wait[i].proc == proc;
	for (i = 0; i < MODEL_PROCS; i++)
		weights += m->proc[i].attached ? m->proc[i].weight : 0;
	return n * weights <= indices(m) * m->proc[proc].weight;
}

/*
 * While a process is hungry, the reaper must ask one above its share in its
 * next round.
 */
static void fed(const struct node *n, const struct model *m,
		struct model_wait *w)
{
	uint64_t bound =
		m->reaper_ns + SLACK_NS + 20ull * world->odds.port.late_ns;

	if (!ready(n) || !has_indices(m, w->proc) || !hungry(m, w->proc))
		w->fed_ns = sim_now();
	else if (sim_now() - w->fed_ns > bound)
		sim_fail("bounds",
			 "nic %u: request %u of process %u, within its share, "
			 "and nobody above his is asked for %llu us",
			 n->id, w->id, w->proc,
			 (unsigned long long)(bound / US));
}

void bounds_tick(struct node *n, struct model *m)
{
	uint64_t bound = bound_ns(m);
	uint32_t i;

	for (i = 0; i < MODEL_WAITS; i++) {
		struct model_wait *w = &m->wait[i];

		if (!w->id)
			continue;
		if (!n->host || !entitled(m, w->proc)) {
			w->since_ns = w->fed_ns = sim_now();
			continue;
		}
		fed(n, m, w);
		if (many_regions(m))
			w->since_ns = sim_now();
		else if (sim_now() - w->since_ns > bound)
			sim_fail("bounds",
				 "nic %u: request %u of process %u, "
				 "within its "
				 "share, waits longer than %llu us",
				 n->id, w->id, w->proc,
				 (unsigned long long)(bound / US));
	}
}
