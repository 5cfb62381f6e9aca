/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * proc.c - states of a process slot.
 *
 *   FREE -> ATTACHING -> LIVE -> DETACHING -> HELD -> FREE
 *                                              |  the same process again
 *              ATTACHING <---------------------+
 *
 * DETACHING ends when the NIC reports that it has no object of the process. HELD ends
 * when no process maps the slot's memory, or the slot has got other memory. In HELD
 * only the same process can get the slot (with config.slots_of_users, any process of
 * the same user), and only if the old memory is unused: memory that is still mapped and
 * used is not zeroed.
 */
#include "proc.h"

#include "cm/cm_end.h"
#include "device.h"
#include "limit.h"
#include "queue.h"
#include "region/region_reg.h"

static void cmd_attach(const struct unic_hproc *proc, uint32_t slot,
		       struct unic_cmd_proc_attach *cmd)
{
	*cmd = (struct unic_cmd_proc_attach){
		.proc = unic_to_le32(slot),
		.weight = unic_to_le32(proc->weight),
		.doorbell = unic_to_le64(proc->frames.bus),
		.quota = unic_to_le32(proc->quota),
		.policy = unic_to_le32(proc->policy),
		.host_pid = unic_to_le32(proc->pid),
		.keeper = unic_to_le32(proc->keeper),
		.rate = unic_to_le64(proc->rate),
		.burst = unic_to_le32(proc->burst),
	};
}

/* ------------------------------------------------------------------- leave */

static void finish_detach(struct unic_host *host, uint32_t slot)
{
	struct unic_hproc *proc = &host->proc[slot];

	unic_cm_drop(host, slot, UNIC_CTL_ST_RESET, false);
	unic_region_drop_all(host, slot, UNIC_CTL_ST_RESET);
	unic_queue_drop(host, slot, UNIC_CTL_ST_RESET);
	unic_frames_clear(&proc->frames);
	proc->state = UNIC_HPROC_HELD;
	proc->left = ++host->left;
	unic_os_slot_zero(host->os, slot);
	unic_os_slot_quiet(host->os, slot);
}

static void detach_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_hproc *proc = &req->host->proc[req->slot];
	uint32_t status = unic_call_status(call);

	proc->detach_sent = false;
	if (proc->state != UNIC_HPROC_DETACHING)
		return;
	if (status == UNIC_CTL_ST_RESET)
		return; /* unic_proc_reset() follows */
	if (status == UNIC_ST_PENDING)
		return; /* PROC_GONE follows */
	if (status != UNIC_ST_OK && status != UNIC_ST_NO_PROC)
		unic_os_log(req->host->os, UNIC_LOG_ERROR,
			    "slot %u: detach answered %u", req->slot, status);
	finish_detach(req->host, req->slot);
}

static void send_detach(struct unic_host *host, uint32_t slot)
{
	struct unic_hproc *proc = &host->proc[slot];
	struct unic_cmd_proc_detach cmd = { .proc = unic_to_le32(slot) };

	proc->state = UNIC_HPROC_DETACHING;
	proc->detach.host = host;
	proc->detach.slot = slot;
	proc->detach_sent = true;
	unic_req_send(&proc->detach, UNIC_CMD_PROC_DETACH, &cmd, detach_done);
}

void unic_proc_leave(struct unic_host *host, uint32_t slot)
{
	struct unic_hproc *proc = &host->proc[slot];

	proc->client = NULL;
	if (proc->state != UNIC_HPROC_LIVE)
		return; /* ATTACHING: hello_done() calls again */
	proc->keep = false;
	unic_journal_proc(host, slot);
	unic_cm_drop(host, slot, UNIC_CTL_ST_RESET, true);
	if (host->state == UNIC_PROVIDER_READY)
		send_detach(host, slot);
	else if (host->state == UNIC_PROVIDER_ABSENT)
		finish_detach(host, slot);
	else /* the NIC may access memory until its reset */
		proc->state = UNIC_HPROC_DETACHING;
}

