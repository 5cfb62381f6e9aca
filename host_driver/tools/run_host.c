/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* run_host.c - see run_host.h. */
#include "run_host.h"

#include <stdio.h>
#include <time.h>

#include "unic.h"
#include "unic_ctl.h"

#define SLOT_SIZE \
	"256M" /* of each process; pages that are not used take no memory */
#define NAP_NS	 2000000
#define READY_MS 20000

static int wait_nic(const struct run_host *host)
{
	const struct timespec t = { .tv_nsec = NAP_NS };
	int tries = (int)(READY_MS * 1000000ll / NAP_NS);
	struct unic_nic_attr nic;

	while (--tries) {
		if (unic_list_nics(host->socket, &nic, 1) == 1 &&
		    nic.state == UNIC_CTL_NIC_READY)
			return 0;
		nanosleep(&t, NULL);
	}
	fprintf(stderr, "unic-run: the NIC does not become ready\n");
	return -1;
}

static int start_all(struct run_host *host, const struct run_net *net,
		     const char *dir)
{
	char bus[RUN_PATH], nic[RUN_PATH], mac[32], ip[32];
	char *bus_argv[] = { "unic-bus",    "--dir",   bus,
			     "--slot-size", SLOT_SIZE, NULL };
	char *nic_argv[] = { "unic-nic",	"--bus", nic, "--wire",
			     (char *)net->wire, "--mac", mac, NULL };
	char *driver_argv[] = { "unicd", "--bus", bus, "--ip", ip, NULL };

	snprintf(bus, sizeof(bus), "%.200s/bus", dir);
	snprintf(nic, sizeof(nic), "%.200s/nic", bus);
	snprintf(host->socket, sizeof(host->socket), "%.200s/unicd.sock", bus);
	/* The address is that of the number: who has it next is found by it. */
	snprintf(mac, sizeof(mac), "02:75:6e:69:72:%02x", net->host);
	snprintf(ip, sizeof(ip), "10.0.0.%u", net->host);
	return run_child_start(&host->bus, dir, bus_argv) ||
			       run_child_start(&host->nic, dir, nic_argv) ||
			       run_child_start(&host->driver, dir,
					       driver_argv) ||
			       wait_nic(host)
		       ? -1
		       : 0;
}

int run_host_start(struct run_host *host, const struct run_net *net,
		   const char *dir)
{
	int err = start_all(host, net, dir);

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
