/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unicctl - show the state of a NIC and its driver, and set parameters.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "ctl_dump.h"
#include "ctl_events.h"
#include "ctl_fetch.h"
#include "ctl_histogram.h"
#include "ctl_limit.h"
#include "ctl_metrics.h"
#include "ctl_nics.h"
#include "ctl_perfetto.h"
#include "ctl_print.h"
#include "ctl_top.h"
#include "ctl_trace.h"
#include "ctl_uses.h"
#include "ctl_watch.h"
#include "error.h"
#include "nics.h"
#include "number.h"
#include "output.h"
#include "unic.h"
#include "unic_stats.h"
#include "where.h"

#define ARGS_MAX 4

struct ctl_options {
	const char *socket, *nic, *perfetto;
	const char *args[ARGS_MAX];
	int n_args;
	bool json, follow, all, refs;
	int weight, quota, policy;   /* -1: unchanged */
	int64_t rate, burst;	     /* -1: unchanged */
	int limit[UNIC_CTL_LIMITS];  /* -1: unchanged */
	int groups;		     /* trace: mask to record, -1: unchanged */
	uint32_t uses;		     /* params: UNIC_PARAM_USES_*, or 0 */
	uint32_t interval_ms, looks; /* looks 0: until interrupted */
};

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
	"  watch              a line of that each --interval\n"
	"  events             what happens, a line each: processes, waits, "
	"notices,\n"
	"                     evictions, connections, link, resets\n"
	"  metrics            all of that as OpenMetrics text, for Prometheus\n"
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
	{ "socket", 's', "PATH[,NIC]", 0,
	  "Of unicd (default: $UNIC_SOCKET, "
	  "else " UNIC_CTL_SOCKET ")",
	  0 },
	{ "nic", 'n', "NIC", 0,
	  "Its name or number in `unicctl nics' (default: the first); as "
	  "--socket PATH,NIC",
	  0 },
	{ "json", 'j', NULL, 0, "For programs", 0 },
	{ "follow", 'f', NULL, 0, "trace: go on until interrupted", 0 },
	{ "groups", 'g', "LIST", 0,
	  "trace: record mr, evict, token, qp, wire, cmd, ref; all or none",
	  0 },
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

static error_t parse_ctl_option(int key, char *arg, struct argp_state *state)
{
	struct ctl_options *o = state->input;

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
		o->weight = (int)number_need(state, arg, 0, INT32_MAX);
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
			argp_error(state, "%s: unknown trace group", arg);
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
		if (o->n_args == ARGS_MAX)
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

/* --------------------------------------------------------------- commands */

static int show_object(const struct ctl_options *o, struct json_object *obj,
		       const char *columns)
{
	if (!obj)
		return -1;
	if (o->json)
		ctl_print_json(obj, false);
	else if (json_object_is_type(obj, json_type_array))
		ctl_print_table(obj, columns);
	else
		ctl_print_object(obj);
	json_object_put(obj);
	return 0;
}

static int do_info(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_info(conn), NULL);
}

static int do_nics(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_nics(conn), "number name ipv4 state");
}

static int do_stats(struct unic_conn *conn, const struct ctl_options *o)
{
	struct json_object *obj = ctl_stats(conn);

	if (!obj || o->json)
		return show_object(o, obj, NULL);
	ctl_print_stats(obj, o->all);
	json_object_put(obj);
	return 0;
}

static int do_mr(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_table(conn, UNIC_TABLE_MR),
			   "mr gen stag proc kind dependents state class "
			   "residency "
			   "rights iova length "
			   "entries misses holds dmas uses bytes");
}

static int do_tlb(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_table(conn, UNIC_TABLE_TLB), NULL);
}

static int do_tokens(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_table(conn, UNIC_TABLE_TOKEN), NULL);
}

static int do_qp(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_table(conn, UNIC_TABLE_QP), NULL);
}

static int do_cq(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_table(conn, UNIC_TABLE_CQ), NULL);
}

static int do_dump(struct unic_conn *conn, const struct ctl_options *o)
{
	struct json_object *obj = ctl_dump(conn);

	if (!obj || o->json)
		return show_object(o, obj, NULL);
	ctl_dump_print(obj);
	json_object_put(obj);
	return 0;
}

static int do_ps(struct unic_conn *conn, const struct ctl_options *o)
{
	struct json_object *obj = ctl_ps(conn);
	struct json_object *list;

	if (!obj || o->json)
		return show_object(o, obj, NULL);
	json_object_object_get_ex(obj, "procs", &list);
	ctl_print_table(list, "proc pid name state held fair_share borrowed "
			      "wanted control mrs qps tokens notices late "
			      "upcalls deliver_max_us answer_mean_us "
			      "answer_max_us longest_wait_us weight quota "
			      "policy");
	json_object_object_get_ex(obj, "waiting", &list);
	if (json_object_array_length(list)) {
		printf("\nwaiting:\n");
		ctl_print_table(list, NULL);
	}
	json_object_put(obj);
	return 0;
}

