/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* main.c - runs seeds, and says how to repeat each that failed. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "run.h"

#define SEED_SECONDS 30 /* of processor time, for one run */

static const char usage[] = "usage: unic-libsim [--from N] [--seeds N] [--seed "
			    "N] [--trace] "
			    "[--twice] [--first]\n"
			    "  runs seeds N, N + 1, ..., or one; --twice runs "
			    "each two times and "
			    "compares\n"
			    "  the logs; --first ends with the first that "
			    "fails; the exit code is "
			    "1 if one\n"
			    "  failed\n";

static struct {
	uint64_t from, n;
	bool trace, twice, first;
} how = { .from = 1, .n = 100 };

static char last_words[64];
static uint8_t signal_stack[65536];

static void died(int sig)
{
	const char *what = sig == SIGPROF ? "hang: a thread never blocks\n"
					  : "crash: a signal\n";

	(void)!write(1, last_words, strlen(last_words));
	(void)!write(1, what, strlen(what));
	_exit(1);
}

static void watch_signals(void)
{
	stack_t stack = { .ss_sp = signal_stack,
			  .ss_size = sizeof(signal_stack) };
	struct sigaction sa = { .sa_handler = died, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGPROF, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGFPE, &sa, NULL);
	sigaction(SIGILL, &sa, NULL);
}

static void watch(uint64_t seed)
{
	static const struct itimerval limit = { .it_value.tv_sec =
							SEED_SECONDS };

	snprintf(last_words, sizeof(last_words), "FAILED seed %llu, ",
		 (unsigned long long)seed);
	setitimer(ITIMER_PROF, &limit, NULL);
}

static bool run_one(uint64_t seed)
{
	struct sim_verdict v, w;

	watch(seed);
	if (how.trace)
		run_print(seed);
	run_seed(seed, how.trace, &v);
	if (how.twice)
		run_seed(seed, false, &w);
	if (how.twice && (v.log_hash != w.log_hash || v.events != w.events)) {
		printf("FAILED seed %llu: two runs differ\n",
		       (unsigned long long)seed);
		return false;
	}
	if (v.checker) {
		printf("FAILED seed %llu at %llu us, %s: %s\n  again: "
		       "unic-libsim --seed %llu --trace\n",
		       (unsigned long long)seed,
		       (unsigned long long)(v.at_ns / US), v.checker, v.text,
		       (unsigned long long)seed);
		run_print(seed);
	}
	fflush(stdout);
	return !v.checker;
}

static bool options(int argc, char **argv)
{
	static const struct option opts[] = { { "from", 1, NULL, 'f' },
					      { "seeds", 1, NULL, 'n' },
					      { "seed", 1, NULL, 'o' },
					      { "trace", 0, NULL, 't' },
					      { "twice", 0, NULL, '2' },
					      { "first", 0, NULL, '1' },
					      { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 'f' || c == 'o')
			how.from = strtoull(optarg, NULL, 0);
		if (c == 'o')
			how.n = 1;
		else if (c == 'n')
			how.n = strtoull(optarg, NULL, 0);
		else if (c == 't')
			how.trace = true;
		else if (c == '2')
			how.twice = true;
		else if (c == '1')
			how.first = true;
		else if (c != 'f')
			return false;
	}
	return optind == argc;
}

int main(int argc, char **argv)
{
	uint64_t i, failed = 0;

	if (!options(argc, argv))
		return fputs(usage, stderr), 2;
	watch_signals();
	for (i = 0; i < how.n && !(how.first && failed); i++)
		failed += !run_one(how.from + i);
	printf("libsim: seeds %llu to %llu\n%llu passed, %llu failed\n",
	       (unsigned long long)how.from,
	       (unsigned long long)(how.from + i - 1),
	       (unsigned long long)(i - failed), (unsigned long long)failed);
	return failed != 0;
}
