/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_options.c - see ctl_options.h. */
#include "ctl_options.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "ctl_fetch.h"
#include "ctl_trace.h"
#include "number.h"
#include "socket_option.h"

#define GROUPS "mr, evict, token, qp, wire, cmd, ref; all or none"

static const char doc[] =
	"Look at a unic NIC and its driver.\v"
	"Commands:\n"
	"  nics               the NICs of the driver: number, name, address,\n"
	"                     state; all other commands are about one of them\n"
	"  info               the NIC, the driver, parameters\n"
	"  stats              counters (--all: those at 0 too)\n"
	"  ps                 processes: entries held, fair share, borrowed,\n"
	"                     waits, upcalls; and the queue of requests\n"
	"  mr, tlb, tokens, qp, cq   the tables of the NIC\n"
	"  histograms         how long waits, graces and misses took\n"
	"  top                on a terminal: who holds the table, and what "
	"happens;\n"
	"                     q ends it\n"
	"  watch              entries held, waits, evictions, bytes: a line "
	"each\n"
	"                     --interval\n"
	"  events             what happens, a line each: processes, waits, "
	"notices,\n"
	"                     evictions, connections, link, resets\n"
	"  metrics            what stats, ps and histograms show, as "
	"OpenMetrics\n"
	"                     text, for Prometheus\n"
	"  dump               all tables as they were at one instant\n"
	"  uses               what regions are used for, as the NIC shows it\n"
	"  trace              what the NIC did (--follow: and does; --groups:\n"
	"                     what it records from now on; --refs: the uses "
	"of\n"
	"                     regions from now on, for unic-policysim)\n"
	"  params             --uses: what replacement policies go by\n"
	"  crash              the crash record of the firmware\n"
	"  policy PROC        --weight, --quota, --policy of a process\n"
	"  rate PROC          its transmit limit; --rate, --burst: set it\n"
	"  limits PROC|all    what a process may have the driver do in a "
	"second;\n"
	"                     --faults, --registrations, --upcalls: set it\n"
	"  reset              of the NIC: every object ends\n"
	"  fault crash | drop-rx N | drop-events N   provoke it, for tests\n";

#define OPT_LIMITS   256 /* and an enum unic_ctl_limit */
#define OPT_PERFETTO 512

static const struct argp_option argp_options[] = {
	SOCKET_OPTION,
	{ "nic", 'n', "NIC", 0,
	  "Its name or number in `unicctl nics' (default: the first); as "
	  "--socket PATH,NIC",
	  0 },
	{ "json", 'j', NULL, 0,
	  "Print JSON, for programs; all but top and metrics", 0 },
	{ "follow", 'f', NULL, 0, "trace: go on until interrupted", 0 },
	{ "groups", 'g', "LIST", 0, "trace: record " GROUPS, 0 },
	{ "refs", 'r', NULL, 0,
	  "trace: references as CSV until interrupted, nothing else", 0 },
	{ "perfetto", OPT_PERFETTO, "FILE", 0,
	  "trace: trace-event JSON for ui.perfetto.dev and unic-policysim", 0 },
	{ "uses", 'u', "counted|reported", 0,
	  "params: by the NIC, or by the processes", 0 },
	{ "all", 'a', NULL, 0, "stats: also counters at 0", 0 },
	{ "weight", 'w', "N", 0, "policy: weight of the process", 0 },
	{ "quota", 'q', "ENTRIES", 0, "policy: hard limit, 0 = none", 0 },
	{ "policy", 'p', "NAME", 0,
	  "policy: default, random, lru, s3fifo, app, lfu", 0 },
	{ "rate", 'R', "BYTES", 0,
	  "rate: bytes in a second, 0 = no limit; K, M, G: 2^10, 2^20, 2^30",
	  0 },
	{ "burst", 'B', "BYTES", 0, "rate: bytes at once; 0: the NIC chooses",
	  0 },
	{ "faults", OPT_LIMITS + UNIC_CTL_LIMIT_FAULTS, "N", 0,
	  "limits: misses answered in a second, 0 = any number", 0 },
	{ "registrations", OPT_LIMITS + UNIC_CTL_LIMIT_REGISTRATIONS, "N", 0,
	  "limits: registrations in a second", 0 },
	{ "upcalls", OPT_LIMITS + UNIC_CTL_LIMIT_UPCALLS, "N", 0,
	  "limits: wakes for upcalls in a second", 0 },
	{ "interval", 'i', "MS", 0,
	  "top, watch: between two looks (default: 1000)", 0 },
	{ "looks", 'c', "N", 0, "watch: end after so many", 0 },
	{ 0 }
};

