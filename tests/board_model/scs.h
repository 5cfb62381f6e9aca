/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * scs.h - the registers from 0xe0000000 on: system control block, SysTick, NVIC, MPU,
 * and those of the debugger (ARM DDI 0403E B3 and C1).
 *
 * Secret: their addresses, and SysTick's arithmetic.
 */
#ifndef BOARD_MODEL_SCS_H
#define BOARD_MODEL_SCS_H

#include "cpu.h"

/* CFSR */
#define SCS_IACCVIOL	0x00000001u
#define SCS_DACCVIOL	0x00000002u
#define SCS_MSTKERR	0x00000010u
#define SCS_MMARVALID	0x00000080u
#define SCS_IBUSERR	0x00000100u
#define SCS_PRECISERR	0x00000200u
#define SCS_IMPRECISERR 0x00000400u
#define SCS_BFARVALID	0x00008000u
#define SCS_UNDEFINSTR	0x00010000u
#define SCS_INVSTATE	0x00020000u
#define SCS_INVPC	0x00040000u
#define SCS_NOCP	0x00080000u
#define SCS_UNALIGNED	0x01000000u
/* HFSR */
#define SCS_FORCED 0x40000000u
/* CCR */
#define SCS_STKALIGN 0x200u
/* DHCSR */
#define SCS_C_DEBUGEN 1u
/* DEMCR */
#define SCS_VC_CORERESET 1u

/** scs_read(), scs_write() - the word at @addr, as the processor or the debugger
 * accesses it. What is not there reads as 0. */
uint32_t scs_read(struct cpu *cpu, uint32_t addr);
void scs_write(struct cpu *cpu, uint32_t addr, uint32_t value);

/** scs_reset() - but for the debugger's registers. */
void scs_reset(struct cpu *cpu);

/** scs_check_breakpoints() - halt if a comparator has cpu_pc(). */
void scs_check_breakpoints(struct cpu *cpu);

#endif /* BOARD_MODEL_SCS_H */
