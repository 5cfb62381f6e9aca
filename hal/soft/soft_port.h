/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * soft_port.h - the machine of the soft NIC: a Linux process that attaches to
 * unic-bus and to the wire as QEMU does, but for its windows: the bus sends their
 * files, and others in exchange.
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

#endif /* SOFT_PORT_H */
