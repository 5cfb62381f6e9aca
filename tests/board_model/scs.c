// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* scs.c - see scs.h. */
#include "scs.h"

#include <string.h>

#define DWT_CTRL 0xe0001000u
#define FP_CTRL	 0xe0002000u
#define FP_COMP	 0xe0002008u
#define FP_LAST	 0xe0002024u
#define SYST_CSR 0xe000e010u
#define SYST_RVR 0xe000e014u
#define SYST_CVR 0xe000e018u
#define NVIC_SET 0xe000e100u /* 0x80 bytes each: set-enable, clear-enable, */
#define NVIC_ACT 0xe000e300u /* set-pending, clear-pending, active */
#define NVIC_IPR 0xe000e400u
#define NVIC_END 0xe000e4f0u
#define CPUID	 0xe000ed00u
#define ICSR	 0xe000ed04u
#define VTOR	 0xe000ed08u
#define AIRCR	 0xe000ed0cu
#define SCR	 0xe000ed10u
#define CCR	 0xe000ed14u
#define SHPR1	 0xe000ed18u
#define SHPR3	 0xe000ed20u
#define SHCSR	 0xe000ed24u
#define CFSR	 0xe000ed28u
#define HFSR	 0xe000ed2cu
#define DFSR	 0xe000ed30u
#define MMFAR	 0xe000ed34u
#define BFAR	 0xe000ed38u
#define CPACR	 0xe000ed88u
#define MPU	 0xe000ed90u
#define MPU_END	 0xe000edc0u
#define DHCSR	 0xe000edf0u
#define DCRSR	 0xe000edf4u
#define DCRDR	 0xe000edf8u
#define DEMCR	 0xe000edfcu

#define SYST_ON	     1u
#define SYST_IRQ     2u
#define SYST_CORE    4u
#define SYST_COUNTED (1u << 16)
#define SYST_MOST    0xffffffu

#define AIRCR_KEY   0x05fau
#define AIRCR_READS 0xfa050000u
#define VECTRESET   1u
#define SYSRESETREQ 4u
#define PRIGROUP    0x700u

#define DHCSR_KEY  0xa05fu
#define C_HALT	   2u
#define C_STEP	   4u
#define DHCSR_KEPT 0x2du
#define S_REGRDY   (1u << 16)
#define S_HALT	   (1u << 17)
#define S_SLEEP	   (1u << 18)
#define S_LOCKUP   (1u << 19)
#define S_RESET	   (1u << 25)
#define REG_WRITE  (1u << 16)
#define REG_NUMBER 0x7fu

#define FP_COMPARATORS 6u
#define PRIORITY_BITS  0xe0u

/* ---------------------------------------------------------------- SysTick */

static void tick(void *arg);

static uint64_t elapsed_ticks(const struct cpu *cpu)
{
	return cpu->board->clock.cycles - cpu->systick.zero;
}

static void arm_systick(struct cpu *cpu)
{
	struct clock *clock = &cpu->board->clock;
	struct systick *s = &cpu->systick;
	uint64_t left, period = (uint64_t)s->reload + 1;

	clock_cancel(clock, tick, cpu);
	if (!(s->control & SYST_ON) || !(s->control & SYST_IRQ) || !s->reload)
		return;
	left = period - elapsed_ticks(cpu) % period;
	clock_at(clock,
		 clock_now_ns(clock) + left * 1000000000u / clock->hz + 1, tick,
		 cpu);
}

static void tick(void *arg)
{
	struct cpu *cpu = arg;

	cpu->nvic.exc[EXC_SYSTICK].pending = true;
	cpu_look(cpu);
	arm_systick(cpu);
}

static uint32_t read_systick(struct cpu *cpu, uint32_t addr)
{
	struct systick *s = &cpu->systick;
	uint64_t period = (uint64_t)s->reload + 1, gone;

	if (addr == SYST_RVR)
		return s->reload;
	if (!(s->control & SYST_ON))
		return addr == SYST_CSR ? s->control : 0;
	gone = elapsed_ticks(cpu);
	if (addr == SYST_CSR)
		return s->control | (gone >= period ? SYST_COUNTED : 0);
	/* the first tick loads it */
	return gone ? (uint32_t)(s->reload - (gone - 1) % period) : 0;
}

