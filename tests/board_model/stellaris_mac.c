// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* stellaris_mac.c - see stellaris_mac.h. */
#include "stellaris_mac.h"

#include <string.h>

#include "cpu.h"

#define MACRIS	0x00u
#define MACIM	0x04u
#define MACRCTL 0x08u
#define MACTCTL 0x0cu
#define MACDATA 0x10u
#define MACIA0	0x14u
#define MACIA1	0x18u
#define MACTHR	0x1cu
#define MACMCTL 0x20u
#define MACMDV	0x24u
#define MACMTXD 0x2cu
#define MACMRXD 0x30u
#define MACNP	0x34u
#define MACTR	0x38u

#define INT_RX	 0x01u
#define INT_TXER 0x02u
#define INT_TXE	 0x04u
#define INT_FOV	 0x08u
#define INT_RXER 0x10u
#define INT_MD	 0x20u
#define INT_PHY	 0x40u

#define RCTL_ON	   0x01u
#define RCTL_MULTI 0x02u
#define RCTL_ALL   0x04u
#define RCTL_BAD   0x08u
#define RCTL_RESET 0x10u
#define TCTL_ON	   0x01u
#define TCTL_PAD   0x02u
#define TCTL_CRC   0x04u
#define TCTL_FULL  0x10u
#define THR_WHOLE  0x3fu
#define TR_NEW	   1u
#define MCTL_START 1u
#define MCTL_WRITE 2u

#define MR16	    16u
#define MR17	    17u
#define MR18	    18u
#define MR17_LINK   0x0004u /* changed; enabled eight bits higher */
#define MR17_DONE   0x0001u
#define MR18_FULL   0x0800u
#define MR18_100    0x0400u
#define MR18_SIGNAL 0x0200u
#define MR18_LOCK   0x0100u

#define LEN_BYTES 2u
#define HDR_BYTES 14u
#define WRONG_OF  8u /* frames, one has a length that is nonsense */
#define MDC_MOST  2500000u
#define MDC_TICKS 64u

static void update_irq(struct stellaris_mac *mac)
{
	cpu_irq(mac->board->cpu, mac->irq, mac->raw & mac->mask);
}

/* ----------------------------------------------------------------- receive */

static void put_bytes(struct stellaris_mac *mac, const uint8_t *bytes,
		      uint32_t count)
{
	for (uint32_t i = 0; i < count && mac->rx_bytes < STELLARIS_MAC_FIFO;
	     i++)
		mac->rx[(mac->rx_first + mac->rx_bytes++) %
			STELLARIS_MAC_FIFO] = bytes[i];
}

static bool is_for_us(const struct stellaris_mac *mac, const uint8_t *frame)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };

	if (mac->rctl & RCTL_ALL || !memcmp(frame, all, 6))
		return true;
	if (frame[0] & 1)
		return mac->rctl & RCTL_MULTI;
	return !memcmp(frame, mac->ia, 6);
}

/* @all, which is right, or what --break length makes of it. */
static uint32_t length_in_fifo(struct stellaris_mac *mac, uint32_t all)
{
	if (!board_breaks(mac->board, "length") ||
	    mac->wire.received % WRONG_OF)
		return all;
	return mac->nonsense++ % 2 ? 4 * STELLARIS_MAC_FIFO : 3;
}

/* Length, which includes itself, frame with its FCS, padded to a word. */
static void receive_frame(void *arg, const uint8_t *frame, uint32_t bytes)
{
	static const uint8_t pad[4];
	struct stellaris_mac *mac = arg;
	uint32_t all = bytes + LEN_BYTES, words = (all + 3) & ~3u;
	uint8_t length[LEN_BYTES];
	uint32_t told;

	if (!(mac->rctl & RCTL_ON) || !mac->phy.up || !is_for_us(mac, frame))
		return;
	if (!wire_is_whole(frame, bytes))
		mac->raw |= INT_RXER;
	if (!wire_is_whole(frame, bytes) && mac->rctl & RCTL_BAD) {
		update_irq(mac);
		return;
	}
	if (words > STELLARIS_MAC_FIFO - mac->rx_bytes) {
		mac->overruns++;
		mac->raw |= INT_FOV;
	}
	if (mac->rx_bytes < STELLARIS_MAC_FIFO) {
		mac->frames++;
		mac->raw |= INT_RX;
	}
	told = length_in_fifo(mac, all);
	length[0] = (uint8_t)told;
	length[1] = (uint8_t)(told >> 8);
	put_bytes(mac, length, LEN_BYTES);
	put_bytes(mac, frame, bytes);
	put_bytes(mac, pad, words - all);
	update_irq(mac);
}

