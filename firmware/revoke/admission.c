/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* admission.c - the queues of REGISTER_WAIT, and which request is served first. */
#include <string.h>

#include "revoke/revoke.h"
#include "revoke/admission.h"

#define CONTROL_MIN 16u /* least cap of entries of class control */
/* least cap of its regions */
#define CONTROL_MRS_MIN (UNIC_MRS / UNIC_PROCS / 2u)
/* try again after, when the event ring is full */
#define RETRY_NS 100000u

/* ------------------------------------------------------- queues and slots */

static void set_waiting(struct unic_revoke *nic, uint32_t proc, bool on)
{
	if (on)
		unic_bitset_add(&nic->promises.waiters, proc);
	else
		unic_bitset_del(&nic->promises.waiters, proc);
	unic_mr_set_not_open(&nic->mrs, UNIC_NOT_OPEN_WAITERS,
			     unic_bitset_any(&nic->promises.waiters));
}

void unic_admission_init(struct unic_revoke *nic)
{
	struct unic_admission *ad = &nic->admission;
	uint32_t i;

	memset(ad, 0, sizeof(*ad));
	memset(ad->wait_head, 0xff, sizeof(ad->wait_head));
	memset(ad->wait_tail, 0xff, sizeof(ad->wait_tail));
	ad->ended_head = ad->ended_tail = UNIC_ADMISSION_NIL;
	for (i = 0; i < UNIC_WAITS; i++)
		ad->wait[i].next = (uint16_t)(i + 1);
	ad->wait[UNIC_WAITS - 1].next = UNIC_ADMISSION_NIL;
	ad->wait_free = 0;
	ad->wait_ns = UINT64_MAX;
	ad->wait_without = UNIC_PROCS;
	unic_demand_init(nic);
}

static void append_wait(struct unic_admission *ad, uint16_t *head,
			uint16_t *tail, uint16_t i)
{
	ad->wait[i].next = UNIC_ADMISSION_NIL;
	if (*head == UNIC_ADMISSION_NIL)
		*head = i;
	else
		ad->wait[*tail].next = i;
	*tail = i;
}

static void unlink_wait(struct unic_admission *ad, uint16_t *head,
			uint16_t *tail, uint16_t i)
{
	uint16_t prev = UNIC_ADMISSION_NIL, at = *head;

	while (at != i) {
		prev = at;
		at = ad->wait[at].next;
	}
	if (prev == UNIC_ADMISSION_NIL)
		*head = ad->wait[i].next;
	else
		ad->wait[prev].next = ad->wait[i].next;
	if (*tail == i)
		*tail = prev;
}

static void slot_free(struct unic_admission *ad, uint16_t i)
{
	ad->wait_used--;
	if (!--ad->wait_slots[ad->wait[i].proc])
		ad->wait_without++;
	ad->wait[i].id = 0;
	ad->wait[i].next = ad->wait_free;
	ad->wait_free = i;
}

static uint32_t next_id(struct unic_admission *ad)
{
	if (++ad->wait_seq == 0)
		ad->wait_seq = 1;
	return ad->wait_seq;
}

/* Raises the promise to @proc by @n, at most to what it wants. */
static void promise_more(struct unic_revoke *nic, uint32_t proc, uint32_t n)
{
	unic_demand_promise(nic, proc, nic->promises.to[proc] + n);
}

/* Removes request @i from the queue of its process. */
static void dequeue_wait(struct unic_revoke *nic, uint16_t i)
{
	struct unic_admission *ad = &nic->admission;
	struct unic_wait *w = &ad->wait[i];

	unlink_wait(ad, &ad->wait_head[w->proc], &ad->wait_tail[w->proc], i);
	ad->waiting--;
	if (ad->wait_head[w->proc] == UNIC_ADMISSION_NIL)
		set_waiting(nic, w->proc, false);
	if (UNIC_ACCOUNTS && unlikely(ad->claims.count))
		unic_evict_kick(nic); /* a claim counts again, or for more */
	unic_share_want(&nic->share, w->proc, -(int32_t)w->args.n_pages);
	promise_more(nic, w->proc, 0);
	nic->mrs.pd[w->args.pd].users--;
}

/* --------------------------------------------------------------- denials */

static bool is_denied(const struct unic_revoke *nic, uint32_t proc)
{
	return nic->admission.denials.of[proc].n;
}

/* Ends the denial of @proc: it waits, has registered, or did not ask again in
 * time. */
