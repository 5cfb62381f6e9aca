/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cpu.h - a Cortex-M3 or M4: instructions, exceptions, sleep, MPU, and what a
 * debugger does to it. The registers of its system control space are in scs.h.
 *
 * Secret: when the core stops and goes on. An instruction takes one cycle, a branch three and the wait
 * states of the flash, whose buffers hide them otherwise. Not modelled: frames with floating point registers, unprivileged
 * code, bit-band aliases, protected regions smaller than a page of Unicorn's.
 */
#ifndef BOARD_MODEL_CPU_H
#define BOARD_MODEL_CPU_H

#include "board.h"
#include "mpu.h"
#include "nvic.h"

/* Numbers of DCRSR (ARM DDI 0403E C1.6.3). */
#define CPU_SP	 13u
#define CPU_LR	 14u
#define CPU_PC	 15u
#define CPU_XPSR 16u
#define CPU_MSP	 17u
#define CPU_PSP	 18u
#define CPU_MASK 20u /* CONTROL, FAULTMASK, BASEPRI, PRIMASK from the top */

/* DFSR: why the core halted. */
#define CPU_HALTED 1u
#define CPU_BKPT   2u
#define CPU_VCATCH 8u

#define CPU_WATCHES 4u

struct cpu_fault {
	uint32_t exception, status, addr, pc; /* status: bits of CFSR */
	bool has_addr;
};

struct systick {
	uint32_t control, reload;
	uint64_t zero; /* cycles when it was at its reload value */
	bool counted;
};

/* Stores of the core that somebody sees before they are done. */
struct cpu_watch {
	uint32_t base, bytes;
	void (*see)(void *arg, uint32_t addr, uint32_t value);
	void *arg;
	uint64_t hook; /* Unicorn's, 0: none */
};

struct cpu {
	struct board *board;
	void *uc;	  /* uc_engine */
	void *context;	  /* uc_context */
	uint32_t ipsr_at; /* where that has the number of the exception */
	struct nvic nvic;
	struct mpu mpu;
	struct systick systick;
	/* system control block */
	uint32_t vtor, ccr, scr, shcsr, cfsr, hfsr, mmfar, bfar, cpacr;
	/* debug */
	uint32_t dhcsr, demcr, dfsr, dcrdr, fp_ctrl, fp_comp[8];
	bool breakpoints; /* there are some */
	bool hung;	  /* code outside of handlers makes no progress */
	bool halted, was_reset, locked_up, asleep;
	/* between the hooks of Unicorn and the loop around it */
	uint64_t due;
	uint32_t pc, next, steps;
	bool look, stopped, watch_masks, mpu_changed, urgent;
	uint32_t changed; /* memories, a bit each */
	int interrupt;	  /* Unicorn's, or -1 */
	struct cpu_fault fault;
	struct cpu_watch watches[CPU_WATCHES];
};

/** cpu_new() - the processor of @board, whose chip and memories are there. */
struct cpu *cpu_new(struct board *board);

/** cpu_reset() - as the vectors at address 0 say; halted if the debugger catches
 * that. */
void cpu_reset(struct cpu *cpu);

/** cpu_run() - run, or sleep, until @ns or a reset is wanted; a halted core lets the
 * time pass. Events happen in time. */
void cpu_run(struct cpu *cpu, uint64_t ns);

/** cpu_irq() - the level of external interrupt @line. */
void cpu_irq(struct cpu *cpu, uint32_t line, bool level);

/** cpu_nmi() - the NMI comes once. */
void cpu_nmi(struct cpu *cpu);

/** cpu_undefined() - the next instruction is undefined. */
void cpu_undefined(struct cpu *cpu);

/** cpu_look() - something changed that the next instruction must not miss. */
void cpu_look(struct cpu *cpu);

/** cpu_watch_stores() - call @see(@arg) before each store of the core into @bytes at
 * @base from now on, instead of where this was called for @arg before. Every store
 * takes longer then. */
void cpu_watch_stores(struct cpu *cpu, uint32_t base, uint32_t bytes,
		      void (*see)(void *arg, uint32_t addr, uint32_t value),
		      void *arg);

/** cpu_halt(), cpu_resume(), cpu_step() - by the debugger. @why: bits of DFSR. */
void cpu_halt(struct cpu *cpu, uint32_t why);
void cpu_resume(struct cpu *cpu);
void cpu_step(struct cpu *cpu);

/** cpu_get_reg(), cpu_set_reg() - by the number of DCRSR. */
uint32_t cpu_get_reg(struct cpu *cpu, uint32_t reg);
void cpu_set_reg(struct cpu *cpu, uint32_t reg, uint32_t value);

/** cpu_pc() - the address of the instruction that runs. */
uint32_t cpu_pc(const struct cpu *cpu);

/** cpu_changed() - bytes at @addr changed without the processor's doing. */
void cpu_changed(struct cpu *cpu, uint32_t addr);

/** cpu_bus_error() - the access of the instruction that runs failed. */
void cpu_bus_error(struct cpu *cpu, uint32_t addr, bool write);

#endif /* BOARD_MODEL_CPU_H */
