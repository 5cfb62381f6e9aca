/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* pd.c - see pd.h. */
#include "memory/pd.h"

#include "memory/memory.h"

#define PD_NO_PROC 0xffffu

void unic_pd_init(struct unic_memory *nic)
{
	uint32_t i;

	for (i = 0; i < UNIC_PDS; i++)
		nic->mrs.pd[i].proc = PD_NO_PROC;
}

int unic_pd_alloc(struct unic_memory *nic, uint32_t proc, bool physical)
{
	int i;

	if (!unic_slot_live(&nic->base, proc))
		return -UNIC_ENOPROC;
	if (unic_slot_is_account(&nic->procs, proc))
		return -UNIC_EINVAL;
	for (i = 0; i < (int)UNIC_PDS; i++) {
		if (nic->mrs.pd[i].proc != PD_NO_PROC)
			continue;
		nic->mrs.pd[i].proc = (uint16_t)proc;
		nic->mrs.pd[i].users = 0;
		nic->dma_mrs.pd[i] = physical;
		return i;
	}
	return -UNIC_EPDFULL;
}

int unic_pd_free(struct unic_memory *nic, uint32_t proc, uint32_t pd)
{
	if (pd >= UNIC_PDS || proc >= UNIC_PROCS ||
	    nic->mrs.pd[pd].proc != proc)
		return -UNIC_ENOPD;
	if (nic->mrs.pd[pd].users)
		return -UNIC_EBUSY;
	nic->mrs.pd[pd].proc = PD_NO_PROC;
	return 0;
}
