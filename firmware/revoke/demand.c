/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* demand.c - keeps the order of the waiting processes. */
#include <string.h>

#include "revoke/demand.h"
#include "revoke/revoke.h"

#define PLENTY UINT32_MAX /* indices are not scarce */

void unic_demand_init(struct unic_revoke *nic)
{
	struct unic_demands *d = &nic->demands;

	memset(d, 0, sizeof(*d));
	memset(&nic->promises, 0, sizeof(nic->promises));
	unic_tournament_init(&d->urgent);
	unic_tournament_init(&d->borrowers);
	unic_tournament_init(&d->growing);
	unic_tournament_init(&d->shrinking);
	d->indices = PLENTY;
	d->lacking = UNIC_OWNER_NIL;
}

/* ------------------------------------------------------------- one process */

bool unic_demand_over_quota(const struct unic_revoke *nic, uint32_t proc,
			    uint32_t held, uint32_t n)
{
	const struct unic_share_owner *o = &nic->share.owner[proc];
	bool quota;

	if (!o->quota)
		return false;
	return held + n +
		       (n && unic_cache_short(&nic->memory, &quota) == proc) >
	       o->quota;
}

/* Indices charged to @proc: those of its regions, and those at rest (stag.h). */
static uint32_t indices_of(const struct unic_revoke *nic, uint32_t proc)
{
	return nic->procs.proc[proc].mrs + nic->stags.charged[proc];
}

/* Regions that @proc may have: its share while indices are scarce, else all. */
static uint32_t fair_indices(struct unic_revoke *nic, uint32_t proc)
{
	uint32_t all = nic->demands.indices;

	if (all == PLENTY)
		return UNIC_MRS;
	return unic_share_part(&nic->share, proc, all);
}

static bool is_entitled(struct unic_revoke *nic, uint32_t proc, uint32_t n)
{
	return unic_share_entitled(&nic->share, proc, n) &&
	       indices_of(nic, proc) < fair_indices(nic, proc);
}

/*
 * The largest sum of all weights at which @entries and @mrs + 1 regions are
 * within the share of @proc. 2^16 x (2^16 - 1) fits.
 */
static uint32_t most_weights(const struct unic_revoke *nic, uint32_t proc,
			     uint32_t entries, uint32_t mrs)
{
	uint32_t weight = nic->share.owner[proc].weight, by_mrs;
	uint32_t most = nic->share.capacity * weight / entries;

	if (nic->demands.indices == PLENTY)
		return mrs < UNIC_MRS ? most : 0;
	by_mrs = nic->demands.indices * weight / (mrs + 1);
	return most < by_mrs ? most : by_mrs;
}

/* Adds a request for @n to the needs of @p. Returns false if it is not within the
 * fair share. */
static bool add_request(const struct unic_revoke *nic, uint32_t proc,
			uint32_t n, struct unic_place *p)
{
	const struct unic_share *s = &nic->share;
	uint32_t most = most_weights(nic, proc,
				     s->owner[proc].held + p->need.entries + n,
				     indices_of(nic, proc) + p->need.indices);

	if (s->weights > most) {
		p->above = most;
		return false;
	}
	p->most = most;
	p->need.entries += n;
	p->need.indices++;
	return true;
}

/*
 * Adds the first requests that together stay within the fair share: all of them
 * are due within B, not only the first.
 */
static void add_requests(const struct unic_revoke *nic, uint32_t proc,
			 struct unic_place *p)
{
	uint16_t i = nic->admission.wait_head[proc];

	if (i == UNIC_ADMISSION_NIL)
		add_request(nic, proc, p->n, p);
	while (i != UNIC_ADMISSION_NIL &&
	       add_request(nic, proc, nic->admission.wait[i].args.n_pages, p))
		i = nic->admission.wait[i].next;
}

/* What the process at place @p keeps from a registration that did not wait. */
static struct unic_need kept_for(const struct unic_place *p, uint32_t promised)
{
	struct unic_need need = p->need;

	if (need.entries < promised)
		need.entries = promised;
	if (need.entries && !need.indices)
		need.indices = 1;
	return need;
}

/* What a borrower at place @p keeps, in addition, from a registration that
 * borrows. */
static struct unic_need borrowed_for(const struct unic_place *p)
{
	struct unic_need more = { 0, 0 };

	if (p->kind == UNIC_PLACE_BORROWER) {
		if (p->n > p->kept.entries)
			more.entries = p->n - p->kept.entries;
		more.indices = 1 - p->kept.indices;
	}
	return more;
}