void unic_proc_gone(struct unic_host *host, uint32_t slot)
{
	/* PROC_GONE before the completion: the provider has the call still */
	if (slot >= host->config.slots || host->proc[slot].detach_sent ||
	    host->proc[slot].state != UNIC_HPROC_DETACHING) {
		host->audits++;
		return;
	}
	finish_detach(host, slot);
}

void unic_proc_reset(struct unic_host *host, bool safe)
{
	uint32_t i;

	for (i = 0; safe && i < host->config.slots; i++) {
		unic_frames_unpin_all(&host->proc[i].frames);
		if (host->proc[i].state == UNIC_HPROC_DETACHING)
			finish_detach(host, i);
	}
}

void unic_proc_hold(struct unic_host *host, uint32_t slot, uint32_t pid,
		    uint32_t uid)
{
	host->proc[slot].state = UNIC_HPROC_HELD;
	host->proc[slot].pid = pid;
	host->proc[slot].uid = uid;
}

void unic_proc_ended(struct unic_host *host, uint32_t slot)
{
	if (host->proc[slot].state == UNIC_HPROC_LIVE &&
	    !host->proc[slot].client)
		unic_proc_leave(host, slot);
	else if (host->proc[slot].state == UNIC_HPROC_HELD)
		host->proc[slot].pid = 0;
}

void unic_proc_slot_free(struct unic_host *host, uint32_t slot)
{
	if (host->proc[slot].state == UNIC_HPROC_HELD)
		host->proc[slot].state = UNIC_HPROC_FREE;
}

bool unic_proc_quiet(const struct unic_host *host)
{
	uint32_t i;

	for (i = 0; i < host->config.slots; i++)
		if (host->proc[i].state != UNIC_HPROC_FREE &&
		    host->proc[i].state != UNIC_HPROC_HELD)
			return false;
	return true;
}

bool unic_proc_slot_leaves(const struct unic_host *host, uint32_t slot)
{
	const struct unic_hproc *proc = &host->proc[slot];

	return proc->state == UNIC_HPROC_DETACHING ||
	       (proc->state == UNIC_HPROC_ATTACHING && !proc->client);
}

/* ------------------------------------------------------------------- enter */

/* Offset of @slot in its file, in units of 64 KiB. */
static uint16_t slot_at(const struct unic_host_config *config, uint32_t slot)
{
	if (!config->slots_at)
		return 0;
	return (uint16_t)((config->slots_at + slot * config->slot_bytes) >> 16);
}

static void hello_reply(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_hello_reply r = { 0 };
	struct unic_info info;

	unic_device_info(host, &info);
	r.slot_bytes = unic_to_le64(host->config.slot_bytes);
	r.proc = unic_to_le32(req->slot);
	r.grace_us = info.grace_us;
	r.deliver_us = info.deliver_us;
	r.bound_us = unic_to_le32(unic_device_bound_us(&info));
	r.tlb_entries = info.tlb_entries;
	r.ipv4 = info.ipv4;
	r.path_mtu = info.path_mtu;
	r.frames = unic_to_le32(host->proc[req->slot].frames.frames -
				UNIC_SLOT_FRAMES);
	r.host_id = unic_to_le32(host->objects.ids->host_id);
	r.nic = host->provider->ops->name[0] == 'n';
	r.resumed = host->proc[req->slot].resumed;
	r.slot_at = unic_to_le16(slot_at(&host->config, req->slot));
	unic_req_answer(req, UNIC_ST_OK, &r, NULL, 0);
}

static void hello_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	uint32_t status = unic_call_status(call), slot = req->slot;
	struct unic_hproc *proc = &host->proc[slot];

	if (status) {
		proc->state = UNIC_HPROC_HELD;
		unic_os_slot_quiet(host->os, slot);
		if (req->client)
			req->client->slot = UNIC_OS_NO_SLOT;
		unic_req_status(req, status);
		return;
	}
	proc->state = UNIC_HPROC_LIVE;
	if (!req->client) { /* the process left */
		unic_req_free(req);
		unic_proc_leave(host, slot);
		return;
	}
	unic_journal_proc(host, slot);
	hello_reply(req);
}

