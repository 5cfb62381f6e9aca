/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pins.c - the pin ledger: MEMORY.md section 1 and 9. The ledger of a driver that
 * was killed is valid until the NIC has been reset: nothing is unpinned
 * before.
 */
#include "check.h"
#include "core.h"

#include <string.h>

static const struct unic_host *ledger[WORLD_NODES];

void pins_reset(void)
{
	memset(ledger, 0, sizeof(ledger));
}

void pins_epoch(struct node *n)
{
	ledger[n->id] = NULL;
}

void pins_driver_gone(struct node *n)
{
	ledger[n->id] = n->host;
}

void pins_moved(struct node *n, uint64_t bus, uint32_t len)
{
	const struct unic_host *host = ledger[n->id] ? ledger[n->id] : n->host;
	uint32_t slot = UNIC_BUS_WINDOW(bus);
	uint32_t frame = (uint32_t)(UNIC_BUS_OFFSET(bus) / 4096);

	if (!host || !core_pins(host, slot, frame))
		sim_fail("pins",
			 "nic %u moves %u bytes at frame %u of slot %u, which "
			 "is not pinned",
			 n->id, len, frame, slot);
}

void pins_listed(struct node *n, uint64_t bus)
{
	const struct unic_host *host = ledger[n->id] ? ledger[n->id] : n->host;
	uint32_t slot = UNIC_BUS_WINDOW(bus);
	uint32_t frame = (uint32_t)(UNIC_BUS_OFFSET(bus) / 4096);

	if (!host || !core_lists(host, slot, frame))
		sim_fail("pins",
			 "nic %u reads a list at frame %u of slot %u, which "
			 "was given back",
			 n->id, frame, slot);
}

/* Marks frames in @need, which is all false. How many. */
static uint32_t count(const struct model *m, uint32_t slot, bool *need)
{
	uint32_t i, k, n = 0;
	uint64_t off;

	for (i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *r = &m->mr[i];

		if (r->state < MODEL_ACTIVE || r->proc != slot)
			continue;
		for (k = 0; k < r->n_pages; k++)
			for (off = 0; r->bus[k] && off < 1ull << r->shift;
			     off += 4096) {
				bool *at = &need[(UNIC_BUS_OFFSET(r->bus[k]) +
						  off) /
						 4096 % WORLD_PAGES];

				n += !*at;
				*at = true;
			}
	}
	return n;
}

static void settled(const struct node *n, const struct model *m, uint32_t slot)
{
	bool need[WORLD_PAGES] = { false };
	uint32_t i, needed = count(m, slot, need);

	if (!needed && !core_pinned(n->host, slot))
		return;
	for (i = 0; i < WORLD_PAGES; i++)
		if (need[i] != !!core_pins(n->host, slot, i))
			sim_fail("pins", "host %u: frame %u of slot %u is %s",
				 n->id, i, slot,
				 need[i] ? "in a region but not pinned"
					 : "pinned without a region");
}

void pins_settled(struct node *n, const struct model *m)
{
	uint32_t slot;

	for (slot = 0; n->host && slot < WORLD_SLOTS; slot++)
		/* regions of a leaving process end one by one, its pins last */
		if (!m->proc[slot].leaving || !m->proc[slot].attached)
			settled(n, m, slot);
}
