/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * srq.c - shared receive queues.
 *
 * Secret: which slots of the ring are free. The NIC says how many receives it has taken; it
 * reads each before it says so. A completion has the wr_id that was posted.
 */
#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "doorbell.h"
#include "event.h"
#include "fork.h"
#include "queue.h"
#include "ring_mem.h"
#include "srq.h"

static uint32_t count_free_receives(const struct unic_srq *srq)
{
	uint32_t taken = unic_load_acquire(&srq->ctx->np->srq_taken[srq->db]);

	return srq->mask + 1 - (srq->posted - taken);
}

int unic_post_srq_recv(struct unic_srq *srq, const struct unic_recv_wr *wr,
		       unsigned int n)
{
	unsigned int i, k;
	uint32_t room;

	if (srq->ctx->forked)
		return unic_fail_forked();
	for (i = 0; i < n; i++)
		if (wr[i].num_sge > UNIC_RQ_SGE_MAX)
			return unic_fail(-EINVAL,
					 "receive request %u of %u has %u SGEs",
					 i, n, wr[i].num_sge);
	pthread_mutex_lock(&srq->lock);
	room = count_free_receives(srq);
	for (i = 0; i < n && i < room; i++) {
		struct unic_rq_slot slot = {
			.num_sge = wr[i].num_sge,
			.wr_id = unic_to_le64(wr[i].wr_id),
		};

		for (k = 0; k < wr[i].num_sge; k++)
			unic_put_sge(&slot.sge[k], &wr[i].sg[k]);
		srq->slot[srq->posted++ & srq->mask] = slot;
	}
	if (i)
		unic_db_ring(srq->ctx, UNIC_DB_SRQ, srq->db, srq->posted);
	pthread_mutex_unlock(&srq->lock);
	return i || !n ? (int)i : -EAGAIN;
}

static int request_srq_create(struct unic_srq *srq)
{
	union {
		struct unic_ctl_srq_create req;
		struct unic_ctl_queue_reply reply;
	} rec = { .req = {
			  .iova = unic_to_le64(srq->mr->iova),
			  .mr = unic_to_le32(srq->mr->id),
			  .slots = unic_to_le32(srq->mask + 1),
			  .db_index = unic_to_le32(srq->db),
			  .user = unic_to_le32(srq->db),
		  } };
	int err = unic_ctl_simple(srq->ctx, UNIC_CTL_SRQ_CREATE, &rec,
				  "create a shared receive queue");

	if (!err)
		srq->id = unic_from_le32(rec.reply.id);
	return err;
}

static void free_srq(struct unic_srq *srq)
{
	if (srq->mr)
		unic_dereg_control(srq->mr);
	pthread_mutex_destroy(&srq->lock);
	free(srq);
}

static int build_srq(struct unic_srq *srq)
{
	int err = unic_reg_control(
		srq->pd, (size_t)(srq->mask + 1) * UNIC_SLOT_BYTES, &srq->mr);

	if (err)
		return err;
	srq->slot = srq->mr->addr;
	err = unic_db_row_get(srq->ctx);
	if (err < 0)
		return unic_fail(err,
				 "all %u doorbell rows of this process "
				 "are used",
				 UNIC_DB_OBJECTS);
	srq->db = (unsigned int)err;
	err = request_srq_create(srq);
	if (err)
		unic_db_row_put(srq->ctx, (int)srq->db);
	return err;
}

int unic_create_srq(struct unic_pd *pd, unsigned int slots,
		    struct unic_srq **out)
{
	struct unic_srq *srq;
	int err;

	if (slots < 2 || slots > pd->ctx->attr.ring_slots)
		return unic_fail(-EINVAL,
				 "a shared receive queue has 2 to %u slots",
				 pd->ctx->attr.ring_slots);
	if (!(pd->ctx->attr.features & UNIC_FEAT_SRQ) || pd->ctx->kept)
		return unic_fail(-EOPNOTSUPP, "the NIC has no shared receive "
					      "queues, or the "
					      "context is one of "
					      "unic_open_kept()");
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return unic_fail(-ENOMEM, "out of memory");
	srq->ctx = pd->ctx;
	srq->pd = pd;
	srq->mask = unic_pow2(slots) - 1;
	pthread_mutex_init(&srq->lock, NULL);
	err = build_srq(srq);
	if (err) {
		free_srq(srq);
		return err;
	}
	pthread_mutex_lock(&srq->ctx->evt_lock);
	srq->ctx->srq[srq->db] = srq;
	pthread_mutex_unlock(&srq->ctx->evt_lock);
	__atomic_add_fetch(&pd->users, 1, __ATOMIC_RELAXED);
	*out = srq;
	return 0;
}

int unic_modify_srq(struct unic_srq *srq, uint32_t limit)
{
	struct unic_ctl_srq_modify rec = { .id = unic_to_le32(srq->id),
					   .limit = unic_to_le32(limit) };

	return unic_ctl_simple(srq->ctx, UNIC_CTL_SRQ_MODIFY, &rec,
			       "set the limit of a shared receive queue");
}

int unic_destroy_srq(struct unic_srq *srq)
{
	struct unic_ctx *ctx = srq->ctx;
	int err;

	if (__atomic_load_n(&srq->users, __ATOMIC_ACQUIRE))
		return unic_fail(-EBUSY, "a queue pair uses the shared receive "
					 "queue");
	err = unic_ctl_obj(ctx, UNIC_CTL_SRQ_DESTROY, srq->id,
			   "destroy a shared receive queue");
	if (err && err != -ENOTCONN)
		return err;
	pthread_mutex_lock(&ctx->evt_lock);
	ctx->srq[srq->db] = NULL;
	unic_event_purge(ctx, srq);
	pthread_mutex_unlock(&ctx->evt_lock);
	unic_db_row_put(ctx, (int)srq->db);
	__atomic_sub_fetch(&srq->pd->users, 1, __ATOMIC_RELEASE);
	free_srq(srq);
	return 0;
}

unsigned int unic_srq_slots(const struct unic_srq *srq)
{
	return srq->mask + 1;
}

bool unic_srq_upcall(struct unic_ctx *ctx, const void *rec,
		     struct unic_event *ev)
{
	const struct unic_upcall_obj *up = rec;
	uint32_t row = unic_from_le32(up->user);
	uint32_t id = unic_from_le32(up->hdr.id);
	struct unic_srq *srq = row < UNIC_DB_OBJECTS ? ctx->srq[row] : NULL;

	if (up->hdr.type == UNIC_UP_LAST_WQE) {
		ev->type = UNIC_EV_LAST_WQE;
		ev->qp = unic_event_qp(ctx, row, id);
		return ev->qp;
	}
	ev->type = up->hdr.type == UNIC_UP_SRQ_LIMIT ? UNIC_EV_SRQ_LIMIT
						     : UNIC_EV_SRQ_ERROR;
	ev->status = unic_from_le32(up->detail);
	ev->srq = srq && srq->id == id ? srq : NULL;
	return ev->srq;
}
