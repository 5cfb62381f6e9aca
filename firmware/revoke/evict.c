/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* evict.c - from the decision to take a region back to its free entries. */
#include <string.h>

#include "memory/access.h"
#include "memory/candidates.h"
#include "revoke/revoke.h"
#include "revoke/reclaim.h"
#include "revoke/admission.h"

#define DEADLINES 16u	  /* handled per poll: see weight_of() */
#define RETRY_NS  100000u /* look again for room on the event ring */

void unic_evict_init(struct unic_revoke *nic)
{
	memset(&nic->evict, 0, sizeof(nic->evict));
	unic_share_init(&nic->share, UNIC_TLB_ENTRIES);
	unic_notice_init(&nic->notices);
	unic_admission_init(nic);
	unic_reclaim_init(nic);
	nic->evict.next_ns = UINT64_MAX;
	nic->evict_due = false;
}

void unic_evict_kick(struct unic_revoke *nic)
{
	unic_mr_evict_due(&nic->memory);
}

/* --------------------------------------------------------------- events */

static bool publish_notice(struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	const struct unic_notices *ns = &nic->notices;
	const struct unic_notice *n = &ns->notice[mr->notice];
	struct unic_evt_mr evt = {
		.hdr = { .type = UNIC_EVT_NOTICE,
			 .reason = mr->why,
			 .proc = unic_to_le16(mr->proc) },
		.mr = unic_to_le32(idx),
		.gen = unic_to_le32(mr->gen),
		.stag = unic_to_le32(mr->stag),
		.user = unic_to_le32(mr->user),
		.seq = unic_to_le32(mr->seq),
		.entries = unic_to_le32(mr->n_pages),
		.dependents = unic_to_le32(mr->n_tokens),
		.rank = unic_to_le32(n->rank),
		.grace_us = unic_to_le32(ns->grace_us),
		.time_ns = unic_to_le64(n->sent_ns),
		.pain = unic_to_le32(nic->candidates.pain[idx].value),
	};

	if (unlikely(mr->deps))
		evt.dependents =
			unic_to_le32(mr->n_tokens +
				     unic_dependents_count(&nic->memory, idx));
	return unic_mbox_event(&nic->base, &evt);
}

static bool publish_evicted(struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t flags = mr->evt_flags;
	struct unic_evt_mr evt = {
		.hdr = { .type = UNIC_EVT_EVICTED,
			 .reason = mr->why,
			 .proc = unic_to_le16(mr->proc) },
		.mr = unic_to_le32(idx),
		.gen = unic_to_le32(mr->gen),
		.stag = unic_to_le32(mr->stag),
		.user = unic_to_le32(mr->user),
		.seq = unic_to_le32(mr->seq),
		.entries = unic_to_le32(mr->n_pages),
		.dependents = unic_to_le32(mr->n_tokens),
		.time_ns = unic_to_le64(mr->since_ns),
	};

	if (!(mr->flags & UNIC_MR_F_GONE))
		flags |= UNIC_EVICTED_TOMBSTONE;
	evt.flags = unic_to_le32(flags);
	return unic_mbox_event(&nic->base, &evt);
}

/* A record that found no room stays as a bit of its region (INV-11). */
static void defer_event(struct unic_revoke *nic, struct unic_mr_ctx *mr,
			uint8_t what)
{
	if (!mr->evt_due)
		nic->evict.evts_due++;
	mr->evt_due |= what;
}

static void clear_deferred(struct unic_revoke *nic, struct unic_mr_ctx *mr,
			   uint8_t what)
{
	if (!(mr->evt_due & what))
		return;
	mr->evt_due &= (uint8_t)~what;
	if (!mr->evt_due)
		nic->evict.evts_due--;
}

static bool publish_deferred(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (mr->evt_due & UNIC_MR_EVT_NOTICE) {
		if (!publish_notice(nic, idx))
			return false;
		clear_deferred(nic, mr, UNIC_MR_EVT_NOTICE);
	}
	if (mr->evt_due & UNIC_MR_EVT_EVICTED) {
		if (!publish_evicted(nic, idx))
			return false;
		clear_deferred(nic, mr, UNIC_MR_EVT_EVICTED);
		nic->evict.indices_coming[mr->proc]--;
		unic_bitset_add(&nic->share.moved, mr->proc);
		unic_mr_bury(&nic->memory, idx);
	}
	return true;
}

