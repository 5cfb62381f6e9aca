/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sane.c - walks every table of a NIC and asserts that they agree with each
 * other. Each count is computed again from the objects that it counts, which
 * finds a forgotten update. All of it must hold between two polls.
 */
#include "world.h"
#include "memory/access.h"
#include "memory/cached_window.h"
#include "transport/sq.h"

/* The uses of one region, counted at its users. */
struct uses {
	uint32_t entries, tokens, holds, dmas, queues, notices, deps;
};

struct books {
	struct uses mr[UNIC_MRS];
	uint32_t pd_users[UNIC_PDS];
	uint32_t cq_users[UNIC_CQS];
	uint32_t mrs[UNIC_PROCS], qps[UNIC_PROCS], cqs[UNIC_PROCS];
	uint32_t held[UNIC_PROCS], coming[UNIC_PROCS], put_off[UNIC_PROCS];
	uint32_t control[UNIC_PROCS], control_mrs[UNIC_PROCS];
	uint32_t wanted[UNIC_PROCS], tokens[UNIC_PROCS], waits[UNIC_PROCS];
};

/* True if @mr has entries, reserved or filled. */
static bool holds_entries(const struct unic_mr_ctx *mr)
{
	return mr->state >= UNIC_MR_LOADING && mr->state <= UNIC_MR_DRAINING;
}

/* ------------------------------------------------------------------- the TLB */

static void check_entry(const struct unic_nic *nic,
			const struct unic_tlb_entry *e)
{
	const struct unic_mr_ctx *mr;
	uint32_t base;

	must(unic_tlb_mr(e->tag) < UNIC_MRS);
	mr = &nic->mrs.mr[unic_tlb_mr(e->tag)];
	base = mr->tlb_base;
	must(holds_entries(mr));
	if (unic_mr_cached(mr))
		base = nic->cache.of[unic_tlb_mr(e->tag)].base;
	must(e->tag - base <
	     (unic_mr_cached(mr) ? UNIC_CACHED_PAGES : mr->n_pages));
	must(!(e->bus & ((1ull << mr->page_shift) - 1)));
	must(unic_tlb_find(&nic->tlb, base, e->tag - base) ==
	     (uint32_t)(e - nic->tlb.entry));
}

/* Entries of cached regions: each is on the ring of its process, and each one
 * of a DEMAND region has a place in the drop ring (INV-17). */
static void check_cache(const struct unic_nic *nic)
{
	uint32_t demand = 0, all = 0, proc, n, i;

	for (proc = 0; proc < UNIC_PROCS; proc++) {
		i = nic->cache.hand[proc];
		all += nic->cache.entries[proc];
		for (n = 0; n < nic->cache.entries[proc]; n++) {
			uint32_t tag = nic->tlb.entry[i].tag;
			const struct unic_mr_ctx *mr =
				&nic->mrs.mr[unic_tlb_mr(tag)];

			must(tag != UNIC_TLB_NO_TAG && unic_mr_cached(mr) &&
			     mr->proc == proc);
			must(nic->cache.prev[nic->cache.next[i]] == i);
			demand += nic->cache.of[unic_tlb_mr(tag)].demand;
			i = nic->cache.next[i];
		}
		must(i == nic->cache.hand[proc]);
	}
	must(demand == nic->cache.demand && all == nic->cache.all_entries);
	must(nic->mbox.drop_tail - nic->mbox.drop_head + demand <=
	     UNIC_DROP_ENTRIES);
}

/* Of the windows over a cached region the one that has a page is known. */
static void check_shown(const struct unic_nic *nic)
{
	const struct unic_mr_ctx *mr = nic->mrs.mr;
	uint16_t i;

	for (i = 0; i < UNIC_MRS; i++, mr++)
		must(!unic_mr_over_cached(mr) || !mr->win_bytes ||
		     nic->cache.of[unic_cached_window_region(&nic->memory, i)]
				     .shown == i);
}

