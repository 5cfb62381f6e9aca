/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * usage.h - statistics of regions beyond what an access counts (MEMORY.md section
 * 6). Uses of derived regions count for the regions they are made of; all uses
 * are shown in a page that the host maps and, if asked for, in the trace;
 * policies that may not use the NIC's own count use what processes report
 * instead.
 *
 * Secret: when this is done. No access pays for it: a sweep compares the counts
 * of regions with the counts it last read.
 */
#ifndef UNIC_USAGE_H
#define UNIC_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "arbiter/policy.h"

struct unic_memory;

/* Counts of region i at the last sweep; all 0 while the index is free. */
struct unic_seen {
	/* derived region: counted for its regions already */
	uint32_t uses, bytes;
	uint32_t traced; /* uses that are in the trace */
};

/* The uses of region i as its process reports them; see struct
 * unic_policy_table. */
struct unic_reported {
	uint64_t last_use_ns;
	uint32_t uses;
	uint32_t seen; /* the process's word, last read */
	uint64_t since_ns;
	uint16_t n_pages;
	uint8_t importance;
};

struct unic_usages {
	struct unic_seen of[UNIC_MRS];
	struct unic_reported reported[UNIC_MRS];
	struct unic_policy_table table; /* `reported`, as items of policies */
	uint64_t next_ns;		/* time of the next sweep */
	bool told[UNIC_PROCS];		/* processes that have reported */
	uint16_t at;			/* where the next sweep begins */
	bool off; /* policies do not use the NIC's own count */
};

/** unic_usage_init() - the NIC's own count is used. Call after unic_mr_init(). */
void unic_usage_init(struct unic_memory *nic);

/** unic_usage_switch() - @off: policies use only what processes report, and
 * choose at random where there is no report. Linear in regions. */
void unic_usage_switch(struct unic_memory *nic, bool off);

/** unic_usage_policy() - applies the policy of process @proc, which changed, or
 * which is new (@fresh: without reports). */
void unic_usage_policy(struct unic_memory *nic, uint32_t proc, bool fresh);

/** unic_usage_end() - index @mr is free: resets its statistics. */
void unic_usage_end(struct unic_memory *nic, uint16_t mr);

/** unic_usage_fold() - adds the uses of derived region @mr since the last call to
 * the regions that it is made of, at all levels; no effect for other regions. */
void unic_usage_fold(struct unic_memory *nic, uint16_t mr);

/** unic_usage_fold_into() - unic_usage_fold() for all regions derived from @mr.
 * Returns true if there were uses. */
bool unic_usage_fold_into(struct unic_memory *nic, uint16_t mr);

/** unic_usage_pain() - returns the pain of region @idx as of now: the last one, decayed,
 * and the bytes moved since. Changes nothing. */
uint32_t unic_usage_pain(const struct unic_memory *nic, uint16_t idx);

/** unic_usage_settle() - counts what went through region @idx since the last call in its
 * pain, and in the traffic of all. */
void unic_usage_settle(struct unic_memory *nic, uint16_t idx);

/** unic_usage_rests() - true if nothing goes through region @idx, nor did lately. */
bool unic_usage_rests(const struct unic_memory *nic, uint16_t idx);

/** unic_usage_traffic() - returns what goes through region @idx for each entry: decayed
 * bytes, and UNIC_PAIN_OP for each operation. Saturates. Changes nothing. */
uint32_t unic_usage_traffic(const struct unic_memory *nic, uint16_t idx);

/** unic_usage_mean() - returns the same for all regions together, for each entry that is
 * not free. */
uint32_t unic_usage_mean(const struct unic_memory *nic);

/** unic_usage_demand() - returns how many new regions there were, decayed, in 256ths. One
 * that returns after it was taken back is none: it takes the entries that it gave. */
uint32_t unic_usage_demand(struct unic_memory *nic);

/** unic_usage_trace() - writes the uses of @mr since the last call to the trace. */
void unic_usage_trace(struct unic_memory *nic, uint16_t mr);

/** unic_usage_sweep() - processes UNIC_USAGE_SWEEP regions. Returns when to call
 * again (NIC time; UINT64_MAX: at the next heartbeat). */
uint64_t unic_usage_sweep(struct unic_memory *nic);
#define UNIC_USAGE_SWEEP (UNIC_MRS < 256u ? UNIC_MRS : 256u)

#endif /* UNIC_USAGE_H */
