// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "link_layout.h"
#include "link_ring.h"

/* Polls for frames between two scans of the port table. */
#define LOOKS_PER_REFRESH 64u

/* Kept apart from the code that runs for every frame. */
#define SELDOM __attribute__((noinline, cold))

#define unlikely(x) __builtin_expect(!!(x), 0)

_Static_assert((int)UNIC_FRAME_NO_ICRC == (int)UNIC_LINK_SLOT_NO_ICRC,
	       "frame flags pass through the link unchanged");

static struct unic_link_slot *slot_at(const struct link_ring *lr, uint8_t *ring,
				      uint32_t n)
{
	return (struct unic_link_slot *)(ring + UNIC_LINK_SLOT0 +
					 (n & (lr->slots - 1)) *
						 lr->slot_bytes);
}

/* Length and flags of a slot as one word, so that they are read, and written, at
 * once. */
static unic_le32 *slot_len_flags(struct unic_link_slot *slot)
{
	_Static_assert(offsetof(struct unic_link_slot, flags) ==
			       offsetof(struct unic_link_slot, len) + 2,
		       "one little-endian word");
	return (unic_le32 *)(void *)&slot->len;
}

/* The header of the ring, which its slots follow. */
static struct unic_link_ring *ring_of(uint8_t *first)
{
	return (struct unic_link_ring *)(first - UNIC_LINK_SLOT0);
}

/* ----------------------------------------------------------- attachment */

/* The first number from @n on that is not published. */
static uint32_t skip_published(struct link_ring *lr, uint8_t *ring, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < lr->slots; i++, n++)
		if (link_read_le32(&slot_at(lr, ring, n)->seq) != n + 1)
			break;
	return n;
}

/* Begins behind the published frames, which were for a former owner of the port:
 * drops them. */
static void adopt_rx(struct link_ring *lr, struct link_ring_rx *rx,
		     uint8_t *ring)
{
	rx->first = ring + UNIC_LINK_SLOT0;
	rx->end = rx->first + (size_t)lr->slots * lr->slot_bytes;
	rx->head = skip_published(lr, ring,
				  link_read_le32(&ring_of(rx->first)->head));
	rx->seq = rx->head + 1;
	rx->slot = (uint8_t *)slot_at(lr, ring, rx->head);
	link_write_le32(&ring_of(rx->first)->head, rx->head);
}

/*
 * Begins behind the last published frame. A former owner may have published out
 * of order behind a buffer that it never put: those slots get the number of the
 * lap before, which no consumer waits for.
 */
static void adopt_tx(struct link_ring *lr, struct link_ring_tx *tx,
		     uint8_t *ring)
{
	uint32_t n, next, head;

	tx->first = ring + UNIC_LINK_SLOT0;
	head = link_read_le32(&ring_of(tx->first)->head);
	next = skip_published(lr, ring, head);
	tx->frame = slot_at(lr, ring, next)->frame;
	tx->seq = tx->stop = next + 1;
	tx->step = lr->slot_bytes;
	for (n = next; n != head + lr->slots; n++)
		link_write_le32(&slot_at(lr, ring, n)->seq, n + 1 - lr->slots);
}

bool link_ring_there(const struct link_ring *lr, uint32_t p)
{
	return p < lr->ports && link_read_le32(&lr->port_table[p].state) ==
					UNIC_LINK_PORT_ATTACHED;
}

/* Can the ring (p -> this port) hold frames? */
static bool is_source(const struct link_ring *lr, uint32_t p)
{
	if (p == lr->port)
		return lr->loops;
	if (p == UNIC_LINK_PORT_SWITCH)
		return true;
	return (lr->port == UNIC_LINK_PORT_SWITCH ||
		(lr->flags & UNIC_LINK_DIRECT)) &&
	       link_ring_there(lr, p);
}

/* Were frames of this ring taken and not yet done with? */
static inline bool in_burst(const struct link_ring_rx *rx)
{
	return rx->seq != rx->head + 1;
}

