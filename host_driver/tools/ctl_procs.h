/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_procs.h - which process is in which slot, as events of the trace name slots.
 *
 * Secret: a process may leave before its name is asked for, and its slot gets another one.
 */
#ifndef UNIC_CTL_PROCS_H
#define UNIC_CTL_PROCS_H

#include <json-c/json.h>

#include "conn.h"

/** ctl_procs_learn() - set members of @procs, by slot: what ctl_ps() says of the processes
 * that there are; those of others stay. 0; -1 with words in unic_last_error(). */
int ctl_procs_learn(struct unic_conn *conn, struct json_object *procs);

/** ctl_procs_meet() - ctl_procs_learn() when process @pid gets slot @slot: if it has left
 * again, it has no name. */
int ctl_procs_meet(struct unic_conn *conn, struct json_object *procs,
		   uint32_t slot, uint32_t pid);

/** ctl_procs_find() - who is in @slot, or was last: "pid", "name". NULL: not known. */
struct json_object *ctl_procs_find(struct json_object *procs, uint32_t slot);

#endif /* UNIC_CTL_PROCS_H */
