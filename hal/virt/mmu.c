/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "mmu.h"

#include "memlayout.h"

/* Short-descriptor section: ARM DDI 0406C, B3.5.1 */
#define SECTION	    (1u << 1)
#define SECTION_B   (1u << 2)
#define SECTION_C   (1u << 3)
#define SECTION_XN  (1u << 4)
#define SECTION_RW  (1u << 10) /* privileged only */
#define SECTION_TEX (1u << 12)
#define SECTION_S   (1u << 16)
#define MEMORY                                                       \
	(SECTION | SECTION_B | SECTION_C | SECTION_XN | SECTION_RW | \
	 SECTION_TEX | SECTION_S)

extern uint32_t mmu_table[4096];

void mmu_map_memory(uint32_t addr, uint32_t bytes)
{
	uint32_t first = addr / VIRT_SECTION;
	uint32_t count = (bytes + VIRT_SECTION - 1) / VIRT_SECTION;

	for (uint32_t i = first; i < first + count; i++)
		mmu_table[i] = i * VIRT_SECTION | MEMORY;
	mmu_refresh();
}

void mmu_refresh(void)
{
	__asm__ volatile("dsb\n\t"
			 "mcr p15, 0, %0, c8, c7, 0\n\t" /* TLBIALL */
			 "dsb\n\t"
			 "isb" ::"r"(0)
			 : "memory");
}
