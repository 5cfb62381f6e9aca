/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stellaris_enet.h - the Ethernet controller of the Stellaris family (LM3S6965
 * data sheet, chapter 15): two FIFOs of 2 KiB, one frame out at a time, no DMA.
 *
 * Secret: how little the FIFOs hold. 2 KiB are one frame and a part of the next,
 * so the interrupt handler moves frames into a ring in memory, which holds them
 * as the FIFO gives them: two bytes of length, then the frame, at 2 modulo 4. A
 * frame in memory is all that a NIC that polls has to look at: reading the
 * controller takes much longer. What is lost because neither has room, or
 * because the controller reports an error, is counted, and the core counts it as
 * a frame without bytes (unic_port_rx_next()).
 *
 * Where nothing else is said, the caller keeps the handler from running.
 */
#ifndef STELLARIS_ENET_H
#define STELLARIS_ENET_H

#include "unic_port.h"

/* From the Ethernet header to the ICRC: 1,024 bytes of payload with any headers. */
#define STELLARIS_ENET_MAX_FRAME 1152u
#define STELLARIS_ENET_TX	 2u
/* The longest frame with its length and its FCS. */
#define STELLARIS_ENET_PLACE 1160u
#define STELLARIS_ENET_RING  (6u * STELLARIS_ENET_PLACE)

struct stellaris_frame {
	uint16_t len; /* to be sent; 0: not yet */
	uint8_t held; /* by the core */
	_Alignas(4) uint8_t bytes[2 + STELLARIS_ENET_MAX_FRAME + 6];
};

/* Counted since power-on. */
struct stellaris_counts {
	uint32_t overruns; /* of the receive FIFO */
	uint32_t errors;   /* reported by the receiver */
	uint32_t too_long; /* frames longer than the core takes */
	uint32_t nonsense; /* lengths that no frame has */
	uint32_t tx_lost;  /* frames given up after collisions */
};

struct stellaris_enet {
	uintptr_t regs;
	uint8_t mac[6];
	bool up;	  /* the link */
	uint8_t hold;	  /* beats for which frames wait for the link */
	uint8_t tx_first; /* the one to be sent first, if both are */
	uint8_t mask;	  /* enabled interrupts */
	/* offsets in the ring: end of what came, of what the core took, and of
	 * what it is through with */
	volatile uint16_t rx_tail;
	uint16_t rx_taken;
	volatile uint16_t rx_head;
	volatile uint16_t rx_bad; /* came, and were no frames */
	uint16_t rx_told;	  /* ... that the core was told of */
	struct stellaris_counts counts;
	struct stellaris_frame tx[STELLARIS_ENET_TX];
	_Alignas(4) uint8_t ring[STELLARIS_ENET_RING];
};

/**
 * stellaris_enet_init() - start the controller at @regs, its clock being on, of
 * @hz. @net: zeroed. Waits for some reads of the PHY, 30 us each.
 */
void stellaris_enet_init(struct stellaris_enet *net, uintptr_t regs,
			 uint32_t hz, const uint8_t mac[6]);

/**
 * stellaris_enet_beat() - ask the PHY for the state of the link, and use the
 * duplex mode that was negotiated (data sheet 15.5, MR1 and MR18). To be called
 * some ten times a second; takes up to 60 us. The handler may run. Returns true if
 * the link went up or down.
 *
 * While the link is down, no frame is taken for 40 beats, as if there were no room:
 * so the first frames wait until the link is negotiated. Then frames are lost, as
 * on any cable that nothing is at.
 */
bool stellaris_enet_beat(struct stellaris_enet *net);

/** stellaris_enet_irq() - handle its interrupt, or what would have been one. */
void stellaris_enet_irq(struct stellaris_enet *net);

/** The rest is unic_port.h, one to one; see there. The handler may run, but for
 * stellaris_enet_tx_put(). */
void stellaris_enet_info(const struct stellaris_enet *net,
			 struct unic_link *out);
uint8_t *stellaris_enet_tx_get(struct stellaris_enet *net);
void stellaris_enet_tx_put(struct stellaris_enet *net, const uint8_t *frame,
			   uint32_t len);
static inline bool stellaris_enet_rx_ready(const struct stellaris_enet *net)
{
	return net->rx_tail != net->rx_taken || net->rx_bad != net->rx_told;
}

/** stellaris_enet_lost() - frames lost since power-on, either way. */
static inline uint32_t stellaris_enet_lost(const struct stellaris_enet *net)
{
	const struct stellaris_counts *n = &net->counts;

	return n->overruns + n->errors + n->too_long + n->nonsense + n->tx_lost;
}

/** stellaris_enet_rx_next() - as unic_port_rx_next(). */
bool stellaris_enet_rx_next(struct stellaris_enet *net, struct unic_rx *rx);

/** stellaris_enet_rx_done() - as unic_port_rx_done(). Returns true if frames may
 * wait in the FIFO for the room: the caller makes its interrupt pending. */
bool stellaris_enet_rx_done(struct stellaris_enet *net);

#endif /* STELLARIS_ENET_H */
