/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* model.c - see model.h. */
#include "model.h"
#include "stags.h"

#include <string.h>

struct model_mr *model_find(struct model *m, uint32_t mr, uint32_t gen)
{
	struct model_mr *r = mr < MODEL_MRS ? &m->mr[mr] : NULL;

	return r && r->state != MODEL_GONE && r->gen == gen ? r : NULL;
}

uint32_t model_cached(const struct model *m, uint32_t proc)
{
	uint32_t i, k, n = 0, held = 0;

	for (i = 0; i < MODEL_PROCS; i++)
		held += m->proc[i].held;
	if (held >= m->capacity)
		return 0;
	for (i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *r = &m->mr[i];

		if (r->state < MODEL_ACTIVE || r->proc != proc)
			continue;
		if (r->residency == UNIC_TABLE)
			n += r->n_pages;
		for (k = 0; r->residency == UNIC_DEMAND && k < r->n_pages; k++)
			n += r->bus[k] != 0;
	}
	return n < m->capacity - held ? n : m->capacity - held;
}

bool model_may_lack(const struct model *m, uint32_t proc)
{
	uint32_t i;

	for (i = 0; i < MODEL_MRS; i++)
		if (m->mr[i].state >= MODEL_ACTIVE && m->mr[i].residency &&
		    m->mr[i].proc == proc)
			return true;
	return false;
}

/* May @proc take part in the sharing, though the mailbox does not show it? */
static bool may_share(const struct model *m, uint32_t proc)
{
	return sim_now() < m->proc[proc].denied_until_ns ||
	       model_may_lack(m, proc);
}

uint32_t model_fair(const struct model *m, uint32_t proc, bool most)
{
	uint32_t i, weights = 0;

	for (i = 0; i < MODEL_PROCS; i++)
		if (i == proc || m->proc[i].held || m->proc[i].wanted ||
		    (!most && may_share(m, i)))
			weights += m->proc[i].weight;
	return weights ? m->capacity * m->proc[proc].weight / weights : 0;
}

/* ------------------------------------------------------------------ regions */

static bool promised(const struct model_mr *r)
{
	return r->state == MODEL_NOTIFIED || r->state == MODEL_LEAVING;
}

static void gone(struct model *m, struct model_mr *r)
{
	stags_end(m, r->stag);
	m->proc[r->proc].held -= r->held;
	m->proc[r->proc].regions--;
	if (promised(r))
		m->proc[r->proc].coming -= r->held;
	r->state = MODEL_GONE;
	r->gone_ns = sim_now();
}

static void promise(struct model *m, struct model_mr *r, uint8_t state)
{
	if (!promised(r))
		m->proc[r->proc].coming += r->held;
	r->state = state;
	r->left_ns = sim_now();
}

static struct model_mr *begin(struct model *m, const struct unic_cmd_mr_reg *c,
			      uint32_t mr, uint32_t gen, uint32_t stag)
{
	uint64_t before_gone_ns;
	struct model_mr *r;
	uint32_t before_gen;

	if (mr >= MODEL_MRS)
		sim_fail("model", "region index %u is out of range", mr);
	r = &m->mr[mr];
	if (r->state == MODEL_LEAVING && m->proc[r->proc].leaving)
		gone(m, r); /* of a process that leaves: without an event */
	if (r->state != MODEL_GONE) { /* its EVICTED is in this round */
		m->owed_mr = mr;
		m->owed_gen = r->gen;
		m->owed++;
		gone(m, r);
	}
	before_gen = r->gen;
	before_gone_ns = r->gone_ns;
	memset(r, 0, sizeof(*r));
	r->before_gen = before_gen;
	r->before_gone_ns = before_gone_ns;
	r->state = MODEL_LOADING;
	r->mr = mr;
	r->gen = gen;
	r->stag = stag;
	r->proc = m->pd_proc[unic_from_le32(c->pd) % MODEL_PDS];
	r->mr_class = c->mr_class;
	r->rights = c->rights;
	r->shift = c->page_shift;
	r->iova = unic_from_le64(c->iova);
	r->length = unic_from_le64(c->length);
	r->n_pages = unic_from_le32(c->n_pages);
	r->user = unic_from_le32(c->user);
	if (r->n_pages > MODEL_PAGES)
		sim_fail("model", "a region of %u pages was accepted",
			 r->n_pages);
	stags_begin(m, stag, r->proc);
	r->residency = c->residency;
	r->held = r->residency ? 0 : r->n_pages;
	m->proc[r->proc].held += r->held;
	m->proc[r->proc].regions++;
	return r;
}

