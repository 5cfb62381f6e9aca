/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dma.S - unic_port_dma(). The DMA engine of this board is its CPU: host memory
 * is mapped, so a transfer is a copy, and is over when the call returns.
 *
 * In assembly because every message takes several transfers of 8 to 64 bytes,
 * and the compiler's version of the same took twice the instructions. NEON
 * because TCG makes of a load of 8 bytes one load of the host.
 */

#define TO_HOST	    1  /* enum unic_port_dma_dir; port.c asserts these */
#define EFAULT	    -2
#define WINDOWS_MAX 32 /* dma_window.h: {base, bytes} at the start of the port */

	.syntax	unified
	.arm
	.fpu	neon

/*
 * Copy ip bytes and return 0, or go to \then with \dst behind what
 * was written. A length between two powers of two is two pieces that overlap.
 * Clobbers r3, ip, d0-d7; with \then empty r0 too.
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
	mov	r0, #0
	bx	lr
	.else
	b	\then
	.endif
	.endm

/* r0 port, r1 dir, r2 bus offset, r3 window << 16, [sp] local, [sp, #4] len */
	.section .text.unic_port_dma, "ax"
	.global	unic_port_dma
	.type	unic_port_dma, %function
unic_port_dma:
	ror	r3, r3, #16		@ a window number if bits 47:32 are 0
	cmp	r3, #WINDOWS_MAX
	bhs	fault
	add	r3, r0, r3, lsl #3
	ldr	r0, [r3]		@ base
	ldr	r3, [r3, #4]		@ bytes
	ldr	ip, [sp, #4]
	subs	r3, r3, ip		@ highest offset allowed
	cmphs	r3, r2
	blo	fault
	cmp	r1, #TO_HOST
	add	r2, r2, r0
	ldr	r1, [sp]
	beq	to_host
	copy	r1, r2

/*
 * The first barrier keeps whole writes in order, the second the last word of
 * this one behind the rest. A write that does not end at a word boundary has no
 * valid word to protect.
 */
to_host:
	add	r3, r2, ip
	dmb	ishst
	tst	r3, #3
	bne	write_plain
	subs	ip, ip, #4
	bls	write_word		@ 4 or less
	ldr	r0, [r1, ip]
	cmp	ip, #4
	bne	write_body
	ldr	r3, [r1]
	str	r3, [r2], #4
write_last:
	dmb	ishst
	str	r0, [r2]
	mov	r0, #0
	bx	lr
write_body:
	copy	r2, r1, write_last

write_word:
	add	ip, ip, #4
write_plain:
	copy	r2, r1

fault:
	mov	r0, #EFAULT
	bx	lr
	.size	unic_port_dma, . - unic_port_dma
