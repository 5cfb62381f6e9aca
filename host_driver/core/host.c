/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * host.c - states of the device in the access layer: lost, reset, set up, ready; and
 * the dispatch of its events.
 */
#include "host.h"

#include "admin.h"
#include "cm/cm.h"
#include "cm/cm_end.h"
#include "cm/grants.h"
#include "device.h"
#include "dispatch.h"
#include "proc.h"
#include "queue.h"
#include "queue_token.h"
#include "recall.h"
#include "region/region_fault.h"
#include "region/region_notice.h"
#include "region/region_pin.h"
#include "region/region_reg.h"
#include "region/region_unmap.h"
#include "restore.h"
#include "snapshot.h"
#include "srq.h"
#include "upcall.h"

#define LISTENERS_MAX 64u	    /* of a process */
#define TIME_NS	      1000000000ull /* between two HOST_TIME commands */
#define SETUP_NS      100000000ull  /* until out of memory is tried again */

/* ------------------------------------------------------------------- setup */

static void setup_cmd_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_cmd_hdr hdr;
	uint32_t status = unic_call_status(call);

	memcpy(&hdr, call->cmd, sizeof(hdr));
	if (status && status != UNIC_CTL_ST_RESET)
		unic_os_log(req->host->os, UNIC_LOG_ERROR,
			    "the NIC refused set-up command %u: status %u",
			    hdr.opcode, status);
	unic_req_free(req);
}

/* Send @cmd as a request of the driver. False: out of memory. */
static bool send_command(struct unic_host *host, uint8_t opcode,
			 const void *cmd, void (*done)(struct unic_call *call))
{
	struct unic_req *req = unic_req_new(host, UNIC_OS_NO_SLOT);

	if (req)
		unic_req_send(req, opcode, cmd, done);
	return req;
}

static bool send_time(struct unic_host *host)
{
	uint64_t now = unic_os_now_ns(host->os);
	struct unic_cmd_host_time cmd = { .host_ns = unic_to_le64(now) };

	host->time_ns = now + TIME_NS;
	return send_command(host, UNIC_CMD_HOST_TIME, &cmd, setup_cmd_done);
}

enum { /* detail of UNIC_UP_RESET */
	NOT_YET = 0,
	BACK = 1,
	RESTORED = 2,
};

static void upcall_reset_all(struct unic_host *host, bool back)
{
	uint32_t i;

	for (i = 0; i < host->config.slots; i++)
		if (host->proc[i].state == UNIC_HPROC_LIVE)
			unic_upcall_send_obj(host, i, UNIC_UP_RESET, 0, 0,
					     !back		  ? NOT_YET
					     : host->proc[i].keep ? RESTORED
								  : BACK);
}

static void restore_done(struct unic_host *host)
{
	host->ready = true;
	unic_os_log(host->os, UNIC_LOG_INFO, "%s is ready, epoch %x",
		    host->provider->ops->name, host->epoch);
	upcall_reset_all(host, true);
	unic_restore_waits(host);
}

static void setup_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	uint32_t status = unic_call_status(call);

	unic_req_free(req);
	if (!status) /* the device was not lost again */
		unic_restore(host, restore_done);
}

static bool any_param(const struct unic_cmd_set_params *p)
{
	return p->grace_us || p->deliver_us || p->reaper_us || p->flags ||
	       p->prefetch || p->residence_us || p->extend_us || p->idle_us ||
	       p->pain_pct;
}

/* Send those that differ from the NIC's own, and that it knows. */
static bool send_params(struct unic_host *host)
{
	struct unic_cmd_set_params cmd = host->config.params;

	unic_admin_params_known(host->features, &cmd);
	return !any_param(&cmd) ||
	       send_command(host, UNIC_CMD_SET_PARAMS, &cmd, setup_cmd_done);
}

/* -------------------------------------------------------------- state changes */

static void fail_arps(struct unic_host *host)
{
	struct unic_req *req = host->reqs;

	while (req) {
		bool waits = req->arp_user && req->call.state == UNIC_CALL_IDLE;

		if (!waits) {
			req = req->next;
			continue;
		}
		req->arp_user = 0;
		req->then(req, UNIC_CTL_ST_RESET);
		req = host->reqs; /* then() may change the list */
	}
}

static void device_lost(struct unic_host *host)
{
	bool had = host->epoch != 0;

	host->ready = false;
	host->epoch = 0;
	fail_arps(host);
	unic_cm_lost(host);
	unic_restore_lost(host);
	unic_region_fault_reset(host);
	if (had)
		upcall_reset_all(host, false);
}