static void count_tlb(const struct unic_nic *nic, struct books *b)
{
	const struct unic_tlb *t = &nic->tlb;
	uint32_t i, used = 0, chained = 0, spare = 0;
	uint16_t at;

	for (i = 0; i < UNIC_TLB_ENTRIES; i++) {
		if (t->entry[i].tag == UNIC_TLB_NO_TAG)
			continue;
		check_entry(nic, &t->entry[i]);
		b->mr[unic_tlb_mr(t->entry[i].tag)].entries++;
		used++;
	}
	for (i = 0; i < UNIC_TLB_BUCKETS; i++)
		for (at = t->bucket[i]; at != UNIC_TLB_END;
		     at = t->entry[at].next) {
			must(at < UNIC_TLB_END && chained < used);
			chained++;
		}
	must(chained == used);
	must(used + t->free + t->reserved == UNIC_TLB_ENTRIES);
	for (at = t->free_head; at < UNIC_TLB_ENTRIES; at = t->entry[at].next) {
		must(t->entry[at].tag == UNIC_TLB_NO_TAG);
		must(++spare <= UNIC_TLB_ENTRIES);
	}
	must(spare + used == UNIC_TLB_ENTRIES);
}

/* ------------------------------------------------------ users of a region */

/* Counts the queue pairs amid a tagged message: each has claimed a token. */
static uint32_t count_claims(const struct unic_nic *nic)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_QPS; i++) {
		const struct unic_msg *m = &nic->qps.qp[i].rsp.msg;

		if (!nic->qps.qp[i].used || m->kind != UNIC_MSG_TOKEN ||
		    m->refused || m->multi)
			continue;
		must(m->token < UNIC_TOKENS);
		must(unic_token_claimed(&nic->tokens.token[m->token]));
		n++;
	}
	return n;
}

/* Each list of pieces belongs to one token: the IOVA of such a token is above
 * 2^63, and regions lie below (dma_mr.h). */
static void count_pieces(const struct unic_nic *nic)
{
	uint32_t i, n = 0, lists = 0;

	for (i = 0; i < UNIC_TOKENS; i++) {
		const struct unic_token *t = &nic->tokens.token[i];

		n += unic_token_state(t) != UNIC_TOKEN_S_FREE &&
		     unic_mr_physical(&nic->mrs.mr[t->mr]) && t->iova >> 63;
	}
	for (i = 0; i < UNIC_DMA_MR_LISTS; i++)
		lists += nic->dma_mrs.used >> i & 1;
	must(n == lists);
}

static void count_tokens(const struct unic_nic *nic, struct books *b)
{
	const struct unic_tokens *ts = &nic->tokens;
	uint32_t i, used = 0, claimed = 0, spare = 0, due = 0;
	uint16_t at;

	for (i = 0; i < UNIC_TOKENS; i++) {
		const struct unic_token *t = &ts->token[i];

		due += t->evt_due;
		if (unic_token_state(t) == UNIC_TOKEN_S_FREE)
			continue;
		must(!t->evt_due);
		must(t->mr < UNIC_MRS && t->proc < UNIC_PROCS);
		must(nic->mrs.mr[t->mr].proc == t->proc);
		b->mr[t->mr].tokens++;
		b->tokens[t->proc]++;
		used++;
		claimed += unic_token_claimed(t);
	}
	must(used == ts->used && due == ts->evts_due);
	must(claimed == count_claims(nic));
	for (at = ts->free_head; at != UNIC_TOKEN_NIL; at = ts->token[at].next)
		must(++spare <= UNIC_TOKENS);
	must(spare + used + due == UNIC_TOKENS);
	for (i = 0; i < UNIC_PROCS; i++)
		must(ts->held[i] == b->tokens[i]);
}

/* Each read of a translation list holds its region. */
static uint32_t count_reads(const struct unic_nic *nic, struct books *b)
{
	const struct unic_tables *t = &nic->tables;
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_TABLE_READS; i++) {
		if (!t->read[i].busy)
			continue;
		must(unic_mr_cached(&nic->mrs.mr[t->read[i].mr]));
		must(!nic->cache.of[t->read[i].mr].demand);
		b->mr[t->read[i].mr].holds++;
		n++;
	}
	must(n == t->under_way);
	return n;
}

