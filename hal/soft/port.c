// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* hal/unic_port.h for the soft NIC; every function is described there. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "crash.h"
#include "soft_port.h"

#define DOORBELL_PAGES_BYTES 8192u
#define PAGE_MASK	     4095u

uint64_t unic_port_now_ns(struct unic_port *port)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec -
	       port->start_ns;
}

void *unic_port_bar(struct unic_port *port)
{
	return port->bar;
}

void *unic_port_doorbells(struct unic_port *port, uint64_t bus)
{
	uint8_t *pages;

	if (bus & PAGE_MASK ||
	    !dma_window_find(&port->windows, bus, DOORBELL_PAGES_BYTES, &pages))
		return NULL;
	return pages;
}

/* ------------------------------------------------------------------- DMA */

/*
 * The last word after the rest: a string move may store in any order, so the
 * word goes separately, behind the fence.
 */
static void copy_to_host(uint8_t *host, const uint8_t *local, uint32_t len)
{
	uint32_t body = len & ~3u, word;

	if (((uintptr_t)host | len) & 3u || !body) {
		memcpy(host, local, len);
		return;
	}
	body -= sizeof(word);
	memcpy(host, local, body);
	memcpy(&word, local + body, sizeof(word));
	unic_wmb();
	UNIC_WRITE_ONCE(*(uint32_t *)(host + body), word);
}

int unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir,
		  uint64_t bus, void *local, uint32_t len, uint32_t tag)
{
	uint8_t *host;

	(void)tag;
	if (len - 1 >= UNIC_DMA_MAX ||
	    !dma_window_find(&port->windows, bus, len, &host))
		return UNIC_PORT_EFAULT;
	if (dir == UNIC_DMA_FROM_HOST) {
		memcpy(local, host, len);
	} else {
		unic_wmb();
		copy_to_host(host, local, len);
	}
	return UNIC_PORT_OK;
}

void *unic_port_window(struct unic_port *port, uint64_t bus, uint32_t len)
{
	uint8_t *at;

	return dma_window_find(&port->windows, bus, len, &at) ? at : NULL;
}

bool unic_port_dma_poll(struct unic_port *port, uint32_t *tag, int *status)
{
	(void)port;
	(void)tag;
	(void)status;
	return false;
}

/* ------------------------------------------------------------------ wire */

void unic_port_link(struct unic_port *port, struct unic_link *out)
{
	if (port->has_wire)
		link_ring_info(&port->link, out);
	else
		memset(out, 0, sizeof(*out));
}

uint32_t unic_port_path(struct unic_port *port, const uint8_t mac[6])
{
	return port->has_wire ? link_ring_path(&port->link, mac) : 0;
}

uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path)
{
	return port->has_wire ? link_ring_tx_get(&port->link, path) : NULL;
}

void unic_port_tx_put(struct unic_port *port, uint8_t *frame, uint32_t len,
		      uint32_t flags)
{
	link_ring_tx_put(&port->link, frame, len, flags);
}

bool unic_port_tx_run(struct unic_port *port, uint32_t path,
		      struct unic_tx_run *run)
{
	return port->has_wire && link_ring_tx_run(&port->link, path, run);
}

void unic_port_tx_run_put(struct unic_port *port, const struct unic_tx_run *run,
			  uint32_t n, uint32_t len, uint32_t flags)
{
	(void)run;
	link_ring_tx_run_put(&port->link, n, len, flags);
}

void unic_port_tx_flush(struct unic_port *port)
{
	uint32_t mask = link_ring_flush(&port->link);

	for (; mask; mask &= mask - 1)
		ivshmem_client_ring(&port->wire, (uint32_t)__builtin_ctz(mask),
				    0);
}

bool unic_port_rx_ready(struct unic_port *port)
{
	return port->has_wire && link_ring_rx_ready(&port->link);
}

bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	return port->has_wire && link_ring_rx_next(&port->link, rx);
}

bool unic_port_rx_more(struct unic_port *port)
{
	return port->has_wire && link_ring_rx_more(&port->link);
}

uint32_t unic_port_rx_run(struct unic_port *port, const struct unic_rx *rx,
			  uint32_t max, uint32_t *stride)
{
	return link_ring_rx_run(&port->link, rx, max, stride);
}

void unic_port_rx_back(struct unic_port *port, uint32_t n)
{
	link_ring_rx_back(&port->link, n);
}

void unic_port_rx_done(struct unic_port *port)
{
	link_ring_rx_done(&port->link);
}

void unic_port_rx_arm(struct unic_port *port, bool on)
{
	if (port->has_wire)
		link_ring_sleep(&port->link, on);
}

/* ------------------------------------------------------------------ rest */

void unic_port_ring(struct unic_port *port, uint32_t vector)
{
	ivshmem_client_ring(&port->bus, 0, vector);
}

uint32_t unic_port_entropy(struct unic_port *port, void *buf, uint32_t len)
{
	ssize_t n = getrandom(buf, len, GRND_NONBLOCK);

	(void)port;
	return n > 0 ? (uint32_t)n : 0;
}

void unic_port_panic(struct unic_port *port, const char *file, uint32_t line)
{
	crash_panic(port, file, line);
}
