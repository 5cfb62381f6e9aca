/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* depth.c - see depth.h. */
#include "revoke/depth.h"

#include <string.h>

#include "revoke/revoke.h"

void unic_depth_init(struct unic_revoke *nic)
{
	memset(&nic->depth, 0, sizeof(nic->depth));
}

void unic_depth_waited(struct unic_revoke *nic, uint32_t proc, uint32_t us)
{
	uint16_t *own = &nic->candidates.chooser[proc].wait;
	uint32_t wait = unic_pain_wait((uint32_t)*own << UNIC_PAIN_WAIT_LOG2,
				       us * 1000ull) >>
			UNIC_PAIN_WAIT_LOG2;

	*own = wait > UINT16_MAX ? UINT16_MAX : (uint16_t)wait;
	nic->depth.wait = unic_pain_wait(nic->depth.wait, us * 1000ull);
}

/* Until somebody waited: as for one who lets his grace pass. */
static uint32_t mean_wait(const struct unic_revoke *nic)
{
	uint64_t grace = nic->notices.grace_us * 1000ull >> 6;

	if (nic->depth.wait)
		return nic->depth.wait;
	return grace > UINT32_MAX ? UINT32_MAX : (uint32_t)grace;
}

__attribute__((noinline, cold)) bool unic_depth_pays(struct unic_revoke *nic,
						     uint16_t mr)
{
	uint32_t n = nic->mrs.mr[mr].n_pages;
	const struct unic_pain_trade t = {
		.traffic = unic_usage_traffic(&nic->memory, mr),
		.again = unic_pain_again(
			nic->candidates.chooser[nic->mrs.mr[mr].proc].wait, n),
		.entries = n,
		.mean = unic_usage_mean(&nic->memory),
		.wait = mean_wait(nic),
		.demand = unic_usage_demand(&nic->memory),
		.stock = nic->tlb.free + nic->share.coming,
		.weight = nic->pains.state.weight,
	};

	return unic_pain_pays(&t);
}