static void count_dma(const struct unic_nic *nic, struct books *b)
{
	const struct unic_dma *d = &nic->dma;
	uint32_t i, busy = 0, spare = 0;
	uint16_t at, region;

	for (i = 0; i < UNIC_DMA_JOBS; i++) {
		if (!d->job[i].busy)
			continue;
		busy++;
		b->mr[d->job[i].mr].dmas++;
		region = unic_cached_window_region(&nic->memory, d->job[i].mr);
		b->mr[region].dmas += region != d->job[i].mr;
	}
	for (at = d->free_head; at != UNIC_DMA_NO_JOB; at = d->job[at].next)
		must(++spare <= UNIC_DMA_JOBS);
	must(busy + spare == UNIC_DMA_JOBS);
	must(nic->pieces == busy + count_reads(nic, b));
}

static void count_notices(const struct unic_nic *nic, struct books *b)
{
	const struct unic_notices *n = &nic->notices;
	uint32_t open = 0;
	uint16_t i;

	for (i = n->open_head; i != UNIC_NOTICE_NIL; i = n->notice[i].next) {
		const struct unic_notice *t = &n->notice[i];

		must(++open <= UNIC_NOTICES);
		must(t->state != UNIC_NOTICE_FREE);
		must(t->subject < UNIC_MRS);
		must(nic->mrs.mr[t->subject].notice == i);
		b->mr[t->subject].notices++;
	}
	must(open == n->open);
}

/* A request that was sent holds the regions of its buffers. */
static void count_send(const struct unic_qp_ctx *qp, struct books *b)
{
	struct unic_sq *sq = (struct unic_sq *)&qp->sq;
	uint32_t s, i;

	must(sq->tail - sq->una <= sq->mask + 1);
	must(sq->fetched - sq->una <= UNIC_QP_WINDOW);
	must(sq->next - sq->una <= sq->fetched - sq->una);
	must(sq->fetched - sq->una <= sq->tail - sq->una);
	for (s = sq->una; s != sq->next; s += unic_sq_slots(sq, s)) {
		const struct unic_sq_slot *slot = unic_sq_slot(sq, s);
		const struct unic_wr *wr = unic_sq_wr(sq, s);

		must(unic_sq_slots(sq, s) == 1 || unic_sq_slots(sq, s) == 2);
		must(sq->next - s <= UNIC_QP_WINDOW);
		if (wr->state != UNIC_WRS_SENT)
			continue;
		for (i = 0; i < slot->num_sge; i++) {
			const struct unic_sge *sge =
				i < UNIC_SQ_SGE_BASE
					? &slot->sge[i]
					: (const struct unic_sge *)unic_sq_slot(
						  sq, s + 1) +
						  (i - UNIC_SQ_SGE_BASE);

			if (!sge->len)
				continue;
			must(unic_stag_index(sge->lkey) < UNIC_MRS);
			b->mr[unic_stag_index(sge->lkey)].holds++;
		}
	}
}

static void count_receive(const struct unic_qp_ctx *qp, struct books *b)
{
	const struct unic_rq *rq = &qp->rq;
	const struct unic_rq_slot *slot =
		rq->far_pick ? &rq->far : &rq->win[rq->pick % UNIC_RQ_WINDOW];
	uint32_t i;

	must(rq->tail - rq->head <= rq->mask + 1);
	must(rq->fetched - rq->head <= rq->tail - rq->head);
	must(!rq->held || rq->picked);
	for (i = 0; rq->held && rq->checked && i < slot->num_sge; i++)
		if (slot->sge[i].len)
			b->mr[rq->mr[i]].holds++;
}

