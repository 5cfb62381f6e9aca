/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* core_host.c - see core.h: the driver's half. */
#include "core.h"

#include "state.h"
#include "region/frames_slot.h"

const char *core_host_left(const struct unic_host *host, uint32_t *n)
{
	static const char *const name[UNIC_OBJ_TYPES] = {
		[UNIC_OBJ_PD] = "protection domains",
		[UNIC_OBJ_MR] = "regions",
		[UNIC_OBJ_CQ] = "completion queues",
		[UNIC_OBJ_QP] = "queue pairs",
		[UNIC_OBJ_TOKEN] = "tokens",
		[UNIC_OBJ_LISTENER] = "listeners",
		[UNIC_OBJ_CONN] = "connections",
	};
	uint32_t type, i;

	for (type = UNIC_OBJ_PD; type < UNIC_OBJ_TYPES; type++) {
		*n = unic_obj_count(&host->objects, type, UNIC_NOBODY);
		for (i = 0; i < host->config.slots; i++)
			*n += unic_obj_count(&host->objects, type, i);
		if (*n)
			return name[type];
	}
	return NULL;
}

uint32_t core_pins(const struct unic_host *host, uint32_t slot, uint32_t frame)
{
	return host->proc[slot].frames.t->pins[frame];
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
