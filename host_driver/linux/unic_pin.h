/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_pin.h - the pins of a process: ranges of pages that a device may use.
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

/** unic_pin_next_page() - the first page of a live pin from *@page to @last, whose number
 * goes to *@page; no reference is taken. NULL: none. Takes mem->lock. */
struct page *unic_pin_next_page(struct unic_mem *mem, unsigned long *page,
				unsigned long last);

/** unic_pin_invalidate() - make every pin in [@first, @last] stale, those under way too,
 * and kick the engine. Does not sleep; takes mem->lock. */
void unic_pin_invalidate(struct unic_mem *mem, unsigned long first,
			 unsigned long last);

/** unic_pin_invalidated() - is a live pin in [@first, @last] stale, or are pages there in
 * doubt? Takes mem->lock. */
bool unic_pin_invalidated(struct unic_mem *mem, unsigned long first,
			  unsigned long last);

/** unic_pin_recheck() - put live pins in [@first, @last] in doubt, and those under way
 * when they become live. Does not sleep; takes mem->lock. */
void unic_pin_recheck(struct unic_mem *mem, unsigned long first,
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

#endif /* UNIC_PIN_H */
