/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * port.h - the port of the EK-TM4C1294XL: host memory at the other end of UART 0
 * (hal/serial), which the debug probe carries over USB; the wire at its Ethernet
 * controller; words for a human on UART 6.
 */
#ifndef TM4C_PORT_H
#define TM4C_PORT_H

#include "emac.h"
#include "pl011_line.h"

struct unic_port {
	struct serial_host host; /* first: serial_host.h */
	struct pl011_line line;
	struct emac net;
	uint64_t beat_ns;   /* when the next one is due */
	volatile bool late; /* no beat since the watchdog's last interrupt */
};

#endif /* TM4C_PORT_H */
