/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mr.c - memory regions. Their residency is TABLE, or DEMAND on a NIC without tables: they
 * hold no entries, so the NIC never asks a program of verbs, which could not answer, to give
 * them back.
 */
#include <errno.h>
#include <stdlib.h>

#include "attach.h"
#include "errnos.h"
#include "mr.h"

/* HUGETLB and RELAXED_ORDERING are hints. */
#define ACCESS_IGNORED (IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE)
#define ACCESS_KNOWN                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | ACCESS_IGNORED)
#define ACCESS_ABSENT \
	(IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND)

/* 0, or the errno of an access mask that is refused. */
static int check_access(int access)
{
	if (access & ACCESS_ABSENT)
		return EOPNOTSUPP;
	if (access & ~ACCESS_KNOWN)
		return EINVAL;
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	return 0;
}

/* On an adapter without atomic operations REMOTE_ATOMIC grants what no operation needs. */
static unsigned int mr_rights_of(struct ibv_context *ctx, int access)
{
	return (access & IBV_ACCESS_REMOTE_ATOMIC && unic_ibv_has_atomics(ctx)
			? UNIC_MR_REMOTE_ATOMIC
			: 0) |
	       (access & IBV_ACCESS_LOCAL_WRITE ? UNIC_MR_LOCAL_WRITE : 0) |
	       (access & IBV_ACCESS_REMOTE_WRITE ? UNIC_MR_REMOTE_WRITE : 0) |
	       (access & IBV_ACCESS_REMOTE_READ ? UNIC_MR_REMOTE_READ : 0);
}

static unsigned int residency_on(struct ibv_context *ctx)
{
	const struct unic_attr *nic = &unic_ibv_context(ctx)->at->attr;

	return nic->features & UNIC_FEAT_HOST_TABLE ? UNIC_TABLE : UNIC_DEMAND;
}

struct ibv_mr *unic_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			       uint64_t iova, int access)
{
	struct unic_mr_attr attr = {
		.addr = addr,
		.length = length,
		.rights = mr_rights_of(pd->context, access),
		.flags = UNIC_MR_VA_BASE,
		.residency = residency_on(pd->context),
	};
	struct unic_ibv_mr *mr;
	int err = check_access(access);

	if (!err && iova != (uintptr_t)addr)
		err = EOPNOTSUPP;
	if (err)
		return unic_ibv_null(-err);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return unic_ibv_null(-ENOMEM);
	err = unic_reg_mr(unic_ibv_pd(pd)->lib, &attr, &mr->lib);
	if (err) {
		free(mr);
		if (err == -EACCES)
			unic_ibv_say("ibv_reg_mr");
		return unic_ibv_null(err);
	}
	mr->vmr.access = access;
	mr->vmr.ibv_mr.lkey = mr->lib->stag;
	mr->vmr.ibv_mr.rkey = mr->lib->stag;
	return &mr->vmr.ibv_mr;
}

int unic_ibv_dereg_mr(struct verbs_mr *vmr)
{
	struct unic_ibv_mr *mr = (struct unic_ibv_mr *)vmr;
	int err = unic_dereg_mr(mr->lib);

	if (err)
		return unic_ibv_errno(err);
	free(mr);
	return 0;
}
