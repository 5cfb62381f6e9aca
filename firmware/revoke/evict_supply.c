/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* evict_supply.c - see evict_supply.h. */
#include "revoke/evict_supply.h"

#include "revoke/revoke.h"

/* Entries that are on their way back with it. Cached ones come and go: they may
 * be taken meanwhile, so they are not counted on. */
static uint32_t supply_entries(const struct unic_mr_ctx *mr)
{
	return unic_mr_cached(mr) ? 0 : mr->n_pages;
}

void unic_evict_supply_remove(struct unic_revoke *nic, struct unic_mr_ctx *mr)
{
	if (mr->flags & UNIC_MR_F_COMING) {
		unic_share_not_coming(&nic->share, mr->proc,
				      supply_entries(mr));
		nic->evict.indices_coming[mr->proc]--;
	}
	mr->flags &= (uint8_t)~UNIC_MR_F_COMING;
}

bool unic_evict_supply_is_put_off(const struct unic_mr_ctx *mr)
{
	return mr->state == UNIC_MR_NOTIFIED && !(mr->flags & UNIC_MR_F_COMING);
}

void unic_evict_supply_put_off(struct unic_revoke *nic,
			       const struct unic_mr_ctx *mr, bool off)
{
	uint32_t n = off ? supply_entries(mr) : 0u - supply_entries(mr);

	nic->evict.put_off.of[mr->proc] += n;
	nic->evict.put_off.all += n;
	unic_bitset_add(&nic->share.moved, mr->proc);
}

void unic_evict_supply_add(struct unic_revoke *nic, struct unic_mr_ctx *mr)
{
	if (!(mr->flags & UNIC_MR_F_COMING)) {
		unic_share_coming(&nic->share, mr->proc, supply_entries(mr));
		nic->evict.indices_coming[mr->proc]++;
	}
	mr->flags |= UNIC_MR_F_COMING;
}
