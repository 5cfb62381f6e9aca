/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * token_spec.h - the payload table (firmware/token.c): its contracts.
 *
 * INV-9 is read off the states: the only function that makes a token FREE is
 * end_token(), it demands that it was not, and between an end and the next one
 * of the same index lies an unic_token_alloc().
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
*/
static inline uint32_t unic_token_state(const struct unic_token *t);

/*@ requires \valid(t) && state <= UNIC_TOKEN_S_MULTI;
  assigns t->lock;
  ensures life(t) == state && domain(t) == \old(domain(t));
*/
static void set_state(struct unic_token *t, uint32_t state);

/*@
predicate waiting(struct unic_token *t) =
  life(t) == UNIC_TOKEN_S_LIVE || life(t) == UNIC_TOKEN_S_MULTI;
*/

/*@ requires \valid_read(t);
  assigns \nothing;
  ensures \result != 0 <==> waiting(t);
*/
static bool waits(const struct unic_token *t);

/*@
predicate nil_or_token(integer i) = i == UNIC_TOKEN_NIL || 0 <= i < UNIC_TOKENS;

// What indices are used for is in range.
predicate links_ok(struct unic_nic *nic) =
  (\forall integer i; 0 <= i < UNIC_TOKENS ==>
    nil_or_token(nic->tokens.token[i].prev) &&
    nil_or_token(nic->tokens.token[i].next) &&
    nic->tokens.token[i].mr < UNIC_MRS &&
    life(&nic->tokens.token[i]) <= UNIC_TOKEN_S_MULTI &&
    (life(&nic->tokens.token[i]) != UNIC_TOKEN_S_FREE ==>
      nic->tokens.token[i].proc < UNIC_PROCS)) &&
  (\forall integer i; 0 <= i < UNIC_MRS ==>
    nil_or_token(nic->mrs.mr[i].tokens));
*/

/*@ requires \valid(ts) && i < UNIC_TOKENS && nil_or_token(ts->free_head);
  requires ts->free_head != UNIC_TOKEN_NIL ==> ts->free_tail < UNIC_TOKENS;
  assigns ts->token[0 .. UNIC_TOKENS - 1].next, ts->token[i].lock,
    ts->free_head, ts->free_tail;
  ensures life(&ts->token[i]) == UNIC_TOKEN_S_FREE;
  ensures ts->used == \old(ts->used);
  ensures \forall integer j; 0 <= j < UNIC_TOKENS ==>
    ts->token[j].proc == \old(ts->token[j].proc) &&
    (j != i ==> ts->token[j].lock == \old(ts->token[j].lock));
  ensures ts->free_head != UNIC_TOKEN_NIL && ts->free_head < UNIC_TOKENS &&
    ts->free_tail == i;
  ensures \forall integer j; 0 <= j < UNIC_TOKENS &&
    nil_or_token(\old(ts->token[j].next)) ==> nil_or_token(ts->token[j].next);
*/
static void free_put(struct unic_tokens *ts, uint16_t i);

/*@ requires \valid(nic) && i < UNIC_TOKENS && links_ok(nic);
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].prev,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->mrs.mr[nic->tokens.token[i].mr].tokens,
    nic->mrs.mr[nic->tokens.token[i].mr].n_tokens;
  ensures nic->tokens.free_head == \old(nic->tokens.free_head) &&
    nic->tokens.free_tail == \old(nic->tokens.free_tail) &&
    nic->tokens.used == \old(nic->tokens.used);
  ensures \forall integer j; 0 <= j < UNIC_TOKENS ==>
    nic->tokens.token[j].lock == \old(nic->tokens.token[j].lock) &&
    nic->tokens.token[j].proc == \old(nic->tokens.token[j].proc);
*/
static void region_unlink(struct unic_nic *nic, uint16_t i);

/*@ requires \valid(nic) && i < UNIC_TOKENS;
  assigns nic->mbox.evt_tail, nic->mbox.evt_head, nic->mbox.irq_due,
    nic->counter[UNIC_C_evt_stalls],
    nic->counter[UNIC_C_mbox_bad_index];
  ensures nic->tokens.free_head == \old(nic->tokens.free_head) &&
    nic->tokens.free_tail == \old(nic->tokens.free_tail) &&
    nic->tokens.used == \old(nic->tokens.used);
*/
static bool publish(struct unic_nic *nic, uint16_t i);

/*@ requires \valid(nic);
  requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  assigns nic->counter[0 .. UNIC_C_COUNT - 1];
*/
static void count_end(struct unic_nic *nic, uint8_t end);

/*@ assigns nic->trace.seq; */
void unic_trace_write(struct unic_nic *nic, uint32_t code, uint32_t proc,
		      uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3);

