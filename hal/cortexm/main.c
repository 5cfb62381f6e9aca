/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The firmware of a board with a Cortex-M: the core and its board. No other file
 * includes both.
 */
#include "crash.h"
#include "machine.h"
#include "command/dump.h"
#include "nic.h"

static struct unic_nic nic;

void crash_details(struct unic_crash *record)
{
	unic_dump_crash(&nic.command, record);
}

int main(void)
{
	const char *why;
	struct unic_port *port = machine_start(&why);

	if (!port) {
		machine_puts("unic: not started: ");
		machine_puts(why);
		machine_puts("\n");
		return 1;
	}
	unic_nic_init(&nic, port);
	machine_puts("unic: ready\n");
	for (;;) {
		uint64_t until_ns = unic_nic_poll(&nic);

		machine_turn(port);
		if (until_ns)
			machine_sleep(port, until_ns);
	}
}
