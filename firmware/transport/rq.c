/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rq.c - see rq.h. */
#include "transport/rq.h"

#include <string.h>

#include "memory/fault.h"
#include "transport/transport.h"
#include "memory/access.h"

#define FLUSH_BATCH 16u
#define FETCH_ALIGN 4096u /* no region has smaller pages */
/* Receives that messages pass over in a round because their regions are gone or
 * they lie far behind; the message goes on with the next round. Not all of them
 * are for one that is looked at again, so that it gets on. */
#define LOOKS	  (2u * UNIC_RQ_WINDOW)
#define AHEAD_QPS 4u /* looked at ahead of their messages in a round */

static struct unic_rq_slot *slot_of(struct unic_rq *rq, uint32_t s)
{
	return &rq->win[s % UNIC_RQ_WINDOW];
}

/* The receive in use. */
static const struct unic_rq_slot *picked_slot(const struct unic_rq *rq)
{
	return rq->far_pick ? &rq->far : &rq->win[rq->pick % UNIC_RQ_WINDOW];
}

static bool is_slot_gone(const struct unic_rq *rq, uint32_t s)
{
	s &= rq->mask;
	return rq->gone[s / 32] >> s % 32 & 1;
}

/*
 * Past all that is completed, also where it was never fetched: the process may
 * post into every slot that it saw complete. While a fetch is under way the
 * window stays where it is.
 */
static void advance_head(struct unic_rq *rq)
{
	uint32_t end = rq->fetching ? rq->fetched : rq->tail;

	while (rq->head != end && is_slot_gone(rq, rq->head)) {
		uint32_t s = rq->head & rq->mask;

		rq->gone[s / 32] &= ~(1u << s % 32);
		rq->head++;
	}
	if ((int32_t)(rq->head - rq->fetched) > 0)
		rq->fetched = rq->head;
	if (!rq->picked && (int32_t)(rq->head - rq->pick) > 0)
		rq->pick = rq->head;
}

static void mark_slot_gone(struct unic_rq *rq, uint32_t s)
{
	s &= rq->mask;
	rq->gone[s / 32] |= 1u << s % 32;
	advance_head(rq);
}

/* ---------------------------------------------------------------- slots */

static uint32_t rq_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Slots from @s on that lie together in the ring, the page and a window. */
static uint32_t run_of(const struct unic_rq *rq, uint32_t s)
{
	uint32_t at = s & rq->mask;
	uint64_t iova = rq->iova + (uint64_t)at * UNIC_SLOT_BYTES;
	uint32_t page = (uint32_t)(iova & (FETCH_ALIGN - 1));
	uint32_t n = rq_min(rq->tail - s, rq->mask + 1 - at);

	n = rq_min(n, (FETCH_ALIGN - page) / UNIC_SLOT_BYTES);
	return rq_min(n, UNIC_RQ_WINDOW - s % UNIC_RQ_WINDOW);
}

static int fetch_slots(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t s, uint32_t n, enum unic_dma_owner owner,
		       void *to)
{
	uint32_t bytes = n * UNIC_SLOT_BYTES;
	struct unic_rq *rq = &qp->rq;
	struct unic_piece piece;
	int r;

	r = unic_xlate(&nic->memory, qp->mr,
		       rq->iova + (uint64_t)(s & rq->mask) * UNIC_SLOT_BYTES,
		       bytes, &piece);
	if (r)
		return r;
	if (piece.len < bytes)
		return -UNIC_EBUS; /* run_of() keeps within a page */
	return unic_dma_fetch(nic, owner, unic_qp_index(nic, qp), qp->mr,
			      piece.bus, to, n);
}

static void add_fetched(struct unic_transport *nic, struct unic_qp_ctx *qp,
			uint32_t n)
{
	qp->rq.fetched += n;
	unic_rq_ahead_want(nic, qp);
}