static void forget_denied(struct unic_revoke *nic, uint32_t proc)
{
	if (!is_denied(nic, proc))
		return;
	unic_share_want(&nic->share, proc,
			-(int32_t)nic->admission.denials.of[proc].n);
	promise_more(nic, proc, 0);
	set_waiting(nic, proc, false);
	nic->admission.denials.count--;
	nic->admission.denials.of[proc].n = 0;
}

/* How long a denial lasts: B until the entries are there, and T to ask for them
 * again. */
static uint64_t denied_ns(const struct unic_revoke *nic)
{
	uint64_t us = nic->notices.deliver_us + 2ull * nic->notices.grace_us;

	return (us + nic->candidates.reaper_us + UNIC_DRAIN_BOUND_US) * 1000;
}

void unic_admission_denied(struct unic_revoke *nic, uint32_t proc, uint32_t n)
{
	struct unic_admission *ad = &nic->admission;
	struct unic_denials *d = &nic->admission.denials;
	/* a process that is denied again keeps its place */
	uint32_t seq = is_denied(nic, proc) ? d->of[proc].seq : 0;

	if (!n || ad->wait_head[proc] != UNIC_ADMISSION_NIL ||
	    unic_stag_shut(&nic->memory, proc) ||
	    !unic_share_entitled(&nic->share, proc, n))
		return;
	forget_denied(nic, proc);
	d->of[proc].n = n;
	d->of[proc].seq = seq ? seq : next_id(ad);
	d->of[proc].until_ns = nic->now_ns + denied_ns(nic);
	if (d->of[proc].until_ns < ad->wait_ns)
		ad->wait_ns = d->of[proc].until_ns;
	d->count++;
	set_waiting(nic, proc, true);
	unic_share_want(&nic->share, proc, (int32_t)n);
	unic_evict_kick(nic);
}

/* ---------------------------------------------------------------- claims */

/*
 * What @proc claims and does not hold is a denial that lasts, within its fair share: it is
 * asked back from those who are above theirs, and kept, also while @proc asks for nothing.
 * A REGISTER that was denied more counts as such until it is forgotten.
 */
static void renew_claim(struct unic_revoke *nic, uint32_t proc)
{
	struct unic_denials *d = &nic->admission.denials;
	uint32_t *lacked = &nic->admission.claims.lacked[proc];
	const struct unic_share_owner *o = &nic->share.owner[proc];
	uint32_t most = unic_share_fair(&nic->share, proc), n;

	if (o->quota && most > o->quota)
		most = o->quota;
	if (most > nic->admission.claims.of[proc])
		most = nic->admission.claims.of[proc];
	n = most > o->held ? most - o->held : 0;
	if (d->of[proc].n > n && d->of[proc].n != *lacked)
		return;
	*lacked = n;
	if (n == d->of[proc].n)
		d->of[proc].until_ns = nic->now_ns + denied_ns(nic);
	else if (n)
		unic_admission_denied(nic, proc, n);
	else
		forget_denied(nic, proc);
}

void __attribute__((cold)) unic_admission_renew(struct unic_revoke *nic)
{
	uint32_t i;

	for (i = 0; i < UNIC_PROCS; i++)
		if (nic->admission.claims.of[i])
			renew_claim(nic, i);
}

void unic_admission_claim(struct unic_revoke *nic, uint32_t proc, uint32_t n)
{
	struct unic_claims *c = &nic->admission.claims;

	c->count += (uint32_t) !!n - !!c->of[proc];
	if (c->of[proc] && !n)
		forget_denied(nic, proc);
	c->of[proc] = n;
	unic_evict_kick(nic);
}

/* ------------------------------------------------------------- queueing */

/*
 * Slots cannot be taken back, so a process gets no more than its weighted part,
 * and the last slots are for processes that have none (INV-8).
 */
static bool slots_used_up(const struct unic_revoke *nic, uint32_t proc)
{
	const struct unic_admission *ad = &nic->admission;
	const struct unic_share *s = &nic->share;
	uint32_t part = UNIC_WAITS * s->owner[proc].weight / s->all_weights;

	if (!ad->wait_slots[proc])
		return false;
	return ad->wait_slots[proc] >= part ||
	       UNIC_WAITS - ad->wait_used <= ad->wait_without;
}

