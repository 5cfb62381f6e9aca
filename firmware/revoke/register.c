/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* register.c - see register.h. */
#include "revoke/register.h"

#include <string.h>

#include "memory/access.h"
#include "revoke/revoke.h"
#include "revoke/admission.h"

/* ------------------------------------------------------------------ MR_REG */

/* Pages that @a touches, or SHAPE_BIG. */
#define SHAPE_BIG UINT32_MAX
static inline uint32_t count_args_pages(const struct unic_mr_args *a)
{
	uint32_t before = (uint32_t)a->iova & ((1u << a->page_shift) - 1u);
	uint64_t span = before + (a->length - 1);

	/* no wrap: check_mr_shape() checked the last address */
	if (likely(!(span >> 32)))
		return ((uint32_t)span >> a->page_shift) + 1u;
	span >>= a->page_shift;
	return span >= SHAPE_BIG - 1u ? SHAPE_BIG : (uint32_t)span + 1u;
}

static inline int check_mr_shape(const struct unic_mr_args *a)
{
	uint32_t pages;

	/* a page size of 4 KiB, 64 KiB, 2 MiB */
	if (a->page_shift > 21 ||
	    !(1u << a->page_shift & (1u << 12 | 1u << 16 | 1u << 21)))
		return -UNIC_EINVAL;
	if (!a->length || a->iova + (a->length - 1) < a->iova)
		return -UNIC_EINVAL;
	if ((a->flags & UNIC_REG_ZERO_BASED) && a->iova >> a->page_shift)
		return -UNIC_EINVAL;
	pages = count_args_pages(a);
	if (pages == SHAPE_BIG)
		return -UNIC_ETOOLARGE;
	return a->n_pages == pages ? 0 : -UNIC_EINVAL;
}

#define REG_FLAGS (UNIC_REG_FLAGS_ALL & ~UNIC_REG_RESTORE)

/* All of @a but how many pages there are. */
static inline int check_names(struct unic_revoke *nic,
			      const struct unic_mr_args *a,
			      const uint64_t *pages)
{
	if (a->pd >= UNIC_PDS ||
	    !unic_slot_live(&nic->base, nic->mrs.pd[a->pd].proc))
		return -UNIC_ENOPD;
	if ((a->rights & ~UNIC_MR_KNOWN) || (a->flags & ~REG_FLAGS) ||
	    a->mr_class > UNIC_CLASS_CONTROL ||
	    !!pages != !!(a->flags & UNIC_REG_LIST) ||
	    (a->timeout_us && !(a->flags & UNIC_REG_WAIT)))
		return -UNIC_EINVAL;
	/* IBTA 10.6.3.2: remote write and atomic imply local write */
	return (a->rights & UNIC_MR_CHANGES) &&
			       !(a->rights & UNIC_MR_LOCAL_WRITE)
		       ? -UNIC_EINVAL
		       : 0;
}

static inline int check_args(struct unic_revoke *nic,
			     const struct unic_mr_args *a,
			     const uint64_t *pages)
{
	int err = check_names(nic, a, pages);

	return err ? err : check_mr_shape(a);
}

/*
 * True in the simplest case in which unic_admission_admit() returns 0: no process
 * waits, few indices rest, there is room, and there is no quota or cap to check.
 */
static inline bool is_open(const struct unic_revoke *nic, uint32_t proc,
			   const struct unic_mr_args *args)
{
	return !nic->mrs.not_open && !nic->share.owner[proc].quota &&
	       args->mr_class != UNIC_CLASS_CONTROL && nic->mrs.free &&
	       args->n_pages <= nic->tlb.free;
}

/* A registration that is_open() does not cover. */
static int __attribute__((noinline, cold))
reg_or_wait(struct unic_revoke *nic, const struct unic_mr_args *args,
	    const uint64_t *pages, struct unic_mr_result *out)
{
	uint32_t proc = args->proc;
	int err;

	err = unic_admission_admit(nic, proc, args);
	if (err == -UNIC_ETLBFULL &&
	    unic_cache_yield(&nic->memory, proc, args->n_pages))
		err = unic_admission_admit(nic, proc, args);
	if (!err)
		return unic_mr_build(&nic->memory, args, pages, out);
	if ((args->flags & UNIC_REG_WAIT) &&
	    (err == -UNIC_ETLBFULL || err == -UNIC_EMRFULL ||
	     err == -UNIC_EQUOTA)) {
		memset(out, 0, sizeof(*out));
		err = unic_admission_queue(nic, args, &out->wait);
	}
	if (err == -UNIC_ETLBFULL || err == -UNIC_EMRFULL)
		unic_admission_denied(nic, proc, args->n_pages);
	if (err != -UNIC_EPENDING)
		UNIC_COUNT(nic, mr_denied);
	return err;
}

