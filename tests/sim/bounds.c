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
/* Indices that rest at most. One in 32768 regions ends the walk of its index, so a
 * run has none, or one (stag.h). */
#define WORN_OUT  2u
#define PROCS_ALL MODEL_PROCS

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

/*
 * A process has a share of the entries and one of the indices of regions. A request
 * needs both, so a region may be asked back for its index alone, from a process that
 * is above its share of the indices and below that of the entries. The mailbox does
 * not tell which of the two was short.
 */

static uint32_t net(const struct model *m, uint32_t proc)
{
	return m->proc[proc].held - m->proc[proc].coming;
}

/* Is @proc above its share with @more entries, or could it be, with entries that
 * the mailbox does not show, and with those that it waits for? */
static bool may_be_above(const struct model *m, uint32_t proc, uint32_t more)
{
	return net(m, proc) + model_cached(m, proc) + m->proc[proc].wanted +
		       more >
	       model_fair(m, proc, false);
}

/* Can @r be asked back: is it no queue, form or region whose pages come and go, and
 * older than the minimum residence? */
static bool can_go(const struct model_mr *r)
{
	return r->state == MODEL_ACTIVE && r->held &&
	       r->mr_class != UNIC_CLASS_CONTROL &&
	       sim_now() - r->active_ns > 4 * MS;
}

/* Is another process above its share, with a region that can be taken? */
static bool another_above(const struct model *m, uint32_t victim)
{
	uint32_t i;

	for (i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *r = &m->mr[i];

		if (can_go(r) && r->proc != victim &&
		    net(m, r->proc) > model_fair(m, r->proc, true))
			return true;
	}
	return false;
}

/* Indices of regions, but those that may be worn out. */
static uint32_t indices(const struct model *m)
{
	return m->mrs - WORN_OUT;
}

/* Does a region give its index back within H + T? Not after an EXTEND, which the
 * shares count as kept. */
static bool is_coming(const struct model_mr *r)
{
	return r->state == MODEL_LEAVING ||
	       (r->state == MODEL_NOTIFIED && !r->extended);
}

/* Regions of @proc, or of all (PROCS_ALL), that keep their index. */
static uint32_t kept_indices(const struct model *m, uint32_t proc)
{
	uint32_t i, n = 0;

	for (i = 0; i < MODEL_MRS; i++)
		n += m->mr[i].state != MODEL_GONE && !is_coming(&m->mr[i]) &&
		     (proc == PROCS_ALL || m->mr[i].proc == proc);
	return n;
}

/* Requests of @proc, or of all, at most: each needs an index. */
static uint32_t requests(const struct model *m, uint32_t proc)
{
	uint32_t i, n = 0;

	for (i = 0; i < MODEL_WAITS; i++)
		n += m->wait[i].id &&
		     (proc == PROCS_ALL || m->wait[i].proc == proc);
	for (i = 0; i < MODEL_PROCS; i++)
		n += sim_now() < m->proc[i].denied_until_ns &&
		     (proc == PROCS_ALL || i == proc);
	return n;
}

/* May there be fewer indices than requests, those under way counted? */
static bool indices_short(const struct model *m)
{
	return kept_indices(m, PROCS_ALL) + requests(m, PROCS_ALL) > indices(m);
}

/* Weights of all processes that are attached: the most that may share. */
static uint32_t all_weights(const struct model *m)
{
	uint32_t i, weights = 0;

	for (i = 0; i < MODEL_PROCS; i++)
		if (m->proc[i].attached)
			weights += m->proc[i].weight;
	return weights ? weights : 1;
}

/* May @proc be above its share of the indices, with the one that it waits for and
 * those that it has worn out? */
static bool may_have_more_indices(const struct model *m, uint32_t proc)
{
	uint32_t n = kept_indices(m, proc) + WORN_OUT + !!requests(m, proc);

	return n * all_weights(m) > indices(m) * m->proc[proc].weight;
}

/* Entries of @proc that come back late, after an EXTEND. */
static uint32_t put_off(const struct model *m, uint32_t proc)
{
	uint32_t i, n = 0;

	for (i = 0; i < MODEL_MRS; i++)
		if (m->mr[i].state == MODEL_NOTIFIED && m->mr[i].extended &&
		    m->mr[i].proc == proc)
			n += m->mr[i].held;
	return n;
}

/* May a request have led to a notice of @proc, which is not above its share? Only if
 * indices are short, or if nobody else is above his and the request, which is within
 * its share, cannot wait for entries that are put off. */
static bool may_have_to(const struct model *m, uint32_t proc, uint8_t reason)
{
	if (indices_short(m) && may_have_more_indices(m, proc))
		return true;
	return reason == UNIC_WHY_FAIR_SHARE && !another_above(m, proc) &&
	       may_be_above(m, proc, put_off(m, proc));
}

