/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* core_nic.c - see core.h: the firmware's half. */
#include "core.h"

#include "base/icrc.h"
#include "nic.h"
#include "port.h"

_Static_assert(UNIC_PROCS <= PORT_SLOTS, "a window for each process");

struct unic_nic *core_nic_new(struct unic_port *port)
{
	struct unic_nic *nic = sim_alloc(sizeof(*nic));

	unic_nic_init(nic, port);
	return nic;
}

void core_nic_again(struct unic_nic *nic, struct unic_port *port)
{
	unic_nic_init(nic, port);
}

uint64_t core_nic_poll(struct unic_nic *nic)
{
	return unic_nic_poll(nic);
}

static uint32_t queue_pairs(const struct unic_nic *nic)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_QPS; i++)
		n += nic->qps.qp[i].used;
	return n;
}

static uint32_t completion_queues(const struct unic_nic *nic)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_CQS; i++)
		n += nic->cqs.cq[i].used;
	return n;
}

static uint32_t domains(const struct unic_nic *nic)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_PDS; i++)
		n += nic->mrs.pd[i].proc != 0xffff;
	return n;
}

static uint32_t regions(const struct unic_nic *nic)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_MRS; i++)
		n += nic->mrs.mr[i].state != UNIC_MR_FREE &&
		     nic->mrs.mr[i].state != UNIC_MR_EVICTED;
	return n;
}

static uint32_t entries(const struct unic_nic *nic)
{
	return UNIC_TLB_ENTRIES - nic->tlb.free;
}

static uint32_t elements(const struct unic_nic *nic)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_PROCS; i++)
		n += nic->derived.held[i];
	return n;
}

static uint32_t tokens(const struct unic_nic *nic)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_PROCS; i++)
		n += nic->tokens.held[i];
	return n;
}

static uint32_t parked(const struct unic_nic *nic)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_PARKED_FRAMES; i++)
		n += nic->parked.frame[i].state != UNIC_PARKED_FREE;
	return n;
}

static uint32_t fault_slots(const struct unic_nic *nic)
{
	return (uint32_t)__builtin_popcount(nic->faults.busy);
}

static uint32_t transfers(const struct unic_nic *nic)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_DMA_JOBS; i++)
		n += nic->dma.job[i].busy;
	return n;
}

static uint32_t waits(const struct unic_nic *nic)
{
	return nic->admission.wait_used;
}

const char *core_nic_left(const struct unic_nic *nic, uint32_t *n)
{
	static const struct {
		const char *name;
		uint32_t (*count)(const struct unic_nic *nic);
	} kinds[] = {
		{ "queue pairs", queue_pairs },
		{ "completion queues", completion_queues },
		{ "protection domains", domains },
		{ "regions", regions },
		{ "entries", entries },
		{ "elements", elements },
		{ "tokens", tokens },
		{ "parked frames", parked },
		{ "fault slots", fault_slots },
		{ "transfers", transfers },
		{ "waits", waits },
	};
	uint32_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		*n = kinds[i].count(nic);
		if (*n)
			return kinds[i].name;
	}
	return NULL;
}

uint32_t core_icrc(const uint8_t *frame, uint32_t len)
{
	return unic_icrc(frame, len);
}

uint32_t core_misses(void)
{
	return UNIC_FAULTS;
}

bool core_tells_refused(void)
{
	return UNIC_TELL_REFUSED;
}

bool core_has_atomics(void)
{
	return UNIC_ATOMICS;
}

bool core_has_cached_windows(void)
{
	return UNIC_CACHED_WINDOWS;
}
