/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* snapshot.c - see snapshot.h. */
#include "snapshot.h"

#include "device.h"
#include "request.h"
#include "unic_cmd_dump.h"

#define KEPT_NS	  10000000000ull /* for a client that goes on living */
#define AGAIN_NS  (2ull * UNIC_SNAPSHOT_NS) /* then the NIC takes another */
#define TRIES	  3u			    /* to read one */
#define ROWS_MAX  (1u << 16)		    /* of all tables */
#define PER_LIST  (UNIC_LIST_BYTES / UNIC_ROW_BYTES)
#define HIST_ROWS (UNIC_HIST_COUNT * UNIC_HIST_BUCKETS / UNIC_HIST_ROW)

static void forget(struct unic_hsnapshot *s, struct unic_os *os)
{
	unic_os_free(os, s->row);
	s->row = NULL;
	s->client = NULL;
}

/* --------------------------------------------------------------------- answers */

/* Answer @req with rows of @table from the one at place @first on. */
static void answer_rows(struct unic_req *req, uint32_t table, uint32_t first)
{
	const struct unic_hsnapshot *s = &req->host->snapshot;
	uint32_t at = s->end[table - 1] + first;
	uint32_t n = s->end[table] - at;
	struct unic_ctl_dump_reply r = { .snapshot = unic_to_le32(s->number),
					 .time_ns = unic_to_le64(s->time_ns) };

	if (n > PER_LIST) {
		n = PER_LIST;
		r.next = unic_to_le32(first + n);
	}
	r.rows = unic_to_le32(n);
	unic_req_answer(req, UNIC_ST_OK, &r, s->row[at], n * UNIC_ROW_BYTES);
}

/* ----------------------------------------------------------------------- fetch */

/* The fetch is over: rows are there if @status is OK. */
static void finish(struct unic_req *req, uint32_t status)
{
	struct unic_host *host = req->host;
	struct unic_hsnapshot *s = &host->snapshot;
	struct unic_ctl_dump r;

	s->fetch = NULL;
	if (status || !req->client) {
		forget(s, host->os);
		unic_req_status(req, status);
		return;
	}
	s->number = s->number + 1 < UNIC_SNAPSHOT_TAKE ? s->number + 1 : 1;
	s->client = req->client;
	s->next_ns = unic_os_now_ns(host->os) + KEPT_NS;
	memcpy(&r, req->rec, sizeof(r));
	answer_rows(req, unic_from_le32(r.table), 0);
}

static void done_last(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);

	finish(req, req->host->snapshot.status);
}

/* Let the NIC go on, and the commands that wait. Then the answer is @status. */
static void send_last(struct unic_req *req, uint32_t status)
{
	struct unic_cmd_nop nop = { 0 };

	req->host->snapshot.status = status;
	req->call.order = UNIC_CALL_LAST;
	unic_req_send(req, UNIC_CMD_NOP, &nop, done_last);
}

static void done_rows(struct unic_call *call);

static void send_dump(struct unic_req *req, uint32_t snapshot, uint32_t first)
{
	struct unic_cmd_dump cmd = {
		.table = unic_to_le32(req->host->snapshot.table),
		.first = unic_to_le32(first),
		.snapshot = unic_to_le32(snapshot),
	};

	req->call.order = snapshot == UNIC_SNAPSHOT_TAKE ? UNIC_CALL_FIRST
							 : UNIC_CALL_NEXT;
	unic_req_send(req, UNIC_CMD_DUMP, &cmd, done_rows);
}

static void take(struct unic_req *req)
{
	struct unic_hsnapshot *s = &req->host->snapshot;

	s->tries++;
	s->next_ns = UINT64_MAX;
	s->rows = 0;
	s->table = UNIC_TABLE_TLB;
	send_dump(req, UNIC_SNAPSHOT_TAKE, 0);
}

/* The NIC has ended it, or takes none yet. */
static void take_later(struct unic_req *req)
{
	struct unic_hsnapshot *s = &req->host->snapshot;

	if (s->tries < TRIES)
		s->next_ns = unic_os_now_ns(req->host->os) + AGAIN_NS;
	else
		finish(req, UNIC_ST_EVICTED);
}

static uint32_t last_table(const struct unic_host *host)
{
	return host->features & UNIC_FEAT_HISTOGRAMS ? UNIC_TABLE_HISTOGRAM
						     : UNIC_TABLE_WAIT;
}

