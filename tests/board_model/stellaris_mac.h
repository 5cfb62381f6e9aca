/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stellaris_mac.h - the Ethernet controller of the LM3S6965 (data sheet chapter 15): a
 * receive FIFO of 2,048 bytes, a transmitter of one frame at a time, an internal
 * transceiver behind MII management.
 *
 * A frame that does not fit the receive FIFO is an overrun. What silicon leaves there
 * then is not documented; here it is the worst: the frame's length and those of its
 * bytes that fitted, so that lengths read after it are nonsense until the FIFO is
 * reset.
 *
 * --break length: of every eighth frame the length in the FIFO is nonsense, too short or
 * too long in turn.
 *
 * Rules: the FIFO is read while it has bytes, and reset while the receiver is off; a
 * frame is written while the transmitter has none, of the length that is in it, with
 * padding and FCS added by the controller; none is sent before the first link, nor in
 * another duplex than was agreed on; MDC is at most 2.5 MHz.
 *
 * Secret: FIFOs and registers.
 */
#ifndef BOARD_MODEL_STELLARIS_MAC_H
#define BOARD_MODEL_STELLARIS_MAC_H

#include "board.h"
#include "phy.h"
#include "wire.h"

#define STELLARIS_MAC_FIFO 2048u

struct stellaris_mac {
	struct board *board;
	uint32_t irq;
	struct wire wire;
	struct phy phy;
	uint32_t raw, mask, rctl, tctl, ia[2], threshold;
	uint32_t mctl, mdv, mtxd, mrxd, phy_mask, phy_raw;
	uint8_t rx[STELLARIS_MAC_FIFO], tx[STELLARIS_MAC_FIFO];
	uint32_t rx_first, rx_bytes, frames, frame_left;
	uint32_t tx_bytes;
	bool sending, had_link;
	unsigned long overruns, lost; /* lost: sent without a link */
	unsigned long nonsense;	      /* lengths, by --break length */
};

extern const struct device_ops stellaris_mac_ops;

/** stellaris_mac_init() - @path: of the wire, or NULL. */
void stellaris_mac_init(struct stellaris_mac *mac, struct board *board,
			uint32_t irq, const char *path);

/** stellaris_mac_power() - the transceiver's clock. */
void stellaris_mac_power(struct stellaris_mac *mac, bool on);

#endif /* BOARD_MODEL_STELLARIS_MAC_H */
