/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* frame.h - a frame inside the switch: always a private copy. */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Ports of the switch are numbered: 1..7 are the NICs of the shared-memory link
 * (their ivshmem peer numbers; 0 is the switch), 8..15 the sockets in the order
 * of the command line.
 */
#define WIRE_PORTS	 16
#define WIRE_FIRST_SOCK	 8
#define WIRE_SOCKS	 (WIRE_PORTS - WIRE_FIRST_SOCK)
#define WIRE_FRAME_BYTES 16384u
#define WIRE_FRAME_MIN	 14u

struct frame {
	int from;     /* port at which the frame came in */
	uint32_t len; /* length, from the Ethernet header on */
	bool no_icrc; /* the four ICRC bytes are not filled */
	uint8_t data[WIRE_FRAME_BYTES];
};

#endif /* FRAME_H */
