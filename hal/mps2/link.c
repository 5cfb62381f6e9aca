/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The link: the board's Ethernet controller, or none. */
#include <string.h>

#include "port.h"

void unic_port_link(struct unic_port *port, struct unic_link *out)
{
	memset(out, 0, sizeof(*out));
	if (port->lan.regs)
		lan9118_info(&port->lan, out);
}

uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path)
{
	(void)path;
	return port->lan.regs ? lan9118_tx_get(&port->lan) : NULL;
}

void unic_port_tx_put(struct unic_port *port, uint8_t *frame, uint32_t len,
		      uint32_t flags)
{
	(void)flags;
	lan9118_tx_put(&port->lan, frame, len);
}

void unic_port_tx_flush(struct unic_port *port)
{
	(void)port; /* a frame put is a frame sent */
}

bool unic_port_rx_ready(struct unic_port *port)
{
	return port->lan.regs && lan9118_rx_ready(&port->lan);
}

bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	return port->lan.regs && lan9118_rx_next(&port->lan, rx);
}

void unic_port_rx_done(struct unic_port *port)
{
	lan9118_rx_done(&port->lan);
}

void unic_port_rx_arm(struct unic_port *port, bool on)
{
	if (port->lan.regs)
		lan9118_rx_arm(&port->lan, on);
}
