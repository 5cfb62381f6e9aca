// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* emac.c - see emac.h. */
#include "emac.h"

#include <string.h>

#include "cpu.h"
#include "emac_mdio.h"
#include "emac_rx.h"
#include "emac_tx.h"

#define CFG	  0x000u
#define FRAMEFLTR 0x004u
#define MIIADDR	  0x010u
#define MIIDATA	  0x014u
#define FLOWCTL	  0x018u
#define STATUS	  0x024u
#define RIS	  0x038u
#define IM	  0x03cu
#define ADDR0H	  0x040u
#define ADDR3L	  0x05cu
#define MMCRXIM	  0x10cu
#define MMCTXIM	  0x110u
#define TXCNT	  0x118u
#define RXCNT	  0x180u
#define RXCRC	  0x194u
#define DMABUSMOD 0xc00u
#define TXPOLLD	  0xc04u
#define RXPOLLD	  0xc08u
#define RXDLADDR  0xc0cu
#define TXDLADDR  0xc10u
#define DMARIS	  0xc14u
#define DMAOPMODE 0xc18u
#define DMAIM	  0xc1cu
#define MFBOC	  0xc20u
#define RXINTWDT  0xc24u
#define HOSTXDESC 0xc48u
#define HOSRXDESC 0xc4cu
#define PP	  0xfc0u
#define PC	  0xfc4u
#define CC	  0xfc8u
#define EPHYRIS	  0xfd0u
#define EPHYIM	  0xfd4u
#define EPHYMISC  0xfd8u

#define CFG_RESET 0x00008000u
#define CFG_CST	  (1u << 25)
#define CFG_PS	  (1u << 15)
#define CFG_100	  (1u << 14)
#define CFG_FULL  (1u << 11)
#define CFG_IPC	  (1u << 10)
#define CFG_ACS	  (1u << 7)
#define CFG_TE	  (1u << 3)
#define CFG_RE	  (1u << 2)

#define FLT_ALL	      (1u << 31)
#define FLT_BROADCAST (1u << 5) /* not */
#define FLT_MULTICAST (1u << 4)
#define FLT_HASH      0x406u
#define FLT_PROMISC   1u

#define BUS_RESET 1u
#define BUS_MODE  0x00020100u /* after a reset */
#define BUS_EIGHT (1u << 24)
#define OP_FLUSH  (1u << 20)
#define NORMAL	  (EMAC_TI | EMAC_TU | EMAC_RI | 0x4000u)
#define ABNORMAL  0x27bau
#define NIS	  (1u << 16)
#define AIS	  (1u << 15)
#define CLEARED	  0x1ffffu

#define PC_RESET    0x0080040eu
#define PC_EXTERNAL (1u << 31)
#define PC_RESTART  (1u << 25)
#define PP_INTERNAL 0x103u
#define SOFT_NS	    3000u
#define AE_AT	    23u

/* ------------------------------------------------------------- interrupts */

static void update_irq(struct emac *emac)
{
	uint32_t raw = emac->dma_raw & emac->dma_mask;

	if (raw & NORMAL)
		emac->dma_raw |= NIS;
	if (raw & ABNORMAL)
		emac->dma_raw |= AIS;
	cpu_irq(emac->board->cpu, emac->irq,
		(emac->dma_raw & emac->dma_mask & (NIS | AIS)) ||
			emac->phy_raw & emac->phy_mask);
}

void emac_raise(struct emac *emac, uint32_t bits)
{
	emac->dma_raw |= bits;
	update_irq(emac);
}

void emac_bus_error(struct emac *emac, uint32_t addr, uint32_t access)
{
	if (!board_breaks(emac->board, "bus"))
		board_fault(emac->board,
			    "the DMA of Ethernet has a bus error at %08x, "
			    "access %u",
			    addr, access);
	emac->dead = true;
	emac->access_error = access;
	emac_raise(emac, EMAC_FBI);
}

