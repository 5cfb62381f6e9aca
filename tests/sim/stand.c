/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* stand.c - scenarios in which a NIC stands still; see scenario.h. */
#include <string.h>

#include "app.h"

enum {
	SENDER,
	OTHER,
	STANDS,
	NODES
}; /* role of each node */

#define ROOM_MAX 8u /* frames that a full ring still took */

static uint8_t honest(struct sim_rng *r)
{
	uint8_t b;

	do
		b = (uint8_t)sim_below(r, behaviours_count);
	while (behaviours[b].lies);
	return b;
}

static uint8_t add_app(struct scenario *s, struct sim_rng *r, uint8_t node)
{
	struct scn_app *a = &s->app[s->apps];

	a->node = node;
	a->behaviour = honest(r);
	a->weight = sim_below(r, 4) ? 1 : (uint16_t)sim_range(r, 1, 5);
	return (uint8_t)s->apps++;
}

static void add_link(struct scenario *s, uint8_t a, uint8_t b)
{
	struct scn_link *l = &s->link[s->links++];

	memset(l, 0, sizeof(*l)); /* RC */
	l->app[0] = a;
	l->app[1] = b;
}

/* One pair with the node that stands and one beside it, and a third one of either
 * kind. Some pairs have two connections. */
static void make_pairs(struct scenario *s, struct sim_rng *r)
{
	uint32_t i;

	s->apps = 0;
	s->links = 0;
	for (i = 0; i < 2u + (sim_below(r, 2) && WORLD_SLOTS > 2); i++) {
		uint8_t far = i == 1 || (i == 2 && sim_below(r, 2)) ? STANDS
								    : OTHER;
		uint8_t a = add_app(s, r, SENDER), b = add_app(s, r, far);

		add_link(s, a, b);
		if (sim_below(r, 2))
			add_link(s, b, a);
	}
}

void scenario_stand(struct scenario *s, uint64_t seed)
{
	struct scn_fault *f = &s->fault[0];
	struct sim_rng r;
	uint32_t i;

	scenario_make(s, seed);
	sim_rng_init(&r, seed, 4);
	s->nodes = NODES;
	s->wild = false;
	s->rogues = 0;
	s->beside = true;
	make_pairs(s, &r);
	for (i = 0; i < s->ops; i++)
		s->op[i].app = (uint8_t)sim_below(&r, s->apps);
	memset(f, 0, sizeof(*f));
	s->faults = 1;
	f->kind = SCN_STAND;
	f->target = STANDS;
	f->at_ns = sim_range(&r, 200 * US, 5 * MS);
	f->room = sim_below(&r, ROOM_MAX);
}

bool scenario_apart(const struct scenario *s, uint32_t app, uint32_t node)
{
	bool reached[SCN_APPS] = { false };
	uint32_t i, e, n;

	reached[app] = true;
	for (n = 0; n < s->links; n++) /* no path has more links */
		for (i = 0; i < s->links; i++)
			for (e = 0; e < 2; e++)
				if (reached[s->link[i].app[e]])
					reached[s->link[i].app[!e]] = true;
	for (i = 0; i < s->apps; i++)
		if (reached[i] && s->app[i].node == node)
			return false;
	return true;
}
