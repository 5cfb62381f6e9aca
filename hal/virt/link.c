/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * One link out of two, chosen at start-up by which device is there: rings in
 * shared memory (NICs of this machine), or virtio-net (the world). A NIC
 * without a link is one whose cable is out.
 */
#include "port.h"

#include <string.h>

#include "ivshmem_pci.h"

void unic_port_link(struct unic_port *port, struct unic_link *out)
{
	memset(out, 0, sizeof(*out));
	if (port->link == VIRT_LINK_RING)
		link_ring_info(&port->ring, out);
	else if (port->link == VIRT_LINK_NET)
		virtio_net_info(&port->net, out);
}

uint32_t unic_port_path(struct unic_port *port, const uint8_t mac[6])
{
	if (port->link == VIRT_LINK_RING)
		return link_ring_path(&port->ring, mac);
	return 0;
}

inline uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path)
{
	if (port->link == VIRT_LINK_RING)
		return link_ring_tx_get(&port->ring, path);
	if (port->link == VIRT_LINK_NET)
		return virtio_net_tx_get(&port->net);
	return NULL;
}

inline void unic_port_tx_put(struct unic_port *port, uint8_t *frame,
			     uint32_t len, uint32_t flags)
{
	if (port->link == VIRT_LINK_RING)
		link_ring_tx_put(&port->ring, frame, len, flags);
	else
		virtio_net_tx_put(&port->net, frame, len);
}

inline bool unic_port_tx_run(struct unic_port *port, uint32_t path,
			     struct unic_tx_run *run)
{
	return port->link == VIRT_LINK_RING &&
	       link_ring_tx_run(&port->ring, path, run);
}

inline void unic_port_tx_run_put(struct unic_port *port,
				 const struct unic_tx_run *run, uint32_t n,
				 uint32_t len, uint32_t flags)
{
	(void)run;
	link_ring_tx_run_put(&port->ring, n, len, flags);
}

static void virt_ring_flush(struct unic_port *port)
{
	uint32_t peers = link_ring_flush(&port->ring);

	while (peers) {
		uint32_t peer = (uint32_t)__builtin_ctz(peers);

		peers &= peers - 1;
		ivshmem_ring(port->link_regs, peer, 0);
	}
}

void unic_port_tx_flush(struct unic_port *port)
{
	if (port->link == VIRT_LINK_RING)
		virt_ring_flush(port);
	else if (port->link == VIRT_LINK_NET)
		virtio_net_flush(&port->net);
}

inline bool unic_port_rx_ready(struct unic_port *port)
{
	if (port->link == VIRT_LINK_RING)
		return link_ring_rx_ready(&port->ring);
	return port->link == VIRT_LINK_NET && virtio_net_rx_ready(&port->net);
}

inline bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	if (port->link == VIRT_LINK_RING)
		return link_ring_rx_next(&port->ring, rx);
	if (port->link == VIRT_LINK_NET)
		return virtio_net_rx_next(&port->net, rx);
	return false;
}

inline uint32_t unic_port_rx_run(struct unic_port *port,
				 const struct unic_rx *rx, uint32_t max,
				 uint32_t *stride)
{
	if (port->link != VIRT_LINK_RING)
		return 0;
	return link_ring_rx_run(&port->ring, rx, max, stride);
}

inline bool unic_port_rx_more(struct unic_port *port)
{
	if (port->link == VIRT_LINK_RING)
		return link_ring_rx_more(&port->ring);
	return port->link == VIRT_LINK_NET && virtio_net_rx_ready(&port->net);
}

inline void unic_port_rx_back(struct unic_port *port, uint32_t n)
{
	link_ring_rx_back(&port->ring, n);
}

inline void unic_port_rx_done(struct unic_port *port)
{
	if (port->link == VIRT_LINK_RING)
		link_ring_rx_done(&port->ring);
	else
		virtio_net_rx_done(&port->net);
}

void unic_port_rx_arm(struct unic_port *port, bool on)
{
	if (port->link == VIRT_LINK_RING)
		link_ring_sleep(&port->ring, on);
	else if (port->link == VIRT_LINK_NET)
		virtio_net_rx_arm(&port->net, on);
}