/* More slots for the window. 0, -UNIC_EAGAIN, -UNIC_ENOQP (none), -UNIC_EBUS */
static int fetch_window(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_rq *rq = &qp->rq;
	uint32_t n = rq_min(run_of(rq, rq->fetched),
			    UNIC_RQ_WINDOW - (rq->fetched - rq->head));
	int r;

	if (rq->fetching)
		return -UNIC_EAGAIN;
	if (!n)
		return -UNIC_ENOQP;
	r = fetch_slots(nic, qp, rq->fetched, n, UNIC_DMA_RQ,
			slot_of(rq, rq->fetched));
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

/* ---------------------------------------------------------- completions */

static bool post_recv_cqe(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  const struct unic_rq_slot *slot, struct unic_cqe *cqe)
{
	cqe->wr_id = slot->wr_id;
	cqe->qpn = unic_to_le32(qp->qpn);
	if (!unic_cq_post(nic, qp->recv_cq, cqe))
		return false;
	UNIC_TRACE(nic, WC, qp->proc, qp->qpn, cqe->opcode, cqe->status,
		   unic_from_le32(cqe->byte_len));
	return true;
}

/* A receive that nothing was placed in. */
static bool post_error_cqe(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   const struct unic_rq_slot *slot, uint8_t status,
			   uint8_t detail)
{
	struct unic_cqe cqe = {
		.opcode = UNIC_WC_RECV,
		.status = status,
		.detail = detail,
	};

	return post_recv_cqe(nic, qp, slot, &cqe);
}

bool unic_rq_complete(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      struct unic_cqe *cqe)
{
	struct unic_rq *rq = &qp->rq;

	if (!post_recv_cqe(nic, qp, picked_slot(rq), cqe))
		return false;
	unic_rq_drop_holds(nic, qp);
	rq->picked = false;
	rq->checked = false;
	if (likely(rq->pick == rq->head)) {
		rq->head++;
		advance_head(rq);
	} else {
		mark_slot_gone(rq, rq->pick);
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
	struct unic_piece piece;
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
		if (r == -UNIC_ESTAG &&
		    unic_revoked_has(&nic->memory,
				     unic_from_le32(slot->sge[i].lkey)))
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
	    !post_error_cqe(nic, qp, slot, status, detail))
		return -UNIC_EAGAIN;
	mark_slot_gone(&qp->rq, s);
	if (err != -UNIC_EEVICTED)
		return err;
	UNIC_COUNT(nic, rq_substituted);
	qp->rq.substitute = true;
	return 0;
}

/* The next receive not before @*s that is fetched and not completed. */
static int next_posted(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t *s)
{
	struct unic_rq *rq = &qp->rq;
	int r;

	for (;;) {
		advance_head(rq);
		if ((int32_t)(*s - rq->head) < 0)
			*s = rq->head;
		while (*s != rq->fetched && is_slot_gone(rq, *s))
			(*s)++;
		if (*s != rq->fetched)
			return 0;
		r = fetch_window(nic, qp);
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
	r = fetch_slots(nic, qp, s, 1, UNIC_DMA_RQ, &rq->far);
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
		if (is_slot_gone(rq, s))
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
		r = data ? try_receive(nic, qp, s, slot_of(rq, s)) : 1;
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
		r = try_receive(nic, qp, at, slot_of(rq, at));
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
		n = rq_min(len, have - off);
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
	memset(slot_of(rq, rq->fetched), 0, sizeof(struct unic_rq_slot));
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
	if (!post_error_cqe(nic, qp, slot_of(rq, *s),
			    cut ? UNIC_WC_EVICTED : UNIC_WC_WR_FLUSH_ERR,
			    cut ? UNIC_WD_BUSY : UNIC_WD_NONE))
		return -UNIC_EAGAIN;
	if (cut)
		rq->cut = false;
	mark_slot_gone(rq, *s);
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

/* -------------------------------------------------- ahead of a message */

static bool is_posted_to(const struct unic_qp_ctx *qp)
{
	return qp->used && !qp->dying && qp->state != UNIC_QPS_RESET &&
	       qp->state != UNIC_QPS_ERR;
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
	int r = fetch_window(nic, qp); /* more: comes back here */

	if (r == -UNIC_EAGAIN && !rq->fetching)
		nic->qps.ahead[idx / 32] |= 1u << idx % 32;
	if ((int32_t)(rq->ahead - rq->head) < 0)
		rq->ahead = rq->head;
	for (; (int32_t)(rq->fetched - rq->ahead) > 0; rq->ahead++) {
		if (is_slot_gone(rq, rq->ahead) ||
		    prefetch_slot(nic, qp, slot_of(rq, rq->ahead)))
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
		if (is_posted_to(&qps->qp[i]))
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

/* ---------------------------------------------------------------- sweep */

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

static bool has_revoked_sge(const struct unic_transport *nic,
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

	if (++qps->sweep_qp == UNIC_QPS)
		qps->sweep_qp = 0;
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
	uint32_t n = run_of(rq, qps->sweep_at);
	uint32_t kept = rq->fetched - qps->sweep_at;
	int r;

	if ((int32_t)kept > 0) {
		n = rq_min(n, kept);
		memcpy(qps->sweep_slot, slot_of(rq, qps->sweep_at),
		       n * UNIC_SLOT_BYTES);
		qps->sweep_have = (uint16_t)n;
		return 0;
	}
	r = fetch_slots(nic, qp, qps->sweep_at, n, UNIC_DMA_SWEEP,
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

	if ((int32_t)(s - rq->head) < 0 || is_slot_gone(rq, s) ||
	    (rq->picked && s == rq->pick) || !has_revoked_sge(nic, slot))
		return true;
	if (!post_error_cqe(nic, qp, slot, UNIC_WC_EVICTED, UNIC_WD_NONE))
		return false;
	mark_slot_gone(rq, s);
	rq->substitute = true;
	return true;
}

static bool can_sweep_qp(const struct unic_qps *qps,
			 const struct unic_qp_ctx *qp)
{
	return is_posted_to(qp) && (int32_t)(qp->rq.tail - qps->sweep_at) > 0;
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
