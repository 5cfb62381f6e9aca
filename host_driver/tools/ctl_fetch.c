/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_fetch.c - requests to the driver, and names for the fields of its answers.
 */
#include "ctl_fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl_histogram.h"
#include "ctl_json.h"
#include "ctl_words.h"
#include "error.h"
#include "unic.h"
#include "unic_stats.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ------------------------------------------------------------ info, stats */

static const char *const nic_states[] = { "resetting", "ready", "failed",
					  "crashed" };
static const char *const nic_there[] = { "absent", "starting", "ready",
					 "dead" };

/* The names of what a NIC has, "bit35" for one that this program does not know. */
static struct json_object *feature_list(uint64_t features)
{
	struct json_object *list = json_object_new_array();
	char text[16];
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		const char *name = ctl_feature_name(bit);

		if (!(features >> bit & 1))
			continue;
		snprintf(text, sizeof(text), "bit%u", bit);
		json_object_array_add(
			list, json_object_new_string(name ? name : text));
	}
	return list;
}

static void add_flag(struct json_object *o, const char *key, bool is_set)
{
	json_object_object_add(o, key, json_object_new_boolean(is_set));
}

static void add_nic(struct json_object *o, const struct unic_info *i)
{
	char mac[18];

	ctl_add_text(o, "build", i->build_id, sizeof(i->build_id));
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", i->mac[0],
		 i->mac[1], i->mac[2], i->mac[3], i->mac[4], i->mac[5]);
	ctl_add_string(o, "mac", mac);
	ctl_add_ipv4(o, "ipv4", unic_from_le32(i->ipv4));
	ctl_add_name(o, "state", nic_states, COUNT(nic_states),
		     unic_from_le32(i->state));
	ctl_add_u64(o, "abi_major", unic_from_le16(i->abi_major));
	ctl_add_u64(o, "abi_minor", unic_from_le16(i->abi_minor));
	json_object_object_add(o, "features",
			       feature_list(unic_from_le64(i->features)));
	ctl_add_u64(o, "epoch", unic_from_le32(i->boot_epoch));
	ctl_add_u64(o, "heartbeat", unic_from_le32(i->heartbeat));
	add_flag(o, "link_up", i->link_up);
	ctl_add_u64(o, "bus_lost", unic_from_le32(i->bus_lost));
	ctl_add_u64(o, "wire_lost", unic_from_le32(i->wire_lost));
	add_flag(o, "icrc_offload", i->icrc_offload);
	ctl_add_u64(o, "path_mtu", unic_from_le32(i->path_mtu));
	ctl_add_u64(o, "tlb_entries", unic_from_le32(i->tlb_entries));
	ctl_add_u64(o, "mrs", unic_from_le32(i->mrs));
	ctl_add_u64(o, "qps", unic_from_le32(i->qps));
	ctl_add_u64(o, "cqs", unic_from_le32(i->cqs));
	ctl_add_u64(o, "tokens", unic_from_le32(i->tokens));
	ctl_add_u64(o, "procs", unic_from_le32(i->procs));
	ctl_add_u64(o, "nic_bytes", unic_from_le32(i->nic_bytes));
	ctl_add_u64(o, "grace_us", unic_from_le32(i->grace_us));
	ctl_add_u64(o, "deliver_us", unic_from_le32(i->deliver_us));
	ctl_add_u64(o, "reaper_us", unic_from_le32(i->reaper_us));
	ctl_add_u64(o, "drain_us", unic_from_le32(i->drain_us));
}

struct json_object *ctl_info(struct unic_conn *conn)
{
	union {
		struct unic_ctl_plain req;
		struct unic_ctl_info_reply reply;
	} rec;
	struct unic_info info;
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = &info,
				       .reply_room = sizeof(info) };
	struct json_object *o;

	memset(&rec, 0, sizeof(rec));
	memset(&info, 0, sizeof(info));
	if (unic_fail_status("info",
			     unic_conn_call(conn, UNIC_CTL_INFO, &call)))
		return NULL;
	o = json_object_new_object();
	ctl_add_text(o, "provider", rec.reply.provider,
		     sizeof(rec.reply.provider));
	ctl_add_name(o, "nic", nic_there, COUNT(nic_there),
		     unic_from_le32(rec.reply.nic_there));
	ctl_add_u64(o, "driver_pid", unic_from_le32(rec.reply.driver_pid));
	ctl_add_u64(o, "slots", unic_from_le32(rec.reply.slots));
	ctl_add_u64(o, "slots_used", unic_from_le32(rec.reply.slots_used));
	ctl_add_u64(o, "resets", unic_from_le32(rec.reply.resets));
	if (call.reply_bytes == sizeof(info))
		add_nic(o, &info);
	return o;
}

