/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* evict.c - from the decision to take a region back to its free entries. */
#include <string.h>

#include "memory/access.h"
#include "memory/candidates.h"
#include "revoke/evict_events.h"
#include "revoke/evict_supply.h"
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
	unic_ask_init(nic);
	if (UNIC_PAIN)
		unic_depth_init(nic);
	nic->evict.next_ns = UINT64_MAX;
	nic->evict_due = false;
}

void unic_evict_kick(struct unic_revoke *nic)
{
	unic_mr_evict_due(&nic->memory);
}

/* ------------------------------------------------------- end of a region */

static void close_notice(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (mr->notice == UNIC_NOTICE_NIL)
		return;
	if (mr->seq)
		nic->evict.open[mr->proc]--;
	unic_notice_close(&nic->notices, mr->notice);
	mr->notice = UNIC_NOTICE_NIL;
	unic_cuts_forget(&nic->memory, idx);
	unic_evict_events_drop_notice(nic, idx);
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
	close_notice(nic, idx);
	unic_evict_supply_remove(nic, mr);
	unic_mr_strip(&nic->memory, idx); /* INV-3 */
	count_eviction(nic, mr);
	UNIC_TRACE(nic, EVICTED, mr->proc, idx, mr->gen, mr->n_pages,
		   mr->evt_flags & UNIC_EVICTED_WAS_BUSY);
	mr->state = UNIC_MR_EVICTED;
	mr->since_ns = nic->now_ns;
	if ((mr->flags & UNIC_MR_F_QUIET) ||
	    unic_evict_events_evicted(nic, idx))
		unic_mr_bury(&nic->memory, idx);
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
	if (UNIC_ACCOUNTS && unlikely(nic->admission.claims.count))
		unic_admission_renew(nic); /* before anybody takes them */
	unic_evict_kick(nic);
}

static void drain_dependents(struct unic_revoke *nic, uint16_t of);

/* From here on no new operation is let through, nor through what is made of it
 * (INV-4). */
static void close_mr(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	unic_candidate_remove(&nic->memory, idx);
	if (unic_evict_supply_is_put_off(mr))
		unic_evict_supply_put_off(nic, mr, false);
	unic_evict_supply_add(nic, mr);
	unic_evict_events_drop_notice(nic,
				      idx); /* there is no choice any more */
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

/* The owner uses no more of the grace of notice @n, if that had begun. */
static void note_grace(struct unic_revoke *nic, const struct unic_notice *n)
{
	if (n->state == UNIC_NOTICE_GRACE)
		unic_histogram_add(&nic->histograms, UNIC_HIST_GRACE,
				   nic->now_ns - n->sent_ns);
}

static void count_release(struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	const struct unic_notice *n = &nic->notices.notice[mr->notice];

	UNIC_COUNT(nic, released);
	note_grace(nic, n);
	UNIC_TRACE(nic, RELEASE, mr->proc, mr->seq, idx, us_left(nic, n), 0);
}

int unic_evict_release(struct unic_revoke *nic, uint16_t mr)
{
	count_release(nic, mr);
	return owner_drain(nic, mr);
}

int unic_evict_give_up(struct unic_revoke *nic, uint16_t mr)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	m->flags |= UNIC_MR_F_GONE;
	if (m->state == UNIC_MR_DRAINING)
		return -UNIC_EPENDING; /* its EVICTED will do */
	if (m->state == UNIC_MR_NOTIFIED)
		return unic_evict_release(nic, mr);
	m->why = UNIC_WHY_DEREG;
	return owner_drain(nic, mr);
}

/* ------------------------------------------------------------ revocation */

static void send_notice(struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	const struct unic_notice *n = &nic->notices.notice[mr->notice];

	UNIC_COUNT(nic, notices);
	UNIC_TRACE(nic, NOTICE, mr->proc, n->seq, idx, mr->gen, n->rank);
	unic_evict_events_notice(nic, idx);
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
	unic_evict_supply_add(nic, mr);
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
	unic_evict_supply_put_off(nic, mr, false);
	unic_evict_supply_add(nic, mr);
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
		note_grace(nic, &nic->notices.notice[mr->notice]);
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
	if (unic_slot_leaves(&nic->procs, n->owner)) {
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
	unic_evict_events_flush(nic);
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

/* True if regions charged to @proc end with @slot: it is that, or its account. */
static inline bool is_of_slot(const struct unic_revoke *nic, uint32_t proc,
			      uint32_t slot)
{
	return proc == slot || unic_slot_keeper(&nic->procs, proc) == slot;
}

static bool has_no_regions(const struct unic_revoke *nic, uint32_t slot)
{
	uint32_t i;

	if (!UNIC_ACCOUNTS)
		return nic->procs.proc[slot].mr_head == UNIC_MR_NIL;
	for (i = 0; i < UNIC_PROCS; i++)
		if (nic->procs.proc[i].db && is_of_slot(nic, i, slot) &&
		    nic->procs.proc[i].mr_head != UNIC_MR_NIL)
			return false;
	return true;
}

/*
 * No region of a process that detaches is new, so each index is passed once. A region that
 * is charged to an account ends by its owner, who may have peers that use it (INV-14): the
 * account waits for that, and only its tombstones are passed.
 */
bool unic_evict_proc_gone(struct unic_revoke *nic, uint32_t proc)
{
	uint16_t *at = &nic->evict.leave_at[proc];

	if (UNIC_ACCOUNTS && nic->procs.proc[proc].mr_head != UNIC_MR_NIL &&
	    !unic_slot_leaves(&nic->procs, proc))
		return false;
	unic_evict_settle(nic); /* what its queues used */
	for (; *at < UNIC_MRS && unic_slot_ration_left(&nic->base); (*at)++) {
		const struct unic_mr_ctx *mr = &nic->mrs.mr[*at];

		if (mr->state != UNIC_MR_FREE &&
		    is_of_slot(nic, mr->proc, proc))
			detach_mr(nic, *at);
	}
	return *at == UNIC_MRS && has_no_regions(nic, proc);
}
