/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cuts.c - see cuts.h. */
#include "memory/cuts.h"

#include <string.h>

#include "memory/memory.h"

void unic_cuts_init(struct unic_memory *nic)
{
	memset(&nic->cuts, 0, sizeof(nic->cuts));
}

void unic_cuts_mark(struct unic_memory *nic, uint16_t mr)
{
	struct unic_cuts *c = &nic->cuts;

	if (unic_cuts_has(c, mr))
		return;
	c->mr[mr / 32] |= 1u << mr % 32;
	c->fresh = true;
	nic->chores = true;
}

void unic_cuts_forget(struct unic_memory *nic, uint16_t mr)
{
	nic->cuts.mr[mr / 32] &= ~(1u << mr % 32);
}

void unic_cuts_clear(struct unic_memory *nic)
{
	memset(nic->cuts.mr, 0, sizeof(nic->cuts.mr));
}