struct json_object *ctl_stats(struct unic_conn *conn)
{
	union {
		struct unic_ctl_plain req;
		struct unic_ctl_stats_reply reply;
	} rec;
	unic_le64 value[512];
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = value,
				       .reply_room = sizeof(value) };
	struct json_object *o;
	struct json_object *d;
	size_t i;

	memset(&rec, 0, sizeof(rec));
	if (unic_fail_status("stats",
			     unic_conn_call(conn, UNIC_CTL_STATS, &call)))
		return NULL;
	o = json_object_new_object();
	ctl_add_u64(o, "time_ns", unic_from_le64(rec.reply.time_ns));
	d = json_object_new_object();
	for (i = 0; i < call.reply_bytes / sizeof(value[0]); i++) {
		if (ctl_counter_name((uint32_t)i))
			ctl_add_u64(d, ctl_counter_name((uint32_t)i),
				    unic_from_le64(value[i]));
	}
	json_object_object_add(o, "nic", d);
	d = json_object_new_object();
	ctl_add_u64(d, "commands", unic_from_le32(rec.reply.commands));
	ctl_add_u64(d, "timeouts", unic_from_le32(rec.reply.timeouts));
	ctl_add_u64(d, "bad_records", unic_from_le32(rec.reply.bad_records));
	ctl_add_u64(d, "upcalls", unic_from_le32(rec.reply.upcalls));
	ctl_add_u64(d, "refused", unic_from_le32(rec.reply.refused));
	ctl_add_u64(d, "audits", unic_from_le32(rec.reply.audits));
	json_object_object_add(o, "driver", d);
	return o;
}

/* ---------------------------------------------------------------- tables */

static struct json_object *row_mr(const void *row)
{
	static const char *const state[] = {
		"free", "loading", "active", "notified", "draining", "evicted"
	};
	static const char *const class[] = { "rdma", "messaging", "control" };
	static const char *const residency[] = { "resident", "demand", "table",
						 "physical" };
	static const char *const kind[] = { "plain",   "sub",  "window1",
					    "window2", "fast", "indirect" };
	const struct unic_row_mr *r = row;
	struct json_object *o = json_object_new_object();
	char rights[CTL_RIGHTS_TEXT];

	ctl_add_u64(o, "mr", unic_from_le32(r->index));
	ctl_add_u64(o, "gen", unic_from_le32(r->gen));
	ctl_add_hex(o, "stag", unic_from_le32(r->stag));
	ctl_add_u64(o, "proc", unic_from_le16(r->proc));
	ctl_add_u64(o, "pd", unic_from_le16(r->pd));
	ctl_add_name(o, "kind", kind, COUNT(kind), r->kind);
	ctl_add_u64(o, "dependents", unic_from_le16(r->dependents));
	ctl_add_name(o, "state", state, COUNT(state), r->state);
	ctl_add_name(o, "class", class, COUNT(class), r->mr_class & 15);
	ctl_add_name(o, "residency", residency, COUNT(residency),
		     r->mr_class >> 4);
	ctl_rights_text(rights, r->rights);
	ctl_add_string(o, "rights", rights);
	ctl_add_hex(o, "iova", unic_from_le64(r->iova));
	ctl_add_u64(o, "length", unic_from_le64(r->length));
	ctl_add_u64(o, "page", 1ull << (r->page_shift & 31));
	ctl_add_u64(o, "entries", unic_from_le32(r->entries));
	ctl_add_u64(o, "misses", unic_from_le32(r->misses));
	ctl_add_u64(o, "holds", unic_from_le16(r->holds));
	ctl_add_u64(o, "dmas", unic_from_le16(r->dmas));
	ctl_add_u64(o, "uses", unic_from_le32(r->uses));
	ctl_add_u64(o, "bytes", unic_from_le64(r->bytes));
	return o;
}

