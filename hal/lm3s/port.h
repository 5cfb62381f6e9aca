/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * port.h - the port of the LM3S6965: host memory at the other end of UART 0
 * (hal/serial), the wire at its Ethernet controller, words for a human on UART 1.
 */
#ifndef LM3S_PORT_H
#define LM3S_PORT_H

#include "pl011_line.h"
#include "stellaris_enet.h"

struct unic_port {
	struct serial_host host; /* first: serial_host.h */
	struct pl011_line line;
	struct stellaris_enet net;
	uint32_t beat;
	uint32_t beat_shift; /* of the processor's cycles */
	volatile bool late;  /* no beat since the watchdog's last interrupt */
};

#endif /* LM3S_PORT_H */
