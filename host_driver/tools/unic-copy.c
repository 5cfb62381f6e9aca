/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic-copy - move a file between two hosts, by RDMA or by remote procedure calls with
 * payload tokens, also when other processes fill the NIC TLB.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_client.h"
#include "copy_server.h"
#include "error.h"
#include "given.h"
#include "number.h"
#include "output.h"
#include "socket_option.h"
#include "target_file.h"

#define TIMEOUT_MAX_S 600u

enum command {
	CMD_NONE,
	CMD_SERVE,
	CMD_PUT,
	CMD_GET,
};

struct copy_options {
	enum command cmd;
	const char *socket;
	const char *file;
	const char *dir;
	const char *name;
	const char *out;
	uint32_t peer;
	enum copy_mode mode;
	unsigned int residency;	 /* enum unic_residency */
	unsigned int timeout_ms; /* 0: the usual ones */
	bool quiet, stats, keep, lines;
	struct given given;
};

static volatile int stop;

static void copy_on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static const char doc[] = "Move a file between two hosts over unic.\v"
			  "  unic-copy serve --dir DIR            answer "
			  "requests until SIGTERM\n"
			  "  unic-copy put FILE --peer IP         send FILE "
			  "(as its name, or "
			  "--name)\n"
			  "  unic-copy get NAME --peer IP -o OUT  fetch NAME\n";

static const struct argp_option argp_options[] = {
	SOCKET_OPTION,
	{ "peer", 'p', "IP", 0, "put, get: address of the other host's NIC",
	  0 },
	{ "mode", 'm', "rdma|rpc", 0,
	  "put, get: RDMA READ and WRITE, or calls with payload tokens "
	  "(default: rdma)",
	  0 },
	{ "residency", 'r', "MODE", 0,
	  "Of the buffers: resident, demand or table (default: resident)", 0 },
	{ "dir", 'd', "DIR", 0, "serve: folder of the files (default: .)", 0 },
	{ "name", 'n', "NAME", 0, "put: name at the server", 0 },
	{ "output", 'o', "FILE", 0, "get: where to put it (default: NAME)", 0 },
	{ "timeout", 't', "SECONDS", 0,
	  "Longest time in which nothing comes; more over a slow board "
	  "(default: 30 for a message, 10 for a part of a block)",
	  0 },
	{ "keep", 'k', NULL, 0,
	  "Go on after a reset of the NIC or a restart of the driver (both "
	  "ends)",
	  0 },
	{ "quiet", 'q', NULL, 0, "Only the result", 0 },
	{ "progress", 'P', NULL, 0,
	  "put, get: how far it is also where no terminal is, in lines", 0 },
	{ "stats", 'S', NULL, 0, "Counters of the buffer manager at the end",
	  0 },
	{ 0 }
};

static enum command parse_command(const char *text)
{
	if (!strcmp(text, "serve"))
		return CMD_SERVE;
	if (!strcmp(text, "put"))
		return CMD_PUT;
	return strcmp(text, "get") ? CMD_NONE : CMD_GET;
}

static void parse_copy_arg(struct copy_options *o, char *arg,
			   struct argp_state *state)
{
	if (state->arg_num == 0) {
		o->cmd = parse_command(arg);
		if (o->cmd == CMD_NONE)
			argp_error(state, "serve, put or get, not %s", arg);
	} else if (state->arg_num == 1 && o->cmd != CMD_SERVE) {
		o->file = arg;
	} else {
		argp_error(state, "%s: too many arguments", arg);
	}
}

static void parse_residency(struct copy_options *o, const char *arg,
			    struct argp_state *state)
{
	static const char *const names[] = {
		[UNIC_RESIDENT] = "resident",
		[UNIC_DEMAND] = "demand",
		[UNIC_TABLE] = "table",
	};

	for (o->residency = 0; o->residency <= UNIC_TABLE; o->residency++)
		if (!strcmp(arg, names[o->residency]))
			return;
	argp_error(state, "--residency=resident, demand or table");
}

static void check_copy(struct argp_state *state, const struct copy_options *o)
{
	static const struct {
		const char *name, *options;
	} takes[] = { [CMD_SERVE] = { "serve", "sdrtkqS" },
		      [CMD_PUT] = { "put", "spmrntkqPS" },
		      [CMD_GET] = { "get", "spmrotkqPS" } };

	if (o->cmd == CMD_NONE)
		argp_usage(state);
	given_check(state, &o->given, argp_options, takes[o->cmd].name,
		    takes[o->cmd].options);
	if (o->cmd == CMD_SERVE)
		return;
	if (o->quiet && o->lines)
		argp_error(state, "--quiet and --progress: only one of them");
	if (!o->file)
		argp_error(state, "which file?");
	if (!o->peer)
		argp_error(state, "--peer says where the other host is");
}

