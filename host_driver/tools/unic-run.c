/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic-run - runs a program, also one that uses libibverbs, unchanged, on NICs of unic: those
 * of drivers that run, or one of its own for as long as the program lives.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output.h"
#include "run_host.h"
#include "run_net.h"
#include "run_place.h"
#include "run_tree.h"
#include "unic.h"
#include "unic_ctl.h"
#include "where.h"

struct options {
	const char *net; /* NULL: devices are named */
	struct run_device dev[RUN_DEVICES];
	unsigned int n;
	bool has_board;
	enum run_board board; /* of the host of its own */
	int verbose;
	char **command;
};

static volatile pid_t command; /* of the signal handler */

/* ---------------------------------------------------------------- options */

static const struct argp_option argp_options[] = {
	{ "net", 'n', "NAME", 0,
	  "a host of its own on the net NAME, for as long as PROGRAM runs "
	  "(default: net `default')",
	  0 },
	{ "board", 'b', "BOARD", 0,
	  "the board of that host's NIC: soft, a process, or virt, the "
	  "firmware in QEMU (default: soft)",
	  0 },
	{ "device", 'd', "NAME=SOCKET[,NIC]", 0,
	  "device NAME is a NIC of the driver at SOCKET, or at the device "
	  "/dev/unic; may be given twice",
	  0 },
	{ "verbose", 'v', NULL, 0, "say which devices there are, on stderr",
	  0 },
	{ 0 },
};

static void parse_device(struct options *o, const char *arg,
			 struct argp_state *state)
{
	const char *equals = strchr(arg, '=');
	size_t n = equals ? (size_t)(equals - arg) : 0;
	struct run_device *dev = &o->dev[o->n];
	size_t i;

	if (o->n == RUN_DEVICES)
		argp_error(state, "--device: %u at most", RUN_DEVICES);
	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)arg[i]) && arg[i] != '_')
			n = 0;
	if (!n || n >= RUN_NAME || isdigit((unsigned char)arg[0]) ||
	    !equals[1] || strlen(equals + 1) >= sizeof(dev->where))
		argp_error(state, "--device: NAME=SOCKET[,NIC], not %s", arg);
	memcpy(dev->name, arg, n);
	strcpy(dev->where, equals + 1);
	if (o->n++ && !strcmp(o->dev[0].name, dev->name))
		argp_error(state, "--device: %s is there twice", dev->name);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'n':
		if (!run_place_is_net(arg))
			argp_error(state,
				   "--net: letters, digits, - and _, 24 at "
				   "most, not `%s'",
				   arg);
		o->net = arg;
		return 0;
	case 'b':
		if (strcmp(arg, "soft") && strcmp(arg, "virt"))
			argp_error(state, "--board: soft or virt, not `%s'",
				   arg);
		o->has_board = true;
		o->board = strcmp(arg, "virt") ? RUN_SOFT : RUN_VIRT;
		return 0;
	case 'd':
		parse_device(o, arg, state);
		return 0;
	case 'v':
		o->verbose = 1;
		return 0;
	case ARGP_KEY_ARG:
		/* this one and all behind it */
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (!o->command)
			argp_error(state, "which program?");
		if (o->net && o->n)
			argp_error(state, "--net or --device, not both");
		if (o->has_board && o->n)
			argp_error(state, "--board or --device, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---------------------------------------------------------------- devices */

/* The program may go to another folder. */
static void make_absolute(struct run_device *dev)
{
	char path[UNIC_WHERE_MAX], full[PATH_MAX], rest[UNIC_WHERE_MAX];
	struct unic_ctl_select select;

	unic_where_split(dev->where, path, sizeof(path), &select);
	strcpy(rest, dev->where + strlen(path));
	if (!realpath(path, full) ||
	    strlen(full) + strlen(rest) >= sizeof(dev->where))
		return;
	strcpy(dev->where, full);
	strcat(dev->where, rest);
}

/* Store the address of @dev, whose driver must be there. */
static int query_device(struct run_device *dev)
{
	struct unic_nic_attr nic[UNIC_CTL_NICS_MAX];
	int n, i;

	make_absolute(dev);
	n = unic_list_nics(dev->where, nic, UNIC_CTL_NICS_MAX);
	if (n < 0) {
		fprintf(stderr, "unic-run: %s: %s\n", dev->name,
			unic_last_error());
		return -1;
	}
	for (i = 0; i < n; i++) {
		if (!nic[i].mine)
			continue;
		dev->ipv4 = nic[i].ipv4;
		if (nic[i].state == UNIC_CTL_NIC_READY)
			return 0;
	}
	fprintf(stderr, "unic-run: %s: the NIC at %s is not ready\n", dev->name,
		dev->where);
	return -1;
}

static int query_devices(struct options *o)
{
	const struct run_device *dev;
	unsigned int i;

	for (i = 0; i < o->n; i++) {
		dev = &o->dev[i];
		if (query_device(&o->dev[i]))
			return -1;
		if (o->verbose)
			fprintf(stderr, "unic-run: %s: %u.%u.%u.%u at %s\n",
				dev->name, dev->ipv4 >> 24,
				dev->ipv4 >> 16 & 0xff, dev->ipv4 >> 8 & 0xff,
				dev->ipv4 & 0xff, dev->where);
	}
	return 0;
}

/* ------------------------------------------------------------ environment */

/* Put @value before what variable @name has, with @mark between. */
static void prepend(const char *name, const char *value, const char *mark)
{
	const char *old = getenv(name);
	char *text;

	if (asprintf(&text, "%s%s%s", value, old && *old ? mark : "",
		     old ? old : "") < 0)
		return;
	setenv(name, text, 1);
	free(text);
}

/* The path of library @name of this release: @out, of PATH_MAX bytes. It is installed in a
 * folder of unic's own, and built beside libunic. 0, or -1 after a line on stderr. */
static int find_library(const char *name, char *out)
{
	static const char *const folders[] = { "../lib/unic", "../lib" };
	char file[64], path[RUN_PATH];
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(file, sizeof(file), "%s/%s", folders[i], name);
		run_program(file, path);
		if (realpath(path, out))
			return 0;
	}
	fprintf(stderr,
		"unic-run: %s: %s; it belongs to this program: install it "
		"again, or make programs\n",
		path, strerror(errno));
	return -1;
}

