/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * token_spec.h - the payload table (firmware/memory/token.c, token_alloc.c):
 * its contracts.
 *
 * INV-9 follows from the states: the only functions that make a token FREE are
 * unic_token_end() and end_region_token(), both require that it was not, and
 * between an end and the next one of the same index lies an unic_token_alloc().
 */
#ifndef PROOFS_TOKEN_SPEC_H
#define PROOFS_TOKEN_SPEC_H

#include "access_spec.h"
#include "nic.h"

/*@
// What a lock is made of: unic_token_state(), and the protection domain.
logic integer life(struct unic_token *t) = t->lock / 0x10000;
logic integer domain(struct unic_token *t) = t->lock % 0x10000;
logic integer sender_ipv4(struct unic_token *t) = t->sender / 0x100000000;
logic integer sender_qpn(struct unic_token *t) = t->sender % 0x100000000;
*/

/*@ requires \valid_read(t);
  assigns \nothing;
  ensures \result == life(t);
  exits \false;
*/
static inline uint32_t unic_token_state(const struct unic_token *t);

/*@ requires \valid(t) && state <= UNIC_TOKEN_S_OVERDUE;
  assigns t->lock;
  ensures life(t) == state && domain(t) == \old(domain(t));
  exits \false;
*/
static inline void unic_token_set_state(struct unic_token *t, uint32_t state);

/*@
predicate waiting(struct unic_token *t) =
  life(t) == UNIC_TOKEN_S_LIVE || life(t) == UNIC_TOKEN_S_MULTI;
predicate claimed(struct unic_token *t) =
  life(t) == UNIC_TOKEN_S_CLAIMED || life(t) >= UNIC_TOKEN_S_WANTED;
*/

/*@ requires \valid_read(t);
  assigns \nothing;
  ensures \result != 0 <==> waiting(t);
  exits \false;
*/
static inline bool unic_token_waiting(const struct unic_token *t);

/*@ requires \valid_read(t);
  assigns \nothing;
  ensures \result != 0 <==> claimed(t);
  exits \false;
*/
static inline bool unic_token_claimed(const struct unic_token *t);

/*@
predicate nil_or_token(integer i) = i == UNIC_TOKEN_NIL || 0 <= i < UNIC_TOKENS;

predicate prevs_ok(struct unic_memory *nic) = \forall integer i;
  0 <= i < UNIC_TOKENS ==> nil_or_token(nic->tokens.token[i].prev);
predicate nexts_ok(struct unic_memory *nic) = \forall integer i;
  0 <= i < UNIC_TOKENS ==> nil_or_token(nic->tokens.token[i].next);
predicate regions_ok(struct unic_memory *nic) = \forall integer i;
  0 <= i < UNIC_TOKENS ==> nic->tokens.token[i].mr < UNIC_MRS;
predicate lives_ok(struct unic_memory *nic) = \forall integer i;
  0 <= i < UNIC_TOKENS ==>
    life(&nic->tokens.token[i]) <= UNIC_TOKEN_S_OVERDUE;
predicate owners_ok(struct unic_memory *nic) = \forall integer i;
  0 <= i < UNIC_TOKENS ==>
    life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE ||
    nic->tokens.token[i].proc < UNIC_PROCS;
predicate dues_ok(struct unic_memory *nic) = \forall integer i;
  0 <= i < UNIC_TOKENS ==>
    life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE ||
    !nic->tokens.token[i].evt_due;
predicate heads_ok(struct unic_memory *nic) = \forall integer i;
  0 <= i < UNIC_MRS ==> nil_or_token(nic->mrs.mr[i].tokens);
predicate free_ok(struct unic_memory *nic) =
  nil_or_token(nic->tokens.free_head) &&
  (nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS);
*/

/* Each index in the table is in range. Each function requires and ensures it. A
 * macro, so that each predicate is a goal. */
#define TABLE_OK(nic)                                                         \
	prevs_ok(nic) && nexts_ok(nic) && regions_ok(nic) && lives_ok(nic) && \
		owners_ok(nic) && dues_ok(nic) && heads_ok(nic) &&            \
		free_ok(nic)