static void noticed(struct node *n, struct model *m,
		    const struct unic_evt_mr *e)
{
	const struct model_mr *r =
		model_find(m, unic_from_le32(e->mr), unic_from_le32(e->gen));

	if (!r || r->state != MODEL_ACTIVE || e->hdr.reason < UNIC_WHY_REAPER ||
	    e->hdr.reason > UNIC_WHY_FAIR_SHARE ||
	    may_be_above(m, r->proc, model_may_lack(m, r->proc)))
		return;
	/* without a waiter the victim must be above its share in any case */
	if (e->hdr.reason == UNIC_WHY_REAPER)
		sim_fail("bounds",
			 "nic %u: process %u holds %u of its %u entries and is "
			 "asked for a watermark",
			 n->id, r->proc, net(m, r->proc),
			 model_fair(m, r->proc, false));
	if (may_have_to(m, r->proc, e->hdr.reason))
		return;
	sim_fail("bounds",
		 "nic %u: process %u holds %u of its %u entries and %u of %u "
		 "indices, and is a victim",
		 n->id, r->proc, net(m, r->proc), model_fair(m, r->proc, false),
		 kept_indices(m, r->proc), indices(m));
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

	if (p->quota && p->held + p->wanted > p->quota)
		return false; /* it waits for its own quota */
	return p->held + p->wanted <= m->capacity * p->weight / all_weights(m);
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

/* Entries that are free, or will be within H + T. */
static uint32_t entries_left(const struct model *m)
{
	uint32_t i, left = m->capacity;

	for (i = 0; i < MODEL_PROCS; i++)
		left -= net(m, i);
	return left;
}

/* Are entries short, those under way counted, and is a process above its share? */
static bool hungry(const struct model *m, uint32_t proc)
{
	return entries_left(m) < m->proc[proc].wanted && another_above(m, proc);
}

/*
 * Do the regions of the process, and those it waits for, fit into its part of
 * the indices?
 */
static bool has_indices(const struct model *m, uint32_t proc)
{
	return (m->proc[proc].regions + requests(m, proc)) * all_weights(m) <=
	       indices(m) * m->proc[proc].weight;
}

/* Regions that can be taken from @proc before it is down to its share of the
 * indices. */
static uint32_t takeable(const struct model *m, uint32_t proc)
{
	uint32_t kept = kept_indices(m, proc), n = 0, share, i, weights = 0;

	for (i = 0; i < MODEL_PROCS; i++)
		if (i == proc || m->proc[i].regions || requests(m, i))
			weights += m->proc[i].weight;
	share = weights ? m->mrs * m->proc[proc].weight / weights : 0;
	for (i = 0; i < MODEL_MRS; i++)
		n += m->mr[i].proc == proc && can_go(&m->mr[i]);
	if (kept <= share)
		return 0;
	return n < kept - share ? n : kept - share;
}

/* Indices that are free, will be within H + T, or can be taken from others than
 * @proc. */
static uint32_t indices_within(const struct model *m, uint32_t proc)
{
	uint32_t kept = kept_indices(m, PROCS_ALL), i;
	uint32_t n = kept < indices(m) ? indices(m) - kept : 0;

	for (i = 0; i < MODEL_PROCS; i++)
		n += i == proc ? 0 : takeable(m, i);
	return n;
}

/* As hungry(), of indices, while there are entries for all that is wanted. */
static bool hungry_for_indices(const struct model *m, uint32_t proc)
{
	uint32_t i, wanted = 0, most = 0;

	for (i = 0; i < MODEL_PROCS; i++) {
		wanted += m->proc[i].wanted;
		if (sim_now() < m->proc[i].denied_until_ns)
			return false; /* how many it wants is not known */
		most += i == proc ? 0 : takeable(m, i);
	}
	return entries_left(m) >= wanted && most &&
	       m->mrs - kept_indices(m, PROCS_ALL) < requests(m, proc);
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

	if (!ready(n) || !has_indices(m, w->proc) ||
	    !(hungry(m, w->proc) || hungry_for_indices(m, w->proc)))
		w->fed_ns = sim_now();
	else if (sim_now() - w->fed_ns > bound)
		sim_fail("bounds",
			 "nic %u: request %u of process %u, within its share, "
			 "and nobody above his is asked for %llu us",
			 n->id, w->id, w->proc,
			 (unsigned long long)(bound / US));
}

/* Is the request due within B? Not beyond the share of entries or of indices, nor
 * while too many indices are those of queues, forms and regions whose pages come and
 * go, which are never asked back. */
static bool is_due(const struct model *m, uint32_t proc)
{
	return entitled(m, proc) &&
	       (!indices_short(m) ||
		(has_indices(m, proc) &&
		 indices_within(m, proc) >= requests(m, PROCS_ALL)));
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
		if (!is_due(m, w->proc))
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
