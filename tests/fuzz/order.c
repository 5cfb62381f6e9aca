/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * order.c - the part of sane() about processes that wait: computes, from the
 * queues and as MEMORY.md section 3 defines it, which process is first and what
 * all of them want, and compares the result with the totals of the core.
 */
#include "world.h"

/* The demand of one process. */
struct want {
	uint32_t proc, n, seq, net;
	bool waits, entitled;
	struct unic_need need;
};

static uint32_t part(const struct unic_nic *nic, uint32_t proc, uint64_t pool)
{
	uint32_t i, weights = 0;

	for (i = 0; i < UNIC_PROCS; i++) {
		const struct unic_share_owner *o = &nic->share.owner[i];

		if (o->held || o->wanted || i == proc)
			weights += o->weight;
	}
	if (!weights)
		return 0;
	return (uint32_t)(pool * nic->share.owner[proc].weight / weights);
}

static uint32_t indices(const struct unic_nic *nic, uint32_t proc)
{
	const struct unic_mrs *m = &nic->mrs;
	uint32_t i, there = (uint32_t)m->free + m->tombstones;

	if (there > nic->admission.waiting + nic->admission.denials.count)
		return UNIC_MRS;
	for (i = 0; i < UNIC_PROCS; i++)
		there += nic->procs.proc[i].mrs;
	return part(nic, proc, there);
}

static bool capped(const struct unic_nic *nic, uint32_t proc, uint32_t held,
		   uint32_t n)
{
	uint32_t quota = nic->share.owner[proc].quota;
	bool by_quota;

	return quota &&
	       held + n + (unic_cache_short(&nic->memory, &by_quota) == proc) >
		       quota;
}

/* Adds the requests at the head of the queue that fit the share together. */
static void add_queue(const struct unic_nic *nic, struct want *w)
{
	uint32_t held = nic->share.owner[w->proc].held;
	uint32_t mrs = nic->procs.proc[w->proc].mrs;
	uint16_t i = nic->admission.wait_head[w->proc];

	for (; i != UNIC_ADMISSION_NIL; i = nic->admission.wait[i].next) {
		held += nic->admission.wait[i].args.n_pages;
		if (held > part(nic, w->proc, UNIC_TLB_ENTRIES) ||
		    ++mrs > indices(nic, w->proc))
			return;
		w->need.entries += nic->admission.wait[i].args.n_pages;
		w->need.indices++;
	}
}

static bool wants(const struct unic_nic *nic, uint32_t proc, struct want *w)
{
	uint16_t head = nic->admission.wait_head[proc];
	uint32_t held = nic->share.owner[proc].held;

	*w = (struct want){ .proc = proc, .waits = head != UNIC_ADMISSION_NIL };
	w->n = w->waits ? nic->admission.wait[head].args.n_pages
			: nic->admission.denials.of[proc].n;
	w->seq = w->waits ? nic->admission.wait[head].id
			  : nic->admission.denials.of[proc].seq;
	if (!w->n || capped(nic, proc, held, w->n))
		return false;
	w->net = held - nic->share.owner[proc].coming + w->n;
	w->entitled = held + w->n <= part(nic, proc, UNIC_TLB_ENTRIES) &&
		      nic->procs.proc[proc].mrs < indices(nic, proc);
	if (w->entitled && w->waits)
		add_queue(nic, w);
	else if (w->entitled)
		w->need = (struct unic_need){ w->n, 1 };
	return w->waits || w->entitled;
}

/* True if @a comes before @b; both are entitled, or neither is. */
static bool first(const struct unic_nic *nic, const struct want *a,
		  const struct want *b)
{
	const struct unic_share_owner *o = nic->share.owner;
	uint64_t l = (uint64_t)a->net * o[b->proc].weight;
	uint64_t r = (uint64_t)b->net * o[a->proc].weight;

	if (b->proc == UNIC_OWNER_NIL)
		return true;
	if (!a->entitled && l != r)
		return l < r;
	return (int32_t)(a->seq - b->seq) < 0;
}

/* What must stay free for @w; @entitled: the process that must leave it is. */
static struct unic_need kept(const struct unic_nic *nic, const struct want *w,
			     bool entitled)
{
	uint32_t promised = nic->promises.to[w->proc];
	struct unic_need need = w->need;

	if (!w->entitled && !entitled)
		need = (struct unic_need){ w->n, 1 };
	if (need.entries < promised)
		need.entries = promised;
	if (need.entries && !need.indices)
		need.indices = 1;
	return need;
}

static bool more_comes(const struct unic_nic *nic, uint32_t proc)
{
	const struct unic_share_owner *o = &nic->share.owner[proc];
	uint16_t head = nic->admission.wait_head[proc];
	uint32_t n;

	if (head == UNIC_ADMISSION_NIL)
		return true;
	n = nic->admission.wait[head].args.n_pages;
	return !capped(nic, proc, o->held - o->coming, n) || n > o->quota;
}

void sane_order(struct unic_nic *nic)
{
	static const struct unic_bitset nobody;
	const struct unic_demands *d = &nic->demands;
	struct want w, best[2] = { { .proc = UNIC_OWNER_NIL },
				   { .proc = UNIC_OWNER_NIL } };
	struct unic_need sum = { 0, 0 }, keeps[2] = { { 0, 0 }, { 0, 0 } };
	struct unic_demand now;
	uint32_t i, k, stuck = UNIC_OWNER_NIL;

	for (i = 0; i < UNIC_PROCS; i++) {
		if (stuck == UNIC_OWNER_NIL && !more_comes(nic, i))
			stuck = i;
		if (!wants(nic, i, &w))
			continue;
		sum.entries += w.need.entries;
		sum.indices += w.need.indices;
		if (first(nic, &w, &best[w.entitled]))
			best[w.entitled] = w;
		for (k = 0; k < 2; k++) {
			keeps[k].entries += kept(nic, &w, k).entries;
			keeps[k].indices += kept(nic, &w, k).indices;
		}
	}
	unic_demand_now(&nic->revoke, &nobody, &now);
	must(now.entitled == sum.entries && now.indices == sum.indices);
	must(now.urgent == best[1].proc && now.urgent_n == best[1].n);
	must(now.borrower == best[0].proc && now.borrower_n == best[0].n);
	must(now.capped == stuck);
	must(d->kept.entries == keeps[1].entries);
	must(d->kept.indices == keeps[1].indices);
	must(d->kept.entries + d->borrowed.entries == keeps[0].entries);
	must(d->kept.indices + d->borrowed.indices == keeps[0].indices);
}