/* True if @client, not privileged, has a slot already: more than one is not allowed. */
static bool has_live_slot(const struct unic_host *host,
			  const struct unic_client *client)
{
	uint32_t i;

	for (i = 0; !client->privileged && i < host->slots; i++)
		if (host->proc[i].pid == client->pid &&
		    (host->proc[i].state == UNIC_HPROC_LIVE ||
		     host->proc[i].state == UNIC_HPROC_ATTACHING))
			return true;
	return false;
}

/* True if @client may have a FREE slot: its process has fewer than half of the slots,
 * those that are HELD included, and its user fewer than config.user_slots. */
static bool can_have_slot(const struct unic_host *host,
			  const struct unic_client *client)
{
	uint32_t i, all = 0, user = 0, most = host->slots / 2;

	for (i = 0; i < host->slots; i++) {
		const struct unic_hproc *proc = &host->proc[i];

		if (proc->state == UNIC_HPROC_FREE)
			continue;
		user += proc->uid == client->uid;
		all += proc->pid == client->pid;
	}
	if (client->privileged)
		return true;
	if (host->config.user_slots && user >= host->config.user_slots)
		return false;
	return all < (most ? most : 1);
}

/* True if HELD @slot may become that of @client. */
static bool can_return_to_slot(const struct unic_host *host, uint32_t slot,
			       const struct unic_client *client)
{
	const struct unic_hproc *proc = &host->proc[slot];

	if (proc->state != UNIC_HPROC_HELD)
		return false;
	if (host->config.slots_of_users ? proc->uid != client->uid
					: proc->pid != client->pid)
		return false;
	return unic_os_slot_unused(host->os, slot, client->pid);
}

/* True if HELD slot @a is a better choice for process @pid than @b: the slot that @pid
 * left, else the one that was left first. */
static bool is_preferred_slot(const struct unic_hproc *a,
			      const struct unic_hproc *b, uint32_t pid)
{
	if ((a->pid == pid) != (b->pid == pid))
		return a->pid == pid;
	return a->left < b->left;
}

/*
 * The slot for the process of @client: a HELD one, else a FREE one. With
 * config.slots_of_users, a slot that a living process left comes last: that process may
 * still read the memory.
 */
static uint32_t find_slot(const struct unic_host *host,
			  const struct unic_client *client)
{
	uint32_t i, found = UNIC_OS_NO_SLOT, own = UNIC_OS_NO_SLOT;

	if (has_live_slot(host, client))
		return UNIC_OS_NO_SLOT;
	for (i = 0; i < host->slots; i++) {
		if (host->proc[i].state == UNIC_HPROC_FREE) {
			if (found == UNIC_OS_NO_SLOT)
				found = i;
			continue;
		}
		if (!can_return_to_slot(host, i, client))
			continue;
		if (!host->config.slots_of_users || !host->proc[i].pid)
			return i;
		if (own == UNIC_OS_NO_SLOT ||
		    is_preferred_slot(&host->proc[i], &host->proc[own],
				      client->pid))
			own = i;
	}
	return found != UNIC_OS_NO_SLOT && can_have_slot(host, client) ? found
								       : own;
}

static void begin_attach(struct unic_hproc *proc, struct unic_client *client,
			 const struct unic_ctl_hello *hello)
{
	uint32_t weight = unic_from_le32(hello->weight);

	proc->state = UNIC_HPROC_ATTACHING;
	proc->client = client;
	proc->pid = client->pid;
	proc->uid = client->uid;
	memcpy(proc->name, hello->name, sizeof(proc->name));
	proc->name[sizeof(proc->name) - 1] = 0;
	proc->weight = weight ? weight : 1;
	proc->quota = 0;
	proc->rate = 0;
	proc->burst = 0;
	proc->keeper = client->kernel ? client->keeper : 0;
	proc->policy = unic_from_le32(hello->policy);
	proc->keep = unic_from_le32(hello->flags) & UNIC_CTL_HELLO_KEEP;
	proc->resumed = false;
	proc->upcall_next = 0;
	proc->wake_ns = 0;
	proc->upcalls = 0;
	proc->notices = 0;
	proc->evictions = 0;
	proc->requests = 0;
	proc->refused = 0;
	proc->regions = 0;
	proc->waits = 0;
	proc->deadlines = 0;
	proc->deliver = proc->answer = (struct unic_delay){ 0 };
}