/* Admits a region of residency DEMAND or TABLE, which has no entries at first. An
 * error changed nothing. */
static int __attribute__((noinline, cold))
admit_cached(struct unic_revoke *nic, const struct unic_mr_args *args)
{
	uint32_t proc = args->proc;
	struct unic_mr_args a = *args;
	int err = unic_cache_check(&nic->memory, args, args->n_pages);

	a.n_pages = 0;
	if (!err && !is_open(nic, proc, &a))
		err = unic_admission_admit(nic, proc, &a);
	if (err)
		UNIC_COUNT(nic, mr_denied);
	return err;
}

static int __attribute__((noinline, cold))
reg_cached(struct unic_revoke *nic, const struct unic_mr_args *args,
	   struct unic_mr_result *out)
{
	int err = admit_cached(nic, args);

	if (!err)
		unic_mr_build_cached(&nic->memory, args, out);
	return err;
}

int unic_mr_reg(struct unic_revoke *nic, const struct unic_mr_args *args,
		const uint64_t *pages, struct unic_mr_result *out)
{
	int err = check_args(nic, args, pages);

	if (err)
		return err;
	if (unlikely(args->residency != UNIC_RESIDENT))
		return reg_cached(nic, args, out);
	if (is_open(nic, args->proc, args))
		return unic_mr_build(&nic->memory, args, pages, out);
	return reg_or_wait(nic, args, pages, out);
}

/* ------------------------------------------------------- after a reset */

int unic_mr_restore(struct unic_revoke *nic, const struct unic_mr_args *args,
		    uint32_t stag, const uint64_t *pages,
		    struct unic_mr_result *out)
{
	bool cached = args->residency != UNIC_RESIDENT;
	int err = check_args(nic, args, pages);

	if (err)
		return err;
	if ((args->flags & UNIC_REG_WAIT) || (uint8_t)stag != args->key)
		return -UNIC_EINVAL;
	if (!unic_mr_claimable(&nic->memory, stag))
		return -UNIC_ESTATE;
	if (!cached && args->n_pages > nic->tlb.free)
		return -UNIC_ETLBFULL;
	if (!cached && args->n_pages > UNIC_MR_PAGES_MAX)
		return -UNIC_ETOOLARGE;
	/* before the claim: else a refusal leaves an old STag to the index's next
	 * region (INV-26) */
	if (cached)
		err = admit_cached(nic, args);
	if (err)
		return err;
	unic_mr_claim(&nic->memory, stag);
	if (cached) {
		unic_mr_build_cached(&nic->memory, args, out);
		return 0;
	}
	unic_demand_trim(nic, nic->tlb.free - args->n_pages);
	/* what is above a quota comes back now, and is asked for again */
	unic_bitset_add(&nic->reclaim.lowered, args->proc);
	unic_evict_kick(nic);
	return unic_mr_build(&nic->memory, args, pages, out);
}

/* ---------------------------------------------------------------- MR_REREG */

static int check_rereg(struct unic_revoke *nic, const struct unic_mr_ctx *m,
		       const struct unic_rereg *r, struct unic_mr_args *a)
{
	uint32_t i, low = 0;

	*a = (struct unic_mr_args){
		.pd = m->pd,
		.proc = m->proc,
		.rights = r->what & UNIC_REREG_RIGHTS ? r->rights : m->rights,
		.mr_class = m->mr_class,
		.page_shift = m->page_shift,
		.iova = r->what & UNIC_REREG_RANGE ? r->iova : m->iova,
		.length = r->what & UNIC_REREG_RANGE ? r->length : m->length,
		.n_pages = r->what & UNIC_REREG_RANGE ? r->n_pages : m->n_pages,
	};
	if (r->what & UNIC_REREG_PD) {
		if (r->pd >= UNIC_PDS || nic->mrs.pd[r->pd].proc != m->owner)
			return -UNIC_ENOPD;
		a->pd = (uint16_t)r->pd;
	}
	for (i = 0; r->what & UNIC_REREG_RANGE && i < r->n_pages; i++)
		low |= (uint32_t)r->pages[i];
	if (low & ((1u << m->page_shift) - 1))
		return -UNIC_EBUS;
	return r->what & UNIC_REREG_RANGE ? check_args(nic, a, NULL)
					  : check_names(nic, a, NULL);
}

/* Returns 0 if region @m may have the entries of @a, which may be more than it
 * has. */
static int admit_more(struct unic_revoke *nic, const struct unic_mr_ctx *m,
		      struct unic_mr_args a)
{
	if (a.n_pages <= m->n_pages)
		return 0;
	a.n_pages -= m->n_pages;
	return unic_admission_admit(nic, m->proc, &a);
}

