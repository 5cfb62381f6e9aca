/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rig_port.h - the machine of the instruction counts: what the emulated board
 * has on its hot paths (DMA by CPU copy, hal/drivers/cpu_dma.h, and the shared-memory
 * link between the two NICs), and nothing besides: no devices, no interrupts,
 * a clock that stands still.
 *
 * Offers what rig.c asks of hal/fake/fake_port.h.
 */
#ifndef RIG_PORT_H
#define RIG_PORT_H

#include "dma_window.h"
#include "link_ring.h"
#include "unic_mbox.h"
#include "unic_port.h"

#define FAKE_WINDOWS	  3u
#define FAKE_WINDOW_BYTES (1024u * 1024u)

struct unic_port {
	struct dma_windows dma;
	struct link_ring ring;
	uint64_t now_ns;
	uint32_t rx_head, rx_tail; /* rig_run2(): no frame is ever left over */
	uint8_t mac[6];
	_Alignas(4096) uint8_t bar[UNIC_BAR_BYTES];
	_Alignas(4096) uint8_t window[FAKE_WINDOWS][FAKE_WINDOW_BYTES];
};

/** fake_port_init() - port @id (1, 2) of the link; the first call makes it. */
void fake_port_init(struct unic_port *port, uint8_t id);

#endif /* RIG_PORT_H */
