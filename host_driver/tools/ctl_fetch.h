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
#include "unic_cmd_mr.h"

/** ctl_info() - an object: the driver, its slots and resets; if the NIC is there also
 * its addresses, its sizes of tables, and its times in microseconds. */
struct json_object *ctl_info(struct unic_conn *conn);
/** ctl_stats() - an object: counters since the start in "nic" and "driver", and the
 * time of the NIC at which they were read, in nanoseconds. */
struct json_object *ctl_stats(struct unic_conn *conn);
/** ctl_dump_table() - an array: what @parse makes of each row of @table, by one request
 * after the other. */
struct json_object *ctl_dump_table(struct unic_conn *conn,
				   enum unic_table table,
				   struct json_object *(*parse)(const void *));
/** ctl_mr() - an array: the regions that are registered. */
struct json_object *ctl_mr(struct unic_conn *conn);
/** ctl_tlb() - an array: the entries of the NIC's table that are used. */
struct json_object *ctl_tlb(struct unic_conn *conn);
/** ctl_tokens() - an array: the tokens that are out. */
struct json_object *ctl_tokens(struct unic_conn *conn);
/** ctl_qp() - an array: the queue pairs. */
struct json_object *ctl_qp(struct unic_conn *conn);
/** ctl_cq() - an array: the completion queues. */
struct json_object *ctl_cq(struct unic_conn *conn);
/** ctl_ps() - processes: holdings, fair shares, borrowed entries, waits,
 * upcalls; and the queue of waiting requests. */
struct json_object *ctl_ps(struct unic_conn *conn);
/** ctl_policy_named() - returns the enum unic_policy that ctl_ps() calls @name, -1: none
 * is called so. */
int ctl_policy_named(const char *name);
/** ctl_trace() - trace events from number *from on; *from becomes the next. */
struct json_object *ctl_trace(struct unic_conn *conn, uint32_t *from);
/** ctl_crash() - an object: the firmware's crash record; its kind is "none" if there
 * is none. */
struct json_object *ctl_crash(struct unic_conn *conn);

#endif /* UNIC_CTL_FETCH_H */
