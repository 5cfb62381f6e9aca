/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fastpool.c - fast registrations kept for reuse (S0 section 5).
 *
 * Secret: the choice. unic_fast_pool_get() takes the registration put back last, so that
 * those below it stay idle. fastpool.h has the size.
 */
#include "fastpool.h"

#include <errno.h>
#include <stdlib.h>

#include "mr.h"

#define BACKOFF_MAX_NS 1600000000ull /* between tries to make one */
#define BATCH	       16u	     /* given back in one step */

struct list {
	struct unic_mr **mr;
	unsigned int n, room;
};

struct unic_fast_pool {
	struct unic_pd *pd;
	unsigned int pages, page_bytes;
	pthread_mutex_t lock;
	struct list idle, taken;
	struct list asked; /* were idle, and are given back by who runs it */
	unsigned int peak; /* most taken at once in this period */
	struct unic_bm_stats *count;
	/* of the thread that runs it */
	unsigned int target;
	uint64_t period_ns; /* the end of this one */
	uint64_t retry_ns;  /* nothing is made before */
	uint64_t backoff_ns;
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

/* -------------------------------------------------------------------- lists */

static bool push_mr(struct list *l, struct unic_mr *mr)
{
	unsigned int room = l->room ? 2 * l->room : 16;
	struct unic_mr **more;

	if (l->n == l->room) {
		more = realloc(l->mr, room * sizeof(*more));
		if (!more)
			return false;
		l->mr = more;
		l->room = room;
	}
	l->mr[l->n++] = mr;
	return true;
}

/* Take the @i-th out of @l; the others keep their order. */
static struct unic_mr *pull_mr(struct list *l, unsigned int i)
{
	struct unic_mr *mr = l->mr[i];

	memmove(&l->mr[i], &l->mr[i + 1], (--l->n - i) * sizeof(*l->mr));
	return mr;
}

/* The place of @mr in @l; l->n: it is not there. */
static unsigned int find_mr(const struct list *l, const struct unic_mr *mr)
{
	unsigned int i = 0;

	while (i < l->n && l->mr[i] != mr)
		i++;
	return i;
}

/* Take a registration that nobody uses out of the pool; NULL: none. */
static struct unic_mr *pop_idle_mr(struct unic_fast_pool *pool)
{
	struct unic_mr *mr = NULL;
	struct list *l;

	pthread_mutex_lock(&pool->lock);
	l = pool->asked.n ? &pool->asked : &pool->idle;
	if (l->n)
		mr = l->mr[--l->n];
	pthread_mutex_unlock(&pool->lock);
	return mr;
}

/* --------------------------------------------------------------------- users */

#define count_in(pool, name)                                                 \
	do {                                                                 \
		struct unic_bm_stats *to_ = (pool)->count;                   \
		if (to_)                                                     \
			__atomic_add_fetch(&to_->name, 1, __ATOMIC_RELAXED); \
	} while (0)

/* @mr has a user from now on; the lock is held. False: out of memory. */
static bool take_mr(struct unic_fast_pool *pool, struct unic_mr *mr)
{
	if (!push_mr(&pool->taken, mr))
		return false;
	if (pool->taken.n > pool->peak)
		pool->peak = pool->taken.n;
	return true;
}

/* Take what was put back last. True: it is usable, and *@out has a user; else it is to
 * end. *@out NULL: nothing is idle. */
static bool take_idle(struct unic_fast_pool *pool, uint32_t expected_us,
		      struct unic_mr **out)
{
	bool taken = false;

	*out = NULL;
	pthread_mutex_lock(&pool->lock);
	if (pool->idle.n)
		*out = pool->idle.mr[--pool->idle.n];
	if (*out && unic_mr_usable(*out, expected_us))
		taken = take_mr(pool, *out);
	if (taken)
		count_in(pool, fast_hits);
	pthread_mutex_unlock(&pool->lock);
	return taken;
}

/* Registrations that were asked back while idle are deregistered here. */
int unic_fast_pool_get(struct unic_fast_pool *pool, uint32_t expected_us,
		       struct unic_mr **out)
{
	struct unic_mr *mr;
	bool taken;
	int err;

