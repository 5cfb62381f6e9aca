/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fault.c - see fault.h. */
#include "memory/fault.h"

#include <string.h>

#include "memory/access.h"
#include "memory/cache.h"
#include "memory/cached_window.h"
#include "memory/memory.h"

#define RETRY_NS   100000u /* look again: for room on a ring or in the pool */
#define AHEAD_READ 64u	   /* entries read by one MR_ADVISE */
#define ALL_SLOTS  ((1u << UNIC_FAULTS) - 1u)
#define COLD	   __attribute__((noinline, cold))
#define MOST_AHEAD (UNIC_FAULTS / 2u) /* slots for pages only advised */

_Static_assert(UNIC_FAULTS < 32, "a bit for each in unic_faults.busy");

void unic_fault_init(struct unic_memory *nic)
{
	memset(&nic->faults, 0, sizeof(nic->faults));
	nic->faults.next_ns = UINT64_MAX;
	nic->faults.last = UNIC_FAULT_NONE;
	nic->faults.easy = ALL_SLOTS;
}

void unic_fault_schedule(struct unic_memory *nic, uint64_t at_ns)
{
	if (at_ns < nic->faults.next_ns)
		nic->faults.next_ns = at_ns;
	if (at_ns < nic->timers_ns)
		nic->timers_ns = at_ns;
}

/* -------------------------------------------------------------- who waits */

/* Queue pairs in @set go on; it is empty then. */
static void wake_qps(struct unic_memory *nic, uint32_t *set)
{
	struct unic_faults *ms = &nic->faults;
	uint32_t i;

	for (i = 0; i < UNIC_QP_WORDS; i++) {
		ms->any_woken |= set[i] != 0;
		ms->woken[i] |= set[i];
		set[i] = 0;
	}
}

uint16_t unic_fault_take_woken(struct unic_memory *nic)
{
	struct unic_faults *ms = &nic->faults;
	uint32_t i, bit;

	for (i = 0; ms->any_woken && i < UNIC_QP_WORDS; i++) {
		if (!ms->woken[i])
			continue;
		bit = (uint32_t)__builtin_ctz(ms->woken[i]);
		ms->woken[i] &= ms->woken[i] - 1u;
		return (uint16_t)(i * 32u + bit);
	}
	ms->any_woken = false;
	return UNIC_FAULT_NOBODY;
}

bool unic_fault_take_ended(struct unic_memory *nic)
{
	bool ended = nic->faults.ended;

	nic->faults.ended = false;
	return ended;
}

static void wake_starved(struct unic_memory *nic)
{
	if (!nic->faults.any_starved)
		return;
	nic->faults.any_starved = false;
	wake_qps(nic, nic->faults.starved);
}

void unic_fault_wait(struct unic_memory *nic, uint16_t idx)
{
	struct unic_faults *ms = &nic->faults;
	uint32_t *set = ms->starved;

	if (ms->last < UNIC_FAULTS)
		set = ms->fault[ms->last].qps;
	else
		ms->any_starved = true;
	set[idx / 32] |= 1u << idx % 32;
}

bool unic_fault_waits(const struct unic_memory *nic, uint16_t idx)
{
	const struct unic_faults *ms = &nic->faults;
	uint32_t left, any = ms->starved[idx / 32];

	for (left = ms->busy; left; left &= left - 1u)
		any |= ms->fault[__builtin_ctz(left)].qps[idx / 32];
	return any >> idx % 32 & 1;
}

void unic_fault_forget(struct unic_memory *nic, uint16_t idx)
{
	struct unic_faults *ms = &nic->faults;
	uint32_t left, others = ~(1u << idx % 32);

	ms->starved[idx / 32] &= others;
	ms->woken[idx / 32] &= others;
	for (left = ms->busy; left; left &= left - 1u)
		ms->fault[__builtin_ctz(left)].qps[idx / 32] &= others;
}

/* ------------------------------------------------------------------ slots */

static void set_fault_state(struct unic_faults *ms, struct unic_page_fault *m,
			    uint8_t state)
{
	uint32_t bit = 1u << (m - ms->fault);

	m->state = state;
	ms->busy = state == UNIC_FAULT_FREE ? ms->busy & ~bit : ms->busy | bit;
}