static void fill(struct model_mr *r, uint32_t first, uint32_t n,
		 const uint64_t *list)
{
	uint32_t i;

	for (i = 0; list && i < n && first + i < r->n_pages; i++)
		r->bus[first + i] = list[i];
	r->filled += n;
	if (r->filled >= r->n_pages) {
		r->state = MODEL_ACTIVE;
		r->active_ns = sim_now();
	}
}

static void done_reg(struct model *m, const struct tap_cmd *c, const void *rec,
		     uint8_t status)
{
	struct unic_cmd_mr_reg cmd;
	struct unic_cpl_mr_reg cpl;
	struct model_mr *r;
	uint32_t i;

	memcpy(&cmd, c->rec, sizeof(cmd));
	memcpy(&cpl, rec, sizeof(cpl));
	if (status == UNIC_ST_PENDING) {
		for (i = 0; i < MODEL_WAITS && m->wait[i].id; i++)
			;
		if (i == MODEL_WAITS)
			sim_fail("model", "too many requests wait");
		m->wait[i].id = unic_from_le32(cpl.wait);
		m->wait[i].proc =
			m->pd_proc[unic_from_le32(cmd.pd) % MODEL_PDS];
		m->wait[i].cmd = cmd;
		m->wait[i].since_ns = m->wait[i].fed_ns = sim_now();
		m->proc[m->wait[i].proc].wanted += unic_from_le32(cmd.n_pages);
		return;
	}
	if (status)
		return;
	r = begin(m, &cmd, unic_from_le32(cpl.mr), unic_from_le32(cpl.gen),
		  unic_from_le32(cpl.stag));
	r->list = unic_from_le64(cmd.list);
	if (cmd.flags & UNIC_REG_LIST || r->residency == UNIC_TABLE)
		fill(r, 0, r->n_pages, c->list);
	else if (r->residency) /* no page yet, but ACTIVE */
		fill(r, 0, r->n_pages, NULL);
}

/* A page of a DEMAND region is on the NIC from here to its drop record. */
static void done_fault(struct model *m, const struct tap_cmd *c,
		       const void *rec)
{
	struct unic_cmd_mr_fault cmd;
	struct unic_cpl_mr_pages cpl;
	struct model_mr *r;
	uint32_t i, first, done;

	memcpy(&cmd, c->rec, sizeof(cmd));
	memcpy(&cpl, rec, sizeof(cpl));
	r = model_find(m, unic_from_le32(cmd.mr), unic_from_le32(cmd.gen));
	first = unic_from_le32(cmd.first);
	done = unic_from_le32(cpl.done);
	if (!done)
		return;
	if (!r || r->residency != UNIC_DEMAND ||
	    done > unic_from_le32(cmd.count) || first + done > r->n_pages)
		sim_fail("model", "pages were brought to no DEMAND region");
	for (i = 0; i < done; i++)
		if (!r->bus[first + i]) {
			r->bus[first + i] = c->list[i];
			r->moved_ns[first + i] = sim_now();
		}
}

void model_dropped(struct model *m, const struct unic_drop *drop)
{
	struct model_mr *r = model_find(m, unic_from_le32(drop->mr),
					unic_from_le32(drop->gen));
	uint32_t page = unic_from_le32(drop->page);

	if (!r)
		return; /* ended in this round */
	if (page >= r->n_pages || !r->bus[page])
		sim_fail("once", "page %u of region %u was dropped twice", page,
			 r->mr);
	r->bus[page] = 0;
	r->moved_ns[page] = sim_now();
}

