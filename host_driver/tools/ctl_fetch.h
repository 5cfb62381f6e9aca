/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_fetch.h - answers of the driver, as JSON objects.
 *
 * Each function that returns an object returns a new one, the caller's
 * (json_object_put()), or NULL with words in unic_last_error().
 */
#ifndef UNIC_CTL_FETCH_H
#define UNIC_CTL_FETCH_H

#include <json-c/json.h>

#include "conn.h"
#include "unic_mbox.h"

/* Which rows a table is to be of. */
struct ctl_snapshot {
	uint32_t number; /* 0: as they are now; UNIC_SNAPSHOT_TAKE: a new one */
	uint64_t time_ns; /* at which it was taken, NIC time */
};

/** ctl_rows() - fetches all rows of @table of snapshot @s to a new array *list. *@s becomes
 * the snapshot that they are of. Returns 0 or the status, with *list NULL: UNIC_ST_EVICTED
 * if the driver does not keep that snapshot any more. */
int ctl_rows(struct unic_conn *conn, enum unic_table table,
	     struct ctl_snapshot *s, struct json_object **list);
/** ctl_info() - an object: the driver, its slots and resets; if the NIC is there also
 * its addresses, its sizes of tables, and its times in microseconds. */
struct json_object *ctl_info(struct unic_conn *conn);
/** ctl_stats() - an object: counters since the start in "nic" and "driver", and the
 * time of the NIC at which they were read, in nanoseconds. */
struct json_object *ctl_stats(struct unic_conn *conn);
/** ctl_table() - an array: the rows of @table as they are now, which may be of several
 * instants. */
struct json_object *ctl_table(struct unic_conn *conn, enum unic_table table);
/** ctl_ps() - processes: holdings, fair shares, borrowed entries, waits,
 * upcalls; and the queue of waiting requests. */
struct json_object *ctl_ps(struct unic_conn *conn);
/** ctl_policy_named() - returns the enum unic_policy that ctl_ps() calls @name, -1: none
 * is called so. */
int ctl_policy_named(const char *name);
/** ctl_qp_state_name() - of an enum unic_qp_state; NULL: there is none. */
const char *ctl_qp_state_name(uint32_t state);
/** ctl_crash() - an object: the firmware's crash record; its kind is "none" if there
 * is none. */
struct json_object *ctl_crash(struct unic_conn *conn);

#endif /* UNIC_CTL_FETCH_H */
