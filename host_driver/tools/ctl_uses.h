/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_uses.h - the usage of regions, and the references that a replacement policy gets.
 */
#ifndef UNIC_CTL_USES_H
#define UNIC_CTL_USES_H

#include <stdio.h>

#include <json-c/json.h>

#include "conn.h"

/** ctl_uses() - the usage rows of the NIC, as a new array of objects; NULL
 * with words in unic_last_error(). */
struct json_object *ctl_uses(struct unic_conn *conn);

/**
 * ctl_refs() - have the NIC record references only, and write them to @out until *@stop
 * is not 0: lines of time in ns, range, bytes, process, importance, as unic-policysim
 * reads with --format csv. The NIC samples once per reaper period: uses of a range
 * within a period are one line. At the end the NIC records its default groups again. 0,
 * or -errno with words.
 */
int ctl_refs(struct unic_conn *conn, FILE *out, const volatile int *stop);

#endif /* UNIC_CTL_USES_H */
