/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* bench_port.c - see rig_port.h; cpu_copy.h is the one of the board. */
#include <stdlib.h>
#include <string.h>

#include "cpu_dma.h"
#include "link_layout.h"
#include "rig_port.h"

#define PORTS	   3u
#define SLOTS	   64u
#define SLOT_BYTES 4224u
#define LINK_BYTES (4u << 20)

static _Alignas(4096) uint8_t link_memory[LINK_BYTES];

void fake_port_init(struct unic_port *port, uint8_t id)
{
	static const uint8_t mac[5] = { 0x02, 'u', 'n', 'i', 'c' };
	uint32_t w;

	memset(port, 0, sizeof(*port));
	port->now_ns = 1000000;
	memcpy(port->mac, mac, sizeof(mac));
	port->mac[5] = id;
	for (w = 0; w < FAKE_WINDOWS; w++) {
		port->dma.window[w].base = port->window[w];
		port->dma.window[w].bytes = FAKE_WINDOW_BYTES;
	}
	port->dma.count = FAKE_WINDOWS;
	if (id == 1) {
		memset(link_memory, 0, sizeof(link_memory));
		if (link_layout_format(link_memory, LINK_BYTES, PORTS, SLOTS,
				       SLOT_BYTES,
				       UNIC_LINK_DIRECT | UNIC_LINK_NO_ICRC))
			abort();
	}
	if (link_ring_attach(&port->ring, link_memory, LINK_BYTES, id,
			     port->mac))
		abort();
}

uint64_t unic_port_now_ns(struct unic_port *port)
{
	return port->now_ns;
}

void *unic_port_bar(struct unic_port *port)
{
	return port->bar;
}

void *unic_port_doorbells(struct unic_port *port, uint64_t bus)
{
	uint8_t *at;

	return dma_window_find(&port->dma, bus, 8192, &at) ? at : NULL;
}

inline __attribute__((always_inline)) int
unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir, uint64_t bus,
	      void *local, uint32_t len, uint32_t tag)
{
	(void)tag;
	return cpu_dma(&port->dma, dir, bus, local, len);
}

inline void *unic_port_window(struct unic_port *port, uint64_t bus,
			      uint32_t len)
{
	uint8_t *at;

	return dma_window_find(&port->dma, bus, len, &at) ? at : NULL;
}

bool unic_port_dma_poll(struct unic_port *port, uint32_t *tag, int *status)
{
	(void)port;
	(void)tag;
	(void)status;
	return false;
}

void unic_port_link(struct unic_port *port, struct unic_link *out)
{
	link_ring_info(&port->ring, out);
}

uint32_t unic_port_path(struct unic_port *port, const uint8_t mac[6])
{
	return link_ring_path(&port->ring, mac);
}

inline uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path)
{
	return link_ring_tx_get(&port->ring, path);
}

inline void unic_port_tx_put(struct unic_port *port, uint8_t *frame,
			     uint32_t len, uint32_t flags)
{
	link_ring_tx_put(&port->ring, frame, len, flags);
}

inline bool unic_port_tx_run(struct unic_port *port, uint32_t path,
			     struct unic_tx_run *run)
{
	return link_ring_tx_run(&port->ring, path, run);
}

inline void unic_port_tx_run_put(struct unic_port *port,
				 const struct unic_tx_run *run, uint32_t n,
				 uint32_t len, uint32_t flags)
{
	(void)run;
	link_ring_tx_run_put(&port->ring, n, len, flags);
}

void unic_port_tx_flush(struct unic_port *port)
{
	link_ring_flush(&port->ring);
}

inline bool unic_port_rx_ready(struct unic_port *port)
{
	return link_ring_rx_ready(&port->ring);
}

inline bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	return link_ring_rx_next(&port->ring, rx);
}

inline uint32_t unic_port_rx_run(struct unic_port *port,
				 const struct unic_rx *rx, uint32_t max,
				 uint32_t *stride)
{
	return link_ring_rx_run(&port->ring, rx, max, stride);
}

inline bool unic_port_rx_more(struct unic_port *port)
{
	return link_ring_rx_more(&port->ring);
}

inline void unic_port_rx_back(struct unic_port *port, uint32_t n)
{
	link_ring_rx_back(&port->ring, n);
}

inline void unic_port_rx_done(struct unic_port *port)
{
	link_ring_rx_done(&port->ring);
}

void unic_port_rx_arm(struct unic_port *port, bool on)
{
	link_ring_sleep(&port->ring, on);
}

void unic_port_ring(struct unic_port *port, uint32_t vector)
{
	(void)port;
	(void)vector;
}

uint32_t unic_port_entropy(struct unic_port *port, void *buf, uint32_t len)
{
	(void)port;
	memset(buf, 0x5a, len);
	return len;
}

void unic_port_panic(struct unic_port *port, const char *file, uint32_t line)
{
	(void)port;
	(void)file;
	(void)line;
	abort();
}
