// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* unic_kmem_work.c - see unic_kmem_work.h. */
#include "unic_kmem_work.h"

#include "unic_kmem_conn.h"
#include "unic_kmem_link.h"

void unic_kmem_enter(struct unic_kmem *k, struct unic_kmem_region *r)
{
	unsigned int noio = unic_lock(k->os);

	k->runner = current;
	k->running = r;
	unic_unlock(k->os, noio);
}

void unic_kmem_exit(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);

	k->runner = NULL;
	k->running = NULL;
	unic_unlock(k->os, noio);
	wake_up_all(&k->wait);
}

/* The next region that the module is to be told of, marked as told; NULL. */
static struct unic_kmem_region *next_region(struct unic_kmem *k, bool *ended)
{
	struct unic_kmem_region *r;

	list_for_each_entry(r, &k->regions, node) {
		*ended = r->ended;
		if (!r->handed_over || r->told || (!r->ended && !r->noticed))
			continue;
		r->noticed = false;
		r->told = r->ended;
		return r;
	}
	return NULL;
}

/* Tells the module of one region. False: there is none. */
static bool tell_region(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);
	bool ended;
	struct unic_kmem_region *r = k->closing ? NULL : next_region(k, &ended);
	u64 now = ktime_get_ns(), left = 0;
	u32 why = 0;

	if (r) {
		k->runner = current;
		k->running = r;
		why = r->why;
		left = r->deadline_ns > now ? r->deadline_ns - now : 0;
	}
	unic_unlock(k->os, noio);
	if (!r)
		return false;
	if (ended && k->ops->gone)
		k->ops->gone(k->of, &r->mr, why);
	else if (!ended && k->ops->notice)
		k->ops->notice(k->of, &r->mr, why,
			       min_t(u64, div_u64(left, 1000), U32_MAX));
	unic_kmem_exit(k);
	return true;
}

/* Tells the module of a reset, once the handle is set up again. */
static void tell_lost(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);
	bool lost = k->lost && k->opened && (k->up || k->over) && !k->closing;
	bool over = k->over;

	if (lost)
		k->lost = false;
	unic_unlock(k->os, noio);
	if (!lost || !k->ops->lost)
		return;
	unic_kmem_enter(k, NULL);
	k->ops->lost(k->of, over);
	unic_kmem_exit(k);
}

void unic_kmem_work(struct work_struct *work)
{
	struct unic_kmem *k = container_of(work, struct unic_kmem, work);

	do {
		unic_kmem_set_up(k);
		while (tell_region(k))
			;
		tell_lost(k);
	} while (unic_kmem_conns(k));
}
