/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* bufman_pool.c - see bufman_pool.h. */
#include "bufman_pool.h"

#include <errno.h>
#include <stdlib.h>

#include "bufman_watch.h"
#include "fastpool.h"
#include "fork.h"

#define SLEEP_MS 1000 /* without a pool */

struct unic_bm_pool {
	struct unic_bm_watch watch;
	struct unic_bm_pool *next;
	struct unic_fast_pool *pool;
};

/* The look at the pools, which follows each event, does the rest. */
static bool is_of_pool(struct unic_bm_watch *w, const struct unic_event *ev)
{
	struct unic_fast_pool *pool = ((struct unic_bm_pool *)w)->pool;

	if (ev->type == UNIC_EV_IDLE)
		unic_fast_pool_asked(pool, ev->mr);
	return unic_fast_pool_heard(pool, ev->mr);
}

int unic_bm_fast_pool(struct unic_bm *bm, unsigned int pages,
		      unsigned int page_bytes, struct unic_fast_pool **out)
{
	struct unic_bm_pool *p;
	int err;

	if (unic_bm_forked(bm))
		return unic_fail_forked();
	p = calloc(1, sizeof(*p));
	if (!p)
		return unic_fail(-ENOMEM, "out of memory");
	err = unic_fast_pool_create(bm->pd, pages, page_bytes, &p->pool);
	if (err) {
		free(p);
		return err;
	}
	p->watch.heard = is_of_pool;
	unic_bm_watch(bm, &p->watch);
	pthread_mutex_lock(&bm->lock);
	p->next = bm->pools;
	bm->pools = p;
	pthread_mutex_unlock(&bm->lock);
	*out = p->pool;
	return 0;
}

int unic_bm_pools_run(struct unic_bm *bm)
{
	struct unic_bm_pool *p, *first;

	pthread_mutex_lock(&bm->lock);
	first = bm->pools;
	pthread_mutex_unlock(&bm->lock);
	for (p = first; p; p = p->next)
		unic_fast_pool_run(p->pool, unic_now_ns(), &bm->stats);
	return first ? (int)(UNIC_POOL_PERIOD_NS / 1000000) : SLEEP_MS;
}

void unic_bm_pools_end(struct unic_bm *bm)
{
	struct unic_bm_pool *p;

	while ((p = bm->pools)) {
		bm->pools = p->next;
		unic_bm_unwatch(bm, &p->watch);
		unic_fast_pool_destroy(p->pool);
		free(p);
	}
}
