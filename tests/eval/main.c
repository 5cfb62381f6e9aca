/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* main.c - one run of one experiment. */
#include <getopt.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "eval.h"

static const char usage[] = "usage: unic-eval "
			    "hoard|grace|message|residency|lists|"
			    "kio|fair|pain\n"
			    "  [--seed N] [--how WORD]\n"
			    "  [--meek N] [--load PERCENT] [--grace US] [--ms "
			    "N] [--rounds N]\n"
			    "  [--loss PPM] [--watermarks 0|1] [--chunk PAGES] "
			    "[--churn] "
			    "[--waits N] [--weight PERCENT] [--series]\n"
			    "  [--manager] [--remote]\n";

static const struct {
	const char *name;
	void (*run)(const struct options *o);
} experiments[] = { { "hoard", hoard },	    { "grace", grace },
		    { "message", message }, { "residency", residency },
		    { "lists", lists },	    { "kio", kio },
		    { "fair", fair },	    { "pain", pain } };

static struct options opt = {
	.seed = 1,
	.how = "unic",
	.meek = 1,
	.load = 100,
	.grace_us = 20000,
	.chunk = 2,
	.ms = 600,
	.rounds = 100,
	.posted = 2,
	.watermarks = 1,
	.weight = 100,
};

/* Of these, `text` needs a word, `number` a number, and `flag` nothing. */
static const struct {
	const char *name;
	const char **text;
	uint32_t *number;
	bool *flag;
} known[] = {
	{ "seed", .number = &opt.seed },
	{ "how", .text = &opt.how },
	{ "meek", .number = &opt.meek },
	{ "load", .number = &opt.load },
	{ "grace", .number = &opt.grace_us },
	{ "chunk", .number = &opt.chunk },
	{ "ms", .number = &opt.ms },
	{ "rounds", .number = &opt.rounds },
	{ "loss", .number = &opt.loss },
	{ "posted", .number = &opt.posted },
	{ "watermarks", .number = &opt.watermarks },
	{ "weight", .number = &opt.weight },
	{ "waits", .number = &opt.waits },
	{ "churn", .flag = &opt.churn },
	{ "series", .flag = &opt.series },
	{ "manager", .flag = &opt.manager },
	{ "remote", .flag = &opt.remote },
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

static void (*chosen)(const struct options *o);

static void wrong(void)
{
	fputs(usage, stderr);
	exit(2);
}

static void parse(int argc, char **argv)
{
	struct option longs[KNOWN + 1] = { 0 };
	int c, i;

	for (i = 0; i < (int)KNOWN; i++) {
		longs[i].name = known[i].name;
		longs[i].has_arg = !known[i].flag;
	}
	while ((c = getopt_long(argc, argv, "", longs, &i)) == 0) {
		if (known[i].text)
			*known[i].text = optarg;
		else if (known[i].number)
			*known[i].number = (uint32_t)strtoul(optarg, NULL, 0);
		else
			*known[i].flag = true;
	}
	if (c != -1 || optind != argc - 1 || opt.meek > 15 || !opt.chunk)
		wrong();
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
	if (!chosen)
		wrong();
	sim_run(opt.seed, getenv("TRACE"), begin, NULL, &v);
	if (v.checker)
		fprintf(stderr, "unic-eval: at %llu us, %s: %s\n",
			(unsigned long long)(v.at_ns / US), v.checker, v.text);
	printf("kind=end events=%u log=%016llx ok=%u\n", v.events,
	       (unsigned long long)v.log_hash, !v.checker);
	return v.checker != NULL;
}