/* Copy the rows of a completion. False: a NIC does not answer so. */
static bool keep_rows(struct unic_hsnapshot *s, const struct unic_call *call,
		      const struct unic_cpl_dump *cpl)
{
	uint32_t n = unic_from_le32(cpl->rows);
	uint32_t number = unic_from_le32(cpl->snapshot);
	struct unic_cmd_dump cmd;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	if (!number || number == UNIC_SNAPSHOT_TAKE || n > PER_LIST ||
	    n > s->room - s->rows ||
	    (call->order == UNIC_CALL_NEXT && number != s->of_nic) ||
	    (cpl->next &&
	     (!n || unic_from_le32(cpl->next) <= unic_from_le32(cmd.first))))
		return false;
	memcpy(s->row[s->rows], call->list, n * UNIC_ROW_BYTES);
	s->rows += n;
	s->of_nic = number;
	s->time_ns = unic_from_le64(cpl->time_ns);
	return true;
}

static void done_rows(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_hsnapshot *s = &req->host->snapshot;
	uint32_t status = unic_call_status(call);
	struct unic_cpl_dump cpl;

	memcpy(&cpl, call->cpl, sizeof(cpl));
	if (status == UNIC_ST_EVICTED || status == UNIC_ST_BUSY) {
		take_later(req);
	} else if (status) {
		finish(req, status);
	} else if (!keep_rows(s, call, &cpl)) {
		send_last(req, UNIC_CTL_ST_NO_NIC);
	} else if (cpl.next) {
		send_dump(req, s->of_nic, unic_from_le32(cpl.next));
	} else {
		s->end[s->table] = s->rows;
		s->end[UNIC_TABLE_HISTOGRAM] = s->rows;
		if (s->table++ == last_table(req->host))
			send_last(req, UNIC_ST_OK);
		else
			send_dump(req, s->of_nic, 0);
	}
}

/* Rows of all tables, as the device says. */
static uint64_t rows_of_all(struct unic_host *host)
{
	struct unic_info info;
	uint64_t n;

	unic_device_info(host, &info);
	n = HIST_ROWS;
	n += unic_from_le32(info.tlb_entries);
	n += unic_from_le32(info.mrs);
	n += unic_from_le32(info.tokens);
	n += unic_from_le32(info.qps);
	n += unic_from_le32(info.cqs);
	n += unic_from_le32(info.procs);
	n += unic_from_le32(info.waits);
	return n;
}

static void begin(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_hsnapshot *s = &host->snapshot;
	uint64_t rows = rows_of_all(host);

	forget(s, host->os);
	if (rows <= ROWS_MAX && unic_req_list(req, UNIC_LIST_BYTES))
		s->row = unic_os_alloc(host->os, (size_t)rows * UNIC_ROW_BYTES);
	if (!s->row) {
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	s->room = (uint32_t)rows;
	s->fetch = req;
	s->tries = 0;
	take(req);
}

/* ---------------------------------------------------------------------- the rest */

static void read_kept(struct unic_req *req, const struct unic_ctl_dump *r)
{
	const struct unic_hsnapshot *s = &req->host->snapshot;
	uint32_t table = unic_from_le32(r->table);
	uint32_t first = unic_from_le32(r->first);

	if (!s->row || s->fetch || unic_from_le32(r->snapshot) != s->number)
		unic_req_status(req, UNIC_ST_EVICTED);
	else if (first && first >= s->end[table] - s->end[table - 1])
		unic_req_status(req, UNIC_ST_INVALID);
	else
		answer_rows(req, table, first);
}

void unic_snapshot_dump(struct unic_req *req, const struct unic_ctl_dump *r)
{
	struct unic_host *host = req->host;
	uint32_t table = unic_from_le32(r->table);
	bool taken = unic_from_le32(r->snapshot) != UNIC_SNAPSHOT_TAKE;

	if (!(host->features & UNIC_FEAT_SNAPSHOT))
		unic_req_status(req, UNIC_CTL_ST_UNSUPPORTED);
	else if (!table || table > last_table(host) || (r->first && !taken))
		unic_req_status(req, UNIC_ST_INVALID);
	else if (taken)
		read_kept(req, r);
	else if (host->snapshot.fetch)
		unic_req_status(req, UNIC_ST_BUSY);
	else
		begin(req);
}

uint64_t unic_snapshot_poll(struct unic_host *host, uint64_t now, uint64_t next)
{
	struct unic_hsnapshot *s = &host->snapshot;

	if (!host->epoch && s->fetch && s->fetch->call.state == UNIC_CALL_IDLE)
		finish(s->fetch, UNIC_CTL_ST_RESET);
	if (!s->row)
		return next;
	if (now < s->next_ns)
		return s->next_ns < next ? s->next_ns : next;
	if (!s->fetch)
		forget(s, host->os);
	else
		take(s->fetch);
	return next;
}

void unic_snapshot_client_gone(struct unic_host *host,
			       const struct unic_client *client)
{
	if (host->snapshot.client == client)
		forget(&host->snapshot, host->os);
}