static void write_systick(struct cpu *cpu, uint32_t addr, uint32_t value)
{
	struct systick *s = &cpu->systick;

	if (addr == SYST_RVR) {
		s->reload = value & SYST_MOST;
	} else if (addr == SYST_CVR) {
		s->zero = cpu->board->clock.cycles;
	} else if (addr == SYST_CSR) {
		if (value & SYST_ON && !(s->control & SYST_ON))
			s->zero = cpu->board->clock.cycles;
		if (value & SYST_ON && !(value & SYST_CORE))
			board_fault(cpu->board, "SysTick from the reference "
						"clock is not "
						"modelled");
		s->control = value & 7;
	}
	arm_systick(cpu);
}

/* -------------------------------------------------------------- interrupts */

/* 32 of them in a word; @off of NVIC_SET. */
static uint32_t read_bits(const struct cpu *cpu, uint32_t off)
{
	uint32_t first = EXC_IRQ + off % 0x80 * 8, bits = 0;

	for (uint32_t i = 0; i < 32 && first + i < cpu->nvic.count; i++) {
		const struct nvic_exception *e = &cpu->nvic.exc[first + i];
		bool bit = off < 0x100	 ? e->enabled
			   : off < 0x200 ? e->pending
					 : e->active;

		bits |= (uint32_t)bit << i;
	}
	return bits;
}

static void write_bit(struct nvic *nvic, uint32_t which, uint32_t n)
{
	if (which == 0)
		nvic->exc[n].enabled = true;
	else if (which == 1)
		nvic->exc[n].enabled = false;
	else if (which == 2)
		nvic->exc[n].pending = true;
	else if (which == 3)
		nvic_unpend(nvic, n);
}

static void write_bits(struct cpu *cpu, uint32_t off, uint32_t value)
{
	uint32_t first = EXC_IRQ + off % 0x80 * 8;

	for (uint32_t i = 0; i < 32; i++) {
		if (!(value >> i & 1))
			continue;
		if (first + i < cpu->nvic.count)
			write_bit(&cpu->nvic, off / 0x80, first + i);
		else
			board_fault(cpu->board,
				    "there is no interrupt %u to enable",
				    first + i - EXC_IRQ);
	}
	cpu_look(cpu);
}

/* Of four exceptions from @first on. */
static uint32_t read_priorities(const struct cpu *cpu, uint32_t first)
{
	uint32_t v = 0;

	for (uint32_t i = 0; i < 4 && first + i < cpu->nvic.count; i++)
		if (first + i > EXC_HARD)
			v |= (uint32_t)cpu->nvic.exc[first + i].priority
			     << 8 * i;
	return v;
}

static void write_priorities(struct cpu *cpu, uint32_t first, uint32_t value)
{
	for (uint32_t i = 0; i < 4 && first + i < cpu->nvic.count; i++)
		if (first + i > EXC_HARD)
			cpu->nvic.exc[first + i].priority =
				(int)(value >> 8 * i & PRIORITY_BITS);
	cpu_look(cpu);
}

static uint32_t read_icsr(const struct cpu *cpu)
{
	const struct nvic *nvic = &cpu->nvic;
	uint32_t next = nvic_next(nvic, NVIC_THREAD), active = 0;

	for (uint32_t n = 1; n < nvic->count; n++)
		if (nvic->exc[n].active)
			active = n; /* right while one is active */
	return active | next << 12 | (uint32_t)(next >= EXC_IRQ) << 22 |
	       (uint32_t)nvic->exc[EXC_SYSTICK].pending << 26 |
	       (uint32_t)nvic->exc[EXC_PENDSV].pending << 28;
}

static void write_icsr(struct cpu *cpu, uint32_t value)
{
	struct nvic *nvic = &cpu->nvic;

	if (value >> 31)
		nvic->exc[EXC_NMI].pending = true;
	if (value >> 28 & 1)
		nvic->exc[EXC_PENDSV].pending = true;
	if (value >> 27 & 1)
		nvic->exc[EXC_PENDSV].pending = false;
	if (value >> 26 & 1)
		nvic->exc[EXC_SYSTICK].pending = true;
	if (value >> 25 & 1)
		nvic->exc[EXC_SYSTICK].pending = false;
	cpu_look(cpu);
}

/* --------------------------------------------------- system control block */

static void write_vtor(struct cpu *cpu, uint32_t value)
{
	uint32_t words = EXC_IRQ + cpu->board->chip->interrupts, bytes = 128;

	while (bytes < 4 * words)
		bytes *= 2;
	if (value & (bytes - 1))
		board_fault(cpu->board,
			    "VTOR=%08x, but a table of %u vectors is aligned "
			    "to %u bytes",
			    value, words, bytes);
	cpu->vtor = value & 0x3fffff80u;
}

