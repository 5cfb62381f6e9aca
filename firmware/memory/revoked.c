/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* revoked.c - see revoked.h. */
#include "memory/revoked.h"

#include <string.h>

#include "memory/memory.h"

void unic_revoked_init(struct unic_memory *nic)
{
	memset(&nic->revoked, 0, sizeof(nic->revoked));
}

void unic_revoked_add(struct unic_memory *nic, uint16_t mr)
{
	struct unic_revoked *r = &nic->revoked;
	/* all QPs, and the one under examination once more */
	uint32_t until = r->passed + UNIC_QPS + 1;

	nic->chores = true;
	if (r->n == UNIC_REVOKED_STAGS) {
		r->lost = true;
		r->lost_until = until;
		return;
	}
	r->stag[r->n] = nic->mrs.mr[mr].stag;
	r->until[r->n++] = until;
}

/* True if @stag names a usable region. The consumer's byte may still change, so
 * it is not compared. */
static bool is_region_there(const struct unic_memory *nic, uint32_t stag)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[stag >> UNIC_MR_IDX_SHIFT];

	return !((mr->stag ^ stag) & ~0xffu) && mr->state != UNIC_MR_FREE &&
	       mr->state < UNIC_MR_DRAINING;
}

bool unic_revoked_has(const struct unic_memory *nic, uint32_t stag)
{
	const struct unic_revoked *r = &nic->revoked;
	uint32_t k;

	for (k = 0; k < r->n; k++)
		if (r->stag[k] == stag)
			return true;
	return r->lost && !is_region_there(nic, stag);
}

static bool is_lap_over(const struct unic_revoked *r, uint32_t until)
{
	return (int32_t)(r->passed - until) >= 0;
}

void unic_revoked_pass(struct unic_memory *nic)
{
	struct unic_revoked *r = &nic->revoked;
	uint32_t n = 0, i;

	r->passed++;
	while (n < r->n && is_lap_over(r, r->until[n]))
		n++;
	for (i = n; n && i < r->n; i++) {
		r->stag[i - n] = r->stag[i];
		r->until[i - n] = r->until[i];
	}
	r->n = (uint16_t)(r->n - n);
	if (r->lost && is_lap_over(r, r->lost_until))
		r->lost = false;
}
