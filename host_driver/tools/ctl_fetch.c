/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_fetch.c - asking the driver, and naming what it answers.
 */
#include "ctl_fetch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "unic.h"
#include "unic_stats.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void add_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)v));
}

static void add_s(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

/* Text of a device: perhaps not terminated, perhaps not text. */
static void add_text(struct json_object *o, const char *key, const uint8_t *b,
		     size_t n)
{
	char text[64];
	size_t i;

	for (i = 0; i < n && i < sizeof(text) - 1 && b[i]; i++)
		text[i] = b[i] >= ' ' && b[i] < 127 ? (char)b[i] : '?';
	text[i] = '\0';
	add_s(o, key, text);
}

static void add_ipv4(struct json_object *o, const char *key, uint32_t ipv4)
{
	struct in_addr addr = { .s_addr = htonl(ipv4) };
	char text[INET_ADDRSTRLEN];

	add_s(o, key, inet_ntop(AF_INET, &addr, text, sizeof(text)));
}

static void add_hex(struct json_object *o, const char *key, uint64_t v)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v);
	add_s(o, key, text);
}

static void add_name(struct json_object *o, const char *key,
		     const char *const *names, size_t n, uint32_t v)
{
	char text[16];

	if (v < n && names[v]) {
		add_s(o, key, names[v]);
		return;
	}
	snprintf(text, sizeof(text), "%u", v);
	add_s(o, key, text);
}

/* ------------------------------------------------------------ info, stats */

static const char *const nic_states[] = { "resetting", "ready", "failed",
					  "crashed" };
static const char *const nic_there[] = { "absent", "starting", "ready",
					 "dead" };

static void add_nic(struct json_object *o, const struct unic_info *i)
{
	char mac[18];

	add_text(o, "build", i->build_id, sizeof(i->build_id));
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", i->mac[0],
		 i->mac[1], i->mac[2], i->mac[3], i->mac[4], i->mac[5]);
	add_s(o, "mac", mac);
	add_ipv4(o, "ipv4", unic_from_le32(i->ipv4));
	add_name(o, "state", nic_states, COUNT(nic_states),
		 unic_from_le32(i->state));
	add_u64(o, "abi_major", unic_from_le16(i->abi_major));
	add_u64(o, "abi_minor", unic_from_le16(i->abi_minor));
	add_hex(o, "features", unic_from_le64(i->features));
	add_u64(o, "epoch", unic_from_le32(i->boot_epoch));
	add_u64(o, "heartbeat", unic_from_le32(i->heartbeat));
	add_u64(o, "link_up", i->link_up);
	add_u64(o, "icrc_offload", i->icrc_offload);
	add_u64(o, "path_mtu", unic_from_le32(i->path_mtu));
	add_u64(o, "tlb_entries", unic_from_le32(i->tlb_entries));
	add_u64(o, "mrs", unic_from_le32(i->mrs));
	add_u64(o, "qps", unic_from_le32(i->qps));
	add_u64(o, "cqs", unic_from_le32(i->cqs));
	add_u64(o, "tokens", unic_from_le32(i->tokens));
	add_u64(o, "procs", unic_from_le32(i->procs));
	add_u64(o, "nic_bytes", unic_from_le32(i->nic_bytes));
	add_u64(o, "grace_us", unic_from_le32(i->grace_us));
	add_u64(o, "deliver_us", unic_from_le32(i->deliver_us));
	add_u64(o, "reaper_us", unic_from_le32(i->reaper_us));
	add_u64(o, "drain_us", unic_from_le32(i->drain_us));
}

struct json_object *ctl_info(struct unic_conn *conn)
{
	union {
		struct unic_ctl_plain req;
		struct unic_ctl_info_reply reply;
	} rec;
	struct unic_info info;
	struct unic_call call = { .rec = &rec,
				  .reply_tail = &info,
				  .reply_room = sizeof(info) };
	struct json_object *o;

	memset(&rec, 0, sizeof(rec));
	memset(&info, 0, sizeof(info));
	if (unic_fail_status("info",
			     unic_conn_call(conn, UNIC_CTL_INFO, &call)))
		return NULL;
	o = json_object_new_object();
	add_text(o, "provider", rec.reply.provider, sizeof(rec.reply.provider));
	add_name(o, "nic", nic_there, COUNT(nic_there),
		 unic_from_le32(rec.reply.nic_there));
	add_u64(o, "driver_pid", unic_from_le32(rec.reply.driver_pid));
	add_u64(o, "slots", unic_from_le32(rec.reply.slots));
	add_u64(o, "slots_used", unic_from_le32(rec.reply.slots_used));
	add_u64(o, "resets", unic_from_le32(rec.reply.resets));
	if (call.reply_bytes == sizeof(info))
		add_nic(o, &info);
	return o;
}

