/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* port.c - see port.h. */
#include "port.h"

#include <string.h>

struct xfer {
	struct unic_port *p;
	uint8_t *host;
	void *local;
	uint64_t bus;
	uint32_t len, tag, power;
	enum unic_port_dma_dir dir;
	bool broken;
};

void port_mac(uint8_t id, uint8_t mac[6])
{
	static const uint8_t ours[5] = { 0x02, 'u', 'n', 'i', 'c' };

	memcpy(mac, ours, sizeof(ours));
	mac[5] = id;
}

void port_init(struct unic_port *p, uint8_t id)
{
	uint32_t i;

	for (i = 0; i < PORT_PEERS; i++)
		p->room[i] = PORT_ENDLESS;
	p->id = id;
	p->on_ns = sim_now();
	sim_rng_init(&p->rng, sim_seed(), 0x100u + id);
}

/* -------------------------------------------------------------------- time */

void port_spend(struct unic_port *p, uint64_t n, uint32_t ns)
{
	p->spent_ps += n * ns * 1000;
	p->worked |= n != 0;
}

uint64_t port_poll_ns(struct unic_port *p)
{
	uint64_t ns = p->worked ? p->cost.round : p->cost.idle;

	ns += p->spent_ps / 1000;
	p->worked_ns += p->worked ? ns : 0;
	p->spent_ps = 0;
	p->worked = false;
	return ns;
}

static uint64_t now_ps(const struct unic_port *p)
{
	return sim_now() * 1000 + p->spent_ps;
}

static void drop_rx(struct unic_port *p)
{
	p->rx_lost += p->rx_tail - p->rx_head;
	p->rx_done = p->rx_head = p->rx_tail;
}

void port_power_cut(struct unic_port *p)
{
	drop_rx(p);
	p->power++;
	p->on_ns = sim_now();
	p->xfers = 0;
	p->n_done = 0;
	p->write_ns = 0;
	p->tx_held = 0;
	p->rx_ran = 0;
	p->armed = false;
}

uint64_t unic_port_now_ns(struct unic_port *p)
{
	return now_ps(p) / 1000 - p->on_ns + US;
}

void *unic_port_bar(struct unic_port *p)
{
	return p->bar;
}

static uint8_t *at(struct unic_port *p, uint64_t bus, uint32_t len)
{
	uint64_t off = UNIC_BUS_OFFSET(bus);

	if (UNIC_BUS_WINDOW(bus) >= PORT_SLOTS || len > PORT_SLOT_BYTES ||
	    off > PORT_SLOT_BYTES - len)
		return NULL;
	return p->window[UNIC_BUS_WINDOW(bus)] + off;
}

void *unic_port_doorbells(struct unic_port *p, uint64_t bus)
{
	return bus & 4095 ? NULL : at(p, bus, 8192);
}

/* --------------------------------------------------------------------- DMA */

static void written(void *ctx, uint64_t bus, const void *host, uint32_t len)
{
	struct unic_port *p = ctx;

	p->written(p, bus, host, len);
}

/* The core has finished with its windows. */
static void looked(struct unic_port *p)
{
	view_written(&p->view, written, p);
	view_close(&p->view);
}

void port_poll_over(struct unic_port *p)
{
	looked(p);
	view_end(&p->view);
	if (p->tx_ran)
		sim_fail("port", "nic %u never puts a run it got", p->id);
}

static void go_on(void *ctx, uint64_t arg)
{
	struct unic_port *p = ctx;

	(void)arg;
	p->wake(p);
}

void port_stall(struct unic_port *p, uint64_t until_ns)
{
	p->stall_ns = until_ns;
	p->stall_at = NULL;
	sim_at(until_ns, go_on, p, 0);
}

void port_stall_at(struct unic_port *p, const void *host, uint64_t ns)
{
	p->stall_at = host;
	p->stall_for_ns = ns;
}

/* The core reads @len bytes at @host. */
static void read_it(struct unic_port *p, const uint8_t *host, uint32_t len)
{
	const uint8_t *at = p->stall_at;

	if (at && at >= host && at < host + len)
		port_stall(p, sim_now() + p->stall_for_ns);
}

static void move(struct unic_port *p, const struct xfer *x)
{
	if (x->dir == UNIC_DMA_FROM_HOST) {
		memcpy(x->local, x->host, x->len);
		read_it(p, x->host, x->len);
	} else {
		memcpy(x->host, x->local, x->len);
		view_moved(&p->view, x->bus, x->len);
	}
	p->moved_bytes += x->len;
	p->moved(p, x->dir, x->bus, x->host, x->len);
}

