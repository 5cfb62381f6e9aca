/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * crash.h - faults of a Cortex-M, as records (drivers/crash_record.h).
 */
#ifndef CORTEXM_CRASH_H
#define CORTEXM_CRASH_H

#include "crash_record.h"

/** crash_exception() - record the fault; called by the vectors. @high: r4 to r11;
 * @stacked: r0-r3, r12, lr, pc, xpsr, if the processor could write them. */
void crash_exception(const uint32_t *high, const uint32_t *stacked,
		     uint32_t exception) __attribute__((noreturn));

/** crash_hung() - record that the main program goes on no more, with the registers
 * that it had when it was interrupted. Called in a handler. */
void crash_hung(void) __attribute__((noreturn));

#endif /* CORTEXM_CRASH_H */
