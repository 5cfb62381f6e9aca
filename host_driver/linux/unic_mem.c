// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* unic_mem.c - see unic_mem.h. */
#include "unic_mem.h"

#include <linux/dma-mapping.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "unic_dev.h"
#include "unic_trace.h"

static struct workqueue_struct *fetchers;

static struct unic_pin *pin_of(struct interval_tree_node *node)
{
	return node ? container_of(node, struct unic_pin, range) : NULL;
}

/* ------------------------------------------------------------- what is where */

static bool any_stale(struct unic_mem *mem, unsigned long first,
		      unsigned long last)
{
	struct interval_tree_node *node;

	if (!mem->stale)
		return false;
	for (node = interval_tree_iter_first(&mem->live, first, last); node;
	     node = interval_tree_iter_next(node, first, last))
		if (pin_of(node)->stale)
			return true;
	return false;
}

/* How many pages of the range some live pin covers. */
static u64 covered(struct unic_mem *mem, unsigned long first,
		   unsigned long last)
{
	struct interval_tree_node *node;
	unsigned long at = first;
	u64 n = 0;

	for (node = interval_tree_iter_first(&mem->live, first, last); node;
	     node = interval_tree_iter_next(node, first, last)) {
		unsigned long from = max(node->start, at);
		unsigned long to = min(node->last, last);

		if (from > to)
			continue;
		n += to - from + 1;
		at = to + 1;
	}
	return n;
}

struct unic_pin *unic_pin_exact(struct unic_mem *mem, unsigned long first,
				unsigned long last)
{
	struct interval_tree_node *node;
	struct unic_pin *found = NULL;

	spin_lock(&mem->lock);
	for (node = interval_tree_iter_first(&mem->live, first, last); node;
	     node = interval_tree_iter_next(node, first, last)) {
		struct unic_pin *p = pin_of(node);

		if (node->start != first || node->last != last || p->loose)
			continue;
		if (!found || p->stale || (!found->stale && !p->write))
			found = p;
	}
	spin_unlock(&mem->lock);
	return found;
}

void unic_pin_loosen(struct unic_mem *mem)
{
	struct interval_tree_node *node;

	spin_lock(&mem->lock);
	for (node = interval_tree_iter_first(&mem->live, 0, ULONG_MAX); node;
	     node = interval_tree_iter_next(node, 0, ULONG_MAX)) {
		mem->loose += !pin_of(node)->loose;
		pin_of(node)->loose = true;
	}
	spin_unlock(&mem->lock);
}

struct unic_pin *unic_pin_again(struct unic_mem *mem, unsigned long first,
				unsigned long last, bool write)
{
	struct interval_tree_node *node;
	struct unic_pin *found = NULL;

	spin_lock(&mem->lock);
	for (node = interval_tree_iter_first(&mem->live, first, last);
	     node && !found;
	     node = interval_tree_iter_next(node, first, last)) {
		struct unic_pin *p = pin_of(node);

		if (node->start == first && node->last == last && p->loose &&
		    !p->stale && p->write >= write)
			found = p;
	}
	if (found) {
		found->loose = false;
		mem->loose--;
	}
	spin_unlock(&mem->lock);
	return found;
}

/* The first one that is, or is not, loose. */
static struct unic_pin *first_of(struct unic_mem *mem, unsigned long first,
				 unsigned long last, bool loose)
{
	struct interval_tree_node *node;
	struct unic_pin *found = NULL;

	spin_lock(&mem->lock);
	for (node = interval_tree_iter_first(&mem->live, first, last);
	     node && !found; node = interval_tree_iter_next(node, first, last))
		if (pin_of(node)->loose == loose)
			found = pin_of(node);
	spin_unlock(&mem->lock);
	return found;
}

struct unic_pin *unic_pin_at(struct unic_mem *mem, unsigned long page)
{
	return first_of(mem, page, page, false);
}

struct unic_pin *unic_pin_any(struct unic_mem *mem, bool loose)
{
	if (loose && !READ_ONCE(mem->loose))
		return NULL;
	return first_of(mem, 0, ULONG_MAX, loose);
}

