// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "output.h"
#include "options.h"

#define DEFAULT_NICS	   3
#define DEFAULT_SLOTS	   128
#define DEFAULT_SLOT_BYTES 4224 /* frames of path MTU 4096 */
#define DEFAULT_AGE_S	   300
#define DEFAULT_SPIN_US	   20

enum {
	KEY_LOSS = 0x100,
	KEY_DUP,
	KEY_REORDER,
	KEY_CORRUPT,
	KEY_DELAY,
	KEY_SEED,
	KEY_AGE,
	KEY_SPIN,
	KEY_ICRC,
	KEY_SLOTS,
	KEY_SLOT_BYTES,
	KEY_DGRAM,
	KEY_STREAM,
	KEY_LAN,
	KEY_STATS,
};

static const struct argp_option option_list[] = {
	{ "dir", 'd', "DIR", 0, "Directory of the sockets (made if missing)",
	  0 },
	{ "nics", 'n', "N", 0,
	  "Ports of the shared-memory link, 1 to 7 (default: 3)", 0 },
	{ "dgram", KEY_DGRAM, "LOCAL,REMOTE", 0,
	  "Port for -netdev dgram: our socket and QEMU's; repeatable", 0 },
	{ "stream", KEY_STREAM, "PATH", 0,
	  "Port for -netdev stream: listen here; repeatable", 0 },
	{ "lan", KEY_LAN, "PATH", 0,
	  "As --stream, at 100 Mbit/s, for a device with little room", 0 },
	{ "direct", 'D', NULL, 0,
	  "Let NICs of the link talk past the switch (no capture, no faults)",
	  0 },
	{ "icrc", KEY_ICRC, NULL, 0, "NICs of the link compute ICRCs too", 0 },
	{ "pcap", 'p', "FILE", 0, "Capture what comes in", 0 },
	{ "stats", KEY_STATS, "FILE", 0,
	  "Write counters (JSON) at the end and on SIGUSR1", 0 },
	{ "loss", KEY_LOSS, "[PORT=]RATE", 0,
	  "Lose frames (of PORT): '1%' or '0.01'; ports 1..7: NICs, "
	  "8..: sockets in the order given",
	  1 },
	{ "dup", KEY_DUP, "[PORT=]RATE", 0, "Deliver frames twice", 1 },
	{ "reorder", KEY_REORDER, "[PORT=]RATE", 0,
	  "Let the next frame overtake", 1 },
	{ "corrupt", KEY_CORRUPT, "[PORT=]RATE", 0, "Flip a bit", 1 },
	{ "delay-us", KEY_DELAY, "[PORT=]US", 0, "Delay every frame", 1 },
	{ "seed", KEY_SEED, "N", 0, "Seed of the faults (default: 1)", 1 },
	{ "age-s", KEY_AGE, "S", 0,
	  "Forget silent stations after (default: 300)", 2 },
	{ "spin-us", KEY_SPIN, "US", 0,
	  "Poll that long before sleeping (default: 20)", 2 },
	{ "link-slots", KEY_SLOTS, "N", 0, "Frames per ring (default: 128)",
	  2 },
	{ "link-slot-bytes", KEY_SLOT_BYTES, "N", 0,
	  "Bytes per frame, 18 of header included (default: 4224)", 2 },
	{ 0 }
};

/* "1%" or "0.01" of 2^32. */
static uint32_t parse_rate(struct argp_state *state, const char *text)
{
	double v = number_need_decimal(state, text, 0, 1);

	return v >= 1 ? UINT32_MAX : (uint32_t)(v * 4294967296.0);
}

static void set_rate(struct faults_rates *r, int key, uint32_t v)
{
	if (key == KEY_LOSS)
		r->loss = v;
	else if (key == KEY_DUP)
		r->dup = v;
	else if (key == KEY_REORDER)
		r->reorder = v;
	else if (key == KEY_CORRUPT)
		r->corrupt = v;
	else
		r->delay_us = v;
}

/* [PORT=]VALUE */
static void parse_fault(struct argp_state *state, int key, char *arg)
{
	struct wire_options *o = state->input;
	char *value = strchr(arg, '=');
	int p, first = 1, last = WIRE_PORTS - 1;
	uint32_t v;

	if (value) {
		*value++ = '\0';
		first = last = (int)number_need(state, arg, 1, WIRE_PORTS - 1);
		o->named |= 1u << first;
	} else {
		value = arg;
	}
	v = key == KEY_DELAY ? (uint32_t)number_need(state, value, 0, 10000000)
			     : parse_rate(state, value);
	for (p = first; p <= last; p++)
		set_rate(&o->rates[p], key, v);
	o->faults |= v != 0;
}

