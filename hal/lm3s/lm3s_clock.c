/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "lm3s_clock.h"

#include <stdbool.h>

#include "lm3s.h"

/* System control, data sheet 5.5. */
#define RCC_MOSCDIS  (1u << 0)
#define RCC_OSCSRC   (3u << 4) /* 0: the crystal */
#define RCC_XTAL     (15u << 6)
#define RCC_8_MHZ    (14u << 6)
#define RCC_BYPASS   (1u << 11)
#define RCC_PLL_OFF  (3u << 12) /* PWRDN; OEN, reserved since, as the vendor */
#define RCC_USE_DIV  (1u << 22)
#define RCC_DIV	     (15u << 23)
#define RCC_BY_4     (3u << 23) /* of the PLL's 200 MHz */
#define RIS_PLL_LOCK (1u << 6)
#define DID0_REVISED 0xffffu /* major, minor */
#define DID0_A2	     0x0002u
#define LDO_2_75_V   0x1bu

/*
 * Turns of a loop of 3 cycles or more, after the vendor's library (StellarisWare,
 * SysCtlClockSet()): no bit tells when the crystal oscillates, or that a change
 * has taken effect.
 */
#define CRYSTAL_TURNS 524288u
#define CHANGE_TURNS  16u
#define LDO_TURNS     1024u   /* 100 us; not verified against the data sheet */
#define LOCK_LOOKS    100000u /* data sheet 22.2.1: 0.5 ms */

static void wait_turns(uint32_t turns)
{
	while (turns--)
		__asm__ volatile("");
}

static void set_rcc(uint32_t rcc)
{
	CORTEXM_REG(LM3S_RCC) = rcc;
	wait_turns(CHANGE_TURNS);
}

void lm3s_use_crystal(void)
{
	uint32_t rcc = CORTEXM_REG(LM3S_RCC);

	if ((rcc & (RCC_MOSCDIS | RCC_OSCSRC | RCC_XTAL | RCC_BYPASS)) ==
	    (RCC_8_MHZ | RCC_BYPASS))
		return;
	rcc = (rcc | RCC_BYPASS) & ~RCC_USE_DIV;
	set_rcc(rcc);
	rcc &= ~RCC_MOSCDIS;
	set_rcc(rcc);
	wait_turns(CRYSTAL_TURNS);
	set_rcc((rcc & ~(RCC_XTAL | RCC_OSCSRC)) | RCC_8_MHZ);
}

/* Erratum of revision A2 (the PLL may not function properly at the default setting
 * of the LDO): 2.75 V and not 2.5 V before the PLL is on. */
static void raise_voltage(void)
{
	if ((CORTEXM_REG(LM3S_DID0) & DID0_REVISED) != DID0_A2)
		return;
	CORTEXM_REG(LM3S_LDOPCTL) = LDO_2_75_V;
	wait_turns(LDO_TURNS);
}

static bool pll_locks(void)
{
	uint32_t looks;

	for (looks = 0; looks < LOCK_LOOKS; looks++)
		if (CORTEXM_REG(LM3S_RIS) & RIS_PLL_LOCK)
			return true;
	return false;
}

/* The divider is written with the PLL still bypassed: written together with the
 * end of the bypass, it sometimes came too late on this chip. */
uint32_t lm3s_use_pll(void)
{
	uint32_t rcc, plain;

	lm3s_use_crystal();
	raise_voltage();
	plain = CORTEXM_REG(LM3S_RCC);
	CORTEXM_REG(LM3S_MISC) = RIS_PLL_LOCK;
	rcc = plain & ~RCC_PLL_OFF;
	set_rcc(rcc);
	rcc = (rcc & ~RCC_DIV) | RCC_BY_4 | RCC_USE_DIV;
	set_rcc(rcc);
	if (!pll_locks()) {
		set_rcc(plain);
		return LM3S_CRYSTAL_HZ;
	}
	set_rcc(rcc & ~RCC_BYPASS);
	return LM3S_PLL_HZ;
}
