/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* token.c - the incoming payload table. */
#include <string.h>

#include "memory/access.h"
#include "memory/memory.h"
#include "memory/dma_mr.h"

#define EXPIRIES 64u /* ended per poll */
/* TOKEN_ENDs in a round, so that the end of a region with all tokens is no long
 * one. Others are due then, as if the event ring were full. */
#define TELLS	 (UNIC_TOKENS / 4u < 64u ? UNIC_TOKENS / 4u : 64u)
#define RETRY_NS 100000u /* look again for room on the event ring */
#define NO_PROC	 0xffffu

/* ---------------------------------------------------------------- table */

static void free_put(struct unic_memory *nic, uint16_t i)
{
	struct unic_tokens *ts = &nic->tokens;

	ts->token[i].next = UNIC_TOKEN_NIL;
	if (ts->free_head == UNIC_TOKEN_NIL)
		ts->free_head = i;
	else
		ts->token[ts->free_tail].next = i;
	ts->free_tail = i;
}

void unic_token_init(struct unic_memory *nic)
{
	struct unic_tokens *ts = &nic->tokens;
	uint16_t i;

	memset(ts, 0, sizeof(*ts));
	ts->free_head = UNIC_TOKEN_NIL;
	for (i = 0; i < UNIC_TOKENS; i++) {
		ts->token[i].proc = NO_PROC;
		unic_token_set_state(&ts->token[i], UNIC_TOKEN_S_FREE);
		free_put(nic, i);
	}
	ts->next_expiry_ns = UINT64_MAX;
}

/* Token @i is the first of its region. */
static void region_put(struct unic_memory *nic, uint16_t i)
{
	struct unic_token *t = &nic->tokens.token[i];
	struct unic_mr_ctx *mr = &nic->mrs.mr[t->mr];

	t->prev = UNIC_TOKEN_NIL;
	t->next = mr->tokens;
	if (t->next != UNIC_TOKEN_NIL)
		nic->tokens.token[t->next].prev = i;
	mr->tokens = i;
}

void unic_token_link(struct unic_memory *nic, uint16_t i)
{
	region_put(nic, i);
	nic->mrs.mr[nic->tokens.token[i].mr].n_tokens++;
}

static void region_unlink(struct unic_memory *nic, uint16_t i)
{
	const struct unic_token *t = &nic->tokens.token[i];
	struct unic_mr_ctx *mr = &nic->mrs.mr[t->mr];
	uint16_t prev = t->prev, next = t->next;

	if (prev == UNIC_TOKEN_NIL)
		mr->tokens = next;
	else
		nic->tokens.token[prev].next = next;
	if (next != UNIC_TOKEN_NIL)
		nic->tokens.token[next].prev = prev;
	mr->n_tokens--;
}

/* ----------------------------------------------------------------- ends */

bool unic_token_publish_end(struct unic_memory *nic, uint16_t i)
{
	const struct unic_token *t = &nic->tokens.token[i];
	struct unic_evt_token evt = {
		.hdr = { .type = UNIC_EVT_TOKEN_END,
			 .proc = unic_to_le16(t->proc) },
		.index = unic_to_le32(i),
		.user = unic_to_le32(t->user),
		.end = unic_to_le32(t->end),
		.placed = unic_to_le32(t->placed),
	};

	return unic_mbox_event(&nic->base, &evt);
}

static uint32_t counter_of(uint8_t end)
{
	static const uint8_t counter[] = {
		[UNIC_TOKEN_USED] = UNIC_C_tokens_used,
		[UNIC_TOKEN_CANCELLED] = UNIC_C_tokens_cancelled,
		[UNIC_TOKEN_EXPIRED] = UNIC_C_tokens_expired,
		[UNIC_TOKEN_EVICTED] = UNIC_C_tokens_evicted,
		[UNIC_TOKEN_ABORTED] = UNIC_C_tokens_aborted,
	};

	return counter[end];
}

