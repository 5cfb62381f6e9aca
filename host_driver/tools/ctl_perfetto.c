/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_perfetto.c - see ctl_perfetto.h. */
#include "ctl_perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl_fetch.h"
#include "ctl_json.h"
#include "ctl_procs.h"
#include "ctl_ring.h"
#include "ctl_trace.h"
#include "error.h"
#include "unic_stats.h"

#define NAP_NS	10000000 /* until the next look for events */
#define NIC_PID 0u
#define LOST_PID \
	4194304u /* + slot: a process that is not known; above any PID */
#define PAGE_BYTES 4096u

/* Tracks of a process. */
enum track {
	TRACK_EVENTS = 1,
	TRACK_SENT,
	TRACK_RECEIVED,
	TRACK_REFERENCES,
};

static const char *const track_names[] = {
	[TRACK_EVENTS] = "events",
	[TRACK_SENT] = "frames sent",
	[TRACK_RECEIVED] = "frames received",
	[TRACK_REFERENCES] = "uses of regions",
};

/* Events that begin, continue or end something: of what kind, which of its arguments are
 * its id (one or two), and its name, for those that begin. */
static const struct span {
	uint16_t code;
	char phase;
	const char *cat;
	uint8_t id, ids;
	const char *name;
} spans[] = {
	{ UNIC_T_MR_REG, 'b', "region", 0, 2, "region" },
	{ UNIC_T_MR_ACTIVE, 'n', "region", 0, 2, NULL },
	{ UNIC_T_MR_DEREG, 'e', "region", 0, 2, NULL },
	{ UNIC_T_EVICTED, 'e', "region", 0, 2, NULL },
	{ UNIC_T_WAIT, 'b', "wait", 0, 1, "wait" },
	{ UNIC_T_GRANT, 'e', "wait", 0, 1, NULL },
	{ UNIC_T_WAIT_END, 'e', "wait", 0, 1, NULL },
	{ UNIC_T_NOTICE, 'b', "grace", 0, 1, "notice" },
	{ UNIC_T_ACKED, 'n', "grace", 0, 1, NULL },
	{ UNIC_T_OFFER, 'n', "grace", 0, 1, NULL },
	{ UNIC_T_EXTEND, 'n', "grace", 0, 1, NULL },
	{ UNIC_T_RELEASE, 'e', "grace", 0, 1, NULL },
	{ UNIC_T_DEADLINE, 'e', "grace", 0, 1, NULL },
	{ UNIC_T_DRIVER_FAILED, 'e', "grace", 0, 1, NULL },
	{ UNIC_T_TOKEN_ALLOC, 'b', "token", 0, 1, "token" },
	{ UNIC_T_TOKEN_CLAIM, 'n', "token", 0, 1, NULL },
	{ UNIC_T_TOKEN_END, 'e', "token", 0, 1, NULL },
};

struct writer {
	FILE *out;
	struct unic_conn *conn;
	struct ctl_ring ring;
	struct json_object *procs; /* ctl_procs_learn() */
	struct json_object *open;  /* what has begun, by its id */
	struct json_object *said;  /* tracks that have a name */
	unsigned int others;	   /* NICs that have gone */
	uint64_t last_ns;	   /* time of the last event */
	bool again;		   /* an event was written before */
};

/* ------------------------------------------------------------------ events */

static void add_time(struct json_object *e, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64, ns / 1000,
		 ns % 1000);
	json_object_object_add(
		e, "ts", json_object_new_double_s((double)ns / 1e3, text));
}

static struct json_object *new_event(const char *phase, const char *name,
				     uint32_t pid, uint32_t tid, uint64_t ns)
{
	struct json_object *e = json_object_new_object();

	ctl_add_string(e, "ph", phase);
	ctl_add_string(e, "name", name);
	ctl_add_u64(e, "pid", pid);
	ctl_add_u64(e, "tid", tid);
	add_time(e, ns);
	return e;
}

/* Write @e and free it. */
static void put_event(struct writer *w, struct json_object *e)
{
	fprintf(w->out, "%s\n%s", w->again ? "," : "",
		json_object_to_json_string_ext(e, JSON_C_TO_STRING_PLAIN));
	w->again = true;
	json_object_put(e);
}

/* ------------------------------------------------------------------- tracks */

/* A metadata event: process or thread @pid, @tid is called @name. */
static void put_track_name(struct writer *w, const char *what, uint32_t pid,
			   uint32_t tid, const char *name)
{
	struct json_object *e = new_event("M", what, pid, tid, 0);
	struct json_object *args = json_object_new_object();

	ctl_add_string(args, "name", name);
	json_object_object_add(e, "args", args);
	put_event(w, e);
}

