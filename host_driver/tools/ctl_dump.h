/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_dump.h - all tables of a NIC, of one instant.
 *
 * Secret: how often a dump begins anew, when somebody else's takes its snapshot away.
 */
#ifndef UNIC_CTL_DUMP_H
#define UNIC_CTL_DUMP_H

#include <json-c/json.h>

#include "conn.h"

#define CTL_DUMP_TRIES 8

/** ctl_dump() - an object: the tables by name; "consistent": are all rows of one instant;
 * "time_ns": that instant in NIC time; "tries". A NIC that takes no snapshots: rows of
 * several instants, and "consistent" is false. NULL with words in unic_last_error(): also
 * if all of CTL_DUMP_TRIES snapshots were gone before they were read. */
struct json_object *ctl_dump(struct unic_conn *conn);

/** ctl_dump_print() - for human readers: the result of ctl_dump(). */
void ctl_dump_print(struct json_object *dump);

#endif /* UNIC_CTL_DUMP_H */