static void write_aircr(struct cpu *cpu, uint32_t value)
{
	if (value >> 16 != AIRCR_KEY)
		return;
	if ((value & PRIGROUP) > 0x400)
		board_fault(cpu->board, "PRIGROUP=%u is not modelled",
			    value >> 8 & 7);
	if (value & SYSRESETREQ)
		board_want_reset(cpu->board, BOARD_SYSTEM);
	else if (value & VECTRESET)
		board_want_reset(cpu->board, BOARD_CORE);
}

static uint32_t read_shcsr(const struct cpu *cpu)
{
	return (uint32_t)cpu->nvic.exc[EXC_MEM].enabled << 16 |
	       (uint32_t)cpu->nvic.exc[EXC_BUS].enabled << 17 |
	       (uint32_t)cpu->nvic.exc[EXC_USAGE].enabled << 18;
}

static void write_shcsr(struct cpu *cpu, uint32_t value)
{
	cpu->nvic.exc[EXC_MEM].enabled = value >> 16 & 1;
	cpu->nvic.exc[EXC_BUS].enabled = value >> 17 & 1;
	cpu->nvic.exc[EXC_USAGE].enabled = value >> 18 & 1;
}

static uint32_t read_system(struct cpu *cpu, uint32_t addr)
{
	switch (addr) {
	case CPUID:
		return strcmp(cpu->board->chip->core, "m4") ? 0x410fc231
							    : 0x410fc241;
	case ICSR:
		return read_icsr(cpu);
	case VTOR:
		return cpu->vtor;
	case AIRCR:
		return AIRCR_READS;
	case SCR:
		return cpu->scr;
	case CCR:
		return cpu->ccr;
	case SHCSR:
		return read_shcsr(cpu);
	case CFSR:
		return cpu->cfsr;
	case HFSR:
		return cpu->hfsr;
	case MMFAR:
		return cpu->mmfar;
	case BFAR:
		return cpu->bfar;
	case CPACR:
		return cpu->cpacr;
	default:
		return 0;
	}
}

static void write_system(struct cpu *cpu, uint32_t addr, uint32_t value)
{
	if (addr == ICSR)
		write_icsr(cpu, value);
	else if (addr == VTOR)
		write_vtor(cpu, value);
	else if (addr == AIRCR)
		write_aircr(cpu, value);
	else if (addr == SCR)
		cpu->scr = value;
	else if (addr == CCR)
		cpu->ccr = value;
	else if (addr == SHCSR)
		write_shcsr(cpu, value);
	else if (addr == CFSR)
		cpu->cfsr &= ~value;
	else if (addr == HFSR)
		cpu->hfsr &= ~value;
	else if (addr == CPACR)
		cpu->cpacr = value;
}

/* ---------------------------------------------------------------- debugger */

static uint32_t read_dhcsr(struct cpu *cpu)
{
	uint32_t v =
		cpu->dhcsr | S_REGRDY | (cpu->halted ? S_HALT | C_HALT : 0) |
		(cpu->asleep ? S_SLEEP : 0) | (cpu->locked_up ? S_LOCKUP : 0) |
		(cpu->was_reset ? S_RESET : 0);

	cpu->was_reset = false;
	return v;
}

static void write_dhcsr(struct cpu *cpu, uint32_t v)
{
	bool halted = cpu->halted;

	if (v >> 16 != DHCSR_KEY)
		return;
	cpu->dhcsr = v & DHCSR_KEPT;
	if (!(v & SCS_C_DEBUGEN))
		cpu_resume(cpu);
	else if (v & C_HALT && !halted)
		cpu_halt(cpu, CPU_HALTED);
	else if (halted && !(v & C_HALT) && v & C_STEP)
		cpu_step(cpu);
	else if (halted && !(v & C_HALT))
		cpu_resume(cpu);
}

static void select_register(struct cpu *cpu, uint32_t v)
{
	if (!cpu->halted)
		return;
	if (v & REG_WRITE)
		cpu_set_reg(cpu, v & REG_NUMBER, cpu->dcrdr);
	else
		cpu->dcrdr = cpu_get_reg(cpu, v & REG_NUMBER);
}