/* Links the rings worth reading into a circle, which is never empty and always
 * has lr->turn. Finds a new port after LOOKS_PER_REFRESH looks, and always before
 * a sleep. */
static SELDOM void refresh_sources(struct link_ring *lr)
{
	struct link_ring_rx *first = NULL, *last = NULL, *rx;
	bool stays = false;
	uint32_t p;

	lr->flags = link_read_le32(&lr->header->flags);
	lr->rx_flags = lr->flags & UNIC_LINK_NO_ICRC ? UNIC_FRAME_NO_ICRC : 0;
	lr->looks = LOOKS_PER_REFRESH;
	for (p = 0; p < lr->ports; p++) {
		rx = &lr->rx[p];
		if (!is_source(lr, p) && !(rx == lr->turn && in_burst(rx)))
			continue;
		if (last)
			last->after = rx;
		else
			first = rx;
		last = rx;
		stays |= rx == lr->turn;
	}
	if (!first)
		first = last = &lr->rx[lr->port];
	last->after = first;
	if (!stays)
		lr->turn = first;
}

int link_ring_attach(struct link_ring *lr, void *mem, uint64_t size,
		     uint32_t port, const uint8_t mac[6])
{
	uint32_t ring_off, ring_bytes, p;
	struct unic_link_port *me;
	uint8_t *rings;
	int err;

	memset(lr, 0, sizeof(*lr));
	lr->mem = mem;
	lr->header = mem;
	err = link_layout_read(lr, size, &ring_off, &ring_bytes);
	if (err)
		return err;
	if (port >= lr->ports)
		return LINK_RING_EPORT;
	lr->port = port;
	rings = lr->mem + ring_off;
	for (p = 0; p < lr->ports; p++) {
		lr->rx[p].from = p;
		adopt_rx(lr, &lr->rx[p],
			 rings + (size_t)(p * lr->ports + port) * ring_bytes);
		adopt_tx(lr, &lr->tx[p],
			 rings + (size_t)(port * lr->ports + p) * ring_bytes);
		lr->tx[p].bit = 1u << p;
	}
	lr->turn = &lr->rx[port];
	memcpy(lr->mac, mac, sizeof(lr->mac));
	me = &lr->port_table[port];
	memcpy(me->mac, mac, sizeof(me->mac));
	link_write_le32(&me->asleep, 0);
	unic_wmb();
	link_write_le32(&me->state, UNIC_LINK_PORT_ATTACHED);
	refresh_sources(lr);
	return LINK_RING_OK;
}

void link_ring_detach(struct link_ring *lr)
{
	link_write_le32(&lr->port_table[lr->port].state, UNIC_LINK_PORT_EMPTY);
}

void link_ring_bury(struct link_ring *lr, uint32_t p)
{
	if (p < lr->ports)
		link_write_le32(&lr->port_table[p].state, UNIC_LINK_PORT_EMPTY);
}

void link_ring_info(struct link_ring *lr, struct unic_link *out)
{
	lr->flags = link_read_le32(&lr->header->flags);
	memcpy(out->mac, lr->mac, sizeof(out->mac));
	out->up = true;
	out->icrc_offload = lr->flags & UNIC_LINK_NO_ICRC;
	out->slots = true;
	out->max_frame = lr->max_frame;
}

uint32_t link_ring_path(struct link_ring *lr, const uint8_t mac[6])
{
	uint32_t p;

	if (!memcmp(mac, lr->mac, sizeof(lr->mac))) {
		lr->loops = true;
		refresh_sources(lr);
		return lr->port;
	}
	lr->flags = link_read_le32(&lr->header->flags);
	if (!(lr->flags & UNIC_LINK_DIRECT))
		return UNIC_LINK_PORT_SWITCH;
	for (p = 1; p < lr->ports; p++) {
		if (!link_ring_there(lr, p))
			continue;
		unic_rmb();
		if (!memcmp(mac, lr->port_table[p].mac, sizeof(lr->mac)))
			return p;
	}
	return UNIC_LINK_PORT_SWITCH;
}

