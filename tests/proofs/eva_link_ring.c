// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * eva_link_ring.c - a port of the link whose memory all others write at any
 * time, for some layouts; link_layout_read() checks that a layout fits.
 *
 * The memory is one block, not hostile(), since the source compares addresses
 * in it. The source reads it as volatile, so each read is any value to Eva.
 *
 * Each call is made from every state that the invariant of the rings allows,
 * and must leave one; so nothing goes wrong after any number of calls.
 */
#include <string.h>

#include "hostile.h"
#include "unic_link.h"

#include "link_layout.c"
#include "link_ring.c"

#define MEM_BYTES 0x20000u

struct layout {
	uint32_t ports, slots, slot_bytes, port;
};

static uint8_t link_memory[MEM_BYTES];
static uint32_t layout_ring_bytes;

static uint8_t *ring(const struct link_ring *lr, uint32_t from, uint32_t to)
{
	return lr->mem + RING_ALIGN +
	       (from * lr->ports + to) * layout_ring_bytes + UNIC_LINK_SLOT0;
}

/* As link_layout_read() would leave it. */
static void lay_out(struct link_ring *lr, const struct layout *l)
{
	Frama_C_make_unknown((char *)link_memory, MEM_BYTES);
	memset(lr, 0, sizeof(*lr));
	lr->mem = link_memory;
	lr->header = (struct unic_link_header *)lr->mem;
	lr->port_table =
		(struct unic_link_port *)(lr->mem + sizeof(*lr->header));
	lr->ports = l->ports;
	lr->port = l->port;
	lr->slots = l->slots;
	lr->slot_bytes = l->slot_bytes;
	lr->max_frame = l->slot_bytes - UNIC_LINK_FRAME_OFF;
	layout_ring_bytes = (uint32_t)ring_stride(l->slots, l->slot_bytes);
}

/* ------------------------------------------------------------- receiving */

static uint8_t touched;

/* Reads both ends of a frame, if there is one. */
static void look(const struct unic_rx *rx)
{
	if (!rx->len)
		return;
	touched = rx->frame[0];
	touched = rx->frame[rx->len - 1];
}

static void check_rx(const struct link_ring *lr)
{
	uint32_t p, off;

	for (p = 0; p < lr->ports; p++) {
		off = (uint32_t)(lr->rx[p].slot - lr->rx[p].first);
		/*@ check off < lr->slots * lr->slot_bytes; */
		/*@ check off % lr->slot_bytes == 0; */
	}
	/*@ check lr->turn->from < lr->ports; */
}

/* link_ring_rx_next() is call 0, or calls 10 and 0. */
#define CALLS 11u
static void one_call(struct link_ring *lr, uint32_t call)
{
	uint8_t mac[6] = { any8(), any8(), any8(), any8(), any8(), any8() };
	struct unic_link facts;
	struct unic_rx rx = { link_memory, 1, 0 };

	switch (call) {
	case 0:
		if (!rx_has_frame(lr->turn))
			break;
		rx_take(lr, lr->turn, &rx);
		look(&rx);
		break;
	case 10:
		rx_next_ring(lr);
		break;
	case 1:
		link_ring_rx_done(lr);
		break;
	case 2:
		touched = link_ring_rx_ready(lr);
		break;
	case 3:
		link_ring_sleep(lr, below(2));
		break;
	case 4:
		touched = (uint8_t)link_ring_path(lr, mac);
		break;
	case 5:
		lr->dirty = below(1u << lr->ports);
		touched = (uint8_t)link_ring_flush(lr);
		break;
	case 6:
		link_ring_info(lr, &facts);
		break;
	case 7:
		link_ring_bury(lr, any32());
		break;
	case 8:
		touched = (uint8_t)link_ring_source(lr);
		break;
	default:
		link_ring_detach(lr);
		break;
	}
}

/* A call with ring @turn next, and each ring at any place. */
static void receive_from(const struct layout *l, uint32_t turn, uint32_t call)
{
	struct link_ring lr;
	uint32_t p;

	lay_out(&lr, l);
	for (p = 0; p < l->ports; p++) {
		struct link_ring_rx *rx = &lr.rx[p];

		rx->from = p;
		rx->first = ring(&lr, p, l->port);
		rx->end = rx->first + l->slots * l->slot_bytes;
		rx->slot = rx->first + below(l->slots) * l->slot_bytes;
		rx->seq = any32();
		rx->head = any32();
	}
	lr.loops = below(2);
	lr.turn = &lr.rx[turn];
	refresh_sources(&lr);
	lr.looks = 1 + below(2);
	one_call(&lr, call);
	check_rx(&lr);
	/* so that what follows begins in one state */
	Frama_C_make_unknown((char *)link_memory, MEM_BYTES);
}

static void receive(const struct layout *l)
{
	uint32_t turn, call;

	for (turn = 0; turn < l->ports; turn++)
		for (call = 0; call < CALLS; call++)
			receive_from(l, turn, call);
}