/* Remember @key in @set. True: it was there. */
static bool is_known(struct json_object *set, const char *key)
{
	if (json_object_object_get_ex(set, key, NULL))
		return true;
	json_object_object_add(set, key, json_object_new_boolean(1));
	return false;
}

static void name_process(struct writer *w, uint32_t pid, const char *name)
{
	char key[24];

	snprintf(key, sizeof(key), "%u", pid);
	if (!is_known(w->said, key))
		put_track_name(w, "process_name", pid, 0, name);
}

static void name_track(struct writer *w, uint32_t pid, enum track track)
{
	char key[24];

	snprintf(key, sizeof(key), "%u/%u", pid, (unsigned int)track);
	if (!is_known(w->said, key))
		put_track_name(w, "thread_name", pid, track,
			       track_names[track]);
}

static uint32_t pid_of(struct writer *w, uint32_t proc)
{
	struct json_object *p = ctl_procs_find(w->procs, proc);
	const char *called = ctl_text_of(p, "name");
	uint32_t pid = p ? (uint32_t)ctl_u64_of(p, "pid") : LOST_PID + proc;
	char name[24];

	if (proc == CTL_NO_PROC)
		return NIC_PID;
	snprintf(name, sizeof(name), "slot %u", proc);
	name_process(w, pid, *called ? called : name);
	return pid;
}

/* ------------------------------------------------------- of an event's kind */

static const struct span *find_span(uint32_t code)
{
	size_t i;

	for (i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		if (spans[i].code == code)
			return &spans[i];
	}
	return NULL;
}

/* What begins, goes on or ends. False: what ends or goes on has not begun here. */
static bool put_span(struct writer *w, const struct span *s,
		     const struct unic_trace_rec *r, struct json_object *args,
		     uint64_t ns)
{
	uint32_t a = unic_from_le32(r->arg[0]), b = unic_from_le32(r->arg[1]);
	uint32_t pid = pid_of(w, unic_from_le16(r->proc));
	const char phase[2] = { s->phase, '\0' };
	struct json_object *e, *begun;
	char id[48], name[48];

	snprintf(id, sizeof(id), s->ids == 2 ? "%s-%u-%u-%u" : "%s-%u-%u",
		 s->cat, w->others, a, b);
	if (s->phase == 'b') {
		snprintf(name, sizeof(name), "%s %u", s->name, a);
		begun = json_object_new_object();
		ctl_add_string(begun, "name", name);
		ctl_add_string(begun, "cat", s->cat);
		ctl_add_u64(begun, "pid", pid);
		json_object_object_add(w->open, id, begun);
	} else if (!json_object_object_get_ex(w->open, id, &begun)) {
		return false;
	}
	e = new_event(phase, ctl_text_of(begun, "name"),
		      (uint32_t)ctl_u64_of(begun, "pid"), TRACK_EVENTS, ns);
	ctl_add_string(e, "cat", s->cat);
	ctl_add_string(e, "id", id);
	json_object_object_add(e, "args", json_object_get(args));
	put_event(w, e);
	if (s->phase == 'e')
		json_object_object_del(w->open, id);
	return true;
}

static enum track track_of(uint32_t code)
{
	switch (code) {
	case UNIC_T_TX:
		return TRACK_SENT;
	case UNIC_T_RX:
	case UNIC_T_RX_DROP:
		return TRACK_RECEIVED;
	case UNIC_T_REF:
		return TRACK_REFERENCES;
	default:
		return TRACK_EVENTS;
	}
}

static void put_instant(struct writer *w, const struct unic_trace_rec *r,
			struct json_object *args, const char *name, uint64_t ns)
{
	static const char *const cat[] = {
		[TRACK_EVENTS] = "event",
		[TRACK_SENT] = "frame",
		[TRACK_RECEIVED] = "frame",
		[TRACK_REFERENCES] = "reference",
	};
	uint32_t pid = pid_of(w, unic_from_le16(r->proc));
	enum track track = track_of(unic_from_le16(r->code));
	struct json_object *e;

	name_track(w, pid, track);
	e = new_event("i", name, pid, track, ns);
	ctl_add_string(e, "cat", cat[track]);
	ctl_add_string(e, "s", "t"); /* as high as its track */
	json_object_object_add(e, "args", json_object_get(args));
	put_event(w, e);
}