static bool load_nic_info(struct unic_host *host)
{
	struct unic_info info;

	unic_device_info(host, &info);
	host->slots = unic_from_le32(info.procs);
	if (host->slots > host->config.slots)
		host->slots = host->config.slots;
	host->waits = unic_from_le32(info.waits);
	host->features =
		host->provider->ops->tables ? unic_from_le64(info.features) : 0;
	unic_req_shares(host, &info);
	host->share[UNIC_OBJ_LISTENER] = LISTENERS_MAX;
	unic_os_free(host->os, host->token_of);
	host->tokens = unic_from_le32(info.tokens) & 0xfffff;
	host->token_of = unic_os_alloc(
		host->os, (host->tokens + 1) * sizeof(*host->token_of));
	return host->token_of;
}

static bool send_addr(struct unic_host *host)
{
	struct unic_cmd_set_addr cmd = {
		.ipv4 = unic_to_le32(host->config.ipv4),
	};

	return !host->config.ipv4 ||
	       send_command(host, UNIC_CMD_SET_ADDR, &cmd, setup_cmd_done);
}

static bool send_entropy(struct unic_host *host)
{
	struct unic_cmd_entropy cmd = { 0 };

	unic_os_random(host->os, cmd.bytes, sizeof(cmd.bytes));
	return send_command(host, UNIC_CMD_ENTROPY, &cmd, setup_cmd_done);
}

/* Steps of the setup. From SETUP_SLOTS on one step for each slot, then a NOP. */
enum {
	SETUP_LEARN,
	SETUP_PARAMS,
	SETUP_TIME,
	SETUP_ADDR,
	SETUP_ENTROPY,
	SETUP_SLOTS,
};

/* Step @n of the setup of a NIC that is READY. The NIC executes commands in order, so
 * the answer to the NOP means that all steps are done. False: out of memory. */
static bool setup_step(struct unic_host *host, uint32_t n)
{
	struct unic_cmd_nop nop = { 0 };

	switch (n) {
	case SETUP_LEARN:
		return load_nic_info(host);
	case SETUP_PARAMS:
		return send_params(host);
	case SETUP_TIME:
		return send_time(host);
	case SETUP_ADDR:
		return send_addr(host);
	case SETUP_ENTROPY:
		return send_entropy(host);
	default:
		if (n - SETUP_SLOTS < host->slots)
			return unic_proc_reattach(host, n - SETUP_SLOTS);
		return send_command(host, UNIC_CMD_NOP, &nop, setup_done);
	}
}

/* Run the remaining steps. When out of memory, the same step runs again SETUP_NS later.
 * Returns the time of the next call. */
static uint64_t run_setup(struct unic_host *host)
{
	uint64_t now = unic_os_now_ns(host->os);

	if (now < host->setup_ns)
		return host->setup_ns;
	while (setup_step(host, host->setup_at))
		if (host->setup_at++ == SETUP_SLOTS + host->slots)
			return host->setup_ns = UINT64_MAX;
	unic_os_log(host->os, UNIC_LOG_ERROR,
		    "out of memory: the NIC is set up later");
	return host->setup_ns = now + SETUP_NS;
}

void unic_host_state(struct unic_host *host, enum unic_provider_state state,
		     uint32_t epoch)
{
	/* until its reset, or its end, the device may access memory (INV-14) */
	host->dark = state == UNIC_PROVIDER_STARTING ||
		     state == UNIC_PROVIDER_DEAD;
	device_lost(host);
	host->state = state;
	unic_proc_reset(host, !host->dark);
	if (!host->dark)
		unic_restore_pins(host);
	unic_grants_step(host);
	if (state != UNIC_PROVIDER_READY)
		return;
	host->epoch = epoch;
	host->resets++;
	host->setup_at = SETUP_LEARN;
	host->setup_ns = 0;
	run_setup(host);
}

/* ------------------------------------------------------------------ events */

static void event_mr(struct unic_host *host, const uint64_t *rec)
{
	struct unic_evt_mr evt;

	memcpy(&evt, rec, sizeof(evt));
	unic_region_event(host, &evt);
}

static void event_wait(struct unic_host *host, const uint64_t *rec)
{
	struct unic_evt_wait evt;

	memcpy(&evt, rec, sizeof(evt));
	unic_region_wait_event(host, &evt);
}

static void event_obj(struct unic_host *host, const uint64_t *rec)
{
	struct unic_evt_obj evt;

	memcpy(&evt, rec, sizeof(evt));
	if (evt.hdr.type == UNIC_EVT_PROC_GONE)
		unic_proc_gone(host, unic_from_le32(evt.id));
	else if (evt.hdr.type == UNIC_EVT_SRQ_LIMIT ||
		 evt.hdr.type == UNIC_EVT_SRQ_ERROR)
		unic_srq_event(host, &evt);
	else
		unic_queue_event(host, &evt);
}

