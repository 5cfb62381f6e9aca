/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "stellaris_enet.h"

#include <string.h>

#define MACRIS	0x00u /* write: acknowledge */
#define MACIM	0x04u
#define MACRCTL 0x08u
#define MACTCTL 0x0cu
#define MACDATA 0x10u
#define MACIA0	0x14u
#define MACIA1	0x18u
#define MACTHR	0x1cu
#define MACMCTL 0x20u
#define MACMDV	0x24u
#define MACMRXD 0x30u
#define MACNP	0x34u /* frames received */
#define MACTR	0x38u

#define INT_RX	   0x01u
#define INT_TXER   0x02u
#define INT_TXEMP  0x04u
#define INT_FOV	   0x08u
#define INT_RXER   0x10u
#define INT_ALL	   0x7fu
#define RCTL_ON	   0x01u
#define RCTL_BAD   0x08u /* drop what has a wrong FCS */
#define RCTL_RESET 0x10u /* empty the FIFO */
#define TCTL_ON	   0x07u /* pad, append the FCS */
#define TCTL_FULL  0x10u
#define THR_TR	   0x3fu /* send on request only */
#define TR_NEW	   0x01u

/* The PHY, over MII management. */
#define MCTL_START  0x01u
#define MCTL_REG    3 /* shift of the register's number */
#define MDC_HZ	    2500000u
#define MII_LOOKS   10000u
#define MR1	    1u
#define MR1_LINK    0x0004u
#define MR1_NO_LINK 0x0001u /* all that a PHY has, and no link */
#define MR18	    18u
#define MR18_FULL   0x0800u
#define HOLD_BEATS  40u

#define LEN_BYTES   2u
#define FCS_BYTES   4u
#define HDR_BYTES   14u
#define FIFO_BYTES  2048u
#define LEAST_BYTES (LEN_BYTES + HDR_BYTES + FCS_BYTES)
#define NOWHERE	    STELLARIS_ENET_RING

static volatile uint32_t *enet_reg(const struct stellaris_enet *net,
				   uint32_t off)
{
	return (volatile uint32_t *)(net->regs + off);
}

/* ---------------------------------------------------------------- the link */

/* A PHY that does not answer has no link. */
static uint32_t read_phy(const struct stellaris_enet *net, uint32_t reg)
{
	uint32_t looks;

	*enet_reg(net, MACMCTL) = reg << MCTL_REG | MCTL_START;
	for (looks = 0; looks < MII_LOOKS; looks++)
		if (!(*enet_reg(net, MACMCTL) & MCTL_START))
			return *enet_reg(net, MACMRXD) & 0xffff;
	return MR1_NO_LINK;
}

/* MR1 has bits that are always set. Without them there is no PHY, as in an
 * emulator, whose link is up. MR18 is of use once the link is up. */
bool stellaris_enet_beat(struct stellaris_enet *net)
{
	uint32_t mr1 = read_phy(net, MR1);
	bool up = !mr1 || mr1 & MR1_LINK;

	if (net->hold)
		net->hold--;
	if (up == net->up)
		return false;
	net->up = up;
	if (!up)
		net->hold = HOLD_BEATS;
	else if (!mr1 || read_phy(net, MR18) & MR18_FULL)
		*enet_reg(net, MACTCTL) = TCTL_ON | TCTL_FULL;
	else
		*enet_reg(net, MACTCTL) = TCTL_ON;
	return true;
}

void stellaris_enet_info(const struct stellaris_enet *net,
			 struct unic_link *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->mac, net->mac, 6);
	out->up = net->up;
	out->max_frame = STELLARIS_ENET_MAX_FRAME;
}

/* ---------------------------------------------------------------- transmit */

static struct stellaris_frame *tx_of(struct stellaris_enet *net,
				     const uint8_t *frame)
{
	return &net->tx[frame != net->tx[0].bytes + LEN_BYTES];
}

