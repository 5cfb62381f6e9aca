/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* reclaim.c - demand, supply, the choice of a victim, and the accounts of both. */
#include <string.h>

#include "revoke/revoke.h"
#include "arbiter/policy.h"
#include "memory/candidates.h"
#include "revoke/reclaim.h"
#include "revoke/admission.h"

#define LOW	  (UNIC_TLB_ENTRIES / 64u)
#define HIGH	  (UNIC_TLB_ENTRIES / 32u)
#define BATCH	  8u /* revocations per poll */
#define RECHOICES 4u /* repeated choices because dependents were used */

/* Newcomers that a policy meets after each choice, and before the first. */
#define STRANGERS	2u
#define FIRST_STRANGERS 16u

void unic_reclaim_init(struct unic_revoke *nic)
{
	struct unic_reclaim *r = &nic->reclaim;

	memset(r, 0, sizeof(*r));
	unic_share_init(&r->after, UNIC_TLB_ENTRIES);
	unic_share_init(&r->regions, UNIC_MRS);
	r->high = HIGH;
	nic->mrs.low = LOW;
}

/* ---------------------------------------------------------- the choice */

uint16_t unic_reclaim_pick(struct unic_revoke *nic, uint32_t proc,
			   uint32_t entries, bool patient)
{
	uint64_t residence = nic->candidates.residence_us * 1000ull;
	uint64_t now = unic_whole(&nic->now_ns), young = UINT64_MAX;
	uint16_t found;

	if (patient)
		young = now > residence ? now - residence : 0;
	found = unic_policy_victim(&nic->candidates.chooser[proc], young,
				   entries);
	if (found == UNIC_MR_NIL)
		UNIC_TRACE(nic, SPARED, proc, UNIC_MR_NIL, 0, 0, 0);
	return found;
}

__attribute__((noinline, cold)) uint16_t
unic_reclaim_beside(struct unic_revoke *nic, uint32_t proc, uint16_t found,
		    uint32_t entries, bool patient)
{
	uint32_t left = RECHOICES;

	while (left-- && found != UNIC_MR_NIL && nic->mrs.mr[found].deps &&
	       unic_usage_fold_into(&nic->memory, found))
		found = unic_reclaim_pick(nic, proc, entries, patient);
	return found;
}

/* The policy of @proc meets up to @n newcomers and prepares its next choice. */
static __attribute__((noinline)) void prepare_chooser(struct unic_revoke *nic,
						      uint32_t proc, uint32_t n)
{
	struct unic_chooser *c = &nic->candidates.chooser[proc];
	uint16_t i;

	while (n-- && (i = unic_policy_stranger(c)) != UNIC_ITEM_NIL)
		if (unic_policy_meet(
			    c, unic_candidate_identity(&nic->mrs.mr[i])) &&
		    UNIC_PAIN)
			nic->pains.new_regions->returned++;
	unic_policy_look(c, nic->now_ns);
}

/* The policy of @proc remembers that @mr is taken back. */
static void record_victim(struct unic_revoke *nic, uint32_t proc, uint16_t mr)
{
	unic_policy_evicted(&nic->candidates.chooser[proc], mr,
			    unic_candidate_identity(&nic->mrs.mr[mr]),
			    nic->now_ns);
	unic_candidate_remove(&nic->memory, mr);
}

/*
 * The time of the last recall between two processes. Pairs with the same lower
 * number whose higher numbers differ by a multiple of UNIC_OPPONENTS share one
 * place: it holds the latest, and which one in the low bits of the time. A
 * displaced pair is not damped.
 */
#define TURNS (UNIC_PROCS <= 32 ? 1u : 32u)

static uint64_t *recall_of(struct unic_revoke *nic, uint32_t a, uint32_t b)
{
	uint32_t first = a < b ? a : b, second = a < b ? b : a;

	return &nic->reclaim.recall_ns[first][second % UNIC_OPPONENTS];
}

static uint32_t turn_of(uint32_t a, uint32_t b)
{
	return (a < b ? b : a) / UNIC_OPPONENTS % TURNS;
}

static void record_recall(struct unic_revoke *nic, uint32_t a, uint32_t b)
{
	*recall_of(nic, a, b) = nic->now_ns / TURNS * TURNS + turn_of(a, b);
}

