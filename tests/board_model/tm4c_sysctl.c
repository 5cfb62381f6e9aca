// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* tm4c_sysctl.c - see tm4c_sysctl.h. */
#include "tm4c_sysctl.h"

#include <string.h>

#include "cpu.h"
#include "tm4c_memtim.h"

#define PTBOCTL	    0x038u
#define RIS	    0x050u
#define IMC	    0x054u
#define MISC	    0x058u
#define RESC	    0x05cu
#define PWRTC	    0x060u
#define NMIC	    0x064u
#define MOSCCTL	    0x07cu
#define RSCLKCFG    0x0b0u
#define MEMTIM0	    0x0c0u
#define PLLFREQ0    0x160u
#define PLLFREQ1    0x164u
#define PLLSTAT	    0x168u
#define RESBEHAVCTL 0x1d8u
#define USER_REG0   0x1e0u
#define USER_REG3   0x1ecu
#define FMPRE0	    0x200u
#define FMPPE15	    0x43cu
#define SR	    0x500u
#define RCGC	    0x600u
#define SCGC	    0x700u
#define DCGC	    0x800u
#define PC	    0x900u
#define PR	    0xa00u
#define UNIQUEID0   0xf20u

#define MOSC_PWRDN  8u
#define MOSC_NOXTAL 4u
#define MOSC_RANGE  16u

#define CFG_MEMTIMU (1u << 31)
#define CFG_NEWFREQ (1u << 30)
#define CFG_ACG	    (1u << 29)
#define CFG_USEPLL  (1u << 28)
#define CFG_PLLSRC  (15u << 24)
#define CFG_OSCSRC  (15u << 20)
#define PLLSRC_MOSC (3u << 24)
#define OSC_LFIOSC  2u
#define OSC_MOSC    3u
#define PLL_POWER   (1u << 23)
#define RIS_MOSCPUP (1u << 8)
#define RIS_LOCK    (1u << 6)
#define RIS_BOR	    2u
#define IRQ	    28u
#define CAUSE_POR   2u
#define BOR_NMI	    2u
#define BOR_RESET   3u

#define PIOSC_HZ     16000000u
#define MOSC_HZ	     25000000u /* the crystal of the board */
#define LFIOSC_HZ    33000u
#define MOST_HZ	     120000000u
#define LOCK_PERIODS 512u /* of the PLL's reference */
/* A crystal needs some milliseconds; 18 ms at most (table 27-12, as remembered: not
 * verified against the data sheet). */
#define MOSC_NS	     8000000u
#define READY_NS     1000u
#define ETHERNET_NS  20000u /* its ready bits; not verified */
#define BROWN_OUT_NS 2000000000ull

static const uint32_t resc_of[] = {
	[BOARD_POWER_ON] = CAUSE_POR, [BOARD_PIN] = 1u,
	[BOARD_SYSTEM] = 16u,	      [BOARD_WATCHDOG] = 8u,
	[BOARD_BROWN_OUT] = 4u,
};

/* What tells which chip this is: TM4C1294NCPDT, revision A2. UNIQUEID is any. */
static const struct {
	uint32_t off, value;
} fixed[] = {
	{ 0x000, 0x100a0002 },	     { 0x004, 0x101fc02e },
	{ UNIQUEID0, 0x2f81a3c4 },   { UNIQUEID0 + 4, 0x5116e0d9 },
	{ UNIQUEID0 + 8, 0x00384e }, { UNIQUEID0 + 12, 0x47c30012 },
};

static uint64_t now_ns(const struct tm4c_sysctl *sys)
{
	return clock_now_ns(&sys->board->clock);
}

static void update_irq(struct tm4c_sysctl *sys)
{
	cpu_irq(sys->board->cpu, IRQ, sys->raw & sys->mask);
}

/* ------------------------------------------------------------------ clocks */

static void check_memory(struct tm4c_sysctl *sys, uint32_t hz)
{
	uint32_t least = tm4c_memtim_mhz(sys->memtim_used);

	if ((uint64_t)least * 1040000 < hz) /* the internal one is off */
		board_fault(sys->board,
			    "the system clock is %u kHz while MEMTIM0=%08x is "
			    "in effect, which is for %u MHz",
			    hz / 1000, sys->memtim_used, least);
}