/*@ requires \valid(nic) && i < UNIC_TOKENS && links_ok(nic);
  requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  assigns nic->tokens.token[0 .. UNIC_TOKENS - 1].prev,
    nic->tokens.token[0 .. UNIC_TOKENS - 1].next,
    nic->tokens.token[i].lock, nic->tokens.token[i].end,
    nic->tokens.token[i].evt_due, nic->tokens.free_head,
    nic->tokens.free_tail, nic->tokens.used, nic->tokens.evts_due,
    nic->tokens.held[nic->tokens.token[i].proc],
    nic->mrs.mr[nic->tokens.token[i].mr].tokens,
    nic->mrs.mr[nic->tokens.token[i].mr].n_tokens,
    nic->counter[0 .. UNIC_C_COUNT - 1], nic->mbox.evt_tail,
    nic->mbox.evt_head, nic->mbox.irq_due, nic->trace.seq,
    nic->timers_ns;
  ensures \old(life(&nic->tokens.token[i])) != UNIC_TOKEN_S_FREE;
  ensures life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].end == end;
  ensures nic->tokens.used == (uint16_t)(\old(nic->tokens.used) - 1);
  ensures \forall integer j; 0 <= j < UNIC_TOKENS ==>
    nic->tokens.token[j].proc == \old(nic->tokens.token[j].proc) &&
    (j != i ==>
      nic->tokens.token[j].lock == \old(nic->tokens.token[j].lock));
  ensures !tell ==> nic->tokens.free_head != UNIC_TOKEN_NIL;
*/
static void end_token(struct unic_nic *nic, uint16_t i, uint8_t end, bool tell);

/*@ requires \valid(nic) && mr < UNIC_MRS;
  assigns nic->mrs, nic->tlb, nic->evict, nic->mbox, nic->trace.seq,
    nic->counter[0 .. UNIC_C_COUNT - 1], nic->timers_ns;
  ensures \forall integer j; 0 <= j < UNIC_TOKENS ==>
    nic->tokens.token[j].lock == \old(nic->tokens.token[j].lock) &&
    nic->tokens.token[j].end == \old(nic->tokens.token[j].end);
*/
void unic_evict_idle(struct unic_nic *nic, uint16_t mr);

/*@ requires \valid(nic) && index < UNIC_TOKENS && links_ok(nic);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  ensures \old(life(&nic->tokens.token[index])) == UNIC_TOKEN_S_CLAIMED;
  ensures life(&nic->tokens.token[index]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[index].end == UNIC_TOKEN_USED;
*/
void unic_token_finish(struct unic_nic *nic, uint16_t index, uint32_t placed);

/*@ requires \valid(nic) && index < UNIC_TOKENS && links_ok(nic);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  ensures \old(life(&nic->tokens.token[index])) == UNIC_TOKEN_S_CLAIMED;
  ensures life(&nic->tokens.token[index]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[index].end == UNIC_TOKEN_ABORTED;
*/
void unic_token_abort(struct unic_nic *nic, uint16_t index, uint32_t placed);

/*@ requires \valid(nic) && i < UNIC_TOKENS && links_ok(nic);
  requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  assigns nic->tokens, nic->mrs, nic->tlb, nic->evict, nic->mbox,
    nic->trace.seq, nic->counter[0 .. UNIC_C_COUNT - 1], nic->timers_ns;
  ensures \old(life(&nic->tokens.token[i])) == UNIC_TOKEN_S_CLAIMED;
  ensures life(&nic->tokens.token[i]) == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].end == end;
*/
static void end_claim(struct unic_nic *nic, uint16_t i, uint8_t end,
		      uint32_t placed);

/*@ requires \valid(nic);
  assigns nic->counter[0 .. UNIC_C_COUNT - 1], nic->trace.seq;
  ensures \result == reason;
*/
static uint8_t refuse(struct unic_nic *nic, uint32_t index, uint8_t reason);

/*@ requires \valid_read(t) && \valid_read(qp);
  assigns \nothing;
  ensures \result != 0 <==>
    (sender_ipv4(t) == 0 || sender_ipv4(t) == qp->dest_ipv4) &&
    (sender_qpn(t) == 0 || sender_qpn(t) == qp->dest_qpn);
*/
static bool sent_by(const struct unic_token *t, const struct unic_qp *qp);

/*@ assigns \nothing; */
static inline uint16_t unic_qp_index(const struct unic_nic *nic,
				     const struct unic_qp *qp);

/*@ requires \valid(nic) && index < UNIC_TOKENS && \valid_read(qp);
  assigns nic->trace.seq;
  ensures \result == UNIC_TOKEN_LIVE;
*/
static uint8_t trace_claim(struct unic_nic *nic, uint32_t index,
			   const struct unic_qp *qp);

/*@ requires \valid_read(t) && \valid_read(qp);
  assigns \nothing;
  ensures \result != 0 <==> t->key == key && life(t) == UNIC_TOKEN_S_LIVE &&
    domain(t) == qp->pd;
*/
static inline bool opens(const struct unic_token *t, uint64_t key,
			 const struct unic_qp *qp);

