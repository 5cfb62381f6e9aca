/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * access_spec.h - the access check (firmware/memory/access.[ch]): its
 * contracts, and the predicates they need. Arithmetic is on integers: nothing
 * below wraps.
 */
#ifndef PROOFS_ACCESS_SPEC_H
#define PROOFS_ACCESS_SPEC_H

#include "bits.h"
#include "nic.h"

/* The fields that an access does not change: one predicate where a contract is
 * used; a list of the fields in wp_access.c, where that is easier to prove. */
#ifndef SAME_REGION
#define SAME_REGION(m) same_region{ Pre, Here }(m)
#endif

/*@
// Each predicate of a region is one of values: what did not change needs no second
// look, whatever else was written.

predicate open_state(integer state) =
  state == UNIC_MR_ACTIVE || state == UNIC_MR_NOTIFIED;

predicate is_open(struct unic_mr_ctx *m) = open_state(m->state);

// As mr.c, derived.c, cache.c and dma_mr.c let it through: no end behind 2^64, and
// less than 2^32 bytes (with as few entries as fit UNIC_SPAN32). 31: no pages.
predicate shape_fits(integer shift, integer iova, integer length) =
  (shift == 12 || shift == 16 || shift == 21 || shift == 31) &&
  1 <= length < 0x100000000 && iova + length <= 0x10000000000000000;

predicate shape_ok(struct unic_mr_ctx *m) =
  shape_fits(m->page_shift, m->iova, m->length);

// The lock fits STag and PD of an accessible region, and nothing else. That the
// locks of mr.c are so is shown in bits.smt2 (open_lock, closed_lock).
predicate lock_fits(integer lock, integer state, integer stag, integer pd,
		    integer idx) =
  \forall uint32_t s, uint16_t p; s >> 24 == idx && p < 64 ==>
    (lock == (uint32_t)(s ^ (uint32_t)(p << 24)) <==>
     open_state(state) && stag == s && pd == p);

predicate lock_ok(struct unic_mr_ctx *m, integer idx) =
  (is_open(m) ==> shape_ok(m)) &&
  lock_fits(m->lock, m->state, m->stag, m->pd, idx);

logic integer start_of(integer hi, integer end, integer bytes) =
  hi * 0x100000000 + (uint32_t)(end - bytes);

logic integer win_start(struct unic_mr_ctx *m) =
  start_of(m->win_hi, m->win_end, m->win_bytes);

// The window lies in the region and does not straddle a multiple of 2^32.
predicate window_fits(integer hi, integer end, integer bytes, integer iova,
		      integer length) =
  (uint32_t)(end - bytes) + bytes <= 0x100000000 &&
  iova <= start_of(hi, end, bytes) &&
  start_of(hi, end, bytes) + bytes <= iova + length;

predicate window_ok(struct unic_mr_ctx *m) =
  0 < m->win_bytes && is_open(m) ==>
    window_fits(m->win_hi, m->win_end, m->win_bytes, m->iova, m->length);

predicate region_ok(struct unic_memory *nic, integer i) =
  lock_ok(&nic->mrs.mr[i], i) && window_ok(&nic->mrs.mr[i]) &&
  nic->mrs.mr[i].pd < UNIC_PDS;

// What a grant promises.
predicate inside(struct unic_mr_ctx *m, integer iova, integer len) =
  m->iova <= iova && iova + len <= m->iova + m->length;

// These bytes lie in the window: what unic_mr_in_window() and unic_window_has() ask.
predicate in_sight(struct unic_mr_ctx *m, integer iova, integer len) =
  m->win_hi == iova / 0x100000000 &&
  len <= (uint32_t)(m->win_end - iova % 0x100000000) <= m->win_bytes;

// What an access does not change of a region.
predicate same_region{A, B}(struct unic_mr_ctx *m) =
  \at(m->lock, A) == \at(m->lock, B) && \at(m->stag, A) == \at(m->stag, B) &&
  \at(m->state, A) == \at(m->state, B) && \at(m->pd, A) == \at(m->pd, B) &&
  \at(m->iova, A) == \at(m->iova, B) &&
  \at(m->length, A) == \at(m->length, B) &&
  \at(m->rights, A) == \at(m->rights, B) &&
  \at(m->page_shift, A) == \at(m->page_shift, B);

// No piece; of a page that is missing, which region.
predicate refused{A, B}(struct unic_xlate *out, integer idx) =
  \at(out->bus, A) == \at(out->bus, B) && \at(out->len, A) == \at(out->len, B) &&
  (\at(out->mr, A) == \at(out->mr, B) || \at(out->mr, B) == idx);

predicate opened(integer state, integer mr_stag, integer mr_pd, integer rights,
		 integer stag, integer pd, integer need) =
  open_state(state) && mr_stag == stag && mr_pd == pd &&
  (need & (uint32_t)(~rights)) == 0;

predicate granted(struct unic_mr_ctx *m, integer stag, integer pd, integer need,
		  integer iova, integer len) =
  opened(m->state, m->stag, m->pd, m->rights, stag, pd, need) &&
  (len > 0 ==> inside(m, iova, len));
*/

