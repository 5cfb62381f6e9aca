/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cq_ring.c - completion queues: making and ending them, and giving one another ring.
 *
 * Secret: that records are in two rings while the NIC goes from one to the other, and who
 * ends the old one.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "context.h"
#include "cq.h"
#include "doorbell.h"
#include "event.h"
#include "fork.h"
#include "ring_mem.h"

/* Records that the NIC is writing are there soon, unless the bus refuses one. */
#define UNDER_WAY_TRIES 1000u
#define UNDER_WAY_NS	1000000

static int request_cq_create(struct unic_pd *pd, struct unic_cq *cq)
{
	union {
		struct unic_ctl_cq_create req;
		struct unic_ctl_queue_reply reply;
	} rec = { .req = {
			  .iova = unic_to_le64(cq->mr->iova),
			  .mr = unic_to_le32(cq->mr->id),
			  .entries = unic_to_le32(cq->mask + 1),
			  .db_index = unic_to_le32(cq->db),
			  .user = unic_to_le32(cq->db),
		  } };
	int err = unic_ctl_simple(pd->ctx, UNIC_CTL_CQ_CREATE, &rec,
				  "create a completion queue");

	if (!err)
		cq->id = unic_from_le32(rec.reply.id);
	return err;
}

static int check_entries(const struct unic_ctx *ctx, unsigned int entries)
{
	if (entries < 2 || entries > ctx->attr.cq_entries)
		return unic_fail(-EINVAL,
				 "a completion queue has 2 to %u entries, "
				 "not %u",
				 ctx->attr.cq_entries, entries);
	return 0;
}

int unic_create_cq(struct unic_pd *pd, unsigned int entries,
		   struct unic_cq **out)
{
	struct unic_ctx *ctx = pd->ctx;
	struct unic_cq *cq;
	int err;

	err = check_entries(ctx, entries);
	if (err)
		return err;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return unic_fail(-ENOMEM, "out of memory");
	cq->ctx = ctx;
	cq->mask = unic_pow2(entries) - 1;
	pthread_mutex_init(&cq->lock, NULL);
	pthread_mutex_init(&cq->resizing, NULL);
	err = unic_reg_control(pd, (cq->mask + 1) * sizeof(struct unic_cqe),
			       &cq->mr);
	if (err)
		goto no_mr;
	cq->ring = cq->mr->addr;
	err = unic_db_row_get(ctx);
	if (err < 0) {
		unic_fail(err, "all %u doorbell rows of this process are used",
			  UNIC_DB_OBJECTS);
		goto no_row;
	}
	cq->db = (unsigned int)err;
	err = request_cq_create(pd, cq);
	if (err)
		goto no_cq;
	pthread_mutex_lock(&ctx->evt_lock);
	ctx->cq[cq->db] = cq;
	pthread_mutex_unlock(&ctx->evt_lock);
	__atomic_add_fetch(&pd->users, 1, __ATOMIC_RELAXED);
	*out = cq;
	return 0;
no_cq:
	unic_db_row_put(ctx, (int)cq->db);
no_row:
	unic_dereg_control(cq->mr);
no_mr:
	free(cq);
	return err;
}

int unic_destroy_cq(struct unic_cq *cq)
{
	int err;

	if (cq->users)
		return unic_fail(-EBUSY,
				 "%u queue directions still use this "
				 "completion queue: destroy them first",
				 cq->users);
	err = unic_ctl_obj(cq->ctx, UNIC_CTL_CQ_DESTROY, cq->id,
			   "destroy a completion queue");
	if (err && err != -ENOTCONN)
		return err;
	pthread_mutex_lock(&cq->ctx->evt_lock);
	cq->ctx->cq[cq->db] = NULL;
	unic_event_purge(cq->ctx, cq);
	pthread_mutex_unlock(&cq->ctx->evt_lock);
	unic_db_row_put(cq->ctx, (int)cq->db);
	__atomic_sub_fetch(&cq->mr->pd->users, 1, __ATOMIC_RELEASE);
	unic_dereg_control(cq->mr);
	pthread_mutex_destroy(&cq->lock);
	pthread_mutex_destroy(&cq->resizing);
	free(cq->left);
	free(cq);
	return 0;
}

/* *@records: the number of the first record in the new ring. */
static int request_cq_resize(struct unic_cq *cq, const struct unic_mr *mr,
			     uint32_t mask, uint32_t *records)
{
	union {
		struct unic_ctl_cq_resize req;
		struct unic_ctl_cq_resize_reply reply;
	} rec = { .req = {
			  .iova = unic_to_le64(mr->iova),
			  .id = unic_to_le32(cq->id),
			  .mr = unic_to_le32(mr->id),
			  .entries = unic_to_le32(mask + 1),
		  } };
	int err = unic_ctl_simple(cq->ctx, UNIC_CTL_CQ_RESIZE, &rec,
				  "resize a completion queue");

	if (err == -EBUSY)
		return unic_fail(-EINVAL,
				 "more completions are unread than %u: poll "
				 "them first",
				 mask + 1);
	*records = unic_from_le32(rec.reply.records);
	return err;
}

/* The NIC writes from record @records on to the other ring. Returns the region of the old
 * one. */
static struct unic_mr *follow(struct unic_cq *cq, uint32_t records)
{
	const struct timespec nap = { .tv_nsec = UNDER_WAY_NS };
	struct unic_mr *old = cq->mr;
	unsigned int tries = UNDER_WAY_TRIES;

	while (!unic_cq_switch(cq, records, tries)) {
		nanosleep(&nap, NULL);
		tries--;
	}
	return old;
}

static int resize_to(struct unic_cq *cq, uint32_t mask)
{
	uint32_t records = 0;
	struct unic_mr *mr;
	int err = 0;

	if (cq->left_room) /* of a queue pair that is mended: unic_cq_harvest() */
		err = unic_cq_reserve(cq, mask + 1);
	if (!err)
		err = unic_reg_control(
			cq->mr->pd, (mask + 1) * sizeof(struct unic_cqe), &mr);
	if (err)
		return err;
	unic_cq_expect(cq, mr, mask);
	err = request_cq_resize(cq, mr, mask, &records);
	if (err)
		unic_cq_expect(cq, NULL, 0);
	else
		mr = follow(cq, records);
	unic_dereg_control(mr);
	return err;
}

int unic_resize_cq(struct unic_cq *cq, unsigned int entries)
{
	int err = check_entries(cq->ctx, entries);

	if (err)
		return err;
	if (!(cq->ctx->attr.features & UNIC_FEAT_CQ_RESIZE) || cq->ctx->kept)
		return unic_fail(-EOPNOTSUPP, "the NIC has no other ring for a "
					      "completion "
					      "queue, or the context is one of "
					      "unic_open_kept()");
	if (cq->ctx->forked)
		return unic_fail_forked();
	pthread_mutex_lock(&cq->resizing);
	if (unic_pow2(entries) != cq->mask + 1)
		err = resize_to(cq, unic_pow2(entries) - 1);
	pthread_mutex_unlock(&cq->resizing);
	return err;
}

unsigned int unic_cq_entries(const struct unic_cq *cq)
{
	return cq->mask + 1;
}