/* A derived region ends with its regions. It holds no entries and gets no
 * notices, except a fast registration, whose pages come by a work request. */
static void done_alloc(struct model *m, const struct tap_cmd *c,
		       const void *rec)
{
	struct unic_cmd_mr_alloc cmd;
	struct unic_cmd_mr_reg reg = { .mr_class = MODEL_CLASS_FORM };
	struct unic_cpl_mr_reg cpl;
	struct model_mr *r;

	memcpy(&cmd, c->rec, sizeof(cmd));
	memcpy(&cpl, rec, sizeof(cpl));
	reg.pd = cmd.pd;
	reg.user = cmd.user;
	if (cmd.kind == UNIC_FORM_FAST)
		reg.n_pages = cmd.n;
	r = begin(m, &reg, unic_from_le32(cpl.mr), unic_from_le32(cpl.gen),
		  unic_from_le32(cpl.stag));
	r->state = MODEL_ACTIVE;
	r->active_ns = sim_now();
}

static void done_fill(struct model *m, const struct tap_cmd *c)
{
	struct unic_cmd_mr_fill cmd;
	struct model_mr *r;

	memcpy(&cmd, c->rec, sizeof(cmd));
	r = model_find(m, unic_from_le32(cmd.mr), unic_from_le32(cmd.gen));
	if (!r || r->state != MODEL_LOADING)
		sim_fail("model", "a region that is not LOADING was filled");
	fill(r, unic_from_le32(cmd.first), unic_from_le32(cmd.count), c->list);
}

static void done_dereg(struct model *m, const struct tap_cmd *c, uint8_t status)
{
	struct unic_cmd_mr cmd;
	struct model_mr *r;

	memcpy(&cmd, c->rec, sizeof(cmd));
	r = model_find(m, unic_from_le32(cmd.mr), unic_from_le32(cmd.gen));
	if (!r)
		return; /* a tombstone */
	if (status == UNIC_ST_PENDING)
		promise(m, r, MODEL_LEAVING);
	else if (status == UNIC_ST_OK)
		gone(m, r);
}

/* ---------------------------------------------------------------- processes */

static void proc_over(struct model *m, uint32_t proc, bool all)
{
	uint32_t i;

	for (i = 0; i < MODEL_WAITS; i++)
		if (m->wait[i].id && m->wait[i].proc == proc)
			m->wait[i].id = 0;
	m->proc[proc].wanted = 0;
	m->proc[proc].denied_until_ns = 0;
	m->proc[proc].leaving = true;
	for (i = 0; i < MODEL_MRS; i++)
		if (m->mr[i].state != MODEL_GONE && m->mr[i].proc == proc) {
			if (all)
				gone(m, &m->mr[i]);
			else
				promise(m, &m->mr[i], MODEL_LEAVING);
		}
	if (all)
		m->proc[proc].attached = false;
}

static void done_attach(struct model *m, const struct tap_cmd *c)
{
	struct unic_cmd_proc_attach cmd;
	struct model_proc *p;

	memcpy(&cmd, c->rec, sizeof(cmd));
	p = &m->proc[unic_from_le32(cmd.proc) % MODEL_PROCS];
	memset(p, 0, sizeof(*p));
	p->attached = true;
	p->weight = unic_from_le32(cmd.weight);
	p->quota = unic_from_le32(cmd.quota);
}

static void done_set(struct model *m, const struct tap_cmd *c)
{
	struct unic_cmd_proc_set cmd;
	struct model_proc *p;

	memcpy(&cmd, c->rec, sizeof(cmd));
	p = &m->proc[unic_from_le32(cmd.proc) % MODEL_PROCS];
	if (!(unic_from_le32(cmd.keep) & UNIC_PROC_KEEP_WEIGHT))
		p->weight = unic_from_le32(cmd.weight);
	if (!(unic_from_le32(cmd.keep) & UNIC_PROC_KEEP_QUOTA))
		p->quota = unic_from_le32(cmd.quota);
}