/* A denied process has a place within its fair share only: it may never ask
 * again. */
static struct unic_place place_of(const struct unic_revoke *nic, uint32_t proc)
{
	uint16_t head = nic->admission.wait_head[proc];
	bool waits = head != UNIC_ADMISSION_NIL;
	struct unic_place p = { .kind = UNIC_PLACE_NONE, .most = UINT32_MAX };

	p.n = waits ? nic->admission.wait[head].args.n_pages
		    : nic->admission.denials.of[proc].n;
	p.seq = waits ? nic->admission.wait[head].id
		      : nic->admission.denials.of[proc].seq;
	p.there = unic_bitset_has(&nic->promises.waiters, proc);
	if (!p.there || unic_stag_shut(&nic->memory, proc) ||
	    unic_demand_over_quota(nic, proc, nic->share.owner[proc].held, p.n))
		return p;
	add_requests(nic, proc, &p);
	if (p.need.indices) {
		p.kind = UNIC_PLACE_ENTITLED;
	} else if (waits) {
		p.kind = UNIC_PLACE_BORROWER;
		p.net = unic_share_net(&nic->share, proc) + p.n;
	} else {
		return p;
	}
	p.kept = kept_for(&p, nic->promises.to[proc]);
	return p;
}

/* True if the first request exceeds the quota even when all that is on its way
 * back has returned. */
static bool is_capped(const struct unic_revoke *nic, uint32_t proc)
{
	uint32_t n;

	if (nic->admission.wait_head[proc] == UNIC_ADMISSION_NIL)
		return false;
	n = nic->admission.wait[nic->admission.wait_head[proc]].args.n_pages;
	return unic_demand_over_quota(nic, proc,
				      unic_share_net(&nic->share, proc), n) &&
	       !unic_share_above_quota(&nic->share.owner[proc], n);
}

/* ---------------------------------------------------------------- the order */

static bool is_urgent(const void *in, uint32_t p)
{
	const struct unic_revoke *nic = in;

	return nic->demands.of[p].kind == UNIC_PLACE_ENTITLED &&
	       !unic_bitset_has(&nic->demands.away, p);
}

static bool is_borrower(const void *in, uint32_t p)
{
	const struct unic_revoke *nic = in;

	return nic->demands.of[p].kind == UNIC_PLACE_BORROWER;
}

static bool has_lower_seq(const void *in, uint32_t a, uint32_t b)
{
	const struct unic_revoke *nic = in;

	return (int32_t)(nic->demands.of[a].seq - nic->demands.of[b].seq) < 0;
}

static bool has_lower_net(const void *in, uint32_t a, uint32_t b)
{
	const struct unic_revoke *nic = in;
	uint64_t l =
		(uint64_t)nic->demands.of[a].net * nic->share.owner[b].weight;
	uint64_t r =
		(uint64_t)nic->demands.of[b].net * nic->share.owner[a].weight;

	return l != r ? l < r : has_lower_seq(in, a, b);
}

/* Two orders of the waiters: whose place changes first when shares grow, and when
 * they shrink. */
static bool is_waiter(const void *in, uint32_t p)
{
	const struct unic_revoke *nic = in;

	return nic->demands.of[p].there;
}

static bool has_more_above(const void *in, uint32_t a, uint32_t b)
{
	const struct unic_revoke *nic = in;
	uint32_t l = nic->demands.of[a].above, r = nic->demands.of[b].above;

	return l != r ? l > r : a < b;
}

static bool has_less_most(const void *in, uint32_t a, uint32_t b)
{
	const struct unic_revoke *nic = in;
	uint32_t l = nic->demands.of[a].most, r = nic->demands.of[b].most;

	return l != r ? l < r : a < b;
}

static void add_need(struct unic_need *sum, struct unic_need n)
{
	sum->entries += n.entries;
	sum->indices += n.indices;
}

static void sub_need(struct unic_need *sum, struct unic_need n)
{
	sum->entries -= n.entries;
	sum->indices -= n.indices;
}

