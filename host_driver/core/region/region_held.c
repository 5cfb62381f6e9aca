/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_held.c - see region_held.h. */
#include "region/region_held.h"

bool unic_region_has_wait_place(const struct unic_host *host,
				const struct unic_hproc *proc)
{
	uint32_t share = host->waits / host->config.slots;

	return proc->waits < (share ? share : 1);
}

bool unic_region_hold(struct unic_req *req)
{
	struct unic_hproc *proc = &req->host->proc[req->slot];

	if (!proc->asked || proc->resumes)
		return false;
	/* a request does not overtake held ones */
	if (!proc->held && unic_region_has_wait_place(req->host, proc))
		return false;
	req->held = true;
	proc->held++;
	return true;
}

void unic_region_asked(struct unic_req *req, bool asked)
{
	struct unic_hproc *proc = &req->host->proc[req->slot];

	proc->asked = proc->asked - req->asked + asked;
	req->asked = asked;
}

static struct unic_req *release_held(struct unic_host *host,
				     struct unic_req *req)
{
	if (req) {
		req->held = false;
		host->proc[req->slot].held--;
	}
	return req;
}

struct unic_req *unic_region_next_held(struct unic_host *host, uint32_t slot)
{
	const struct unic_hproc *proc = &host->proc[slot];
	struct unic_req *req, *first = NULL;

	if (!proc->held ||
	    (proc->asked && !unic_region_has_wait_place(host, proc)))
		return NULL;
	for (req = host->reqs; req; req = req->next) /* from the newest on */
		if (req->held && req->slot == slot)
			first = req;
	return release_held(host, first);
}

struct unic_req *unic_region_unhold(struct unic_host *host, uint32_t slot,
				    uint32_t seq)
{
	struct unic_req *req;

	if (!host->proc[slot].held)
		return NULL;
	for (req = host->reqs; req; req = req->next)
		if (req->held && req->slot == slot && req->seq == seq)
			break;
	return release_held(host, req);
}
