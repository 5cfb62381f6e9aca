/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_mem.h - the memory of one process, as far as it is pinned.
 *
 * What becomes of a pin:
 *   coming  its pages are being got, which may take as long as a disk or a malicious
 *           process likes, so who waits for them does not hold unic_os.lock
 *   live    it has bus addresses, and the NIC may use it
 *   stale   live, but its owner unmapped some of it: nothing new is pinned there
 *           before the NIC has let go of it
 *   loose   live, after a reset of the NIC: claimed again by who restores a region,
 *           or ended
 * Pages are in doubt when what lies there seems to have changed without having been
 * unmapped: until a worker has compared, nothing new is pinned there either.
 */
#ifndef UNIC_MEM_H
#define UNIC_MEM_H

#include <linux/interval_tree.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "unic_later.h"
#include "unic_os.h"

#define UNIC_PIN_PAGES \
	0x100000ul /* of one pin; more than any NIC has entries for */

struct unic_mem;

struct unic_span {
	unsigned long first, last; /* pages */
	bool is;		   /* it is one */
};

struct unic_pin {
	struct interval_tree_node range; /* of page numbers */
	struct list_head
		node; /* of who fetched it, until it is live; or drops it */
	u32 n;	      /* pages got */
	u32 mapped;   /* of them with a bus address */
	u64 charged;  /* pages, until it is live */
	int err; /* it could not be had: nothing but this and its range counts */
	bool write, stale;
	bool loose;  /* unpinned with all others, and not asked for again yet */
	bool shaken; /* came while what lies there seemed to change */
	struct unic_span gone; /* stale: what was unmapped of it */
	struct page **page;
	dma_addr_t bus[];
};

static inline struct unic_pin *unic_pin_of(struct interval_tree_node *node)
{
	return node ? container_of(node, struct unic_pin, range) : NULL;
}

struct unic_mem {
	struct kref ref;
	struct unic_os *os;
	struct mm_struct *mm;
	u32 pid, uid;
	u64 max; /* pages that may be pinned */
	void *owner;
	void (*ended)(
		struct unic_mem *mem); /* its process has no memory more */
	struct mmu_notifier notifier;
	spinlock_t lock; /* of all below, against the notifier */
	struct rb_root_cached live, coming;
	wait_queue_head_t fresh; /* less is stale, or in doubt, than before */
	u32 stale, loose;	 /* live pins that are */
	/* unic_later.c's */
	struct unic_span doubt, looking; /* are those pages mapped still? */
	u32 looks;			 /* that could not say */
	struct delayed_work look;
	struct list_head dropped;
	bool dropping; /* the worker has some of them, or will */
	struct work_struct drop;
	struct unic_fetch fetch[UNIC_FETCHES];
	bool bound; /* somebody takes what is fetched */
	bool left;  /* nobody looks any more */
};

/** unic_mem_new() - the memory of the caller, to be given to a device; @ended is
 * called once, perhaps at once, in a context that may sleep. @uid: whose limits
 * count. Or ERR_PTR. */
struct unic_mem *unic_mem_new(struct unic_os *os, void *owner, u32 uid,
			      void (*ended)(struct unic_mem *mem));

/** unic_mem_leave() - @ended is not called any more; drops the reference of
 * unic_mem_new(). */
void unic_mem_leave(struct unic_mem *mem);

/** unic_mem_limit() - @mem has the RLIMIT_MEMLOCK of the caller from now on. */
void unic_mem_limit(struct unic_mem *mem);

/** unic_mem_get() - take a reference to @mem. Any context. */
void unic_mem_get(struct unic_mem *mem);

/** unic_mem_put() - drop a reference to @mem; the last one frees it. */
void unic_mem_put(struct unic_mem *mem);

/**
 * unic_pin_fetch() - get pages [@first, @last], as long as it takes; unic_os.lock is
 * not held.
 * ERR_PTR: -ENOENT (not mapped so), -EDQUOT, -ENOMEM, -EAGAIN (stale pins are
 * there; or they went again and again).
 */
struct unic_pin *unic_pin_fetch(struct unic_mem *mem, unsigned long first,
				unsigned long last, bool write);

/** unic_pin_failed() - what says that pages cannot be had, for who asks later. NULL:
 * no memory for even that. */
struct unic_pin *unic_pin_failed(unsigned long first, unsigned long last,
				 int err);

/** unic_pin_map() - bus addresses for all of it; 0 or -EIO. */
int unic_pin_map(struct unic_mem *mem, struct unic_pin *pin);

/** unic_pin_unmap() - none any more. */
void unic_pin_unmap(struct unic_mem *mem, struct unic_pin *pin);

/** unic_pin_drop() - of one that is not live. */
void unic_pin_drop(struct unic_mem *mem, struct unic_pin *pin);

/**
 * unic_pin_live() - the device may use it from now on.
 * @added: pages that no other pin covers.
 * -ENOENT: unmapped meanwhile; -EDQUOT. Then it is the caller's still.
 */
int unic_pin_live(struct unic_mem *mem, struct unic_pin *pin, u64 *added);

/** unic_pin_end() - the device does not use it any more: drop it. Returns pages
 * that no pin covers now. */
u64 unic_pin_end(struct unic_mem *mem, struct unic_pin *pin);

/** unic_pin_exact() - a live pin of this very range, or NULL; the stale one, if
 * there is one, else the one that is only read. */
struct unic_pin *unic_pin_exact(struct unic_mem *mem, unsigned long first,
				unsigned long last);

/** unic_pin_loosen() - all live pins are ended, but may be had again. */
void unic_pin_loosen(struct unic_mem *mem);

/** unic_pin_again() - have a loose pin of this very range again; or NULL. */
struct unic_pin *unic_pin_again(struct unic_mem *mem, unsigned long first,
				unsigned long last, bool write);

/** unic_pin_at() - a live pin of a page, or NULL. */
struct unic_pin *unic_pin_at(struct unic_mem *mem, unsigned long page);

/** unic_pin_loose() - some live pin that is loose; or NULL. */
struct unic_pin *unic_pin_loose(struct unic_mem *mem);

/** unic_pin_stale() - the next pages from @at on that were unmapped of stale pins,
 * or false. */
bool unic_pin_stale(struct unic_mem *mem, unsigned long at,
		    unsigned long *first, unsigned long *last);

/** unic_mem_settle() - wait, a second at most, until nothing in [@first, @last] is
 * stale, or in doubt. 0 or -ERESTARTSYS. */
int unic_mem_settle(struct unic_mem *mem, unsigned long first,
		    unsigned long last);

/** unic_span_add() - extend @span so that it covers [@first, @last]. */
void unic_span_add(struct unic_span *span, unsigned long first,
		   unsigned long last);

/** unic_pin_free() - unmap and unpin @p, which is in no tree; consumes @p. May sleep. */
void unic_pin_free(struct unic_mem *mem, struct unic_pin *p);

/** unic_pin_exchanged() - make the pin stale whose page @was is no longer the one mapped
 * at @page. Takes mem->lock. */
void unic_pin_exchanged(struct unic_mem *mem, unsigned long page,
			const struct page *was);

#endif /* UNIC_MEM_H */