static uint32_t read_data(struct stellaris_mac *mac)
{
	uint32_t v = 0;

	if (mac->rx_bytes < 4) {
		board_fault(mac->board, "the empty receive FIFO is read");
		return board_random(mac->board);
	}
	for (uint32_t i = 0; i < 4; i++)
		v |= (uint32_t)mac->rx[(mac->rx_first + i) % STELLARIS_MAC_FIFO]
		     << 8 * i;
	mac->rx_first = (mac->rx_first + 4) % STELLARIS_MAC_FIFO;
	mac->rx_bytes -= 4;
	if (!mac->frame_left)
		mac->frame_left = ((v & 0xffff) + 3) & ~3u;
	mac->frame_left = mac->frame_left > 4 ? mac->frame_left - 4 : 0;
	if (!mac->frame_left && mac->frames)
		mac->frames--;
	return v;
}

static void empty_fifo(struct stellaris_mac *mac)
{
	if (mac->rctl & RCTL_ON)
		board_fault(mac->board, "the receive FIFO is reset while the "
					"receiver is on");
	mac->rx_first = mac->rx_bytes = mac->frames = mac->frame_left = 0;
}

static void write_rctl(struct stellaris_mac *mac, uint32_t value)
{
	/* bits change after what the old ones forbid */
	if (value & RCTL_RESET)
		empty_fifo(mac);
	mac->rctl = value & 0xf;
}

/* ---------------------------------------------------------------- transmit */

static void end_send(void *arg)
{
	struct stellaris_mac *mac = arg;
	uint32_t bytes = (uint32_t)(mac->tx[0] | mac->tx[1] << 8) + HDR_BYTES;

	mac->sending = false;
	mac->tx_bytes = 0;
	mac->raw |= INT_TXE;
	/* in the wrong duplex some frames collide late */
	if (!mac->phy.up)
		mac->lost++;
	else if (phy_full_duplex(&mac->phy) == !!(mac->tctl & TCTL_FULL) ||
		 board_random(mac->board) % 8)
		wire_send(&mac->wire, mac->tx + LEN_BYTES, bytes);
	update_irq(mac);
}

static void check_send(struct stellaris_mac *mac)
{
	if (!mac->had_link)
		board_fault(mac->board, "a frame is sent before the link was "
					"ever up");
	else if (mac->phy.up &&
		 phy_full_duplex(&mac->phy) != !!(mac->tctl & TCTL_FULL))
		board_fault(mac->board, "a frame is sent in another duplex "
					"than was "
					"agreed on");
	if (mac->threshold < THR_WHOLE)
		board_fault(mac->board, "MACTHR=%02x is not modelled",
			    mac->threshold);
	if (!(mac->tctl & TCTL_CRC) || !(mac->tctl & TCTL_PAD))
		board_fault(mac->board, "frames without padding or FCS");
}

static void begin_send(struct stellaris_mac *mac)
{
	struct clock *clock = &mac->board->clock;
	uint32_t bytes = (uint32_t)(mac->tx[0] | mac->tx[1] << 8) + HDR_BYTES;
	uint32_t words = (LEN_BYTES + bytes + 3) & ~3u;

	if (mac->sending || !(mac->tctl & TCTL_ON)) {
		board_fault(mac->board, "NEWTX while the transmitter is %s",
			    mac->sending ? "busy" : "off");
		return;
	}
	check_send(mac);
	if (mac->tx_bytes != words) {
		board_fault(mac->board,
			    "a frame of %u bytes has %u in the FIFO", words,
			    mac->tx_bytes);
		mac->raw |= INT_TXER;
		mac->tx_bytes = 0;
		update_irq(mac);
		return;
	}
	mac->sending = true;
	clock_at(clock,
		 clock_now_ns(clock) + wire_ns(bytes < 60 ? 64 : bytes + 4) *
					       (mac->wire.slower + 1),
		 end_send, mac);
}

static void write_data(struct stellaris_mac *mac, uint32_t value)
{
	if (mac->sending)
		board_fault(mac->board, "a frame is written while one is "
					"being sent");
	else if (mac->tx_bytes + 4 > sizeof(mac->tx))
		board_fault(mac->board, "the transmit FIFO overflows");
	else
		memcpy(mac->tx + mac->tx_bytes, &value, 4);
	if (!mac->sending && mac->tx_bytes + 4 <= sizeof(mac->tx))
		mac->tx_bytes += 4;
}

/* -------------------------------------------------------------- management */

static uint16_t read_vendor(struct stellaris_mac *mac, uint32_t reg)
{
	uint16_t v;

	if (reg == 2)
		return 0x000e;
	if (reg == 3)
		return 0x7237;
	if (reg == MR16)
		return 0x0140;
	if (reg == MR17) {
		v = (uint16_t)(mac->phy_mask | mac->phy_raw);
		mac->phy_raw = 0;
		return v;
	}
	if (reg == MR18 && mac->phy.up)
		return (phy_is_100(&mac->phy) ? MR18_100 : 0) | MR18_SIGNAL |
		       MR18_LOCK | (phy_full_duplex(&mac->phy) ? MR18_FULL : 0);
	return phy_read(&mac->phy, reg);
}

