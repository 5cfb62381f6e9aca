/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* seed.c - see seed.h. */
#include "seed.h"

#include "shrink.h"

static void report(const struct scenario *s, const struct seed_how *how,
		   const struct sim_verdict *v)
{
	struct scenario small = *s;
	struct sim_verdict w = *v;

	printf("FAILED seed %llu at %llu us, %s: %s\n  again: make sim "
	       "SEED=%llu TRACE=1",
	       (unsigned long long)s->seed, (unsigned long long)(v->at_ns / US),
	       v->checker, v->text, (unsigned long long)s->seed);
	if (how->stand)
		printf(" STAND=1");
	if (how->attack)
		printf(" ATTACK=1");
	if (how->salt)
		printf(" SALT=%llu", (unsigned long long)how->salt);
	printf("\n");
	if (how->shrink) {
		shrink(&small, &w);
		printf("  shrunk, then %s: %s\n", w.checker, w.text);
		scenario_print(&small, stdout);
	}
	fflush(stdout);
}

bool SEED_NAME(SIM_SIZE)(uint64_t seed, const struct seed_how *how)
{
	static struct scenario s;
	struct sim_verdict v, w;

	sim_salt(how->salt);
	if (how->stand)
		scenario_stand(&s, seed);
	else if (how->attack)
		scenario_attack(&s, seed);
	else
		scenario_make(&s, seed);
	if (how->trace)
		scenario_print(&s, stdout);
	scenario_run(&s, how->trace, &v);
	if (how->twice) {
		scenario_run(&s, false, &w);
		if (v.log_hash != w.log_hash || v.events != w.events) {
			printf("FAILED seed %llu: two runs differ\n",
			       (unsigned long long)seed);
			return false;
		}
	}
	if (v.checker)
		report(&s, how, &v);
	return !v.checker;
}
