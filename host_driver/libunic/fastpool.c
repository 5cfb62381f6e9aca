/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fastpool.c - fast registrations kept for reuse (S0 section 5).
 *
 * Secret: the choice. unic_fast_pool_get() takes the registration put back last, so that
 * those below it stay idle.
 */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

struct unic_fast_pool {
	struct unic_pd *pd;
	unsigned int pages, page_bytes;
	pthread_mutex_t lock;
	struct unic_mr **idle;
	unsigned int n, room;
};

int unic_fast_pool_create(struct unic_pd *pd, unsigned int pages,
			  unsigned int page_bytes, struct unic_fast_pool **out)
{
	struct unic_fast_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return unic_fail(-ENOMEM, "out of memory");
	pool->pd = pd;
	pool->pages = pages;
	pool->page_bytes = page_bytes;
	pthread_mutex_init(&pool->lock, NULL);
	*out = pool;
	return 0;
}

static struct unic_mr *pop_idle_mr(struct unic_fast_pool *pool)
{
	struct unic_mr *mr = NULL;

	pthread_mutex_lock(&pool->lock);
	if (pool->n)
		mr = pool->idle[--pool->n];
	pthread_mutex_unlock(&pool->lock);
	return mr;
}

/* Registrations that were asked back while idle are deregistered here. */
int unic_fast_pool_get(struct unic_fast_pool *pool, uint32_t expected_us,
		       struct unic_mr **out)
{
	struct unic_mr *mr;

	while ((mr = pop_idle_mr(pool))) {
		if (unic_mr_usable(mr, expected_us)) {
			*out = mr;
			return 0;
		}
		unic_dereg_mr(mr);
	}
	return unic_alloc_fast_mr(pool->pd, pool->pages, pool->page_bytes, out);
}

static bool push_idle_mr(struct unic_fast_pool *pool, struct unic_mr *mr)
{
	unsigned int room = pool->room ? 2 * pool->room : 16;
	struct unic_mr **idle = pool->idle;

	if (pool->n == pool->room) {
		idle = realloc(idle, room * sizeof(*idle));
		if (!idle)
			return false;
		pool->idle = idle;
		pool->room = room;
	}
	idle[pool->n++] = mr;
	return true;
}

void unic_fast_pool_put(struct unic_fast_pool *pool, struct unic_mr *mr)
{
	bool kept;

	pthread_mutex_lock(&pool->lock);
	kept = push_idle_mr(pool, mr);
	pthread_mutex_unlock(&pool->lock);
	if (!kept)
		unic_dereg_mr(mr);
}

unsigned int unic_fast_pool_trim(struct unic_fast_pool *pool)
{
	struct unic_mr *mr;
	unsigned int n = 0;

	for (; (mr = pop_idle_mr(pool)); n++)
		unic_dereg_mr(mr);
	return n;
}

void unic_fast_pool_destroy(struct unic_fast_pool *pool)
{
	unic_fast_pool_trim(pool);
	pthread_mutex_destroy(&pool->lock);
	free(pool->idle);
	free(pool);
}
