/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rq_ring.c - see rq_ring.h. */
#include "transport/rq_ring.h"

#include "memory/access.h"
#include "transport/rq.h"

#define FETCH_ALIGN 4096u /* no region has smaller pages */

void unic_rq_ring_advance(struct unic_rq *rq)
{
	uint32_t end = rq->fetching ? rq->fetched : rq->tail;

	while (rq->head != end && unic_rq_ring_is_gone(rq, rq->head)) {
		uint32_t s = rq->head & rq->mask;

		*unic_rq_ring_mark(rq, s) &= ~(1u << s % 32);
		rq->head++;
	}
	if ((int32_t)(rq->head - rq->fetched) > 0)
		rq->fetched = rq->head;
	if (!rq->picked && (int32_t)(rq->head - rq->pick) > 0)
		rq->pick = rq->head;
}

void unic_rq_ring_mark_gone(struct unic_rq *rq, uint32_t s)
{
	s &= rq->mask;
	*unic_rq_ring_mark(rq, s) |= 1u << s % 32;
	unic_rq_ring_advance(rq);
}

uint32_t unic_rq_ring_run(const struct unic_rq *rq, uint32_t s)
{
	uint32_t at = s & rq->mask;
	uint64_t iova = rq->iova + (uint64_t)at * UNIC_SLOT_BYTES;
	uint32_t page = (uint32_t)(iova & (FETCH_ALIGN - 1));
	uint32_t n = unic_rq_ring_min(rq->tail - s, rq->mask + 1 - at);

	n = unic_rq_ring_min(n, (FETCH_ALIGN - page) / UNIC_SLOT_BYTES);
	return unic_rq_ring_min(n, UNIC_RQ_WINDOW - s % UNIC_RQ_WINDOW);
}

int unic_rq_ring_fetch(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t s, uint32_t n, enum unic_dma_owner owner,
		       void *to)
{
	uint32_t bytes = n * UNIC_SLOT_BYTES;
	struct unic_rq *rq = &qp->rq;
	struct unic_xlate piece;
	int r;

	r = unic_xlate(&nic->memory, qp->mr,
		       rq->iova + (uint64_t)(s & rq->mask) * UNIC_SLOT_BYTES,
		       bytes, &piece);
	if (r)
		return r;
	if (piece.len < bytes)
		return -UNIC_EBUS; /* unic_rq_ring_run() keeps within a page */
	return unic_dma_fetch(nic, owner, unic_qp_index(nic, qp), qp->mr,
			      piece.bus, to, n);
}

void unic_rq_ahead_want(struct unic_transport *nic,
			const struct unic_qp_ctx *qp)
{
	uint32_t idx = unic_qp_index(nic, qp);

	if (!nic->cache.regions[qp->proc])
		return;
	nic->qps.ahead[idx / 32] |= 1u << idx % 32;
	nic->chores = true;
}

static void add_fetched(struct unic_transport *nic, struct unic_qp_ctx *qp,
			uint32_t n)
{
	qp->rq.fetched += n;
	unic_rq_ahead_want(nic, qp);
}

int unic_rq_ring_fill(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_rq *rq = &qp->rq;
	uint32_t n =
		unic_rq_ring_min(unic_rq_ring_run(rq, rq->fetched),
				 UNIC_RQ_WINDOW - (rq->fetched - rq->head));
	int r;

	if (rq->fetching)
		return -UNIC_EAGAIN;
	if (!n)
		return -UNIC_ENOQP;
	r = unic_rq_ring_fetch(nic, qp, rq->fetched, n, UNIC_DMA_RQ,
			       unic_rq_ring_slot(rq, rq->fetched));
	if (r == -UNIC_EPENDING) {
		rq->fetching = true;
		qp->dmas++;
		return -UNIC_EAGAIN;
	}
	if (!r)
		add_fetched(nic, qp, n);
	else if (r != -UNIC_EAGAIN)
		return -UNIC_EBUS;
	return r;
}

void unic_rq_fetched(struct unic_transport *nic, uint16_t idx, uint32_t count,
		     bool ok)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	qp->rq.fetching = false;
	if (qp->rq.far_fetching)
		qp->rq.far_have = ok;
	else if (ok)
		add_fetched(nic, qp, count);
	qp->rq.far_fetching = false;
	if (!ok)
		unic_qp_error(nic, qp, UNIC_WC_LOC_BUS_ERR);
	unic_qp_dma_end(nic, qp);
}

bool unic_rq_ring_complete(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   const struct unic_rq_slot *slot,
			   struct unic_cqe *cqe)
{
	cqe->wr_id = slot->wr_id;
	cqe->qpn = unic_to_le32(qp->qpn);
	if (!unic_cq_post(nic, qp->recv_cq, cqe))
		return false;
	UNIC_TRACE(nic, WC, qp->proc, qp->qpn, cqe->opcode, cqe->status,
		   unic_from_le32(cqe->byte_len));
	return true;
}

bool unic_rq_ring_fail(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       const struct unic_rq_slot *slot, uint8_t status,
		       uint8_t detail)
{
	struct unic_cqe cqe = {
		.opcode = UNIC_WC_RECV,
		.status = status,
		.detail = detail,
	};

	return unic_rq_ring_complete(nic, qp, slot, &cqe);
}