/* What the option of @key is called in the table of commands. */
static char letter_of(int key)
{
	if (key == OPT_PERFETTO)
		return 'P';
	return key >= OPT_LIMITS ? 'L' : (char)key;
}

static error_t parse_ctl_option(int key, char *arg, struct argp_state *state)
{
	struct ctl_options *o = state->input;

	given_note(state, &o->given, key, letter_of(key));
	switch (key) {
	case 's':
		o->socket = arg;
		return 0;
	case 'n':
		o->nic = arg;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'f':
		o->follow = true;
		return 0;
	case 'a':
		o->all = true;
		return 0;
	case 'w':
		o->weight = (int)number_need(state, arg, 1, UINT16_MAX);
		return 0;
	case 'q':
		o->quota = (int)number_need(state, arg, 0, INT32_MAX);
		return 0;
	case 'R':
		o->rate = (int64_t)number_need(state, arg, 0, INT64_MAX);
		return 0;
	case 'B':
		o->burst = (int64_t)number_need(state, arg, 0, INT64_MAX);
		return 0;
	case 'i':
		o->interval_ms = (uint32_t)number_need(state, arg, 10, 3600000);
		return 0;
	case 'c':
		o->looks = (uint32_t)number_need(state, arg, 1, UINT32_MAX);
		return 0;
	case 'r':
		o->refs = true;
		return 0;
	case OPT_PERFETTO:
		o->perfetto = arg;
		return 0;
	case 'u':
		o->uses = !strcmp(arg, "reported")  ? UNIC_PARAM_USES_REPORTED
			  : !strcmp(arg, "counted") ? UNIC_PARAM_USES_COUNTED
						    : 0;
		if (!o->uses)
			argp_error(state, "uses are counted or reported");
		return 0;
	case 'g':
		o->groups = ctl_trace_groups(arg);
		if (o->groups < 0)
			argp_error(state, "%s: groups are " GROUPS, arg);
		return 0;
	case 'p':
		o->policy = ctl_policy_named(arg);
		if (o->policy < 0)
			argp_error(state, "no policy is called %s", arg);
		return 0;
	case OPT_LIMITS ... OPT_LIMITS + UNIC_CTL_LIMITS - 1:
		o->limit[key - OPT_LIMITS] =
			(int)number_need(state, arg, 0, INT32_MAX);
		return 0;
	case ARGP_KEY_ARG:
		if (o->n_args == CTL_ARGS_MAX)
			argp_usage(state);
		o->args[o->n_args++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->n_args)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void ctl_options_parse(struct ctl_options *o, int argc, char **argv)
{
	static const struct argp argp = { argp_options,
					  parse_ctl_option,
					  "COMMAND [ARG]",
					  doc,
					  NULL,
					  NULL,
					  NULL };

	*o = (struct ctl_options){ .weight = -1,
				   .quota = -1,
				   .policy = -1,
				   .rate = -1,
				   .burst = -1,
				   .groups = -1,
				   .interval_ms = 1000,
				   .limit = { -1, -1, -1 } };
	argp_parse(&argp, argc, argv, 0, NULL, o);
}

const char *ctl_options_unused(const struct ctl_options *o, const char *taken)
{
	char all[32];

	snprintf(all, sizeof(all), "sn%s", taken);
	return given_unused(&o->given, argp_options, all);
}
