// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * wp_window.c - an access through a window (firmware/memory/window.h) is one that the
 * access check would have granted: every address that the window has lies, with
 * all its bytes, in the region it was opened for, and in the memory behind it.
 */
#include "nic.h"

#include "access_spec.h"

#include "memory/access.h"

/*@ requires \valid(mr) && lock_ok(mr, stag >> 24) && window_ok(mr);
  requires pd < UNIC_PDS && len > 0;
  assigns \nothing;
  ensures \result != 0 ==> granted(mr, stag, pd, need, iova, len) &&
    in_sight(mr, iova, len);
*/
static inline bool unic_window_near(const struct unic_mr_ctx *mr, uint32_t stag,
				    uint16_t pd, uint32_t need, uint64_t iova,
				    uint32_t len);

/* unic_port_window(), of bytes: WP does not follow a pointer through void. That
 * the CPU may use the memory returned is assumed: unic_port.h promises it. */
/*@ requires len > 0;
  assigns \nothing;
  ensures \result == \null || \valid(\result + (0 .. len - 1));
  exits \false;
*/
uint8_t *window_bytes(struct unic_port *port, uint64_t bus, uint32_t len);
#define unic_port_window window_bytes

#include "memory/window.h"

/*@
// All that an open window has, in the region and in the CPU's sight.
predicate shows(struct unic_window *w, integer len) =
  is_open(w->mr) &&
  (\forall uint32_t a; (uint32_t)(w->last - a) <= w->places ==>
    inside(w->mr, w->hi * 0x100000000 + a, len)) &&
  \valid(w->host_last - w->places + (0 .. w->places + len - 1));
*/

/*@ requires \valid_read(w);
  assigns \nothing;
  ensures \result != 0 <==> (uint32_t)(w->last - iova) <= w->places;
  ensures \forall integer len; \result != 0 && shows(w, len) ==>
    inside(w->mr, w->hi * 0x100000000 + iova, len);
*/
static inline bool unic_window_has(const struct unic_window *w, uint32_t iova);

/*@ requires \valid_read(w) && (uint32_t)(w->last - iova) <= w->places;
  requires \valid(w->host_last - w->places + (0 .. w->places));
  assigns \nothing;
  ensures \result == w->host_last - (uint32_t)(w->last - iova);
*/
static inline uint8_t *unic_window_at(const struct unic_window *w,
				      uint32_t iova);

/*@ requires \valid(nic) && region_ok(nic, stag >> 24) && pd < UNIC_PDS &&
    len > 0 && chains_ok(&nic->tlb) && mr == &nic->mrs.mr[stag >> 24];
  assigns *nic;
  ensures region: region_ok(nic, stag >> 24);
  ensures grant: \result == 0 ==> granted(mr, stag, pd, need, iova, len);
  ensures sight: \result == 0 ==> in_sight(mr, iova, len);
*/
static inline __attribute__((always_inline)) int
unic_window_turn(struct unic_memory *nic, struct unic_mr_ctx *mr, uint32_t stag,
		 uint16_t pd, uint32_t need, uint64_t iova, uint32_t len);

/*@ requires \valid(nic) && \valid(mr) && is_open(mr) && window_ok(mr);
  requires \valid(w) && \separated(w, nic) && \separated(w, mr);
  requires 0 < len <= mr->win_bytes;
  assigns w->mr, w->hi, w->last, w->places, w->host_last;
  ensures \result != 0 ==> w->mr == mr && w->hi == mr->win_hi &&
    w->last == (uint32_t)(mr->win_end - len) && w->places == mr->win_bytes - len;
  ensures shown: \result != 0 ==> shows(w, len);
  exits \false;
*/
static inline __attribute__((always_inline)) bool
unic_window_show(struct unic_memory *nic, struct unic_mr_ctx *mr, uint32_t len,
		 struct unic_window *w);

/*@ requires \valid(nic) && region_ok(nic, stag >> 24) && pd < UNIC_PDS &&
    bytes.len > 0 && chains_ok(&nic->tlb) && mr == &nic->mrs.mr[stag >> 24];
  requires \valid(w) && \separated(w, nic);
  assigns *w, *nic;
  ensures region: region_ok(nic, stag >> 24);
  ensures grant: \result == 0 ==>
    granted(mr, stag, pd, need, bytes.iova, bytes.len);
  ensures whose: \result == 0 ==> w->mr == mr && w->stag == stag &&
    w->hi == bytes.iova / 0x100000000;
  ensures shown: \result == 0 ==> shows(w, bytes.len);
  ensures first: \result == 0 ==>
    (uint32_t)(w->last - bytes.iova % 0x100000000) <= w->places;
*/
static inline __attribute__((always_inline)) int
unic_window_open(struct unic_memory *nic, struct unic_mr_ctx *mr, uint32_t stag,
		 uint16_t pd, uint32_t need, struct unic_range bytes,
		 struct unic_window *w);