static void count_end(struct unic_memory *nic, uint16_t i, uint8_t end)
{
	const struct unic_token *t = &nic->tokens.token[i];

	nic->counter[counter_of(end)]++;
	UNIC_TRACE(nic, TOKEN_END, t->proc, i, end, t->placed, 0);
}

static void mark_ended(struct unic_memory *nic, uint16_t i, uint8_t end)
{
	struct unic_tokens *ts = &nic->tokens;
	struct unic_token *t = &ts->token[i];

	unic_token_set_state(t, UNIC_TOKEN_S_FREE);
	t->end = end;
	ts->used--;
	ts->held[t->proc]--;
}

/* Its process is told later, and until then the index stays off the free list. */
static void defer_end_event(struct unic_memory *nic, uint16_t i)
{
	nic->tokens.token[i].evt_due = true;
	nic->tokens.evts_due++;
	nic->timers_ns = 0;
}

static void finish_end_event(struct unic_memory *nic, uint16_t i)
{
	nic->tokens.token[i].evt_due = false;
	nic->tokens.evts_due--;
	free_put(nic, i);
}

/* False: no room, or enough for this round. */
static bool try_publish_end(struct unic_memory *nic, uint16_t i)
{
	struct unic_ration *told = &nic->tokens.told;

	if (!unic_ration_left(told, nic->polls, TELLS) ||
	    !unic_token_publish_end(nic, i))
		return false;
	unic_ration_spend(told, 1);
	return true;
}

/* @tell: its process does not know yet. */
static void report_end(struct unic_memory *nic, uint16_t i, bool tell)
{
	if (!tell || try_publish_end(nic, i))
		free_put(nic, i);
	else
		defer_end_event(nic, i);
}

void unic_token_end(struct unic_memory *nic, uint16_t i, uint8_t end, bool tell)
{
	const struct unic_token *t = &nic->tokens.token[i];

	UNIC_ASSERT(nic, unic_token_state(t) != UNIC_TOKEN_S_FREE); /* INV-9 */
	region_unlink(nic, i);
	unic_dma_mr_unlist(nic, t->mr, t->iova);
	mark_ended(nic, i, end);
	count_end(nic, i, end);
	report_end(nic, i, tell);
}

static void publish_all(struct unic_memory *nic)
{
	struct unic_tokens *ts = &nic->tokens;
	uint16_t i;

	for (i = 0; i < UNIC_TOKENS && ts->evts_due; i++) {
		if (!ts->token[i].evt_due)
			continue;
		if (!try_publish_end(nic, i))
			return;
		finish_end_event(nic, i);
	}
}

/* The region may be idle then. */
static void end_last(struct unic_memory *nic, uint16_t i, uint8_t end,
		     bool tell)
{
	uint16_t mr = nic->tokens.token[i].mr;

	unic_token_end(nic, i, end, tell);
	unic_idle_note(nic, mr);
}

/* Of a use the completion tells, if nobody waits for the end. */
static void end_claim(struct unic_memory *nic, uint16_t i, uint8_t end,
		      uint32_t placed)
{
	struct unic_token *t = &nic->tokens.token[i];
	bool tell = end != UNIC_TOKEN_USED;

	if (unlikely(unic_token_state(t) != UNIC_TOKEN_S_CLAIMED)) {
		UNIC_ASSERT(nic, unic_token_state(t) >= UNIC_TOKEN_S_WANTED);
		tell = true;
	}
	t->placed = placed;
	unic_mr_used(nic, &nic->mrs.mr[t->mr], placed);
	end_last(nic, i, end, tell);
}

void unic_token_finish(struct unic_memory *nic, uint16_t index, uint32_t placed)
{
	end_claim(nic, index, UNIC_TOKEN_USED, placed);
}

void unic_token_abort(struct unic_memory *nic, uint16_t index, uint32_t placed)
{
	end_claim(nic, index, UNIC_TOKEN_ABORTED, placed);
}

