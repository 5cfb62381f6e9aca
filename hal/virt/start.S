/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * start.S - from reset to main(), the exception vectors, and the static part of
 * the translation table.
 *
 * Interrupts stay masked for ever: WFI wakes up on a pending masked interrupt,
 * and the main loop acknowledges it (port.c). So there is no interrupt code at
 * all, and every exception taken is a fault that ends in a crash record.
 *
 * For QEMU's `virt` machine only, as all of this folder. A real Cortex-A15 would
 * also need its data caches invalidated by set and way before the MMU is on, and
 * SMP mode for its caches to be coherent (ACTLR.SMP, Cortex-A15 TRM): QEMU has
 * neither.
 */
#include "memlayout.h"

#define MODE_FIQ 0x11
#define MODE_IRQ 0x12
#define MODE_SVC 0x13
#define MODE_ABT 0x17
#define MODE_UND 0x1b
#define MASKED	 0xc0 /* CPSR.I and .F */

/* enum unic_crash_kind, abi/unic_stats.h; crash.c asserts these */
#define KIND_UNDEF    2
#define KIND_PREFETCH 3
#define KIND_DATA     4
#define KIND_OTHER    6

	.syntax	unified
	.arm
	.arch_extension sec

	.section .vectors, "ax"
	.balign	32
vectors:
	b	_start
	b	fault_undef
	b	fault_svc
	b	fault_prefetch
	b	fault_data
	b	fault_svc		@ reserved
	b	fault_irq
	b	fault_irq		@ FIQ

	.text
	.global	_start
	.type	_start, %function
_start:
	cpsid	aif, #MODE_SVC
	ldr	r0, =vectors
	mcr	p15, 0, r0, c12, c0, 0	@ VBAR

	ldr	r0, =__fault_stack_top
	cps	#MODE_ABT
	mov	sp, r0
	cps	#MODE_UND
	mov	sp, r0
	cps	#MODE_IRQ
	mov	sp, r0
	cps	#MODE_FIQ
	mov	sp, r0
	cps	#MODE_SVC
	ldr	sp, =__stack_top

	mov	r0, #0
	mcr	p15, 0, r0, c8, c7, 0	@ TLBIALL
	mcr	p15, 0, r0, c7, c5, 0	@ ICIALLU
	mcr	p15, 0, r0, c7, c5, 6	@ BPIALL
	mcr	p15, 0, r0, c2, c0, 2	@ TTBCR: one table, short descriptors
	ldr	r0, =mmu_table
	orr	r0, r0, #0x4a		@ walks: write-back, shareable
	mcr	p15, 0, r0, c2, c0, 0	@ TTBR0
	mov	r0, #1
	mcr	p15, 0, r0, c3, c0, 0	@ DACR: domain 0 is checked
	dsb
	isb
	mrc	p15, 0, r0, c1, c0, 0	@ SCTLR
	ldr	r1, =(1 << 29 | 1 << 28 | 1 << 13 | 1 << 1)
	bic	r0, r0, r1		@ no AFE, TRE, high vectors, A
	ldr	r1, =(1 << 12 | 1 << 11 | 1 << 2 | 1 << 0)
	orr	r0, r0, r1		@ I, Z, C, M
	mcr	p15, 0, r0, c1, c0, 0
	isb

	mrc	p15, 0, r0, c1, c0, 2	@ CPACR: VFP and NEON
	orr	r0, r0, #0xf << 20
	mcr	p15, 0, r0, c1, c0, 2
	isb
	mov	r0, #1 << 30
	vmsr	fpexc, r0

	ldr	r0, =__bss_start
	ldr	r1, =__bss_end
	mov	r2, #0
	mov	r3, #0
1:	cmp	r0, r1
	strdlo	r2, r3, [r0], #8
	blo	1b

	bl	main
2:	wfi
	b	2b

/*
 * A fault: leave struct crash_frame (crash.h) on the fault stack and go to
 * crash_fault(kind, frame). The stack is that of the fault's own mode, so an
 * overflow of the main stack is reported like any other.
 */
	.macro	fault name, kind, adjust
\name:
	sub	lr, lr, #\adjust
	push	{r0-r12}
	mov	r0, #\kind
	b	fault_common
	.endm

	fault	fault_undef, KIND_UNDEF, 4
	fault	fault_svc, KIND_OTHER, 4
	fault	fault_prefetch, KIND_PREFETCH, 4
	fault	fault_data, KIND_DATA, 8
	fault	fault_irq, KIND_OTHER, 4

fault_common:
	mrs	r7, spsr
	mov	r6, lr			@ where it happened
	mrs	r3, cpsr
	and	r2, r7, #0x1f
	orr	r2, r2, #MASKED
	msr	cpsr_c, r2		@ the mode it happened in
	mov	r4, sp
	mov	r5, lr
	msr	cpsr_c, r3
	push	{r4-r7}
	mov	r1, sp
	bic	sp, sp, #7
	bl	crash_fault
	b	2b

/* unic_port_panic(port, file, line): the same frame, on the main stack */
	.global	unic_port_panic
	.type	unic_port_panic, %function
unic_port_panic:
	mov	r12, sp
	push	{r0-r12}
	mov	r4, r12
	mov	r5, lr
	mov	r6, lr
	mrs	r7, cpsr
	push	{r4-r7}
	mov	r3, sp
	bic	sp, sp, #7
	bl	crash_panic
	b	2b

	.ltorg

/*
 * Translation table, short descriptors, sections only; mmu.c adds the memory
 * BARs. Being data, it is fresh after each reset.
 */
#define SECTION	 0x2
#define DEVICE	 (SECTION | 0x410 | 0x4)     /* Device-nGnRE, RW, XN */
#define TEXT	 (SECTION | 0x1940c | 0x0)   /* WB shareable, RO */
#define DATA	 (SECTION | 0x1141c | 0x0)   /* WB shareable, RW, XN */

	.macro	map addr, attr
	.org	mmu_table + (\addr >> 20) * 4
	.word	\addr + \attr
	.endm

	.section .mmu_table, "aw"
	.balign	16384
	.global	mmu_table
mmu_table:
	map	VIRT_GICD, DEVICE
	map	VIRT_UART, DEVICE
	map	VIRT_VIRTIO, DEVICE
	map	VIRT_PCI_REGS, DEVICE
	map	VIRT_ECAM, DEVICE
	map	VIRT_TEXT, TEXT
	map	VIRT_RAM, DATA
	.org	mmu_table + 16384
