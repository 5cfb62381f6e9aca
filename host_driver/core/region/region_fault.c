/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_fault.c - see region_fault.h. */
#include "region/region_fault.h"

#include "limit.h"
#include "region/region_pin.h"

#define RETRY_NS   50000ull
#define GIVE_UP_NS 200000000ull /* longer than the NIC waits for an answer */

/* ----------------------------------------------------------------- faults */

static struct unic_region *region_of(struct unic_host *host, uint32_t user,
				     uint32_t nic_mr, uint32_t gen)
{
	struct unic_region *mr = unic_obj_get(&host->objects, user, UNIC_OBJ_MR,
					      UNIC_OBJ_ANYONE);

	if (!mr || mr->mr != nic_mr || mr->gen != gen || !mr->there)
		return NULL;
	return mr;
}

static struct unic_region *region_of_fault(struct unic_host *host,
					   const struct unic_hfault *f)
{
	return region_of(host, f->user, f->mr, f->gen);
}

static void retry_fault(struct unic_host *host, struct unic_hfault *f)
{
	f->retry_ns = unic_os_now_ns(host->os) + RETRY_NS;
	if (f->retry_ns > f->give_up_ns)
		f->used = false;
	else if (f->retry_ns < host->faults_ns)
		host->faults_ns = f->retry_ns;
}

static void fault_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	struct unic_hfault *f = &host->fault[req->id];
	struct unic_region *mr = region_of_fault(host, f);
	uint32_t status = unic_call_status(call), i, done;
	struct unic_cpl_mr_pages cpl;

	memcpy(&cpl, call->cpl, sizeof(cpl));
	done = status && status != UNIC_ST_BUSY && status != UNIC_ST_BUS
		       ? 0
		       : unic_from_le32(cpl.done);
	if (req->id2 != f->turn || !f->used) {
		unic_req_free(req);
		return; /* its epoch or place has ended */
	}
	for (i = done; mr && i < f->sent; i++)
		if (unic_region_page_there(mr, f->first + i))
			unic_region_page_unpin(host, mr, f->first + i);
	f->under_way = false;
	if (mr && status == UNIC_ST_BUSY && !done)
		retry_fault(host, f);
	else
		f->used = false;
	unic_req_free(req);
}

/* Pin pages of @f from the first on, @most or up to one that is pinned already or cannot
 * be, and write their addresses to @list. Returns how many; 0 with *@later: the frame of
 * the first page is being loaded. */
static uint32_t pin_run(struct unic_host *host, struct unic_region *mr,
			const struct unic_hfault *f, uint32_t most,
			uint64_t *list, bool *later)
{
	uint32_t n, i;
	int err = 0;

	for (n = 0; n < most && !unic_region_page_there(mr, f->first + n);
	     n++) {
		err = unic_region_page_pin(host, mr, f->first + n);
		if (err)
			break;
	}
	*later = !n && err == -EAGAIN;
	if (!n || !unic_frames_list(&proc_of(host, mr)->frames, mr->va,
				    mr->page_shift, f->first, n, list))
		return n;
	for (i = 0; i < n; i++) /* the process mapped other frames */
		unic_region_page_unpin(host, mr, f->first + i);
	return 0;
}

/* How many pages of @f, from the first on, are not among those of another answer under
 * way. That answer may fail, and its pages are unpinned then, also one that was unpinned
 * meanwhile because its process unmapped it, and pinned again. */
static uint32_t count_pages_to_send(const struct unic_host *host,
				    const struct unic_hfault *f)
{
	uint32_t n = f->count, i;

	for (i = 0; i < UNIC_REGION_FAULTS; i++) {
		const struct unic_hfault *o = &host->fault[i];

		if (!o->used || !o->under_way || !o->sent ||
		    o->user != f->user || o->mr != f->mr)
			continue;
		if (f->first - o->first < o->sent)
			return 0;
		if (o->first - f->first < n)
			n = o->first - f->first;
	}
	return n;
}

