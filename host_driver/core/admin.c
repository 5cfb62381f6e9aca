/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * admin.c - requests of unicctl: records of the device, passed on unchanged, and the
 * driver's counters of its processes.
 */
#include "admin.h"

#include "device.h"
#include "region/region_notice.h"
#include "snapshot.h"
#include "unic_stats.h"

void unic_admin_info(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_info_reply r = { 0 };
	struct unic_info info;
	const char *name = host->provider->ops->name;
	uint32_t used = 0, i;

	for (i = 0; i < host->config.slots; i++)
		used += host->proc[i].state != UNIC_HPROC_FREE;
	unic_device_info(host, &info);
	r.driver_ns = unic_to_le64(host->start_ns);
	r.driver_pid = unic_to_le32(host->config.pid);
	r.slots = unic_to_le32(host->config.slots);
	r.slots_used = unic_to_le32(used);
	r.resets = unic_to_le32(host->resets);
	r.nic_there = unic_to_le32(unic_device_state(host));
	r.host_id = unic_to_le32(host->objects.ids->host_id);
	for (i = 0; i < sizeof(r.provider) - 1 && name[i]; i++)
		r.provider[i] = (uint8_t)name[i];
	unic_req_answer(req, UNIC_ST_OK, &r, &info, sizeof(info));
}

void unic_admin_stats(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_stats_reply r = { 0 };
	struct unic_stats_page *page = unic_req_tail(req);
	uint32_t n = 0;

	_Static_assert(sizeof(*page) <= UNIC_TAIL_MAX, "statistics");
	if (host->state != UNIC_PROVIDER_ABSENT &&
	    unic_device_peek(host, UNIC_BAR_STATS_OFF, page, sizeof(*page))) {
		n = unic_from_le32(page->counters);
		if (n > sizeof(page->counter) / sizeof(page->counter[0]))
			n = 0;
		r.time_ns = page->time_ns;
	}
	r.counters = unic_to_le32(n);
	r.commands = unic_to_le32(host->commands);
	r.timeouts = unic_to_le32(host->failed);
	r.bad_records = unic_to_le32(host->provider->bad_records);
	r.upcalls = unic_to_le32(host->upcalls);
	r.refused = unic_to_le32(host->refused);
	r.audits = unic_to_le32(host->audits);
	unic_req_answer(req, UNIC_ST_OK, &r, page->counter, n * 8);
}

/* Zero the rows of regions that are not of the process of @req. */
static void mask_foreign_rows(const struct unic_req *req,
			      struct unic_use_row *row, uint32_t first,
			      uint32_t n)
{
	uint32_t keep[UNIC_CTL_USES_MAX / 32] = { 0 }, at = 0, i;
	const struct unic_region *mr;

	while ((mr = unic_obj_next(&req->host->objects, &at, UNIC_OBJ_MR,
				   unic_req_owner(req)))) {
		i = mr->mr - first;
		if (i < n && unic_from_le32(row[i].stag) == mr->stag)
			keep[i / 32] |= 1u << i % 32;
	}
	for (i = 0; i < n; i++)
		if (!(keep[i / 32] >> i % 32 & 1))
			memset(&row[i], 0, sizeof(row[i]));
}

void unic_admin_uses(struct unic_req *req)
{
	struct unic_use_row *row = unic_req_tail(req);
	struct unic_ctl_uses_reply r = { 0 };
	struct unic_ctl_uses u;
	struct unic_info info;
	uint32_t first, n, mrs;

	_Static_assert(UNIC_CTL_USES_MAX * sizeof(*row) <= UNIC_TAIL_MAX, "row"
									  "s");
	memcpy(&u, req->rec, sizeof(u));
	first = unic_from_le32(u.first);
	n = unic_from_le32(u.count);
	unic_device_info(req->host, &info);
	mrs = unic_from_le32(info.mrs);
	if (mrs > UNIC_USE_ROWS)
		mrs = 0;
	if (n < 1 || n > UNIC_CTL_USES_MAX) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	if (first > mrs)
		first = mrs;
	if (n > mrs - first)
		n = mrs - first;
	if (!unic_device_peek(req->host,
			      UNIC_BAR_USE_OFF + first * sizeof(row[0]), row,
			      n * (uint32_t)sizeof(row[0]))) {
		unic_req_status(req, UNIC_CTL_ST_UNSUPPORTED);
		return;
	}
	if (!req->client->privileged)
		mask_foreign_rows(req, row, first, n);
	r.time_ns = info.clock_ns;
	r.rows = unic_to_le32(n);
	r.mrs = unic_to_le32(mrs);
	unic_req_answer(req, UNIC_ST_OK, &r, row, n * (uint32_t)sizeof(row[0]));
}

