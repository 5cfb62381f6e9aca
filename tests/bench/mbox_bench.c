/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mbox-bench - command round trip host -> firmware -> host: attaches to
 * unic-bus as its driver and sends NOPs, polled and blocked, next to the
 * yardstick `line` in the same run.
 *
 *	mbox-bench DIR      prints one JSON object
 */
#include <stdio.h>

#include "driver.h"
#include "yard.h"

#define ROUNDS	  7
#define POLLED_N  2000u
#define BLOCKED_N 200u

/* The median, as for the yardstick, so that trips during which another
 * process had the processor do not count. */
static double round_trip_ns(struct driver *d, uint32_t n, bool blocked)
{
	struct unic_cmd_nop cmd = { .hdr = { .opcode = UNIC_CMD_NOP } };
	static double v[POLLED_N];
	uint64_t t;
	uint32_t i;

	for (i = 0; i < n; i++) {
		t = yard_now_ns();
		driver_send(d, &cmd);
		driver_await(d, blocked);
		v[i] = (double)(yard_now_ns() - t);
	}
	return yard_median(v, n);
}

int main(int argc, char **argv)
{
	struct driver d;
	double line[ROUNDS], polled[ROUNDS], blocked[ROUNDS];
	int i;

	if (argc != 2) {
		fprintf(stderr, "usage: mbox-bench DIR (of unic-bus)\n");
		return 2;
	}
	driver_attach(&d, argv[1]);
	round_trip_ns(&d, POLLED_N, false);
	for (i = 0; i < ROUNDS; i++) {
		line[i] = yard_line_ns(POLLED_N);
		polled[i] = round_trip_ns(&d, POLLED_N, false);
		blocked[i] = round_trip_ns(&d, BLOCKED_N, true);
	}
	printf("{\"line_ns\": %.1f, \"command_polled_ns\": %.1f, "
	       "\"command_blocked_ns\": %.1f}\n",
	       yard_median(line, ROUNDS), yard_median(polled, ROUNDS),
	       yard_median(blocked, ROUNDS));
	return 0;
}
