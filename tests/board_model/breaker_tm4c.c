// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * breaker_tm4c.c - a program for board-model's TM4C1294 that breaks one rule of the data
 * sheet, CASE, and is otherwise in order; CASE 0, 19 and 29 break none.
 * test_tm4c_rules.py compiles it once for each.
 */
#include "breaker.h"

#define SYS	  0x400fe000u
#define RIS	  (SYS + 0x050u)
#define MOSCCTL	  (SYS + 0x07cu)
#define RSCLKCFG  (SYS + 0x0b0u)
#define MEMTIM0	  (SYS + 0x0c0u)
#define PLLFREQ0  (SYS + 0x160u)
#define PLLFREQ1  (SYS + 0x164u)
#define PLLSTAT	  (SYS + 0x168u)
#define RCGC	  (SYS + 0x600u)
#define PR	  (SYS + 0xa00u)
#define TIMERS	  0x04u
#define GPIOS	  0x08u
#define UARTS	  0x18u
#define EPHY	  0x30u
#define EMACS	  0x9cu
#define FMA	  0x400fd000u
#define FMC	  0x400fd008u
#define TIMER	  0x40030000u
#define PORT_C	  0x4005a000u
#define PORT_D	  0x4005b000u
#define PORT_P	  0x40065000u
#define UART6	  0x40012000u
#define MAC	  0x400ec000u
#define NVIC_ISER 0xe000e100u

#define CFG	  (MAC + 0x000u)
#define MIIADDR	  (MAC + 0x010u)
#define EMACPC	  (MAC + 0xfc4)
#define DMABUSMOD (MAC + 0xc00u)
#define TXPOLLD	  (MAC + 0xc04u)
#define RXDLADDR  (MAC + 0xc0cu)
#define TXDLADDR  (MAC + 0xc10u)
#define DMAOPMODE (MAC + 0xc18u)

#define OWN	(1u << 31)
#define LAST	(1u << 29)
#define FIRST	(1u << 28)
#define TX_END	(1u << 21)
#define RX_END	(1u << 15)
#define BUFFER	0x20008000u
#define TX_LIST 0x20009000u
#define RX_LIST 0x20009100u

#define FAST_MEMORY 0x01950195u /* for 120 MHz */
#define USE_PLL	    0x93300001u /* with MEMTIMU, crystal, by 2 */

static void wait_for(uint32_t reg, uint32_t bits)
{
	for (uint32_t i = 0; i < 100000 && (REG(reg) & bits) != bits; i++)
		;
}

static void start_mosc(void)
{
	REG(MOSCCTL) = CASE == 2 ? 0 : 0x10;
	if (CASE != 1)
		wait_for(RIS, 0x100);
	if (CASE == 1)
		REG(RSCLKCFG) = 0x00300000;
}

static void start_pll(void)
{
	REG(RSCLKCFG) = 0x03000000;
	REG(PLLFREQ1) = 0x104;
	REG(PLLFREQ0) = CASE == 6 ? 80 : 96;
	REG(PLLFREQ0) |= 0x00800000;
	if (CASE != 3)
		wait_for(PLLSTAT, 1);
	REG(MEMTIM0) = CASE == 4 ? 0x00b300b3 : FAST_MEMORY;
	REG(RSCLKCFG) = CASE == 5 ? USE_PLL & ~OWN : USE_PLL;
	if (CASE == 7)
		REG(PLLFREQ1) = 0x105;
}

static void start_device(uint32_t kind, uint32_t bits)
{
	REG(RCGC + kind) |= bits;
	wait_for(PR + kind, bits);
}

static void start_console(void)
{
	start_device(GPIOS, 0x200c);
	if (CASE == 10)
		REG(RCGC + UARTS) = 0x40;
	else if (CASE != 11)
		start_device(UARTS, 0x40);
	REG(PORT_P + 0x52c) = 0x11;
	REG(PORT_P + 0x420) = 3;
	REG(PORT_P + 0x51c) = 3;
	REG(UART6 + 0x24) = 65;
	REG(UART6 + 0x28) = 7;
	REG(UART6 + 0x2c) = 0x70;
	REG(UART6 + 0x30) = 0x301;
}

