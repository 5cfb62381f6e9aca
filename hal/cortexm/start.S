/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * start.S - the vectors, and from reset to main() (ARM DDI 0403E B1.5).
 *
 * The program runs on the process stack, exceptions on the main one. So a stack
 * that overflows faults into a handler that has a stack: the guard below the
 * process stack is of no use otherwise.
 *
 * Interrupts are masked (PRIMASK) from here on: WFI wakes up on one that is
 * pending and masked, and the main loop acknowledges it. A board that needs a
 * handler clears PRIMASK; then all external interrupts come to machine_irq().
 */
#define IRQS 64 /* and 16 exceptions: 320 bytes */

	.syntax	unified
	.thumb

	.section .vectors, "a"
	.balign	512			@ VTOR: power of two, all in it
	.if	(16 + IRQS) * 4 > 512
	.error	"more vectors than their alignment has room for"
	.endif
	.global	cortexm_vectors
cortexm_vectors:
	.word	__fault_stack_top
	.word	_start
	.word	fault			@ NMI
	.word	fault			@ HardFault
	.word	fault			@ MemManage
	.word	fault			@ BusFault
	.word	fault			@ UsageFault
	.rept	9			@ SVCall, PendSV, SysTick, reserved
	.word	fault
	.endr
	.rept	IRQS
	.word	irq
	.endr

	.text
	.thumb_func
	.global	_start
	.type	_start, %function
_start:
	cpsid	i
	ldr	r0, =cortexm_vectors	@ a boot loader may have had its own
	ldr	r1, =0xe000ed08		@ VTOR
	str	r0, [r1]
	ldr	r0, =__fault_stack_top
	msr	msp, r0
	ldr	r0, =__stack_top
	msr	psp, r0
	movs	r0, #2			@ privileged, process stack
	msr	control, r0
	isb

	ldr	r0, =__data_start
	ldr	r1, =__data_end
	ldr	r2, =__data_load
1:	cmp	r0, r1
	ittt	lo
	ldrlo	r3, [r2], #4
	strlo	r3, [r0], #4
	blo	1b
	ldr	r0, =__bss_start
	ldr	r1, =__bss_end
	movs	r2, #0
2:	cmp	r0, r1
	itt	lo
	strlo	r2, [r0], #4
	blo	2b

	bl	main
3:	wfi
	b	3b
	.ltorg

/* crash_exception(registers r4-r11, what the processor stacked, exception) */
	.thumb_func
	.type	fault, %function
fault:
	tst	lr, #4
	ite	eq
	mrseq	r1, msp
	mrsne	r1, psp
	push	{r4-r11}
	mov	r0, sp
	mrs	r2, ipsr
	b	crash_exception

/* The DSB: while the last store of a handler is under way, its return may vector to
 * the wrong interrupt (Arm erratum 838469 of the Cortex-M3, 838869 of the M4), and
 * an interrupt that the store acknowledges may come again. */
	.thumb_func
	.type	irq, %function
irq:
	push	{r3, lr}
	mrs	r0, ipsr
	subs	r0, #16
	bl	machine_irq
	dsb
	pop	{r3, pc}

/* unic_port_panic(port, file, line): struct crash_frame on the stack in use */
	.thumb_func
	.global	unic_port_panic
	.type	unic_port_panic, %function
unic_port_panic:
	mov	r12, sp
	push	{r0-r12}
	mov	r4, r12
	mov	r5, lr
	mov	r6, lr
	mrs	r7, xpsr
	push	{r4-r7}
	mov	r3, sp
	bic	r4, r3, #7
	mov	sp, r4
	bl	crash_panic
	b	3b
