/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* token.c - the incoming payload table. */
#include <string.h>

#include "memory/access.h"
#include "memory/memory.h"
#include "memory/dma_mr.h"
#include "unic_wire.h"

#define EXPIRIES 64u /* ended per poll */
/* TOKEN_ENDs in a round, so that the end of a region with all tokens is no long
 * one. Others are due then, as if the event ring were full. */
#define TELLS	 (UNIC_TOKENS / 4u < 64u ? UNIC_TOKENS / 4u : 64u)
#define RETRY_NS 100000u /* look again for room on the event ring */
#define NO_PROC	 0xffffu

/* ---------------------------------------------------------------- table */

static void set_token_state(struct unic_token *t, uint32_t state)
{
	t->lock = UNIC_TOKEN_LOCK(t->lock & 0xffffu, state);
}

/* Waits for a message, so whatever ends tokens may end it. */
static bool is_waiting(const struct unic_token *t)
{
	uint32_t state = unic_token_state(t);

	return state == UNIC_TOKEN_S_LIVE || state == UNIC_TOKEN_S_MULTI;
}

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
		set_token_state(&ts->token[i], UNIC_TOKEN_S_FREE);
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

static void region_link(struct unic_memory *nic, uint16_t i)
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

static bool publish_end(struct unic_memory *nic, uint16_t i)
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

	set_token_state(t, UNIC_TOKEN_S_FREE);
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

	if (!unic_ration_left(told, nic->polls, TELLS) || !publish_end(nic, i))
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

/* The one way out (INV-9). */
static void end_token(struct unic_memory *nic, uint16_t i, uint8_t end,
		      bool tell)
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

	end_token(nic, i, end, tell);
	unic_idle_note(nic, mr);
}

