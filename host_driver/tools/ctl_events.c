/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_events.c - see ctl_events.h. */
#include "ctl_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl_fetch.h"
#include "ctl_json.h"
#include "ctl_print.h"
#include "ctl_procs.h"
#include "ctl_ring.h"
#include "ctl_trace.h"
#include "unic.h"

#define NAP_NS	   20000000 /* until the next look at the trace ... */
#define LOOK_TURNS 10	    /* ... so many, and at everything else */
#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))

/* Events of the trace that are shown: the names of their arguments, as members of the
 * object, and a text, in which %0 to %3 stand for them, and
 * %e0 to %e3 for so many entries. */
static const struct told {
	uint16_t code;
	const char *event, *arg[4], *text;
} tolds[] = {
	{ UNIC_T_RESET, "reset", { "epoch" }, "was reset: epoch %0" },
	{ UNIC_T_PROC_ATTACH, "attached", { NULL, "weight" }, "came" },
	{ UNIC_T_PROC_GONE, "gone", { NULL }, "has left" },
	{ UNIC_T_WAIT,
	  "waits",
	  { "wait", "entries", "free" },
	  "waits for %e1; %2 are free" },
	{ UNIC_T_GRANT,
	  "granted",
	  { "wait", "waited_us", "mr" },
	  "has region %2, after %1 us" },
	{ UNIC_T_WAIT_END,
	  "wait-ended",
	  { "wait", "status" },
	  "waits no more: %1" },
	{ UNIC_T_CHOSE,
	  "chosen",
	  { "mr", "entries", NULL, "reason" },
	  "region %0 (%e1) is to go: %3" },
	{ UNIC_T_NOTICE,
	  "notice",
	  { "notice", "mr", "gen", "rank" },
	  "is asked for region %1" },
	{ UNIC_T_ACKED,
	  "delivered",
	  { "notice", "mr", "grace_us" },
	  "knows so, and has %2 us to give region %1 back" },
	{ UNIC_T_RELEASE,
	  "released",
	  { "notice", "mr", "left_us" },
	  "gives region %1 back; %2 us were left" },
	{ UNIC_T_OFFER,
	  "offered",
	  { "notice", "mr", "for_mr", "answer" },
	  "offers region %1 in place of %2: %3" },
	{ UNIC_T_EXTEND,
	  "extended",
	  { "notice", "us", "answer" },
	  "wants %1 us more: %2" },
	{ UNIC_T_DEADLINE,
	  "deadline",
	  { "notice", "mr", "holds" },
	  "let the grace of region %1 pass" },
	{ UNIC_T_EVICTED,
	  "evicted",
	  { "mr", "gen", "entries", "busy" },
	  "region %0 is gone and frees %e2" },
	{ UNIC_T_DRIVER_FAILED,
	  "not-delivered",
	  { "notice" },
	  "was not told of notice %0 in time" },
};

struct watcher {
	struct unic_conn *conn;
	bool json;
	struct ctl_ring ring;
	struct json_object *procs; /* ctl_procs_learn() */
	struct json_object *going; /* regions that were chosen, by number */
	struct json_object *info, *qps;
};

static uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---------------------------------------------------------------- one line */