static void usage_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_hproc *proc = unic_req_proc(req);
	uint32_t status = unic_call_status(call);
	struct unic_ctl_usage_reply r = { 0 };
	uint64_t tail[UNIC_REC_WORDS];

	if (status || !proc) {
		unic_req_status(req, status ? status : UNIC_CTL_ST_RESET);
		return;
	}
	memcpy(tail, call->cpl, sizeof(tail));
	r.frames = unic_to_le32(proc->frames.used);
	r.frames_max = unic_to_le32(proc->frames.frames - UNIC_SLOT_FRAMES);
	r.pinned = unic_to_le32(proc->frames.pinned);
	r.upcalls = unic_to_le32(proc->upcalls);
	unic_req_answer(req, UNIC_ST_OK, &r, tail, sizeof(tail));
}

void unic_admin_usage(struct unic_req *req)
{
	struct unic_cmd_obj cmd = { .id = unic_to_le32(req->slot) };

	unic_req_send(req, UNIC_CMD_QUERY_USAGE, &cmd, usage_done);
}

static void dump_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	uint32_t status = unic_call_status(call), rows;
	struct unic_ctl_dump_reply r = { 0 };
	struct unic_cpl_dump cpl;

	memcpy(&cpl, call->cpl, sizeof(cpl));
	rows = unic_from_le32(cpl.rows);
	if (status || rows > UNIC_LIST_BYTES / UNIC_ROW_BYTES) {
		unic_req_status(req, status ? status : UNIC_CTL_ST_NO_NIC);
		return;
	}
	r.rows = cpl.rows;
	r.next = cpl.next;
	unic_req_answer(req, UNIC_ST_OK, &r, call->list, rows * UNIC_ROW_BYTES);
}

void unic_admin_dump(struct unic_req *req)
{
	struct unic_cmd_dump cmd = { 0 };
	struct unic_ctl_dump r;

	memcpy(&r, req->rec, sizeof(r));
	if (r.snapshot) {
		unic_snapshot_dump(req, &r);
		return;
	}
	cmd.table = r.table;
	cmd.first = r.first;
	if (unic_req_list(req, UNIC_LIST_BYTES))
		unic_req_send(req, UNIC_CMD_DUMP, &cmd, dump_done);
	else
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
}

static unic_le32 mean_us(const struct unic_delay *p)
{
	return unic_to_le32(p->n ? (uint32_t)(p->total_us / p->n) : 0);
}

static void ps_row(const struct unic_hproc *proc, uint32_t slot,
		   struct unic_ctl_proc *row)
{
	*row = (struct unic_ctl_proc){
		.proc = unic_to_le32(slot),
		.pid = unic_to_le32(proc->pid),
		.uid = unic_to_le32(proc->uid),
		.state = unic_to_le32(proc->state),
		.frames = unic_to_le32(proc->frames.used),
		.pinned = unic_to_le32(proc->frames.pinned),
		.regions = unic_to_le32(proc->regions),
		.waits = unic_to_le32(proc->waits),
		.upcalls = unic_to_le32(proc->upcalls),
		.notices = unic_to_le32(proc->notices),
		.evictions = unic_to_le32(proc->evictions),
		.weight = unic_to_le32(proc->weight),
		.quota = unic_to_le32(proc->quota),
		.policy = unic_to_le32(proc->policy),
		.requests = unic_to_le32(proc->requests),
		.refused = unic_to_le32(proc->refused),
		.deliver_mean_us = mean_us(&proc->deliver),
		.deliver_max_us = unic_to_le32(proc->deliver.max_us),
		.answers = unic_to_le32(proc->answer.n),
		.answer_mean_us = mean_us(&proc->answer),
		.answer_max_us = unic_to_le32(proc->answer.max_us),
		.deadlines = unic_to_le32(proc->deadlines),
	};
	memcpy(row->name, proc->name, sizeof(row->name));
}

static void answer_graces(struct unic_req *req)
{
	struct unic_ctl_grace *row = unic_req_tail(req);
	struct unic_ctl_ps_reply r = { 0 };
	uint32_t n = unic_region_graces(req->host, row);

	r.procs = unic_to_le32(n);
	unic_req_answer(req, UNIC_ST_OK, &r, row, n * (uint32_t)sizeof(row[0]));
}