static void end_claim(struct unic_memory *nic, uint16_t i, uint8_t end,
		      uint32_t placed)
{
	struct unic_token *t = &nic->tokens.token[i];

	UNIC_ASSERT(nic, unic_token_state(t) == UNIC_TOKEN_S_CLAIMED);
	t->placed = placed;
	unic_mr_used(nic, &nic->mrs.mr[t->mr], placed);
	end_last(nic, i, end, end != UNIC_TOKEN_USED);
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
	set_token_state(t, UNIC_TOKEN_S_FREE);
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
	ts->held[mr->proc] -= n;
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
		if (is_waiting(&token[i])) {
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

			if (!is_waiting(t))
				continue;
			if (nic->now_ns >= t->expires_ns) {
				end_token(nic, i, UNIC_TOKEN_EXPIRED, true);
				left--;
			} else if (t->expires_ns < next) {
				next = t->expires_ns;
			}
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

/* ------------------------------------------------------ alloc and cancel */

/* The same shares as for TLB entries, over another pool. */
static void token_share(const struct unic_memory *nic, struct unic_share *s)
{
	uint32_t i;

	unic_share_init(s, UNIC_TOKENS);
	for (i = 0; i < UNIC_PROCS; i++) {
		unic_share_weigh(s, i, nic->share.owner[i].weight);
		unic_share_hold(s, i, (int32_t)nic->tokens.held[i]);
	}
}

/* Who has to give @proc a place: somebody above its share to one below. */
static uint32_t recall_victim(const struct unic_memory *nic, uint32_t proc)
{
	struct unic_share s;

	token_share(nic, &s);
	unic_share_want(&s, proc, 1);
	if (!unic_share_entitled(&s, proc, 1))
		return UNIC_OWNER_NIL;
	return unic_share_victim(&s, proc, 1);
}

/*
 * Full: one LIVE token goes. Its end is published first, because without room
 * for that its index would not be free, and a token be lost at each attempt.
 */
static bool recall_token(struct unic_memory *nic, uint32_t proc)
{
	uint32_t victim = recall_victim(nic, proc);
	uint16_t i;

	/*@ loop invariant i <= UNIC_TOKENS;
	  @ loop assigns i; */
	for (i = 0; victim != UNIC_OWNER_NIL && i < UNIC_TOKENS; i++) {
		struct unic_token *t = &nic->tokens.token[i];

		if (t->proc != victim || !is_waiting(t))
			continue;
		t->end = UNIC_TOKEN_EVICTED;
		if (!publish_end(nic, i)) {
			t->end = 0;
			return false;
		}
		end_token(nic, i, UNIC_TOKEN_EVICTED, false);
		return true;
	}
	return false;
}

/* One is on the free list. */
static bool ensure_free_token(struct unic_memory *nic, uint32_t proc)
{
	return nic->tokens.free_head != UNIC_TOKEN_NIL ||
	       recall_token(nic, proc);
}

static uint16_t take_free_token(struct unic_memory *nic)
{
	struct unic_tokens *ts = &nic->tokens;
	uint16_t i = ts->free_head;
	const struct unic_token *t = &ts->token[i];

	/* INV-9: between two of an index lies the end of the first */
	UNIC_ASSERT(nic, unic_token_state(t) == UNIC_TOKEN_S_FREE);
	ts->free_head = t->next;
	return i;
}

static void set_ttl(struct unic_memory *nic, uint16_t i, uint32_t ttl_us)
{
	struct unic_token *t = &nic->tokens.token[i];

	t->expires_ns = ttl_us ? nic->now_ns + ttl_us * 1000ull : UINT64_MAX;
	if (t->expires_ns < nic->tokens.next_expiry_ns) {
		nic->tokens.next_expiry_ns = t->expires_ns;
		if (t->expires_ns < nic->timers_ns)
			nic->timers_ns = t->expires_ns;
	}
}

/* What the token names. The region's index, or why not. */
static int check_place(struct unic_memory *nic, const struct unic_token_args *a)
{
	bool pieces = a->flags & UNIC_TOKEN_F_PIECES;

	if (!pieces && a->n_pieces)
		return -UNIC_EINVAL;
	if (!pieces)
		return unic_mr_check(nic, a->stag, a->pd, UNIC_MR_LOCAL_WRITE,
				     a->iova, a->length);
	/* its list ends with it, and a message may outlive a MULTI one */
	if (a->iova || (a->flags & UNIC_TOKEN_F_MULTI))
		return -UNIC_EINVAL;
	return unic_dma_mr_check(nic, a->stag, a->pd, a->pieces, a->n_pieces,
				 a->length);
}

/* The region's index, or why not. */
static int check_token_args(struct unic_memory *nic,
			    const struct unic_token_args *args)
{
	int mr;

	if (args->pd >= UNIC_PDS ||
	    !unic_slot_live(&nic->base, nic->mrs.pd[args->pd].proc))
		return -UNIC_ENOPD;
	if (!args->length || args->length > UNIC_MSG_MAX ||
	    (args->sender_qpn && !args->sender_ipv4) ||
	    (args->flags & ~UNIC_TOKEN_F_FLAGS_ALL) ||
	    args->sender_qpn > UNIC_QPN_MASK)
		return -UNIC_EINVAL;
	mr = check_place(nic, args);
	if (mr >= 0 && !nic->random.seeded)
		return -UNIC_EENTROPY;
	return mr;
}

/* Where its bytes lie: an address of the region, or a list of pieces. */
static uint64_t place_of(struct unic_memory *nic, uint16_t mr,
			 const struct unic_token_args *args)
{
	if (!args->n_pieces)
		return args->iova;
	return unic_dma_mr_list(nic, mr, args->pieces, args->n_pieces);
}

/* What a message to free token @i is compared with, but for its lock. */
static void set_token_match(struct unic_memory *nic, uint16_t i, uint16_t mr,
			    const struct unic_token_args *args)
{
	struct unic_token *t = &nic->tokens.token[i];

	t->key = (uint64_t)unic_random_u32(&nic->base) << 32 |
		 unic_random_u32(&nic->base);
	t->iova = place_of(nic, mr, args);
	t->length = args->length;
	t->sender = UNIC_TOKEN_SENDER(args->sender_ipv4, args->sender_qpn);
	t->user = args->user;
	t->mr = mr;
	t->placed = 0;
	t->end = 0;
}

/* Its life begins: LIVE or MULTI, of @proc. */
static void activate_token(struct unic_memory *nic, uint16_t i, uint16_t proc,
			   const struct unic_token_args *args)
{
	struct unic_token *t = &nic->tokens.token[i];

	t->proc = proc;
	t->evt_due = false;
	t->lock = UNIC_TOKEN_LOCK(args->pd, UNIC_TOKEN_S_LIVE);
	if (args->flags & UNIC_TOKEN_F_MULTI)
		set_token_state(t, UNIC_TOKEN_S_MULTI);
}

/* All of free token @i but its lists: LIVE or MULTI, of @proc and region @mr. */
static void fill_token(struct unic_memory *nic, uint16_t i, uint16_t proc,
		       uint16_t mr, const struct unic_token_args *args)
{
	set_token_match(nic, i, mr, args);
	activate_token(nic, i, proc, args);
}

static void count_token_alloc(struct unic_memory *nic, uint16_t i)
{
	const struct unic_token *t = &nic->tokens.token[i];

	nic->tokens.used++;
	nic->tokens.held[t->proc]++;
	UNIC_COUNT(nic, tokens_allocated);
	UNIC_TRACE(nic, TOKEN_ALLOC, t->proc, i, t->length, 0, 0);
}

/* The first of the free list is the token that was asked for. */
static uint16_t make_token(struct unic_memory *nic, uint16_t proc, uint16_t mr,
			   const struct unic_token_args *args)
{
	uint16_t i = take_free_token(nic);

	fill_token(nic, i, proc, mr, args);
	set_ttl(nic, i, args->ttl_us);
	region_link(nic, i);
	count_token_alloc(nic, i);
	return i;
}

int unic_token_alloc(struct unic_memory *nic,
		     const struct unic_token_args *args, uint64_t *key)
{
	uint16_t proc, i;
	int mr = check_token_args(nic, args);

	if (mr < 0)
		return mr;
	proc = nic->mrs.pd[args->pd].proc;
	if (!ensure_free_token(nic, proc))
		return -UNIC_ETOKENFULL;
	i = make_token(nic, proc, (uint16_t)mr, args);
	*key = nic->tokens.token[i].key;
	return i;
}

int unic_token_cancel(struct unic_memory *nic, uint32_t proc, uint32_t index,
		      uint64_t key, uint32_t *end, uint32_t *placed)
{
	struct unic_token *t;

	/* an index without an owner has NO_PROC and the key 0 */
	if (index >= UNIC_TOKENS || proc >= UNIC_PROCS)
		return -UNIC_ENOTOKEN;
	t = &nic->tokens.token[index];
	if (t->proc != proc || t->key != key)
		return -UNIC_ENOTOKEN;
	if (unic_token_state(t) == UNIC_TOKEN_S_CLAIMED)
		return -UNIC_EBUSY;
	if (is_waiting(t)) {
		bool late = nic->now_ns >= t->expires_ns;

		end_token(nic, (uint16_t)index,
			  late ? UNIC_TOKEN_EXPIRED : UNIC_TOKEN_CANCELLED,
			  false);
	}
	*end = t->end;
	*placed = t->placed;
	return 0;
}

/* ---------------------------------------------------------------- check */

static uint8_t __attribute__((noinline, cold))
refuse_token(struct unic_memory *nic, uint32_t index, uint8_t reason)
{
	switch (reason) {
	case UNIC_TOKEN_TOO_LONG:
		UNIC_COUNT(nic, token_too_long);
		break;
	case UNIC_TOKEN_WRONG_SENDER:
		UNIC_COUNT(nic, token_wrong_sender);
		break;
	case UNIC_TOKEN_BUSY:
		UNIC_COUNT(nic, token_busy);
		break;
	case UNIC_TOKEN_EVICTED:
		UNIC_COUNT(nic, token_region);
		break;
	default:
		UNIC_COUNT(nic, token_bad_key);
		break;
	}
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
	if (state == UNIC_TOKEN_S_CLAIMED)
		return UNIC_TOKEN_BUSY;
	/* an index that never had a token has the key 0 and no end */
	if (!is_waiting(t))
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
	    is_waiting(&nic->tokens.token[index]))
		end_token(nic, (uint16_t)index, UNIC_TOKEN_EXPIRED, true);
	return refuse_token(nic, index, reason);
}

/* LIVE, the right key, for queue pairs of this domain. */
static inline bool can_open_token(const struct unic_token *t, uint64_t key,
				  const struct unic_token_sender *from)
{
	return unic_whole(&t->key) == key && t->lock == from->pd;
}

void unic_token_unclaim(struct unic_memory *nic, uint16_t index)
{
	struct unic_token *t = &nic->tokens.token[index];

	UNIC_ASSERT(nic, unic_token_state(t) == UNIC_TOKEN_S_CLAIMED);
	if (nic->mrs.mr[t->mr].state >= UNIC_MR_DRAINING) {
		end_last(nic, index, UNIC_TOKEN_EVICTED, true);
		return;
	}
	set_token_state(t, UNIC_TOKEN_S_LIVE);
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