static void publish_all(struct unic_revoke *nic)
{
	uint16_t i;

	for (i = 0; i < UNIC_MRS && nic->evict.evts_due; i++)
		if (nic->mrs.mr[i].evt_due && !publish_deferred(nic, i))
			return;
}

/* ------------------------------------------------------- end of a region */

/* Entries that are on their way back with it. Cached ones come and go: they may
 * be taken meanwhile, so they are not counted on. */
static uint32_t supply_entries(const struct unic_mr_ctx *mr)
{
	return unic_mr_cached(mr) ? 0 : mr->n_pages;
}

static void remove_supply(struct unic_revoke *nic, struct unic_mr_ctx *mr)
{
	if (mr->flags & UNIC_MR_F_COMING) {
		unic_share_not_coming(&nic->share, mr->proc,
				      supply_entries(mr));
		nic->evict.indices_coming[mr->proc]--;
	}
	mr->flags &= (uint8_t)~UNIC_MR_F_COMING;
}

static bool is_put_off(const struct unic_mr_ctx *mr)
{
	return mr->state == UNIC_MR_NOTIFIED && !(mr->flags & UNIC_MR_F_COMING);
}

static void put_off(struct unic_revoke *nic, const struct unic_mr_ctx *mr,
		    bool off)
{
	uint32_t n = off ? supply_entries(mr) : 0u - supply_entries(mr);

	nic->evict.put_off.of[mr->proc] += n;
	nic->evict.put_off.all += n;
	unic_bitset_add(&nic->share.moved, mr->proc);
}

static void add_supply(struct unic_revoke *nic, struct unic_mr_ctx *mr)
{
	if (!(mr->flags & UNIC_MR_F_COMING)) {
		unic_share_coming(&nic->share, mr->proc, supply_entries(mr));
		nic->evict.indices_coming[mr->proc]++;
	}
	mr->flags |= UNIC_MR_F_COMING;
}

static void close_notice(struct unic_revoke *nic, struct unic_mr_ctx *mr)
{
	if (mr->notice == UNIC_NOTICE_NIL)
		return;
	if (mr->seq)
		nic->evict.open[mr->proc]--;
	unic_notice_close(&nic->notices, mr->notice);
	mr->notice = UNIC_NOTICE_NIL;
	unic_cuts_forget(&nic->memory, (uint16_t)(mr - nic->mrs.mr));
	clear_deferred(nic, mr, UNIC_MR_EVT_NOTICE);
}

static bool was_revoked(const struct unic_mr_ctx *mr)
{
	return mr->why != UNIC_WHY_DEREG && mr->why != UNIC_WHY_EXIT;
}

static void count_eviction(struct unic_revoke *nic,
			   const struct unic_mr_ctx *mr)
{
	if (!was_revoked(mr))
		return;
	UNIC_COUNT(nic, evicted_regions);
	UNIC_COUNT_ADD(nic, evicted_entries, mr->n_pages);
	if (mr->evt_flags & UNIC_EVICTED_WAS_BUSY)
		UNIC_COUNT(nic, evicted_busy);
	nic->evict.evictions[mr->proc]++;
}

/* DRAINING is over: free the entries, say so once (INV-4), end the region. */
static void finish_eviction(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t for_proc = mr->for_proc;
	uint32_t n_pages = mr->n_pages;

	/* nothing opens it again while it is on the list (idle.h) */
	UNIC_ASSERT(nic, mr->state == UNIC_MR_DRAINING);
	close_notice(nic, mr);
	remove_supply(nic, mr);
	unic_mr_strip(&nic->memory, idx); /* INV-3 */
	count_eviction(nic, mr);
	UNIC_TRACE(nic, EVICTED, mr->proc, idx, mr->gen, mr->n_pages,
		   mr->evt_flags & UNIC_EVICTED_WAS_BUSY);
	mr->state = UNIC_MR_EVICTED;
	mr->since_ns = nic->now_ns;
	if ((mr->flags & UNIC_MR_F_QUIET) || publish_evicted(nic, idx)) {
		unic_mr_bury(&nic->memory, idx);
	} else {
		defer_event(nic, mr, UNIC_MR_EVT_EVICTED);
		nic->evict.indices_coming[mr->proc]++;
	}
	if (for_proc != UNIC_OWNER_NIL)
		unic_admission_freed(nic, for_proc, n_pages);
	unic_dependents_free(&nic->memory,
			     idx); /* what it was made of may be idle */
}

