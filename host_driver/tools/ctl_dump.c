/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_dump.c - the tables of a NIC one after the other, of one snapshot.
 */
#include "ctl_dump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "ctl_fetch.h"
#include "ctl_histogram.h"
#include "ctl_json.h"
#include "ctl_print.h"
#include "error.h"

#define CTL_DUMP_NAP_NS 20000000 /* until the next try */
#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *name;
	enum unic_table table;
} tables[] = {
	{ "procs", UNIC_TABLE_PROC },	{ "waiting", UNIC_TABLE_WAIT },
	{ "mr", UNIC_TABLE_MR },	{ "tlb", UNIC_TABLE_TLB },
	{ "tokens", UNIC_TABLE_TOKEN }, { "qp", UNIC_TABLE_QP },
	{ "cq", UNIC_TABLE_CQ },
};

/* Add all tables of @s to @o. Return the status. */
static int add_tables(struct unic_conn *conn, struct ctl_snapshot *s,
		      struct json_object *o)
{
	struct json_object *list;
	int status;
	size_t i;

	for (i = 0; i < COUNT(tables); i++) {
		status = ctl_rows(conn, tables[i].table, s, &list);
		if (status)
			return status;
		json_object_object_add(o, tables[i].name, list);
	}
	status = ctl_rows(conn, UNIC_TABLE_HISTOGRAM, s, &list);
	if (status == UNIC_ST_INVALID)
		return 0; /* a NIC without */
	if (!status)
		json_object_object_add(o, "histograms",
				       ctl_histograms_of(list));
	return status;
}

/* Somebody else's snapshot is read, or took the place of this one. */
static bool is_other_there(int status)
{
	return status == UNIC_ST_EVICTED || status == UNIC_ST_BUSY;
}

static int fail_dump(int status)
{
	if (is_other_there(status))
		return unic_fail(-EAGAIN,
				 "dump: each of %d snapshots was gone before "
				 "it was read",
				 CTL_DUMP_TRIES);
	return unic_fail_status("dump", status);
}

struct json_object *ctl_dump(struct unic_conn *conn)
{
	const struct timespec nap = { .tv_nsec = CTL_DUMP_NAP_NS };
	struct ctl_snapshot s = { 0 };
	struct json_object *o = NULL;
	int status, tries = 0;

	do {
		if (tries++)
			nanosleep(&nap, NULL);
		json_object_put(o);
		o = json_object_new_object();
		s.number = UNIC_SNAPSHOT_TAKE;
		status = add_tables(conn, &s, o);
	} while (is_other_there(status) && tries < CTL_DUMP_TRIES);
	if (status == UNIC_CTL_ST_UNSUPPORTED) {
		s.number = 0;
		status = add_tables(conn, &s, o);
	}
	if (status) {
		json_object_put(o);
		(void)fail_dump(status);
		return NULL;
	}
	json_object_object_add(o, "consistent",
			       json_object_new_boolean(s.number != 0));
	ctl_add_u64(o, "time_ns", s.time_ns);
	ctl_add_u64(o, "tries", (uint64_t)tries);
	return o;
}

void ctl_dump_print(struct json_object *dump)
{
	struct json_object *v;
	size_t i;

	json_object_object_get_ex(dump, "consistent", &v);
	if (json_object_get_boolean(v)) {
		json_object_object_get_ex(dump, "time_ns", &v);
		printf("all at NIC time %s ns\n", json_object_get_string(v));
	} else {
		puts("of several instants: this NIC takes no snapshots");
	}
	for (i = 0; i < COUNT(tables); i++) {
		json_object_object_get_ex(dump, tables[i].name, &v);
		printf("\n%s: %zu\n", tables[i].name,
		       (size_t)json_object_array_length(v));
		if (json_object_array_length(v))
			ctl_print_table(v, NULL);
	}
	if (json_object_object_get_ex(dump, "histograms", &v)) {
		putchar('\n');
		ctl_print_histograms(v);
	}
}