/* Token @i has ended, on no list of its region and in no account any more. False:
 * its process is told later; it is not tried @now. */
static bool end_region_token(struct unic_memory *nic, uint16_t i, uint8_t end,
			     bool now)
{
	struct unic_token *t = &nic->tokens.token[i];

	if (unic_mr_physical(&nic->mrs.mr[t->mr]))
		unic_dma_mr_unlist(nic, t->mr, t->iova);
	unic_token_set_state(t, UNIC_TOKEN_S_FREE);
	t->end = end;
	UNIC_TRACE(nic, TOKEN_END, t->proc, i, end, t->placed, 0);
	if (end == UNIC_TOKEN_CANCELLED || (now && try_publish_end(nic, i))) {
		free_put(nic, i);
		return true;
	}
	t->evt_due = true;
	return false;
}

/* @n tokens of region @mr have ended so, @due of which their process is not told
 * yet. */
static void account_ended(struct unic_memory *nic, struct unic_mr_ctx *mr,
			  uint8_t end, uint32_t n, uint32_t due)
{
	struct unic_tokens *ts = &nic->tokens;

	mr->n_tokens = (uint16_t)(mr->n_tokens - n);
	ts->used = (uint16_t)(ts->used - n);
	ts->held[mr->owner] -= n;
	nic->counter[counter_of(end)] += n;
	if (!due)
		return;
	ts->evts_due = (uint16_t)(ts->evts_due + due);
	nic->timers_ns = 0;
}

/*
 * All in one call, because from now on nothing opens its tokens (INV-4): what each
 * of a thousand costs is kept short, and the accounts are settled for all of them. A
 * process that leaves is told nothing: its tokens are cancelled with it.
 */
void unic_token_mr_gone(struct unic_memory *nic, uint16_t mr)
{
	struct unic_token *token = nic->tokens.token;
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];
	uint8_t end = m->why == UNIC_WHY_EXIT ? UNIC_TOKEN_CANCELLED
					      : UNIC_TOKEN_EVICTED;
	uint16_t i = m->tokens, next;
	uint32_t n = 0, due = 0;

	m->tokens = UNIC_TOKEN_NIL;
	for (; i != UNIC_TOKEN_NIL; i = next) {
		next = token[i].next;
		if (unic_token_waiting(&token[i])) {
			n++;
			due += !end_region_token(nic, i, end, !due);
		} else {
			region_put(nic, i); /* its message ends it */
		}
	}
	account_ended(nic, m, end, n, due);
}

void unic_token_proc_gone(struct unic_memory *nic, uint32_t proc)
{
	struct unic_tokens *ts = &nic->tokens;
	uint16_t i;

	for (i = 0; i < UNIC_TOKENS; i++) {
		struct unic_token *t = &ts->token[i];

		if (t->proc != proc)
			continue;
		UNIC_ASSERT(nic, unic_token_state(t) == UNIC_TOKEN_S_FREE);
		t->proc = NO_PROC;
		if (t->evt_due)
			finish_end_event(nic, i);
	}
}

/* The time of token @i is over. True if that ends it here. */
static bool expire_token(struct unic_memory *nic, uint16_t i)
{
	struct unic_token *t = &nic->tokens.token[i];

	if (!unic_token_waiting(t)) {
		unic_token_set_state(t, UNIC_TOKEN_S_OVERDUE);
		nic->token_overdue = true;
		return false;
	}
	unic_token_end(nic, i, UNIC_TOKEN_EXPIRED, true);
	return true;
}

/* Has its time a meaning? It has in the states with even numbers. */
static inline bool is_timed(const struct unic_token *t)
{
	return !(unic_token_state(t) & 1u);
}
_Static_assert(!((UNIC_TOKEN_S_LIVE | UNIC_TOKEN_S_MULTI |
		  UNIC_TOKEN_S_WANTED) &
		 1) && (UNIC_TOKEN_S_CLAIMED & UNIC_TOKEN_S_FREE &
			UNIC_TOKEN_S_OVERDUE & 1),
	       "is_timed()");