/*
 * True if entries moved between @a and @b for a borrower within the residence
 * time. Both are above their shares, so entries would go to and fro between them
 * without end.
 */
static bool is_damped(struct unic_revoke *nic, uint32_t a, uint32_t b)
{
	uint64_t last_ns = *recall_of(nic, a, b);

	return last_ns && last_ns % TURNS == turn_of(a, b) &&
	       nic->now_ns - last_ns / TURNS * TURNS <
		       nic->candidates.residence_us * 1000ull;
}

/* Why a victim is wanted, and for which process. */
struct want {
	uint32_t proc; /* gets what is freed; UNIC_OWNER_NIL: nobody */
	uint32_t miss; /* lacks a page; UNIC_OWNER_NIL: not for a fault */
	uint32_t n;
	uint8_t why;
	bool urgent; /* entitled: residence and damping do not apply */
	bool index;  /* indices of regions are short, not entries */
};

/* False if region @mr of @proc is not taken after all: only to keep entries free, and that
 * is not worth its pain. Most regions that are chosen rest, and have none. */
static bool may_go(struct unic_revoke *nic, uint32_t proc, uint16_t mr,
		   const struct want *w)
{
	if (UNIC_PAIN && likely(unic_usage_rests(&nic->memory, mr))) {
		unic_share_hurts(&nic->share, proc, 0);
		return true;
	}
	if (UNIC_PAIN && w->why == UNIC_WHY_REAPER && !unic_depth_pays(nic, mr))
		return false;
	unic_usage_settle(&nic->memory, mr);
	unic_share_hurts(&nic->share, proc, nic->candidates.pain[mr].value);
	return true;
}

static inline uint32_t entries_for(const struct unic_revoke *nic,
				   const struct want *w)
{
	return w->index ? 1 : w->n ? w->n : nic->reclaim.high;
}

static bool reclaim_from(struct unic_revoke *nic, uint32_t victim,
			 const struct want *w)
{
	uint32_t entries = entries_for(nic, w);
	uint32_t cached = 0;
	uint16_t mr;

	/* cached entries go first, at once: faults bring them back */
	if (nic->cache.entries[victim] && !w->index)
		cached = unic_cache_take(&nic->memory, victim,
					 w->n ? w->n : BATCH);
	if (cached) {
		if (w->proc != UNIC_OWNER_NIL)
			unic_admission_freed(nic, w->proc, cached);
		unic_evict_kick(nic);
		return true;
	}
	if (unic_policy_blind(&nic->candidates.chooser[victim]))
		prepare_chooser(nic, victim, FIRST_STRANGERS);
	mr = unic_reclaim_pick(nic, victim, entries, !w->urgent);
	if (mr != UNIC_MR_NIL && unlikely(nic->mrs.mr[mr].deps))
		mr = unic_reclaim_beside(nic, victim, mr, entries, !w->urgent);
	if (mr != UNIC_MR_NIL && !may_go(nic, victim, mr, w))
		mr = UNIC_MR_NIL;
	if (mr != UNIC_MR_NIL)
		record_victim(nic, victim, mr);
	prepare_chooser(nic, victim, STRANGERS);
	if (mr == UNIC_MR_NIL)
		return w->urgent && unic_evict_hasten(nic, victim, w->proc);
	unic_evict_revoke(nic, mr, w->why, w->proc, w->urgent);
	return true;
}

/* ---------------------------------------------------- demand and supply */

/* Hysteresis: refilling begins below the low watermark and ends at the high one. */
static bool low_water(struct unic_revoke *nic, uint32_t supply)
{
	struct unic_reclaim *r = &nic->reclaim;

	r->refilling = supply < (r->refilling ? r->high : nic->mrs.low);
	return r->refilling;
}

/*
 * Updates the shares of @p as they are when all entries asked back are gone,
 * those of extended graces too. Only stale processes are updated, and only for a
 * decision that needs these shares.
 */
static void refresh_after(struct unic_revoke *nic, uint32_t p)
{
	struct unic_share *s = &nic->reclaim.after;
	const struct unic_share_owner *o = &nic->share.owner[p];
	struct unic_share_owner *a = &s->owner[p];

	a->held = o->held;
	a->wanted = o->wanted;
	a->weight = o->weight;
	a->pain = o->pain;
	unic_share_coming(s, p,
			  o->coming + nic->evict.put_off.of[p] - a->coming);
}

