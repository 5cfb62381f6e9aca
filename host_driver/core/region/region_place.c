/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_place.c - see region_place.h. */
#include "region/region_place.h"

#include "objects.h"
#include "region/frames.h"

uint32_t unic_region_check(const struct unic_ctl_mr_reg *r)
{
	uint32_t shift = r->page_shift, i;

	for (i = 0; i < sizeof(r->rsvd); i++)
		if (r->rsvd[i])
			return UNIC_ST_INVALID;
	if (r->rights & ~UNIC_MR_RIGHTS_ALL ||
	    r->mr_class > UNIC_CLASS_CONTROL || r->residency > UNIC_TABLE ||
	    (r->residency && r->mr_class == UNIC_CLASS_CONTROL) ||
	    (shift && shift != 12 && shift != 16 && shift != 21) ||
	    r->flags & ~UNIC_CTL_REG_FLAGS_ALL ||
	    (r->flags & UNIC_CTL_REG_ASYNC &&
	     !(r->flags & UNIC_CTL_REG_WAIT)) ||
	    !unic_from_le64(r->length) ||
	    unic_from_le64(r->iova) + unic_from_le64(r->length) - 1 <
		    unic_from_le64(r->iova))
		return UNIC_ST_INVALID;
	return UNIC_ST_OK;
}

uint32_t unic_region_choose_base(struct unic_os *os, struct unic_ctl_mr_reg *r)
{
	const uint64_t below = (1ull << 21) - 1;
	uint64_t base;

	if (!(r->flags & UNIC_CTL_REG_RANDOM))
		return UNIC_ST_OK;
	if (unic_from_le64(r->iova))
		return UNIC_ST_INVALID;
	unic_os_random(os, &base, sizeof(base));
	base = (base >> 1 & ~below) | (unic_from_le64(r->va) & below);
	r->iova = unic_to_le64(base);
	return UNIC_ST_OK;
}

uint32_t unic_region_choose_shift(struct unic_hproc *proc,
				  const struct unic_ctl_mr_reg *r, uint8_t *out)
{
	uint32_t max = r->page_shift ? r->page_shift : 21;
	uint32_t got = unic_frames_shift(&proc->frames, unic_from_le64(r->va),
					 unic_from_le64(r->iova),
					 unic_from_le64(r->length), max);

	if (!got)
		return UNIC_CTL_ST_NOT_MAPPED;
	if (r->page_shift && got < r->page_shift)
		return UNIC_CTL_ST_NOT_ALIGNED;
	*out = (uint8_t)got;
	return UNIC_ST_OK;
}