#define NAME(name, what) #name,
static const char *const counter_names[] = { UNIC_COUNTERS(NAME) };

struct json_object *ctl_stats(struct unic_conn *conn)
{
	union {
		struct unic_ctl_plain req;
		struct unic_ctl_stats_reply reply;
	} rec;
	unic_le64 value[512];
	struct unic_call call = { .rec = &rec,
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
	add_u64(o, "time_ns", unic_from_le64(rec.reply.time_ns));
	d = json_object_new_object();
	for (i = 0; i < call.reply_bytes / sizeof(value[0]); i++) {
		if (i < COUNT(counter_names))
			add_u64(d, counter_names[i], unic_from_le64(value[i]));
	}
	json_object_object_add(o, "nic", d);
	d = json_object_new_object();
	add_u64(d, "commands", unic_from_le32(rec.reply.commands));
	add_u64(d, "timeouts", unic_from_le32(rec.reply.timeouts));
	add_u64(d, "bad_records", unic_from_le32(rec.reply.bad_records));
	add_u64(d, "upcalls", unic_from_le32(rec.reply.upcalls));
	add_u64(d, "refused", unic_from_le32(rec.reply.refused));
	add_u64(d, "audits", unic_from_le32(rec.reply.audits));
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

	add_u64(o, "mr", unic_from_le32(r->index));
	add_u64(o, "gen", unic_from_le32(r->gen));
	add_hex(o, "stag", unic_from_le32(r->stag));
	add_u64(o, "proc", unic_from_le16(r->proc));
	add_u64(o, "pd", unic_from_le16(r->pd));
	add_name(o, "kind", kind, COUNT(kind), r->kind);
	add_u64(o, "dependents", unic_from_le16(r->dependents));
	add_name(o, "state", state, COUNT(state), r->state);
	add_name(o, "class", class, COUNT(class), r->mr_class & 15);
	add_name(o, "residency", residency, COUNT(residency), r->mr_class >> 4);
	add_hex(o, "rights", r->rights);
	add_hex(o, "iova", unic_from_le64(r->iova));
	add_u64(o, "length", unic_from_le64(r->length));
	add_u64(o, "page", 1ull << (r->page_shift & 31));
	add_u64(o, "entries", unic_from_le32(r->entries));
	add_u64(o, "misses", unic_from_le32(r->misses));
	add_u64(o, "holds", unic_from_le16(r->holds));
	add_u64(o, "dmas", unic_from_le16(r->dmas));
	add_u64(o, "uses", unic_from_le32(r->uses));
	add_u64(o, "bytes", unic_from_le64(r->bytes));
	return o;
}

static struct json_object *row_tlb(const void *row)
{
	const struct unic_row_tlb *r = row;
	struct json_object *o = json_object_new_object();

	add_u64(o, "entry", unic_from_le32(r->index));
	add_u64(o, "mr", unic_from_le32(r->mr));
	add_u64(o, "page", unic_from_le32(r->page));
	add_u64(o, "page_shift", unic_from_le32(r->page_shift));
	add_hex(o, "bus", unic_from_le64(r->bus));
	return o;
}

static struct json_object *row_token(const void *row)
{
	static const char *const state[] = { "live", "claimed", "ended",
					     "multi" };
	const struct unic_row_token *r = row;
	struct json_object *o = json_object_new_object();

	add_u64(o, "token", unic_from_le32(r->index));
	add_u64(o, "proc", unic_from_le32(r->proc));
	add_u64(o, "mr", unic_from_le32(r->mr));
	add_name(o, "state", state, COUNT(state), unic_from_le32(r->state));
	add_s(o, "end", unic_token_end_str(unic_from_le32(r->end)));
	add_hex(o, "iova", unic_from_le64(r->iova));
	add_u64(o, "length", unic_from_le32(r->length));
	add_u64(o, "placed", unic_from_le32(r->placed));
	add_u64(o, "expires_ns", unic_from_le64(r->expires_ns));
	add_ipv4(o, "sender", unic_from_le32(r->sender_ipv4));
	add_u64(o, "sender_qp", unic_from_le32(r->sender_qpn));
	return o;
}

static struct json_object *row_qp(const void *row)
{
	static const char *const state[] = { "reset", "init", "rtr",
					     "rts",   "sqe",  "error" };
	static const char *const type[] = { "rc", "uc", "ud" };
	const struct unic_row_qp *r = row;
	struct json_object *o = json_object_new_object();