int unic_admission_queue(struct unic_revoke *nic,
			 const struct unic_mr_args *args, uint32_t *id)
{
	struct unic_admission *ad = &nic->admission;
	uint32_t proc = args->proc;
	uint16_t i = ad->wait_free;
	struct unic_wait *w;

	if (slots_used_up(nic, proc))
		return -UNIC_EWAITFULL;
	UNIC_ASSERT(nic, i != UNIC_ADMISSION_NIL);
	forget_denied(nic, proc);
	ad->wait_used++;
	if (!ad->wait_slots[proc]++)
		ad->wait_without--;
	w = &ad->wait[i];
	ad->wait_free = w->next;
	memset(w, 0, sizeof(*w));
	w->args = *args;
	w->since_ns = nic->now_ns;
	if (args->timeout_us) {
		w->give_up_ns = nic->now_ns + args->timeout_us * 1000ull;
		if (w->give_up_ns < ad->wait_ns)
			ad->wait_ns = w->give_up_ns;
	}
	w->id = *id = next_id(ad);
	w->proc = (uint16_t)proc;
	w->mr = UNIC_MR_NIL;
	append_wait(ad, &ad->wait_head[proc], &ad->wait_tail[proc], i);
	ad->waiting++;
	set_waiting(nic, proc, true);
	unic_share_want(&nic->share, proc, (int32_t)args->n_pages);
	nic->mrs.pd[args->pd].users++;
	UNIC_COUNT(nic, waits_queued);
	UNIC_TRACE(nic, WAIT, proc, w->id, args->n_pages, nic->tlb.free, 0);
	unic_demand_settle(nic);
	unic_evict_kick(nic);
	return -UNIC_EPENDING;
}

/* ------------------------------------------------------------- admission */

/*
 * Returns an error if a registration of @n by @proc would take from the waiters.
 * Shares are computed as if it waited, too: a process that enters the pool
 * reduces the shares of the others.
 */
static int check_waiters(struct unic_revoke *nic, uint32_t proc, uint32_t n)
{
	struct unic_admission *ad = &nic->admission;
	uint32_t own = nic->share.owner[proc].wanted -
		       nic->admission.denials.of[proc].n + n;
	uint32_t own_indices = 1;
	struct unic_need kept;
	uint16_t i;

	unic_share_want(&nic->share, proc, (int32_t)n);
	kept = unic_demand_kept(nic, proc, n);
	unic_share_want(&nic->share, proc, -(int32_t)n);
	for (i = ad->wait_head[proc]; i != UNIC_ADMISSION_NIL;
	     i = ad->wait[i].next)
		own_indices++;
	if (own_indices + kept.indices > unic_mr_indices(&nic->mrs))
		return -UNIC_EMRFULL;
	if (own + kept.entries > nic->tlb.free)
		return -UNIC_ETLBFULL;
	/* it may take what is promised to a process that only its quota stops */
	unic_demand_trim(nic, nic->tlb.free - n);
	return 0;
}

/* Caps entries and indices: a region of one page takes an index, too. */
static bool control_capped(struct unic_revoke *nic, uint32_t proc,
			   const struct unic_mr_args *a)
{
	uint32_t cap = unic_share_fair(&nic->share, proc) / 4;
	uint32_t mrs = unic_share_part(&nic->share, proc, UNIC_MRS) / 4;

	if (cap < CONTROL_MIN)
		cap = CONTROL_MIN;
	if (mrs < CONTROL_MRS_MIN)
		mrs = CONTROL_MRS_MIN;
	return nic->mrs.control[proc].entries + a->n_pages > cap ||
	       nic->mrs.control[proc].mrs >= mrs;
}

int unic_admission_admit(struct unic_revoke *nic, uint32_t proc,
			 const struct unic_mr_args *args)
{
	const struct unic_share_owner *o = &nic->share.owner[proc];
	uint32_t n = args->n_pages;
	int err = 0;

	if (n > UNIC_MR_PAGES_MAX || unic_share_above_quota(o, n))
		return -UNIC_ETOOLARGE;
	if (args->mr_class == UNIC_CLASS_CONTROL &&
	    control_capped(nic, proc, args))
		return -UNIC_ECTRLCAP;
	if (unic_demand_over_quota(nic, proc, o->held, n))
		return -UNIC_EQUOTA;
	unic_mr_rested(&nic->memory);
	if (unic_stag_shut(&nic->memory, proc) || !unic_mr_room(&nic->memory))
		return -UNIC_EMRFULL;
	if (n > nic->tlb.free)
		return -UNIC_ETLBFULL;
	if (unic_bitset_any(&nic->promises.waiters))
		err = check_waiters(nic, proc, n);
	if (!err && n >= nic->admission.denials.of[proc].n)
		forget_denied(nic, proc);
	if (UNIC_ACCOUNTS && !err && nic->admission.claims.of[proc])
		unic_evict_kick(nic); /* it lacks less now */
	return err;
}

