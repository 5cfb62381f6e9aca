/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_watch.h - a line for each look at a NIC.
 */
#ifndef UNIC_CTL_WATCH_H
#define UNIC_CTL_WATCH_H

#include <stdbool.h>

#include "conn.h"

/** ctl_watch() - print a line each @interval_ms, @json: an object; @looks lines, 0: until
 * *@stop is not 0. 0; -1 with words in unic_last_error(). */
int ctl_watch(struct unic_conn *conn, uint32_t interval_ms, uint32_t looks,
	      bool json, const volatile int *stop);

#endif /* UNIC_CTL_WATCH_H */
