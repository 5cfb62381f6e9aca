// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * wp_access.c - what a granted access means. The contracts stand on declarations
 * in front of the sources themselves, which are included below.
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

/* Not proved, taken for granted: where a byte of a form lies, the bytes around it
 * are the form's, too. */
/*@ requires \valid_read(nic) && mr < UNIC_MRS && \valid(out);
  requires inside(&nic->mrs.mr[mr], iova, 1);
  assigns *out;
  ensures \result != 0 ==> 0 < out->room &&
    nic->mrs.mr[mr].iova + out->before <= iova &&
    inside(&nic->mrs.mr[mr], iova, out->room);
  exits \false;
*/
bool unic_spot_find(const struct unic_memory *nic, uint16_t mr, uint64_t iova,
		    struct unic_spot *out);

/* Not proved, taken for granted: what was checked of a cached region stays so
 * while an entry of it is brought in. */
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
		       uint64_t iova, uint32_t len, struct unic_piece *out);

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
			uint64_t iova, uint32_t len, struct unic_piece *out);

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
			   struct unic_piece *out);

#include "memory/access.c"

/* Of what only access.c knows. */

/*@
// A spot is where its page begins and ends, which is on one side of 2^32.
predicate spot_ok(integer in_page, integer room, integer low) =
  0 <= in_page <= low && 0 < room && low + room <= 0x100000000 &&
  in_page + room <= 0x80000000;

// Bytes around iova, all of them the region's, on one side of 2^32.
predicate around(struct unic_mr_ctx *m, integer iova, integer low, integer before,
		 integer room) =
  0 <= before <= low && 0 < room && low + room <= 0x100000000 &&
  m->iova + before <= iova && iova + room <= m->iova + m->length;
*/

/*@ requires \valid_read(nic) && \valid_read(mr) && shape_ok(mr) &&
    chains_ok(&nic->tlb);
  assigns \nothing;
  ensures \result.e != \null ==> \valid_read(\result.e);
  ensures mr->page_shift == 12 ==>
    spot_ok(\result.in_page, \result.room, (uint32_t)iova);
  ensures mr->page_shift == 16 ==>
    spot_ok(\result.in_page, \result.room, (uint32_t)iova);
  ensures mr->page_shift == 21 ==>
    spot_ok(\result.in_page, \result.room, (uint32_t)iova);
  ensures mr->page_shift == 31 ==>
    spot_ok(\result.in_page, \result.room, (uint32_t)iova);
*/
static inline struct spot lookup_tlb(const struct unic_memory *nic,
				     const struct unic_mr_ctx *mr,
				     uint64_t iova);

/*@ requires off < 0x100000000;
  assigns \nothing;
  ensures \result == (n < off ? n : off);
  exits \false;
*/
static inline uint32_t min_offset(uint32_t n, uint64_t off);

/*@ requires \valid_read(mr) && shape_ok(mr) && inside(mr, iova, 1);
  requires \valid_read(at->e);
  requires spot_ok(at->in_page, at->room, (uint32_t)iova);
  assigns \nothing;
  ensures around(mr, iova, (uint32_t)iova, \result.before, \result.room);
  exits \false;
*/
static inline struct unic_spot clip_to_region(const struct unic_mr_ctx *mr,
					      uint64_t iova,
					      const struct spot *at);

/*@ requires \valid(nic) && \valid(mr) && \valid(out) && idx < UNIC_MRS;
  requires \separated(out, nic) && \separated(out, mr);
  requires around: shape_ok(mr) &&
    around(mr, iova, (uint32_t)iova, at->before, at->room);
  assigns out->bus, out->len, out->mr, mr->win_hi, mr->win_end, mr->win_bytes,
    mr->win_add, mr->win_bus, mr->uses, mr->bytes, mr->bytes_high,
    mr->last_use_ns;
  ensures \result == 0 && out->mr == idx;
  ensures out->len == (len < at->room ? len : at->room);
  ensures in_sight(mr, iova, at->room);
  ensures window_fits(mr->win_hi, mr->win_end, mr->win_bytes, mr->iova,
    mr->length);
  exits \false;
*/
static inline int set_window(struct unic_memory *nic, struct unic_mr_ctx *mr,
			     uint32_t idx, uint64_t iova, uint32_t len,
			     const struct unic_spot *at,
			     struct unic_piece *out);
