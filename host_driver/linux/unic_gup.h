/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic_gup.h - how the kernel is asked for the pages of a process. */
#ifndef UNIC_GUP_H
#define UNIC_GUP_H

#include <linux/types.h>

struct mm_struct;
struct page;
struct unic_pin;

/**
 * unic_gup_pin() - pin the pages of @p that are not pinned yet, and count them in p->n.
 * Sleeps, as long as a disk does; the caller holds no lock.
 * Returns 0, or: -ENOENT, the range is not mapped so; -EAGAIN, pages went again and
 * again; -ENOMEM. On error p->n pages stay pinned, for unic_gup_unpin().
 */
int unic_gup_pin(struct mm_struct *mm, struct unic_pin *p);

/** unic_gup_unpin() - unpin all pages of @p; those of a writable pin become dirty. May
 * sleep. */
void unic_gup_unpin(struct unic_pin *p);

/** unic_gup_touch() - wait until pages [@first, @last] of @mm are present. The caller
 * does not hold mm->mmap_lock, and nobody holds it while a page is waited for. Ends early
 * at a page that cannot be had, or at a fatal signal. */
void unic_gup_touch(struct mm_struct *mm, unsigned long first,
		    unsigned long last, bool write);

/** unic_gup_is_mapped() - compare @want with the page that is mapped at page number
 * @page, which is faulted in if that takes no time. Does not wait for mm->mmap_lock.
 * Returns 1: it is mapped there, or @mm has ended; 0: another one is; -EAGAIN: it cannot
 * be said. */
int unic_gup_is_mapped(struct mm_struct *mm, unsigned long page,
		       const struct page *want);

#endif /* UNIC_GUP_H */
