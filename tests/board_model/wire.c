// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* wire.c - see wire.h. */
#include "wire.h"

#include <string.h>

#define LEN_BYTES   4u
#define FCS_BYTES   4u
#define LEAST	    60u /* a frame is padded to this much */
#define AROUND	    20u /* preamble, start of frame, gap */
#define NS_PER_BYTE 80u

uint64_t wire_ns(uint32_t bytes)
{
	return (uint64_t)(bytes + AROUND) * NS_PER_BYTE;
}

static uint32_t make_fcs(const uint8_t *bytes, uint32_t count)
{
	uint32_t crc = ~0u;

	for (uint32_t i = 0; i < count; i++) {
		crc ^= bytes[i];
		for (uint32_t bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

bool wire_is_whole(const uint8_t *frame, uint32_t bytes)
{
	uint32_t fcs = make_fcs(frame, bytes - FCS_BYTES);

	return !memcmp(frame + bytes - FCS_BYTES, &fcs, FCS_BYTES);
}

static uint32_t first_length(const struct wire *wire)
{
	return (uint32_t)wire->in[0] << 24 | (uint32_t)wire->in[1] << 16 |
	       (uint32_t)wire->in[2] << 8 | wire->in[3];
}

static void begin_frame(struct wire *wire);

static void end_frame(void *arg)
{
	struct wire *wire = arg;
	uint8_t frame[WIRE_MOST + FCS_BYTES] = { 0 };
	uint32_t bytes = first_length(wire), all = bytes, fcs;

	memcpy(frame, wire->in + LEN_BYTES, bytes);
	wire->in_bytes -= LEN_BYTES + bytes;
	memmove(wire->in, wire->in + LEN_BYTES + bytes, wire->in_bytes);
	if (all < LEAST)
		all = LEAST;
	fcs = make_fcs(frame, all);
	memcpy(frame + all, &fcs, FCS_BYTES);
	if (board_random(wire->board) % 1000 < wire->board->options.wire_errors)
		frame[board_random(wire->board) % all] ^= 0x40;
	wire->received++;
	wire->arrive(wire->arg, frame, all + FCS_BYTES);
	begin_frame(wire);
}

/* The first frame of the buffer, if all of it is there. */
static void begin_frame(struct wire *wire)
{
	struct clock *clock = &wire->board->clock;
	uint32_t bytes = first_length(wire);

	if (wire->in_bytes < LEN_BYTES)
		return;
	if (bytes > WIRE_MOST) {
		board_say(wire->board, "the wire brings nonsense");
		wire->in_bytes = 0;
		return;
	}
	if (wire->in_bytes < LEN_BYTES + bytes)
		return;
	clock_at(clock,
		 clock_now_ns(clock) +
			 wire_ns((bytes < LEAST ? LEAST : bytes) + FCS_BYTES) *
				 (wire->slower + 1),
		 end_frame, wire);
}

/* Whole frames that do not fit are not told from halves: more than the buffer holds
 * is a sender that no switch would have listened to. */
static void take_bytes(void *arg, const uint8_t *bytes, size_t count)
{
	struct wire *wire = arg;
	uint32_t before = wire->in_bytes;
	bool idle = before < LEN_BYTES ||
		    before < LEN_BYTES + first_length(wire);

	if (count > WIRE_BUFFER - before) {
		wire->dropped++;
		board_say(wire->board, "the wire brings too much");
		return;
	}
	memcpy(wire->in + before, bytes, count);
	wire->in_bytes += (uint32_t)count;
	if (idle)
		begin_frame(wire);
}

void wire_send(struct wire *wire, const uint8_t *frame, uint32_t bytes)
{
	uint8_t out[LEN_BYTES + WIRE_MOST];

	if (bytes > WIRE_MOST)
		return;
	out[0] = out[1] = 0;
	out[2] = (uint8_t)(bytes >> 8);
	out[3] = (uint8_t)bytes;
	memcpy(out + LEN_BYTES, frame, bytes);
	wire->sent++;
	if (wire->board->options.logs_frames)
		board_say(wire->board, "a frame of %u bytes is sent", bytes);
	connection_send(wire->connection, out, LEN_BYTES + bytes);
}

void wire_init(struct wire *wire, struct board *board, const char *path,
	       void (*arrive)(void *, const uint8_t *, uint32_t), void *arg)
{
	wire->board = board;
	wire->arrive = arrive;
	wire->arg = arg;
	if (path)
		wire->connection = connection_dial(path, take_bytes, wire);
}