static void answer_procs(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_proc *row = unic_req_tail(req);
	struct unic_ctl_ps_reply r = { 0 };
	uint32_t i, n = 0;

	_Static_assert(UNIC_HOST_SLOTS_MAX * sizeof(*row) <= UNIC_TAIL_MAX,
		       "rows");
	for (i = 0; i < host->config.slots; i++)
		if (host->proc[i].state != UNIC_HPROC_FREE)
			ps_row(&host->proc[i], i, &row[n++]);
	r.procs = unic_to_le32(n);
	unic_req_answer(req, UNIC_ST_OK, &r, row, n * (uint32_t)sizeof(row[0]));
}

void unic_admin_ps(struct unic_req *req)
{
	struct unic_ctl_ps r;

	memcpy(&r, req->rec, sizeof(r));
	switch (unic_from_le32(r.what)) {
	case UNIC_CTL_PS_PROCS:
		answer_procs(req);
		break;
	case UNIC_CTL_PS_GRACES:
		answer_graces(req);
		break;
	default:
		unic_req_status(req, UNIC_ST_INVALID);
	}
}

#define TRACE_MAX (UNIC_TAIL_MAX / 32u)

/* Copy trace event number @n to @rec. False: the ring does not hold event @n. */
static bool trace_get(struct unic_host *host, uint32_t n,
		      struct unic_trace_rec *rec)
{
	uint32_t off = UNIC_BAR_TRACE_OFF +
		       n % UNIC_TRACE_ENTRIES * (uint32_t)sizeof(*rec);

	return unic_device_peek(host, off, rec, sizeof(*rec)) &&
	       unic_from_le32(rec->seq) == n + 1;
}

/* Number of the first event from @from on that is still in the ring. Events are
 * overwritten in order: the record in the place of @from gives the newest number there,
 * and the oldest event is one ring behind. */
static uint32_t trace_first(struct unic_host *host, uint32_t from)
{
	struct unic_trace_rec rec;
	uint32_t off = UNIC_BAR_TRACE_OFF +
		       from % UNIC_TRACE_ENTRIES * (uint32_t)sizeof(rec);
	uint32_t n;

	if (!unic_device_peek(host, off, &rec, sizeof(rec)) || !rec.seq)
		return from;
	n = unic_from_le32(rec.seq) - 1;
	if (n == from || (int32_t)(n - from) < 0 ||
	    n % UNIC_TRACE_ENTRIES != from % UNIC_TRACE_ENTRIES)
		return from;
	return n - UNIC_TRACE_ENTRIES + 64; /* the NIC goes on writing */
}

void unic_admin_trace(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_trace_rec *rec = unic_req_tail(req);
	struct unic_ctl_trace_reply r = { 0 };
	struct unic_ctl_trace t;
	struct unic_info info;
	uint32_t first, n = 0;

	memcpy(&t, req->rec, sizeof(t));
	first = trace_first(host, unic_from_le32(t.from));
	while (n < TRACE_MAX && trace_get(host, first + n, &rec[n]))
		n++;
	unic_device_info(host, &info);
	r.first = unic_to_le32(first);
	r.records = unic_to_le32(n);
	r.next = unic_to_le32(first + n);
	r.pair_nic_ns = info.pair_nic_ns;
	r.pair_host_ns = info.pair_host_ns;
	unic_req_answer(req, UNIC_ST_OK, &r, rec, n * (uint32_t)sizeof(rec[0]));
}

void unic_admin_crash(struct unic_req *req)
{
	uint64_t rec[UNIC_REC_WORDS] = { 0 };
	struct unic_crash crash;

	if (!unic_device_peek(req->host, UNIC_BAR_CRASH_OFF, &crash,
			      sizeof(crash)) ||
	    unic_from_le32(crash.magic) != UNIC_CRASH_MAGIC)
		unic_req_status(req, UNIC_CTL_ST_NONE);
	else
		unic_req_answer(req, UNIC_ST_OK, rec, &crash, sizeof(crash));
}

void unic_admin_fault(struct unic_req *req)
{
	struct unic_cmd_fault cmd = { 0 };
	struct unic_ctl_fault r;

	memcpy(&r, req->rec, sizeof(r));
	cmd.fault = r.fault;
	cmd.arg = r.arg;
	unic_req_send(req, UNIC_CMD_FAULT, &cmd, unic_req_done_status);
}