static void event_token(struct unic_host *host, const uint64_t *rec)
{
	struct unic_evt_token evt;

	memcpy(&evt, rec, sizeof(evt));
	unic_queue_token_event(host, &evt);
}

static void event_arp(struct unic_host *host, const uint64_t *rec)
{
	struct unic_evt_arp evt;

	memcpy(&evt, rec, sizeof(evt));
	unic_arp_event(host, &evt);
}

static void event_miss(struct unic_host *host, const uint64_t *rec)
{
	struct unic_evt_miss evt;

	memcpy(&evt, rec, sizeof(evt));
	unic_region_fault_miss(host, &evt);
}

static void (*const on_event[])(struct unic_host *, const uint64_t *) = {
	[UNIC_EVT_NOTICE] = event_mr,	    [UNIC_EVT_EVICTED] = event_mr,
	[UNIC_EVT_GRANTED] = event_wait,    [UNIC_EVT_WAIT_ENDED] = event_wait,
	[UNIC_EVT_PROC_GONE] = event_obj,   [UNIC_EVT_QP_ERROR] = event_obj,
	[UNIC_EVT_QP_GONE] = event_obj,	    [UNIC_EVT_CQ_ERROR] = event_obj,
	[UNIC_EVT_TOKEN_END] = event_token, [UNIC_EVT_ARP_RESULT] = event_arp,
	[UNIC_EVT_DB_ERROR] = event_obj,    [UNIC_EVT_MISS] = event_miss,
	[UNIC_EVT_IDLE] = event_mr,	    [UNIC_EVT_SRQ_LIMIT] = event_obj,
	[UNIC_EVT_LAST_WQE] = event_obj,    [UNIC_EVT_SRQ_ERROR] = event_obj,
};

void unic_host_event(struct unic_host *host, const uint64_t *rec)
{
	struct unic_evt_hdr hdr;

	memcpy(&hdr, rec, sizeof(hdr));
	if (hdr.type >= sizeof(on_event) / sizeof(on_event[0]) ||
	    !on_event[hdr.type] || !host->epoch ||
	    unic_from_le32(hdr.epoch) != host->epoch) {
		host->audits++;
		return;
	}
	on_event[hdr.type](host, rec);
	unic_grants_step(host);
}

void unic_host_done(struct unic_host *host, struct unic_call *call)
{
	unic_req_done(host, call);
	unic_grants_step(host);
}

void unic_host_drop(struct unic_host *host, const struct unic_drop *drop)
{
	unic_region_fault_dropped(host, drop);
}

void unic_host_settled(struct unic_host *host)
{
	unic_queue_settled(host);
	unic_grants_step(host);
}

void unic_host_mad(struct unic_host *host, const struct unic_mad_rx *mad)
{
	if (!host->ready)
		return;
	unic_cm_receive(host, mad);
	unic_grants_step(host);
}

bool unic_host_told_enough(const struct unic_host *host)
{
	return unic_upcall_enough(host);
}

/* --------------------------------------------------------------- the host */

static bool init_procs(struct unic_host *host)
{
	uint32_t i;

	for (i = 0; i < host->config.slots; i++) {
		struct unic_hproc *proc = &host->proc[i];
		uint8_t *mem = host->config.slot_mem[i];

		if (unic_frames_init(&proc->frames, host->os, mem,
				     host->config.slot_bytes, (uint64_t)i << 48,
				     UNIC_SLOT_FRAMES))
			return false;
		proc->ring = (void *)(mem +
				      UNIC_SLOT_UPCALL_PAGE * UNIC_FRAME_BYTES);
	}
	return true;
}

struct unic_host *unic_host_new(struct unic_os *os,
				struct unic_provider *provider,
				const struct unic_host_config *config)
{
	struct unic_host *host = NULL;

	if (config->slots >= 1 && config->slots <= UNIC_HOST_SLOTS_MAX)
		host = unic_os_alloc(os, sizeof(*host));
	if (!host)
		return NULL;
	host->os = os;
	host->config = *config;
	host->list_bytes = UNIC_LIST_BYTES;
	host->start_ns = unic_os_now_ns(os);
	if (unic_objects_init(&host->objects, os, config->ids) ||
	    !init_procs(host)) {
		unic_host_delete(host);
		return NULL;
	}
	unic_journal_open(host);
	host->provider = provider;
	provider->host = host;
	return host;
}

void unic_host_delete(struct unic_host *host)
{
	struct unic_os *os = host->os;
	uint32_t i;

	while (host->reqs)
		unic_req_free(host->reqs);
	unic_req_discard(os, host->spare);
	for (i = 0; i < host->config.slots; i++)
		unic_frames_fini(&host->proc[i].frames);
	unic_region_pages_fini(host);
	unic_objects_fini(&host->objects);
	unic_os_free(os, host->token_of);
	unic_os_free(os, host->snapshot.row);
	if (host->provider && host->provider->ops->fini)
		host->provider->ops->fini(host->provider);
	unic_os_free(os, host->provider);
	unic_os_free(os, host);
}