/*@ requires \valid(mr);
  requires lock_ok(mr, stag >> 24);
  requires pd < UNIC_PDS;
  assigns \nothing;
  ensures \result != 0 ==> is_open(mr) && mr->stag == stag && mr->pd == pd;
*/
static inline bool unic_mr_opens(const struct unic_mr_ctx *mr, uint32_t stag,
				 uint16_t pd);

/*@ requires \valid(mr);
  assigns \nothing;
  ensures \result != 0 <==> (need & (uint32_t)(~mr->rights)) == 0;
*/
static inline bool unic_mr_grants(const struct unic_mr_ctx *mr, uint32_t need);

/*@ requires \valid(mr) && is_open(mr) && window_ok(mr);
  assigns \nothing;
  ensures \result != 0 && len > 0 ==>
    inside(mr, mr->win_hi * 0x100000000 + iova, len);
  ensures \result != 0 <==> len <= (uint32_t)(mr->win_end - iova) <= mr->win_bytes;
*/
static inline bool unic_mr_in_window(const struct unic_mr_ctx *mr,
				     uint32_t iova, uint32_t len);

/*@ requires \valid(nic) && \valid(mr);
  assigns mr->uses, mr->bytes, mr->bytes_high, mr->last_use_ns;
  exits \false;
*/
static inline void unic_mr_used(struct unic_memory *nic, struct unic_mr_ctx *mr,
				uint32_t len);

/*@ requires \valid(mr);
  assigns mr->uses, mr->bytes, mr->bytes_high;
  exits \false;
*/
static inline void unic_mr_not_used(struct unic_mr_ctx *mr, uint32_t len);

/*@
predicate chains_ok(struct unic_tlb *t) =
  (\forall integer i; 0 <= i < UNIC_TLB_BUCKETS ==>
     t->bucket[i] <= UNIC_TLB_ENTRIES) &&
  (\forall integer i; 0 <= i <= UNIC_TLB_ENTRIES ==>
     t->entry[i].next <= UNIC_TLB_ENTRIES);
*/

/*@ requires \valid_read(tlb) && chains_ok(tlb);
  assigns \nothing;
  ensures \result != \null ==> \valid_read(\result) &&
    \result->tag == (uint32_t)(base + page);
*/
static inline const struct unic_tlb_entry *
unic_tlb_hit(const struct unic_tlb *tlb, uint32_t base, uint32_t page);

/*@ requires \valid_read(at);
  assigns \nothing;
  ensures \result == *at;
  exits \false;
*/
static inline uint64_t unic_whole(const uint64_t *at);

/*@ requires \valid(counter);
  assigns *counter;
  exits \false;
*/
static inline void unic_count(uint64_t *counter, uint64_t n);

