// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* board.c - see board.h. */
#include "board.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

#define SAID_MOST 64u /* different faults that are printed */

void board_map(struct board *board, uint32_t base, uint32_t bytes,
	       const struct device_ops *ops, void *device)
{
	if (board->device_count == BOARD_DEVICES)
		abort();
	board->devices[board->device_count++] =
		(struct board_device){ base, bytes, ops, device };
}

void board_memory(struct board *board, const struct board_memory *memory)
{
	if (board->memory_count == BOARD_MEMORIES)
		abort();
	board->memories[board->memory_count++] = *memory;
}

const struct board_memory *board_memory_at(const struct board *board,
					   uint32_t addr, uint32_t bytes)
{
	for (uint32_t i = 0; i < board->memory_count; i++) {
		const struct board_memory *m = &board->memories[i];

		if (addr - m->base < m->bytes &&
		    bytes <= m->bytes - (addr - m->base))
			return m;
	}
	return NULL;
}

/* The device at @addr, if its chip lets an access through. */
static const struct board_device *reach_device(struct board *board,
					       uint32_t addr)
{
	for (uint32_t i = 0; i < board->device_count; i++) {
		const struct board_device *d = &board->devices[i];

		if (addr - d->base < d->bytes)
			return board->chip->reaches(board->chip_state, d,
						    addr - d->base)
				       ? d
				       : NULL;
	}
	return NULL;
}

bool board_read(struct board *board, uint32_t addr, uint32_t bytes,
		uint32_t *value)
{
	const struct board_memory *m = board_memory_at(board, addr, bytes);
	const struct board_device *d;

	*value = 0;
	if (m) {
		if (m->before_read)
			m->before_read(m->arg, addr - m->base, bytes);
		memcpy(value, m->host + (addr - m->base), bytes);
		return true;
	}
	d = reach_device(board, addr);
	if (!d)
		return false;
	*value = d->ops->read(d->device, (addr - d->base) & ~3u) >>
		 8 * (addr & 3);
	if (bytes < 4)
		*value &= (1u << 8 * bytes) - 1;
	return true;
}

bool board_write(struct board *board, uint32_t addr, uint32_t bytes,
		 uint32_t value)
{
	const struct board_memory *m = board_memory_at(board, addr, bytes);
	const struct board_device *d;

	if (m) {
		if (m->writable)
			memcpy(m->host + (addr - m->base), &value, bytes);
		return m->writable;
	}
	d = reach_device(board, addr);
	if (!d)
		return false;
	d->ops->write(d->device, (addr - d->base) & ~3u,
		      value << 8 * (addr & 3));
	return true;
}

static bool was_said(const char *text)
{
	static char *said[SAID_MOST];
	static uint32_t count;

	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(said[i], text))
			return true;
	if (count == SAID_MOST)
		return true;
	said[count++] = strdup(text);
	return false;
}

void board_fault(struct board *board, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	board->faults++;
	if (!was_said(text))
		fprintf(stderr, "board-model: fault: %s, pc=%08x, t=%llu us\n",
			text, cpu_pc(board->cpu),
			(unsigned long long)clock_now_ns(&board->clock) / 1000);
}

void board_say(struct board *board, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "board-model: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ", t=%llu us\n",
		(unsigned long long)clock_now_ns(&board->clock) / 1000);
}

void board_set_hz(struct board *board, uint32_t hz)
{
	uint32_t old_hz = board->clock.hz;

	if (hz == old_hz)
		return;
	clock_set_hz(&board->clock, hz);
	for (uint32_t i = 0; i < board->device_count; i++) {
		const struct board_device *d = &board->devices[i];

		if (d->ops->clocked)
			d->ops->clocked(d->device, old_hz);
	}
}

void board_want_reset(struct board *board, enum board_reset cause)
{
	board->reset_wanted = true;
	board->reset_cause = cause;
	cpu_look(board->cpu);
}

/* The power dips at a reset, and the weakest cell does not keep its bit. */
static void fade_bit(struct board *board)
{
	uint32_t addr = board->options.fade;
	const struct board_memory *m = board_memory_at(board, addr, 1);

	if (!m || !m->writable)
		return;
	m->host[addr - m->base] ^= (uint8_t)(1u << board_random(board) % 8);
	board_say(board, "a bit at %08x fades", addr);
}

void board_reset(struct board *board, enum board_reset cause)
{
	board->reset_wanted = false;
	if (cause == BOARD_CORE) {
		cpu_reset(board->cpu);
		return;
	}
	if (cause != BOARD_POWER_ON)
		fade_bit(board);
	for (uint32_t i = 0; i < board->device_count; i++) {
		const struct board_device *d = &board->devices[i];

		if (d->ops->reset)
			d->ops->reset(d->device);
	}
	board->chip->reset(board->chip_state, cause);
	cpu_reset(board->cpu);
}

void board_run(struct board *board, uint64_t ns)
{
	do {
		if (board->reset_wanted)
			board_reset(board, board->reset_cause);
		cpu_run(board->cpu, ns);
	} while (board->reset_wanted);
}

/* xorshift64* */
uint32_t board_random(struct board *board)
{
	uint64_t x = board->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	board->random = x;
	return (uint32_t)(x * 0x2545f4914f6cdd1dull >> 32);
}

bool board_breaks(const struct board *board, const char *what)
{
	const char *at = board->options.broken;
	size_t len = strlen(what);

	while (at && (strncmp(at, what, len) || !strchr(",", at[len])))
		at = (at = strchr(at, ',')) ? at + 1 : NULL;
	return at;
}