static int do_uses(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_uses(conn), NULL);
}

static int do_histograms(struct unic_conn *conn, const struct ctl_options *o)
{
	struct json_object *list = ctl_histograms(conn);

	if (!list || o->json)
		return show_object(o, list, NULL);
	ctl_print_histograms(list);
	json_object_put(list);
	return 0;
}

static int do_params(struct unic_conn *conn, const struct ctl_options *o)
{
	struct unic_ctl_params rec = { .flags = unic_to_le32(o->uses) };

	if (!o->uses)
		return unic_fail(-EINVAL, "params: say --uses");
	return unic_conn_simple(conn, UNIC_CTL_PARAMS, &rec, "params");
}

static volatile int stopped;

static void ctl_on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void stop_on_signal(void)
{
	struct sigaction sa = { .sa_handler = ctl_on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

static int do_refs(struct unic_conn *conn)
{
	stop_on_signal();
	return ctl_refs(conn, stdout, &stopped);
}

static int do_trace(struct unic_conn *conn, const struct ctl_options *o)
{
	if (o->refs)
		return do_refs(conn);
	if (o->groups >= 0 && ctl_trace_set_groups(conn, o->groups))
		return -1;
	if (o->follow)
		stop_on_signal();
	if (o->perfetto)
		return ctl_perfetto(conn, o->perfetto, o->follow, &stopped);
	return ctl_trace_show(conn, o->json, o->follow, &stopped);
}

static int do_crash(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_crash(conn), NULL);
}

static int number_arg(const struct ctl_options *o, int i, uint32_t *out)
{
	uint64_t v;

	if (i >= o->n_args)
		return unic_fail(-EINVAL, "%s: a number is missing",
				 o->args[0]);
	if (number_parse(o->args[i], 0, UINT32_MAX, &v))
		return unic_fail(-EINVAL, "%s is no number", o->args[i]);
	*out = (uint32_t)v;
	return 0;
}

static int do_fault(struct unic_conn *conn, const struct ctl_options *o)
{
	static const char *const names[] = {
		[UNIC_FAULT_CRASH] = "crash",
		[UNIC_FAULT_DROP_RX] = "drop-rx",
		[UNIC_FAULT_DROP_EVENTS] = "drop-events",
	};
	struct unic_ctl_fault rec = { .fault = unic_to_le32(0) };
	uint32_t arg = 0;
	uint32_t i;

	for (i = UNIC_FAULT_CRASH; i <= UNIC_FAULT_DROP_EVENTS; i++) {
		if (o->n_args > 1 && !strcmp(o->args[1], names[i]))
			break;
	}
	if (i > UNIC_FAULT_DROP_EVENTS)
		return unic_fail(-EINVAL, "faults are crash, drop-rx N and "
					  "drop-events N");
	if (i != UNIC_FAULT_CRASH && number_arg(o, 2, &arg))
		return -1;
	rec.fault = unic_to_le32(i);
	rec.arg = unic_to_le32(arg);
	return unic_conn_simple(conn, UNIC_CTL_FAULT, &rec, "fault");
}

static int do_policy(struct unic_conn *conn, const struct ctl_options *o)
{
	struct unic_ctl_policy rec = { .proc = unic_to_le32(0) };
	uint32_t flags = 0;
	uint32_t proc;

	if (number_arg(o, 1, &proc))
		return -1;
	if (o->weight < 0 && o->quota < 0 && o->policy < 0)
		return unic_fail(-EINVAL, "policy: say --weight, --quota or "
					  "--policy; unicctl ps shows them");
	rec.proc = unic_to_le32(proc);
	if (o->weight >= 0)
		rec.weight = unic_to_le32((uint32_t)o->weight);
	if (o->quota >= 0) {
		rec.quota = unic_to_le32((uint32_t)o->quota);
		flags |= UNIC_CTL_POLICY_QUOTA;
	}
	if (o->policy >= 0) {
		rec.policy = unic_to_le32((uint32_t)o->policy);
		flags |= UNIC_CTL_POLICY_POLICY;
	}
	rec.flags = unic_to_le32(flags);
	return unic_conn_simple(conn, UNIC_CTL_POLICY, &rec, "policy");
}

static int do_rate(struct unic_conn *conn, const struct ctl_options *o)
{
	uint32_t proc;

	if (number_arg(o, 1, &proc))
		return -1;
	return show_object(o, ctl_rate(conn, proc, o->rate, o->burst), NULL);
}

static int do_limits(struct unic_conn *conn, const struct ctl_options *o)
{
	uint32_t proc = UNIC_CTL_LIMITS_ALL;

	if ((o->n_args < 2 || strcmp(o->args[1], "all")) &&
	    number_arg(o, 1, &proc))
		return -1;
	return show_object(o, ctl_limits(conn, proc, o->limit), NULL);
}

static int do_top(struct unic_conn *conn, const struct ctl_options *o)
{
	stop_on_signal();
	return ctl_top(conn, o->interval_ms, &stopped);
}

static int do_watch(struct unic_conn *conn, const struct ctl_options *o)
{
	stop_on_signal();
	return ctl_watch(conn, o->interval_ms, o->looks, o->json, &stopped);
}

static int do_events(struct unic_conn *conn, const struct ctl_options *o)
{
	stop_on_signal();
	return ctl_events(conn, o->json, &stopped);
}

static int do_metrics(struct unic_conn *conn, const struct ctl_options *o)
{
	(void)o;
	return ctl_metrics(conn, stdout);
}

static int do_reset(struct unic_conn *conn, const struct ctl_options *o)
{
	struct unic_ctl_plain rec = { 0 };

	(void)o;
	return unic_conn_simple(conn, UNIC_CTL_RESET, &rec, "reset");
}

static const struct command {
	const char *name;
	int (*run)(struct unic_conn *conn, const struct ctl_options *o);
	int args;  /* behind its name, at most */
	bool acts; /* prints no object */
} commands[] = {
	{ "info", do_info, 0, false },
	{ "stats", do_stats, 0, false },
	{ "ps", do_ps, 0, false },
	{ "mr", do_mr, 0, false },
	{ "tlb", do_tlb, 0, false },
	{ "tokens", do_tokens, 0, false },
	{ "qp", do_qp, 0, false },
	{ "cq", do_cq, 0, false },
	{ "trace", do_trace, 0, false },
	{ "crash", do_crash, 0, false },
	{ "uses", do_uses, 0, false },
	{ "params", do_params, 0, true },
	{ "nics", do_nics, 0, false },
	{ "fault", do_fault, 2, true },
	{ "policy", do_policy, 1, true },
	{ "rate", do_rate, 1, false },
	{ "limits", do_limits, 1, false },
	{ "histograms", do_histograms, 0, false },
	{ "reset", do_reset, 0, true },
	{ "metrics", do_metrics, 0, false },
	{ "dump", do_dump, 0, false },
	{ "top", do_top, 0, false },
	{ "watch", do_watch, 0, false },
	{ "events", do_events, 0, false },
};

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

/* Connect to the driver, and to its NIC that the options name. */
static int open_driver(const struct ctl_options *o, struct unic_conn **conn)
{
	const char *socket = o->socket ? o->socket : unic_conn_default();
	char where[UNIC_WHERE_MAX];
	int n = snprintf(where, sizeof(where), "%s,%s", socket,
			 o->nic ? o->nic : "");

	if (!o->nic)
		return unic_nics_open(socket, conn, NULL);
	if (n >= (int)sizeof(where))
		return unic_fail(-ENAMETOOLONG, "%s is too long", where);
	return unic_nics_open(where, conn, NULL);
}

int main(int argc, char **argv)
{
	static const struct argp argp = { argp_options,
					  parse_ctl_option,
					  "COMMAND [ARG]",
					  doc,
					  NULL,
					  NULL,
					  NULL };
	struct ctl_options o = { .weight = -1,
				 .quota = -1,
				 .policy = -1,
				 .rate = -1,
				 .burst = -1,
				 .groups = -1,
				 .interval_ms = 1000,
				 .limit = { -1, -1, -1 } };
	const struct command *cmd;
	struct unic_conn *conn;
	int err;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	cmd = find_command(o.args[0]);
	if (!cmd || o.n_args > 1 + cmd->args) {
		fprintf(stderr, "unicctl: %s %s; see unicctl --help\n",
			cmd ? "too many arguments for" : "no command",
			o.args[0]);
		return EX_USAGE;
	}
	err = open_driver(&o, &conn);
	if (!err) {
		err = cmd->run(conn, &o);
		unic_conn_close(conn);
	}
	if (err) {
		fprintf(stderr, "unicctl: %s\n", unic_last_error());
		return 1;
	}
	if (cmd->acts && o.json)
		puts("{\"ok\":true}");
	return output_end("unicctl", 0);
}