static void put_text(const char *text)
{
	while (*text)
		REG(UART6) = (uint8_t)*text++;
	while (REG(UART6 + 0x18) & 8)
		;
}

static void break_pins(void)
{
	if (CASE == 12)
		REG(PORT_D + 0x51c) = 0x80;
	if (CASE != 13)
		return;
	REG(PORT_C + 0x520) = 0x4c4f434b;
	REG(PORT_C + 0x520) = 0x1acce551;
	REG(PORT_C + 0x524) = 0xff;
	REG(PORT_C + 0x420) = 0;
}

static void use_flash(void)
{
	REG(FMA) = CASE == 15 ? 0xfc400 : 0xfc000;
	REG(FMC) = 0xa4420002;
	if (CASE == 16)
		REG(FMC) = 0xa4420002;
	while (REG(FMC) & 2)
		;
}

/* Asleep, with interrupts masked: a pending one ends it. */
static void sleep_ticks(uint32_t ticks)
{
	start_device(TIMERS, 1);
	REG(TIMER + 0x00) = 0;
	REG(TIMER + 0x04) = 1;
	REG(TIMER + 0x18) = 1;
	REG(TIMER + 0x28) = ticks;
	REG(TIMER + 0x0c) = 1;
	REG(NVIC_ISER) = 1u << 19;
	__asm__ volatile("cpsid i\n\twfi");
}

static void start_mac(void)
{
	start_device(EMACS, 1);
	if (CASE == 30)
		REG(CFG) = 0x8000;
	start_device(EPHY, 1);
	if (CASE == 44)
		REG(EMACPC) = 0x0080040e;
	REG(DMABUSMOD) |= 1;
	if (CASE == 31)
		REG(CFG) = 0x8000;
	while (REG(DMABUSMOD) & 1)
		;
	REG(MIIADDR) = (CASE == 32 ? 2 : 1) << 2 | 1 << 6 | 1;
	if (CASE == 33)
		(void)REG(MAC + 0x14);
	while (REG(MIIADDR) & 1)
		;
}

static void set_word(uint32_t at, uint32_t i, uint32_t value)
{
	REG(at + 4 * i) = value;
}

static void make_lists(void)
{
	set_word(RX_LIST, 1, RX_END | (CASE == 34 ? 1518 : 1520));
	set_word(RX_LIST, 2, CASE == 35 ? 0x10000000 : BUFFER);
	set_word(RX_LIST, 0, OWN);
	set_word(TX_LIST, 0, 0);
	set_word(TX_LIST, 1, 60);
	set_word(TX_LIST, 2, BUFFER + 0x800);
	set_word(TX_LIST + 16, 0, TX_END);
	REG(RXDLADDR) = RX_LIST;
	REG(TXDLADDR) = TX_LIST;
}

static void send_frame(void)
{
	if (CASE == 36)
		set_word(TX_LIST, 0, OWN | FIRST);
	set_word(TX_LIST, 0, CASE == 37 ? OWN | LAST : OWN | LAST | FIRST);
	if (CASE == 38)
		set_word(TX_LIST, 1, 61);
	REG(TXPOLLD) = 1;
	wait_loops(20000);
}

static void use_mac(void)
{
	start_mac();
	if (CASE != 39)
		sleep_ticks(240000000);
	make_lists();
	REG(CFG) = CASE == 40 ? 0x880c : 0xc80c;
	REG(DMAOPMODE) = CASE == 41 ? 0x2002002 : 0x2202002;
	wait_loops(2000);
	if (CASE == 42)
		REG(TXDLADDR) = TX_LIST;
	if (CASE == 43)
		set_word(RX_LIST, 2, BUFFER);
	send_frame();
}

void start(void)
{
	start_mosc();
	start_pll();
	start_console();
	put_text("ok\n");
	break_pins();
	if (CASE >= 14 && CASE < 20)
		use_flash();
	if (CASE >= 29)
		use_mac();
	put_text("!");
	stop();
}