static uint32_t piosc_hz(const struct tm4c_sysctl *sys)
{
	return PIOSC_HZ / 1000 *
	       (uint32_t)(1000 + sys->board->options.oscillator_permille);
}

/* 0: it does not run. */
static uint32_t source_hz(const struct tm4c_sysctl *sys, uint32_t source)
{
	switch (source) {
	case 0:
		return piosc_hz(sys);
	case OSC_LFIOSC:
		return LFIOSC_HZ;
	case OSC_MOSC:
		return sys->mosc_stable ? MOSC_HZ : 0;
	default:
		return 0;
	}
}

/* The oscillator of the PLL, whose output is divided once more (Q). */
static uint32_t vco_hz(const struct tm4c_sysctl *sys)
{
	const uint32_t *freq = sys->pll_used;
	uint64_t ref =
		source_hz(sys, sys->rsclkcfg >> 24 & 15) / ((freq[1] & 31) + 1);

	return (uint32_t)(ref * (freq[0] & 0x3ff) +
			  ref * (freq[0] >> 10 & 0x3ff) / 1024);
}

static uint32_t pll_hz(const struct tm4c_sysctl *sys)
{
	return vco_hz(sys) / ((sys->pll_used[1] >> 8 & 31) + 1);
}

static uint32_t system_hz(const struct tm4c_sysctl *sys)
{
	if (sys->rsclkcfg & CFG_USEPLL)
		return pll_hz(sys) / ((sys->rsclkcfg & 0x3ff) + 1);
	return source_hz(sys, sys->rsclkcfg >> 20 & 15) /
	       ((sys->rsclkcfg >> 10 & 0x3ff) + 1);
}

/* Without a clock the chip would stand: here it goes on with the one before. */
static void update_clock(struct tm4c_sysctl *sys)
{
	uint32_t hz = system_hz(sys);

	if (!hz) {
		board_fault(sys->board,
			    "the system clock stops: RSCLKCFG=%08x, "
			    "MOSCCTL=%02x",
			    sys->rsclkcfg, sys->moscctl);
		return;
	}
	if (hz > MOST_HZ + MOST_HZ / 100)
		board_fault(sys->board, "RSCLKCFG=%08x: above 120 MHz",
			    sys->rsclkcfg);
	check_memory(sys, hz);
	board_set_hz(sys->board, hz);
}

static void switch_ethernet(struct tm4c_sysctl *sys)
{
	sys->switch_device(sys->board, TM4C_EPHY, 0);
}

static void start_mosc(void *arg)
{
	struct tm4c_sysctl *sys = arg;

	if (board_breaks(sys->board, "mosc"))
		return;
	sys->mosc_stable = true;
	sys->raw |= RIS_MOSCPUP;
	update_irq(sys);
	switch_ethernet(sys);
}

static void write_mosc(struct tm4c_sysctl *sys, uint32_t value)
{
	bool on = !(value & (MOSC_PWRDN | MOSC_NOXTAL));
	bool was_on = !(sys->moscctl & (MOSC_PWRDN | MOSC_NOXTAL));

	sys->moscctl = value & 0x1f;
	if (on && !(value & MOSC_RANGE))
		board_fault(sys->board,
			    "MOSCCTL=%02x: the crystal of 25 MHz needs OSCRNG",
			    value);
	if (on == was_on)
		return;
	clock_cancel(&sys->board->clock, start_mosc, sys);
	sys->mosc_stable = false;
	sys->raw &= ~RIS_MOSCPUP;
	if (on)
		clock_at(&sys->board->clock, now_ns(sys) + MOSC_NS, start_mosc,
			 sys);
	switch_ethernet(sys);
	update_clock(sys);
}

static void lock_pll(void *arg)
{
	struct tm4c_sysctl *sys = arg;

	if (board_breaks(sys->board, "pll") || !pll_hz(sys))
		return;
	sys->locked = true;
	sys->raw |= RIS_LOCK;
	update_irq(sys);
}