static struct json_object *row_tlb(const void *row)
{
	const struct unic_row_tlb *r = row;
	struct json_object *o = json_object_new_object();

	ctl_add_u64(o, "entry", unic_from_le32(r->index));
	ctl_add_u64(o, "mr", unic_from_le32(r->mr));
	ctl_add_u64(o, "page", unic_from_le32(r->page));
	ctl_add_u64(o, "page_bytes",
		    1ull << (unic_from_le32(r->page_shift) & 31));
	ctl_add_hex(o, "bus", unic_from_le64(r->bus));
	return o;
}

static struct json_object *row_token(const void *row)
{
	static const char *const state[] = { "live",  "claimed", "ended",
					     "multi", "wanted",	 "overdue" };
	const struct unic_row_token *r = row;
	struct json_object *o = json_object_new_object();

	ctl_add_u64(o, "token", unic_from_le32(r->index));
	ctl_add_u64(o, "proc", unic_from_le32(r->proc));
	ctl_add_u64(o, "mr", unic_from_le32(r->mr));
	ctl_add_name(o, "state", state, COUNT(state), unic_from_le32(r->state));
	ctl_add_string(o, "end", unic_token_end_str(unic_from_le32(r->end)));
	ctl_add_hex(o, "iova", unic_from_le64(r->iova));
	ctl_add_u64(o, "length", unic_from_le32(r->length));
	ctl_add_u64(o, "placed", unic_from_le32(r->placed));
	ctl_add_u64(o, "expires_ns", unic_from_le64(r->expires_ns));
	ctl_add_ipv4(o, "sender", unic_from_le32(r->sender_ipv4));
	ctl_add_u64(o, "sender_qp", unic_from_le32(r->sender_qpn));
	return o;
}

static const char *const qp_states[] = { "reset", "init", "rtr",
					 "rts",	  "sqe",  "error" };

const char *ctl_qp_state_name(uint32_t state)
{
	return state < COUNT(qp_states) ? qp_states[state] : NULL;
}

static struct json_object *row_qp(const void *row)
{
	static const char *const type[] = { "rc", "uc", "ud" };
	const struct unic_row_qp *r = row;
	struct json_object *o = json_object_new_object();

	ctl_add_u64(o, "qp", unic_from_le32(r->qpn));
	ctl_add_u64(o, "proc", unic_from_le32(r->proc));
	ctl_add_u64(o, "pd", unic_from_le32(r->pd));
	ctl_add_name(o, "type", type, COUNT(type), unic_from_le32(r->type));
	ctl_add_name(o, "state", qp_states, COUNT(qp_states),
		     unic_from_le32(r->state));
	ctl_add_u64(o, "peer_qp", unic_from_le32(r->dest_qpn));
	ctl_add_ipv4(o, "peer", unic_from_le32(r->dest_ipv4));
	ctl_add_u64(o, "sq_psn", unic_from_le32(r->sq_psn));
	ctl_add_u64(o, "una_psn", unic_from_le32(r->una_psn));
	ctl_add_u64(o, "rq_psn", unic_from_le32(r->rq_psn));
	ctl_add_u64(o, "sq_posted", unic_from_le32(r->sq_posted));
	ctl_add_u64(o, "sq_done", unic_from_le32(r->sq_done));
	ctl_add_u64(o, "rq_posted", unic_from_le32(r->rq_posted));
	ctl_add_u64(o, "rq_done", unic_from_le32(r->rq_done));
	ctl_add_u64(o, "retries", unic_from_le32(r->retries));
	ctl_add_u64(o, "rnrs", unic_from_le32(r->rnrs));
	return o;
}

static struct json_object *row_cq(const void *row)
{
	static const char *const error[] = { "none", "overflow", "bus" };
	const struct unic_row_cq *r = row;
	struct json_object *o = json_object_new_object();

