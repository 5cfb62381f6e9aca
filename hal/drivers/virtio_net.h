/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * virtio_net.h - the link to the outside world: a modern virtio network device
 * without any offload, one receive and one transmit queue.
 *
 * Frames stand at 2 modulo 4 behind the 12-byte virtio header, in buffers of the
 * driver: the device reads and writes nothing else.
 */
#ifndef VIRTIO_NET_H
#define VIRTIO_NET_H

#include "unic_port.h"
#include "virtio_mmio.h"

#define VIRTIO_NET_RX	     16u
#define VIRTIO_NET_TX	     8u
#define VIRTIO_NET_MAX_FRAME 1518u /* Ethernet's, without its own CRC + a tag */
#define VIRTIO_NET_STRIDE    1536u

struct virtio_net {
	struct virtq rxq;
	struct virtq txq;
	uint8_t rx[VIRTIO_NET_RX][VIRTIO_NET_STRIDE]
		__attribute__((aligned(64)));
	uint8_t tx[VIRTIO_NET_TX][VIRTIO_NET_STRIDE]
		__attribute__((aligned(64)));
	uintptr_t regs;
	uint32_t tx_free; /* bit i: transmit buffer i */
	uint32_t tx_held; /* by the core */
	uint32_t rx_held; /* bit i: the core has receive buffer i */
	uint32_t rx_bad;  /* frames dropped for their length */
	bool tx_dirty;	  /* posted, not kicked */
	bool rx_dirty;
	uint8_t mac[6];
};

/**
 * virtio_net_init() - start the device at @regs, all receive buffers posted.
 * @net: zeroed; stays in use until the device is reset.
 * Returns an enum virtio_mmio_status; on an error the device is not running.
 */
int virtio_net_init(struct virtio_net *net, uintptr_t regs);

/** The rest is unic_port.h, one to one; see there. */
void virtio_net_info(const struct virtio_net *net, struct unic_link *out);
uint8_t *virtio_net_tx_get(struct virtio_net *net);
void virtio_net_tx_put(struct virtio_net *net, const uint8_t *frame,
		       uint32_t len);
void virtio_net_flush(struct virtio_net *net);
bool virtio_net_rx_ready(const struct virtio_net *net);
bool virtio_net_rx_next(struct virtio_net *net, struct unic_rx *rx);
void virtio_net_rx_done(struct virtio_net *net);
void virtio_net_rx_arm(struct virtio_net *net, bool on);

#endif /* VIRTIO_NET_H */