/* Updates the shares of regions of @p, counted and shared as entries are; an
 * index at rest counts for the process that is charged for it. */
static void refresh_regions(struct unic_revoke *nic, uint32_t p)
{
	struct unic_share *s = &nic->reclaim.regions;
	const struct unic_share_owner *o = &nic->share.owner[p];
	struct unic_share_owner *r = &s->owner[p];
	bool there = o->weight;

	r->held = there ? nic->procs.proc[p].mrs + nic->stags.charged[p] : 0;
	r->wanted = there && unic_bitset_has(&nic->promises.waiters, p);
	r->weight = o->weight;
	r->pain = there ? o->pain : 0;
	unic_share_coming(
		s, p, (there ? nic->evict.indices_coming[p] : 0u) - r->coming);
}

static __attribute__((noinline, cold)) void
refresh_shares(struct unic_revoke *nic)
{
	unic_demand_settle(nic);
	while (unic_bitset_any(&nic->reclaim.stale)) {
		uint32_t p = unic_bitset_first(&nic->reclaim.stale);

		unic_bitset_del(&nic->reclaim.stale, p);
		refresh_after(nic, p);
		refresh_regions(nic, p);
	}
	nic->reclaim.regions.capacity = unic_mr_capacity(&nic->memory);
}

/* The next owner that has to give for @w. A process that lacks a page competes as
 * if it waited. */
static uint32_t victim_for(struct unic_share *s, const struct want *w)
{
	uint32_t victim;

	if (w->miss == UNIC_OWNER_NIL)
		return unic_share_victim(s, w->proc, w->index ? 1 : w->n);
	unic_share_want(s, w->miss, 1);
	victim = unic_share_victim(s, w->miss, 1);
	unic_share_want(s, w->miss, -1);
	return victim;
}

/* Takes from the victim by shares @s; skips owners that have nothing to give.
 * Returns false if nothing was taken. */
static bool reclaim_by_share(struct unic_revoke *nic, const struct want *w,
			     struct unic_share *s)
{
	uint32_t victim;
	bool taken = false;

	while (!taken && (victim = victim_for(s, w)) != UNIC_OWNER_NIL) {
		bool pair = !w->urgent && w->proc != UNIC_OWNER_NIL &&
			    w->proc != victim;

		if (pair && is_damped(nic, w->proc, victim))
			UNIC_TRACE(nic, SPARED, victim, UNIC_MR_NIL, 0, 0, 0);
		else
			taken = reclaim_from(nic, victim, w);
		if (taken && pair)
			record_recall(nic, w->proc, victim);
		if (!taken)
			unic_share_skip(s, victim);
	}
	if (unic_bitset_any(&s->skipped))
		unic_share_unskip(s);
	return taken;
}

/*
 * Entries whose grace was extended come back late, but they do come back. Shares
 * count them as gone, so that no process is brought below its share, unless an
 * entitled request finds no other victim (INV-5, INV-8).
 */
static bool reclaim_one(struct unic_revoke *nic, const struct want *w)
{
	if (w->index || nic->evict.put_off.all) {
		refresh_shares(nic);
		if (reclaim_by_share(nic, w,
				     w->index ? &nic->reclaim.regions
					      : &nic->reclaim.after))
			return true;
		if (w->index || !w->urgent)
			return false;
	}
	return reclaim_by_share(nic, w, &nic->share);
}

/* True if fewer than @n indices are free or on their way back. */
static bool few_indices(struct unic_revoke *nic, uint32_t n)
{
	uint32_t there = unic_mr_indices(&nic->mrs);

	if (there >= n)
		return false;
	refresh_shares(nic);
	return there + nic->reclaim.regions.coming < n;
}

/*
 * The most urgent want of the waiting processes. Entries and indices on their way
 * back count as supply, so nothing is asked back twice.
 */