void unic_admin_trace_mask(struct unic_req *req)
{
	struct unic_cmd_trace_ctl cmd = { 0 };
	struct unic_ctl_fault r;

	memcpy(&r, req->rec, sizeof(r));
	if (unic_from_le32(r.fault)) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	cmd.mask = r.arg;
	unic_req_send(req, UNIC_CMD_TRACE_CTL, &cmd, unic_req_done_status);
}

/* Merge the flags of @got into @keep: a flag that is not set changes no parameter. */
static void keep_flags(struct unic_cmd_set_params *keep,
		       const struct unic_cmd_set_params *got)
{
	const uint32_t uses = UNIC_PARAM_USES_REPORTED |
			      UNIC_PARAM_USES_COUNTED;
	uint32_t flags = unic_from_le32(keep->flags);
	uint32_t new = unic_from_le32(got->flags);

	if (new &uses)
		flags &= ~uses;
	keep->flags = unic_to_le32(flags | new);
	if (!(new &UNIC_PARAM_WATERMARKS))
		return;
	keep->low_entries = got->low_entries;
	keep->high_entries = got->high_entries;
}

/* Keep accepted parameters, for setup after the next reset of the device. */
static void params_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_cmd_set_params *keep = &req->host->config.params, got;

	memcpy(&got, call->cmd, sizeof(got));
	if (!unic_call_status(call)) {
		if (got.grace_us ||
		    unic_from_le32(got.flags) & UNIC_PARAM_GRACE)
			keep->grace_us = got.grace_us;
		if (got.deliver_us)
			keep->deliver_us = got.deliver_us;
		if (got.reaper_us)
			keep->reaper_us = got.reaper_us;
		keep_flags(keep, &got);
		if (got.residence_us)
			keep->residence_us = got.residence_us;
		if (got.extend_us)
			keep->extend_us = got.extend_us;
		if (got.idle_us || unic_from_le32(got.flags) & UNIC_PARAM_IDLE)
			keep->idle_us = got.idle_us;
		if (got.prefetch)
			keep->prefetch = got.prefetch;
		if (got.pain_pct || unic_from_le32(got.flags) & UNIC_PARAM_PAIN)
			keep->pain_pct = got.pain_pct;
	}
	unic_req_done_status(call);
}

void unic_admin_params_known(uint64_t features, struct unic_cmd_set_params *cmd)
{
	if (!(features & UNIC_FEAT_IDLE)) {
		cmd->idle_us = 0;
		cmd->flags &= unic_to_le32(~UNIC_PARAM_IDLE);
	}
	if (!(features & UNIC_FEAT_PAIN)) {
		cmd->pain_pct = 0;
		cmd->flags &= unic_to_le32(~UNIC_PARAM_PAIN);
	}
	if (!(features & UNIC_FEAT_HOST_TABLE))
		cmd->prefetch = 0;
}

void unic_admin_params(struct unic_req *req)
{
	struct unic_cmd_set_params cmd = { 0 };
	struct unic_ctl_params r;

	memcpy(&r, req->rec, sizeof(r));
	cmd.grace_us = r.grace_us;
	cmd.deliver_us = r.deliver_us;
	cmd.reaper_us = r.reaper_us;
	cmd.low_entries = r.low_entries;
	cmd.high_entries = r.high_entries;
	cmd.residence_us = r.residence_us;
	cmd.extend_us = r.extend_us;
	cmd.flags = r.flags;
	cmd.idle_us = r.idle_us;
	cmd.prefetch = r.prefetch;
	cmd.pain_pct = r.pain_pct;
	unic_req_send(req, UNIC_CMD_SET_PARAMS, &cmd, params_done);
}

static void policy_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_cmd_proc_set cmd;
	struct unic_hproc *proc;
	uint32_t keep;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	keep = unic_from_le32(cmd.keep);
	proc = &req->host->proc[req->id];
	if (!unic_call_status(call) && proc->state == UNIC_HPROC_LIVE) {
		if (!(keep & UNIC_PROC_KEEP_WEIGHT))
			proc->weight = unic_from_le32(cmd.weight);
		if (!(keep & UNIC_PROC_KEEP_QUOTA))
			proc->quota = unic_from_le32(cmd.quota);
		if (!(keep & UNIC_PROC_KEEP_POLICY))
			proc->policy = unic_from_le32(cmd.policy);
		unic_journal_proc(req->host, req->id);
	}
	unic_req_done_status(call);
}

