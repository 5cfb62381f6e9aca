/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rq.c - see rq.h. */
#include "transport/rq.h"

#include <string.h>

#include "transport/rq_ring.h"
#include "transport/transport.h"
#include "memory/access.h"

#define FLUSH_BATCH 16u
/* Receives that messages pass over in a round because their regions are gone or
 * they lie far behind; the message goes on with the next round. Not all of them
 * are for one that is looked at again, so that it gets on. */
#define LOOKS (2u * UNIC_RQ_WINDOW)

/* The receive in use. */
static const struct unic_rq_slot *picked_slot(const struct unic_rq *rq)
{
	return rq->far_pick ? &rq->far : &rq->win[rq->pick % UNIC_RQ_WINDOW];
}

/* ---------------------------------------------------------- completions */

bool unic_rq_complete(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      struct unic_cqe *cqe)
{
	struct unic_rq *rq = &qp->rq;

	if (!unic_rq_ring_complete(nic, qp, picked_slot(rq), cqe))
		return false;
	unic_rq_drop_holds(nic, qp);
	rq->picked = false;
	rq->checked = false;
	if (likely(rq->pick == rq->head)) {
		rq->head++;
		unic_rq_ring_advance(rq);
	} else {
		unic_rq_ring_mark_gone(rq, rq->pick);
	}
	if (rq->fetched - rq->head == UNIC_RQ_WINDOW / 2)
		unic_rq_ahead_want(nic, qp);
	return true;
}

/* ------------------------------------------------------------- the choice */

/* May a message pass over one more receive in this round? */
static bool can_skip_receive(struct unic_transport *nic)
{
	struct unic_qps *qps = &nic->qps;

	if (qps->looks_round != nic->polls + 1) {
		qps->looks_round = nic->polls + 1;
		qps->looks = LOOKS;
	}
	return qps->looks && qps->looks--;
}

static int fail_with_detail(uint8_t *detail, enum unic_wc_detail why)
{
	*detail = (uint8_t)why;
	return -UNIC_EINVAL;
}

/* The access check of all of a receive's buffers. */
static int check_receive(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 const struct unic_rq_slot *slot, uint8_t *detail)
{
	static const uint8_t zero[sizeof(slot->rsvd0)];
	struct unic_rq *rq = &qp->rq;
	struct unic_xlate piece;
	uint64_t room = 0;
	uint32_t i, len;
	int r;

	if (slot->num_sge > UNIC_RQ_SGE_MAX)
		return fail_with_detail(detail, UNIC_WD_SGE);
	if (memcmp(slot->rsvd0, zero, sizeof(zero)))
		return fail_with_detail(detail, UNIC_WD_FLAGS);
	for (i = 0; i < slot->num_sge; i++) {
		len = unic_from_le32(slot->sge[i].len);
		if (!len)
			continue;
		r = unic_access(&nic->memory, unic_from_le32(slot->sge[i].lkey),
				qp->pd, UNIC_MR_LOCAL_WRITE,
				unic_from_le64(slot->sge[i].iova), len, &piece);
		/* what its index is now says nothing of a receive that the
		 * sweep would have found before */
		if ((r == -UNIC_ESTAG || r == -UNIC_ERELEASED) &&
		    ((UNIC_SRQS && rq->lost) ||
		     unic_revoked_has(&nic->memory,
				      unic_from_le32(slot->sge[i].lkey))))
			r = -UNIC_EEVICTED;
		if (r) {
			*detail = unic_qp_refused(nic, qp, r);
			return r;
		}
		rq->mr[i] = piece.mr;
		room += len;
	}
	rq->room = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
	return 0;
}

/* Receive @s, which is @slot, met a message and is of no use. */
static int reject_receive(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  uint32_t s, const struct unic_rq_slot *slot, int err,
			  uint8_t detail)
{
	uint8_t status = err == -UNIC_EEVICTED ? UNIC_WC_EVICTED
			 : err == -UNIC_EINVAL ? UNIC_WC_LOC_QP_OP_ERR
					       : UNIC_WC_LOC_PROT_ERR;

	if (!can_skip_receive(nic) ||
	    !unic_rq_ring_fail(nic, qp, slot, status, detail))
		return -UNIC_EAGAIN;
	unic_rq_ring_mark_gone(&qp->rq, s);
	if (err != -UNIC_EEVICTED)
		return err;
	UNIC_COUNT(nic, rq_substituted);
	qp->rq.substitute = true;
	return 0;
}

/* Have the next receive of the shared queue of @qp, which has none of it: next_posted()
 * would have found one. As unic_rq_ring_fill(). */
static __attribute__((noinline)) int take_shared(struct unic_transport *nic,
						 struct unic_qp_ctx *qp)
{
	struct unic_rq *rq = &qp->rq;
	int r;

