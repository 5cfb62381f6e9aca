// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_mem.c - the memory of one process: see unic_mem.h.
 *
 * Secret: which events of an address space make a pin invalidated, and which only cast doubt
 * on it.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "unic_dev.h"
#include "unic_pin_work.h"
#include "unic_mem.h"
#include "unic_pin.h"

/* -------------------------------------------------------------------- notifier */

/* Makes pins of pages that are unmapped or moved invalidated. */
static int on_invalidate(struct mmu_notifier *n,
			 const struct mmu_notifier_range *range)
{
	struct unic_mem *mem = container_of(n, struct unic_mem, notifier);
	unsigned long first = range->start >> PAGE_SHIFT;
	unsigned long last = (range->end - 1) >> PAGE_SHIFT;

	if (range->event != MMU_NOTIFY_UNMAP)
		return 0;
	unic_pin_invalidate(mem, first, last);
	return 0;
}

/*
 * MMU_NOTIFY_CLEAR: either the contents of the range were discarded
 * (MADV_DONTNEED, a truncated file), or the kernel tried to migrate a page and
 * could not, because the page is pinned. A comparison tells which. No other event
 * changes which page is mapped where one is pinned.
 */
static void on_invalidated(struct mmu_notifier *n,
			   const struct mmu_notifier_range *range)
{
	struct unic_mem *mem = container_of(n, struct unic_mem, notifier);

	if (range->event != MMU_NOTIFY_CLEAR)
		return;
	unic_pin_recheck(mem, range->start >> PAGE_SHIFT,
			 (range->end - 1) >> PAGE_SHIFT);
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

	left = wait_event_interruptible_timeout(
		mem->fresh, !unic_pin_invalidated(mem, first, last), HZ);
	return min(left, 0l);
}

/* ------------------------------------------------------------------ lifetime */

void unic_mem_limit(struct unic_mem *mem)
{
	WRITE_ONCE(mem->max, ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK)
				     ? S64_MAX
				     : rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT);
}

struct unic_mem *unic_mem_new(struct unic_os *os, void *owner, u32 uid,
			      void (*ended)(struct unic_mem *mem))
{
	struct unic_mem *mem;
	int err;

	if (!current->mm) /* a kernel thread */
		return ERR_PTR(-EINVAL);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	kref_init(&mem->ref);
	mem->os = os;
	mem->mm = current->mm;
	mem->pid = task_tgid_nr(current);
	mem->uid = uid;
	unic_mem_limit(mem);
	mem->owner = owner;
	mem->ended = ended;
	mem->notifier.ops = &notifier_ops;
	mem->active = RB_ROOT_CACHED;
	mem->pending = RB_ROOT_CACHED;
	spin_lock_init(&mem->lock);
	init_waitqueue_head(&mem->fresh);
	unic_pin_work_new(mem);
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
	unic_pin_work_end(mem);
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
