/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run_host.h - a host of its own for one run: bus, NIC and driver.
 */
#ifndef RUN_HOST_H
#define RUN_HOST_H

#include "run_child.h"
#include "run_net.h"

struct run_host {
	struct run_child bus, nic, driver;
	char socket[RUN_PATH]; /* of the driver */
};

enum run_board {
	RUN_SOFT, /* a process */
	RUN_VIRT, /* QEMU */
};

/** run_host_start() - start the host that has the number of @net, on its wire, in folder
 * @dir, with a NIC of @board, and wait until its NIC is ready. 0, or -1 after a line on stderr, and nothing
 * runs. */
int run_host_start(struct run_host *host, const struct run_net *net,
		   const char *dir, enum run_board board);
/** run_host_end() - end what runs of it. */
void run_host_end(struct run_host *host);

#endif /* RUN_HOST_H */
