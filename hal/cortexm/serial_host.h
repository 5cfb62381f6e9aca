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

/** serial_host_start() - start the link, at @baud, with the crash record of an
 * earlier life, if there is one that the host has not got. The clock runs. */
void serial_host_start(struct serial_host *host, uint32_t baud);

/** serial_host_was_reset() - the chip was reset by @why (text of at most 55 bytes;
 * @status: as the chip says it), not by the firmware: if there is no crash record
 * for the host, this becomes one. After serial_host_start(). */
void serial_host_was_reset(struct serial_host *host, const char *why,
			   uint32_t status);

/** serial_host_beat() - to be called some times a second: remembers over a reset
 * that the host has got the crash record, and tells it by the info page what has
 * changed: @up: is the wire's link up; @bus_lost, @wire_lost: as in struct unic_info. */
void serial_host_beat(struct serial_host *host, bool up, uint32_t bus_lost,
		      uint32_t wire_lost);

#endif /* CORTEXM_SERIAL_HOST_H */
