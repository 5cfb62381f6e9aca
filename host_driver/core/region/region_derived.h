/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_derived.h - handlers of derived regions (windows, sub-regions, fast and
 * indirect registrations) and of re-registration: docs/DESIGN.md section 6.3.
 *
 * Each takes @req over and answers it exactly once, which frees it. Any status but OK
 * leaves the region as it was. UNSUPPORTED: the device has no such regions; NO_MR:
 * the process has no such region; EVICTED; BUSY: another request about the region is
 * under way.
 */
#ifndef UNIC_REGION_DERIVED_H
#define UNIC_REGION_DERIVED_H

#include "region/region.h"

/** unic_region_alloc() - MR_ALLOC: a derived region that is not valid yet; answered
 * with its id and STag. It pins no frames: the regions that it will be made of do.
 * NO_PD, QUOTA, NO_MEMORY; refusals for want of room carry struct unic_cpl_usage as
 * tail. */
void unic_region_alloc(struct unic_req *req);

/** unic_region_make() - MR_MAKE: make a derived region valid from the list in the
 * tail (n struct unic_sge, then n 32-bit strides if strided); answered with the new
 * STag. INVALID: the tail is not as long as n says, or n exceeds UNIC_FORM_ELEMENTS;
 * STATE: the region is not a derived one. */
void unic_region_make(struct unic_req *req);

/** unic_region_inval() - MR_INVAL: make a derived region not valid. BUSY from the NIC
 * is the exception to the rule above: something uses the region still, but no new
 * access is let in. */
void unic_region_inval(struct unic_req *req);

/** unic_region_lasts() - true if @mr is a form that only MR_MAKE changes, so that it can be
 * made again after a reset: a sub-region, or a window of type 1. */
bool unic_region_lasts(const struct unic_region *mr);

/** unic_region_again_alloc() - write to @cmd the MR_ALLOC that gives form @mr, which
 * lasts, its STag again, in the domain with the device's number @pd. */
void unic_region_again_alloc(const struct unic_region *mr, uint32_t pd,
			     struct unic_cmd_mr_alloc *cmd);

/** unic_region_again_make() - write to @cmd, and to the list of @req, the MR_MAKE that
 * makes such a form valid again. False: it was not valid, or there is no memory. */
bool unic_region_again_make(struct unic_req *req, const struct unic_region *mr,
			    struct unic_cmd_mr_make *cmd);

/** unic_region_rereg() - MR_REREG: other rights, another domain or another range for
 * a RESIDENT region, under the same STag, as ibv_rereg_mr(). The new range is pinned
 * before the old one is unpinned, and is in the journal after OK. INVALID; STATE:
 * derived or not RESIDENT; NO_PD; NOT_ALIGNED: not of the region's page size;
 * NOT_MAPPED; TOO_LARGE: more than UNIC_LIST_MAX pages. REREG_HINT instead changes the
 * importance of any region or form; another request may be under way. */
void unic_region_rereg(struct unic_req *req);

#endif /* UNIC_REGION_DERIVED_H */
