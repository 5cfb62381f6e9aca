/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* options.h - the command line of unic-wire. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "faults.h"
#include "link_side.h"

struct socket_option {
	const char *path;
	const char *remote; /* dgram; NULL: stream */
	bool lan;	    /* stream with a pace */
};

struct wire_options {
	const char *dir;
	const char *pcap;  /* NULL: no capture */
	const char *stats; /* NULL: stdout, on SIGUSR1 only */
	struct link_shape shape;
	struct socket_option sock[WIRE_SOCKS];
	int socks;
	/* by the port that frames come from */
	struct faults_rates rates[WIRE_PORTS];
	bool faults;	/* any rate was given */
	uint32_t named; /* a bit for each port that a fault names */
	uint64_t seed;
	uint64_t age_s;
	uint64_t spin_us;
};

/**
 * wire_options_parse() - the command line @argv of @argc words, and defaults,
 * into @o, whose texts point into @argv. Ends the process, with a message, on an
 * invalid option.
 */
void wire_options_parse(struct wire_options *o, int argc, char **argv);

#endif /* OPTIONS_H */
