/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unicctl - show the state of a NIC and its driver, and set parameters.
 */
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
#include "ctl_options.h"
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
#include "patience.h"
#include "unic.h"
#include "unic_stats.h"
#include "where.h"

/* The exit status of a command that fails: EX_USAGE if its words are wrong, EX_IOERR if its
 * output could not be written. */
static int failure = EXIT_FAILURE;

#define MISUSE(...) (failure = EX_USAGE, unic_fail(-EINVAL, __VA_ARGS__))

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
			      "grace_left_us upcalls deliver_max_us "
			      "answer_mean_us "
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
		return MISUSE("params: say --uses");
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
	if (o->refs && (o->perfetto || o->groups >= 0 || o->json))
		return MISUSE("trace: --refs prints references as CSV, and "
			      "nothing else");
	if (o->perfetto && o->json)
		return MISUSE("trace: --perfetto writes JSON of its own: "
			      "leave out --json");
	if (o->refs)
		return do_refs(conn);
	if (o->groups >= 0 && ctl_trace_set_groups(conn, o->groups))
		return -1;
	if (o->follow)
		stop_on_signal();
	if (o->perfetto) {
		int err = ctl_perfetto(conn, o->perfetto, o->follow, &stopped);

		failure = err == -EIO ? EX_IOERR : failure;
		return err;
	}
	return ctl_trace_show(conn, o->json, o->follow, &stopped);
}

static int do_crash(struct unic_conn *conn, const struct ctl_options *o)
{
	return show_object(o, ctl_crash(conn), NULL);
}

/* What the number of a command stands for. */
static const char *number_of(const struct ctl_options *o)
{
	return strcmp(o->args[0], "fault") ? "that of a process in `unicctl ps'"
					   : "of how many to lose";
}

static int number_arg(const struct ctl_options *o, int i, uint32_t *out)
{
	uint64_t v;

	if (i >= o->n_args)
		return MISUSE("%s: which number? %s", o->args[0], number_of(o));
	if (number_parse(o->args[i], 0, UINT32_MAX, &v))
		return MISUSE("%s: %s is no number; %s", o->args[0], o->args[i],
			      number_of(o));
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
		return MISUSE("faults are crash, drop-rx N and "
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
		return MISUSE("policy: say --weight, --quota or "
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
	int args;	     /* behind its name, at most */
	bool acts;	     /* prints no object */
	const char *options; /* that it takes, besides -s and -n */
} commands[] = {
	{ "info", do_info, 0, false, "j" },
	{ "stats", do_stats, 0, false, "ja" },
	{ "ps", do_ps, 0, false, "j" },
	{ "mr", do_mr, 0, false, "j" },
	{ "tlb", do_tlb, 0, false, "j" },
	{ "tokens", do_tokens, 0, false, "j" },
	{ "qp", do_qp, 0, false, "j" },
	{ "cq", do_cq, 0, false, "j" },
	{ "trace", do_trace, 0, false, "jfgrP" },
	{ "crash", do_crash, 0, false, "j" },
	{ "uses", do_uses, 0, false, "j" },
	{ "params", do_params, 0, true, "ju" },
	{ "nics", do_nics, 0, false, "j" },
	{ "fault", do_fault, 2, true, "j" },
	{ "policy", do_policy, 1, true, "jwqp" },
	{ "rate", do_rate, 1, false, "jRB" },
	{ "limits", do_limits, 1, false, "jL" },
	{ "histograms", do_histograms, 0, false, "j" },
	{ "reset", do_reset, 0, true, "j" },
	{ "metrics", do_metrics, 0, false, "" },
	{ "dump", do_dump, 0, false, "j" },
	{ "top", do_top, 0, false, "i" },
	{ "watch", do_watch, 0, false, "jic" },
	{ "events", do_events, 0, false, "j" },
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
static int try_driver(const struct ctl_options *o, struct unic_conn **conn)
{
	const char *socket = o->socket ? o->socket : unic_conn_default();
	char where[UNIC_WHERE_MAX];
	int n = snprintf(where, sizeof(where), "%s,%s", socket,
			 o->nic ? o->nic : "");

	if (!o->nic)
		return unic_nics_open(socket, conn, NULL);
	if (!*o->nic)
		return MISUSE("--nic: which? `unicctl nics' lists them");
	if (n >= (int)sizeof(where))
		return unic_fail(-ENAMETOOLONG, "%s is too long", where);
	return unic_nics_open(where, conn, NULL);
}

/* ... which may be starting: waits as long as the environment says. */
static int open_driver(const struct ctl_options *o, struct unic_conn **conn)
{
	uint64_t end;
	uint32_t ms;
	int err;

	if (unic_patience_read(&ms))
		return unic_fail(-EINVAL, UNIC_PATIENCE_WRONG,
				 unic_patience_text());
	end = unic_patience_end(ms);
	do {
		err = try_driver(o, conn);
	} while (err && unic_patience_again(err, end, -1));
	return err;
}

/* What is wrong with the command line beyond its grammar; NULL: nothing. */
static const char *find_fault(const struct command *cmd,
			      const struct ctl_options *o)
{
	static char text[80];
	const char *option;

	if (!cmd)
		return "no such command";
	if (o->n_args > 1 + cmd->args)
		return "too many arguments";
	option = ctl_options_unused(o, cmd->options);
	if (!option)
		return NULL;
	snprintf(text, sizeof(text), "takes no --%s", option);
	return text;
}

static int run_ctl_command(const struct command *cmd,
			   const struct ctl_options *o)
{
	struct unic_conn *conn;
	int err = open_driver(o, &conn);

	if (!err) {
		err = cmd->run(conn, o);
		unic_conn_close(conn);
	}
	if (!err)
		return 0;
	fprintf(stderr, "unicctl: %s\n", unic_last_error());
	return failure;
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	struct ctl_options o;
	const char *fault;
	int status;

	output_watch();
	ctl_options_parse(&o, argc, argv);
	cmd = find_command(o.args[0]);
	fault = find_fault(cmd, &o);
	if (fault) {
		fprintf(stderr, "unicctl: %s: %s; see unicctl --help\n",
			o.args[0], fault);
		return EX_USAGE;
	}
	status = run_ctl_command(cmd, &o);
	if (status)
		return status;
	if (cmd->acts && o.json)
		puts("{\"ok\":true}");
	return 0;
}
