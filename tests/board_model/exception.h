/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * exception.h - how an ARMv7-M core enters and leaves exceptions, and what a fault
 * becomes (ARM DDI 0403E B1.5).
 *
 * Secret: frames on stacks. Those with floating point registers, and a frame that
 * cannot be read back, are not modelled.
 */
#ifndef BOARD_MODEL_EXCEPTION_H
#define BOARD_MODEL_EXCEPTION_H

#include "cpu.h"

/** exception_enter() - run the handler of @n, which returns to @pc. */
void exception_enter(struct cpu *cpu, uint32_t n, uint32_t pc);

/** exception_leave() - @how was jumped to in a handler: EXC_RETURN. */
void exception_leave(struct cpu *cpu, uint32_t how);

/** exception_fault() - as its priorities say: the handler of the fault, HardFault, or
 * the core locks up. */
void exception_fault(struct cpu *cpu, struct cpu_fault fault);

/** exception_usage() - a UsageFault of the instruction that runs. @status: of CFSR. */
void exception_usage(struct cpu *cpu, uint32_t status);

/** exception_priority() - of the code that runs, masks included. */
int exception_priority(const struct cpu *cpu);

/** exception_allows() - the MPU lets that code @access (MPU_*) the byte at @addr. */
bool exception_allows(struct cpu *cpu, uint32_t addr, uint32_t access);

/** exception_vector() - word @n of the table of vectors. */
uint32_t exception_vector(struct cpu *cpu, uint32_t n);

#endif /* BOARD_MODEL_EXCEPTION_H */