uint64_t unic_token_poll(struct unic_memory *nic)
{
	struct unic_tokens *ts = &nic->tokens;
	uint64_t next = UINT64_MAX;
	uint32_t left = EXPIRIES;
	uint16_t i;

	publish_all(nic);
	if (nic->now_ns >= ts->next_expiry_ns) {
		for (i = 0; i < UNIC_TOKENS && left; i++) {
			const struct unic_token *t = &ts->token[i];

			if (!is_timed(t))
				continue;
			if (nic->now_ns >= t->expires_ns)
				left -= expire_token(nic, i);
			else if (t->expires_ns < next)
				next = t->expires_ns;
		}
		ts->next_expiry_ns = left ? next : nic->now_ns;
	}
	next = ts->next_expiry_ns;
	if (!ts->evts_due)
		return next;
	if (!unic_ration_left(&nic->tokens.told, nic->polls, TELLS))
		return nic->now_ns;
	return next < nic->now_ns + RETRY_NS ? next : nic->now_ns + RETRY_NS;
}

/* ---------------------------------------------------------------- check */

static uint8_t __attribute__((noinline, cold))
refuse_token(struct unic_memory *nic, uint32_t index, uint8_t reason)
{
	static const uint8_t counter[] = {
		[UNIC_TOKEN_USED] = UNIC_C_token_ended_used,
		[UNIC_TOKEN_CANCELLED] = UNIC_C_token_ended_cancelled,
		[UNIC_TOKEN_EXPIRED] = UNIC_C_token_ended_expired,
		[UNIC_TOKEN_EVICTED] = UNIC_C_token_region,
		[UNIC_TOKEN_ABORTED] = UNIC_C_token_ended_aborted,
		[UNIC_TOKEN_BAD_KEY] = UNIC_C_token_bad_key,
		[UNIC_TOKEN_TOO_LONG] = UNIC_C_token_too_long,
		[UNIC_TOKEN_WRONG_SENDER] = UNIC_C_token_wrong_sender,
		[UNIC_TOKEN_BUSY] = UNIC_C_token_busy,
	};

	nic->counter[counter[reason]]++;
	UNIC_TRACE(nic, TOKEN_REFUSE, 0xffff, index, reason, 0, 0);
	return reason;
}

static inline bool is_expired(const struct unic_token *t,
			      const struct unic_memory *nic)
{
	return unic_whole(&nic->now_ns) >= unic_whole(&t->expires_ns);
}

/* Whatever the message says: an end behind 2^32 is behind the token's. */
static inline bool has_room(const struct unic_token *t,
			    const struct unic_tag *tag)
{
	uint32_t end;

	return !__builtin_add_overflow(tag->payload, tag->offset, &end) &&
	       end <= t->length;
}

/* An address or number of 0 is any. */
static inline bool sent_by(const struct unic_token *t,
			   const struct unic_token_sender *from)
{
	uint32_t ipv4 = (uint32_t)(t->sender >> 32), qpn = (uint32_t)t->sender;

	if (likely(ipv4 == from->dest_ipv4 && qpn == from->dest_qpn))
		return true;
	return (!ipv4 || ipv4 == from->dest_ipv4) &&
	       (!qpn || qpn == from->dest_qpn);
}

/*
 * The first check that fails is the reason. A MULTI token fails the short check
 * always, and perhaps no other: LIVE.
 */