	ctl_add_u64(o, "cq", unic_from_le32(r->index));
	ctl_add_u64(o, "proc", unic_from_le32(r->proc));
	ctl_add_u64(o, "pd", unic_from_le32(r->pd));
	ctl_add_u64(o, "mr", unic_from_le32(r->mr));
	ctl_add_hex(o, "iova", unic_from_le64(r->iova));
	ctl_add_u64(o, "entries", unic_from_le32(r->entries));
	ctl_add_u64(o, "written", unic_from_le32(r->written));
	ctl_add_u64(o, "read", unic_from_le32(r->read));
	add_flag(o, "armed", r->armed);
	ctl_add_hex(o, "arm", unic_from_le32(r->arm));
	ctl_add_u64(o, "events", unic_from_le32(r->events));
	ctl_add_u64(o, "users", unic_from_le32(r->users));
	ctl_add_name(o, "error", error, COUNT(error), r->error);
	ctl_add_u64(o, "db_index", r->db_index);
	return o;
}

static struct json_object *row_wait(const void *row)
{
	const struct unic_row_wait *r = row;
	struct json_object *o = json_object_new_object();

	ctl_add_u64(o, "wait", unic_from_le32(r->wait));
	ctl_add_u64(o, "proc", unic_from_le32(r->proc));
	ctl_add_u64(o, "entries", unic_from_le32(r->entries));
	ctl_add_u64(o, "age_us", unic_from_le32(r->age_us));
	return o;
}

static const char *const policies[] = { "default", "random", "lru",
					"s3fifo",  "app",    "lfu" };
_Static_assert(COUNT(policies) == UNIC_POLICIES, "a name for each policy");

int ctl_policy_named(const char *name)
{
	int i;

	for (i = 0; i < UNIC_POLICIES; i++) {
		if (!strcmp(policies[i], name))
			return i;
	}
	return -1;
}

static struct json_object *row_proc(const void *row)
{
	const struct unic_row_proc *r = row;
	struct json_object *o = json_object_new_object();
	uint32_t held = unic_from_le32(r->held);
	uint32_t fair = unic_from_le32(r->fair_share);

	ctl_add_u64(o, "proc", unic_from_le32(r->proc));
	ctl_add_u64(o, "pid", unic_from_le32(r->host_pid));
	ctl_add_u64(o, "held", held);
	ctl_add_u64(o, "fair_share", fair);
	ctl_add_u64(o, "borrowed", held > fair ? held - fair : 0);
	ctl_add_u64(o, "wanted", unic_from_le32(r->wanted));
	ctl_add_u64(o, "control", unic_from_le32(r->control));
	ctl_add_u64(o, "mrs", unic_from_le32(r->mrs));
	ctl_add_u64(o, "qps", unic_from_le32(r->qps));
	ctl_add_u64(o, "tokens", unic_from_le32(r->tokens));
	ctl_add_u64(o, "open_notices", unic_from_le32(r->notices));
	ctl_add_u64(o, "evictions", unic_from_le32(r->evictions));
	ctl_add_u64(o, "late", unic_from_le32(r->late));
	ctl_add_u64(o, "longest_wait_us", unic_from_le32(r->longest_wait_us));
	ctl_add_u64(o, "weight", unic_from_le32(r->weight));
	ctl_add_u64(o, "quota", unic_from_le32(r->quota));
	ctl_add_name(o, "policy", policies, COUNT(policies),
		     unic_from_le32(r->policy));
	return o;
}

static struct json_object *(*const parse_row[])(const void *) = {
	[UNIC_TABLE_TLB] = row_tlb,
	[UNIC_TABLE_MR] = row_mr,
	[UNIC_TABLE_TOKEN] = row_token,
	[UNIC_TABLE_QP] = row_qp,
	[UNIC_TABLE_CQ] = row_cq,
	[UNIC_TABLE_PROC] = row_proc,
	[UNIC_TABLE_WAIT] = row_wait,
	[UNIC_TABLE_HISTOGRAM] = ctl_histogram_row,
};

/* Fetch the rows of @table from *next on, as many as come at once, to @list. Return the
 * status. */