void unic_evict_settle(struct unic_revoke *nic)
{
	uint16_t idx = unic_idle_take(&nic->memory);

	if (idx == UNIC_MR_NIL)
		return;
	for (; idx != UNIC_MR_NIL; idx = unic_idle_take(&nic->memory))
		finish_eviction(nic, idx);
	unic_evict_kick(nic);
}

static void drain_dependents(struct unic_revoke *nic, uint16_t of);

/* From here on no new operation is let through, nor through what is made of it
 * (INV-4). */
static void close_mr(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	unic_candidate_remove(&nic->memory, idx);
	if (is_put_off(mr))
		put_off(nic, mr, false);
	add_supply(nic, mr);
	clear_deferred(nic, mr,
		       UNIC_MR_EVT_NOTICE); /* there is no choice any more */
	mr->state = UNIC_MR_DRAINING;
	unic_mr_close(&nic->memory, idx); /* INV-4 */
	UNIC_TRACE(nic, DRAIN, mr->proc, idx, mr->holds, mr->dmas, 0);
	unic_token_mr_gone(&nic->memory, idx);
	if (mr->mr_class == UNIC_CLASS_MESSAGING)
		unic_revoked_add(&nic->memory, idx);
	drain_dependents(nic, idx);
	unic_idle_note(&nic->memory, idx);
}

static void drain_dependent(struct unic_revoke *nic, uint16_t mr, uint16_t of)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	if (m->state >= UNIC_MR_DRAINING)
		return;
	m->why = nic->mrs.mr[of].why;
	if (m->why == UNIC_WHY_EXIT)
		m->flags |= UNIC_MR_F_GONE | UNIC_MR_F_QUIET;
	UNIC_COUNT(nic, forms_evicted);
	close_mr(nic, mr);
}

static void drain_dependents(struct unic_revoke *nic, uint16_t of)
{
	uint16_t form = unic_dependents_list(&nic->memory, of), next;

	for (; form != UNIC_MR_NIL; form = next) {
		next = unic_dependents_unlist(&nic->memory, form);
		drain_dependent(nic, form, of);
	}
}

/* What is idle already ends here; what is not is DRAINING. */
static void drain_mr(struct unic_revoke *nic, uint16_t idx)
{
	close_mr(nic, idx);
	unic_evict_settle(nic);
}

static void mark_all_cut(struct unic_revoke *nic, uint16_t mr)
{
	uint16_t form = unic_dependents_list(&nic->memory, mr), next;

	for (; form != UNIC_MR_NIL; form = next) {
		next = unic_dependents_unlist(&nic->memory, form);
		mark_all_cut(nic, form);
	}
	unic_cuts_mark(&nic->memory, mr);
}

/*
 * Time is over for a region that is still used: nic.c has its operations end next,
 * in this round or those that follow. Pieces of DMA in flight end by themselves
 * within the drain bound; should they not, we come back and mark it again.
 */
static void cut_mr(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	mr->evt_flags |= UNIC_EVICTED_WAS_BUSY;
	unic_notice_defer(&nic->notices, mr->notice,
			  nic->now_ns + UNIC_DRAIN_BOUND_US * 1000ull);
	mark_all_cut(nic, idx);
}

/*
 * Its owner does not want it any more. Operations that hold it may last for T,
 * or for what is left of a grace that runs.
 */
static int owner_drain(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_notices *ns = &nic->notices;
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	mr->flags |= UNIC_MR_F_QUIET;
	drain_mr(nic, idx);
	if (mr->state != UNIC_MR_DRAINING)
		return 0;
	mr->flags &= (uint8_t)~UNIC_MR_F_QUIET;
	if (mr->notice == UNIC_NOTICE_NIL)
		mr->notice = unic_notice_timer(ns, nic->now_ns, idx, mr->proc,
					       mr->n_pages);
	else
		unic_notice_hurry(ns, mr->notice, nic->now_ns);
	unic_evict_kick(nic);
	return -UNIC_EPENDING;
}