/*@
// What is none of the lists.
predicate counts_same{A, B}(struct unic_tokens *ts) =
  \at(ts->used, A) == \at(ts->used, B) &&
  \at(ts->evts_due, A) == \at(ts->evts_due, B) &&
  \forall integer j; 0 <= j < UNIC_TOKENS ==>
    \at(ts->token[j].proc, A) == \at(ts->token[j].proc, B) &&
    \at(ts->token[j].mr, A) == \at(ts->token[j].mr, B);

predicate free_same{A, B}(struct unic_tokens *ts) =
  \at(ts->free_head, A) == \at(ts->free_head, B) &&
  \at(ts->free_tail, A) == \at(ts->free_tail, B);

// What was asked for, and the key.
predicate terms_same{A, B}(struct unic_token *t) =
  \at(t->key, A) == \at(t->key, B) && \at(t->lock, A) == \at(t->lock, B) &&
  \at(t->sender, A) == \at(t->sender, B) &&
  \at(t->length, A) == \at(t->length, B) && \at(t->mr, A) == \at(t->mr, B);

// INV-9: no other token's life is touched, nor is it given to somebody else.
predicate others_same{A, B}(struct unic_memory *nic, integer i) =
  \forall integer j; 0 <= j < UNIC_TOKENS && j != i ==>
    \at(nic->tokens.token[j].lock, A) == \at(nic->tokens.token[j].lock, B);
*/

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->tokens.free_head, nic->tokens.free_tail;
  ensures TABLE_OK(nic) && counts_same{Pre, Here}(&nic->tokens);
  ensures nic->tokens.free_head == (\old(nic->tokens.free_head) ==
    UNIC_TOKEN_NIL ? i : \old(nic->tokens.free_head));
  exits \false;
*/
static void free_put(struct unic_memory *nic, uint16_t i);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  assigns nic->tokens.token[i].prev, nic->tokens.token[i].next,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].prev,
    nic->mrs.mr[nic->tokens.token[i].mr].tokens;
  ensures TABLE_OK(nic);
  ensures terms_same{Pre, Here}(&nic->tokens.token[i]);
  ensures free_same{Pre, Here}(&nic->tokens) &&
    counts_same{Pre, Here}(&nic->tokens);
  exits \false;
*/
static void region_put(struct unic_memory *nic, uint16_t i);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  assigns nic->tokens.token[i].prev, nic->tokens.token[i].next,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].prev,
    nic->mrs.mr[nic->tokens.token[i].mr].tokens,
    nic->mrs.mr[nic->tokens.token[i].mr].n_tokens;
  ensures TABLE_OK(nic);
  ensures terms_same{Pre, Here}(&nic->tokens.token[i]);
  ensures free_same{Pre, Here}(&nic->tokens) &&
    counts_same{Pre, Here}(&nic->tokens);
  exits \false;
*/
void unic_token_link(struct unic_memory *nic, uint16_t i);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].prev,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->mrs.mr[nic->tokens.token[i].mr].tokens,
    nic->mrs.mr[nic->tokens.token[i].mr].n_tokens;
  ensures TABLE_OK(nic);
  ensures free_same{Pre, Here}(&nic->tokens) &&
    counts_same{Pre, Here}(&nic->tokens);
  exits \false;
*/
static void region_unlink(struct unic_memory *nic, uint16_t i);

/*@ requires \valid(nic) && i < UNIC_TOKENS;
  assigns nic->mbox.evt_tail, nic->mbox.evt_head, nic->mbox.irq_due,
    nic->counter[UNIC_C_evt_stalls], nic->counter[UNIC_C_mbox_bad_index];
  exits \false;
*/
bool unic_token_publish_end(struct unic_memory *nic, uint16_t i);

/*@ requires \valid(r);
  assigns *r;
  exits \false;
*/
static inline uint32_t unic_ration_left(struct unic_ration *r, uint32_t polls,
					uint32_t full);

/*@ requires \valid(r);
  assigns r->left;
  exits \false;
*/
static inline void unic_ration_spend(struct unic_ration *r, uint32_t n);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  assigns nic->mbox.evt_tail, nic->mbox.evt_head, nic->mbox.irq_due,
    nic->counter[UNIC_C_evt_stalls], nic->counter[UNIC_C_mbox_bad_index],
    nic->tokens.told;
  ensures TABLE_OK(nic) && others_same{Pre, Here}(nic, UNIC_TOKENS);
  exits \false;
*/
static bool try_publish_end(struct unic_memory *nic, uint16_t i);

/*@ requires \valid_read(mr);
  assigns \nothing;
  exits \false;
*/
static inline bool unic_mr_physical(const struct unic_mr_ctx *mr);

/*@ requires \valid(nic) && mr < UNIC_MRS;
  assigns nic->dma_mrs.used;
  exits \false;
*/
void unic_dma_mr_unlist(struct unic_memory *nic, uint16_t mr, uint64_t iova);

/*@ requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  assigns \nothing;
  ensures \result < UNIC_C_COUNT;
  exits \false;
*/
static uint32_t counter_of(uint8_t end);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  assigns nic->counter[0 .. UNIC_C_COUNT - 1], nic->base.trace.seq;
  ensures TABLE_OK(nic) && others_same{Pre, Here}(nic, UNIC_TOKENS);
  exits \false;
*/
static void count_end(struct unic_memory *nic, uint16_t i, uint8_t end);

/*@ assigns nic->trace.seq;
  exits \false;
*/
void unic_trace_write(struct unic_base *nic, uint32_t code, uint32_t proc,
		      uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires life(&nic->tokens.token[i]) != UNIC_TOKEN_S_FREE;
  assigns nic->tokens.token[i].lock, nic->tokens.token[i].end,
    nic->tokens.used, nic->tokens.held[nic->tokens.token[i].proc];
  ensures life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].end == end;
  ensures nic->tokens.used == (uint16_t)(\old(nic->tokens.used) - 1);
  ensures others_same{Pre, Here}(nic, i);
  ensures TABLE_OK(nic) && free_same{Pre, Here}(&nic->tokens);
  exits \false;