static void add_socket(struct argp_state *state, int key, char *arg)
{
	struct wire_options *o = state->input;
	struct socket_option *so = &o->sock[o->socks];
	char *comma = strchr(arg, ',');

	if (o->socks == WIRE_SOCKS)
		argp_error(state, "at most %d socket ports", WIRE_SOCKS);
	so->path = arg;
	so->lan = key == KEY_LAN;
	if (key == KEY_DGRAM) {
		if (!comma || !comma[1] || comma == arg)
			argp_error(state, "--dgram wants LOCAL,REMOTE");
		*comma = '\0';
		so->remote = comma + 1;
	}
	o->socks++;
}

/* Is there a port @p? Those of NICs begin with 1. */
static bool has_port(const struct wire_options *o, int p)
{
	return p < WIRE_FIRST_SOCK ? p >= 1 && p <= (int)o->shape.nics
				   : p < WIRE_FIRST_SOCK + o->socks;
}

/* A port may be named before the option that makes it. */
static void check_ports(struct argp_state *state, const struct wire_options *o)
{
	int p;

	for (p = 0; p < WIRE_PORTS; p++) {
		if (o->named & 1u << p && !has_port(o, p))
			argp_error(state,
				   "there is no port %d: NICs have 1 to %u, "
				   "sockets 8 and more, in the order given",
				   p, o->shape.nics);
	}
}

static void check_wire_options(struct argp_state *state,
			       const struct wire_options *o)
{
	const struct link_shape *s = &o->shape;

	if (!o->dir)
		argp_error(state, "--dir is needed");
	if (s->nics < 1 || s->nics >= UNIC_LINK_PORTS_MAX)
		argp_error(state, "--nics: 1 to %u", UNIC_LINK_PORTS_MAX - 1);
	if (s->slots < 2 || s->slots & (s->slots - 1))
		argp_error(state, "--link-slots: a power of two");
	if (s->slot_bytes < 128 || s->slot_bytes % 64)
		argp_error(state, "--link-slot-bytes: a multiple of 64");
	if ((s->flags & UNIC_LINK_DIRECT) && (o->faults || o->pcap))
		argp_error(state, "--direct lets NICs talk past the switch, so "
				  "it "
				  "cannot be combined with --pcap or with "
				  "faults "
				  "(--loss, --dup, --reorder, --corrupt, "
				  "--delay-us)");
	check_ports(state, o);
}

static error_t parse_number(int key, char *arg, struct argp_state *state)
{
	struct wire_options *o = state->input;

	switch (key) {
	case 'n':
		o->shape.nics = (uint32_t)number_need(state, arg, 0, 7);
		return 0;
	case KEY_SEED:
		o->seed = number_need(state, arg, 0, UINT64_MAX);
		return 0;
	case KEY_AGE:
		o->age_s = number_need(state, arg, 0, 1000000000);
		return 0;
	case KEY_SPIN:
		o->spin_us = number_need(state, arg, 0, 1000000);
		return 0;
	case KEY_SLOTS:
		o->shape.slots = (uint32_t)number_need(state, arg, 0, 65536);
		return 0;
	case KEY_SLOT_BYTES:
		o->shape.slot_bytes =
			(uint32_t)number_need(state, arg, 0, 16384);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct wire_options *o = state->input;

	switch (key) {
	case 'd':
		o->dir = arg;
		return 0;
	case 'p':
		o->pcap = arg;
		return 0;
	case KEY_STATS:
		o->stats = arg;
		return 0;
	case 'D':
		o->shape.flags |= UNIC_LINK_DIRECT;
		return 0;
	case KEY_ICRC:
		o->shape.flags &= ~UNIC_LINK_NO_ICRC;
		return 0;
	case KEY_DGRAM:
	case KEY_STREAM:
	case KEY_LAN:
		add_socket(state, key, arg);
		return 0;
	case KEY_LOSS:
	case KEY_DUP:
	case KEY_REORDER:
	case KEY_CORRUPT:
	case KEY_DELAY:
		parse_fault(state, key, arg);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "what is '%s'?", arg);
		return 0;
	case ARGP_KEY_END:
		check_wire_options(state, o);
		return 0;
	default:
		return parse_number(key, arg, state);
	}
}

void wire_options_parse(struct wire_options *o, int argc, char **argv)
{
	static const struct argp argp = { option_list,
					  parse_option,
					  NULL,
					  "A learning switch between NICs of "
					  "one machine.",
					  NULL,
					  NULL,
					  NULL };

	output_watch();
	memset(o, 0, sizeof(*o));
	o->shape = (struct link_shape){ .nics = DEFAULT_NICS,
					.slots = DEFAULT_SLOTS,
					.slot_bytes = DEFAULT_SLOT_BYTES,
					.flags = UNIC_LINK_NO_ICRC };
	o->seed = 1;
	o->age_s = DEFAULT_AGE_S;
	o->spin_us = DEFAULT_SPIN_US;
	argp_parse(&argp, argc, argv, 0, NULL, o);
}