static void answer_fault(struct unic_host *host, struct unic_hfault *f)
{
	struct unic_region *mr = region_of_fault(host, f);
	struct unic_cmd_mr_fault cmd = {
		.mr = unic_to_le32(f->mr),
		.gen = unic_to_le32(f->gen),
		.first = unic_to_le32(f->first),
		.seq = unic_to_le32(f->seq),
	};
	struct unic_req *req;
	uint32_t most = count_pages_to_send(host, f), n, i;
	uint64_t *list;
	bool later;

	if (!mr || (most && unic_region_page_there(mr, f->first))) {
		f->used = false; /* it ended, or the page is there */
		return;
	}
	if (!most) {
		retry_fault(host, f);
		return;
	}
	req = unic_req_new(host, mr->obj.owner);
	list = req ? unic_req_list(req, f->count * 8) : NULL;
	if (!list) {
		if (req)
			unic_req_free(req);
		retry_fault(host, f);
		return;
	}
	n = pin_run(host, mr, f, most, list, &later);
	if (later) {
		unic_req_free(req);
		retry_fault(host, f);
		return;
	}
	for (i = 0; i < n; i++)
		((unic_le64 *)(void *)list)[i] = unic_to_le64(list[i]);
	cmd.count = unic_to_le32(n ? n : 1);
	cmd.cannot = unic_to_le32(!n);
	req->call.list_bytes = n * 8;
	req->id = (uint32_t)(f - host->fault);
	req->id2 = ++f->turn;
	f->sent = n;
	f->under_way = true;
	unic_req_send(req, UNIC_CMD_MR_FAULT, &cmd, fault_done);
}

static bool is_same_fault(const struct unic_hfault *f,
			  const struct unic_evt_miss *evt)
{
	return f->used && !f->under_way &&
	       f->user == unic_from_le32(evt->user) &&
	       f->mr == unic_from_le32(evt->mr) &&
	       f->gen == unic_from_le32(evt->gen) &&
	       f->first == unic_from_le32(evt->first);
}

#define NO_OWNER UINT32_MAX

/* Store the owner of each place: a slot, or NO_OWNER, if the region has ended. */
static void list_fault_owners(struct unic_host *host,
			      uint32_t owner[UNIC_REGION_FAULTS])
{
	const struct unic_region *mr;
	uint32_t i;

	for (i = 0; i < UNIC_REGION_FAULTS; i++) {
		mr = region_of_fault(host, &host->fault[i]);
		owner[i] = mr ? mr->obj.owner : NO_OWNER;
	}
}

/* How many places the owner of place @i has; for NO_OWNER, more than any owner has. */
static uint32_t count_owner_faults(const uint32_t owner[UNIC_REGION_FAULTS],
				   uint32_t i)
{
	uint32_t k, n = 0;

	for (k = 0; k < UNIC_REGION_FAULTS; k++)
		n += owner[k] == owner[i];
	return owner[i] == NO_OWNER ? UNIC_REGION_FAULTS + 1 : n;
}

/*
 * The place to reuse when all are taken. The NIC waits for fewer faults than there are
 * places, so some places of the owner with most are of faults that the NIC has given
 * up: the oldest of those without an answer under way is one. NULL: there is none.
 */
static struct unic_hfault *find_victim_fault(struct unic_host *host)
{
	struct unic_hfault *found = NULL, *f;
	uint32_t owner[UNIC_REGION_FAULTS], most = 0, n, i;

	list_fault_owners(host, owner);
	for (i = 0; i < UNIC_REGION_FAULTS; i++) {
		f = &host->fault[i];
		n = count_owner_faults(owner, i);
		if (f->under_way || n < most)
			continue;
		if (found && n == most && f->give_up_ns >= found->give_up_ns)
			continue;
		found = f;
		most = n;
	}
	return found;
}

/* The place for @evt until its answer: that of an earlier event for the same page, a
 * free one, or one to reuse. NULL: there is none. */
static struct unic_hfault *find_fault_slot(struct unic_host *host,
					   const struct unic_evt_miss *evt)
{
	struct unic_hfault *empty = NULL;
	uint32_t i;

	for (i = 0; i < UNIC_REGION_FAULTS; i++) {
		if (is_same_fault(&host->fault[i], evt))
			return &host->fault[i];
		if (!empty && !host->fault[i].used)
			empty = &host->fault[i];
	}
	return empty ? empty : find_victim_fault(host);
}

/* Decide when the new @f of @mr is answered: later, if its process misses more than its
 * limit. False: not before the NIC has given it up. */
static bool limit_fault(struct unic_host *host, const struct unic_region *mr,
			struct unic_hfault *f)
{
	struct unic_limit *limit =
		&proc_of(host, mr)->limit[UNIC_CTL_LIMIT_FAULTS];
	uint64_t now = f->give_up_ns - GIVE_UP_NS, at = unic_limit_at(limit);

