/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pace.h - how long an operation will take, from the times that others took: the
 * owner of a region that is asked back has T to finish with it (MEMORY.md section 5).
 *
 * Secret: the rate, and what changes it. Calls may come from any thread.
 */
#ifndef UNIC_LIB_PACE_H
#define UNIC_LIB_PACE_H

#include <stdint.h>

struct unic_pace {
	uint32_t rate; /* bytes per millisecond, atomic */
	uint32_t grace_us;
};

/** unic_pace_init() - no measurement yet; T is @grace_us. */
void unic_pace_init(struct unic_pace *p, uint32_t grace_us);

/** unic_pace_expect() - the microseconds that @bytes will take. */
uint32_t unic_pace_expect(const struct unic_pace *p, uint64_t bytes);

/** unic_pace_piece() - the most bytes one operation may have so that @window of
 * them, one behind the other, take no longer than T/2: whole pages, one at least
 * (which is repeated if it is cut). */
uint32_t unic_pace_piece(const struct unic_pace *p, unsigned int window);

/** unic_pace_measured() - take a measurement: @bytes in @ns. A slower rate is taken
 * at once, a faster one step by step. */
void unic_pace_measured(struct unic_pace *p, uint64_t bytes, uint64_t ns);

/** unic_pace_cut() - an operation did not end within T: halve the rate, but not below
 * a page in T, since no shorter operation can be posted. */
void unic_pace_cut(struct unic_pace *p);

#endif /* UNIC_LIB_PACE_H */
