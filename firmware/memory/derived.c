/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* derived.c - see derived.h. */
#include "memory/derived.h"

#include <string.h>

#include "memory/access.h"
#include "memory/cached_window.h"
#include "memory/candidates.h"
#include "memory/derived_load.h"
#include "memory/memory.h"
#include "memory/translate.h"

#define REMOTE (UNIC_MR_REMOTE_READ | UNIC_MR_CHANGES)
#define WINDOWS                                \
	(UNIC_DERIVED_BIT(UNIC_FORM_WINDOW1) | \
	 UNIC_DERIVED_BIT(UNIC_FORM_WINDOW2))
#define CAN_INVALIDATE                         \
	(UNIC_DERIVED_BIT(UNIC_FORM_WINDOW2) | \
	 UNIC_DERIVED_BIT(UNIC_FORM_FAST) |    \
	 UNIC_DERIVED_BIT(UNIC_FORM_INDIRECT))

static struct unic_derived *derived_of(struct unic_memory *nic, uint32_t idx)
{
	return &nic->derived.form[idx];
}

static uint32_t kind_bit(const struct unic_derived *form)
{
	return UNIC_DERIVED_BIT(form->kind);
}

/* ---------------------------------------------------------------- allocate */

static uint32_t elements_for(const struct unic_derived_alloc *a)
{
	if (a->kind == UNIC_FORM_INDIRECT)
		return a->n;
	return a->kind == UNIC_FORM_FAST ? UNIC_FAST_RUNS : 1;
}

int unic_derived_check(const struct unic_memory *nic,
		       const struct unic_derived_alloc *a)
{
	if (a->pd >= UNIC_PDS ||
	    !unic_slot_live(&nic->base, nic->mrs.pd[a->pd].proc))
		return -UNIC_ENOPD;
	if (a->kind < UNIC_FORM_SUB || a->kind > UNIC_FORM_INDIRECT)
		return -UNIC_EINVAL;
	if (a->kind == UNIC_FORM_FAST)
		return a->n && a->n <= UNIC_FAST_PAGES &&
				       (a->page_shift == 12 ||
					a->page_shift == 16 ||
					a->page_shift == 21)
			       ? 0
			       : -UNIC_EINVAL;
	if (a->page_shift)
		return -UNIC_EINVAL;
	if (a->kind == UNIC_FORM_INDIRECT)
		return a->n && a->n <= UNIC_LIST_ELEMENTS ? 0 : -UNIC_EINVAL;
	return a->n ? -UNIC_EINVAL : 0;
}

void unic_derived_args(const struct unic_derived_alloc *a,
		       struct unic_mr_args *args)
{
	bool fast = a->kind == UNIC_FORM_FAST;

	*args = (struct unic_mr_args){
		.pd = a->pd,
		.page_shift = fast ? a->page_shift : UNIC_MR_NO_PAGES,
		.key = a->key,
		.importance = a->importance,
		.n_pages = fast ? a->n : 0,
		.user = a->user,
	};
}

int unic_derived_room(struct unic_memory *nic,
		      const struct unic_derived_alloc *a)
{
	int err = unic_dependents_room(nic, a->pd, elements_for(a));

	if (!err && a->kind != UNIC_FORM_FAST &&
	    !unic_cache_bare_room(nic, nic->mrs.pd[a->pd].proc))
		err = -UNIC_EMRFULL;
	return err;
}

void unic_derived_build(struct unic_memory *nic,
			const struct unic_derived_alloc *a,
			const struct unic_mr_args *args,
			struct unic_mr_result *out)
{
	uint16_t idx = unic_mr_make(nic, args);
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	unic_dependents_alloc(nic, idx, a->kind, elements_for(a));
	mr->state = UNIC_MR_ACTIVE;
	mr->flags |= UNIC_MR_F_SHUT;
	mr->last_use_ns = nic->now_ns;
	if (a->kind == UNIC_FORM_FAST)
		unic_candidate_add(nic, idx);
	*out = (struct unic_mr_result){
		.mr = idx,
		.gen = mr->gen,
		.stag = mr->stag,
	};
}

/* ------------------------------------------------------------------ checks */

/* Refusal @err of a peer that wanted @stag closed: the transport answers it and
 * counts the wrong key. */
static int __attribute__((noinline, cold))
refuse_peer(struct unic_memory *nic, uint32_t stag, uint16_t pd, int err)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[stag >> UNIC_MR_IDX_SHIFT];

	UNIC_COUNT(nic, forms_refused);
	return mr->stag == stag && (mr->flags & UNIC_MR_F_GONE) &&
			       mr->owner == nic->mrs.pd[pd].proc
		       ? -UNIC_ERELEASED
		       : err;
}

