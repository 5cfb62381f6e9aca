/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_histogram.h - the NIC's histograms, as JSON objects. */
#ifndef UNIC_CTL_HISTOGRAM_H
#define UNIC_CTL_HISTOGRAM_H

#include <json-c/json.h>

#include "conn.h"

/** ctl_histogram_row() - what a struct unic_row_histogram says. */
struct json_object *ctl_histogram_row(const void *row);

/** ctl_histograms_of() - as ctl_histograms(), of an array of results of
 * ctl_histogram_row(), which it puts. */
struct json_object *ctl_histograms_of(struct json_object *rows);

/** ctl_histograms() - a new array, or NULL with words in
 * unic_last_error(): how long things took on the NIC; for each, its
 * name, how many, and the buckets, those up to the last that is not empty: the first
 * microsecond, and the count. */
struct json_object *ctl_histograms(struct unic_conn *conn);

#endif /* UNIC_CTL_HISTOGRAM_H */
