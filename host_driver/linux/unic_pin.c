// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_pin.c - the pins of a process: see unic_pin.h.
 *
 * Secret: how pins that overlap are found and counted, once each.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "unic_dev.h"
#include "unic_gup.h"
#include "unic_pin_work.h"
#include "unic_mem.h"
#include "unic_pin.h"
#include "unic_trace.h"

/* Pages of a pin that is freed at once; a larger one is freed by a worker, as
 * other processes wait for the lock meanwhile. */
#define DROP_MAX 512u

void unic_span_add(struct unic_span *span, unsigned long first,
		   unsigned long last)
{
	span->first = span->is ? min(span->first, first) : first;
	span->last = span->is ? max(span->last, last) : last;
	span->is = true;
}

static bool in_span(const struct unic_span *span, unsigned long first,
		    unsigned long last)
{
	return span->is && span->first <= last && first <= span->last;
}

/* ------------------------------------------------------------------- lookup */

/* Is an active pin in the range invalidated, or are pages of the range in doubt? */
static bool has_invalidated_pins(struct unic_mem *mem, unsigned long first,
				 unsigned long last)
{
	struct interval_tree_node *node;

	if (in_span(&mem->recheck, first, last) ||
	    in_span(&mem->looking, first, last))
		return true;
	if (!mem->invalidated)
		return false;
	for (node = interval_tree_iter_first(&mem->active, first, last); node;
	     node = interval_tree_iter_next(node, first, last))
		if (unic_pin_of(node)->invalidated)
			return true;
	return false;
}