/* With what PLLFREQ0 and PLLFREQ1 say now. */
static void start_pll(struct tm4c_sysctl *sys)
{
	uint32_t in = source_hz(sys, sys->rsclkcfg >> 24 & 15), vco;

	memcpy(sys->pll_used, sys->pllfreq, sizeof(sys->pll_used));
	vco = vco_hz(sys);
	sys->locked = false;
	sys->raw &= ~RIS_LOCK;
	if (!in)
		board_fault(sys->board,
			    "the PLL starts while its source (RSCLKCFG=%08x) "
			    "is not stable",
			    sys->rsclkcfg);
	else if (vco / 1000000 != 320 && vco / 1000000 != 480)
		board_fault(sys->board,
			    "the PLL oscillates at %u kHz, not 320 or 480 MHz",
			    vco / 1000);
	if (in)
		clock_at(&sys->board->clock,
			 now_ns(sys) + 1000000000ull * LOCK_PERIODS *
					       ((sys->pllfreq[1] & 31) + 1) /
					       in,
			 lock_pll, sys);
}

static void stop_pll(struct tm4c_sysctl *sys)
{
	clock_cancel(&sys->board->clock, lock_pll, sys);
	sys->locked = false;
	sys->raw &= ~RIS_LOCK;
}

static void write_pll(struct tm4c_sysctl *sys, uint32_t index, uint32_t value)
{
	uint32_t old = sys->pllfreq[index];

	if (sys->rsclkcfg & CFG_USEPLL)
		board_fault(sys->board,
			    "PLLFREQ%u=%08x: the PLL in use is set up anew",
			    index, value);
	sys->pllfreq[index] = value;
	if (index || !((old ^ value) & PLL_POWER))
		return;
	if (value & PLL_POWER)
		start_pll(sys);
	else
		stop_pll(sys);
}

static void check_config(struct tm4c_sysctl *sys, uint32_t value)
{
	uint32_t changed = sys->rsclkcfg ^ value;

	if (value & CFG_USEPLL && !sys->locked)
		board_fault(sys->board,
			    "RSCLKCFG=%08x: the PLL is used before it has "
			    "locked",
			    value);
	if (changed & CFG_PLLSRC && sys->pllfreq[0] & PLL_POWER)
		board_fault(sys->board,
			    "RSCLKCFG=%08x: the source of a PLL that is on",
			    value);
	if ((value & CFG_OSCSRC) >> 20 == OSC_MOSC && !sys->mosc_stable)
		board_fault(sys->board,
			    "RSCLKCFG=%08x: the main oscillator is used before "
			    "it is stable",
			    value);
	if (value & CFG_ACG)
		board_fault(sys->board,
			    "RSCLKCFG=%08x: clock gating in sleep "
			    "is not modelled",
			    value);
}

static void write_config(struct tm4c_sysctl *sys, uint32_t value)
{
	check_config(sys, value);
	if (value & CFG_MEMTIMU) {
		if ((sys->memtim & TM4C_MEMTIM_ONES) != TM4C_MEMTIM_ONES)
			board_fault(sys->board,
				    "MEMTIM0=%08x: bits 4 and 20 must be 1",
				    sys->memtim);
		sys->memtim_used = sys->memtim;
		sys->board->flash_waits = sys->memtim & 15;
	}
	sys->rsclkcfg = value & ~(CFG_MEMTIMU | CFG_NEWFREQ);
	if (value & CFG_NEWFREQ && sys->pllfreq[0] & PLL_POWER)
		start_pll(sys);
	update_clock(sys);
}

/* -------------------------------------------------------- power and brown-out */

static void brown_out(void *arg)
{
	struct tm4c_sysctl *sys = arg;
	uint32_t action = sys->ptboctl & 3;

	sys->raw |= RIS_BOR;
	sys->pwrtc |= 1;
	board_say(sys->board, "VDD falls below its threshold");
	if (action == BOR_RESET)
		board_want_reset(sys->board, BOARD_BROWN_OUT);
	else if (action == BOR_NMI)
		cpu_nmi(sys->board->cpu);
	else if (!action)
		board_fault(sys->board,
			    "PTBOCTL=%x: VDD falls and nothing "
			    "is done",
			    sys->ptboctl);
	update_irq(sys);
}

