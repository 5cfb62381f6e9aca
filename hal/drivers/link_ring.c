// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "link_ring.h"

/* After how many looks for frames the port table is looked at again. */
#define LOOKS_PER_REFRESH 64u
#define SLOTS_MAX	  65536u
#define SLOT_BYTES_MAX	  16384u
#define RING_ALIGN	  4096u

/* Out of the way of the code that runs for every frame. */
#define SELDOM __attribute__((noinline, cold))

/* Frames of one ring that may be taken and not yet freed: bits of `done`. */
#define RX_WINDOW 32u

_Static_assert((int)UNIC_FRAME_NO_ICRC == (int)UNIC_LINK_SLOT_NO_ICRC,
	       "frame flags pass through the link unchanged");

static uint32_t rd32(const unic_le32 *p)
{
	return unic_from_le32(UNIC_READ_ONCE(*p));
}

static void wr32(unic_le32 *p, uint32_t v)
{
	UNIC_WRITE_ONCE(*p, unic_to_le32(v));
}

static struct unic_link_slot *slot_at(const struct link_ring *lr, uint8_t *ring,
				      uint32_t n)
{
	return (struct unic_link_slot *)(ring + UNIC_LINK_SLOT0 +
					 (n & (lr->slots - 1)) *
						 lr->slot_bytes);
}

/* Slots lie behind the ring's own header. */
static struct unic_link_ring *ring_of(uint8_t *first)
{
	return (struct unic_link_ring *)(first - UNIC_LINK_SLOT0);
}

/* --------------------------------------------------------------- layout */

static uint64_t ring_stride(uint32_t slots, uint32_t slot_bytes)
{
	uint64_t bytes = UNIC_LINK_SLOT0 + (uint64_t)slots * slot_bytes;

	return (bytes + RING_ALIGN - 1) & ~(uint64_t)(RING_ALIGN - 1);
}

static bool sizes_ok(uint32_t ports, uint32_t slots, uint32_t slot_bytes)
{
	return ports >= 2 && ports <= UNIC_LINK_PORTS_MAX && slots >= 2 &&
	       slots <= SLOTS_MAX && !(slots & (slots - 1)) && slot_bytes &&
	       slot_bytes <= SLOT_BYTES_MAX && slot_bytes % 64 == 0;
}

uint64_t link_ring_bytes(uint32_t ports, uint32_t slots, uint32_t slot_bytes)
{
	return RING_ALIGN +
	       (uint64_t)ports * ports * ring_stride(slots, slot_bytes);
}

int link_ring_format(void *mem, uint64_t size, uint32_t ports, uint32_t slots,
		     uint32_t slot_bytes, uint32_t flags)
{
	struct unic_link_header *h = mem;

	if (!sizes_ok(ports, slots, slot_bytes) ||
	    ring_stride(slots, slot_bytes) > UINT32_MAX ||
	    link_ring_bytes(ports, slots, slot_bytes) > size)
		return LINK_RING_ELAYOUT;
	wr32(&h->version, UNIC_LINK_VERSION);
	wr32(&h->ports, ports);
	wr32(&h->slots, slots);
	wr32(&h->slot_bytes, slot_bytes);
	wr32(&h->flags, flags);
	wr32(&h->port_off, sizeof(*h));
	wr32(&h->ring_off, RING_ALIGN);
	wr32(&h->ring_bytes, (uint32_t)ring_stride(slots, slot_bytes));
	unic_wmb();
	wr32(&h->magic, UNIC_LINK_MAGIC);
	return LINK_RING_OK;
}

/* Is [off, off + bytes) inside the memory, behind the header, aligned? */
static bool range_ok(uint64_t size, uint32_t off, uint64_t bytes)
{
	return off >= sizeof(struct unic_link_header) && off % 64 == 0 &&
	       off <= size && bytes <= size - off;
}

