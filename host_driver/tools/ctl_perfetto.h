/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_perfetto.h - the trace of a NIC as trace-event JSON, which ui.perfetto.dev and
 * chrome://tracing show ("Trace Event Format", JSON object format).
 *
 * Secret: which events begin and end what; tracks.
 */
#ifndef UNIC_CTL_PERFETTO_H
#define UNIC_CTL_PERFETTO_H

#include <stdbool.h>

#include "conn.h"

/**
 * ctl_perfetto() - write the events that the NIC keeps to @path, which is replaced, or to
 * standard output ("-"). @follow: and those that come, until *@stop is not 0.
 *
 * Processes are those of the host, and "NIC". Regions, waits, graces and tokens last from one
 * event to another (categories region, wait, grace, token: phases b, n, e with an id). Frames
 * (frame), uses of regions (reference) and all others (event) are instants. A reference has
 * key, size, process and importance among its args, as unic-policysim reads them.
 *
 * Times are microseconds of CLOCK_MONOTONIC. 0; -1 with words in unic_last_error().
 */
int ctl_perfetto(struct unic_conn *conn, const char *path, bool follow,
		 const volatile int *stop);

#endif /* UNIC_CTL_PERFETTO_H */
