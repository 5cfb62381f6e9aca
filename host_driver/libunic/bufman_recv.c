/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman_recv.c - receive buffers whose regions the NIC may evict at any time.
 *
 * Secret: the buffers are in two regions, so that one serves while the other one is
 * evicted. When all receives of an evicted region have completed, unic_bm_recv_done()
 * registers the region again. The thread of events reports the fewer credits at once.
 */
#include <errno.h>
#include <stdlib.h>

#include "bufman.h"
#include "bufman_watch.h"
#include "fork.h"

#define SETS 2u

/* Half of the buffers: one region. */
struct set {
	uint8_t *mem;
	struct unic_mr *mr; /* NULL: not registered */
	uint32_t idle;	    /* bit per buffer that is not posted */
};

struct unic_bm_recv {
	struct unic_bm_watch watch;
	struct unic_bm *bm;
	struct unic_pd *pd;
	struct unic_qp *qp;
	struct unic_bm_recv_attr attr;
	unsigned int per_set;
	size_t set_bytes;
	pthread_mutex_t lock; /* of the fields that report_credits() reads */
	struct set set[SETS];
	unsigned int told; /* credits reported last */
};

static uint32_t full_set_mask(const struct unic_bm_recv *rx)
{
	return (uint32_t)(1ull << rx->per_set) - 1;
}

/* ----------------------------------------------------------------- credits */

static unsigned int count_credits(const struct unic_bm_recv *rx)
{
	unsigned int n = 0, s;

	for (s = 0; s < SETS; s++) {
		const struct unic_mr *mr = rx->set[s].mr;

		if (mr && unic_mr_life(mr) != UNIC_MR_GONE)
			n += (unsigned int)__builtin_popcount(
				full_set_mask(rx) & ~rx->set[s].idle);
	}
	return n;
}

/* Report changed credits. Called with the lock held, so that reports stay in order. */
static void report_credits(struct unic_bm_recv *rx)
{
	unsigned int now = count_credits(rx);

	if (now == rx->told)
		return;
	rx->told = now;
	if (rx->attr.on_credit)
		rx->attr.on_credit(rx->attr.arg, now);
}

static bool on_recv_event(struct unic_bm_watch *w, const struct unic_event *ev)
{
	struct unic_bm_recv *rx = (struct unic_bm_recv *)w;
	bool mine = false;
	unsigned int s;

	pthread_mutex_lock(&rx->lock);
	for (s = 0; s < SETS; s++)
		mine |= rx->set[s].mr == ev->mr;
	if (mine && ev->type == UNIC_EV_EVICTED) {
		unic_bm_count(rx->bm, recv_evicted, 1);
		report_credits(rx);
	}
	pthread_mutex_unlock(&rx->lock);
	return mine;
}

unsigned int unic_bm_recv_credits(struct unic_bm_recv *rx)
{
	unsigned int n;

	if (rx->pd->ctx->forked)
		return 0;
	pthread_mutex_lock(&rx->lock);
	n = count_credits(rx);
	pthread_mutex_unlock(&rx->lock);
	return n;
}

/* ----------------------------------------------------------------- regions */

static void set_mr(struct unic_bm_recv *rx, struct set *set, struct unic_mr *mr)
{
	pthread_mutex_lock(&rx->lock);
	set->mr = mr;
	pthread_mutex_unlock(&rx->lock);
}

static int register_set(struct unic_bm_recv *rx, struct set *set)
{
	struct unic_mr_attr attr = {
		.addr = set->mem,
		.length = rx->set_bytes,
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_MESSAGING,
		.flags = UNIC_MR_WAIT,
		.residency = rx->attr.residency,
		.timeout_us = 10000000,
	};
	struct unic_mr *mr;
	int err = unic_reg_mr(rx->pd, &attr, &mr);

	if (!err)
		set_mr(rx, set, mr);
	return err;
}

/* Register evicted @set again when all its receives have completed. 1: not yet. */
static int renew_set(struct unic_bm_recv *rx, struct set *set)
{
	struct unic_mr *old = set->mr;

	if (old && unic_mr_life(old) != UNIC_MR_GONE)
		return 0;
	if (set->idle != full_set_mask(rx))
		return 1;
	set_mr(rx, set, NULL);
	if (old) {
		unic_dereg_mr(old);
		unic_bm_count(rx->bm, recv_renewed, 1);
	}
	return register_set(rx, set);
}

/* ----------------------------------------------------------------- posting */

static void set_idle(struct unic_bm_recv *rx, struct set *set, unsigned int i,
		     bool idle)
{
	pthread_mutex_lock(&rx->lock);
	set->idle = (set->idle & ~(1u << i)) | (uint32_t)idle << i;
	pthread_mutex_unlock(&rx->lock);
}

