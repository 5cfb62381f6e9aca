/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * replay.h - a trace against a table: with the firmware's own policies
 * (policy.h) and shares (share.h), or with knowledge of the future.
 */
#ifndef UNIC_EVAL_REPLAY_H
#define UNIC_EVAL_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "refs.h"

/* What the table is like. */
struct replay_table {
	uint32_t entries;  /* 1..65534 */
	uint32_t remember; /* items that went, for each entry; a power of two */
	bool shares;	   /* a policy for each process, and fair shares between
			      them, as the firmware has them; else one for all */
};

struct replay_result {
	uint64_t refs, hits, bytes, byte_hits;
	uint64_t process_refs[REFS_PROCESSES], process_hits[REFS_PROCESSES];
};

/**
 * replay_policy() - @r against a table @t, empty at first, under policy @kind
 * (enum unic_policy). What is larger than the table misses and takes no place.
 * Time is 2^10 ns a reference. Returns 0, or -1: no memory.
 */
int replay_policy(const struct refs *r, const struct replay_table *t,
		  uint32_t kind, struct replay_result *out);

/**
 * replay_belady() - the same under MIN: what is used again farthest in the
 * future goes. No policy that lets everything in does better if all things take
 * one entry; with several sizes it is a yardstick, not a bound.
 */
int replay_belady(const struct refs *r, uint32_t entries,
		  struct replay_result *out);

#endif /* UNIC_EVAL_REPLAY_H */
