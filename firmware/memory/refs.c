/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* refs.c - see refs.h. */
#include "memory/refs.h"

#include "memory/cached_window.h"
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

static void add_dma(struct unic_memory *nic, uint16_t mr)
{
	nic->mrs.mr[mr].dmas++;
	UNIC_ASSERT(nic, nic->mrs.mr[mr].dmas); /* no wrap */
}

static void take_dma(struct unic_memory *nic, uint16_t mr)
{
	UNIC_ASSERT(nic, nic->mrs.mr[mr].dmas);
	nic->mrs.mr[mr].dmas--;
}

void unic_mr_dma_get(struct unic_memory *nic, uint16_t mr)
{
	add_dma(nic, mr);
	if (unlikely(unic_mr_over_cached(&nic->mrs.mr[mr])))
		add_dma(nic, unic_cached_window_region(nic, mr));
}

void unic_mr_dma_put(struct unic_memory *nic, uint16_t mr)
{
	take_dma(nic, mr);
	if (unlikely(unic_mr_over_cached(&nic->mrs.mr[mr])))
		take_dma(nic, unic_cached_window_region(nic, mr));
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
