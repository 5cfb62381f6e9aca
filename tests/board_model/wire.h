/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * wire.h - the Ethernet jack: frames without their FCS over a socket, each behind its
 * length in four bytes, big-endian, as QEMU's -netdev stream and unic-wire have them.
 * Frames that come are kept until the MAC has had the time of the ones before.
 *
 * Secret: how frames are cut from a stream of bytes.
 */
#ifndef BOARD_MODEL_WIRE_H
#define BOARD_MODEL_WIRE_H

#include "board.h"
#include "connection.h"

#define WIRE_MOST   1518u   /* bytes of a frame, at most */
#define WIRE_BUFFER 262144u /* bytes of the switch's port */

struct wire {
	struct board *board;
	struct connection *connection;
	/* a frame has arrived, its FCS last */
	void (*arrive)(void *arg, const uint8_t *frame, uint32_t bytes);
	void *arg;
	uint8_t in[WIRE_BUFFER];
	uint32_t in_bytes;
	uint32_t slower; /* times slower than 100 Mbit/s, less 1: 9 or 0 */
	unsigned long sent, received, dropped;
};

/** wire_init() - @path: NULL, then nothing is plugged in. */
void wire_init(struct wire *wire, struct board *board, const char *path,
	       void (*arrive)(void *, const uint8_t *, uint32_t), void *arg);

/** wire_send() - @bytes of @frame, without FCS. */
void wire_send(struct wire *wire, const uint8_t *frame, uint32_t bytes);

/** wire_is_whole() - the FCS at the end of @frame is right. */
bool wire_is_whole(const uint8_t *frame, uint32_t bytes);

/** wire_ns() - the time of a frame of @bytes with its FCS at 100 Mbit/s, preamble and
 * gap included. */
uint64_t wire_ns(uint32_t bytes);

#endif /* BOARD_MODEL_WIRE_H */
