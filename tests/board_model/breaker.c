// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * breaker.c - a program for board-model's LM3S6965 that breaks one rule of the data
 * sheet, CASE, and is otherwise in order; CASE 0 breaks none. test_board_model.py
 * compiles it once for each.
 */
#include "breaker.h"

#define SYS	  0x400fe000u
#define RIS	  (SYS + 0x050u)
#define RCC	  (SYS + 0x060u)
#define LDO	  (SYS + 0x034u)
#define RCGC0	  (SYS + 0x100u)
#define RCGC1	  (SYS + 0x104u)
#define RCGC2	  (SYS + 0x108u)
#define FMA	  0x400fd000u
#define FMD	  0x400fd004u
#define FMC	  0x400fd008u
#define USECRL	  (SYS + 0x140u)
#define WDT	  0x40000000u
#define GPIOC	  0x40006000u
#define GPIOD	  0x40007000u
#define UART1	  0x4000d000u
#define TIMER	  0x40030000u
#define MAC	  0x40048000u
#define SYST_CSR  0xe000e010u
#define SYST_RVR  0xe000e014u
#define SYST_CVR  0xe000e018u
#define VTOR	  0xe000ed08u
#define NVIC_ISER 0xe000e100u

/* RCC while the PLL is bypassed: 8 MHz crystal, both oscillators on. */
#define RCC_IOSC 0x078e3b90u
#define RCC_MOSC 0x078e3b80u
#define RCC_PLL	 0x078e1b80u /* powered */
#define RCC_DIV	 0x01ce1b80u /* by 4 */
#define RCC_USE	 0x01ce1380u

#define FLASH_ERASE 0xa4420002u
#define FLASH_WORD  0xa4420001u

static void wait_lock(void)
{
	for (uint32_t i = 0; i < 100000 && !(REG(RIS) & 0x40); i++)
		;
}

static void start_mosc(void)
{
	REG(RCC) = RCC_IOSC;
	wait_loops(CASE == 2 ? 10 : 40000);
	REG(RCC) = RCC_MOSC;
}

static void start_pll(void)
{
	if (CASE != 4)
		REG(LDO) = 0x1b;
	if (CASE == 1) {
		REG(RCC) = RCC_DIV;
	} else {
		start_mosc();
		REG(RCC) = CASE == 6 ? RCC_DIV : RCC_PLL;
	}
	wait_loops(16);
	if (CASE != 5)
		REG(RCC) = RCC_DIV;
	if (CASE != 3)
		wait_lock();
	REG(RCC) = RCC_USE;
	if (CASE == 7)
		REG(RCC) = RCC_USE ^ 0x40;
}

static void start_clocks(void)
{
	REG(RCGC0) |= 8;
	REG(RCGC1) |= CASE == 10 ? 0x10000 : 0x10002;
	REG(RCGC2) |= 0x5000002c;
	if (CASE == 11)
		(void)REG(MAC);
	(void)REG(RCGC2);
	(void)REG(RCGC2);
}

static void use_uart(void)
{
	REG(GPIOD + 0x420) |= 0x0c;
	REG(GPIOD + 0x51c) |= 0x0c;
	if (CASE == 12)
		REG(UART1 + 0x30) = 0x301;
	REG(UART1 + 0x24) = 27;
	REG(UART1 + 0x28) = 8;
	REG(UART1 + 0x2c) = 0x70;
	REG(UART1 + 0x30) = 0x301;
	if (CASE == 13)
		REG(UART1 + 0x24) = 26;
	for (uint32_t i = 0; i < (CASE == 14 ? 40u : 3u); i++)
		REG(UART1) = "ok\n"[i % 3];
	if (CASE == 15)
		REG(UART1 + 0x30) = 0x300;
	if (CASE == 15)
		REG(UART1) = 'x';
	wait_loops(20000);
}

