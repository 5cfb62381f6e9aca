/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* reap.c - demand, supply, and the choice of a victim. */
#include "nic.h"
#include "policy.h"
#include "reap.h"
#include "wait.h"

#define BATCH 8u /* revocations a poll */

/* --------------------------------------------------- candidates' rings */

void unic_reap_init(struct unic_nic *nic)
{
	uint32_t i;

	for (i = 0; i < UNIC_PROCS; i++)
		nic->evict.ring[i] = UNIC_MR_NIL;
}

/* At the end of the ring: newcomers are looked at last. */
void unic_reap_add(struct unic_nic *nic, uint16_t mr)
{
	struct unic_mr *m = &nic->mrs.mr[mr];
	uint16_t *head = &nic->evict.ring[m->proc];

	if (m->mr_class == UNIC_CLASS_CONTROL)
		return;
	m->flags |= UNIC_MR_F_RING;
	if (*head == UNIC_MR_NIL) {
		*head = m->ring_next = m->ring_prev = mr;
		return;
	}
	m->ring_next = *head;
	m->ring_prev = nic->mrs.mr[*head].ring_prev;
	nic->mrs.mr[m->ring_prev].ring_next = mr;
	nic->mrs.mr[*head].ring_prev = mr;
}

void unic_reap_remove(struct unic_nic *nic, uint16_t mr)
{
	struct unic_mr *m = &nic->mrs.mr[mr];
	uint16_t *head = &nic->evict.ring[m->proc];

	if (!(m->flags & UNIC_MR_F_RING))
		return;
	m->flags &= (uint8_t)~UNIC_MR_F_RING;
	if (m->ring_next == mr) {
		*head = UNIC_MR_NIL;
		return;
	}
	nic->mrs.mr[m->ring_prev].ring_next = m->ring_next;
	nic->mrs.mr[m->ring_next].ring_prev = m->ring_prev;
	if (*head == mr)
		*head = m->ring_next;
}

/* ------------------------------------------------------ the two choices */

static struct unic_policy_stat stat_of(const struct unic_mr *m, uint32_t nth)
{
	return (struct unic_policy_stat){
		.last_use_ns = m->last_use_ns,
		.since_ns = m->since_ns,
		.entries = m->n_pages,
		.pain = m->pain,
		.uses = m->uses,
		.nth = nth,
		.importance = m->importance,
	};
}

/*
 * The ring is kept in the order of last use, lazily: a head that was used after
 * the tail goes to the end, which in a ring is one store. At most a sample of
 * them at a time: the order heals as fast as victims are asked for.
 */
static void settle(struct unic_nic *nic, uint32_t proc)
{
	const struct unic_mr *table = nic->mrs.mr;
	uint16_t at = nic->evict.ring[proc];
	uint64_t newest;
	uint32_t i;

	UNIC_IN_REGISTER(table);
	newest = table[table[at].ring_prev].last_use_ns;
	for (i = 0; i < UNIC_REAP_SAMPLE; i++) {
		if (table[at].last_use_ns <= newest)
			break;
		newest = table[at].last_use_ns;
		at = table[at].ring_next;
	}
	nic->evict.ring[proc] = at;
}

/*
 * The best victim of the first few candidates of @proc. @patient: none younger
 * than the minimum residence.
 */
static uint16_t pick(struct unic_nic *nic, uint32_t proc, bool patient)
{
	struct unic_evict *e = &nic->evict;
	uint32_t policy = nic->procs.proc[proc].policy, looked = 0, nth = 0;
	uint64_t young = nic->now_ns - e->residence_us * 1000ull;
	const struct unic_mr *table = nic->mrs.mr;
	struct unic_policy_stat s, b = { 0 };
	uint16_t at, best = UNIC_MR_NIL;

	if (e->ring[proc] == UNIC_MR_NIL)
		return UNIC_MR_NIL;
	if (policy != UNIC_POLICY_RANDOM)
		settle(nic, proc);
	at = e->ring[proc];
	UNIC_IN_REGISTER(table);
	do {
		const struct unic_mr *m = &table[at];

		if (!patient || (int64_t)(m->since_ns - young) <= 0) {
			s = stat_of(m, ++nth);
			if (best == UNIC_MR_NIL ||
			    unic_policy_better(policy, &s, &b, &e->rng)) {
				best = at;
				b = s;
			}
		}
		at = m->ring_next;
	} while (at != e->ring[proc] && ++looked < UNIC_REAP_SAMPLE);
	if (best == UNIC_MR_NIL)
		UNIC_TRACE(nic, SPARED, proc, e->ring[proc], 0, 0, 0);
	/* others next time: by chance, or because these are too young */
	if (best == UNIC_MR_NIL || policy == UNIC_POLICY_RANDOM)
		e->ring[proc] = at;
	return best;
}