	if (qp->state == UNIC_QPS_ERR)
		return -UNIC_ENOQP;
	r = unic_srq_take(nic, rq->srq, unic_qp_index(nic, qp),
			  unic_rq_ring_slot(rq, rq->fetched), &rq->lost);
	if (r == -UNIC_EPENDING) {
		rq->fetching = true;
		qp->dmas++;
		return -UNIC_EAGAIN;
	}
	if (!r)
		rq->tail = ++rq->fetched;
	return r;
}

void unic_rq_shared_fetched(struct unic_transport *nic, uint16_t idx, bool ok)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	struct unic_rq *rq = &qp->rq;

	rq->fetching = false;
	if (ok)
		rq->tail = ++rq->fetched;
	unic_srq_taken(nic, rq->srq, ok);
	if (!ok)
		unic_qp_error(nic, qp, UNIC_WC_LOC_BUS_ERR);
	unic_qp_dma_end(nic, qp);
}

/* The next receive not before @*s that is fetched and not completed. */
static int next_posted(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t *s)
{
	struct unic_rq *rq = &qp->rq;
	int r;

	for (;;) {
		unic_rq_ring_advance(rq);
		if ((int32_t)(*s - rq->head) < 0)
			*s = rq->head;
		while (*s != rq->fetched && unic_rq_ring_is_gone(rq, *s))
			(*s)++;
		if (*s != rq->fetched)
			return 0;
		r = unic_rq_ring_fill(nic, qp);
		if (UNIC_SRQS && r == -UNIC_ENOQP && rq->srq)
			r = take_shared(nic, qp);
		if (r)
			return r;
	}
}

/* Is receive @s good for a message with data? 1: yes, 0: look further. */
static int try_receive(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t s, const struct unic_rq_slot *slot)
{
	struct unic_rq *rq = &qp->rq;
	uint8_t detail = 0;
	int r = check_receive(nic, qp, slot, &detail);

	if (r == -UNIC_EMISS)
		return r;
	if (r)
		return reject_receive(nic, qp, s, slot, r, detail);
	return !rq->substitute || rq->room >= rq->class_bytes;
}

static void pick_receive(struct unic_rq *rq, uint32_t s, bool data, bool far)
{
	rq->pick = s;
	rq->picked = true;
	rq->far_pick = far;
	rq->far_have = false;
	rq->checked = data;
	rq->substitute = false;
}

/* Have receive @s, which is behind the window, in rq->far. */
static int fetch_far(struct unic_transport *nic, struct unic_qp_ctx *qp,
		     uint32_t s)
{
	struct unic_rq *rq = &qp->rq;
	int r;

	if (rq->fetching)
		return -UNIC_EAGAIN;
	if (rq->far_have && rq->far_at == s)
		return 0;
	rq->far_at = s;
	rq->far_have = false;
	r = unic_rq_ring_fetch(nic, qp, s, 1, UNIC_DMA_RQ, &rq->far);
	if (r == -UNIC_EPENDING) {
		rq->fetching = true;
		rq->far_fetching = true;
		qp->dmas++;
		return -UNIC_EAGAIN;
	}
	rq->far_have = !r;
	return !r || r == -UNIC_EAGAIN ? r : -UNIC_EBUS;
}

/* Bytes it says it has. */
static uint64_t length_of(const struct unic_rq_slot *slot)
{
	uint64_t len = 0;
	uint32_t i;

	for (i = 0; i < slot->num_sge && i < UNIC_RQ_SGE_MAX; i++)
		len += unic_from_le32(slot->sge[i].len);
	return len;
}

/*
 * All of the window is too short for a substitute: the receives behind it, from
 * where the search was when it had to wait. At most a ring of them, once for
 * each time that something is posted, and some in each round.
 */
static int pick_far(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_rq *rq = &qp->rq;
	uint32_t s = rq->fetched;
	int r;

	if (rq->far_none)
		return -UNIC_ENOQP;
	if ((rq->far_have || rq->far_fetching) && (int32_t)(rq->far_at - s) > 0)
		s = rq->far_at;
	for (; s != rq->tail; s++) {
		if (unic_rq_ring_is_gone(rq, s))
			continue;
		if (!can_skip_receive(nic))
			return -UNIC_EAGAIN; /* from here on */
		r = fetch_far(nic, qp, s);
		if (r)
			return r;
		if (length_of(&rq->far) < rq->class_bytes)
			continue;
		r = try_receive(nic, qp, s, &rq->far);
		if (r < 0)
			return r;
		if (r) {
			pick_receive(rq, s, true, true);
			return 0;
		}
	}
	rq->far_have = false;
	rq->far_none = true;
	return -UNIC_ENOQP;
}

