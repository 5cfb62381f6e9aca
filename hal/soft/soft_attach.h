/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * soft_attach.h - how the soft NIC attaches to its bus and its wire, sleeps, and
 * leaves. The function that meets an error prints it on stderr.
 */
#ifndef SOFT_ATTACH_H
#define SOFT_ATTACH_H

#include "soft_port.h"

struct soft_config {
	const char *bus;  /* path of unic-bus' socket of NICs that map */
	const char *wire; /* path of the wire's ivshmem socket, or NULL */
	const uint8_t
		*mac; /* NULL: made from the number of the port on the wire */
	int wait_ms;  /* for a bus and a wire that are not there yet */
};

/**
 * soft_port_init() - attach everything: mailbox, windows, wire, signals.
 * @port: filled in; what it holds before does not matter.
 * @config: the caller's, read during the call only.
 * SIGTERM, SIGINT and SIGHUP are blocked in the process once it is attached;
 * soft_port_check() reports them. Returns 0, or -1: the process should end, which frees what was attached.
 */
int soft_port_init(struct unic_port *port, const struct soft_config *config);

/**
 * soft_port_sleep() - until NIC time @until_ns or any doorbell, whichever comes
 * first. A doorbell that rang before the call counts, so nothing rung between
 * the core's last look and this call is slept through.
 */
void soft_port_sleep(struct unic_port *port, uint64_t until_ns);

/**
 * soft_port_check() - take in what does not hurry: signals, peers that came and
 * went, windows that are other memory. Cheap enough for every few thousand polls.
 * Returns 0; 1: a signal asks the process to end; -1: the bus or the wire is gone,
 * or a window cannot be mapped.
 */
int soft_port_check(struct unic_port *port);

/** soft_port_fini() - leave the wire and the bus. The mappings stay until the process
 * ends. */
void soft_port_fini(struct unic_port *port);

#endif /* SOFT_ATTACH_H */