uint8_t *stellaris_enet_tx_get(struct stellaris_enet *net)
{
	uint32_t i;

	if (!net->up && net->hold)
		return NULL;
	for (i = 0; i < STELLARIS_ENET_TX; i++)
		if (!net->tx[i].held && !net->tx[i].len) {
			net->tx[i].held = 1;
			return net->tx[i].bytes + LEN_BYTES;
		}
	return NULL;
}

/* The FIFO has room for one frame, and sends it on request when that is whole. */
static void send_frame(struct stellaris_enet *net, struct stellaris_frame *f)
{
	const uint16_t payload = (uint16_t)(f->len - HDR_BYTES);
	uint32_t word, at;

	memcpy(f->bytes, &payload, sizeof(payload)); /* little-endian */
	for (at = 0; at < LEN_BYTES + (uint32_t)f->len; at += 4) {
		memcpy(&word, __builtin_assume_aligned(f->bytes + at, 4), 4);
		*enet_reg(net, MACDATA) = word;
	}
	*enet_reg(net, MACTR) = TR_NEW;
	f->len = 0;
}

/* Sends what may be sent. What has to wait for the transmitter is sent in the
 * handler: the interrupt of the empty FIFO is on as long as something waits. */
static void send_frames(struct stellaris_enet *net)
{
	while (net->tx[net->tx_first].len &&
	       !(*enet_reg(net, MACTR) & TR_NEW)) {
		send_frame(net, &net->tx[net->tx_first]);
		net->tx_first ^= 1;
	}
}

/* ----------------------------------------------------------------- receive */

/* Where an entry is that begins at @off or, if the longest did not fit there, at 0. */
static uint32_t place_at(uint32_t off)
{
	return STELLARIS_ENET_RING - off < STELLARIS_ENET_PLACE ? 0 : off;
}

/* Where there is room for the longest frame; NOWHERE: nowhere. */
static uint32_t free_place(const struct stellaris_enet *net)
{
	uint32_t tail = net->rx_tail, head = net->rx_head;
	uint32_t at = place_at(tail);

	if (tail >= head)
		return at == tail || head > STELLARIS_ENET_PLACE ? at : NOWHERE;
	return at == tail && head > at + STELLARIS_ENET_PLACE ? at : NOWHERE;
}

/* Data sheet 15.4.3, MACRCTL: with the receiver off. */
static void reset_fifo(struct stellaris_enet *net)
{
	*enet_reg(net, MACRCTL) = RCTL_BAD;
	*enet_reg(net, MACRCTL) = RCTL_BAD | RCTL_RESET;
	*enet_reg(net, MACRCTL) = RCTL_BAD | RCTL_ON;
}

/* Moves a frame out of the FIFO to @at; its first two bytes are its length, which
 * includes them. Returns false if the FIFO had to be emptied. */
static bool move_frame(struct stellaris_enet *net, uint32_t at)
{
	uint32_t word = *enet_reg(net, MACDATA), all = word & 0xffff, got = 0;

	if (all < LEAST_BYTES || all > FIFO_BYTES) {
		net->counts.nonsense++;
		net->rx_bad++;
		reset_fifo(net);
		return false;
	}
	for (;;) {
		if (got < STELLARIS_ENET_PLACE)
			memcpy(__builtin_assume_aligned(net->ring + at + got,
							4),
			       &word, 4);
		got += 4;
		if (got >= all)
			break;
		word = *enet_reg(net, MACDATA);
	}
	if (all <= LEN_BYTES + STELLARIS_ENET_MAX_FRAME + FCS_BYTES) {
		net->rx_tail = (uint16_t)(at + got);
		return true;
	}
	net->counts.too_long++;
	net->rx_bad++;
	return true;
}

/* A frame that did not fit may be in the FIFO in part, and counted: all that is in
 * there is dropped with it. */
static void end_overrun(struct stellaris_enet *net)
{
	net->counts.overruns++;
	net->rx_bad++;
	reset_fifo(net);
	*enet_reg(net, MACRIS) = INT_FOV;
}