/* True if @slot is LIVE without a connection and @client is its process: while that
 * process lives, no other has its pid. */
static bool is_orphaned_slot(const struct unic_host *host, uint32_t slot,
			     const struct unic_client *client)
{
	const struct unic_hproc *proc =
		&host->proc[slot < host->slots ? slot : 0];

	return slot < host->slots && proc->state == UNIC_HPROC_LIVE &&
	       !proc->client && proc->pid == client->pid &&
	       proc->uid == client->uid;
}

/* The process of @client sent HELLO without RESUME: end its slots without connection. */
static void leave_orphaned_slots(struct unic_host *host,
				 const struct unic_client *client)
{
	uint32_t i;

	for (i = 0; i < host->slots; i++)
		if (is_orphaned_slot(host, i, client))
			unic_proc_leave(host, i);
}

static void resume_slot(struct unic_req *req, uint32_t slot)
{
	struct unic_hproc *proc = &req->host->proc[slot];

	proc->client = req->client;
	proc->resumed = true;
	req->client->slot = slot;
	req->slot = slot;
	hello_reply(req);
}

void unic_proc_hello(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_cmd_proc_attach cmd;
	struct unic_ctl_hello hello;
	struct unic_hproc *proc;

	memcpy(&hello, req->rec, sizeof(hello));
	if (unic_from_le32(hello.policy) >= UNIC_POLICIES ||
	    unic_from_le32(hello.flags) & ~UNIC_CTL_HELLO_FLAGS_ALL ||
	    (hello.slot &&
	     !(unic_from_le32(hello.flags) & UNIC_CTL_HELLO_RESUME)) ||
	    unic_from_le32(hello.weight) > 65535) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	if (unic_from_le32(hello.weight) > 1 && !req->client->privileged) {
		unic_req_status(req, UNIC_CTL_ST_PERMISSION);
		return;
	}
	if (req->slot != UNIC_OS_NO_SLOT) {
		if (unic_req_proc(req))
			hello_reply(req);
		else
			unic_req_status(req, UNIC_ST_BUSY); /* attaching */
		return;
	}
	if (unic_from_le32(hello.flags) & UNIC_CTL_HELLO_RESUME &&
	    is_orphaned_slot(host, unic_from_le32(hello.slot), req->client)) {
		resume_slot(req, unic_from_le32(hello.slot));
		return;
	}
	if (!req->client->privileged) /* has one slot at most */
		leave_orphaned_slots(host, req->client);
	req->slot = find_slot(host, req->client);
	if (req->slot == UNIC_OS_NO_SLOT) {
		leave_orphaned_slots(host, req->client); /* for a retry */
		/* an account can do without, and asks every second */
		host->away_wanted |= !req->client->keeper;
		unic_req_status(req, UNIC_CTL_ST_NO_SLOT);
		return;
	}
	proc = &host->proc[req->slot];
	begin_attach(proc, req->client, &hello);
	unic_limits_begin(host, proc);
	req->client->slot = req->slot;
	unic_os_slot_zero(host->os, req->slot);
	proc->ring->entries = unic_to_le32(UNIC_UPCALLS);
	cmd_attach(proc, req->slot, &cmd);
	unic_req_send(req, UNIC_CMD_PROC_ATTACH, &cmd, hello_done);
}

/* ----------------------------------------------------------------- reattach */

static void reattach_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_status(call);

	if (status && status != UNIC_CTL_ST_RESET)
		unic_os_log(req->host->os, UNIC_LOG_ERROR,
			    "slot %u: attach after reset answered %u",
			    req->slot, status);
	unic_req_free(req);
}

bool unic_proc_reattach(struct unic_host *host, uint32_t slot)
{
	struct unic_cmd_proc_attach cmd;
	struct unic_req *req;

	if (host->proc[slot].state != UNIC_HPROC_LIVE)
		return true;
	req = unic_req_new(host, slot);
	if (!req)
		return false;
	cmd_attach(&host->proc[slot], slot, &cmd);
	unic_req_send(req, UNIC_CMD_PROC_ATTACH, &cmd, reattach_done);
	return true;
}