/* --------------------------------------------------------- what the MAC does */

bool emac_is_100(const struct emac *emac)
{
	return emac->config & CFG_100;
}

bool emac_transmits(const struct emac *emac)
{
	return emac->config & CFG_TE;
}

bool emac_receives(const struct emac *emac)
{
	return emac->config & CFG_RE;
}

bool emac_agrees(const struct emac *emac)
{
	const struct phy *phy = &emac->ephy.phy;

	return emac_is_100(emac) == phy_is_100(phy) &&
	       !!(emac->config & CFG_FULL) == phy_full_duplex(phy);
}

bool emac_strips(const struct emac *emac, const uint8_t *frame)
{
	return emac->config & (frame[12] >= 6 ? CFG_CST : CFG_ACS);
}

bool emac_takes(const struct emac *emac, const uint8_t *frame)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };

	if (emac->filter & (FLT_ALL | FLT_PROMISC))
		return true;
	if (!memcmp(frame, all, 6))
		return !(emac->filter & FLT_BROADCAST);
	if (frame[0] & 1 && emac->filter & FLT_MULTICAST)
		return true;
	for (uint32_t i = 0; i < EMAC_ADDRESSES; i++)
		if ((!i || emac->addr_high[i] >> 31) &&
		    !memcmp(frame, emac->address[i], 6))
			return true;
	return false;
}

static void hear_of_phy(void *arg)
{
	struct emac *emac = arg;

	if (emac->ephy.phy.up && !emac->had_link) {
		emac->had_link = true;
		if (emac->is_led_wired)
			board_say(emac->board,
				  "the link is up, its LED is %s, that of "
				  "traffic %s",
				  emac->is_led_wired(emac->board->chip_state, 0)
					  ? "on"
					  : "dark",
				  emac->is_led_wired(emac->board->chip_state, 1)
					  ? "works"
					  : "is dark");
	}
	emac->wire.slower = phy_is_100(&emac->ephy.phy) ? 0 : 9;
	if (ephy_interrupts(&emac->ephy))
		emac->phy_raw = 1;
	update_irq(emac);
}

/* ------------------------------------------------------------------ reset */

static void end_reset(void *arg)
{
	struct emac *emac = arg;

	emac->resetting = false;
	emac->bus_mode &= ~BUS_RESET;
}

static void reset_mac(struct emac *emac)
{
	emac->config = CFG_RESET;
	emac->filter = emac->flow = emac->mii_addr = emac->mii_data = 0;
	emac->op_mode = emac->dma_raw = emac->dma_mask = emac->mac_mask = 0;
	emac->rx_watchdog = emac->access_error = 0;
	emac->bus_mode = BUS_MODE | BUS_RESET;
	memset(emac->addr_high, 0xff, sizeof(emac->addr_high));
	memset(emac->addr_low, 0xff, sizeof(emac->addr_low));
	memset(emac->address, 0xff, sizeof(emac->address));
	for (uint32_t i = 0; i < EMAC_ADDRESSES; i++)
		emac->addr_high[i] = i ? 0x0000ffff : 0x8000ffff;
	memset(emac->mmc_mask, 0, sizeof(emac->mmc_mask));
	emac->dead = false;
	emac_rx_reset(emac);
	emac_tx_reset(emac);
}

/* It ends some time after the transceiver has its clock. */
static void begin_reset(struct emac *emac)
{
	struct clock *clock = &emac->board->clock;

	reset_mac(emac);
	emac->resetting = true;
	clock_cancel(clock, end_reset, emac);
	if (emac->phy_clocked)
		clock_at(clock, clock_now_ns(clock) + SOFT_NS, end_reset, emac);
	update_irq(emac);
}

static void reset_emac(void *device)
{
	struct emac *emac = device;

	emac->pc = PC_RESET;
	emac->cc = emac->phy_raw = emac->phy_mask = 0;
	emac->had_link = false;
	begin_reset(emac);
}

