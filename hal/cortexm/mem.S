/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mem.S - memcpy, memmove, memset, memcmp for the Cortex-M3: newlib nano's go byte
 * by byte. Single words may be unaligned (normal memory), several at once not.
 */
	.syntax	unified
	.thumb
	.text

	.macro	function name
	.global	\name
	.type	\name, %function
	.thumb_func
	.balign	4
\name:
	.endm

	/* overlapping with the source behind: from the end */
	function memmove
	subs	r3, r0, r1
	cmp	r3, r2
	bhs	memcpy
	add	r1, r2
	add	r3, r0, r2
1:	subs	r2, #1
	blo	2f
	ldrb	r12, [r1, #-1]!
	strb	r12, [r3, #-1]!
	b	1b
2:	bx	lr

	function memcpy
	mov	r12, r0
	cmp	r2, #32
	blo	2f
	orr	r3, r0, r1
	tst	r3, #3
	bne	2f
	push	{r4-r10}
	subs	r2, #32
1:	ldmia	r1!, {r3-r10}
	subs	r2, #32
	stmia	r12!, {r3-r10}
	bhs	1b
	adds	r2, #32
	pop	{r4-r10}
2:	subs	r2, #4
	blo	4f
3:	ldr	r3, [r1], #4
	subs	r2, #4
	str	r3, [r12], #4
	bhs	3b
4:	lsls	r2, r2, #31		@ the same low bits as bytes left
	itt	cs
	ldrhcs	r3, [r1], #2
	strhcs	r3, [r12], #2
	itt	ne
	ldrbne	r3, [r1]
	strbne	r3, [r12]
	bx	lr

	function memset
	mov	r12, r0
	uxtb	r1, r1
	orr	r1, r1, r1, lsl #8
	orr	r1, r1, r1, lsl #16
	subs	r2, #16
	blo	2f
1:	str	r1, [r12], #4
	str	r1, [r12], #4
	str	r1, [r12], #4
	str	r1, [r12], #4
	subs	r2, #16
	bhs	1b
2:	adds	r2, #12			@ bytes left - 4
	bmi	4f
3:	str	r1, [r12], #4
	subs	r2, #4
	bpl	3b
4:	lsls	r2, r2, #31
	it	cs
	strhcs	r1, [r12], #2
	it	ne
	strbne	r1, [r12]
	bx	lr

	function memcmp
1:	subs	r2, #4
	blo	2f
	ldr	r3, [r0], #4
	ldr	r12, [r1], #4
	cmp	r3, r12
	beq	1b
	rev	r3, r3			@ the first byte decides
	rev	r12, r12
	cmp	r3, r12
	ite	hi
	movhi	r0, #1
	mvnls	r0, #0
	bx	lr
2:	adds	r2, #4
	beq	4f
3:	ldrb	r3, [r0], #1
	ldrb	r12, [r1], #1
	subs	r3, r3, r12
	bne	5f
	subs	r2, #1
	bne	3b
4:	movs	r3, #0
5:	mov	r0, r3
	bx	lr