static error_t parse_copy_option(int key, char *arg, struct argp_state *state)
{
	struct copy_options *o = state->input;

	given_note(state, &o->given, key, (char)key);
	switch (key) {
	case 's':
		o->socket = arg;
		return 0;
	case 'p':
		if (unic_parse_ipv4(arg, &o->peer))
			argp_error(state, "%s", unic_last_error());
		return 0;
	case 'm':
		if (!strcmp(arg, "rdma"))
			o->mode = COPY_RDMA;
		else if (!strcmp(arg, "rpc"))
			o->mode = COPY_RPC;
		else
			argp_error(state, "--mode=rdma or rpc");
		return 0;
	case 'r':
		parse_residency(o, arg, state);
		return 0;
	case 'd':
		o->dir = arg;
		return 0;
	case 'n':
		o->name = arg;
		return 0;
	case 'o':
		o->out = arg;
		return 0;
	case 't':
		o->timeout_ms = 1000 * (unsigned)number_need(state, arg, 1,
							     TIMEOUT_MAX_S);
		return 0;
	case 'k':
		o->keep = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'P':
		o->lines = true;
		return 0;
	case 'S':
		o->stats = true;
		return 0;
	case ARGP_KEY_ARG:
		parse_copy_arg(o, arg, state);
		return 0;
	case ARGP_KEY_END:
		check_copy(state, o);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What the file is to be called at the server, if that is given; it is named by its last part
 * alone. */
static const char *name_there(const struct copy_options *o)
{
	return o->cmd == CMD_GET ? o->file : o->name;
}

static int run_transfer(struct copy_peer *p, const struct copy_options *o)
{
	struct copy_job job = {
		.what = o->cmd == CMD_PUT ? COPY_PUT : COPY_GET,
		.mode = o->mode,
		.path = o->file,
		.ipv4 = o->peer,
		.progress = o->quiet   ? PROGRESS_NONE
			    : o->lines ? PROGRESS_LINES
				       : PROGRESS_USUAL,
	};
	const char *name = target_file_name(o->name ? o->name : o->file);

	if (*name && name_there(o) && strchr(name_there(o), '/'))
		return unic_fail(-EINVAL,
				 "%s: the other host serves one folder: a name "
				 "has no /",
				 name_there(o));
	if (strlen(name) >= sizeof(job.name))
		return unic_fail(-ENAMETOOLONG,
				 "%s: names have %zu characters at most%s",
				 name, sizeof(job.name) - 1,
				 o->cmd == CMD_PUT ? ": give another --name"
						   : "");
	if (!*name)
		return unic_fail(-EINVAL, "%s: which file?", o->file);
	strcpy(job.name, name);
	if (o->cmd == CMD_GET)
		job.path = o->out ? o->out : name;
	return copy_client(p, &job);
}

static void print_stats(struct copy_peer *p)
{
	struct unic_bm_stats s;

	unic_bm_query(p->bm, &s);
#define SHOW(name, what)                                       \
	if (s.name)                                            \
		printf("unic-copy: %-15s %10llu  %s\n", #name, \
		       (unsigned long long)s.name, what);
	UNIC_BM_COUNTERS(SHOW)
#undef SHOW
}

int main(int argc, char **argv)
{
	static const struct argp argp = { argp_options,
					  parse_copy_option,
					  "serve | put FILE | get NAME",
					  doc,
					  NULL,
					  NULL,
					  NULL };
	struct copy_options o = { .mode = COPY_RDMA, .dir = "." };
	struct sigaction sa = { .sa_handler = copy_on_signal };
	struct copy_peer p;
	int err;

	output_watch();
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.cmd == CMD_SERVE) {
		sigaction(SIGTERM, &sa, NULL);
		sigaction(SIGINT, &sa, NULL);
	}
	err = copy_peer_open(&p, o.socket, o.residency, o.quiet, o.keep);
	p.timeout_ms = o.timeout_ms;
	if (!err)
		err = o.cmd == CMD_SERVE ? copy_server(&p, o.dir, &stop)
					 : run_transfer(&p, &o);
	if (o.stats && p.bm)
		print_stats(&p);
	fflush(stdout);
	if (err)
		fprintf(stderr, "unic-copy: %s\n",
			*unic_last_error() ? unic_last_error()
					   : strerror(-err));
	copy_peer_close(&p);
	return err ? 1 : 0;
}
