/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* run_host.c - see run_host.h. */
#include "run_host.h"

#include <stdio.h>
#include <time.h>

#include "run_qemu.h"
#include "unic.h"
#include "unic_ctl.h"

/* Of each process; pages that are not used take no memory. Those of all eight have to fit
 * below 1 GiB in virt. */
#define SLOT_SIZE_SOFT "256M"
#define SLOT_SIZE_VIRT "64M"
#define NAP_NS	       2000000
#define READY_MS       20000

static int wait_nic(struct run_host *host)
{
	const struct timespec t = { .tv_nsec = NAP_NS };
	int tries = (int)(READY_MS * 1000000ll / NAP_NS);
	struct unic_nic_attr nic;

	while (--tries) {
		if (unic_list_nics(host->socket, &nic, 1) == 1 &&
		    nic.state == UNIC_CTL_NIC_READY)
			return 0;
		if (!run_child_alive(&host->nic))
			return run_child_fail(&host->nic, "ended");
		nanosleep(&t, NULL);
	}
	fprintf(stderr, "unic-run: the NIC does not become ready\n");
	return -1;
}

/* A NIC of virt has the MAC address of its port of the wire; one of soft is given that of its
 * number. */
static int start_nic(struct run_host *host, const struct run_net *net,
		     const char *dir, const char *bus, enum run_board board)
{
	char nic[RUN_PATH], mac[32];
	char *argv[] = { "unic-nic",	    "--bus", nic, "--wire",
			 (char *)net->wire, "--mac", mac, NULL };

	if (board == RUN_VIRT)
		return run_qemu_start(&host->nic, dir, bus, net->wire);
	snprintf(nic, sizeof(nic), "%.200s/nic", bus);
	snprintf(mac, sizeof(mac), "02:75:6e:69:72:%02x", net->host);
	return run_child_start(&host->nic, NULL, dir, argv);
}

static int start_all(struct run_host *host, const struct run_net *net,
		     const char *dir, enum run_board board)
{
	char bus[RUN_PATH], ip[32];
	char *slots = board == RUN_VIRT ? SLOT_SIZE_VIRT : SLOT_SIZE_SOFT;
	char *bus_argv[] = { "unic-bus",    "--dir", bus,
			     "--slot-size", slots,   NULL };
	char *driver_argv[] = { "unicd", "--bus", bus, "--ip", ip, NULL };

	snprintf(bus, sizeof(bus), "%.200s/bus", dir);
	snprintf(host->socket, sizeof(host->socket), "%.200s/unicd.sock", bus);
	/* The address is that of the number: who has it next is found by it. */
	snprintf(ip, sizeof(ip), "10.0.0.%u", net->host);
	return run_child_start(&host->bus, NULL, dir, bus_argv) ||
			       start_nic(host, net, dir, bus, board) ||
			       run_child_start(&host->driver, &host->nic, dir,
					       driver_argv) ||
			       wait_nic(host)
		       ? -1
		       : 0;
}

int run_host_start(struct run_host *host, const struct run_net *net,
		   const char *dir, enum run_board board)
{
	int err = start_all(host, net, dir, board);

	if (err)
		run_host_end(host);
	return err;
}

void run_host_end(struct run_host *host)
{
	run_child_end(&host->driver);
	run_child_end(&host->nic);
	run_child_end(&host->bus);
}
