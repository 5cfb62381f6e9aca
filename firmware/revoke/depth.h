/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * depth.h - how far the reaper goes ahead of demand (MEMORY.md section 6).
 *
 * Below the low watermark the reaper goes on up to the high one, as long as the wait that
 * an entry saves is worth the pain of what goes for it (arbiter/pain.h). So of a table of
 * idle regions it keeps `high` entries free, and of one in use as many as new regions
 * need. A process that waits is served whatever that costs (INV-8): nothing here is asked
 * then.
 *
 * Secret: what is laid in the balance, and which waits count.
 */
#ifndef UNIC_DEPTH_H
#define UNIC_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

struct unic_revoke;

struct unic_depth {
	uint32_t
		wait; /* unic_pain_wait() of all owners; 0: nobody waited yet */
};

/** unic_depth_init() - nobody waited. */
void unic_depth_init(struct unic_revoke *nic);

/** unic_depth_waited() - a request of @proc was granted after @us. */
void unic_depth_waited(struct unic_revoke *nic, uint32_t proc, uint32_t us);

/** unic_depth_pays() - true if region @mr may be asked back to keep entries free; always
 * with a weight of 0, and if nothing went through it lately. */
bool unic_depth_pays(struct unic_revoke *nic, uint16_t mr);

#endif /* UNIC_DEPTH_H */
