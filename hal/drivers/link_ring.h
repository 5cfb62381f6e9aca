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

/* A ring (this port -> x). Aligned: it is indexed per frame. */
struct link_ring_tx {
	uint8_t *frame; /* the next buffer */
	uint32_t seq;	/* seq that publishes the buffer: its number + 1 */
	/* seq where the room or the lap ends: tx_refresh_room() */
	uint32_t stop;
	uint32_t step;	/* bytes to the next buffer */
	uint32_t bit;	/* bit of this ring in `dirty` */
	uint8_t *first; /* slot 0 */
} __attribute__((aligned(32)));

/* A ring (x -> this port). */
struct link_ring_rx {
	uint8_t *slot; /* slot of the next frame */
	uint32_t seq;  /* seq of that frame: its number + 1 */
	uint32_t head; /* number of the oldest frame that is not done with */
	uint8_t *first, *end;
	struct link_ring_rx *after; /* ring that is read after this one */
	uint32_t from;
};

/* A buffer between tx_get and tx_put while a later one is in hand. */
struct link_ring_held {
	uint8_t *frame;
	uint32_t seq; /* seq that publishes the buffer */
	uint32_t bit; /* bit of its ring in `dirty` */
};

struct link_ring {
	/* fields that every frame needs come first */
	struct link_ring_rx *turn; /* the ring that is being read */
	uint32_t looks;		   /* until the next scan of the port table */
	uint32_t slot_bytes;
	uint32_t max_frame;
	uint32_t rx_flags; /* frame flags that receivers may see */
	uint32_t dirty; /* bit p: frames put for port p since the last flush */
	uint8_t *got;	/* the last buffer got, if it is not put yet ... */
	struct link_ring_tx *from; /* ... and its ring */
	uint32_t held_n;
	struct link_ring_held held[UNIC_TX_BUFS - 1];
	struct link_ring_tx tx[UNIC_LINK_PORTS_MAX];
	struct link_ring_rx rx[UNIC_LINK_PORTS_MAX];
	uint8_t *mem;
	struct unic_link_header *header;
	struct unic_link_port *port_table;
	uint32_t port; /* number of this port */
	uint32_t ports;
	uint32_t slots;
	uint32_t flags; /* flags of the header, as last read */
	bool loops;	/* link_ring_path() has returned this port */
	uint8_t mac[6];
	uint32_t tx_full; /* calls of tx_get without room */
	uint32_t rx_bad;  /* frames of an impossible length */
};

/**
 * link_ring_attach() - make @lr port @port of the link in @mem. @lr: written
 * wholly; any former content is lost. @mem: the link memory, 64-aligned; must
 * stay mapped while @lr is used. @size: its bytes. @port: the ivshmem peer number
 * of this port (the switch: 0). @mac: MAC address of the port; published in the
 * port table.
 *
 * Frames that a former owner of the port left unread are dropped, its frames that
 * were half written are never published. Returns an enum link_ring_status; on an
 * error nothing in @mem was written. EMAGIC may be tried again later.
 */
int link_ring_attach(struct link_ring *lr, void *mem, uint64_t size,
		     uint32_t port, const uint8_t mac[6]);

/**
 * link_ring_detach() - mark the port EMPTY. Buffers held are lost; @lr must be
 * attached again before any other use.
 */
void link_ring_detach(struct link_ring *lr);

/** link_ring_there() - does the port table say that a NIC is attached to port
 * @p? */
bool link_ring_there(const struct link_ring *lr, uint32_t p);

/**
 * link_ring_bury() - the switch only: port @p's owner died without detaching;
 * mark it EMPTY, so that no port sends to its ring.
 */
void link_ring_bury(struct link_ring *lr, uint32_t p);

/**
 * link_ring_info() - fill @out for unic_port_link(). icrc_offload is what the
 * switch allows at this moment.
 */
void link_ring_info(struct link_ring *lr, struct unic_link *out);

