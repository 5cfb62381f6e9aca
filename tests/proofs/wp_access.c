// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * wp_access.c - what a granted access means. The contracts are on declarations
 * around the sources, which are included below.
 */
#include "nic.h"

#define SAME(m, field) (m)->field == \old((m)->field)
#define SAME_REGION(m)                                                     \
	SAME(m, lock) && SAME(m, stag) && SAME(m, state) && SAME(m, pd) && \
		SAME(m, iova) && SAME(m, length) && SAME(m, rights) &&     \
		SAME(m, page_shift)

#include "access_spec.h"

#include "memory/access.h"
#include "memory/translate.h"

/*@ requires \valid(mr) && shape_ok(mr) && len > 0;
  assigns \nothing;
  ensures \result != 0 ==> inside(mr, iova, len);
  ensures inside(mr, iova, len) ==> \result != 0;
*/
static inline bool is_in_bounds(const struct unic_mr_ctx *mr, uint64_t iova,
				uint64_t len);

/*@ requires \valid_read(mr) && shape_ok(mr);
  assigns \nothing;
  exits \false;
*/
static inline uint32_t page_of(const struct unic_mr_ctx *mr, uint64_t iova);

/* Assumed, not proved: the translation of one byte of a derived region covers
 * only bytes of that region. */
/*@ requires \valid_read(nic) && mr < UNIC_MRS && \valid(out);
  requires inside(&nic->mrs.mr[mr], iova, 1);
  assigns *out;
  ensures \result != 0 ==> 0 < out->len &&
    nic->mrs.mr[mr].iova + out->before <= iova &&
    inside(&nic->mrs.mr[mr], iova, out->len);
  exits \false;
*/
bool unic_xlate_run(const struct unic_memory *nic, uint16_t mr, uint64_t iova,
		    struct unic_xlate *out);

/* Assumed, not proved: what was checked of a cached region still holds after
 * one of its entries was loaded. */
/*@ requires \valid(nic) && mr == &nic->mrs.mr[mr->stag >> 24] &&
    mr->stag >> 24 < UNIC_MRS && is_open(mr) &&
    lock_ok(mr, mr->stag >> 24) && window_ok(mr) && chains_ok(&nic->tlb) &&
    \valid(out) && \separated(out, nic) && \separated(out, mr);
  requires len > 0 && inside(mr, iova, len);
  assigns out->bus, out->len, out->mr, *nic;
  ensures same: SAME_REGION(mr);
  ensures lock_ok(mr, \old(mr->stag) >> 24) && window_ok(mr);
  ensures \result == 0 ==> in_sight(mr, iova, out->len);
  ensures \result == 0 ==> 0 < out->len <= len &&
    out->mr == mr->stag >> 24;
  ensures \result != 0 ==> refused{Pre, Here}(out, mr->stag >> 24);
*/
static int cached_page(struct unic_memory *nic, struct unic_mr_ctx *mr,
		       uint64_t iova, uint32_t len, struct unic_xlate *out);

/*@ requires \valid(nic) && mr == &nic->mrs.mr[mr->stag >> 24] &&
    mr->stag >> 24 < UNIC_MRS && is_open(mr) &&
    lock_ok(mr, mr->stag >> 24) && window_ok(mr) && chains_ok(&nic->tlb) &&
    \valid(out) && \separated(out, nic) && \separated(out, mr);
  requires len > 0 && inside(mr, iova, len);
  assigns out->bus, out->len, out->mr, *nic;
  ensures same: SAME_REGION(mr);
  ensures lock_ok(mr, \old(mr->stag) >> 24) && window_ok(mr);
  ensures \result == 0 ==> in_sight(mr, iova, out->len);
  ensures \result == 0 ==> 0 < out->len <= len &&
    out->mr == mr->stag >> 24;
  ensures \result != 0 ==> refused{Pre, Here}(out, mr->stag >> 24);
*/
static int derived_page(struct unic_memory *nic, struct unic_mr_ctx *mr,
			uint64_t iova, uint32_t len, struct unic_xlate *out);

/*@ requires \valid(nic);
  assigns nic->counter[UNIC_C_access_bounds];
  ensures \result < 0;
  exits \false;
*/
static int refuse_bounds(struct unic_memory *nic);

/*@ requires \valid(nic) && \valid(mr) && \valid(out);
  requires \separated(out, nic) && \separated(out, mr);
  assigns out->bus, out->len, out->mr, mr->uses, mr->bytes, mr->bytes_high, mr->last_use_ns;
  ensures \result == 0 && out->len == 0 && out->mr == mr->stag >> 24;
*/
static int access_zero_len(struct unic_memory *nic, struct unic_mr_ctx *mr,
			   struct unic_xlate *out);

