/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* srq.c - see srq.h. Secret: what of their attributes unic has. */
#include "srq.h"

#include <errno.h>
#include <stdlib.h>

#include "attach.h"
#include "errnos.h"
#include "events.h"

static int create_lib_srq(struct ibv_pd *pd, struct ibv_srq_attr *attr,
			  struct unic_srq **out)
{
	int err;

	if (!attr->max_wr || attr->max_wr > unic_ibv_ring_slots(pd->context) ||
	    attr->max_sge > UNIC_IBV_SGE)
		return -EINVAL;
	err = unic_create_srq(unic_ibv_pd(pd)->lib,
			      attr->max_wr < 2 ? 2 : attr->max_wr, out);
	if (err)
		return err;
	attr->max_wr = unic_srq_slots(*out);
	attr->max_sge = UNIC_IBV_SGE;
	return 0;
}

static struct ibv_srq *create_basic(struct ibv_pd *pd, void *srq_context,
				    struct ibv_srq_attr *attr)
{
	struct unic_ibv_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (!srq)
		return unic_ibv_null(-ENOMEM);
	err = create_lib_srq(pd, attr, &srq->lib);
	if (err) {
		free(srq);
		return unic_ibv_null(err);
	}
	srq->srq.context = pd->context;
	srq->srq.srq_context = srq_context;
	srq->srq.pd = pd;
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	unic_events_add_srq(srq);
	return &srq->srq;
}

struct ibv_srq *unic_ibv_create_srq(struct ibv_pd *pd,
				    struct ibv_srq_init_attr *init)
{
	return create_basic(pd, init->srq_context, &init->attr);
}

struct ibv_srq *unic_ibv_create_srq_ex(struct ibv_context *ctx,
				       struct ibv_srq_init_attr_ex *init)
{
	uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;

	if (init->comp_mask & ~known ||
	    (init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE &&
	     init->srq_type != IBV_SRQT_BASIC))
		return unic_ibv_null(-EOPNOTSUPP);
	if (!(init->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !init->pd ||
	    init->pd->context != ctx)
		return unic_ibv_null(-EINVAL);
	return create_basic(init->pd, init->srq_context, &init->attr);
}

int unic_ibv_destroy_srq(struct ibv_srq *ibsrq)
{
	struct unic_ibv_srq *srq = unic_ibv_srq(ibsrq);
	int err = unic_events_end_srq(srq);

	if (err)
		return unic_ibv_errno(err);
	pthread_mutex_destroy(&ibsrq->mutex);
	pthread_cond_destroy(&ibsrq->cond);
	free(srq);
	return 0;
}

int unic_ibv_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
			int mask)
{
	struct unic_ibv_srq *srq = unic_ibv_srq(ibsrq);
	int err;

	if (mask & IBV_SRQ_MAX_WR) /* it cannot be resized */
		return EOPNOTSUPP;
	if (mask & ~IBV_SRQ_LIMIT || attr->srq_limit > unic_srq_slots(srq->lib))
		return EINVAL;
	if (!mask)
		return 0;
	/* its event, which may come before the answer, sets it to 0 */
	__atomic_store_n(&srq->limit, attr->srq_limit, __ATOMIC_RELAXED);
	err = unic_modify_srq(srq->lib, attr->srq_limit);
	if (err)
		__atomic_store_n(&srq->limit, 0, __ATOMIC_RELAXED);
	return unic_ibv_errno(err);
}

int unic_ibv_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct unic_ibv_srq *srq = unic_ibv_srq(ibsrq);

	*attr = (struct ibv_srq_attr){
		.max_wr = unic_srq_slots(srq->lib),
		.max_sge = UNIC_IBV_SGE,
		.srq_limit = __atomic_load_n(&srq->limit, __ATOMIC_RELAXED),
	};
	return 0;
}
