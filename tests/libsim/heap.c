/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* heap.c - see heap.h: calloc() and the like, as libunic calls them. */
#include "heap.h"

#include <errno.h>
#include <string.h>

#include "fiber.h"

#define POISON	0xdb
#define LIVE	0x6c697665u
#define FREED	0x66726565u
#define IN_FULL 8192u /* bytes of a freed block that are looked at, at most */

struct block {
	struct block *prev, *next;
	size_t bytes;
	uint32_t state;
	_Alignas(16) uint8_t data[];
};

static struct block *block_of(void *p)
{
	return (struct block *)((uint8_t *)p - offsetof(struct block, data));
}

static void unlink_block(struct process *p, struct block *b)
{
	if (b->prev)
		b->prev->next = b->next;
	else
		p->blocks = b->next;
	if (b->next)
		b->next->prev = b->prev;
}

void *sys_calloc(size_t n, size_t bytes)
{
	struct process *p = fiber_process();
	struct block *b = sim_alloc(sizeof(*b) + n * bytes);

	b->bytes = n * bytes;
	b->state = LIVE;
	b->next = p->blocks;
	if (b->next)
		b->next->prev = b;
	p->blocks = b;
	return b->data;
}

void sys_free(void *mem)
{
	struct process *p = fiber_process();
	struct block *b = mem ? block_of(mem) : NULL;

	if (!b)
		return;
	if (b->state != LIVE)
		sim_fail("heap", "%s frees what it has not", process_name(p));
	unlink_block(p, b);
	memset(b->data, POISON, b->bytes);
	b->state = FREED;
	b->next = p->freed;
	p->freed = b;
}

void *sys_realloc(void *mem, size_t bytes)
{
	uint8_t *more = sys_calloc(1, bytes);
	size_t had = mem ? block_of(mem)->bytes : 0;

	if (mem)
		memcpy(more, mem, had < bytes ? had : bytes);
	sys_free(mem);
	return more;
}

static void must_be_poison(const struct process *p, const struct block *b)
{
	size_t i;

	for (i = 0; i < b->bytes && i < IN_FULL; i++)
		if (b->data[i] != POISON)
			sim_fail("heap",
				 "%s: byte %zu of a block of %zu bytes was "
				 "written after it was freed",
				 process_name(p), i, b->bytes);
}

void heap_must_be_empty(const struct process *p)
{
	const struct block *b;

	for (b = p->freed; b; b = b->next)
		must_be_poison(p, b);
	if (p->blocks)
		sim_fail("left", "%s: %zu bytes are not freed", process_name(p),
			 p->blocks->bytes);
}

static void free_list(struct block *b)
{
	struct block *next;

	for (; b; b = next) {
		next = b->next;
		sim_free(b);
	}
}

void heap_free_all(struct process *p)
{
	free_list(p->blocks);
	free_list(p->freed);
	p->blocks = p->freed = NULL;
}
