/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tlb.h - the NIC TLB: one pool of translation entries for everything that needs
 * a translation (MEMORY.md section 1; U-Net's TLB of S1).
 *
 * Secret: how an entry is found. An entry is tagged with (region, page of the
 * region) and lies in a chained hash table with twice as many buckets as entries.
 * The tag of a page is the region's base + page, and its bucket the tag modulo
 * buckets. The low bits of a base are random, so pages of one region never
 * collide with each other while it is smaller than the table, and two regions
 * collide only by chance, which no process can influence. Cost of a hit: one
 * chain step, mean 1.25 at full load; worst case bounded by the number of
 * regions, but for `demand` and `table` regions larger than the table, which can
 * have it all in one chain (docs/evidence/lookup.md).
 *
 * Accounting: every entry is free, reserved (promised to a LOADING region) or
 * used. A region's entries are all reserved at once, and each fill turns one
 * reserved entry into a used one, so a fill never fails (INV-2).
 */
#ifndef UNIC_TLB_H
#define UNIC_TLB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "board.h"

/* An index of an entry, or a number of entries: as wide as the table needs. */
#if UNIC_TLB_ENTRIES < 0xffff
typedef uint16_t unic_tlb_idx;
#else
typedef uint32_t unic_tlb_idx;
#endif

#define UNIC_TLB_NIL	 ((unic_tlb_idx)0xffffffffu)
#define UNIC_TLB_BUCKETS (2u * UNIC_TLB_ENTRIES)

#define UNIC_TLB_END UNIC_TLB_ENTRIES /* end of a chain */

struct unic_tlb_entry {
	uint32_t tag;	   /* base of the region + page, or UNIC_TLB_NO_TAG */
	unic_tlb_idx next; /* in the bucket chain or in the free list */
	uint16_t mark;	   /* of a cached entry, cache.c; else 0 */
	uint64_t bus;	   /* address of the page */
};

/*
 * The base of region @mr: its index, and 19 bits of @random below. A page number
 * of 16 bits does not carry into the index, so no two pages have the same tag.
 */
#define UNIC_TLB_BASE(mr, random) \
	((uint32_t)(mr) << 20 | ((uint32_t)(random)&0x7ffffu))
#define UNIC_TLB_NO_TAG 0xffffffffu

/* Returns the region of a tag. */
static inline uint32_t unic_tlb_mr(uint32_t tag)
{
	return tag >> 20;
}

struct unic_tlb {
	unic_tlb_idx bucket[UNIC_TLB_BUCKETS];
	/* and UNIC_TLB_END */
	struct unic_tlb_entry entry[UNIC_TLB_ENTRIES + 1];
	unic_tlb_idx free_head;
	unic_tlb_idx free; /* neither reserved nor used */
	unic_tlb_idx reserved;
};

/** unic_tlb_init() - all entries are free. */
void unic_tlb_init(struct unic_tlb *tlb);

/**
 * unic_tlb_reserve() - reserves @n entries for a region. Returns false, with
 * nothing changed, if fewer than @n are free.
 */
static inline bool unic_tlb_reserve(struct unic_tlb *tlb, uint32_t n)
{
	if (n > tlb->free)
		return false;
	tlb->free = (unic_tlb_idx)(tlb->free - n);
	tlb->reserved = (unic_tlb_idx)(tlb->reserved + n);
	return true;
}

/** unic_tlb_unreserve() - frees @n reserved entries that were not filled. */
void unic_tlb_unreserve(struct unic_tlb *tlb, uint32_t n);

/**
 * unic_tlb_fill() - turns one reserved entry into the translation of @page.
 * @base: the region's, UNIC_TLB_BASE. The page must have no entry.
 */
void unic_tlb_fill(struct unic_tlb *tlb, uint32_t base, uint32_t page,
		   uint64_t bus);

/**
 * unic_tlb_fill_run() - fills pages @first .. @first + @count - 1. @bus: their
 * addresses, each read once. Returns the bitwise OR of the low halves of all
 * addresses, which shows a misaligned one (the caller then takes the pages out
 * again). Cost: about 12 instructions a page.
 */
uint32_t unic_tlb_fill_run(struct unic_tlb *tlb, uint32_t base, uint32_t first,
			   uint32_t count, const uint64_t *bus);

/** unic_tlb_fill_one() - unic_tlb_fill() inline, @bus read once. Returns the low
 * half of the address. */
static inline uint32_t unic_tlb_fill_one(struct unic_tlb *tlb, uint32_t base,
					 uint32_t page, const uint64_t *bus)
{
	uint32_t tag = base + page, i = tlb->free_head;
	unic_tlb_idx *b = &tlb->bucket[tag & (UNIC_TLB_BUCKETS - 1)];
	struct unic_tlb_entry *e = &tlb->entry[i];
	uint64_t addr = *bus;

	UNIC_IN_REGISTER(e);
	UNIC_IN_REGISTER(addr);
	tlb->reserved--;
	tlb->free_head = e->next;
	e->tag = tag;
	e->next = *b;
	*b = (unic_tlb_idx)i;
	e->bus = addr;
	return (uint32_t)addr;
}

/**
 * unic_tlb_invalidate() - frees the entry of @page of the region with @base.
 * Returns false if there is none.
 */
bool unic_tlb_invalidate(struct unic_tlb *tlb, uint32_t base, uint32_t page);

/**
 * unic_tlb_hit() - returns the entry of @page of the region with @base, or NULL.
 * The end of a chain is an entry that matches nothing.
 */
static inline const struct unic_tlb_entry *
unic_tlb_hit(const struct unic_tlb *tlb, uint32_t base, uint32_t page)
{
	uint32_t tag = base + page;
	const struct unic_tlb_entry *e =
		&tlb->entry[tlb->bucket[tag & (UNIC_TLB_BUCKETS - 1)]];

	/*@ loop invariant \exists integer i;
	  @	0 <= i <= UNIC_TLB_END && e == &tlb->entry[i];
	  @ loop assigns e; */
	while (unlikely(e->tag != tag)) {
		if (e == &tlb->entry[UNIC_TLB_END])
			return NULL;
		e = &tlb->entry[e->next];
	}
	return e;
}

/** unic_tlb_find() - returns the index of that page's entry, or UNIC_TLB_NIL. */
static inline uint32_t unic_tlb_find(const struct unic_tlb *tlb, uint32_t base,
				     uint32_t page)
{
	const struct unic_tlb_entry *e = unic_tlb_hit(tlb, base, page);

	return e ? (uint32_t)(e - tlb->entry) : UNIC_TLB_NIL;
}

_Static_assert((UNIC_TLB_ENTRIES & (UNIC_TLB_ENTRIES - 1)) == 0 &&
		       UNIC_TLB_ENTRIES <= 65536u,
	       "TLB size must be a power of two, at most 65536");

#endif /* UNIC_TLB_H */