static uint64_t *recall_of(struct unic_evict *e, uint32_t a, uint32_t b)
{
	return a < b ? &e->recall_ns[a][b] : &e->recall_ns[b][a];
}

/*
 * Both sides of a recall for a borrower are above their shares; entries would
 * go to and fro between them without end.
 */
static bool damped(const struct unic_nic *nic, uint64_t last_ns)
{
	return last_ns &&
	       nic->now_ns - last_ns < nic->evict.residence_us * 1000ull;
}

/* Why a victim is wanted, and for whom. */
struct want {
	uint32_t proc; /* UNIC_OWNER_NIL: the watermark */
	uint32_t n;
	uint8_t why;
	bool urgent; /* entitled: residence and damping do not apply */
};

static void measure(struct unic_nic *nic, uint32_t proc, uint16_t mr)
{
	struct unic_mr *m = &nic->mrs.mr[mr];
	uint32_t moved = (uint32_t)m->bytes - m->pain_bytes;

	m->pain = unic_policy_pain(m->pain, m->pain_ns, nic->now_ns, moved,
				   m->n_pages);
	m->pain_ns = nic->now_ns;
	m->pain_bytes = (uint32_t)m->bytes;
	nic->evict.share.owner[proc].pain = m->pain;
}

static bool take_from(struct unic_nic *nic, uint32_t victim,
		      const struct want *w)
{
	uint16_t mr = pick(nic, victim, !w->urgent);

	if (mr == UNIC_MR_NIL)
		return false;
	measure(nic, victim, mr);
	unic_evict_revoke(nic, mr, w->why, w->proc, w->urgent);
	return true;
}

static bool take(struct unic_nic *nic, const struct want *w)
{
	struct unic_evict *e = &nic->evict;
	uint32_t skip = 0, victim;

	while ((victim = unic_share_victim(&e->share, w->proc, w->n, skip)) !=
	       UNIC_OWNER_NIL) {
		bool pair = !w->urgent && w->proc != UNIC_OWNER_NIL &&
			    w->proc != victim;
		uint64_t *last = pair ? recall_of(e, w->proc, victim) : NULL;

		if (pair && damped(nic, *last))
			UNIC_TRACE(nic, SPARED, victim, e->ring[victim], 0, 0,
				   0);
		else if (take_from(nic, victim, w)) {
			if (pair)
				*last = nic->now_ns;
			return true;
		}
		skip |= 1u << victim;
	}
	return false;
}

/* ---------------------------------------------------- demand and supply */

/* Between the low and the high watermark it depends on where we come from. */
static bool low_water(struct unic_evict *e, uint32_t supply)
{
	e->refilling = supply < (e->refilling ? e->high : e->low);
	return e->refilling;
}

/*
 * What is most wanted now. Entries on their way back are supply already, so
 * nothing is asked back twice.
 */
static bool next_want(struct unic_nic *nic, struct want *out)
{
	struct unic_evict *e = &nic->evict;
	uint32_t supply = nic->tlb.free + e->share.coming;
	struct unic_demand d;

	if (e->waiting) {
		bool no_index = !unic_mr_room(nic) && !e->share.coming;

		unic_wait_demand(nic, &d);
		if (d.urgent != UNIC_OWNER_NIL &&
		    (d.entitled > supply || no_index)) {
			*out = (struct want){ d.urgent, d.urgent_n,
					      UNIC_WHY_FAIR_SHARE, true };
			return true;
		}
		if (d.capped != UNIC_OWNER_NIL) {
			*out = (struct want){ d.capped, 0, UNIC_WHY_QUOTA,
					      false };
			return true;
		}
		if (d.borrower != UNIC_OWNER_NIL &&
		    (d.entitled + d.borrower_n > supply || no_index)) {
			*out = (struct want){ d.borrower, d.borrower_n,
					      UNIC_WHY_WAITER, false };
			return true;
		}
	}
	*out = (struct want){ UNIC_OWNER_NIL, 0, UNIC_WHY_REAPER, false };
	return low_water(e, supply);
}

uint64_t unic_reap_poll(struct unic_nic *nic)
{
	struct unic_evict *e = &nic->evict;
	uint32_t i, wait_us;
	struct want w;
	bool done;

	for (i = 0; i < BATCH; i++) {
		if (!next_want(nic, &w))
			return UINT64_MAX;
		done = w.why == UNIC_WHY_QUOTA ? take_from(nic, w.proc, &w)
					       : take(nic, &w);
		if (done)
			continue;
		/* nothing to take: only age changes that when nobody waits */
		wait_us = e->reaper_us;
		if (w.proc == UNIC_OWNER_NIL && wait_us < e->residence_us)
			wait_us = e->residence_us;
		return nic->now_ns + wait_us * 1000ull;
	}
	return nic->now_ns;
}
