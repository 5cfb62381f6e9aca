/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cache.h - entries that come and go one by one: those of regions whose
 * residency is DEMAND or TABLE (MEMORY.md section 1; U-Net/MM and UTLB of S1).
 *
 * Secret: which cached entry goes. They lie in the one pool of tlb.h and are
 * counted as held by their process, so fair shares hold for them; but they come
 * back by a miss, so they are taken without notice or grace, before any region
 * is asked back. Each process's form a ring with a hand (second chance): an
 * entry met that was used since goes free once, and one that an operation waits
 * for is left alone until its first use, or for a millisecond.
 *
 * Such a region has no base in the TLB that the straight path of access.c could
 * find an entry under (UNIC_CACHE_HIDDEN), so each change of page comes here,
 * where use is noted, and resident regions pay nothing for it. Behind the
 * region's window (mr.h) an access costs what it does in any region; the window
 * ends with the entry.
 */
#ifndef UNIC_CACHE_H
#define UNIC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "base/bitset.h"
#include "memory/mr.h"
#include "memory/tlb.h"

struct unic_memory;
struct unic_mr_args;

/* What the NIC knows of a region of this kind beside its struct unic_mr_ctx, whose
 * n_pages and filled count the entries it has now. */
struct unic_cached_mr {
	uint32_t base;	 /* its real UNIC_TLB_BASE */
	uint32_t table;	 /* TABLE: offset in the BAR; DEMAND: UNIC_NO_TABLE */
	uint32_t seq;	 /* invalidations so far */
	uint32_t misses; /* so far */
};

#define UNIC_NO_TABLE 0xffffffffu

/* No page of region @mr has such a tag: random bits and page end below. */
#define UNIC_CACHE_HIDDEN(mr) ((uint32_t)(mr) << 20 | 0xf0000u)

/* What requests that wait have of the free entries. They write it (revoke/demand.h),
 * and the cache leaves it alone. */
struct unic_promises {
	struct unic_bitset waiters; /* who has a request, or a denial */
	/* entries freed for a process's requests; nobody at once takes them */
	uint32_t to[UNIC_PROCS], all;
};

struct unic_cache {
	struct unic_cached_mr of[UNIC_MRS];
	unic_tlb_idx next[UNIC_TLB_ENTRIES]; /* rings, by process */
	unic_tlb_idx prev[UNIC_TLB_ENTRIES];
	unic_tlb_idx hand[UNIC_PROCS];	  /* looked at next, or UNIC_TLB_NIL */
	unic_tlb_idx entries[UNIC_PROCS]; /* in its ring */
	uint32_t all_entries;		  /* in all of them */
	uint16_t regions[UNIC_PROCS];
	uint32_t demand; /* entries of DEMAND regions: drop records owed */
	/* the last entry for which there was no room: whose, and until when the
	 * reaper is to see to it; see unic_cache_short() */
	uint64_t short_until_ns;
	uint16_t short_proc;		 /* UNIC_PROCS: it has come */
	const struct unic_mr_span *held; /* see unic_cache_hold() */
	uint32_t n_held;
};

/** unic_cache_init() - no region has cached entries, no page is missed. */
void unic_cache_init(struct unic_memory *nic);

/**
 * unic_cache_bare_room() - may @proc have one more region that nobody can ask
 * back for its index: one of residency DEMAND or TABLE, or a form without
 * entries of its own? Half of its share of the region table is for these, and no
 * more than half of the table of all together; a few everybody may have.
 */
bool unic_cache_bare_room(struct unic_memory *nic, uint32_t proc);

/**
 * unic_cache_check() - may a region be made as @args say, @pages long?
 * 0; -UNIC_EINVAL (class, flags, place of its table); -UNIC_ETOOLARGE;
 * -UNIC_EMRFULL: unic_cache_bare_room() says no.
 */
int unic_cache_check(struct unic_memory *nic, const struct unic_mr_args *args,
		     uint32_t pages);

/** unic_cache_adopt() - region @mr, just made with no entries, is one of these.
 */
void unic_cache_adopt(struct unic_memory *nic, uint16_t mr, uint32_t table);

/** unic_cache_strip() - region @mr ends: all its entries are free, without drop
 * records, and the misses that wait for it end. */
void unic_cache_strip(struct unic_memory *nic, uint16_t mr);

/**
 * unic_cache_entry() - the entry of @page of @mr, which is used now. One of a
 * TABLE region that is not there is read at once.
 * @ahead: pages that the operation will need, this one included.
 * Returns 0; -UNIC_EMISS: it was asked for (fault.h); -UNIC_ENOPAGE: there is no
 * such page; -UNIC_EEVICTED: not there, and the region ends.
 */
int unic_cache_entry(struct unic_memory *nic, uint16_t mr, uint32_t page,
		     uint32_t ahead, const struct unic_tlb_entry **out);

/** unic_cache_has() - is the entry there? Not a use. */
bool unic_cache_has(const struct unic_memory *nic, uint16_t mr, uint32_t page);

/**
 * unic_cache_insert() - @bus (aligned) is the address of @page, which is not
 * there. @wanted: an operation waits for it.
 * 0; -UNIC_EAGAIN: no room in the pool for this process, or in the drop ring.
 */
int unic_cache_insert(struct unic_memory *nic, uint16_t mr, uint32_t page,
		      uint64_t bus, bool wanted);

/** unic_cache_read() - bring @page of a TABLE region, which is not there. As
 * unic_cache_insert(), and -UNIC_ENOPAGE. */
int unic_cache_read(struct unic_memory *nic, uint16_t mr, uint32_t page,
		    bool wanted);

/** unic_cache_drop() - entries of pages [@first, @first + @count) of @mr go,
 * those of a DEMAND region with drop records if @tell. Not while unic_cache_busy().
 * Returns how many. */
uint32_t unic_cache_drop(struct unic_memory *nic, uint16_t mr, uint32_t first,
			 uint32_t count, bool tell);

/** unic_cache_hold() - the received frame waits for DMA into these @n spans, which
 * stay as they are until the next call; 0: it waits no more. One at a time. */
void unic_cache_hold(struct unic_memory *nic, const struct unic_mr_span *span,
		     uint32_t n);

/** unic_cache_busy() - does DMA run through @mr, or wait to? */
bool unic_cache_busy(const struct unic_memory *nic, uint16_t mr);

/** unic_cache_take() - up to @n entries of @proc go, the least used ones.
 * Returns how many went. */
uint32_t unic_cache_take(struct unic_memory *nic, uint32_t proc, uint32_t n);

/**
 * unic_cache_yield() - @proc wants @n free entries: cached ones go until there
 * are, of those whose turn it is by their shares (INV-5), the last of all its
 * own. True if there are now.
 */
bool unic_cache_yield(struct unic_memory *nic, uint32_t proc, uint32_t n);

/**
 * unic_cache_short() - there was no room for an entry a moment ago, and it is
 * wanted still. Returns the process, UNIC_OWNER_NIL if there is none; *quota: only
 * what itself gives back makes room.
 */
uint32_t unic_cache_short(const struct unic_memory *nic, bool *quota);

#endif /* UNIC_CACHE_H */
