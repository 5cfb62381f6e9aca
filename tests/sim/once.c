/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * once.c - exactly once: an operation completes once (INV-10), those of one
 * send queue in the order posted; a token ends once (INV-9); both sides of a
 * tagged message hear the same of it. Keeps its own books, apart from those of
 * the applications.
 */
#include "app.h"

#define OPEN  1024u
#define ENDED 1024u
#define HEARD 1024u

struct posted {
	uint64_t id; /* 0: free */
	uint64_t queue, serial;
	bool quiet;
};

struct verdict {
	uint64_t id; /* of the message; 0: none */
	bool sender;
	uint8_t why;
};

static struct posted *open;
static struct verdict *heard; /* what one side alone has heard, a ring */
static uint32_t verdicts;
static uint64_t *ended; /* keys of ended tokens, a ring */
static uint32_t high, endings;
static uint64_t serial;

void once_reset(void)
{
	open = sim_alloc(OPEN * sizeof(*open));
	ended = sim_alloc(ENDED * sizeof(*ended));
	heard = sim_alloc(HEARD * sizeof(*heard));
	high = endings = verdicts = 0;
	serial = 0;
}

static struct posted *find(uint64_t id)
{
	uint32_t i;

	for (i = 0; i < high; i++)
		if (open[i].id == id)
			return &open[i];
	return NULL;
}

void once_post(uint64_t id, uint64_t queue, bool quiet)
{
	struct posted *p = find(0);

	if (!p && high == OPEN)
		sim_fail("sim", "more than %u operations are open", OPEN);
	if (!p)
		p = &open[high++];
	*p = (struct posted){ id, queue, ++serial, quiet };
}

void once_complete(uint64_t id, uint64_t queue, bool ok)
{
	struct posted *p = find(id);
	uint32_t i;

	if (!p || p->queue != queue)
		sim_fail("once", "operation %llx completes, which is not open",
			 (unsigned long long)id);
	for (i = 0; queue && i < high; i++)
		if (open[i].id && open[i].queue == queue &&
		    open[i].serial < p->serial)
			sim_fail("once",
				 "operation %llx completes%s before %llx",
				 (unsigned long long)id, ok ? "" : " badly",
				 (unsigned long long)open[i].id);
	p->id = 0;
}

void once_forget(uint64_t id, uint64_t mask)
{
	uint32_t i;

	for (i = 0; i < high; i++)
		if (open[i].id && (open[i].id & mask) == (id & mask))
			open[i].id = 0;
}

void once_verdict(uint64_t id, bool sender, uint8_t why)
{
	struct verdict *v;

	for (v = heard; v < heard + HEARD; v++) {
		if (v->id != id || v->sender == sender)
			continue;
		if (v->why != why)
			sim_fail("once",
				 "message %llx: its sender hears %u, its "
				 "receiver %u",
				 (unsigned long long)id, sender ? why : v->why,
				 sender ? v->why : why);
		v->id = 0;
		return;
	}
	heard[verdicts++ % HEARD] = (struct verdict){ id, sender, why };
}

void once_token(uint64_t key, uint32_t end)
{
	uint32_t i;

	for (i = 0; i < ENDED; i++)
		if (ended[i] == key && key)
			sim_fail("once", "a token ends twice, now as %u", end);
	ended[endings++ % ENDED] = key;
}
