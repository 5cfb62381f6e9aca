// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * cpu.c - see cpu.h. Unicorn runs from one thing of interest to the next: an event of
 * the clock, an exception, an access that fails, WFI.
 */
#include "cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "engine.h"
#include "exception.h"
#include "regs.h"
#include "scs.h"

#define UNTIL	     1u /* no instruction has an odd address */
#define OPCODE_WFE   0xbf20u
#define OPCODE_YIELD 0xbf10u

/* EXCP_* of QEMU. */
#define Q_SVC	    2
#define Q_BKPT	    7
#define Q_EXIT	    8
#define Q_NO_COPROC 17
#define Q_STATE	    18
#define Q_UNALIGNED 22

uint32_t cpu_pc(const struct cpu *cpu)
{
	return cpu ? cpu->pc : 0;
}

void cpu_look(struct cpu *cpu)
{
	if (cpu)
		cpu->look = true;
}

void cpu_irq(struct cpu *cpu, uint32_t line, bool level)
{
	nvic_set_level(&cpu->nvic, EXC_IRQ + line, level);
	cpu_look(cpu);
}

void cpu_nmi(struct cpu *cpu)
{
	cpu->nvic.exc[EXC_NMI].pending = true;
	cpu_look(cpu);
}

void cpu_undefined(struct cpu *cpu)
{
	cpu->asleep = false;
	exception_usage(cpu, SCS_UNDEFINSTR);
}

void cpu_changed(struct cpu *cpu, uint32_t addr)
{
	const struct board *board = cpu ? cpu->board : NULL;

	for (uint32_t i = 0; board && i < board->memory_count; i++)
		if (addr - board->memories[i].base < board->memories[i].bytes)
			cpu->changed |= 1u << i;
}

void cpu_bus_error(struct cpu *cpu, uint32_t addr, bool write)
{
	bool denied = !(mpu_allowed(&cpu->mpu, addr, false) &
			(write ? MPU_WRITE : MPU_READ));

	if (cpu->fault.exception)
		return;
	cpu->fault = (struct cpu_fault){
		.exception = denied ? EXC_MEM : EXC_BUS,
		.status = denied  ? SCS_DACCVIOL
			  : write ? SCS_IMPRECISERR
				  : SCS_PRECISERR,
		.addr = addr,
		.has_addr = denied || !write,
		.pc = cpu->pc,
	};
	cpu_look(cpu);
}

void cpu_watch_stores(struct cpu *cpu, uint32_t base, uint32_t bytes,
		      void (*see)(void *arg, uint32_t addr, uint32_t value),
		      void *arg)
{
	struct cpu_watch *w = cpu->watches;

	while (w < &cpu->watches[CPU_WATCHES - 1] && w->arg && w->arg != arg)
		w++;
	if (w->arg == arg && w->base == base && w->bytes == bytes)
		return;
	*w = (struct cpu_watch){ base, bytes, see, arg, w->hook };
	engine_watch(cpu, w);
}

/* -------------------------------------------------------------- debugger */

void cpu_halt(struct cpu *cpu, uint32_t why)
{
	cpu->dfsr |= why;
	cpu->halted = true;
	cpu_look(cpu);
}

void cpu_resume(struct cpu *cpu)
{
	cpu->halted = false;
}

static void run_instructions(struct cpu *cpu, uint64_t ns);

void cpu_step(struct cpu *cpu)
{
	cpu->halted = false;
	cpu->asleep = false;
	cpu->steps = 2;
	run_instructions(cpu, CLOCK_NEVER);
	cpu->steps = 0;
	cpu_halt(cpu, CPU_HALTED);
}

static void take_breakpoint(struct cpu *cpu)
{
	if (cpu->dhcsr & SCS_C_DEBUGEN)
		cpu_halt(cpu, CPU_BKPT);
	else
		exception_fault(cpu, (struct cpu_fault){ .exception = EXC_HARD,
							 .pc = cpu->pc });
}

/* ------------------------------------------------------------------- run */

static void handle_interrupt(struct cpu *cpu)
{
	switch (cpu->interrupt) {
	case Q_SVC:
		if (nvic_fault_becomes(&cpu->nvic, EXC_SVC,
				       exception_priority(cpu)) == EXC_SVC)
			exception_enter(cpu, EXC_SVC,
					regs_get(cpu, UC_ARM_REG_PC));
		else
			exception_fault(
				cpu, (struct cpu_fault){ .exception = EXC_HARD,
							 .pc = cpu->pc });
		break;
	case Q_BKPT:
		take_breakpoint(cpu);
		break;
	case Q_EXIT:
		exception_leave(cpu, regs_get(cpu, UC_ARM_REG_PC) | 1);
		break;
	case Q_NO_COPROC:
		exception_usage(cpu, SCS_NOCP);
		break;
	case Q_STATE:
		exception_usage(cpu, SCS_INVSTATE);
		break;
	case Q_UNALIGNED:
		exception_usage(cpu, SCS_UNALIGNED);
		break;
	default:
		exception_usage(cpu, SCS_UNDEFINSTR);
	}
}