void *unic_bm_recv_buf(const struct unic_bm_recv *rx, uint64_t wr_id)
{
	return rx->set[wr_id / rx->per_set].mem +
	       wr_id % rx->per_set * rx->attr.bytes;
}

/* Post buffer @id of @set. Returns as unic_post_recv(). */
static int post_buf(struct unic_bm_recv *rx, const struct set *set, uint64_t id)
{
	struct unic_sg sg;
	struct unic_recv_wr wr = { .wr_id = id, .num_sge = 1, .sg = &sg };
	int err = unic_sg_of(set->mr, unic_bm_recv_buf(rx, id), rx->attr.bytes,
			     &sg);

	return err ? err : unic_post_recv(rx->qp, &wr, 1);
}

/*
 * Post the idle buffers of set @s. A full ring is no error: after an eviction it may
 * hold receives of the other set, and the remaining buffers follow after the next
 * message.
 */
static int post_idle(struct unic_bm_recv *rx, unsigned int s)
{
	struct set *set = &rx->set[s];
	unsigned int i;
	int n;

	for (i = 0; i < rx->per_set; i++) {
		if (!(set->idle & 1u << i))
			continue;
		n = post_buf(rx, set, (uint64_t)s * rx->per_set + i);
		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return n;
		set_idle(rx, set, i, false);
	}
	return 0;
}

static int post_all(struct unic_bm_recv *rx)
{
	unsigned int s;
	int err = 0;

	for (s = 0; s < SETS && err >= 0; s++) {
		err = renew_set(rx, &rx->set[s]);
		if (!err)
			err = post_idle(rx, s);
	}
	pthread_mutex_lock(&rx->lock);
	report_credits(rx);
	pthread_mutex_unlock(&rx->lock);
	return err < 0 ? err : 0;
}

int unic_bm_recv_start(struct unic_bm_recv *rx, struct unic_qp *qp)
{
	unsigned int s;

	if (rx->pd->ctx->forked)
		return unic_fail_forked();
	pthread_mutex_lock(&rx->lock);
	rx->qp = qp;
	for (s = 0; s < SETS; s++)
		rx->set[s].idle = full_set_mask(rx);
	pthread_mutex_unlock(&rx->lock);
	return post_all(rx);
}

int unic_bm_recv_done(struct unic_bm_recv *rx, uint64_t wr_id)
{
	if (rx->pd->ctx->forked)
		return unic_fail_forked();
	if (wr_id >= (uint64_t)SETS * rx->per_set)
		return unic_fail(-EINVAL, "no receive buffer has number %llu",
				 (unsigned long long)wr_id);
	set_idle(rx, &rx->set[wr_id / rx->per_set],
		 (unsigned int)(wr_id % rx->per_set), true);
	return post_all(rx);
}

/* -------------------------------------------------------------------- life */

int unic_bm_recv_open(struct unic_bm *bm, const struct unic_bm_recv_attr *attr,
		      struct unic_bm_recv **out)
{
	struct unic_bm_recv *rx;
	unsigned int s;
	int err = 0;

	if (attr->count < SETS || attr->count > UNIC_BM_RECV_MAX ||
	    attr->count % SETS || !attr->bytes)
		return unic_fail(-EINVAL,
				 "receive buffers: an even number, %u at most",
				 UNIC_BM_RECV_MAX);
	rx = calloc(1, sizeof(*rx));
	if (!rx)
		return unic_fail(-ENOMEM, "out of memory");
	rx->bm = bm;
	rx->pd = unic_bm_pd(bm);
	rx->attr = *attr;
	rx->per_set = attr->count / SETS;
	rx->set_bytes = ((size_t)rx->per_set * attr->bytes + UNIC_PAGE - 1) &
			~(size_t)(UNIC_PAGE - 1);
	rx->watch.heard = on_recv_event;
	pthread_mutex_init(&rx->lock, NULL);
	unic_bm_watch(bm, &rx->watch);
	for (s = 0; s < SETS && !err; s++) {
		rx->set[s].idle = full_set_mask(rx);
		rx->set[s].mem =
			unic_alloc(rx->pd->ctx, rx->set_bytes, UNIC_PAGE);
		err = rx->set[s].mem ? register_set(rx, &rx->set[s]) : -errno;
	}
	if (err)
		unic_bm_recv_close(rx);
	else
		*out = rx;
	return err;
}

void unic_bm_recv_close(struct unic_bm_recv *rx)
{
	unsigned int s;

	if (!rx)
		return;
	unic_bm_unwatch(rx->bm, &rx->watch);
	for (s = 0; s < SETS; s++) {
		if (rx->set[s].mr)
			unic_dereg_mr(rx->set[s].mr);
		unic_free(rx->pd->ctx, rx->set[s].mem);
	}
	pthread_mutex_destroy(&rx->lock);
	free(rx);
}
