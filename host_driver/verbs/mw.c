/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mw.c - see mw.h.
 *
 * The adapter binds windows of type 1 by command alone, which no completion follows. So such a
 * window has another one of type 2, which is never bound: a request that leaves that as it is completes
 * in the place of the one that the program asked for.
 */
#include "mw.h"

#include <errno.h>
#include <stdlib.h>

#include "attach.h"
#include "build.h"
#include "errnos.h"
#include "mr.h"
#include "post.h"

struct unic_ibv_mw {
	struct ibv_mw mw;
	struct unic_mr *lib;
	struct unic_mr *completes; /* of type 1; else NULL */
};

static struct unic_ibv_mw *mw_of(const struct ibv_mw *mw)
{
	return (struct unic_ibv_mw *)(uintptr_t)mw;
}

/* ------------------------------------------------------------- allocating */

static int alloc_lib(struct ibv_pd *pd, enum ibv_mw_type type,
		     struct unic_ibv_mw *mw)
{
	struct unic_pd *lib = unic_ibv_pd(pd)->lib;
	int err;

	if (type == IBV_MW_TYPE_2)
		return unic_alloc_mw(lib, 2, &mw->lib);
	err = unic_alloc_mw(lib, 1, &mw->lib);
	if (!err)
		err = unic_alloc_mw(lib, 2, &mw->completes);
	if (err && mw->lib)
		unic_dereg_mr(mw->lib);
	return err;
}

struct ibv_mw *unic_ibv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct unic_ibv_mw *mw;
	int err;

	if (!unic_ibv_has_windows(pd->context))
		return unic_ibv_null(-EOPNOTSUPP);
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return unic_ibv_null(-EINVAL);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return unic_ibv_null(-ENOMEM);
	err = alloc_lib(pd, type, mw);
	if (err) {
		free(mw);
		return unic_ibv_null(err);
	}
	mw->mw = (struct ibv_mw){
		.context = pd->context,
		.pd = pd,
		.rkey = mw->lib->stag,
		.type = type,
	};
	return &mw->mw;
}

int unic_ibv_dealloc_mw(struct ibv_mw *ibmw)
{
	struct unic_ibv_mw *mw = mw_of(ibmw);
	int err;

	if (mw->completes) {
		err = unic_dereg_mr(mw->completes);
		if (err)
			return unic_ibv_errno(err);
		mw->completes = NULL;
	}
	err = unic_dereg_mr(mw->lib);
	if (err)
		return unic_ibv_errno(err);
	free(mw);
	return 0;
}

/* ---------------------------------------------------------------- binding */

/* A window lets peers in, so LOCAL_WRITE, which libibverbs lets programs ask for, grants
 * nothing. */
#define BIND_KNOWN                                          \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static int check_info(const struct ibv_mw *mw,
		      const struct ibv_mw_bind_info *info)
{
	if (info->mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EOPNOTSUPP;
	if (info->mw_access_flags & ~(unsigned int)BIND_KNOWN ||
	    (info->length && !info->mr) || info->length > UINT32_MAX)
		return EINVAL;
	return info->mr && info->mr->context != mw->context ? EINVAL : 0;
}

static unsigned int bind_rights_of(const struct ibv_mw *mw, unsigned int access)
{
	return unic_ibv_rights_of(mw->context,
				  (int)access & ~IBV_ACCESS_LOCAL_WRITE);
}

/* A request that completes as one that binds @mw. */
static int post_completion(struct unic_ibv_qp *qp, struct unic_ibv_mw *mw,
			   const struct ibv_mw_bind *bind)
{
	const struct unic_mw_bind none = { 0 };

	return unic_post_bind_mw(
		qp->lib, bind->wr_id,
		UNIC_WR_SIGNALED |
			(bind->send_flags & IBV_SEND_FENCE ? UNIC_WR_FENCE : 0),
		mw->completes, &none);
}

/* Binds @mw, and posts what completes: 0 or -errno. */
static int bind_and_post(struct unic_ibv_qp *qp, struct unic_ibv_mw *mw,
			 const struct ibv_mw_bind *bind)
{
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	struct unic_mr *of =
		info->length ? ((struct unic_ibv_mr *)info->mr)->lib : NULL;
	int err;

	if (!unic_ibv_post_room(qp))
		return -ENOMEM;
	err = unic_bind_mw(mw->lib, of, (void *)(uintptr_t)info->addr,
			   info->length,
			   bind_rights_of(&mw->mw, info->mw_access_flags));
	if (err)
		return err;
	if (bind->send_flags & IBV_SEND_SIGNALED || qp->signal_all)
		err = post_completion(qp, mw, bind);
	if (err) /* the queue has failed, or others have taken the room */
		unic_bind_mw(mw->lib, NULL, NULL, 0, 0);
	mw->mw.rkey = mw->lib->stag;
	return err;
}

/* libibverbs has checked the type, and that region and window are of one domain. */
int unic_ibv_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		     struct ibv_mw_bind *bind)
{
	struct unic_ibv_qp *qp = unic_ibv_qp(ibqp);
	int err = check_info(mw, &bind->bind_info);

	if (err)
		return err;
	if (ibqp->qp_type == IBV_QPT_UD || ibqp->pd != mw->pd ||
	    bind->send_flags &
		    ~(unsigned int)(IBV_SEND_SIGNALED | IBV_SEND_FENCE))
		return EINVAL;
	err = unic_ibv_post_state(qp);
	if (err)
		return err;
	if (qp->build)
		unic_ibv_build_lock(qp->build);
	err = bind_and_post(qp, mw_of(mw), bind);
	if (qp->build)
		unic_ibv_build_unlock(qp->build);
	return unic_ibv_errno(err == -ERANGE ? -EINVAL : err);
}

/* -------------------------------------------------------- by work request */

int unic_ibv_check_bind(const struct ibv_mw *mw, uint32_t rkey,
			const struct ibv_mw_bind_info *info)
{
	/* a program may choose the low byte of a name */
	if (!mw || mw->type != IBV_MW_TYPE_2 || (mw->rkey ^ rkey) >> 8)
		return EINVAL;
	return check_info(mw, info);
}

void unic_ibv_put_bind(const struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info, struct unic_sg *sg,
		       struct unic_sge *range, struct unic_send_wr *to)
{
	*sg = (struct unic_sg){ .addr = range };
	if (info->length) {
		*range = (struct unic_sge){
			.iova = unic_to_le64(info->addr),
			.len = unic_to_le32((uint32_t)info->length),
			.lkey = unic_to_le32(info->mr->lkey),
		};
		sg->len = sizeof(*range);
	}
	to->flags |= UNIC_WR_INLINE;
	to->num_sge = 1;
	to->sg = sg;
	to->rkey = mw_of(mw)->lib->stag;
	to->imm = (rkey & 0xff) | bind_rights_of(mw, info->mw_access_flags)
					  << 8;
	to->remote = info->length ? info->addr : 0;
}

void unic_ibv_bind_posted(struct ibv_mw *mw, uint32_t rkey)
{
	mw_of(mw)->lib->stag = rkey;
}
