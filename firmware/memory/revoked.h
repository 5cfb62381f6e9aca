/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * revoked.h - STags of messaging regions that were taken back a short while ago:
 * posted receives may name them still.
 *
 * Secret: how long a name is kept. Each queue pair is looked at once after it came
 * (rq.h), and then nobody can name it. Of more than there are places for it is
 * known only that they name no region which is there.
 */
#ifndef UNIC_REVOKED_H
#define UNIC_REVOKED_H

#include <stdbool.h>
#include <stdint.h>

struct unic_memory;

#define UNIC_REVOKED_STAGS 16u

struct unic_revoked {
	uint32_t stag[UNIC_REVOKED_STAGS]; /* the oldest first */
	/* the end of its lap: when so many queue pairs have been passed, ever */
	uint32_t until[UNIC_REVOKED_STAGS];
	uint32_t passed;
	uint32_t lost_until; /* lap of those that there was no place for */
	uint16_t n;
	bool lost;
};

/** unic_revoked_init() - none is named. */
void unic_revoked_init(struct unic_memory *nic);

/** unic_revoked_any() - is there a name whose lap is not over? */
static inline bool unic_revoked_any(const struct unic_revoked *r)
{
	return r->n || r->lost;
}

/** unic_revoked_add() - region @mr was taken back: posted receives that name it
 * complete EVICTED, over the next poll rounds. */
void unic_revoked_add(struct unic_memory *nic, uint16_t mr);

/** unic_revoked_has() - was the region of @stag taken back within a lap? */
bool unic_revoked_has(const struct unic_memory *nic, uint32_t stag);

/** unic_revoked_pass() - one more queue pair has been looked at: names whose lap is
 * over are forgotten. */
void unic_revoked_pass(struct unic_memory *nic);

#endif /* UNIC_REVOKED_H */