/* Numbers at which a run begins: without a wrap, and with one at each place. */
static const uint32_t numbers[] = { 1, 0, -1u, -2u, -3u };

/* After a frame of any length was taken: a run of like frames. */
static void run_from(struct link_ring *lr, uint32_t at, uint32_t seq,
		     uint32_t max)
{
	struct link_ring_rx *ring = lr->turn;
	struct unic_rx rx = { link_memory, 1 + below(lr->max_frame), any16() };
	uint32_t i, n, stride, back = any32();

	ring->slot = ring->first + at * lr->slot_bytes;
	ring->seq = seq;
	n = link_ring_rx_run(lr, &rx, max, &stride);
	check_rx(lr);
	/*@ check n <= max && (n == 0 || (at != 0 && n <= lr->slots - at)); */
	for (i = 0; i < n; i++) {
		rx.frame =
			ring->first + (at + i) * stride + UNIC_LINK_FRAME_OFF;
		look(&rx);
	}
	if (back > n)
		return;
	/*@ split back; */
	link_ring_rx_back(lr, back);
	check_rx(lr);
	/*@ check ring->seq == (uint32_t)(seq + n - back); */
	/*@ check n == back ==> ring->slot == ring->first + at * lr->slot_bytes; */
}

static void run(const struct layout *l, uint32_t at, uint32_t seq)
{
	struct link_ring lr;
	uint32_t p, max;

	lay_out(&lr, l);
	for (p = 0; p < l->ports; p++) {
		lr.rx[p].first = lr.rx[p].slot = ring(&lr, p, l->port);
		lr.rx[p].end = lr.rx[p].first + l->slots * l->slot_bytes;
	}
	lr.turn = &lr.rx[l->ports - 1];
	for (max = 0; max <= l->slots; max++)
		run_from(&lr, at, seq, max);
	run_from(&lr, at, seq, UINT32_MAX);
}

static void runs(const struct layout *l)
{
	uint32_t at, i;

	for (at = 0; at < l->slots; at++)
		for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			run(l, at, numbers[i]);
}

/* --------------------------------------------------------------- sending */

static void check_tx(const struct link_ring *lr, const struct link_ring_tx *tx)
{
	uint32_t at = (tx->seq - 1) & (lr->slots - 1);
	uint32_t room = tx->stop - tx->seq;

	/*@ check room <= lr->slots - at; */
	if (at || room) {
		/*@ check tx->frame == tx->first + UNIC_LINK_FRAME_OFF +
		  @	at * lr->slot_bytes; */
	}
}

/* Frame @at of the lap that begins with number @lap is next. */
static void set_tx(const struct link_ring *lr, struct link_ring_tx *tx,
		   uint32_t lap, uint32_t at, uint32_t room)
{
	tx->seq = lap + at + 1;
	tx->stop = tx->seq + room;
	tx->frame = tx->first + UNIC_LINK_FRAME_OFF + at * lr->slot_bytes;
	if (!at && !room) /* the lap is over: @frame is reset or not yet */
		tx->frame += below(2) * lr->slots * lr->slot_bytes;
}

static void fill(const struct link_ring *lr, uint8_t *frame)
{
	frame[0] = any8();
	frame[lr->max_frame - 1] = any8();
}

/* Gets a frame of ring @path, and puts it or one that is held. */
static void get_put(struct link_ring *lr, uint32_t path)
{
	uint8_t *frame = link_ring_tx_get(lr, path);

	check_tx(lr, &lr->tx[0]);
	check_tx(lr, &lr->tx[path]);
	if (!frame)
		return;
	fill(lr, frame);
	link_ring_tx_put(lr, below(2) ? frame : lr->held[0].frame,
			 below(lr->max_frame + 1), any32());
	check_tx(lr, &lr->tx[0]);
	check_tx(lr, &lr->tx[path]);
}

/* Gets a run of frames and, if it has @n, puts the first @n. */
static void run_put(struct link_ring *lr, uint32_t path, uint32_t n)
{
	struct unic_tx_run run;
	uint32_t i;

	if (!link_ring_tx_run(lr, path, &run))
		return;
	check_tx(lr, &lr->tx[path]);
	/*@ check 0 < run.n <= lr->slots; */
	for (i = 0; i < run.n; i++)
		fill(lr, run.frame + i * run.stride);
	if (n > run.n)
		return;
	link_ring_tx_run_put(lr, n, below(lr->max_frame + 1), any32());
	check_tx(lr, &lr->tx[path]);
}

static void hold(struct link_ring *lr, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		lr->held[i].frame = lr->tx[0].first + UNIC_LINK_FRAME_OFF +
				    below(lr->slots) * lr->slot_bytes;
		lr->held[i].seq = any32();
		lr->held[i].bit = 1;
	}
	lr->held_n = n;
}