*/
static void mark_ended(struct unic_memory *nic, uint16_t i, uint8_t end);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  assigns nic->tokens.token[i].evt_due, nic->tokens.evts_due,
    nic->timers_ns;
  ensures TABLE_OK(nic) && nic->tokens.used == \old(nic->tokens.used);
  exits \false;
*/
static void defer_end_event(struct unic_memory *nic, uint16_t i);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->tokens.free_head, nic->tokens.free_tail,
    nic->tokens.token[i].evt_due, nic->tokens.evts_due;
  ensures TABLE_OK(nic);
  exits \false;
*/
static void finish_end_event(struct unic_memory *nic, uint16_t i);

/* The ration of a round is spent only if @tell; otherwise its location is an
 * empty range, which the assigns of a caller need not name. */
/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->tokens.free_head, nic->tokens.free_tail,
    nic->tokens.token[i].evt_due, nic->tokens.evts_due,
    nic->counter[0 .. UNIC_C_COUNT - 1], nic->mbox.evt_tail,
    nic->mbox.evt_head, nic->mbox.irq_due, nic->timers_ns,
    (&nic->tokens.told)[0 .. (tell ? 0 : -1)];
  ensures TABLE_OK(nic) && nic->tokens.used == \old(nic->tokens.used);
  ensures nic->tokens.token[i].end == \old(nic->tokens.token[i].end);
  ensures life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  ensures others_same{Pre, Here}(nic, i);
  ensures !tell && \old(nic->tokens.free_head) == UNIC_TOKEN_NIL ==>
    nic->tokens.free_head == i;
  exits \false;
*/
static void report_end(struct unic_memory *nic, uint16_t i, bool tell);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].prev,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->tokens.token[i].lock, nic->tokens.token[i].end,
    nic->tokens.token[i].evt_due, nic->tokens.free_head,
    nic->tokens.free_tail, nic->tokens.used, nic->tokens.evts_due,
    nic->tokens.held[nic->tokens.token[i].proc],
    nic->mrs.mr[nic->tokens.token[i].mr].tokens,
    nic->mrs.mr[nic->tokens.token[i].mr].n_tokens,
    nic->dma_mrs.used, nic->counter[0 .. UNIC_C_COUNT - 1],
    nic->mbox.evt_tail, nic->mbox.evt_head, nic->mbox.irq_due,
    nic->base.trace.seq, nic->timers_ns,
    (&nic->tokens.told)[0 .. (tell ? 0 : -1)];
  ensures \old(life(&nic->tokens.token[i])) != UNIC_TOKEN_S_FREE;
  ensures life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].end == end;
  ensures nic->tokens.used == (uint16_t)(\old(nic->tokens.used) - 1);
  ensures others_same{Pre, Here}(nic, i);
  ensures !tell && \old(nic->tokens.free_head) == UNIC_TOKEN_NIL ==>
    nic->tokens.free_head == i;
  ensures TABLE_OK(nic);
  exits \false;
*/
void unic_token_end(struct unic_memory *nic, uint16_t i, uint8_t end,
		    bool tell);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires waiting(&nic->tokens.token[i]);
  requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->tokens.token[i].lock, nic->tokens.token[i].end,
    nic->tokens.token[i].evt_due, nic->tokens.free_head,
    nic->tokens.free_tail, nic->dma_mrs.used,
    nic->counter[UNIC_C_evt_stalls], nic->counter[UNIC_C_mbox_bad_index],
    nic->mbox.evt_tail, nic->mbox.evt_head, nic->mbox.irq_due,
    nic->base.trace.seq, nic->tokens.told;
  ensures life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].end == end;
  ensures others_same{Pre, Here}(nic, i) && TABLE_OK(nic);
  exits \false;
*/
static bool end_region_token(struct unic_memory *nic, uint16_t i, uint8_t end,
			     bool now);

/*@ requires \valid(nic) && mr < UNIC_MRS && TABLE_OK(nic);
  assigns nic->idle, nic->evict_due, nic->timers_ns;
  ensures heads_ok(nic); // the rest: for it writes no token
  ensures TABLE_OK(nic) && others_same{Pre, Here}(nic, UNIC_TOKENS);
  ensures \forall integer i; 0 <= i < UNIC_TOKENS ==>
    nic->tokens.token[i].end == \old(nic->tokens.token[i].end) &&
    nic->tokens.token[i].placed == \old(nic->tokens.token[i].placed);
  exits \false;
*/
void unic_idle_note(struct unic_memory *nic, uint16_t mr);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  assigns nic->tokens, nic->mrs, nic->idle, nic->evict_due, nic->mbox,
    nic->dma_mrs.used, nic->counter[0 .. UNIC_C_COUNT - 1],
    nic->base.trace.seq, nic->timers_ns, nic->tokens.told;
  ensures life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].end == end;
  ensures nic->tokens.token[i].placed == \old(nic->tokens.token[i].placed);
  ensures others_same{Pre, Here}(nic, i);
  ensures TABLE_OK(nic);
  exits \false;
