/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mpu.h - memory protection of an ARMv7-M core (ARM DDI 0403E B3.5): the memory map
 * of a board, region by region.
 */
#ifndef CORTEXM_MPU_H
#define CORTEXM_MPU_H

#include <stdbool.h>
#include <stdint.h>

/* The accesses that a region of memory allows, and its caching. */
enum cortexm_access {
	CORTEXM_CODE,	/* read, execute */
	CORTEXM_DATA,	/* read, write */
	CORTEXM_SHARED, /* read, write; other devices write, too */
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
 * cortexm_mpu() - turn the MPU on with these regions. An access outside of them, or
 * one that its region does not allow, faults from here on; where two overlap the
 * later one decides. The registers of the processor (from 0xe0000000) stay
 * accessible. Called again, it replaces the regions.
 * @region: the caller's, read during the call only.
 * @n: at most CORTEXM_REGIONS.
 * Returns false, with the MPU as it was, if the core has no MPU of that many regions.
 */
bool cortexm_mpu(const struct cortexm_region *region, uint32_t n);

#endif /* CORTEXM_MPU_H */