/* ------------------------------------------------------------ conversations */

static void done_ack(struct model *m, const struct tap_cmd *c)
{
	struct unic_cmd_notice_ack cmd;
	struct model_mr *r;

	memcpy(&cmd, c->rec, sizeof(cmd));
	r = model_find(m, unic_from_le32(cmd.mr), unic_from_le32(cmd.gen));
	if (r && r->seq == unic_from_le32(cmd.seq) && !r->ack_ns)
		r->ack_ns = c->seen_ns;
}

static void done_answer(struct model *m, const struct tap_cmd *c)
{
	struct unic_cmd_notice_answer cmd;
	struct model_mr *r, *o;

	memcpy(&cmd, c->rec, sizeof(cmd));
	r = model_find(m, unic_from_le32(cmd.mr), unic_from_le32(cmd.gen));
	if (!r)
		return;
	if (!r->ack_ns) /* an answer counts as delivery */
		r->ack_ns = c->seen_ns;
	if (unic_from_le32(cmd.answer) == UNIC_ANSWER_EXTEND) {
		r->grace_ns += unic_from_le32(cmd.extend_us) * US;
		r->extended = true;
	}
	if (unic_from_le32(cmd.answer) != UNIC_ANSWER_OFFER)
		return;
	o = model_find(m, unic_from_le32(cmd.offer_mr),
		       unic_from_le32(cmd.offer_gen));
	if (!o)
		sim_fail("model", "an offer of nothing was taken");
	promise(m, o, MODEL_NOTIFIED);
	o->seq = r->seq;
	o->notice_ns = r->notice_ns;
	o->ack_ns = r->ack_ns;
	o->grace_ns = r->grace_ns;
	m->proc[r->proc].coming -= r->held;
	r->state = MODEL_ACTIVE;
	r->ack_ns = 0;
	r->seq = 0;
}

static void done_params(struct model *m, const struct tap_cmd *c)
{
	struct unic_cmd_set_params cmd;

	memcpy(&cmd, c->rec, sizeof(cmd));
	if (unic_from_le32(cmd.grace_us))
		m->grace_ns = unic_from_le32(cmd.grace_us) * US;
	if (unic_from_le32(cmd.deliver_us))
		m->deliver_ns = unic_from_le32(cmd.deliver_us) * US;
	if (unic_from_le32(cmd.reaper_us))
		m->reaper_ns = unic_from_le32(cmd.reaper_us) * US;
	if (unic_from_le32(cmd.residence_us))
		m->residence_ns = unic_from_le32(cmd.residence_us) * US;
	if (unic_from_le32(cmd.extend_us))
		m->extend_ns = unic_from_le32(cmd.extend_us) * US;
	if (unic_from_le32(cmd.idle_us) ||
	    unic_from_le32(cmd.flags) & UNIC_PARAM_IDLE)
		m->idle_ns = unic_from_le32(cmd.idle_us) * US;
}

/* The tap reads a DEMAND a bit after the NIC began to wait, if its ring was full
 * or its poll came late. */
#define MISS_SLACK (100 * US)

static bool too_late(const struct model *m, const struct model_miss *miss,
		     uint64_t at_ns)
{
	return at_ns - miss->at_ns + MISS_SLACK >= m->deliver_ns;
}

/* There was no room for the pages behind @done: the NIC waits longer for them. */
static void answered_short(struct model *m, const struct unic_cmd_mr_fault *cmd,
			   uint32_t done)
{
	uint32_t first = unic_from_le32(cmd->first) + done, i;

	for (i = 0; i < MODEL_MISSES; i++) {
		struct model_miss *miss = &m->miss[i];

		if (miss->at_ns && miss->mr == unic_from_le32(cmd->mr) &&
		    miss->gen == unic_from_le32(cmd->gen) &&
		    miss->first - first < unic_from_le32(cmd->count) - done)
			miss->short_of = true;
	}
}

