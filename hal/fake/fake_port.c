/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fake_port.c - see fake_port.h. */
#include <string.h>

#include "fake_port.h"

void fake_port_init(struct unic_port *port, uint8_t id)
{
	static const uint8_t mac[5] = { 0x02, 'u', 'n', 'i', 'c' };

	memset(port, 0, sizeof(*port));
	port->now_ns = 1000000;
	memcpy(port->mac, mac, sizeof(mac));
	port->mac[5] = id;
	port->entropy = 0x9e3779b97f4a7c15ull * (id + 1u);
	memset(port->room, FAKE_NEVER_FULL, sizeof(port->room));
}

void fake_wire(struct unic_port *a, struct unic_port *b)
{
	a->peer = b;
	b->peer = a;
}

void fake_room(struct unic_port *port, uint32_t path, uint32_t frames)
{
	port->room[path % FAKE_PATHS] = (uint8_t)frames;
}

/* How many of @n buffers the path has room for. */
static uint32_t room_for(struct unic_port *port, uint32_t path, uint32_t n)
{
	uint32_t room = port->room[path % FAKE_PATHS];

	if (!room)
		port->tx_full++;
	return room < n ? room : n;
}

static void take_room(struct unic_port *port, uint32_t path, uint32_t n)
{
	uint8_t *room = &port->room[path % FAKE_PATHS];

	if (*room != FAKE_NEVER_FULL)
		*room = (uint8_t)(*room - n);
}

static bool should_fail(struct unic_port *port)
{
	return ++port->calls == port->fail_call;
}

uint64_t unic_port_now_ns(struct unic_port *port)
{
	return port->now_ns;
}

void *unic_port_bar(struct unic_port *port)
{
	return port->bar;
}

static uint8_t *window_at(struct unic_port *port, uint64_t bus, uint32_t len)
{
	uint64_t off = UNIC_BUS_OFFSET(bus);

	if (UNIC_BUS_WINDOW(bus) >= FAKE_WINDOWS || len > FAKE_WINDOW_BYTES ||
	    off > FAKE_WINDOW_BYTES - len)
		return NULL;
	return port->window[UNIC_BUS_WINDOW(bus)] + off;
}

void *unic_port_doorbells(struct unic_port *port, uint64_t bus)
{
	return bus & 4095 ? NULL : window_at(port, bus, 8192);
}

static void copy_transfer(struct unic_port *port, const struct fake_transfer *t)
{
	uint8_t *host = window_at(port, t->bus, t->len);

	if (t->dir == UNIC_DMA_FROM_HOST)
		memcpy(t->local, host, t->len);
	else
		memcpy(host, t->local, t->len);
}

int unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir,
		  uint64_t bus, void *local, uint32_t len, uint32_t tag)
{
	struct fake_transfer t = { dir, bus, local, len, tag, false, false };

	if (should_fail(port) || !len || len > UNIC_DMA_MAX ||
	    !window_at(port, bus, len)) {
		port->dma_refused++;
		return UNIC_PORT_EFAULT;
	}
	if (port->calls == port->again_call || port->no_dma)
		return UNIC_PORT_EAGAIN;
	if (!port->late_dma && !port->n_transfers) {
		copy_transfer(port, &t);
		return UNIC_PORT_OK;
	}
	if (port->n_transfers == FAKE_PENDING)
		return UNIC_PORT_EAGAIN;
	port->transfer[(port->next_transfer + port->n_transfers++) %
		       FAKE_PENDING] = t;
	return UNIC_PORT_PENDING;
}

/* NULL while transfers are late, or one of them is to fail or to be delayed. */
void *unic_port_window(struct unic_port *port, uint64_t bus, uint32_t len)
{
	if (port->late_dma || port->n_transfers || port->fail_call ||
	    port->again_call || port->no_dma)
		return NULL;
	return window_at(port, bus, len);
}

uint32_t fake_dma_waiting(const struct unic_port *port)
{
	uint32_t i, n = 0;

	for (i = 0; i < port->n_transfers; i++)
		n += !port->transfer[(port->next_transfer + i) % FAKE_PENDING]
			      .done;
	return n;
}

uint32_t fake_dma_run(struct unic_port *port, uint32_t n)
{
	uint32_t i, ran = 0;

	for (i = 0; i < port->n_transfers && ran < n; i++) {
		struct fake_transfer *t =
			&port->transfer[(port->next_transfer + i) %
					FAKE_PENDING];
		if (t->done)
			continue;
		t->failed = port->bad_dma;
		if (!t->failed)
			copy_transfer(port, t);
		t->done = true;
		ran++;
	}
	return ran;
}

bool unic_port_dma_poll(struct unic_port *port, uint32_t *tag, int *status)
{
	struct fake_transfer *t = &port->transfer[port->next_transfer];

	if (!port->n_transfers || !t->done)
		return false;
	*tag = t->tag;
	*status = t->failed ? UNIC_PORT_EFAULT : UNIC_PORT_OK;
	port->next_transfer = (port->next_transfer + 1) % FAKE_PENDING;
	port->n_transfers--;
	return true;
}

