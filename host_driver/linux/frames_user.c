// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * frames_user.c - frames.h where frames are any memory of a process: it is
 * pinned where it is.
 *
 * One pin is what one registration covers, or one page that was missed. Pins
 * are found by the pages of the process; where several lie over one another its
 * page is counted once, here and in VmPin, which RLIMIT_MEMLOCK bounds.
 */
#include <linux/dma-mapping.h>
#include <linux/interval_tree.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "frames.h"
#include "unic_dev.h"

struct unic_frame_tables {
	struct unic_frames *f; /* whose `pinned` is kept */
	struct mm_struct *mm;  /* NULL: nobody's */
	u64 max;	       /* pages that may be pinned in it */
	struct rb_root_cached pins;
};

struct pin {
	struct interval_tree_node range; /* of page numbers */
	u32 n;
	bool write;
	struct page **page;
	dma_addr_t bus[];
};

int unic_frames_init(struct unic_frames *f, struct unic_os *os, void *base,
		     uint64_t bytes, uint64_t bus, uint32_t first)
{
	struct unic_frame_tables *t = kzalloc(sizeof(*t), GFP_KERNEL);
	u32 i;

	memset(f, 0, sizeof(*f));
	if (!t)
		return -ENOMEM;
	t->f = f;
	t->pins = RB_ROOT_CACHED;
	f->os = os;
	f->t = t;
	f->frames = (uint32_t)(bytes >> UNIC_FRAME_SHIFT);
	for (i = 0; i < os->slots; i++) {
		if (os->slot_mem[i] != base)
			continue;
		os->slot[i].frames = t;
		f->bus = os->slot[i].bus;
	}
	return 0;
}

void unic_frames_fini(struct unic_frames *f)
{
	if (!f->t)
		return;
	unic_pins_unbind(f->t);
	kfree(f->t);
	f->t = NULL;
}

void unic_frames_journal(struct unic_frames *f, uint64_t *journal)
{
}

int unic_frames_recall(struct unic_frames *f)
{
	return -EINVAL; /* nothing outlives a module */
}

int unic_frames_alloc(struct unic_frames *f, uint64_t va, uint32_t pages,
		      uint32_t shift, uint32_t *list)
{
	return -EOPNOTSUPP; /* the process has memory */
}

int unic_frames_free(struct unic_frames *f, uint64_t va, uint32_t pages)
{
	return -EOPNOTSUPP;
}

/* ------------------------------------------------------------------ the range */

static bool range_ok(const struct unic_frames *f, uint64_t va, uint64_t length,
		     unsigned long *first, unsigned long *last)
{
	if (!length || va + length - 1 < va || !f->t->mm ||
	    va + length - 1 >= f->t->mm->task_size)
		return false;
	*first = va >> PAGE_SHIFT;
	*last = (va + length - 1) >> PAGE_SHIFT;
	return *last - *first < f->frames;
}

static struct pin *pin_of(struct interval_tree_node *node)
{
	return node ? container_of(node, struct pin, range) : NULL;
}

