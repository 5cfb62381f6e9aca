// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* lm3s_sysctl.c - see lm3s_sysctl.h. */
#include "lm3s_sysctl.h"

#include <string.h>

#define DID0	0x000u
#define DC0	0x008u
#define PBORCTL 0x030u
#define LDOPCTL 0x034u
#define SRCR0	0x040u
#define RIS	0x050u
#define IMC	0x054u
#define MISC	0x058u
#define RESC	0x05cu
#define RCC	0x060u
#define PLLCFG	0x064u
#define RCC2	0x070u
#define RCGC0	0x100u
#define FMPRE	0x130u
#define USECRL	0x140u
#define USER0	0x1e0u
#define USER1	0x1e4u
#define FMPRE0	0x200u
#define FMPPE3	0x40cu

#define RCC_SYSDIV    (15u << 23)
#define RCC_USESYSDIV (1u << 22)
#define RCC_PWRDN     (1u << 13)
#define RCC_OEN	      (1u << 12)
#define RCC_BYPASS    (1u << 11)
#define RCC_XTAL      (15u << 6)
#define RCC_OSCSRC    (3u << 4)
#define RCC_IOSCDIS   2u
#define RCC_MOSCDIS   1u
#define RCC_RESET     0x078e3ad1u
#define RCC2_RESET    0x07802810u
#define RCC2_USE      (1u << 31)
#define XTAL_8_MHZ    0xeu

#define LDO_2_75 0x1bu
#define RIS_PLL	 (1u << 6)

#define CAUSE_POR 2u
#define BOR_RESET 2u
#define RIS_BOR	  2u

#define IOSC_HZ	    12000000u
#define MOSC_HZ	    8000000u /* the crystal of the board */
#define SLOW_HZ	    30000u
#define PLL_HZ	    200000000u
#define GATE_CYCLES 3u
/* A crystal needs some milliseconds; not verified against the data sheet. */
#define MOSC_NS	     5000000u
#define LOCK_NS	     500000u /* T_READY */
#define BROWN_OUT_NS 5000000000ull

static const uint32_t resc_of[] = {
	[BOARD_POWER_ON] = CAUSE_POR, [BOARD_PIN] = 1u,
	[BOARD_SYSTEM] = 16u,	      [BOARD_WATCHDOG] = 8u,
	[BOARD_BROWN_OUT] = 4u,
};

/* What tells which chip this is. */
static const struct {
	uint32_t off, value;
} fixed[] = {
	{ DID0, 0x10010002 },  /* Fury, revision A2 */
	{ 0x004, 0x1073402e }, /* DID1: LM3S6965 */
	{ DC0, 0x00ff007f },   /* 64 KiB of RAM, 256 of flash */
	{ 0x010, 0x001133ff }, { 0x014, 0x030f5317 }, { 0x018, 0x8f0f87ff },
	{ 0x01c, 0x5000007f }, { FMPRE, ~0u },	      { FMPRE + 4, ~0u },
};

static uint64_t now_ns(const struct lm3s_sysctl *sys)
{
	return clock_now_ns(&sys->board->clock);
}

/* ------------------------------------------------------------------ clocks */

static bool is_mosc_stable(const struct lm3s_sysctl *sys)
{
	return !(sys->rcc & RCC_MOSCDIS) && !board_breaks(sys->board, "mosc") &&
	       now_ns(sys) >= sys->mosc_ns + MOSC_NS;
}

/* Of the oscillator that RCC selects; 0: it does not run. */
static uint32_t source_hz(const struct lm3s_sysctl *sys)
{
	uint32_t iosc =
		IOSC_HZ / 1000 *
		(uint32_t)(1000 + sys->board->options.oscillator_permille);

	switch (sys->rcc >> 4 & 3) {
	case 0:
		if (sys->rcc & RCC_MOSCDIS || board_breaks(sys->board, "mosc"))
			return 0;
		return MOSC_HZ;
	case 1:
		return iosc;
	case 2:
		return iosc / 4;
	default:
		return SLOW_HZ;
	}
}

static void update_clock(struct lm3s_sysctl *sys)
{
	uint32_t hz = sys->rcc & RCC_BYPASS ? source_hz(sys) : PLL_HZ;

	if (sys->rcc & RCC_USESYSDIV)
		hz /= (sys->rcc >> 23 & 15) + 1;
	if (!hz) {
		board_fault(sys->board, "the system clock stops: RCC=%08x",
			    sys->rcc);
		board_want_reset(sys->board, BOARD_POWER_ON);
		return;
	}
	board_set_hz(sys->board, hz);
}

static void lock_pll(void *arg)
{
	struct lm3s_sysctl *sys = arg;

	if (board_breaks(sys->board, "pll") ||
	    (!(sys->rcc & RCC_OSCSRC) && board_breaks(sys->board, "mosc")))
		return;
	if (!(sys->rcc & RCC_OSCSRC) && !is_mosc_stable(sys)) {
		clock_at(&sys->board->clock, now_ns(sys) + LOCK_NS, lock_pll,
			 sys);
		return;
	}
	sys->locked = true;
	sys->raw |= RIS_PLL;
}

