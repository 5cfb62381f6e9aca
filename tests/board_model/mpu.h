/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mpu.h - the memory protection of an ARMv7-M core (ARM DDI 0403E B3.5): eight
 * regions, the greater number decides where they overlap. The debugger's accesses do
 * not pass it.
 *
 * Secret: how a region's size, subregions and permissions are coded.
 */
#ifndef BOARD_MODEL_MPU_H
#define BOARD_MODEL_MPU_H

#include <stdbool.h>
#include <stdint.h>

#define MPU_REGIONS 8u

#define MPU_READ  1u
#define MPU_WRITE 2u
#define MPU_EXEC  4u

struct mpu {
	uint32_t ctrl, number;
	uint32_t base[MPU_REGIONS], attributes[MPU_REGIONS];
};

/** mpu_get(), mpu_set() - the register @off bytes after MPU_TYPE. */
uint32_t mpu_get(const struct mpu *mpu, uint32_t off);
void mpu_set(struct mpu *mpu, uint32_t off, uint32_t value);

/** mpu_allowed() - what privileged code may do at @addr, in MPU_* bits. @urgent: it
 * runs at the priority of HardFault or above. */
uint32_t mpu_allowed(const struct mpu *mpu, uint32_t addr, bool urgent);

#endif /* BOARD_MODEL_MPU_H */