	limit->over += at > now;
	if (at > f->give_up_ns)
		return false;
	unic_limit_take(limit, now, 1);
	if (at <= now)
		return true;
	f->retry_ns = at;
	if (at < host->faults_ns)
		host->faults_ns = at;
	return true;
}

void unic_region_fault_miss(struct unic_host *host,
			    const struct unic_evt_miss *evt)
{
	uint32_t first = unic_from_le32(evt->first);
	uint32_t count = unic_from_le32(evt->count);
	struct unic_region *mr = region_of(host, unic_from_le32(evt->user),
					   unic_from_le32(evt->mr),
					   unic_from_le32(evt->gen));
	struct unic_hfault *f;

	if (!mr)
		return; /* the region has ended */
	if (!count || count > UNIC_LIST_MAX || first >= mr->n_pages ||
	    count > mr->n_pages - first) {
		host->audits++;
		return;
	}
	f = find_fault_slot(host, evt);
	if (!f) {
		host->audits++; /* more faults than the NIC may have open */
		return;
	}
	*f = (struct unic_hfault){
		.used = true,
		.turn = f->turn,
		.user = unic_from_le32(evt->user),
		.mr = mr->mr,
		.gen = mr->gen,
		.first = first,
		.count = count,
		.seq = unic_from_le32(evt->seq),
		.give_up_ns = unic_os_now_ns(host->os) + GIVE_UP_NS,
	};
	host->faults++;
	if (!limit_fault(host, mr, f))
		f->used = false;
	else if (!f->retry_ns)
		answer_fault(host, f);
}

void unic_region_fault_dropped(struct unic_host *host,
			       const struct unic_drop *drop)
{
	struct unic_region *mr = region_of(host, unic_from_le32(drop->user),
					   unic_from_le32(drop->mr),
					   unic_from_le32(drop->gen));
	uint32_t page = unic_from_le32(drop->page);

	if (!mr)
		return; /* the region has ended: its pages are unpinned */
	if (page >= mr->n_pages || !unic_region_page_there(mr, page)) {
		host->audits++;
		return;
	}
	host->drops++;
	unic_region_page_unpin(host, mr, page);
}

void unic_region_fault_reset(struct unic_host *host)
{
	uint32_t i;

	for (i = 0; i < UNIC_REGION_FAULTS; i++)
		host->fault[i].used = false;
}

uint64_t unic_region_fault_poll(struct unic_host *host, uint64_t now)
{
	uint32_t i;

	if (now < host->faults_ns)
		return host->faults_ns;
	host->faults_ns = UINT64_MAX;
	for (i = 0; i < UNIC_REGION_FAULTS; i++) {
		struct unic_hfault *f = &host->fault[i];

		if (f->used && !f->under_way && now >= f->retry_ns)
			answer_fault(host, f);
		if (f->used && !f->under_way && f->retry_ns < host->faults_ns)
			host->faults_ns = f->retry_ns;
	}
	return host->faults_ns;
}

/* ----------------------------------------------------------------- advice */

void unic_region_fault_advise(struct unic_req *req)
{
	struct unic_cmd_mr_pages cmd = { 0 };
	uint64_t first, last, offset, length;
	struct unic_ctl_mr_advise r;
	struct unic_region *mr;

	memcpy(&r, req->rec, sizeof(r));
	mr = mr_get(req, unic_from_le32(r.id));
	offset = unic_from_le64(r.offset);
	length = unic_from_le64(r.length);
	if (!mr || mr->state < R_ACTIVE || mr->state == R_EVICTED) {
		unic_req_status(req, UNIC_ST_NO_MR);
		return;
	}
	if (!length || offset >= mr->length || length > mr->length - offset ||
	    unic_from_le32(r.advice) < UNIC_ADVISE_WILL_NEED ||
	    unic_from_le32(r.advice) > UNIC_ADVISE_DONT_NEED) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	if (mr->residency == UNIC_RESIDENT) { /* all pages are on the NIC */
		unic_req_status(req, UNIC_ST_OK);
		return;
	}
	first = (mr->iova + offset) >> mr->page_shift;
	last = (mr->iova + offset + length - 1) >> mr->page_shift;
	cmd.mr = unic_to_le32(mr->mr);
	cmd.gen = unic_to_le32(mr->gen);
	cmd.first =
		unic_to_le32((uint32_t)(first - (mr->iova >> mr->page_shift)));
	cmd.count = unic_to_le32((uint32_t)(last - first + 1));
	cmd.advice = r.advice;
	unic_req_send(req, UNIC_CMD_MR_ADVISE, &cmd, unic_req_done_status);
}
