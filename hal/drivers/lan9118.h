/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lan9118.h - the SMSC LAN9118 and LAN9220: an Ethernet controller without DMA.
 * The secret: its FIFOs, which the CPU empties and fills by words.
 *
 * Frames are moved out of its 10 KiB of FIFO as soon as the core looks, into
 * buffers in RAM, so that a burst is not lost while the core works.
 */
#ifndef LAN9118_H
#define LAN9118_H

#include "unic_port.h"

#define LAN9118_MAX_FRAME 1518u /* Ethernet's, without its own CRC + a tag */
#define LAN9118_STRIDE	  1536u

enum lan9118_status {
	LAN9118_OK = 0,
	LAN9118_ENODEV = -1, /* no such controller at this address */
	LAN9118_ETIME = -2,  /* it stays in reset */
};

struct lan9118 {
	uint8_t rx[UNIC_RX_BUFS][LAN9118_STRIDE] __attribute__((aligned(4)));
	uint8_t tx[UNIC_TX_BUFS][LAN9118_STRIDE] __attribute__((aligned(4)));
	uint16_t rx_len[UNIC_RX_BUFS];
	uintptr_t regs; /* 0: no such link */
	/* free-running, buffer = count modulo UNIC_RX_BUFS */
	uint32_t rx_filled, rx_taken, rx_released;
	uint32_t tx_free; /* bit i: transmit buffer i */
	uint32_t tx_held; /* by the core */
	uint32_t rx_bad;  /* frames dropped: damaged, or too long */
	uint8_t mac[6];
};

/**
 * lan9118_init() - reset and start the controller at @regs.
 * @lan: zeroed.
 * @mac: its address if it has none of its own (no EEPROM).
 * Returns an enum lan9118_status; on an error there is no link.
 */
int lan9118_init(struct lan9118 *lan, uintptr_t regs, const uint8_t mac[6]);

/** lan9118_quiet() - acknowledge its interrupt. Call it before polling for frames. */
void lan9118_quiet(const struct lan9118 *lan);

/** The rest is unic_port.h, one to one; see there. */
void lan9118_info(const struct lan9118 *lan, struct unic_link *out);
uint8_t *lan9118_tx_get(struct lan9118 *lan);
void lan9118_tx_put(struct lan9118 *lan, const uint8_t *frame, uint32_t len);
bool lan9118_rx_ready(const struct lan9118 *lan);
bool lan9118_rx_next(struct lan9118 *lan, struct unic_rx *rx);
void lan9118_rx_done(struct lan9118 *lan);
void lan9118_rx_arm(const struct lan9118 *lan, bool on);

#endif /* LAN9118_H */