static void finish(void *ctx, uint64_t arg)
{
	struct xfer *x = ctx;
	struct unic_port *p = x->p;
	uint32_t i = (p->first_done + p->n_done) % PORT_XFERS;

	(void)arg;
	if (x->power == p->power) {
		if (!x->broken)
			move(p, x);
		p->done[i].tag = x->tag;
		p->done[i].status = x->broken ? UNIC_PORT_EFAULT : UNIC_PORT_OK;
		p->n_done++;
		p->wake(p);
	}
	sim_free(x);
}

static bool is_late(struct unic_port *p)
{
	return p->write_ns > sim_now() ||
	       (p->kind != PORT_COPYING &&
		sim_chance(&p->rng, p->odds.late_ppm));
}

static void later(struct unic_port *p, const struct xfer *x)
{
	struct xfer *own = sim_alloc(sizeof(*own));
	uint64_t due =
		sim_now() + sim_range(&p->rng, 100, p->odds.late_ns + 100);

	*own = *x;
	if (due < p->write_ns)
		due = p->write_ns; /* not before earlier writes */
	if (x->dir == UNIC_DMA_TO_HOST)
		p->write_ns = due;
	p->xfers++;
	sim_at(due, finish, own, 0);
}

int unic_port_dma(struct unic_port *p, enum unic_port_dma_dir dir, uint64_t bus,
		  void *local, uint32_t len, uint32_t tag)
{
	struct xfer x = { p,   at(p, bus, len), local, bus,  len,
			  tag, p->power,	dir,   false };

	looked(p);
	port_spend(p, 1, p->cost.dma);
	p->spent_ps += (uint64_t)len * p->cost.byte_ps;
	if (!x.host || !len || len > UNIC_DMA_MAX) {
		p->refused++;
		return UNIC_PORT_EFAULT;
	}
	if (p->xfers == PORT_XFERS || sim_now() < p->stall_ns ||
	    (p->kind != PORT_COPYING && sim_chance(&p->rng, p->odds.again_ppm)))
		return UNIC_PORT_EAGAIN;
	x.broken = sim_chance(&p->rng, p->odds.bus_ppm);
	if (is_late(p)) {
		later(p, &x);
		return UNIC_PORT_PENDING;
	}
	if (x.broken)
		return UNIC_PORT_EFAULT;
	move(p, &x);
	return UNIC_PORT_OK;
}

bool unic_port_dma_poll(struct unic_port *p, uint32_t *tag, int *status)
{
	looked(p);
	if (!p->n_done)
		return false;
	p->worked = true;
	*tag = p->done[p->first_done].tag;
	*status = p->done[p->first_done].status;
	p->first_done = (p->first_done + 1) % PORT_XFERS;
	p->n_done--;
	p->xfers--;
	return true;
}

/* The core may read all that the window shows, so all is judged as read. */
void *unic_port_window(struct unic_port *p, uint64_t bus, uint32_t len)
{
	uint8_t *host = at(p, bus, len);

	if (p->kind == PORT_LATE || p->xfers || !host ||
	    sim_now() < p->stall_ns ||
	    (p->kind == PORT_MOODY && sim_below(&p->rng, 4) == 0))
		return NULL;
	/* earlier writes are judged by the state until now */
	view_written(&p->view, written, p);
	if (!view_open(&p->view, bus, host, len))
		return NULL;
	p->shown(p, bus, host, len);
	read_it(p, host, len);
	return host;
}

/* -------------------------------------------------------------------- wire */

void unic_port_link(struct unic_port *p, struct unic_link *out)
{
	memset(out, 0, sizeof(*out));
	port_mac(p->id, out->mac);
	out->up = true;
	out->icrc_offload = !p->icrc;
	out->max_frame = PORT_FRAME_MAX;
}

static uint32_t queue_of(const struct unic_port *p, uint32_t to)
{
	return p->link.one || to >= PORT_PEERS ? 0 : to;
}

uint32_t unic_port_path(struct unic_port *p, const uint8_t mac[6])
{
	return queue_of(p, mac[5]);
}

void port_room(struct unic_port *p, uint32_t to, uint32_t frames)
{
	p->room[queue_of(p, to)] = frames;
	if (frames)
		p->wake(p);
}

static void take_room(struct unic_port *p, uint32_t path, uint32_t n)
{
	if (p->room[path] == PORT_ENDLESS)
		return;
	if (n > p->room[path])
		sim_fail("port", "nic %u sends where there is no room", p->id);
	p->room[path] -= n;
}

