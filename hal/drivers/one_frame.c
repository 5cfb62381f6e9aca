/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * one_frame.c - the part of unic_port.h that a link has nothing of where there is
 * one way out and frames go one at a time: Ethernet controllers, but for rings in
 * memory. Their boards list it beside the driver.
 */
#include "unic_port.h"

uint32_t unic_port_path(struct unic_port *port, const uint8_t mac[6])
{
	(void)port;
	(void)mac;
	return 0;
}

bool unic_port_tx_run(struct unic_port *port, uint32_t path,
		      struct unic_tx_run *run)
{
	(void)port;
	(void)path;
	(void)run;
	return false;
}

void unic_port_tx_run_put(struct unic_port *port, const struct unic_tx_run *run,
			  uint32_t n, uint32_t len, uint32_t flags)
{
	(void)port;
	(void)run;
	(void)n;
	(void)len;
	(void)flags;
}

uint32_t unic_port_rx_run(struct unic_port *port, const struct unic_rx *rx,
			  uint32_t max, uint32_t *stride)
{
	(void)port;
	(void)rx;
	(void)max;
	(void)stride;
	return 0;
}

bool unic_port_rx_more(struct unic_port *port)
{
	return unic_port_rx_ready(port);
}

void unic_port_rx_back(struct unic_port *port, uint32_t n)
{
	(void)port;
	(void)n;
}