/* ------------------------------------------------------- clocks of devices */

static bool is_powered(const struct tm4c_sysctl *sys, uint32_t kind,
		       uint32_t bit)
{
	return (sys->clocked[kind] | sys->powered[kind]) >> bit & 1;
}

bool tm4c_sysctl_runs(const struct tm4c_sysctl *sys, uint32_t kind,
		      uint32_t bit)
{
	return sys->clocked[kind] >> bit & 1 && !(sys->held[kind] >> bit & 1);
}

bool tm4c_sysctl_ready(const struct tm4c_sysctl *sys, uint32_t kind,
		       uint32_t bit)
{
	return tm4c_sysctl_runs(sys, kind, bit) &&
	       now_ns(sys) >= sys->ready_ns[kind][bit];
}

/* One of three words of @kind becomes @value. */
static void write_gates(struct tm4c_sysctl *sys, uint32_t *word, uint32_t kind,
			uint32_t value)
{
	uint32_t changed = *word ^ value, wait = READY_NS;
	bool lost;

	if (kind == TM4C_EMAC || kind == TM4C_EPHY)
		wait = ETHERNET_NS;
	for (uint32_t bit = 0; bit < 16; bit++) {
		if (!(changed >> bit & 1))
			continue;
		lost = is_powered(sys, kind, bit);
		*word ^= 1u << bit;
		lost = lost && !is_powered(sys, kind, bit);
		sys->ready_ns[kind][bit] = now_ns(sys) + wait;
		if (lost || sys->held[kind] >> bit & 1)
			sys->reset_device(sys->board, kind, bit);
		sys->switch_device(sys->board, kind, bit);
	}
}

static uint32_t read_ready(const struct tm4c_sysctl *sys, uint32_t kind)
{
	uint32_t v = 0;

	for (uint32_t bit = 0; bit < 16; bit++)
		v |= (uint32_t)tm4c_sysctl_ready(sys, kind, bit) << bit;
	return v;
}

/* --------------------------------------------------------------- registers */

static uint32_t read_fixed(uint32_t off)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (fixed[i].off == off)
			return fixed[i].value;
	return off >= FMPRE0 && off <= FMPPE15 ? ~0u : 0;
}

static uint32_t read_kinds(const struct tm4c_sysctl *sys, uint32_t off)
{
	uint32_t kind = (off & 0xff) / 4;

	if (kind >= TM4C_KINDS)
		return 0;
	switch (off & ~0xffu) {
	case SR:
		return sys->held[kind];
	case RCGC:
		return sys->clocked[kind];
	case PC:
		return sys->powered[kind];
	case PR:
		return read_ready(sys, kind);
	default:
		return 0;
	}
}

static uint32_t read_sysctl(void *device, uint32_t off)
{
	const struct tm4c_sysctl *sys = device;

	if (off >= SR && off < PR + 0x100)
		return read_kinds(sys, off);
	if (off >= USER_REG0 && off <= USER_REG3)
		return sys->user[(off - USER_REG0) / 4];
	switch (off) {
	case PTBOCTL:
		return sys->ptboctl;
	case RIS:
		return sys->raw;
	case IMC:
		return sys->mask;
	case MISC:
		return sys->raw & sys->mask;
	case RESC:
		return sys->cause;
	case PWRTC:
		return sys->pwrtc;
	case NMIC:
		return sys->nmic;
	case MOSCCTL:
		return sys->moscctl;
	case RSCLKCFG:
		return sys->rsclkcfg;
	case MEMTIM0:
		return sys->memtim;
	case PLLFREQ0:
	case PLLFREQ1:
		return sys->pllfreq[off == PLLFREQ1];
	case PLLSTAT:
		return sys->locked;
	case RESBEHAVCTL:
		return sys->resbehavctl;
	default:
		return read_fixed(off);
	}
}

