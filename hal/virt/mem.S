/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mem.S - memcpy, memmove, memset, memcmp for the Cortex-A15: newlib nano's go
 * byte by byte, which makes a 64-byte record cost 250 instructions; these make
 * it about 25. Unaligned addresses are fine (normal memory, MMU on).
 */
	.syntax	unified
	.arm
	.fpu	neon-vfpv4
	.text

	.macro	function name
	.global	\name
	.type	\name, %function
	.balign	16
\name:
	.endm

	/* overlapping with the source behind: from the end */
	function memmove
	sub	r3, r0, r1
	cmp	r3, r2
	bhs	memcpy
	add	r1, r1, r2
	add	r3, r0, r2
1:	subs	r2, r2, #1
	bxlo	lr
	ldrb	r12, [r1, #-1]!
	strb	r12, [r3, #-1]!
	b	1b

	function memcpy
	mov	r12, r0
	subs	r2, r2, #64
	blo	2f
1:	vld1.8	{d0-d3}, [r1]!
	vld1.8	{d4-d7}, [r1]!
	subs	r2, r2, #64
	vst1.8	{d0-d3}, [r12]!
	vst1.8	{d4-d7}, [r12]!
	bhs	1b
2:	adds	r2, r2, #48		@ bytes left - 16
	bmi	4f
3:	vld1.8	{d0-d1}, [r1]!
	subs	r2, r2, #16
	vst1.8	{d0-d1}, [r12]!
	bpl	3b
4:	tst	r2, #15			@ the same low bits as bytes left
	bxeq	lr
	tst	r2, #8
	beq	5f
	vld1.8	{d0}, [r1]!
	vst1.8	{d0}, [r12]!
5:	tst	r2, #4
	ldrne	r3, [r1], #4
	strne	r3, [r12], #4
	tst	r2, #2
	ldrhne	r3, [r1], #2
	strhne	r3, [r12], #2
	tst	r2, #1
	ldrbne	r3, [r1]
	strbne	r3, [r12]
	bx	lr

	function memset
	vdup.8	q0, r1
	mov	r12, r0
	subs	r2, r2, #16
	blo	2f
1:	subs	r2, r2, #16
	vst1.8	{d0-d1}, [r12]!
	bhs	1b
2:	tst	r2, #15
	bxeq	lr
	tst	r2, #8
	beq	3f
	vst1.8	{d0}, [r12]!
3:	vmov.32	r3, d0[0]
	tst	r2, #4
	strne	r3, [r12], #4
	tst	r2, #2
	strhne	r3, [r12], #2
	tst	r2, #1
	strbne	r3, [r12]
	bx	lr

	function memcmp
1:	subs	r2, r2, #4
	blo	2f
	ldr	r3, [r0], #4
	ldr	r12, [r1], #4
	cmp	r3, r12
	beq	1b
	rev	r3, r3			@ the first byte decides
	rev	r12, r12
	cmp	r3, r12
	movhi	r0, #1
	mvnlo	r0, #0
	bx	lr
2:	adds	r2, r2, #4
	moveq	r0, #0
	bxeq	lr
3:	ldrb	r3, [r0], #1
	ldrb	r12, [r1], #1
	subs	r12, r3, r12
	bne	4f
	subs	r2, r2, #1
	bne	3b
4:	mov	r0, r12
	bx	lr
