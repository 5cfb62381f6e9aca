/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_args.c - see kio_args.h.
 */
#include "kio_args.h"

#include <argp.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "socket_option.h"

static const char doc[] =
	"Files that the driver of another host exports (unicd --kio-export), "
	"through the driver of this one.\v"
	"  unic-kio get HOST:FILE [LOCAL]   fetch FILE (as its own name; -: to "
	"stdout)\n"
	"  unic-kio put LOCAL HOST:FILE     send it (HOST:FOLDER/: as its own "
	"name)\n"
	"  unic-kio ls HOST:[FOLDER]        what is exported there\n"
	"  unic-kio state                   counters of the service here\n"
	"HOST is the IPv4 address of that host's NIC. get leaves nothing "
	"behind when it fails; of put, what is there then is not known.\n";

static const struct argp_option argp_options[] = {
	SOCKET_OPTION,
	{ "timeout", 't', "SECONDS", 0,
	  "For each request, connecting again included (default: 10)", 0 },
	{ "data", 'd', "token|rdma", 0,
	  "How the bytes get from driver to driver (default: as unicd was "
	  "told)",
	  0 },
	{ "quiet", 'q', NULL, 0, "Nothing but errors", 0 },
	{ 0 }
};

static void parse_data(struct kio_options *o, const char *arg,
		       struct argp_state *state)
{
	if (!strcmp(arg, "token"))
		o->peer.data = UNIC_CTL_KIO_TOKEN;
	else if (!strcmp(arg, "rdma"))
		o->peer.data = UNIC_CTL_KIO_RDMA;
	else
		argp_error(state, "--data: token or rdma, not %s", arg);
}

static bool is_command(const struct kio_options *o, const char *name)
{
	return !strcmp(o->command->name, name);
}

static void find_command_of(struct kio_options *o, const char *name,
			    struct argp_state *state)
{
	size_t i;

	for (i = 0; i < o->n_commands; i++) {
		if (!strcmp(o->commands[i].name, name))
			o->command = &o->commands[i];
	}
	if (!o->command)
		argp_error(state, "get, put, ls or state, not %s", name);
}

static void parse_kio_arg(struct kio_options *o, char *arg,
			  struct argp_state *state)
{
	if (!o->command)
		find_command_of(o, arg, state);
	else if (is_command(o, "put") && !o->local)
		o->local = arg;
	else if (!o->remote && !is_command(o, "state"))
		o->remote = arg;
	else if (!o->local && is_command(o, "get"))
		o->local = arg;
	else
		argp_error(state, "%s: too many arguments", arg);
}

/* Split HOST:NAME in place. */
static void parse_remote(struct kio_options *o, struct argp_state *state)
{
	char *colon = o->remote ? strchr(o->remote, ':') : NULL;
	struct in_addr in;

	if (!colon)
		argp_error(state, "%s needs a HOST:%s", o->command->name,
			   is_command(o, "ls") ? "[FOLDER]" : "FILE");
	*colon = '\0';
	if (inet_pton(AF_INET, o->remote, &in) != 1)
		argp_error(state, "%s is not the IPv4 address of a NIC",
			   o->remote);
	o->peer.host = o->remote;
	o->peer.ipv4 = ntohl(in.s_addr);
	o->remote = colon + 1;
	if (!*o->remote && is_command(o, "get"))
		argp_error(state, "get %s: which file?", o->peer.host);
	if (strlen(o->remote) > UNIC_CTL_KIO_NAME_MAX)
		argp_error(state, "%s: more than %u characters", o->remote,
			   UNIC_CTL_KIO_NAME_MAX);
}

static error_t parse_kio_option(int key, char *arg, struct argp_state *state)
{
	struct kio_options *o = state->input;

	given_note(state, &o->given, key, (char)key);
	switch (key) {
	case 's':
		o->peer.socket = arg;
		return 0;
	case 't':
		o->peer.timeout_ms =
			(uint32_t)(1000 *
				   number_need_decimal(
					   state, arg, 0.001,
					   UNIC_CTL_KIO_TIMEOUT_MAX / 1000.0));
		return 0;
	case 'd':
		parse_data(o, arg, state);
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		parse_kio_arg(o, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!o->command)
			argp_usage(state);
		given_check(state, &o->given, argp_options, o->command->name,
			    o->command->takes);
		if (!is_command(o, "state"))
			parse_remote(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void kio_args_parse(struct kio_options *o, int argc, char **argv)
{
	static const struct argp argp = { argp_options,
					  parse_kio_option,
					  "get HOST:FILE [LOCAL] | put LOCAL "
					  "HOST:FILE | ls HOST:[FOLDER] | "
					  "state",
					  doc,
					  NULL,
					  NULL,
					  NULL };
	const char *env = getenv("UNIC_SOCKET");

	o->peer.fd = -1;
	o->peer.socket = env && *env ? env : UNIC_CTL_SOCKET;
	o->peer.timeout_ms = UNIC_CTL_KIO_TIMEOUT_MS;
	argp_parse(&argp, argc, argv, 0, NULL, o);
}
