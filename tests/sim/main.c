/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* main.c - runs seeds, and prints how to repeat each that failed. */
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "seed.h"

static const char usage[] = "usage: unic-sim [--from N] [--seeds N] [--seed N] "
			    "[--salt N] [--stand]\n"
			    "                [--attack] [--trace] [--twice] "
			    "[--no-shrink] "
			    "[--first] [--size NAME]\n"
			    "  runs seeds N, N + 1, ..., or one; --salt: other "
			    "draws for the same\n"
			    "  numbers; --stand: scenarios in which a NIC "
			    "stands still; --attack:\n"
			    "  attackers in each; --twice runs "
			    "each two times and compares the logs; --size: "
			    "all with tables of that\n"
			    "  size (small, tiny, mps2, virt); the exit code "
			    "is 1 if one failed\n";

static bool first;
static struct seed_how how = { .shrink = true };

/* Failures that no checker reports: the code under test crashes or does not
 * return. The limit is processor time of this process, as others may use the
 * machine. */
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
	snprintf(last_words, sizeof(last_words), "FAILED seed %llu, ",
		 (unsigned long long)seed);
	seed_watch();
}

/* Sizes of tables, and how many of sixteen seeds each has. */
static const struct size {
	const char *name;
	bool (*run)(uint64_t seed, const struct seed_how *how);
	uint32_t share;
} sizes[] = {
	{ "small", seed_run_small, 10 },
#ifndef SIM_SMALL_ONLY /* mutants.py */
	{ "tiny", seed_run_tiny, 2 },
	{ "mps2", seed_run_mps2, 2 },
	{ "virt", seed_run_virt, 2 },
#endif
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const struct size *forced; /* NULL: the size of the seed */

static const struct size *size_of(uint64_t seed)
{
	uint64_t z = (seed + how.salt + 1) * 0x9e3779b97f4a7c15ull;
	uint32_t i, at = (uint32_t)(z >> 60);

	for (i = 0; i < SIZES; at -= sizes[i++].share)
		if (at < sizes[i].share)
			return &sizes[i];
	return &sizes[0];
}

static bool run_seed(uint64_t seed)
{
	const struct size *size = forced ? forced : size_of(seed);

	watch(seed);
	if (how.trace)
		printf("  tables of size %s\n", size->name);
	return size->run(seed, &how);
}

static bool force(const char *name)
{
	uint32_t i;

	for (i = 0; i < SIZES; i++)
		if (!strcmp(sizes[i].name, name))
			forced = &sizes[i];
	return forced;
}

/* False: an unknown option or size. */
static bool options(int argc, char **argv, uint64_t *from, uint64_t *n)
{
	static const struct option opts[] = {
		{ "from", 1, NULL, 'f' },      { "seeds", 1, NULL, 'n' },
		{ "seed", 1, NULL, 'o' },      { "salt", 1, NULL, 'x' },
		{ "trace", 0, NULL, 't' },     { "twice", 0, NULL, '2' },
		{ "no-shrink", 0, NULL, 's' }, { "stand", 0, NULL, 'b' },
		{ "attack", 0, NULL, 'a' },    { "first", 0, NULL, '1' },
		{ "size", 1, NULL, 'z' },      { 0 }
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
			how.salt = strtoull(optarg, NULL, 0);
		else if (c == 't')
			how.trace = true;
		else if (c == '2')
			how.twice = true;
		else if (c == '1')
			first = true;
		else if (c == 'b')
			how.stand = true;
		else if (c == 'a')
			how.attack = true;
		else if (c == 'z') {
			if (!force(optarg))
				return false;
		} else if (c == 's')
			how.shrink = false;
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
	for (i = 0; i < n && !(first && failed); i++)
		failed += !run_seed(from + i);
	n = i;
	printf("sim: seeds %llu to %llu, %ld s\n", (unsigned long long)from,
	       (unsigned long long)(from + n - 1), (long)(time(NULL) - start));
	printf("%llu passed, %llu failed\n", (unsigned long long)(n - failed),
	       (unsigned long long)failed);
	return failed != 0;
}
