/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* refs.c - see refs.h. */
#include "memory/refs.h"

#include "memory/memory.h"

static void note_if_draining(struct unic_memory *nic, uint16_t mr)
{
	if (unlikely(nic->mrs.mr[mr].state == UNIC_MR_DRAINING))
		unic_idle_note(nic, mr);
}

void unic_mr_hold(struct unic_memory *nic, uint16_t mr)
{
	nic->mrs.mr[mr].holds++;
	UNIC_ASSERT(nic, nic->mrs.mr[mr].holds); /* no wrap */
}

void unic_mr_unhold(struct unic_memory *nic, uint16_t mr)
{
	UNIC_ASSERT(nic, nic->mrs.mr[mr].holds);
	nic->mrs.mr[mr].holds--;
	note_if_draining(nic, mr);
}

void unic_mr_dma_get(struct unic_memory *nic, uint16_t mr)
{
	nic->mrs.mr[mr].dmas++;
	UNIC_ASSERT(nic, nic->mrs.mr[mr].dmas); /* no wrap */
}

void unic_mr_dma_put(struct unic_memory *nic, uint16_t mr)
{
	UNIC_ASSERT(nic, nic->mrs.mr[mr].dmas);
	nic->mrs.mr[mr].dmas--;
	note_if_draining(nic, mr);
}

void unic_mr_queue_get(struct unic_memory *nic, uint16_t mr)
{
	nic->mrs.mr[mr].queues++;
	UNIC_ASSERT(nic, nic->mrs.mr[mr].queues); /* no wrap */
}

void unic_mr_queue_put(struct unic_memory *nic, uint16_t mr)
{
	UNIC_ASSERT(nic, nic->mrs.mr[mr].queues);
	nic->mrs.mr[mr].queues--;
}