/* ------------------------------------------------------------- ends */

static bool publish_wait(struct unic_revoke *nic, const struct unic_wait *w)
{
	struct unic_evt_wait evt = {
		.hdr = { .type = w->status ? UNIC_EVT_WAIT_ENDED
					   : UNIC_EVT_GRANTED,
			 .proc = unic_to_le16(w->proc) },
		.wait = unic_to_le32(w->id),
		.user = unic_to_le32(w->args.user),
		.status = unic_to_le32(w->status),
		.waited_us = unic_to_le32(w->waited_us),
	};

	if (!w->status) {
		const struct unic_mr_ctx *mr = &nic->mrs.mr[w->mr];

		evt.mr = unic_to_le32(w->mr);
		evt.gen = unic_to_le32(mr->gen);
		evt.stag = unic_to_le32(mr->stag);
	}
	return unic_mbox_event(&nic->base, &evt);
}

static void publish_ended(struct unic_revoke *nic)
{
	struct unic_admission *ad = &nic->admission;
	uint16_t i;

	while ((i = ad->ended_head) != UNIC_ADMISSION_NIL &&
	       publish_wait(nic, &ad->wait[i])) {
		unlink_wait(ad, &ad->ended_head, &ad->ended_tail, i);
		slot_free(ad, i);
	}
}

static void end_wait(struct unic_revoke *nic, uint16_t i, uint8_t status,
		     uint16_t mr)
{
	struct unic_admission *ad = &nic->admission;
	struct unic_wait *w = &ad->wait[i];
	uint64_t us = (nic->now_ns - w->since_ns) / 1000;

	w->waited_us = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
	w->status = status;
	w->mr = mr;
	w->ended = true;
	append_wait(ad, &ad->ended_head, &ad->ended_tail, i);
	if (status) {
		UNIC_COUNT(nic, waits_ended);
		UNIC_TRACE(nic, WAIT_END, w->proc, w->id, status, 0, 0);
		return;
	}
	UNIC_COUNT(nic, waits_granted);
	UNIC_COUNT_ADD(nic, wait_us_total, w->waited_us);
	unic_histogram_add(&nic->histograms, UNIC_HIST_WAIT,
			   nic->now_ns - w->since_ns);
	if (w->waited_us > ad->longest_us[w->proc])
		ad->longest_us[w->proc] = w->waited_us;
	if (UNIC_PAIN)
		unic_depth_waited(nic, w->proc, w->waited_us);
	UNIC_TRACE(nic, GRANT, w->proc, w->id, w->waited_us, mr, 0);
}

void unic_admission_freed(struct unic_revoke *nic, uint32_t proc, uint32_t n)
{
	promise_more(nic, proc, n);
	unic_demand_trim(nic, nic->tlb.free);
}

static void grant_wait(struct unic_revoke *nic, uint32_t proc, uint32_t n)
{
	struct unic_admission *ad = &nic->admission;
	uint16_t i = ad->wait_head[proc], mr;
	struct unic_wait *w = &ad->wait[i];
	uint32_t promised = nic->promises.to[proc];

	dequeue_wait(nic, i);
	if (w->args.mr_class == UNIC_CLASS_CONTROL &&
	    control_capped(nic, proc, &w->args)) {
		end_wait(nic, i, UNIC_ST_CTRL_CAP, UNIC_MR_NIL);
		return;
	}
	mr = unic_mr_make(&nic->memory, &w->args);
	unic_demand_promise(nic, proc,
			    promised - (n < promised ? n : promised));
	unic_demand_trim(nic, nic->tlb.free);
	end_wait(nic, i, UNIC_ST_OK, mr);
}

static bool has_room_beside(struct unic_revoke *nic,
			    const struct unic_need *kept, uint32_t n)
{
	return n + kept->entries <= nic->tlb.free &&
	       unic_mr_room(&nic->memory) &&
	       kept->indices < unic_mr_indices(&nic->mrs);
}

/*
 * Grants requests in order, up to the first that does not fit: a later one would
 * take from it. What a denied process needs is kept, but not granted.
 */
