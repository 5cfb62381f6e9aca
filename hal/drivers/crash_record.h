/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * crash_record.h - the end, whatever the processor: a fault or a broken promise
 * becomes a record, which the board takes to the host, and a line on the console;
 * then the NIC stops until it is reset.
 *
 * Secret: that a crash may meet another one on its way, and what is published then.
 */
#ifndef CRASH_RECORD_H
#define CRASH_RECORD_H

#include "unic_port.h"
#include "unic_stats.h"

/* What unic_port_panic() of start.S leaves on the stack. */
struct crash_frame {
	uint32_t sp, lr, pc, psr;
	uint32_t r[13];
};

/**
 * crash_arm() - from now on a crash is of @port, and one that begins at
 * [@guard, @guard + @bytes) is the overflow of a stack.
 */
void crash_arm(struct unic_port *port, uintptr_t guard, uint32_t bytes);

/** crash_begin() - returns the record, which the handler of the fault fills in. In
 * a second crash it publishes the first record and does not return. */
struct unic_crash *crash_begin(void);

/** crash_set_regs() - @n registers of it from @first on. */
void crash_set_regs(uint32_t first, const uint32_t *from, uint32_t n);

/** crash_set_fault() - the kind of the crash, and status and address that the
 * processor reports; a @kind of DATA at the guard becomes STACK. */
void crash_set_fault(enum unic_crash_kind kind, uint32_t status, uint32_t addr);

/** crash_end() - print a line, publish the record, stop. */
void crash_end(void) __attribute__((noreturn));

/** crash_panic() - unic_port_panic() with its registers. */
void crash_panic(struct unic_port *port, const char *file, uint32_t line,
		 const struct crash_frame *frame) __attribute__((noreturn));

/** crash_to_mailbox() - for machine_crashed() of a board that shares the mailbox
 * memory @bar: the record into it, its magic last, and that this NIC crashed. */
void crash_to_mailbox(uint8_t *bar, const struct unic_crash *record);

/* ----------------------------------------------------- defined by the others */

/**
 * crash_details() - fill in the fields that the core has: epoch, trace_seq,
 * table_sum. Defined by the main program, called once, with interrupts off.
 */
void crash_details(struct unic_crash *record);

/** machine_puts() - @text to the console. A console never stops a NIC. Works
 * before the port is there and in a fault handler. */
void machine_puts(const char *text);

/**
 * machine_crashed() - @record is complete, its magic included: take it to the
 * host, or to where it will be found.
 * @port: NULL when the crash was before there was one.
 */
void machine_crashed(struct unic_port *port, const struct unic_crash *record);

/** crash_stop() - stop the processor for good. */
void crash_stop(void) __attribute__((noreturn));

#endif /* CRASH_RECORD_H */
