/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stellaris_enet.h - the Ethernet controller of the Stellaris family (LM3S6965
 * data sheet, chapter 15): two FIFOs of 2 KiB, one frame out at a time.
 *
 * Both FIFOs begin with two bytes of length, so a frame stands at 2 modulo 4 in
 * the words that are copied.
 *
 * The interrupt records in memory that a frame has come: reading the controller
 * takes much longer, and a NIC polls all the time.
 */
#ifndef STELLARIS_ENET_H
#define STELLARIS_ENET_H

#include "unic_port.h"

/* From the Ethernet header to the ICRC: 1,024 bytes of payload with any headers. */
#define STELLARIS_ENET_MAX_FRAME 1152u
#define STELLARIS_ENET_TX	 2u
#define STELLARIS_ENET_RX	 2u

struct stellaris_frame {
	uint16_t len; /* TX: to be sent; 0: not yet */
	uint8_t held; /* by the core */
	_Alignas(4) uint8_t bytes[2 + STELLARIS_ENET_MAX_FRAME + 6];
};

struct stellaris_enet {
	uintptr_t regs;
	uint8_t mac[6];
	volatile bool
		came;	  /* a frame may be in the FIFO; its interrupt is off */
	uint8_t rx_held;  /* the first ones */
	uint8_t tx_first; /* the one to be sent first, if both are */
	uint32_t rx_bad;  /* frames dropped for their length */
	struct stellaris_frame tx[STELLARIS_ENET_TX];
	struct stellaris_frame rx[STELLARIS_ENET_RX];
};

/** stellaris_enet_init() - start the controller at @regs, its clock being on. The
 * first frame interrupts. @net: zeroed. */
void stellaris_enet_init(struct stellaris_enet *net, uintptr_t regs,
			 const uint8_t mac[6]);

/** The rest is unic_port.h, one to one; see there. */
void stellaris_enet_info(const struct stellaris_enet *net,
			 struct unic_link *out);
uint8_t *stellaris_enet_tx_get(struct stellaris_enet *net);
void stellaris_enet_tx_put(struct stellaris_enet *net, const uint8_t *frame,
			   uint32_t len);
void stellaris_enet_flush(struct stellaris_enet *net);
static inline bool stellaris_enet_rx_ready(const struct stellaris_enet *net)
{
	return net->came;
}

/* As unic_port_rx_next() and unic_port_rx_done(). */
bool stellaris_enet_rx_next(struct stellaris_enet *net, struct unic_rx *rx);
void stellaris_enet_rx_done(struct stellaris_enet *net);

/** stellaris_enet_irq() - its interrupt was taken. */
void stellaris_enet_irq(struct stellaris_enet *net);

#endif /* STELLARIS_ENET_H */
