/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* pd.c - protection domains, and the domains that are made of them. */
#include <errno.h>
#include <stdlib.h>

#include "attach.h"
#include "errnos.h"
#include "pd.h"

struct ibv_pd *unic_ibv_alloc_pd(struct ibv_context *ctx)
{
	struct unic_ibv_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return unic_ibv_null(-ENOMEM);
	err = unic_alloc_pd(unic_ibv_context(ctx)->at->ctx, &pd->lib);
	if (err) {
		free(pd);
		return unic_ibv_null(err);
	}
	pd->pd.context = ctx;
	return &pd->pd;
}

static void unuse(unsigned int *users)
{
	__atomic_sub_fetch(users, 1, __ATOMIC_RELEASE);
}

static void use(unsigned int *users)
{
	__atomic_add_fetch(users, 1, __ATOMIC_RELAXED);
}

static bool is_used(const unsigned int *users)
{
	return __atomic_load_n(users, __ATOMIC_ACQUIRE);
}

int unic_ibv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct unic_ibv_pd *pd = unic_ibv_pd(ibpd);
	int err;

	if (is_used(&pd->users))
		return EBUSY;
	err = pd->of ? 0 : unic_free_pd(pd->lib);
	if (err)
		return unic_ibv_errno(err);
	if (pd->of)
		unuse(&pd->of->users);
	if (pd->td)
		unuse(&pd->td->users);
	free(pd);
	return 0;
}

/* --------------------------------------------------------- parent domains */

#define PARENT_KNOWN                              \
	(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | \
	 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)

static int check_parent(const struct ibv_context *ctx,
			const struct ibv_parent_domain_init_attr *attr)
{
	if (!attr->pd || attr->pd->context != ctx ||
	    unic_ibv_pd(attr->pd)->of ||
	    (attr->td && attr->td->context != ctx) ||
	    attr->comp_mask & ~(uint32_t)PARENT_KNOWN)
		return EINVAL;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free))
		return EINVAL;
	return 0;
}

/* The allocators are never called: rings lie in the process slot, and nothing else is shared
 * with the adapter. */
struct ibv_pd *
unic_ibv_alloc_parent_domain(struct ibv_context *ctx,
			     struct ibv_parent_domain_init_attr *attr)
{
	int err = check_parent(ctx, attr);
	struct unic_ibv_pd *pd;

	if (err)
		return unic_ibv_null(-err);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return unic_ibv_null(-ENOMEM);
	pd->pd.context = ctx;
	pd->of = unic_ibv_pd(attr->pd);
	pd->lib = pd->of->lib;
	pd->td = (struct unic_ibv_td *)attr->td;
	use(&pd->of->users);
	if (pd->td)
		use(&pd->td->users);
	return &pd->pd;
}

void unic_ibv_use_pd(struct ibv_pd *ibpd)
{
	if (unic_ibv_pd(ibpd)->of)
		use(&unic_ibv_pd(ibpd)->users);
}

void unic_ibv_unuse_pd(struct ibv_pd *ibpd)
{
	if (unic_ibv_pd(ibpd)->of)
		unuse(&unic_ibv_pd(ibpd)->users);
}

/* Queues lock for themselves, so a promise to use them from one thread changes nothing. */
struct ibv_td *unic_ibv_alloc_td(struct ibv_context *ctx,
				 struct ibv_td_init_attr *attr)
{
	struct unic_ibv_td *td;

	if (attr->comp_mask)
		return unic_ibv_null(-EINVAL);
	td = calloc(1, sizeof(*td));
	if (!td)
		return unic_ibv_null(-ENOMEM);
	td->td.context = ctx;
	return &td->td;
}

int unic_ibv_dealloc_td(struct ibv_td *ibtd)
{
	struct unic_ibv_td *td = (struct unic_ibv_td *)ibtd;

	if (is_used(&td->users))
		return EBUSY;
	free(td);
	return 0;
}
