/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "chip.h"

#include "cortexm.h"
#include "pl011.h"
#include "tm4c.h"

#define PTBOCTL	    0x038u
#define RIS	    0x050u
#define MISC	    0x058u
#define RESC	    0x05cu
#define MOSCCTL	    0x07cu
#define RSCLKCFG    0x0b0u
#define MEMTIM0	    0x0c0u
#define PLLFREQ0    0x160u
#define PLLFREQ1    0x164u
#define PLLSTAT	    0x168u
#define RESBEHAVCTL 0x1d8u
#define USER0	    0x1e0u
#define USER1	    0x1e4u
#define UNIQUE0	    0xf20u
#define UNIQUE	    4u /* words */

/* Registers with a bit for each device of a kind, at the offset of the kind. */
#define SOFT_RESET(kind) (0x500u + (kind))
#define RUN_CLOCK(kind)	 (0x600u + (kind))
#define POWER(kind)	 (0x900u + (kind))
#define READY(kind)	 (0xa00u + (kind))
#define WATCHDOGS	 0x00u
#define TIMERS		 0x04u
#define GPIOS		 0x08u
#define UARTS		 0x18u
#define PHYS		 0x30u
#define EMACS		 0x9cu

#define GPIO_A	    (1u << 0)
#define GPIO_F	    (1u << 5)
#define GPIO_P	    (1u << 13)
#define GPIO_AFSEL  0x420u
#define GPIO_DEN    0x51cu
#define GPIO_PCTL   0x52cu
#define PCTL_UART   1u
#define PCTL_EN0LED 5u

#define RIS_MOSC       (1u << 8)
#define MOSC_RANGE     (1u << 4) /* a crystal of 10 MHz or more */
#define MOSC_OFF       (1u << 3)
#define CLK_MEMTIMU    (1u << 31) /* take over MEMTIM0 together with this */
#define CLK_NEWFREQ    (1u << 30)
#define CLK_USEPLL     (1u << 28)
#define CLK_CRYSTAL    (3u << 24 | 3u << 20) /* for the PLL, and without it */
#define CLK_HALF       1u		     /* of the PLL's frequency */
#define CLK_FULL_SPEED (CLK_USEPLL | CLK_CRYSTAL | CLK_HALF)
#define PLL_ON	       (1u << 23)
#define PLL_LOCKED     1u
/* 25 MHz / 5 / 2 * 96 = 240 MHz. The divisor behind it must be 2: others are not
 * taken over for sure (errata SYSCTL#22). */
#define PLL_M	96u
#define PLL_N_Q (4u | 1u << 8)
/* Wait states and clock of flash and EEPROM, data sheet table 5-12. */
#define MEMTIM_16_MHZ  0x00300030u
#define MEMTIM_40_MHZ  0x00910091u
#define MEMTIM_120_MHZ 0x01950195u

/* pin, brown-out, watchdogs: no reset but that at power-on is one of the kind */
#define RESETS_ARE_SHORT 0xaau
#define BROWN_OUT_RESETS 0x303u /* of both supplies */

#define EMAC_PC 0xfc4u
/* of the PHY: speed that it offers, negotiation, crossed cables, hold, external */
#define PC_MASK	      (1u << 31 | 7u << 28 | 1u << 10 | 0xfu)
#define PC_NEGOTIATES (1u << 10 | 1u << 3 | 3u << 1)

#define LOOKS	     100000u /* some 10 ms at least, at any clock */
#define RESET_LOOKS  16u
#define SETTLE_LOOKS 10000u /* 250 us at least */

static volatile uint32_t *sys_reg(uint32_t off)
{
	return &CORTEXM_REG(TM4C_SYS + off);
}

/* Until a bit of @mask is set, or for a while. */
static bool await_sys(uint32_t off, uint32_t mask)
{
	uint32_t i;

	for (i = 0; i < LOOKS; i++)
		if (*sys_reg(off) & mask)
			return true;
	return false;
}

static void pass_time(uint32_t looks)
{
	while (looks--)
		(void)*sys_reg(RIS);
}

/* ------------------------------------------------------------------- clocks */

static bool is_full_speed(void)
{
	return (*sys_reg(RSCLKCFG) & ~(CLK_MEMTIMU | CLK_NEWFREQ)) ==
		       CLK_FULL_SPEED &&
	       *sys_reg(PLLFREQ0) == (PLL_ON | PLL_M) &&
	       *sys_reg(PLLFREQ1) == PLL_N_Q && *sys_reg(PLLSTAT) & PLL_LOCKED;
}

/* The flash gets its timing for the new clock with it, not before or after. */
static void set_clock(uint32_t source, uint32_t memtim)
{
	*sys_reg(MEMTIM0) = memtim;
	*sys_reg(RSCLKCFG) = source | CLK_MEMTIMU;
}

static bool start_crystal(void)
{
	if (*sys_reg(MOSCCTL) != MOSC_RANGE) {
		*sys_reg(MISC) = RIS_MOSC; /* of an earlier start */
		*sys_reg(MOSCCTL) = MOSC_RANGE | MOSC_OFF;
		*sys_reg(MOSCCTL) = MOSC_RANGE;
	}
	return await_sys(RIS, RIS_MOSC);
}