/* --------------------------------------------------------------- sending */

/* At the end of the room or of the lap: reads how far the consumer has come. */
static bool tx_refresh_room(const struct link_ring *lr, struct link_ring_tx *tx)
{
	uint32_t n = tx->seq - 1, at = n & (lr->slots - 1);
	uint32_t used = n - link_read_le32(&ring_of(tx->first)->head);
	uint32_t room = used <= lr->slots ? lr->slots - used : 0;

	unic_rmb();
	if (!at)
		tx->frame = tx->first + UNIC_LINK_FRAME_OFF;
	if (room > lr->slots - at)
		room = lr->slots - at;
	/*@ split room; */
	tx->stop = tx->seq + room;
	return room != 0;
}

/* The buffer lr->got is finished, by a put or by another get. */
static inline void tx_advance(struct link_ring_tx *tx)
{
	tx->frame += tx->step;
	tx->seq++;
}

static inline uint8_t *tx_take(struct link_ring *lr, struct link_ring_tx *tx)
{
	lr->from = tx;
	lr->got = tx->frame;
	return tx->frame;
}

static uint8_t *tx_take_full(struct link_ring *lr, struct link_ring_tx *tx)
{
	uint32_t to = (uint32_t)(tx - lr->tx);

	if (tx->first && tx_refresh_room(lr, tx))
		return tx_take(lr, tx);
	lr->tx_full++;
	if (lr->port == UNIC_LINK_PORT_SWITCH || to == lr->port ||
	    to == UNIC_LINK_PORT_SWITCH || link_ring_there(lr, to))
		return NULL;
	tx = &lr->tx[UNIC_LINK_PORT_SWITCH];
	return tx->seq != tx->stop || tx_refresh_room(lr, tx) ? tx_take(lr, tx)
							      : NULL;
}

/* A buffer while another one is held, or from a ring that seems full. */
static SELDOM uint8_t *tx_get_any(struct link_ring *lr, struct link_ring_tx *tx)
{
	struct link_ring_held *held = &lr->held[lr->held_n];

	if (lr->got) {
		if (lr->held_n == UNIC_TX_BUFS - 1)
			return NULL;
		held->frame = lr->got;
		held->seq = lr->from->seq;
		held->bit = lr->from->bit;
		lr->held_n++;
		lr->got = NULL;
		tx_advance(lr->from);
	}
	if (tx->seq == tx->stop)
		return tx_take_full(lr, tx);
	return tx_take(lr, tx);
}

inline uint8_t *link_ring_tx_get(struct link_ring *lr, uint32_t path)
{
	struct link_ring_tx *tx =
		&lr->tx[path < UNIC_LINK_PORTS_MAX ? path
						   : UNIC_LINK_PORT_SWITCH];

	if (unlikely(lr->got || tx->seq == tx->stop))
		return tx_get_any(lr, tx);
	return tx_take(lr, tx);
}

static inline void publish_slot(uint8_t *frame, uint32_t seq, uint32_t len,
				uint32_t flags)
{
	struct unic_link_slot *slot =
		(struct unic_link_slot *)(frame - UNIC_LINK_FRAME_OFF);

	link_write_le32(slot_len_flags(slot), len | flags << 16);
	unic_wmb();
	link_write_le32(&slot->seq, seq);
}

/* Publishes a buffer that is not the last one got. */
static SELDOM void tx_put_any(struct link_ring *lr, uint8_t *frame,
			      uint32_t len, uint32_t flags)
{
	struct link_ring_held *held = lr->held;
	uint32_t i = lr->held_n;

	do {
		if (!i--)
			return;
	} while (held[i].frame != frame);
	publish_slot(frame, held[i].seq, len, flags);
	lr->dirty |= held[i].bit;
	held[i] = held[--lr->held_n];
}