	add_u64(o, "qp", unic_from_le32(r->qpn));
	add_u64(o, "proc", unic_from_le32(r->proc));
	add_u64(o, "pd", unic_from_le32(r->pd));
	add_name(o, "type", type, COUNT(type), unic_from_le32(r->type));
	add_name(o, "state", state, COUNT(state), unic_from_le32(r->state));
	add_u64(o, "peer_qp", unic_from_le32(r->dest_qpn));
	add_ipv4(o, "peer", unic_from_le32(r->dest_ipv4));
	add_u64(o, "sq_psn", unic_from_le32(r->sq_psn));
	add_u64(o, "una_psn", unic_from_le32(r->una_psn));
	add_u64(o, "rq_psn", unic_from_le32(r->rq_psn));
	add_u64(o, "sq_posted", unic_from_le32(r->sq_posted));
	add_u64(o, "sq_done", unic_from_le32(r->sq_done));
	add_u64(o, "rq_posted", unic_from_le32(r->rq_posted));
	add_u64(o, "rq_done", unic_from_le32(r->rq_done));
	add_u64(o, "retries", unic_from_le32(r->retries));
	add_u64(o, "rnrs", unic_from_le32(r->rnrs));
	return o;
}

static struct json_object *row_cq(const void *row)
{
	static const char *const error[] = { "none", "overflow", "bus" };
	const struct unic_row_cq *r = row;
	struct json_object *o = json_object_new_object();

	add_u64(o, "cq", unic_from_le32(r->index));
	add_u64(o, "proc", unic_from_le32(r->proc));
	add_u64(o, "pd", unic_from_le32(r->pd));
	add_u64(o, "mr", unic_from_le32(r->mr));
	add_hex(o, "iova", unic_from_le64(r->iova));
	add_u64(o, "entries", unic_from_le32(r->entries));
	add_u64(o, "written", unic_from_le32(r->written));
	add_u64(o, "read", unic_from_le32(r->read));
	add_u64(o, "armed", r->armed);
	add_hex(o, "arm", unic_from_le32(r->arm));
	add_u64(o, "events", unic_from_le32(r->events));
	add_u64(o, "users", unic_from_le32(r->users));
	add_name(o, "error", error, COUNT(error), r->error);
	add_u64(o, "db_index", r->db_index);
	return o;
}

static struct json_object *row_wait(const void *row)
{
	const struct unic_row_wait *r = row;
	struct json_object *o = json_object_new_object();

	add_u64(o, "wait", unic_from_le32(r->wait));
	add_u64(o, "proc", unic_from_le32(r->proc));
	add_u64(o, "entries", unic_from_le32(r->entries));
	add_u64(o, "age_us", unic_from_le32(r->age_us));
	return o;
}

static struct json_object *row_proc(const void *row)
{
	static const char *const policy[] = { "default", "random", "lru",
					      "s3fifo", "app" };
	const struct unic_row_proc *r = row;
	struct json_object *o = json_object_new_object();
	uint32_t held = unic_from_le32(r->held);
	uint32_t fair = unic_from_le32(r->fair_share);

	add_u64(o, "proc", unic_from_le32(r->proc));
	add_u64(o, "pid", unic_from_le32(r->host_pid));
	add_u64(o, "held", held);
	add_u64(o, "fair_share", fair);
	add_u64(o, "borrowed", held > fair ? held - fair : 0);
	add_u64(o, "wanted", unic_from_le32(r->wanted));
	add_u64(o, "control", unic_from_le32(r->control));
	add_u64(o, "mrs", unic_from_le32(r->mrs));
	add_u64(o, "qps", unic_from_le32(r->qps));
	add_u64(o, "tokens", unic_from_le32(r->tokens));
	add_u64(o, "open_notices", unic_from_le32(r->notices));
	add_u64(o, "evictions", unic_from_le32(r->evictions));
	add_u64(o, "late", unic_from_le32(r->late));
	add_u64(o, "longest_wait_us", unic_from_le32(r->longest_wait_us));
	add_u64(o, "weight", unic_from_le32(r->weight));
	add_u64(o, "quota", unic_from_le32(r->quota));
	add_name(o, "policy", policy, COUNT(policy), unic_from_le32(r->policy));
	return o;
}

/* All rows of a table, in as many requests as it takes. */
static struct json_object *
dump_table(struct unic_conn *conn, enum unic_table table,
	   struct json_object *(*parse)(const void *))
{
	_Alignas(8) uint8_t row[UNIC_CTL_MSG_MAX];
	struct json_object *list = json_object_new_array();
	uint32_t first = 0;
	uint32_t next;
	size_t i;