/* The PLL starts over when it is powered, and when what it gets changes. */
static void start_pll(struct lm3s_sysctl *sys)
{
	struct clock *clock = &sys->board->clock;

	sys->locked = false;
	sys->raw &= ~RIS_PLL;
	clock_cancel(clock, lock_pll, sys);
	if (sys->rcc & RCC_PWRDN)
		return;
	if (!(sys->rcc & RCC_OSCSRC) && !is_mosc_stable(sys))
		board_fault(sys->board,
			    "the PLL is powered %u us after its main "
			    "oscillator was enabled, which is stable after %u",
			    (uint32_t)((now_ns(sys) - sys->mosc_ns) / 1000),
			    MOSC_NS / 1000);
	clock_at(clock, now_ns(sys) + LOCK_NS, lock_pll, sys);
}

/* Bits that a write of RCC takes from 1 to 0, from 0 to 1. */
struct change {
	uint32_t down, up;
};

static void check_pll_setup(struct lm3s_sysctl *sys, uint32_t value,
			    struct change c)
{
	uint32_t changed = c.down | c.up;

	if (!(sys->rcc & RCC_BYPASS) &&
	    changed & (RCC_XTAL | RCC_OSCSRC | RCC_PWRDN))
		board_fault(sys->board,
			    "RCC=%08x: the PLL in use is set up anew", value);
	if (c.down & RCC_PWRDN && c.down & RCC_MOSCDIS)
		board_fault(sys->board,
			    "RCC=%08x: the main oscillator and the PLL are "
			    "enabled in one write",
			    value);
	if (c.down & RCC_PWRDN && value & RCC_USESYSDIV)
		board_fault(sys->board,
			    "RCC=%08x: the PLL is powered and the divider set "
			    "in one write",
			    value);
}

static void check_pll_use(struct lm3s_sysctl *sys, uint32_t value,
			  struct change c)
{
	if (!(c.down & RCC_BYPASS))
		return;
	if (!sys->locked)
		board_fault(sys->board,
			    "RCC=%08x: the PLL is used before it has locked",
			    value);
	if ((c.down | c.up) & (RCC_SYSDIV | RCC_USESYSDIV))
		board_fault(sys->board,
			    "RCC=%08x: divider and end of the bypass in one "
			    "write",
			    value);
	if (sys->ldo != LDO_2_75)
		board_fault(sys->board,
			    "the PLL of revision A2 is used with LDOPCTL=%02x, "
			    "not 2.75 V",
			    sys->ldo);
	if (PLL_HZ / ((value >> 23 & 15) + 1) > 50000000 ||
	    !(value & RCC_USESYSDIV))
		board_fault(sys->board, "RCC=%08x: above 50 MHz", value);
	if ((value >> 6 & 15) != XTAL_8_MHZ)
		board_fault(sys->board,
			    "RCC=%08x: the crystal of the board has 8 MHz",
			    value);
}

static void check_source(struct lm3s_sysctl *sys, uint32_t value,
			 struct change c)
{
	bool was_mosc = !(sys->rcc & RCC_OSCSRC);

	if (!(value & RCC_OSCSRC) && value & RCC_BYPASS &&
	    (!was_mosc || c.down & RCC_MOSCDIS) && !is_mosc_stable(sys))
		board_fault(sys->board,
			    "RCC=%08x: the main oscillator is used before it "
			    "is stable",
			    value);
}

static void write_rcc(struct lm3s_sysctl *sys, uint32_t value)
{
	struct change c = { sys->rcc & ~value, value & ~sys->rcc };
	uint32_t changed = c.down | c.up;

	check_pll_setup(sys, value, c);
	check_pll_use(sys, value, c);
	check_source(sys, value, c);
	if (c.down & RCC_MOSCDIS)
		sys->mosc_ns = now_ns(sys);
	sys->rcc = value;
	if (changed & (RCC_PWRDN | RCC_XTAL | RCC_OSCSRC))
		start_pll(sys);
	update_clock(sys);
}

/* -------------------------------------------------------------- brown-out */

static void brown_out(void *arg)
{
	struct lm3s_sysctl *sys = arg;

	sys->raw |= RIS_BOR;
	board_say(sys->board, "VDD falls below its threshold");
	if (sys->bor & BOR_RESET)
		board_want_reset(sys->board, BOARD_BROWN_OUT);
}

/* -------------------------------------------------------- gates and resets */

static void write_gate(struct lm3s_sysctl *sys, uint32_t gate, uint32_t value)
{
	uint32_t changed = value ^ sys->gates[gate];

	sys->gates[gate] = value;
	for (uint32_t bit = 0; bit < 32; bit++) {
		if (!(changed >> bit & 1))
			continue;
		sys->gated_at[gate][bit] = sys->board->clock.cycles;
		sys->switch_clock(sys->board, gate, bit, value >> bit & 1);
	}
}

