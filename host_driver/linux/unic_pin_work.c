// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_pin_work.c - what of a process's memory takes time, done by workers: fetching pages
 * that are not present, comparing pinned pages with those that are mapped, and freeing
 * large pins.
 *
 * Secret: what may wait for what. A page may come from a server that never answers: its
 * worker holds no lock, and its queue has only fetches. A comparison waits for nothing.
 */
#include <linux/module.h>
#include <linux/sched/mm.h>

#include "unic_dev.h"
#include "unic_gup.h"
#include "unic_pin_work.h"
#include "unic_mem.h"
#include "unic_pin.h"
#include "unic_trace.h"

/* interval between comparisons that cannot tell */
#define LOOK_JIFFIES (HZ / 100 + 1)
#define LOOKS	     100
#define WORKERS_MAX  WQ_MAX_ACTIVE

static struct workqueue_struct *fetchers, *keepers;

int unic_pin_work_init(void)
{
	fetchers = alloc_workqueue("unic_fetch", WQ_UNBOUND, WORKERS_MAX);
	keepers = alloc_workqueue("unic_keep", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (fetchers && keepers)
		return 0;
	unic_pin_work_exit();
	return -ENOMEM;
}

void unic_pin_work_exit(void)
{
	if (fetchers)
		destroy_workqueue(fetchers);
	if (keepers)
		destroy_workqueue(keepers);
}

/* ----------------------------------------------------------------- fetching */

/*
 * A page that never comes occupies its worker, even after the process has exited. So one
 * user gets a part of the workers at most, however many processes it starts.
 */
#define USERS 64u

static uint user_fetches = 3 * UNIC_FETCHES;
module_param(user_fetches, uint, 0644);
MODULE_PARM_DESC(user_fetches, "workers that may wait for pages of one user's "
			       "processes");

static DEFINE_SPINLOCK(users_lock);
static struct {
	u32 uid, n; /* n: fetches under way; 0: the entry is free */
} users[USERS];

static bool user_get(u32 uid)
{
	u32 i, place = USERS;

	spin_lock(&users_lock);
	for (i = 0; i < USERS; i++) {
		if (users[i].n && users[i].uid == uid)
			break;
		if (!users[i].n)
			place = i;
	}
	if (i == USERS)
		i = place;
	if (i < USERS && users[i].n >= READ_ONCE(user_fetches))
		i = USERS;
	if (i < USERS) {
		users[i].uid = uid;
		users[i].n++;
	}
	spin_unlock(&users_lock);
	return i < USERS;
}

static void user_put(u32 uid)
{
	u32 i;

	spin_lock(&users_lock);
	for (i = 0; i < USERS; i++)
		if (users[i].n && users[i].uid == uid)
			break;
	if (!WARN_ON_ONCE(i == USERS))
		users[i].n--;
	spin_unlock(&users_lock);
}

static struct unic_pin *fetch_pin(struct unic_fetch *f)
{
	struct unic_pin *p = ERR_PTR(-ENOENT);
	struct unic_mem *mem = f->mem;

	if (!mmget_not_zero(mem->mm))
		return p;
	unic_gup_touch(mem->mm, f->first, f->last, f->write);
	mmput_async(mem->mm);
	return unic_pin_fetch(mem, f->first, f->last, f->write);
}

static void drop_pin(struct unic_mem *mem, struct unic_pin *p)
{
	if (!IS_ERR_OR_NULL(p))
		unic_pin_drop(mem, p);
}

static void fetch_work(struct work_struct *work)
{
	struct unic_fetch *f = container_of(work, struct unic_fetch, work);
	struct unic_pin *p = fetch_pin(f);
	struct unic_mem *mem = f->mem;

	user_put(mem->uid);
	spin_lock(&mem->lock);
	f->mem = NULL;
	f->since = jiffies;
	if (mem->bound)
		swap(f->pin, p);
	spin_unlock(&mem->lock);
	drop_pin(mem, p);
	unic_dev_kick(mem->os);
	unic_mem_put(mem);
	/* unic_pin_work_exit() waits until this function has returned */
	module_put(THIS_MODULE);
}

static bool is_fetch_of(const struct unic_fetch *f, unsigned long first,
			unsigned long last, bool write)
{
	return (f->mem || f->pin) && f->first == first && f->last == last &&
	       f->write >= write;
}

/* The fetch of this range; else a free one; else the one done longest ago; or NULL. */
static struct unic_fetch *find_fetch(struct unic_mem *mem, unsigned long first,
				     unsigned long last, bool write)
{
	struct unic_fetch *f, *place = NULL;

	for (f = mem->fetch; f < mem->fetch + UNIC_FETCHES; f++) {
		if (is_fetch_of(f, first, last, write))
			return f;
		if (f->mem || (place && !place->pin))
			continue;
		if (!f->pin || !place || time_before(f->since, place->since))
			place = f;
	}
	return place;
}

static void start_fetch(struct unic_mem *mem, struct unic_fetch *f,
			unsigned long first, unsigned long last, bool write)
{
	if (!user_get(mem->uid))
		return;
	if (!try_module_get(THIS_MODULE)) {
		user_put(mem->uid);
		return;
	}
	f->mem = mem;
	f->first = first;
	f->last = last;
	f->write = write;
	unic_mem_get(mem);
	queue_work(fetchers, &f->work);
	trace_unic_later(mem->os, mem->pid, first, last, write, 0);
}

struct unic_pin *unic_pin_fetch_async(struct unic_mem *mem, unsigned long first,
				      unsigned long last, bool write)
{
	struct unic_pin *p = NULL, *untaken = NULL;
	struct unic_fetch *f;

	spin_lock(&mem->lock);
	f = find_fetch(mem, first, last, write);
	if (f && is_fetch_of(f, first, last, write))
		swap(f->pin, p);
	else if (f)
		swap(f->pin, untaken);
	if (!IS_ERR_OR_NULL(p) && p->invalidated)
		/* an unmapped page may have been replaced: fetch again */
		swap(p, untaken);
	if (f && !f->mem && (!p || p == ERR_PTR(-EAGAIN)))
		start_fetch(mem, f, first, last, write);
	spin_unlock(&mem->lock);
	drop_pin(mem, untaken);
	return p ? p : ERR_PTR(-EAGAIN);
}

/* A pin that was fetched at least @jiffies_ago ago; it is the caller's. NULL: none. */
static struct unic_pin *take_done_pin(struct unic_mem *mem,
				      unsigned long jiffies_ago)
{
	struct unic_pin *p = NULL;
	u32 i;

	spin_lock(&mem->lock);
	for (i = 0; i < UNIC_FETCHES && !p; i++)
		if (mem->fetch[i].pin &&
		    time_after_eq(jiffies, mem->fetch[i].since + jiffies_ago))
			swap(mem->fetch[i].pin, p);
	spin_unlock(&mem->lock);
	return p;
}

void unic_pin_bound(struct unic_mem *mem, bool bound)
{
	struct unic_pin *p;

	spin_lock(&mem->lock);
	mem->bound = bound;
	spin_unlock(&mem->lock);
	while (!bound && (p = take_done_pin(mem, 0)))
		drop_pin(mem, p);
}

bool unic_pin_untaken(struct unic_mem *mem)
{
	struct unic_pin *p;
	bool any = false;
	u32 i;

	while ((p = take_done_pin(mem, HZ)))
		drop_pin(mem, p);
	for (i = 0; i < UNIC_FETCHES; i++)
		any |= !!READ_ONCE(mem->fetch[i].pin);
	return any;
}

/* ---------------------------------------------------------------- comparing */

/* After LOOKS comparisons that could not tell, a page counts as exchanged. */
static bool recheck_pages(struct unic_mem *mem, unsigned long page,
			  unsigned long last)
{
	bool sure = true, patient = mem->looks < LOOKS;
	struct page *was;
	int there;

	for (; (was = unic_pin_next_page(mem, &page, last)); page++) {
		there = unic_gup_is_mapped(mem->mm, page, was);
		if (there == -EAGAIN && patient)
			sure = false;
		else if (there <= 0)
			unic_pin_exchanged(mem, page, was);
		cond_resched();
	}
	return sure;
}

static void recheck_work(struct work_struct *work)
{
	struct unic_mem *mem = container_of(work, struct unic_mem, look.work);
	bool sure, again;

	spin_lock(&mem->lock);
	if (mem->recheck.is)
		unic_span_add(&mem->looking, mem->recheck.first,
			      mem->recheck.last);
	mem->recheck.is = false;
	spin_unlock(&mem->lock);
	sure = recheck_pages(mem, mem->looking.first, mem->looking.last);
	spin_lock(&mem->lock);
	mem->looking.is = !sure;
	mem->looks = sure ? 0 : mem->looks + 1;
	again = !sure && !mem->left &&
		queue_delayed_work(keepers, &mem->look, LOOK_JIFFIES);
	spin_unlock(&mem->lock);
	wake_up_all(&mem->fresh);
	if (!again)
		unic_mem_put(mem);
}

void unic_mem_recheck(struct unic_mem *mem, unsigned long first,
		      unsigned long last)
{
	if (mem->left)
		return; /* unic_pin_work_end() waits for no look that begins afterwards */
	unic_span_add(&mem->recheck, first, last);
	/* The caller has a reference, so the worker's may be taken after the work
	 * is queued; work that was queued already has one. */
	if (mod_delayed_work(keepers, &mem->look, 0))
		return;
	unic_mem_get(mem);
}

/* ----------------------------------------------------------------- dropping */

static void drop_work(struct work_struct *work)
{
	struct unic_mem *mem = container_of(work, struct unic_mem, drop);
	struct unic_pin *p;

	spin_lock(&mem->lock);
	while ((p = list_first_entry_or_null(&mem->dropped, struct unic_pin,
					     node))) {
		list_del(&p->node);
		spin_unlock(&mem->lock);
		unic_pin_free(mem, p);
		cond_resched();
		spin_lock(&mem->lock);
	}
	WRITE_ONCE(mem->dropping, false);
	spin_unlock(&mem->lock);
	unic_mem_put(mem);
}

void unic_pin_free_async(struct unic_mem *mem, struct unic_pin *p)
{
	spin_lock(&mem->lock);
	list_add(&p->node, &mem->dropped);
	WRITE_ONCE(mem->dropping, true);
	if (queue_work(keepers, &mem->drop))
		unic_mem_get(mem);
	spin_unlock(&mem->lock);
}

void unic_pin_work_flush(void)
{
	flush_workqueue(keepers);
}

void unic_pin_work_new(struct unic_mem *mem)
{
	u32 i;

	INIT_LIST_HEAD(&mem->dropped);
	INIT_WORK(&mem->drop, drop_work);
	INIT_DELAYED_WORK(&mem->look, recheck_work);
	for (i = 0; i < UNIC_FETCHES; i++)
		INIT_WORK(&mem->fetch[i].work, fetch_work);
}

void unic_pin_work_end(struct unic_mem *mem)
{
	spin_lock(&mem->lock);
	mem->left = true;
	spin_unlock(&mem->lock);
	if (cancel_delayed_work_sync(&mem->look))
		unic_mem_put(mem);
}
