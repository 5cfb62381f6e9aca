/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* token_alloc.c - how a token begins, and how its process takes it back. See token.h. */
#include "memory/token.h"

#include "memory/access.h"
#include "memory/dma_mr.h"
#include "memory/memory.h"
#include "unic_wire.h"

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

		if (t->proc != victim || !unic_token_waiting(t))
			continue;
		t->end = UNIC_TOKEN_EVICTED;
		if (!unic_token_publish_end(nic, i)) {
			t->end = 0;
			return false;
		}
		unic_token_end(nic, i, UNIC_TOKEN_EVICTED, false);
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
		unic_token_set_state(t, UNIC_TOKEN_S_MULTI);
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
	unic_token_link(nic, i);
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

/* The process of claimed token @i waits for its end, for T at most; a second request
 * does not prolong that. */
static void want_back(struct unic_memory *nic, uint32_t i)
{
	struct unic_token *t = &nic->tokens.token[i];

	if (unic_token_state(t) != UNIC_TOKEN_S_CLAIMED)
		return;
	unic_token_set_state(t, UNIC_TOKEN_S_WANTED);
	t->expires_ns = nic->now_ns + nic->notices.grace_us * 1000ull;
	nic->tokens.next_expiry_ns = 0; /* look */
	nic->timers_ns = 0;
}

int unic_token_cancel(struct unic_memory *nic, uint32_t proc, uint32_t index,
		      uint64_t key, bool wait, uint32_t *end, uint32_t *placed)
{
	struct unic_token *t;

	/* an index without an owner has NO_PROC and the key 0 */
	if (index >= UNIC_TOKENS || proc >= UNIC_PROCS)
		return -UNIC_ENOTOKEN;
	t = &nic->tokens.token[index];
	if (t->proc != proc || t->key != key)
		return -UNIC_ENOTOKEN;
	if (unic_token_claimed(t)) {
		if (!wait)
			return -UNIC_EBUSY;
		want_back(nic, index);
		return -UNIC_EPENDING;
	}
	if (unic_token_waiting(t)) {
		bool late = nic->now_ns >= t->expires_ns;

		unic_token_end(nic, (uint16_t)index,
			       late ? UNIC_TOKEN_EXPIRED : UNIC_TOKEN_CANCELLED,
			       false);
	}
	*end = t->end;
	*placed = t->placed;
	return 0;
}
