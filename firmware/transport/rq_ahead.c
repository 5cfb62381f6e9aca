/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rq_ahead.c - see rq_ahead.h. */
#include "transport/rq_ahead.h"

#include "memory/fault.h"
#include "transport/rq.h"
#include "transport/rq_ring.h"

#define AHEAD_QPS 4u /* looked at in a round */

void unic_rq_ahead_more(struct unic_transport *nic)
{
	uint32_t i;

	if (!nic->qps.ahead_short)
		return;
	nic->qps.ahead_short = false;
	for (i = 0; i < UNIC_QPS; i++)
		if (nic->qps.qp[i].used)
			unic_rq_ahead_want(nic, &nic->qps.qp[i]);
}

/* False: too many misses are open. */
static bool prefetch_slot(struct unic_transport *nic,
			  const struct unic_qp_ctx *qp,
			  const struct unic_rq_slot *slot)
{
	uint32_t i, len;

	for (i = 0; i < slot->num_sge && i < UNIC_RQ_SGE_MAX; i++) {
		len = unic_from_le32(slot->sge[i].len);
		if (len &&
		    !unic_fault_ahead(&nic->memory,
				      unic_from_le32(slot->sge[i].lkey), qp->pd,
				      unic_from_le64(slot->sge[i].iova), len))
			return false;
	}
	return true;
}

static bool prefetch_receives(struct unic_transport *nic,
			      struct unic_qp_ctx *qp)
{
	struct unic_rq *rq = &qp->rq;
	uint32_t idx = unic_qp_index(nic, qp);
	int r = unic_rq_ring_fill(nic, qp); /* more: comes back here */

	if (r == -UNIC_EAGAIN && !rq->fetching)
		nic->qps.ahead[idx / 32] |= 1u << idx % 32;
	if ((int32_t)(rq->ahead - rq->head) < 0)
		rq->ahead = rq->head;
	for (; (int32_t)(rq->fetched - rq->ahead) > 0; rq->ahead++) {
		if (unic_rq_ring_is_gone(rq, rq->ahead) ||
		    prefetch_slot(nic, qp, unic_rq_ring_slot(rq, rq->ahead)))
			continue;
		nic->qps.ahead_short = true;
		break;
	}
	return r != -UNIC_EAGAIN || rq->fetching;
}

/* The first QP of those that want it, from QP @from on; UNIC_QPS: none. */
static uint32_t next_prefetch_qp(const struct unic_qps *qps, uint32_t from)
{
	uint32_t i = from / 32, left;

	for (; i < UNIC_QP_WORDS; i++, from = 0) {
		left = qps->ahead[i] & ~0u << from % 32;
		if (left)
			return i * 32 + (uint32_t)__builtin_ctz(left);
	}
	return UNIC_QPS;
}

bool unic_rq_ahead(struct unic_transport *nic)
{
	struct unic_qps *qps = &nic->qps;
	bool worked = false;
	uint32_t n, i;

	for (n = 0; n < AHEAD_QPS; n++) {
		i = next_prefetch_qp(qps, qps->ahead_at);
		if (i == UNIC_QPS)
			i = next_prefetch_qp(qps, 0);
		if (i == UNIC_QPS)
			break;
		qps->ahead_at = (uint16_t)(i + 1);
		qps->ahead[i / 32] &= ~(1u << i % 32);
		if (unic_rq_ring_is_posted_to(&qps->qp[i]))
			worked |= prefetch_receives(nic, &qps->qp[i]);
	}
	return worked;
}

bool unic_rq_ahead_due(const struct unic_transport *nic)
{
	uint32_t i, any = 0;

	for (i = 0; i < UNIC_QP_WORDS; i++)
		any |= nic->qps.ahead[i];
	return any != 0;
}
