/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * process.h - simulated processes that use libunic: each has threads (fiber.h), a
 * heap, descriptors, mappings, and its own copy of the variables of libunic.
 *
 * What is checked of each: it frees what it allocated and closes what it opened, by
 * the time that it leaves; it reads and writes nothing that it has freed or unmapped.
 */
#ifndef LIBSIM_PROCESS_H
#define LIBSIM_PROCESS_H

#include "sim.h"

#define PROCESS_FDS 64u

struct block;
struct file;
struct page;

struct process {
	uint32_t index, node, pid;
	uint32_t life;
	bool bells; /* none is lost or late in this run */
	bool there; /* it was started, and has not ended */
	struct sim_rng rng;
	uint8_t *variables; /* of libunic, while another process runs */
	struct file *fd[PROCESS_FDS];
	struct block *blocks, *freed; /* heap.c */
	struct page *page;	      /* memory.c; NULL: none was mapped */
	struct socket *sockets;	      /* socket.c */
	void (*main)(struct process *p);
	void *user;
};

/** process_reset() - at the start of a run: no process is there. */
void process_reset(void);
/** process_init() - give @p its number and its node. */
void process_init(struct process *p, uint32_t index, uint32_t node);
/** process_start() - start @p, whose first thread runs @main(@p). When it returns the
 * process ends, and must have nothing left. */
void process_start(struct process *p, void (*main)(struct process *p));
/** process_kill() - end @p at once (SIGKILL), at any point of any thread. */
void process_kill(struct process *p);
/** process_load(), process_store() - the variables of libunic are those of @p; keep
 * them, because another process runs next. */
void process_load(struct process *p);
void process_store(struct process *p);
/** process_rests() - a thread of @p is about to sleep: if a NIC that sleeps has doorbell
 * words of @p, it must have been rung. */
void process_rests(struct process *p);
/** process_name() - for the log. */
const char *process_name(const struct process *p);

/** process_below(), process_range() - numbers of the seed, for @p: as sim_below() and
 * sim_range(). */
uint32_t process_below(struct process *p, uint32_t n);
uint64_t process_range(struct process *p, uint64_t lo, uint64_t hi);

#endif /* LIBSIM_PROCESS_H */