inline void link_ring_tx_put(struct link_ring *lr, uint8_t *frame, uint32_t len,
			     uint32_t flags)
{
	struct link_ring_tx *tx = lr->from;

	if (unlikely(lr->got != frame)) {
		tx_put_any(lr, frame, len, flags);
		return;
	}
	lr->got = NULL;
	lr->dirty |= tx->bit;
	publish_slot(frame, tx->seq, len, flags);
	tx_advance(tx);
}

inline bool link_ring_tx_run(struct link_ring *lr, uint32_t path,
			     struct unic_tx_run *run)
{
	struct link_ring_tx *tx =
		&lr->tx[path < UNIC_LINK_PORTS_MAX ? path
						   : UNIC_LINK_PORT_SWITCH];

	if (unlikely(lr->got) || (unlikely(tx->seq == tx->stop) &&
				  !(tx->first && tx_refresh_room(lr, tx))))
		return false;
	lr->from = tx;
	run->frame = tx->frame;
	run->stride = tx->step;
	run->n = tx->stop - tx->seq;
	return true;
}

inline void link_ring_tx_run_put(struct link_ring *lr, uint32_t n, uint32_t len,
				 uint32_t flags)
{
	struct link_ring_tx *tx = lr->from;
	uint8_t *slot = tx->frame - UNIC_LINK_FRAME_OFF, *at;
	uint32_t seq = tx->seq, step = tx->step, form = len | flags << 16;
	uint8_t *end = slot + n * step;

	if (!n)
		return;
	lr->dirty |= tx->bit;
	tx->frame = end + UNIC_LINK_FRAME_OFF;
	tx->seq = seq + n;
	for (at = slot; at != end; at += step)
		link_write_le32(slot_len_flags((struct unic_link_slot *)at),
				form);
	unic_wmb(); /* one barrier for all frames of the run */
	for (at = slot; at != end; at += step)
		link_write_le32(&((struct unic_link_slot *)at)->seq, seq++);
}

uint32_t link_ring_flush(struct link_ring *lr)
{
	uint32_t left = lr->dirty & ~(1u << lr->port), mask = 0, p;

	lr->dirty = 0;
	if (!left)
		return 0;
	/* the seq words before the receivers' asleep flags: link_ring_sleep() */
	unic_mb();
	for (; left; left &= left - 1) {
		p = (uint32_t)__builtin_ctz(left);
		if (link_read_le32(&lr->port_table[p].asleep))
			mask |= 1u << p;
	}
	return mask;
}

/* ------------------------------------------------------------- receiving */

/* Gives all frames taken from the ring back. */
static inline void rx_release(struct link_ring_rx *rx)
{
	rx->head = rx->seq - 1;
	/* reads of the slots before the producer may write them */
	unic_wmb();
	link_write_le32(&ring_of(rx->first)->head, rx->head);
}

static inline bool rx_has_frame(const struct link_ring_rx *rx)
{
	const struct unic_link_slot *slot = (const void *)rx->slot;

	return link_read_le32(&slot->seq) == rx->seq;
}

/* The ring that is read next, if it has a frame; NULL: none has. */
static inline struct link_ring_rx *rx_ready(const struct link_ring *lr)
{
	struct link_ring_rx *first = lr->turn, *rx = first;

	do {
		if (unlikely(rx_has_frame(rx)))
			return rx;
		rx = rx->after;
	} while (rx != first);
	return NULL;
}

static SELDOM uint32_t rx_count_bad(struct link_ring *lr)
{
	lr->rx_bad++;
	return 0;
}

/* Takes the next slot. A slot with an impossible length has no frame. */
static inline void rx_take(struct link_ring *lr, struct link_ring_rx *rx,
			   struct unic_rx *out)
{
	struct unic_link_slot *slot = (struct unic_link_slot *)rx->slot;
	uint8_t *next = rx->slot + lr->slot_bytes;
	uint32_t form, len;