/* The PLL runs from the crystal, and the processor too, until it has locked. */
static bool start_pll(void)
{
	*sys_reg(PLLFREQ1) = PLL_N_Q;
	if (*sys_reg(PLLFREQ0) & PLL_ON) {
		*sys_reg(PLLFREQ0) = PLL_ON | PLL_M;
		*sys_reg(RSCLKCFG) |= CLK_NEWFREQ;
	} else {
		*sys_reg(PLLFREQ0) = PLL_M;
		*sys_reg(PLLFREQ0) = PLL_ON | PLL_M;
	}
	return await_sys(PLLSTAT, PLL_LOCKED);
}

uint32_t tm4c_clock_start(void)
{
	if (is_full_speed())
		return TM4C_HZ;
	set_clock(0, MEMTIM_16_MHZ);
	if (!start_crystal())
		return TM4C_INTERNAL_HZ;
	set_clock(CLK_CRYSTAL, MEMTIM_40_MHZ);
	if (!start_pll()) {
		*sys_reg(PLLFREQ0) = PLL_M;
		return TM4C_CRYSTAL_HZ;
	}
	set_clock(CLK_FULL_SPEED, MEMTIM_120_MHZ);
	return TM4C_HZ;
}

/* ------------------------------------------------------------ power and pins */

static bool start_devices(uint32_t kind, uint32_t devices)
{
	uint32_t i;

	*sys_reg(RUN_CLOCK(kind)) |= devices;
	for (i = 0; i < LOOKS; i++)
		if ((*sys_reg(READY(kind)) & devices) == devices)
			return true;
	return false;
}

static void use_pin(uintptr_t gpio, uint32_t pin, uint32_t function)
{
	uint32_t shift = pin * 4;

	CORTEXM_REG(gpio + GPIO_PCTL) =
		(CORTEXM_REG(gpio + GPIO_PCTL) & ~(15u << shift)) |
		function << shift;
	CORTEXM_REG(gpio + GPIO_AFSEL) |= 1u << pin;
	CORTEXM_REG(gpio + GPIO_DEN) |= 1u << pin;
}

void tm4c_console_start(uint32_t hz)
{
	if (!start_devices(GPIOS, GPIO_P) || !start_devices(UARTS, 1u << 6))
		return;
	use_pin(TM4C_GPIOP, 0, PCTL_UART);
	use_pin(TM4C_GPIOP, 1, PCTL_UART);
	pl011_start(TM4C_CONSOLE, hz, TM4C_CONSOLE_BAUD);
}

void tm4c_line_start(void)
{
	if (!start_devices(GPIOS, GPIO_A) || !start_devices(UARTS, 1u << 0))
		return;
	use_pin(TM4C_GPIOA, 0, PCTL_UART);
	use_pin(TM4C_GPIOA, 1, PCTL_UART);
}

void tm4c_timers_start(void)
{
	(void)start_devices(TIMERS, 1u << 0);
	(void)start_devices(WATCHDOGS, 1u << 0);
}

uint32_t tm4c_reset_cause(void)
{
	uint32_t cause = *sys_reg(RESC);

	*sys_reg(RESC) = 0;
	*sys_reg(RESBEHAVCTL) = RESETS_ARE_SHORT;
	*sys_reg(PTBOCTL) = BROWN_OUT_RESETS;
	return cause;
}

/* ---------------------------------------------------------------- Ethernet */

static bool reset_device(uint32_t kind)
{
	*sys_reg(SOFT_RESET(kind)) |= 1;
	pass_time(RESET_LOOKS);
	*sys_reg(SOFT_RESET(kind)) &= ~1u;
	return await_sys(READY(kind), 1);
}

static void start_leds(void)
{
	if (!start_devices(GPIOS, GPIO_F))
		return;
	use_pin(TM4C_GPIOF, 0, PCTL_EN0LED); /* D4: link */
	use_pin(TM4C_GPIOF, 4, PCTL_EN0LED); /* D3: activity */
}

/* The PHY reads what it is to do from EMACPC when its reset ends, and needs a while
 * after that. */
bool tm4c_ethernet_start(void)
{
	volatile uint32_t *pc = &CORTEXM_REG(TM4C_EMAC + EMAC_PC);

	*sys_reg(POWER(EMACS)) |= 1;
	*sys_reg(POWER(PHYS)) |= 1;
	if (!start_devices(EMACS, 1) || !reset_device(EMACS) ||
	    !start_devices(PHYS, 1))
		return false;
	*pc = (*pc & ~PC_MASK) | PC_NEGOTIATES;
	start_leds();
	if (!reset_device(PHYS))
		return false;
	pass_time(SETTLE_LOOKS);
	return true;
}

/* FNV-1a of the words. */
static uint32_t hash_unique(void)
{
	uint32_t hash = 2166136261u, i, b;

	for (i = 0; i < UNIQUE; i++)
		for (b = 0; b < 32; b += 8) {
			hash ^= *sys_reg(UNIQUE0 + 4 * i) >> b & 0xff;
			hash *= 16777619u;
		}
	return hash;
}

/* Two words of three bytes each; ones, or a group address: nobody wrote them. */
void tm4c_address(uint8_t mac[6])
{
	uint32_t low = *sys_reg(USER0), high = *sys_reg(USER1), i;

	if (low & 1 || !(low | high)) {
		low = 0x7502u; /* a local address, "u" */
		high = hash_unique();
		low |= (high >> 24) << 16;
	}
	for (i = 0; i < 3; i++) {
		mac[i] = (uint8_t)(low >> 8 * i);
		mac[3 + i] = (uint8_t)(high >> 8 * i);
	}
}