static uint32_t us_left(const struct unic_revoke *nic,
			const struct unic_notice *n)
{
	return n->deadline_ns > nic->now_ns
		       ? (uint32_t)((n->deadline_ns - nic->now_ns) / 1000)
		       : 0;
}

static void count_release(struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	const struct unic_notice *n = &nic->notices.notice[mr->notice];

	UNIC_COUNT(nic, released);
	UNIC_TRACE(nic, RELEASE, mr->proc, mr->seq, idx, us_left(nic, n), 0);
}

int unic_evict_give_up(struct unic_revoke *nic, uint16_t mr)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	m->flags |= UNIC_MR_F_GONE;
	if (m->state == UNIC_MR_DRAINING)
		return -UNIC_EPENDING; /* its EVICTED will do */
	if (m->state == UNIC_MR_NOTIFIED)
		count_release(nic, mr);
	else
		m->why = UNIC_WHY_DEREG;
	return owner_drain(nic, mr);
}

/* ------------------------------------------------------------ revocation */

static void send_notice(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	const struct unic_notice *n = &nic->notices.notice[mr->notice];

	UNIC_COUNT(nic, notices);
	UNIC_TRACE(nic, NOTICE, mr->proc, n->seq, idx, mr->gen, n->rank);
	if (!publish_notice(nic, idx))
		defer_event(nic, mr, UNIC_MR_EVT_NOTICE);
}

static void notify_owner(struct unic_revoke *nic, uint16_t idx, bool urgent)
{
	struct unic_notices *ns = &nic->notices;
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_notice *n;

	mr->notice = unic_notice_open(ns, nic->now_ns, idx, mr->proc,
				      mr->n_pages, mr->why, urgent);
	n = &ns->notice[mr->notice];
	n->rank = nic->evict.open[mr->proc]++;
	mr->seq = n->seq;
	mr->state = UNIC_MR_NOTIFIED;
	unic_candidate_remove(&nic->memory, idx);
	add_supply(nic, mr);
	send_notice(nic, idx);
}

/* No grace: what is being received or sent may end, within T (MEMORY.md 5). */
static void drain_without_grace(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	UNIC_COUNT(nic, msg_evicted);
	drain_mr(nic, idx);
	if (mr->state == UNIC_MR_DRAINING)
		mr->notice = unic_notice_timer(&nic->notices, nic->now_ns, idx,
					       mr->proc, mr->n_pages);
}

void unic_evict_revoke(struct unic_revoke *nic, uint16_t mr, uint8_t why,
		       uint32_t for_proc, bool urgent)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	UNIC_ASSERT(nic, m->state == UNIC_MR_ACTIVE);
	m->why = why;
	m->for_proc = (uint16_t)for_proc;
	UNIC_TRACE(nic, CHOSE, m->proc, mr, m->n_pages,
		   nic->candidates.pain[mr].value, why);
	if (m->mr_class == UNIC_CLASS_MESSAGING)
		drain_without_grace(nic, mr);
	else
		notify_owner(nic, mr, urgent);
	unic_evict_kick(nic);
}

/*
 * An extended grace that ends within H + T is soon enough for anybody (INV-8).
 * A longer one is asked for again, so that its owner hears of its new deadline
 * and has T from then (INV-6).
 */
static void hasten_notice(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_notices *ns = &nic->notices;
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_notice *n = &ns->notice[mr->notice];
	uint64_t us = ns->deliver_us + (uint64_t)ns->grace_us;

	n->urgent = true;
	put_off(nic, mr, false);
	add_supply(nic, mr);
	if (n->deadline_ns <= nic->now_ns + us * 1000)
		return;
	unic_notice_renew(ns, mr->notice, nic->now_ns);
	mr->seq = n->seq;
	send_notice(nic, idx);
	unic_evict_kick(nic);
}