static uint32_t read_debug(struct cpu *cpu, uint32_t addr)
{
	switch (addr) {
	case DHCSR:
		return read_dhcsr(cpu);
	case DCRDR:
		return cpu->dcrdr;
	case DEMCR:
		return cpu->demcr;
	case DFSR:
		return cpu->dfsr;
	case DWT_CTRL:
		return 0x40000000;
	case FP_CTRL:
		return cpu->fp_ctrl | FP_COMPARATORS << 4 | 2 << 8;
	default:
		return addr >= FP_COMP && addr <= FP_LAST
			       ? cpu->fp_comp[(addr - FP_COMP) / 4]
			       : 0;
	}
}

static void note_breakpoints(struct cpu *cpu)
{
	cpu->breakpoints = false;
	for (uint32_t i = 0; i < FP_COMPARATORS; i++)
		cpu->breakpoints |= cpu->fp_ctrl & cpu->fp_comp[i] & 1;
}

static void write_debug(struct cpu *cpu, uint32_t addr, uint32_t value)
{
	if (addr == DHCSR)
		write_dhcsr(cpu, value);
	else if (addr == DCRSR)
		select_register(cpu, value);
	else if (addr == DCRDR)
		cpu->dcrdr = value;
	else if (addr == DEMCR)
		cpu->demcr = value;
	else if (addr == DFSR)
		cpu->dfsr &= ~value;
	else if (addr == FP_CTRL && value & 2)
		cpu->fp_ctrl = value & 1;
	else if (addr >= FP_COMP && addr <= FP_LAST)
		cpu->fp_comp[(addr - FP_COMP) / 4] = value;
	if (addr >= FP_CTRL && addr <= FP_LAST)
		note_breakpoints(cpu);
}

/* Bits 31:30: the lower, the upper half of the word, or both. */
void scs_check_breakpoints(struct cpu *cpu)
{
	for (uint32_t i = 0; i < FP_COMPARATORS; i++) {
		uint32_t comp = cpu->fp_comp[i], at = comp & 0x1ffffffcu;

		if (comp & 1 && cpu->pc >> 2 == at >> 2 &&
		    comp >> 30 & (cpu->pc & 2 ? 2 : 1))
			cpu_halt(cpu, CPU_BKPT);
	}
}

/* ----------------------------------------------------------------- all */

uint32_t scs_read(struct cpu *cpu, uint32_t addr)
{
	if (addr >= SYST_CSR && addr <= SYST_CVR)
		return read_systick(cpu, addr);
	if (addr >= NVIC_SET && addr < NVIC_IPR)
		return read_bits(cpu, addr - NVIC_SET);
	if (addr >= NVIC_IPR && addr < NVIC_END)
		return read_priorities(cpu, EXC_IRQ + addr - NVIC_IPR);
	if (addr >= SHPR1 && addr <= SHPR3)
		return read_priorities(cpu, 4 + addr - SHPR1);
	if (addr >= MPU && addr < MPU_END)
		return mpu_get(&cpu->mpu, addr - MPU);
	if (addr >= CPUID && addr < MPU && addr != DFSR)
		return read_system(cpu, addr);
	return read_debug(cpu, addr);
}

void scs_write(struct cpu *cpu, uint32_t addr, uint32_t value)
{
	if (addr >= SYST_CSR && addr <= SYST_CVR) {
		write_systick(cpu, addr, value);
	} else if (addr >= NVIC_SET && addr < NVIC_ACT) {
		write_bits(cpu, addr - NVIC_SET, value);
	} else if (addr >= NVIC_IPR && addr < NVIC_END) {
		write_priorities(cpu, EXC_IRQ + addr - NVIC_IPR, value);
	} else if (addr >= SHPR1 && addr <= SHPR3) {
		write_priorities(cpu, 4 + addr - SHPR1, value);
	} else if (addr >= MPU && addr < MPU_END) {
		mpu_set(&cpu->mpu, addr - MPU, value);
		cpu->mpu_changed = true;
		cpu_look(cpu);
	} else if (addr >= CPUID && addr < MPU && addr != DFSR) {
		write_system(cpu, addr, value);
	} else {
		write_debug(cpu, addr, value);
	}
}

/* STKALIGN is set from r2p0 of the Cortex-M3 on, and in every M4. */
void scs_reset(struct cpu *cpu)
{
	bool m4 = !strcmp(cpu->board->chip->core, "m4");

	clock_cancel(&cpu->board->clock, tick, cpu);
	memset(&cpu->systick, 0, sizeof(cpu->systick));
	cpu->vtor = cpu->scr = cpu->shcsr = cpu->cfsr = cpu->hfsr = 0;
	cpu->mmfar = cpu->bfar = cpu->cpacr = 0;
	cpu->ccr = m4 ? SCS_STKALIGN : 0;
}
