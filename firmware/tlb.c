/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* tlb.c - the pool of translation entries: hash chains and the free list. */
#include <string.h>

#include "tlb.h"

#define MASK (UNIC_TLB_BUCKETS - 1u)

void unic_tlb_init(struct unic_tlb *tlb)
{
	uint32_t i;

	memset(tlb->entry, 0, sizeof(tlb->entry));
	for (i = 0; i < UNIC_TLB_BUCKETS; i++)
		tlb->bucket[i] = UNIC_TLB_END;
	for (i = 0; i <= UNIC_TLB_ENTRIES; i++) {
		tlb->entry[i].tag = UNIC_TLB_NO_TAG;
		tlb->entry[i].next = (uint16_t)(i + 1);
	}
	tlb->free_head = 0;
	tlb->free = UNIC_TLB_ENTRIES;
	tlb->reserved = 0;
}

bool unic_tlb_reserve(struct unic_tlb *tlb, uint32_t n)
{
	if (n > tlb->free)
		return false;
	tlb->free = (uint16_t)(tlb->free - n);
	tlb->reserved = (uint16_t)(tlb->reserved + n);
	return true;
}

void unic_tlb_unreserve(struct unic_tlb *tlb, uint32_t n)
{
	tlb->free = (uint16_t)(tlb->free + n);
	tlb->reserved = (uint16_t)(tlb->reserved - n);
}

/* Where a fill has got to. */
struct run {
	const uint64_t *bus;
	uint32_t i;   /* next free entry */
	uint32_t tag; /* of the next page */
	uint32_t low; /* all addresses ORed */
};

/*
 * One stretch of @n consecutive buckets from @b on. This loop is the price per
 * page of a registration: what does not change stays in registers, and the
 * count down to 0 needs no comparison.
 */
static void fill_stretch(struct unic_tlb_entry *pool, struct run *r,
			 uint16_t *b, uint32_t n)
{
	const uint64_t *bus = r->bus;
	uint32_t i = r->i, tag = r->tag, low = r->low;

	for (; n; n--) {
		struct unic_tlb_entry *e = pool + i;
		uint64_t addr = *bus++;
		uint32_t next = e->next;

		e->tag = tag++;
		e->next = *b;
		*b++ = (uint16_t)i;
		low |= (uint32_t)addr;
		e->bus = addr;
		i = next;
	}
	*r = (struct run){ bus, i, tag, low };
}

/*
 * The pages of a run lie in consecutive buckets, so nothing is hashed; the
 * table wraps once at most, for a region is never larger than it.
 */
uint32_t unic_tlb_fill_run(struct unic_tlb *tlb, uint32_t base, uint32_t first,
			   uint32_t count, const uint64_t *bus)
{
	uint32_t at = (base + first) & MASK;
	uint32_t left = UNIC_TLB_BUCKETS - at;
	struct run r = { bus, tlb->free_head, base + first, 0 };
	uint16_t *b = tlb->bucket;

	if (left > count)
		left = count;
	fill_stretch(tlb->entry, &r, b + at, left);
	if (left < count)
		fill_stretch(tlb->entry, &r, b, count - left);
	tlb->free_head = (uint16_t)r.i;
	tlb->reserved = (uint16_t)(tlb->reserved - count);
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
	uint16_t *link = &tlb->bucket[tag & MASK];

	while (*link != UNIC_TLB_END) {
		struct unic_tlb_entry *e = &tlb->entry[*link];
		uint16_t i = *link;

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
