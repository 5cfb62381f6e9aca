/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * shrink.c - drops faults, the wire's odds, applications, then all, halves,
 * quarters, ... of the operations, while the same checker still fails.
 */
#include "shrink.h"

#include "seed.h"

#include <string.h>

#define RUNS 300u

static uint32_t left;

static bool still(const struct scenario *s, struct sim_verdict *v)
{
	struct sim_verdict w;

	if (!left)
		return false;
	left--;
	seed_watch();
	scenario_run(s, false, &w);
	if (!w.checker || strcmp(w.checker, v->checker))
		return false;
	*v = w;
	return true;
}

/* Tries the scenario without operations [@from, @from + @n). */
static void drop_ops(struct scenario *s, struct sim_verdict *v, uint32_t from,
		     uint32_t n)
{
	static struct scenario t;
	uint32_t i;

	t = *s;
	for (i = from; i < from + n && i < t.ops; i++)
		t.op[i].off = true;
	if (still(&t, v))
		*s = t;
}

static void try_without(struct scenario *s, struct sim_verdict *v, bool *flag)
{
	if (*flag)
		return;
	*flag = true;
	if (!still(s, v))
		*flag = false;
}

void shrink(struct scenario *s, struct sim_verdict *v)
{
	uint32_t n, i;

	left = RUNS;
	for (i = 0; i < s->faults; i++)
		try_without(s, v, &s->fault[i].off);
	try_without(s, v, &s->odds_off);
	if (s->wild)
		try_without(s, v, &s->wild_off);
	for (i = 0; i < s->rogues; i++)
		try_without(s, v, &s->rogue[i].off);
	for (i = 0; i < s->forges; i++)
		try_without(s, v, &s->forge[i].off);
	for (i = 0; i < s->apps; i++)
		try_without(s, v, &s->app[i].off);
	for (n = s->ops; n; n /= 2)
		for (i = 0; i < s->ops; i += n)
			drop_ops(s, v, i, n);
}