static void handle_fetch_error(struct cpu *cpu)
{
	uint32_t pc = regs_get(cpu, UC_ARM_REG_PC);
	bool denied = !exception_allows(cpu, pc, MPU_EXEC);

	exception_fault(cpu,
			(struct cpu_fault){
				.exception = denied ? EXC_MEM : EXC_BUS,
				.status = denied ? SCS_IACCVIOL : SCS_IBUSERR,
				.pc = pc });
}

static void handle_undefined(struct cpu *cpu)
{
	uint32_t opcode = 0;

	board_read(cpu->board, cpu->pc, 2, &opcode);
	if (opcode == OPCODE_WFE || opcode == OPCODE_YIELD)
		regs_set_pc(cpu, cpu->pc + 2);
	else
		exception_usage(cpu, SCS_UNDEFINSTR);
}

static void handle_end(struct cpu *cpu, uc_err err)
{
	if (cpu->interrupt >= 0) {
		handle_interrupt(cpu);
	} else if (err == UC_ERR_FETCH_PROT || err == UC_ERR_FETCH_UNMAPPED) {
		handle_fetch_error(cpu);
	} else if (err == UC_ERR_INSN_INVALID) {
		handle_undefined(cpu);
	} else if (err == UC_ERR_EXCEPTION) {
		exception_usage(cpu, SCS_INVSTATE);
	} else if (cpu->fault.exception) {
		/* a load stopped at once, a store or a device goes on */
		if (cpu->fault.status & SCS_IMPRECISERR)
			cpu->fault.pc = regs_get(cpu, UC_ARM_REG_PC);
	} else if (!err && !cpu->stopped) {
		cpu->asleep = true;
	} else if (err) {
		fprintf(stderr, "board-model: Unicorn: %s at %08x\n",
			uc_strerror(err), cpu->pc);
		exit(1);
	}
	if (cpu->fault.exception) {
		struct cpu_fault fault = cpu->fault;

		cpu->fault.exception = 0;
		exception_fault(cpu, fault);
	}
}

static void run_instructions(struct cpu *cpu, uint64_t ns)
{
	struct clock *clock = &cpu->board->clock;
	uc_err err;

	engine_refresh(cpu);
	cpu->due = clock_cycles_at(clock, ns);
	cpu->interrupt = -1;
	cpu->stopped = false;
	cpu->look = false;
	cpu->next = regs_get(cpu, UC_ARM_REG_PC);
	err = uc_emu_start(cpu->uc, cpu->next | 1, UNTIL, 0, 0);
	handle_end(cpu, err);
}

/* Returns whether something is pending that masks hold off. */
static bool take_exception(struct cpu *cpu)
{
	uint32_t n = nvic_next(&cpu->nvic, exception_priority(cpu));

	if (n) {
		cpu->asleep = false;
		exception_enter(cpu, n, regs_get(cpu, UC_ARM_REG_PC));
		return false;
	}
	n = nvic_next(&cpu->nvic, nvic_running_priority(&cpu->nvic));
	if (n)
		cpu->asleep = false;
	return n;
}

static void pass_time(struct cpu *cpu, uint64_t ns)
{
	uint64_t next = clock_next_ns(&cpu->board->clock);

	clock_skip_to(&cpu->board->clock, next < ns ? next : ns);
}

void cpu_run(struct cpu *cpu, uint64_t ns)
{
	struct clock *clock = &cpu->board->clock;

	while (!cpu->board->power_failed && !cpu->board->reset_wanted) {
		clock_run(clock);
		if (clock_now_ns(clock) >= ns)
			break;
		if (cpu->halted || cpu->locked_up) {
			pass_time(cpu, ns);
			continue;
		}
		cpu->watch_masks = take_exception(cpu);
		if (cpu->asleep || (cpu->hung && !regs_get_ipsr(cpu)))
			pass_time(cpu, ns);
		else
			run_instructions(cpu, ns);
	}
}

void cpu_reset(struct cpu *cpu)
{
	static const uint32_t registers = 13;

	scs_reset(cpu);
	nvic_reset(&cpu->nvic, cpu->board->chip->interrupts);
	memset(&cpu->mpu, 0, sizeof(cpu->mpu));
	cpu->asleep = cpu->locked_up = cpu->hung = false;
	cpu->fault.exception = 0;
	cpu->urgent = false;
	cpu->mpu_changed = true;
	regs_set_ipsr(cpu, 0);
	regs_set_masks(cpu, 0);
	for (uint32_t i = 0; i < registers; i++)
		cpu_set_reg(cpu, i, 0);
	regs_set(cpu, UC_ARM_REG_MSP, exception_vector(cpu, 0) & ~3u);
	regs_set(cpu, UC_ARM_REG_PSP, 0);
	regs_set(cpu, UC_ARM_REG_LR, ~0u);
	regs_set_xpsr(cpu, 0);
	regs_set_pc(cpu, exception_vector(cpu, 1));
	cpu->was_reset = true;
	if (cpu->dhcsr & SCS_C_DEBUGEN && cpu->demcr & SCS_VC_CORERESET)
		cpu_halt(cpu, CPU_VCATCH);
}

struct cpu *cpu_new(struct board *board)
{
	struct cpu *cpu = calloc(1, sizeof(*cpu));

	if (!cpu)
		abort();
	cpu->board = board;
	engine_open(cpu);
	return cpu;
}