/* Returns the index of the derived region of @stag and @pd, or the error. A
 * region of another process counts as missing. */
static int find_derived(const struct unic_memory *nic, uint32_t stag,
			uint16_t pd)
{
	uint32_t idx = stag >> UNIC_MR_IDX_SHIFT;
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (mr->stag != stag || mr->state == UNIC_MR_FREE ||
	    (mr->flags & UNIC_MR_F_GONE) || mr->owner != nic->mrs.pd[pd].proc)
		return -UNIC_ESTAG;
	if (mr->pd != pd)
		return -UNIC_EPD;
	if (mr->state >= UNIC_MR_DRAINING)
		return -UNIC_EEVICTED;
	if (nic->derived.form[idx].kind == UNIC_FORM_PLAIN)
		return -UNIC_ESTATE;
	return (int)idx;
}

/* Rights that a derived region with @rights needs in the regions it is made of. */
static uint32_t rights_needed(const struct unic_derived *form, uint8_t rights)
{
	if (!(kind_bit(form) & WINDOWS))
		return rights;
	return UNIC_MR_MW_BIND |
	       (rights & UNIC_MR_CHANGES ? UNIC_MR_LOCAL_WRITE : 0);
}

static int check_rights(const struct unic_derived *form,
			const struct unic_derived_plan *p)
{
	if (p->rights & ~UNIC_MR_KNOWN)
		return -UNIC_EINVAL;
	if (kind_bit(form) & WINDOWS)
		return p->rights & ~REMOTE ? -UNIC_ERIGHTS : 0;
	/* IBTA 10.6.3.2 */
	if ((p->rights & UNIC_MR_CHANGES) && !(p->rights & UNIC_MR_LOCAL_WRITE))
		return -UNIC_ERIGHTS;
	return 0;
}

/* Bytes that element @i needs in its region, all repetitions. */
static uint64_t sge_span(const struct unic_derived_plan *p, uint32_t i)
{
	uint64_t stride = p->strides ? unic_from_le32(p->strides[i]) : 0;

	return (p->repeat - 1) * stride + unic_from_le32(p->list[i].len);
}

/* Queues must not be written into, so class control is closed. A physical region
 * is of that class and holds all memory of its owner, queues too; but it has no
 * entries, so only an indirect region can be made of it. */
static bool is_closed(const struct unic_derived *form,
		      const struct unic_mr_ctx *of)
{
	return of->mr_class == UNIC_CLASS_CONTROL &&
	       (form->kind != UNIC_FORM_INDIRECT || !unic_mr_physical(of));
}

/* May @form be made of region @of, of residency DEMAND or TABLE? */
static bool lies_in_cached(const struct unic_memory *nic,
			   const struct unic_derived *form, uint16_t of)
{
	if (UNIC_CACHED_WINDOWS && (kind_bit(form) & WINDOWS))
		return true;
	return UNIC_TABLE_READS && unic_derived_loads(nic, form->kind, of);
}

/* Checks element @i of the plan, which needs rights @need in its region. Returns the index
 * of that, or the error. */
static int check_element(struct unic_memory *nic,
			 const struct unic_derived *form,
			 const struct unic_derived_plan *p, uint32_t i,
			 uint32_t need)
{
	const struct unic_sge *sge = &p->list[i];
	const struct unic_derived *of;
	int r;

	if (!sge->len)
		return -UNIC_EINVAL;
	r = unic_mr_check(nic, unic_from_le32(sge->lkey), p->pd, need,
			  unic_from_le64(sge->iova), sge_span(p, i));
	if (r < 0)
		return r;
	of = derived_of(nic, (uint32_t)r);
	if (unic_mr_cached(&nic->mrs.mr[r]))
		return lies_in_cached(nic, form, (uint16_t)r) ? r : -UNIC_ESTAG;
	/* a window has no local key */
	if ((kind_bit(of) & WINDOWS) || is_closed(form, &nic->mrs.mr[r]))
		return -UNIC_ESTAG;
	if (of->depth >= UNIC_FORM_DEPTH || of == form)
		return -UNIC_ETOOLARGE;
	return r;
}

/* Checks all elements of the plan; *@bytes is the length of a repetition. */
static int check_list(struct unic_memory *nic, const struct unic_derived *form,
		      struct unic_derived_plan *p, uint64_t *bytes)
{
	uint32_t need = rights_needed(form, p->rights);
	int r;