static void ready(struct link_ring *lr, const struct layout *l, uint32_t lap,
		  uint32_t at, uint32_t room)
{
	uint32_t p;

	lay_out(lr, l);
	for (p = 0; p < l->ports; p++) {
		lr->tx[p].first = ring(lr, l->port, p);
		lr->tx[p].step = l->slot_bytes;
		lr->tx[p].bit = 1u << p;
		set_tx(lr, &lr->tx[p], lap, at, room);
	}
}

static void send_from(const struct layout *l, uint32_t lap, uint32_t at,
		      uint32_t room)
{
	struct link_ring lr;
	uint32_t n;

	for (n = 0; n <= l->slots; n++) {
		ready(&lr, l, lap, at, room);
		run_put(&lr, l->ports - 1, n);
	}
	for (n = 0; n < UNIC_TX_BUFS; n++) {
		ready(&lr, l, lap, at, room);
		hold(&lr, n);
		get_put(&lr, l->ports - 1);
		if (!room)
			continue;
		/* a second frame while one is taken */
		ready(&lr, l, lap, at, room);
		hold(&lr, n);
		lr.from = &lr.tx[0];
		lr.got = lr.from->frame;
		get_put(&lr, l->ports - 1);
	}
}

static void send(const struct layout *l, uint32_t lap)
{
	uint32_t at, room;

	for (at = 0; at < l->slots; at++)
		for (room = 0; room <= l->slots - at; room++)
			send_from(l, lap, at, room);
}

/* ------------------------------------------------------------- attaching */

/* An attached ring is in a state from which the calls above begin. Not checked:
 * that the number of a frame to send fits its slot, since Eva does not relate
 * the two values computed from one unknown number. */
static void check_attached(const struct link_ring *lr)
{
	uint32_t p, off;

	check_rx(lr);
	for (p = 0; p < lr->ports; p++) {
		off = (uint32_t)(lr->tx[p].frame - lr->tx[p].first) -
		      UNIC_LINK_FRAME_OFF;
		/*@ check off < lr->slots * lr->slot_bytes; */
		/*@ check off % lr->slot_bytes == 0; */
		/*@ check lr->tx[p].step == lr->slot_bytes; */
		/*@ check lr->rx[p].first == lr->mem + RING_ALIGN + UNIC_LINK_SLOT0 +
		  @	(p * lr->ports + lr->port) * layout_ring_bytes; */
		/*@ check lr->tx[p].first == lr->mem + RING_ALIGN + UNIC_LINK_SLOT0 +
		  @	(lr->port * lr->ports + p) * layout_ring_bytes; */
	}
}

/* A header of this layout, which just fits; all other bytes are any. */
static void attach(const struct layout *l)
{
	uint64_t size = link_layout_bytes(l->ports, l->slots, l->slot_bytes);
	uint8_t mac[6] = { any8(), any8(), any8(), any8(), any8(), any8() };
	uint8_t *mem =
		link_memory + MEM_BYTES - size; /* at the end of the block */
	struct link_ring lr;
	uint32_t port;

	for (port = 0; port <= l->ports; port++) {
		Frama_C_make_unknown((char *)mem, size);
		layout_ring_bytes =
			(uint32_t)ring_stride(l->slots, l->slot_bytes);
		*(struct unic_link_header *)mem = (struct unic_link_header){
			.version = UNIC_LINK_VERSION,
			.ports = l->ports,
			.slots = l->slots,
			.slot_bytes = l->slot_bytes,
			.port_off = sizeof(struct unic_link_header),
			.ring_off = RING_ALIGN,
			.ring_bytes = layout_ring_bytes,
		};
		if (link_ring_attach(&lr, mem, size, port, mac) == LINK_RING_OK)
			check_attached(&lr);
	}
}

/* Any header, any size of the memory. */
static void layout_any(void)
{
	uint32_t ring_off, ring_bytes;
	struct link_ring lr;

	Frama_C_make_unknown((char *)link_memory, MEM_BYTES);
	memset(&lr, 0, sizeof(lr));
	lr.mem = link_memory;
	lr.header = (struct unic_link_header *)lr.mem;
	if (link_layout_read(&lr, any64(), &ring_off, &ring_bytes))
		return;
	/*@ check 2 <= lr.ports <= UNIC_LINK_PORTS_MAX; */
	/*@ check 2 <= lr.slots <= SLOTS_MAX; */
	/*@ check 64 <= lr.slot_bytes <= SLOT_BYTES_MAX; */
}

static const struct layout layouts[] = { { 2, 2, 64, 1 },
					 { 2, 4, 128, 0 },
					 { 3, 2, 64, 1 } };

void receive_all(void)
{
	uint32_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		receive(&layouts[i]);
}

void run_all(void)
{
	uint32_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		runs(&layouts[i]);
}

void attach_all(void)
{
	uint32_t i;

	layout_any();
	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		attach(&layouts[i]);
}

void send_all(void)
{
	uint32_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		send(&layouts[i], 0);
		send(&layouts[i], -layouts[i].slots);
	}
}
