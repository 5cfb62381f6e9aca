/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_uses.h - what regions are used for, and the references that a replacement
 * policy would see.
 */
#ifndef UNIC_CTL_USES_H
#define UNIC_CTL_USES_H

#include <stdio.h>

#include <json-c/json.h>

#include "conn.h"

/** ctl_uses() - the regions that the NIC shows, as a new array of objects; NULL
 * with words in unic_last_error(). */
struct json_object *ctl_uses(struct unic_conn *conn);

/**
 * ctl_refs() - have the NIC record references and nothing else, and write them to
 * @out until *@stop is not 0: lines of time in ns, range, bytes, process,
 * importance, as unic-policysim reads with --format csv. The NIC looks every
 * reaper period: uses of a range in between are one line. Then it records what it
 * did when it was started. 0, or -errno with words.
 */
int ctl_refs(struct unic_conn *conn, FILE *out, const volatile int *stop);

#endif /* UNIC_CTL_USES_H */
