/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_histogram.h - the NIC's histograms, as JSON objects. */
#ifndef UNIC_CTL_HISTOGRAM_H
#define UNIC_CTL_HISTOGRAM_H

#include <json-c/json.h>

#include "conn.h"

/** ctl_histograms() - a new array, or NULL with words in
 * unic_last_error(): how long things took on the NIC; for each, its
 * name, how many, and the buckets, those up to the last that is not empty: the first
 * microsecond, and the count. */
struct json_object *ctl_histograms(struct unic_conn *conn);

#endif /* UNIC_CTL_HISTOGRAM_H */
