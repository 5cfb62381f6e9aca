/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * reclaim.h - the reaper: when entries must come back, and whose (MEMORY.md
 * section 6).
 *
 * Secret: victim choice in two steps. First the process (share.h), then one of
 * its regions by its policy (policy.h). The cost is flat: it does not grow with
 * the number of regions.
 */
#ifndef UNIC_RECLAIM_H
#define UNIC_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "arbiter/share.h"
#include "base/bitset.h"
#include "board.h"

struct unic_cpl_usage;
struct unic_revoke;

/* Others whose last recall from or for it a process remembers, see reclaim.c. */
#define UNIC_OPPONENTS (UNIC_PROCS <= 32 ? UNIC_PROCS : 32)

struct unic_reclaim {
	/* shares of entries when all that was asked back is gone, put off or not; of
	 * regions. Right but for who is stale */
	struct unic_share after, regions;
	struct unic_bitset stale;
	bool refilling; /* between low and high watermark */
	uint32_t high;	/* watermark; the low one is in unic_mrs */
	uint64_t recall_ns[UNIC_PROCS][UNIC_OPPONENTS]; /* thrash damping */
};

/** unic_reclaim_init() - default parameters (watermarks). */
void unic_reclaim_init(struct unic_revoke *nic);

/**
 * unic_reclaim_pick() - the region of @proc to ask back, by its policy, or
 * UNIC_MR_NIL. @entries: how many are wanted, more count for nothing; @patient:
 * none younger than the minimum residence. Nothing is asked yet.
 */
uint16_t unic_reclaim_pick(struct unic_revoke *nic, uint32_t proc,
			   uint32_t entries, bool patient);

/**
 * unic_reclaim_beside() - @found, which was picked, has forms: when these were used
 * it was, too, and another choice may be better. What is not known after some of
 * them is taken. Arguments and answer as unic_reclaim_pick().
 */
uint16_t unic_reclaim_beside(struct unic_revoke *nic, uint32_t proc,
			     uint16_t found, uint32_t entries, bool patient);

/**
 * unic_reclaim_poll() - compare demand with supply and revoke, a bounded number of
 * regions. Returns when to call again (NIC time, UINT64_MAX: no need).
 */
uint64_t unic_reclaim_poll(struct unic_revoke *nic);

/**
 * unic_reclaim_proc_forget() - process slot @proc is given up: what was taken
 * back for it is for nobody now, and its accounts are those of the slot's next
 * process, all zero.
 */
void unic_reclaim_proc_forget(struct unic_revoke *nic, uint32_t proc);

/** unic_reclaim_usage() - fill QUERY_USAGE's answer for @proc. */
void unic_reclaim_usage(struct unic_revoke *nic, uint32_t proc,
			struct unic_cpl_usage *out);

#endif /* UNIC_RECLAIM_H */