static bool find_waiter_want(struct unic_revoke *nic,
			     const struct unic_bitset *tried, struct want *out)
{
	uint32_t supply = nic->tlb.free + nic->share.coming;
	struct unic_demand d;
	bool entries;

	unic_demand_now(nic, tried, &d);
	entries = d.entitled > supply;
	if (d.urgent != UNIC_OWNER_NIL &&
	    (entries || few_indices(nic, d.indices))) {
		*out = (struct want){ .proc = d.urgent,
				      .miss = UNIC_OWNER_NIL,
				      .n = d.urgent_n,
				      .why = UNIC_WHY_FAIR_SHARE,
				      .urgent = true,
				      .index = !entries };
		return true;
	}
	if (d.capped != UNIC_OWNER_NIL) {
		*out = (struct want){ .proc = d.capped,
				      .miss = UNIC_OWNER_NIL,
				      .why = UNIC_WHY_QUOTA };
		return true;
	}
	entries = d.entitled + d.borrower_n > supply;
	if (d.borrower != UNIC_OWNER_NIL &&
	    (entries || few_indices(nic, d.indices + 1))) {
		*out = (struct want){ .proc = d.borrower,
				      .miss = UNIC_OWNER_NIL,
				      .n = d.borrower_n,
				      .why = UNIC_WHY_WAITER,
				      .index = !entries };
		return true;
	}
	return false;
}

/* The want of a process that lacks an entry for a missing page: one region, after
 * those that the waiting processes need. */
static bool find_fault_want(struct unic_revoke *nic,
			    const struct unic_bitset *tried, struct want *out)
{
	uint32_t supply = nic->tlb.free + nic->share.coming, need = 1;
	struct unic_demand d;
	bool quota = false;
	uint32_t proc = unic_cache_short(&nic->memory, &quota);

	if (proc == UNIC_OWNER_NIL)
		return false;
	if (quota) {
		*out = (struct want){ .proc = proc,
				      .miss = UNIC_OWNER_NIL,
				      .why = UNIC_WHY_QUOTA };
		return !unic_bitset_has(tried, proc) &&
		       !nic->share.owner[proc].coming;
	}
	if (unic_bitset_any(&nic->promises.waiters)) {
		unic_demand_now(nic, tried, &d);
		need += d.entitled + d.borrower_n;
	}
	*out = (struct want){ .proc = UNIC_OWNER_NIL,
			      .miss = proc,
			      .n = 1,
			      .why = UNIC_WHY_WAITER };
	return supply < need;
}

/* Entries of @p above its quota when all that was asked back is gone. */
static uint32_t surplus_of(const struct unic_revoke *nic, uint32_t p)
{
	const struct unic_share_owner *o = &nic->share.owner[p];
	uint32_t left = o->held - o->coming - nic->evict.put_off.of[p];

	return o->quota && left > o->quota ? left - o->quota : 0;
}

/* The want that follows from a quota that was set below what its process has. */
static __attribute__((noinline, cold)) bool
find_surplus(struct unic_revoke *nic, const struct unic_bitset *tried,
	     struct want *out)
{
	uint32_t p;

	UNIC_BITSET_EACH(p, &nic->reclaim.lowered)
	{
		*out = (struct want){ .proc = p,
				      .miss = UNIC_OWNER_NIL,
				      .n = surplus_of(nic, p),
				      .why = UNIC_WHY_QUOTA };
		if (!out->n)
			unic_bitset_del(&nic->reclaim.lowered, p);
		else if (!unic_bitset_has(tried, p))
			return true;
	}
	return false;
}

static bool next_want(struct unic_revoke *nic, const struct unic_bitset *tried,
		      struct want *out)
{
	/* first: what comes back is there for those that wait, too */
	if (unlikely(unic_bitset_any(&nic->reclaim.lowered)) &&
	    find_surplus(nic, tried, out))
		return true;
	if (unic_bitset_any(&nic->promises.waiters) &&
	    find_waiter_want(nic, tried, out))
		return true;
	if (nic->cache.short_until_ns > nic->now_ns &&
	    find_fault_want(nic, tried, out))
		return true;
	*out = (struct want){ .proc = UNIC_OWNER_NIL,
			      .miss = UNIC_OWNER_NIL,
			      .why = UNIC_WHY_REAPER };
	return low_water(nic, nic->tlb.free + nic->share.coming);
}

#define SURPLUS_US 1000000u /* of regions that are never asked back, say */

/* When to try again after nothing could be taken: if no process waits, only the
 * age of regions changes that. */
