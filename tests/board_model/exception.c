// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* exception.c - see exception.h. */
#include "exception.h"

#include <string.h>
#include <unicorn/unicorn.h>

#include "regs.h"
#include "scs.h"

#define FRAME_BYTES  32u
#define XPSR_ALIGNED (1u << 9)
#define SPSEL	     2u
#define FPCA	     4u
#define RETURN	     0xfffffff0u /* EXC_RETURN without floating point */

static const int stacked_regs[6] = {
	UC_ARM_REG_R0, UC_ARM_REG_R1,  UC_ARM_REG_R2,
	UC_ARM_REG_R3, UC_ARM_REG_R12, UC_ARM_REG_LR,
};

bool exception_allows(struct cpu *cpu, uint32_t addr, uint32_t access)
{
	return mpu_allowed(&cpu->mpu, addr, cpu->urgent) & access;
}

/* The MPU may let HardFault and NMI do more. */
static void note_priority(struct cpu *cpu)
{
	bool urgent = nvic_running_priority(&cpu->nvic) <= NVIC_HARD_PRIO;

	cpu->mpu_changed |= urgent != cpu->urgent;
	cpu->urgent = urgent;
}

int exception_priority(const struct cpu *cpu)
{
	int priority = nvic_running_priority(&cpu->nvic);
	int base = (int)(regs_get(cpu, UC_ARM_REG_BASEPRI) & 0xff);

	if (base && base < priority)
		priority = base;
	if (regs_get(cpu, UC_ARM_REG_PRIMASK) && priority > 0)
		priority = 0;
	if (regs_get(cpu, UC_ARM_REG_FAULTMASK) && priority > NVIC_HARD_PRIO)
		priority = NVIC_HARD_PRIO;
	return priority;
}

/* Of the stack: part of an exception's entry or return. */
static bool move_word(struct cpu *cpu, uint32_t addr, uint32_t *v, bool write)
{
	const struct board_memory *m = board_memory_at(cpu->board, addr, 4);

	if (!m || !exception_allows(cpu, addr, write ? MPU_WRITE : MPU_READ) ||
	    (write && !m->writable))
		return false;
	if (write)
		memcpy(m->host + (addr - m->base), v, 4);
	else
		memcpy(v, m->host + (addr - m->base), 4);
	return true;
}

uint32_t exception_vector(struct cpu *cpu, uint32_t n)
{
	uint32_t v = 0;

	board_read(cpu->board, cpu->vtor + 4 * n, 4, &v);
	return v;
}

/* Erased flash has no vectors: a board that is new does that. */
static void lock_up(struct cpu *cpu, const char *why)
{
	if (exception_vector(cpu, EXC_HARD) == ~0u)
		board_say(cpu->board, "the core locks up: no vectors");
	else
		board_fault(cpu->board, "the core locks up: %s", why);
	cpu->locked_up = true;
}

/* Returns false: the stack was not writable. */
static bool push_frame(struct cpu *cpu, uint32_t sp, uint32_t pc, uint32_t xpsr)
{
	uint32_t v;

	for (uint32_t i = 0; i < 6; i++) {
		v = regs_get(cpu, stacked_regs[i]);
		if (!move_word(cpu, sp + 4 * i, &v, true))
			return false;
	}
	return move_word(cpu, sp + 24, &pc, true) &&
	       move_word(cpu, sp + 28, &xpsr, true);
}

