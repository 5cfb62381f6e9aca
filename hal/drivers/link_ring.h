/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * link_ring.h - one port of the shared-memory link (abi/unic_link.h).
 *
 * Memory only: no call into an operating system or a device. Attaching to the
 * memory, ringing doorbells and sleeping belong to the user (hal/virt,
 * hal/soft, the wire switch).
 *
 *	           +--------+------------+----------+----------+-- - -
 *	link memory| header | port table | ring 0->0| ring 0->1| ...
 *	           +--------+------------+----------+----------+-- - -
 *
 * A port sends into the rings (me -> x), one per destination, and receives from
 * the rings (x -> me), burst by burst, round robin, so that no sender can starve
 * another. The secret hidden here is how a slot passes from one side to the
 * other:
 *
 *	producer                              consumer
 *	tx_get: slot of number n = next++     rx_next: seq == n + 1 ? take it
 *	  (room while next - head <= slots)   rx_done: head = n + 1
 *	tx_put: len, flags, then seq = n + 1
 *	flush:  whose `asleep` is set?        sleep(true), then rx_next once more
 *
 * Buffers may be put in any order: the consumer waits for number n, so frames
 * of one ring arrive in the order of tx_get. A buffer put with length 0 is
 * passed over by the consumer.
 *
 * Trust: everybody on the link can write all of its memory at any time. The
 * layout is copied and checked once, at attach. Afterwards a wild seq is an
 * empty slot, a wild head is a full ring, a wild len is a frame dropped and
 * counted; no value read from the link becomes an address. Frame bytes can
 * change while they are read.
 *
 * Not thread-safe; one struct per port, owned by one thread. It points into
 * itself: attach it where it stays.
 */
#ifndef LINK_RING_H
#define LINK_RING_H

#include "unic_link.h"
#include "unic_port.h"

enum link_ring_status {
	LINK_RING_OK = 0,
	LINK_RING_EMAGIC = -1,	 /* the header is not written (yet) */
	LINK_RING_EVERSION = -2, /* another version of the link */
	LINK_RING_ELAYOUT = -3,	 /* sizes make no sense or exceed the memory */
	LINK_RING_EPORT = -4,	 /* no such port on this link */
};

/* One ring (me -> x). Aligned: it is indexed per frame. */
struct link_ring_tx {
	uint8_t *frame; /* the next buffer to get */
	uint32_t seq;	/* what it is published with: its number + 1 */
	uint32_t stop;	/* seq at which room or the lap is over: look closer */
	uint32_t step;	/* bytes to the next buffer */
	uint32_t bit;	/* of this ring, in `dirty` */
	uint8_t *first; /* slot 0 */
} __attribute__((aligned(32)));

/* One ring (x -> me). */
struct link_ring_rx {
	uint8_t *slot; /* of the next frame to take */
	uint32_t seq;  /* what it is published with: its number + 1 */
	uint32_t head; /* number of the oldest frame not done with */
	uint8_t *first, *end;
	struct link_ring_rx *after; /* whose turn it is after this one's */
	uint32_t from;
};

/* A buffer between tx_get and tx_put while a later one is in hand. */
struct link_ring_held {
	uint8_t *frame;
	uint32_t seq; /* to publish it with */
	uint32_t bit; /* of its ring, in `dirty` */
};

struct link_ring {
	/* what every frame needs comes first */
	struct link_ring_rx *turn; /* the ring that is being read */
	uint32_t looks;		   /* left until the port table is looked at */
	uint32_t slot_bytes;
	uint32_t max_frame;
	uint32_t rx_flags; /* frame flags that receivers may see */
	uint32_t dirty; /* bit p: frames put for port p since the last flush */
	uint8_t *got;	/* the buffer got last, if not yet put ... */
	struct link_ring_tx *from; /* ... and the ring it belongs to */
	uint32_t held_n;
	struct link_ring_held held[UNIC_TX_BUFS - 1];
	struct link_ring_tx tx[UNIC_LINK_PORTS_MAX];
	struct link_ring_rx rx[UNIC_LINK_PORTS_MAX];
	uint8_t *mem;
	struct unic_link_header *header;
	struct unic_link_port *port_table;
	uint32_t port; /* ours */
	uint32_t ports;
	uint32_t slots;
	uint32_t flags; /* of the header, as last read */
	bool loops;	/* we know the path to ourselves */
	uint8_t mac[6];
	uint32_t tx_full; /* tx_get found no room, times */
	uint32_t rx_bad;  /* frames dropped for their length */
};

/**
 * link_ring_attach() - become @port of the link in @mem.
 * @lr:   written wholly; any former content is lost.
 * @mem:  the link memory, 64-aligned; must stay mapped while @lr is used.
 * @size: its bytes. @port: our ivshmem peer number (the switch: 0).
 * @mac:  our address; published in the port table.
 *
 * Frames that a former owner of the port left unread are dropped, its half
 * sent ones are never published. Returns an enum link_ring_status; on an error
 * nothing in @mem was written. EMAGIC may be tried again later.
 */