static void answered(struct model *m, const struct tap_cmd *c, const void *rec)
{
	struct unic_cmd_mr_fault cmd;
	struct unic_cpl_mr_pages cpl;
	struct model_mr *r;
	uint32_t i;

	memcpy(&cmd, c->rec, sizeof(cmd));
	memcpy(&cpl, rec, sizeof(cpl));
	done_fault(m, c, rec);
	if (cpl.hdr.status == UNIC_ST_BUSY)
		answered_short(m, &cmd, unic_from_le32(cpl.done));
	if (cpl.hdr.status == UNIC_ST_BUSY && !unic_from_le32(cpl.done))
		return; /* the driver tries again */
	r = model_find(m, unic_from_le32(cmd.mr), unic_from_le32(cmd.gen));
	for (i = 0; i < MODEL_MISSES; i++) {
		struct model_miss *miss = &m->miss[i];

		if (!miss->at_ns || miss->mr != unic_from_le32(cmd.mr) ||
		    miss->gen != unic_from_le32(cmd.gen) ||
		    miss->first != unic_from_le32(cmd.first))
			continue;
		if (r && too_late(m, miss, c->seen_ns))
			r->unheard = true;
		miss->at_ns = 0;
	}
}

/* ------------------------------------------------------------------- events */

static void event_miss(struct model *m, const struct unic_evt_miss *e)
{
	uint32_t i, at = 0;

	for (i = 1; i < MODEL_MISSES; i++) /* a free one, or the oldest */
		if (m->miss[i].at_ns < m->miss[at].at_ns)
			at = i;
	m->miss[at] = (struct model_miss){
		.mr = unic_from_le32(e->mr),
		.gen = unic_from_le32(e->gen),
		.first = unic_from_le32(e->first),
		.count = unic_from_le32(e->count),
		.at_ns = sim_now(),
	};
}

static struct model_wait *wait_of(struct model *m, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < MODEL_WAITS; i++)
		if (m->wait[i].id == id)
			return &m->wait[i];
	return NULL;
}

static void wait_over(struct model *m, struct model_wait *w)
{
	m->proc[w->proc].wanted -= unic_from_le32(w->cmd.n_pages);
	w->id = 0;
}

static void event_wait(struct model *m, const struct unic_evt_wait *e)
{
	struct model_wait *w = wait_of(m, unic_from_le32(e->wait));

	if (!w)
		sim_fail("once", "request %u, which does not wait, ended",
			 unic_from_le32(e->wait));
	if (e->hdr.type == UNIC_EVT_GRANTED)
		begin(m, &w->cmd, unic_from_le32(e->mr), unic_from_le32(e->gen),
		      unic_from_le32(e->stag));
	wait_over(m, w);
}

/* Did the region of @gen end in this round, whether or not its index was used again? */
static bool ended_now(const struct model_mr *r, uint32_t gen)
{
	if (r->gen == gen)
		return r->gone_ns == sim_now();
	return r->before_gen == gen && r->before_gone_ns == sim_now();
}

/*
 * Is an event right although its region is gone? Completions and events of one
 * poll round are read in this order, not in that of publication: EVICTED was
 * published before the tombstone was deregistered, but is read after it.
 */
static bool same_round(struct model *m, const struct unic_evt_mr *e)
{
	struct model_mr *r = &m->mr[unic_from_le32(e->mr) % MODEL_MRS];

	if (e->hdr.type == UNIC_EVT_EVICTED && m->owed &&
	    m->owed_mr == unic_from_le32(e->mr) &&
	    m->owed_gen == unic_from_le32(e->gen)) {
		m->owed--; /* the index was used again */
		return true;
	}
	if (e->hdr.type == UNIC_EVT_NOTICE) /* the region has ended since */
		return ended_now(r, unic_from_le32(e->gen));
	if (e->hdr.type != UNIC_EVT_EVICTED || r->told ||
	    r->gen != unic_from_le32(e->gen) || r->gone_ns != sim_now())
		return false;
	r->told = true;
	return true;
}