	*bytes = 0;
	for (p->wrong = 0; p->wrong < p->n; p->wrong++) {
		r = check_element(nic, form, p, p->wrong, need);
		if (r < 0)
			return r;
		*bytes += unic_from_le32(p->list[p->wrong].len);
	}
	p->wrong = 0;
	if (*bytes > UINT32_MAX || *bytes * p->repeat > UINT32_MAX)
		return -UNIC_ETOOLARGE;
	if (p->iova + (*bytes * p->repeat - 1) < p->iova)
		return -UNIC_EINVAL;
	return 0;
}

static int check_plan_shape(const struct unic_derived *form,
			    const struct unic_derived_plan *p)
{
	bool indirect = form->kind == UNIC_FORM_INDIRECT;

	if (!(kind_bit(form) & p->kinds))
		return -UNIC_ESTATE;
	if (!p->n && (kind_bit(form) & WINDOWS))
		return 0;
	if (!p->n || (!indirect && (p->repeat != 1 || p->strides)))
		return -UNIC_EINVAL;
	return p->n > form->n ? -UNIC_ETOOLARGE : 0;
}

/* --------------------------------------------- pages of fast registrations */

/* True if @of has an entry for each page of @run. */
static inline bool is_run_mapped(const struct unic_memory *nic,
				 const struct unic_mr_ctx *of,
				 const struct unic_sge *run, uint32_t shift)
{
	uint32_t in_page = (1u << shift) - 1u;
	uint32_t left = count_run_pages(run, in_page, shift);
	uint64_t at = unic_from_le64(run->iova);
	struct unic_xlate xlate;

	for (; left; left--, at = (at | in_page) + 1)
		if (!unic_xlate_page(nic, of, at, &xlate))
			return false;
	return true;
}

/* Checks the runs of a fast registration: whole pages that fit together in @mr. If some
 * have no entries, or had none when it began to wait, all are loaded into those of @mr. */
static __attribute__((noinline)) int check_runs(struct unic_memory *nic,
						struct unic_mr_ctx *mr,
						struct unic_derived_plan *p,
						uint64_t bytes)
{
	uint64_t size = 1ull << mr->page_shift, from, to;
	bool listed = false;

	if ((p->iova ^ unic_from_le64(p->list[0].iova)) & (size - 1))
		return -UNIC_EALIGN;
	if ((p->iova & (size - 1)) + bytes > mr->n_pages * size)
		return -UNIC_ETOOLARGE;
	for (p->wrong = 0; p->wrong < p->n; p->wrong++) {
		const struct unic_sge *sge = &p->list[p->wrong];
		uint32_t idx = unic_from_le32(sge->lkey) >> UNIC_MR_IDX_SHIFT;
		const struct unic_mr_ctx *of = &nic->mrs.mr[idx];

		from = unic_from_le64(sge->iova);
		to = from + unic_from_le32(sge->len);
		if ((p->wrong && (from & (size - 1))) ||
		    (p->wrong + 1 < p->n && (to & (size - 1))) ||
		    of->page_shift < mr->page_shift)
			return -UNIC_EALIGN;
		if (likely(is_run_mapped(nic, of, sge, mr->page_shift)))
			continue;
		if (!UNIC_TABLE_READS || !unic_mr_cached(of))
			return -UNIC_EALIGN;
		listed = true;
	}
	p->wrong = 0;
	if (UNIC_TABLE_READS && unlikely(listed || mr->filled))
		return unic_derived_load(nic, mr, p);
	return 0;
}

/* Copies the bus addresses of the runs into the entries of @mr. */
static __attribute__((noinline)) void
copy_runs(struct unic_memory *nic, struct unic_mr_ctx *mr,
	  const struct unic_derived_plan *p)
{
	uint32_t in_page = (1u << mr->page_shift) - 1u;
	uint32_t i, left, page = 0;
	struct unic_xlate at;
	uint64_t from;

	for (i = 0; i < p->n; i++) {
		uint32_t of = unic_from_le32(p->list[i].lkey) >>
			      UNIC_MR_IDX_SHIFT;

		from = unic_from_le64(p->list[i].iova);
		left = count_run_pages(&p->list[i], in_page, mr->page_shift);
		for (; left; left--, from = (from | in_page) + 1) {
			/* is_run_mapped() found them all */
			UNIC_ASSERT(nic, unic_xlate_page(nic, &nic->mrs.mr[of],
							 from, &at));
			unic_tlb_fill(&nic->tlb, mr->tlb_base, page++,
				      at.bus & ~(uint64_t)in_page);
		}
	}
	UNIC_ASSERT(nic, page <= mr->n_pages); /* INV-2 */
	mr->filled = (uint16_t)page;
}