/* As print_refs() of ctl_uses.c has them. */
static void add_reference(struct json_object *args,
			  const struct unic_trace_rec *r)
{
	uint32_t what = unic_from_le32(r->arg[1]);

	ctl_add_u64(args, "key", unic_from_le32(r->arg[0]));
	ctl_add_u64(args, "size", (uint64_t)(what & 0xffff) * PAGE_BYTES);
	ctl_add_u64(args, "process", unic_from_le16(r->proc));
	ctl_add_u64(args, "importance", what >> 16);
}

/* An event of a NIC of which no pair of times is known yet is where the last one is. */
static uint64_t host_ns_of(const struct writer *w, uint64_t ns)
{
	return w->ring.host_ns ? ns - w->ring.nic_ns + w->ring.host_ns
			       : w->last_ns;
}

static int put_record(struct writer *w, const struct unic_trace_rec *r)
{
	uint32_t code = unic_from_le16(r->code), proc = unic_from_le16(r->proc);
	uint64_t ns = host_ns_of(w, unic_from_le64(r->time_ns));
	const struct span *s = find_span(code);
	struct json_object *o, *args = json_object_new_object();
	int err = 0;

	if (code == UNIC_T_PROC_ATTACH)
		err = ctl_procs_meet(w->conn, w->procs, proc,
				     unic_from_le32(r->arg[0]));
	o = ctl_trace_object(r, &w->ring);
	ctl_add_string(args, "text", ctl_text_of(o, "text"));
	if (code == UNIC_T_REF) {
		add_reference(args, r);
		ns -= unic_from_le32(r->arg[3]);
	}
	if (!s || !put_span(w, s, r, args, ns))
		put_instant(w, r, args, ctl_text_of(o, "event"), ns);
	if (ns > w->last_ns)
		w->last_ns = ns;
	json_object_put(args);
	json_object_put(o);
	return err;
}

/* What has not ended ends with its NIC, or with the file. */
static void close_all(struct writer *w)
{
	json_object_object_foreach(w->open, id, begun)
	{
		struct json_object *e =
			new_event("e", ctl_text_of(begun, "name"),
				  (uint32_t)ctl_u64_of(begun, "pid"),
				  TRACK_EVENTS, w->last_ns);

		ctl_add_string(e, "cat", ctl_text_of(begun, "cat"));
		ctl_add_string(e, "id", id);
		put_event(w, e);
	}
	json_object_put(w->open);
	w->open = json_object_new_object();
}

/* --------------------------------------------------------------------- file */

/* Another NIC has taken the place of the one whose events were written. */
static int change_nic(struct writer *w)
{
	w->others = w->ring.others;
	close_all(w);
	json_object_put(w->procs);
	w->procs = json_object_new_object();
	return ctl_procs_learn(w->conn, w->procs);
}

static int put_records(struct writer *w, bool follow, const volatile int *stop)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct unic_trace_rec rec[CTL_RING_MAX];
	int i, n, err = 0;

	do {
		n = ctl_ring_read(w->conn, &w->ring, rec);
		if (w->ring.others != w->others)
			err = change_nic(w);
		for (i = 0; i < n && !err; i++)
			err = put_record(w, &rec[i]);
		if (err || ferror(w->out))
			break;
		if (follow && !n)
			nanosleep(&nap, NULL);
	} while (!*stop && (n > 0 || (follow && !n)));
	return n < 0 ? n : err;
}

static int put_file(struct writer *w, bool follow, const volatile int *stop)
{
	int err;

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", w->out);
	name_process(w, NIC_PID, "NIC");
	err = ctl_procs_learn(w->conn, w->procs);
	if (!err)
		err = put_records(w, follow, stop);
	close_all(w);
	fputs("\n]}\n", w->out);
	return err;
}

int ctl_perfetto(struct unic_conn *conn, const char *path, bool follow,
		 const volatile int *stop)
{
	bool own = strcmp(path, "-") != 0;
	struct writer w = { .conn = conn,
			    .out = own ? fopen(path, "w") : stdout };
	int err;

	if (!w.out)
		return unic_fail(-errno, "%s: %s", path, strerror(errno));
	w.procs = json_object_new_object();
	w.open = json_object_new_object();
	w.said = json_object_new_object();
	err = put_file(&w, follow, stop);
	json_object_put(w.procs);
	json_object_put(w.open);
	json_object_put(w.said);
	if (own) {
		int bad = ferror(w.out);

		if ((fclose(w.out) || bad) && !err)
			return unic_fail(-EIO, "%s: %s", path,
					 errno ? strerror(errno)
					       : "not written");
	}
	return err ? -1 : 0;
}
