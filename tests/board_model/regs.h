/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * regs.h - the registers of an ARMv7-M core in Unicorn.
 *
 * Secret: how Unicorn's state becomes that of such a core.
 */
#ifndef BOARD_MODEL_REGS_H
#define BOARD_MODEL_REGS_H

#include "cpu.h"

#define XPSR_IT \
	0x0600fc00u /* state of an IT block, of instructions cut short */

/** regs_get(), regs_set() - @id: one of Unicorn's UC_ARM_REG_*. */
uint32_t regs_get(const struct cpu *cpu, int id);
void regs_set(struct cpu *cpu, int id, uint32_t v);

/** regs_init() - once, before regs_set_ipsr(). Ends the program if this Unicorn has
 * no such place. */
void regs_init(struct cpu *cpu);

/** regs_get_ipsr(), regs_set_ipsr() - the number of the exception that runs. Setting
 * it may exchange stack pointers: the caller writes both. */
uint32_t regs_get_ipsr(const struct cpu *cpu);
void regs_set_ipsr(struct cpu *cpu, uint32_t number);

/** regs_are_masked() - whether a mask holds off interrupts. */
bool regs_are_masked(const struct cpu *cpu);

/** regs_get_xpsr(), regs_set_xpsr() - whole; set: all but IPSR. */
uint32_t regs_get_xpsr(const struct cpu *cpu);
void regs_set_xpsr(struct cpu *cpu, uint32_t xpsr);

/** regs_set_pc() - where the next instruction is. */
void regs_set_pc(struct cpu *cpu, uint32_t pc);

/** regs_set_masks() - CONTROL, FAULTMASK, BASEPRI, PRIMASK, as CPU_MASK has them. */
void regs_set_masks(struct cpu *cpu, uint32_t value);

#endif /* BOARD_MODEL_REGS_H */