/* Recomputes the place of @proc, and the sums and orders with it. */
static __attribute__((noinline)) void update_place(struct unic_revoke *nic,
						   uint32_t proc)
{
	struct unic_demands *d = &nic->demands;
	struct unic_place *p = &d->of[proc];
	uint32_t before = p->kind;

	sub_need(&d->entitled, p->need);
	sub_need(&d->kept, p->kept);
	sub_need(&d->borrowed, borrowed_for(p));
	*p = place_of(nic, proc);
	unic_cache_need(&nic->memory, proc, p->need.entries);
	add_need(&d->entitled, p->need);
	add_need(&d->kept, p->kept);
	add_need(&d->borrowed, borrowed_for(p));
	if (before == UNIC_PLACE_ENTITLED || p->kind == UNIC_PLACE_ENTITLED)
		unic_tournament_play(&d->urgent, proc, nic, is_urgent,
				     has_lower_seq);
	if (before == UNIC_PLACE_BORROWER || p->kind == UNIC_PLACE_BORROWER)
		unic_tournament_play(&d->borrowers, proc, nic, is_borrower,
				     has_lower_net);
	unic_tournament_play(&d->growing, proc, nic, is_waiter, has_more_above);
	unic_tournament_play(&d->shrinking, proc, nic, is_waiter,
			     has_less_most);
	if (is_capped(nic, proc))
		unic_bitset_add(&d->capped, proc);
	else
		unic_bitset_del(&d->capped, proc);
}

/* Returns the indices to share if there are too few for all requests, else
 * PLENTY. */
static uint32_t scarce_indices(struct unic_revoke *nic)
{
	uint32_t asked = nic->admission.waiting + nic->admission.denials.count;

	if (unic_mr_indices(&nic->mrs) > asked)
		return PLENTY;
	return unic_mr_capacity(&nic->memory);
}

/* Scarcity, or another number of indices, changes the place of every waiter. */
static void settle_indices(struct unic_revoke *nic)
{
	uint32_t indices = scarce_indices(nic), i;

	if (nic->demands.indices == indices)
		return;
	nic->demands.indices = indices;
	UNIC_BITSET_EACH(i, &nic->promises.waiters)
	unic_bitset_add(&nic->share.moved, i);
}

/* A process that comes or goes changes all shares. Recomputes only the places for
 * which another number of requests fits. */
static void settle_shares(struct unic_revoke *nic)
{
	struct unic_demands *d = &nic->demands;
	uint32_t i;

	while ((i = unic_tournament_first(&d->growing, nic, is_waiter)) !=
		       UNIC_TOURNAMENT_NIL &&
	       d->of[i].above >= nic->share.weights)
		update_place(nic, i);
	while ((i = unic_tournament_first(&d->shrinking, nic, is_waiter)) !=
		       UNIC_TOURNAMENT_NIL &&
	       d->of[i].most < nic->share.weights)
		update_place(nic, i);
}

/* Resting indices changed: they count in the share of regions of the process that
 * is charged for them, and decide whether a waiter may be served. */
static __attribute__((noinline, cold)) void
settle_rests(struct unic_revoke *nic)
{
	struct unic_bitset *changed = &nic->stags.changed;
	uint32_t i;

	UNIC_BITSET_EACH(i, changed)
	unic_bitset_add(&nic->share.moved, i);
	memset(changed, 0, sizeof(*changed));
	UNIC_BITSET_EACH(i, &nic->promises.waiters)
	unic_bitset_add(&nic->share.moved, i);
}

/* A missing page counts towards the quota of its process for a while. */
static void settle_lacking(struct unic_revoke *nic)
{
	bool quota;
	uint32_t was = nic->demands.lacking;
	uint32_t is = unic_cache_short(&nic->memory, &quota);

	if (was == is)
		return;
	nic->demands.lacking = is;
	if (was != UNIC_OWNER_NIL)
		unic_bitset_add(&nic->share.moved, was);
	if (is != UNIC_OWNER_NIL)
		unic_bitset_add(&nic->share.moved, is);
}

void unic_demand_settle(struct unic_revoke *nic)
{
	struct unic_bitset *moved = &nic->share.moved;

	if (unic_bitset_any(&nic->share.changed))
		unic_share_settle(&nic->share);
	if (unic_bitset_any(&nic->stags.changed))
		settle_rests(nic);
	settle_indices(nic);
	settle_lacking(nic);
	while (unic_bitset_any(moved)) {
		uint32_t i = unic_bitset_first(moved);

		unic_bitset_del(moved, i);
		unic_bitset_add(&nic->reclaim.stale, i);
		if (unic_bitset_has(&nic->promises.waiters, i) ||
		    nic->demands.of[i].there)
			update_place(nic, i);
	}
	settle_shares(nic);
}

/* ----------------------------------------------------------------- questions */

static void first_of(struct unic_revoke *nic, uint32_t *urgent,
		     uint32_t *borrower)
{
	*urgent = unic_tournament_first(&nic->demands.urgent, nic, is_urgent);
	*borrower = unic_tournament_first(&nic->demands.borrowers, nic,
					  is_borrower);
}

