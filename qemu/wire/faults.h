/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * faults.h - a bad wire: loss, duplication, reordering, corruption and delay of
 * the frames that come from one port (one direction), drawn from a seeded
 * generator of its own. Frame n of a direction meets the same fate in every run
 * with the same seed, whatever the other directions do.
 *
 * Reordered: held back until the next frame of the direction has passed, at
 * most FAULTS_HOLD_NS. Corrupted: one bit behind the Ethernet header flipped; a
 * frame that no ICRC covers is dropped instead, as the Ethernet CRC would have.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "frame.h"

#define FAULTS_HOLD_NS 1000000u
#define FAULTS_QUEUE   1024u

struct faults_rates {
	uint32_t loss; /* of 2^32 */
	uint32_t dup;
	uint32_t reorder;
	uint32_t corrupt;
	uint32_t delay_us;
};

struct faults_count {
	uint64_t lost;
	uint64_t duplicated;
	uint64_t reordered;
	uint64_t corrupted;
	uint64_t overflowed; /* dropped because too many frames are delayed */
};

struct waiting {
	struct waiting *next;
	uint64_t due_ns;
	struct frame frame; /* only its first len bytes are allocated */
};

struct faults {
	struct faults_rates rates;
	struct faults_count count;
	uint64_t random;
	struct waiting *first;
	struct waiting **last;
	uint32_t queued;
	struct waiting *held; /* waits until the next frame has passed */
};

/** faults_init() - set no rates; @seed and @port select the random sequence. */
void faults_init(struct faults *f, uint64_t seed, int port);

/** faults_active() - is any rate of this direction set? */
bool faults_active(const struct faults *f);

/** faults_push() - take a frame that came in, and change @frame (ICRC,
 * corruption). */
void faults_push(struct faults *f, struct frame *frame, uint64_t now_ns);

/**
 * faults_pop() - copy the next frame that is due at @now_ns to @out. Returns
 * false if there is none.
 */
bool faults_pop(struct faults *f, uint64_t now_ns, struct frame *out);

/** faults_due() - the next time at which faults_pop() has a frame; UINT64_MAX:
 * never. */
uint64_t faults_due(const struct faults *f);

/** faults_fini() - drop the frames that are waiting. */
void faults_fini(struct faults *f);

#endif /* FAULTS_H */