int link_ring_attach(struct link_ring *lr, void *mem, uint64_t size,
		     uint32_t port, const uint8_t mac[6]);

/**
 * link_ring_detach() - mark our port EMPTY. Buffers held are lost; @lr is to be
 * attached again before any other use.
 */
void link_ring_detach(struct link_ring *lr);

/** link_ring_there() - is a NIC attached to port @p, as far as it says? */
bool link_ring_there(const struct link_ring *lr, uint32_t p);

/**
 * link_ring_bury() - the switch only: port @p's owner died without detaching;
 * mark it EMPTY, so that nobody sends there directly any more.
 */
void link_ring_bury(struct link_ring *lr, uint32_t p);

/**
 * link_ring_info() - the facts of unic_port_link(). icrc_offload is what the
 * switch allows at this moment.
 */
void link_ring_info(struct link_ring *lr, struct unic_link *out);

/**
 * link_ring_path() - the port to send frames for @mac to: our own for our
 * address (from this call on our own ring is read), a NIC's when the link is DIRECT and the NIC is there, else the
 * switch's. Searches the port table: once per connection, not per frame. Do it
 * again when a connection seems dead: its peer may have moved.
 */
uint32_t link_ring_path(struct link_ring *lr, const uint8_t mac[6]);

/**
 * link_ring_tx_get() - an empty buffer of max_frame bytes, at 2 modulo 4, in
 * link memory. @path: of link_ring_path(); a wild one means the switch.
 *
 * Returns NULL if UNIC_TX_BUFS are held already or the ring is full. A full
 * ring to a NIC that has left is answered with a buffer to the switch.
 */
uint8_t *link_ring_tx_get(struct link_ring *lr, uint32_t path);

/**
 * link_ring_tx_put() - publish a buffer of link_ring_tx_get().
 * @len:   bytes, at most max_frame; 0: no frame, as the consumer will see.
 * @flags: UNIC_FRAME_*.
 */
void link_ring_tx_put(struct link_ring *lr, uint8_t *frame, uint32_t len,
		      uint32_t flags);

/**
 * link_ring_tx_run() - unic_port_tx_run(): the buffers up to the end of the lap
 * or of the room. False while one got is not put, or with no room.
 */
bool link_ring_tx_run(struct link_ring *lr, uint32_t path,
		      struct unic_tx_run *run);

/** link_ring_tx_run_put() - publish the first @n buffers of the run got last. */
void link_ring_tx_run_put(struct link_ring *lr, uint32_t n, uint32_t len,
			  uint32_t flags);

/**
 * link_ring_flush() - who must be rung for what was put since the last flush.
 * Returns a mask, bit p: ring vector 0 of peer p.
 */
uint32_t link_ring_flush(struct link_ring *lr);

/** link_ring_rx_ready() - is a frame there? True may be a mistake. */
bool link_ring_rx_ready(const struct link_ring *lr);

/**
 * link_ring_rx_next() - the next frame of the ring whose turn it is.
 * @rx: filled if true; frame points into link memory. Its len is 0 if the slot
 *      holds no frame: the sender gave it back, or (counted) its length is an
 *      impossible one. A call takes one slot, whatever is in it.
 *
 * Frames are held until link_ring_rx_done(); a burst, that is what is taken up
 * to then, comes from one ring. Returns false, with @rx undefined, if there is
 * none; in a burst: none in this ring.
 */
bool link_ring_rx_next(struct link_ring *lr, struct unic_rx *rx);

/** link_ring_rx_run() - unic_port_rx_run(): up to the end of the lap. @rx: the
 * frame that link_ring_rx_next() gave last. */
uint32_t link_ring_rx_run(struct link_ring *lr, const struct unic_rx *rx,
			  uint32_t max, uint32_t *stride);

/** link_ring_rx_back() - the last @n of that run are not taken. */
void link_ring_rx_back(struct link_ring *lr, uint32_t n);

/** link_ring_rx_done() - the slots of all frames taken so far may be used
 * again; it is the next ring's turn. */
void link_ring_rx_done(struct link_ring *lr);

/** link_ring_source() - the port that sent the frame taken last; not after
 * link_ring_rx_done(). */
static inline uint32_t link_ring_source(const struct link_ring *lr)
{
	return lr->turn->from;
}

/**
 * link_ring_sleep() - tell senders whether to ring our doorbell.
 * @on: from now on, ring. Then look with link_ring_rx_next() once more before
 * sleeping: a frame published before the flag was seen was not rung for.
 */
void link_ring_sleep(struct link_ring *lr, bool on);

#endif /* LINK_RING_H */
