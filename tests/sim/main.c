/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* main.c - runs seeds, and says how each that failed can be had again. */
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "shrink.h"

static const char usage[] = "usage: unic-sim [--from N] [--seeds N] [--seed N] "
			    "[--salt N]\n"
			    "                [--stand] [--trace] [--twice] "
			    "[--no-shrink] [--first]\n"
			    "  runs seeds N, N + 1, ..., or one; --salt: other "
			    "draws for the same\n"
			    "  numbers; --stand: scenarios in which a NIC "
			    "stands still; --twice runs\n"
			    "  each two times and compares the logs; the exit "
			    "code is 1 if one failed\n";

static bool trace, twice, first, stand, shrink_too = true;
static uint64_t salt;

/* What no checker can say: the code under test never came back. Of this
 * process's own time: that others use the machine proves nothing. */
#define SEED_SECONDS 30u
static char last_words[120];

static void died(int sig)
{
	size_t n = strlen(last_words);

	(void)!write(1, last_words, n);
	(void)!write(1,
		     sig == SIGPROF ? "hang: a poll never ends\n"
				    : "crash: a signal\n",
		     sig == SIGPROF ? 24 : 16);
	_exit(1);
}

static void watch(uint64_t seed)
{
	static const struct itimerval limit = { .it_value.tv_sec =
							SEED_SECONDS };

	snprintf(last_words, sizeof(last_words), "FAILED seed %llu, ",
		 (unsigned long long)seed);
	setitimer(ITIMER_PROF, &limit, NULL);
}

static void report(const struct scenario *s, const struct sim_verdict *v)
{
	struct scenario small = *s;
	struct sim_verdict w = *v;

	printf("FAILED seed %llu at %llu us, %s: %s\n  again: make sim "
	       "SEED=%llu TRACE=1",
	       (unsigned long long)s->seed, (unsigned long long)(v->at_ns / US),
	       v->checker, v->text, (unsigned long long)s->seed);
	if (stand)
		printf(" STAND=1");
	if (salt)
		printf(" SALT=%llu", (unsigned long long)salt);
	printf("\n");
	if (shrink_too) {
		shrink(&small, &w);
		printf("  shrunk, then %s: %s\n", w.checker, w.text);
		scenario_print(&small, stdout);
	}
	fflush(stdout);
}

static bool run_seed(uint64_t seed)
{
	static struct scenario s;
	struct sim_verdict v, w;

	if (stand)
		scenario_stand(&s, seed);
	else
		scenario_make(&s, seed);
	watch(seed);
	if (trace)
		scenario_print(&s, stdout);
	scenario_run(&s, trace, &v);
	if (twice) {
		scenario_run(&s, false, &w);
		if (v.log_hash != w.log_hash || v.events != w.events) {
			printf("FAILED seed %llu: two runs differ\n",
			       (unsigned long long)seed);
			return false;
		}
	}
	if (v.checker)
		report(&s, &v);
	return !v.checker;
}

/* False: an option that there is not. */
static bool options(int argc, char **argv, uint64_t *from, uint64_t *n)
{
	static const struct option opts[] = {
		{ "from", 1, NULL, 'f' },      { "seeds", 1, NULL, 'n' },
		{ "seed", 1, NULL, 'o' },      { "salt", 1, NULL, 'x' },
		{ "trace", 0, NULL, 't' },     { "twice", 0, NULL, '2' },
		{ "no-shrink", 0, NULL, 's' }, { "stand", 0, NULL, 'b' },
		{ "first", 0, NULL, '1' },     { 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 'f' || c == 'o')
			*from = strtoull(optarg, NULL, 0);
		if (c == 'o')
			*n = 1;
		else if (c == 'n')
			*n = strtoull(optarg, NULL, 0);
		else if (c == 'x')
			salt = strtoull(optarg, NULL, 0);
		else if (c == 't')
			trace = true;
		else if (c == '2')
			twice = true;
		else if (c == '1')
			first = true;
		else if (c == 'b')
			stand = true;
		else if (c == 's')
			shrink_too = false;
		else if (c != 'f')
			return false;
	}
	return optind == argc;
}

int main(int argc, char **argv)
{
	uint64_t from = 1, n = 1000, i, failed = 0;
	time_t start = time(NULL);

	signal(SIGPROF, died);
	signal(SIGSEGV, died);
	signal(SIGFPE, died);
	signal(SIGILL, died);
	/* large blocks come from the kernel, zeroed when touched */
	mallopt(M_MMAP_THRESHOLD, 65536);
	if (!options(argc, argv, &from, &n))
		return fputs(usage, stderr), 2;
	sim_salt(salt);
	for (i = 0; i < n && !(first && failed); i++)
		failed += !run_seed(from + i);
	n = i;
	printf("sim: seeds %llu to %llu, %ld s\n", (unsigned long long)from,
	       (unsigned long long)(from + n - 1), (long)(time(NULL) - start));
	printf("%llu passed, %llu failed\n", (unsigned long long)(n - failed),
	       (unsigned long long)failed);
	return failed != 0;
}