static void count_response(const struct unic_qp_ctx *qp, struct books *b)
{
	uint32_t i, active = 0;

	for (i = 0; i < UNIC_QP_READS; i++) {
		if (!qp->read[i].active)
			continue;
		active++;
		if (qp->read[i].mr != UNIC_MR_NIL)
			b->mr[qp->read[i].mr].holds++;
	}
	must(active == qp->rsp.rd_active);
	if (qp->rsp.msg.held)
		b->mr[qp->rsp.msg.mr].holds++;
}

static void count_queues(const struct unic_nic *nic, struct books *b)
{
	uint32_t i;

	for (i = 0; i < UNIC_QPS; i++) {
		const struct unic_qp_ctx *qp = &nic->qps.qp[i];

		if (!qp->used)
			continue;
		must((qp->qpn & 0xff) == i);
		b->mr[qp->mr].queues++;
		b->pd_users[qp->pd]++;
		b->qps[qp->proc]++;
		b->cq_users[qp->send_cq]++;
		b->cq_users[qp->recv_cq]++;
		must(qp->dying ||
		     nic->procs.proc[qp->proc].qp_of[qp->db_index] == i);
		count_send(qp, b);
		count_receive(qp, b);
		count_response(qp, b);
	}
	for (i = 0; i < UNIC_CQS; i++) {
		const struct unic_cq_ctx *cq = &nic->cqs.cq[i];

		must(cq->users == b->cq_users[i]);
		if (!cq->used) {
			must(!cq->users);
			continue;
		}
		b->mr[cq->mr].queues++;
		b->pd_users[cq->pd]++;
		b->cqs[cq->proc]++;
		must(nic->procs.proc[cq->proc].cq_of[cq->db_index] == i);
	}
}

/* Counts the elements of derived regions, by owner and by region. */
static void count_forms(const struct unic_nic *nic, struct books *b)
{
	const struct unic_derived_regions *f = &nic->derived;
	uint32_t i, k, used = 0, held[UNIC_PROCS] = { 0 },
		       bare[UNIC_PROCS] = { 0 };

	for (i = 0; i < UNIC_MRS; i++) {
		const struct unic_derived *form = &f->form[i];

		must(form->used <= form->n);
		must(!form->n || nic->mrs.mr[i].state != UNIC_MR_FREE);
		used += form->n;
		if (form->n) {
			held[nic->mrs.mr[i].proc] += form->n;
			bare[nic->mrs.mr[i].proc] += form->kind !=
						     UNIC_FORM_FAST;
		}
		for (k = 0; k < form->used; k++)
			b->mr[f->element[form->first + k].mr].deps++;
	}
	must(used == f->used);
	for (i = 0; i < UNIC_PROCS; i++)
		must(held[i] == f->held[i] && bare[i] == f->bare[i]);
}

/* ------------------------------------------------------------------- regions */

static void check_uses(const struct unic_mr_ctx *mr, const struct uses *u)
{
	must(u->entries == (holds_entries(mr) ? mr->filled : 0));
	if (mr->state == UNIC_MR_FREE) {
		must(!u->tokens && !u->holds && !u->dmas && !u->queues);
		return;
	}
	must(mr->n_tokens == u->tokens);
	must(mr->deps == u->deps);
	must(mr->holds == u->holds);
	must(mr->dmas == u->dmas);
	must(mr->queues == u->queues);
	must((mr->notice != UNIC_NOTICE_NIL) == (u->notices == 1));
}