bool unic_evict_hasten(struct unic_revoke *nic, uint32_t owner,
		       uint32_t for_proc)
{
	uint16_t i = nic->procs.proc[owner].mr_head;

	for (; i != UNIC_MR_NIL; i = nic->mrs.mr[i].next) {
		struct unic_mr_ctx *mr = &nic->mrs.mr[i];

		if (mr->state != UNIC_MR_NOTIFIED ||
		    (mr->flags & UNIC_MR_F_COMING))
			continue;
		mr->for_proc = (uint16_t)for_proc;
		hasten_notice(nic, i);
		return true;
	}
	return false;
}

int unic_evict_admin(struct unic_revoke *nic, uint32_t mr, uint32_t gen)
{
	const struct unic_mr_ctx *m = unic_mr_get(&nic->memory, mr, gen);

	if (!m)
		return -UNIC_ENOMR;
	if (m->mr_class == UNIC_CLASS_CONTROL || !m->n_pages)
		return -UNIC_EINVAL;
	if (m->state != UNIC_MR_ACTIVE)
		return -UNIC_ESTATE;
	unic_evict_revoke(nic, (uint16_t)mr, UNIC_WHY_ADMIN, UNIC_OWNER_NIL,
			  false);
	return 0;
}

static void handle_deadline(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (mr->state == UNIC_MR_NOTIFIED) {
		UNIC_COUNT(nic, deadlines);
		UNIC_TRACE(nic, DEADLINE, mr->proc, mr->seq, idx, mr->holds, 0);
		nic->evict.late[mr->proc]++;
		mr->evt_flags |= UNIC_EVICTED_DEADLINE;
		drain_mr(nic, idx);
	}
	if (mr->state == UNIC_MR_DRAINING)
		cut_mr(nic, idx);
}

/* A notice was not delivered within H: the driver has failed (MEMORY.md section 5).
 * Not if its process detaches: what is half gone has no name, so nothing of it can be
 * acknowledged, and it ends like what has had its grace. */
static __attribute__((noinline, cold)) void
handle_undelivered(struct unic_revoke *nic, const struct unic_notice *n)
{
	if (nic->procs.proc[n->owner].detaching) {
		handle_deadline(nic, n->subject);
		unic_evict_kick(nic);
		return;
	}
	UNIC_COUNT(nic, driver_failures);
	UNIC_TRACE(nic, DRIVER_FAILED, n->owner, n->seq, 0, 0, 0);
	nic->evict.driver_failed = true;
}

/* What ends with region @mr, as so many regions. */
static uint32_t weight_of(const struct unic_mr_ctx *mr)
{
	return 1 + mr->deps + mr->n_tokens / 16u + mr->n_pages / 64u;
}

/* The first one is handled whatever it weighs: it is closed as a whole (INV-4). */
static void handle_deadlines(struct unic_revoke *nic)
{
	struct unic_notices *ns = &nic->notices;
	uint32_t done = 0;
	uint16_t i;

	while (done < DEADLINES) {
		i = unic_notice_due(ns, nic->now_ns);
		if (i == UNIC_NOTICE_NIL)
			return;
		if (ns->notice[i].state == UNIC_NOTICE_SENT) {
			handle_undelivered(nic, &ns->notice[i]);
			return;
		}
		done += weight_of(&nic->mrs.mr[ns->notice[i].subject]);
		handle_deadline(nic, ns->notice[i].subject);
	}
	unic_evict_kick(nic);
}

/* ------------------------------------------------------ the conversation */

/* Nobody answers a notice that is still waiting for room on the ring. */
static bool is_answerable(const struct unic_mr_ctx *mr)
{
	return mr->state == UNIC_MR_NOTIFIED &&
	       !(mr->evt_due & UNIC_MR_EVT_NOTICE);
}

int unic_evict_ack(struct unic_revoke *nic, uint32_t mr, uint32_t gen,
		   uint32_t seq, uint64_t *deadline_ns)
{
	struct unic_notices *ns = &nic->notices;
	const struct unic_mr_ctx *m = unic_mr_get(&nic->memory, mr, gen);
	int err;

	if (!m)
		return -UNIC_ENOMR;
	if (!is_answerable(m))
		return -UNIC_ESTATE;
	err = unic_notice_delivered(ns, m->notice, seq, nic->now_ns);
	if (err)
		return err;
	*deadline_ns = ns->notice[m->notice].deadline_ns;
	UNIC_COUNT(nic, notice_acks);
	UNIC_TRACE(nic, ACKED, m->proc, seq, mr, ns->grace_us, 0);
	unic_evict_kick(nic);
	return 0;
}