void unic_port_link(struct unic_port *port, struct unic_link *out)
{
	memset(out, 0, sizeof(*out));
	if (port->no_link)
		return;
	memcpy(out->mac, port->mac, sizeof(out->mac));
	out->up = true;
	out->icrc_offload = !port->icrc;
	out->slots = true;
	out->max_frame = port->max_frame ? port->max_frame
					 : FAKE_FRAME_BYTES - 16;
}

uint32_t unic_port_path(struct unic_port *port, const uint8_t mac[6])
{
	(void)port;
	return mac[0] & 1 ? 0 : fake_path(mac[5]);
}

uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path)
{
	uint32_t i;

	if (should_fail(port) || !room_for(port, path, 1))
		return NULL;
	for (i = 0; i < UNIC_TX_BUFS; i++)
		if (!(port->tx_held & 1u << i)) {
			port->tx_held |= 1u << i;
			take_room(port, path, 1);
			return port->tx[i].bytes;
		}
	return NULL;
}

void unic_port_tx_put(struct unic_port *port, uint8_t *frame, uint32_t len,
		      uint32_t flags)
{
	uint32_t i;

	for (i = 0; i < UNIC_TX_BUFS; i++)
		if (port->tx[i].bytes == frame)
			port->tx_held &= ~(1u << i);
	if (!len)
		return;
	if (port->on_frame)
		port->on_frame(port, frame, len, flags);
	else if (port->peer)
		fake_deliver(port->peer, frame, len, flags);
}

bool unic_port_tx_run(struct unic_port *port, uint32_t path,
		      struct unic_tx_run *run)
{
	if (port->tx_held || should_fail(port))
		return false;
	run->n = room_for(port, path, UNIC_TX_BUFS);
	run->frame = port->tx[0].bytes;
	run->stride = sizeof(port->tx[0]);
	port->run_path = (uint8_t)path;
	return run->n;
}

void unic_port_tx_run_put(struct unic_port *port, const struct unic_tx_run *run,
			  uint32_t n, uint32_t len, uint32_t flags)
{
	uint32_t i;

	take_room(port, port->run_path, n);
	for (i = 0; i < n; i++)
		unic_port_tx_put(port, run->frame + i * run->stride, len,
				 flags);
}

void unic_port_tx_flush(struct unic_port *port)
{
	(void)port;
}

void fake_deliver(struct unic_port *to, const uint8_t *frame, uint32_t len,
		  uint32_t flags)
{
	struct fake_frame *f = &to->rx[to->rx_tail % FAKE_FRAMES];

	if (to->rx_tail - to->rx_done == FAKE_FRAMES ||
	    len > sizeof(f->bytes)) {
		to->rx_overrun++;
		return;
	}
	memcpy(f->bytes, frame, len);
	f->len = len;
	f->flags = flags;
	to->rx_tail++;
}

bool unic_port_rx_ready(struct unic_port *port)
{
	return port->rx_head != port->rx_tail;
}

bool unic_port_rx_more(struct unic_port *port)
{
	return unic_port_rx_ready(port);
}

bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	struct fake_frame *f = &port->rx[port->rx_head % FAKE_FRAMES];

	if (port->rx_head == port->rx_tail)
		return false;
	rx->frame = f->bytes;
	rx->len = f->len;
	rx->flags = f->flags;
	port->rx_head++;
	return true;
}

uint32_t unic_port_rx_run(struct unic_port *port, const struct unic_rx *rx,
			  uint32_t max, uint32_t *stride)
{
	uint32_t n = 0;

	*stride = sizeof(port->rx[0]);
	while (n < max && port->rx_head != port->rx_tail &&
	       port->rx_head % FAKE_FRAMES) {
		struct fake_frame *f = &port->rx[port->rx_head % FAKE_FRAMES];

		if (f->len != rx->len || f->flags != rx->flags)
			break;
		port->rx_head++;
		n++;
	}
	return n;
}

void unic_port_rx_back(struct unic_port *port, uint32_t n)
{
	port->rx_head -= n;
}

void unic_port_rx_done(struct unic_port *port)
{
	struct fake_frame *f;

	for (; port->rx_done != port->rx_head; port->rx_done++) {
		/* poison: the core must not read a frame that it gave back */
		f = &port->rx[port->rx_done % FAKE_FRAMES];
		memset(f->bytes, 0xdb, f->len);
	}
}

void unic_port_rx_arm(struct unic_port *port, bool on)
{
	port->armed = on;
}

void unic_port_ring(struct unic_port *port, uint32_t vector)
{
	if (vector < FAKE_VECTORS)
		port->rung[vector]++;
	if (port->on_ring)
		port->on_ring(port, vector);
}

uint32_t unic_port_entropy(struct unic_port *port, void *buf, uint32_t len)
{
	uint8_t *p = buf;
	uint32_t i;

	if (port->no_entropy || should_fail(port))
		return 0;
	for (i = 0; i < len; i++) { /* xorshift64: enough for a test */
		port->entropy ^= port->entropy << 13;
		port->entropy ^= port->entropy >> 7;
		port->entropy ^= port->entropy << 17;
		p[i] = (uint8_t)port->entropy;
	}
	return len;
}

void unic_port_panic(struct unic_port *port, const char *file, uint32_t line)
{
	if (port->on_panic)
		port->on_panic(port, file, line);
	__builtin_trap();
}
