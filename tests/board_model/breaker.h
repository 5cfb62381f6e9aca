/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * breaker.h - what a program for board-model begins with, on either chip: vectors, a
 * place to stop, and a loop that takes time. start() is the program.
 */
#ifndef BREAKER_H
#define BREAKER_H

#include <stdint.h>

#define REG(addr) (*(volatile uint32_t *)(uintptr_t)(addr))

void start(void);
void stop(void);
void tick(void);

__attribute__((section(".vectors"), used)) static void *const vectors[] = {
	(void *)0x20001000, (void *)start, (void *)stop, (void *)stop,
	(void *)stop,	    (void *)stop,  (void *)stop, [15] = (void *)tick,
};

/** tick() - the handler of SysTick. */
void tick(void)
{
}

/** stop() - stop the program, after its end or a fault. */
void stop(void)
{
	for (;;)
		__asm__ volatile("cpsid i\n\twfi");
}

static void wait_loops(uint32_t n)
{
	while (n--)
		__asm__ volatile("nop");
}

#endif /* BREAKER_H */