static void check_region(const struct unic_nic *nic, uint32_t i,
			 struct books *b)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[i];
	bool shut = mr->flags & (UNIC_MR_F_SHUT | UNIC_MR_F_INVAL);
	bool open = !shut && (mr->state == UNIC_MR_ACTIVE ||
			      mr->state == UNIC_MR_NOTIFIED);

	check_uses(mr, &b->mr[i]);
	if (mr->state == UNIC_MR_FREE)
		return;
	must(mr->stag >> UNIC_MR_IDX_SHIFT == i);
	must((mr->lock == (mr->stag ^ (uint32_t)mr->pd << UNIC_MR_IDX_SHIFT)) ==
	     open);
	if (!holds_entries(mr))
		return;
	must(mr->proc < UNIC_PROCS && nic->procs.proc[mr->proc].db);
	must(nic->mrs.pd[mr->pd].proc == mr->proc);
	must(mr->filled <= mr->n_pages);
	must(!open || mr->filled == mr->n_pages ||
	     nic->derived.form[i].kind == UNIC_FORM_FAST);
	must(mr->state != UNIC_MR_DRAINING || !unic_mr_idle(mr));
	must(mr->state != UNIC_MR_NOTIFIED || mr->notice != UNIC_NOTICE_NIL);
	b->pd_users[mr->pd]++;
	b->held[mr->proc] += mr->n_pages;
	if (mr->flags & UNIC_MR_F_COMING)
		b->coming[mr->proc] += unic_mr_cached(mr) ? 0 : mr->n_pages;
	else if (mr->state == UNIC_MR_NOTIFIED)
		b->put_off[mr->proc] += unic_mr_cached(mr) ? 0 : mr->n_pages;
	if (mr->mr_class == UNIC_CLASS_CONTROL) {
		b->control[mr->proc] += mr->n_pages;
		b->control_mrs[mr->proc]++;
	}
}

static void check_indices(const struct unic_nic *nic, struct books *b)
{
	const struct unic_mrs *m = &nic->mrs;
	uint32_t i, tombs = 0, listed = m->free, unused = 0;
	uint16_t at;

	for (at = m->tomb_head; at != UNIC_MR_NIL; at = m->mr[at].next) {
		must(m->mr[at].state == UNIC_MR_EVICTED);
		must(++tombs <= UNIC_MRS);
	}
	must(tombs == m->tombstones);
	for (i = 0; i < UNIC_PROCS; i++) {
		if (!nic->procs.proc[i].db)
			continue;
		for (at = nic->procs.proc[i].mr_head; at != UNIC_MR_NIL;
		     at = m->mr[at].next) {
			must(m->mr[at].proc == i);
			must(m->mr[at].state != UNIC_MR_FREE);
			must(++b->mrs[i] <= UNIC_MRS);
		}
		must(b->mrs[i] == nic->procs.proc[i].mrs);
		listed += b->mrs[i];
	}
	for (i = 0; i < UNIC_MRS; i++)
		unused += m->mr[i].state == UNIC_MR_FREE;
	for (i = 0; i < m->free; i++)
		must(m->mr[m->order[i]].state == UNIC_MR_FREE);
	must(m->free == unused - nic->stags.resting);
	must(listed + tombs + (unused - m->free) == UNIC_MRS);
}

/* ------------------------------------------------------------ shares, waits */

static void count_waits(const struct unic_nic *nic, struct books *b)
{
	uint32_t i, queued = 0, ended = 0, spare = 0, denials = 0;
	uint16_t at;

	for (i = 0; i < UNIC_PROCS; i++)
		for (at = nic->admission.wait_head[i]; at != UNIC_ADMISSION_NIL;
		     at = nic->admission.wait[at].next) {
			must(++queued <= UNIC_WAITS);
			must(nic->admission.wait[at].id &&
			     !nic->admission.wait[at].ended);
			must(nic->admission.wait[at].proc == i);
			b->wanted[i] += nic->admission.wait[at].args.n_pages;
			b->pd_users[nic->admission.wait[at].args.pd]++;
			b->waits[i]++;
		}
	for (i = 0; i < UNIC_PROCS; i++) {
		must(!nic->admission.denials.of[i].n ||
		     nic->admission.wait_head[i] == UNIC_ADMISSION_NIL);
		must(!nic->admission.denials.of[i].n ||
		     nic->admission.wait_ns <=
			     nic->admission.denials.of[i].until_ns);
		b->wanted[i] += nic->admission.denials.of[i].n;
		denials += !!nic->admission.denials.of[i].n;
	}
	must(denials == nic->admission.denials.count);
	for (at = nic->admission.ended_head; at != UNIC_ADMISSION_NIL;
	     at = nic->admission.wait[at].next) {
		must(++ended <= UNIC_WAITS);
		must(nic->admission.wait[at].id &&
		     nic->admission.wait[at].ended);
		b->waits[nic->admission.wait[at].proc]++;
	}
	for (at = nic->admission.wait_free; at != UNIC_ADMISSION_NIL;
	     at = nic->admission.wait[at].next)
		must(++spare <= UNIC_WAITS);
	must(queued == nic->admission.waiting);
	must(queued + ended + spare == UNIC_WAITS);
}

