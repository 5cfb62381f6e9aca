/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cache.h - entries that come and go one by one: those of regions whose residency
 * is DEMAND or TABLE (MEMORY.md section 1; U-Net/MM and UTLB of S1).
 *
 * Secret: which cached entry goes. Cached entries lie in the one pool of tlb.h
 * and count as held by their process, so fair shares hold for them. A fault
 * brings them back, so they are dropped without notice or grace, before any
 * region is asked back. The entries of a process form a ring with a hand (second
 * chance): an entry that was used since the hand passed is spared once, and one
 * that an operation waits for is spared until its first use, or for a
 * millisecond.
 *
 * The tlb_base of such a region (UNIC_CACHE_HIDDEN) matches no entry, so the fast
 * path of access.c finds none: each change of page comes here, where uses are
 * noted, and resident regions pay nothing. Within the region's window (mr.h) an
 * access costs the same as in any region; the window ends with the entry.
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

/* State of a region with cached entries, beside its struct unic_mr_ctx, whose
 * n_pages and filled count the entries that it holds. */
struct unic_cached_mr {
	uint32_t base;	 /* its real UNIC_TLB_BASE */
	uint16_t demand; /* 1: the driver brings its pages; 0: table.h does */
	uint16_t shown;	 /* window that had a page of it last, or UNIC_MR_NIL */
	uint32_t seq;	 /* invalidations so far */
	uint32_t misses; /* faults so far */
};

/* A base of region @mr that matches no tag: random bits and page number end
 * below. */
#define UNIC_CACHE_HIDDEN(mr) ((uint32_t)(mr) << 20 | 0xf0000u)

/* The free entries that requests which wait, or were denied, have a claim to. revoke/
 * decides about them; the cache leaves alone the claims of others. */
struct unic_promises {
	struct unic_bitset waiters; /* processes with a request or a denial */
	/* entries freed for a process's requests, and their sum, which is never more
	 * than are free */
	uint32_t to[UNIC_PROCS], all;
	struct unic_bitset owed; /* processes with a promise */
	/* entries of a process's requests within its fair share, free or not */
	uint32_t needed[UNIC_PROCS];
	uint32_t claimed; /* sum of the greater of both, of all processes */
};

struct unic_cache {
	struct unic_cached_mr of[UNIC_MRS];
	unic_tlb_idx next[UNIC_TLB_ENTRIES]; /* rings, by process */
	unic_tlb_idx prev[UNIC_TLB_ENTRIES];
	/* next entry to examine, or UNIC_TLB_NIL */
	unic_tlb_idx hand[UNIC_PROCS];
	unic_tlb_idx entries[UNIC_PROCS]; /* in the ring of each process */
	uint32_t all_entries;		  /* in all rings */
	uint16_t regions[UNIC_PROCS];
	/* entries of DEMAND regions; each may need a drop record */
	uint32_t demand;
	/* the last process that found no room for an entry, and the time until
	 * which the reaper serves it; see unic_cache_short() */
	uint64_t short_until_ns;
	uint16_t short_proc;		 /* UNIC_PROCS: none */
	const struct unic_mr_span *held; /* see unic_cache_hold() */
	uint32_t n_held;
};

/** unic_cache_init() - no region has cached entries, no fault is open. */
void unic_cache_init(struct unic_memory *nic);

/**
 * unic_cache_bare_room() - may @proc have one more region that cannot be asked
 * back for its index: one of residency DEMAND or TABLE, or a derived region
 * without entries of its own? A process may use half of its share of the region
 * table for these, all processes together half of the table; a few are allowed to
 * each process in any case.
 */
bool unic_cache_bare_room(struct unic_memory *nic, uint32_t proc);

/**
 * unic_cache_check() - may a region be made as @args say, @pages long? Returns 0,
 * -UNIC_EINVAL (class, flags, place of its table), -UNIC_ETOOLARGE, or
 * -UNIC_EMRFULL (unic_cache_bare_room() is false).
 */
int unic_cache_check(struct unic_memory *nic, const struct unic_mr_args *args,
		     uint32_t pages);

/** unic_cache_adopt() - makes region @mr, just made of @args without entries, one
 * with cached entries. */