*/
static void end_last(struct unic_memory *nic, uint16_t i, uint8_t end,
		     bool tell);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  ensures \old(claimed(&nic->tokens.token[i]));
  ensures life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].end == end &&
    nic->tokens.token[i].placed == placed;
  ensures others_same{Pre, Here}(nic, i) && TABLE_OK(nic);
*/
static void end_claim(struct unic_memory *nic, uint16_t i, uint8_t end,
		      uint32_t placed);

/*@ requires \valid(nic) && index < UNIC_TOKENS && TABLE_OK(nic);
  ensures \old(claimed(&nic->tokens.token[index]));
  ensures life(&nic->tokens.token[index]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[index].end == UNIC_TOKEN_USED;
  ensures others_same{Pre, Here}(nic, index) && TABLE_OK(nic);
*/
void unic_token_finish(struct unic_memory *nic, uint16_t index,
		       uint32_t placed);

/*@ requires \valid(nic) && index < UNIC_TOKENS && TABLE_OK(nic);
  ensures \old(claimed(&nic->tokens.token[index]));
  ensures life(&nic->tokens.token[index]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[index].end == UNIC_TOKEN_ABORTED;
  ensures others_same{Pre, Here}(nic, index) && TABLE_OK(nic);
*/
void unic_token_abort(struct unic_memory *nic, uint16_t index, uint32_t placed);

/*@ requires \valid(nic) && index < UNIC_TOKENS && TABLE_OK(nic);
  ensures \old(claimed(&nic->tokens.token[index]));
  ensures life(&nic->tokens.token[index]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[index].end == UNIC_TOKEN_CANCELLED;
  ensures others_same{Pre, Here}(nic, index) && TABLE_OK(nic);
*/
void unic_token_stop(struct unic_memory *nic, uint16_t index, uint32_t placed);

/*@ requires \valid(nic) && index < UNIC_TOKENS && TABLE_OK(nic);
  ensures \old(claimed(&nic->tokens.token[index]));
  ensures life(&nic->tokens.token[index]) == UNIC_TOKEN_S_LIVE &&
    domain(&nic->tokens.token[index]) ==
      \old(domain(&nic->tokens.token[index])) ||
    life(&nic->tokens.token[index]) == UNIC_TOKEN_S_FREE &&
    (nic->tokens.token[index].end == UNIC_TOKEN_EVICTED ||
     \old(life(&nic->tokens.token[index])) >= UNIC_TOKEN_S_WANTED &&
     nic->tokens.token[index].end == UNIC_TOKEN_CANCELLED);
  ensures others_same{Pre, Here}(nic, index) && TABLE_OK(nic);
  exits \false;
*/
void unic_token_unclaim(struct unic_memory *nic, uint16_t index);

/*@ requires \valid(nic) && TABLE_OK(nic);
  assigns nic->counter[0 .. UNIC_C_COUNT - 1], nic->base.trace.seq;
  ensures \result == reason;
  ensures TABLE_OK(nic) && others_same{Pre, Here}(nic, UNIC_TOKENS);
  exits \false;
*/
static uint8_t refuse_token(struct unic_memory *nic, uint32_t index,
			    uint8_t reason);

/*@
predicate from_peer(struct unic_token *t, struct unic_token_sender *from) =
  (sender_ipv4(t) == 0 || sender_ipv4(t) == from->dest_ipv4) &&
  (sender_qpn(t) == 0 || sender_qpn(t) == from->dest_qpn);
*/

/*@ requires \valid_read(t) && \valid_read(nic);
  assigns \nothing;
  ensures \result != 0 <==> t->expires_ns <= nic->now_ns;
  exits \false;
*/
static inline bool is_expired(const struct unic_token *t,
			      const struct unic_memory *nic);

/*@ requires \valid_read(t) && \valid_read(tag);
  assigns \nothing;
  ensures \result != 0 <==> tag->payload + tag->offset <= t->length;
  exits \false;
*/
static inline bool has_room(const struct unic_token *t,
			    const struct unic_tag *tag);

/*@ requires \valid_read(t) && \valid_read(from);
  assigns \nothing;
  ensures \result != 0 <==> from_peer(t, from);
  exits \false;
*/
static inline bool sent_by(const struct unic_token *t,
			   const struct unic_token_sender *from);

/*@ requires \valid_read(t) && \valid_read(from);
  assigns \nothing;
  ensures \result != 0 <==> t->key == key && life(t) == UNIC_TOKEN_S_LIVE &&
    domain(t) == from->pd;
  exits \false;
*/
static inline bool can_open_token(const struct unic_token *t, uint64_t key,
				  const struct unic_token_sender *from);

