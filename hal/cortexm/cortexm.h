/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cortexm.h - the private peripherals of an ARMv7-M core (ARM DDI 0403E B3): the
 * interrupt controller and the MPU. The timer is in clock.h.
 */
#ifndef CORTEXM_H
#define CORTEXM_H

#include <stdint.h>

#define CORTEXM_REG(addr) (*(volatile uint32_t *)(uintptr_t)(addr))

#define CORTEXM_ISER  0xe000e100u /* interrupt set-enable */
#define CORTEXM_ICPR  0xe000e280u /* ... clear-pending */
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

/** cortexm_irq_clear() - @irq is not pending, unless its line is still high. */
static inline void cortexm_irq_clear(uint32_t irq)
{
	CORTEXM_REG(CORTEXM_ICPR + irq / 32 * 4) = 1u << irq % 32;
}

/** cortexm_irqs_on() - clear PRIMASK: handlers run. */
static inline void cortexm_irqs_on(void)
{
	__asm__ volatile("cpsie i" ::: "memory");
}

/** cortexm_irqs_off() - set it: none runs, but what is pending ends a WFI. */
static inline void cortexm_irqs_off(void)
{
	__asm__ volatile("cpsid i" ::: "memory");
}

/** cortexm_reset() - the machine begins anew. */
static inline void __attribute__((noreturn)) cortexm_reset(void)
{
	__asm__ volatile("dsb" ::: "memory");
	CORTEXM_REG(CORTEXM_AIRCR) = 0x05fa0004u; /* SYSRESETREQ */
	for (;;)
		__asm__ volatile("dsb");
}

/* What may be done in a region of memory, and how it is cached. */
enum cortexm_access {
	CORTEXM_CODE,	/* read, execute */
	CORTEXM_DATA,	/* read, write */
	CORTEXM_SHARED, /* ... by others, too */
	CORTEXM_DEVICE, /* read, write, in order */
	CORTEXM_GUARD,	/* nothing */
};

struct cortexm_region {
	uint32_t base;	/* a multiple of the size */
	uint8_t shift;	/* log2 of the size, 5 .. 32 */
	uint8_t access; /* enum cortexm_access */
};

#define CORTEXM_REGIONS 8u

/**
 * cortexm_mpu() - from now on memory outside these regions faults, and so does
 * what a region does not allow; where two overlap the later one decides. The
 * registers of the processor itself (from 0xe0000000) stay.
 * @n: at most CORTEXM_REGIONS. False: this core has no MPU of that many.
 */
_Bool cortexm_mpu(const struct cortexm_region *region, uint32_t n);

#endif /* CORTEXM_H */
