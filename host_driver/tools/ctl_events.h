/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_events.h - what happens on a NIC, in words, as it happens: processes come and go, wait
 * and are asked; regions are evicted; connections, the link and the NIC change.
 *
 * Secret: of which events of the trace a person wants to know, and what is found by looking
 * at the driver again.
 */
#ifndef UNIC_CTL_EVENTS_H
#define UNIC_CTL_EVENTS_H

#include <stdbool.h>

#include "conn.h"

/** ctl_events() - print a line for each event from now on, @json: an object; the first one
 * says how the NIC is. Until *@stop is not 0, or the output is lost. 0; -1 with words in
 * unic_last_error(). */
int ctl_events(struct unic_conn *conn, bool json, const volatile int *stop);

#endif /* UNIC_CTL_EVENTS_H */