/*@
// Who may use token @t: whole key, PD, age, bytes, sender. The message ends in
// the memory of the token, as a whole number: nothing wraps.
predicate usable(struct unic_token *t, struct unic_memory *nic,
		 struct unic_tag *tag, struct unic_token_sender *from) =
  t->key == tag->key && domain(t) == from->pd && nic->now_ns < t->expires_ns &&
  tag->payload + tag->offset <= t->length && from_peer(t, from);
*/

/*@ requires \valid_read(nic) && \valid_read(tag) && \valid_read(from) &&
    tag->index < UNIC_TOKENS;
  assigns \nothing;
  ensures \result == UNIC_TOKEN_LIVE <==>
    life(&nic->tokens.token[tag->index]) == UNIC_TOKEN_S_MULTI &&
    usable(&nic->tokens.token[tag->index], nic, tag, from);
  exits \false;
*/
static uint8_t refusal_reason(const struct unic_memory *nic,
			      const struct unic_tag *tag,
			      const struct unic_token_sender *from);

/*@ requires \valid(nic) && \valid_read(tag) && tag->index < UNIC_TOKENS &&
    \valid_read(from) && \separated(tag, nic) && TABLE_OK(nic);
  ensures \result == UNIC_TOKEN_LIVE <==>
    \old(life(&nic->tokens.token[tag->index])) == UNIC_TOKEN_S_MULTI &&
    \old(usable(&nic->tokens.token[tag->index], nic, tag, from));
  ensures nic->tokens.token[\old(tag->index)].lock ==
      \old(nic->tokens.token[tag->index].lock) ||
    \result == UNIC_TOKEN_EXPIRED &&
    \old(waiting(&nic->tokens.token[tag->index])) &&
    life(&nic->tokens.token[\old(tag->index)]) == UNIC_TOKEN_S_FREE;
  ensures others_same{Pre, Here}(nic, \old(tag->index)) && TABLE_OK(nic);
  exits \false;
*/
static uint8_t claim_slow(struct unic_memory *nic, const struct unic_tag *tag,
			  const struct unic_token_sender *from);

/*@ requires \valid(nic) && \valid_read(tag) && \valid_read(from) &&
    \separated(tag, nic) && TABLE_OK(nic);
  ensures \result == UNIC_TOKEN_LIVE <==> \old(tag->index) < UNIC_TOKENS &&
    \old(waiting(&nic->tokens.token[tag->index])) &&
    \old(usable(&nic->tokens.token[tag->index], nic, tag, from));
  ensures \result == UNIC_TOKEN_LIVE ==>
    \old(life(&nic->tokens.token[tag->index])) == UNIC_TOKEN_S_LIVE &&
    life(&nic->tokens.token[\old(tag->index)]) == UNIC_TOKEN_S_CLAIMED ||
    \old(life(&nic->tokens.token[tag->index])) == UNIC_TOKEN_S_MULTI &&
    life(&nic->tokens.token[\old(tag->index)]) == UNIC_TOKEN_S_MULTI;
  ensures \result != UNIC_TOKEN_LIVE && \old(tag->index) < UNIC_TOKENS ==>
    nic->tokens.token[\old(tag->index)].lock ==
      \old(nic->tokens.token[tag->index].lock) ||
    \result == UNIC_TOKEN_EXPIRED &&
    \old(waiting(&nic->tokens.token[tag->index])) &&
    life(&nic->tokens.token[\old(tag->index)]) == UNIC_TOKEN_S_FREE;
  ensures others_same{Pre, Here}(nic, \old(tag->index)) && TABLE_OK(nic);
  exits \false;
*/
uint8_t unic_token_claim(struct unic_memory *nic, const struct unic_tag *tag,
			 const struct unic_token_sender *from);

/*@ requires \valid(nic) && \valid(end) && \valid(placed) && TABLE_OK(nic);
  requires \separated(nic, end, placed);
  ensures \result == 0 ==> index < UNIC_TOKENS &&
    \old(nic->tokens.token[index].key) == key &&
    \old(nic->tokens.token[index].proc) == proc &&
    !\old(claimed(&nic->tokens.token[index])) &&
    life(&nic->tokens.token[index]) == UNIC_TOKEN_S_FREE;
  ensures \result != 0 && index < UNIC_TOKENS ==>
    nic->tokens.token[index].lock == \old(nic->tokens.token[index].lock) ||
    wait && \old(nic->tokens.token[index].key) == key &&
    \old(nic->tokens.token[index].proc) == proc &&
    \old(life(&nic->tokens.token[index])) == UNIC_TOKEN_S_CLAIMED &&
    life(&nic->tokens.token[index]) == UNIC_TOKEN_S_WANTED &&
    domain(&nic->tokens.token[index]) ==
      \old(domain(&nic->tokens.token[index]));
  ensures others_same{Pre, Here}(nic, index) && TABLE_OK(nic);
  exits \false;
*/
int unic_token_cancel(struct unic_memory *nic, uint32_t proc, uint32_t index,
		      uint64_t key, bool wait, uint32_t *end, uint32_t *placed);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  assigns nic->tokens.token[i].lock, nic->tokens.token[i].expires_ns,
    nic->tokens.next_expiry_ns, nic->timers_ns;
  ensures \old(life(&nic->tokens.token[i])) == UNIC_TOKEN_S_CLAIMED ?
    life(&nic->tokens.token[i]) == UNIC_TOKEN_S_WANTED &&
    domain(&nic->tokens.token[i]) ==
      \old(domain(&nic->tokens.token[i])) :
    nic->tokens.token[i].lock == \old(nic->tokens.token[i].lock);
  ensures others_same{Pre, Here}(nic, i) && TABLE_OK(nic);
  exits \false;