static void grant_all(struct unic_revoke *nic)
{
	struct unic_admission *ad = &nic->admission;
	struct unic_need kept = { 0, 0 };
	uint32_t p, n;

	while (ad->waiting && kept.entries < nic->tlb.free &&
	       (p = unic_demand_first(nic)) != UNIC_OWNER_NIL) {
		n = nic->demands.of[p].n;
		if (is_denied(nic, p)) {
			kept.entries += n;
			kept.indices++;
			unic_demand_away(nic, p);
		} else if (has_room_beside(nic, &kept, n)) {
			grant_wait(nic, p, n);
		} else {
			break;
		}
	}
	unic_demand_back(nic);
}

static void expire_waits(struct unic_revoke *nic)
{
	struct unic_admission *ad = &nic->admission;
	uint64_t next = UINT64_MAX;
	uint16_t i;

	for (i = 0; i < UNIC_PROCS; i++) {
		if (!is_denied(nic, i))
			continue;
		if (nic->now_ns >= nic->admission.denials.of[i].until_ns) {
			forget_denied(nic, i);
			unic_evict_kick(nic);
		} else if (nic->admission.denials.of[i].until_ns < next) {
			next = nic->admission.denials.of[i].until_ns;
		}
	}
	for (i = 0; i < UNIC_WAITS; i++) {
		struct unic_wait *w = &ad->wait[i];

		if (!w->id || w->ended || !w->give_up_ns)
			continue;
		if (nic->now_ns >= w->give_up_ns) {
			dequeue_wait(nic, i);
			end_wait(nic, i, UNIC_ST_TIMEOUT, UNIC_MR_NIL);
		} else if (w->give_up_ns < next) {
			next = w->give_up_ns;
		}
	}
	ad->wait_ns = next;
}

uint64_t unic_admission_poll(struct unic_revoke *nic)
{
	struct unic_admission *ad = &nic->admission;
	uint64_t rested_ns = unic_mr_rested(&nic->memory);

	if (UNIC_ACCOUNTS && unlikely(ad->claims.count))
		unic_admission_renew(nic);
	grant_all(nic);
	if (nic->now_ns >= ad->wait_ns)
		expire_waits(nic);
	publish_ended(nic);
	if (ad->ended_head != UNIC_ADMISSION_NIL)
		return nic->now_ns + RETRY_NS;
	return ad->wait_ns < rested_ns ? ad->wait_ns : rested_ns;
}

int unic_admission_cancel(struct unic_revoke *nic, uint32_t id)
{
	struct unic_admission *ad = &nic->admission;
	uint16_t i;

	for (i = 0; id && i < UNIC_WAITS; i++) {
		if (ad->wait[i].id != id || ad->wait[i].ended)
			continue;
		dequeue_wait(nic, i);
		UNIC_COUNT(nic, waits_ended);
		UNIC_TRACE(nic, WAIT_END, ad->wait[i].proc, id,
			   UNIC_ST_CANCELLED, 0, 0);
		slot_free(ad, i);
		unic_evict_kick(nic);
		return 0;
	}
	return -UNIC_ENOWAIT;
}

void unic_admission_quota_changed(struct unic_revoke *nic, uint32_t proc)
{
	struct unic_admission *ad = &nic->admission;
	uint16_t i = ad->wait_head[proc], next;

	for (; i != UNIC_ADMISSION_NIL; i = next) {
		next = ad->wait[i].next;
		if (!unic_share_above_quota(&nic->share.owner[proc],
					    ad->wait[i].args.n_pages))
			continue;
		dequeue_wait(nic, i);
		end_wait(nic, i, UNIC_ST_TOO_LARGE, UNIC_MR_NIL);
	}
	unic_bitset_add(&nic->reclaim.lowered, proc);
	unic_evict_kick(nic);
}

void unic_admission_proc_gone(struct unic_revoke *nic, uint32_t proc)
{
	struct unic_admission *ad = &nic->admission;
	uint16_t i;

	if (UNIC_ACCOUNTS)
		unic_admission_claim(nic, proc, 0);
	forget_denied(nic, proc);
	for (i = 0; i < UNIC_WAITS; i++) {
		struct unic_wait *w = &ad->wait[i];

		if (!w->id || (w->proc != proc &&
			       unic_slot_keeper(&nic->procs, w->proc) != proc))
			continue;
		if (w->ended) {
			unlink_wait(ad, &ad->ended_head, &ad->ended_tail, i);
		} else {
			dequeue_wait(nic, i);
			UNIC_COUNT(nic, waits_ended);
		}
		slot_free(ad, i);
		unic_evict_kick(nic);
	}
}
