/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* core_host.c - see core.h: the driver's half. */
#include "core.h"

#include "cm/cm_mad.h"
#include "cm/grants_msg.h"
#include "state.h"
#include "region/frames_slot.h"

uint32_t core_host_refusals(const struct unic_host *host)
{
	return unic_obj_count(&host->objects, UNIC_OBJ_CONN, UNIC_NOBODY);
}

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

/* A number that others may use, too, or any. */
static uint32_t some(struct sim_rng *r)
{
	return sim_below(r, 2) ? sim_below(r, 4) : (uint32_t)sim_u64(r);
}

static void some_cm(struct sim_rng *r, uint32_t src, uint32_t dst, uint8_t *mad)
{
	struct unic_cm_msg m = {
		.type = (uint16_t)(UNIC_CM_REQ + sim_below(r, 8)),
		.tid = some(r),
		.local_comm = some(r),
		.remote_comm = some(r),
		.service = CORE_SERVICE ^ !sim_below(r, 8),
		.guid = some(r),
		.qpn = some(r) & UNIC_QPN_MASK,
		.psn = some(r) & UNIC_PSN_MASK,
		.src_ipv4 = src,
		.dst_ipv4 = dst,
		.reason = (uint16_t)sim_below(r, 32),
		.rejected = (uint8_t)sim_below(r, 4),
		.max_dest_rd = (uint8_t)some(r),
		.max_rd = (uint8_t)some(r),
		.retry_cnt = (uint8_t)sim_below(r, 8),
		.rnr_retry = (uint8_t)sim_below(r, 8),
		.timeout = (uint8_t)sim_below(r, 32),
		.mtu_shift = (uint8_t)sim_range(r, 7, 13),
		.qp_type = sim_below(r, 4) ? UNIC_QPT_RC : UNIC_QPT_UC,
		.vendor = (uint8_t)sim_below(r, 2),
		.caps = (uint8_t)some(r),
		.priv_bytes = (uint8_t)sim_below(r, UNIC_CM_MARK_AT + 1),
	};

	unic_cm_build(&m, mad);
}

static void some_holder(struct sim_rng *r, uint8_t *mad)
{
	struct unic_grants_msg m = {
		.type = (uint16_t)sim_below(r, 6),
		.nonce = some(r),
		.local_comm = some(r),
		.remote_comm = some(r),
		.kind = sim_below(r, 4),
		.number = some(r),
		.grace_us = some(r),
		.ipv4 = some(r),
		.qpn = some(r),
		.status = sim_below(r, 64),
	};

	unic_grants_build(&m, mad);
}

void core_mad(struct sim_rng *r, uint32_t src, uint32_t dst, uint8_t *mad)
{
	if (sim_below(r, 4))
		some_cm(r, src, dst, mad);
	else
		some_holder(r, mad);
	if (!sim_below(r, 4))
		mad[sim_below(r, UNIC_MAD_BYTES)] ^=
			(uint8_t)(1u << sim_below(r, 8));
}

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
