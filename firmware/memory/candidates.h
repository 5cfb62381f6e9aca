/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * candidates.h - the regions that may be asked back, as the replacement policies
 * of the arbiter see them (MEMORY.md section 6).
 *
 * Secret: how the region table is laid out for policy.h, which knows items only.
 */
#ifndef UNIC_CANDIDATES_H
#define UNIC_CANDIDATES_H

#include <stdint.h>

#include "arbiter/policy.h"
#include "board.h"

struct unic_mr_ctx;
struct unic_memory;

/* What it would hurt to take region i back, as last measured; see policy.h. */
struct unic_pain {
	uint32_t at;	/* decayed to this time: 2^16 ns, wraps in 3 days */
	uint32_t value; /* decayed bytes per entry */
	uint32_t bytes; /* already counted in it, low 32 bits */
};

struct unic_candidates {
	struct unic_policy_table table; /* regions, as policies see them */
	struct unic_chooser chooser[UNIC_PROCS];
	struct unic_item item[UNIC_MRS];
	struct unic_ghost ghost[UNIC_GHOSTS]; /* of all processes */
	uint64_t rng; /* policy random: state of its generator */
	struct unic_pain pain[UNIC_MRS]; /* all 0 while the index is free */
	uint32_t reaper_us;    /* between two looks at what was used */
	uint32_t residence_us; /* a younger region is not chosen */
};

/** unic_candidates_init() - none, every process has policy `default`, the reaper
 * looks each 1 ms, and a region stays for 5 ms at least. The
 * caller seeds `rng` afterwards. */
void unic_candidates_init(struct unic_memory *nic);

/** unic_candidate_add() - region @mr may be chosen from now on (it is ACTIVE);
 * nothing for class control, nor for regions whose entries go one by one. */
void unic_candidate_add(struct unic_memory *nic, uint16_t mr);

/** unic_candidate_remove() - @mr may not be chosen any more; harmless if it could
 * not before. */
void unic_candidate_remove(struct unic_memory *nic, uint16_t mr);

/** unic_candidate_identity() - a hash that what comes back after an eviction has,
 * too: of process and range. */
uint32_t unic_candidate_identity(const struct unic_mr_ctx *m);

#endif /* UNIC_CANDIDATES_H */