static void write_held(struct lm3s_sysctl *sys, uint32_t gate, uint32_t value)
{
	uint32_t old = sys->held[gate];

	sys->held[gate] = value;
	for (uint32_t bit = 0; bit < 32; bit++)
		if ((value & ~old) >> bit & 1)
			sys->reset_device(sys->board, gate, bit);
}

bool lm3s_sysctl_clocks(const struct lm3s_sysctl *sys, uint32_t gate,
			uint32_t bit)
{
	return sys->gates[gate] >> bit & 1 && !(sys->held[gate] >> bit & 1) &&
	       sys->board->clock.cycles - sys->gated_at[gate][bit] >=
		       GATE_CYCLES;
}

bool lm3s_sysctl_programs(const struct lm3s_sysctl *sys)
{
	uint32_t mhz = sys->board->clock.hz / 1000000;

	return (sys->usecrl + 1) * 10 >= mhz * 6 &&
	       (sys->usecrl + 1) * 6 <= mhz * 10;
}

/* --------------------------------------------------------------- registers */

static uint32_t read_fixed(uint32_t off)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (fixed[i].off == off)
			return fixed[i].value;
	return off >= FMPRE0 && off <= FMPPE3 ? ~0u : 0;
}

static uint32_t read_sysctl(void *device, uint32_t off)
{
	const struct lm3s_sysctl *sys = device;

	if (off >= RCGC0 && off < RCGC0 + 4 * LM3S_GATES)
		return sys->gates[(off - RCGC0) / 4];
	if (off >= SRCR0 && off < SRCR0 + 4 * LM3S_GATES)
		return sys->held[(off - SRCR0) / 4];
	switch (off) {
	case PBORCTL:
		return sys->bor;
	case LDOPCTL:
		return sys->ldo;
	case RIS:
		return sys->raw;
	case IMC:
		return sys->mask;
	case MISC:
		return sys->raw & sys->mask;
	case RESC:
		return sys->cause;
	case RCC:
		return sys->rcc;
	case RCC2:
		return sys->rcc2;
	case USECRL:
		return sys->usecrl;
	case USER0:
		return sys->user[0];
	case USER1:
		return sys->user[1];
	default:
		return read_fixed(off);
	}
}

static void write_ldo(struct lm3s_sysctl *sys, uint32_t value)
{
	if (!(sys->rcc & RCC_PWRDN))
		board_fault(sys->board,
			    "LDOPCTL=%02x is written while the PLL is on",
			    value);
	sys->ldo = value & 0x3f;
}

static void write_sysctl(void *device, uint32_t off, uint32_t value)
{
	struct lm3s_sysctl *sys = device;

	if (off >= RCGC0 && off < RCGC0 + 4 * LM3S_GATES) {
		write_gate(sys, (off - RCGC0) / 4, value);
	} else if (off >= SRCR0 && off < SRCR0 + 4 * LM3S_GATES) {
		write_held(sys, (off - SRCR0) / 4, value);
	} else if (off == RCC) {
		write_rcc(sys, value);
	} else if (off == RCC2) {
		if (value & RCC2_USE)
			board_fault(sys->board, "RCC2 is not modelled");
		sys->rcc2 = value;
	} else if (off == PBORCTL) {
		sys->bor = value;
	} else if (off == LDOPCTL) {
		write_ldo(sys, value);
	} else if (off == IMC) {
		sys->mask = value;
	} else if (off == MISC) {
		sys->raw &= ~value;
	} else if (off == RESC) {
		sys->cause &= value;
	} else if (off == USECRL) {
		sys->usecrl = value & 0xff;
	} else if (off == USER0 || off == USER1) {
		sys->user[off == USER1] = value;
	}
}

const struct device_ops lm3s_sysctl_ops = {
	.name = "system control",
	.read = read_sysctl,
	.write = write_sysctl,
};

void lm3s_sysctl_init(struct lm3s_sysctl *sys, struct board *board)
{
	sys->board = board;
	sys->user[0] = sys->user[1] = ~0u;
	if (board_breaks(board, "vdd"))
		clock_at(&board->clock, BROWN_OUT_NS, brown_out, sys);
}

/* Power-on sets its bit alone; the other causes gather. */
void lm3s_sysctl_start(struct lm3s_sysctl *sys, enum board_reset cause)
{
	clock_cancel(&sys->board->clock, lock_pll, sys);
	sys->rcc = RCC_RESET;
	sys->rcc2 = RCC2_RESET;
	sys->ldo = 0;
	sys->bor = 0x7ffd;
	sys->raw = sys->mask = 0;
	sys->locked = false;
	sys->usecrl = 0x31;
	memset(sys->gates, 0, sizeof(sys->gates));
	memset(sys->held, 0, sizeof(sys->held));
	sys->gates[0] = 0x40;
	sys->cause = cause == BOARD_POWER_ON ? CAUSE_POR
					     : sys->cause | resc_of[cause];
	update_clock(sys);
}
