// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * regs.c - see regs.h. Unicorn's interface cannot write IPSR: that is written into a
 * saved context, at a place which is searched for once.
 */
#include "regs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#define XPSR_T (1u << 24)
#define APSR   0xf80f0000u
#define CPSR_T 0x20u

uint32_t regs_get(const struct cpu *cpu, int id)
{
	uint32_t v = 0;

	uc_reg_read(cpu->uc, id, &v);
	return v;
}

void regs_set(struct cpu *cpu, int id, uint32_t v)
{
	uc_reg_write(cpu->uc, id, &v);
}

uint32_t regs_get_ipsr(const struct cpu *cpu)
{
	return regs_get(cpu, UC_ARM_REG_IPSR);
}

bool regs_are_masked(const struct cpu *cpu)
{
	return regs_get(cpu, UC_ARM_REG_PRIMASK) ||
	       regs_get(cpu, UC_ARM_REG_BASEPRI) ||
	       regs_get(cpu, UC_ARM_REG_FAULTMASK);
}

/* Writing flags makes Unicorn derive its own state anew. */
void regs_set_ipsr(struct cpu *cpu, uint32_t number)
{
	uint32_t cpsr;

	uc_context_save(cpu->uc, cpu->context);
	memcpy((uint8_t *)cpu->context + cpu->ipsr_at, &number, 4);
	uc_context_restore(cpu->uc, cpu->context);
	cpsr = regs_get(cpu, UC_ARM_REG_CPSR);
	regs_set(cpu, UC_ARM_REG_APSR_NZCV, cpsr);
}

/* The one word of a context that is read back as IPSR. */
void regs_init(struct cpu *cpu)
{
	size_t bytes = uc_context_size(cpu->uc);
	uint32_t found = 0, probe = 0x155, kept, v;
	uint8_t *at;

	if (uc_context_alloc(cpu->uc, (uc_context **)&cpu->context) ||
	    uc_context_save(cpu->uc, cpu->context))
		abort();
	for (size_t off = 16; off + 4 <= bytes; off += 4) {
		at = (uint8_t *)cpu->context + off;
		memcpy(&kept, at, 4);
		memcpy(at, &probe, 4);
		v = 0;
		uc_context_reg_read(cpu->context, UC_ARM_REG_IPSR, &v);
		memcpy(at, &kept, 4);
		if (v == probe) {
			cpu->ipsr_at = (uint32_t)off;
			found++;
		}
	}
	if (found != 1) {
		fprintf(stderr, "board-model: Unicorn has no IPSR to write\n");
		exit(1);
	}
}

uint32_t regs_get_xpsr(const struct cpu *cpu)
{
	uint32_t cpsr = regs_get(cpu, UC_ARM_REG_CPSR);

	return (cpsr & (APSR | XPSR_IT)) | XPSR_T | regs_get_ipsr(cpu);
}

/* But IPSR. */
void regs_set_xpsr(struct cpu *cpu, uint32_t xpsr)
{
	uint32_t cpsr = regs_get(cpu, UC_ARM_REG_CPSR);

	regs_set(cpu, UC_ARM_REG_CPSR,
		 (cpsr & ~(APSR | XPSR_IT)) | (xpsr & (APSR | XPSR_IT)) |
			 CPSR_T);
}

void regs_set_pc(struct cpu *cpu, uint32_t pc)
{
	regs_set(cpu, UC_ARM_REG_PC, pc | 1);
	cpu->pc = pc & ~1u;
}

uint32_t cpu_get_reg(struct cpu *cpu, uint32_t reg)
{
	if (reg < CPU_SP)
		return regs_get(cpu, UC_ARM_REG_R0 + (int)reg);
	switch (reg) {
	case CPU_SP:
		return regs_get(cpu, UC_ARM_REG_SP);
	case CPU_LR:
		return regs_get(cpu, UC_ARM_REG_LR);
	case CPU_PC:
		return regs_get(cpu, UC_ARM_REG_PC);
	case CPU_XPSR:
		return regs_get_xpsr(cpu);
	case CPU_MSP:
		return regs_get(cpu, UC_ARM_REG_MSP);
	case CPU_PSP:
		return regs_get(cpu, UC_ARM_REG_PSP);
	case CPU_MASK:
		return regs_get(cpu, UC_ARM_REG_CONTROL) << 24 |
		       regs_get(cpu, UC_ARM_REG_FAULTMASK) << 16 |
		       regs_get(cpu, UC_ARM_REG_BASEPRI) << 8 |
		       regs_get(cpu, UC_ARM_REG_PRIMASK);
	default:
		return 0;
	}
}

void regs_set_masks(struct cpu *cpu, uint32_t value)
{
	regs_set(cpu, UC_ARM_REG_CONTROL, value >> 24);
	regs_set(cpu, UC_ARM_REG_FAULTMASK, value >> 16 & 1);
	regs_set(cpu, UC_ARM_REG_BASEPRI, value >> 8 & 0xff);
	regs_set(cpu, UC_ARM_REG_PRIMASK, value & 1);
}

static void set_xpsr_and_ipsr(struct cpu *cpu, uint32_t value)
{
	uint32_t msp = regs_get(cpu, UC_ARM_REG_MSP);
	uint32_t psp = regs_get(cpu, UC_ARM_REG_PSP);

	regs_set_ipsr(cpu, value & 0x1ff);
	regs_set(cpu, UC_ARM_REG_MSP, msp);
	regs_set(cpu, UC_ARM_REG_PSP, psp);
	regs_set_xpsr(cpu, value);
}

void cpu_set_reg(struct cpu *cpu, uint32_t reg, uint32_t value)
{
	if (reg < CPU_SP)
		regs_set(cpu, UC_ARM_REG_R0 + (int)reg, value);
	else if (reg == CPU_SP)
		regs_set(cpu, UC_ARM_REG_SP, value & ~3u);
	else if (reg == CPU_LR)
		regs_set(cpu, UC_ARM_REG_LR, value);
	else if (reg == CPU_PC)
		regs_set_pc(cpu, value);
	else if (reg == CPU_XPSR)
		set_xpsr_and_ipsr(cpu, value);
	else if (reg == CPU_MSP)
		regs_set(cpu, UC_ARM_REG_MSP, value & ~3u);
	else if (reg == CPU_PSP)
		regs_set(cpu, UC_ARM_REG_PSP, value & ~3u);
	else if (reg == CPU_MASK)
		regs_set_masks(cpu, value);
}