void emac_power(struct emac *emac, bool on, bool stable)
{
	if (on && !stable && !emac->ephy.on)
		board_fault(emac->board, "the transceiver gets its clock while "
					 "the main oscillator is not stable");
	emac->phy_clocked = on && stable;
	ephy_switch(&emac->ephy, emac->phy_clocked, emac->pc);
	if (!emac->phy_clocked)
		emac->pc_unread = false;
	if (emac->resetting && emac->phy_clocked)
		clock_at(&emac->board->clock,
			 clock_now_ns(&emac->board->clock) + SOFT_NS, end_reset,
			 emac);
}

/* --------------------------------------------------------------- registers */

static uint32_t read_dma_status(const struct emac *emac)
{
	static const uint32_t rx[] = {
		[EMAC_STOPPED] = 0, [EMAC_RUNNING] = 3, [EMAC_SUSPENDED] = 4
	};
	static const uint32_t tx[] = {
		[EMAC_STOPPED] = 0, [EMAC_RUNNING] = 2, [EMAC_SUSPENDED] = 6
	};

	if (emac->dead)
		return emac->dma_raw | emac->access_error << AE_AT;
	return emac->dma_raw | rx[emac->rx.ring.state] << 17 |
	       tx[emac->tx.ring.state] << 20;
}

static uint32_t read_wrapper(const struct emac *emac, uint32_t off)
{
	switch (off) {
	case PP:
		return PP_INTERNAL;
	case PC:
		return emac->pc;
	case CC:
		return emac->cc;
	case EPHYRIS:
		return emac->phy_raw;
	case EPHYIM:
		return emac->phy_mask;
	case EPHYMISC:
		return emac->phy_raw & emac->phy_mask;
	default:
		return 0;
	}
}

static uint32_t read_dma(struct emac *emac, uint32_t off)
{
	switch (off) {
	case DMABUSMOD:
		return emac->bus_mode;
	case RXDLADDR:
		return emac->rx.ring.list;
	case TXDLADDR:
		return emac->tx.ring.list;
	case DMARIS:
		return read_dma_status(emac);
	case DMAOPMODE:
		return emac->op_mode;
	case DMAIM:
		return emac->dma_mask;
	case MFBOC:
		return emac_rx_lost(emac);
	case RXINTWDT:
		return emac->rx_watchdog;
	case HOSTXDESC:
		return emac->tx.ring.at;
	case HOSRXDESC:
		return emac->rx.ring.at;
	default:
		return 0;
	}
}

static uint32_t read_mac(struct emac *emac, uint32_t off)
{
	switch (off) {
	case CFG:
		return emac->config;
	case FRAMEFLTR:
		return emac->filter;
	case MIIADDR:
		return emac->mii_addr;
	case MIIDATA:
		return emac_mdio_busy(emac, off) ? board_random(emac->board)
						 : emac->mii_data;
	case FLOWCTL:
		return emac->flow;
	case STATUS:
		return (emac->tx.on_wire ? 1u << 16 : 0) |
		       (emac->tx.count ? 1u << 24 : 0) |
		       (emac->rx.count ? 1u << 8 : 0);
	case IM:
		return emac->mac_mask;
	case TXCNT:
		return (uint32_t)emac->tx.frames;
	case RXCNT:
		return (uint32_t)emac->rx.frames;
	case RXCRC:
		return (uint32_t)emac->rx.with_bad_fcs;
	default:
		return 0;
	}
}

static bool check_reset(struct emac *emac, uint32_t off)
{
	if (!emac->resetting || off == DMABUSMOD || off >= PP)
		return true;
	board_fault(emac->board,
		    "Ethernet register %03x is accessed during a soft reset",
		    off);
	return false;
}