/* No run may be open when the core calls another function for sending. */
static void no_run(const struct unic_port *p)
{
	if (p->tx_ran)
		sim_fail("port", "nic %u goes on without putting its run",
			 p->id);
}

static void room(void *ctx, uint64_t arg)
{
	struct unic_port *p = ctx;

	(void)arg;
	p->room_due = false;
	p->wake(p);
}

static bool full_until(struct unic_port *p, uint64_t at_ns)
{
	if (at_ns <= now_ps(p) / 1000)
		return false;
	if (!p->room_due)
		sim_at(at_ns, room, p, 0);
	p->room_due = true;
	return true;
}

uint64_t port_link_put(struct unic_port *p, uint32_t to, uint32_t len)
{
	uint32_t q = queue_of(p, to);

	if (p->queue[q].busy_ps < now_ps(p))
		p->queue[q].busy_ps = now_ps(p);
	p->queue[q].busy_ps +=
		(uint64_t)(len + p->link.frame_bytes) * p->link.byte_ps;
	p->queue[q].ring++;
	return p->queue[q].busy_ps / 1000;
}

void port_link_taken(struct unic_port *p, uint32_t to)
{
	uint32_t q = queue_of(p, to);

	p->queue[q].ring--;
	if (!p->queue[q].due)
		return;
	p->queue[q].due = false;
	p->wake(p);
}

static bool link_full(struct unic_port *p, uint32_t q)
{
	uint64_t queue_ps = (uint64_t)p->link.queue_bytes * p->link.byte_ps;
	uint64_t busy_ps = p->queue[q].busy_ps;

	if (p->queue[q].ring >= p->link.ring) {
		p->queue[q].due = true;
		return true;
	}
	return busy_ps > queue_ps && full_until(p, (busy_ps - queue_ps) / 1000);
}

static bool full(struct unic_port *p, uint32_t path)
{
	no_run(p);
	if (path >= PORT_PEERS)
		sim_fail("port", "nic %u: there is no path %u", p->id, path);
	if (!p->room[path])
		return true;
	if (full_until(p, p->busy_ns) ||
	    (p->link.byte_ps && link_full(p, queue_of(p, path)))) {
		p->spent_ps += p->cost.full * 1000ull;
		return true;
	}
	if (!sim_chance(&p->rng, p->odds.full_ppm))
		return false;
	p->was_full = true;
	p->wake(p); /* room comes with time, and wakes the core */
	return true;
}

uint8_t *unic_port_tx_get(struct unic_port *p, uint32_t path)
{
	uint32_t i;

	looked(p);
	if (full(p, path))
		return NULL;
	for (i = 0; i < UNIC_TX_BUFS; i++)
		if (!(p->tx_held & 1u << i)) {
			p->tx_held |= 1u << i;
			take_room(p, path, 1);
			return p->tx[i] + 2;
		}
	return NULL;
}

static void send(struct unic_port *p, uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	port_spend(p, 1, p->cost.tx);
	p->tx_frames++;
	p->tx_bytes += len;
	p->sent(p, frame, len, flags);
	memset(frame, 0xdb, len);
}

void unic_port_tx_put(struct unic_port *p, uint8_t *frame, uint32_t len,
		      uint32_t flags)
{
	uint32_t i = (uint32_t)(frame - 2 - p->tx[0]) / sizeof(p->tx[0]);

	looked(p);
	no_run(p);
	if (i >= UNIC_TX_BUFS || !(p->tx_held & 1u << i))
		sim_fail("port", "nic %u gives back a frame it does not have",
			 p->id);
	p->tx_held &= ~(1u << i);
	if (len)
		send(p, frame, len, flags);
}

bool unic_port_tx_run(struct unic_port *p, uint32_t path,
		      struct unic_tx_run *run)
{
	if (p->kind == PORT_LATE || p->link.byte_ps || full(p, path))
		return false; /* frames go one by one */
	p->tx_ran = (uint32_t)sim_range(&p->rng, 1, PORT_RUN);
	if (p->tx_ran > p->room[path])
		p->tx_ran = p->room[path];
	p->run_path = (uint8_t)path;
	run->frame = p->run[0] + 2;
	run->stride = sizeof(p->run[0]);
	run->n = p->tx_ran;
	return true;
}

void unic_port_tx_run_put(struct unic_port *p, const struct unic_tx_run *run,
			  uint32_t n, uint32_t len, uint32_t flags)
{
	uint32_t i;

	looked(p);
	if (!p->tx_ran || n > p->tx_ran || run->frame != p->run[0] + 2 ||
	    len > PORT_FRAME_MAX)
		sim_fail("port", "nic %u puts a run it never got", p->id);
	p->tx_ran = 0;
	take_room(p, p->run_path, n);
	for (i = 0; i < n; i++)
		send(p, run->frame + i * run->stride, len, flags);
}