/*@
// Who may use token @t: whole key, PD, age, bytes, sender. A sender that is
// equal as a whole is so in both parts: joined32 in bits.smt2. @end: where the
// message ends in the memory of the token, a whole number.
predicate usable(struct unic_token *t, struct unic_nic *nic, integer key,
		 integer end, struct unic_qp *qp) =
  t->key == key && domain(t) == qp->pd &&
  nic->now_ns < t->expires_ns && end <= t->length &&
  (t->sender == ((uint64_t)(qp->dest_ipv4 << 32) | qp->dest_qpn) ||
   (sender_ipv4(t) == 0 || sender_ipv4(t) == qp->dest_ipv4) &&
   (sender_qpn(t) == 0 || sender_qpn(t) == qp->dest_qpn));

predicate claimable(struct unic_token *t, struct unic_nic *nic, integer key,
		    integer end, struct unic_qp *qp) =
  life(t) == UNIC_TOKEN_S_LIVE && usable(t, nic, key, end, qp);

// As token.h says of it.
predicate tag_ok(struct unic_tag *tag) =
  tag->payload <= UNIC_MSG_MAX && tag->offset <= UNIC_MSG_MAX;
*/

/*@ requires \valid(nic) && \valid_read(tag) && tag->index < UNIC_TOKENS &&
    \valid_read(qp) && \separated(tag, nic);
  requires links_ok(nic) && tag_ok(tag);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  requires !claimable(&nic->tokens.token[tag->index], nic, tag->key,
    tag->payload + tag->offset, qp);
  ensures \result == UNIC_TOKEN_LIVE ==>
    \old(life(&nic->tokens.token[tag->index])) == UNIC_TOKEN_S_MULTI &&
    \old(usable(&nic->tokens.token[tag->index], nic, tag->key,
      tag->payload + tag->offset, qp)) &&
    life(&nic->tokens.token[tag->index]) == UNIC_TOKEN_S_MULTI;
  ensures life(&nic->tokens.token[tag->index]) ==
    \old(life(&nic->tokens.token[tag->index])) ||
    \old(waiting(&nic->tokens.token[tag->index])) &&
    life(&nic->tokens.token[tag->index]) == UNIC_TOKEN_S_FREE;
  ensures \forall integer j; 0 <= j < UNIC_TOKENS && j != tag->index ==>
    nic->tokens.token[j].lock == \old(nic->tokens.token[j].lock);
*/
static uint8_t refuse_why(struct unic_nic *nic, const struct unic_tag *tag,
			  const struct unic_qp *qp);

/*@ requires \valid(nic) && \valid_read(tag) && \valid_read(qp) &&
    \separated(tag, nic) && links_ok(nic) && tag_ok(tag);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  ensures \result == UNIC_TOKEN_LIVE ==> tag->index < UNIC_TOKENS &&
    \old(usable(&nic->tokens.token[tag->index], nic, tag->key,
      tag->payload + tag->offset, qp));
  ensures \result == UNIC_TOKEN_LIVE ==>
    \old(life(&nic->tokens.token[tag->index])) == UNIC_TOKEN_S_LIVE &&
    life(&nic->tokens.token[tag->index]) == UNIC_TOKEN_S_CLAIMED ||
    \old(life(&nic->tokens.token[tag->index])) == UNIC_TOKEN_S_MULTI &&
    life(&nic->tokens.token[tag->index]) == UNIC_TOKEN_S_MULTI;
  ensures \result != UNIC_TOKEN_LIVE && tag->index < UNIC_TOKENS ==>
    life(&nic->tokens.token[tag->index]) == \old(life(&nic->tokens.token[tag->index])) ||
    \old(waiting(&nic->tokens.token[tag->index])) &&
    life(&nic->tokens.token[tag->index]) == UNIC_TOKEN_S_FREE;
  ensures \forall integer j; 0 <= j < UNIC_TOKENS && j != tag->index ==>
    nic->tokens.token[j].lock == \old(nic->tokens.token[j].lock);
*/
uint8_t unic_token_claim(struct unic_nic *nic, const struct unic_tag *tag,
			 const struct unic_qp *qp);

/*@ requires \valid(nic) && \valid(end) && \valid(placed) && links_ok(nic);
  requires \separated(nic, end, placed);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  ensures \result == 0 ==> index < UNIC_TOKENS &&
    \old(nic->tokens.token[index].key) == key &&
    \old(nic->tokens.token[index].proc) == proc &&
    \old(life(&nic->tokens.token[index])) != UNIC_TOKEN_S_CLAIMED &&
    life(&nic->tokens.token[index]) == UNIC_TOKEN_S_FREE;
  ensures \result != 0 && index < UNIC_TOKENS ==>
    life(&nic->tokens.token[index]) == \old(life(&nic->tokens.token[index]));
  ensures \forall integer j; 0 <= j < UNIC_TOKENS && j != index ==>
    nic->tokens.token[j].lock == \old(nic->tokens.token[j].lock);
*/
int unic_token_cancel(struct unic_nic *nic, uint32_t proc, uint32_t index,
		      uint64_t key, uint32_t *end, uint32_t *placed);

#endif /* PROOFS_TOKEN_SPEC_H */