static void end_management(void *arg)
{
	struct stellaris_mac *mac = arg;
	uint32_t reg = mac->mctl >> 3 & 31;

	if (!(mac->mctl & MCTL_WRITE))
		mac->mrxd = read_vendor(mac, reg);
	else if (reg == MR17)
		mac->phy_mask = mac->mtxd & 0xff00;
	else
		phy_write(&mac->phy, reg, (uint16_t)mac->mtxd);
	mac->mctl &= ~MCTL_START;
	mac->raw |= INT_MD;
	update_irq(mac);
}

static void begin_management(struct stellaris_mac *mac, uint32_t value)
{
	struct clock *clock = &mac->board->clock;
	uint32_t mdc = clock->hz / 2 / (mac->mdv + 1);

	if (mac->mctl & MCTL_START)
		board_fault(mac->board, "MACMCTL is written while it works");
	mac->mctl = value & 0xff;
	if (!(value & MCTL_START))
		return;
	if (mdc > MDC_MOST)
		board_fault(mac->board, "MDC has %u Hz", mdc);
	clock_at(clock, clock_now_ns(clock) + MDC_TICKS * 1000000000ull / mdc,
		 end_management, mac);
}

static void hear_of_link(void *arg)
{
	struct stellaris_mac *mac = arg;

	mac->had_link |= mac->phy.up;
	mac->wire.slower = phy_is_100(&mac->phy) ? 0 : 9;
	mac->phy_raw |= MR17_LINK | (mac->phy.up ? MR17_DONE : 0);
	if (mac->phy_raw & mac->phy_mask >> 8)
		mac->raw |= INT_PHY;
	update_irq(mac);
}

/* --------------------------------------------------------------- registers */

static uint32_t read_mac(void *device, uint32_t off)
{
	struct stellaris_mac *mac = device;

	switch (off) {
	case MACRIS:
		return mac->raw;
	case MACIM:
		return mac->mask;
	case MACRCTL:
		return mac->rctl;
	case MACTCTL:
		return mac->tctl;
	case MACDATA:
		return read_data(mac);
	case MACIA0:
	case MACIA1:
		return mac->ia[off == MACIA1];
	case MACTHR:
		return mac->threshold;
	case MACMCTL:
		return mac->mctl;
	case MACMDV:
		return mac->mdv;
	case MACMTXD:
		return mac->mtxd;
	case MACMRXD:
		return mac->mrxd;
	case MACNP:
		return mac->frames < 63 ? mac->frames : 63;
	case MACTR:
		return mac->sending;
	default:
		return 0;
	}
}

static void write_mac(void *device, uint32_t off, uint32_t value)
{
	struct stellaris_mac *mac = device;

	if (off == MACRIS) {
		mac->raw &= ~value;
	} else if (off == MACIM) {
		mac->mask = value & 0x7f;
	} else if (off == MACRCTL) {
		write_rctl(mac, value);
	} else if (off == MACTCTL) {
		mac->tctl = value & 0x1f;
	} else if (off == MACDATA) {
		write_data(mac, value);
	} else if (off == MACIA0 || off == MACIA1) {
		mac->ia[off == MACIA1] = value;
	} else if (off == MACTHR) {
		mac->threshold = value & THR_WHOLE;
	} else if (off == MACMCTL) {
		begin_management(mac, value);
	} else if (off == MACMDV) {
		mac->mdv = value & 0xff;
	} else if (off == MACMTXD) {
		mac->mtxd = value & 0xffff;
	} else if (off == MACTR && value & TR_NEW) {
		begin_send(mac);
	}
	update_irq(mac);
}

static void reset_mac(void *device)
{
	struct stellaris_mac *mac = device;
	struct clock *clock = &mac->board->clock;

	clock_cancel(clock, end_send, mac);
	clock_cancel(clock, end_management, mac);
	mac->raw = mac->mask = mac->tctl = mac->mctl = 0;
	mac->rctl = 8;
	mac->threshold = THR_WHOLE;
	mac->mdv = 0x80;
	mac->ia[0] = mac->ia[1] = 0;
	mac->rx_bytes = mac->frames = mac->frame_left = mac->tx_bytes = 0;
	mac->phy_mask = mac->phy_raw = 0;
	mac->sending = mac->had_link = false;
	update_irq(mac);
}

const struct device_ops stellaris_mac_ops = {
	.name = "Ethernet",
	.read = read_mac,
	.write = write_mac,
	.reset = reset_mac,
};

void stellaris_mac_power(struct stellaris_mac *mac, bool on)
{
	if (on)
		phy_start(&mac->phy);
	else
		phy_stop(&mac->phy);
}

void stellaris_mac_init(struct stellaris_mac *mac, struct board *board,
			uint32_t irq, const char *path)
{
	mac->board = board;
	mac->irq = irq;
	wire_init(&mac->wire, board, path, receive_frame, mac);
	phy_init(&mac->phy, board, path, hear_of_link, mac);
}