int unic_rq_pick(struct unic_transport *nic, struct unic_qp_ctx *qp, bool data)
{
	struct unic_rq *rq = &qp->rq;
	uint32_t s = rq->head;
	int r;

	if (rq->picked && (rq->held || !data))
		return 0;
	rq->picked = false; /* of a packet given again: look anew */
	for (;;) {
		r = next_posted(nic, qp, &s);
		if (r == -UNIC_ENOQP && data && rq->substitute)
			return pick_far(nic, qp);
		if (r)
			return r;
		r = data ? try_receive(nic, qp, s, unic_rq_ring_slot(rq, s))
			 : 1;
		if (r < 0)
			return r;
		if (r)
			break;
		s++;
	}
	pick_receive(rq, s, data, false);
	return 0;
}

int unic_rq_pick_from(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint32_t *s)
{
	struct unic_rq *rq = &qp->rq;
	uint32_t at;
	int r;

	rq->picked = false;
	do {
		r = next_posted(nic, qp, s);
		if (r)
			return r;
		at = (*s)++;
		r = try_receive(nic, qp, at, unic_rq_ring_slot(rq, at));
	} while (!r);
	if (r < 0)
		return r;
	pick_receive(rq, at, true, false);
	return 0;
}

void unic_rq_span(const struct unic_qp_ctx *qp, uint32_t off, uint32_t len,
		  struct unic_sgl *sgl)
{
	const struct unic_rq *rq = &qp->rq;
	const struct unic_rq_slot *slot = picked_slot(rq);
	uint32_t i, n, have;

	sgl->n = 0;
	for (i = 0; i < slot->num_sge && len; i++) {
		have = unic_from_le32(slot->sge[i].len);
		if (off >= have) {
			off -= have;
			continue;
		}
		n = unic_rq_ring_min(len, have - off);
		sgl->span[sgl->n++] = (struct unic_mr_span){
			.iova = unic_from_le64(slot->sge[i].iova) + off,
			.len = n,
			.mr = rq->mr[i],
		};
		len -= n;
		off = 0;
	}
}

/* ---------------------------------------------------------------- holds */

static uint32_t is_sge_used(const struct unic_rq *rq, uint32_t i)
{
	const struct unic_rq_slot *slot = picked_slot(rq);

	return rq->checked && i < slot->num_sge &&
	       unic_from_le32(slot->sge[i].len) != 0;
}

void unic_rq_hold(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	uint32_t i;

	if (!qp->rq.picked || qp->rq.held)
		return;
	for (i = 0; i < UNIC_RQ_SGE_MAX; i++)
		if (is_sge_used(&qp->rq, i))
			unic_mr_hold(&nic->memory, qp->rq.mr[i]);
	qp->rq.held = true;
}

void unic_rq_drop_holds(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	uint32_t i;

	if (!qp->rq.held)
		return;
	qp->rq.held = false;
	for (i = 0; i < UNIC_RQ_SGE_MAX; i++)
		if (is_sge_used(&qp->rq, i))
			unic_mr_unhold(&nic->memory, qp->rq.mr[i]);
}

uint16_t unic_rq_holds(const struct unic_qp_ctx *qp,
		       const struct unic_cuts *cuts)
{
	uint32_t i;

	if (!qp->rq.held)
		return UNIC_MR_NIL;
	for (i = 0; i < UNIC_RQ_SGE_MAX; i++)
		if (is_sge_used(&qp->rq, i) &&
		    unic_cuts_has(cuts, qp->rq.mr[i]))
			return qp->rq.mr[i];
	return UNIC_MR_NIL;
}

/* ---------------------------------------------------------------- flush */

/* The ring cannot be read any more: complete what was posted all the same. */
static void fetch_blank(struct unic_rq *rq)
{
	memset(unic_rq_ring_slot(rq, rq->fetched), 0,
	       sizeof(struct unic_rq_slot));
	rq->fetched++;
}

static int flush_receive(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 uint32_t *s)
{
	struct unic_rq *rq = &qp->rq;
	int r = next_posted(nic, qp, s);
	bool cut;

	if (r == -UNIC_EBUS) {
		fetch_blank(rq);
		return 0;
	}
	if (r)
		return r;
	cut = rq->cut && *s == rq->pick;
	if (!unic_rq_ring_fail(nic, qp, unic_rq_ring_slot(rq, *s),
			       cut ? UNIC_WC_EVICTED : UNIC_WC_WR_FLUSH_ERR,
			       cut ? UNIC_WD_BUSY : UNIC_WD_NONE))
		return -UNIC_EAGAIN;
	if (cut)
		rq->cut = false;
	unic_rq_ring_mark_gone(rq, *s);
	return 0;
}

bool unic_rq_flush(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	uint32_t s = qp->rq.head, n;
	int r;

	qp->rq.picked = false;
	for (n = 0; n < FLUSH_BATCH; n++) {
		r = flush_receive(nic, qp, &s);
		if (r)
			return r == -UNIC_ENOQP;
	}
	return false;
}
