/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "clock.h"

#include "cortexm.h"

#define CSR_ENABLE     1u
#define CSR_INTERRUPT  2u /* when it reaches 0 */
#define CSR_PROCESSOR  4u /* counts processor cycles */
#define ICSR_PENDSTCLR (1u << 25)
#define SHORTEST_TICKS 1000u
#define LONGEST_TICKS  (SYSTICK_MAX / 2)
#define RELOAD_LOOKS   100000u /* one does on silicon; QEMU takes 50 us */

void cortexm_clock_init(struct cortexm_clock *clock, uint32_t hz)
{
	clock->ns_mult = (uint32_t)((1000000000ull << CORTEXM_NS_SHIFT) / hz);
	clock->tick_mult = (uint32_t)(((uint64_t)hz << 32) / 1000000000u);
	clock->ticks = 0;
	CORTEXM_REG(SYSTICK_RVR) = SYSTICK_MAX;
	CORTEXM_REG(SYSTICK_CVR) = 0;
	CORTEXM_REG(SYSTICK_CSR) = CSR_ENABLE | CSR_PROCESSOR;
	clock->last = CORTEXM_REG(SYSTICK_CVR);
}

/*
 * The counter is begun again at @ticks and, once it has taken that, told to go
 * on from its top afterwards: so it interrupts after @ticks and then goes on
 * telling the time. What passes between the last look at it and its new
 * beginning, some cycles, is lost.
 */
static void begin_at(struct cortexm_clock *clock, uint32_t ticks)
{
	uint32_t looks;

	(void)cortexm_clock_ns(clock);
	CORTEXM_REG(SYSTICK_RVR) = ticks;
	CORTEXM_REG(SYSTICK_CVR) = 0;
	for (looks = 0; looks < RELOAD_LOOKS; looks++)
		if (CORTEXM_REG(SYSTICK_CVR))
			break;
	CORTEXM_REG(SYSTICK_RVR) = SYSTICK_MAX;
	CORTEXM_REG(CORTEXM_ICSR) = ICSR_PENDSTCLR;
	CORTEXM_REG(SYSTICK_CSR) = CSR_ENABLE | CSR_INTERRUPT | CSR_PROCESSOR;
}

void cortexm_clock_sleep(struct cortexm_clock *clock, uint64_t ns)
{
	uint64_t wanted = ns > UINT32_MAX ? UINT32_MAX : ns;
	uint32_t ticks = (uint32_t)(wanted * clock->tick_mult >> 32), now;

	if (ticks < SHORTEST_TICKS)
		return;
	if (ticks > LONGEST_TICKS)
		ticks = LONGEST_TICKS;
	begin_at(clock, ticks);
	/* An interrupt pending by now makes this a no-operation. */
	__asm__ volatile("dsb\n\twfi" ::: "memory");
	CORTEXM_REG(SYSTICK_CSR) = CSR_ENABLE | CSR_PROCESSOR;
	CORTEXM_REG(CORTEXM_ICSR) = ICSR_PENDSTCLR;
	now = CORTEXM_REG(SYSTICK_CVR);
	if (now > ticks) /* it has come to 0, and gone on from the top */
		ticks += SYSTICK_MAX + 1;
	clock->ticks += ticks - now;
	clock->last = now;
}
