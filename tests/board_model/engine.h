/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * engine.h - Unicorn runs the instructions: what it calls while it does so, and what it
 * is told of memory.
 *
 * Secret: its hooks and maps.
 */
#ifndef BOARD_MODEL_ENGINE_H
#define BOARD_MODEL_ENGINE_H

#include "cpu.h"

/** engine_open() - a core of the chip, with the memories of the board. Ends the
 * program if Unicorn has none. */
void engine_open(struct cpu *cpu);

/** engine_refresh() - tell it of changed bytes and of a changed MPU. */
void engine_refresh(struct cpu *cpu);

/** engine_watch() - see the stores that @watch says. */
void engine_watch(struct cpu *cpu, struct cpu_watch *watch);

/** engine_stop() - stop before the next instruction. */
void engine_stop(struct cpu *cpu);

#endif /* BOARD_MODEL_ENGINE_H */