struct unic_page_fault *unic_fault_find(struct unic_faults *ms, uint16_t mr,
					uint32_t page)
{
	uint32_t left = ms->busy;

	while (left) {
		struct unic_page_fault *m = unic_fault_next(ms, &left);

		if (m->mr == mr && page - m->first < m->count)
			return m;
	}
	return NULL;
}

/* Does somebody wait for the driver? One that failed may go. */
static inline bool is_open(const struct unic_page_fault *m)
{
	return m->state == UNIC_FAULT_DUE || m->state == UNIC_FAULT_SENT;
}

static uint32_t open_slots(const struct unic_faults *ms)
{
	uint32_t left, n = 0;

	for (left = ms->busy; left; left &= left - 1u)
		n += is_open(&ms->fault[__builtin_ctz(left)]);
	return n;
}

/* An empty one, or the one that failed first. */
static struct unic_page_fault *take_free(struct unic_faults *ms)
{
	struct unic_page_fault *found = NULL;
	uint32_t left = ms->busy, empty = ~left & ALL_SLOTS;

	if (empty)
		return unic_fault_next(ms, &empty);
	while (left) {
		struct unic_page_fault *m = unic_fault_next(ms, &left);

		if (m->state == UNIC_FAULT_FAILED &&
		    (!found || m->since_ns < found->since_ns))
			found = m;
	}
	return found;
}

static uint16_t proc_of(const struct unic_memory *nic,
			const struct unic_page_fault *m)
{
	return nic->mrs.mr[m->mr].proc;
}

/* Who has how many slots, and @proc, which wants one more. @advised: as if there
 * were nothing but pages that are only advised. */
static void slot_share(const struct unic_memory *nic, uint16_t proc,
		       bool advised, struct unic_share *s)
{
	const struct unic_share_owner *of = nic->share.owner;
	const struct unic_faults *ms = &nic->faults;
	uint32_t left;
	uint16_t p;

	unic_share_init(s, advised ? MOST_AHEAD : UNIC_FAULTS);
	for (left = ms->busy; left; left &= left - 1u) {
		const struct unic_page_fault *m =
			&ms->fault[__builtin_ctz(left)];

		p = proc_of(nic, m);
		if (!is_open(m) || (advised && !m->ahead))
			continue;
		unic_share_weigh(s, p, of[p].weight);
		unic_share_hold(s, p, 1);
	}
	unic_share_weigh(s, proc, of[proc].weight);
	unic_share_want(s, proc, 1);
}

/* The youngest slot of @proc, or of anybody; @advised: that is only advised. */
static struct unic_page_fault *find_youngest(const struct unic_memory *nic,
					     uint32_t proc, bool advised)
{
	const struct unic_faults *ms = &nic->faults;
	const struct unic_page_fault *found = NULL;
	uint32_t left;

	for (left = ms->busy; left; left &= left - 1u) {
		const struct unic_page_fault *m =
			&ms->fault[__builtin_ctz(left)];

		if (is_open(m) && (m->ahead || !advised) &&
		    (proc == UNIC_OWNER_NIL || proc_of(nic, m) == proc) &&
		    (!found || m->since_ns >= found->since_ns))
			found = m;
	}
	return (struct unic_page_fault *)found;
}

/* The slot that @proc may have in place of another, or NULL (INV-20). */
static struct unic_page_fault *find_victim_slot(const struct unic_memory *nic,
						uint16_t proc, bool advised)
{
	struct unic_page_fault *m = NULL;
	struct unic_share s;
	uint32_t from;

	if (!advised)
		m = find_youngest(nic, UNIC_OWNER_NIL, true);
	if (m)
		return m;
	slot_share(nic, proc, advised, &s);
	if (!unic_share_entitled(&s, proc, 1))
		return NULL;
	from = unic_share_victim(&s, proc, 1);
	return from == UNIC_OWNER_NIL ? NULL
				      : find_youngest(nic, from, advised);
}

/* Who waits for @m waits for a slot now. */
static void give_up_slot(struct unic_memory *nic, struct unic_page_fault *m)
{
	struct unic_faults *ms = &nic->faults;
	uint32_t i;

	for (i = 0; i < UNIC_QP_WORDS; i++) {
		ms->any_starved |= m->qps[i] != 0;
		ms->starved[i] |= m->qps[i];
		m->qps[i] = 0;
	}
	unic_fault_schedule(nic, nic->now_ns + RETRY_NS);
}

