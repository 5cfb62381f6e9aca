/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* translate.c - see translate.h. */
#include "memory/translate.h"

#include "memory/memory.h"
#include "memory/dma_mr.h"
#include "memory/access.h"

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Returns the element of @form that has byte @off of a repetition: the last one
 * that begins at or before it. */
static const struct unic_element *
element_at(const struct unic_derived_regions *f,
	   const struct unic_derived *form, uint32_t off)
{
	const struct unic_element *e = &f->element[form->first];
	uint32_t lo = 0, hi = form->used;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (e[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	return &e[lo];
}

/* Returns the element for byte @off of a derived region; *@iova is the address in
 * the element's region. */
static const struct unic_element *
step_derived(const struct unic_derived_regions *f,
	     const struct unic_derived *form, uint64_t off, uint64_t *iova,
	     struct unic_xlate *out)
{
	const struct unic_element *e;
	uint32_t low = (uint32_t)off, nth = 0;

	if (low >= form->bytes) {
		nth = low / form->bytes;
		low %= form->bytes;
	}
	e = element_at(f, form, low);
	low -= e->off;
	*iova = e->iova + (uint64_t)nth * e->stride + low;
	out->before = min_u32(out->before, low);
	out->len = min_u32(out->len, e->len - low);
	return e;
}

/* unic_xlate_run() for a region with entries, or a physical one. */
static bool xlate_region(const struct unic_memory *nic,
			 const struct unic_mr_ctx *m, uint64_t iova,
			 struct unic_xlate *out)
{
	if (!unic_mr_physical(m))
		return unic_xlate_page(nic, m, iova, out);
	unic_dma_mr_xlate(nic, m, iova, out);
	return true;
}

bool unic_xlate_run(const struct unic_memory *nic, uint16_t mr, uint64_t iova,
		    struct unic_xlate *out)
{
	const struct unic_derived_regions *f = &nic->derived;
	struct unic_xlate last;
	uint32_t depth;

	out->before = out->len = UINT32_MAX;
	for (depth = 0; depth <= UNIC_FORM_DEPTH; depth++) {
		const struct unic_mr_ctx *m = &nic->mrs.mr[mr];
		const struct unic_derived *form = &f->form[mr];
		const struct unic_element *e;

		if (xlate_region(nic, m, iova, &last)) {
			out->bus = last.bus;
			out->before = min_u32(out->before, last.before);
			out->len = min_u32(out->len, last.len);
			return true;
		}
		if (!form->used)
			return false;
		e = step_derived(f, form, iova - m->iova, &iova, out);
		mr = e->mr;
	}
	return false;
}
