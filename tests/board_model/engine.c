// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* engine.c - see engine.h. */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "exception.h"
#include "regs.h"
#include "scs.h"

#define DEVICES	  0x40000000u
#define CORE	  0xe0000000u
#define MAP_BYTES 0x00100000u
#define IT_BYTES  14u /* from an IT to the last of its block, at most */

#define CALLBACK(type, name) ((void *)(type)(name))

void engine_stop(struct cpu *cpu)
{
	cpu->stopped = true;
	uc_emu_stop(cpu->uc);
}

static uint32_t read_opcode(const struct cpu *cpu, uint32_t addr)
{
	const struct board_memory *m = board_memory_at(cpu->board, addr, 2);
	uint16_t opcode = 0;

	if (m)
		memcpy(&opcode, m->host + (addr - m->base), 2);
	return opcode;
}

/* True if the halfword at @at, as an IT, has the instruction at @addr in its block. */
static bool is_it_of(const struct cpu *cpu, uint32_t at, uint32_t addr)
{
	uint32_t it = read_opcode(cpu, at), left;

	if (it >> 8 != 0xbf || !(it & 15))
		return false;
	at += 2;
	for (left = 4 - (uint32_t)__builtin_ctz(it & 15); left; left--) {
		if (at >= addr)
			return at == addr;
		at += read_opcode(cpu, at) >> 11 >= 0x1d ? 4 : 2;
	}
	return false;
}

/*
 * Unicorn executes the last instruction of an IT block a second time if it was told in
 * the block to stop, and what is behind the block is translated apart. A number that looks
 * like an IT only makes the stop a few instructions later.
 */
static bool is_in_it_block(const struct cpu *cpu)
{
	for (uint32_t back = 2; back <= IT_BYTES && back <= cpu->pc; back += 2)
		if (is_it_of(cpu, cpu->pc - back, cpu->pc))
			return true;
	return false;
}

/* Before an instruction, when there is something to look at. */
static void look_around(struct cpu *cpu)
{
	const struct clock *clock = &cpu->board->clock;

	if (is_in_it_block(cpu))
		return;
	if (cpu->steps && !--cpu->steps)
		engine_stop(cpu);
	else if (cpu->look || clock->cycles >= cpu->due ||
		 clock->cycles >= clock->due)
		engine_stop(cpu);
	else if (cpu->watch_masks && !regs_are_masked(cpu))
		engine_stop(cpu);
}

static void before_instruction(uc_engine *uc, uint64_t addr, uint32_t size,
			       void *arg)
{
	struct cpu *cpu = arg;
	struct clock *clock = &cpu->board->clock;

	(void)uc;
	clock->cycles += addr == cpu->next ? 1 : 3 + cpu->board->flash_waits;
	cpu->pc = (uint32_t)addr;
	cpu->next = (uint32_t)addr + size;
	if (cpu->look || cpu->watch_masks || cpu->steps ||
	    clock->cycles >= cpu->due || clock->cycles >= clock->due)
		look_around(cpu);
	if (cpu->breakpoints)
		scs_check_breakpoints(cpu);
}

/* The button of --reset-at is pressed once. */
static void press_reset(uc_engine *uc, uint64_t addr, uint32_t size, void *arg)
{
	struct board *board = ((struct cpu *)arg)->board;

	(void)uc;
	(void)addr;
	(void)size;
	if (!board->options.reset_at)
		return;
	board->options.reset_at = 0;
	board_say(board, "the reset button is pressed");
	board_want_reset(board, BOARD_PIN);
}

static void on_interrupt(uc_engine *uc, uint32_t number, void *arg)
{
	struct cpu *cpu = arg;

	(void)uc;
	cpu->interrupt = (int)number;
	engine_stop(cpu);
}

/* An access that Unicorn's map does not allow: the address of the fault. */
static bool on_bad_access(uc_engine *uc, uc_mem_type type, uint64_t addr,
			  int size, int64_t value, void *arg)
{
	struct cpu *cpu = arg;

	(void)uc;
	(void)size;
	(void)value;
	if (type != UC_MEM_FETCH_PROT && type != UC_MEM_FETCH_UNMAPPED)
		cpu_bus_error(cpu, (uint32_t)addr,
			      type == UC_MEM_WRITE_PROT ||
				      type == UC_MEM_WRITE_UNMAPPED);
	return false;
}

static uint64_t read_bus(struct cpu *cpu, uint32_t addr, uint32_t size)
{
	uint32_t v = 0;

	if (addr >= CORE)
		return scs_read(cpu, addr & ~3u) >> 8 * (addr & 3);
	if (!exception_allows(cpu, addr, MPU_READ) ||
	    !board_read(cpu->board, addr, size, &v))
		cpu_bus_error(cpu, addr, false);
	return v;
}

static void write_bus(struct cpu *cpu, uint32_t addr, uint32_t size,
		      uint64_t value)
{
	if (addr >= CORE)
		scs_write(cpu, addr & ~3u, (uint32_t)value << 8 * (addr & 3));
	else if (!exception_allows(cpu, addr, MPU_WRITE) ||
		 !board_write(cpu->board, addr, size, (uint32_t)value))
		cpu_bus_error(cpu, addr, true);
}

static uint64_t on_device_read(uc_engine *uc, uint64_t off, unsigned int size,
			       void *arg)
{
	(void)uc;
	return read_bus(arg, DEVICES + (uint32_t)off, size);
}

static void on_device_write(uc_engine *uc, uint64_t off, unsigned int size,
			    uint64_t value, void *arg)
{
	(void)uc;
	write_bus(arg, DEVICES + (uint32_t)off, size, value);
}

static uint64_t on_core_read(uc_engine *uc, uint64_t off, unsigned int size,
			     void *arg)
{
	(void)uc;
	return read_bus(arg, CORE + (uint32_t)off, size);
}

