/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The firmware: the core and its board, together. Nothing else sees both.
 */
#include "clock.h"
#include "crash.h"
#include "memlayout.h"
#include "command/dump.h"
#include "nic.h"
#include "pl011.h"

#define ROUNDS_PER_REFRESH 1024u

static struct unic_port port;
static struct unic_nic nic;

void crash_details(struct unic_crash *record)
{
	unic_dump_crash(&nic.command, record);
}

int main(void)
{
	const char *why = virt_port_init(&port);

	if (why) {
		pl011_puts(VIRT_UART, "unic: not started: ");
		pl011_puts(VIRT_UART, why);
		pl011_puts(VIRT_UART, "\n");
		return 1;
	}
	crash_arm(&port, VIRT_GUARD, VIRT_RAM - VIRT_GUARD);
	unic_nic_init(&nic, &port);
	pl011_puts(VIRT_UART, "unic: ready\n");
	for (uint32_t round = 0;; round++) {
		uint64_t until_ns = unic_nic_poll(&nic);

		if (until_ns)
			virt_port_sleep(&port, until_ns);
		if (!(round % ROUNDS_PER_REFRESH))
			virt_port_refresh(&port);
	}
}
