/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* core_host.c - see core.h: the driver's half. */
#include "core.h"

#include "state.h"
#include "region/frames_slot.h"

uint32_t core_pins(const struct unic_host *host, uint32_t slot, uint32_t frame)
{
	return host->proc[slot].frames.t->pins[frame];
}

bool core_lists(const struct unic_host *host, uint32_t slot, uint32_t frame)
{
	const struct unic_frame_tables *t = host->proc[slot].frames.t;
	uint32_t i;

	for (i = 0; i < t->runs; i++)
		if (t->run[i].page >> 51 == 1 &&
		    frame - t->run[i].frame < t->run[i].n)
			return true;
	return false;
}

uint32_t core_pinned(const struct unic_host *host, uint32_t slot)
{
	return host->proc[slot].frames.pinned;
}

uint32_t core_audits(const struct unic_host *host)
{
	return host->audits;
}

uint32_t core_epoch(const struct unic_host *host)
{
	return host->ready ? host->epoch : 0;
}

uint32_t core_open(const struct unic_host *host)
{
	const struct unic_req *req;
	uint32_t n = 0, i;

	for (req = host->reqs; req; req = req->next)
		n++;
	for (i = 0; i < host->config.slots; i++)
		n += host->proc[i].detach_sent;
	return n;
}
