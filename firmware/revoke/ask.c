/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ask.c - see ask.h. */
#include "revoke/ask.h"

#include <string.h>

#include "revoke/evict_events.h"
#include "revoke/revoke.h"

#define LOOKS	 32u	 /* regions that are looked at in a call */
#define RETRY_NS 100000u /* look again for room on the event ring */

/* Units of unic_asked.at, a bit more than a millisecond. A time in them is up to one
 * unit longer than it was. */
#define UNIT 20u
#define MORE (1ull << UNIT)

void unic_ask_init(struct unic_revoke *nic)
{
	memset(&nic->asks, 0, sizeof(nic->asks));
}

void unic_ask_after(struct unic_revoke *nic, uint32_t idle_us)
{
	nic->asks.idle_ns = idle_us * 1000ull;
	nic->asks.next_ns = 0;
}

/* ---------------------------------------------------------------- which */

/* When region @idx was used last, as far as policies may know it (usage.h); now, if
 * nothing is known. */
static uint64_t last_use(const struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (!nic->usages.off)
		return mr->last_use_ns;
	if (!nic->usages.told[mr->proc] ||
	    nic->usages.reported[idx].last_use_ns > nic->now_ns)
		return nic->now_ns;
	return nic->usages.reported[idx].last_use_ns;
}

/* What an operation uses, or a token waits for, is not idle, however old its last use
 * is. */
static bool is_askable(const struct unic_mr_ctx *mr)
{
	return (mr->flags & UNIC_MR_F_RING) && !mr->holds && !mr->dmas &&
	       !mr->n_tokens;
}

/* When region @idx may be asked for: it was not used for idle_ns, nor asked for. */
static uint64_t ripe_at(const struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	const struct unic_asked *asked = &nic->asks.asked[idx];
	uint64_t idle = nic->asks.idle_ns, ripe, again;
	uint32_t ago = (uint32_t)(nic->now_ns >> UNIT) - asked->at;

	if (!is_askable(mr))
		return UINT64_MAX;
	ripe = last_use(nic, idx) + idle;
	if (asked->gen != mr->gen || (uint64_t)ago << UNIT >= idle + MORE)
		return ripe;
	again = nic->now_ns + idle + MORE - ((uint64_t)ago << UNIT);
	return ripe > again ? ripe : again;
}

/*
 * The loss, if region @idx goes: less for one that lies idle twice as long; of equals
 * for the less important one, then for the one with less pain. What its owner kept when
 * it was asked for, and has not used since, comes after all others, in turn: else those
 * who give nothing would hide those who like to.
 */
static uint64_t loss_of(const struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_asked *asked = &nic->asks.asked[idx];
	uint64_t age = nic->now_ns - last_use(nic, idx);
	uint64_t young = (uint64_t)__builtin_clzll(age | 1);
	uint32_t ago = (uint32_t)(nic->now_ns >> UNIT) - asked->at;

	if (asked->gen == nic->mrs.mr[idx].gen && (uint64_t)ago << UNIT <= age)
		return 1ull << 63 | (uint32_t)~ago;
	return young << 40 | (uint64_t)nic->mrs.mr[idx].importance << 32 |
	       unic_usage_pain(&nic->memory, idx);
}

/* Puts region @idx in its place among the best; the worst of too many falls out. */
static void rank(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_asks *a = &nic->asks;
	struct unic_ask_best one = { .loss = loss_of(nic, idx),
				     .mr = idx,
				     .gen = nic->mrs.mr[idx].gen };
	uint32_t k = a->n;

	if (k == UNIC_ASK_BEST && a->best[--k].loss <= one.loss)
		return;
	for (; k && a->best[k - 1].loss > one.loss; k--)
		a->best[k] = a->best[k - 1];
	a->best[k] = one;
	if (a->n < UNIC_ASK_BEST)
		a->n++;
}

static void look(struct unic_revoke *nic)
{
	struct unic_asks *a = &nic->asks;
	uint32_t left = LOOKS;

	for (; a->at < UNIC_MRS && left--; a->at++) {
		uint64_t ripe = ripe_at(nic, a->at);

		if (ripe <= nic->now_ns)
			rank(nic, a->at);
		else if (ripe < a->ripe_ns)
			a->ripe_ns = ripe;
	}
}

/* ---------------------------------------------------------------- asking */

/* @best as it is now: the same region, and used neither itself nor through what was
 * derived from it. */
static bool is_idle_still(struct unic_revoke *nic,
			  const struct unic_ask_best *best)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[best->mr];

	if (mr->gen != best->gen)
		return false;
	if (mr->deps)
		(void)unic_usage_fold_into(&nic->memory, best->mr);
	return ripe_at(nic, best->mr) <= nic->now_ns;
}

/* Asks for the best until @entries would be free. Returns when to look again: after the
 * time for the answers, or when there is something to ask for. */
static uint64_t ask(struct unic_revoke *nic, uint32_t entries)
{
	struct unic_asks *a = &nic->asks;
	uint32_t there = nic->tlb.free + nic->share.coming, k;

	for (k = 0; k < a->n && (there < entries || !k); k++) {
		uint16_t mr = a->best[k].mr;

		if (!is_idle_still(nic, &a->best[k]))
			continue;
		if (!unic_evict_events_idle(nic, mr,
					    unic_usage_pain(&nic->memory, mr)))
			return nic->now_ns + RETRY_NS;
		UNIC_COUNT(nic, idle_asked);
		a->asked[mr] = (struct unic_asked){
			.at = (uint32_t)(nic->now_ns >> UNIT),
			.gen = a->best[k].gen,
		};
		there += nic->mrs.mr[mr].n_pages;
	}
	return a->n ? nic->now_ns + nic->notices.grace_us * 1000ull +
			       nic->candidates.reaper_us * 1000ull
		    : a->ripe_ns;
}

__attribute__((noinline, cold)) uint64_t unic_ask_step(struct unic_revoke *nic,
						       uint32_t entries)
{
	struct unic_asks *a = &nic->asks;

	if (nic->now_ns < a->next_ns)
		return a->next_ns;
	if (!a->at) {
		a->n = 0;
		a->ripe_ns = nic->now_ns + a->idle_ns;
	}
	look(nic);
	if (a->at < UNIC_MRS)
		return nic->now_ns;
	a->at = 0;
	a->next_ns = ask(nic, entries);
	return a->next_ns;
}