/* No access depends on it: REREG_HINT waits for none. */
static int __attribute__((noinline, cold))
change_hint(struct unic_revoke *nic, const struct unic_rereg *r,
	    struct unic_mr_ctx *m)
{
	if (m->mr_class == UNIC_CLASS_CONTROL)
		return -UNIC_EINVAL;
	if (m->state == UNIC_MR_EVICTED)
		return -UNIC_ESTATE;
	m->importance = r->importance;
	unic_candidate_rehint(&nic->memory, (uint16_t)r->mr);
	return 0;
}

int unic_mr_rereg(struct unic_revoke *nic, const struct unic_rereg *r)
{
	struct unic_mr_ctx *m = unic_mr_get(&nic->memory, r->mr, r->gen);
	struct unic_mr_args a;
	int err;

	if (!m || (m->flags & UNIC_MR_F_GONE))
		return -UNIC_ENOMR;
	if (r->what == UNIC_REREG_HINT)
		return change_hint(nic, r, m);
	if (m->state != UNIC_MR_ACTIVE || nic->derived.form[r->mr].kind ||
	    (unic_mr_cached(m) && r->what & UNIC_REREG_RANGE))
		return -UNIC_ESTATE;
	if (!r->what || (r->what & ~UNIC_REREG_ALL) ||
	    m->mr_class == UNIC_CLASS_CONTROL)
		return -UNIC_EINVAL;
	err = check_rereg(nic, m, r, &a);
	if (!err && !unic_mr_idle(m))
		err = -UNIC_EBUSY;
	if (!err)
		err = admit_more(nic, m, a);
	if (err)
		return err;
	unic_mr_change(&nic->memory, (uint16_t)r->mr, &a,
		       r->what & UNIC_REREG_RANGE ? r->pages : NULL);
	return 0;
}

/* --------------------------------------------------------------- MR_DEREG */

int unic_mr_dereg(struct unic_revoke *nic, uint32_t mr, uint32_t gen)
{
	struct unic_mr_ctx *m = unic_mr_get(&nic->memory, mr, gen);

	if (!m || (m->flags & UNIC_MR_F_GONE))
		return -UNIC_ENOMR;
	if (m->queues)
		return -UNIC_EBUSY;
	UNIC_TRACE(nic, MR_DEREG, m->proc, mr, gen, 0, 0);
	if (m->state != UNIC_MR_EVICTED)
		return unic_evict_give_up(nic, (uint16_t)mr);
	if (m->evt_due) { /* EVICTED is on the way: no tombstone after it */
		m->flags |= UNIC_MR_F_GONE;
		return 0;
	}
	unic_mr_forget(&nic->memory, (uint16_t)mr);
	return 0;
}

/* ---------------------------------------------- regions without pages of their
 * own */

int unic_dma_mr_reg(struct unic_revoke *nic, const struct unic_mr_args *args,
		    struct unic_mr_result *out)
{
	int err = unic_dma_mr_check_args(&nic->memory, args);

	if (!err)
		err = unic_admission_admit(nic, args->proc, args);
	if (err) {
		UNIC_COUNT(nic, mr_denied);
		return err;
	}
	unic_dma_mr_build(&nic->memory, args, out);
	return 0;
}

/* May the form have the STag of an earlier epoch? Returns 0 or the error. */
static int check_old_stag(const struct unic_revoke *nic,
			  const struct unic_derived_alloc *a)
{
	if ((uint8_t)a->stag != a->key)
		return -UNIC_EINVAL;
	return unic_mr_claimable(&nic->memory, a->stag) ? 0 : -UNIC_ESTATE;
}

int unic_derived_alloc(struct unic_revoke *nic,
		       const struct unic_derived_alloc *a,
		       struct unic_mr_result *out)
{
	int err = unic_derived_check(&nic->memory, a);
	struct unic_mr_args args;
	uint32_t proc;

	if (err)
		return err;
	proc = nic->mrs.pd[a->pd].proc;
	unic_derived_args(a, &args);
	args.proc = (uint16_t)proc;
	err = unic_admission_admit(nic, proc, &args);
	if (err == -UNIC_ETLBFULL || err == -UNIC_EMRFULL)
		unic_admission_denied(nic, proc, args.n_pages);
	if (!err)
		err = unic_derived_room(&nic->memory, a);
	if (!err && UNIC_RESTORE_FORMS && a->stag)
		err = check_old_stag(nic, a);
	if (err) {
		UNIC_COUNT(nic, mr_denied);
		return err;
	}
	if (UNIC_RESTORE_FORMS && a->stag)
		unic_mr_claim(&nic->memory, a->stag);
	unic_derived_build(&nic->memory, a, &args, out);
	return 0;
}