/* A sub-region or window uses the entries of its region, if that has any: offsets
 * in a page must agree. */
static int check_range(const struct unic_memory *nic,
		       const struct unic_derived_plan *p)
{
	uint32_t of = unic_from_le32(p->list[0].lkey) >> UNIC_MR_IDX_SHIFT;
	uint32_t shift = nic->mrs.mr[of].page_shift;

	if (shift != UNIC_MR_NO_PAGES &&
	    ((p->iova ^ unic_from_le64(p->list[0].iova)) & ((1u << shift) - 1)))
		return -UNIC_EALIGN;
	return 0;
}

static void borrow_entries(struct unic_memory *nic, struct unic_mr_ctx *mr,
			   const struct unic_derived_plan *p)
{
	uint32_t of = unic_from_le32(p->list[0].lkey) >> UNIC_MR_IDX_SHIFT;
	const struct unic_mr_ctx *m = &nic->mrs.mr[of];

	if (UNIC_CACHED_WINDOWS && unic_mr_cached(m)) {
		unic_cached_window_begin(nic, (uint16_t)(mr - nic->mrs.mr));
		return;
	}
	mr->page_shift = m->page_shift;
	if (m->page_shift == UNIC_MR_NO_PAGES)
		return;
	mr->tlb_base =
		m->tlb_base +
		(uint32_t)((unic_from_le64(p->list[0].iova) >> m->page_shift) -
			   (m->iova >> m->page_shift));
}

/* -------------------------------------------------------------------- make */

static void link_elements(struct unic_memory *nic, uint16_t idx,
			  const struct unic_derived_plan *p)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_element e = { 0 };
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		e.mr = (uint16_t)(unic_from_le32(p->list[i].lkey) >>
				  UNIC_MR_IDX_SHIFT);
		e.iova = unic_from_le64(p->list[i].iova);
		e.len = unic_from_le32(p->list[i].len);
		e.stride = p->strides ? unic_from_le32(p->strides[i]) : 0;
		unic_dependents_make(nic, idx, i, &e);
		e.off += e.len;
		if (nic->mrs.mr[e.mr].mr_class == UNIC_CLASS_MESSAGING)
			mr->mr_class = UNIC_CLASS_MESSAGING;
	}
	derived_of(nic, idx)->bytes = e.off;
}

static void open_derived(struct unic_memory *nic, uint16_t idx,
			 const struct unic_derived_plan *p)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	mr->rights = p->rights;
	mr->iova = p->iova;
	mr->length = (uint64_t)derived_of(nic, idx)->bytes * p->repeat;
	mr->last_use_ns = nic->now_ns;
	mr->flags &= (uint8_t)~UNIC_MR_F_SHUT;
	unic_mr_open(nic, idx);
	UNIC_COUNT(nic, forms_made);
	UNIC_TRACE(nic, MR_ACTIVE, mr->proc, idx, mr->gen, 0, 0);
}

/* Resets a derived region to its state after allocation. */
static void shut_derived(struct unic_memory *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_derived *form = derived_of(nic, idx);

	if (UNIC_TABLE_READS && unlikely(nic->loading.n))
		unic_derived_load_forget(nic, idx);
	unic_mr_close(nic, idx);
	mr->flags &= (uint8_t)~UNIC_MR_F_INVAL;
	mr->flags |= UNIC_MR_F_SHUT;
	mr->win_bytes = 0;
	mr->length = 0;
	mr->tlb_base = form->base;
	if (mr->filled)
		unic_mr_unfill(nic, idx);
	if (form->kind != UNIC_FORM_FAST)
		mr->page_shift = UNIC_MR_NO_PAGES;
	unic_dependents_unmake(nic, idx);
}

/* Returns 0 if the region may be made: it is SHUT, or it is idle and either a
 * window of type 1 or an indirect region of a physical domain. */
static int check_shut(const struct unic_memory *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint8_t kind = nic->derived.form[idx].kind;

	if (mr->flags & UNIC_MR_F_SHUT)
		return 0;
	if (kind != UNIC_FORM_WINDOW1 &&
	    (kind != UNIC_FORM_INDIRECT || !nic->dma_mrs.pd[mr->pd]))
		return -UNIC_ESTATE;
	if (unic_mr_idle(mr))
		return 0;
	return kind == UNIC_FORM_WINDOW1 || mr->deps || mr->n_tokens
		       ? -UNIC_EBUSY
		       : -UNIC_EAGAIN;
}

