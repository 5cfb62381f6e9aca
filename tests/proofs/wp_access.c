// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * wp_access.c - what a granted access means. The contracts stand on declarations
 * in front of the sources themselves, which are included below.
 */
#include "nic.h"

#include "access_spec.h"

#include "access.h"

/*@ requires \valid(mr) && shape_ok(mr) && len > 0;
  assigns \nothing;
  ensures \result != 0 ==> inside(mr, iova, len);
  ensures inside(mr, iova, len) ==> \result != 0;
*/
static inline bool within(const struct unic_mr *mr, uint64_t iova,
			  uint64_t len);

/*@ requires \valid_read(mr) && shape_ok(mr);
  assigns \nothing;
  exits \false;
*/
static inline uint32_t page_of(const struct unic_mr *mr, uint64_t iova);

/* Not proved, taken for granted: the bytes of cached regions and of forms, behind
 * modules that are not looked at here. What was checked before stays so. */
/*@ requires \valid(nic) && mr == &nic->mrs.mr[mr->stag >> 24] &&
    mr->stag >> 24 < UNIC_MRS && is_open(mr) && shape_ok(mr) &&
    window_ok(mr) && chains_ok(&nic->tlb) && \valid(out) &&
    \separated(out, nic);
  requires len > 0 && inside(mr, iova, len);
  assigns out->bus, out->len, out->mr, *nic;
  ensures same_region{Pre, Here}(mr) && window_ok(mr);
  ensures \result == 0 ==> in_window(mr, iova, out->len);
  ensures \result == 0 ==> 0 < out->len <= len &&
    out->mr == mr->stag >> 24;
  ensures \result != 0 ==> refused{Pre, Here}(out, mr->stag >> 24);
  exits \false;
*/
static int cached_page(struct unic_nic *nic, struct unic_mr *mr, uint64_t iova,
		       uint32_t len, struct unic_piece *out);

/*@ requires \valid(nic);
  assigns nic->counter[UNIC_C_access_bounds];
  ensures \result < 0;
  exits \false;
*/
static int out_of_bounds(struct unic_nic *nic);

/*@ requires \valid(nic) && \valid(mr) && \valid(out);
  requires \separated(out, nic) && \separated(out, mr);
  assigns out->bus, out->len, out->mr, mr->uses, mr->bytes, mr->bytes_high, mr->last_use_ns;
  ensures \result == 0 && out->len == 0 && out->mr == mr->stag >> 24;
*/
static int no_bytes(struct unic_nic *nic, struct unic_mr *mr,
		    struct unic_piece *out);

#include "access.c"

/* Of what only access.c knows. */

/*@
// A spot is where its page begins and ends, which is on one side of 2^32.
predicate spot_ok(integer in_page, integer room, integer low) =
  0 <= in_page <= low && 0 < room && low + room <= 0x100000000 &&
  in_page + room <= 0x200000;
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
*/
static inline struct spot spot_of(const struct unic_nic *nic,
				  const struct unic_mr *mr, uint64_t iova);

/*@ requires \valid(out) && \valid_read(at->e);
  assigns out->bus, out->len, out->mr;
  ensures out->mr == (uint16_t)mr;
  ensures out->len == (len < at->room ? len : at->room);
*/
static inline void answer(struct unic_piece *out, const struct spot *at,
			  uint32_t mr, uint32_t len);

/*@ requires off < 0x100000000;
  assigns \nothing;
  ensures \result == (n < off ? n : off);
*/
static inline uint32_t less(uint32_t n, uint64_t off);

/*@ requires \valid(mr) && is_open(mr) && shape_ok(mr) && inside(mr, iova, 1);
  requires \valid_read(at->e);
  requires spot_ok(at->in_page, at->room, (uint32_t)iova);
  requires inside(mr, iova, at->room);
  assigns mr->win_hi, mr->win_end, mr->win_bytes, mr->win_add, mr->win_bus;
  ensures in_sight(mr, iova, at->room);
  ensures (uint32_t)(mr->win_end - mr->win_bytes) + mr->win_bytes
    <= 0x100000000;
  ensures mr->iova <= win_start(mr);
  ensures win_start(mr) + mr->win_bytes <= mr->iova + mr->length;
*/
static inline void look_at(struct unic_mr *mr, uint64_t iova,
			   const struct spot *at);
