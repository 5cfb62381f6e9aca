/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * soft_port.h - the machine of the soft NIC: a Linux process that attaches to
 * unic-bus and to the wire as QEMU does, but for its windows: those it has from
 * the bus, and exchanges when it is told to.
 */
#ifndef SOFT_PORT_H
#define SOFT_PORT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "dma_window.h"
#include "ivshmem_client.h"
#include "link_ring.h"
#include "unic_port.h"

#define SOFT_POLLS (IVSHMEM_CLIENT_VECTORS + 4)

struct unic_port {
	uint64_t start_ns; /* CLOCK_MONOTONIC at power-on */
	struct ivshmem_client bus;
	struct ivshmem_client wire;
	bool has_wire;
	void *bar;
	struct dma_windows windows;
	struct link_ring link;
	int signal_fd;
	int polls;
	struct pollfd poll[SOFT_POLLS]; /* everything that ends a sleep */
};

struct soft_config {
	const char *bus;    /* path of unic-bus' socket of NICs that map */
	const char *wire;   /* path of the wire's ivshmem socket, or NULL */
	const uint8_t *mac; /* NULL: made from our number on the wire */
};

/**
 * soft_port_init() - attach everything: mailbox, windows, wire, signals.
 * SIGTERM, SIGINT and SIGHUP are blocked and are told by soft_port_check().
 * Says on stderr what is wrong. Returns 0, or -1 (the process should end).
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
 * Returns 0; 1: a signal tells us to end; -1: the bus or the wire is gone, or a
 * window cannot be mapped, said on stderr.
 */
int soft_port_check(struct unic_port *port);

/** soft_port_fini() - leave the wire and the bus. */
void soft_port_fini(struct unic_port *port);

#endif /* SOFT_PORT_H */
