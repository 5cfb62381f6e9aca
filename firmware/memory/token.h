/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * token.h - the incoming payload table: tokens for tagged messages (S3; MEMORY.md
 * section 7).
 *
 *   LIVE -> CLAIMED(QP, PSN) -> USED | ABORTED
 *   LIVE, MULTI -> CANCELLED | EXPIRED | EVICTED | RESET
 *   CLAIMED -> WANTED -> OVERDUE -> CANCELLED
 *   WANTED, OVERDUE -> USED | ABORTED | EVICTED | CANCELLED
 *
 * WANTED: the token's process wants it back amid a message; TOKEN_END says how it
 * ends, whichever way. OVERDUE: T is over, and transport/ stops the message as soon
 * as none of its bytes are on their way.
 *
 * A token for many messages (MULTI) is never claimed: each of them holds the
 * region for itself, and those that have begun are finished when it ends.
 *
 * Each token ends exactly once (INV-9). A key has 64 random bits; a guess hits
 * with odds 2^-64 per frame.
 */
#ifndef UNIC_TOKEN_H
#define UNIC_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ration.h"
#include "board.h"
#include "memory/mr.h"

#define UNIC_TOKEN_NIL 0xffffu

enum unic_token_state {
	UNIC_TOKEN_S_LIVE = 0,
	UNIC_TOKEN_S_CLAIMED = 1,
	UNIC_TOKEN_S_MULTI = 2, /* as LIVE */
	UNIC_TOKEN_S_FREE = 3,
	UNIC_TOKEN_S_WANTED = 4,  /* as CLAIMED */
	UNIC_TOKEN_S_OVERDUE = 5, /* as CLAIMED */
};

struct unic_token {
	/* the check reads these */
	uint64_t key;
	uint64_t expires_ns; /* UINT64_MAX: never; WANTED: T is over */
	uint64_t sender;     /* UNIC_TOKEN_SENDER; either part 0: any */
	uint32_t length;
	uint32_t lock; /* UNIC_TOKEN_LOCK */
	uint64_t iova;
	uint16_t mr;
	uint8_t end; /* of the last token of this index */
	uint32_t user;
	uint32_t placed;
	uint16_t proc;
	uint16_t prev, next; /* of the region's tokens; next: free list too */
	bool evt_due;	     /* ended, TOKEN_END not yet on the event ring */
};

/* The PD of its region and its state in one: LIVE, it is the PD alone, so that
 * one comparison with a queue pair's checks both. */
#define UNIC_TOKEN_LOCK(pd, state) ((pd) | (uint32_t)(state) << 16)

#define UNIC_TOKEN_SENDER(ipv4, qpn) ((uint64_t)(ipv4) << 32 | (qpn))

static inline uint32_t unic_token_state(const struct unic_token *t)
{
	return t->lock >> 16;
}

/** unic_token_set_state() - @t, whose PD stays, is in @state. */
static inline void unic_token_set_state(struct unic_token *t, uint32_t state)
{
	t->lock = UNIC_TOKEN_LOCK(t->lock & 0xffffu, state);
}

/** unic_token_waiting() - does @t wait for a message? Then whatever ends tokens may end it. */
static inline bool unic_token_waiting(const struct unic_token *t)
{
	uint32_t state = unic_token_state(t);

	return state == UNIC_TOKEN_S_LIVE || state == UNIC_TOKEN_S_MULTI;
}

/** unic_token_claimed() - is a message being placed by @t? Then that ends it. */
static inline bool unic_token_claimed(const struct unic_token *t)
{
	uint32_t state = unic_token_state(t);

	return state == UNIC_TOKEN_S_CLAIMED || state >= UNIC_TOKEN_S_WANTED;
}

struct unic_tokens {
	struct unic_token token[UNIC_TOKENS];
	/* a FIFO, so that an ended token is remembered as long as possible */
	uint16_t free_head, free_tail;
	uint16_t used; /* all but FREE ones */
	uint16_t evts_due;
	uint32_t held[UNIC_PROCS];
	uint64_t next_expiry_ns; /* no token expires before this */
	struct unic_ration told; /* TOKEN_ENDs of a round */
};

/** unic_token_init() - all tokens are free, none has a key. */
void unic_token_init(struct unic_memory *nic);

struct unic_token_args {
	uint16_t pd;
	uint32_t stag, length, ttl_us, sender_ipv4, sender_qpn, user, flags;
	uint64_t iova;
	const uint64_t *pieces; /* two words each, struct unic_token_piece */
	uint32_t n_pieces;	/* 0 unless flags have F_PIECES */
};

/** unic_token_alloc() - TOKEN_ALLOC. Returns the index with *key, or
 * -UNIC_ENOPD, the errors of unic_access(), -UNIC_EINVAL, -UNIC_ETOKENFULL,
 * -UNIC_EENTROPY. When the table is full, a process below its fair
 * share of it gets the place of a LIVE token of the process that is most above
 * its own, which ends EVICTED (MEMORY.md section 4). */
