/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * qp.c - queue pairs: creating them, and posting work requests.
 *
 * Secret: the layout of a work request in the slots of a ring (abi/unic_queue.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "cq.h"
#include "desc.h"
#include "doorbell.h"
#include "event.h"
#include "fork.h"
#include "mend.h"
#include "mend_thread.h"
#include "replay.h"
#include "ring_mem.h"

/* ------------------------------------------------------------- posting */

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

int unic_post_send(struct unic_qp *qp, const struct unic_send_wr *wr,
		   unsigned int n)
{
	struct unic_ring *sq = &qp->sq;
	unsigned int i;
	unsigned int slots;
	bool refused = false;

	if (qp->ctx->forked)
		return unic_fail_forked();
	for (i = 0; i < n; i++) {
		if (!slots_of(qp, &wr[i]))
			return unic_fail(-EINVAL,
					 "send request %u of %u is malformed "
					 "(opcode %u, %u SGEs, flags %#x)",
					 i, n, wr[i].opcode, wr[i].num_sge,
					 wr[i].flags);
	}
	if (__atomic_load_n(&qp->descs, __ATOMIC_RELAXED))
		unic_event_pump(qp->ctx);
	pthread_mutex_lock(&sq->lock);
	for (i = 0; i < n; i++) {
		slots = slots_of(qp, &wr[i]);
		refused = slots <= unic_ring_free(sq) &&
			  unic_desc_refuses(qp, &wr[i]);
		if (refused || slots > unic_ring_free(sq))
			break;
		build_wqe(sq, &wr[i], slots);
	}
	if (i)
		ring_doorbell(qp, sq, UNIC_DB_SQ);
	pthread_mutex_unlock(&sq->lock);
	if (!i && refused)
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

/* ---------------------------------------------------------- queue pairs */

static int ring_init(struct unic_ring *ring, void *slot, unsigned int slots)
{
	ring->slot = slot;
	ring->mask = slots - 1;
	ring->shadow = calloc(slots, sizeof(*ring->shadow));
	pthread_mutex_init(&ring->lock, NULL);
	return ring->shadow ? 0 : unic_fail(-ENOMEM, "out of memory");
}

/* Room for what is held back. */
static int ring_reserve(struct unic_ring *ring)
{
	size_t slots = ring->mask + 1;

	ring->spare_slot = calloc(slots, UNIC_SLOT_BYTES);
	ring->spare = calloc(slots, sizeof(*ring->spare));
	return ring->spare_slot && ring->spare ? 0
					       : unic_fail(-ENOMEM, "out of "
								    "memory");
}

static void ring_fini(struct unic_ring *ring)
{
	free(ring->shadow);
	free(ring->spare_slot);
	free(ring->spare);
	pthread_mutex_destroy(&ring->lock);
}

static int request_qp_create(struct unic_qp *qp,
			     const struct unic_qp_attr *attr)
{
	uint64_t rq_off = (uint64_t)(qp->sq.mask + 1) * UNIC_SLOT_BYTES;
	union {
		struct unic_ctl_qp_create req;
		struct unic_ctl_queue_reply reply;
	} rec = { .req = {
			  .sq_iova = unic_to_le64(qp->mr->iova),
			  .rq_iova = unic_to_le64(qp->mr->iova + rq_off),
			  .mr = unic_to_le32(qp->mr->id),
			  .send_cq = unic_to_le32(qp->send_cq->id),
			  .recv_cq = unic_to_le32(qp->recv_cq->id),
			  .sq_slots = unic_to_le16((uint16_t)(qp->sq.mask + 1)),
			  .rq_slots = unic_to_le16((uint16_t)(qp->rq.mask + 1)),
			  .rq_class = unic_to_le32(attr->rq_class),
			  .db_index = (uint8_t)qp->db,
			  .type = attr->type,
			  .miss = attr->miss,
			  .user = unic_to_le32(qp->db),
			  .pd = unic_to_le32(qp->pd->id),
		  } };
	int err;

	if (qp->srq) {
		rec.req.flags = UNIC_CTL_QP_SRQ;
		rec.req.rq_iova = unic_to_le64(qp->srq->id);
		rec.req.rq_slots = unic_to_le16(0);
		rec.req.rq_class = unic_to_le32(0);
	}
	err = unic_ctl_simple(qp->ctx, UNIC_CTL_QP_CREATE, &rec,
			      "create a queue pair");
	if (err)
		return err;
	qp->id = unic_from_le32(rec.reply.id);
	qp->qpn = unic_from_le32(rec.reply.number) & 0xffffff;
	return 0;
}

static void qp_free(struct unic_qp *qp)
{
	ring_fini(&qp->sq);
	ring_fini(&qp->rq);
	if (qp->mr)
		unic_dereg_control(qp->mr);
	unic_desc_fini(qp);
	free(qp);
}

/* What mending @qp takes is there before it is needed. */
static int reserve_mending(struct unic_qp *qp)
{
	int err = ring_reserve(&qp->sq);

	if (!err)
		err = ring_reserve(&qp->rq);
	if (!err)
		err = unic_cq_reserve(qp->send_cq, qp->send_cq->mask + 1);
	if (!err)
		err = unic_cq_reserve(qp->recv_cq, qp->recv_cq->mask + 1);
	return err ? err : unic_mender_start(qp->ctx);
}

static int qp_build(struct unic_qp *qp, const struct unic_qp_attr *attr,
		    unsigned int sq_slots, unsigned int rq_slots)
{
	uint8_t *mem;
	int err;

	err = unic_reg_control(qp->pd,
			       (size_t)(sq_slots + rq_slots) * UNIC_SLOT_BYTES,
			       &qp->mr);
	if (err)
		return err;
	mem = qp->mr->addr;
	err = ring_init(&qp->sq, mem, sq_slots);
	if (!err)
		err = ring_init(&qp->rq, mem + sq_slots * UNIC_SLOT_BYTES,
				rq_slots);
	if (!err && qp->mend.how)
		err = reserve_mending(qp);
	if (err)
		return err;
	err = unic_db_row_get(qp->ctx);
	if (err < 0)
		return unic_fail(err,
				 "all %u doorbell rows of this process "
				 "are used",
				 UNIC_DB_OBJECTS);
	qp->db = (unsigned int)err;
	err = request_qp_create(qp, attr);
	if (err)
		unic_db_row_put(qp->ctx, (int)qp->db);
	return err;
}

int unic_create_qp(struct unic_pd *pd, const struct unic_qp_attr *attr,
		   struct unic_qp **out)
{
	struct unic_qp *qp;
	int err;

	unsigned int rq_slots = attr->srq ? 2 : attr->rq_slots;

	if (attr->sq_slots < 2 || attr->sq_slots > pd->ctx->attr.ring_slots ||
	    rq_slots < 2 || rq_slots > pd->ctx->attr.ring_slots ||
	    !attr->send_cq || !attr->recv_cq)
		return unic_fail(-EINVAL,
				 "a queue pair has two completion queues and "
				 "2 to %u slots each way",
				 pd->ctx->attr.ring_slots);
	if (attr->cut > UNIC_QP_CUT_REPLAY ||
	    (attr->cut && (attr->type != UNIC_QPT_RC || attr->srq)))
		return unic_fail(-EINVAL, "only a reliable connection is made "
					  "again after a cut, and none with a "
					  "shared receive queue");
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return unic_fail(-ENOMEM, "out of memory");
	qp->mend.how = attr->cut;
	qp->ctx = pd->ctx;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	err = qp_build(qp, attr, unic_pow2(attr->sq_slots),
		       unic_pow2(rq_slots));
	if (err) {
		qp_free(qp);
		return err;
	}
	unic_cq_add_qp(qp->send_cq, qp);
	unic_cq_add_qp(qp->recv_cq, qp);
	if (qp->srq)
		__atomic_add_fetch(&qp->srq->users, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&qp->ctx->evt_lock);
	qp->ctx->qp[qp->db] = qp;
	pthread_mutex_unlock(&qp->ctx->evt_lock);
	__atomic_add_fetch(&pd->users, 1, __ATOMIC_RELAXED);
	*out = qp;
	return 0;
}

int unic_destroy_qp(struct unic_qp *qp)
{
	struct unic_ctx *ctx = qp->ctx;
	int err;

	unic_mend_stop(qp);
	err = unic_ctl_obj(ctx, UNIC_CTL_QP_DESTROY, qp->id,
			   "destroy a queue pair");
	if (err && err != -ENOTCONN)
		return err;
	unic_cq_del_qp(qp->send_cq, qp);
	unic_cq_del_qp(qp->recv_cq, qp);
	if (qp->srq)
		__atomic_sub_fetch(&qp->srq->users, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&ctx->evt_lock);
	ctx->qp[qp->db] = NULL;
	unic_event_purge(ctx, qp);
	pthread_mutex_unlock(&ctx->evt_lock);
	unic_db_row_put(ctx, (int)qp->db);
	__atomic_sub_fetch(&qp->pd->users, 1, __ATOMIC_RELEASE);
	qp_free(qp);
	return 0;
}

int unic_modify_qp(struct unic_qp *qp, const struct unic_qp_mod *mod)
{
	struct unic_ctl_qp_modify rec = {
		.id = unic_to_le32(qp->id),
		.state = mod->state,
		.mtu_shift = mod->mtu_shift,
		.rnr_timer = mod->rnr_timer,
		.max_dest_rd = mod->max_dest_rd,
		.max_rd = mod->max_rd,
		.timeout = mod->timeout,
		.retry_cnt = mod->retry_cnt,
		.rnr_retry = mod->rnr_retry,
		.dest_qpn = unic_to_le32(mod->dest_qpn),
		.rq_psn = unic_to_le32(mod->rq_psn),
		.dest_ipv4 = unic_to_le32(mod->dest_ipv4),
		.rights = mod->rights,
		.vendor = mod->vendor,
		.sq_psn = unic_to_le32(mod->sq_psn),
		.qkey = unic_to_le32(mod->qkey),
	};
	int err;

	/* what its owner ends is not connected again */
	if (mod->state == UNIC_QPS_ERR || unic_mend_at_work(qp))
		unic_mend_stop(qp);
	memcpy(rec.dest_mac, mod->dest_mac, sizeof(rec.dest_mac));
	if (mod->state == UNIC_QPS_RESET)
		unic_qp_untold(qp, UNIC_TOLD_ERROR | UNIC_TOLD_END);
	err = unic_ctl_simple(qp->ctx, UNIC_CTL_QP_MODIFY, &rec,
			      "modify a queue pair");
	if (err || mod->state != UNIC_QPS_RESET)
		return err;
	unic_cq_reset_qp(qp->send_cq, qp);
	if (qp->recv_cq != qp->send_cq)
		unic_cq_reset_qp(qp->recv_cq, qp);
	return 0;
}

uint32_t unic_qp_num(const struct unic_qp *qp)
{
	return qp->qpn;
}

uint32_t unic_qp_cuts(const struct unic_qp *qp)
{
	return __atomic_load_n(&qp->mend.rounds, __ATOMIC_RELAXED);
}

void unic_qp_set_user(struct unic_qp *qp, void *user)
{
	qp->user = user;
}

void *unic_qp_user(const struct unic_qp *qp)
{
	return qp->user;
}
