/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_metrics.h - what a NIC and its driver count, as OpenMetrics text, for Prometheus and
 * what reads its format (OpenMetrics 1.0).
 *
 * Secret: the names of metrics and their labels.
 */
#ifndef UNIC_CTL_METRICS_H
#define UNIC_CTL_METRICS_H

#include <stdio.h>

#include "conn.h"

/** ctl_metrics() - write the metrics of the NIC of @conn to @out, all or none: counters
 * (unic_nic_*_total, unic_driver_*_total), entries of the table, for each process what it
 * holds and waits for (unic_process_*), and histograms. Returns 0, or -1 with words in
 * unic_last_error(). */
int ctl_metrics(struct unic_conn *conn, FILE *out);

#endif /* UNIC_CTL_METRICS_H */
