/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * start_m3.S - the vectors and the start of a unit test on a Cortex-M3, without
 * MPU. The linker's command line says where the stack is.
 */
	.syntax	unified
	.thumb
	.section .vectors, "a"
	.word	target_stack
	.word	_start
	.rept	14
	.word	fault
	.endr

	.text
	.thumb_func
	.type	fault, %function
fault:	mrs	r0, ipsr		@ 3 hard, 4 memory, 5 bus, 6 usage
	ldr	r1, [sp, #24]
	bl	target_fault

	.thumb_func
	.global	_start
	.type	_start, %function
_start:
	bl	target_c_start