void unic_host_list_bytes(struct unic_host *host, uint32_t bytes)
{
	host->list_bytes = bytes < UNIC_LIST_BYTES ? bytes : UNIC_LIST_BYTES;
}

void unic_host_plug(struct unic_host *host, bool there)
{
	if (!host->tidied)
		unic_journal_tidy(host);
	host->tidied = true;
	host->provider->ops->plug(host->provider, there);
}

bool unic_host_request(struct unic_host *host, struct unic_client *client,
		       const void *msg, size_t bytes)
{
	bool ok = unic_dispatch_message(host, client, msg, bytes);

	unic_grants_step(host);
	return ok;
}

void unic_host_client_gone(struct unic_host *host, struct unic_client *client)
{
	uint32_t slot = client->slot;
	struct unic_req *req;

	for (req = host->reqs; req; req = req->next)
		if (req->client == client)
			req->client = NULL;
	unic_snapshot_client_gone(host, client);
	client->slot = UNIC_OS_NO_SLOT;
	client->open = 0;
	if (slot != UNIC_OS_NO_SLOT)
		unic_proc_leave(host, slot);
	unic_grants_step(host);
}

bool unic_host_slot_hold(struct unic_host *host, uint32_t slot, uint32_t pid,
			 uint32_t uid)
{
	if (pid && unic_recall_proc(host, slot, pid)) {
		host->away = true;
		return true;
	}
	unic_proc_hold(host, slot, pid, uid);
	return false;
}

void unic_host_slot_ended(struct unic_host *host, uint32_t slot)
{
	unic_proc_ended(host, slot);
	unic_grants_step(host);
}

void unic_host_slot_free(struct unic_host *host, uint32_t slot)
{
	unic_proc_slot_free(host, slot);
}

bool unic_host_quiet(const struct unic_host *host)
{
	return unic_proc_quiet(host);
}

bool unic_host_slot_leaves(const struct unic_host *host, uint32_t slot)
{
	return unic_proc_slot_leaves(host, slot);
}

void unic_host_unmapped(struct unic_host *host, uint32_t slot, uint64_t va,
			uint64_t length)
{
	unic_region_unmapped(host, slot, va, length);
}

bool unic_host_region(struct unic_host *host, const struct unic_client *client,
		      uint32_t id, uint64_t *va, uint64_t *length)
{
	return unic_region_range(host, client, id, va, length);
}

size_t unic_host_journal_bytes(uint32_t slots, uint64_t slot_bytes)
{
	return unic_journal_bytes(slots, slot_bytes);
}

void unic_host_fence(struct unic_host *host)
{
	if (host->provider->ops->fence)
		host->provider->ops->fence(host->provider);
}

bool unic_host_fenced(struct unic_host *host)
{
	return !host->provider->ops->fence ||
	       host->provider->ops->fenced(host->provider);
}

uint64_t unic_host_poll(struct unic_host *host)
{
	uint64_t now = unic_os_now_ns(host->os), next;

	host->told = host->upcalls;
	next = host->provider->ops->poll(host->provider, now);
	next = unic_earlier(next, unic_restore_away(host));
	unic_grants_step(host);
	next = unic_upcall_poll(host, now, next);
	next = unic_snapshot_poll(host, now, next);
	if (!host->ready)
		return host->epoch ? unic_earlier(next, run_setup(host)) : next;
	if (now >= host->time_ns && host->objects.live)
		send_time(host);
	next = unic_earlier(next, unic_cm_poll(host, now));
	next = unic_earlier(next, unic_region_fault_poll(host, now));
	next = unic_earlier(next, unic_region_poll(host, now));
	unic_grants_step(host);
	return unic_earlier(next, unic_grants_poll(host, now));
}

bool unic_host_soon(struct unic_host *host)
{
	struct unic_provider *p = host->provider;

	return p->ops->soon && p->ops->soon(p);
}

bool unic_host_rest(struct unic_host *host, bool on)
{
	return !(on && unic_host_soon(host)) &&
	       host->provider->ops->rest(host->provider, on);
}

uint32_t unic_host_notices(const struct unic_host *host)
{
	return host->notices;
}

bool unic_host_peek(struct unic_host *host, uint32_t off, void *buf,
		    uint32_t bytes)
{
	return unic_device_peek(host, off, buf, bytes);
}

uint32_t unic_host_nic(const struct unic_host *host)
{
	return unic_device_state(host);
}

uint32_t unic_host_bound_us(const struct unic_info *info)
{
	return unic_device_bound_us(info);
}
