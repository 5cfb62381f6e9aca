/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_nics.h - the NICs of a driver, as JSON objects. */
#ifndef UNIC_CTL_NICS_H
#define UNIC_CTL_NICS_H

#include <json-c/json.h>

#include "conn.h"

/** ctl_nics() - an array: the NICs of the driver, by number; "mine" is the one that @conn
 * is with. A new one, or NULL with words in unic_last_error(). */
struct json_object *ctl_nics(struct unic_conn *conn);

#endif /* UNIC_CTL_NICS_H */
