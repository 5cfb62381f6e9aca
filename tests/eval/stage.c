/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* stage.c - what all experiments need, see eval.h. */
#include "eval.h"

#include <stdlib.h>

void stage_new(uint32_t n, const struct unic_cmd_set_params *params,
	       uint32_t loss, uint32_t byte_ns)
{
	struct world_odds odds = { .loss = loss, .byte_ns = byte_ns };
	uint8_t kind[WORLD_NODES] = { 0 };

	world_new(n, false, kind, params);
	world_odds(&odds);
}

void stage_wait(bool (*done)(void *ctx), void *ctx, uint64_t ns,
		const char *what)
{
	if (!sim_until(sim_now() + ns, done, ctx))
		sim_fail("eval", "never %s", what);
}

void sample_add(struct sample *s, uint64_t v)
{
	uint32_t *more;

	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		more = sim_alloc(s->room * sizeof(*more));
		if (s->n)
			memcpy(more, s->at, s->n * sizeof(*more));
		sim_free(s->at);
		s->at = more;
	}
	s->at[s->n++] = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static int order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

uint32_t sample_at(struct sample *s, uint32_t ppm)
{
	if (!s->n)
		return 0;
	qsort(s->at, s->n, sizeof(*s->at), order);
	return s->at[(uint64_t)(s->n - 1) * ppm / 1000000];
}

uint32_t stage_jain(const uint64_t *x, uint32_t n)
{
	double sum = 0, squares = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		sum += (double)x[i];
		squares += (double)x[i] * (double)x[i];
	}
	return squares > 0 ? (uint32_t)(1e6 * sum * sum / (n * squares)) : 0;
}