/* Returns a process of d->capped that is not in @tried, or UNIC_OWNER_NIL. */
static uint32_t find_capped(const struct unic_demands *d,
			    const struct unic_bitset *tried)
{
	uint32_t i;

	UNIC_BITSET_EACH(i, &d->capped)
	if (!unic_bitset_has(tried, i))
		return i;
	return UNIC_OWNER_NIL;
}

void unic_demand_now(struct unic_revoke *nic, const struct unic_bitset *tried,
		     struct unic_demand *out)
{
	const struct unic_demands *d = &nic->demands;

	unic_demand_settle(nic);
	out->entitled = d->entitled.entries;
	out->indices = d->entitled.indices;
	first_of(nic, &out->urgent, &out->borrower);
	out->urgent_n = out->borrower_n = 0;
	if (out->urgent != UNIC_OWNER_NIL)
		out->urgent_n = d->of[out->urgent].n;
	if (out->borrower != UNIC_OWNER_NIL)
		out->borrower_n = d->of[out->borrower].n;
	out->capped = UNIC_OWNER_NIL;
	if (unic_bitset_any(&d->capped))
		out->capped = find_capped(d, tried);
}

bool unic_demand_urgent(struct unic_revoke *nic)
{
	unic_demand_settle(nic);
	return nic->demands.entitled.indices;
}

uint32_t unic_demand_first(struct unic_revoke *nic)
{
	uint32_t urgent, borrower;

	unic_demand_settle(nic);
	first_of(nic, &urgent, &borrower);
	return urgent != UNIC_OWNER_NIL ? urgent : borrower;
}

void unic_demand_away(struct unic_revoke *nic, uint32_t proc)
{
	unic_bitset_add(&nic->demands.away, proc);
	unic_tournament_play(&nic->demands.urgent, proc, nic, is_urgent,
			     has_lower_seq);
}

void unic_demand_back(struct unic_revoke *nic)
{
	struct unic_bitset *away = &nic->demands.away;

	while (unic_bitset_any(away)) {
		uint32_t i = unic_bitset_first(away);

		unic_bitset_del(away, i);
		unic_tournament_play(&nic->demands.urgent, i, nic, is_urgent,
				     has_lower_seq);
	}
}

struct unic_need unic_demand_kept(struct unic_revoke *nic, uint32_t proc,
				  uint32_t n)
{
	struct unic_demands *d = &nic->demands;
	struct unic_need sum;

	unic_demand_settle(nic);
	sum = d->kept;
	sub_need(&sum, d->of[proc].kept);
	if (!is_entitled(nic, proc, n)) {
		add_need(&sum, d->borrowed);
		sub_need(&sum, borrowed_for(&d->of[proc]));
	}
	return sum;
}

/* ------------------------------------------------------------------ promises */

void unic_demand_promise(struct unic_revoke *nic, uint32_t proc, uint32_t n)
{
	if (n > nic->share.owner[proc].wanted)
		n = nic->share.owner[proc].wanted;
	if (n != nic->promises.to[proc])
		unic_cache_promise(&nic->memory, proc, n);
}

/* The order in which promises are taken back: first from processes without a place,
 * then from the last borrower, then from the last entitled process. */
static bool loses_before(const struct unic_revoke *nic, uint32_t a, uint32_t b)
{
	static const uint8_t rank[] = { [UNIC_PLACE_NONE] = 0,
					[UNIC_PLACE_BORROWER] = 1,
					[UNIC_PLACE_ENTITLED] = 2 };
	const struct unic_demands *d = &nic->demands;
	uint8_t l = rank[d->of[a].kind], r = rank[d->of[b].kind];

	if (l != r)
		return l < r;
	return d->of[a].kind == UNIC_PLACE_BORROWER ? has_lower_net(nic, b, a)
						    : has_lower_seq(nic, b, a);
}

static uint32_t first_to_lose(const struct unic_revoke *nic)
{
	uint32_t first = unic_bitset_next(&nic->promises.owed, 0), i;

	UNIC_BITSET_EACH(i, &nic->promises.owed)
	if (loses_before(nic, i, first))
		first = i;
	return first;
}

void unic_demand_trim(struct unic_revoke *nic, uint32_t left)
{
	const struct unic_promises *p = &nic->promises;

	if (p->all > left)
		unic_demand_settle(nic);
	while (p->all > left) {
		uint32_t last = first_to_lose(nic);
		uint32_t over = p->all - left;

		unic_cache_promise(&nic->memory, last,
				   p->to[last] > over ? p->to[last] - over : 0);
	}
}
