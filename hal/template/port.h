/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* port.h - the port of the board to copy: host memory at the other end of a UART
 * (hal/serial), no wire yet. */
#ifndef TEMPLATE_PORT_H
#define TEMPLATE_PORT_H

#include "clock.h"
#include "near.h"
#include "unic_port.h"

struct unic_port {
	struct cortexm_clock clock;
	struct near near;
};

#endif /* TEMPLATE_PORT_H */
