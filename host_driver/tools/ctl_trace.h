/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_trace.h - the events of a NIC, shown as they come.
 */
#ifndef UNIC_CTL_TRACE_H
#define UNIC_CTL_TRACE_H

#include <json-c/json.h>
#include <stdbool.h>

#include "conn.h"
#include "ctl_ring.h"

#define CTL_NO_PROC 0xffffu /* whose event is of no process, as a reset */

/** ctl_trace_object() - an object: event @r of the trace, in words, which @ring was read
 * to. */
struct json_object *ctl_trace_object(const struct unic_trace_rec *r,
				     const struct ctl_ring *ring);

/** ctl_trace_groups() - the mask of UNIC_TG_* that a list as "mr,evict" names; -1: a word
 * is unknown. */
int ctl_trace_groups(const char *list);

/** ctl_trace_set_groups() - have the NIC record the groups of @mask from now on. 0, or
 * -errno with words in unic_last_error(). */
int ctl_trace_set_groups(struct unic_conn *conn, int mask);

/** ctl_trace_show() - print the events that the NIC keeps, @json: an object a line. @follow:
 * and those that come, also of a NIC that takes its place, until *@stop is not 0. 0; -1 with
 * words. */
int ctl_trace_show(struct unic_conn *conn, bool json, bool follow,
		   const volatile int *stop);

#endif /* UNIC_CTL_TRACE_H */
