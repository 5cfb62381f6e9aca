/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * reclaim.h - the reaper: when entries must come back, and from which process
 * (MEMORY.md section 6).
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

/* Other processes of which a process keeps the last recall, see reclaim.c. */
#define UNIC_OPPONENTS (UNIC_PROCS <= 32 ? UNIC_PROCS : 32)

struct unic_reclaim {
	/* shares of entries when all that was asked back is gone, put off or not,
	 * and of regions; not up to date for `stale` processes */
	struct unic_share after, regions;
	struct unic_bitset stale;
	/* processes whose quota was set below what they had, until they have
	 * given the surplus back */
	struct unic_bitset lowered;
	bool refilling; /* until supply reaches the high watermark */
	uint32_t high;	/* watermark; the low one is in struct unic_mrs */
	/* last recalls, for damping */
	uint64_t recall_ns[UNIC_PROCS][UNIC_OPPONENTS];
};

/** unic_reclaim_init() - sets the default watermarks. */
void unic_reclaim_init(struct unic_revoke *nic);

/**
 * unic_reclaim_pick() - returns the region of @proc to ask back, by its policy,
 * or UNIC_MR_NIL. @entries: how many are wanted, more count for nothing;
 * @patient: no region younger than the minimum residence. Nothing is asked back.
 */
uint16_t unic_reclaim_pick(struct unic_revoke *nic, uint32_t proc,
			   uint32_t entries, bool patient);

/**
 * unic_reclaim_beside() - @found, which was picked, has derived regions. If they
 * were used, @found was used, too, and another region is picked, a bounded number
 * of times. Arguments and result as unic_reclaim_pick().
 */
uint16_t unic_reclaim_beside(struct unic_revoke *nic, uint32_t proc,
			     uint16_t found, uint32_t entries, bool patient);

/**
 * unic_reclaim_poll() - compares demand with supply and revokes a bounded number
 * of regions. Returns when to call again (NIC time, UINT64_MAX: no need).
 */
uint64_t unic_reclaim_poll(struct unic_revoke *nic);

/**
 * unic_reclaim_proc_forget() - process slot @proc is free: regions asked back for
 * it are for nobody, and the accounts of the slot are 0 for its next process.
 */
void unic_reclaim_proc_forget(struct unic_revoke *nic, uint32_t proc);

/** unic_reclaim_usage() - fills in the answer of QUERY_USAGE for @proc. */
void unic_reclaim_usage(struct unic_revoke *nic, uint32_t proc,
			struct unic_cpl_usage *out);

#endif /* UNIC_RECLAIM_H */