/* Others have found none a moment ago: may @proc take one of those that are left?
 * As long as others have some, its share says so; and as many as it has it may leave
 * to whoever comes. */
static COLD bool can_take_slot(const struct unic_memory *nic, uint16_t proc)
{
	uint32_t open = open_slots(&nic->faults), held;
	struct unic_share s;

	slot_share(nic, proc, false, &s);
	held = s.owner[proc].held;
	return held < UNIC_FAULTS - open ||
	       (held < open && unic_share_entitled(&s, proc, 1));
}

/* From now on some slots are left to others, for as long as a page may take. */
static void reserve_slots(struct unic_memory *nic)
{
	struct unic_faults *ms = &nic->faults;

	ms->easy = 0;
	ms->narrow_ns = nic->now_ns + nic->notices.deliver_us * 1000ull;
}

/* Some are to be left, or there is none that is empty: a slot for an operation of
 * @proc, or NULL. */
static COLD struct unic_page_fault *take_slot_slow(struct unic_memory *nic,
						   uint16_t proc)
{
	struct unic_faults *ms = &nic->faults;
	struct unic_page_fault *m = take_free(ms);

	if (nic->now_ns >= ms->narrow_ns)
		ms->easy = ALL_SLOTS;
	if (m)
		return ms->easy || can_take_slot(nic, proc) ? m : NULL;
	m = find_victim_slot(nic, proc, false);
	if (!m)
		return NULL;
	if (proc_of(nic, m) != proc)
		reserve_slots(nic);
	give_up_slot(nic, m);
	return m;
}

/* A slot for an operation on region @mr, or NULL. */
static inline struct unic_page_fault *take_slot(struct unic_memory *nic,
						uint16_t mr)
{
	struct unic_faults *ms = &nic->faults;
	uint32_t empty = ms->easy & ~ms->busy;

	if (unlikely(!empty))
		return take_slot_slow(nic, nic->mrs.mr[mr].proc);
	return unic_fault_next(ms, &empty);
}

/* A slot for what is only advised by @proc, or NULL. */
static COLD struct unic_page_fault *take_prefetch_slot(struct unic_memory *nic,
						       uint16_t proc)
{
	if (open_slots(&nic->faults) < MOST_AHEAD)
		return take_free(&nic->faults);
	return find_victim_slot(nic, proc, true);
}

void unic_fault_end(struct unic_memory *nic, struct unic_page_fault *m,
		    uint8_t state)
{
	set_fault_state(&nic->faults, m, state);
	m->since_ns = nic->now_ns;
	wake_qps(nic, m->qps);
	wake_starved(nic);
	nic->faults.ended = true;
	if (state == UNIC_FAULT_FAILED)
		unic_fault_schedule(nic, nic->now_ns);
}

/* As many of @ahead as there are from @page on, and one miss may ask for. */
static uint32_t clamp_prefetch(const struct unic_mr_ctx *mr, uint32_t page,
			       uint32_t ahead)
{
	uint32_t left = unic_mr_count_pages(mr) - page;

	ahead = ahead < left ? ahead : left;
	return ahead < UNIC_FAULT_AHEAD ? ahead : UNIC_FAULT_AHEAD;
}

int unic_fault_starved(struct unic_memory *nic)
{
	nic->faults.last = UNIC_FAULT_NONE;
	unic_fault_schedule(nic, nic->now_ns + RETRY_NS);
	return -UNIC_EMISS;
}

/* The driver is told of it at the end of the round. */
static inline void open_fault(struct unic_memory *nic,
			      struct unic_page_fault *m, uint16_t mr,
			      uint32_t page, uint32_t ahead)
{
	set_fault_state(&nic->faults, m, UNIC_FAULT_DUE);
	m->short_of = false;
	m->mr = mr;
	m->first = page;
	m->count = clamp_prefetch(&nic->mrs.mr[mr], page, ahead);
	m->since_ns = nic->now_ns;
	unic_fault_schedule(nic, 0);
}

