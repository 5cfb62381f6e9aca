/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* tlb.c - the pool of translation entries: hash chains and the free list. */
#include <string.h>

#include "memory/tlb.h"

#define MASK (UNIC_TLB_BUCKETS - 1u)

void unic_tlb_init(struct unic_tlb *tlb)
{
	uint32_t i;

	memset(tlb->entry, 0, sizeof(tlb->entry));
	for (i = 0; i < UNIC_TLB_BUCKETS; i++)
		tlb->bucket[i] = UNIC_TLB_END;
	for (i = 0; i <= UNIC_TLB_ENTRIES; i++) {
		tlb->entry[i].tag = UNIC_TLB_NO_TAG;
		tlb->entry[i].next = (unic_tlb_idx)(i + 1);
	}
	tlb->free_head = 0;
	tlb->free = UNIC_TLB_ENTRIES;
	tlb->reserved = 0;
}

void unic_tlb_unreserve(struct unic_tlb *tlb, uint32_t n)
{
	tlb->free = (unic_tlb_idx)(tlb->free + n);
	tlb->reserved = (unic_tlb_idx)(tlb->reserved - n);
}

/* State of a fill. */
struct run {
	const uint64_t *bus;
	unic_tlb_idx *b; /* bucket of the next page */
	unic_tlb_idx i;	 /* next free entry */
	uint32_t tag;	 /* of the next page */
	uint32_t low;	 /* all addresses ORed */
};

/* Fills one page: its 12 instructions are the cost of a page in a registration. */
static inline void fill_one(struct unic_tlb_entry *pool, struct run *r)
{
	struct unic_tlb_entry *e = pool + r->i;
	uint64_t addr = *r->bus++;
	unic_tlb_idx next;

	UNIC_IN_REGISTER(e);
	/* loads it whole; halves would be loaded and stored one by one */
	__asm__("" ::"r"(addr));
	r->low |= (uint32_t)addr;
	UNIC_IN_REGISTER(r->low);
	next = e->next;
	e->tag = r->tag++;
	e->next = *r->b;
	*r->b++ = r->i;
	e->bus = addr;
	r->i = next;
}

/*
 * The pages of a run lie in consecutive buckets, so nothing is hashed; the table
 * wraps at most once, because a region is never larger than it.
 */
uint32_t unic_tlb_fill_run(struct unic_tlb *tlb, uint32_t base, uint32_t first,
			   uint32_t count, const uint64_t *bus)
{
	uint32_t tag = base + first, n = UNIC_TLB_BUCKETS - (tag & MASK);
	struct unic_tlb_entry *pool = tlb->entry;
	struct run r = { bus, &tlb->bucket[tag & MASK], tlb->free_head, tag,
			 0 };

	tlb->reserved = (unic_tlb_idx)(tlb->reserved - count);
	while (count) {
		n = n < count ? n : count;
		count -= n;
		for (; n & 3; n--)
			fill_one(pool, &r);
		for (n >>= 2; n; n--) {
			fill_one(pool, &r);
			fill_one(pool, &r);
			fill_one(pool, &r);
			fill_one(pool, &r);
		}
		r.b = tlb->bucket;
		n = count;
	}
	tlb->free_head = r.i;
	return r.low;
}

void unic_tlb_fill(struct unic_tlb *tlb, uint32_t base, uint32_t page,
		   uint64_t bus)
{
	unic_tlb_fill_run(tlb, base, page, 1, &bus);
}

bool unic_tlb_invalidate(struct unic_tlb *tlb, uint32_t base, uint32_t page)
{
	uint32_t tag = base + page;
	unic_tlb_idx *link = &tlb->bucket[tag & MASK];

	while (*link != UNIC_TLB_END) {
		struct unic_tlb_entry *e = &tlb->entry[*link];
		unic_tlb_idx i = *link;

		if (e->tag == tag) {
			*link = e->next;
			e->tag = UNIC_TLB_NO_TAG;
			e->next = tlb->free_head;
			tlb->free_head = i;
			tlb->free++;
			return true;
		}
		link = &e->next;
	}
	return false;
}