	do {
		union {
			struct unic_ctl_dump req;
			struct unic_ctl_dump_reply reply;
		} rec = { .req = { .table = unic_to_le32(table),
				   .first = unic_to_le32(first) } };
		struct unic_call call = { .rec = &rec,
					  .reply_tail = row,
					  .reply_room = sizeof(row) };

		if (unic_fail_status("dump", unic_conn_call(conn, UNIC_CTL_DUMP,
							    &call))) {
			json_object_put(list);
			return NULL;
		}
		for (i = 0; i < call.reply_bytes / UNIC_ROW_BYTES; i++)
			json_object_array_add(list,
					      parse(row + i * UNIC_ROW_BYTES));
		next = unic_from_le32(rec.reply.next);
		if (next <= first)
			break; /* also: a driver that goes in circles */
		first = next;
	} while (next);
	return list;
}

struct json_object *ctl_mr(struct unic_conn *conn)
{
	return dump_table(conn, UNIC_TABLE_MR, row_mr);
}

struct json_object *ctl_tlb(struct unic_conn *conn)
{
	return dump_table(conn, UNIC_TABLE_TLB, row_tlb);
}

struct json_object *ctl_tokens(struct unic_conn *conn)
{
	return dump_table(conn, UNIC_TABLE_TOKEN, row_token);
}

struct json_object *ctl_qp(struct unic_conn *conn)
{
	return dump_table(conn, UNIC_TABLE_QP, row_qp);
}

struct json_object *ctl_cq(struct unic_conn *conn)
{
	return dump_table(conn, UNIC_TABLE_CQ, row_cq);
}

/* -------------------------------------------------------------------- ps */

static void add_driver_view(struct json_object *o,
			    const struct unic_ctl_proc *p)
{
	static const char *const state[] = { "?", "attaching", "live",
					     "detaching", "held" };

	add_u64(o, "proc", unic_from_le32(p->proc));
	add_u64(o, "pid", unic_from_le32(p->pid));
	add_u64(o, "uid", unic_from_le32(p->uid));
	add_text(o, "name", p->name, sizeof(p->name));
	add_name(o, "state", state, COUNT(state), unic_from_le32(p->state));
	add_u64(o, "frames", unic_from_le32(p->frames));
	add_u64(o, "pinned", unic_from_le32(p->pinned));
	add_u64(o, "regions", unic_from_le32(p->regions));
	add_u64(o, "waits", unic_from_le32(p->waits));
	add_u64(o, "upcalls", unic_from_le32(p->upcalls));
	add_u64(o, "notices", unic_from_le32(p->notices));
	add_u64(o, "evicted_upcalls", unic_from_le32(p->evictions));
	add_u64(o, "requests", unic_from_le32(p->requests));
	add_u64(o, "refused", unic_from_le32(p->refused));
	add_u64(o, "deliver_mean_us", unic_from_le32(p->deliver_mean_us));
	add_u64(o, "deliver_max_us", unic_from_le32(p->deliver_max_us));
	add_u64(o, "answers", unic_from_le32(p->answers));
	add_u64(o, "answer_mean_us", unic_from_le32(p->answer_mean_us));
	add_u64(o, "answer_max_us", unic_from_le32(p->answer_max_us));
	add_u64(o, "deadlines", unic_from_le32(p->deadlines));
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

/* The NIC's row of the same slot, without what is there already. */
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
	struct unic_ctl_proc proc[64];
	struct unic_call call = { .rec = &rec,
				  .reply_tail = proc,
				  .reply_room = sizeof(proc) };
	struct json_object *rows;
	struct json_object *list;
	struct json_object *o;
	size_t i;

	memset(&rec, 0, sizeof(rec));
	if (unic_fail_status("ps", unic_conn_call(conn, UNIC_CTL_PS, &call)))
		return NULL;
	rows = dump_table(conn, UNIC_TABLE_PROC, row_proc);
	list = json_object_new_array();
	for (i = 0; i < call.reply_bytes / sizeof(proc[0]); i++) {
		struct json_object *p = json_object_new_object();

		add_driver_view(p, &proc[i]);
		merge_proc_row(p, rows, unic_from_le32(proc[i].proc));
		json_object_array_add(list, p);
	}
	json_object_put(rows);
	o = json_object_new_object();
	json_object_object_add(o, "procs", list);
	rows = dump_table(conn, UNIC_TABLE_WAIT, row_wait);
	json_object_object_add(o, "waiting",
			       rows ? rows : json_object_new_array());
	return o;
}

/* ------------------------------------------------------------ trace, crash */

#define TEXT(name, group, text)	 text,
#define TNAME(name, group, text) #name,
static const char *const trace_texts[] = { UNIC_TRACES(TEXT) };
static const char *const trace_names[] = { UNIC_TRACES(TNAME) };

/* "%0" to "%3" decimal, "%x0" to "%x3" in hex. */
static void format_trace(const char *text, const uint32_t arg[4], char *out,
			 size_t room)
{
	size_t n = 0;

	for (; *text && n + 12 < room; text++) {
		bool hex = text[0] == '%' && text[1] == 'x';
		char digit = text[0] == '%' ? text[1 + hex] : '\0';

		if (digit < '0' || digit > '3') {
			out[n++] = *text;
			continue;
		}
		n += (size_t)snprintf(out + n, room - n, hex ? "0x%x" : "%u",
				      arg[digit - '0']);
		text += 1 + hex;
	}
	out[n] = '\0';
}

static struct json_object *
build_trace_event(const struct unic_trace_rec *r,
		  const struct unic_ctl_trace_reply *t)
{
	struct json_object *o = json_object_new_object();
	uint32_t code = unic_from_le16(r->code);
	uint64_t ns = unic_from_le64(r->time_ns);
	uint32_t arg[4];
	char text[160] = "";
	int i;

	for (i = 0; i < 4; i++)
		arg[i] = unic_from_le32(r->arg[i]);
	if (code < UNIC_T_COUNT)
		format_trace(trace_texts[code], arg, text, sizeof(text));
	add_u64(o, "seq", unic_from_le32(r->seq));
	add_u64(o, "time_ns", ns);
	if (t->pair_host_ns)
		add_u64(o, "host_ns",
			ns - unic_from_le64(t->pair_nic_ns) +
				unic_from_le64(t->pair_host_ns));
	add_name(o, "event", trace_names, UNIC_T_COUNT, code);
	add_u64(o, "proc", unic_from_le16(r->proc));
	add_s(o, "text", text);
	return o;
}

struct json_object *ctl_trace(struct unic_conn *conn, uint32_t *from)
{
	union {
		struct unic_ctl_trace req;
		struct unic_ctl_trace_reply reply;
	} rec = { .req = { .from = unic_to_le32(*from) } };
	_Alignas(8) uint8_t tail[UNIC_CTL_MSG_MAX];
	const struct unic_trace_rec *r = (const void *)tail;
	struct unic_call call = { .rec = &rec,
				  .reply_tail = tail,
				  .reply_room = sizeof(tail) };
	struct json_object *list;
	size_t i;