static int set_environment(const struct options *o, const char *tree)
{
	char provider[PATH_MAX], shim[PATH_MAX];

	if (find_library("libunic-rdmav34.so", provider) ||
	    find_library("libunic-shim.so", shim))
		return -1;
	setenv("SYSFS_PATH", tree, 1);
	setenv("UNIC_RUN_TREE", tree, 1);
	setenv("UNIC_SOCKET", o->dev[0].where, 1);
	/* libibverbs appends what it is, -rdmav34.so or another */
	*strrchr(provider, '-') = '\0';
	prepend(getenv("RDMAV_DRIVERS") ? "RDMAV_DRIVERS" : "IBV_DRIVERS",
		provider, ":");
	prepend("LD_PRELOAD", shim, ":");
	/* of libfabric, whose default of 256 peers makes ofi_rxm ask for longer completion queues than there
	 * are; a net has 7 hosts */
	setenv("FI_UNIVERSE_SIZE", "16", 0);
	return 0;
}

/* ---------------------------------------------------------------- program */

static void pass_on(int sig)
{
	if (command)
		kill(command, sig);
}

static void handle(int sig, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(sig, &sa, NULL);
}

/* The terminal sends the first two to the program, too. */
static void keep_running(void (*ignore)(int), void (*pass)(int))
{
	handle(SIGINT, ignore);
	handle(SIGQUIT, ignore);
	handle(SIGTERM, pass);
	handle(SIGHUP, pass);
}

static int run_program_of_user(char *const argv[])
{
	int status;
	pid_t pid;

	keep_running(SIG_IGN, pass_on);
	pid = fork();
	if (!pid) {
		keep_running(SIG_DFL, SIG_DFL);
		execvp(argv[0], argv);
		fprintf(stderr, "unic-run: %s: %s\n", argv[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	command = pid;
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		fprintf(stderr, "unic-run: %s\n", strerror(errno));
		return 1;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static int run(struct options *o)
{
	struct run_host host = { .socket = "" };
	struct run_net net;
	char dir[RUN_PATH], tree[RUN_PATH];
	int status = 1;

	if (!o->n && run_net_join(&net, o->net ? o->net : "default"))
		return 1;
	if (run_place_dir(dir))
		return 1;
	if (!o->n && !run_host_start(&host, &net, dir, o->board)) {
		strcpy(o->dev[0].name, "unic0");
		snprintf(o->dev[0].where, sizeof(o->dev[0].where), "%.127s",
			 host.socket);
		o->n = 1;
	}
	if (o->n && !query_devices(o) &&
	    !run_tree_make(dir, o->dev, o->n, tree) &&
	    !set_environment(o, tree))
		status = run_program_of_user(o->command);
	run_host_end(&host);
	run_place_remove(dir);
	return status;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options,
		parse_option,
		"PROGRAM [ARGUMENT...]",
		"Run PROGRAM on a host with a NIC of its own, or on NICs "
		"that run already. PROGRAM finds the first one by "
		"$UNIC_SOCKET, or all as devices of verbs (libibverbs).\v"
		"Examples, in two terminals:\n"
		"  unic-run --net lab ibv_rc_pingpong -g 0            server\n"
		"  unic-run --net lab ibv_rc_pingpong -g 0 localhost  client\n"
		"The exit status is that of PROGRAM; 128 and its number, if a "
		"signal ended it; 127 and 126, if it is not there or cannot be "
		"run; 1, if its NIC is not there.",
		NULL,
		NULL,
		NULL,
	};
	struct options o = { .net = NULL };

	output_watch();
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o))
		return 1;
	return run(&o);
}
