// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_gup.c - how the kernel is asked for the pages of a process.
 *
 * Secret: which flags of get_user_pages() a kernel needs, and that mmap_lock is
 * not held while a page is waited for: unic_gup_touch() faults the page in
 * without the lock, and the page is pinned afterwards.
 */
#include <linux/backing-dev.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/version.h>

#include "unic_gup.h"
#include "unic_pin.h"

/* attempts to pin pages that are reclaimed between touch and pin */
#define TRIES 100u

/* -------------------------------------------------------------------- pinning */

/* A file system that tracks writes is not notified of writes by the NIC: such
 * pages are not pinned for writing. Newer kernels refuse FOLL_LONGTERM there
 * themselves. */
static bool is_tracked(const struct vm_area_struct *vma)
{
	const vm_flags_t shared = VM_WRITE | VM_SHARED;

	return (vma->vm_flags & shared) == shared && vma->vm_ops &&
	       (vma->vm_ops->page_mkwrite || vma->vm_ops->pfn_mkwrite ||
		(vma->vm_file && vma->vm_file->f_mapping &&
		 mapping_can_writeback(vma->vm_file->f_mapping)));
}

/* FOLL_NOWAIT, because mmap_lock is held. */
static unsigned int gup_flags(const struct vm_area_struct *vma, bool write)
{
	unsigned int flags = FOLL_LONGTERM | FOLL_NOWAIT;

	if (write)
		return flags | FOLL_WRITE;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	/* A pin for reading of a private page: FOLL_WRITE makes the private copy
	 * at once, as the owner's next write would replace the pinned page. */
	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE | VM_READ)) ==
	    (VM_MAYWRITE | VM_READ))
		return flags | FOLL_WRITE | FOLL_FORCE;
#endif
	return flags;
}

static long pin_user_remote(struct mm_struct *mm, unsigned long va,
			    unsigned long n, unsigned int flags,
			    struct page **page)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return pin_user_pages_remote(mm, va, n, flags, page, NULL);
#else
	return pin_user_pages_remote(mm, va, n, flags, page, NULL, NULL);
#endif
}

/* Pins pages p->n and following, and counts them in p->n. Returns 0 or -errno.
 * The caller holds mmap_lock. */
static int pin_range_locked(struct mm_struct *mm, struct unic_pin *p)
{
	unsigned long page = p->range.start + p->n;

	while (page <= p->range.last) {
		unsigned long va = page << PAGE_SHIFT, n;
		struct vm_area_struct *vma = find_vma(mm, va);
		long got;

		if (!vma || vma->vm_start > va || (p->write && is_tracked(vma)))
			return -ENOENT;
		n = min((vma->vm_end >> PAGE_SHIFT) - page,
			p->range.last - page + 1);
		got = pin_user_remote(mm, va, n, gup_flags(vma, p->write),
				      p->page + p->n);
		if (got <= 0) /* 0: the page is not present */
			return !got || got == -EBUSY ? -EAGAIN
			       : got == -ENOMEM	     ? -ENOMEM
						     : -ENOENT;
		p->n += got;
		page += got;
	}
	return 0;
}

/* ------------------------------------------------------------------- touching */

static long gup_remote(struct mm_struct *mm, unsigned long va, unsigned long n,
		       unsigned int flags, struct page **page, int *locked)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return get_user_pages_remote(mm, va, n, flags, page, locked);
#else
	return get_user_pages_remote(mm, va, n, flags, page, NULL, locked);
#endif
}

void unic_gup_touch(struct mm_struct *mm, unsigned long first,
		    unsigned long last, bool write)
{
	unsigned long n;
	int locked = 1;
	long got;

	if (mmap_read_lock_killable(mm))
		return;
	for (; first <= last; first += got) {
		n = last - first + 1;
		got = gup_remote(mm, first << PAGE_SHIFT, n,
				 write ? FOLL_WRITE : 0, NULL, &locked);
		if (got <= 0)
			break;
		if (!locked)
			mmap_read_lock(mm);
		locked = 1;
	}
	if (locked)
		mmap_read_unlock(mm);
}

/* Blocks on mmap_lock instead of trying it: with many threads that fault, the
 * lock is rarely free. */
static int pin_range(struct mm_struct *mm, struct unic_pin *p)
{
	int err;

	if (mmap_read_lock_killable(mm))
		return -EAGAIN;
	err = pin_range_locked(mm, p);
	mmap_read_unlock(mm);
	return err;
}

int unic_gup_pin(struct mm_struct *mm, struct unic_pin *p)
{
	u32 tries = 0;
	int err;

	if (!mmget_not_zero(mm))
		return -ENOENT;
	while ((err = pin_range(mm, p)) == -EAGAIN && tries++ < TRIES &&
	       !fatal_signal_pending(current))
		unic_gup_touch(mm, p->range.start + p->n, p->range.last,
			       p->write);
	/* the last mmput() calls on_release(), whose locks the caller may hold */
	mmput_async(mm);
	return err;
}

void unic_gup_unpin(struct unic_pin *p)
{
	unpin_user_pages_dirty_lock(p->page, p->n, p->write);
}

/* ------------------------------------------------------------------ comparing */

int unic_gup_is_mapped(struct mm_struct *mm, unsigned long page,
		       const struct page *want)
{
	struct page *got;
	long n = 0;

	if (!mmget_not_zero(mm))
		return 1; /* on_release() ends the pins */
	if (mmap_read_trylock(mm)) {
		n = gup_remote(mm, page << PAGE_SHIFT, 1, FOLL_NOWAIT, &got,
			       NULL);
		mmap_read_unlock(mm);
	}
	mmput_async(mm);
	if (n == 1)
		put_page(got);
	return n ? n == 1 && got == want : -EAGAIN;
}
