/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_top.h - who holds the table of a NIC, on a terminal, as it changes.
 *
 * Secret: where on the screen things are, and ncurses.
 */
#ifndef UNIC_CTL_TOP_H
#define UNIC_CTL_TOP_H

#include "conn.h"

/** ctl_top() - show it, anew each @interval_ms, until `q` is typed or *@stop is not 0. Uses
 * standard input and output, which must be a terminal, and leaves it as it was. 0; -1 with
 * words in unic_last_error(). */
int ctl_top(struct unic_conn *conn, uint32_t interval_ms,
	    const volatile int *stop);

#endif /* UNIC_CTL_TOP_H */