/* Without an overrun all frames that are counted are whole. */
static void fetch_frames(struct stellaris_enet *net)
{
	uint32_t at;

	do {
		at = free_place(net);
		if (at == NOWHERE)
			return;
		if (*enet_reg(net, MACRIS) & INT_FOV) {
			end_overrun(net);
			return;
		}
	} while (*enet_reg(net, MACNP) && move_frame(net, at));
}

/* ------------------------------------------------------------- both, start-up */

/* Without room in the ring frames stay in the FIFO, and it may overrun. */
static void set_mask(struct stellaris_enet *net)
{
	uint8_t mask = INT_RXER | INT_TXER;

	if (free_place(net) != NOWHERE)
		mask |= INT_RX | INT_FOV;
	if (net->tx[net->tx_first].len)
		mask |= INT_TXEMP;
	if (mask != net->mask)
		*enet_reg(net, MACIM) = mask;
	net->mask = mask;
}

void stellaris_enet_irq(struct stellaris_enet *net)
{
	uint32_t why = *enet_reg(net, MACRIS) & ~INT_FOV;

	/* first, so that what comes from here on interrupts again */
	*enet_reg(net, MACRIS) = why;
	if (why & INT_RXER) {
		net->counts.errors++;
		net->rx_bad++;
	}
	if (why & INT_TXER)
		net->counts.tx_lost++;
	fetch_frames(net);
	send_frames(net);
	set_mask(net);
}

void stellaris_enet_init(struct stellaris_enet *net, uintptr_t regs,
			 uint32_t hz, const uint8_t mac[6])
{
	net->regs = regs;
	memcpy(net->mac, mac, 6);
	*enet_reg(net, MACIM) = 0;
	*enet_reg(net, MACMDV) =
		hz / 2 / MDC_HZ; /* the clock's half by n + 1 */
	*enet_reg(net, MACIA0) = mac[0] | (uint32_t)mac[1] << 8 |
				 (uint32_t)mac[2] << 16 |
				 (uint32_t)mac[3] << 24;
	*enet_reg(net, MACIA1) = mac[4] | (uint32_t)mac[5] << 8;
	*enet_reg(net, MACTHR) = THR_TR;
	net->hold = HOLD_BEATS;
	(void)stellaris_enet_beat(net);
	reset_fifo(net);
	*enet_reg(net, MACRIS) = INT_ALL;
	set_mask(net);
}

void stellaris_enet_tx_put(struct stellaris_enet *net, const uint8_t *frame,
			   uint32_t len)
{
	struct stellaris_frame *f = tx_of(net, frame);
	bool other = net->tx[f == net->tx].len;

	f->held = 0;
	f->len = (uint16_t)(net->up ? len : 0);
	if (f->len && !other)
		net->tx_first = (uint8_t)(f - net->tx);
	send_frames(net);
	set_mask(net);
}

bool stellaris_enet_rx_next(struct stellaris_enet *net, struct unic_rx *rx)
{
	uint32_t at = place_at(net->rx_taken);
	uint16_t all = 0;

	*rx = (struct unic_rx){ .frame = net->ring + at + LEN_BYTES };
	if (net->rx_told != net->rx_bad) {
		net->rx_told++;
		return true;
	}
	if (net->rx_taken == net->rx_tail)
		return false;
	/* the frame is read after it is known to be there */
	__atomic_signal_fence(__ATOMIC_ACQUIRE);
	memcpy(&all, __builtin_assume_aligned(net->ring + at, 4), 2);
	rx->len = all - LEN_BYTES - FCS_BYTES;
	net->rx_taken = (uint16_t)(at + ((all + 3u) & ~3u));
	return true;
}

bool stellaris_enet_rx_done(struct stellaris_enet *net)
{
	net->rx_head = net->rx_taken;
	return !(net->mask & INT_RX);
}