/*@ requires \valid(nic) && \valid_read(mr) && pd < UNIC_PDS;
  requires lock_ok(mr, stag >> 24) && mr->pd < UNIC_PDS;
  assigns nic->counter[UNIC_C_access_stag .. UNIC_C_access_evicted];
  ensures \result < 0;
*/
int unic_access_refused(struct unic_memory *nic, const struct unic_mr_ctx *mr,
			uint32_t stag, uint16_t pd, uint32_t need);

/*@ requires \valid(nic) && mr == &nic->mrs.mr[mr->stag >> 24] &&
    mr->stag >> 24 < UNIC_MRS && is_open(mr) &&
    lock_ok(mr, mr->stag >> 24) && window_ok(mr) && chains_ok(&nic->tlb) &&
    \valid(out) && \separated(out, nic) && \separated(out, mr);
  assigns out->bus, out->len, out->mr, *nic;
  ensures same: SAME_REGION(mr);
  ensures lock_ok(mr, \old(mr->stag) >> 24) && window_ok(mr);
  ensures \result == 0 && len > 0 ==> inside(mr, iova, len);
  ensures \result == 0 && len > 0 ==> in_sight(mr, iova, out->len);
  ensures \result == 0 ==> out->len <= len && (len > 0 ==> out->len > 0) &&
    out->mr == mr->stag >> 24;
  ensures \result != 0 ==> refused{Pre, Here}(out, mr->stag >> 24);
*/
int unic_access_page(struct unic_memory *nic, struct unic_mr_ctx *mr,
		     uint64_t iova, uint32_t len, struct unic_xlate *out);

/*@ requires \valid(nic) && region_ok(nic, stag >> 24) && pd < UNIC_PDS &&
    chains_ok(&nic->tlb) && \valid(out) && \separated(out, nic);
  assigns out->bus, out->len, out->mr, *nic;
  ensures region: region_ok(nic, stag >> 24);
  ensures grant: \result == 0 ==>
    granted(&nic->mrs.mr[stag >> 24], stag, pd, need, iova, len);
  ensures \result == 0 && len > 0 ==>
    in_sight(&nic->mrs.mr[stag >> 24], iova, out->len);
  ensures \result == 0 ==> out->len <= len && (len > 0 ==> out->len > 0) &&
    out->mr == stag >> 24;
  ensures \result != 0 ==> refused{Pre, Here}(out, stag >> 24);
*/
static inline __attribute__((always_inline)) int
unic_access_inline(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		   uint32_t need, uint64_t iova, uint32_t len,
		   struct unic_xlate *out);

/*@ requires \valid(nic) && region_ok(nic, stag >> 24) && pd < UNIC_PDS &&
    chains_ok(&nic->tlb) && \valid(out) && \separated(out, nic);
  assigns out->bus, out->len, out->mr, *nic;
  ensures region: region_ok(nic, stag >> 24);
  ensures grant: \result == 0 ==>
    granted(&nic->mrs.mr[stag >> 24], stag, pd, need, iova, len);
  ensures \result == 0 && len > 0 ==>
    in_sight(&nic->mrs.mr[stag >> 24], iova, out->len);
  ensures \result == 0 ==> out->len <= len && (len > 0 ==> out->len > 0) &&
    out->mr == stag >> 24;
  ensures \result != 0 ==> refused{Pre, Here}(out, stag >> 24);
*/
int unic_access(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		uint32_t need, uint64_t iova, uint32_t len,
		struct unic_xlate *out);

/*@ requires \valid(nic) && region_ok(nic, stag >> 24) && pd < UNIC_PDS &&
    len > 0;
  assigns nic->counter[0 .. UNIC_C_COUNT - 1];
  ensures \result >= 0 ==> \result == stag >> 24 &&
    granted(&nic->mrs.mr[stag >> 24], stag, pd, need, iova, len);
*/
int unic_mr_check(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		  uint32_t need, uint64_t iova, uint64_t len);

/*@ assigns \nothing;
  ensures \false;
  exits \false;
*/
void unic_port_panic(struct unic_port *port, const char *file, uint32_t line);

#endif /* PROOFS_ACCESS_SPEC_H */
