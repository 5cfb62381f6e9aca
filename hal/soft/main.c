// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic-nic - the soft NIC: the firmware as a process. It takes the same places
 * as a QEMU machine: a peer of unic-bus, the slots as DMA windows, a port of the
 * wire.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "crash.h"
#include "command/dump.h"
#include "nic.h"
#include "number.h"
#include "output.h"
#include "patience.h"
#include "say.h"
#include "soft_attach.h"

/* Poll rounds between two checks for signals and peers while the NIC is busy. */
#define POLLS_PER_CHECK 4096u

static struct unic_port port;
static struct unic_nic nic;

struct soft_options {
	struct soft_config config;
	uint8_t mac[6];
	uint32_t spin_us; /* 0: not said */
};

static const struct argp_option option_list[] = {
	{ "bus", 'b', "SOCKET", 0, "socket `nic' of unic-bus", 0 },
	{ "wire", 'l', "SOCKET", 0, "ivshmem socket of unic-wire", 0 },
	{ "mac", 'm', "MAC", 0, "our Ethernet address", 0 },
	{ "spin", 's', "US", 0,
	  "without work, look around for so long before sleeping (default: 20)",
	  0 },
	{ 0 }
};

static void parse_mac(struct argp_state *state, struct soft_options *o,
		      const char *text)
{
	unsigned int b[6];
	char rest;
	int i, n = sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &b[0], &b[1],
			  &b[2], &b[3], &b[4], &b[5], &rest);

	if (n != 6 || b[0] & 1)
		argp_error(state, "'%s' is not a unicast MAC", text);
	for (i = 0; i < 6; i++)
		o->mac[i] = (uint8_t)b[i];
	o->config.mac = o->mac;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct soft_options *o = state->input;

	switch (key) {
	case 'b':
		o->config.bus = arg;
		return 0;
	case 'l':
		o->config.wire = arg;
		return 0;
	case 'm':
		parse_mac(state, o, arg);
		return 0;
	case 's':
		o->spin_us = (uint32_t)number_need(state, arg, 1, 1000000);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "what is '%s'?", arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->config.bus)
			argp_error(state, "--bus is needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void crash_details(struct unic_crash *record)
{
	unic_dump_crash(&nic.command, record);
}

/* Polls until soft_port_check() reports an end; returns what it said. */
static int run_nic(void)
{
	uint32_t polls = 0;
	uint64_t until;
	int end = 0;

	while (!end) {
		until = unic_nic_poll(&nic);
		if (until)
			soft_port_sleep(&port, until);
		if (until || ++polls % POLLS_PER_CHECK == 0)
			end = soft_port_check(&port);
	}
	return end;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		option_list, parse_option, NULL, "A NIC that is a process.",
		NULL,	     NULL,	   NULL
	};
	struct soft_options o = { 0 };
	uint32_t wait_ms;
	int err;

	output_watch();
	say_rank();
	err = argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (err) {
		say(STDERR_FILENO, SD_ERR "unic-nic: options: %s",
		    strerror(err));
		return EXIT_FAILURE;
	}
	if (unic_patience_read(&wait_ms)) {
		say(STDERR_FILENO, SD_ERR "unic-nic: " UNIC_PATIENCE_WRONG,
		    unic_patience_text());
		return EXIT_FAILURE;
	}
	o.config.wait_ms = (int)wait_ms;
	if (soft_port_init(&port, &o.config))
		return EXIT_FAILURE;
	if (crash_arm(&port)) {
		say(STDERR_FILENO, SD_ERR "unic-nic: cannot catch signals: %s",
		    strerror(errno));
		return EXIT_FAILURE;
	}
	unic_nic_init(&nic, &port);
	if (o.spin_us)
		nic.spin_ns = o.spin_us * 1000;
	say(STDOUT_FILENO, "unic-nic: ready peer=%d windows=%u link=%s",
	    port.bus.id, port.windows.count, port.has_wire ? "up" : "none");
	(void)sd_notify(0, "READY=1");
	err = run_nic();
	soft_port_fini(&port);
	return err < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
