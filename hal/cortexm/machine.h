/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * machine.h - what a board with a Cortex-M gives the files of this folder. Its
 * port (hal/<board>/port.c) defines all of it, besides hal/unic_port.h, and
 * machine_puts() and machine_crashed() of drivers/crash_record.h.
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

/** machine_turn() - after every round of the core: what the port has to do
 * itself. Bounded. */
void machine_turn(struct unic_port *port);

/** machine_sleep() - WFI until an interrupt or until NIC time @until_ns, the
 * earlier; may return early. Look at everything before sleeping again. */
void machine_sleep(struct unic_port *port, uint64_t until_ns);

/** machine_irq() - interrupt @irq (0: the first external one) was taken. Only
 * boards that clear PRIMASK see any. */
void machine_irq(uint32_t irq);

#endif /* CORTEXM_MACHINE_H */