	while (!take_idle(pool, expected_us, &mr)) {
		if (mr) {
			unic_mem_region_drop(mr);
			continue;
		}
		err = unic_alloc_fast_mr(pool->pd, pool->pages,
					 pool->page_bytes, &mr);
		if (err)
			return err;
		pthread_mutex_lock(&pool->lock);
		count_in(pool, fast_misses);
		taken = take_mr(pool, mr);
		pthread_mutex_unlock(&pool->lock);
		if (taken)
			break;
		unic_mem_region_drop(mr);
		return unic_fail(-ENOMEM, "out of memory");
	}
	*out = mr;
	return 0;
}

void unic_fast_pool_put(struct unic_fast_pool *pool, struct unic_mr *mr)
{
	unsigned int i;
	bool kept;

	pthread_mutex_lock(&pool->lock);
	i = find_mr(&pool->taken, mr);
	if (i < pool->taken.n)
		pull_mr(&pool->taken, i);
	kept = unic_mr_life(mr) == UNIC_MR_LIVE && push_mr(&pool->idle, mr);
	pthread_mutex_unlock(&pool->lock);
	if (!kept)
		unic_mem_region_drop(mr);
}

unsigned int unic_fast_pool_trim(struct unic_fast_pool *pool)
{
	struct unic_mr *mr;
	unsigned int n = 0;

	for (; (mr = pop_idle_mr(pool)); n++)
		unic_mem_region_drop(mr);
	return n;
}

void unic_fast_pool_destroy(struct unic_fast_pool *pool)
{
	unic_fast_pool_trim(pool);
	pthread_mutex_destroy(&pool->lock);
	free(pool->idle.mr);
	free(pool->taken.mr);
	free(pool->asked.mr);
	free(pool);
}

/* ------------------------------------------------------------------- running */

bool unic_fast_pool_heard(struct unic_fast_pool *pool, const struct unic_mr *mr)
{
	bool mine;

	pthread_mutex_lock(&pool->lock);
	mine = find_mr(&pool->idle, mr) < pool->idle.n ||
	       find_mr(&pool->taken, mr) < pool->taken.n ||
	       find_mr(&pool->asked, mr) < pool->asked.n;
	pthread_mutex_unlock(&pool->lock);
	return mine;
}

void unic_fast_pool_asked(struct unic_fast_pool *pool, const struct unic_mr *mr)
{
	unsigned int i;

	pthread_mutex_lock(&pool->lock);
	i = find_mr(&pool->idle, mr);
	if (i < pool->idle.n && push_mr(&pool->asked, pool->idle.mr[i]))
		pull_mr(&pool->idle, i);
	pthread_mutex_unlock(&pool->lock);
}

/* Take idle registrations that the NIC wants, or has, out of the pool. Returns how
 * many. */
static unsigned int pull_wanted(struct unic_fast_pool *pool,
				struct unic_mr *out[BATCH])
{
	struct list *idle = &pool->idle;
	unsigned int i = 0, n = 0;

	pthread_mutex_lock(&pool->lock);
	while (pool->asked.n && n < BATCH)
		out[n++] = pull_mr(&pool->asked, 0);
	while (i < idle->n && n < BATCH)
		if (unic_mr_life(idle->mr[i]) == UNIC_MR_LIVE)
			i++;
		else
			out[n++] = pull_mr(idle, i);
	pthread_mutex_unlock(&pool->lock);
	return n;
}

/* The room is for whom the NIC asked: what is made anew waits for a period. */
static void give_back(struct unic_fast_pool *pool, uint64_t now_ns)
{
	struct unic_mr *mr[BATCH];
	unsigned int n, i;

	do {
		n = pull_wanted(pool, mr);
		for (i = 0; i < n; i++) {
			unic_mem_region_drop(mr[i]);
			count_in(pool, fast_given);
			pool->retry_ns = now_ns + UNIC_POOL_PERIOD_NS;
		}
	} while (n == BATCH);
}

/* A period is over: how many there are to be. */
static void set_target(struct unic_fast_pool *pool)
{
	unsigned int want;

	pthread_mutex_lock(&pool->lock);
	want = pool->peak ? pool->peak + pool->peak / 4 + 1 : 0;
	pool->peak = pool->taken.n;
	pthread_mutex_unlock(&pool->lock);
	if (want >= pool->target)
		pool->target = want;
	else
		pool->target -= (pool->target - want + 7) / 8;
}

/* The idle registration that was put back first, if there are more than the target;
 * NULL: there are not. */
static struct unic_mr *pull_spare(struct unic_fast_pool *pool)
{
	struct unic_mr *mr = NULL;

	pthread_mutex_lock(&pool->lock);
	if (pool->idle.n && pool->idle.n + pool->taken.n > pool->target)
		mr = pull_mr(&pool->idle, 0);
	pthread_mutex_unlock(&pool->lock);
	return mr;
}

static bool is_short(struct unic_fast_pool *pool)
{
	bool less;

	pthread_mutex_lock(&pool->lock);
	less = pool->idle.n + pool->taken.n < pool->target;
	pthread_mutex_unlock(&pool->lock);
	return less;
}

/* Make one ahead of need. False: the NIC has no room, or there is no memory. */
static bool make_one(struct unic_fast_pool *pool)
{
	struct unic_mr *mr;
	bool kept;

	if (unic_alloc_fast_mr(pool->pd, pool->pages, pool->page_bytes, &mr))
		return false;
	pthread_mutex_lock(&pool->lock);
	kept = push_mr(&pool->idle, mr);
	pthread_mutex_unlock(&pool->lock);
	if (!kept)
		unic_mem_region_drop(mr);
	else
		count_in(pool, fast_made);
	return kept;
}

static void fill_up(struct unic_fast_pool *pool, uint64_t now_ns)
{
	while (now_ns >= pool->retry_ns && is_short(pool)) {
		if (make_one(pool)) {
			pool->backoff_ns = UNIC_POOL_PERIOD_NS;
			continue;
		}
		pool->retry_ns = now_ns + pool->backoff_ns;
		if (pool->backoff_ns < BACKOFF_MAX_NS)
			pool->backoff_ns *= 2;
	}
}

void unic_fast_pool_run(struct unic_fast_pool *pool, uint64_t now_ns,
			struct unic_bm_stats *count)
{
	struct unic_mr *mr;

	if (!pool->backoff_ns)
		pool->backoff_ns = UNIC_POOL_PERIOD_NS;
	pthread_mutex_lock(&pool->lock);
	pool->count = count;
	pthread_mutex_unlock(&pool->lock);
	give_back(pool, now_ns);
	if (now_ns >= pool->period_ns) {
		pool->period_ns = now_ns + UNIC_POOL_PERIOD_NS;
		set_target(pool);
		while ((mr = pull_spare(pool))) {
			unic_mem_region_drop(mr);
			count_in(pool, fast_trimmed);
		}
	}
	fill_up(pool, now_ns);
}
