/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * crash.h - the end of the soft NIC: a signal that it cannot survive or a broken
 * promise becomes a record in the mailbox memory, a doorbell to the driver and a
 * line on stderr; then the process dies of it, with a core file where that is
 * asked for.
 */
#ifndef SOFT_CRASH_H
#define SOFT_CRASH_H

#include "unic_port.h"
#include "unic_stats.h"

/** crash_arm() - from now on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT are
 * recorded in @port's mailbox memory. Handlers have a stack of their own, so that
 * a stack overflow is recorded, too. 0 or -errno. */
int crash_arm(struct unic_port *port);

/**
 * crash_details() - fill in the fields that the core has: epoch, trace_seq,
 * table_sum. Defined by the main program; must be async-signal-safe.
 */
void crash_details(struct unic_crash *record);

/** crash_panic() - unic_port_panic(). */
void crash_panic(struct unic_port *port, const char *file, uint32_t line)
	__attribute__((noreturn));

#endif /* SOFT_CRASH_H */