*/
static void want_back(struct unic_memory *nic, uint32_t i);

/* ------------------------------------------------------------------ alloc */

/*@ requires \valid_read(nic);
  assigns \nothing;
  ensures \result != 0 ==> proc < UNIC_PROCS;
  exits \false;
*/
bool unic_slot_live(const struct unic_base *nic, uint32_t proc);

/*@ requires \valid(nic) && pd < UNIC_PDS;
  assigns nic->counter[0 .. UNIC_C_COUNT - 1];
  ensures \result < UNIC_MRS;
  exits \false;
*/
int unic_dma_mr_check(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		      const uint64_t *pieces, uint32_t n, uint32_t length);

/*@ requires \valid(nic) && mr < UNIC_MRS;
  assigns nic->dma_mrs;
  ensures others_same{Pre, Here}(nic, UNIC_TOKENS); // writes no token
  exits \false;
*/
uint64_t unic_dma_mr_list(struct unic_memory *nic, uint16_t mr,
			  const uint64_t *pieces, uint32_t n);

/*@ requires \valid(nic);
  assigns nic->random;
  exits \false;
*/
uint32_t unic_random_u32(struct unic_base *nic);

/*@ requires \valid_read(nic) && proc < UNIC_PROCS;
  assigns \nothing;
  exits \false;
*/
static uint32_t recall_victim(const struct unic_memory *nic, uint32_t proc);

/*@ requires \valid(nic) && proc < UNIC_PROCS && TABLE_OK(nic);
  requires nic->tokens.free_head == UNIC_TOKEN_NIL;
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].prev,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].lock,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].end,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].evt_due, nic->tokens.free_head,
    nic->tokens.free_tail, nic->tokens.used, nic->tokens.evts_due,
    nic->tokens.held[0 .. UNIC_PROCS - 1],
    nic->mrs.mr[0 .. UNIC_MRS - 1].tokens,
    nic->mrs.mr[0 .. UNIC_MRS - 1].n_tokens,
    nic->dma_mrs.used, nic->counter[0 .. UNIC_C_COUNT - 1],
    nic->mbox.evt_tail, nic->mbox.evt_head, nic->mbox.irq_due,
    nic->base.trace.seq, nic->timers_ns;
  ensures TABLE_OK(nic);
  ensures \result != 0 ==> nic->tokens.free_head < UNIC_TOKENS &&
    others_same{Pre, Here}(nic, nic->tokens.free_head);
  ensures \let i = nic->tokens.free_head; \result != 0 ==>
    \old(waiting(&nic->tokens.token[i])) &&
    life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE &&
    nic->tokens.token[i].end == UNIC_TOKEN_EVICTED;
  ensures \result == 0 ==> others_same{Pre, Here}(nic, UNIC_TOKENS);
  exits \false;
*/
static bool recall_token(struct unic_memory *nic, uint32_t proc);

/*@ requires \valid(nic) && proc < UNIC_PROCS && TABLE_OK(nic);
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].prev,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].lock,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].end,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].evt_due, nic->tokens.free_head,
    nic->tokens.free_tail, nic->tokens.used, nic->tokens.evts_due,
    nic->tokens.held[0 .. UNIC_PROCS - 1],
    nic->mrs.mr[0 .. UNIC_MRS - 1].tokens,
    nic->mrs.mr[0 .. UNIC_MRS - 1].n_tokens,
    nic->dma_mrs.used, nic->counter[0 .. UNIC_C_COUNT - 1],
    nic->mbox.evt_tail, nic->mbox.evt_head, nic->mbox.irq_due,
    nic->base.trace.seq, nic->timers_ns;
  ensures TABLE_OK(nic);
  ensures \result != 0 ==> nic->tokens.free_head < UNIC_TOKENS;
  ensures \result != 0 ==>
    others_same{Pre, Here}(nic, nic->tokens.free_head);
  ensures \let i = nic->tokens.free_head; \result != 0 ==>
    nic->tokens.token[i].lock == \old(nic->tokens.token[i].lock) ||
    \old(nic->tokens.free_head) == UNIC_TOKEN_NIL &&
    \old(waiting(&nic->tokens.token[i])) &&
    nic->tokens.token[i].end == UNIC_TOKEN_EVICTED;
  ensures \result == 0 ==> others_same{Pre, Here}(nic, UNIC_TOKENS);
  exits \false;
*/
static bool ensure_free_token(struct unic_memory *nic, uint32_t proc);