	if (unic_fail_status("trace",
			     unic_conn_call(conn, UNIC_CTL_TRACE, &call)))
		return NULL;
	list = json_object_new_array();
	for (i = 0; i < call.reply_bytes / sizeof(*r); i++)
		json_object_array_add(list,
				      build_trace_event(&r[i], &rec.reply));
	*from = unic_from_le32(rec.reply.next);
	return list;
}

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
	struct unic_call call = { .rec = &rec,
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
	add_name(o, "kind", kind, COUNT(kind), unic_from_le32(crash.kind));
	add_text(o, "file", crash.file, sizeof(crash.file));
	add_u64(o, "line", unic_from_le32(crash.line));
	add_u64(o, "epoch", unic_from_le32(crash.epoch));
	add_u64(o, "time_ns", unic_from_le64(crash.time_ns));
	add_hex(o, "fault_status", unic_from_le32(crash.fault_status));
	add_hex(o, "fault_addr", unic_from_le32(crash.fault_addr));
	add_u64(o, "trace_seq", unic_from_le32(crash.trace_seq));
	for (i = 0; i < 17; i++) {
		snprintf(name, sizeof(name), i < 16 ? "r%d" : "cpsr", i);
		add_hex(o, name, unic_from_le32(crash.reg[i]));
	}
	return o;
}