static void on_core_write(uc_engine *uc, uint64_t off, unsigned int size,
			  uint64_t value, void *arg)
{
	(void)uc;
	write_bus(arg, CORE + (uint32_t)off, size, value);
}

/* ------------------------------------------------------------ memory */

static void protect_memory(struct cpu *cpu, const struct board_memory *m)
{
	static const uint32_t grain = 4096;
	uint32_t from = 0, can, last = ~0u;

	for (uint32_t off = 0; off <= m->bytes; off += grain) {
		can = off < m->bytes && exception_allows(cpu, m->base + off,
							 MPU_READ)
			      ? UC_PROT_READ
			      : UC_PROT_NONE;
		if (can && m->writable &&
		    exception_allows(cpu, m->base + off, MPU_WRITE))
			can |= UC_PROT_WRITE;
		if (can && exception_allows(cpu, m->base + off, MPU_EXEC))
			can |= UC_PROT_EXEC;
		if (off == m->bytes || (off && can != last)) {
			uc_mem_protect(cpu->uc, m->base + from, off - from,
				       last);
			from = off;
		}
		last = can;
	}
}

/* Unicorn learns what changed while it did not run. */
void engine_refresh(struct cpu *cpu)
{
	const struct board *board = cpu->board;

	for (uint32_t i = 0; i < board->memory_count; i++) {
		const struct board_memory *m = &board->memories[i];

		if (cpu->mpu_changed)
			protect_memory(cpu, m);
		if (cpu->changed >> i & 1)
			uc_ctl_remove_cache(cpu->uc, (uint64_t)m->base,
					    (uint64_t)m->base + m->bytes);
	}
	cpu->mpu_changed = false;
	cpu->changed = 0;
}

static void open_uc(struct cpu *cpu)
{
	uc_engine *uc;
	bool m4 = !strcmp(cpu->board->chip->core, "m4");

	if (uc_open(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS, &uc) ||
	    uc_ctl_set_cpu_model(uc, m4 ? UC_CPU_ARM_CORTEX_M4
					: UC_CPU_ARM_CORTEX_M3)) {
		fprintf(stderr, "board-model: no Cortex-M in Unicorn\n");
		exit(1);
	}
	cpu->uc = uc;
}

static void on_memory_read(uc_engine *uc, uc_mem_type type, uint64_t addr,
			   int size, int64_t value, void *arg)
{
	const struct board_memory *m = arg;

	(void)uc;
	(void)type;
	(void)value;
	m->before_read(m->arg, (uint32_t)addr - m->base, (uint32_t)size);
}

/* Every load takes the slow way then: only where bytes are not what they were. */
static void watch_reads(struct cpu *cpu, const struct board_memory *m)
{
	uc_hook hook;

	uc_hook_add(cpu->uc, &hook, UC_HOOK_MEM_READ,
		    CALLBACK(uc_cb_hookmem_t, on_memory_read), (void *)m,
		    (uint64_t)m->base, (uint64_t)m->base + m->bytes - 1);
}

static void on_memory_write(uc_engine *uc, uc_mem_type type, uint64_t addr,
			    int size, int64_t value, void *arg)
{
	const struct cpu_watch *watch = arg;

	(void)uc;
	(void)type;
	(void)size;
	watch->see(watch->arg, (uint32_t)addr, (uint32_t)value);
}

/* Code that was translated without the hook is forgotten. */
void engine_watch(struct cpu *cpu, struct cpu_watch *watch)
{
	uc_hook hook;

	if (watch->hook)
		uc_hook_del(cpu->uc, (uc_hook)watch->hook);
	uc_hook_add(cpu->uc, &hook, UC_HOOK_MEM_WRITE,
		    CALLBACK(uc_cb_hookmem_t, on_memory_write), watch,
		    (uint64_t)watch->base,
		    (uint64_t)watch->base + watch->bytes - 1);
	watch->hook = hook;
	cpu->changed = ~0u;
	cpu_look(cpu);
}

static void map_uc(struct cpu *cpu)
{
	const struct board *board = cpu->board;
	uc_engine *uc = cpu->uc;
	uc_hook hook;

	for (uint32_t i = 0; i < board->memory_count; i++)
		uc_mem_map_ptr(uc, board->memories[i].base,
			       board->memories[i].bytes, UC_PROT_ALL,
			       board->memories[i].host);
	uc_mmio_map(uc, DEVICES, MAP_BYTES, on_device_read, cpu,
		    on_device_write, cpu);
	uc_mmio_map(uc, CORE, MAP_BYTES, on_core_read, cpu, on_core_write, cpu);
	for (uint32_t i = 0; i < board->memory_count; i++)
		if (board->memories[i].before_read)
			watch_reads(cpu, &board->memories[i]);
	uc_hook_add(uc, &hook, UC_HOOK_CODE,
		    CALLBACK(uc_cb_hookcode_t, before_instruction), cpu, 1, 0);
	if (board->options.reset_at)
		uc_hook_add(uc, &hook, UC_HOOK_CODE,
			    CALLBACK(uc_cb_hookcode_t, press_reset), cpu,
			    (uint64_t)board->options.reset_at,
			    (uint64_t)board->options.reset_at);
	uc_hook_add(uc, &hook, UC_HOOK_INTR,
		    CALLBACK(uc_cb_hookintr_t, on_interrupt), cpu, 1, 0);
	uc_hook_add(uc, &hook, UC_HOOK_MEM_INVALID,
		    CALLBACK(uc_cb_eventmem_t, on_bad_access), cpu, 1, 0);
}

void engine_open(struct cpu *cpu)
{
	open_uc(cpu);
	map_uc(cpu);
	regs_init(cpu);
}