int unic_fault_raise(struct unic_memory *nic, uint16_t mr, uint32_t page,
		     uint32_t ahead)
{
	struct unic_faults *ms = &nic->faults;
	struct unic_page_fault *m = unic_fault_find(ms, mr, page);

	if (m && m->state == UNIC_FAULT_FAILED)
		return -UNIC_ENOPAGE;
	if (!m) {
		m = take_slot(nic, mr);
		if (!m)
			return unic_fault_starved(nic);
		open_fault(nic, m, mr, page, ahead);
	}
	m->ahead = false;
	ms->last = (uint16_t)(m - ms->fault);
	return -UNIC_EMISS;
}

/* The same for what nobody waits for yet. False: there is no slot for it. */
static bool raise_prefetch(struct unic_memory *nic, uint16_t mr, uint32_t page,
			   uint32_t ahead)
{
	struct unic_page_fault *m;

	if (unic_fault_find(&nic->faults, mr, page))
		return true;
	m = take_prefetch_slot(nic, nic->mrs.mr[mr].proc);
	if (!m)
		return false;
	open_fault(nic, m, mr, page, ahead);
	m->ahead = true;
	return true;
}

void unic_fault_more(struct unic_memory *nic, uint16_t mr, uint64_t end)
{
	struct unic_faults *ms = &nic->faults;
	struct unic_page_fault *m = &ms->fault[ms->last];
	const struct unic_mr_ctx *region;
	uint32_t last, n;

	if (unic_mr_over_cached(&nic->mrs.mr[mr]))
		mr = unic_cached_window_find(nic, mr, &end);
	if (ms->last == UNIC_FAULT_NONE || m->state != UNIC_FAULT_DUE ||
	    m->mr != mr)
		return;
	region = &nic->mrs.mr[mr];
	last = (uint32_t)(((end - 1) >> region->page_shift) -
			  (region->iova >> region->page_shift));
	if (last < m->first)
		return;
	n = clamp_prefetch(region, m->first, last - m->first + 1u);
	if (n > m->count)
		m->count = n;
}

void unic_fault_mr_gone(struct unic_memory *nic, uint16_t mr)
{
	uint32_t left = nic->faults.busy;

	while (left) {
		struct unic_page_fault *m =
			unic_fault_next(&nic->faults, &left);

		if (m->mr == mr)
			unic_fault_end(nic, m, UNIC_FAULT_FREE);
	}
}

/* ------------------------------------------------------ ahead of a message */

void unic_fault_prefetch(struct unic_memory *nic, uint16_t mr, uint32_t first,
			 uint32_t count, uint32_t *done)
{
	bool demand = !UNIC_TABLE_READS || nic->cache.of[mr].demand;
	uint32_t end_page = first + count, left = AHEAD_READ;

	for (; first < end_page && left; first++) {
		if (unic_cache_has(nic, mr, first))
			continue;
		left--;
		if (demand) {
			if (!raise_prefetch(nic, mr, first, end_page - first))
				return;
			first += UNIC_FAULT_AHEAD - 1u;
			(*done)++;
			continue;
		}
		if (!unic_table_ahead(nic, mr, &first, end_page, done))
			return;
	}
}

/* Could nothing more be asked for ahead, for @proc? */
static bool is_prefetch_full(const struct unic_memory *nic, uint16_t proc)
{
	return open_slots(&nic->faults) >= MOST_AHEAD &&
	       !find_victim_slot(nic, proc, true);
}

bool unic_fault_ahead(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		      uint64_t iova, uint32_t len)
{
	uint32_t idx = stag >> UNIC_MR_IDX_SHIFT, mask, first, count, done = 0;
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint64_t off = iova - mr->iova;

	if (!unic_mr_cached(mr) || !unic_mr_opens(mr, stag, pd) ||
	    !unic_mr_grants(mr, UNIC_MR_LOCAL_WRITE) || off >= mr->length ||
	    len > mr->length - off)
		return true;
	if (is_prefetch_full(nic, mr->proc))
		return false;
	mask = (1u << mr->page_shift) - 1u;
	off += (uint32_t)mr->iova & mask;
	first = (uint32_t)(off >> mr->page_shift);
	count = (uint32_t)((off + len - 1u) >> mr->page_shift) - first + 1u;
	count = count < UNIC_FAULT_BEFORE ? count : UNIC_FAULT_BEFORE;
	unic_fault_prefetch(nic, (uint16_t)idx, first, count, &done);
	if (done)
		UNIC_COUNT(nic, rq_ahead);
	return true;
}

