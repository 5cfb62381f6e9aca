/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * serial_host.h - the host's half of a port, on boards whose host is at the other
 * end of a UART (hal/serial): time, mailbox, doorbells and DMA of unic_port.h,
 * and machine_crashed(). The board adds the bytes of the line, and the wire.
 *
 * Secret: which memory survives a reset, so that the host gets the crash record.
 */
#ifndef CORTEXM_SERIAL_HOST_H
#define CORTEXM_SERIAL_HOST_H

#include "clock.h"
#include "near.h"
#include "unic_port.h"

/* A board's struct unic_port begins with this struct. */
struct serial_host {
	struct cortexm_clock clock;
	struct near near;
};

/** serial_host_start() - start the link, at @baud, with the crash record of the
 * last life, if there is one. The clock runs. */
void serial_host_start(struct serial_host *host, uint32_t baud);

#endif /* CORTEXM_SERIAL_HOST_H */
