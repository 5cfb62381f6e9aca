/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * port.h - the port of the LM3S6965: host memory at the other end of UART 0
 * (hal/serial), the wire at its Ethernet controller, words for a human on UART 1.
 */
#ifndef LM3S_PORT_H
#define LM3S_PORT_H

#include "serial_host.h"
#include "stellaris_enet.h"

#define LM3S_RX_RING 512u /* bytes between interrupt and main loop; 5 ms */
#define LM3S_TX_RING 64u

struct lm3s_line {
	/* written by the interrupt handler */
	volatile uint32_t rx_tail, tx_head;
	volatile uint32_t rx_head, tx_tail; /* written by the main loop */
	uint32_t mask;			    /* enabled interrupts */
	uint8_t rx[LM3S_RX_RING];
	uint8_t tx[LM3S_TX_RING];
};

struct unic_port {
	struct serial_host host; /* first: serial_host.h */
	struct lm3s_line line;
	struct stellaris_enet net;
};

#endif /* LM3S_PORT_H */
