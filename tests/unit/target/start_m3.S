/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * start_m3.S - the vectors and the start of a unit test on the Cortex-M3 of
 * `mps2-an385`, without MPU. The stack is at the end of 16 MiB of PSRAM.
 */
	.syntax	unified
	.thumb
	.section .vectors, "a"
	.word	0x22000000
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
