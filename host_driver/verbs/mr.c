/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mr.c - memory regions. Their residency is TABLE, or DEMAND on a NIC without tables: they
 * hold no entries, so the NIC never asks a program of verbs, which could not answer, to give
 * them back. Memory on demand is DEMAND: its pages need not be pinned.
 */
#include <errno.h>
#include <stdlib.h>

#include "attach.h"
#include "errnos.h"
#include "mr.h"

/* HUGETLB and RELAXED_ORDERING are hints. */
#define ACCESS_IGNORED (IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE)
#define ACCESS_KNOWN                                         \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |  \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | \
	 IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND | ACCESS_IGNORED)

/* 0, or the errno of an access mask that is refused. */
static int check_access(struct ibv_context *ctx, int access)
{
	if (access & IBV_ACCESS_ZERO_BASED ||
	    (access & IBV_ACCESS_MW_BIND && !unic_ibv_has_windows(ctx)))
		return EOPNOTSUPP;
	if (access & ~ACCESS_KNOWN)
		return EINVAL;
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	return 0;
}

/* On an adapter without atomic operations REMOTE_ATOMIC grants what no operation needs. */
unsigned int unic_ibv_rights_of(struct ibv_context *ctx, int access)
{
	return (access & IBV_ACCESS_REMOTE_ATOMIC && unic_ibv_has_atomics(ctx)
			? UNIC_MR_REMOTE_ATOMIC
			: 0) |
	       (access & IBV_ACCESS_MW_BIND ? UNIC_MR_MW_BIND : 0) |
	       (access & IBV_ACCESS_LOCAL_WRITE ? UNIC_MR_LOCAL_WRITE : 0) |
	       (access & IBV_ACCESS_REMOTE_WRITE ? UNIC_MR_REMOTE_WRITE : 0) |
	       (access & IBV_ACCESS_REMOTE_READ ? UNIC_MR_REMOTE_READ : 0);
}

static unsigned int residency_on(struct ibv_context *ctx, int access)
{
	const struct unic_attr *nic = &unic_ibv_context(ctx)->at->attr;

	return nic->features & UNIC_FEAT_HOST_TABLE &&
			       !(access & IBV_ACCESS_ON_DEMAND)
		       ? UNIC_TABLE
		       : UNIC_DEMAND;
}

static void link_mr(struct unic_attach *at, struct unic_ibv_mr *mr)
{
	pthread_mutex_lock(&at->mrs_lock);
	mr->next = at->mrs;
	mr->at = &at->mrs;
	if (mr->next)
		mr->next->at = &mr->next;
	at->mrs = mr;
	pthread_mutex_unlock(&at->mrs_lock);
}

static void unlink_mr(struct unic_attach *at, struct unic_ibv_mr *mr)
{
	pthread_mutex_lock(&at->mrs_lock);
	*mr->at = mr->next;
	if (mr->next)
		mr->next->at = mr->at;
	pthread_mutex_unlock(&at->mrs_lock);
}

/* Registers [@addr, @addr + @length) for @access. 0 or -errno. */
static int reg_lib(struct ibv_pd *pd, void *addr, size_t length, int access,
		   struct unic_mr **out)
{
	struct unic_mr_attr attr = {
		.addr = addr,
		.length = length,
		.rights = unic_ibv_rights_of(pd->context, access),
		.flags = UNIC_MR_VA_BASE,
		.residency = residency_on(pd->context, access),
	};
	int err = unic_reg_mr(unic_ibv_pd(pd)->lib, &attr, out);

	if (err == -EACCES)
		unic_ibv_say("ibv_reg_mr");
	return err;
}

static void name_mr(struct unic_ibv_mr *mr, struct unic_mr *lib, int access)
{
	mr->lib = lib;
	mr->vmr.access = access;
	mr->vmr.ibv_mr.lkey = lib->stag;
	mr->vmr.ibv_mr.rkey = lib->stag;
}

struct ibv_mr *unic_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			       uint64_t iova, int access)
{
	int err = check_access(pd->context, access);
	struct unic_ibv_mr *mr;
	struct unic_mr *lib;

	if (!err && iova != (uintptr_t)addr)
		err = EOPNOTSUPP;
	if (err)
		return unic_ibv_null(-err);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return unic_ibv_null(-ENOMEM);
	err = reg_lib(pd, addr, length, access, &lib);
	if (err) {
		free(mr);
		return unic_ibv_null(err);
	}
	name_mr(mr, lib, access);
	mr->vmr.ibv_mr.context = pd->context;
	link_mr(unic_ibv_context(pd->context)->at, mr);
	return &mr->vmr.ibv_mr;
}