/**
 * link_ring_path() - the port to send frames for @mac to: this port for its MAC
 * address (whose ring to itself is read from this call on), a NIC's when the link
 * is DIRECT and the NIC is there, else the switch's. Searches the port table:
 * once per connection, not per frame. Search again when a connection seems dead:
 * its peer may have moved.
 */
uint32_t link_ring_path(struct link_ring *lr, const uint8_t mac[6]);

/**
 * link_ring_tx_get() - get an empty buffer of max_frame bytes, at 2 modulo 4, in
 * link memory. @path: of link_ring_path(); an invalid one means the switch.
 *
 * Returns NULL if UNIC_TX_BUFS are held already or the ring is full. A full ring
 * to a NIC that has left is answered with a buffer to the switch.
 */
uint8_t *link_ring_tx_get(struct link_ring *lr, uint32_t path);

/**
 * link_ring_tx_put() - publish a buffer of link_ring_tx_get(). @len: bytes, at
 * most max_frame; 0: no frame; the consumer passes over the slot. @flags:
 * UNIC_FRAME_*.
 */
void link_ring_tx_put(struct link_ring *lr, uint8_t *frame, uint32_t len,
		      uint32_t flags);

/**
 * link_ring_tx_run() - as unic_port_tx_run(): the buffers up to the end of the
 * lap or of the room. False while a buffer got is not put, or without room.
 */
bool link_ring_tx_run(struct link_ring *lr, uint32_t path,
		      struct unic_tx_run *run);

/** link_ring_tx_run_put() - publish the first @n buffers of the last run. */
void link_ring_tx_run_put(struct link_ring *lr, uint32_t n, uint32_t len,
			  uint32_t flags);

/**
 * link_ring_flush() - find the sleeping receivers of frames that were put since
 * the last flush. Returns a mask, bit p: ring vector 0 of peer p.
 */
uint32_t link_ring_flush(struct link_ring *lr);

/** link_ring_rx_ready() - is a frame there? True may be wrong. */
bool link_ring_rx_ready(const struct link_ring *lr);

/**
 * link_ring_rx_next() - take the next frame of the ring that is read.
 * @rx: filled if true; frame points into link memory. Its len is 0 if the slot
 *      holds no frame: the sender gave it back, or (counted) its length is
 *      impossible. A call takes one slot, whatever is in it.
 *
 * Frames are held until link_ring_rx_done(); the frames taken until then, a
 * burst, come from one ring. Returns false, with @rx undefined, if there is none;
 * in a burst: there is none in this ring.
 */
bool link_ring_rx_next(struct link_ring *lr, struct unic_rx *rx);

/** link_ring_rx_run() - as unic_port_rx_run(): up to the end of the lap. @rx: the
 * last frame of link_ring_rx_next(). */
uint32_t link_ring_rx_run(struct link_ring *lr, const struct unic_rx *rx,
			  uint32_t max, uint32_t *stride);

/** link_ring_rx_more() - is there a frame behind the one taken last, in its ring? */
bool link_ring_rx_more(const struct link_ring *lr);

/** link_ring_rx_back() - give the last @n frames of that run back: they are not
 * taken. */
void link_ring_rx_back(struct link_ring *lr, uint32_t n);

/** link_ring_rx_done() - give the slots of all frames taken back to their
 * producer, and go on with the next ring. */
void link_ring_rx_done(struct link_ring *lr);

/** link_ring_source() - the port that sent the last frame taken; not after
 * link_ring_rx_done(). */
static inline uint32_t link_ring_source(const struct link_ring *lr)
{
	return lr->turn->from;
}

/**
 * link_ring_sleep() - publish in the port table whether senders must ring this
 * port. @on: they must. Then call link_ring_rx_next() once more before sleeping:
 * the sender of a frame published before it read the flag did not ring.
 */
void link_ring_sleep(struct link_ring *lr, bool on);

#endif /* LINK_RING_H */
