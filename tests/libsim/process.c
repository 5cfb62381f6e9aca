/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* process.c - see process.h. */
#include "process.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fiber.h"
#include "files.h"
#include "heap.h"
#include "memory.h"
#include "socket.h"
#include "world.h"

/* Variables of libunic, which the build puts into a section of their own. All of them
 * are zero in a new process. */
extern uint8_t __start_libunic_bss[], __stop_libunic_bss[];

static size_t bytes(void)
{
	return (size_t)(__stop_libunic_bss - __start_libunic_bss);
}

void process_load(struct process *p)
{
	memcpy(__start_libunic_bss, p->variables, bytes());
}

void process_store(struct process *p)
{
	memcpy(p->variables, __start_libunic_bss, bytes());
}

const char *process_name(const struct process *p)
{
	static char text[32];

	snprintf(text, sizeof(text), "process %u.%u", p->index, p->life);
	return text;
}

uint32_t process_below(struct process *p, uint32_t n)
{
	return sim_below(&p->rng, n);
}

uint64_t process_range(struct process *p, uint64_t lo, uint64_t hi)
{
	return sim_range(&p->rng, lo, hi);
}

/* From the write of a word to the poll of the NIC that was rung, at most. */
#define RUNG_NS (30 * US)

static void must_be_rung(void *ctx, uint64_t slot)
{
	struct process *p = ctx;
	const struct node *n = world->node[p->node];

	if (p->there && n->owner[slot] && n->owner_pid[slot] == p->pid &&
	    wakes_unread(n, (uint32_t)slot) && n->nic_due > sim_now() + RUNG_NS)
		sim_fail("wakes", "%s: nic %u sleeps, and was not rung",
			 process_name(p), n->id);
}

void process_rests(struct process *p)
{
	const struct node *n = world->node[p->node];
	uint32_t i;

	for (i = 0; p->bells && i < WORLD_SLOTS; i++)
		if (n->owner[i] && n->owner_pid[i] == p->pid &&
		    wakes_unread(n, i))
			sim_at(sim_now() + RUNG_NS, must_be_rung, p, i);
}

void process_reset(void)
{
	fiber_reset();
	memory_reset();
}

void process_init(struct process *p, uint32_t index, uint32_t node)
{
	p->index = index;
	p->node = node;
	p->variables = sim_alloc(bytes());
	socket_init(p);
	sim_rng_init(&p->rng, sim_seed(), 0x900u + index);
}

/* What the kernel does at the end of a process. */
static void clean_up(struct process *p)
{
	files_close_all(p);
	heap_free_all(p);
	memory_unmap_all(p);
	world_process_ended(p->node, p->pid);
	p->there = false;
}

/* The first thread has ended; what is left of the others does not run on. */
static void ended(void *ctx, uint64_t life)
{
	struct process *p = ctx;

	if (!p->there || p->life != life)
		return;
	sim_log("%s ends", process_name(p));
	if (fiber_count(p))
		sim_fail("left", "%s: %u threads are left over",
			 process_name(p), fiber_count(p));
	heap_must_be_empty(p);
	files_must_be_closed(p);
	memory_must_be_unmapped(p);
	clean_up(p);
}

static void *first_thread(void *arg)
{
	struct process *p = arg;

	p->main(p);
	sim_at(sim_now() + 1, ended, p, p->life);
	return NULL;
}

void process_start(struct process *p, void (*main)(struct process *p))
{
	if (p->there)
		return;
	p->life++;
	p->pid = 3000 + p->index * 100 + p->life;
	p->there = true;
	p->main = main;
	memset(p->variables, 0, bytes());
	sim_log("%s starts on node %u", process_name(p), p->node);
	fiber_detach(fiber_start(p, first_thread, p));
}

void process_kill(struct process *p)
{
	if (!p->there)
		return;
	sim_log("%s is killed", process_name(p));
	fiber_kill(p);
	clean_up(p);
}