static uint32_t read_emac(void *device, uint32_t off)
{
	struct emac *emac = device;

	if (!check_reset(emac, off))
		return 0;
	if (off >= PP)
		return read_wrapper(emac, off);
	if (off >= DMABUSMOD)
		return read_dma(emac, off);
	if (off >= ADDR0H && off <= ADDR3L)
		return (off & 4 ? emac->addr_low
				: emac->addr_high)[(off - ADDR0H) / 8];
	return read_mac(emac, off);
}

static void write_config(struct emac *emac, uint32_t value)
{
	bool sent = emac_transmits(emac);

	if (!(value & CFG_PS))
		board_fault(emac->board, "EMACCFG=%08x: PS is 0", value);
	if (value & CFG_IPC)
		board_fault(emac->board,
			    "EMACCFG=%08x: checksums are not modelled", value);
	emac->config = value;
	if (!sent && emac_transmits(emac))
		emac_tx_enable(emac);
}

static void write_address(struct emac *emac, uint32_t off, uint32_t value)
{
	uint32_t i = (off - ADDR0H) / 8;

	if (!(off & 4)) {
		emac->addr_high[i] = value | (i ? 0 : 1u << 31);
		return;
	}
	/* both are taken over with the low one */
	emac->addr_low[i] = value;
	for (uint32_t b = 0; b < 4; b++)
		emac->address[i][b] = (uint8_t)(value >> 8 * b);
	emac->address[i][4] = (uint8_t)emac->addr_high[i];
	emac->address[i][5] = (uint8_t)(emac->addr_high[i] >> 8);
}

static void write_mac(struct emac *emac, uint32_t off, uint32_t value)
{
	switch (off) {
	case CFG:
		write_config(emac, value);
		break;
	case FRAMEFLTR:
		if (value & FLT_HASH)
			board_fault(emac->board,
				    "EMACFRAMEFLTR=%08x: hashes "
				    "are not modelled",
				    value);
		emac->filter = value;
		break;
	case MIIADDR:
		if (!emac_mdio_busy(emac, off))
			emac_mdio_write(emac, value);
		break;
	case MIIDATA:
		if (!emac_mdio_busy(emac, off))
			emac->mii_data = value & 0xffff;
		break;
	case FLOWCTL:
		emac->flow = value;
		break;
	case IM:
		emac->mac_mask = value;
		break;
	case MMCRXIM:
	case MMCTXIM:
		emac->mmc_mask[off == MMCTXIM] = value;
		break;
	default:
		board_fault(emac->board,
			    "Ethernet register %03x is not modelled", off);
	}
}

static void write_list(struct emac *emac, struct emac_ring *ring,
		       uint32_t value)
{
	if (ring->state != EMAC_STOPPED)
		board_fault(emac->board, "a descriptor list is written while "
					 "its DMA runs");
	if (value & 3)
		board_fault(emac->board,
			    "the descriptor list at %08x is not aligned",
			    value);
	ring->list = ring->at = value & ~3u;
	ring->owned = false;
}

static void write_bus_mode(struct emac *emac, uint32_t value)
{
	if (value & BUS_RESET) {
		begin_reset(emac);
		return;
	}
	if (emac->rx.ring.state != EMAC_STOPPED ||
	    emac->tx.ring.state != EMAC_STOPPED)
		board_fault(emac->board,
			    "DMABUSMOD=%08x is written while the DMA runs",
			    value);
	if (!(value >> 8 & 63))
		board_fault(emac->board, "DMABUSMOD=%08x: bursts of 0 words",
			    value);
	emac->bus_mode = value;
}

static void write_op_mode(struct emac *emac, uint32_t value)
{
	uint32_t old = emac->op_mode, up = value & ~old, down = old & ~value;

	if ((old ^ value) & EMAC_TSF && old & EMAC_ST)
		board_fault(emac->board,
			    "DMAOPMODE=%08x: TSF changes while the DMA runs",
			    value);
	emac->op_mode = value & ~OP_FLUSH;
	if (value & OP_FLUSH && emac->tx.count)
		board_fault(emac->board, "the transmit FIFO is flushed while "
					 "it has a frame: not modelled");
	if (up & EMAC_SR)
		emac_rx_start(emac);
	if (up & EMAC_ST)
		emac_tx_start(emac);
	if (down & EMAC_SR)
		emac_rx_stop(emac);
	if (down & EMAC_ST)
		emac_tx_stop(emac);
}

