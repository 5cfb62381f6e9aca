/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cortexm.h - registers of an ARMv7-M core (ARM DDI 0403E B3) and its interrupt
 * controller. The timer is in clock.h, the MPU in mpu.h.
 */
#ifndef CORTEXM_H
#define CORTEXM_H

#include <stdint.h>

#define CORTEXM_REG(addr) (*(volatile uint32_t *)(uintptr_t)(addr))

#define CORTEXM_ISER  0xe000e100u /* interrupt set-enable */
#define CORTEXM_ISPR  0xe000e200u /* ... set-pending */
#define CORTEXM_ICPR  0xe000e280u /* ... clear-pending */
#define CORTEXM_IPR   0xe000e400u /* priorities, a byte each */
#define CORTEXM_ICSR  0xe000ed04u
#define CORTEXM_AIRCR 0xe000ed0cu
#define CORTEXM_CFSR  0xe000ed28u
#define CORTEXM_MMFAR 0xe000ed34u
#define CORTEXM_BFAR  0xe000ed38u

/** cortexm_irq_enable() - from now on interrupt @irq can become pending. */
static inline void cortexm_irq_enable(uint32_t irq)
{
	CORTEXM_REG(CORTEXM_ISER + irq / 32 * 4) = 1u << irq % 32;
}

/** cortexm_irq_priority() - @level 0 (as after a reset) to 7: the handler of @irq
 * interrupts those of a greater number. */
static inline void cortexm_irq_priority(uint32_t irq, uint32_t level)
{
	*(volatile uint8_t *)(uintptr_t)(CORTEXM_IPR + irq) =
		(uint8_t)(level << 5);
}

/** cortexm_irq_pend() - run the handler of @irq as soon as its priority and PRIMASK
 * allow. */
static inline void cortexm_irq_pend(uint32_t irq)
{
	CORTEXM_REG(CORTEXM_ISPR + irq / 32 * 4) = 1u << irq % 32;
}

/** cortexm_irq_clear() - clear pending @irq, which pends again while its line is
 * high. */
static inline void cortexm_irq_clear(uint32_t irq)
{
	CORTEXM_REG(CORTEXM_ICPR + irq / 32 * 4) = 1u << irq % 32;
}

/** cortexm_irqs_on() - clear PRIMASK: handlers run. */
static inline void cortexm_irqs_on(void)
{
	__asm__ volatile("cpsie i" ::: "memory");
}

/** cortexm_irqs_off() - set PRIMASK: no handler runs, but a pending interrupt
 * ends a WFI. */
static inline void cortexm_irqs_off(void)
{
	__asm__ volatile("cpsid i" ::: "memory");
}

/** cortexm_reset() - reset the machine. */
static inline void __attribute__((noreturn)) cortexm_reset(void)
{
	__asm__ volatile("dsb" ::: "memory");
	CORTEXM_REG(CORTEXM_AIRCR) = 0x05fa0004u; /* SYSRESETREQ */
	for (;;)
		__asm__ volatile("dsb");
}

#endif /* CORTEXM_H */
