/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "virtio_net.h"

#include <string.h>

#define RX_QUEUE     0u
#define TX_QUEUE     1u
#define FEATURE_MAC  (1u << 5)
#define CONFIG_MAC   0x100u
#define HEADER_OFF   2u
#define HEADER_BYTES 12u
#define FRAME_OFF    (HEADER_OFF + HEADER_BYTES)
#define RX_BATCH     8u /* buffers given back per kick */

_Static_assert(FRAME_OFF % 4 == 2, "IPv4 header is 4-aligned");
_Static_assert(FRAME_OFF + VIRTIO_NET_MAX_FRAME <= VIRTIO_NET_STRIDE, "a frame "
								      "fits "
								      "its "
								      "buffer");
_Static_assert(VIRTIO_NET_RX <= VIRTQ_MAX && VIRTIO_NET_TX <= VIRTQ_MAX, "a "
									 "descr"
									 "iptor"
									 " per "
									 "buffe"
									 "r");
_Static_assert(VIRTIO_NET_TX < 32, "tx_free is one word");
_Static_assert(VIRTIO_NET_RX <= 32, "rx_held is one word");

static void virtio_net_read_mac(struct virtio_net *net)
{
	for (uint32_t i = 0; i < sizeof(net->mac); i++)
		net->mac[i] = *(volatile uint8_t *)(net->regs + CONFIG_MAC + i);
}

static void virtio_net_describe(struct virtio_net *net)
{
	for (uint32_t i = 0; i < VIRTIO_NET_RX; i++) {
		virtq_describe(&net->rxq, i, net->rx[i] + HEADER_OFF, 0,
			       VIRTQ_DESC_WRITE);
		virtq_post(&net->rxq, i, HEADER_BYTES + VIRTIO_NET_MAX_FRAME);
	}
	for (uint32_t i = 0; i < VIRTIO_NET_TX; i++)
		virtq_describe(&net->txq, i, net->tx[i] + HEADER_OFF, 0, 0);
	net->tx_free = (1u << VIRTIO_NET_TX) - 1;
}

int virtio_net_init(struct virtio_net *net, uintptr_t regs)
{
	int status = virtio_mmio_start(regs, FEATURE_MAC);

	if (status == VIRTIO_MMIO_OK)
		status = virtio_mmio_queue(regs, RX_QUEUE, &net->rxq,
					   VIRTIO_NET_RX);
	if (status == VIRTIO_MMIO_OK)
		status = virtio_mmio_queue(regs, TX_QUEUE, &net->txq,
					   VIRTIO_NET_TX);
	if (status != VIRTIO_MMIO_OK)
		return status;
	net->regs = regs;
	virtio_net_read_mac(net);
	virtio_net_describe(net);
	virtio_mmio_run(regs);
	virtq_kick(&net->rxq);
	return VIRTIO_MMIO_OK;
}

void virtio_net_info(const struct virtio_net *net, struct unic_link *out)
{
	memcpy(out->mac, net->mac, sizeof(out->mac));
	out->up = true;
	out->icrc_offload = false;
	out->slots = false;
	out->max_frame = VIRTIO_NET_MAX_FRAME;
}

static void virtio_net_reclaim(struct virtio_net *net)
{
	uint32_t id, len;

	while (virtq_take(&net->txq, &id, &len))
		net->tx_free |= 1u << id;
}

uint8_t *virtio_net_tx_get(struct virtio_net *net)
{
	uint32_t id;

	if (net->tx_held == UNIC_TX_BUFS)
		return NULL;
	if (!net->tx_free)
		virtio_net_reclaim(net);
	if (!net->tx_free)
		return NULL;
	id = (uint32_t)__builtin_ctz(net->tx_free);
	net->tx_free &= ~(1u << id);
	net->tx_held++;
	return net->tx[id] + FRAME_OFF;
}

void virtio_net_tx_put(struct virtio_net *net, const uint8_t *frame,
		       uint32_t len)
{
	uint32_t id = (uint32_t)(frame - net->tx[0]) / VIRTIO_NET_STRIDE;

	net->tx_held--;
	if (!len || len > VIRTIO_NET_MAX_FRAME) {
		net->tx_free |= 1u << id;
		return;
	}
	virtq_post(&net->txq, id, HEADER_BYTES + len);
	net->tx_dirty = true;
}

void virtio_net_flush(struct virtio_net *net)
{
	if (!net->tx_dirty)
		return;
	net->tx_dirty = false;
	virtq_kick(&net->txq);
}

static void virtio_net_repost(struct virtio_net *net, uint32_t id)
{
	virtq_post(&net->rxq, id, HEADER_BYTES + VIRTIO_NET_MAX_FRAME);
	net->rx_dirty = true;
	if (net->rxq.posted % RX_BATCH)
		return;
	net->rx_dirty = false;
	virtq_kick(&net->rxq);
}

bool virtio_net_rx_ready(const struct virtio_net *net)
{
	return virtq_ready(&net->rxq);
}

bool virtio_net_rx_next(struct virtio_net *net, struct unic_rx *rx)
{
	uint32_t id, len;

	if (!virtq_take(&net->rxq, &id, &len))
		return false;
	if (len <= HEADER_BYTES || len > HEADER_BYTES + VIRTIO_NET_MAX_FRAME) {
		net->rx_bad++;
		len = HEADER_BYTES; /* no frame: unic_port_rx_next() */
	}
	rx->frame = net->rx[id] + FRAME_OFF;
	rx->len = len - HEADER_BYTES;
	rx->flags = 0;
	net->rx_held |= 1u << id;
	return true;
}

void virtio_net_rx_done(struct virtio_net *net)
{
	for (; net->rx_held; net->rx_held &= net->rx_held - 1)
		virtio_net_repost(net, (uint32_t)__builtin_ctz(net->rx_held));
}

void virtio_net_rx_arm(struct virtio_net *net, bool on)
{
	if (on && net->rx_dirty) {
		net->rx_dirty = false;
		virtq_kick(&net->rxq);
	}
	virtq_interrupt(&net->rxq, on);
}