static int fetch_rows(struct unic_conn *conn, enum unic_table table,
		      struct ctl_snapshot *s, struct json_object *list,
		      uint32_t *next)
{
	_Alignas(8) uint8_t row[UNIC_CTL_MSG_MAX];
	union {
		struct unic_ctl_dump req;
		struct unic_ctl_dump_reply reply;
	} rec = { .req = { .table = unic_to_le32(table),
			   .first = unic_to_le32(*next),
			   .snapshot = unic_to_le32(s->number) } };
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = row,
				       .reply_room = sizeof(row) };
	int status = unic_conn_call(conn, UNIC_CTL_DUMP, &call);
	size_t i;

	if (status)
		return status;
	for (i = 0; i < call.reply_bytes / UNIC_ROW_BYTES; i++)
		json_object_array_add(
			list, parse_row[table](row + i * UNIC_ROW_BYTES));
	*next = unic_from_le32(rec.reply.next);
	s->number = unic_from_le32(rec.reply.snapshot);
	s->time_ns = unic_from_le64(rec.reply.time_ns);
	return 0;
}

int ctl_rows(struct unic_conn *conn, enum unic_table table,
	     struct ctl_snapshot *s, struct json_object **list)
{
	uint32_t next = 0;
	uint32_t first;
	int status;

	*list = json_object_new_array();
	do {
		first = next;
		status = fetch_rows(conn, table, s, *list, &next);
	} while (!status &&
		 next > first); /* one that does not advance ends, too */
	if (!status)
		return 0;
	json_object_put(*list);
	*list = NULL;
	return status;
}

struct json_object *ctl_table(struct unic_conn *conn, enum unic_table table)
{
	struct ctl_snapshot now = { 0 };
	struct json_object *list;

	(void)unic_fail_status("dump", ctl_rows(conn, table, &now, &list));
	return list;
}

/* -------------------------------------------------------------------- ps */

#define PROCS_MAX 64 /* that a driver may have; UNIC_HOST_SLOTS_MAX are fewer */

static void add_driver_view(struct json_object *o,
			    const struct unic_ctl_proc *p)
{
	static const char *const state[] = { "?", "attaching", "live",
					     "detaching", "held" };

	ctl_add_u64(o, "proc", unic_from_le32(p->proc));
	ctl_add_u64(o, "pid", unic_from_le32(p->pid));
	ctl_add_u64(o, "uid", unic_from_le32(p->uid));
	ctl_add_text(o, "name", p->name, sizeof(p->name));
	ctl_add_name(o, "state", state, COUNT(state), unic_from_le32(p->state));
	ctl_add_u64(o, "frames", unic_from_le32(p->frames));
	ctl_add_u64(o, "pinned", unic_from_le32(p->pinned));
	ctl_add_u64(o, "regions", unic_from_le32(p->regions));
	ctl_add_u64(o, "waits", unic_from_le32(p->waits));
	ctl_add_u64(o, "upcalls", unic_from_le32(p->upcalls));
	ctl_add_u64(o, "notices", unic_from_le32(p->notices));
	ctl_add_u64(o, "evicted_upcalls", unic_from_le32(p->evictions));
	ctl_add_u64(o, "requests", unic_from_le32(p->requests));
	ctl_add_u64(o, "refused", unic_from_le32(p->refused));
	ctl_add_u64(o, "deliver_mean_us", unic_from_le32(p->deliver_mean_us));
	ctl_add_u64(o, "deliver_max_us", unic_from_le32(p->deliver_max_us));
	ctl_add_u64(o, "answers", unic_from_le32(p->answers));
	ctl_add_u64(o, "answer_mean_us", unic_from_le32(p->answer_mean_us));
	ctl_add_u64(o, "answer_max_us", unic_from_le32(p->answer_max_us));
	ctl_add_u64(o, "deadlines", unic_from_le32(p->deadlines));
}

static void add_missing(struct json_object *o, struct json_object *row)
{
	struct json_object_iterator it = json_object_iter_begin(row);
	struct json_object_iterator end = json_object_iter_end(row);

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);
		struct json_object *v = json_object_iter_peek_value(&it);

		if (!json_object_object_get_ex(o, key, NULL))
			json_object_object_add(o, key, json_object_get(v));
	}
}

/* What the driver says of open notices, in @row, which has room for PROCS_MAX; an older
 * driver says nothing. Return how many rows there are. */
