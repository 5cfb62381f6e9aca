/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cpu_copy.S - the copies of cpu_copy.h.
 *
 * In assembly because every message takes several of 8 to 64 bytes, and the
 * compiler's version of the same took twice the instructions. NEON because TCG
 * makes of a load of 8 bytes one load of the host.
 */

	.syntax	unified
	.arm
	.fpu	neon

/*
 * Copy ip bytes and return, or go to \then with \dst behind what was written.
 * A length between two powers of two is two pieces that overlap. Clobbers r3,
 * ip, d0-d7.
 */
	.macro	copy dst, src, then
	cmp	ip, #32
	blo	2f
	cmp	ip, #64
	bhi	3f
	sub	r3, ip, #32
	vld1.8	{d0-d3}, [\src], r3
	vld1.8	{d4-d7}, [\src]
	vst1.8	{d0-d3}, [\dst], r3
	vst1.8	{d4-d7}, [\dst]!
	leave	\then

2:	cmp	ip, #16
	blo	4f
	sub	r3, ip, #16
	vld1.8	{d0-d1}, [\src], r3
	vld1.8	{d2-d3}, [\src]
	vst1.8	{d0-d1}, [\dst], r3
	vst1.8	{d2-d3}, [\dst]!
	leave	\then

4:	cmp	ip, #8
	blo	5f
	sub	r3, ip, #8
	vld1.8	{d0}, [\src], r3
	vld1.8	{d1}, [\src]
	vst1.8	{d0}, [\dst], r3
	vst1.8	{d1}, [\dst]!
	leave	\then

5:	cmp	ip, #4
	bne	6f
	ldr	r3, [\src]
	str	r3, [\dst], #4
	leave	\then

6:	subs	ip, ip, #1
	blo	8f
	ldrb	r3, [\src], #1
	strb	r3, [\dst], #1
	b	6b

3:	and	r3, ip, #63
	bic	ip, ip, #63
7:	vld1.8	{d0-d3}, [\src]!
	vld1.8	{d4-d7}, [\src]!
	subs	ip, ip, #64
	vst1.8	{d0-d3}, [\dst]!
	vst1.8	{d4-d7}, [\dst]!
	bne	7b
	cmp	r3, #0
	beq	8f
	sub	r3, r3, #64		@ the last 64, some of them again
	add	\src, \src, r3
	add	\dst, \dst, r3
	vld1.8	{d0-d3}, [\src]!
	vld1.8	{d4-d7}, [\src]
	vst1.8	{d0-d3}, [\dst]!
	vst1.8	{d4-d7}, [\dst]!
8:	leave	\then
	.endm

	.macro	leave then
	.ifb	\then
	bx	lr
	.else
	b	\then
	.endif
	.endm

	.macro	function name
	.section .text.\name, "ax"
	.global	\name
	.type	\name, %function
\name:
	.endm

	/* r0 local, r1 host, r2 len */
	function cpu_copy_in
	mov	ip, r2
	copy	r0, r1
	.size	cpu_copy_in, . - cpu_copy_in

/*
 * r0 host, r1 local, r2 len. The first barrier keeps whole writes in order, the
 * second the last word of this one behind the rest. A write that does not end
 * at a word boundary has no valid word to protect.
 */
	function cpu_copy_out
	add	r3, r0, r2
	dmb	ishst
	tst	r3, #3
	bne	write_plain
	subs	ip, r2, #4
	bls	write_plain		@ 4 or less
	ldr	r2, [r1, ip]
	cmp	ip, #4
	bne	write_body
	ldr	r3, [r1]
	str	r3, [r0], #4
write_last:
	dmb	ishst
	str	r2, [r0]
	bx	lr
write_body:
	copy	r0, r1, write_last
write_plain:
	mov	ip, r2
	copy	r0, r1
	.size	cpu_copy_out, . - cpu_copy_out
