/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * wr.c - work requests: posting them to the rings of a queue pair. See wr.h.
 *
 * Secret: the layout of a work request in the slots of a ring (abi/unic_queue.h).
 */
#include "wr.h"

#include <errno.h>

#include "desc.h"
#include "doorbell.h"
#include "event.h"
#include "fork.h"
#include "replay.h"

static void record_shadow(struct unic_ring *ring, uint64_t wr_id,
			  unsigned int slots)
{
	struct unic_shadow *s = &ring->shadow[ring->posted & ring->mask];

	*s = (struct unic_shadow){ .wr_id = wr_id,
				   .nth = ring->sends,
				   .slots = (uint8_t)slots };
	/* Only the first slot of a request has its size. */
	if (slots > 1)
		ring->shadow[(ring->posted + 1) & ring->mask].slots = 0;
	__atomic_store_n(&ring->posted, ring->posted + slots, __ATOMIC_RELEASE);
}

static uint32_t inline_bytes(const struct unic_send_wr *wr)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < wr->num_sge; i++)
		n += wr->sg[i].len;
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static bool is_atomic(uint8_t opcode)
{
	return opcode == UNIC_WR_COMPARE_SWAP || opcode == UNIC_WR_FETCH_ADD;
}

/* True if @wr, an atomic operation, can be posted. Whether one that was cut was executed
 * is not known, so it cannot be posted again. */
static bool is_atomic_ok(const struct unic_qp *qp,
			 const struct unic_send_wr *wr)
{
	return qp->ctx->attr.features & UNIC_FEAT_ATOMICS &&
	       qp->mend.how != UNIC_QP_CUT_REPLAY && wr->num_sge == 1 &&
	       wr->sg->len == UNIC_ATOMIC_BYTES &&
	       !(wr->flags & UNIC_WR_INLINE);
}

/* The slots that @wr needs; 0: @wr is malformed. */
static unsigned int slots_of(const struct unic_qp *qp,
			     const struct unic_send_wr *wr)
{
	if (is_atomic(wr->opcode) && !is_atomic_ok(qp, wr))
		return 0;
	if (wr->opcode < UNIC_WR_SEND || wr->opcode > UNIC_WR_FETCH_ADD ||
	    wr->num_sge > UNIC_SQ_SGE_MAX || wr->flags & ~UNIC_WR_FLAGS_ALL)
		return 0;
	if (!(wr->flags & UNIC_WR_INLINE))
		return wr->num_sge > UNIC_SQ_SGE_BASE ? 2 : 1;
	if (wr->opcode == UNIC_WR_READ || inline_bytes(wr) > UNIC_SQ_INLINE_MAX)
		return 0;
	return inline_bytes(wr) > UNIC_SQ_INLINE_BASE ? 2 : 1;
}

static void put_sges(struct unic_sq_slot *base, struct unic_sq_ext *ext,
		     const struct unic_send_wr *wr)
{
	unsigned int i;

	for (i = 0; i < wr->num_sge; i++)
		unic_put_sge(i < UNIC_SQ_SGE_BASE
				     ? &base->sge[i]
				     : &ext->sge[i - UNIC_SQ_SGE_BASE],
			     &wr->sg[i]);
}

/* The operands, behind the one SGE. */
static void put_operands(struct unic_sq_slot *base,
			 const struct unic_send_wr *wr)
{
	const struct unic_atomic *a = (const void *)wr->sg;
	struct unic_wr_atomic operands = {
		.operand = unic_to_le64(a->operand),
		.swap = unic_to_le64(a->swap),
	};

	memcpy(&base->sge[1], &operands, sizeof(operands));
}

static void put_inline(struct unic_sq_slot *base, struct unic_sq_ext *ext,
		       const struct unic_send_wr *wr)
{
	uint8_t data[UNIC_SQ_INLINE_MAX];
	unsigned int n = 0;
	unsigned int i;

	for (i = 0; i < wr->num_sge; i++) {
		memcpy(data + n, wr->sg[i].addr, wr->sg[i].len);
		n += wr->sg[i].len;
	}
	base->inline_len = (uint8_t)n;
	memcpy(base->sge, data,
	       n < UNIC_SQ_INLINE_BASE ? n : UNIC_SQ_INLINE_BASE);
	if (n > UNIC_SQ_INLINE_BASE)
		memcpy(ext, data + UNIC_SQ_INLINE_BASE,
		       n - UNIC_SQ_INLINE_BASE);
}

static void build_wqe(struct unic_ring *sq, const struct unic_send_wr *wr,
		      unsigned int slots)
{
	struct unic_sq_slot *ring = sq->slot;
	struct unic_sq_slot *base = &ring[sq->posted & sq->mask];
	struct unic_sq_ext *ext = (void *)&ring[(sq->posted + 1) & sq->mask];
	struct unic_sq_slot head = {
		.opcode = wr->opcode,
		.flags = wr->flags,
		.num_sge = wr->flags & UNIC_WR_INLINE ? 0 : wr->num_sge,
		.imm = unic_to_le32(wr->imm),
		.wr_id = unic_to_le64(sq->posted),
		.remote = unic_to_le64(wr->remote),
		.rkey = unic_to_le32(wr->rkey),
		.ctrl_len = unic_to_le32(wr->ctrl_len),
	};

	*base = head;
	if (wr->flags & UNIC_WR_INLINE)
		put_inline(base, ext, wr);
	else
		put_sges(base, ext, wr);
	if (is_atomic(wr->opcode))
		put_operands(base, wr);
	sq->sends += unic_replay_counts(wr->opcode);
	record_shadow(sq, wr->wr_id, slots);
}

