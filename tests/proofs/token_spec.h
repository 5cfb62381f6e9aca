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
predicate nil_or_token(integer i) = i == UNIC_TOKEN_NIL || 0 <= i < UNIC_TOKENS;

// What indices are used for is in range.
predicate links_ok(struct unic_nic *nic) =
  (\forall integer i; 0 <= i < UNIC_TOKENS ==>
    nil_or_token(nic->tokens.token[i].prev) &&
    nil_or_token(nic->tokens.token[i].next) &&
    nic->tokens.token[i].mr < UNIC_MRS &&
    nic->tokens.token[i].state <= UNIC_TOKEN_S_CLAIMED &&
    (nic->tokens.token[i].state != UNIC_TOKEN_S_FREE ==>
      nic->tokens.token[i].proc < UNIC_PROCS)) &&
  (\forall integer i; 0 <= i < UNIC_MRS ==>
    nil_or_token(nic->mrs.mr[i].tokens));
*/

/*@ requires \valid(ts) && i < UNIC_TOKENS && nil_or_token(ts->free_head);
  requires ts->free_head != UNIC_TOKEN_NIL ==> ts->free_tail < UNIC_TOKENS;
  assigns ts->token[0 .. UNIC_TOKENS - 1].next, ts->token[i].state,
    ts->free_head, ts->free_tail;
  ensures ts->token[i].state == UNIC_TOKEN_S_FREE;
  ensures ts->used == \old(ts->used);
  ensures \forall integer j; 0 <= j < UNIC_TOKENS ==>
    ts->token[j].proc == \old(ts->token[j].proc) &&
    (j != i ==> ts->token[j].state == \old(ts->token[j].state));
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
    nic->tokens.token[j].state == \old(nic->tokens.token[j].state) &&
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
    nic->tokens.token[i].state, nic->tokens.token[i].end,
    nic->tokens.token[i].evt_due, nic->tokens.free_head,
    nic->tokens.free_tail, nic->tokens.used, nic->tokens.evts_due,
    nic->tokens.held[nic->tokens.token[i].proc],
    nic->mrs.mr[nic->tokens.token[i].mr].tokens,
    nic->mrs.mr[nic->tokens.token[i].mr].n_tokens,
    nic->counter[0 .. UNIC_C_COUNT - 1], nic->mbox.evt_tail,
    nic->mbox.evt_head, nic->mbox.irq_due, nic->trace.seq,
    nic->timers_ns;
  ensures \old(nic->tokens.token[i].state) != UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].state == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].end == end;
  ensures nic->tokens.used == (uint16_t)(\old(nic->tokens.used) - 1);
  ensures \forall integer j; 0 <= j < UNIC_TOKENS ==>
    nic->tokens.token[j].proc == \old(nic->tokens.token[j].proc) &&
    (j != i ==>
      nic->tokens.token[j].state == \old(nic->tokens.token[j].state));
  ensures !tell ==> nic->tokens.free_head != UNIC_TOKEN_NIL;
*/
static void end_token(struct unic_nic *nic, uint16_t i, uint8_t end, bool tell);

/*@ requires \valid(nic) && mr < UNIC_MRS;
  assigns nic->mrs.mr[mr].holds;
*/
void unic_mr_unhold(struct unic_nic *nic, uint16_t mr);

/*@ requires \valid(nic) && index < UNIC_TOKENS && links_ok(nic);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  ensures \old(nic->tokens.token[index].state) == UNIC_TOKEN_S_CLAIMED;
  ensures nic->tokens.token[index].state == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[index].end == UNIC_TOKEN_USED;
  ensures \forall integer j; 0 <= j < UNIC_TOKENS && j != index ==>
    nic->tokens.token[j].state == \old(nic->tokens.token[j].state);
*/
void unic_token_finish(struct unic_nic *nic, uint16_t index, uint32_t placed);

/*@ requires \valid(nic) && index < UNIC_TOKENS && links_ok(nic);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  ensures \old(nic->tokens.token[index].state) == UNIC_TOKEN_S_CLAIMED;
  ensures nic->tokens.token[index].state == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[index].end == UNIC_TOKEN_ABORTED;
  ensures \forall integer j; 0 <= j < UNIC_TOKENS && j != index ==>
    nic->tokens.token[j].state == \old(nic->tokens.token[j].state);
*/
void unic_token_abort(struct unic_nic *nic, uint16_t index, uint32_t placed);

