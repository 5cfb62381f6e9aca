/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * crash.h - faults of a Cortex-A15, as records in the mailbox memory
 * (drivers/crash_record.h).
 */
#ifndef VIRT_CRASH_H
#define VIRT_CRASH_H

#include "crash_record.h"

/** crash_fault() - called by the vectors. @kind: enum unic_crash_kind. */
void crash_fault(uint32_t kind, const struct crash_frame *frame)
	__attribute__((noreturn));

#endif /* VIRT_CRASH_H */