static int check_plan(struct unic_memory *nic, uint16_t idx,
		      struct unic_derived_plan *p)
{
	const struct unic_derived *form = derived_of(nic, idx);
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint64_t bytes;
	int err = check_plan_shape(form, p);

	if (!err)
		err = check_shut(nic, idx);
	if (err || !p->n)
		return err;
	err = check_rights(form, p);
	if (!err)
		err = check_list(nic, form, p, &bytes);
	if (err || form->kind == UNIC_FORM_INDIRECT)
		return err;
	return form->kind == UNIC_FORM_FAST ? check_runs(nic, mr, p, bytes)
					    : check_range(nic, p);
}

/* Counts the refusal @err of a request by the owner of @pd, and returns it. */
static int __attribute__((noinline, cold))
refuse_derived(struct unic_memory *nic, uint16_t pd, int err)
{
	UNIC_COUNT(nic, forms_refused);
	if (err == -UNIC_ESTAG)
		unic_key_guard_wrong(nic, UNIC_KEY_GUARD_LOCAL,
				     nic->mrs.pd[pd].proc);
	return err;
}

int unic_derived_make(struct unic_memory *nic, struct unic_derived_plan *p)
{
	int r = find_derived(nic, p->stag, p->pd);
	uint16_t idx = (uint16_t)r;
	struct unic_mr_ctx *mr;
	int err = r < 0 ? r : 0;

	p->wrong = 0;
	p->repeat = p->repeat ? p->repeat : 1;
	if (!err)
		err = check_plan(nic, idx, p);
	if (err)
		return err == -UNIC_EAGAIN || (UNIC_TABLE_READS &&
					       err == -UNIC_EPENDING)
			       ? err
			       : refuse_derived(nic, p->pd, err);
	mr = &nic->mrs.mr[idx];
	if (!(mr->flags & UNIC_MR_F_SHUT))
		shut_derived(nic, idx);
	mr->stag = (mr->stag & ~0xffu) | p->key;
	if (!p->n)
		return 0; /* an unbound window */
	mr->mr_class = UNIC_CLASS_RDMA;
	if (derived_of(nic, idx)->kind == UNIC_FORM_FAST) {
		if (!UNIC_TABLE_READS || likely(!mr->filled))
			copy_runs(nic, mr, p);
	} else if (derived_of(nic, idx)->kind != UNIC_FORM_INDIRECT) {
		borrow_entries(nic, mr, p);
	}
	link_elements(nic, idx, p);
	open_derived(nic, idx, p);
	return 0;
}

/* -------------------------------------------------------------- invalidate */

static int check_close(const struct unic_memory *nic, uint16_t idx, bool remote)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (!(kind_bit(&nic->derived.form[idx]) & CAN_INVALIDATE) ||
	    (mr->flags & UNIC_MR_F_SHUT))
		return -UNIC_ESTATE;
	if (remote && !(mr->rights & REMOTE))
		return -UNIC_ERIGHTS;
	return mr->deps ? -UNIC_EBUSY : 0;
}

int unic_derived_close(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		       bool remote)
{
	int r = find_derived(nic, stag, pd);
	uint16_t idx = (uint16_t)r;
	int err = r < 0 ? r : check_close(nic, idx, remote);

	if (err && !remote)
		return refuse_derived(nic, pd, err);
	if (err)
		return refuse_peer(nic, stag, pd, err);
	unic_mr_close(nic, idx);
	nic->mrs.mr[idx].flags |= UNIC_MR_F_INVAL;
	unic_token_mr_gone(nic, idx);
	return unic_mr_idle(&nic->mrs.mr[idx]) ? 0 : -UNIC_EAGAIN;
}

bool unic_derived_unmake(struct unic_memory *nic, uint32_t stag)
{
	uint16_t idx = (uint16_t)(stag >> UNIC_MR_IDX_SHIFT);
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (mr->stag != stag || !(mr->flags & UNIC_MR_F_INVAL) ||
	    mr->state >= UNIC_MR_DRAINING || mr->state < UNIC_MR_ACTIVE)
		return false;
	shut_derived(nic, idx);
	UNIC_COUNT(nic, forms_invalidated);
	return true;
}
