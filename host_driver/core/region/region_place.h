/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region_place.h - checks of MR_REG, and the base and page size of its region.
 *
 * Secret: how an unguessable base is chosen, and how large pages may be.
 */
#ifndef UNIC_REGION_PLACE_H
#define UNIC_REGION_PLACE_H

#include "state.h"

/** unic_region_check() - UNIC_ST_OK, or UNIC_ST_INVALID if a field of @r is out of
 * range or the range wraps. */
uint32_t unic_region_check(const struct unic_ctl_mr_reg *r);

/**
 * unic_region_choose_base() - an unguessable base address, if @r asks for one:
 * congruent to va for the largest page there is, and far from where a length could
 * wrap; it becomes iova of @r. UNIC_ST_OK; UNIC_ST_INVALID: @r names one, too.
 */
uint32_t unic_region_choose_base(struct unic_os *os, struct unic_ctl_mr_reg *r);

/**
 * unic_region_choose_shift() - log2 of the largest page that the frames of @r allow,
 * of that which @r asks for, to @out.
 * UNIC_ST_OK; UNIC_CTL_ST_NOT_MAPPED; UNIC_CTL_ST_NOT_ALIGNED (smaller than asked).
 */
uint32_t unic_region_choose_shift(struct unic_hproc *proc,
				  const struct unic_ctl_mr_reg *r,
				  uint8_t *out);

#endif /* UNIC_REGION_PLACE_H */
