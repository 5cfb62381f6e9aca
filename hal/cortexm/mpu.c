/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "mpu.h"

#include "cortexm.h"

#define MPU_TYPE 0xe000ed90u /* 15:8 number of regions */
#define MPU_CTRL 0xe000ed94u
#define MPU_RBAR 0xe000ed9cu
#define MPU_RASR 0xe000eda0u

#define RBAR_VALID (1u << 4) /* 3:0 is the region's number */
#define CTRL_ON	   1u	     /* no default map, not in HardFault and NMI */

/* RASR: XN 28, AP 26:24, TEX 21:19, S C B 18:16, size 5:1, enable 0 */
#define RASR_XN	     (1u << 28)
#define RASR_RW	     (1u << 24) /* privileged: all code here is */
#define RASR_RO	     (5u << 24)
#define RASR_NORMAL  (1u << 19 | 3u << 16) /* write-back */
#define RASR_SHARED  (1u << 19 | 1u << 18) /* not cached */
#define RASR_DEVICE  (1u << 18 | 1u << 16)
#define RASR_ENABLED 1u

static const uint32_t attributes[] = {
	[CORTEXM_CODE] = RASR_RO | RASR_NORMAL,
	[CORTEXM_DATA] = RASR_XN | RASR_RW | RASR_NORMAL,
	[CORTEXM_SHARED] = RASR_XN | RASR_RW | RASR_SHARED,
	[CORTEXM_DEVICE] = RASR_XN | RASR_RW | RASR_DEVICE,
	[CORTEXM_GUARD] = RASR_XN | RASR_NORMAL,
};

bool cortexm_mpu(const struct cortexm_region *region, uint32_t n)
{
	if (n > CORTEXM_REGIONS || n > (CORTEXM_REG(MPU_TYPE) >> 8 & 0xff))
		return false;
	__asm__ volatile("dmb" ::: "memory");
	CORTEXM_REG(MPU_CTRL) = 0;
	for (uint32_t i = 0; i < n; i++) {
		CORTEXM_REG(MPU_RBAR) = region[i].base | RBAR_VALID | i;
		CORTEXM_REG(MPU_RASR) = attributes[region[i].access] |
					(region[i].shift - 1u) << 1 |
					RASR_ENABLED;
	}
	CORTEXM_REG(MPU_CTRL) = CTRL_ON;
	__asm__ volatile("dsb\n\tisb" ::: "memory");
	return true;
}
