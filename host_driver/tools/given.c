/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* given.c - see given.h. */
#include "given.h"

#include <string.h>

#define ARGP_KEY_FIRST 0x1000000 /* below it keys are those of options */

void given_note(struct argp_state *state, struct given *g, int key, char letter)
{
	if (key <= 0 || key >= ARGP_KEY_FIRST)
		return;
	if (g->n == GIVEN_MAX)
		argp_error(state, "too many options");
	g->option[g->n].key = key;
	g->option[g->n++].letter = letter;
}

const char *given_unused(const struct given *g,
			 const struct argp_option *options, const char *taken)
{
	int i;

	for (i = 0; i < g->n; i++) {
		if (strchr(taken, g->option[i].letter))
			continue;
		while (options->key != g->option[i].key)
			options++;
		return options->name;
	}
	return NULL;
}

void given_check(struct argp_state *state, const struct given *g,
		 const struct argp_option *options, const char *command,
		 const char *taken)
{
	const char *option = given_unused(g, options, taken);

	if (option)
		argp_error(state, "%s takes no --%s", command, option);
}
