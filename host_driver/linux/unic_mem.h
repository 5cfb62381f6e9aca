/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic_mem.h - the memory of one process, and the events of its address space. */
#ifndef UNIC_MEM_H
#define UNIC_MEM_H

#include <linux/interval_tree.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "unic_pin_work.h"
#include "unic_pin.h"

struct unic_os;

struct unic_mem {
	struct kref ref;
	struct unic_os *os;
	struct mm_struct *mm;
	u32 pid, uid;
	u64 max; /* pages that may be pinned */
	void *owner;
	void (*ended)(struct unic_mem *mem); /* its address space has ended */
	struct mmu_notifier notifier;
	spinlock_t lock; /* of all fields below, which the notifier uses, too */
	struct rb_root_cached active, pending;
	/* woken when fewer pages are invalidated or in doubt */
	wait_queue_head_t fresh;
	u32 invalidated,
		orphaned; /* number of active pins that are invalidated, orphaned */
	/* of unic_pin_work.c */
	struct unic_span recheck, looking; /* are those pages mapped still? */
	/* comparisons in a row that could not tell */
	u32 looks;
	struct delayed_work look;
	struct list_head dropped;
	bool dropping; /* a worker frees pins of `dropped`, or is queued */
	struct work_struct drop;
	struct unic_fetch fetch[UNIC_FETCHES];
	bool bound; /* a slot takes fetched pins */
	bool left;  /* no comparison begins */
};

/** unic_mem_new() - watch the memory of the calling process, whose limits count
 * for user @uid. @ended is called once, in a context that may sleep, when the
 * address space ends, perhaps before this returns. Returns it with one reference,
 * or ERR_PTR: -EINVAL, a thread of the kernel; -ENOMEM; -EINTR. */
struct unic_mem *unic_mem_new(struct unic_os *os, void *owner, u32 uid,
			      void (*ended)(struct unic_mem *mem));

/** unic_mem_leave() - drop the reference of unic_mem_new(). When it returns,
 * @ended does not run. May sleep; the caller holds no lock. */
void unic_mem_leave(struct unic_mem *mem);

/** unic_mem_limit() - limit the pins of @mem by the RLIMIT_MEMLOCK of the caller. */
void unic_mem_limit(struct unic_mem *mem);

/** unic_mem_get() - take a reference to @mem. Any context. */
void unic_mem_get(struct unic_mem *mem);

/** unic_mem_put() - drop a reference to @mem; the last one frees it. */
void unic_mem_put(struct unic_mem *mem);

/** unic_mem_settle() - wait until nothing in [@first, @last] is invalidated or in
 * doubt, a second at most; the caller does not hold unic_os.lock. Returns 0, also
 * after that second, or -ERESTARTSYS. */
int unic_mem_settle(struct unic_mem *mem, unsigned long first,
		    unsigned long last);

#endif /* UNIC_MEM_H */