static void print_event_line(struct json_object *event)
{
	uint64_t ns = ctl_u64_of(event, "time_ns");
	time_t s = (time_t)(ns / 1000000000u);
	const char *name = ctl_text_of(event, "name");
	char clock[16] = "", who[32] = "NIC";
	struct tm tm;

	if (localtime_r(&s, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	if (json_object_object_get_ex(event, "proc", NULL))
		snprintf(who, sizeof(who), "%s (%" PRIu64 ")",
			 *name ? name : "process", ctl_u64_of(event, "pid"));
	printf("%s.%03" PRIu64 "  %-24s  %s\n", clock, ns / 1000000 % 1000, who,
	       ctl_text_of(event, "text"));
}

/* Print event @o and free it. */
static void show_event_of(const struct watcher *w, struct json_object *o)
{
	if (w->json)
		ctl_print_json(o, true);
	else
		print_event_line(o);
	json_object_put(o);
}

static struct json_object *begin_event(const char *event, uint64_t time_ns)
{
	struct json_object *o = json_object_new_object();

	ctl_add_u64(o, "time_ns", time_ns);
	ctl_add_string(o, "event", event);
	return o;
}

static void add_process(struct json_object *o, struct json_object *p)
{
	if (!p)
		return;
	ctl_add_u64(o, "pid", ctl_u64_of(p, "pid"));
	ctl_add_string(o, "name", ctl_text_of(p, "name"));
}

/* Say whose event @o is: by number, and by what the slot's process was called last. */
static void add_owner(const struct watcher *w, struct json_object *o,
		      uint32_t proc)
{
	if (proc == CTL_NO_PROC)
		return;
	ctl_add_u64(o, "proc", proc);
	add_process(o, ctl_procs_find(w->procs, proc));
}

/* ------------------------------------------------------------- of the trace */

static void add_argument(struct json_object *o, const char *key, uint32_t v)
{
	if (!strcmp(key, "reason"))
		ctl_add_string(o, key, unic_reason_str(v));
	else if (!strcmp(key, "status"))
		ctl_add_string(o, key, unic_status_str(v));
	else if (!strcmp(key, "answer"))
		ctl_add_string(o, key, v ? "refused" : "granted");
	else
		ctl_add_u64(o, key, v);
}

static void add_text(struct json_object *o, const struct told *t)
{
	char text[160];
	const char *p, *key;
	bool entries;
	size_t n = 0;

	for (p = t->text; *p && n + 1 < sizeof(text); p++) {
		if (*p != '%') {
			text[n++] = *p;
			continue;
		}
		entries = p[1] == 'e';
		p += 1 + entries;
		key = t->arg[*p - '0'];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
				      ctl_text_of(o, key),
				      !entries			? ""
				      : ctl_u64_of(o, key) == 1 ? " entry"
								: " entries");
		if (n >= sizeof(text))
			n = sizeof(text) - 1;
	}
	text[n] = '\0';
	ctl_add_string(o, "text", text);
}

/* Wall-clock time of NIC time @ns. */
static uint64_t time_of(const struct watcher *w, uint64_t ns)
{
	uint64_t now = clock_now_ns(CLOCK_REALTIME);

	if (!w->ring.host_ns)
		return now;
	return now - clock_now_ns(CLOCK_MONOTONIC) + w->ring.host_ns +
	       (ns - w->ring.nic_ns);
}

/* A region that ends with its process, or by its owner's wish, is no news: there are many of
 * them. One that was chosen before is. */
static bool is_news(const struct watcher *w, const struct unic_trace_rec *r)
{
	uint32_t code = unic_from_le16(r->code);
	char mr[12];

	if (code != UNIC_T_CHOSE && code != UNIC_T_EVICTED)
		return true;
	snprintf(mr, sizeof(mr), "%u", unic_from_le32(r->arg[0]));
	if (code == UNIC_T_CHOSE) {
		json_object_object_add(w->going, mr,
				       json_object_new_boolean(1));
		return true;
	}
	if (!json_object_object_get_ex(w->going, mr, NULL))
		return false;
	json_object_object_del(w->going, mr);
	return true;
}

static void show_told(const struct watcher *w, const struct told *t,
		      const struct unic_trace_rec *r)
{
	struct json_object *o =
		begin_event(t->event, time_of(w, unic_from_le64(r->time_ns)));
	int i;

	add_owner(w, o, unic_from_le16(r->proc));
	for (i = 0; i < 4; i++) {
		if (t->arg[i])
			add_argument(o, t->arg[i], unic_from_le32(r->arg[i]));
	}
	add_text(o, t);
	show_event_of(w, o);
}

static int take_record(struct watcher *w, const struct unic_trace_rec *r)
{
	uint32_t code = unic_from_le16(r->code);
	size_t k = 0;
	int err = 0;

	if (code == UNIC_T_PROC_ATTACH)
		err = ctl_procs_meet(w->conn, w->procs, unic_from_le16(r->proc),
				     unic_from_le32(r->arg[0]));
	while (k < COUNT(tolds) && tolds[k].code != code)
		k++;
	if (!err && k < COUNT(tolds) && is_news(w, r))
		show_told(w, &tolds[k], r);
	return err;
}

static int look_at_trace(struct watcher *w)
{
	struct unic_trace_rec rec[CTL_RING_MAX];
	int i, n, err = 0;

	do {
		n = ctl_ring_read(w->conn, &w->ring, rec);
		for (i = 0; i < n && !err; i++)
			err = take_record(w, &rec[i]);
	} while (n > 0 && !err);
	return n < 0 ? -1 : err;
}

/* ------------------------------------------------------- by looking again */

static void show_nic(const struct watcher *w, const char *event,
		     const char *text)
{
	struct json_object *o =
		begin_event(event, clock_now_ns(CLOCK_REALTIME));

	ctl_add_string(o, "text", text);
	show_event_of(w, o);
}

static void show_link(const struct watcher *w)
{
	bool up = ctl_u64_of(w->info, "link_up") != 0;

	if (json_object_object_get_ex(w->info, "link_up", NULL))
		show_nic(w, up ? "link-up" : "link-down",
			 up ? "has a link" : "has no link");
}

/* What is another than in the info before; without one, how the NIC is. */
static int look_at_info(struct watcher *w)
{
	struct json_object *before = w->info;
	const char *state;
	char text[64];

	w->info = ctl_info(w->conn);
	if (!w->info) {
		w->info = before;
		return -1;
	}
	state = ctl_text_of(w->info, "nic");
	if (!before || strcmp(state, ctl_text_of(before, "nic")) != 0) {
		snprintf(text, sizeof(text), "is %s", state);
		show_nic(w, state, text);
	}
	if (!before ||
	    ctl_u64_of(w->info, "link_up") != ctl_u64_of(before, "link_up"))
		show_link(w);
	json_object_put(before);
	return 0;
}

static bool is_connected(struct json_object *qp)
{
	return !strcmp(ctl_text_of(qp, "state"), "rts") &&
	       strcmp(ctl_text_of(qp, "type"), "ud") != 0;
}

/* The connection @qp in @list; NULL: there is none. */
static struct json_object *find_connection(struct json_object *list,
					   struct json_object *qp)
{
	struct json_object *o;
	size_t i;

	for (i = 0; list && i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		if (ctl_u64_of(o, "qp") == ctl_u64_of(qp, "qp") &&
		    ctl_u64_of(o, "peer_qp") == ctl_u64_of(qp, "peer_qp") &&
		    is_connected(o))
			return o;
	}
	return NULL;
}

/* Keep with each connection the process that had its slot when it was seen first: when the
 * connection has ended another one may have it. */
static void learn_owners(const struct watcher *w, struct json_object *before)
{
	struct json_object *qp, *p;
	size_t i;

	for (i = 0; w->qps && i < json_object_array_length(w->qps); i++) {
		qp = json_object_array_get_idx(w->qps, i);
		p = find_connection(before, qp);
		if (!p)
			p = ctl_procs_find(w->procs,
					   (uint32_t)ctl_u64_of(qp, "proc"));
		add_process(qp, p);
	}
}

/* Show the connections of @list that @other does not have. */
static void show_connections(const struct watcher *w, struct json_object *list,
			     struct json_object *other, const char *event,
			     const char *text)
{
	struct json_object *o, *qp;
	char words[80];
	size_t i;

	for (i = 0; list && i < json_object_array_length(list); i++) {
		qp = json_object_array_get_idx(list, i);
		if (!is_connected(qp) || find_connection(other, qp))
			continue;
		o = begin_event(event, clock_now_ns(CLOCK_REALTIME));
		ctl_add_u64(o, "proc", ctl_u64_of(qp, "proc"));
		add_process(o, qp);
		ctl_add_u64(o, "qp", ctl_u64_of(qp, "qp"));
		ctl_add_string(o, "peer", ctl_text_of(qp, "peer"));
		ctl_add_u64(o, "peer_qp", ctl_u64_of(qp, "peer_qp"));
		snprintf(words, sizeof(words), "%s %s", text,
			 ctl_text_of(qp, "peer"));
		ctl_add_string(o, "text", words);
		show_event_of(w, o);
	}
}

/* A NIC that is not ready has no table to show. */
static void look_at_connections(struct watcher *w)
{
	struct json_object *before = w->qps;

	w->qps = ctl_table(w->conn, UNIC_TABLE_QP);
	learn_owners(w, before);
	show_connections(w, before, w->qps, "disconnected",
			 "is no more connected to");
	show_connections(w, w->qps, before, "connected", "is connected to");
	json_object_put(before);
}

static int look(struct watcher *w, unsigned int turn)
{
	int err = look_at_trace(w);

	if (err || turn % LOOK_TURNS)
		return err;
	err = look_at_info(w);
	if (!err)
		look_at_connections(w);
	return err;
}

int ctl_events(struct unic_conn *conn, bool json, const volatile int *stop)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct watcher w = { .conn = conn, .json = json };
	unsigned int turn = 0;
	int err;

	w.procs = json_object_new_object();
	w.going = json_object_new_object();
	err = ctl_procs_learn(conn, w.procs);
	if (!err)
		err = ctl_ring_skip(conn, &w.ring);
	while (!err && !*stop) {
		err = look(&w, turn++);
		if (fflush(stdout))
			break; /* output_watch() says why */
		nanosleep(&nap, NULL);
	}
	json_object_put(w.procs);
	json_object_put(w.going);
	json_object_put(w.info);
	json_object_put(w.qps);
	return err ? -1 : 0;
}