/* Exchanges rights and protection domain: the keys stay. */
static int change_lib(struct unic_ibv_mr *mr, struct ibv_pd *pd, int access)
{
	struct unic_rereg_attr attr = {
		.what = UNIC_REREG_RIGHTS | UNIC_REREG_PD,
		.pd = unic_ibv_pd(pd)->lib,
		.rights = unic_ibv_rights_of(pd->context, access),
	};
	int err = unic_rereg_mr(mr->lib, &attr, NULL);

	if (!err)
		mr->vmr.access = access;
	return err;
}

/* Registers [@addr, @addr + @length), with other keys, before what was registered ends. */
static int reg_anew(struct unic_ibv_mr *mr, struct ibv_pd *pd, void *addr,
		    size_t length, int access)
{
	struct unic_attach *at = unic_ibv_context(pd->context)->at;
	struct unic_mr *lib;
	int err = reg_lib(pd, addr, length, access, &lib);

	if (err)
		return err;
	unlink_mr(at, mr);
	err = unic_dereg_mr(mr->lib);
	if (err)
		unic_dereg_mr(lib);
	else
		name_mr(mr, lib, access);
	link_mr(at, mr);
	return err;
}

/* libibverbs has checked that @flags are known, and that a new range is not empty. */
int unic_ibv_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		      void *addr, size_t length, int access)
{
	struct unic_ibv_mr *mr = (struct unic_ibv_mr *)vmr;
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	int err;

	if (!(flags & IBV_REREG_MR_CHANGE_PD))
		pd = vmr->ibv_mr.pd;
	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		access = vmr->access;
	err = pd && pd->context == vmr->ibv_mr.context
		      ? -check_access(pd->context, access)
		      : -EINVAL;
	if (!err && !moves)
		err = change_lib(mr, pd, access);
	if (err == -ESTALE ||
	    (!err && moves)) /* the NIC changes no such region */
		err = reg_anew(mr, pd, moves ? addr : vmr->ibv_mr.addr,
			       moves ? length : vmr->ibv_mr.length, access);
	if (!err)
		return 0;
	errno = unic_ibv_errno(err);
	return IBV_REREG_MR_ERR_INPUT; /* the old region is as it was */
}

int unic_ibv_dereg_mr(struct verbs_mr *vmr)
{
	struct unic_attach *at = unic_ibv_context(vmr->ibv_mr.context)->at;
	struct unic_ibv_mr *mr = (struct unic_ibv_mr *)vmr;
	int err;

	unlink_mr(at, mr);
	err = unic_dereg_mr(mr->lib);
	if (err) {
		link_mr(at, mr);
		return unic_ibv_errno(err);
	}
	free(mr);
	return 0;
}

/* ---------------------------------------------------------------- advising */

static struct unic_ibv_mr *find_mr(const struct unic_attach *at, uint32_t lkey)
{
	struct unic_ibv_mr *mr = at->mrs;

	while (mr && mr->vmr.ibv_mr.lkey != lkey)
		mr = mr->next;
	return mr;
}

/* Brings the pages of @sge: 0 or an errno. */
static int prefetch(const struct unic_attach *at, struct ibv_pd *pd, bool write,
		    const struct ibv_sge *sge)
{
	const struct unic_ibv_mr *mr = find_mr(at, sge->lkey);
	const struct ibv_mr *is;
	uint64_t off;

	if (!mr)
		return ENOENT;
	is = &mr->vmr.ibv_mr;
	if (is->pd != pd ||
	    (write && !(mr->vmr.access & IBV_ACCESS_LOCAL_WRITE)))
		return EPERM;
	off = sge->addr - (uintptr_t)is->addr;
	if (off > is->length || sge->length > is->length - off)
		return EFAULT;
	return unic_ibv_errno(unic_advise_mr(mr->lib, off, sge->length,
					     UNIC_ADVISE_WILL_NEED));
}

/* The adapter has been told when the call returns, also without the flag FLUSH. */
int unic_ibv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		       uint32_t flags, struct ibv_sge *sg_list,
		       uint32_t num_sge)
{
	struct unic_attach *at = unic_ibv_context(pd->context)->at;
	int err = 0;
	uint32_t i;

	if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT ||
	    flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || !num_sge)
		return EINVAL;
	pthread_mutex_lock(&at->mrs_lock); /* no region ends meanwhile */
	for (i = 0; i < num_sge && !err; i++)
		err = prefetch(at, pd,
			       advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       &sg_list[i]);
	pthread_mutex_unlock(&at->mrs_lock);
	return err;
}
