/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * usage.h - uses of regions beyond what an access counts (MEMORY.md section 6):
 * those of forms count for the regions they are made of; all are shown in a page
 * that the host maps, and, if asked for, in the trace; and policies that shall
 * not look at the NIC's own count learn what processes report instead.
 *
 * Secret: when all this is looked at. No access pays for it: a sweep compares
 * what regions have counted with what was known of them.
 */
#ifndef UNIC_USAGE_H
#define UNIC_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "arbiter/policy.h"

struct unic_memory;

/* What was seen of region i; all 0 while the index is free. */
struct unic_seen {
	uint32_t uses, bytes; /* a form: counted for its regions already */
	uint32_t traced;      /* uses that the trace has */
};

/* The uses of region i as its process reports them; see struct
 * unic_policy_table. */
struct unic_reported {
	uint64_t last_use_ns;
	uint32_t uses;
	uint32_t seen; /* the word of the process, last time */
	uint64_t since_ns;
	uint16_t n_pages;
	uint8_t importance;
};

struct unic_usages {
	struct unic_seen of[UNIC_MRS];
	struct unic_reported reported[UNIC_MRS];
	struct unic_policy_table table; /* the same, as policies see it */
	uint64_t next_ns;		/* sweep again */
	uint32_t told;			/* bit per process that has reported */
	uint16_t at;			/* where the next sweep begins */
	bool off; /* what the NIC counts is not looked at */
};

/** unic_usage_init() - after unic_mr_init(): the NIC's own count is used. */
void unic_usage_init(struct unic_memory *nic);

/** unic_usage_switch() - @off: from now on policies know only what processes
 * report, and choose by chance where none has come. Linear in regions. */
void unic_usage_switch(struct unic_memory *nic, bool off);

/** unic_usage_policy() - the policy of process @proc has changed, or @proc is new
 * (@fresh: it has reported nothing yet). */
void unic_usage_policy(struct unic_memory *nic, uint32_t proc, bool fresh);

/** unic_usage_end() - index @mr is free: nothing is known of it. */
void unic_usage_end(struct unic_memory *nic, uint16_t mr);

/** unic_usage_fold() - uses of form @mr since the last call count for the regions
 * that it is made of, and for theirs; nothing for others. */
void unic_usage_fold(struct unic_memory *nic, uint16_t mr);

/** unic_usage_fold_into() - the same for all forms made of @mr. True: there were
 * some. */
bool unic_usage_fold_into(struct unic_memory *nic, uint16_t mr);

/** unic_usage_trace() - the trace has all uses of @mr so far. */
void unic_usage_trace(struct unic_memory *nic, uint16_t mr);

/** unic_usage_sweep() - look at UNIC_USAGE_SWEEP regions. Returns when to call
 * again (NIC time; UINT64_MAX: at the next heartbeat). */
uint64_t unic_usage_sweep(struct unic_memory *nic);
#define UNIC_USAGE_SWEEP (UNIC_MRS < 256u ? UNIC_MRS : 256u)

#endif /* UNIC_USAGE_H */
