/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_ring.h - the trace of a NIC, read as it is written.
 *
 * Secret: which events are new, also when events were overwritten, and when another NIC,
 * which counts its events from 0, is on the bus.
 */
#ifndef UNIC_CTL_RING_H
#define UNIC_CTL_RING_H

#include "conn.h"
#include "unic_stats.h"

/* Events that one read returns, at most. */
#define CTL_RING_MAX (UNIC_CTL_MSG_MAX / sizeof(struct unic_trace_rec))

/* How far a reader is. All 0: at the start. */
struct ctl_ring {
	struct unic_trace_rec last; /* event; seq 0: none was read */
	unsigned int missing; /* reads in a row in which it was not there */
	unsigned int others;  /* NICs that came since the first read */
	uint64_t nic_ns;      /* NIC time, as the driver said last, ... */
	uint64_t host_ns;     /* ... and CLOCK_MONOTONIC then; 0: not known */
};

/** ctl_ring_read() - fetches events that @r has not had, in order, to @rec. Returns how
 * many, 0: there are none at the moment; -errno with words in unic_last_error(). */
int ctl_ring_read(struct unic_conn *conn, struct ctl_ring *r,
		  struct unic_trace_rec rec[CTL_RING_MAX]);

/** ctl_ring_skip() - passes over the events that there are. 0, or -errno with words. */
int ctl_ring_skip(struct unic_conn *conn, struct ctl_ring *r);

#endif /* UNIC_CTL_RING_H */