	unic_rmb();
	form = link_read_le32(slot_len_flags(slot));
	len = form & 0xffff;
	out->frame = slot->frame;
	rx->slot = next == rx->end ? rx->first : next;
	rx->seq++;
	if (unlikely(len > lr->max_frame))
		len = rx_count_bad(lr);
	out->len = len;
	out->flags = form >> 16 & lr->rx_flags;
}

static SELDOM struct link_ring_rx *rx_refreshed(struct link_ring *lr)
{
	struct link_ring_rx *rx;

	refresh_sources(lr);
	rx = rx_ready(lr);
	if (rx)
		lr->turn = rx;
	return rx;
}

/* The ring that is read after an empty one. */
static inline struct link_ring_rx *rx_next_ring(struct link_ring *lr)
{
	struct link_ring_rx *rx = lr->turn;

	if (in_burst(rx))
		return NULL;
	if (unlikely(!--lr->looks))
		return rx_refreshed(lr);
	do {
		rx = rx->after;
		if (rx == lr->turn)
			return NULL;
	} while (!rx_has_frame(rx));
	lr->turn = rx;
	return rx;
}

inline bool link_ring_rx_ready(const struct link_ring *lr)
{
	return rx_ready(lr) != NULL;
}

inline bool link_ring_rx_next(struct link_ring *lr, struct unic_rx *rx)
{
	struct link_ring_rx *ring = lr->turn;

	if (!rx_has_frame(ring)) {
		ring = rx_next_ring(lr);
		if (!ring)
			return false;
	}
	rx_take(lr, ring, rx);
	return true;
}

/* Counts the slots from @slot to @end that are published one behind another, at
 * most @max, which is not 0. */
static inline uint32_t rx_published(const struct link_ring *lr,
				    const struct link_ring_rx *rx, uint32_t max)
{
	const uint8_t *slot = rx->slot;
	uint32_t seq = rx->seq, step = lr->slot_bytes, end = seq + max;

	while (link_read_le32(&((const struct unic_link_slot *)slot)->seq) ==
	       seq) {
		slot += step;
		seq++;
		if (seq == end || slot == rx->end)
			break;
	}
	return seq - rx->seq;
}

inline uint32_t link_ring_rx_run(struct link_ring *lr, const struct unic_rx *rx,
				 uint32_t max, uint32_t *stride)
{
	struct link_ring_rx *ring = lr->turn;
	uint32_t form = rx->len | rx->flags << 16, step = lr->slot_bytes;
	uint8_t *slot = ring->slot;
	uint32_t n, left;

	*stride = step;
	/* the slot is not behind the last one */
	if (unlikely(slot == ring->first || !max))
		return 0;
	n = left = rx_published(lr, ring, max);
	unic_rmb(); /* the seq words before the slots that they guard */
	while (left && link_read_le32(slot_len_flags(
			       (struct unic_link_slot *)slot)) == form) {
		slot += step;
		left--;
	}
	ring->seq += n - left;
	ring->slot = slot == ring->end ? ring->first : slot;
	return n - left;
}

inline bool link_ring_rx_more(const struct link_ring *lr)
{
	return rx_has_frame(lr->turn);
}

inline void link_ring_rx_back(struct link_ring *lr, uint32_t n)
{
	struct link_ring_rx *ring = lr->turn;

	if (!n)
		return;
	if (ring->slot == ring->first)
		ring->slot = ring->end;
	ring->slot -= (size_t)n * lr->slot_bytes;
	ring->seq -= n;
}

inline void link_ring_rx_done(struct link_ring *lr)
{
	rx_release(lr->turn);
	lr->turn = lr->turn->after;
	if (unlikely(!--lr->looks))
		refresh_sources(lr);
}

void link_ring_sleep(struct link_ring *lr, bool on)
{
	link_write_le32(&lr->port_table[lr->port].asleep, on);
	if (!on)
		return;
	/* the asleep flag before the senders' seq words: link_ring_flush() */
	unic_mb();
	refresh_sources(lr);
}