/* @pc: where the handler returns to. */
void exception_enter(struct cpu *cpu, uint32_t n, uint32_t pc)
{
	uint32_t control = regs_get(cpu, UC_ARM_REG_CONTROL);
	uint32_t msp = regs_get(cpu, UC_ARM_REG_MSP);
	uint32_t psp = regs_get(cpu, UC_ARM_REG_PSP);
	bool thread = !regs_get_ipsr(cpu), on_psp = thread && control & SPSEL;
	uint32_t sp = on_psp ? psp : msp, xpsr = regs_get_xpsr(cpu);
	bool stacked;

	if (control & FPCA)
		board_fault(cpu->board, "a frame with floating point registers "
					"is not modelled");
	if (sp & 4 && cpu->ccr & SCS_STKALIGN) {
		sp -= 4;
		xpsr |= XPSR_ALIGNED;
	}
	sp -= FRAME_BYTES;
	stacked = push_frame(cpu, sp, pc, xpsr);
	if (thread)
		regs_set(cpu, UC_ARM_REG_CONTROL, control & ~SPSEL);
	regs_set_ipsr(cpu, n);
	regs_set_xpsr(cpu, xpsr & ~XPSR_IT);
	regs_set(cpu, UC_ARM_REG_MSP, on_psp ? msp : sp);
	regs_set(cpu, UC_ARM_REG_PSP, on_psp ? sp : psp);
	regs_set(cpu, UC_ARM_REG_LR, RETURN | (!thread ? 1 : on_psp ? 13 : 9));
	nvic_enter(&cpu->nvic, n);
	note_priority(cpu);
	regs_set_pc(cpu, exception_vector(cpu, n));
	cpu->look = true;
	if (!stacked)
		exception_fault(cpu, (struct cpu_fault){ .exception = EXC_MEM,
							 .status = SCS_MSTKERR,
							 .pc = cpu->pc });
}

void exception_fault(struct cpu *cpu, struct cpu_fault fault)
{
	uint32_t n = nvic_fault_becomes(&cpu->nvic, fault.exception,
					exception_priority(cpu));

	cpu->cfsr |= fault.status;
	if (fault.has_addr && fault.exception == EXC_MEM) {
		cpu->mmfar = fault.addr;
		cpu->cfsr |= SCS_MMARVALID;
	} else if (fault.has_addr) {
		cpu->bfar = fault.addr;
		cpu->cfsr |= SCS_BFARVALID;
	}
	if (!n) {
		lock_up(cpu, "a fault in HardFault");
		return;
	}
	if (n == EXC_HARD && fault.exception != EXC_HARD)
		cpu->hfsr |= SCS_FORCED;
	exception_enter(cpu, n, fault.pc);
}

void exception_usage(struct cpu *cpu, uint32_t status)
{
	exception_fault(cpu, (struct cpu_fault){ .exception = EXC_USAGE,
						 .status = status,
						 .pc = cpu->pc });
}

static void pop_regs(struct cpu *cpu, const uint32_t frame[8])
{
	for (uint32_t i = 0; i < 6; i++)
		regs_set(cpu, stacked_regs[i], frame[i]);
	regs_set_xpsr(cpu, frame[7]);
	regs_set_pc(cpu, frame[6]);
}

void exception_leave(struct cpu *cpu, uint32_t how)
{
	uint32_t msp = regs_get(cpu, UC_ARM_REG_MSP);
	uint32_t psp = regs_get(cpu, UC_ARM_REG_PSP), frame[8] = { 0 };
	bool on_psp = (how & 15) == 13, thread = (how & 15) != 1;
	uint32_t sp = on_psp ? psp : msp, n = regs_get_ipsr(cpu);

	if ((how & ~13u) != 0xfffffff0u || !(how & 1)) {
		exception_usage(cpu, SCS_INVPC);
		return;
	}
	for (uint32_t i = 0; i < 8; i++)
		if (!move_word(cpu, sp + 4 * i, &frame[i], false)) {
			lock_up(cpu, "unstacking failed: not modelled");
			return;
		}
	nvic_leave(&cpu->nvic, n);
	note_priority(cpu);
	if (n != EXC_NMI)
		regs_set(cpu, UC_ARM_REG_FAULTMASK, 0);
	sp += FRAME_BYTES + (frame[7] & XPSR_ALIGNED ? 4 : 0);
	regs_set_ipsr(cpu, frame[7] & 0x1ff);
	if (thread)
		regs_set(cpu, UC_ARM_REG_CONTROL,
			 (regs_get(cpu, UC_ARM_REG_CONTROL) & ~SPSEL) |
				 (on_psp ? SPSEL : 0));
	regs_set(cpu, UC_ARM_REG_MSP, on_psp ? msp : sp);
	regs_set(cpu, UC_ARM_REG_PSP, on_psp ? sp : psp);
	pop_regs(cpu, frame);
	cpu->look = true;
	if (thread == !!(frame[7] & 0x1ff))
		exception_usage(cpu, SCS_INVPC);
}
