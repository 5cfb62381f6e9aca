/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stag.h - which STag the next region of an index gets (MEMORY.md section 2).
 *
 * Secret: the function. STag = index | NIC part | 8 bits of the consumer. The
 * parts of an index are a walk: steps 0, 1, 2 ... of a permutation of all parts,
 * a Feistel network of UNIC_STAG_ROUNDS rounds whose round function is SipHash-2-4
 * under a key of 128 bits, new each epoch, of the walk's number, the round and
 * the half. No two walks, of whichever indices, have a number in common, so what
 * one shows says nothing of another; and of its own it shows what does not come
 * again. At most half of a permutation is walked, so even who has seen all of it
 * knows one bit of the next part and no more.
 *
 * A walk ends by lot, after UNIC_STAG_MEAN steps in the mean: nobody can know
 * which step is the last, so whoever makes more steps makes more of the last ones.
 * Then the index rests, charged to the process whose region was the last, and
 * begins another walk after UNIC_STAG_REST_NS. Within that time no STag of the
 * past opens anything: neither in a walk, which repeats nothing, nor after it.
 * Later an old STag is worth as much as any guess (key_guard.h).
 *
 *	      lot, or half is walked             UNIC_STAG_REST_NS
 *	walk -----------------------> rest (charged) -----------------> next walk
 *
 * A process may have its part of half of the region table at rest, by weight,
 * and more while less than a quarter of the table rests: whoever has more gets
 * -UNIC_EMRFULL, or waits, until a rest of its own ends. So others find free
 * indices whatever it does. The charge stays with the process slot, and what is
 * charged to slots that nobody has is not there to be shared: who comes again in
 * another slot finds so much less. But a few each process may always have.
 */
#ifndef UNIC_STAG_H
#define UNIC_STAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "board.h"

struct unic_memory;

#define UNIC_STAG_KEY_BITS 8u /* the consumer's */
#define UNIC_STAG_PART_BITS \
	(32u - (uint32_t)__builtin_ctz(UNIC_MRS) - UNIC_STAG_KEY_BITS)
#define UNIC_STAG_ROUNDS 10u /* as NIST FF1 has */

/* Steps of a walk: half of the permutation, as far as 16 bits count. */
#define UNIC_STAG_STEPS \
	(UNIC_STAG_PART_BITS > 16u ? 65535u : 1u << (UNIC_STAG_PART_BITS - 1u))
#define UNIC_STAG_MEAN ((UNIC_STAG_STEPS + 1u) / 2u)

/*
 * How long a peer may go on sending a request whose STag was right when it was
 * posted: 8 times, each unanswered for 0.54 s, the longest that our connection
 * management asks for (ack time-out 17, 7 retries). Who asks for more by itself
 * may see an old request meet a new region, by the odds of a guess.
 */
#define UNIC_STAG_REST_NS (8u * (4096ull << 17))

struct unic_stags {
	uint64_t key[2];
	struct {
		uint32_t walk;
		uint32_t twist; /* of a restored index, else 0 */
		uint16_t step;	/* of the next region */
		uint16_t by;	/* who is charged, while it rests */
	} of[UNIC_MRS];
	uint32_t walks;	     /* numbers given, this epoch */
	uint16_t head, tail; /* at rest, through mr.next; mr.since_ns: until */
	uint16_t resting;
	uint16_t charged[UNIC_PROCS];
	struct unic_bitset changed; /* charges, since unic_demand_settle() */
};

/** unic_stag_draw() - a new key, and all indices at the beginning of walks. */
void unic_stag_draw(struct unic_memory *nic);

/** unic_stag_next() - of the next region of index @idx, but for the consumer's
 * byte. @random: 19 bits that nobody knows, of that STag. */
uint32_t unic_stag_next(const struct unic_memory *nic, uint16_t idx,
			uint32_t *random);

/** unic_stag_begin() - the walk of @idx, which was never used, begins with the
 * part of @stag, given in another epoch. */
void unic_stag_begin(struct unic_memory *nic, uint16_t idx, uint32_t stag);

/**
 * unic_stag_used() - the region of @proc that had the STag of @idx has ended. @lot:
 * random. True: the index rests from now on, charged to @proc, and is not to be
 * used before unic_stag_rested() returns it.
 */
bool unic_stag_used(struct unic_memory *nic, uint16_t idx, uint32_t proc,
		    uint32_t lot);

/** unic_stag_rested() - an index whose rest has ended, on a new walk; or
 * UNIC_MR_NIL, and *@next_ns is lowered to when the next one does. */
uint16_t unic_stag_rested(struct unic_memory *nic, uint64_t *next_ns);

/** unic_stag_crowded() - may there be a process that has too many at rest? */
static inline bool unic_stag_crowded(const struct unic_stags *s)
{
	return s->resting >= (UNIC_MRS + 3u) / 4u;
}

/** unic_stag_shut() - has @proc too many at rest to register more now? */
bool unic_stag_shut(const struct unic_memory *nic, uint32_t proc);

/** unic_stag_left() - at rest, charged to slots that nobody has. */
uint32_t unic_stag_left(const struct unic_memory *nic);

#endif /* UNIC_STAG_H */
