/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fault.h - pages that operations wait for: from the access that found no entry
 * to the driver's answer (MEMORY.md section 1).
 *
 * Secret: what is asked for already, and who waits for it. A miss takes one of
 * UNIC_FAULTS slots; whoever misses the same page meanwhile joins it. The event
 * is written at the end of the poll round, or when its ring has room (INV-11). A page
 * of a TABLE region is asked of the DMA engine instead (table.h).
 *
 *   FREE -> DUE -> SENT -> FREE    (filled: who waits goes on)
 *            ^------+  \-> FAILED  (cannot, or not answered within H) -> FREE
 *                  (invalidated: asked again)
 *
 * A FAILED slot is remembered for another H, so that all who wait, and a peer
 * that was put off, are told; then the page may be asked for again.
 *
 * Slots are shared as entries are (MEMORY.md section 4): idle ones may be borrowed,
 * and an operation that finds none has one at once from a page that is only
 * advised, or, within its process's share, from a process above its own (INV-20).
 * Who gives one up asks for it again. For H after that a process above its share
 * leaves as many as it has, so that the next who comes need not take one back. No
 * more than half of the slots are for what is only advised.
 */
#ifndef UNIC_FAULT_H
#define UNIC_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_mbox.h"

struct unic_memory;
struct unic_mr_ctx;

#ifndef UNIC_FAULTS
#define UNIC_FAULTS 16u
#endif
#define UNIC_QP_WORDS	  ((UNIC_QPS + 31u) / 32u) /* a bit per queue pair */
#define UNIC_FAULT_AHEAD  16u			   /* pages of one miss */
#define UNIC_FAULT_BEFORE 4u /* of a posted receive, before its message */
#define UNIC_FAULT_NONE	  UNIC_FAULTS
#define UNIC_FAULT_NOBODY 0xffffu

enum unic_fault_state {
	UNIC_FAULT_FREE = 0,
	UNIC_FAULT_DUE,
	UNIC_FAULT_SENT,
	UNIC_FAULT_FAILED,
};

struct unic_page_fault {
	uint64_t since_ns; /* raised, or failed */
	uint32_t first, count;
	uint16_t mr;
	uint8_t state; /* enum unic_fault_state */
	bool short_of; /* the driver brought it, but there was no room */
	bool ahead;    /* only advised: no operation waits for it */
	uint32_t qps[UNIC_QP_WORDS]; /* bit per queue pair that waits */
};

struct unic_faults {
	struct unic_page_fault fault[UNIC_FAULTS];
	uint32_t starved[UNIC_QP_WORDS]; /* wait for a slot, or for room */
	uint32_t woken[UNIC_QP_WORDS]; /* wait no more, and go on this round */
	uint64_t next_ns;
	uint64_t narrow_ns; /* one was taken back: till then some are left */
	uint32_t busy;	    /* bit per slot that is not FREE */
	uint32_t
		easy; /* those that may be taken without a look: all, or none */
	uint16_t last; /* of the last access that missed, or MISS_NONE */
	bool any_starved, any_woken;
	bool ended; /* see unic_fault_take_ended() */
};

/** unic_fault_init() - no page is asked for, nobody waits. */
void unic_fault_init(struct unic_memory *nic);

/**
 * unic_fault_raise() - page @page of cached region @mr is not there; @ahead pages
 * from it on will be needed.
 * Returns -UNIC_EMISS (it is asked for, or will be), -UNIC_ENOPAGE (it was, and
 * cannot be had).
 */
int unic_fault_raise(struct unic_memory *nic, uint16_t mr, uint32_t page,
		     uint32_t ahead);

/** unic_fault_starved() - there is no room for a page: who waits looks again
 * soon. Returns -UNIC_EMISS. */
int unic_fault_starved(struct unic_memory *nic);

/** unic_fault_more() - the operation of the last access that missed goes on, in
 * region @mr, to the byte before @end (IOVA). Nothing, if it missed elsewhere. */
void unic_fault_more(struct unic_memory *nic, uint16_t mr, uint64_t end);

/**
 * unic_fault_ahead() - a message will come for @len bytes at @iova of the region
 * that @stag opens to @pd; the first UNIC_FAULT_BEFORE pages of them are brought, if
 * that region is of residency DEMAND or TABLE. What is wrong with it, the message
 * will say. False: too many misses are open, nothing was asked for; that one has
 * ended is what unic_fault_take_ended() says.
 */
bool unic_fault_ahead(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		      uint64_t iova, uint32_t len);

/** unic_fault_wait() - unic_fault_take_woken() names queue pair @idx when the last
 * access that missed may succeed. */
void unic_fault_wait(struct unic_memory *nic, uint16_t idx);

/** unic_fault_waits() - does it wait still? */
bool unic_fault_waits(const struct unic_memory *nic, uint16_t idx);

/** unic_fault_forget() - it does not wait any more, whatever comes. */
void unic_fault_forget(struct unic_memory *nic, uint16_t idx);

/**
 * unic_fault_take_woken() - a queue pair whose page is there, or is not to be had;
 * UNIC_FAULT_NOBODY: there is none. Taken in the round in which they are woken; each
 * checks its access again, and may wait again.
 */
uint16_t unic_fault_take_woken(struct unic_memory *nic);

/** unic_fault_take_ended() - has a miss ended since the last call? */
bool unic_fault_take_ended(struct unic_memory *nic);

/** unic_fault_mr_gone() - region @mr ends. */
void unic_fault_mr_gone(struct unic_memory *nic, uint16_t mr);

/** unic_fault_bound_ns() - how long a page may take for which a region must be taken
 * back first: B and H, and the longest EXTEND and the minimum residence. */
uint64_t unic_fault_bound_ns(const struct unic_memory *nic);

/** unic_fault_poll() - events that are due, misses that were not answered, those
 * who look again. Returns when to call again. */
uint64_t unic_fault_poll(struct unic_memory *nic);

/* ---- for fault_answer.c */

/** unic_fault_schedule() - unic_fault_poll() is called at @at_ns, or before. */
void unic_fault_schedule(struct unic_memory *nic, uint64_t at_ns);

/** unic_fault_next() - the next of the slots in *@left, which it leaves; there must be
 * one. */
static inline struct unic_page_fault *unic_fault_next(struct unic_faults *ms,
						      uint32_t *left)
{
	struct unic_page_fault *m = &ms->fault[__builtin_ctz(*left)];

	*left &= *left - 1u;
	return m;
}

/** unic_fault_find() - the slot that page @page of region @mr is asked for by, or that
 * remembers that it cannot be had; NULL: none. */
struct unic_page_fault *unic_fault_find(struct unic_faults *ms, uint16_t mr,
					uint32_t page);

/** unic_fault_end() - slot @m becomes FREE or FAILED (@state): who waits for it is woken
 * and looks at the page again. One that failed is kept for a while, and that is timed. */
void unic_fault_end(struct unic_memory *nic, struct unic_page_fault *m,
		    uint8_t state);

/** unic_fault_prefetch() - of pages [@first, @first + @count) of region @mr, those that
 * are not there are read, or asked for, at most so many at once, and as long as there is
 * room. *@done is counted up by those that came, or will. */
void unic_fault_prefetch(struct unic_memory *nic, uint16_t mr, uint32_t first,
			 uint32_t count, uint32_t *done);

#endif /* UNIC_FAULT_H */
