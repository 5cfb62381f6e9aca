/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rq_sweep.c - see rq_sweep.h. */
#include "transport/rq_sweep.h"

#include <string.h>

#include "transport/rq_ring.h"

bool unic_rq_sweep_due(const struct unic_transport *nic)
{
	return unic_revoked_any(&nic->revoked);
}

/* The sweep is at its QP's oldest receive. */
static void sweep_begin_qp(struct unic_qps *qps)
{
	qps->sweep_at = qps->qp[qps->sweep_qp].rq.head;
	qps->sweep_have = 0;
	qps->sweep_stale = qps->sweep_fetching;
}

bool unic_rq_sweep_finds(const struct unic_transport *nic,
			 const struct unic_rq_slot *slot)
{
	uint32_t i;

	for (i = 0; i < slot->num_sge && i < UNIC_RQ_SGE_MAX; i++)
		if (slot->sge[i].len &&
		    unic_revoked_has(&nic->memory,
				     unic_from_le32(slot->sge[i].lkey)))
			return true;
	return false;
}

static void sweep_next_qp(struct unic_transport *nic)
{
	struct unic_qps *qps = &nic->qps;

	if (++qps->sweep_qp == UNIC_QPS) {
		qps->sweep_qp = 0;
		if (UNIC_SRQS)
			unic_srq_sweep_begin(nic);
	}
	unic_revoked_pass(&nic->memory);
	sweep_begin_qp(qps);
	qps->sweeping = unic_rq_sweep_due(nic);
}

void unic_rq_sweep_forget(struct unic_transport *nic, uint16_t idx)
{
	if (unic_rq_sweep_due(nic) && nic->qps.sweep_qp == idx)
		sweep_next_qp(nic);
}

void unic_rq_swept(struct unic_transport *nic, uint16_t idx, uint32_t count,
		   bool ok)
{
	struct unic_qps *qps = &nic->qps;

	qps->sweep_fetching = false;
	if (qps->sweep_stale) /* the sweep went on meanwhile */
		qps->sweep_stale = false;
	else if (ok)
		qps->sweep_have = (uint16_t)count;
	else
		sweep_next_qp(nic);
	unic_qp_dma_end(nic, &qps->qp[idx]);
}

/* Have slots [sweep_at, +sweep_have) in sweep_slot. What the window holds is
 * what a message would use, so that is looked at where there is a choice. */
static int sweep_read(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_qps *qps = &nic->qps;
	struct unic_rq *rq = &qp->rq;
	uint32_t n = unic_rq_ring_run(rq, qps->sweep_at);
	uint32_t kept = rq->fetched - qps->sweep_at;
	int r;

	if ((int32_t)kept > 0) {
		n = unic_rq_ring_min(n, kept);
		memcpy(qps->sweep_slot, unic_rq_ring_slot(rq, qps->sweep_at),
		       n * UNIC_SLOT_BYTES);
		qps->sweep_have = (uint16_t)n;
		return 0;
	}
	r = unic_rq_ring_fetch(nic, qp, qps->sweep_at, n, UNIC_DMA_SWEEP,
			       qps->sweep_slot);
	if (!r)
		qps->sweep_have = (uint16_t)n;
	if (r == -UNIC_EPENDING) {
		qps->sweep_fetching = true;
		qp->dmas++;
	}
	return r;
}

static bool sweep_slot(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t s, const struct unic_rq_slot *slot)
{
	struct unic_rq *rq = &qp->rq;

	if ((int32_t)(s - rq->head) < 0 || unic_rq_ring_is_gone(rq, s) ||
	    (rq->picked && s == rq->pick) || !unic_rq_sweep_finds(nic, slot))
		return true;
	if (!unic_rq_ring_fail(nic, qp, slot, UNIC_WC_EVICTED, UNIC_WD_NONE))
		return false;
	unic_rq_ring_mark_gone(rq, s);
	rq->substitute = true;
	return true;
}

static bool can_sweep_qp(const struct unic_qps *qps,
			 const struct unic_qp_ctx *qp)
{
	return unic_rq_ring_is_posted_to(qp) &&
	       (int32_t)(qp->rq.tail - qps->sweep_at) > 0;
}

/* What was read, at most a window. False: there is no room for a completion. */
static bool sweep_slots(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_qps *qps = &nic->qps;
	uint32_t i, n = qps->sweep_have;

	qps->sweep_have = 0; /* what is left is read again */
	for (i = 0; i < n; i++, qps->sweep_at++)
		if (!sweep_slot(nic, qp, qps->sweep_at, &qps->sweep_slot[i]))
			return false;
	return true;
}

bool unic_rq_sweep(struct unic_transport *nic)
{
	struct unic_qps *qps = &nic->qps;
	struct unic_qp_ctx *qp = &qps->qp[qps->sweep_qp];
	int r = 0;

	if (!qps->sweeping)
		sweep_begin_qp(qps);
	qps->sweeping = true;
	if (qps->sweep_fetching)
		return false;
	if (UNIC_SRQS && unic_srq_sweep_due(nic))
		return unic_srq_sweep(nic);
	if (UNIC_SRQS && qp->rq.srq && qp->rq.fetching)
		return false; /* in neither ring just now */
	if ((int32_t)(qps->sweep_at - qp->rq.head) < 0) {
		qps->sweep_at = qp->rq.head; /* passed meanwhile */
		qps->sweep_have = 0;
	}
	if (!can_sweep_qp(qps, qp)) {
		sweep_next_qp(nic);
		return true;
	}
	if (!qps->sweep_have)
		r = sweep_read(nic, qp);
	if (r == -UNIC_EBUS || r == -UNIC_EEVICTED)
		sweep_next_qp(nic); /* it will find out by itself */
	if (r)
		return r != -UNIC_EAGAIN;
	return sweep_slots(nic, qp);
}
