/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * table.h - the translation lists of TABLE regions: words in host memory, which the
 * NIC reads by DMA when a page is missed (MEMORY.md section 1; UTLB of S1).
 *
 * Secret: how a group of words comes from the list into the cache, and which groups
 * are under way. A read holds its region, so the region does not end, and its driver
 * does not get the list back, before the read has (INV-3). The host may write the
 * list while it is read: the words are judged in the NIC's copy, one by one. A group
 * that was asked for before the region's last MR_INVALIDATE is not used.
 *
 * A port whose DMA is over when the call returns serves a miss at once. Else the
 * operation waits in a slot of fault.h, of which the driver is told nothing.
 */
#ifndef UNIC_TABLE_H
#define UNIC_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_mbox.h"

struct unic_memory;
struct unic_mr_args;

/* Regions that may have a list; a board without reads of them has room for none. */
#define UNIC_TABLE_MRS	  (UNIC_TABLE_READS ? UNIC_MRS : 1u)
#define UNIC_TABLE_PLACES (UNIC_TABLE_READS ? UNIC_TABLE_READS : 1u)

struct unic_table_read {
	unic_le64 word[UNIC_TABLE_GROUP]; /* as they came */
	uint32_t first;			  /* page of the first of them */
	uint32_t page, keep;		  /* as of unic_table_miss() */
	uint32_t seq; /* of the region, when it was asked for */
	uint16_t mr;
	bool busy;
};

struct unic_tables {
	uint32_t
		prefetch; /* entries that a miss keeps, if there are free ones */
	uint16_t under_way; /* reads whose port answered "pending" */
	struct unic_table_read read[UNIC_TABLE_PLACES];
	uint64_t list[UNIC_TABLE_MRS]; /* bus address, by region */
	uint16_t window[UNIC_PROCS]; /* of the doorbell pages of each process */
};

/** unic_table_init() - no read is under way; a miss keeps one entry. */
void unic_table_init(struct unic_memory *nic);

/** unic_table_attach() - process @proc is there, with its doorbell pages at @bus: a
 * list of one of its regions may name pages of that window, and of no other. */
void unic_table_attach(struct unic_memory *nic, uint32_t proc, uint64_t bus);

/** unic_table_fits() - may the list of a region of @pages pages lie where @args say?
 * Whether that is memory, the port says when it is read. */
bool unic_table_fits(const struct unic_mr_args *args, uint32_t pages);

/**
 * unic_table_miss() - reads the group of words that has @page, which is missing, of
 * TABLE region @mr, and inserts its entry and those of the pages behind it in the
 * group: up to @keep in all, of which the operation needs as many, or up to
 * `prefetch` into entries that are free. @wanted: an operation waits for @page.
 *
 * Returns how many entries were inserted, 1 at least; -UNIC_EPENDING: the group is
 * on its way, and unic_table_arrived() follows; -UNIC_ENOPAGE: the word is no
 * address of a page of the process, or the list lies outside of all memory;
 * -UNIC_EAGAIN: no room in the pool, or the port is busy; -UNIC_EEVICTED: the
 * region ends.
 */
int unic_table_miss(struct unic_memory *nic, uint16_t mr, uint32_t page,
		    uint32_t keep, bool wanted);

/**
 * unic_table_look() - writes the bus address of @page of TABLE region @mr to *@bus, and
 * makes no entry: it is that of its entry, if there is one, or else in its word, which
 * is read with its group, unless *@at is that group. *@at is NULL at first, and good
 * until another function of this header is called. Returns 0; -UNIC_ENOPAGE: there is
 * none, as of unic_table_miss(); -UNIC_EAGAIN: call again. (The port is busy; or its
 * DMA takes its time, and the group stays when it has come, until the next does.)
 */
int unic_table_look(struct unic_memory *nic, uint16_t mr, uint32_t page,
		    struct unic_table_read **at, uint64_t *bus);

/** unic_table_ahead() - reads page *@first, which is missing and only advised, and what
 * follows it in its group, up to @end_page. *@done is counted up by the pages that came,
 * or will, and *@first goes on by one less, not beyond the last of them. False: there is
 * no room. */
bool unic_table_ahead(struct unic_memory *nic, uint16_t mr, uint32_t *first,
		      uint32_t end_page, uint32_t *done);

/** unic_table_arrived() - the port is through with read @which, which unic_dma_poll()
 * knows by its tag, UNIC_DMA_JOBS + @which. @ok: the words are there. Ends the
 * faults on these pages. */
void unic_table_arrived(struct unic_memory *nic, uint32_t which, bool ok);

#endif /* UNIC_TABLE_H */
