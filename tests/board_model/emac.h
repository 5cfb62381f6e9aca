/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * emac.h - the Ethernet controller of the TM4C1294NCPDT (data sheet SPMS433 chapter 20,
 * the Synopsys MAC): registers, interrupts, address filter, management interface, soft
 * reset. What its DMA does is in emac_rx.h and emac_tx.h.
 *
 * Rules:
 *	- a soft reset ends when the clock of the transceiver runs; until then nothing but
 *	  DMABUSMOD, PC and CC is accessed
 *	- the management interface has one access at a time, at 2.5 MHz at most
 *	- the MAC has the speed and the duplex that the transceiver agreed on; nothing is
 *	  sent before the first link
 *	- lists and bus mode are written while the DMA that uses them is stopped
 *
 * Secret: the registers.
 */
#ifndef BOARD_MODEL_EMAC_H
#define BOARD_MODEL_EMAC_H

#include "board.h"
#include "emac_ring.h"
#include "ephy.h"
#include "wire.h"

#define EMAC_FIFO      2048u /* bytes, each way */
#define EMAC_FRAMES    32u   /* that the receive FIFO holds */
#define EMAC_FRAME     (WIRE_MOST + 4u)
#define EMAC_ADDRESSES 4u
#define EMAC_SENDING   2u /* frames in the transmit FIFO */

/* Bits of DMARIS. */
#define EMAC_TI	 0x00001u
#define EMAC_TPS 0x00002u
#define EMAC_TU	 0x00004u
#define EMAC_OVF 0x00010u
#define EMAC_UNF 0x00020u
#define EMAC_RI	 0x00040u
#define EMAC_RU	 0x00080u
#define EMAC_RPS 0x00100u
#define EMAC_FBI 0x02000u

/* Bits of DMAOPMODE. */
#define EMAC_SR	 0x0000002u
#define EMAC_OSF 0x0000004u
#define EMAC_FEF 0x0000080u
#define EMAC_ST	 0x0002000u
#define EMAC_TSF 0x0200000u
#define EMAC_DFF 0x1000000u
#define EMAC_RSF 0x2000000u

struct emac_arrived {
	uint32_t bytes, errors; /* errors: bits of RDES0 */
	uint8_t frame[EMAC_FRAME];
};

struct emac_rx {
	struct emac_ring ring;
	struct emac_arrived fifo[EMAC_FRAMES];
	uint32_t first, count, bytes;
	uint32_t missed, overflows; /* of MFBOC */
	bool at_work;
	uint32_t status; /* of the frame that was written: RDES0 */
	unsigned long frames, with_bad_fcs, all_missed, all_overflows;
	/* times that the DMA was suspended, and that a frame ended that */
	unsigned long suspended, woken;
};

struct emac_sent {
	uint32_t bytes, at, word; /* descriptor and its first word */
	uint8_t frame[EMAC_FRAME];
};

struct emac_tx {
	struct emac_ring ring;
	struct emac_sent fifo[EMAC_SENDING];
	uint32_t first, count;
	bool on_wire;
	unsigned long frames, lost; /* lost: sent without a link */
};

struct emac {
	struct board *board;
	uint32_t irq;
	struct wire wire;
	struct ephy ephy;
	/* LED 0 (link) or 1 (traffic) has its pin; may be NULL */
	bool (*is_led_wired)(void *chip, uint32_t led);
	uint32_t config, filter, flow, mii_addr, mii_data;
	uint32_t addr_high[EMAC_ADDRESSES], addr_low[EMAC_ADDRESSES];
	uint8_t address[EMAC_ADDRESSES][6]; /* in effect */
	uint32_t bus_mode, op_mode, dma_raw, dma_mask, mac_mask, mmc_mask[2];
	uint32_t access_error, rx_watchdog;
	uint32_t pc, cc, phy_raw, phy_mask;
	bool resetting, phy_clocked, had_link;
	bool pc_unread; /* EMACPC was written since the transceiver read it */
	bool dead;	/* a bus error: the DMA stands until a reset */
	struct emac_rx rx;
	struct emac_tx tx;
};

extern const struct device_ops emac_ops;

/** emac_init() - @path: of the wire, or NULL. */
void emac_init(struct emac *emac, struct board *board, uint32_t irq,
	       const char *path);

/** emac_power() - the transceiver has the clock of its device and is not in reset
 * (@on), and the crystal is @stable. */
void emac_power(struct emac *emac, bool on, bool stable);

/** emac_raise() - set @bits of DMARIS. */
void emac_raise(struct emac *emac, uint32_t bits);

/** emac_bus_error() - the DMA has had one; @access: the AE field of DMARIS. */
void emac_bus_error(struct emac *emac, uint32_t addr, uint32_t access);

/** emac_agrees() - the MAC has the speed and duplex of the link that is up. */
bool emac_agrees(const struct emac *emac);

/** emac_takes() - @frame passes the address filter. */
bool emac_takes(const struct emac *emac, const uint8_t *frame);

/** emac_is_100() - the MAC is set to 100 Mbit/s. */
bool emac_is_100(const struct emac *emac);

/** emac_transmits(), emac_receives() - TE, RE: the MAC behind the FIFOs is on. */
bool emac_transmits(const struct emac *emac);
bool emac_receives(const struct emac *emac);

/** emac_strips() - the FCS of @frame is not handed on (CST, ACS). */
bool emac_strips(const struct emac *emac, const uint8_t *frame);

/** emac_say() - what went through, on stderr. */
void emac_say(const struct emac *emac);

#endif /* BOARD_MODEL_EMAC_H */
