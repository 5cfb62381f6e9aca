// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* mpu.c - see mpu.h. */
#include "mpu.h"

#define MPU_TYPE   0x00u
#define MPU_CTRL   0x04u
#define MPU_RNR	   0x08u
#define MPU_RBAR   0x0cu /* and RASR, four times */
#define MPU_LAST   0x2cu
#define CTRL_ON	   1u
#define CTRL_HARD  2u /* in HardFault and NMI, too */
#define CTRL_MAP   4u /* the default map where no region is */
#define RBAR_VALID 0x10u
#define RASR_ON	   1u
#define RASR_XN	   (1u << 28)
#define CORE	   0xe0000000u /* registers of the core: always there */

uint32_t mpu_get(const struct mpu *mpu, uint32_t off)
{
	switch (off) {
	case MPU_TYPE:
		return MPU_REGIONS << 8;
	case MPU_CTRL:
		return mpu->ctrl;
	case MPU_RNR:
		return mpu->number;
	default:
		return off & 4 ? mpu->base[mpu->number] | mpu->number
			       : mpu->attributes[mpu->number];
	}
}

static void set_base(struct mpu *mpu, uint32_t value)
{
	if (value & RBAR_VALID)
		mpu->number = value % MPU_REGIONS;
	mpu->base[mpu->number] = value & ~0x1fu;
}

void mpu_set(struct mpu *mpu, uint32_t off, uint32_t value)
{
	if (off == MPU_CTRL)
		mpu->ctrl = value & 7;
	else if (off == MPU_RNR)
		mpu->number = value % MPU_REGIONS;
	else if (off >= MPU_RBAR && off <= MPU_LAST && off & 4)
		set_base(mpu, value);
	else if (off >= MPU_RBAR && off <= MPU_LAST)
		mpu->attributes[mpu->number] = value;
}

static bool has_region(const struct mpu *mpu, uint32_t i, uint32_t addr)
{
	uint32_t attributes = mpu->attributes[i];
	uint32_t shift = (attributes >> 1 & 31) + 1;
	uint32_t mask = shift < 32 ? (1u << shift) - 1 : ~0u;
	uint32_t in = addr & mask;

	if (!(attributes & RASR_ON) || (addr & ~mask) != (mpu->base[i] & ~mask))
		return false;
	return shift < 8 || !(attributes >> (8 + (in >> (shift - 3))) & 1);
}

/* AP, of privileged code. */
static uint32_t allowed_by(uint32_t attributes)
{
	static const uint8_t ap[8] = { 0, 3, 3, 3, 0, 1, 1, 1 };
	uint32_t can = ap[attributes >> 24 & 7];

	return can && !(attributes & RASR_XN) ? can | MPU_EXEC : can;
}

/* The default map (B3.1): no instructions from devices. */
static uint32_t allowed_by_default(uint32_t addr)
{
	bool device = addr - 0x40000000u < 0x20000000u || addr >= 0xa0000000u;

	return MPU_READ | MPU_WRITE | (device ? 0 : MPU_EXEC);
}

uint32_t mpu_allowed(const struct mpu *mpu, uint32_t addr, bool urgent)
{
	if (addr >= CORE)
		return MPU_READ | MPU_WRITE;
	if (!(mpu->ctrl & CTRL_ON) || (urgent && !(mpu->ctrl & CTRL_HARD)))
		return allowed_by_default(addr);
	for (uint32_t i = MPU_REGIONS; i-- > 0;)
		if (has_region(mpu, i, addr))
			return allowed_by(mpu->attributes[i]);
	return mpu->ctrl & CTRL_MAP ? allowed_by_default(addr) : 0;
}