/*@ requires \valid(nic) && i < UNIC_TOKENS && links_ok(nic);
  requires UNIC_TOKEN_USED <= end <= UNIC_TOKEN_ABORTED;
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  assigns nic->tokens, nic->mrs.mr[nic->tokens.token[i].mr],
    nic->counter[0 .. UNIC_C_COUNT - 1], nic->mbox.evt_tail,
    nic->mbox.evt_head, nic->mbox.irq_due, nic->trace.seq,
    nic->timers_ns;
  ensures \old(nic->tokens.token[i].state) == UNIC_TOKEN_S_CLAIMED;
  ensures nic->tokens.token[i].state == UNIC_TOKEN_S_FREE;
  ensures nic->tokens.token[i].end == end;
  ensures \forall integer j; 0 <= j < UNIC_TOKENS && j != i ==>
    nic->tokens.token[j].state == \old(nic->tokens.token[j].state);
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
    (t->sender_ipv4 == 0 || t->sender_ipv4 == qp->dest_ipv4) &&
    (t->sender_qpn == 0 || t->sender_qpn == qp->dest_qpn);
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

/*@
// Who may claim token @t: whole key, life, PD, length, sender.
predicate claimable(struct unic_token *t, struct unic_nic *nic, integer key,
		    integer len, struct unic_qp *qp) =
  t->key == key && t->state == UNIC_TOKEN_S_LIVE && t->pd == qp->pd &&
  nic->now_ns < t->expires_ns && len <= t->length &&
  (t->sender_ipv4 == 0 || t->sender_ipv4 == qp->dest_ipv4) &&
  (t->sender_qpn == 0 || t->sender_qpn == qp->dest_qpn);
*/

/*@ requires \valid(nic) && index < UNIC_TOKENS && \valid_read(qp);
  requires links_ok(nic);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  requires !claimable(&nic->tokens.token[index], nic, key, payload_len, qp);
  ensures \result != UNIC_TOKEN_LIVE;
  ensures nic->tokens.token[index].state ==
    \old(nic->tokens.token[index].state) ||
    \old(nic->tokens.token[index].state) == UNIC_TOKEN_S_LIVE &&
    nic->tokens.token[index].state == UNIC_TOKEN_S_FREE;
  ensures \forall integer j; 0 <= j < UNIC_TOKENS && j != index ==>
    nic->tokens.token[j].state == \old(nic->tokens.token[j].state);
*/
static uint8_t refuse_why(struct unic_nic *nic, uint32_t index, uint64_t key,
			  uint32_t payload_len, const struct unic_qp *qp);

/*@ requires \valid(nic) && \valid_read(qp) && links_ok(nic);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  ensures \result == UNIC_TOKEN_LIVE ==> index < UNIC_TOKENS &&
    \old(claimable(&nic->tokens.token[index], nic, key, payload_len, qp)) &&
    nic->tokens.token[index].state == UNIC_TOKEN_S_CLAIMED;
  ensures \result != UNIC_TOKEN_LIVE && index < UNIC_TOKENS ==>
    nic->tokens.token[index].state == \old(nic->tokens.token[index].state) ||
    \old(nic->tokens.token[index].state) == UNIC_TOKEN_S_LIVE &&
    nic->tokens.token[index].state == UNIC_TOKEN_S_FREE;
  ensures \forall integer j; 0 <= j < UNIC_TOKENS && j != index ==>
    nic->tokens.token[j].state == \old(nic->tokens.token[j].state);
*/
uint8_t unic_token_claim(struct unic_nic *nic, uint32_t index, uint64_t key,
			 uint32_t payload_len, const struct unic_qp *qp);

/*@ requires \valid(nic) && \valid(end) && \valid(placed) && links_ok(nic);
  requires \separated(nic, end, placed);
  requires nil_or_token(nic->tokens.free_head);
  requires nic->tokens.free_head != UNIC_TOKEN_NIL ==>
    nic->tokens.free_tail < UNIC_TOKENS;
  ensures \result == 0 ==> index < UNIC_TOKENS &&
    \old(nic->tokens.token[index].key) == key &&
    \old(nic->tokens.token[index].proc) == proc &&
    \old(nic->tokens.token[index].state) != UNIC_TOKEN_S_CLAIMED &&
    nic->tokens.token[index].state == UNIC_TOKEN_S_FREE;
  ensures \result != 0 && index < UNIC_TOKENS ==>
    nic->tokens.token[index].state == \old(nic->tokens.token[index].state);
  ensures \forall integer j; 0 <= j < UNIC_TOKENS && j != index ==>
    nic->tokens.token[j].state == \old(nic->tokens.token[j].state);
*/
int unic_token_cancel(struct unic_nic *nic, uint32_t proc, uint32_t index,
		      uint64_t key, uint32_t *end, uint32_t *placed);

#endif /* PROOFS_TOKEN_SPEC_H */
