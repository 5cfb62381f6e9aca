/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stag.h - which STag the next region of an index gets (MEMORY.md section 2).
 *
 * Secret: the function. STag = index | NIC part | 8 bits of the consumer. The NIC
 * parts of an index are a walk: steps 0, 1, 2 ... of a permutation of all parts,
 * a Feistel network of UNIC_STAG_ROUNDS rounds. Its round function is
 * SipHash-2-4, under a key of 128 bits that is new each epoch, of the walk's
 * number, the round and the half. No two walks, of any indices, have the same
 * number, so one walk reveals nothing about another; and the parts already seen
 * of a walk do not come again. At most half of a permutation is walked, so even
 * all of a walk reveals one bit of the next part and no more.
 *
 * A walk ends by lot, after UNIC_STAG_MEAN steps in the mean: no process can
 * predict the last step, so a process that makes more steps makes more of the
 * last ones. Then the index rests, charged to the process of the last region, and
 * begins another walk after UNIC_STAG_REST_NS. Within that time no old STag opens
 * anything: a walk repeats none, and no walk follows before it. Later an old STag
 * is worth as much as any wrong key (key_guard.h).
 *
 * 	      lot, or half is walked             UNIC_STAG_REST_NS
 * 	walk -----------------------> rest (charged) -----------------> next walk
 *
 * A process may have its part of half of the region table at rest, by weight, and
 * more while less than a quarter of the table rests. With more it gets
 * -UNIC_EMRFULL, or waits, until a rest of its own ends. So other processes find
 * free indices whatever it does. The charge stays with the process slot, and the
 * charges of unused slots are not there to be shared: a process that comes back
 * in another slot finds so much less. A few are allowed to each process in any
 * case.
 */
#ifndef UNIC_STAG_H
#define UNIC_STAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "board.h"

struct unic_memory;

#define UNIC_STAG_KEY_BITS 8u /* of the consumer */
#define UNIC_STAG_PART_BITS \
	(32u - (uint32_t)__builtin_ctz(UNIC_MRS) - UNIC_STAG_KEY_BITS)
#define UNIC_STAG_ROUNDS 10u /* as NIST FF1 has */

/* Steps of a walk: half of the permutation, as far as 16 bits count. */
#define UNIC_STAG_STEPS \
	(UNIC_STAG_PART_BITS > 16u ? 65535u : 1u << (UNIC_STAG_PART_BITS - 1u))
#define UNIC_STAG_MEAN ((UNIC_STAG_STEPS + 1u) / 2u)

/*
 * How long a peer may repeat a request whose STag was valid when it was posted: 8
 * times, each unanswered for 0.54 s, the longest that unic's connection
 * management asks for (ack time-out 17, 7 retries). A peer that sets more by
 * itself may see an old request meet a new region, with the odds of a wrong key.
 */
#define UNIC_STAG_REST_NS (8u * (4096ull << 17))

struct unic_stags {
	uint64_t key[2];
	struct {
		uint32_t walk;
		uint32_t twist; /* of a restored index; else 0 */
		uint16_t step;	/* step of the next region */
		uint16_t by;	/* process charged while the index rests */
	} of[UNIC_MRS];
	uint32_t walks; /* walks begun in this epoch */
	/* resting indices, through mr.next; mr.since_ns: end of the rest */
	uint16_t head, tail;
	uint16_t resting;
	uint16_t charged[UNIC_PROCS];
	/* processes whose charge changed since unic_demand_settle() */
	struct unic_bitset changed;
};

/** unic_stag_draw() - draws a new key and begins a walk for each index. */
void unic_stag_draw(struct unic_memory *nic);

/** unic_stag_next() - returns the STag of the next region of index @idx, without
 * the consumer's byte. *@random: 19 secret random bits, fixed for this STag. */
uint32_t unic_stag_next(const struct unic_memory *nic, uint16_t idx,
			uint32_t *random);

/** unic_stag_begin() - the walk of @idx, which was never used, begins with the
 * part of @stag, which an earlier epoch gave. */
void unic_stag_begin(struct unic_memory *nic, uint16_t idx, uint32_t stag);

/**
 * unic_stag_used() - the region of @proc with the STag of @idx has ended. @lot:
 * random. Returns true if the index rests, charged to @proc: it must not be used
 * before unic_stag_rested() returns it.
 */
bool unic_stag_used(struct unic_memory *nic, uint16_t idx, uint32_t proc,
		    uint32_t lot);

/** unic_stag_rested() - returns an index whose rest has ended, on a new walk; or
 * UNIC_MR_NIL, and lowers *@next_ns to the end of the next rest. */
uint16_t unic_stag_rested(struct unic_memory *nic, uint64_t *next_ns);

/** unic_stag_crowded() - true if a process may have too many indices at rest. */
static inline bool unic_stag_crowded(const struct unic_stags *s)
{
	return s->resting >= (UNIC_MRS + 3u) / 4u;
}

/** unic_stag_shut() - true if @proc has too many indices at rest to register
 * more. */
bool unic_stag_shut(const struct unic_memory *nic, uint32_t proc);

/** unic_stag_left() - returns the indices at rest that are charged to unused
 * slots. */
uint32_t unic_stag_left(const struct unic_memory *nic);

#endif /* UNIC_STAG_H */
