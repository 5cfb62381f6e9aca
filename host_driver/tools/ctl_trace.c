/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_trace.c - see ctl_trace.h. */
#include "ctl_trace.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl_fetch.h"
#include "ctl_print.h"
#include "unic_stats.h"

#define NAP_NS 10000000 /* until the next look for events */

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

static void show_events(struct json_object *list, bool json)
{
	size_t i;

	if (!json) {
		ctl_print_trace(list);
		return;
	}
	for (i = 0; i < json_object_array_length(list); i++)
		ctl_print_json(json_object_array_get_idx(list, i), true);
}

int ctl_trace_show(struct unic_conn *conn, bool json, bool follow)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct json_object *list;
	uint32_t from = 0;
	uint32_t before;

	do {
		before = from;
		list = ctl_trace(conn, &from);
		if (!list)
			return -1;
		show_events(list, json);
		json_object_put(list);
		fflush(stdout);
		if (follow && from == before)
			nanosleep(&nap, NULL);
	} while (follow || from != before);
	return 0;
}