static void event_mr(struct model *m, const struct unic_evt_mr *e)
{
	struct model_mr *r =
		model_find(m, unic_from_le32(e->mr), unic_from_le32(e->gen));

	if (!r && same_round(m, e))
		return;
	if (!r)
		sim_fail("once", "%s of region %u, which is gone",
			 e->hdr.type == UNIC_EVT_NOTICE ? "NOTICE" : "EVICTED",
			 unic_from_le32(e->mr));
	if (e->hdr.type == UNIC_EVT_EVICTED) {
		r->told = true;
		gone(m, r);
		return;
	}
	if (r->state == MODEL_LEAVING) { /* right only in the same round */
		if (r->left_ns != sim_now())
			sim_fail("once",
				 "NOTICE of region %u, which was given "
				 "back",
				 r->mr);
		return;
	}
	promise(m, r, MODEL_NOTIFIED);
	r->seq = unic_from_le32(e->seq);
	r->notice_ns = sim_now();
	r->grace_ns = unic_from_le32(e->grace_us) * US;
	r->ack_ns = 0;
}

/* -------------------------------------------------------------------- entry */

void model_done(struct model *m, const struct tap_cmd *c, const void *cpl)
{
	struct unic_cmd_hdr hdr;
	struct unic_cmd_pd pd;
	struct unic_cmd_wait_cancel cancel;
	struct unic_cpl_pd pd_cpl;

	memcpy(&hdr, cpl, sizeof(hdr));
	memcpy(&pd, c->rec, sizeof(pd));
	memcpy(&pd_cpl, cpl, sizeof(pd_cpl));
	memcpy(&cancel, c->rec, sizeof(cancel));
	if (hdr.opcode == UNIC_CMD_MR_REG)
		done_reg(m, c, cpl, hdr.status);
	else if (hdr.opcode == UNIC_CMD_MR_FAULT)
		answered(m, c, cpl);
	else if (hdr.opcode == UNIC_CMD_MR_DEREG)
		done_dereg(m, c, hdr.status);
	else if (hdr.opcode == UNIC_CMD_PROC_DETACH && hdr.status <= 1)
		proc_over(m, unic_from_le32(pd.proc) % MODEL_PROCS,
			  !hdr.status);
	if (hdr.status)
		return;
	if (hdr.opcode == UNIC_CMD_MR_ALLOC)
		done_alloc(m, c, cpl);
	else if (hdr.opcode == UNIC_CMD_MR_FILL)
		done_fill(m, c);
	else if (hdr.opcode == UNIC_CMD_PROC_ATTACH)
		done_attach(m, c);
	else if (hdr.opcode == UNIC_CMD_PROC_SET)
		done_set(m, c);
	else if (hdr.opcode == UNIC_CMD_PD_ALLOC)
		m->pd_proc[unic_from_le32(pd_cpl.pd) % MODEL_PDS] =
			unic_from_le32(pd.proc) % MODEL_PROCS;
	else if (hdr.opcode == UNIC_CMD_NOTICE_ACK)
		done_ack(m, c);
	else if (hdr.opcode == UNIC_CMD_NOTICE_ANSWER)
		done_answer(m, c);
	else if (hdr.opcode == UNIC_CMD_SET_PARAMS)
		done_params(m, c);
	else if (hdr.opcode == UNIC_CMD_WAIT_CANCEL &&
		 wait_of(m, unic_from_le32(cancel.wait)))
		wait_over(m, wait_of(m, unic_from_le32(cancel.wait)));
}

