/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * revoked.h - STags of messaging regions that were revoked a short while ago:
 * posted receives may still name them.
 *
 * Secret: how long an STag is kept: for a lap, in which each queue pair is
 * checked once (rq.h); afterwards no receive can name it. If more are revoked
 * than there are places, any STag counts as revoked that names no usable region.
 */
#ifndef UNIC_REVOKED_H
#define UNIC_REVOKED_H

#include <stdbool.h>
#include <stdint.h>

struct unic_memory;

#define UNIC_REVOKED_STAGS 16u

struct unic_revoked {
	uint32_t stag[UNIC_REVOKED_STAGS]; /* oldest first */
	/* end of the lap: the value of `passed` that ends it */
	uint32_t until[UNIC_REVOKED_STAGS];
	uint32_t passed;
	uint32_t lost_until; /* end of the lap of STags without a place */
	uint16_t n;
	bool lost;
};

/** unic_revoked_init() - no STag is kept. */
void unic_revoked_init(struct unic_memory *nic);

/** unic_revoked_any() - true if the lap of an STag is not over. */
static inline bool unic_revoked_any(const struct unic_revoked *r)
{
	return r->n || r->lost;
}

/** unic_revoked_add() - region @mr was revoked: posted receives that name it
 * complete EVICTED, over the next poll rounds. */
void unic_revoked_add(struct unic_memory *nic, uint16_t mr);

/** unic_revoked_has() - true if the region of @stag was revoked within a lap. */
bool unic_revoked_has(const struct unic_memory *nic, uint32_t stag);

/** unic_revoked_pass() - one more queue pair was checked: drops the STags whose
 * lap is over. */
void unic_revoked_pass(struct unic_memory *nic);

#endif /* UNIC_REVOKED_H */