static uint8_t refusal_reason(const struct unic_memory *nic,
			      const struct unic_tag *tag,
			      const struct unic_token_sender *from)
{
	const struct unic_token *t = &nic->tokens.token[tag->index];
	uint32_t state = unic_token_state(t);

	if (t->key != tag->key)
		return UNIC_TOKEN_BAD_KEY;
	if (unic_token_claimed(t))
		return UNIC_TOKEN_BUSY;
	/* an index that never had a token has the key 0 and no end */
	if (!unic_token_waiting(t))
		return t->end ? t->end : (uint8_t)UNIC_TOKEN_BAD_KEY;
	if ((t->lock & 0xffffu) != from->pd)
		return UNIC_TOKEN_BAD_KEY;
	if (is_expired(t, nic))
		return UNIC_TOKEN_EXPIRED;
	if (!has_room(t, tag))
		return UNIC_TOKEN_TOO_LONG;
	if (state == UNIC_TOKEN_S_MULTI && sent_by(t, from))
		return UNIC_TOKEN_LIVE;
	return UNIC_TOKEN_WRONG_SENDER;
}

/* The short check failed. That a token has expired its process is told by the
 * claim that finds it, or by the next poll. */
static uint8_t __attribute__((noinline, cold))
claim_slow(struct unic_memory *nic, const struct unic_tag *tag,
	   const struct unic_token_sender *from)
{
	uint32_t index = tag->index;
	uint8_t reason = refusal_reason(nic, tag, from);

	if (reason == UNIC_TOKEN_LIVE)
		return reason;
	if (reason == UNIC_TOKEN_EXPIRED &&
	    unic_token_waiting(&nic->tokens.token[index]))
		unic_token_end(nic, (uint16_t)index, UNIC_TOKEN_EXPIRED, true);
	return refuse_token(nic, index, reason);
}

/* LIVE, the right key, for queue pairs of this domain. */
static inline bool can_open_token(const struct unic_token *t, uint64_t key,
				  const struct unic_token_sender *from)
{
	return unic_whole(&t->key) == key && t->lock == from->pd;
}

void unic_token_stop(struct unic_memory *nic, uint16_t index, uint32_t placed)
{
	end_claim(nic, index, UNIC_TOKEN_CANCELLED, placed);
	refuse_token(nic, index, UNIC_TOKEN_CANCELLED);
}

void unic_token_unclaim(struct unic_memory *nic, uint16_t index)
{
	struct unic_token *t = &nic->tokens.token[index];

	UNIC_ASSERT(nic, unic_token_claimed(t));
	if (nic->mrs.mr[t->mr].state >= UNIC_MR_DRAINING) {
		end_last(nic, index, UNIC_TOKEN_EVICTED, true);
		return;
	}
	if (unic_token_state(t) >= UNIC_TOKEN_S_WANTED) {
		end_last(nic, index, UNIC_TOKEN_CANCELLED, true);
		return;
	}
	unic_token_set_state(t, UNIC_TOKEN_S_LIVE);
	if (t->expires_ns < nic->tokens.next_expiry_ns)
		nic->tokens.next_expiry_ns = t->expires_ns;
}

uint8_t unic_token_claim(struct unic_memory *nic, const struct unic_tag *tag,
			 const struct unic_token_sender *from)
{
	struct unic_tokens *ts = &nic->tokens;
	struct unic_token *t;

	UNIC_IN_REGISTER(ts);
	if (unlikely(tag->index >= UNIC_TOKENS))
		return refuse_token(nic, tag->index, UNIC_TOKEN_BAD_KEY);
	t = &ts->token[tag->index];
	UNIC_IN_REGISTER(t);
	if (unlikely(!can_open_token(t, unic_whole(&tag->key), from) ||
		     is_expired(t, nic) || !has_room(t, tag) ||
		     !sent_by(t, from)))
		return claim_slow(nic, tag, from);
	/*
	 * Accessible: a LIVE token ends with its region's access (INV-4). From
	 * now on the region waits for it: unic_mr_idle().
	 */
	t->lock |= UNIC_TOKEN_LOCK(0, UNIC_TOKEN_S_CLAIMED);
	return UNIC_TOKEN_LIVE;
}