int unic_token_alloc(struct unic_memory *nic,
		     const struct unic_token_args *args, uint64_t *key);

/** unic_token_cancel() - TOKEN_CANCEL. 0 with *end and *placed; while a message is being
 * placed -UNIC_EBUSY, or, if its process will @wait, -UNIC_EPENDING: TOKEN_END says how
 * it ends, T from now on at the latest, but for DMA under way. -UNIC_ENOTOKEN if index,
 * key and process do not match a token remembered (the last one of each index is). */
int unic_token_cancel(struct unic_memory *nic, uint32_t proc, uint32_t index,
		      uint64_t key, bool wait, uint32_t *end, uint32_t *placed);

/* What a tagged message says of itself, in host order. */
struct unic_tag {
	uint64_t key;
	uint32_t index, payload, ctrl; /* bytes: for the token, for a receive */
	uint32_t offset;	       /* where in the token they begin */
};

/* Whose message it is: the protection domain of the queue pair on which it came, and
 * the peer of that. */
struct unic_token_sender {
	uint16_t pd;
	uint32_t dest_qpn;
	uint32_t dest_ipv4;
};

/**
 * unic_token_claim() - first packet of a tagged message @from a peer (hot
 * path). Checks index and key, life, protection domain, length, sender, the
 * region - in this order, before any DMA.
 * Returns UNIC_TOKEN_LIVE (0) and the token is CLAIMED, or the reason of
 * refusal (enum unic_token_end), counted; nothing changed then. If index and
 * key name a token that has ended, the reason is that end. The region of a
 * claimed token stays in place until finish or abort, where its use is counted;
 * that of a MULTI token (unic_token_multi()) is for the caller to hold.
 */
uint8_t unic_token_claim(struct unic_memory *nic, const struct unic_tag *tag,
			 const struct unic_token_sender *from);

/** unic_token_multi() - may it be used again after this message? */
static inline bool unic_token_multi(const struct unic_tokens *ts,
				    uint32_t index)
{
	return unic_token_state(&ts->token[index]) == UNIC_TOKEN_S_MULTI;
}

/** unic_token_finish() - all bytes are placed: USED. */
void unic_token_finish(struct unic_memory *nic, uint16_t index,
		       uint32_t placed);

/** unic_token_abort() - its QP died midway: ABORTED, TOKEN_END event. */
void unic_token_abort(struct unic_memory *nic, uint16_t index, uint32_t placed);

/** unic_token_overdue() - has its process waited long enough for the end of the message that
 * claimed token @index? */
static inline bool unic_token_overdue(const struct unic_tokens *ts,
				      uint32_t index)
{
	return unic_token_state(&ts->token[index]) == UNIC_TOKEN_S_OVERDUE;
}

/** unic_token_stop() - nothing more of that message will be placed, and nothing is on
 * its way: CANCELLED, TOKEN_END event. The message counts as refused. */
void unic_token_stop(struct unic_memory *nic, uint16_t index, uint32_t placed);

/** unic_token_unclaim() - the first packet of its message met a missing page and
 * comes again: the token is as it was, or ends with its region, or because its process
 * waits for that. */
void unic_token_unclaim(struct unic_memory *nic, uint16_t index);

/** unic_token_mr_gone() - region @mr ends: its tokens end EVICTED at once (claimed
 * ones stay for their QP to abort, which evict.c asks for). Their process is told in
 * this round and the next ones. */
void unic_token_mr_gone(struct unic_memory *nic, uint16_t mr);

/**
 * unic_token_proc_gone() - process slot @proc is given up and has no region
 * left: ends it was not told yet are dropped, and what is remembered of its
 * tokens is nobody's any more, for the slot's next process must not hear of it.
 */
void unic_token_proc_gone(struct unic_memory *nic, uint32_t proc);

/** unic_token_poll() - expire what is due, a bounded number per call, and find what
 * is overdue (token_overdue). Returns when to call again (NIC time, UINT64_MAX: no need). */
uint64_t unic_token_poll(struct unic_memory *nic);

/* ---- for token_alloc.c */

/** unic_token_link() - token @i is the first of its region, which has one more. */
void unic_token_link(struct unic_memory *nic, uint16_t i);

/** unic_token_publish_end() - TOKEN_END of token @i, as its `end` says. False: the event
 * ring has no room. */
bool unic_token_publish_end(struct unic_memory *nic, uint16_t i);

/** unic_token_end() - the one way out (INV-9): token @i, which has not ended, is FREE and of
 * no region, because of @end (enum unic_token_end); @tell: its process does not know yet. */
void unic_token_end(struct unic_memory *nic, uint16_t i, uint8_t end,
		    bool tell);

#endif /* UNIC_TOKEN_H */
