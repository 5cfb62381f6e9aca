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
#define MACNP	0x34u /* frames received */
#define MACTR	0x38u

#define INT_RX	 0x01u
#define INT_ALL	 0x7fu
#define RCTL_ON	 0x01u
#define RCTL_BAD 0x08u /* drop what has a wrong FCS */
#define RCTL_NEW 0x10u /* empty the FIFO */
#define TCTL_ON	 0x17u /* pad, append the FCS, full duplex */
#define THR_TR	 0x3fu /* send on request only */
#define TR_NEW	 0x01u

#define LEN_BYTES 2u
#define FCS_BYTES 4u
#define HDR_BYTES 14u

static volatile uint32_t *enet_reg(const struct stellaris_enet *net,
				   uint32_t off)
{
	return (volatile uint32_t *)(net->regs + off);
}

void stellaris_enet_init(struct stellaris_enet *net, uintptr_t regs,
			 const uint8_t mac[6])
{
	net->regs = regs;
	memcpy(net->mac, mac, 6);
	*enet_reg(net, MACIM) = 0;
	*enet_reg(net, MACRCTL) = RCTL_NEW;
	*enet_reg(net, MACIA0) = mac[0] | (uint32_t)mac[1] << 8 |
				 (uint32_t)mac[2] << 16 |
				 (uint32_t)mac[3] << 24;
	*enet_reg(net, MACIA1) = mac[4] | (uint32_t)mac[5] << 8;
	*enet_reg(net, MACTHR) = THR_TR;
	*enet_reg(net, MACTCTL) = TCTL_ON;
	*enet_reg(net, MACRCTL) = RCTL_ON | RCTL_BAD;
	*enet_reg(net, MACRIS) = INT_ALL;
	*enet_reg(net, MACIM) = INT_RX;
}

void stellaris_enet_info(const struct stellaris_enet *net,
			 struct unic_link *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->mac, net->mac, 6);
	out->up = true;
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

	for (i = 0; i < STELLARIS_ENET_TX; i++)
		if (!net->tx[i].held && !net->tx[i].len) {
			net->tx[i].held = 1;
			return net->tx[i].bytes + LEN_BYTES;
		}
	return NULL;
}

/* The FIFO has room for one frame, and sends it on request when that is whole. */
static bool send_frame(struct stellaris_enet *net, struct stellaris_frame *f)
{
	const uint16_t payload = (uint16_t)(f->len - HDR_BYTES);
	uint32_t word, at;

	if (*enet_reg(net, MACTR) & TR_NEW)
		return false;
	memcpy(f->bytes, &payload, sizeof(payload)); /* little-endian */
	for (at = 0; at < LEN_BYTES + (uint32_t)f->len; at += 4) {
		memcpy(&word, __builtin_assume_aligned(f->bytes + at, 4), 4);
		*enet_reg(net, MACDATA) = word;
	}
	*enet_reg(net, MACTR) = TR_NEW;
	f->len = 0;
	return true;
}

void stellaris_enet_tx_put(struct stellaris_enet *net, const uint8_t *frame,
			   uint32_t len)
{
	struct stellaris_frame *f = tx_of(net, frame);
	bool other = net->tx[f == net->tx].len;

	f->held = 0;
	f->len = (uint16_t)len;
	if (len && !other)
		net->tx_first = (uint8_t)(f - net->tx);
	stellaris_enet_flush(net);
}

void stellaris_enet_flush(struct stellaris_enet *net)
{
	uint32_t i;

	for (i = 0; i < STELLARIS_ENET_TX; i++) {
		struct stellaris_frame *f = &net->tx[net->tx_first];

		if (!f->len || !send_frame(net, f))
			return;
		net->tx_first ^= 1;
	}
}

/* ----------------------------------------------------------------- receive */

void stellaris_enet_irq(struct stellaris_enet *net)
{
	*enet_reg(net, MACIM) = 0;
	net->came = true;
}

/* A frame that comes after the last look interrupts. */
static bool has_frame(struct stellaris_enet *net)
{
	if (!net->came)
		return false;
	if (*enet_reg(net, MACNP))
		return true;
	net->came = false;
	*enet_reg(net, MACRIS) = INT_RX;
	*enet_reg(net, MACIM) = INT_RX;
	if (!*enet_reg(net, MACNP))
		return false;
	net->came = true;
	return true;
}

/* Takes a frame out of the FIFO; its first two bytes are its length, which
 * includes them. A frame that is not for this NIC has no bytes
 * (unic_port_rx_next()). */
static void receive_frame(struct stellaris_enet *net, struct stellaris_frame *f)
{
	uint32_t word = *enet_reg(net, MACDATA), all = word & 0xffff, at;

	for (at = 0; at < all; at += 4) {
		if (at)
			word = *enet_reg(net, MACDATA);
		if (at + 4 <= sizeof(f->bytes))
			memcpy(__builtin_assume_aligned(f->bytes + at, 4),
			       &word, 4);
	}
	if (all < LEN_BYTES + HDR_BYTES + FCS_BYTES ||
	    all - LEN_BYTES - FCS_BYTES > STELLARIS_ENET_MAX_FRAME) {
		net->rx_bad++;
		all = LEN_BYTES + FCS_BYTES;
	}
	f->len = (uint16_t)(all - LEN_BYTES - FCS_BYTES);
}

bool stellaris_enet_rx_next(struct stellaris_enet *net, struct unic_rx *rx)
{
	struct stellaris_frame *f = &net->rx[net->rx_held];

	if (net->rx_held == STELLARIS_ENET_RX || !has_frame(net))
		return false;
	receive_frame(net, f);
	net->rx_held++;
	*rx = (struct unic_rx){ .frame = f->bytes + LEN_BYTES, .len = f->len };
	return true;
}

void stellaris_enet_rx_done(struct stellaris_enet *net)
{
	net->rx_held = 0;
}
