/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* frame.c - see frame.h. COBS: Cheshire and Baker, SIGCOMM 1997. */
#include "frame.h"

#define BLOCK 255u /* code of 254 bytes that no zero follows */

static const uint32_t crc_table[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
	0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

uint32_t frame_crc(const uint8_t *bytes, uint32_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *bytes++;
		crc = crc >> 4 ^ crc_table[crc & 15];
		crc = crc >> 4 ^ crc_table[crc & 15];
	}
	return ~crc;
}

uint32_t frame_encode(uint8_t *frame, uint32_t len, uint8_t *line)
{
	uint32_t crc = frame_crc(frame, len), at = 2, code_at = 1, i;

	for (i = 0; i < FRAME_CRC_BYTES; i++)
		frame[len++] = (uint8_t)(crc >> 8 * i);
	line[0] = 0;
	for (i = 0; i < len; i++) {
		if (frame[i])
			line[at++] = frame[i];
		if (frame[i] && at - code_at < BLOCK)
			continue;
		line[code_at] = (uint8_t)(at - code_at);
		code_at = at++;
	}
	line[code_at] = (uint8_t)(at - code_at);
	line[at++] = 0;
	return at;
}

static void put_byte(struct frame_in *in, uint8_t byte)
{
	if (in->len == FRAME_ALL)
		in->bad = true;
	else
		in->bytes[2 + in->len++] = byte;
}

/* At the delimiter: returns the bytes of a frame that is whole. */
static uint32_t end_frame(struct frame_in *in)
{
	const uint8_t *frame = frame_at(in);
	uint32_t len = in->len, crc = 0, i;
	bool good = in->code && !in->left && !in->bad &&
		    len > FRAME_CRC_BYTES + sizeof(struct unic_serial_hdr);

	if (good) {
		len -= FRAME_CRC_BYTES;
		for (i = 0; i < FRAME_CRC_BYTES; i++)
			crc |= (uint32_t)frame[len + i] << 8 * i;
		good = crc == frame_crc(frame, len);
	}
	in->errors += in->code && !good;
	in->len = 0;
	in->left = 0;
	in->code = 0;
	in->bad = false;
	return good ? len : 0;
}

uint32_t frame_decode(struct frame_in *in, uint8_t byte)
{
	if (!byte)
		return end_frame(in);
	if (in->left) {
		put_byte(in, byte);
		in->left--;
		return 0;
	}
	if (in->code && in->code != BLOCK)
		put_byte(in, 0);
	in->code = byte;
	in->left = (uint8_t)(byte - 1);
	return 0;
}
