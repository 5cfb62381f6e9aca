/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* qp.c - queue pairs: their life. */
#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "cq.h"
#include "desc.h"
#include "doorbell.h"
#include "event.h"
#include "mend.h"
#include "mend_thread.h"
#include "ring_mem.h"

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