/* How many pages of the range some pin covers. */
static u64 covered(struct unic_frame_tables *t, unsigned long first,
		   unsigned long last)
{
	struct interval_tree_node *node;
	unsigned long at = first;
	u64 n = 0;

	for (node = interval_tree_iter_first(&t->pins, first, last); node;
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

/* The pin of this very range: who wants it back meant the lesser one. */
static struct pin *find_exact(struct unic_frame_tables *t, unsigned long first,
			      unsigned long last)
{
	struct interval_tree_node *node;
	struct pin *found = NULL;

	for (node = interval_tree_iter_first(&t->pins, first, last); node;
	     node = interval_tree_iter_next(node, first, last)) {
		struct pin *p = pin_of(node);

		if (node->start == first && node->last == last &&
		    (!found || !p->write))
			found = p;
	}
	return found;
}

/* ------------------------------------------------------------------ accounts */

static int charge(struct unic_frame_tables *t, u64 n)
{
	if (atomic64_add_return(n, &t->mm->pinned_vm) > t->max) {
		atomic64_sub(n, &t->mm->pinned_vm);
		return -ENOMEM;
	}
	t->f->pinned += n;
	return 0;
}

static void uncharge(struct unic_frame_tables *t, u64 n)
{
	atomic64_sub(n, &t->mm->pinned_vm);
	t->f->pinned -= n;
}

/* ---------------------------------------------------------------- one pin */

static struct pin *pin_new(unsigned long first, unsigned long last, bool write)
{
	u32 n = last - first + 1;
	struct pin *p = kvzalloc(struct_size(p, bus, n) + n * sizeof(*p->page),
				 GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	p->range.start = first;
	p->range.last = last;
	p->write = write;
	p->page = (struct page **)(void *)(p->bus + n);
	return p;
}

/* What has been got of it goes back. */
static void pin_drop(struct unic_frame_tables *t, struct pin *p, u32 mapped)
{
	u32 i;

	for (i = 0; i < mapped; i++)
		dma_unmap_page(unic_dev_dma(t->f->os), p->bus[i], PAGE_SIZE,
			       DMA_BIDIRECTIONAL);
	unpin_user_pages_dirty_lock(p->page, p->n, p->write);
	kvfree(p);
}

static unsigned int gup_flags(const struct vm_area_struct *vma, bool write)
{
	if (write)
		return FOLL_LONGTERM | FOLL_WRITE;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	/* A page that is only read must not be exchanged for a copy when its
	 * owner writes: have the copy made now. */
	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return FOLL_LONGTERM | FOLL_WRITE | FOLL_FORCE;
#endif
	return FOLL_LONGTERM;
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

/* 0, or -ENOENT; p->n is what was pinned. */
static int pin_pages(struct mm_struct *mm, struct pin *p)
{
	unsigned long page = p->range.start;
	long got = 0;

	mmap_read_lock(mm);
	while (page <= p->range.last) {
		unsigned long va = page << PAGE_SHIFT, n;
		struct vm_area_struct *vma = find_vma(mm, va);

		if (!vma || vma->vm_start > va)
			break;
		n = min((vma->vm_end >> PAGE_SHIFT) - page,
			p->range.last - page + 1);
		got = gup(mm, va, n, gup_flags(vma, p->write), p->page + p->n);
		if (got <= 0)
			break;
		p->n += got;
		page += got;
	}
	mmap_read_unlock(mm);
	return page > p->range.last ? 0 : -ENOENT;
}

static int map_pages(struct unic_frame_tables *t, struct pin *p, u32 *mapped)
{
	struct device *dev = unic_dev_dma(t->f->os);

	for (*mapped = 0; *mapped < p->n; ++*mapped) {
		p->bus[*mapped] = dma_map_page(dev, p->page[*mapped], 0,
					       PAGE_SIZE, DMA_BIDIRECTIONAL);
		if (dma_mapping_error(dev, p->bus[*mapped]))
			return -ENOENT;
	}
	return 0;
}

static int fetch(struct unic_frame_tables *t, struct pin *p)
{
	u32 mapped = 0;
	int err;

	if (!mmget_not_zero(t->mm))
		err = -ENOENT;
	else {
		err = pin_pages(t->mm, p);
		/* its end calls us: not from here */
		mmput_async(t->mm);
	}
	if (!err)
		err = map_pages(t, p, &mapped);
	if (err)
		pin_drop(t, p, mapped);
	return err;
}

/* ------------------------------------------------------------- translation */

uint32_t unic_frames_shift(const struct unic_frames *f, uint64_t va,
			   uint64_t iova, uint64_t length, uint32_t max)
{
	unsigned long first, last;

	if (!range_ok(f, va, length, &first, &last) ||
	    (va ^ iova) & (UNIC_FRAME_BYTES - 1))
		return 0;
	return UNIC_FRAME_SHIFT;
}

int unic_frames_list(const struct unic_frames *f, uint64_t va, uint32_t shift,
		     uint32_t first, uint32_t count, uint64_t *bus)
{
	unsigned long page = (va >> shift) + first;
	struct pin *p = NULL;
	uint32_t i;

	for (i = 0; i < count; i++, page++) {
		if (!p || page > p->range.last)
			p = pin_of(interval_tree_iter_first(&f->t->pins, page,
							    page));
		if (!p)
			return -ENOENT;
		bus[i] = p->bus[page - p->range.start];
	}
	return 0;
}

/* --------------------------------------------------------------------- pins */

int unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
		    bool write)
{
	struct unic_frame_tables *t = f->t;
	unsigned long first, last;
	struct pin *p;
	u64 n;
	int err;

	if (!range_ok(f, va, length, &first, &last))
		return -ENOENT;
	n = last - first + 1 - covered(t, first, last);
	if (charge(t, n))
		return -ENOMEM;
	p = pin_new(first, last, write);
	err = p ? fetch(t, p) : -ENOMEM;
	if (err)
		uncharge(t, n);
	else
		interval_tree_insert(&p->range, &t->pins);
	return err;
}

static void unpin(struct unic_frame_tables *t, struct pin *p)
{
	unsigned long first = p->range.start, last = p->range.last;

	interval_tree_remove(&p->range, &t->pins);
	pin_drop(t, p, p->n);
	uncharge(t, last - first + 1 - covered(t, first, last));
}

void unic_frames_unpin(struct unic_frames *f, uint64_t va, uint64_t length)
{
	unsigned long first, last;
	struct pin *p;

	if (!range_ok(f, va, length, &first, &last))
		return;
	p = find_exact(f->t, first, last);
	if (p)
		unpin(f->t, p);
}

void unic_frames_unpin_all(struct unic_frames *f)
{
	struct interval_tree_node *node;

	while ((node = interval_tree_iter_first(&f->t->pins, 0, ULONG_MAX)))
		unpin(f->t, pin_of(node));
}

void unic_frames_clear(struct unic_frames *f)
{
	unic_frames_unpin_all(f);
}

/* ------------------------------------------------------------------ the owner */

void unic_pins_bind(struct unic_frame_tables *t, struct mm_struct *mm, u64 max)
{
	unic_pins_unbind(t);
	mmgrab(mm);
	t->mm = mm;
	t->max = max;
}

void unic_pins_unbind(struct unic_frame_tables *t)
{
	if (!t->mm)
		return;
	unic_frames_unpin_all(t->f);
	mmdrop(t->mm);
	t->mm = NULL;
}
