/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* inside.c - see inside.h. */
#include "inside.h"

#include "nic.h"
#include "unic_mbox.h"
#include "world.h"

uint32_t inside_entries(void)
{
	return UNIC_TLB_ENTRIES;
}

uint32_t inside_held(const struct unic_nic *nic, uint32_t slot)
{
	return nic->share.owner[slot].held;
}

uint32_t inside_used(const struct unic_nic *nic)
{
	return UNIC_TLB_ENTRIES - nic->tlb.free;
}

bool inside_entitled(struct unic_nic *nic, uint32_t slot, uint32_t n)
{
	struct unic_share *s = &nic->share;

	return unic_share_entitled(s, slot, n + s->owner[slot].wanted);
}

uint64_t inside_bound_ns(const struct unic_nic *nic)
{
	return ((uint64_t)nic->notices.deliver_us + nic->notices.grace_us +
		nic->candidates.reaper_us + UNIC_DRAIN_BOUND_US) *
	       US;
}

static const struct unic_nic_idx *idx(const struct node *n)
{
	return (const void *)(n->bar + UNIC_BAR_NIC_OFF);
}

uint32_t inside_events(const struct node *n)
{
	return unic_from_le32(idx(n)->evt_tail);
}

uint32_t inside_drops(const struct node *n)
{
	return unic_from_le32(idx(n)->drop_tail);
}

uint64_t inside_count(const struct unic_nic *nic, enum unic_counter c)
{
	return nic->counter[c];
}
