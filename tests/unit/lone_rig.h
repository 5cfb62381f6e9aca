/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lone_rig.h - two NICs, and one message that goes the short way (fastpath_lone.c) or, while
 * frames are traced, another way: what it does must be the same.
 */
#ifndef LONE_RIG_H
#define LONE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "pair.h"

#define LONE_CQES 4u

/* What messages did, as far as both ways must agree. */
struct lone_outcome {
	struct unic_cqe cqe[LONE_CQES], cqe_b[LONE_CQES];
	uint32_t cqes, cqes_b, lone_a, lone_b, other_a;
	uint64_t count_a[UNIC_C_COUNT], count_b[UNIC_C_COUNT];
	uint8_t bytes_a[128], bytes_b[128];
	uint32_t holds_a, holds_b;
};

/* Of the last lone_both_ways(). */
extern struct lone_outcome lone_result, lone_by_runs;

/** lone_write() - A's process posts a WRITE from @off to the same place at B. */
void lone_write(uint64_t id, uint32_t off, uint32_t len);

/** lone_sent(), lone_placed() - how many messages of @r went the short way. */
uint32_t lone_sent(const struct rig *r);
uint32_t lone_placed(const struct rig *r);
void lone_forget(struct rig *r);

/** lone_warm() - both NICs, with two WRITEs of 8 bytes behind them. */
void lone_warm(bool icrc, bool traced);

/** lone_give_back() - region @mr is asked back, and its owner gives it. */
void lone_give_back(struct rig *r, const struct rig_mr *mr);

/** lone_take() - what has come of the messages so far. */
void lone_take(struct lone_outcome *o);

/** lone_both_ways() - run @what the other way, then the short way. The outcomes must be the
 * same; @lone_a requests are sent by A, and @lone_b messages are placed by B, the short way. */
void lone_both_ways(void (*what)(void), uint32_t lone_a, uint32_t lone_b);
void lone_both_ways_of(bool icrc, void (*what)(void), uint32_t lone_a,
		       uint32_t lone_b);

#endif /* LONE_RIG_H */