void model_event(struct model *m, const void *evt)
{
	struct unic_evt_hdr hdr;
	struct unic_evt_mr mr;
	struct unic_evt_wait wait;
	struct unic_evt_obj obj;
	struct unic_evt_miss miss;

	memcpy(&hdr, evt, sizeof(hdr));
	memcpy(&mr, evt, sizeof(mr));
	memcpy(&miss, evt, sizeof(miss));
	memcpy(&wait, evt, sizeof(wait));
	memcpy(&obj, evt, sizeof(obj));
	if (hdr.type == UNIC_EVT_NOTICE || hdr.type == UNIC_EVT_EVICTED)
		event_mr(m, &mr);
	else if (hdr.type == UNIC_EVT_GRANTED ||
		 hdr.type == UNIC_EVT_WAIT_ENDED)
		event_wait(m, &wait);
	else if (hdr.type == UNIC_EVT_MISS)
		event_miss(m, &miss);
	else if (hdr.type == UNIC_EVT_PROC_GONE)
		proc_over(m, unic_from_le32(obj.id) % MODEL_PROCS, true);
}

void model_round(const struct model *m)
{
	if (m->owed)
		sim_fail("model", "region index %u is given twice", m->owed_mr);
}

/* Values after a reset, before SET_PARAMS; the info page does not show them. */
#define RESIDENCE_NS (5 * MS)
#define EXTEND_NS    (40 * MS)

void model_epoch(struct model *m, const struct unic_info *info)
{
	memset(m, 0, sizeof(*m));
	stags_epoch(m);
	m->epoch = unic_from_le32(info->boot_epoch);
	m->capacity = unic_from_le32(info->tlb_entries);
	m->mrs = unic_from_le32(info->mrs);
	if (m->mrs > MODEL_MRS || unic_from_le32(info->waits) > MODEL_WAITS ||
	    unic_from_le32(info->pds) > MODEL_PDS ||
	    unic_from_le32(info->procs) > MODEL_PROCS)
		sim_fail("sim", "the model has fewer regions, requests, "
				"domains or processes than the NIC");
	m->grace_ns = unic_from_le32(info->grace_us) * US;
	m->deliver_ns = unic_from_le32(info->deliver_us) * US;
	m->reaper_ns = unic_from_le32(info->reaper_us) * US;
	m->drain_ns = unic_from_le32(info->drain_us) * US;
	m->residence_ns = RESIDENCE_NS;
	m->extend_ns = EXTEND_NS;
}

/* ------------------------------------------------------------------ queries */

static bool waits_too_long(const struct model *m, const struct model_mr *r)
{
	uint32_t i;

	for (i = 0; i < MODEL_MISSES; i++)
		if (m->miss[i].at_ns && m->miss[i].mr == r->mr &&
		    m->miss[i].gen == r->gen &&
		    too_late(m, &m->miss[i], sim_now()))
			return true;
	return false;
}

bool model_unheard(const struct model *m, uint32_t stag)
{
	uint32_t i;

	for (i = 0; i < MODEL_MRS; i++)
		if (m->mr[i].stag == stag &&
		    (m->mr[i].unheard || waits_too_long(m, &m->mr[i])))
			return true;
	return false;
}

/* Do all of the bytes belong to the region? The first byte of page 0 and the
 * last one of the last page may not. */
static bool inside(const struct model_mr *r, uint32_t page, uint64_t off,
		   uint32_t len)
{
	uint64_t mask = (1ull << r->shift) - 1;
	uint64_t iova = (r->iova & ~mask) + ((uint64_t)page << r->shift) + off;

	return iova >= r->iova && iova + len <= r->iova + r->length;
}

bool model_lists(const struct model *m, uint64_t bus, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *r = &m->mr[i];

		if (r->state >= MODEL_ACTIVE && r->list && bus >= r->list &&
		    bus + len <= r->list + (r->n_pages + 7) / 8 * 64u)
			return true;
	}
	return false;
}

const struct model_mr *model_at(const struct model *m, uint64_t bus,
				uint32_t len)
{
	uint32_t i, k;

	for (i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *r = &m->mr[i];

		if (r->state < MODEL_ACTIVE)
			continue;
		for (k = 0; k < r->n_pages; k++)
			if (bus >= r->bus[k] &&
			    bus + len <= r->bus[k] + (1ull << r->shift) &&
			    inside(r, k, bus - r->bus[k], len))
				return r;
	}
	return NULL;
}