static uint8_t check_offer(const struct unic_revoke *nic,
			   const struct unic_mr_ctx *mr,
			   const struct unic_mr_ctx *offer)
{
	if (!offer)
		return UNIC_REFUSED_NOT_ACTIVE;
	if (offer == mr)
		return UNIC_REFUSED_SAME;
	if (offer->proc != mr->proc)
		return UNIC_REFUSED_NOT_YOURS;
	if (offer->mr_class == UNIC_CLASS_CONTROL || unic_mr_cached(offer))
		return UNIC_REFUSED_CLASS;
	if (offer->state != UNIC_MR_ACTIVE)
		return UNIC_REFUSED_NOT_ACTIVE;
	if (offer->n_pages < nic->notices.notice[mr->notice].units)
		return UNIC_REFUSED_SMALLER;
	return UNIC_REFUSED_NONE;
}

/* The offered region takes the other's place, deadline included. */
static void swap_subject(struct unic_revoke *nic, uint16_t old, uint16_t new)
{
	struct unic_mr_ctx *o = &nic->mrs.mr[old], *n = &nic->mrs.mr[new];
	bool counted = o->flags & UNIC_MR_F_COMING;

	n->notice = o->notice;
	n->seq = o->seq;
	n->for_proc = o->for_proc;
	n->why = UNIC_WHY_OFFERED;
	n->state = UNIC_MR_NOTIFIED;
	unic_candidate_remove(&nic->memory, new);
	remove_supply(nic, o);
	if (counted) {
		add_supply(nic, n);
	} else {
		put_off(nic, o, false);
		put_off(nic, n, true);
	}
	unic_notice_replace(&nic->notices, n->notice, new, n->n_pages);
	o->notice = UNIC_NOTICE_NIL;
	o->seq = 0;
	o->why = 0;
	o->for_proc = UNIC_OWNER_NIL;
	o->state = UNIC_MR_ACTIVE;
	unic_candidate_add(&nic->memory, old);
}

static int answer_offer(struct unic_revoke *nic, uint16_t mr, uint32_t offer_mr,
			uint32_t offer_gen, uint8_t *refusal)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	*refusal = check_offer(nic, m,
			       unic_mr_get(&nic->memory, offer_mr, offer_gen));
	UNIC_TRACE(nic, OFFER, m->proc, m->seq, offer_mr, mr, *refusal);
	if (*refusal) {
		UNIC_COUNT(nic, offers_refused);
		return -UNIC_EREFUSED;
	}
	UNIC_COUNT(nic, offers_taken);
	swap_subject(nic, mr, (uint16_t)offer_mr);
	return 0;
}

/*
 * An extended grace is no supply any more that a request within its share
 * could count on, so the region stops being one that is on its way back.
 */
static int answer_extend(struct unic_revoke *nic, uint16_t mr, uint32_t us,
			 uint8_t *refusal)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];
	int err = -UNIC_EREFUSED;

	*refusal = UNIC_REFUSED_WAITER;
	if (!unic_demand_urgent(nic)) {
		*refusal = UNIC_REFUSED_NONE;
		err = unic_notice_extend(&nic->notices, m->notice, us, refusal);
	}
	UNIC_TRACE(nic, EXTEND, m->proc, m->seq, us, *refusal, 0);
	if (err) {
		UNIC_COUNT(nic, extends_refused);
		return err;
	}
	UNIC_COUNT(nic, extends_taken);
	if (!is_put_off(m))
		put_off(nic, m, true);
	remove_supply(nic, m);
	unic_evict_kick(nic);
	return 0;
}

