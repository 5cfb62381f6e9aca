/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* port.h - the port of the board to copy for a new one: host memory at the other
 * end of a UART (hal/serial), no wire yet. */
#ifndef TEMPLATE_PORT_H
#define TEMPLATE_PORT_H

#include "serial_host.h"

struct unic_port {
	struct serial_host host; /* first: serial_host.h */
};

#endif /* TEMPLATE_PORT_H */