static void write_kinds(struct tm4c_sysctl *sys, uint32_t off, uint32_t value)
{
	uint32_t kind = (off & 0xff) / 4;

	if (kind >= TM4C_KINDS)
		return;
	switch (off & ~0xffu) {
	case SR:
		write_gates(sys, &sys->held[kind], kind, value);
		break;
	case RCGC:
		write_gates(sys, &sys->clocked[kind], kind, value);
		break;
	case PC:
		write_gates(sys, &sys->powered[kind], kind, value);
		break;
	case SCGC: /* without ACG a sleeping core leaves RCGC<x> in charge */
	case DCGC:
		break;
	default:
		board_fault(sys->board,
			    "system control register %03x is read "
			    "only",
			    off);
	}
}

static void write_plain(struct tm4c_sysctl *sys, uint32_t off, uint32_t value)
{
	switch (off) {
	case PTBOCTL:
		sys->ptboctl = value & 0x303;
		break;
	case IMC:
		sys->mask = value;
		break;
	case MISC:
		sys->raw &= ~(value & ~(RIS_MOSCPUP | RIS_LOCK));
		break;
	case RESC:
		sys->cause &= value;
		break;
	case PWRTC:
		sys->pwrtc &= ~value;
		break;
	case NMIC:
		sys->nmic &= value;
		break;
	case MEMTIM0:
		sys->memtim = value;
		break;
	case RESBEHAVCTL:
		sys->resbehavctl = value;
		break;
	default:
		board_fault(sys->board,
			    "system control register %03x is not modelled",
			    off);
	}
	update_irq(sys);
}

static void write_sysctl(void *device, uint32_t off, uint32_t value)
{
	struct tm4c_sysctl *sys = device;

	if (off >= SR && off < PR + 0x100)
		write_kinds(sys, off, value);
	else if (off == MOSCCTL)
		write_mosc(sys, value);
	else if (off == RSCLKCFG)
		write_config(sys, value);
	else if (off == PLLFREQ0 || off == PLLFREQ1)
		write_pll(sys, off == PLLFREQ1, value);
	else
		write_plain(sys, off, value);
}

const struct device_ops tm4c_sysctl_ops = {
	.name = "system control",
	.read = read_sysctl,
	.write = write_sysctl,
};

/* The address on the board's sticker: 00:1a:b6 is TI's. */
void tm4c_sysctl_init(struct tm4c_sysctl *sys, struct board *board)
{
	sys->board = board;
	memset(sys->user, 0xff, sizeof(sys->user));
	if (!board_breaks(board, "mac")) {
		sys->user[0] = 0xffb61a00;
		sys->user[1] = 0xff563412;
	}
	if (board_breaks(board, "vdd"))
		clock_at(&board->clock, BROWN_OUT_NS, brown_out, sys);
}

static void start_clocks(struct tm4c_sysctl *sys)
{
	clock_cancel(&sys->board->clock, start_mosc, sys);
	clock_cancel(&sys->board->clock, lock_pll, sys);
	sys->moscctl = MOSC_PWRDN | MOSC_NOXTAL;
	sys->mosc_stable = sys->locked = false;
	sys->rsclkcfg = 0;
	sys->memtim = sys->memtim_used = TM4C_MEMTIM_RESET;
	sys->board->flash_waits = 0;
	memset(sys->pllfreq, 0, sizeof(sys->pllfreq));
	update_clock(sys);
}

/* Power-on sets its bit alone; the other causes gather. */
void tm4c_sysctl_start(struct tm4c_sysctl *sys, enum board_reset cause)
{
	sys->ptboctl = BOR_RESET;
	sys->pwrtc = sys->nmic = sys->raw = sys->mask = 0;
	sys->resbehavctl = ~0u;
	memset(sys->clocked, 0, sizeof(sys->clocked));
	memset(sys->held, 0, sizeof(sys->held));
	memset(sys->powered, 0, sizeof(sys->powered));
	sys->cause = cause == BOARD_POWER_ON ? CAUSE_POR
					     : sys->cause | resc_of[cause];
	start_clocks(sys);
	update_irq(sys);
}