/*@ requires \valid(nic) && TABLE_OK(nic) &&
    nic->tokens.free_head < UNIC_TOKENS;
  assigns nic->tokens.free_head;
  ensures \result == \old(nic->tokens.free_head);
  ensures life(&nic->tokens.token[\result]) == UNIC_TOKEN_S_FREE;
  ensures TABLE_OK(nic);
  exits \false;
*/
static uint16_t take_free_token(struct unic_memory *nic);

/*@ requires \valid(nic) && i < UNIC_TOKENS;
  assigns nic->tokens.token[i].expires_ns, nic->tokens.next_expiry_ns,
    nic->timers_ns;
  ensures terms_same{Pre, Here}(&nic->tokens.token[i]);
  exits \false;
*/
static void set_ttl(struct unic_memory *nic, uint16_t i, uint32_t ttl_us);

/*@
// The region says yes to all of the memory that the token gives away.
predicate lends(struct unic_memory *nic, struct unic_token_args *a) =
  (a->flags & UNIC_TOKEN_F_PIECES) == 0 ==>
    granted(&nic->mrs.mr[a->stag >> 24], a->stag, a->pd, UNIC_MR_LOCAL_WRITE,
      a->iova, a->length);

// The two put together; that its halves are they again says bits.smt2 (joined32).
predicate sender_is(struct unic_token *t, struct unic_token_args *a) =
  t->sender == ((uint64_t)(a->sender_ipv4 << 32) | a->sender_qpn);

predicate uses_are(struct unic_token *t, struct unic_token_args *a) =
  (a->flags & UNIC_TOKEN_F_MULTI) == 0 ? life(t) == UNIC_TOKEN_S_LIVE :
    life(t) == UNIC_TOKEN_S_MULTI;
*/

/* The token allows the bytes and the uses that were requested. */
#define MADE(t, a) ((t)->length == (a)->length && uses_are(t, a))

/*@ requires \valid(nic) && \valid_read(a) && \separated(a, nic);
  requires region_ok(nic, a->stag >> 24) && a->pd < UNIC_PDS &&
    a->length > 0;
  assigns nic->counter[0 .. UNIC_C_COUNT - 1];
  ensures \result < UNIC_MRS;
  ensures \result >= 0 ==> lends(nic, a);
  ensures \result >= 0 && (a->flags & UNIC_TOKEN_F_PIECES) == 0 ==>
    \result == a->stag >> 24;
*/
static int check_place(struct unic_memory *nic,
		       const struct unic_token_args *a);

/*@ requires \valid(nic) && \valid_read(args) && \separated(args, nic);
  requires region_ok(nic, args->stag >> 24);
  assigns nic->counter[0 .. UNIC_C_COUNT - 1];
  ensures \result < UNIC_MRS;
  ensures \result >= 0 ==> args->pd < UNIC_PDS &&
    nic->mrs.pd[args->pd].proc < UNIC_PROCS && args->length <= UNIC_MSG_MAX;
  ensures \result >= 0 ==> lends(nic, args);
  ensures \result >= 0 && (args->flags & UNIC_TOKEN_F_PIECES) == 0 ==>
    \result == args->stag >> 24;
*/
static int check_token_args(struct unic_memory *nic,
			    const struct unic_token_args *args);

/*@ requires \valid(nic) && mr < UNIC_MRS && \valid_read(args);
  assigns nic->dma_mrs;
  ensures others_same{Pre, Here}(nic, UNIC_TOKENS);
  exits \false;
*/
static uint64_t place_of(struct unic_memory *nic, uint16_t mr,
			 const struct unic_token_args *args);

/*@ requires \valid(nic) && i < UNIC_TOKENS && mr < UNIC_MRS &&
    \valid_read(args) && \separated(args, nic) && TABLE_OK(nic);
  assigns nic->tokens.token[i].key, nic->tokens.token[i].iova,
    nic->tokens.token[i].length, nic->tokens.token[i].sender,
    nic->tokens.token[i].user, nic->tokens.token[i].mr,
    nic->tokens.token[i].placed, nic->tokens.token[i].end,
    nic->base.random, nic->dma_mrs;
  ensures nic->tokens.token[i].length == args->length;
  ensures sender_is(&nic->tokens.token[i], args);
  ensures nic->tokens.token[i].mr == mr;
  ensures others_same{Pre, Here}(nic, UNIC_TOKENS);
  ensures TABLE_OK(nic);
  exits \false;
*/
static void set_token_match(struct unic_memory *nic, uint16_t i, uint16_t mr,
			    const struct unic_token_args *args);