static size_t fetch_graces(struct unic_conn *conn, struct unic_ctl_grace *row)
{
	struct unic_ctl_ps rec = { .what = unic_to_le32(UNIC_CTL_PS_GRACES) };
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = row,
				       .reply_room = PROCS_MAX * sizeof(*row) };

	return unic_conn_call(conn, UNIC_CTL_PS, &call)
		       ? 0
		       : call.reply_bytes / sizeof(*row);
}

/* Add how long the first grace of process @o has left, if it was told of a notice. */
static void add_grace(struct json_object *o, const struct unic_ctl_grace *row,
		      size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (unic_from_le32(row[i].proc) != ctl_u64_of(o, "proc"))
			continue;
		ctl_add_u64(o, "told_notices", unic_from_le32(row[i].notices));
		ctl_add_u64(o, "grace_left_us", unic_from_le32(row[i].left_us));
	}
}

/* Add the members of the NIC's row of slot @proc that @o does not have. */
static void merge_proc_row(struct json_object *o, struct json_object *rows,
			   uint32_t proc)
{
	size_t i;

	for (i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct json_object *v;

		json_object_object_get_ex(row, "proc", &v);
		if ((uint32_t)json_object_get_int64(v) != proc)
			continue;
		add_missing(o, row);
	}
}

struct json_object *ctl_ps(struct unic_conn *conn)
{
	union {
		struct unic_ctl_plain req;
		struct unic_ctl_ps_reply reply;
	} rec;
	struct unic_ctl_proc proc[PROCS_MAX];
	struct unic_ctl_grace grace[PROCS_MAX];
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = proc,
				       .reply_room = sizeof(proc) };
	struct json_object *rows;
	struct json_object *list;
	struct json_object *o;
	size_t i, graces;

	memset(&rec, 0, sizeof(rec));
	if (unic_fail_status("ps", unic_conn_call(conn, UNIC_CTL_PS, &call)))
		return NULL;
	graces = fetch_graces(conn, grace);
	rows = ctl_table(conn, UNIC_TABLE_PROC);
	list = json_object_new_array();
	for (i = 0; i < call.reply_bytes / sizeof(proc[0]); i++) {
		struct json_object *p = json_object_new_object();

		add_driver_view(p, &proc[i]);
		merge_proc_row(p, rows, unic_from_le32(proc[i].proc));
		add_grace(p, grace, graces);
		json_object_array_add(list, p);
	}
	json_object_put(rows);
	o = json_object_new_object();
	json_object_object_add(o, "procs", list);
	rows = ctl_table(conn, UNIC_TABLE_WAIT);
	json_object_object_add(o, "waiting",
			       rows ? rows : json_object_new_array());
	return o;
}

/* ----------------------------------------------------------------- crash */

struct json_object *ctl_crash(struct unic_conn *conn)
{
	static const char *const kind[] = { "none",
					    "assertion",
					    "undefined "
					    "instruction",
					    "prefetch abort",
					    "data abort",
					    "stack overflow",
					    "other" };
	struct unic_ctl_plain rec;
	struct unic_crash crash;
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = &crash,
				       .reply_room = sizeof(crash) };
	struct json_object *o;
	char name[8];
	int i;

	memset(&rec, 0, sizeof(rec));
	memset(&crash, 0, sizeof(crash));
	if (unic_fail_status("crash record",
			     unic_conn_call(conn, UNIC_CTL_CRASH, &call)))
		return NULL;
	o = json_object_new_object();
	ctl_add_name(o, "kind", kind, COUNT(kind), unic_from_le32(crash.kind));
	ctl_add_text(o, "file", crash.file, sizeof(crash.file));
	ctl_add_u64(o, "line", unic_from_le32(crash.line));
	ctl_add_u64(o, "epoch", unic_from_le32(crash.epoch));
	ctl_add_u64(o, "time_ns", unic_from_le64(crash.time_ns));
	ctl_add_hex(o, "fault_status", unic_from_le32(crash.fault_status));
	ctl_add_hex(o, "fault_addr", unic_from_le32(crash.fault_addr));
	ctl_add_u64(o, "trace_seq", unic_from_le32(crash.trace_seq));
	for (i = 0; i < 17; i++) {
		snprintf(name, sizeof(name), i < 16 ? "r%d" : "cpsr", i);
		ctl_add_hex(o, name, unic_from_le32(crash.reg[i]));
	}
	return o;
}
