/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * frame.h - frames on a line that flips bits and loses bytes.
 *
 * Secret: the form of a frame on the line (COBS, CRC-32), and how the decoder
 * finds the next beginning. A damaged frame is dropped, but for one in 2^32.
 */
#ifndef SERIAL_FRAME_H
#define SERIAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "unic_serial.h"

#define FRAME_CRC_BYTES 4u
/* Header and body. */
#define FRAME_BYTES (sizeof(struct unic_serial_hdr) + UNIC_SERIAL_BODY)
/* With the CRC. */
#define FRAME_ALL (FRAME_BYTES + FRAME_CRC_BYTES)
/* On the line, delimiters included. */
#define FRAME_LINE (FRAME_ALL + FRAME_ALL / 254u + 4u)

struct frame_in {
	uint16_t len;
	uint8_t left; /* bytes until the next code */
	uint8_t code; /* last code; 0: none in this frame */
	bool bad;     /* too long: skip to the delimiter */
	uint32_t errors;
	_Alignas(4) uint8_t bytes[2 + FRAME_ALL]; /* from 2 on: body aligned */
};

/** frame_crc() - CRC-32 (IEEE) of @len bytes. */
uint32_t frame_crc(const uint8_t *bytes, uint32_t len);

/**
 * frame_encode() - encode @frame, @len bytes (at most FRAME_BYTES), into @line,
 * which has FRAME_LINE; the CRC goes behind @frame, where there is room for it.
 * Returns the bytes on the line. They begin with a delimiter, too, which ends
 * what noise left in the other decoder.
 */
uint32_t frame_encode(uint8_t *frame, uint32_t len, uint8_t *line);

/**
 * frame_decode() - take the next byte of the line. Returns the bytes of a frame,
 * without CRC, that begins at frame_at() and is valid until the next call; 0:
 * none yet.
 */
uint32_t frame_decode(struct frame_in *in, uint8_t byte);

static inline const uint8_t *frame_at(const struct frame_in *in)
{
	return in->bytes + 2;
}

#endif /* SERIAL_FRAME_H */