/*
 * Make @cmd, which says what it changes and keeps the rest, one for a NIC that knows no
 * UNIC_PROC_KEEP_*. A NIC that does keeps what it has: two requests that change
 * different fields at the same time do not undo each other.
 */
static void say_all(const struct unic_host *host, struct unic_cmd_proc_set *cmd)
{
	const struct unic_hproc *proc = &host->proc[unic_from_le32(cmd->proc)];
	uint32_t keep = unic_from_le32(cmd->keep);

	if (host->features & UNIC_FEAT_APP_POLICY)
		return;
	if (keep & UNIC_PROC_KEEP_WEIGHT)
		cmd->weight = unic_to_le32(proc->weight);
	if (keep & UNIC_PROC_KEEP_QUOTA)
		cmd->quota = unic_to_le32(proc->quota);
	if (keep & UNIC_PROC_KEEP_POLICY)
		cmd->policy = unic_to_le32(proc->policy);
	cmd->keep = unic_to_le32(0);
}

void unic_admin_policy(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_cmd_proc_set cmd = { 0 };
	struct unic_ctl_policy r;
	uint32_t flags, keep = 0;

	memcpy(&r, req->rec, sizeof(r));
	req->id = unic_from_le32(r.proc);
	flags = unic_from_le32(r.flags);
	if (req->id >= host->config.slots ||
	    host->proc[req->id].state != UNIC_HPROC_LIVE) {
		unic_req_status(req, UNIC_ST_NO_PROC);
		return;
	}
	if (flags & ~UNIC_CTL_POLICY_FLAGS_ALL) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	cmd.proc = r.proc;
	if (unic_from_le32(r.weight))
		cmd.weight = r.weight;
	else
		keep |= UNIC_PROC_KEEP_WEIGHT;
	if (flags & UNIC_CTL_POLICY_QUOTA)
		cmd.quota = r.quota;
	else
		keep |= UNIC_PROC_KEEP_QUOTA;
	if (flags & UNIC_CTL_POLICY_POLICY)
		cmd.policy = r.policy;
	else
		keep |= UNIC_PROC_KEEP_POLICY;
	cmd.keep = unic_to_le32(keep);
	say_all(host, &cmd);
	unic_req_send(req, UNIC_CMD_PROC_SET, &cmd, policy_done);
}

void unic_admin_own_policy(struct unic_req *req)
{
	struct unic_ctl_own_policy r;
	struct unic_cmd_proc_set cmd = {
		.proc = unic_to_le32(req->slot),
		.keep = unic_to_le32(UNIC_PROC_KEEP_WEIGHT |
				     UNIC_PROC_KEEP_QUOTA),
	};

	if (!(req->host->features & UNIC_FEAT_APP_POLICY)) {
		unic_req_status(req, UNIC_CTL_ST_UNSUPPORTED);
		return;
	}
	memcpy(&r, req->rec, sizeof(r));
	cmd.policy = r.policy;
	req->id = req->slot;
	unic_req_send(req, UNIC_CMD_PROC_SET, &cmd, policy_done);
}

void unic_admin_claim(struct unic_req *req)
{
	struct unic_ctl_claim r;
	struct unic_cmd_proc_set cmd = {
		.proc = unic_to_le32(req->slot),
		.keep = unic_to_le32(UNIC_PROC_KEEP_WEIGHT |
				     UNIC_PROC_KEEP_QUOTA |
				     UNIC_PROC_KEEP_POLICY | UNIC_PROC_CLAIM),
	};

	if (!req->client->kernel) {
		unic_req_status(req, UNIC_CTL_ST_PERMISSION);
		return;
	}
	if (!(req->host->features & UNIC_FEAT_ACCOUNTS)) {
		unic_req_status(req, UNIC_CTL_ST_UNSUPPORTED);
		return;
	}
	memcpy(&r, req->rec, sizeof(r));
	cmd.claim = r.entries;
	unic_req_send(req, UNIC_CMD_PROC_SET, &cmd, unic_req_done_status);
}

void unic_admin_reset(struct unic_req *req)
{
	struct unic_host *host = req->host;

	if (host->state == UNIC_PROVIDER_ABSENT) {
		unic_req_status(req, UNIC_CTL_ST_NO_NIC);
		return;
	}
	unic_req_status(req, UNIC_ST_OK);
	host->provider->ops->start(host->provider);
}
