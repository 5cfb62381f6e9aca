/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * start_a15.S - the vectors and the start of a unit test on the Cortex-A15 of
 * QEMU's `virt`, without MMU. The stack is at the end of 128 MiB.
 */
	.syntax	unified
	.arm
	.section .text.start, "ax"
	.balign	32
vectors:
	b	_start
	b	undef
	b	svc
	b	prefetch
	b	data
	nop
	b	irq
	b	irq
undef:	mov	r0, #1
	b	fault
svc:	mov	r0, #2
	b	fault
prefetch:
	mov	r0, #3
	b	fault
data:	mov	r0, #4
	b	fault
irq:	mov	r0, #5
fault:	mov	r1, lr
	ldr	sp, =0x47f00000
	bl	target_fault

	.global	_start
	.type	_start, %function
_start:
	ldr	sp, =0x48000000
	ldr	r0, =vectors
	mcr	p15, 0, r0, c12, c0, 0	@ VBAR
	mrc	p15, 0, r0, c1, c0, 2	@ CPACR: the FPU is ours
	orr	r0, r0, #0xf00000
	mcr	p15, 0, r0, c1, c0, 2
	isb
	mov	r0, #0x40000000
	.fpu	neon-vfpv4
	vmsr	fpexc, r0
	bl	target_c_start
	.ltorg
