/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * crash.h - the end: a fault or a broken promise becomes a record in the
 * mailbox memory, a doorbell to the driver and a line on the console; then the
 * NIC stops (no heartbeat) until the host resets the machine.
 */
#ifndef VIRT_CRASH_H
#define VIRT_CRASH_H

#include "unic_port.h"
#include "unic_stats.h"

/* What start.S leaves on the stack. */
struct crash_frame {
	uint32_t sp, lr, pc, psr;
	uint32_t r[13];
};

/** crash_arm() - from now on a fault is recorded in @port's mailbox memory. */
void crash_arm(struct unic_port *port);

/**
 * crash_details() - what only the program knows: epoch, trace_seq, table_sum.
 * Defined by the main program, called once, with interrupts and hope gone.
 */
void crash_details(struct unic_crash *record);

/** crash_fault() - called by the vectors. @kind: enum unic_crash_kind. */
void crash_fault(uint32_t kind, const struct crash_frame *frame)
	__attribute__((noreturn));

/** crash_panic() - unic_port_panic() with its registers. */
void crash_panic(struct unic_port *port, const char *file, uint32_t line,
		 const struct crash_frame *frame) __attribute__((noreturn));

#endif /* VIRT_CRASH_H */