static int read_layout(struct link_ring *lr, uint64_t size, uint32_t *ring_off,
		       uint32_t *ring_bytes)
{
	struct unic_link_header h;
	uint32_t port_off;
	uint64_t rings;

	if (size < sizeof(h))
		return LINK_RING_ELAYOUT;
	if (rd32(&lr->header->magic) != UNIC_LINK_MAGIC)
		return LINK_RING_EMAGIC;
	unic_rmb();
	memcpy(&h, lr->header, sizeof(h));
	if (unic_from_le32(h.version) != UNIC_LINK_VERSION)
		return LINK_RING_EVERSION;
	lr->ports = unic_from_le32(h.ports);
	lr->slots = unic_from_le32(h.slots);
	lr->slot_bytes = unic_from_le32(h.slot_bytes);
	port_off = unic_from_le32(h.port_off);
	*ring_off = unic_from_le32(h.ring_off);
	*ring_bytes = unic_from_le32(h.ring_bytes);
	if (!sizes_ok(lr->ports, lr->slots, lr->slot_bytes) ||
	    *ring_bytes % RING_ALIGN ||
	    *ring_bytes < ring_stride(lr->slots, lr->slot_bytes))
		return LINK_RING_ELAYOUT;
	rings = (uint64_t)lr->ports * lr->ports * *ring_bytes;
	if (!range_ok(size, port_off,
		      lr->ports * sizeof(struct unic_link_port)) ||
	    !range_ok(size, *ring_off, rings))
		return LINK_RING_ELAYOUT;
	lr->port_table = (struct unic_link_port *)(lr->mem + port_off);
	lr->max_frame = lr->slot_bytes - UNIC_LINK_FRAME_OFF;
	return LINK_RING_OK;
}

/* ----------------------------------------------------------- attachment */

/* First number from @n on that is not published. */
static uint32_t skip_published(struct link_ring *lr, uint8_t *ring, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < lr->slots; i++, n++)
		if (rd32(&slot_at(lr, ring, n)->seq) != n + 1)
			break;
	return n;
}

/* Whatever a former owner left there is not for us. */
static void adopt_rx(struct link_ring *lr, struct link_ring_rx *rx,
		     uint8_t *ring)
{
	rx->first = ring + UNIC_LINK_SLOT0;
	rx->end = rx->first + (size_t)lr->slots * lr->slot_bytes;
	rx->next = skip_published(lr, ring, rd32(&ring_of(rx->first)->head));
	rx->head = rx->next;
	rx->slot = (uint8_t *)slot_at(lr, ring, rx->next);
	wr32(&ring_of(rx->first)->head, rx->head);
}

/*
 * Go on behind the last published frame. A former owner may have published
 * out of order behind a buffer it never put: those get the number of the lap
 * before, which no consumer waits for.
 */
static void adopt_tx(struct link_ring *lr, struct link_ring_tx *tx,
		     uint8_t *ring)
{
	uint32_t n, head;

	tx->first = ring + UNIC_LINK_SLOT0;
	tx->end = tx->first + (size_t)lr->slots * lr->slot_bytes;
	head = rd32(&ring_of(tx->first)->head);
	tx->next = skip_published(lr, ring, head);
	tx->room = lr->slots - (tx->next - head);
	tx->slot = (uint8_t *)slot_at(lr, ring, tx->next);
	for (n = tx->next; n != head + lr->slots; n++)
		wr32(&slot_at(lr, ring, n)->seq, n + 1 - lr->slots);
}

bool link_ring_there(const struct link_ring *lr, uint32_t p)
{
	return p < lr->ports &&
	       rd32(&lr->port_table[p].state) == UNIC_LINK_PORT_ATTACHED;
}

/* Can the ring (p -> us) hold frames? */
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

/* A newcomer is noticed after some rounds, and always before we sleep. The
 * rings worth reading form a circle; it is never empty. */
static SELDOM void refresh_sources(struct link_ring *lr)
{
	struct link_ring_rx *last = NULL;
	uint32_t p;

	lr->flags = rd32(&lr->header->flags);
	lr->rx_flags = lr->flags & UNIC_LINK_NO_ICRC ? UNIC_FRAME_NO_ICRC : 0;
	lr->looks = LOOKS_PER_REFRESH;
	lr->turn = &lr->rx[lr->port];
	for (p = 0; p < lr->ports; p++) {
		if (!is_source(lr, p))
			continue;
		if (last)
			last->after = &lr->rx[p];
		else
			lr->turn = &lr->rx[p];
		last = &lr->rx[p];
	}
	(last ? last : lr->turn)->after = lr->turn;
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
	err = read_layout(lr, size, &ring_off, &ring_bytes);
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
	}
	memcpy(lr->mac, mac, sizeof(lr->mac));
	me = &lr->port_table[port];
	memcpy(me->mac, mac, sizeof(me->mac));
	wr32(&me->asleep, 0);
	unic_wmb();
	wr32(&me->state, UNIC_LINK_PORT_ATTACHED);
	refresh_sources(lr);
	return LINK_RING_OK;
}