static void check_shares(const struct unic_nic *nic, const struct books *b)
{
	uint32_t i, coming = 0, promised = 0, claimed = 0, put_off = 0;
	uint32_t slots = 0, without = 0, weights = 0;

	for (i = 0; i < UNIC_PROCS; i++) {
		const struct unic_share_owner *o = &nic->share.owner[i];

		must(o->held == b->held[i]);
		must(o->wanted == b->wanted[i]);
		must(o->coming == b->coming[i]);
		must(nic->evict.put_off.of[i] == b->put_off[i]);
		must(nic->mrs.control[i].entries == b->control[i]);
		must(nic->mrs.control[i].mrs == b->control_mrs[i]);
		must(nic->admission.wait_slots[i] == b->waits[i]);
		slots += nic->admission.wait_slots[i];
		without += !nic->admission.wait_slots[i];
		weights += o->weight;
		must(unic_bitset_has(&nic->promises.waiters, i) ==
		     !!b->wanted[i]);
		must(nic->promises.to[i] <= o->wanted);
		must(unic_bitset_has(&nic->promises.owed, i) ==
		     !!nic->promises.to[i]);
		must(!o->quota || o->quota <= UNIC_TLB_ENTRIES);
		coming += o->coming;
		put_off += nic->evict.put_off.of[i];
		promised += nic->promises.to[i];
		must(nic->promises.needed[i] ==
		     nic->demands.of[i].need.entries);
		claimed += nic->promises.to[i] > nic->promises.needed[i]
				   ? nic->promises.to[i]
				   : nic->promises.needed[i];
	}
	must(claimed == nic->promises.claimed);
	must(coming == nic->share.coming);
	must(put_off == nic->evict.put_off.all);
	must(promised == nic->promises.all);
	must(promised <= nic->tlb.free);
	must(slots == nic->admission.wait_used &&
	     without == nic->admission.wait_without);
	must(weights == nic->share.all_weights);
}

static void check_procs(const struct unic_nic *nic, const struct books *b)
{
	uint32_t i, active = 0, leaving = 0;

	for (i = 0; i < UNIC_PROCS; i++) {
		const struct unic_proc *p = &nic->procs.proc[i];

		if (!p->db) {
			must(!b->held[i] && !b->qps[i] && !b->cqs[i]);
			must(!b->waits[i] && !b->tokens[i]);
			continue;
		}
		active++;
		leaving += p->detaching;
		must(p->qps == b->qps[i] && p->cqs == b->cqs[i]);
	}
	must(active == nic->procs.n_active);
	must(leaving == nic->procs.n_detaching);
	for (i = 0; i < UNIC_PDS; i++) {
		const struct unic_pd_ctx *pd = &nic->mrs.pd[i];

		if (pd->proc >= UNIC_PROCS)
			must(!b->pd_users[i]);
		else
			must(pd->users == b->pd_users[i]);
	}
}

void sane(struct unic_nic *nic)
{
	struct books b;
	uint32_t i;

	memset(&b, 0, sizeof(b));
	count_tlb(nic, &b);
	check_cache(nic);
	check_shown(nic);
	count_tokens(nic, &b);
	count_pieces(nic);
	count_dma(nic, &b);
	count_notices(nic, &b);
	count_queues(nic, &b);
	count_forms(nic, &b);
	sane_lists(nic);
	for (i = 0; i < UNIC_MRS; i++)
		check_region(nic, i, &b);
	check_indices(nic, &b);
	count_waits(nic, &b);
	check_shares(nic, &b);
	check_procs(nic, &b);
	sane_order(nic);
}