#include "memory/access.c"

/* Contracts of further functions of access.c. */

/*@
// A page lies on one side of 2^32: @before bytes and @len from the low IOVA on.
predicate page_ok(integer before, integer len, integer low) =
  0 <= before <= low && 0 < len && low + len <= 0x100000000 &&
  before + len <= 0x80000000;

// Bytes around iova, all of them the region's, on one side of 2^32.
predicate around(struct unic_mr_ctx *m, integer iova, integer low, integer before,
		 integer room) =
  0 <= before <= low && 0 < room && low + room <= 0x100000000 &&
  m->iova + before <= iova && iova + room <= m->iova + m->length;
*/

/*@ requires \valid_read(e) && \valid(at) && \separated(at, e);
  assigns at->bus, at->len, at->before;
  ensures size == 0x1000 ==> page_ok(at->before, at->len, low);
  ensures size == 0x10000 ==> page_ok(at->before, at->len, low);
  ensures size == 0x200000 ==> page_ok(at->before, at->len, low);
  ensures size == 0x80000000 ==> page_ok(at->before, at->len, low);
  exits \false;
*/
static inline void set_page(struct unic_xlate *at,
			    const struct unic_tlb_entry *e, uint32_t low,
			    uint32_t size);

/*@ requires \valid_read(nic) && \valid_read(mr) && shape_ok(mr) &&
    chains_ok(&nic->tlb) && \valid(at);
  requires \separated(at, nic) && \separated(at, mr);
  assigns at->bus, at->len, at->before;
  ensures \result != 0 && mr->page_shift == 12 ==>
    page_ok(at->before, at->len, (uint32_t)iova);
  ensures \result != 0 && mr->page_shift == 16 ==>
    page_ok(at->before, at->len, (uint32_t)iova);
  ensures \result != 0 && mr->page_shift == 21 ==>
    page_ok(at->before, at->len, (uint32_t)iova);
  ensures \result != 0 && mr->page_shift == 31 ==>
    page_ok(at->before, at->len, (uint32_t)iova);
*/
static inline bool lookup_tlb(const struct unic_memory *nic,
			      const struct unic_mr_ctx *mr, uint64_t iova,
			      struct unic_xlate *at);

/*@ requires off < 0x100000000;
  assigns \nothing;
  ensures \result == (n < off ? n : off);
  exits \false;
*/
static inline uint32_t min_offset(uint32_t n, uint64_t off);

/*@ requires \valid_read(mr) && shape_ok(mr) && inside(mr, iova, 1);
  requires \valid(at) && \separated(at, mr);
  requires page_ok(at->before, at->len, (uint32_t)iova);
  assigns at->len, at->before;
  ensures around(mr, iova, (uint32_t)iova, at->before, at->len);
  exits \false;
*/
static inline void clip_to_region(const struct unic_mr_ctx *mr, uint64_t iova,
				  struct unic_xlate *at);

/*@ requires \valid(out) && \valid_read(at) && \separated(out, at);
  assigns out->bus, out->len, out->mr;
  ensures out->mr == (uint16_t)mr && out->bus == at->bus;
  ensures out->len == (len < at->len ? len : at->len);
  exits \false;
*/
static inline void set_first(struct unic_xlate *out,
			     const struct unic_xlate *at, uint32_t mr,
			     uint32_t len);

/*@ requires \valid(nic) && \valid(mr) && \valid(out) && idx < UNIC_MRS;
  requires \separated(out, nic) && \separated(out, mr);
  requires around: shape_ok(mr) &&
    around(mr, iova, (uint32_t)iova, at->before, at->len);
  assigns out->bus, out->len, out->mr, mr->win_hi, mr->win_end, mr->win_bytes,
    mr->win_add, mr->win_bus, mr->uses, mr->bytes, mr->bytes_high,
    mr->last_use_ns;
  ensures \result == 0 && out->mr == idx;
  ensures out->len == (len < at->len ? len : at->len);
  ensures in_sight(mr, iova, at->len);
  ensures window_fits(mr->win_hi, mr->win_end, mr->win_bytes, mr->iova,
    mr->length);
  exits \false;
*/
static inline int set_window(struct unic_memory *nic, struct unic_mr_ctx *mr,
			     uint32_t idx, uint64_t iova, uint32_t len,
			     const struct unic_xlate *at,
			     struct unic_xlate *out);