/* ----------------------------------------------------------------- events */

static bool publish_fault(struct unic_memory *nic,
			  const struct unic_page_fault *m)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[m->mr];
	uint32_t seq = nic->cache.of[m->mr].seq;
	struct unic_evt_miss evt = {
		.hdr = { .type = UNIC_EVT_MISS,
			 .proc = unic_to_le16(mr->proc) },
		.mr = unic_to_le32(m->mr),
		.gen = unic_to_le32(mr->gen),
		.user = unic_to_le32(mr->user),
		.first = unic_to_le32(m->first),
		.count = unic_to_le32(m->count),
		.seq = unic_to_le32(seq),
	};

	if (!unic_mbox_event(&nic->base, &evt))
		return false;
	UNIC_COUNT(nic, miss_events);
	UNIC_TRACE(nic, MISS, mr->proc, m->mr, m->first, m->count, seq);
	return true;
}

uint64_t unic_fault_bound_ns(const struct unic_memory *nic)
{
	return (2ull * nic->notices.deliver_us + nic->notices.grace_us +
		nic->notices.extend_us + nic->candidates.residence_us +
		nic->candidates.reaper_us + UNIC_DRAIN_BOUND_US) *
	       1000u;
}

/* Asks for the pages of @m, which is DUE, where they come from. False: not yet. */
static COLD bool ask_for(struct unic_memory *nic, struct unic_page_fault *m)
{
	int r;

	if (!UNIC_TABLE_READS || nic->cache.of[m->mr].demand) {
		if (!publish_fault(nic, m))
			return false;
		m->state = UNIC_FAULT_SENT;
		return true;
	}
	r = unic_cache_has(nic, m->mr, m->first)
		    ? 1
		    : unic_table_miss(nic, m->mr, m->first, m->count, true);
	if (r == -UNIC_EAGAIN)
		return false;
	if (r == -UNIC_EPENDING)
		m->state = UNIC_FAULT_SENT;
	else
		unic_fault_end(nic, m,
			       r == -UNIC_ENOPAGE ? UNIC_FAULT_FAILED
						  : UNIC_FAULT_FREE);
	return true;
}

/* One slot. Returns when to look at it again. */
static uint64_t step_fault(struct unic_memory *nic, struct unic_page_fault *m)
{
	uint64_t bound = nic->notices.deliver_us * 1000ull;

	if (m->short_of && m->state != UNIC_FAULT_FAILED)
		bound = unic_fault_bound_ns(nic);
	if (m->state == UNIC_FAULT_DUE) {
		if (!ask_for(nic, m) && nic->now_ns - m->since_ns < bound)
			return nic->now_ns + RETRY_NS;
		if (m->state == UNIC_FAULT_FREE)
			return UINT64_MAX;
	}
	if (nic->now_ns - m->since_ns < bound)
		return m->since_ns + bound;
	if (m->state == UNIC_FAULT_FAILED) {
		set_fault_state(&nic->faults, m, UNIC_FAULT_FREE);
		return UINT64_MAX;
	}
	UNIC_COUNT(nic, miss_timeouts);
	unic_fault_end(nic, m, UNIC_FAULT_FAILED);
	return m->since_ns + bound;
}

uint64_t unic_fault_poll(struct unic_memory *nic)
{
	struct unic_faults *ms = &nic->faults;
	uint64_t next = UINT64_MAX, at;
	uint32_t left;

	if (nic->now_ns < ms->next_ns)
		return ms->next_ns;
	ms->next_ns = UINT64_MAX;
	wake_starved(nic);
	left = ms->busy;
	while (left) {
		at = step_fault(nic, unic_fault_next(ms, &left));
		next = at < next ? at : next;
	}
	if (ms->any_starved && nic->now_ns + RETRY_NS < next)
		next = nic->now_ns + RETRY_NS;
	if (next < ms->next_ns)
		ms->next_ns = next;
	return ms->next_ns;
}