/* Counts the pages of the range that an active pin covers. */
static u64 count_pinned_pages(struct unic_mem *mem, unsigned long first,
			      unsigned long last)
{
	struct interval_tree_node *node;
	unsigned long at = first;
	u64 n = 0;

	for (node = interval_tree_iter_first(&mem->active, first, last); node;
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
	for (node = interval_tree_iter_first(&mem->active, first, last); node;
	     node = interval_tree_iter_next(node, first, last)) {
		struct unic_pin *p = unic_pin_of(node);

		if (node->start != first || node->last != last || p->orphaned)
			continue;
		if (!found || p->invalidated ||
		    (!found->invalidated && !p->write))
			found = p;
	}
	spin_unlock(&mem->lock);
	return found;
}

void unic_pin_orphan_all(struct unic_mem *mem)
{
	struct interval_tree_node *node;

	spin_lock(&mem->lock);
	for (node = interval_tree_iter_first(&mem->active, 0, ULONG_MAX); node;
	     node = interval_tree_iter_next(node, 0, ULONG_MAX)) {
		mem->orphaned += !unic_pin_of(node)->orphaned;
		unic_pin_of(node)->orphaned = true;
	}
	spin_unlock(&mem->lock);
}

struct unic_pin *unic_pin_again(struct unic_mem *mem, unsigned long first,
				unsigned long last, bool write)
{
	struct interval_tree_node *node;
	struct unic_pin *found = NULL;

	if (!READ_ONCE(mem->orphaned))
		return NULL;
	spin_lock(&mem->lock);
	for (node = interval_tree_iter_first(&mem->active, first, last);
	     node && !found;
	     node = interval_tree_iter_next(node, first, last)) {
		struct unic_pin *p = unic_pin_of(node);

		if (node->start == first && node->last == last && p->orphaned &&
		    !p->invalidated && p->write >= write)
			found = p;
	}
	if (found) {
		found->orphaned = false;
		mem->orphaned--;
	}
	spin_unlock(&mem->lock);
	return found;
}

/* The first active pin in the range whose `orphaned` is @orphaned; NULL: none. */
static struct unic_pin *find_first_pin(struct unic_mem *mem,
				       unsigned long first, unsigned long last,
				       bool orphaned)
{
	struct interval_tree_node *node;
	struct unic_pin *found = NULL;

	spin_lock(&mem->lock);
	for (node = interval_tree_iter_first(&mem->active, first, last);
	     node && !found; node = interval_tree_iter_next(node, first, last))
		if (unic_pin_of(node)->orphaned == orphaned)
			found = unic_pin_of(node);
	spin_unlock(&mem->lock);
	return found;
}

struct unic_pin *unic_pin_at(struct unic_mem *mem, unsigned long page)
{
	return find_first_pin(mem, page, page, false);
}

struct unic_pin *unic_pin_find_orphaned(struct unic_mem *mem)
{
	return READ_ONCE(mem->orphaned)
		       ? find_first_pin(mem, 0, ULONG_MAX, true)
		       : NULL;
}

bool unic_pin_next_invalidated(struct unic_mem *mem, unsigned long at,
			       unsigned long *first, unsigned long *last)
{
	struct interval_tree_node *node;
	struct unic_pin *p, *found = NULL;

	spin_lock(&mem->lock);
	for (node = interval_tree_iter_first(&mem->active, at, ULONG_MAX); node;
	     node = interval_tree_iter_next(node, at, ULONG_MAX)) {
		p = unic_pin_of(node);
		if (p->invalidated && p->gone.last >= at &&
		    (!found || p->gone.first < found->gone.first))
			found = p;
	}
	if (found) {
		*first = max(found->gone.first, at);
		*last = found->gone.last;
	}
	/* extend the range by invalidated pins that overlap it or follow at once */
	for (node = found ? &found->range : NULL; node;
	     node = interval_tree_iter_next(node, at, ULONG_MAX)) {
		p = unic_pin_of(node);
		if (p->invalidated && p->gone.first >= *first &&
		    p->gone.first <= *last + 1)
			*last = max(*last, p->gone.last);
	}
	spin_unlock(&mem->lock);
	return found;
}

struct page *unic_pin_next_page(struct unic_mem *mem, unsigned long *page,
				unsigned long last)
{
	struct page *want = NULL;
	struct unic_pin *p;

	if (*page > last)
		return NULL;
	spin_lock(&mem->lock);
	p = unic_pin_of(interval_tree_iter_first(&mem->active, *page, last));
	if (p) {
		*page = max(*page, p->range.start);
		want = p->page[*page - p->range.start];
	}
	spin_unlock(&mem->lock);
	return want;
}

/* -------------------------------------------------------------- getting pages */

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

void unic_pin_free(struct unic_mem *mem, struct unic_pin *p)
{
	unic_pin_unmap(mem, p);
	unic_gup_unpin(p);
	kvfree(p);
}

/* Charges @n pages to mm->pinned_vm, where pins that are pending count, too. */
static int charge_pinned(struct unic_mem *mem, u64 n)
{
	if (atomic64_add_return(n, &mem->mm->pinned_vm) <= mem->max)
		return 0;
	atomic64_sub(n, &mem->mm->pinned_vm);
	return -EDQUOT;
}

/* Charges @p and adds it to the tree `pending`, where the notifier finds it,
 * before its pages are got. */
static int add_pending_pin(struct unic_mem *mem, struct unic_pin *p)
{
	unsigned long first = p->range.start, last = p->range.last;
	int err = -EAGAIN;

	spin_lock(&mem->lock);
	if (!has_invalidated_pins(mem, first, last)) {
		p->charged =
			last - first + 1 - count_pinned_pages(mem, first, last);
		err = charge_pinned(mem, p->charged);
	}
	if (!err)
		interval_tree_insert(&p->range, &mem->pending);
	spin_unlock(&mem->lock);
	return err;
}

static void remove_pending_pin(struct unic_mem *mem, struct unic_pin *p)
{
	spin_lock(&mem->lock);
	interval_tree_remove(&p->range, &mem->pending);
	spin_unlock(&mem->lock);
	atomic64_sub(p->charged, &mem->mm->pinned_vm);
}

struct unic_pin *unic_pin_fetch(struct unic_mem *mem, unsigned long first,
				unsigned long last, bool write)
{
	struct unic_pin *p;
	int err;

	if (last - first >= min_t(u64, READ_ONCE(mem->max), UNIC_PIN_PAGES))
		return ERR_PTR(-EDQUOT);
	/* pins in mem->dropped are not charged, but still have their pages */
	if (READ_ONCE(mem->dropping))
		flush_work(&mem->drop);
	p = pin_new(first, last, write);
	if (!p)
		return ERR_PTR(-ENOMEM);
	err = add_pending_pin(mem, p);
	if (!err) {
		err = unic_gup_pin(mem->mm, p);
		if (!err)
			return p;
		remove_pending_pin(mem, p);
	}
	unic_pin_free(mem, p);
	return ERR_PTR(err);
}

/* @p is in no tree; consumes it. Large pins are freed by a worker. */
static void free_or_defer_pin(struct unic_mem *mem, struct unic_pin *p)
{
	if (p->n > DROP_MAX || p->orphaned)
		unic_pin_free_async(mem, p);
	else
		unic_pin_free(mem, p);
}

struct unic_pin *unic_pin_failed(unsigned long first, unsigned long last,
				 int err)
{
	struct unic_pin *p = kvzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	p->range.start = first;
	p->range.last = last;
	p->err = err;
	return p;
}

void unic_pin_drop(struct unic_mem *mem, struct unic_pin *pin)
{
	if (pin->err) {
		kvfree(pin);
		return;
	}
	remove_pending_pin(mem, pin);
	free_or_defer_pin(mem, pin);
}

/* ------------------------------------------------------------- for the device */

/* Skips the sync for the CPU: the mapping is coherent (see reject_noncoherent()),
 * and another pin may have the same page mapped. */
static void unmap_one(struct device *dev, dma_addr_t bus)
{
	dma_unmap_page_attrs(dev, bus, PAGE_SIZE, DMA_BIDIRECTIONAL,
			     DMA_ATTR_SKIP_CPU_SYNC);
}

/* Unmaps @bus and returns true if the mapping needs syncs, as with a bounce
 * buffer: no sync is ever done for the NIC. */
static bool reject_noncoherent(struct device *dev, dma_addr_t bus)
{
	if (!dma_need_sync(dev, bus))
		return false;
	unmap_one(dev, bus);
	dev_err_once(dev, "memory is not coherent, or out of reach\n");
	return true;
}

int unic_pin_map(struct unic_mem *mem, struct unic_pin *pin)
{
	struct device *dev = unic_dev_dma(mem->os);

	for (; pin->mapped < pin->n; pin->mapped++) {
		dma_addr_t bus = dma_map_page_attrs(dev, pin->page[pin->mapped],
						    0, PAGE_SIZE,
						    DMA_BIDIRECTIONAL,
						    DMA_ATTR_SKIP_CPU_SYNC);

		if (dma_mapping_error(dev, bus) ||
		    reject_noncoherent(dev, bus)) {
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
		unmap_one(unic_dev_dma(mem->os), pin->bus[--pin->mapped]);
}

int unic_pin_activate(struct unic_mem *mem, struct unic_pin *pin, u64 *added)
{
	unsigned long first = pin->range.start, last = pin->range.last;
	int err = 0;

	spin_lock(&mem->lock);
	*added = last - first + 1 - count_pinned_pages(mem, first, last);
	if (pin->invalidated || has_invalidated_pins(mem, first, last))
		err = -ENOENT;
	/* pins that covered some of these pages have ended */
	else if (*added > pin->charged)
		err = charge_pinned(mem, *added - pin->charged);
	else
		atomic64_sub(pin->charged - *added, &mem->mm->pinned_vm);
	if (!err) {
		interval_tree_remove(&pin->range, &mem->pending);
		interval_tree_insert(&pin->range, &mem->active);
		trace_unic_pin(mem->os, mem->pid, first, last, pin->write,
			       *added);
		if (pin->recheck)
			unic_mem_recheck(mem, first, last);
	}
	spin_unlock(&mem->lock);
	return err;
}

u64 unic_pin_end(struct unic_mem *mem, struct unic_pin *pin)
{
	unsigned long first = pin->range.start, last = pin->range.last;
	bool invalidated;
	u64 n;

	spin_lock(&mem->lock);
	interval_tree_remove(&pin->range, &mem->active);
	invalidated = pin->invalidated;
	mem->invalidated -= invalidated;
	mem->orphaned -= pin->orphaned;
	n = last - first + 1 - count_pinned_pages(mem, first, last);
	spin_unlock(&mem->lock);
	atomic64_sub(n, &mem->mm->pinned_vm);
	trace_unic_unpin(mem->os, mem->pid, first, last, pin->write, n);
	free_or_defer_pin(mem, pin);
	if (invalidated)
		wake_up_all(&mem->fresh);
	return n;
}

/* --------------------------------------------------------------- invalidation */

static void mark_invalidated(struct unic_mem *mem, struct rb_root_cached *pins,
			     unsigned long first, unsigned long last,
			     bool active)
{
	struct interval_tree_node *node;

	for (node = interval_tree_iter_first(pins, first, last); node;
	     node = interval_tree_iter_next(node, first, last)) {
		struct unic_pin *p = unic_pin_of(node);
		unsigned long from = max(first, node->start);
		unsigned long to = min(last, node->last);

		unic_span_add(&p->gone, from, to);
		mem->invalidated += active && !p->invalidated;
		trace_unic_unmapped(mem->os, mem->pid, from, to, p->write, 0);
		p->invalidated = true;
	}
}

void unic_pin_exchanged(struct unic_mem *mem, unsigned long page,
			const struct page *was)
{
	struct unic_pin *p;

	spin_lock(&mem->lock);
	p = unic_pin_of(interval_tree_iter_first(&mem->active, page, page));
	if (p && p->page[page - p->range.start] == was)
		mark_invalidated(mem, &mem->active, page, page, true);
	spin_unlock(&mem->lock);
	unic_dev_kick(mem->os);
}

void unic_pin_recheck(struct unic_mem *mem, unsigned long first,
		      unsigned long last)
{
	struct interval_tree_node *node;

	spin_lock(&mem->lock);
	if (interval_tree_iter_first(&mem->active, first, last))
		unic_mem_recheck(mem, first, last);
	for (node = interval_tree_iter_first(&mem->pending, first, last); node;
	     node = interval_tree_iter_next(node, first, last))
		unic_pin_of(node)->recheck = true;
	spin_unlock(&mem->lock);
}

void unic_pin_invalidate(struct unic_mem *mem, unsigned long first,
			 unsigned long last)
{
	u32 before;

	spin_lock(&mem->lock);
	before = mem->invalidated;
	mark_invalidated(mem, &mem->active, first, last, true);
	mark_invalidated(mem, &mem->pending, first, last, false);
	if (mem->invalidated != before)
		unic_dev_kick(mem->os);
	spin_unlock(&mem->lock);
}

bool unic_pin_invalidated(struct unic_mem *mem, unsigned long first,
			  unsigned long last)
{
	bool any;

	spin_lock(&mem->lock);
	any = has_invalidated_pins(mem, first, last);
	spin_unlock(&mem->lock);
	return any;
}