void unic_port_tx_flush(struct unic_port *p)
{
	looked(p);
	no_run(p);
}

void port_deliver(struct unic_port *p, uint32_t from, const uint8_t *frame,
		  uint32_t len, uint32_t flags)
{
	struct port_frame *f;

	if (p->rx_tail - p->rx_done == PORT_RX) {
		p->rx_overrun++;
		return;
	}
	if (len > PORT_FRAME_MAX)
		sim_fail("sim", "a frame of %u bytes", len);
	f = &p->rx[p->rx_tail++ % PORT_RX];
	memcpy(f->bytes, frame, len);
	f->len = len;
	f->flags = flags & ~(PORT_DAMAGED | PORT_FORGED);
	f->damaged = flags & PORT_DAMAGED;
	f->forged = flags & PORT_FORGED;
	f->from = from;
	if (p->armed)
		p->wake(p);
}

static void take(struct unic_port *p, const struct port_frame *f)
{
	if (!f->damaged)
		p->took(p, f->bytes, f->len, f->forged);
}

bool unic_port_rx_next(struct unic_port *p, struct unic_rx *rx)
{
	struct port_frame *f;

	looked(p);
	p->rx_ran = 0;
	if (p->rx_rings && p->rx_done == p->rx_tail)
		p->fetch(p);
	f = &p->rx[p->rx_head % PORT_RX];
	if (p->rx_head == p->rx_tail || p->rx_head - p->rx_done >= UNIC_RX_BUFS)
		return false;
	rx->frame = f->bytes;
	rx->len = f->len;
	rx->flags = f->flags;
	take(p, f);
	p->rx_head++;
	p->rx_frames++;
	port_spend(p, 1, p->cost.rx);
	return true;
}

bool unic_port_rx_ready(struct unic_port *p)
{
	return p->rx_head != p->rx_tail || p->rx_rings;
}

bool unic_port_rx_more(struct unic_port *p)
{
	return unic_port_rx_ready(p);
}

uint32_t unic_port_rx_run(struct unic_port *p, const struct unic_rx *rx,
			  uint32_t max, uint32_t *stride)
{
	const struct port_frame *f;
	uint32_t n = 0;

	*stride = sizeof(p->rx[0]);
	if (p->kind == PORT_LATE)
		return 0;
	if (p->kind == PORT_MOODY)
		max = sim_below(&p->rng, max + 1);
	while (n < max && p->rx_head + n != p->rx_tail &&
	       p->rx_head + n - p->rx_done < UNIC_RX_BUFS &&
	       (p->rx_head + n) % PORT_RX) { /* the array ends there */
		f = &p->rx[(p->rx_head + n) % PORT_RX];
		if (f->len != rx->len || f->flags != rx->flags)
			break;
		take(p, f);
		n++;
	}
	p->rx_head += n;
	p->rx_frames += n;
	port_spend(p, n, p->cost.rx);
	p->rx_ran = n;
	return n;
}

void unic_port_rx_back(struct unic_port *p, uint32_t n)
{
	if (n > p->rx_ran)
		sim_fail("port", "nic %u gives back a run it never took",
			 p->id);
	p->rx_head -= n;
	p->rx_frames -= n;
	p->rx_ran = 0;
}

void unic_port_rx_done(struct unic_port *p)
{
	looked(p);
	p->rx_ran = 0;
	for (; p->rx_done != p->rx_head; p->rx_done++) {
		struct port_frame *f = &p->rx[p->rx_done % PORT_RX];

		/* poison: the core must not read a frame that it gave back */
		memset(f->bytes, 0xdb, f->len);
		if (p->link.byte_ps)
			p->taken(p, f->from);
	}
}

void unic_port_rx_arm(struct unic_port *p, bool on)
{
	looked(p);
	p->armed = on;
}

/* -------------------------------------------------------------------- rest */

void unic_port_ring(struct unic_port *p, uint32_t vector)
{
	looked(p);
	p->rung(p, vector);
}

uint32_t unic_port_entropy(struct unic_port *p, void *buf, uint32_t len)
{
	uint8_t *b = buf;
	uint32_t i;

	for (i = 0; i < len; i++)
		b[i] = (uint8_t)sim_u64(&p->rng);
	return len;
}

void unic_port_panic(struct unic_port *p, const char *file, uint32_t line)
{
	p->panic(p, file, line);
	__builtin_trap();
}
