/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_pin.h - the pins of a process: ranges of pages that a device may use.
 *
 * The states of a pin:
 *   pending      its pages are being fetched, which takes as long as a disk or a
 *                malicious process likes; the caller does not hold unic_os.lock
 *   active       its pages have bus addresses, and the NIC may use them
 *   invalidated  active, but its process unmapped some of it: no new pin overlaps
 *                those pages before the NIC has released them
 *   orphaned     active after a reset of the NIC: a region that is restored claims
 *                the pin, or the pin ends
 * Pages are in doubt (`recheck`) when their contents may have changed without an
 * unmap: no new pin overlaps them before a worker has compared what is pinned with
 * what is mapped.
 */
#ifndef UNIC_PIN_H
#define UNIC_PIN_H

#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/types.h>

/* of one pin; more than any NIC has entries for */
#define UNIC_PIN_PAGES 0x100000ul

struct page;
struct unic_mem;

struct unic_span {
	unsigned long first, last; /* pages */
	bool is;		   /* the span is not empty */
};

struct unic_pin {
	struct interval_tree_node range; /* of page numbers */
	struct list_head node; /* in a list of the caller, or in mem->dropped */
	u32 n;		       /* pages pinned */
	u32 mapped;	       /* pages with a bus address */
	u64 charged;	       /* pages charged, until the pin is active */
	int err; /* the fetch failed: only this and the range are valid */
	bool write, invalidated;
	bool orphaned; /* the core unpinned all, and has not claimed this one again */
	/* its contents may have changed while the pin was pending */
	bool recheck;
	struct unic_span gone; /* invalidated: the pages that were unmapped */
	struct page **page;
	dma_addr_t bus[];
};

static inline struct unic_pin *unic_pin_of(struct interval_tree_node *node)
{
	return node ? container_of(node, struct unic_pin, range) : NULL;
}

/**
 * unic_pin_fetch() - pin pages [@first, @last] of the process, writable with @write.
 * Sleeps, as long as a disk does; the caller does not hold unic_os.lock.
 * Returns a pin that is pending and is the caller's, or ERR_PTR: -ENOENT, the range is
 * not mapped so; -EDQUOT; -ENOMEM; -EAGAIN, invalidated pins overlap, or pages went
 * again and again.
 */
struct unic_pin *unic_pin_fetch(struct unic_mem *mem, unsigned long first,
				unsigned long last, bool write);

/** unic_pin_failed() - record that pages [@first, @last] cannot be pinned and why, for
 * unic_pins_ready(). Returns NULL without memory; unic_pin_drop() frees it. */
struct unic_pin *unic_pin_failed(unsigned long first, unsigned long last,
				 int err);

/** unic_pin_map() - map every page of @pin for DMA. Returns 0, or -EIO: then none is
 * mapped. Does nothing for pages that are mapped. */
int unic_pin_map(struct unic_mem *mem, struct unic_pin *pin);

/** unic_pin_unmap() - end the DMA mappings of @pin; without any, do nothing. */
void unic_pin_unmap(struct unic_mem *mem, struct unic_pin *pin);

/** unic_pin_drop() - free a pin that is pending, or records a failure; consumes
 * @pin. */
void unic_pin_drop(struct unic_mem *mem, struct unic_pin *pin);

/**
 * unic_pin_activate() - make @pin active: the device may use it. The caller holds
 * unic_os.lock.
 * @added: gets the number of its pages that no other pin covers.
 * Returns 0, or: -ENOENT, the process unmapped some of it meanwhile; -EDQUOT. On error
 * @pin is still pending and the caller's.
 */
int unic_pin_activate(struct unic_mem *mem, struct unic_pin *pin, u64 *added);

/** unic_pin_end() - end an active pin that the device does not use; consumes
 * @pin. The caller holds unic_os.lock. Returns the number of its pages that no
 * other pin covers. */
u64 unic_pin_end(struct unic_mem *mem, struct unic_pin *pin);

/** unic_pin_exact() - find an active pin of exactly [@first, @last] that is not
 * orphaned, or NULL. Of several it prefers an invalidated one, then one that is
 * only read. */
struct unic_pin *unic_pin_exact(struct unic_mem *mem, unsigned long first,
				unsigned long last);

/** unic_pin_orphan_all() - make every active pin orphaned. */
void unic_pin_orphan_all(struct unic_mem *mem);

/** unic_pin_again() - claim an orphaned pin of exactly [@first, @last] that is
 * not invalidated; NULL: there is none. */
struct unic_pin *unic_pin_again(struct unic_mem *mem, unsigned long first,
				unsigned long last, bool write);

/** unic_pin_at() - find an active pin of @page that is not orphaned, or NULL. */
struct unic_pin *unic_pin_at(struct unic_mem *mem, unsigned long page);

/** unic_pin_find_orphaned() - find some orphaned pin, or NULL. */
struct unic_pin *unic_pin_find_orphaned(struct unic_mem *mem);

/** unic_pin_next_invalidated() - find the next range of unmapped pages of
 * invalidated pins, from page @at on, and store it in *@first and *@last. Returns
 * false: there is none. */
bool unic_pin_next_invalidated(struct unic_mem *mem, unsigned long at,
			       unsigned long *first, unsigned long *last);

/** unic_pin_next_page() - the first page of an active pin from *@page to @last,
 * whose number goes to *@page; no reference is taken. NULL: none. Takes
 * mem->lock. */
struct page *unic_pin_next_page(struct unic_mem *mem, unsigned long *page,
				unsigned long last);

/** unic_pin_invalidate() - make every pin in [@first, @last] invalidated, those
 * under way too, and kick the engine. Does not sleep; takes mem->lock. */
void unic_pin_invalidate(struct unic_mem *mem, unsigned long first,
			 unsigned long last);

/** unic_pin_invalidated() - is an active pin in [@first, @last] invalidated, or
 * are pages there in doubt? Takes mem->lock. */
bool unic_pin_invalidated(struct unic_mem *mem, unsigned long first,
			  unsigned long last);

/** unic_pin_recheck() - put active pins in [@first, @last] in doubt, and those
 * under way when they become active. Does not sleep; takes mem->lock. */
void unic_pin_recheck(struct unic_mem *mem, unsigned long first,
		      unsigned long last);

/** unic_span_add() - extend @span so that it covers [@first, @last]. */
void unic_span_add(struct unic_span *span, unsigned long first,
		   unsigned long last);

/** unic_pin_free() - unmap and unpin @p, which is in no tree; consumes @p. May
 * sleep. */
void unic_pin_free(struct unic_mem *mem, struct unic_pin *p);

/** unic_pin_exchanged() - make the pin invalidated whose page @was is no longer
 * the one mapped at @page. Takes mem->lock. */
void unic_pin_exchanged(struct unic_mem *mem, unsigned long page,
			const struct page *was);

#endif /* UNIC_PIN_H */
