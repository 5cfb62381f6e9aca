/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* limit.c - see limit.h. */
#include "limit.h"

#define SECOND_NS 1000000000u

_Static_assert(UNIC_CTL_LIMIT_MAX <= SECOND_NS / 1000, "whole nanoseconds");

static void set_limit(struct unic_limit *limit, uint32_t rate)
{
	limit->rate = rate;
	limit->paid_ns = 0;
}

void unic_limits_begin(const struct unic_host *host, struct unic_hproc *proc)
{
	uint32_t i;

	for (i = 0; i < UNIC_CTL_LIMITS; i++) {
		set_limit(&proc->limit[i], host->config.limit[i]);
		proc->limit[i].over = 0;
	}
}

void unic_limit_take(struct unic_limit *limit, uint64_t now_ns, uint32_t n)
{
	if (!limit->rate)
		return;
	if (limit->paid_ns + UNIC_LIMIT_SAVED_NS < now_ns)
		limit->paid_ns = now_ns - UNIC_LIMIT_SAVED_NS;
	limit->paid_ns += (uint64_t)n * (SECOND_NS / limit->rate);
}

/* Microseconds, at least 1, up to the later time @at_ns. */
static unic_le32 us_until(uint64_t now_ns, uint64_t at_ns)
{
	return unic_to_le32((uint32_t)((at_ns - now_ns + 999) / 1000));
}

bool unic_limits_refuse(struct unic_req *req, uint32_t n)
{
	struct unic_limit *limit =
		&unic_req_proc(req)->limit[UNIC_CTL_LIMIT_REGISTRATIONS];
	struct unic_ctl_too_fast_reply r = { 0 };
	uint64_t now, at;

	if (!limit->rate || req->client->kernel)
		return false;
	now = unic_os_now_ns(req->host->os);
	at = unic_limit_at(limit);
	if (at <= now) {
		unic_limit_take(limit, now, n);
		return false;
	}
	limit->over++;
	r.retry_us = us_until(now, at);
	unic_req_answer(req, UNIC_CTL_ST_TOO_FAST, &r, NULL, 0);
	return true;
}

/* ------------------------------------------------------- of the administrator */

static bool limits_ok(const struct unic_ctl_limits *r)
{
	uint32_t flags = unic_from_le32(r->flags), i, rate;

	for (i = 0; i < UNIC_CTL_LIMITS; i++) {
		rate = unic_from_le32(r->limit[i]);
		if (rate > UNIC_CTL_LIMIT_MAX || (rate && !(flags >> i & 1)))
			return false;
	}
	return !(flags >> UNIC_CTL_LIMITS);
}

/* The process that @r names, or NULL. */
static struct unic_hproc *find_proc(struct unic_host *host,
				    const struct unic_ctl_limits *r)
{
	uint32_t slot = unic_from_le32(r->proc);

	if (slot >= host->config.slots ||
	    host->proc[slot].state != UNIC_HPROC_LIVE)
		return NULL;
	return &host->proc[slot];
}

static void set_limits(struct unic_hproc *proc, const struct unic_ctl_limits *r)
{
	uint32_t i;

	for (i = 0; i < UNIC_CTL_LIMITS; i++)
		if (unic_from_le32(r->flags) >> i & 1)
			set_limit(&proc->limit[i], unic_from_le32(r->limit[i]));
}

static void set_all_limits(struct unic_host *host,
			   const struct unic_ctl_limits *r)
{
	uint32_t i;

	for (i = 0; i < UNIC_CTL_LIMITS; i++)
		if (unic_from_le32(r->flags) >> i & 1)
			host->config.limit[i] = unic_from_le32(r->limit[i]);
	for (i = 0; i < host->config.slots; i++)
		set_limits(&host->proc[i], r);
}

void unic_limits_run(struct unic_req *req)
{
	struct unic_ctl_limits_reply reply = { 0 };
	struct unic_host *host = req->host;
	struct unic_hproc *proc = NULL;
	struct unic_ctl_limits r;
	uint32_t i;
	bool all;

	memcpy(&r, req->rec, sizeof(r));
	all = unic_from_le32(r.proc) == UNIC_CTL_LIMITS_ALL;
	if (!all)
		proc = find_proc(host, &r);
	if ((!all && !proc) || !limits_ok(&r)) {
		unic_req_status(req, limits_ok(&r) ? UNIC_ST_NO_PROC
						   : UNIC_ST_INVALID);
		return;
	}
	if (all)
		set_all_limits(host, &r);
	else
		set_limits(proc, &r);
	for (i = 0; i < UNIC_CTL_LIMITS; i++) {
		reply.limit[i] = unic_to_le32(proc ? proc->limit[i].rate
						   : host->config.limit[i]);
		reply.over[i] = unic_to_le32(proc ? proc->limit[i].over : 0);
	}
	unic_req_answer(req, UNIC_ST_OK, &reply, NULL, 0);
}
