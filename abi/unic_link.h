/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_link.h - the shared-memory link between NICs of one machine.
 *
 * One memory file holds a header, a table of ports and one frame ring per
 * ordered pair of ports. Port 0 is the wire switch; port p > 0 is the NIC whose
 * ivshmem peer number on the switch's server is p. A frame goes straight into
 * the ring (me -> destination) when the header says DIRECT and the table knows
 * the destination's MAC, and else into the ring (me -> 0), so that the switch
 * can count, capture, lose or forward it.
 *
 * A ring is an array of slots. The producer fills a slot and then publishes it
 * by its seq word (release); the consumer takes slots whose seq is the number
 * it expects and says how far it came in `head`, which only the producer
 * reads, and only when the ring looks full. Numbers run freely from 0:
 * slot n is used by frame n, n + slots, ...; frame n is published with seq n+1.
 *
 * Everybody on the link is hostile to everybody else: len is read once and
 * checked against slot_bytes; a wild seq is an empty slot.
 */
#ifndef UNIC_LINK_H
#define UNIC_LINK_H

#include "unic_types.h"

#define UNIC_LINK_MAGIC	      0x4b4e4c55u /* "ULNK" */
#define UNIC_LINK_VERSION     1u	  /* a NIC does not attach to another */
#define UNIC_LINK_PORTS_MAX   8u	  /* the switch and at most 7 NICs */
#define UNIC_LINK_PORT_SWITCH 0u	  /* port of the wire switch */
#define UNIC_LINK_FRAME_OFF   18u /* in a slot; 2 modulo 4, so IPv4 is aligned */

/* flags of struct unic_link_header */
#define UNIC_LINK_DIRECT  (1u << 0) /* rings between NICs may be used */
#define UNIC_LINK_NO_ICRC (1u << 1) /* ICRC may be left to the switch */

/* Written by the switch before any NIC attaches; read-only afterwards, but for
 * `flags`, which the switch may change and which is read at each path lookup.
 */
struct unic_link_header {
	unic_le32 magic;      /* UNIC_LINK_MAGIC, written last */
	unic_le32 version;    /* UNIC_LINK_VERSION */
	unic_le32 ports;      /* 2..UNIC_LINK_PORTS_MAX, switch included */
	unic_le32 slots;      /* per ring, a power of two, 2..65536 */
	unic_le32 slot_bytes; /* a multiple of 64, at most 16384, frame offset
			       * included */
	unic_le32 flags;      /* UNIC_LINK_* */
	unic_le32 port_off;   /* of struct unic_link_port[ports] */
	unic_le32 ring_off;   /* of the ring 0 -> 0; ring (from -> to) is number
			       * from * ports + to */
	unic_le32 ring_bytes; /* stride of rings, a multiple of 4096 */
	unic_le32 rsvd[7];
};

/* One per port, two cache lines; written by the owner of the port only, and by
 * the switch when the owner has died. */
struct unic_link_port {
	unic_le32 state; /* enum unic_link_port_state */
	uint8_t mac[6];	 /* valid when ATTACHED */
	uint8_t rsvd0[2];
	unic_le32 rsvd1[13];
	unic_le32 asleep; /* not 0: ring my doorbell after publishing */
	unic_le32 rsvd2[15];
};

enum unic_link_port_state {
	UNIC_LINK_PORT_EMPTY = 0,    /* nobody: frames for it go to the
				      * switch */
	UNIC_LINK_PORT_ATTACHED = 1, /* `mac` is valid, its rings are read */
};

/* At the start of each ring; slots follow at UNIC_LINK_SLOT0. */
struct unic_link_ring {
	unic_le32 head; /* consumer: frames taken so far */
	unic_le32 rsvd[31];
};
#define UNIC_LINK_SLOT0 128u /* bytes from a ring to its first slot */

struct unic_link_slot {
	unic_le32 seq;	 /* producer, last: frame number + 1 */
	unic_le16 len;	 /* of the frame, bytes */
	unic_le16 flags; /* UNIC_LINK_SLOT_* */
	unic_le32 rsvd0[2];
	uint8_t rsvd1[2]; /* 0; brings the frame to offset 18; not looked at */
	uint8_t frame[2]; /* len bytes from here */
};

/* flags of struct unic_link_slot */
#define UNIC_LINK_SLOT_NO_ICRC \
	(1u << 0) /* the four ICRC bytes are not filled */

UNIC_ABI_AT(unic_link_header, flags, 20);
UNIC_ABI_AT(unic_link_header, ring_bytes, 32);
UNIC_ABI_SIZE(unic_link_header, 64);
UNIC_ABI_AT(unic_link_port, mac, 4);
UNIC_ABI_AT(unic_link_port, asleep, 64);
UNIC_ABI_SIZE(unic_link_port, 128);
UNIC_ABI_SIZE(unic_link_ring, 128);
UNIC_ABI_AT(unic_link_slot, frame, UNIC_LINK_FRAME_OFF);
UNIC_ABI_SIZE(unic_link_slot, 20);

#endif /* UNIC_LINK_H */