bool unic_pin_stale(struct unic_mem *mem, unsigned long *first,
		    unsigned long *last)
{
	struct interval_tree_node *node;
	struct unic_pin *found = NULL;

	spin_lock(&mem->lock);
	for (node = interval_tree_iter_first(&mem->live, 0, ULONG_MAX);
	     node && !found; node = interval_tree_iter_next(node, 0, ULONG_MAX))
		if (pin_of(node)->stale && !pin_of(node)->told)
			found = pin_of(node);
	if (found) {
		found->told = true;
		*first = found->gone_first;
		*last = found->gone_last;
	} else {
		for (node = interval_tree_iter_first(&mem->live, 0, ULONG_MAX);
		     node; node = interval_tree_iter_next(node, 0, ULONG_MAX))
			pin_of(node)->told = false;
	}
	spin_unlock(&mem->lock);
	return found;
}

/* -------------------------------------------------------------- getting pages */

static unsigned int gup_flags(const struct vm_area_struct *vma, bool write,
			      bool wait)
{
	unsigned int flags = FOLL_LONGTERM | (wait ? 0 : FOLL_NOWAIT);

	if (write)
		return flags | FOLL_WRITE;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	/* A page that is only read must not be exchanged for a copy when its
	 * owner writes: have the copy made now. */
	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return flags | FOLL_WRITE | FOLL_FORCE;
#endif
	return flags;
}

static long gup(struct mm_struct *mm, unsigned long va, unsigned long n,
		unsigned int flags, struct page **page)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return pin_user_pages_remote(mm, va, n, flags, page, NULL);
#else
	return pin_user_pages_remote(mm, va, n, flags, page, NULL, NULL);
#endif
}

static long gup_look(struct mm_struct *mm, unsigned long va, struct page **page)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return get_user_pages_remote(mm, va, 1, 0, page, NULL);
#else
	return get_user_pages_remote(mm, va, 1, 0, page, NULL, NULL);
#endif
}

/* 0 or -errno; p->n is what was got. The address space is locked. */
static int get_pages(struct mm_struct *mm, struct unic_pin *p, bool wait)
{
	unsigned long page = p->range.start;

	while (page <= p->range.last) {
		unsigned long va = page << PAGE_SHIFT, n;
		struct vm_area_struct *vma = find_vma(mm, va);
		long got;

		if (!vma || vma->vm_start > va)
			return -ENOENT;
		n = min((vma->vm_end >> PAGE_SHIFT) - page,
			p->range.last - page + 1);
		got = gup(mm, va, n, gup_flags(vma, p->write, wait),
			  p->page + p->n);
		if (got <= 0)
			return got == -EBUSY || got == -EAGAIN ? -EAGAIN
			       : got == -ENOMEM		       ? -ENOMEM
							       : -ENOENT;
		p->n += got;
		page += got;
	}
	return 0;
}

static int get_all(struct unic_mem *mem, struct unic_pin *p, bool wait)
{
	int err;

	if (!mmget_not_zero(mem->mm))
		return -ENOENT;
	if (wait) {
		mmap_read_lock(mem->mm);
	} else if (!mmap_read_trylock(mem->mm)) {
		mmput_async(mem->mm);
		return -EAGAIN;
	}
	err = get_pages(mem->mm, p, wait);
	mmap_read_unlock(mem->mm);
	/* the end of it comes to us again: not from here */
	mmput_async(mem->mm);
	return err;
}