static void use_flash(void)
{
	REG(USECRL) = CASE == 20 ? 5 : 49;
	REG(FMA) = CASE == 21 ? 0x3c010 : 0x3c000;
	REG(FMC) = FLASH_ERASE;
	if (CASE == 22)
		REG(FMC) = FLASH_ERASE;
	while (REG(FMC) & 2)
		;
	REG(FMA) = CASE == 23 ? 0x3c002 : 0x3c000;
	REG(FMD) = 0x12345678;
	REG(FMC) = FLASH_WORD;
	if (CASE == 24)
		REG(FMD) = 0;
	while (REG(FMC) & 1)
		;
}

/* Asleep, with interrupts masked: a pending one ends it. */
static void sleep_ticks(uint32_t ticks)
{
	REG(TIMER + 0x00) = 0;
	REG(TIMER + 0x04) = 1;
	REG(TIMER + 0x18) = 1;
	REG(TIMER + 0x28) = ticks;
	REG(TIMER + 0x0c) = 1;
	REG(NVIC_ISER) = 1u << 19;
	__asm__ volatile("cpsid i\n\twfi");
	REG(TIMER + 0x24) = 1;
}

static void send_frame(uint32_t words)
{
	REG(MAC + 0x10) = 46;
	for (uint32_t i = 1; i < words; i++)
		REG(MAC + 0x10) = 0;
	REG(MAC + 0x38) = 1;
}

/* The wire is plugged in: the link comes up after 1.5 s. */
static void use_mac(void)
{
	REG(MAC + 0x24) = CASE == 30 ? 1 : 9;
	REG(MAC + 0x20) = 1 << 3 | 1;
	while (REG(MAC + 0x20) & 1)
		;
	REG(MAC + 0x0c) = CASE == 31 ? 0x07 : 0x17;
	REG(MAC + 0x08) = 0x19 - (CASE == 32 ? 0 : 1);
	REG(MAC + 0x08) = 9;
	if (CASE == 32)
		REG(MAC + 0x08) = 0x19;
	if (CASE == 33)
		(void)REG(MAC + 0x10);
	if (CASE != 34)
		sleep_ticks(80000000);
	send_frame(CASE == 35 ? 12 : 16);
	if (CASE == 36)
		send_frame(16);
	wait_loops(5000);
}

/*
 * 1 + 1, in an IT block whose last instruction lies on two of Unicorn's pages, so that
 * what follows is translated apart.
 */
uint32_t add_in_block(uint32_t yes);
__asm__(".text\n\t.syntax unified\n\t.balign 1024\n\t.space 1012\n"
	"\t.thumb_func\nadd_in_block:\n"
	"\tmovs r1, #0\n\tcmp r0, #0\n\titt ne\n"
	"\taddne.w r1, r1, #1\n\taddne.w r1, r1, #1\n"
	"\tmov r0, r1\n\tbx lr\n");

/* An interrupt at each of its instructions, again and again. */
static void interrupt_blocks(void)
{
	for (uint32_t i = 0; i < 20000; i++) {
		REG(SYST_RVR) = 40 + i % 37;
		REG(SYST_CVR) = 0;
		REG(SYST_CSR) = 7;
		for (uint32_t j = 0; j < 8; j++)
			if (add_in_block(1) != 2)
				REG(UART1) = 'x';
	}
	REG(SYST_CSR) = 0;
}

static void break_others(void)
{
	if (CASE == 49)
		interrupt_blocks();
	if (CASE == 40)
		REG(GPIOC + 0x520) = 0x1acce551;
	if (CASE == 40)
		REG(GPIOC + 0x524) = 0xff;
	if (CASE == 40)
		REG(GPIOC + 0x420) = 0;
	REG(TIMER + 0x0c) = CASE == 41;
	REG(TIMER + 0x04) = 1;
	REG(TIMER + 0x0c) = 0;
	REG(WDT + 0xc00) = CASE == 42;
	if (CASE == 42)
		REG(WDT) = 1000;
	if (CASE == 43)
		REG(VTOR) = 0x80;
}

void start(void)
{
	start_pll();
	start_clocks();
	use_uart();
	if (CASE >= 20 && CASE < 30)
		use_flash();
	if (CASE >= 30 && CASE < 40)
		use_mac();
	break_others();
	REG(UART1) = '!';
	wait_loops(20000);
	stop();
}
