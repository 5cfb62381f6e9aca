// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * cortexm_selftest.c - hal/cortexm on a machine: its clock and sleep, its MPU,
 * and that a fault ends in a record which says what it was.
 *
 * One image, several runs: the first word of the semihosting command line says
 * what is to go wrong at the end (tests/qemu/test_cortexm.py).
 */
#include <string.h>

#include "clock.h"
#include "cortexm.h"
#include "crash.h"
#include "lm3s.h"
#include "machine.h"
#include "mpu.h"
#include "semihost.h"
#include "stellaris_timer.h"

#define HZ 12500000u /* as QEMU resets it: 200 MHz by 16 */

static struct cortexm_clock clock;
static uint32_t failures;

extern uint32_t __stack_limit[], __data_start[];

static const struct cortexm_region map[] = {
	{ LM3S_FLASH, LM3S_FLASH_SHIFT, CORTEXM_CODE },
	{ LM3S_RAM, LM3S_RAM_SHIFT, CORTEXM_DATA },
	{ LM3S_DEVICES, LM3S_DEVICES_SHIFT, CORTEXM_DEVICE },
};

static void check(const char *what, bool good)
{
	semihost_puts(good ? "ok   " : "FAIL ");
	semihost_puts(what);
	semihost_puts("\n");
	failures += !good;
}

uint64_t unic_port_now_ns(struct unic_port *port)
{
	(void)port;
	return cortexm_clock_ns(&clock);
}

void machine_puts(const char *text)
{
	semihost_puts(text);
}

void machine_irq(uint32_t irq)
{
	(void)irq;
}

void crash_details(struct unic_crash *record)
{
	record->epoch = unic_to_le32(7);
}

/* The test is over: the exit code is the kind of crash. */
void machine_crashed(struct unic_port *port, const struct unic_crash *record)
{
	(void)port;
	check("the record is whole",
	      unic_from_le32(record->magic) == UNIC_CRASH_MAGIC &&
		      unic_from_le32(record->epoch) == 7 &&
		      (unic_from_le32(record->reg[15]) ||
		       unic_from_le32(record->kind) == UNIC_CRASH_STACK));
	semihost_exit(failures ? 1 : 16 + unic_from_le32(record->kind));
}

static void check_time(const char *what, uint64_t ns, uint64_t least,
		       uint64_t most)
{
	check(what, ns >= least && ns <= most);
	if (ns >= least && ns <= most)
		return;
	semihost_dec(ns);
	semihost_puts(" ns\n");
}

static void sleep_ns(uint32_t ns)
{
	stellaris_timer_alarm(LM3S_TIMER, cortexm_clock_ticks(&clock, ns));
	__asm__ volatile("dsb\n\twfi" ::: "memory");
	stellaris_timer_quiet(LM3S_TIMER);
	cortexm_irq_clear(LM3S_TIMER_IRQ);
}

static void test_clock(void)
{
	uint64_t at = cortexm_clock_ns(&clock), then = at, slept;
	bool forward = true;

	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t now = cortexm_clock_ns(&clock);

		forward = forward && now >= then;
		then = now;
	}
	check("time goes forward", forward);
	at = cortexm_clock_ns(&clock);
	sleep_ns(20000000);
	slept = cortexm_clock_ns(&clock) - at;
	check_time("20 ms of sleep are 20 ms", slept, 19900000, 25000000);
	at = cortexm_clock_ns(&clock);
	for (uint32_t i = 0; i < 5; i++)
		sleep_ns(1000000);
	slept = cortexm_clock_ns(&clock) - at;
	check_time("five of 1 ms, too", slept, 4900000, 9000000);
}

static __attribute__((noinline)) uint32_t deeper(uint32_t n)
{
	volatile uint32_t room[64];

	room[n % 64] = n;
	return n ? deeper(n - 1) + room[n % 64] : 0;
}

int main(void);

static void go_wrong(const char *how)
{
	if (!strcmp(how, "code"))
		CORTEXM_REG((uintptr_t)main) = 1;
	else if (!strcmp(how, "data"))
		((void (*)(void))((uintptr_t)__data_start | 1))();
	else if (!strcmp(how, "wild"))
		*(volatile uint32_t *)0x60000000 = 1;
	else if (!strcmp(how, "stack"))
		semihost_dec(deeper(100000));
	else if (!strcmp(how, "undef"))
		__asm__ volatile("udf #0");
	else if (!strcmp(how, "panic"))
		unic_port_panic(NULL, "a/b.c", 99);
}

int main(void)
{
	static char line[256];

	cortexm_clock_init(&clock, HZ);
	CORTEXM_REG(LM3S_SYS + 0x104) |= 1 << 16; /* the timer has a clock */
	stellaris_timer_init(LM3S_TIMER);
	cortexm_irq_enable(LM3S_TIMER_IRQ);
	crash_arm(NULL, (uintptr_t)__stack_limit - 4096, 4096);
	test_clock();
	check("the MPU is on", cortexm_mpu(map, 3));
	go_wrong(semihost_word(line, sizeof(line)));
	semihost_exit(failures ? 1 : 0);
}
