/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cq.c - completion queues: making, arming and ending them. */
#include <errno.h>
#include <stdlib.h>

#include "attach.h"
#include "errnos.h"
#include "events.h"
#include "cq.h"
#include "queue.h"
#include "../libunic/cq.h"

struct unic_ibv_cq *unic_ibv_make_cq(struct ibv_context *ctx, uint32_t cqe,
				     struct ibv_comp_channel *channel,
				     uint32_t comp_vector)
{
	struct unic_ibv_cq *cq;
	int err;

	if (cqe < 1 || cqe > unic_ibv_context(ctx)->at->attr.cq_entries ||
	    comp_vector)
		return unic_ibv_null(-EINVAL);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return unic_ibv_null(-ENOMEM);
	err = unic_create_cq(unic_ibv_context(ctx)->at->cq_pd,
			     cqe < 2 ? 2 : cqe, &cq->lib);
	if (err) {
		free(cq);
		return unic_ibv_null(err);
	}
	cq->cq.context = ctx;
	cq->cq.cqe = (int)unic_cq_entries(cq->lib);
	pthread_mutex_init(&cq->polling, NULL);
	unic_events_add_cq(cq, channel);
	return cq;
}

struct ibv_cq *unic_ibv_create_cq(struct ibv_context *ctx, int cqe,
				  struct ibv_comp_channel *channel,
				  int comp_vector)
{
	return (struct ibv_cq *)unic_ibv_make_cq(ctx, (uint32_t)cqe, channel,
						 (uint32_t)comp_vector);
}

int unic_ibv_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct unic_ibv_cq *cq = unic_ibv_cq(ibcq);
	int err;

	if (cqe < 1)
		return EINVAL;
	err = unic_resize_cq(cq->lib, cqe < 2 ? 2 : (unsigned int)cqe);
	if (err)
		return unic_ibv_errno(err);
	ibcq->cqe = (int)unic_cq_entries(cq->lib);
	return 0;
}

int unic_ibv_destroy_cq(struct ibv_cq *ibcq)
{
	struct unic_ibv_cq *cq = unic_ibv_cq(ibcq);
	int err = unic_events_end_cq(cq);

	if (err)
		return unic_ibv_errno(err);
	unic_events_forget_cq(cq);
	pthread_mutex_destroy(&cq->polling);
	free(cq);
	return 0;
}

int unic_ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return unic_ibv_errno(
		unic_cq_arm_next(unic_ibv_cq(cq)->lib, solicited_only));
}
