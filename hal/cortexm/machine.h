/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * machine.h - the functions that a board with a Cortex-M has for the files of
 * this folder. Its port (hal/<board>/port.c) defines all of it, besides
 * hal/unic_port.h, and machine_puts() and machine_crashed() of
 * drivers/crash_record.h.
 */
#ifndef CORTEXM_MACHINE_H
#define CORTEXM_MACHINE_H

#include "crash_record.h"

/**
 * machine_start() - find and start everything, MPU included.
 * Returns the port, or NULL and in *@why a sentence for the console: this
 * machine cannot be a NIC.
 */
struct unic_port *machine_start(const char **why);

/** machine_turn() - do the port's work after every round of the core. Bounded. */
void machine_turn(struct unic_port *port);

/** machine_sleep() - WFI until an interrupt or until NIC time @until_ns, the
 * earlier; may return early. The caller polls before it sleeps again. */
void machine_sleep(struct unic_port *port, uint64_t until_ns);

/** machine_irq() - handle interrupt @irq (0: the first external one). Only called
 * on boards that clear PRIMASK. */
void machine_irq(uint32_t irq);

/** machine_boot() - what the boot stub of a board with two slots does from the
 * reset on: its clocks, its console, then boot_run() (boot_choice.h). Not in the
 * firmware. */
void machine_boot(void) __attribute__((noreturn));

#endif /* CORTEXM_MACHINE_H */
