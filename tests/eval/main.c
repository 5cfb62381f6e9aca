/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* main.c - one run of one experiment. */
#include <getopt.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "eval.h"

static const char usage[] = "usage: unic-eval hoard|grace|message [--seed N] "
			    "[--how "
			    "unic|first|quota|today]\n"
			    "  [--meek N] [--load PERCENT] [--grace US] [--ms "
			    "N] [--rounds N]\n"
			    "  [--loss PPM] [--watermarks 0|1] [--chunk PAGES] "
			    "[--churn] "
			    "[--series] [--manager]\n"
			    "  [--remote]\n";

static const struct {
	const char *name;
	void (*run)(const struct options *o);
} experiments[] = { { "hoard", hoard },
		    { "grace", grace },
		    { "message", message } };

static struct options opt = {
	.seed = 1,
	.how = "unic",
	.meek = 1,
	.load = 100,
	.grace_us = 20000,
	.chunk = 2,
	.ms = 600,
	.rounds = 100,
	.watermarks = 1,
};

static void (*chosen)(const struct options *o);

static void parse(int argc, char **argv)
{
	static const struct option longs[] = { { "seed", 1, NULL, 0 },
					       { "how", 1, NULL, 0 },
					       { "meek", 1, NULL, 0 },
					       { "load", 1, NULL, 0 },
					       { "grace", 1, NULL, 0 },
					       { "ms", 1, NULL, 0 },
					       { "rounds", 1, NULL, 0 },
					       { "loss", 1, NULL, 0 },
					       { "watermarks", 1, NULL, 0 },
					       { "chunk", 1, NULL, 0 },
					       { "churn", 0, NULL, 0 },
					       { "series", 0, NULL, 0 },
					       { "manager", 0, NULL, 0 },
					       { "remote", 0, NULL, 0 },
					       { 0 } };
	uint32_t *number[] = { NULL,	    NULL,	   &opt.meek,
			       &opt.load,   &opt.grace_us, &opt.ms,
			       &opt.rounds, &opt.loss,	   &opt.watermarks,
			       &opt.chunk };
	bool *flag[] = { &opt.churn, &opt.series, &opt.manager, &opt.remote };
	int c, i;

	while ((c = getopt_long(argc, argv, "", longs, &i)) == 0) {
		if (i == 0)
			opt.seed = strtoull(optarg, NULL, 0);
		else if (i == 1)
			opt.how = optarg;
		else if (i < 10)
			*number[i] = (uint32_t)strtoul(optarg, NULL, 0);
		else
			*flag[i - 10] = true;
	}
	if (c != -1 || optind != argc - 1 || opt.meek > 15) {
		fputs(usage, stderr);
		exit(2);
	}
}

static void begin(void *arg)
{
	(void)arg;
	chosen(&opt);
}

int main(int argc, char **argv)
{
	struct sim_verdict v;
	uint32_t i;

	/* large blocks come from the kernel, zeroed when touched */
	mallopt(M_MMAP_THRESHOLD, 65536);
	parse(argc, argv);
	for (i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++)
		if (!strcmp(argv[optind], experiments[i].name))
			chosen = experiments[i].run;
	if (!chosen) {
		fputs(usage, stderr);
		return 2;
	}
	sim_run(opt.seed, getenv("TRACE"), begin, NULL, &v);
	if (v.checker)
		fprintf(stderr, "unic-eval: at %llu us, %s: %s\n",
			(unsigned long long)(v.at_ns / US), v.checker, v.text);
	printf("kind=end events=%u log=%016llx ok=%u\n", v.events,
	       (unsigned long long)v.log_hash, !v.checker);
	return v.checker != NULL;
}
