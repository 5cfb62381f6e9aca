/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_options.h - the command line of unicctl: a command, its arguments, and the options of
 * all commands.
 */
#ifndef UNIC_CTL_OPTIONS_H
#define UNIC_CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "given.h"
#include "unic_ctl.h"

#define CTL_ARGS_MAX 4

struct ctl_options {
	const char *socket, *nic, *perfetto;
	const char *args[CTL_ARGS_MAX];
	int n_args;
	bool json, follow, all, refs;
	int weight, quota, policy;   /* -1: unchanged */
	int64_t rate, burst;	     /* -1: unchanged */
	int limit[UNIC_CTL_LIMITS];  /* -1: unchanged */
	int groups;		     /* trace: mask to record, -1: unchanged */
	uint32_t uses;		     /* params: UNIC_PARAM_USES_*, or 0 */
	uint32_t interval_ms, looks; /* looks 0: until interrupted */
	struct given given;
};

/** ctl_options_parse() - fill in *@o, with defaults where the command line says nothing. A
 * command line that is wrong ends the program with words. */
void ctl_options_parse(struct ctl_options *o, int argc, char **argv);

/** ctl_options_unused() - the name of the first option of @o that is not one of @taken: their
 * letters, P for --perfetto, L for those of limits. Those of all commands are always taken.
 * NULL: there is none. */
const char *ctl_options_unused(const struct ctl_options *o, const char *taken);

#endif /* UNIC_CTL_OPTIONS_H */