static struct unic_pin *pin_new(unsigned long first, unsigned long last,
				bool write)
{
	size_t n = last - first + 1;
	struct unic_pin *p =
		kvzalloc(struct_size(p, bus, n) + n * sizeof(*p->page),
			 GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	p->range.start = first;
	p->range.last = last;
	p->write = write;
	p->page = (struct page **)(void *)(p->bus + n);
	INIT_LIST_HEAD(&p->node);
	return p;
}

static void pin_free(struct unic_pin *p)
{
	unpin_user_pages_dirty_lock(p->page, p->n, p->write);
	kvfree(p);
}

/* Before pages are got it is among those that come, for the notifier. */
static int announce(struct unic_mem *mem, struct unic_pin *p)
{
	unsigned long first = p->range.start, last = p->range.last;
	u64 n = last - first + 1, has = atomic64_read(&mem->mm->pinned_vm);
	int err = 0;

	spin_lock(&mem->lock);
	if (any_stale(mem, first, last))
		err = -EAGAIN;
	else if (n > mem->max || has + n - covered(mem, first, last) > mem->max)
		err = -EDQUOT;
	else
		interval_tree_insert(&p->range, &mem->coming);
	spin_unlock(&mem->lock);
	return err;
}

static void withdraw(struct unic_mem *mem, struct unic_pin *p)
{
	spin_lock(&mem->lock);
	interval_tree_remove(&p->range, &mem->coming);
	spin_unlock(&mem->lock);
}

struct unic_pin *unic_pin_fetch(struct unic_mem *mem, unsigned long first,
				unsigned long last, bool write, bool wait)
{
	struct unic_pin *p = pin_new(first, last, write);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	err = announce(mem, p);
	if (!err) {
		err = get_all(mem, p, wait);
		if (!err)
			return p;
		withdraw(mem, p);
	}
	pin_free(p);
	return ERR_PTR(err);
}

void unic_pin_drop(struct unic_mem *mem, struct unic_pin *pin)
{
	unic_pin_unmap(mem, pin);
	withdraw(mem, pin);
	pin_free(pin);
}

/* --------------------------------------------------------- pages that took time */

static void fetch_work(struct work_struct *work)
{
	struct unic_fetch *f = container_of(work, struct unic_fetch, work);
	struct unic_mem *mem = f->mem;
	struct unic_pin *p =
		unic_pin_fetch(mem, f->page, f->page, f->write, true);

	if (!IS_ERR(p))
		unic_pin_drop(mem, p); /* it is there now, that is all */
	spin_lock(&mem->lock);
	f->mem = NULL;
	spin_unlock(&mem->lock);
	unic_dev_kick(mem->os);
	unic_mem_put(mem);
}

void unic_pin_later(struct unic_mem *mem, unsigned long first, bool write)
{
	struct unic_fetch *f, *place = NULL;

	spin_lock(&mem->lock);
	for (f = mem->fetch; f < mem->fetch + UNIC_FETCHES; f++) {
		if (f->mem && f->page == first && f->write >= write)
			goto out; /* under way */
		if (!f->mem)
			place = f;
	}
	if (!place)
		goto out; /* it is asked for again */
	place->mem = mem;
	place->page = first;
	place->write = write;
	unic_mem_get(mem);
	queue_work(fetchers, &place->work);
	trace_unic_later(mem->os, mem->pid, first, first, write, 0);
out:
	spin_unlock(&mem->lock);
}

/* ------------------------------------------------------------- for the device */

/* The device would see a copy. Nobody says when to make one anew. */
static bool bounces(struct device *dev, dma_addr_t bus)
{
	if (!dma_need_sync(dev, bus))
		return false;
	dma_unmap_page(dev, bus, PAGE_SIZE, DMA_BIDIRECTIONAL);
	dev_err_once(dev, "memory is not coherent, or out of reach\n");
	return true;
}

int unic_pin_map(struct unic_mem *mem, struct unic_pin *pin)
{
	struct device *dev = unic_dev_dma(mem->os);

	for (; pin->mapped < pin->n; pin->mapped++) {
		dma_addr_t bus = dma_map_page(dev, pin->page[pin->mapped], 0,
					      PAGE_SIZE, DMA_BIDIRECTIONAL);

		if (dma_mapping_error(dev, bus) || bounces(dev, bus)) {
			unic_pin_unmap(mem, pin);
			return -EIO;
		}
		pin->bus[pin->mapped] = bus;
	}
	return 0;
}

void unic_pin_unmap(struct unic_mem *mem, struct unic_pin *pin)
{
	while (pin->mapped)
		dma_unmap_page(unic_dev_dma(mem->os), pin->bus[--pin->mapped],
			       PAGE_SIZE, DMA_BIDIRECTIONAL);
}

int unic_pin_live(struct unic_mem *mem, struct unic_pin *pin, u64 *added)
{
	unsigned long first = pin->range.start, last = pin->range.last;
	int err = 0;

	spin_lock(&mem->lock);
	*added = last - first + 1 - covered(mem, first, last);
	if (pin->stale || any_stale(mem, first, last)) {
		err = -ENOENT;
	} else if (atomic64_add_return(*added, &mem->mm->pinned_vm) >
		   mem->max) {
		atomic64_sub(*added, &mem->mm->pinned_vm);
		err = -EDQUOT;
	} else {
		interval_tree_remove(&pin->range, &mem->coming);
		interval_tree_insert(&pin->range, &mem->live);
		trace_unic_pin(mem->os, mem->pid, first, last, pin->write,
			       *added);
	}
	spin_unlock(&mem->lock);
	return err;
}

u64 unic_pin_end(struct unic_mem *mem, struct unic_pin *pin)
{
	unsigned long first = pin->range.start, last = pin->range.last;
	bool stale;
	u64 n;

	unic_pin_unmap(mem, pin);
	spin_lock(&mem->lock);
	interval_tree_remove(&pin->range, &mem->live);
	stale = pin->stale;
	mem->stale -= stale;
	mem->loose -= pin->loose;
	n = last - first + 1 - covered(mem, first, last);
	spin_unlock(&mem->lock);
	atomic64_sub(n, &mem->mm->pinned_vm);
	trace_unic_unpin(mem->os, mem->pid, first, last, pin->write, n);
	pin_free(pin);
	if (stale)
		wake_up_all(&mem->fresh);
	return n;
}

/* -------------------------------------------------------------------- notifier */

static void mark_stale(struct unic_mem *mem, struct rb_root_cached *pins,
		       unsigned long first, unsigned long last, bool live)
{
	struct interval_tree_node *node;

	for (node = interval_tree_iter_first(pins, first, last); node;
	     node = interval_tree_iter_next(node, first, last)) {
		struct unic_pin *p = pin_of(node);
		unsigned long from = max(first, node->start);
		unsigned long to = min(last, node->last);

		p->gone_first = p->stale ? min(p->gone_first, from) : from;
		p->gone_last = p->stale ? max(p->gone_last, to) : to;
		mem->stale += live && !p->stale;
		trace_unic_unmapped(mem->os, mem->pid, from, to, p->write, 0);
		p->stale = true;
	}
}

/* Is the page that is pinned at @page still the one that is mapped there? One that
 * is not mapped just now is faulted in: it may be that of a file, or on its way
 * back from where it could not be moved to. */
static bool still_there(struct unic_mem *mem, unsigned long page,
			const struct page *want)
{
	struct page *got;
	long n = 0;

	if (!mmget_not_zero(mem->mm))
		return true; /* its end is told otherwise */
	mmap_read_lock(mem->mm);
	n = gup_look(mem->mm, page << PAGE_SHIFT, &got);
	mmap_read_unlock(mem->mm);
	mmput_async(mem->mm);
	if (n == 1)
		put_page(got);
	return n == 1 && got == want;
}

/* The first page from *@page to @last that is live, NULL: none. */
static struct page *next_live(struct unic_mem *mem, unsigned long *page,
			      unsigned long last)
{
	struct page *want = NULL;
	struct unic_pin *p;

	if (*page > last)
		return NULL;
	spin_lock(&mem->lock);
	p = pin_of(interval_tree_iter_first(&mem->live, *page, last));
	if (p) {
		*page = max(*page, p->range.start);
		want = p->page[*page - p->range.start];
	}
	spin_unlock(&mem->lock);
	return want;
}

/* Unless it was unpinned, or pinned anew, meanwhile. */
static void exchanged(struct unic_mem *mem, unsigned long page,
		      const struct page *was)
{
	struct unic_pin *p;

	spin_lock(&mem->lock);
	p = pin_of(interval_tree_iter_first(&mem->live, page, page));
	if (p && p->page[page - p->range.start] == was)
		mark_stale(mem, &mem->live, page, page, true);
	spin_unlock(&mem->lock);
	unic_dev_kick(mem->os);
}

static void look_work(struct work_struct *work)
{
	struct unic_mem *mem = container_of(work, struct unic_mem, look);
	unsigned long page, last;
	struct page *was;

	spin_lock(&mem->lock);
	page = mem->doubt_first;
	last = mem->doubt_last;
	mem->doubt = false;
	spin_unlock(&mem->lock);
	for (; (was = next_live(mem, &page, last)); page++)
		if (!still_there(mem, page, was))
			exchanged(mem, page, was);
	unic_mem_put(mem);
}

/* What lies behind addresses changes, or seems to. */
static void begin_doubt(struct unic_mem *mem, unsigned long first,
			unsigned long last)
{
	if (!interval_tree_iter_first(&mem->live, first, last))
		return;
	mem->doubt_first = mem->doubt ? min(mem->doubt_first, first) : first;
	mem->doubt_last = mem->doubt ? max(mem->doubt_last, last) : last;
	mem->doubt = true;
	/* its file has a reference, or there would be no notifier */
	if (queue_work(fetchers, &mem->look))
		unic_mem_get(mem);
}

/* Unmapped or moved: stale at once. */
static int on_invalidate(struct mmu_notifier *n,
			 const struct mmu_notifier_range *range)
{
	struct unic_mem *mem = container_of(n, struct unic_mem, notifier);
	unsigned long first = range->start >> PAGE_SHIFT;
	unsigned long last = (range->end - 1) >> PAGE_SHIFT;
	u32 before;

	if (range->event != MMU_NOTIFY_UNMAP)
		return 0;
	spin_lock(&mem->lock);
	before = mem->stale;
	mark_stale(mem, &mem->live, first, last, true);
	mark_stale(mem, &mem->coming, first, last, false);
	if (mem->stale != before)
		unic_dev_kick(mem->os);
	spin_unlock(&mem->lock);
	return 0;
}

/*
 * Cleared: its contents were given up (MADV_DONTNEED, a file was cut), or the
 * kernel tried to move the page, which it cannot as long as it is pinned: a look,
 * now that it is done, will tell. Whatever else happens to a page does not happen
 * to one that is pinned.
 */
static void on_invalidated(struct mmu_notifier *n,
			   const struct mmu_notifier_range *range)
{
	struct unic_mem *mem = container_of(n, struct unic_mem, notifier);

	if (range->event != MMU_NOTIFY_CLEAR)
		return;
	spin_lock(&mem->lock);
	begin_doubt(mem, range->start >> PAGE_SHIFT,
		    (range->end - 1) >> PAGE_SHIFT);
	spin_unlock(&mem->lock);
}

static void on_release(struct mmu_notifier *n, struct mm_struct *mm)
{
	struct unic_mem *mem = container_of(n, struct unic_mem, notifier);

	mem->ended(mem);
}

static const struct mmu_notifier_ops notifier_ops = {
	.invalidate_range_start = on_invalidate,
	.invalidate_range_end = on_invalidated,
	.release = on_release,
};

int unic_mem_settle(struct unic_mem *mem, unsigned long first,
		    unsigned long last)
{
	long left;
	bool any;

	left = wait_event_interruptible_timeout(
		mem->fresh, ({
			spin_lock(&mem->lock);
			any = any_stale(mem, first, last);
			spin_unlock(&mem->lock);
			!any;
		}),
		HZ);
	return left < 0 ? left : 0;
}

/* ----------------------------------------------------------------- life of it */

int unic_mem_init(void)
{
	fetchers = alloc_workqueue("unic", WQ_UNBOUND, 0);
	return fetchers ? 0 : -ENOMEM;
}

void unic_mem_exit(void)
{
	destroy_workqueue(fetchers);
}

void unic_mem_limit(struct unic_mem *mem)
{
	WRITE_ONCE(mem->max, capable(CAP_IPC_LOCK)
				     ? S64_MAX
				     : rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT);
}

struct unic_mem *unic_mem_new(struct unic_os *os, void *owner,
			      void (*ended)(struct unic_mem *mem))
{
	struct unic_mem *mem;
	u32 i;
	int err;

	if (!current->mm) /* a thread of the kernel */
		return ERR_PTR(-EINVAL);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	kref_init(&mem->ref);
	mem->os = os;
	mem->mm = current->mm;
	mem->pid = task_tgid_nr(current);
	unic_mem_limit(mem);
	mem->owner = owner;
	mem->ended = ended;
	mem->notifier.ops = &notifier_ops;
	mem->live = RB_ROOT_CACHED;
	mem->coming = RB_ROOT_CACHED;
	spin_lock_init(&mem->lock);
	init_waitqueue_head(&mem->fresh);
	INIT_WORK(&mem->look, look_work);
	for (i = 0; i < UNIC_FETCHES; i++)
		INIT_WORK(&mem->fetch[i].work, fetch_work);
	err = mmu_notifier_register(&mem->notifier, mem->mm);
	if (err) {
		kfree(mem);
		return ERR_PTR(err);
	}
	mmgrab(mem->mm);
	get_device(&os->dev);
	return mem;
}

void unic_mem_leave(struct unic_mem *mem)
{
	mmu_notifier_unregister(&mem->notifier, mem->mm);
	unic_mem_put(mem);
}

void unic_mem_get(struct unic_mem *mem)
{
	kref_get(&mem->ref);
}

static void mem_free(struct kref *ref)
{
	struct unic_mem *mem = container_of(ref, struct unic_mem, ref);

	mmdrop(mem->mm);
	put_device(&mem->os->dev);
	kfree(mem);
}

void unic_mem_put(struct unic_mem *mem)
{
	kref_put(&mem->ref, mem_free);
}