void unic_cache_adopt(struct unic_memory *nic, uint16_t mr,
		      const struct unic_mr_args *args);

/** unic_cache_strip() - region @mr ends: frees all its entries, without drop
 * records, and ends the faults on it. */
void unic_cache_strip(struct unic_memory *nic, uint16_t mr);

/**
 * unic_cache_entry() - writes the entry of @page of @mr, which is used, to *@out.
 * @ahead: pages that the operation will need, this one included. A missing entry of
 * a TABLE region is there at once where DMA is (table.h). Returns 0; -UNIC_EMISS: a fault is open
 * (fault.h); -UNIC_ENOPAGE: there is no such page; -UNIC_EEVICTED: it is missing,
 * and the region ends.
 */
int unic_cache_entry(struct unic_memory *nic, uint16_t mr, uint32_t page,
		     uint32_t ahead, const struct unic_tlb_entry **out);

/** unic_cache_hit() - the entry of @page of @mr, which is used. NULL: it is not on the NIC;
 * no fault is opened. */
const struct unic_tlb_entry *unic_cache_hit(struct unic_memory *nic,
					    uint16_t mr, uint32_t page);

/** unic_cache_has() - true if the entry is on the NIC. Not a use. */
bool unic_cache_has(const struct unic_memory *nic, uint16_t mr, uint32_t page);

/**
 * unic_cache_insert() - inserts @bus (aligned) as the address of @page, which is
 * missing. @wanted: an operation waits for it. Returns 0, or -UNIC_EAGAIN: no
 * room in the pool for this process, or in the drop ring.
 */
int unic_cache_insert(struct unic_memory *nic, uint16_t mr, uint32_t page,
		      uint64_t bus, bool wanted);

/** unic_cache_spare() - true if the process of @mr may have an entry that is free and
 * that nobody has a claim to, and the reaper need not run for it. */
bool unic_cache_spare(const struct unic_memory *nic, uint16_t mr);

/** unic_cache_drop() - drops the entries of pages [@first, @first + @count) of
 * @mr, those of a DEMAND region with drop records if @tell. Not while
 * unic_cache_busy(). Returns the number of entries dropped. */
uint32_t unic_cache_drop(struct unic_memory *nic, uint16_t mr, uint32_t first,
			 uint32_t count, bool tell);

/** unic_cache_hold() - the received frame waits for DMA into these @n spans,
 * which must stay as they are until the next call; 0: no frame waits. One frame
 * at a time. */
void unic_cache_hold(struct unic_memory *nic, const struct unic_mr_span *span,
		     uint32_t n);

/** unic_cache_busy() - true if DMA runs through @mr or waits to. */
bool unic_cache_busy(const struct unic_memory *nic, uint16_t mr);

/** unic_cache_take() - drops up to @n entries of @proc, the least used ones.
 * Returns the number dropped. */
uint32_t unic_cache_take(struct unic_memory *nic, uint32_t proc, uint32_t n);

/** unic_cache_promise() - @n free entries are promised to @proc from now on, and no
 * more: the caller keeps the sum at the free entries and @n at what @proc wants. A
 * page that an operation of @proc waits for uses one of them up if every free entry
 * is promised. */
void unic_cache_promise(struct unic_memory *nic, uint32_t proc, uint32_t n);

/** unic_cache_need() - the requests of @proc within its fair share need @n entries
 * from now on: pages of other processes leave as many free. */
void unic_cache_need(struct unic_memory *nic, uint32_t proc, uint32_t n);

/**
 * unic_cache_yield() - @proc wants @n free entries: drops cached ones, of the
 * owners whose turn it is by their shares (INV-5), its own last. Returns true if
 * @n are free then.
 */
bool unic_cache_yield(struct unic_memory *nic, uint32_t proc, uint32_t n);

/**
 * unic_cache_short() - returns the process that found no room for an entry a
 * moment ago and still wants it, or UNIC_OWNER_NIL. *quota: only entries of its
 * own make room.
 */
uint32_t unic_cache_short(const struct unic_memory *nic, bool *quota);

#endif /* UNIC_CACHE_H */
