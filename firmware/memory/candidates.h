/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * candidates.h - the regions that may be asked back, as items of the replacement
 * policies (MEMORY.md section 6).
 *
 * Secret: how the region table is laid out for policy.h, which handles items
 * only.
 */
#ifndef UNIC_CANDIDATES_H
#define UNIC_CANDIDATES_H

#include <stdint.h>

#include "arbiter/policy.h"
#include "board.h"

struct unic_mr_ctx;
struct unic_memory;

/* The pain of taking region i back, as last measured; see policy.h. */
struct unic_pain {
	uint32_t at;	/* time of `value`: 2^16 ns, wraps in 3 days */
	uint32_t value; /* decayed bytes per entry */
	uint32_t bytes; /* bytes counted in `value`, low 32 bits */
};

/* The traffic of all regions together. */
struct unic_traffic {
	uint32_t at;	/* as above */
	uint32_t value; /* decayed, in 64 bytes */
};

struct unic_candidates {
	struct unic_policy_table table; /* the regions as items of policies */
	struct unic_chooser chooser[UNIC_PROCS];
	struct unic_item item[UNIC_MRS];
	struct unic_ghost ghost[UNIC_GHOSTS]; /* shared by all processes */
	_Alignas(8) struct unic_traffic traffic;
	struct unic_pain pain[UNIC_MRS]; /* all 0 while the index is free */
	uint32_t reaper_us;		 /* period of the reaper */
	uint32_t residence_us;		 /* a younger region is not chosen */
};

/* The rest of it, which lies behind all else that a path to memory reads. A board that
 * leaves pain out has `state` alone. */
struct unic_pains {
	struct unic_policy_state state;
	struct unic_ops {
		uint32_t
			value; /* decayed operations, in 256ths, as of unic_pain.at */
		uint32_t uses;	     /* operations counted in it */
	} ops[UNIC_PAIN * UNIC_MRS]; /* all 0 while the index is free */
	struct unic_moved moved[UNIC_PAIN * UNIC_MRS];
	uint16_t ghost_loss[UNIC_PAIN * UNIC_GHOSTS];
	struct unic_new_regions {
		uint32_t at;	   /* as in struct unic_pain */
		uint32_t value;	   /* decayed, in 256ths */
		uint32_t seen;	   /* counted in `value` */
		uint32_t returned; /* of a range that was taken back before */
	} new_regions[UNIC_PAIN];
};

/** unic_candidates_init() - no candidates, policy `default` for each process,
 * reaper period 1 ms, minimum residence 5 ms. The caller seeds `rng`
 * afterwards. */
void unic_candidates_init(struct unic_memory *nic);

/** unic_candidates_weigh() - the pain of regions counts @pct per cent of what it does after
 * a reset; 0: nothing. At most 400. */
void unic_candidates_weigh(struct unic_memory *nic, uint32_t pct);

/** unic_candidate_add() - makes region @mr (ACTIVE) a candidate; no effect for
 * class control and for regions with cached entries. */
void unic_candidate_add(struct unic_memory *nic, uint16_t mr);

/** unic_candidate_remove() - @mr is no candidate afterwards; no effect if it was
 * none. */
void unic_candidate_remove(struct unic_memory *nic, uint16_t mr);

/** unic_candidate_rehint() - the importance of @mr has changed: the choice follows
 * it at once. No effect if @mr is no candidate. */
void unic_candidate_rehint(struct unic_memory *nic, uint16_t mr);

/** unic_candidate_identity() - returns a hash of process and range, which a
 * region that returns after an eviction shares with the old one. */
uint32_t unic_candidate_identity(const struct unic_mr_ctx *m);

#endif /* UNIC_CANDIDATES_H */
