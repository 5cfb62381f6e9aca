/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_trace.c - see ctl_trace.h. */
#include "ctl_trace.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl_fetch.h"
#include "ctl_json.h"
#include "ctl_print.h"
#include "ctl_ring.h"
#include "unic.h"
#include "trace_text.h"
#include "unic_stats.h"

#define NAP_NS	 10000000 /* until the next look for events */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define TNAME(name, group, text) #name,
static const char *const trace_names[] = { UNIC_TRACES(TNAME) };

struct json_object *ctl_trace_object(const struct unic_trace_rec *r,
				     const struct ctl_ring *ring)
{
	struct json_object *o = json_object_new_object();
	struct json_object *args = json_object_new_array();
	uint32_t code = unic_from_le16(r->code);
	uint64_t ns = unic_from_le64(r->time_ns);
	uint32_t arg[4];
	char text[160] = "";
	int i;

	for (i = 0; i < 4; i++) {
		arg[i] = unic_from_le32(r->arg[i]);
		json_object_array_add(args, json_object_new_int64(arg[i]));
	}
	trace_text(code, arg, text, sizeof(text));
	ctl_add_u64(o, "seq", unic_from_le32(r->seq));
	ctl_add_u64(o, "time_ns", ns);
	if (ring->host_ns)
		ctl_add_u64(o, "host_ns", ns - ring->nic_ns + ring->host_ns);
	ctl_add_name(o, "event", trace_names, UNIC_T_COUNT, code);
	if (unic_from_le16(r->proc) != CTL_NO_PROC)
		ctl_add_u64(o, "proc", unic_from_le16(r->proc));
	ctl_add_string(o, "text", text);
	json_object_object_add(o, "args", args);
	return o;
}

int ctl_trace_groups(const char *list)
{
	static const struct {
		const char *name;
		int mask;
	} groups[] = {
		{ "mr", UNIC_TG_MR },
		{ "evict", UNIC_TG_EVICT },
		{ "token", UNIC_TG_TOKEN },
		{ "qp", UNIC_TG_QP },
		{ "wire", UNIC_TG_WIRE },
		{ "cmd", UNIC_TG_CMD },
		{ "ref", UNIC_TG_REF },
		{ "all", 0x7f },
		{ "none", 0 },
	};
	const size_t n = sizeof(groups) / sizeof(groups[0]);
	int mask = 0;
	size_t len;
	size_t i;

	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (i = 0; i < n; i++) {
			if (len == strlen(groups[i].name) &&
			    !strncmp(list, groups[i].name, len))
				break;
		}
		if (i == n)
			return -1;
		mask |= groups[i].mask;
	}
	return mask;
}

int ctl_trace_set_groups(struct unic_conn *conn, int mask)
{
	struct unic_ctl_fault rec = { .arg = unic_to_le32((uint32_t)mask) };

	return unic_conn_simple(conn, UNIC_CTL_TRACE_MASK, &rec,
				"choose trace groups");
}

static void show_event(struct json_object *event, bool json)
{
	if (json)
		ctl_print_json(event, true);
	else
		ctl_print_trace(event);
	json_object_put(event);
}

int ctl_trace_show(struct unic_conn *conn, bool json, bool follow,
		   const volatile int *stop)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct unic_trace_rec rec[CTL_RING_MAX];
	struct ctl_ring ring = { 0 };
	int i, n;

	do {
		n = ctl_ring_read(conn, &ring, rec);
		for (i = 0; i < n; i++)
			show_event(ctl_trace_object(&rec[i], &ring), json);
		if (fflush(stdout))
			break; /* output_watch() says why */
		if (follow && !n)
			nanosleep(&nap, NULL);
	} while (!*stop && (n > 0 || (follow && !n)));
	return n < 0 ? -1 : 0;
}
