/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * crash.h - the end: a fault or a broken promise becomes a record, which the
 * board takes to the host, and a line on the console; then the NIC stops until
 * it is reset.
 */
#ifndef CORTEXM_CRASH_H
#define CORTEXM_CRASH_H

#include "unic_port.h"
#include "unic_stats.h"

/* What unic_port_panic() leaves on the stack. */
struct crash_frame {
	uint32_t sp, lr, pc, psr;
	uint32_t r[13];
};

/**
 * crash_arm() - from now on a crash is of @port, and one that begins at
 * [@guard, @guard + @bytes) is the overflow of a stack.
 */
void crash_arm(struct unic_port *port, uintptr_t guard, uint32_t bytes);

/**
 * crash_details() - what only the program knows: epoch, trace_seq, table_sum.
 * Defined by the main program, called once, with interrupts and hope gone.
 */
void crash_details(struct unic_crash *record);

/** crash_exception() - called by the vectors. @high: r4 to r11; @stacked: r0-r3,
 * r12, lr, pc, xpsr, if the processor could write them. */
void crash_exception(const uint32_t *high, const uint32_t *stacked,
		     uint32_t exception) __attribute__((noreturn));

/** crash_panic() - unic_port_panic() with its registers. */
void crash_panic(struct unic_port *port, const char *file, uint32_t line,
		 const struct crash_frame *frame) __attribute__((noreturn));

#endif /* CORTEXM_CRASH_H */