/*@ requires \valid(nic) && i < UNIC_TOKENS && proc < UNIC_PROCS &&
    \valid_read(args) && \separated(args, nic) && TABLE_OK(nic);
  assigns nic->tokens.token[i].proc, nic->tokens.token[i].evt_due,
    nic->tokens.token[i].lock;
  ensures domain(&nic->tokens.token[i]) == args->pd;
  ensures uses_are(&nic->tokens.token[i], args);
  ensures nic->tokens.token[i].proc == proc;
  ensures nic->tokens.token[i].mr == \old(nic->tokens.token[i].mr) &&
    nic->tokens.token[i].length == \old(nic->tokens.token[i].length);
  ensures others_same{Pre, Here}(nic, i);
  ensures TABLE_OK(nic);
  exits \false;
*/
static void activate_token(struct unic_memory *nic, uint16_t i, uint16_t proc,
			   const struct unic_token_args *args);

/*@ requires \valid(nic) && i < UNIC_TOKENS && proc < UNIC_PROCS &&
    mr < UNIC_MRS && \valid_read(args) && \separated(args, nic) &&
    TABLE_OK(nic);
  requires life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  assigns nic->tokens.token[i].key, nic->tokens.token[i].iova,
    nic->tokens.token[i].length, nic->tokens.token[i].sender,
    nic->tokens.token[i].user, nic->tokens.token[i].mr,
    nic->tokens.token[i].proc, nic->tokens.token[i].placed,
    nic->tokens.token[i].end, nic->tokens.token[i].evt_due,
    nic->tokens.token[i].lock, nic->base.random, nic->dma_mrs;
  ensures domain(&nic->tokens.token[i]) == args->pd &&
    sender_is(&nic->tokens.token[i], args) && MADE(&nic->tokens.token[i], args) &&
    nic->tokens.token[i].mr == mr && nic->tokens.token[i].proc == proc;
  ensures others_same{Pre, Here}(nic, i);
  ensures TABLE_OK(nic);
  exits \false;
*/
static void fill_token(struct unic_memory *nic, uint16_t i, uint16_t proc,
		       uint16_t mr, const struct unic_token_args *args);

/*@ requires \valid(nic) && i < UNIC_TOKENS && TABLE_OK(nic);
  requires nic->tokens.token[i].proc < UNIC_PROCS;
  assigns nic->tokens.used, nic->tokens.held[nic->tokens.token[i].proc],
    nic->counter[UNIC_C_tokens_allocated], nic->base.trace.seq;
  ensures TABLE_OK(nic);
  ensures others_same{Pre, Here}(nic, UNIC_TOKENS);
  ensures terms_same{Pre, Here}(&nic->tokens.token[i]);
  exits \false;
*/
static void count_token_alloc(struct unic_memory *nic, uint16_t i);

/*@ requires \valid(nic) && proc < UNIC_PROCS && mr < UNIC_MRS &&
    \valid_read(args) && \separated(args, nic) && TABLE_OK(nic);
  requires nic->tokens.free_head < UNIC_TOKENS;
  assigns nic->tokens, nic->mrs.mr[0 .. UNIC_MRS - 1].tokens,
    nic->mrs.mr[0 .. UNIC_MRS - 1].n_tokens, nic->base.random, nic->dma_mrs,
    nic->counter[0 .. UNIC_C_COUNT - 1], nic->base.trace.seq, nic->timers_ns;
  ensures \result == \old(nic->tokens.free_head);
  ensures \old(life(&nic->tokens.token[nic->tokens.free_head])) ==
    UNIC_TOKEN_S_FREE;
  ensures MADE(&nic->tokens.token[\result], args) &&
    nic->tokens.token[\result].mr == mr;
  ensures others_same{Pre, Here}(nic, \result);
  ensures TABLE_OK(nic);
  exits \false;
*/
static uint16_t make_token(struct unic_memory *nic, uint16_t proc, uint16_t mr,
			   const struct unic_token_args *args);

/*@ requires \valid(nic) && \valid_read(args) && \valid(key) &&
    \separated(args, nic) && \separated(key, nic) && \separated(args, key);
  requires region_ok(nic, args->stag >> 24) && TABLE_OK(nic);
  ensures \result >= 0 ==> \result < UNIC_TOKENS &&
    MADE(&nic->tokens.token[\result], args);
  ensures \result >= 0 ==> *key == nic->tokens.token[\result].key;
  ensures \let i = \result; i >= 0 ==>
    \old(life(&nic->tokens.token[i])) == UNIC_TOKEN_S_FREE ||
    \old(nic->tokens.free_head) == UNIC_TOKEN_NIL &&
    \old(waiting(&nic->tokens.token[i]));
  ensures others_same{Pre, Here}(nic, \result);
  ensures TABLE_OK(nic);
*/
int unic_token_alloc(struct unic_memory *nic,
		     const struct unic_token_args *args, uint64_t *key);

#endif /* PROOFS_TOKEN_SPEC_H */
