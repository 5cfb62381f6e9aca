/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * port.h - the port of the MPS2 board: host memory is one RAM that both see, so a
 * DMA transfer is a copy by the CPU; doorbells are bytes on a serial port; the
 * link is a LAN9118.
 */
#ifndef MPS2_PORT_H
#define MPS2_PORT_H

#include "cmsdk_timer.h"
#include "dma_window.h"
#include "lan9118.h"
#include "unic_port.h"

struct unic_port {
	struct dma_windows dma; /* first: drivers/dma_window.c */
	struct cmsdk_timer clock;
	uint32_t bells; /* bit v: vector v of the host is to be rung */
	uint64_t refreshed_ns;
	struct lan9118 lan;
};

/** mps2_bells() - send what was rung, as far as the serial port takes it. */
void mps2_bells(struct unic_port *port);

#endif /* MPS2_PORT_H */
