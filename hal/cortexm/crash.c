/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "crash.h"

#include <string.h>

#include "cortexm.h"

#define HARD_FAULT 3u

/* Configurable fault status (ARM DDI 0403E B3.2.15). */
#define CFSR_MEM	 0x000000ffu
#define CFSR_BUS	 0x0000ff00u
#define CFSR_USAGE	 0xffff0000u
#define CFSR_INSTRUCTION 0x00000101u /* IACCVIOL, IBUSERR */
#define CFSR_NOT_STACKED 0x00001010u /* MSTKERR, STKERR */
#define CFSR_MEM_ADDR	 0x00000080u /* MMFAR is valid */
#define CFSR_BUS_ADDR	 0x00008000u /* BFAR is valid */

void crash_stop(void)
{
	for (;;)
		__asm__ volatile("cpsid i\n\twfi");
}

static uint32_t kind_of(uint32_t exception, uint32_t cfsr)
{
	if (cfsr & CFSR_INSTRUCTION)
		return UNIC_CRASH_PREFETCH;
	if (cfsr & (CFSR_MEM | CFSR_BUS))
		return UNIC_CRASH_DATA;
	return cfsr & CFSR_USAGE && exception >= HARD_FAULT ? UNIC_CRASH_UNDEF
							    : UNIC_CRASH_OTHER;
}

/* Reads status and address of the fault, before anything else can fault. */
static void crash_status(uint32_t exception, const uint32_t *stacked)
{
	uint32_t cfsr = CORTEXM_REG(CORTEXM_CFSR);
	uint32_t kind = kind_of(exception, cfsr);
	uint32_t addr = cfsr & CFSR_MEM_ADDR   ? CORTEXM_REG(CORTEXM_MMFAR)
			: cfsr & CFSR_BUS_ADDR ? CORTEXM_REG(CORTEXM_BFAR)
					       : (uint32_t)(uintptr_t)stacked;

	crash_set_fault(kind, cfsr, addr);
}

/* @stacked: as the processor writes it (ARM DDI 0403E B1.5.6). */
static void crash_set_stacked(const uint32_t *stacked)
{
	/* bit 9: the processor aligned the stack */
	uint32_t sp =
		(uint32_t)(uintptr_t)stacked + 32 + (stacked[7] >> 9 & 1) * 4;

	crash_set_regs(0, stacked, 4);
	crash_set_regs(12, stacked + 4, 1);
	crash_set_regs(13, &sp, 1);
	crash_set_regs(14, stacked + 5, 3);
}

void crash_exception(const uint32_t *high, const uint32_t *stacked,
		     uint32_t exception)
{
	uint32_t sp = (uint32_t)(uintptr_t)stacked;

	(void)crash_begin();
	crash_status(exception, stacked);
	crash_set_regs(4, high, 8);
	crash_set_regs(13, &sp, 1);
	if (!(CORTEXM_REG(CORTEXM_CFSR) & CFSR_NOT_STACKED))
		crash_set_stacked(stacked);
	crash_end();
}

/* The program has the process stack to itself. */
void crash_hung(void)
{
	struct unic_crash *record = crash_begin();
	const uint32_t *stacked;

	__asm__ volatile("mrs %0, psp" : "=r"(stacked));
	crash_set_fault(UNIC_CRASH_OTHER, 0, (uint32_t)(uintptr_t)stacked);
	memcpy(record->file, "main loop hangs", 16);
	crash_set_stacked(stacked);
	crash_end();
}
