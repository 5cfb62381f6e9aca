/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_limit.h - limits of processes: set, and as they are then.
 *
 * Both return a new object, the caller's (json_object_put()), or NULL with words in
 * unic_last_error().
 */
#ifndef UNIC_CTL_LIMIT_H
#define UNIC_CTL_LIMIT_H

#include <json-c/json.h>
#include <stdint.h>

#include "conn.h"

/** ctl_rate() - the transmit limit of process @proc, set to @rate with @burst; -1: as it
 * is, and any burst. */
struct json_object *ctl_rate(struct unic_conn *conn, uint32_t proc,
			     int64_t rate, int64_t burst);

/** ctl_limits() - what process @proc may have the driver do in a second, or of
 * UNIC_CTL_LIMITS_ALL; each of @limit by enum unic_ctl_limit is set, -1: as it is. */
struct json_object *ctl_limits(struct unic_conn *conn, uint32_t proc,
			       const int limit[UNIC_CTL_LIMITS]);

#endif /* UNIC_CTL_LIMIT_H */