/* Tell the NIC of what was posted, unless the queue pair is being mended. */
static void ring_doorbell(struct unic_qp *qp, struct unic_ring *ring,
			  enum unic_db_kind kind)
{
	if (ring->hold)
		return;
	ring->rung = ring->posted;
	unic_db_ring(qp->ctx, kind, qp->db, ring->posted);
}

int unic_sq_begin(struct unic_qp *qp)
{
	if (qp->ctx->forked)
		return unic_fail_forked();
	if (__atomic_load_n(&qp->descs, __ATOMIC_RELAXED))
		unic_event_pump(qp->ctx);
	pthread_mutex_lock(&qp->sq.lock);
	return 0;
}

int unic_sq_put(struct unic_qp *qp, const struct unic_send_wr *wr)
{
	unsigned int slots = slots_of(qp, wr);

	if (!slots)
		return -EINVAL;
	if (slots > unic_ring_free(&qp->sq))
		return -EAGAIN;
	if (__atomic_load_n(&qp->descs, __ATOMIC_ACQUIRE) &&
	    unic_desc_refuses(qp, wr))
		return -EOWNERDEAD;
	build_wqe(&qp->sq, wr, slots);
	return 0;
}

void unic_sq_end(struct unic_qp *qp)
{
	if (qp->sq.rung != qp->sq.posted)
		ring_doorbell(qp, &qp->sq, UNIC_DB_SQ);
	pthread_mutex_unlock(&qp->sq.lock);
}

/* The first of @wr that is malformed; @n: none is. */
static unsigned int find_malformed(const struct unic_qp *qp,
				   const struct unic_send_wr *wr,
				   unsigned int n)
{
	unsigned int i = 0;

	while (i < n && slots_of(qp, &wr[i]))
		i++;
	return i;
}

int unic_post_send(struct unic_qp *qp, const struct unic_send_wr *wr,
		   unsigned int n)
{
	unsigned int i;
	int err = unic_sq_begin(qp);

	if (err)
		return err;
	i = find_malformed(qp, wr, n);
	if (i < n) {
		unic_sq_end(qp);
		return unic_fail(-EINVAL,
				 "send request %u of %u is malformed "
				 "(opcode %u, %u SGEs, flags %#x)",
				 i, n, wr[i].opcode, wr[i].num_sge,
				 wr[i].flags);
	}
	for (i = 0; i < n && !err; i += !err)
		err = unic_sq_put(qp, &wr[i]);
	unic_sq_end(qp);
	if (!i && err == -EOWNERDEAD)
		return unic_fail(-EOWNERDEAD,
				 "the peer has taken STag %#x back: ask for "
				 "another descriptor",
				 wr[0].rkey);
	return i || !n ? (int)i : -EAGAIN;
}

static int post_atomic(struct unic_qp *qp, uint8_t opcode, uint64_t wr_id,
		       unsigned int flags, const struct unic_atomic *atomic,
		       const struct unic_remote *at)
{
	struct unic_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.flags = (uint8_t)flags,
		.num_sge = 1,
		.remote = at->iova,
		.rkey = at->rkey,
		.sg = &atomic->result,
	};
	int n;

	if (!(qp->ctx->attr.features & UNIC_FEAT_ATOMICS))
		return unic_fail(-EOPNOTSUPP, "the NIC has no atomic "
					      "operations");
	if (flags > UINT8_MAX)
		return unic_fail(-EINVAL, "a flag is not known");
	n = unic_post_send(qp, &wr, 1);
	return n < 0 ? n : 0;
}

int unic_post_compare_swap(struct unic_qp *qp, uint64_t wr_id,
			   unsigned int flags, const struct unic_atomic *atomic,
			   const struct unic_remote *at)
{
	return post_atomic(qp, UNIC_WR_COMPARE_SWAP, wr_id, flags, atomic, at);
}

int unic_post_fetch_add(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
			const struct unic_atomic *atomic,
			const struct unic_remote *at)
{
	return post_atomic(qp, UNIC_WR_FETCH_ADD, wr_id, flags, atomic, at);
}

int unic_post_recv(struct unic_qp *qp, const struct unic_recv_wr *wr,
		   unsigned int n)
{
	struct unic_ring *rq = &qp->rq;
	struct unic_rq_slot *ring = rq->slot;
	unsigned int i;
	unsigned int k;

	if (qp->ctx->forked)
		return unic_fail_forked();
	if (qp->srq)
		return unic_fail(-EINVAL, "its receives are those of a shared "
					  "queue");
	for (i = 0; i < n; i++) {
		if (wr[i].num_sge > UNIC_RQ_SGE_MAX)
			return unic_fail(-EINVAL,
					 "receive request %u of %u has %u SGEs",
					 i, n, wr[i].num_sge);
	}
	pthread_mutex_lock(&rq->lock);
	for (i = 0; i < n && unic_ring_free(rq); i++) {
		struct unic_rq_slot slot = {
			.num_sge = wr[i].num_sge,
			.wr_id = unic_to_le64(rq->posted),
		};

		for (k = 0; k < wr[i].num_sge; k++)
			unic_put_sge(&slot.sge[k], &wr[i].sg[k]);
		ring[rq->posted & rq->mask] = slot;
		record_shadow(rq, wr[i].wr_id, 1);
	}
	if (i)
		ring_doorbell(qp, rq, UNIC_DB_RQ);
	pthread_mutex_unlock(&rq->lock);
	return i || !n ? (int)i : -EAGAIN;
}