static uint64_t retry_at_ns(const struct unic_revoke *nic, const struct want *w)
{
	uint32_t us = nic->candidates.reaper_us;

	if (w->proc == UNIC_OWNER_NIL && us < nic->candidates.residence_us)
		us = nic->candidates.residence_us;
	if (w->why == UNIC_WHY_QUOTA && w->n)
		us = unic_policy_items(&nic->candidates.chooser[w->proc])
			     ? nic->candidates.residence_us
			     : SURPLUS_US;
	return nic->now_ns + us * 1000ull;
}

/* Nothing could be taken for @w: the owners of idle regions are asked. */
static uint64_t ask_for(struct unic_revoke *nic, const struct want *w)
{
	uint64_t retry_ns = retry_at_ns(nic, w);
	uint64_t ask_ns = unic_ask_poll(nic, &nic->asks, entries_for(nic, w));

	return ask_ns < retry_ns ? ask_ns : retry_ns;
}

uint64_t unic_reclaim_poll(struct unic_revoke *nic)
{
	uint64_t again = UINT64_MAX;
	struct unic_bitset tried = { { 0 } };
	uint32_t left = BATCH;
	struct want w;

	while (left) {
		if (!next_want(nic, &tried, &w))
			return again;
		if (w.why != UNIC_WHY_QUOTA) {
			if (!reclaim_one(nic, &w)) {
				uint64_t at_ns = ask_for(nic, &w);

				return again < at_ns ? again : at_ns;
			}
			left--;
		} else if (reclaim_from(nic, w.proc, &w)) {
			left--;
		} else { /* a quota concerns only its process */
			uint64_t at_ns = retry_at_ns(nic, &w);

			unic_bitset_add(&tried, w.proc);
			if (at_ns < again)
				again = at_ns;
		}
	}
	return nic->now_ns;
}

/* ------------------------------------------------------------ accounts */

void unic_reclaim_proc_forget(struct unic_revoke *nic, uint32_t proc)
{
	uint32_t i;

	for (i = 0; i < UNIC_MRS; i++)
		if (nic->mrs.mr[i].for_proc == proc)
			nic->mrs.mr[i].for_proc = UNIC_OWNER_NIL;
	for (i = 0; i < UNIC_PROCS; i++)
		*recall_of(nic, i, proc) = 0;
	unic_demand_promise(nic, proc, 0);
	nic->evict.evictions[proc] = 0;
	nic->evict.late[proc] = 0;
	nic->admission.longest_us[proc] = 0;
	unic_share_hurts(&nic->share, proc, 0);
	if (UNIC_PAIN)
		nic->candidates.chooser[proc].wait = 0;
}

static void find_top_owners(const struct unic_share *s,
			    struct unic_cpl_usage *out)
{
	struct unic_bitset taken = { { 0 } };
	uint32_t k, i;

	for (k = 0; k < 3; k++) {
		uint32_t top = UNIC_OWNER_NIL, held = 0;

		for (i = 0; i < UNIC_PROCS; i++)
			if (s->owner[i].held > held &&
			    !unic_bitset_has(&taken, i)) {
				top = i;
				held = s->owner[i].held;
			}
		out->top_proc[k] = unic_to_le16((uint16_t)top);
		out->top_held[k] = unic_to_le32(held);
		if (top != UNIC_OWNER_NIL)
			unic_bitset_add(&taken, top);
	}
}

void unic_reclaim_usage(struct unic_revoke *nic, uint32_t proc,
			struct unic_cpl_usage *out)
{
	const struct unic_share_owner *o = &nic->share.owner[proc];
	uint32_t fair = unic_share_fair(&nic->share, proc);

	out->used = unic_to_le32((uint32_t)(UNIC_TLB_ENTRIES - nic->tlb.free));
	out->limit = unic_to_le32(UNIC_TLB_ENTRIES);
	out->holding = unic_to_le32(o->held);
	out->fair_share = unic_to_le32(fair);
	out->waiters = unic_to_le32(nic->admission.waiting);
	out->borrowed = unic_to_le32(o->held > fair ? o->held - fair : 0);
	out->quota = unic_to_le32(o->quota);
	out->bound_us =
		unic_to_le32(nic->notices.deliver_us + nic->notices.grace_us +
			     nic->candidates.reaper_us + UNIC_DRAIN_BOUND_US);
	find_top_owners(&nic->share, out);
}