void link_ring_detach(struct link_ring *lr)
{
	wr32(&lr->port_table[lr->port].state, UNIC_LINK_PORT_EMPTY);
}

void link_ring_bury(struct link_ring *lr, uint32_t p)
{
	if (p < lr->ports)
		wr32(&lr->port_table[p].state, UNIC_LINK_PORT_EMPTY);
}

void link_ring_info(struct link_ring *lr, struct unic_link *out)
{
	lr->flags = rd32(&lr->header->flags);
	memcpy(out->mac, lr->mac, sizeof(out->mac));
	out->up = true;
	out->icrc_offload = lr->flags & UNIC_LINK_NO_ICRC;
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
	lr->flags = rd32(&lr->header->flags);
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

/* The ring looks full: how far has the consumer come? */
static SELDOM bool tx_look(struct link_ring *lr, struct link_ring_tx *tx)
{
	uint32_t used = tx->next - rd32(&ring_of(tx->first)->head);

	unic_rmb();
	if (used <= lr->slots)
		tx->room = lr->slots - used;
	return tx->room != 0;
}

static inline uint8_t *tx_take(struct link_ring *lr, struct link_ring_tx *tx,
			       uint32_t to)
{
	struct link_ring_held *held = &lr->held[lr->held_n++];
	uint8_t *slot = tx->slot, *next = slot + lr->slot_bytes;

	tx->room--;
	held->slot = slot;
	held->seq = ++tx->next;
	held->bit = 1u << to;
	tx->slot = next == tx->end ? tx->first : next;
	return slot + UNIC_LINK_FRAME_OFF;
}

static SELDOM uint8_t *tx_take_full(struct link_ring *lr, uint32_t to)
{
	if (tx_look(lr, &lr->tx[to]))
		return tx_take(lr, &lr->tx[to], to);
	lr->tx_full++;
	if (lr->port == UNIC_LINK_PORT_SWITCH || to == lr->port ||
	    to == UNIC_LINK_PORT_SWITCH || link_ring_there(lr, to))
		return NULL;
	to = UNIC_LINK_PORT_SWITCH;
	return tx_look(lr, &lr->tx[to]) ? tx_take(lr, &lr->tx[to], to) : NULL;
}

uint8_t *link_ring_tx_get(struct link_ring *lr, uint32_t path)
{
	uint32_t to = path < lr->ports ? path : UNIC_LINK_PORT_SWITCH;
	struct link_ring_tx *tx = &lr->tx[to];

	if (__builtin_expect(lr->held_n >= UNIC_TX_BUFS, 0))
		return NULL;
	if (__builtin_expect(!tx->room, 0))
		return tx_take_full(lr, to);
	return tx_take(lr, tx, to);
}

static inline void publish(struct link_ring *lr,
			   const struct link_ring_held *held, uint32_t len,
			   uint32_t flags)
{
	struct unic_link_slot *slot = (struct unic_link_slot *)held->slot;

	UNIC_WRITE_ONCE(slot->len, unic_to_le16((uint16_t)len));
	UNIC_WRITE_ONCE(slot->flags, unic_to_le16((uint16_t)flags));
	unic_wmb();
	wr32(&slot->seq, held->seq);
	lr->dirty |= held->bit;
}

/* One of several that are held. */
static SELDOM void tx_put_any(struct link_ring *lr, const uint8_t *slot,
			      uint32_t len, uint32_t flags)
{
	struct link_ring_held *held = lr->held;
	uint32_t i = lr->held_n;

	do {
		if (!i--)
			return;
	} while (held[i].slot != slot);
	publish(lr, &held[i], len, flags);
	held[i] = held[--lr->held_n];
}

void link_ring_tx_put(struct link_ring *lr, uint8_t *frame, uint32_t len,
		      uint32_t flags)
{
	uint8_t *slot = frame - UNIC_LINK_FRAME_OFF;

	/* the usual case: it is the only one */
	if (__builtin_expect(lr->held_n != 1 || lr->held[0].slot != slot, 0)) {
		tx_put_any(lr, slot, len, flags);
		return;
	}
	lr->held_n = 0;
	publish(lr, &lr->held[0], len, flags);
}

uint32_t link_ring_flush(struct link_ring *lr)
{
	uint32_t left = lr->dirty & ~(1u << lr->port), mask = 0, p;

	lr->dirty = 0;
	if (!left)
		return 0;
	/* Our seq words before their asleep flag; see link_ring_sleep(). */
	unic_mb();
	for (; left; left &= left - 1) {
		p = (uint32_t)__builtin_ctz(left);
		if (rd32(&lr->port_table[p].asleep))
			mask |= 1u << p;
	}
	return mask;
}

/* ------------------------------------------------------------- receiving */

/* @n frames from the head on are done with. */
static inline void rx_release(struct link_ring_rx *rx, uint32_t n)
{
	rx->head += n;
	/* What was read of the slots before the producer may write them. */
	unic_wmb();
	wr32(&ring_of(rx->first)->head, rx->head);
}

/* Out of order, or others were done with before this one. */
static SELDOM void rx_free_any(struct link_ring_rx *rx, uint32_t i)
{
	uint32_t n = 0;

	if (i >= RX_WINDOW)
		return;
	rx->done |= 1u << i;
	for (; rx->done & 1; rx->done >>= 1)
		n++;
	if (n)
		rx_release(rx, n);
}

static inline void rx_free(struct link_ring_rx *rx, uint32_t n)
{
	uint32_t i = n - rx->head;

	if (__builtin_expect((i | rx->done) != 0, 0))
		rx_free_any(rx, i);
	else
		rx_release(rx, 1);
}

static inline bool rx_there(const struct link_ring_rx *rx)
{
	const struct unic_link_slot *slot = (const void *)rx->slot;

	return rd32(&slot->seq) == rx->next + 1;
}

/* Returns false if the frame was empty or impossible: it is passed over. */
static inline bool rx_take(struct link_ring *lr, struct link_ring_rx *rx,
			   struct unic_rx *out)
{
	struct unic_link_slot *slot = (struct unic_link_slot *)rx->slot;
	uint32_t n = rx->next, len;

	lr->turn = rx->after;
	if (__builtin_expect(n - rx->head >= RX_WINDOW, 0))
		return false;
	unic_rmb();
	len = unic_from_le16(UNIC_READ_ONCE(slot->len));
	rx->next = n + 1;
	rx->slot += lr->slot_bytes;
	if (__builtin_expect(rx->slot == rx->end, 0))
		rx->slot = rx->first;
	if (__builtin_expect(len - 1 >= lr->max_frame, 0)) {
		lr->rx_bad += len != 0;
		rx_free(rx, n);
		return false;
	}
	out->frame = slot->frame;
	out->len = len;
	out->flags = unic_from_le16(UNIC_READ_ONCE(slot->flags)) & lr->rx_flags;
	out->port_data[0] = rx->from;
	out->port_data[1] = n;
	return true;
}

/* The ring whose turn it is, of those that have a frame; NULL: none has. */
static inline struct link_ring_rx *rx_ready(const struct link_ring *lr)
{
	struct link_ring_rx *first = lr->turn, *rx = first;

	do {
		if (rx_there(rx))
			return rx;
		rx = rx->after;
	} while (rx != first);
	return NULL;
}

/* Something was passed over; there may be more, at most a lap of each ring. */
static SELDOM bool rx_next_good(struct link_ring *lr, struct unic_rx *out)
{
	uint32_t tries = lr->ports * lr->slots;
	struct link_ring_rx *rx;

	for (; tries; tries--) {
		rx = rx_ready(lr);
		if (!rx)
			return false;
		if (rx_take(lr, rx, out))
			return true;
	}
	return false;
}

bool link_ring_rx_next(struct link_ring *lr, struct unic_rx *rx)
{
	struct link_ring_rx *ring;

	ring = rx_ready(lr);
	if (__builtin_expect(!--lr->looks, 0))
		refresh_sources(lr);
	if (!ring)
		return false;
	return rx_take(lr, ring, rx) || rx_next_good(lr, rx);
}

void link_ring_rx_done(struct link_ring *lr, const struct unic_rx *rx)
{
	uint32_t from = rx->port_data[0];

	if (__builtin_expect(from < lr->ports, 1))
		rx_free(&lr->rx[from], rx->port_data[1]);
}

void link_ring_sleep(struct link_ring *lr, bool on)
{
	wr32(&lr->port_table[lr->port].asleep, on);
	if (!on)
		return;
	/* Our flag before their seq words; see link_ring_flush(). */
	unic_mb();
	refresh_sources(lr);
}