static void write_dma(struct emac *emac, uint32_t off, uint32_t value)
{
	switch (off) {
	case DMABUSMOD:
		write_bus_mode(emac, value);
		break;
	case TXPOLLD:
		emac_tx_poll(emac);
		break;
	case RXPOLLD:
		emac_rx_poll(emac);
		break;
	case RXDLADDR:
		write_list(emac, &emac->rx.ring, value);
		break;
	case TXDLADDR:
		write_list(emac, &emac->tx.ring, value);
		break;
	case DMARIS:
		emac->dma_raw &= ~(value & CLEARED);
		break;
	case DMAOPMODE:
		write_op_mode(emac, value);
		break;
	case DMAIM:
		emac->dma_mask = value;
		break;
	case RXINTWDT:
		if (value)
			board_fault(emac->board, "RXINTWDT is not modelled");
		emac->rx_watchdog = value;
		break;
	default:
		board_fault(emac->board,
			    "Ethernet register %03x is not modelled", off);
	}
	update_irq(emac);
}

static void write_wrapper(struct emac *emac, uint32_t off, uint32_t value)
{
	switch (off) {
	case PC:
		if (value & PC_EXTERNAL)
			board_fault(emac->board, "the board has no transceiver "
						 "beside the chip's");
		emac->pc = value;
		emac->pc_unread = emac->phy_clocked;
		if (value & PC_RESTART) {
			emac->pc_unread = false;
			ephy_switch(&emac->ephy, false, value);
			ephy_switch(&emac->ephy, emac->phy_clocked, value);
		}
		break;
	case CC:
		emac->cc = value;
		break;
	case EPHYIM:
		emac->phy_mask = value & 1;
		break;
	case EPHYMISC:
		emac->phy_raw &= ~value;
		if (ephy_interrupts(&emac->ephy))
			emac->phy_raw = 1;
		break;
	default:
		board_fault(emac->board,
			    "Ethernet register %03x is not modelled", off);
	}
	update_irq(emac);
}

static void write_emac(void *device, uint32_t off, uint32_t value)
{
	struct emac *emac = device;

	if (!check_reset(emac, off))
		return;
	if (off >= PP)
		write_wrapper(emac, off, value);
	else if (off >= DMABUSMOD)
		write_dma(emac, off, value);
	else if (off >= ADDR0H && off <= ADDR3L)
		write_address(emac, off, value);
	else
		write_mac(emac, off, value);
}

const struct device_ops emac_ops = {
	.name = "Ethernet",
	.read = read_emac,
	.write = write_emac,
	.reset = reset_emac,
};

void emac_say(const struct emac *emac)
{
	board_say(emac->board,
		  "Ethernet: %lu frames received, %lu with a bad FCS, %lu "
		  "missed, %lu overflows, %lu sent, %lu without a link",
		  emac->rx.frames, emac->rx.with_bad_fcs, emac->rx.all_missed,
		  emac->rx.all_overflows, emac->tx.frames, emac->tx.lost);
	board_say(emac->board,
		  "Ethernet: %lu times suspended, %lu woken by a frame",
		  emac->rx.suspended, emac->rx.woken);
}

void emac_init(struct emac *emac, struct board *board, uint32_t irq,
	       const char *path)
{
	emac->board = board;
	emac->irq = irq;
	emac_ring_init(&emac->rx.ring, emac, false);
	emac_ring_init(&emac->tx.ring, emac, true);
	wire_init(&emac->wire, board, path, emac_rx_arrive, emac);
	ephy_init(&emac->ephy, board, path, hear_of_phy, emac);
}