int unic_evict_answer(struct unic_revoke *nic,
		      const struct unic_cmd_notice_answer *cmd,
		      uint64_t *deadline_ns, uint8_t *refusal)
{
	struct unic_notices *ns = &nic->notices;
	uint32_t mr = unic_from_le32(cmd->mr), us;
	struct unic_mr_ctx *m =
		unic_mr_get(&nic->memory, mr, unic_from_le32(cmd->gen));
	uint16_t i;
	int err;

	if (!m)
		return -UNIC_ENOMR;
	if (!is_answerable(m))
		return -UNIC_ESTATE;
	i = m->notice;
	us = unic_from_le32(cmd->extend_us);
	if (unic_from_le32(cmd->seq) != ns->notice[i].seq ||
	    unic_from_le32(cmd->answer) - UNIC_ANSWER_RELEASE >
		    UNIC_ANSWER_EXTEND - UNIC_ANSWER_RELEASE ||
	    (unic_from_le32(cmd->answer) == UNIC_ANSWER_EXTEND && !us))
		return -UNIC_EINVAL;
	/* who answers has got it, acknowledged or not */
	if (ns->notice[i].state == UNIC_NOTICE_SENT)
		unic_notice_delivered(ns, i, m->seq, nic->now_ns);
	switch (unic_from_le32(cmd->answer)) {
	case UNIC_ANSWER_RELEASE:
		count_release(nic, (uint16_t)mr);
		err = owner_drain(nic, (uint16_t)mr);
		break;
	case UNIC_ANSWER_OFFER:
		err = answer_offer(nic, (uint16_t)mr,
				   unic_from_le32(cmd->offer_mr),
				   unic_from_le32(cmd->offer_gen), refusal);
		break;
	default:
		err = answer_extend(nic, (uint16_t)mr, us, refusal);
		break;
	}
	/* a notice that was closed keeps its last deadline until reused */
	*deadline_ns = ns->notice[i].deadline_ns;
	return err;
}

/* ------------------------------------------------------------- the rest */

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool unic_evict_deadlines(struct unic_revoke *nic)
{
	const struct unic_evict *e = &nic->evict;

	if (nic->state != UNIC_NIC_READY ||
	    (!nic->evict_due && nic->now_ns < e->next_ns))
		return false;
	unic_evict_settle(nic); /* before its deadline cuts what is idle */
	nic->evict_due = false;
	handle_deadlines(nic);
	return true;
}

uint64_t unic_evict_poll(struct unic_revoke *nic)
{
	uint64_t next;

	unic_evict_settle(nic); /* what was cut */
	publish_all(nic);
	next = unic_admission_poll(nic);
	if (nic->evict.evts_due)
		next = min_ns(next, nic->now_ns + RETRY_NS);
	next = min_ns(next, unic_reclaim_poll(nic));
	next = min_ns(next, nic->notices.next_ns);
	nic->evict.next_ns = next;
	return nic->evict_due ? nic->now_ns : next;
}

/* Region @idx ends with its process: no tombstone is left, nor stays. */
static void detach_mr(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (mr->state == UNIC_MR_EVICTED && !mr->evt_due) {
		unic_slot_ration_spend(&nic->base, UNIC_LEAVE_TOMB);
		unic_mr_forget(&nic->memory, idx);
		return;
	}
	mr->flags |= UNIC_MR_F_GONE;
	if (mr->state >= UNIC_MR_DRAINING)
		return; /* its end is on the way */
	unic_slot_ration_spend(&nic->base, UNIC_LEAVE_MR + mr->n_pages);
	mr->why = UNIC_WHY_EXIT;
	owner_drain(nic, idx);
}

/* No region of a process that detaches is new, so each index is passed once. */
bool unic_evict_proc_gone(struct unic_revoke *nic, uint32_t proc)
{
	uint16_t *at = &nic->evict.leave_at[proc];

	unic_evict_settle(nic); /* what its queues used */
	for (; *at < UNIC_MRS && unic_slot_ration_left(&nic->base); (*at)++) {
		const struct unic_mr_ctx *mr = &nic->mrs.mr[*at];

		if (mr->proc == proc && mr->state != UNIC_MR_FREE)
			detach_mr(nic, *at);
	}
	return *at == UNIC_MRS && nic->procs.proc[proc].mr_head == UNIC_MR_NIL;
}
